"""The simulations of Austin, Pe'er & Korem (2024), and what they missed."""

from statcv.studies.austin2024.dummies import dummies
from statcv.studies.austin2024.estimates import ESTIMATES
from statcv.studies.austin2024.figures import figure
from statcv.studies.austin2024.kinds import null_kinds
from statcv.studies.austin2024.null import null_aurocs, off_centre
from statcv.studies.austin2024.others import other_models
from statcv.studies.austin2024.paper import paper_and_ours
from statcv.studies.austin2024.penalties import penalties
from statcv.studies.austin2024.public_data import public_data
from statcv.studies.austin2024.regression import predictions
from statcv.studies.austin2024.runs import stored
from statcv.studies.austin2024.signal import signal_aurocs
from statcv.studies.austin2024.stratified import stratified

__all__ = [
    "ESTIMATES",
    "dummies",
    "figure",
    "null_aurocs",
    "null_kinds",
    "off_centre",
    "other_models",
    "paper_and_ours",
    "penalties",
    "predictions",
    "public_data",
    "signal_aurocs",
    "stored",
    "stratified",
]
