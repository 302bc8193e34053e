"""What may be concluded from held-out predictions."""

from statcv.inference.bootstrap_632 import (
    Bootstrap632,
    BootstrapEstimate,
    bootstrap_estimate,
    join_values,
)
from statcv.inference.estimates import BOOTSTRAPS, HOWS, Estimate
from statcv.inference.estimates import estimate as make_estimate
from statcv.inference.intervals import (
    Interval,
    corrected_t_interval,
    delong_interval,
    mean_interval,
    pairs_interval,
)
from statcv.inference.permutation import permuted_values
from statcv.inference.scores import LeftOut, Scores

__all__ = [
    "BOOTSTRAPS",
    "HOWS",
    "Bootstrap632",
    "BootstrapEstimate",
    "Estimate",
    "Interval",
    "LeftOut",
    "Scores",
    "bootstrap_estimate",
    "corrected_t_interval",
    "delong_interval",
    "join_values",
    "make_estimate",
    "mean_interval",
    "pairs_interval",
    "permuted_values",
]
