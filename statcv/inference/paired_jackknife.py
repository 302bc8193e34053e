"""Two models' auROC compared by a jackknife that fits both anew."""

from __future__ import annotations

import math

import numpy as np

from statcv.inference.intervals import symmetric
from statcv.inference.jackknife import Jackknife
from statcv.inference.paired_tests import PairedTest
from statcv.inference.testing import ratio, tail


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
        Both estimates with each record, or source, deleted.
    difference : float
        Of the estimates, second less first.
    given : PairedTest
        DeLong's test, which takes the fits as given.
    level : float
        Of the interval.
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
    least, whole = given.se**2, moved.variance
    if whole <= 1e-24 and least == 0:
        statistic = ratio(difference, 0.0)
        p = 1.0 if difference == 0 else 0.0
        reason = "" if difference == 0 else "no record moves the difference"
        return PairedTest(difference, 0.0, difference, difference, statistic, p, reason)
    se = math.sqrt(max((whole + least) / 2, least))
    df = moved.df if whole > 0 else math.nan
    made = symmetric(difference, se, level, "", "", df=df)
    statistic = ratio(difference, se)
    caveats = dict.fromkeys((first.caveats, second.caveats))
    return PairedTest(
        difference=difference,
        se=se,
        lower=max(made.lower, -1.0),
        upper=min(made.upper, 1.0),
        statistic=statistic,
        p_value=tail(statistic, df, "two-sided"),
        reason="; ".join(text.removeprefix("; ") for text in caveats if text),
    )
