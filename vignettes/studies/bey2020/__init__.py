"""The simulations of Bey et al. (2020), at their scale or a smaller one, and more.

:func:`figure2` to :func:`figure5` measure and draw what the paper's figures show. What
goes beyond: the two models that an estimate may be of, on new records
(:func:`fresh_records`); narrow bins (:func:`narrow_bins`); other numbers of folds
(:func:`numbers_of_folds`); the limits that the paper names (:func:`limits`); the leak
by duplicates (:func:`leak_of_duplicates`); the rotation that is not printed
(:func:`rotations`).

What was measured at full scale is stored beside it (:func:`stored`), and is set
beside what the paper prints (:func:`paper_and_ours`). It is made by::

    python -m studies bey2020 DIRECTORY studies/tables --jobs 2

which can be interrupted, and continues where it stopped.

R. Bey, R. Goussault, F. Grolleau, M. Benchoufi and R. Porcher, "Fold-stratified
cross-validation for unbiased and privacy-preserving federated learning", JAMIA 27
(2020) 1244-1251.
"""

from studies.bey2020.beyond import fresh_records, narrow_bins, numbers_of_folds
from studies.bey2020.hard_duplicates import leak_of_duplicates, limits
from studies.bey2020.importance import Figure4, figure4
from studies.bey2020.learning import Figure2, figure2
from studies.bey2020.pairs import Figure5, figure5
from studies.bey2020.paper import paper_and_ours, stored
from studies.bey2020.samples import Scale, matched_population, rotations
from studies.bey2020.strategies import STRATEGIES
from studies.bey2020.violins import Figure3, bias, figure3

__all__ = [
    "STRATEGIES",
    "Figure2",
    "Figure3",
    "Figure4",
    "Figure5",
    "Scale",
    "bias",
    "figure2",
    "figure3",
    "figure4",
    "figure5",
    "fresh_records",
    "leak_of_duplicates",
    "limits",
    "matched_population",
    "narrow_bins",
    "numbers_of_folds",
    "paper_and_ours",
    "rotations",
    "stored",
]
