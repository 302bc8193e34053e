"""Estimates, intervals and tests from held-out predictions."""

from statcv.arguments import offered as _offered
from statcv.inference.estimates import estimate as _estimate
from statcv.inference.estimates.bootstrap_632 import Bootstrap632 as Bootstrap632
from statcv.inference.estimates.bootstrap_632 import (
    BootstrapEstimate as BootstrapEstimate,
)
from statcv.inference.estimates.bootstrap_632 import (
    bootstrap_estimate as bootstrap_estimate,
)
from statcv.inference.estimates.bootstrap_632 import join_values as join_values
from statcv.inference.estimates.estimate import BOOTSTRAPS as BOOTSTRAPS
from statcv.inference.estimates.estimate import COMBINED as COMBINED
from statcv.inference.estimates.estimate import Estimate as Estimate
from statcv.inference.estimates.estimate import resolve_how as resolve_how
from statcv.inference.estimates.groups import among as among
from statcv.inference.estimates.groups import group_estimates as group_estimates
from statcv.inference.estimates.groups import joined_groups as joined_groups
from statcv.inference.estimates.monte_carlo import MonteCarlo as MonteCarlo
from statcv.inference.estimates.monte_carlo import monte_carlo as monte_carlo
from statcv.inference.estimates.values import values_by_split as values_by_split
from statcv.inference.intervals.influence import record_influence as record_influence
from statcv.inference.intervals.interval import Interval as Interval
from statcv.inference.intervals.interval import (
    corrected_t_interval as corrected_t_interval,
)
from statcv.inference.intervals.interval import delong_interval as delong_interval
from statcv.inference.intervals.interval import mean_interval as mean_interval
from statcv.inference.intervals.interval import pairs_interval as pairs_interval
from statcv.inference.intervals.methods import INTERVALS as INTERVALS
from statcv.inference.intervals.methods import default_interval as default_interval
from statcv.inference.intervals.methods import possible_intervals as possible_intervals
from statcv.inference.meta.effects import RandomEffects as RandomEffects
from statcv.inference.meta.effects import random_effects as random_effects
from statcv.inference.operating_characteristics import low_coverages as low_coverages
from statcv.inference.operating_characteristics import (
    measured_comparison as measured_comparison,
)
from statcv.inference.operating_characteristics import (
    measured_coverage as measured_coverage,
)
from statcv.inference.operating_characteristics import (
    measured_coverages as measured_coverages,
)
from statcv.inference.operating_characteristics import measured_size as measured_size
from statcv.inference.readable import Readable as Readable
from statcv.inference.readable import metric_of as metric_of
from statcv.inference.scores import LeftOut as LeftOut
from statcv.inference.scores import Scores as Scores
from statcv.inference.scores import sums_by_cluster as sums_by_cluster
from statcv.inference.tests.htest import HTest as HTest
from statcv.inference.tests.no_skill import permutation_test as permutation_test
from statcv.inference.tests.no_skill import plain_t_test as plain_t_test
from statcv.inference.tests.no_skill import t_test as t_test
from statcv.inference.tests.no_skill import wald_test as wald_test
from statcv.inference.tests.null_bias import NullBias as NullBias
from statcv.inference.tests.permutation import permuted_values as permuted_values

make_estimate, make_estimates = _estimate.estimate, _estimate.estimates

__all__ = _offered(globals())


def __dir__() -> list[str]:
    """Offer public names alone."""
    return __all__
