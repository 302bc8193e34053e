"""Figures 4 and 5c of Austin, Pe'er and Korem (2024): published data, and tuning.

:func:`figure4` cross-validates the models of the paper on published data by LOOCV, by
RLOOCV and by leave-pair-out; :func:`tuning_paths` does so along a path of penalties, on
those data and on data sets of known populations, where the true auROC of what each
scheme chooses is known. Figures 4b and 5c use data that are not public: they are
analysed if their file is given (``irae=``); :func:`simulate_irae` simulates a stand-in.

What was measured at full scale is stored beside it (:func:`stored`), and is set
beside what the paper prints (:func:`paper_and_ours`). It is made by::

    python -m studies austin2024.published DIRECTORY studies/tables --jobs 2

which can be interrupted, and continues where it stopped.

G. I. Austin, I. Pe'er and T. Korem, "Distributional bias compromises leave-one-out
cross-validation", arXiv:2406.01652 (2024); extended in Science Advances 11 (2025)
eadx6976.
"""

from studies.austin2024.published.analyses import (
    ANALYSES,
    Analysis,
    analysis,
    frequent_taxa,
)
from studies.austin2024.published.curves import Figure4, figure4
from studies.austin2024.published.paper import paper_and_ours, stored
from studies.austin2024.published.stand_in import simulate_irae
from studies.austin2024.published.tuning import TuningPaths, tuning_paths

__all__ = [
    "ANALYSES",
    "Analysis",
    "Figure4",
    "TuningPaths",
    "analysis",
    "figure4",
    "frequent_taxa",
    "paper_and_ours",
    "simulate_irae",
    "stored",
    "tuning_paths",
]
