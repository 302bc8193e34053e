"""The jackknife with refits, minus half of its excess."""

from __future__ import annotations

import math

from statcv.inference.intervals.given_fits import narrow_interval
from statcv.inference.intervals.interval import Interval, symmetric
from statcv.inference.refits.jackknife import Jackknife
from statcv.inference.scores import Scores
from statcv.metrics import Metric

METHOD = "corrected jackknife with refits on the logit scale"
CORRECTED_ASSUMES = (
    "its variance is the mean of the jackknife variance, which errs on the wide side, "
    "and of the variance given the fits, which is too small"
)


def corrected_se(deleted: Jackknife, given: float) -> float:
    """Return the standard error of the corrected jackknife.

    It is the root of the mean of the jackknife variance and of the variance given the
    fits, and never smaller than the standard error given the fits.
    """
    # the jackknife errs on the wide side, the variance given the fits on the other
    return math.sqrt(max((deleted.variance + given**2) / 2, given**2))


def corrected_jackknife_interval(
    scores: Scores,
    metric: Metric,
    how: str,
    value: float,
    level: float,
    deleted: Jackknife | str,
) -> Interval:
    """Return the interval of auROC by a jackknife with refits, minus half its excess.

    The jackknife counts a component of the estimate that depends on k records jointly
    k-fold (Efron & Stein 1981), so that its variance errs on the wide side. The
    variance that takes the fits as given errs on the narrow side. The interval uses
    the mean of the two, or the latter if it is larger. It is computed on the logit
    scale with Student's t and the degrees of freedom of the jackknife, which are few
    if a class is small.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    value : float
        The estimate.
    level : float
        Confidence level of the interval.
    deleted : Jackknife or str
        Result of :func:`~statcv.inference.refits.jackknife.keep_jackknife`.

    Returns
    -------
    Interval
        An interval without bounds that gives the reason if there is no interval.
    """
    if metric.name != "auroc":
        return Interval.none(
            f"the corrected jackknife is for auROC, not for {metric.label}; "
            "interval='jackknife' is available for every metric"
        )
    if isinstance(deleted, str) or deleted.unmoved:
        return Interval.none(deleted if isinstance(deleted, str) else deleted.unmoved)
    if not 0 < value < 1:
        return Interval.none(f"the logit of {value:g} is infinite")
    given = narrow_interval(scores, metric, how, level)
    if math.isnan(given.se):
        return Interval.none(given.assumes)
    assumes = CORRECTED_ASSUMES + deleted.caveats
    whole = ", clusters deleted as a whole" if deleted.unit == "cluster" else ""
    return symmetric(
        value,
        corrected_se(deleted, given.se),
        level,
        METHOD + whole,
        assumes,
        df=deleted.df,
        scale="logit",
    )
