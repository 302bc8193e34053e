"""Estimates, intervals and tests from held-out predictions."""

from statcv.arguments import offered as _offered
from statcv.inference.estimates import estimate as _estimate
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

make_estimate, make_estimates = _estimate.estimate, _estimate.estimates

__all__ = _offered(globals())


def __dir__() -> list[str]:
    """Offer public names alone."""
    return __all__
