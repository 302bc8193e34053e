"""The simulations of Austin, Pe'er & Korem (2024), and what they leave open.

The paper's figures: :func:`penalties`, :func:`stratified`, :func:`dummies`,
:func:`other_models`, :func:`predictions` and :func:`standardised` measure,
:func:`figure` draws, :func:`paper_and_ours` sets every number beside ours. Beyond it:
twelve estimates of auROC on noise (:func:`null_aurocs`, :func:`null_kinds`), under
signal (:func:`signal_aurocs`) and on small samples of public data
(:func:`public_data`); continuous outcomes (:func:`null_numbers`) and outcomes of three
classes (:func:`null_classes`).

What was measured at full scale is stored beside it (:func:`stored`). It is made
by::

    python -m studies austin2024 DIRECTORY studies/tables --jobs 2

which can be interrupted, and continues where it stopped.

G. I. Austin, I. Pe'er and T. Korem, "Distributional bias compromises leave-one-out
cross-validation", arXiv:2406.01652 (2024); Science Advances 11 (2025) eadx6976.
"""

from studies.austin2024.aurocs import null_aurocs, null_kinds, off_centre, signal_aurocs
from studies.austin2024.beyond import null_classes, null_numbers
from studies.austin2024.estimates import ESTIMATES
from studies.austin2024.families import other_models, predictions, standardised
from studies.austin2024.figures import figure
from studies.austin2024.paper import paper_and_ours, stored
from studies.austin2024.public_data import TASKS, public_data
from studies.austin2024.simulations import dummies, penalties, stratified

__all__ = [
    "ESTIMATES",
    "TASKS",
    "dummies",
    "figure",
    "null_aurocs",
    "null_classes",
    "null_kinds",
    "null_numbers",
    "off_centre",
    "other_models",
    "paper_and_ours",
    "penalties",
    "predictions",
    "public_data",
    "signal_aurocs",
    "standardised",
    "stored",
    "stratified",
]
