"""The sums of some sites, pooled, and estimates with intervals from them.

Whatever brought the sums, messages of a run or tables of a query, estimates are
computed from them here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pandas as pd

from statcv.arguments import check_level, one_of
from statcv.errors import MetricError, suggestion
from statcv.inference import Estimate, Interval
from statcv.inference.intervals.infinitesimal import CORRECTED, METHOD
from statcv.inference.intervals.interval import (
    RECORDS_ONLY,
    scale_of,
    symmetric,
    wilson_limits,
)
from statcv.metrics import get_metric
from statcv.numeric.arrays import Floats
from statcv.sites.cells import Area, Cells, area_of, class_mass, delong_variance
from statcv.sites.messages import SENTENCES
from statcv.tables import Printed

if TYPE_CHECKING:
    from statcv.sites.coordinator import Coordinator


CLASSES = ("negative", "positive")
HOWS: Final = ("per_fold", "pooled")


@dataclass(frozen=True, eq=False, repr=False)
class SiteSums(Printed):
    """What one site says of its held-out predictions.

    Attributes
    ----------
    by_fold : pandas.DataFrame
        One row per fold: the numbers of ``negative`` and ``positive`` records (those of
        a continuous outcome count as negative), and sums of losses.
    cells : dict of Cells
        Counts in intervals of the linear predictor, by fold and class.
    """

    by_fold: pd.DataFrame
    cells: Mapping[tuple[int, int], Cells]


# the variance of a metric, with the fits as given
Variance = Callable[["PooledSums", str], float]


@dataclass(frozen=True, eq=False, repr=False)
class PooledSums(Printed):
    """The sums of some sites, as if these were all.

    Attributes
    ----------
    held : dict of SiteSums
        What every site says.
    edges : numpy.ndarray
        Edges between bins of the linear predictor.
    variance : callable
        Returns the variance, with the fits as given, of a metric of pooled sums.
    sites : tuple of str
        The sites that are pooled.
    masses : tuple of numpy.ndarray
        How the negative and the positive records of all sites are taken to be spread
        over bins; empty without classes.
    """

    held: Mapping[str, SiteSums]
    edges: Floats
    variance: Variance
    sites: tuple[str, ...]
    masses: tuple[Floats, ...] = ()

    @classmethod
    def of(
        cls, held: Mapping[str, SiteSums], edges: Floats, variance: Variance
    ) -> PooledSums:
        """Pool all sites."""
        every = cls(held, edges, variance, tuple(held))
        if not len(edges):
            return every
        masses = tuple(class_mass(every.cells(code)) for code in (0, 1))
        return replace(every, masses=masses)

    def at(self, *sites: str) -> PooledSums:
        """Return the sums of other sites."""
        return replace(self, sites=sites)

    @cached_property
    def by_fold(self) -> pd.DataFrame:
        """Numbers of records, and sums of losses, of each fold."""
        own = [self.held[site].by_fold for site in self.sites]
        return pd.concat(own).groupby(level=0).sum()

    @cached_property
    def total(self) -> dict[str, float]:
        """Numbers of records, and sums of losses, of all folds."""
        return {str(name): float(own.sum()) for name, own in self.by_fold.items()}

    @property
    def n(self) -> int:
        """Number of records."""
        return int(sum(self.total[name] for name in CLASSES))

    # ---- counts in intervals ----

    def _folds(self, how: str) -> Sequence[int | None]:
        return [None] if how == "pooled" else self.by_fold.index.tolist()

    def cells(self, code: int, fold: int | None = None) -> list[Cells]:
        """Return the counts of a class at each site, in one fold or in all."""
        folds = self.by_fold.index.tolist() if fold is None else [fold]
        own = [self.held[site].cells for site in self.sites]
        return [c[one, code] for one in folds for c in own if (one, code) in c]

    def spread(self, code: int, fold: int | None = None) -> Floats:
        """Return the counts of a class by bin."""
        cells = self.cells(code, fold)
        each = [one.spread(self.masses[code]) for one in cells]
        return np.asarray(np.sum(each, axis=0))

    @cached_property
    def areas(self) -> dict[str, list[Area]]:
        """The area under the ROC curve of each fold, and the pooled one."""

        def area(fold: int | None) -> Area:
            return area_of(self.cells(1, fold), self.cells(0, fold), self.masses[::-1])

        return {how: [*map(area, self._folds(how))] for how in HOWS}

    def order_se(self, how: str) -> float:
        """Return the standard error of the auROC from the order within intervals."""
        areas = self.areas[how]
        return float(np.sqrt(np.nansum([area.se**2 for area in areas])) / len(areas))

    def bound(self, how: str) -> float:
        """Return the largest possible error of the auROC, whatever that order is."""
        ends = [(area.upper, area.value, area.lower) for area in self.areas[how]]
        return float(np.abs(np.diff(ends)).mean(axis=0).max())

    # ---- metrics ----

    def values(self, metric: str, how: str) -> Floats:
        """Return the values of a metric: one per fold, or the pooled one."""
        if metric == "auroc":
            return np.array([area.value for area in self.areas[how]])
        sums = self.by_fold if how == "per_fold" else self.total
        return np.atleast_1d(np.asarray(metric_of(metric, sums), dtype=np.float64))

    def value(self, metric: str, how: str) -> float:
        """Return the pooled value of a metric, or its mean over folds."""
        return float(np.nanmean(self.values(metric, how)))

    def se(self, metric: str, how: str) -> float:
        """Return the standard error with the fits as given."""
        if metric == "auroc":
            folds = self._folds(how)
            spread = ((self.spread(1, fold), self.spread(0, fold)) for fold in folds)
            mean = np.mean([delong_variance(*both) for both in spread])
            return math.sqrt(mean / len(folds) + self.order_se(how) ** 2)
        variance = self.variance(self, metric)
        return math.sqrt(variance) if variance > 0 else math.nan


@dataclass(frozen=True, eq=False)
class QueriedSums:
    """The sums that sites computed by a query.

    Attributes
    ----------
    sums : PooledSums
    decisions : tuple of float
        Probabilities at which decisions are made.
    left_out : dict of float
        Number of rows of each site that could not be used; NaN if it is small.
    metrics : tuple of str
    binary : bool
        Whether the outcome has two classes, as it always has.
    """

    sums: PooledSums
    decisions: tuple[float, ...]
    left_out: Mapping[str, float]
    metrics: tuple[str, ...] = ("auroc", "brier", "log_loss", "oe_ratio")
    binary: bool = True


def metric_of(metric: str, sums: Any) -> Any:
    """Return a metric that is a function of sums, of one fold or of each.

    Parameters
    ----------
    metric : str
    sums : mapping or pandas.DataFrame
        Sums by name, as :attr:`PooledSums.total` and ``by_fold`` have them.

    Examples
    --------
    >>> sums = {"negative": 6, "positive": 4, "brier": 2.0, "predicted": 5.0}
    >>> metric_of("brier", sums), metric_of("oe_ratio", sums)
    (0.2, 0.8)
    """
    n = sums["negative"] + sums["positive"]
    if metric.startswith("calibration"):  # fitted over all sites, and not a sum
        return math.nan * n
    if metric == "oe_ratio":
        return sums["positive"] / sums["predicted"]
    if metric == "rmse":
        return (sums["mse"] / n) ** 0.5
    if metric == "r2":
        total = sums["observed_squared"] - sums["observed"] ** 2 / n
        return 1 - sums["mse"] / total
    return sums[metric] / n


def no_skill(metric: str, sums: Mapping[str, float]) -> float:
    """Return the value of a metric where every prediction is the observed mean."""
    n = sums["negative"] + sums["positive"]
    if metric in ("auroc", "r2"):
        return {"auroc": 0.5, "r2": 0.0}[metric]
    if metric in ("rmse", "mse"):
        variance = sums["observed_squared"] / n - (sums["observed"] / n) ** 2
        return math.sqrt(variance) if metric == "rmse" else variance
    share = sums["positive"] / n
    if metric == "brier":
        return share * (1 - share)
    if metric == "log_loss":
        return -share * math.log(share) - (1 - share) * math.log(1 - share)
    return math.nan


# ---- estimates ----

Source: TypeAlias = "Coordinator | QueriedSums"
"""What estimates are computed from: a run that has ended, or sums by a query."""


def make_estimate(
    source: Source,
    metric: str | None = None,
    how: str | None = None,
    level: float = 0.95,
    interval: str | None = None,
) -> Estimate:
    """Return an estimate over all sites, with its interval.

    Parameters
    ----------
    source : Coordinator or QueriedSums
        A run that has ended, or the sums that sites computed by a query.
    metric, how, level, interval
        As in :meth:`statcv.sites.result.SitesResult.estimate`.
    """
    check_level(level)
    metric = source.metrics[0] if metric is None else metric
    if metric not in source.metrics:
        why = "is not in the plan, and cannot be added later; the plan has"
        if isinstance(source, QueriedSums):
            why = "cannot be computed from these sums; one of"
        raise MetricError(
            f"metric {metric!r} {why} {', '.join(source.metrics)}."
            + suggestion(metric, source.metrics)
        )
    known, headline = get_metric(metric), "per_fold" if metric == "auroc" else "pooled"
    if metric.startswith("calibration") and how == "per_fold":
        raise MetricError(f"{known.label} over sites is pooled.")
    how = headline if how is None else str(one_of(how, HOWS, "how", MetricError))
    _check_interval(source, metric, how, headline, interval)
    with_fits = how == headline and interval not in ("delong", "records")
    if metric.startswith("calibration"):
        assert not isinstance(source, QueriedSums)
        fit = source.progress.recalibrated
        values = np.array([fit.alone if metric.endswith("intercept") else fit.slope])
    else:
        values = source.sums.values(metric, how)
    folds = how == "per_fold"
    value = float(np.nanmean(values) if folds else values[0])
    return Estimate(
        metric=metric,
        label=known.label,
        how=how,
        value=value,
        level=level,
        n_undefined=int(np.isnan(values).sum()) * folds,
        n_values=len(values),
        sd=float(np.std(values, ddof=1)) if len(values) > 1 else math.nan,
        make=partial(_interval, source, metric, how, value, level, with_fits),
        bounds=known.bounds,
    )


def _check_interval(
    source: Source, metric: str, how: str, headline: str, interval: str | None
) -> None:
    """Check that an interval is available for a metric."""
    available = ["delong" if metric == "auroc" else "records"]
    if not isinstance(source, QueriedSums) and how == headline:
        # trees maximise no likelihood
        grown = source.plan.grown
        usual = "corrected_influence" if grown else "infinitesimal_jackknife"
        available = [usual, *available]
    if interval is not None and interval not in available:
        raise MetricError(
            f"interval={interval!r} is not available over sites for {metric} "
            f"({how.replace('_', ' ')}); {' or '.join(available)} is."
        )


def given_fits(
    source: Source, sums: PooledSums, metric: str, how: str, value: float, level: float
) -> Interval:
    """Return an interval that takes the fits as given, over some of the sites."""
    method, df = "records", math.nan
    if metric == "auroc":
        method = "DeLong"
    elif isinstance(source, QueriedSums):
        method = "mean over records"
        if how == "per_fold":
            return Interval.none("the sums have squares of all folds together")
        if metric == "oe_ratio":
            method, df = "influence of records", float(sums.n - 1)
    se, scale = sums.se(metric, how), scale_of(get_metric(metric), value)
    return symmetric(value, se, level, method, RECORDS_ONLY, df=df, scale=scale)


def _interval(
    source: Source, metric: str, how: str, value: float, level: float, with_fits: bool
) -> Interval:
    """Compute an interval by influences, or with fits as given."""
    ranked = metric == "auroc"
    if math.isnan(value):
        return Interval.none("it has no value")
    if ranked and value in (0.0, 1.0):
        return Interval.none(f"an area of {value:g} has no first-order variation")
    if isinstance(source, QueriedSums) or not with_fits:
        return given_fits(source, source.sums, metric, how, value, level)
    found = source.variations[metric]
    method, assumes = METHOD, SENTENCES["with_fits"]
    if source.plan.grown:
        method, assumes = "corrected influence of records", CORRECTED
    if source.shared:
        assumes += (
            f"; persons at several sites raise its variance by {source.shared:.0%}, an "
            "estimate from buckets of identifiers"
        )
    else:
        no_sign = ", as buckets of identifiers show no more of them than chance does"
        assumes += "; records of different sites count as independent"
        assumes += no_sign if source.plan.stratify["by"] == "hash" else ""
    if not ranked:
        se, scale = math.sqrt(found.total), scale_of(get_metric(metric), value)
        return symmetric(value, se, level, method, assumes, df=found.df, scale=scale)
    # the variance of an area for an area θ is in proportion to θ(1 - θ)
    rate = found.total / (found.area * (1 - found.area))
    rate += source.sums.order_se(how) ** 2 / (value * (1 - value))
    assumes += "; the order of records that are counted together is taken as random"
    lower, upper = wilson_limits(value, rate, level, found.df)
    own = value * (1 - value)
    se = math.sqrt(rate * own)
    return Interval(lower, upper, se, method, assumes, found.df, "wilson", spread=own)
