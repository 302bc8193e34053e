"""Two models' auROC compared by a jackknife that fits both again."""

from __future__ import annotations

import math

import numpy as np

from statcv.inference.corrected import corrected_se
from statcv.inference.jackknife import Jackknife
from statcv.inference.paired_tests import PairedTest
from statcv.inference.testing import ratio, tail
from statcv.metrics.placements import symmetric_limits

ROUNDING = 1e-12  # of a difference of areas


def paired_jackknife(
    first: Jackknife,
    second: Jackknife,
    difference: float,
    given: PairedTest,
    level: float,
) -> PairedTest:
    """Compare two estimates of auROC by what each record moves them, with refits.

    The variance of the difference is the mean of the jackknife's, which errs on the
    wide side, and of that which takes the fits as given, and never less than the
    latter; t has the degrees of freedom of the jackknife.

    Parameters
    ----------
    first, second : Jackknife
        Both estimates with each record, or cluster, deleted.
    difference : float
        The second estimate minus the first.
    given : PairedTest
        DeLong's test of the pooled estimates, which takes the fits as given.
    level : float
        Confidence level of the interval.
    """
    alike = np.array_equal(first.group, second.group) and first.unit == second.unit
    if not alike:
        return PairedTest.none(
            difference, "records that belong together differ between the results"
        )
    if math.isnan(given.se):
        return PairedTest.none(difference, given.reason)
    moved = Jackknife(
        second.values - first.values, first.group, first.unit, first.n_fits
    )
    se, df = corrected_se(moved, given.se), moved.df if not moved.unmoved else math.nan
    if se <= ROUNDING:
        se, difference = 0.0, 0.0 if abs(difference) <= ROUNDING else difference
    statistic = ratio(difference, se)
    lower, upper = symmetric_limits(difference, se, level, df=df)
    reasons = dict.fromkeys(j.caveats.removeprefix("; ") for j in (first, second))
    if se == 0:
        reasons = {"no record moves the difference": None}
    return PairedTest(
        difference=difference,
        se=se,
        lower=max(lower, -1.0),
        upper=min(upper, 1.0),
        statistic=statistic,
        p_value=tail(statistic, df, "two-sided"),
        reason="; ".join(filter(None, reasons)),
    )
