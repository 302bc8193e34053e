"""Estimates with intervals, of all sites together and of each, from published sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from statcv.errors import MetricError, suggestion
from statcv.inference import Estimate, Interval
from statcv.inference.intervals.infinitesimal import CORRECTED, METHOD
from statcv.inference.intervals.interval import RECORDS_ONLY, symmetric
from statcv.inference.intervals.scales import scale_of, wilson_limits
from statcv.metrics import get_metric
from statcv.sites.cells import (
    Area,
    Cells,
    area_of,
    delong_variance,
    mean_order_se,
)
from statcv.sites.coordinator import Coordinator
from statcv.sites.plan import SitesPlan
from statcv.sites.progress import SCORE, VARY
from statcv.sites.scores import loss_names
from statcv.sites.variation import Variation, shared_share, variations

Floats = NDArray[np.float64]

HOWS = ("per_fold", "pooled")
WITH_FITS = (
    "counts the variation of the records, and to first order half of what that of the "
    "fits adds"
)


@dataclass(frozen=True, eq=False)
class Some:
    """The sums of some sites, as if these were all.

    Attributes
    ----------
    run : Coordinator
        A run that has ended.
    sites : tuple of str
    """

    run: Coordinator
    sites: tuple[str, ...] = field(default=())

    @property
    def plan(self) -> SitesPlan:
        """The plan."""
        return self.run.plan

    @cached_property
    def by_class(self) -> Floats:
        """Numbers of held-out records of each fold and class."""
        return self._sum("join", "by_class")

    @cached_property
    def losses(self) -> Floats:
        """Sums of losses in each fold."""
        return self._sum(SCORE, "losses")

    def _sum(self, phase: str, name: str) -> Floats:
        answers = self.run.answers[phase]
        total = np.sum([answers[site].arrays[name] for site in self.sites], axis=0)
        return np.asarray(total, dtype=np.float64)

    @cached_property
    def masses(self) -> list[Floats]:
        """How positive and negative records are taken to be spread over bins."""
        return self.run.masses[::-1]

    def _folds(self, fold: int, code: int) -> list[Cells]:
        return self.run.fold_cells(fold, code, self.sites)

    def _pooled(self, code: int) -> list[Cells]:
        return self.run.pooled_cells(code, self.sites)

    @cached_property
    def pooled_area(self) -> Area:
        """The area under the ROC curve of the pooled predictions."""
        return area_of(self._pooled(1), self._pooled(0), self.masses)

    @cached_property
    def fold_areas(self) -> list[Area]:
        """The area under the ROC curve of each fold."""
        return [
            area_of(self._folds(fold, 1), self._folds(fold, 0), self.masses)
            for fold in range(self.plan.k)
        ]

    def order_se(self, how: str) -> float:
        """Return the standard error of the auROC from the order within intervals."""
        if how == "pooled":
            return self.pooled_area.se
        return mean_order_se(self.fold_areas)

    def spread(self, code: int) -> Floats:
        """Return the counts of a class by bin."""
        mass = self.masses[1 - code]
        return np.asarray(sum(cells.spread(mass) for cells in self._pooled(code)))

    def value(self, metric: str, how: str) -> float:
        """Return the value of a metric."""
        if metric == "auroc":
            if how == "pooled":
                return self.pooled_area.value
            return float(np.nanmean([area.value for area in self.fold_areas]))
        if how == "per_fold":
            return float(np.nanmean(self.fold_values(metric)))
        return _value(
            metric, self.by_class.sum(axis=0), self._named(self.losses.sum(0))
        )

    def fold_values(self, metric: str) -> Floats:
        """Return the value of a metric in each fold."""
        if metric == "auroc":
            return np.array([area.value for area in self.fold_areas])
        return np.array(
            [
                _value(metric, sizes, self._named(sums))
                for sizes, sums in zip(self.by_class, self.losses, strict=True)
            ]
        )

    def _named(self, sums: Floats) -> dict[str, float]:
        return dict(zip(loss_names(self.plan), sums.tolist(), strict=True))

    def se(self, metric: str, how: str) -> float:
        """Return the standard error with the fits as given."""
        if metric == "auroc":
            if how == "pooled":
                variance = delong_variance(self.spread(1), self.spread(0))
            else:
                folds = map(self._fold_spread, range(self.plan.k))
                each = [delong_variance(*one) for one in folds]
                variance = float(np.mean(each)) / self.plan.k
            return math.sqrt(variance + self.order_se(how) ** 2)
        found = self._given(metric)
        return math.sqrt(found) if found > 0 else float("nan")

    def _fold_spread(self, fold: int) -> tuple[Floats, Floats]:
        ones, zeros = (
            np.asarray(sum(cells.spread(mass) for cells in self._folds(fold, code)))
            for code, mass in zip((1, 0), self.masses, strict=True)
        )
        return ones, zeros

    def _given(self, metric: str) -> float:
        """Return the variance of a mean over records of these sites."""
        number = self.plan.metrics.index(metric)
        answers = self.run.answers[VARY]
        first = self._sum(VARY, "first")[number, 0].sum()
        second = self._sum(VARY, "second")[number, 0]
        matrix = np.zeros((4, 4))
        matrix[np.triu_indices(4)] = second
        matrix = matrix + np.triu(matrix, 1).T
        n = self.by_class.sum()
        every = sum(answers[site].arrays["units"][0] for site in self.sites)
        about = np.array([1.0, 1.0, -first / n, -first / n])
        share = self.run.progress.by_class.sum() / n
        return float(every / (every - 1) * about @ matrix @ about * share**2)

    @cached_property
    def variations(self) -> dict[str, Variation]:
        """The variance of each metric over all sites."""
        varied = self.run.progress.varied
        return variations(self.plan, self.by_class, varied, self.shared)

    @cached_property
    def shared(self) -> float:
        """The share by which persons at several sites raise variances."""
        answers = self.run.answers[VARY].values()
        if self.plan.stratify["by"] != "hash":
            return 0.0
        return shared_share(np.array([one.arrays["buckets"] for one in answers], float))


def _value(metric: str, sizes: Floats, sums: dict[str, float]) -> float:
    """Return a metric that is a function of sums."""
    n = float(sizes.sum())
    if metric == "oe_ratio":
        return float(sizes[1]) / sums["predicted"]
    if metric == "rmse":
        return math.sqrt(sums["mse"] / n)
    if metric == "r2":
        total = sums["observed_squared"] - sums["observed"] ** 2 / n
        return 1 - sums["mse"] / total
    if metric.startswith("calibration"):
        return float("nan")
    return sums[metric] / n


def make_estimate(
    some: Some,
    metric: str | None,
    how: str | None,
    level: float,
    interval: str | None,
) -> Estimate:
    """Return an estimate over all sites, with its interval."""
    plan = some.plan
    metric = plan.metrics[0] if metric is None else metric
    if metric not in plan.metrics:
        raise MetricError(
            f"metric {metric!r} is not in the plan, and cannot be added later; the "
            f"plan has {', '.join(plan.metrics)}." + suggestion(metric, plan.metrics)
        )
    headline = "per_fold" if metric == "auroc" else "pooled"
    if metric.startswith("calibration") and how == "per_fold":
        raise MetricError(f"{get_metric(metric).label} over sites is pooled.")
    how = headline if how is None else how
    if how not in HOWS:
        raise MetricError(f"how must be one of {', '.join(HOWS)}, not {how!r}.")
    _check_interval(interval, metric, how, headline, plan.grown)
    known = get_metric(metric)
    values = some.fold_values(metric)
    value = some.value(metric, how)
    if metric.startswith("calibration"):
        fit = some.run.progress.recalibrated
        value = fit.alone if metric.endswith("intercept") else fit.slope
    make = partial(_interval, some, metric, how, value, level, interval, headline)
    return Estimate(
        metric=metric,
        label=known.label,
        how=how,
        value=value,
        level=level,
        n_undefined=int(np.isnan(values).sum()) if how == "per_fold" else 0,
        n_values=plan.k if how == "per_fold" else 1,
        sd=float(np.std(values, ddof=1)) if how == "per_fold" else float("nan"),
        make=make,
        bounds=known.bounds,
    )


def _check_interval(
    interval: str | None, metric: str, how: str, headline: str, grown: bool
) -> None:
    """Check that an interval is available for a metric."""
    ranked = metric == "auroc"
    given, usual = "delong" if ranked else "records", "infinitesimal_jackknife"
    if grown:  # trees maximise no likelihood
        usual = "corrected_influence"
    available = [given] if how != headline else [usual, given]
    if interval is not None and interval not in available:
        raise MetricError(
            f"interval={interval!r} is not available over sites for {metric} "
            f"({how.replace('_', ' ')}); {' or '.join(available)} is."
        )


def _interval(
    some: Some,
    metric: str,
    how: str,
    value: float,
    level: float,
    interval: str | None,
    headline: str,
) -> Interval:
    """Compute an interval by influences, or with fits as given."""
    ranked = metric == "auroc"
    scale = scale_of(get_metric(metric), value)
    if math.isnan(value):
        return Interval.none("it has no value")
    if ranked and value in (0.0, 1.0):
        return Interval.none(f"an area of {value:g} has no first-order variation")
    if interval in ("delong", "records") or (interval is None and how != headline):
        method = "DeLong" if ranked else "records"
        se = some.se(metric, how)
        return symmetric(value, se, level, method, RECORDS_ONLY, scale=scale)
    found = some.variations[metric]
    method, assumes = METHOD, WITH_FITS
    if some.plan.grown:
        method, assumes = "corrected influence of records", CORRECTED
    by_hash = some.plan.stratify["by"] == "hash"
    if by_hash and some.shared:
        assumes += (
            f"; persons at several sites raise its variance by {some.shared:.0%}, an "
            "estimate from buckets of identifiers"
        )
    else:
        no_sign = ", as buckets of identifiers show no more of them than chance does"
        assumes += "; records of different sites count as independent"
        assumes += no_sign if by_hash else ""
    if not ranked:
        se = math.sqrt(found.total)
        return symmetric(value, se, level, method, assumes, df=found.df, scale=scale)
    rate = found.total / (found.area * (1 - found.area))
    rate += some.order_se(how) ** 2 / (value * (1 - value))
    assumes += "; the order of records that are counted together is taken as random"
    lower, upper = wilson_limits(value, rate, level, found.df)
    own = value * (1 - value)
    se = math.sqrt(rate * own)
    return Interval(lower, upper, se, method, assumes, found.df, "wilson", spread=own)


def no_skill(some: Some, metric: str) -> float:
    """Return the value of a metric without predictors, under the plan."""
    if metric == "auroc":
        return 0.5
    if metric == "r2":
        return 0.0
    if metric in ("rmse", "mse"):
        sums, n = some.losses.sum(axis=0), float(some.by_class.sum())
        variance = float(sums[4] / n - (sums[3] / n) ** 2)
        return math.sqrt(variance) if metric == "rmse" else variance
    if metric not in ("brier", "log_loss"):
        return float("nan")
    share = float(some.by_class[:, 1].sum() / some.by_class.sum())
    if metric == "brier":
        return share * (1 - share)
    return -share * math.log(share) - (1 - share) * math.log(1 - share)
