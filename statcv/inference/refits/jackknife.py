"""The jackknife with refits: how an estimate varies with the records and the fits.

Other intervals take the fits as given and count the variation of the held-out records
alone. Here a record is deleted, and the whole cross-validation is done again without
it: nobody is predicted by a fit that knew it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine import Setup
from statcv.errors import ArgumentError, FitError, OutcomeError, SchemeError
from statcv.folds import FoldPlan, count_fits, is_sample
from statcv.inference.estimates.values import ranks_classes
from statcv.inference.intervals.given_fits import narrow_interval
from statcv.inference.intervals.interval import Interval, symmetric
from statcv.inference.refits.refitting import (
    affordable,
    fixed_threshold,
    mean_values,
    values_without,
)
from statcv.inference.scores import Scores
from statcv.metrics import Metric

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

MOST_FITS = 2_000_000
LEAST = 1e-24  # variance; what is less is rounding
SCALES = ("identity", "logit")
ASSUMES = (
    "fits everything again without each {unit} in turn, so that the fits may vary too; "
    "takes the estimate as nearly normal{scale}, and tends to be wide where n is small"
)


@dataclass(frozen=True, eq=False)
class Jackknife:
    """An estimate with each record, or cluster of records, deleted.

    Attributes
    ----------
    values : numpy.ndarray, shape (units,)
        NaN where the metric has no value.
    group : numpy.ndarray of int, shape (units,)
        The class of each record, where classes are samples of their own.
    unit : str
        What was deleted: "record" or "cluster".
    n_fits : int
        How many fits were made.
    left_out : str
        What was not done again, to save fits; empty where all was.
    failed : int
        Fits that did not converge, or whose classes were separated.

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
        """What else is to be said of an interval by it, to be put behind the rest."""
        told = ""
        if self.left_out:
            told += f"; {self.left_out}, which adds to the width"
        if self.failed:
            told += (
                f"; {self.failed} of {self.n_fits} fits without a record did not "
                "converge, or their classes were separated"
            )
        return told

    @property
    def variance(self) -> float:
        """The variance of the estimate; NaN where a value is, or a group has one unit.

        The sum over groups of (m - 1)/m times the sum of squares about the group's
        mean, m being the number of units in it (Efron & Stein 1981; Arvesen 1969 for
        several samples).
        """
        return float(self.parts.sum())

    @property
    def unmoved(self) -> str:
        """Say that no deletion moves the estimate; nothing where one does."""
        same = f"it is the same whichever {self.unit} is deleted"
        return same if self.variance <= LEAST else ""

    @property
    def parts(self) -> Floats:
        """The part of the variance of each group; NaN of a group with one unit."""
        sizes = np.bincount(self.group)[np.unique(self.group)]
        place = np.unique(self.group, return_inverse=True)[1]
        means = np.bincount(place, self.values) / sizes
        squares = np.bincount(place, (self.values - means[place]) ** 2)
        return np.where(sizes > 1, squares * (sizes - 1) / sizes, np.nan)

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance, a sum of parts (Satterthwaite 1946)."""
        sizes = np.bincount(self.group)[np.unique(self.group)]
        return float(self.variance**2 / (self.parts**2 / (sizes - 1)).sum())


def jackknife_interval(
    setup: Setup,
    scores: Scores,
    metric: Metric,
    how: str,
    level: float,
    *,
    scale: str = "identity",
    deleted: Jackknife | str | None = None,
    most_fits: int = MOST_FITS,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Interval:
    """Interval of a cross-validated estimate by a jackknife that fits anew.

    Parameters
    ----------
    setup : Setup
        What was fitted.
    scores : Scores
        What it predicted.
    metric : Metric
        Any: nothing is needed of it but its value.
    how : {"pooled", "per_fold", "paired"}
    level : float
    scale : {"identity", "logit"}
        On which the estimate is taken as normal; a logit keeps an interval of a share
        within 0 and 1.
    deleted : Jackknife or str, optional
        What :func:`try_jackknife` gave, so that fits are not made twice.
    most_fits, n_jobs, progress
        As :func:`jackknife_values` takes them.

    Returns
    -------
    Interval
        Without bounds, and with the reason, where there is none.

    Notes
    -----
    Where strata tell records of one source, sources are deleted as a whole. Else
    records are deleted one by one; for metrics of order their classes count as two
    samples. By Efron and Stein (1981) the jackknife errs on the wide side.

    A model that draws random numbers draws the same in a fit that is made again, but
    what chance there is left in its fits is counted n-fold.

    References
    ----------
    Arvesen (1969), Annals of Mathematical Statistics 40:2076.
    Efron & Stein (1981), Annals of Statistics 9:586.
    """
    check_scale(scale)
    value = _value(scores, metric, how)
    if not math.isfinite(value):
        return Interval.none("the estimate has no value")
    if scale == "logit" and metric.bounds != (0.0, 1.0):
        return Interval.none(f"{metric.label} is no share, and has no logit")
    if scale == "logit" and not 0 < value < 1:
        return Interval.none(f"the logit of {value:g} is infinite")
    jack = deleted
    if jack is None:
        jack = try_jackknife(
            setup,
            scores,
            metric,
            how,
            most_fits=most_fits,
            n_jobs=n_jobs,
            progress=progress,
        )
    if isinstance(jack, str) or jack.unmoved:
        return Interval.none(jack if isinstance(jack, str) else jack.unmoved)
    on = " on the logit scale" if scale == "logit" else ""
    assumes = ASSUMES.format(unit=jack.unit, scale=on)
    assumes += jack.caveats
    se, method = math.sqrt(jack.variance), f"jackknife with refits{on}"
    return symmetric(value, se, level, method, assumes, scale=scale)


def try_jackknife(
    setup: Setup, scores: Scores, metric: Metric, how: str, **running: Any
) -> Jackknife | str:
    """Return the estimate with each record deleted, or why it has no variance.

    Parameters
    ----------
    setup, scores, metric, how
        As :func:`jackknife_interval` takes them.
    **running
        ``most_fits``, ``n_jobs`` and ``progress``.
    """
    threshold = fixed_threshold(scores)
    try:
        jack = jackknife_values(setup, metric, how, threshold=threshold, **running)
    except (OutcomeError, SchemeError, FitError) as error:
        return f"with records deleted, {error}"
    return _unfit(jack) or jack


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
    """Return an estimate with each record, or cluster, deleted and all fits made again.

    Who is held out with whom stays as it was; see
    :func:`statcv.folds.deletion.delete_records`.

    Parameters
    ----------
    setup : Setup
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    threshold : float, optional
        Above what class 1 is predicted, where the model does not choose it; a half
        where not given.
    most_fits : int
        Where there would be more, a sample of the pairs of a leave-pair-out scheme is
        taken, in which every record comes about equally often, or fewer repeats; the
        same for all deletions.
    n_jobs, progress
        As :func:`statcv.engine.run` takes them.

    Raises
    ------
    SchemeError
        If even that needs more fits.
    OutcomeError
        If a training set lacks a class when a record is deleted.
    """
    plan, y = setup.plan, setup.design.y
    sets, group, unit = _units(plan, y, metric)
    plan, left_out = affordable(plan, sets, how, y, setup.seed, most_fits)
    if not left_out and how == "paired" and is_sample(plan):
        left_out = "the pairs are a sample of all"
    if plan is not setup.plan:
        setup = replace(setup, plan=plan)
    values, failed = values_without(
        setup,
        sets,
        metric,
        how,
        threshold=threshold,
        n_jobs=n_jobs,
        progress=progress,
    )
    return Jackknife(values, group, unit, count_fits(plan, sets), left_out, failed)


Kept = dict[tuple[Metric, str], Jackknife | str]  # by metric, and how it is stated


def keep_jackknife(
    setup: Setup, scores: Scores, metric: Metric, how: str, kept: Kept, **running: Any
) -> Jackknife | str:
    """Return the jackknife, made before or now, or why there is none.

    Parameters
    ----------
    setup, scores, metric, how
        As :func:`jackknife_interval` takes them.
    kept : dict
        Jackknives that were made before; this one is put there.
    **running
        ``n_jobs`` and ``progress``.
    """
    key = (metric, how)
    if key not in kept:
        kept[key] = try_jackknife(setup, scores, metric, how, **running)
    return kept[key]


def _value(scores: Scores, metric: Metric, how: str) -> float:
    """Return the estimate."""
    of_one = np.zeros(len(scores.by_repeat), dtype=np.intp)
    return float(mean_values(scores, metric, how, of_one, 1)[0])


def check_scale(scale: str) -> None:
    """Raise where a scale is none."""
    if scale not in SCALES:
        raise ArgumentError(f"scale must be 'identity' or 'logit', not {scale!r}.")


def _unfit(jack: Jackknife) -> str:
    """Say why there is no variance; nothing where there is one."""
    unknown = int((~np.isfinite(jack.values)).sum())
    if unknown:
        return (
            f"it has no value when any of {unknown} of {len(jack.values)} "
            f"{jack.unit}s is deleted"
        )
    return f"one class has a single {jack.unit}" if math.isnan(jack.variance) else ""


def _units(
    plan: FoldPlan, y: NDArray[np.generic], metric: Metric
) -> tuple[list[Numbers], Numbers, str]:
    """Return what is deleted together, the sample it comes from, and its name."""
    strata = plan.strata
    if strata is not None and strata.identifies:
        order = np.argsort(strata.codes, kind="stable")
        ends = np.cumsum(np.bincount(strata.codes))[:-1]
        sets = [rows for rows in np.split(order, ends) if len(rows)]
        if len(sets) < plan.n:
            return sets, np.zeros(len(sets), dtype=np.intp), "cluster"
    group = np.zeros(plan.n, dtype=np.intp)
    if ranks_classes(metric):
        group = np.unique(y, return_inverse=True)[1]
    return [np.array([row]) for row in range(plan.n)], group, "record"


# ---- the jackknife with refits, less half of its excess ----

METHOD = "corrected jackknife with refits on the logit scale"
CORRECTED_ASSUMES = (
    "its variance is the mean of the jackknife's, which errs on the wide side, and of "
    "that which takes the fits as given, which is too narrow"
)


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
        What :func:`~statcv.inference.refits.jackknife.try_jackknife` gave.

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
    value = _value(scores, metric, how)
    if not 0 < value < 1:
        return Interval.none(f"the logit of {value:g} is infinite")
    given = narrow_interval(scores, metric, how, level)
    if math.isnan(given.se):
        return Interval.none(given.assumes)
    assumes = CORRECTED_ASSUMES + deleted.caveats
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
