"""What may be concluded from held-out predictions."""

from statcv.inference.estimates import HOWS, Estimate
from statcv.inference.estimates import estimate as make_estimate
from statcv.inference.intervals import (
    Interval,
    corrected_t_interval,
    delong_interval,
    mean_interval,
    pairs_interval,
)
from statcv.inference.scores import LeftOut, Scores

__all__ = [
    "HOWS",
    "Estimate",
    "Interval",
    "LeftOut",
    "Scores",
    "corrected_t_interval",
    "delong_interval",
    "make_estimate",
    "mean_interval",
    "pairs_interval",
]
