"""What may be concluded from held-out predictions."""

from statcv.inference.bootstrap_632 import (
    Bootstrap632,
    BootstrapEstimate,
    bootstrap_estimate,
    join_values,
)
from statcv.inference.estimates import (
    BOOTSTRAPS,
    HOWS,
    INTERVALS,
    REFITS,
    check_interval,
    default_interval,
    possible_intervals,
)
from statcv.inference.estimates import estimate as make_estimate
from statcv.inference.groups import among, group_estimate, joined_groups
from statcv.inference.held_bootstrap import bootstrap_interval
from statcv.inference.htest import HTest
from statcv.inference.influence import influence_interval, record_influence
from statcv.inference.intervals import (
    Interval,
    corrected_t_interval,
    delong_interval,
    mean_interval,
    pairs_interval,
)
from statcv.inference.meta import RandomEffects, random_effects
from statcv.inference.null_bias import NullBias
from statcv.inference.number import Estimate
from statcv.inference.permutation import permuted_values
from statcv.inference.repeats import MonteCarlo, monte_carlo
from statcv.inference.scores import LeftOut, Scores
from statcv.inference.testing import (
    permutation_test,
    plain_t_test,
    replicates_test,
    wald_test,
)
from statcv.inference.values import values_by_split

__all__ = [
    "BOOTSTRAPS",
    "HOWS",
    "INTERVALS",
    "REFITS",
    "Bootstrap632",
    "BootstrapEstimate",
    "Estimate",
    "HTest",
    "Interval",
    "LeftOut",
    "MonteCarlo",
    "NullBias",
    "RandomEffects",
    "Scores",
    "among",
    "bootstrap_estimate",
    "bootstrap_interval",
    "check_interval",
    "corrected_t_interval",
    "default_interval",
    "delong_interval",
    "group_estimate",
    "influence_interval",
    "join_values",
    "joined_groups",
    "make_estimate",
    "mean_interval",
    "monte_carlo",
    "pairs_interval",
    "permutation_test",
    "permuted_values",
    "plain_t_test",
    "possible_intervals",
    "random_effects",
    "record_influence",
    "replicates_test",
    "values_by_split",
    "wald_test",
]
