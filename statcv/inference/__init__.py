"""Estimates, intervals and tests from held-out predictions."""

from statcv.inference.estimates.bootstrap_632 import (
    Bootstrap632,
    BootstrapEstimate,
    bootstrap_estimate,
    join_values,
)
from statcv.inference.estimates.estimate import (
    BOOTSTRAPS,
    COMBINED,
    Estimate,
    resolve_how,
)
from statcv.inference.estimates.estimate import estimate as make_estimate
from statcv.inference.estimates.estimate import estimates as make_estimates
from statcv.inference.estimates.groups import among, group_estimates, joined_groups
from statcv.inference.estimates.monte_carlo import MonteCarlo, monte_carlo
from statcv.inference.estimates.values import values_by_split
from statcv.inference.intervals.influence import record_influence
from statcv.inference.intervals.interval import (
    Interval,
    corrected_t_interval,
    delong_interval,
    mean_interval,
    pairs_interval,
)
from statcv.inference.intervals.methods import (
    INTERVALS,
    default_interval,
    possible_intervals,
)
from statcv.inference.meta.effects import RandomEffects, random_effects
from statcv.inference.operating_characteristics import (
    low_coverages,
    measured_comparison,
    measured_coverage,
    measured_coverages,
    measured_size,
)
from statcv.inference.readable import Readable, metric_of
from statcv.inference.scores import LeftOut, Scores, sums_by_cluster
from statcv.inference.tests.htest import HTest
from statcv.inference.tests.no_skill import (
    permutation_test,
    plain_t_test,
    t_test,
    wald_test,
)
from statcv.inference.tests.null_bias import NullBias
from statcv.inference.tests.permutation import permuted_values

__all__ = [
    "BOOTSTRAPS",
    "COMBINED",
    "INTERVALS",
    "Bootstrap632",
    "BootstrapEstimate",
    "Estimate",
    "HTest",
    "Interval",
    "LeftOut",
    "MonteCarlo",
    "NullBias",
    "RandomEffects",
    "Readable",
    "Scores",
    "among",
    "bootstrap_estimate",
    "corrected_t_interval",
    "default_interval",
    "delong_interval",
    "group_estimates",
    "join_values",
    "joined_groups",
    "low_coverages",
    "make_estimate",
    "make_estimates",
    "mean_interval",
    "measured_comparison",
    "measured_coverage",
    "measured_coverages",
    "measured_size",
    "metric_of",
    "monte_carlo",
    "pairs_interval",
    "permutation_test",
    "permuted_values",
    "plain_t_test",
    "possible_intervals",
    "random_effects",
    "record_influence",
    "resolve_how",
    "sums_by_cluster",
    "t_test",
    "values_by_split",
    "wald_test",
]


def __dir__() -> list[str]:
    """Offer public names alone."""
    return sorted(__all__)
