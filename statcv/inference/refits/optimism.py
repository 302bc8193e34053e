"""The apparent value of a metric minus its optimism, by the bootstrap.

A model performs better on the records to which it was fitted than on others. The
difference is estimated by fitting it to bootstrap samples, which relate to the records
as the records relate to the population.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import RESAMPLE, is_whole
from statcv.engine import ResampledFits, Setup, fit_all, progress_bar, run_resampled
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    UndefinedMetricWarning,
    warn,
)
from statcv.inference.estimates.values import score
from statcv.inference.intervals.interval import Interval
from statcv.inference.refits.refitting import warn_of_refits
from statcv.inference.scores import clusters_of
from statcv.metrics import Metric, auroc_by_group
from statcv.models.thresholds import NAME

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

PREDICTIONS = 2**20  # per batch


@dataclass(frozen=True, eq=False)
class ResampledValues:
    """A metric of each sample's fit: on the sample, and on all records drawn from."""

    own: Floats
    whole: Floats

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each sample has both values."""
        return np.isfinite(self.own) & np.isfinite(self.whole)

    @property
    def optimism(self) -> Floats:
        """The optimism of each sample whose values are both known."""
        return (self.own - self.whole)[self.known]


class Resampling:
    """The model, fitted to one sample of the records after another."""

    def __init__(
        self, setup: Setup, metric: Metric, stratified: bool, threshold: float | None
    ) -> None:
        self.setup, self.metric, self.threshold = setup, metric, threshold
        self.y = setup.design.y
        self.every = np.arange(setup.design.n)
        self.clusters = clusters_of(setup.plan)
        self.by_class = stratified
        self.failed = self.made = 0
        classes = len(setup.design.outcome.levels)
        self.least = max(classes, 2)  # distinct outcomes that a fit needs
        if stratified and (self.clusters is not None or not classes):
            why = "clusters are drawn whole" if classes else "the outcome is continuous"
            raise ArgumentError(f"stratified=True is not available when {why}.")

    def draw(self, rows: Rows, *key: int) -> Rows:
        """Draw as many records, or clusters, as there are, with replacement."""
        stream = np.random.SeedSequence(key[0], spawn_key=(RESAMPLE, *key[1:]))
        rng = np.random.default_rng(stream)
        if self.clusters is not None:
            return drawn_clusters(rows, self.clusters[rows], rng)
        if not self.by_class:
            return rows[rng.integers(len(rows), size=len(rows))]
        parts = [rows[self.y[rows] == code] for code in np.unique(self.y[rows])]
        return np.concatenate([p[rng.integers(len(p), size=len(p))] for p in parts])

    def values(
        self, pairs: Sequence[tuple[Rows, Rows]], n_jobs: int | None, bar: Any
    ) -> ResampledValues:
        """Fit each sample; return the metric on it and on the records it came from."""
        own, whole = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
        fitting = [
            b
            for b, (s, _) in enumerate(pairs)
            if len(np.unique(self.y[s])) >= self.least
        ]
        bar.update(len(pairs) - len(fitting))
        size = max(1, PREDICTIONS // len(self.every))
        for start in range(0, len(fitting), size):
            batch = fitting[start : start + size]
            samples = [pairs[b][0] for b in batch]
            made = run_resampled(self.setup, samples, n_jobs, bar, first=self.made)
            self.failed += made.failed
            self.made += len(batch)
            for values, side in ((own, 0), (whole, 1)):
                rows = [pairs[b][side] for b in batch]
                values[batch] = self._of_fits(made, rows, samples)
        return ResampledValues(own, whole)

    def _of_fits(
        self, made: ResampledFits, rows: list[Rows], trained: list[Rows]
    ) -> Floats:
        """Return the metric of each fit on its rows."""
        metric, fit = self.metric, np.repeat(np.arange(len(rows)), list(map(len, rows)))
        joined = np.concatenate(rows)
        predicted, y = made.predicted[fit, joined], self.y[joined]
        if metric.is_auroc:
            read = metric.readable(predicted, made.probabilities)
            return auroc_by_group(y, read, fit, len(rows))
        cuts = [self.threshold] * len(rows)
        if made.thresholds is not None:
            cuts = made.thresholds.tolist()
        if metric.casewise is None:
            ends = np.cumsum(list(map(len, rows)))[:-1]
            return np.array(
                [
                    self._score(own, part, made.probabilities, cut, sample)
                    for own, part, cut, sample in zip(
                        rows, np.split(predicted, ends), cuts, trained, strict=True
                    )
                ]
            )
        cut = None
        if metric.cuts and cuts[0] is not None:
            cut = np.array(cuts, dtype=float)[fit]
        read = metric.readable(predicted, made.probabilities, cut)
        named = {} if cut is None else {"threshold": cut}
        losses = metric.casewise(y, read, **named)
        return np.asarray(np.bincount(fit, losses) / np.bincount(fit))

    def apparent(self) -> float:
        """Return the metric of the fit to all records, on those same records."""
        setup, strata = self.setup, self.setup.plan.strata
        fit = fit_all(
            setup.design,
            setup.model,
            seed=setup.seed,
            weights=setup.weights,
            strata=None if strata is None else strata.codes,
        )
        predicted = np.asarray(fit.predict(setup.design.matrix), dtype=float)
        cut = (fit.chosen or {}).get(NAME, self.threshold)
        return self._score(self.every, predicted, fit.probabilities, cut, self.every)

    def corrected(
        self,
        sample: Rows,
        own: float,
        key: tuple[int, int],
        times: int,
        n_jobs: int | None,
        bar: Any,
    ) -> float:
        """Return the corrected value of a sample, as if it were the data."""
        again = [(self.draw(sample, *key, b), sample) for b in range(times)]
        optimism = self.values(again, n_jobs, bar).optimism
        return own - float(optimism.mean()) if len(optimism) else math.nan

    def _score(
        self,
        rows: Rows,
        predicted: Floats,
        probabilities: bool,
        cut: float | None,
        trained: Rows,
    ) -> float:
        metric, y = self.metric, self.y[rows]
        cut = cut if metric.cuts else None
        read = metric.readable(predicted, probabilities, cut)
        mean = None
        if metric.uses_baseline:
            mean = np.full(len(rows), self.y[trained].mean())
        cuts = None if cut is None else np.full(len(rows), cut)
        return score(metric, y, read, mean, cuts)


def drawn_clusters(rows: Rows, clusters: Rows, rng: np.random.Generator) -> Rows:
    """Draw as many clusters as there are; a cluster drawn twice counts as two."""
    order = np.argsort(clusters, kind="stable")
    ends = np.cumsum(np.unique(clusters, return_counts=True)[1])[:-1]
    members = np.split(rows[order], ends)
    drawn = rng.integers(len(members), size=len(members))
    return np.concatenate([members[number] for number in drawn])


# ---- the apparent value of a metric minus its optimism ----


INTERVALS = ("location_shifted", "two_stage")
ASSUMES = {
    "location_shifted": (
        "assumes that the corrected value varies as the apparent one does, shifted by "
        "the optimism; is too high and too narrow when n is small and the predictors "
        "carry little information, and for very flexible models"
    ),
    "two_stage": (
        "estimates the optimism again in every bootstrap sample; is too high when n is "
        "small and the predictors carry little information, and for very flexible "
        "models"
    ),
}


@dataclass(frozen=True)
class OptimismCorrected:
    """A metric corrected for optimism; ``float()`` gives the corrected value.

    Attributes
    ----------
    metric, label : str
    apparent : float
        Metric of the fit to all records, on those same records.
    optimism : float
        Mean over bootstrap samples of the metric of a sample's fit on the sample,
        minus that on all records.
    value : float
        Apparent value minus the optimism.
    lower, upper, se, level : float
        Bounds of the interval, its standard error and confidence level.
    method, assumes : str
        Name of the interval, and what it assumes.
    n_boot, n_undefined : int
        Number of bootstrap samples, and of those in which the metric has no value.
    optimism_se : float
        Monte Carlo standard error of the optimism.
    """

    metric: str
    label: str
    apparent: float
    optimism: float
    value: float
    lower: float
    upper: float
    se: float
    level: float
    method: str
    assumes: str
    n_boot: int
    n_undefined: int
    optimism_se: float

    def __float__(self) -> float:
        return self.value

    @property
    def interval(self) -> Interval:
        """The interval alone."""
        return Interval(self.lower, self.upper, self.se, self.method, self.assumes)


def optimism_corrected(
    setup: Setup,
    metric: Metric,
    *,
    n_boot: int = 500,
    level: float = 0.95,
    interval: str = "location_shifted",
    stratified: bool = False,
    threshold: float | None = None,
    seed: int | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> OptimismCorrected:
    """Correct the apparent value of a metric for optimism by the bootstrap.

    Parameters
    ----------
    setup : Setup
        Design, model and weights. Only the clusters of its plan are used: clusters are
        drawn as a whole.
    metric : Metric
    n_boot : int, default 500
        Number of bootstrap samples.
    level : float, default 0.95
        Confidence level of the interval.
    interval : {"location_shifted", "two_stage"}
        Method of the interval. "location_shifted" takes the percentiles of the
        samples' apparent values, minus the optimism; "two_stage" takes the percentiles
        of the samples' corrected values, each from ``n_boot`` samples of the sample,
        which needs ``n_boot`` times as many fits.
    stratified : bool, default False
        Whether to draw as many records of each class as there are.
    threshold : float, optional
        Probability above which class 1 is predicted if the model does not choose it;
        0.5 unless given.
    seed : int, optional
        Seed for the samples; the seed of the setup unless given.
    n_jobs, progress
        As :func:`statcv.engine.run` takes them.

    Returns
    -------
    OptimismCorrected
        Its values are NaN, with a warning, if the metric has no value in half of the
        samples or more.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is out of range, or ``stratified`` is asked for although clusters
        are drawn or the outcome is continuous.
    FitError
        If the model fails.

    References
    ----------
    Efron & Gong (1983), American Statistician 37:36.
    Harrell, Lee & Mark (1996), Statistics in Medicine 15:361.
    Noma, Shinozaki, Iba, Teramukai & Furukawa (2021), Statistics in Medicine 40:5691.
    """
    _check(n_boot, interval)
    study = Resampling(setup, metric, bool(stratified), threshold)
    stream = setup.seed if seed is None else seed
    samples = [study.draw(study.every, stream, b) for b in range(n_boot)]
    fits = n_boot * (1 + n_boot * (interval == "two_stage"))
    with progress_bar(fits, progress, "fit") as bar:
        found = study.values([(s, study.every) for s in samples], n_jobs, bar)
        apparent = study.apparent()
        corrected = found.own[found.known]
        if interval == "two_stage":
            corrected = np.array(
                [
                    study.corrected(sample, own, (stream, b), n_boot, n_jobs, bar)
                    for b, (sample, own) in enumerate(
                        zip(samples, found.own, strict=True)
                    )
                    if found.known[b]
                ]
            )
            corrected = corrected[np.isfinite(corrected)]
    warn_of_refits(study.failed, fits)
    return _finish(study, apparent, found, corrected, interval, n_boot, level)


def _check(n_boot: object, interval: str) -> None:
    if not is_whole(n_boot):
        raise ArgumentTypeError(f"n_boot must be an integer, not {n_boot!r}.")
    if n_boot < 2:
        raise ArgumentError(f"n_boot must be 2 or more, not {n_boot}.")
    if interval not in INTERVALS:
        raise ArgumentError(
            f"interval must be {' or '.join(map(repr, INTERVALS))}, not {interval!r}."
        )


def _finish(
    study: Resampling,
    apparent: float,
    found: ResampledValues,
    spread: Floats,
    interval: str,
    n_boot: int,
    level: float,
) -> OptimismCorrected:
    undefined = n_boot - int(found.known.sum())
    label = study.metric.label
    if undefined:
        warn(
            f"{label} has no value in {undefined} of {n_boot} bootstrap samples"
            f"{'' if 2 * undefined >= n_boot else '; these are ignored'}.",
            UndefinedMetricWarning,
        )
    optimism, moved, flat = np.nan, 0.0, False
    lower, upper, se, error = np.nan, np.nan, np.nan, np.nan
    if 2 * undefined < n_boot and len(spread) > 1:
        optimism = float(found.optimism.mean())
        error = float(found.optimism.std(ddof=1) / math.sqrt(len(found.optimism)))
        moved = optimism if interval == "location_shifted" else 0.0
        tails = ((1 - level) / 2, (1 + level) / 2)
        lower, upper = (np.quantile(spread, tails) - moved).tolist()
        se = float(spread.std(ddof=1))
        flat = se <= 1e-7 * max(1.0, abs(apparent))  # such as a slope fitted to be 1
        least, most = study.metric.bounds
        lower, upper = max(lower, least), min(upper, most)
    method, assumes = f"{interval.replace('_', '-')} bootstrap", ASSUMES[interval]
    if math.isnan(se):
        method, assumes = "none", "it has no value in too many bootstrap samples"
    elif flat:
        lower = upper = se = np.nan
        method, assumes = "none", "its apparent value is the same in every sample"
        if interval == "location_shifted":
            assumes += "; interval='two_stage' does not depend on it"
    return OptimismCorrected(
        metric=study.metric.name,
        label=label,
        apparent=apparent,
        optimism=optimism,
        value=apparent - optimism,
        lower=lower,
        upper=upper,
        se=se,
        level=level,
        method=method,
        assumes=assumes,
        n_boot=n_boot,
        n_undefined=undefined,
        optimism_se=error,
    )
