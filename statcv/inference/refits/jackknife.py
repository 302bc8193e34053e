"""The jackknife with refits: how an estimate varies with the records and the fits.

Most intervals take the fits as given and count only the variation of the held-out
records; the infinitesimal jackknife counts that of the fits to first order. Here a
record is deleted and the whole cross-validation is repeated without it, so that no
prediction comes from a fit that used the deleted record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.engine import Setup
from statcv.errors import FitError, OutcomeError, SchemeError
from statcv.folds import FoldPlan, count_fits, is_sample
from statcv.inference.assumptions import ASSUMED
from statcv.inference.intervals.at_boundary import at_end, interval_at_end
from statcv.inference.intervals.given_fits import narrow_interval
from statcv.inference.intervals.interval import Interval, symmetric
from statcv.inference.refits import refitting
from statcv.inference.scores import Scores, clusters_of
from statcv.metrics import Metric
from statcv.numeric.arrays import Floats, Numbers, Outcomes
from statcv.tables import Printed

if TYPE_CHECKING:
    from statcv.inference.intervals.request import IntervalRequest


MOST_FITS = 2_000_000
LEAST = 1e-24  # variance; anything smaller is rounding error
ASSUMES = ASSUMED["jackknife"]


@dataclass(frozen=True, eq=False, repr=False)
class Jackknife(Printed):
    """An estimate with each record, or cluster of records, deleted.

    Attributes
    ----------
    values : numpy.ndarray, shape (units,)
        The estimate after each deletion; NaN where the metric has no value.
    group : numpy.ndarray of int, shape (units,)
        The class of each record if the classes are separate samples, otherwise 0.
    unit : str
        The unit that was deleted: "record" or "cluster".
    n_fits : int
        Number of fits made.
    left_out : str
        The part that was not refitted, to save fits; empty if everything was.
    failed : int
        Number of fits that did not converge or whose classes were separated.

    Examples
    --------
    >>> jack = Jackknife(np.array([1.0, 2.0, 3.0]), np.zeros(3, dtype=int), "record", 3)
    >>> jack.variance  # 2/3 of the sum of squares
    1.3333333333333333
    """

    values: Floats
    group: Numbers
    unit: str
    n_fits: int
    left_out: str = ""
    failed: int = 0

    @property
    def caveats(self) -> str:
        """The caveats of an interval, to be appended to its assumptions."""
        text = ""
        if self.left_out:
            text += f"; {self.left_out}, which adds to the width"
        if self.failed:
            text += (
                f"; {self.failed} of {self.n_fits} refits did not converge or had "
                "separated classes"
            )
        return text

    @property
    def variance(self) -> float:
        """The variance of the estimate; NaN if a value is, or a group has one unit.

        It is the sum over groups of (m - 1)/m times the sum of squares about the
        group's mean, where m is the number of units in the group (Efron & Stein 1981;
        Arvesen 1969 for several samples).
        """
        return float(self.parts.sum())

    @property
    def unmoved(self) -> str:
        """The statement that no deletion changes the estimate; empty if one does."""
        same = f"it is the same whichever {self.unit} is deleted"
        return same if self.variance <= LEAST else ""

    @property
    def parts(self) -> Floats:
        """The part of the variance from each group; NaN for a group with one unit."""
        sizes = np.bincount(self.group)[np.unique(self.group)]
        place = np.unique(self.group, return_inverse=True)[1]
        # squares about the mean of each sample, with the factor (n - 1) / n
        means = np.bincount(place, self.values) / sizes
        squares = np.bincount(place, (self.values - means[place]) ** 2)
        return np.where(sizes > 1, squares * (sizes - 1) / sizes, np.nan)

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance, by Satterthwaite (1946)."""
        # Satterthwaite: each sample has its size minus 1
        sizes = np.bincount(self.group)[np.unique(self.group)]
        return float(self.variance**2 / (self.parts**2 / (sizes - 1)).sum())


def without_logit(value: float) -> Interval:
    """Return no interval, since the logit of an estimate is infinite."""
    return Interval.none(f"the logit of {value:g} is infinite")


def jackknife_interval(
    value: float,
    metric: Metric,
    level: float,
    deleted: Jackknife | str,
    scale: str = "identity",
) -> Interval:
    """Return the interval of a cross-validated estimate by a jackknife with refits.

    Parameters
    ----------
    value : float
        The estimate.
    metric : Metric
        Any metric; only its value is needed.
    level : float
        Confidence level of the interval.
    deleted : Jackknife or str
        The result of :func:`keep_jackknife`.
    scale : {"identity", "logit"}
        Scale on which the estimate is assumed normal; the logit scale keeps the
        interval of a proportion between 0 and 1.

    Returns
    -------
    Interval
        An interval without bounds that gives the reason if there is no interval.

    Notes
    -----
    If the strata identify clusters, clusters are deleted as a whole. Otherwise records
    are deleted one by one, and for rank metrics the classes count as two samples. By
    Efron and Stein (1981) the jackknife errs on the wide side.

    A model that draws random numbers draws the same ones in a refit, but any chance
    variation that remains in its fits is counted n-fold.

    References
    ----------
    Arvesen (1969), Annals of Mathematical Statistics 40:2076.
    Efron & Stein (1981), Annals of Statistics 9:586.
    """
    if not math.isfinite(value):
        return Interval.none("the estimate has no value")
    if scale == "logit" and metric.bounds != (0.0, 1.0):
        return Interval.none(f"{metric.label} is not a proportion, and has no logit")
    if scale == "logit" and not 0 < value < 1:
        return without_logit(value)
    if isinstance(deleted, str) or deleted.unmoved:
        return Interval.none(deleted if isinstance(deleted, str) else deleted.unmoved)
    on = " on the logit scale" if scale == "logit" else ""
    assumes = ASSUMES.format(unit=deleted.unit, scale=on) + deleted.caveats
    se, method = math.sqrt(deleted.variance), f"jackknife with refits{on}"
    return symmetric(value, se, level, method, assumes, scale=scale)


def jackknife_values(
    setup: Setup,
    metric: Metric,
    how: str,
    *,
    threshold: float | None = None,
    most_fits: int = MOST_FITS,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Jackknife:
    """Return an estimate with each record, or cluster, deleted and all fits repeated.

    The other records remain held out together as before; see
    :func:`statcv.folds.deletion.delete_records`.

    Parameters
    ----------
    setup : Setup
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    threshold : float, optional
        Smallest probability of a predicted class 1 if the model does not choose it;
        0.5 unless given.
    most_fits : int
        Largest number of fits. If there would be more, a sample of the pairs of a
        leave-pair-out scheme is used, in which every record occurs about equally
        often, or fewer repeats; the same ones for all deletions.
    n_jobs, progress
        As :func:`statcv.engine.run` takes them.

    Raises
    ------
    SchemeError
        If the smallest such part still needs more fits.
    OutcomeError
        If a training set lacks a class once a record is deleted.
    """
    plan, y = setup.plan, setup.design.y
    sets, group, unit = _units(plan, y, metric)
    plan, left_out = refitting.affordable(plan, sets, how, y, setup.seed, most_fits)
    if not left_out and how == "paired" and is_sample(plan):
        left_out = "only a sample of the pairs is used"
    if plan is not setup.plan:
        setup = replace(setup, plan=plan)
    values, failed = refitting.values_without(
        setup, sets, metric, how, threshold=threshold, n_jobs=n_jobs, progress=progress
    )
    return Jackknife(values, group, unit, count_fits(plan, sets), left_out, failed)


Kept = dict[tuple[Metric, str], Jackknife | str]  # keys: a metric and its estimate


def keep_jackknife(
    setup: Setup, scores: Scores, metric: Metric, how: str, kept: Kept, **running: Any
) -> Jackknife | str:
    """Return the jackknife, kept or computed now, or why it cannot be computed.

    Parameters
    ----------
    setup, scores, metric, how
        As :func:`jackknife_interval` takes them.
    kept : dict
        Jackknives that were computed before; a new one is added.
    **running
        The arguments ``n_jobs`` and ``progress``.
    """
    if (metric, how) not in kept:
        cut = refitting.fixed_threshold(scores)
        try:
            jack = jackknife_values(setup, metric, how, threshold=cut, **running)
            kept[metric, how] = _unfit(jack) or jack
        except (OutcomeError, SchemeError, FitError) as error:
            kept[metric, how] = f"with records deleted, {error}"
    return kept[metric, how]


def _unfit(jack: Jackknife) -> str:
    """Return why there is no variance; empty if there is one."""
    unknown = int((~np.isfinite(jack.values)).sum())
    if unknown:
        return (
            f"it has no value when any of {unknown} of {len(jack.values)} "
            f"{jack.unit}s is deleted"
        )
    return f"one class has a single {jack.unit}" if math.isnan(jack.variance) else ""


def _units(
    plan: FoldPlan, y: Outcomes, metric: Metric
) -> tuple[list[Numbers], Numbers, str]:
    """Return the records deleted together, the sample of each set, and its name."""
    clusters = clusters_of(plan)
    if clusters is not None:
        order = np.argsort(clusters, kind="stable")
        sets = np.split(order, np.flatnonzero(np.diff(clusters[order])) + 1)
        return sets, np.zeros(len(sets), dtype=np.intp), "cluster"
    group = np.zeros(plan.n, dtype=np.intp)
    if metric.ranks_classes:
        # rank metrics compare the classes as two samples
        group = np.unique(y, return_inverse=True)[1]
    return [np.array([row]) for row in range(plan.n)], group, "record"


# ---- minus half of its excess ----


METHOD = "corrected jackknife with refits on the logit scale"
CORRECTED_ASSUMES = ASSUMED["corrected_jackknife"]


def corrected_se(deleted: Jackknife, given: float) -> float:
    """Return the standard error of the corrected jackknife.

    It is the root of the mean of the jackknife variance and of the variance given the
    fits, and never smaller than the standard error given the fits.
    """
    # the jackknife errs on the wide side, the variance given the fits on the other
    return math.sqrt(max((deleted.variance + given**2) / 2, given**2))


def corrected_jackknife_interval(asked: IntervalRequest) -> Interval:
    """Return the interval of auROC by a jackknife with refits, minus half its excess.

    The jackknife counts a component of the estimate that depends on k records jointly
    k-fold (Efron & Stein 1981), so that its variance errs on the wide side. The
    variance that takes the fits as given errs on the narrow side. The interval uses
    the mean of the two, or the latter if it is larger. It is computed on the logit
    scale with Student's t and the degrees of freedom of the jackknife, which are few
    if a class is small.

    Returns
    -------
    Interval
        An interval without bounds that gives the reason if there is no interval.
    """
    value, metric = asked.value, asked.metric
    if at_end(metric, value):
        return interval_at_end(without_logit(value), asked)
    if metric.name != "auroc":
        return Interval.none(
            f"the corrected jackknife is for auROC, not for {metric.label}; "
            "interval='jackknife' is available for every metric"
        )
    deleted = asked.deleted()
    if isinstance(deleted, str) or deleted.unmoved:
        return Interval.none(deleted if isinstance(deleted, str) else deleted.unmoved)
    if not 0 < value < 1:
        return without_logit(value)
    given = narrow_interval(asked)
    if math.isnan(given.se):
        return Interval.none(given.assumes)
    assumes = CORRECTED_ASSUMES + deleted.caveats
    whole = ", clusters deleted as a whole" if deleted.unit == "cluster" else ""
    se, said = corrected_se(deleted, given.se), (METHOD + whole, assumes)
    return symmetric(value, se, asked.level, *said, df=deleted.df, scale="logit")
