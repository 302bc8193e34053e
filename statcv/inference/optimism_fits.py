"""A metric of the fits of bootstrap samples: on the samples, and on all records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine import Setup, fit_all
from statcv.engine.resampled import ResampledFits, run_resampled
from statcv.errors import ArgumentError
from statcv.inference.scores import clusters_of
from statcv.inference.values import score
from statcv.metrics import Metric, auroc_by_group
from statcv.models.thresholds import NAME
from statcv.seeds import RESAMPLE

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

PREDICTIONS = 2**20  # of a batch


@dataclass(frozen=True, eq=False)
class ResampledValues:
    """A metric of each sample's fit: on the sample, and on what it was drawn from."""

    own: Floats
    whole: Floats

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which samples have both values."""
        return np.isfinite(self.own) & np.isfinite(self.whole)

    @property
    def optimism(self) -> Floats:
        """By how much each sample's fit does better on the sample."""
        return (self.own - self.whole)[self.known]


class Resampling:
    """The model, fitted to one sample of the records after the other."""

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
        self.least = max(classes, 2)  # different outcomes that a fit needs
        if stratified and (self.clusters is not None or not classes):
            why = "whole sources are drawn" if classes else "the outcome has no classes"
            raise ArgumentError(f"stratified=True means nothing where {why}.")

    def draw(self, rows: Rows, *key: int) -> Rows:
        """Draw with replacement as many records as there are, or as many sources."""
        stream = np.random.SeedSequence(key[0], spawn_key=(RESAMPLE, *key[1:]))
        rng = np.random.default_rng(stream)
        if self.clusters is not None:
            return drawn_whole(rows, self.clusters[rows], rng)
        if not self.by_class:
            return rows[rng.integers(len(rows), size=len(rows))]
        parts = [rows[self.y[rows] == code] for code in np.unique(self.y[rows])]
        return np.concatenate([p[rng.integers(len(p), size=len(p))] for p in parts])

    def values(
        self, pairs: Sequence[tuple[Rows, Rows]], n_jobs: int | None, bar: Any
    ) -> ResampledValues:
        """Fit each sample; return the metric on it and on what it was drawn from."""
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
        """Return the metric of each fit on some rows."""
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
        """Return the metric of the fit on all records, on those same records."""
        setup, strata = self.setup, self.setup.plan.strata
        fit = fit_all(
            setup.design,
            setup.model,
            seed=setup.seed,
            weights=setup.weights,
            strata=None if strata is None else strata.codes,
        )
        predicted = np.asarray(fit.predict(setup.design.matrix), dtype=float)
        cut = (getattr(fit, "chosen", None) or {}).get(NAME, self.threshold)
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
        """Return the corrected value that a sample would have given by itself."""
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


def drawn_whole(rows: Rows, clusters: Rows, rng: np.random.Generator) -> Rows:
    """Draw as many sources as there are, a source drawn twice counting as two."""
    order = np.argsort(clusters, kind="stable")
    ends = np.cumsum(np.unique(clusters, return_counts=True)[1])[:-1]
    members = np.split(rows[order], ends)
    drawn = rng.integers(len(members), size=len(members))
    return np.concatenate([members[number] for number in drawn])
