"""The jackknife with refits, less half of its excess."""

from __future__ import annotations

import math

from statcv.inference.estimates import estimate, possible_intervals
from statcv.inference.intervals import Interval, symmetric
from statcv.inference.jackknife import Jackknife
from statcv.inference.scores import Scores
from statcv.metrics import Metric

METHOD = "corrected jackknife with refits on the logit scale"
ASSUMES = (
    "its variance is the mean of the jackknife's, which errs on the wide side, and of "
    "that which takes the fits as given, which is too narrow"
)
# What takes the fits as given; folds may be too small for a variance of their own.
AS_GIVEN = {"pooled": ("pooled", "delong"), "per_fold": ("pooled", "delong")}
AS_GIVEN |= {"paired": ("paired", "pairs")}


def corrected_se(deleted: Jackknife, given: float) -> float:
    """Return the standard error between the jackknife's and that of fits as given.

    The root of the mean of both variances, and never less than the latter.
    """
    return math.sqrt(max((deleted.variance + given**2) / 2, given**2))


def corrected_jackknife_interval(
    scores: Scores, metric: Metric, how: str, level: float, deleted: Jackknife | str
) -> Interval:
    """Interval of auROC by a jackknife with refits, less half of its excess.

    What an estimate owes to k records at once the jackknife counts k-fold (Efron &
    Stein 1981), so that its variance errs on the wide side. The variance that takes
    the fits as given errs on the narrow side. Their mean is taken, and never less than
    the latter; on the logit scale, by t with the degrees of freedom of the jackknife,
    which are few where a class is small.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    level : float
    deleted : Jackknife or str
        What :func:`~statcv.inference.jackknife.try_jackknife` gave.

    Returns
    -------
    Interval
        Without bounds, and with the reason, where there is none.
    """
    if metric.name != "auroc":
        return Interval.none(
            f"the corrected jackknife is for auROC, not for {metric.label}; "
            "interval='jackknife' is for every metric"
        )
    if isinstance(deleted, str) or deleted.unmoved:
        return Interval.none(deleted if isinstance(deleted, str) else deleted.unmoved)
    value = estimate(scores, metric, how, level).value
    if not 0 < value < 1:
        return Interval.none(f"the logit of {value:g} is infinite")
    other, name = AS_GIVEN[how]
    possible = possible_intervals(scores, metric, other)
    if name not in possible:
        other, name = how, "influence"
    given = estimate(scores, metric, other, level, name)
    if math.isnan(given.se):
        return Interval.none(given.assumes)
    assumes = ASSUMES + deleted.caveats
    whole = ", sources deleted whole" if deleted.unit == "cluster" else ""
    return symmetric(
        value,
        corrected_se(deleted, given.se),
        level,
        METHOD + whole,
        assumes,
        df=deleted.df,
        scale="logit",
    )
