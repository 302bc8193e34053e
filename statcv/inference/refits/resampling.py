"""The model fitted to one bootstrap sample of the records after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import RESAMPLE
from statcv.engine import ResampledFits, Setup, cut, fit_all, run_resampled
from statcv.errors import ArgumentError
from statcv.formula import Design
from statcv.inference.scores import clusters_of
from statcv.metrics import Metric, auroc_by_weight
from statcv.models import Fit
from statcv.models.thresholds import threshold_in, threshold_used
from statcv.numeric.arrays import ArrayLike, Bools, Floats, Numbers

Rows = Numbers
Counts = NDArray[np.int32]
Cut = float | Floats | None  # one threshold, or one for each record
PREDICTIONS = 2**20  # predictions in a batch of fits, and units drawn at once
TOGETHER = 2**18  # records of samples of samples that are fitted together


@dataclass(frozen=True, eq=False)
class ResampledValues:
    """A metric of each sample's fit: on the sample, and on all records drawn from."""

    own: Floats
    whole: Floats

    @property
    def known(self) -> Bools:
        """Whether each sample has both values."""
        return np.isfinite(self.own) & np.isfinite(self.whole)

    @property
    def optimism(self) -> Floats:
        """The optimism of each sample whose values are both known."""
        return (self.own - self.whole)[self.known]


@dataclass(frozen=True)
class Samples:
    """What is resampled and how: all that a worker needs beside the setup.

    Attributes
    ----------
    metrics : tuple of Metric
    stratified : bool
        Whether records of each class are drawn by themselves.
    threshold : float or None
        Threshold of a metric of classes, unless the model chooses it.
    seed : int
    n_boot : int
        Number of samples, and of samples of each sample.
    """

    metrics: tuple[Metric, ...]
    stratified: bool
    threshold: float | None
    seed: int
    n_boot: int


class Resampling:
    """The model, fitted to one sample of the records after another.

    A sample is given by how often each record was drawn into it.
    """

    def __init__(self, setup: Setup, study: Samples) -> None:
        self.setup, self.study = setup, study
        self.y = setup.design.y
        self.every = np.arange(setup.design.n)
        self.by_class = study.stratified
        self.failed = 0
        clusters = clusters_of(setup.plan)
        classes = len(setup.design.outcome.levels)
        self.codes = np.unique(self.y) if classes else None
        self.least = max(classes, 2)  # distinct outcomes that a fit needs
        if self.by_class and (clusters is not None or not classes):
            why = "clusters are drawn whole" if classes else "the outcome is continuous"
            raise ArgumentError(f"stratified=True is not available when {why}.")
        # tuning divides a training set again, which takes two units of a class
        inner = setup.model.capabilities.fits_per_training_set > 1
        self.apart = 1 + inner  # units of a class that a fit needs, to divide them
        self.unit = self.every  # the unit of each record, which is drawn as a whole
        if clusters is not None:
            self.unit = np.unique(clusters, return_inverse=True)[1]
        self.first = np.unique(self.unit, return_index=True)[1]  # record of each unit

    def samples(self, numbers: range) -> tuple[Counts, list[np.random.Generator]]:
        """Draw samples of all records, each by a generator of its own.

        Returns
        -------
        times : numpy.ndarray of int, shape (samples, n)
            How often each record was drawn.
        generators : list of numpy.random.Generator
            The generator of each sample, which next draws its samples.
        """
        seed = self.study.seed
        keys = ((RESAMPLE, number) for number in numbers)
        seeds = (np.random.SeedSequence(seed, spawn_key=key) for key in keys)
        generators = list(map(np.random.default_rng, seeds))
        units = np.arange(len(self.first))
        drawn = [self.draw(units, rng, 1) for rng in generators]
        return np.concatenate(drawn), generators

    def draw(self, units: Rows, rng: np.random.Generator, samples: int) -> Counts:
        """Draw as many of the units as there are, with replacement, several times.

        Parameters
        ----------
        units : numpy.ndarray of int
            Records, or clusters, as often as they are there: two of the same can be
            drawn apart.
        rng : numpy.random.Generator
        samples : int
            Number of samples.

        Returns
        -------
        numpy.ndarray of int, shape (samples, n)
            How often each record was drawn into each sample.
        """
        if self.by_class:
            # stratified samples keep the number of records of each class
            classes = self.y[units]
            parts = [units[classes == code] for code in np.unique(classes)]
        else:
            parts = [units]
        total = len(self.first)
        counts = np.zeros((samples, total), dtype=np.int32)
        size = max(1, PREDICTIONS // total)
        for part in parts:
            for some in cut(samples, size):
                shape = len(some), len(part)
                # units are drawn with replacement within each stratum
                cells = part[rng.integers(len(part), size=shape)]
                cells += total * np.arange(len(some))[:, None]
                made = np.bincount(cells.ravel(), minlength=len(some) * total)
                counts[some.start : some.stop] += made.reshape(-1, total)
        return counts if total == len(self.unit) else counts[:, self.unit]

    def values(
        self,
        times: Counts,
        source: Counts,
        numbers: Rows,
        n_jobs: int | None = 1,
        bar: Any = None,
    ) -> list[ResampledValues]:
        """Fit each sample; return each metric on it and on what it was drawn from.

        Parameters
        ----------
        times, source : numpy.ndarray of int, shape (samples, n)
            How often each record is in each sample, and in what it was drawn from.
        numbers : numpy.ndarray of int, shape (samples,)
            Numbers from which the fits get the seeds of their models.
        n_jobs, bar
            As :func:`statcv.engine.run_resampled` takes them.
        """
        metrics = self.study.metrics
        # a sample without two outcomes has no fit, and NaN stays
        found = np.full((len(metrics), 2, len(times)), np.nan)
        for batch, made in self.fits(times, numbers, n_jobs, bar):
            both = np.stack([times[batch], source[batch]])
            for place, metric in enumerate(metrics):
                found[place][:, batch] = self._of_fits(metric, made, both)
        return [ResampledValues(*one) for one in found]

    def fits(
        self,
        times: Counts,
        numbers: Rows,
        n_jobs: int | None = 1,
        bar: Any = None,
        design: Design | None = None,
    ) -> Iterator[tuple[Rows, ResampledFits]]:
        """Yield the positions of some samples, and their fits, where there are any.

        The arguments are those of :meth:`values`, and a design with further rows, which
        are predicted and never drawn.
        """
        setup = self.setup
        if design is not None:
            given = setup.weights  # any weight for records that are never drawn
            weights = None if given is None else np.resize(given, design.n)
            setup = replace(setup, design=design, weights=weights)
        further = ((0, 0), (0, setup.design.n - len(self.every)))
        able = self._enough(times)
        if bar is not None:
            bar.update(int((~able).sum()))
        fitting = np.flatnonzero(able)
        size = max(1, PREDICTIONS // setup.design.n)
        for some in cut(len(fitting), size):
            batch = fitting[some.start : some.stop]
            drawn = np.pad(times[batch], further)
            made = run_resampled(setup, drawn, numbers[batch], n_jobs, bar)
            self.failed += made.failed
            yield batch, made

    def _enough(self, times: Counts) -> Bools:
        """Return which samples have all classes, or different numbers.

        A model that is tuned on parts of its training set needs two units of a class.
        """
        if self.codes is None:
            lowest = np.where(times > 0, self.y, np.inf).min(axis=1)
            return np.asarray(lowest < np.where(times > 0, self.y, -np.inf).max(axis=1))
        present = np.zeros(len(times), dtype=np.intp)
        enough = np.ones(len(times), dtype=bool)
        for code in self.codes:
            members = np.flatnonzero(self.y == code)
            one_each = members[np.unique(self.unit[members], return_index=True)[1]]
            # a class needs distinct units, not copies of one
            units = np.count_nonzero(times[:, one_each], axis=1)
            present += units > 0
            enough &= (units == 0) | (units >= self.apart)
        return np.asarray(enough & (present >= self.least))

    def _of_fits(self, metric: Metric, made: ResampledFits, both: Counts) -> Floats:
        """Return a metric of each fit where both tables count, shape (2, fits)."""
        _, fits, n = both.shape
        if metric.is_auroc:
            # all fits are ranked at once, with records weighted by their counts
            read = metric.readable(made.predicted.reshape(-1), made.probabilities)
            # readable probabilities have 12 digits, and are not rounded again
            exact = {"tie_tol": 0.0} if metric.rank and made.probabilities else {}
            return auroc_by_weight(self.y, read.reshape(fits, n), both, **exact)
        own = [None] * fits if made.thresholds is None else list(made.thresholds)
        cuts = [threshold_used(metric, self.study.threshold, one) for one in own]
        if metric.casewise is None:
            found = np.empty((2, fits))
            for side, fit in np.ndindex(2, fits):
                rows = np.repeat(self.every, both[side, fit])
                # the baseline is the mean outcome of the sample of the fit
                mean = float(np.repeat(self.y, both[0, fit]).mean())
                p, cut = made.predicted[fit, rows], cuts[fit]
                cut = cut[rows] if isinstance(cut, np.ndarray) else cut
                given = rows, p, made.probabilities, cut, mean
                found[side, fit] = self._value(metric, *given)
            return found
        above = None
        if cuts[0] is not None:
            above = np.concatenate([_of_rows(one, n) for one in cuts])
        predicted = made.predicted.reshape(-1, *made.predicted.shape[2:])
        read = metric.readable(predicted, made.probabilities, above)
        named = {} if above is None else {"threshold": above}
        losses = metric.casewise(np.tile(self.y, fits), read, **named).reshape(fits, n)
        # the mean loss over the records as often as they were drawn
        total = [np.where(table > 0, table * losses, 0).sum(axis=1) for table in both]
        return np.asarray(np.array(total) / both.sum(axis=2))

    def _value(
        self,
        metric: Metric,
        rows: Rows,
        predicted: Floats,
        probabilities: bool,
        threshold: Cut,
        mean: float,
    ) -> float:
        """Return a metric of predictions of rows by a fit with that mean outcome."""
        read = metric.readable(predicted, probabilities, threshold)
        baseline = np.full(len(rows), mean) if metric.uses_baseline else None
        cuts = None if threshold is None else _of_rows(threshold, len(rows))
        return float(metric(self.y[rows], read, baseline, cuts))

    @cached_property
    def of_all(self) -> tuple[Fit, Floats]:
        """The fit to all records, and its predictions of them."""
        setup, strata = self.setup, self.setup.plan.strata
        given: dict[str, Any] = {"seed": setup.seed, "weights": setup.weights}
        given["strata"] = None if strata is None else strata.codes
        fit = fit_all(setup.design, setup.model, **given)
        return fit, np.asarray(fit.predict(setup.design.matrix), dtype=float)

    def apparent(self) -> list[float]:
        """Return the metrics of the fit to all records, on those same records."""
        fit, predicted = self.of_all
        own, given = threshold_in(fit, self.setup.design.matrix), self.study.threshold
        every, mean = (self.every, predicted, fit.probabilities), float(self.y.mean())
        return [
            self._value(metric, *every, threshold_used(metric, given, own), mean)
            for metric in self.study.metrics
        ]

    def optimisms(self, numbers: range) -> Floats:
        """Return the optimisms of each sample, as if it were the data; NaN without one.

        Shape (metrics, samples).

        The samples of several samples are fitted together if these are small.
        """
        times, generators = self.samples(numbers)
        n_boot = self.study.n_boot
        found = np.full((len(self.study.metrics), len(numbers)), np.nan)
        size = max(1, TOGETHER // (n_boot * len(self.every)))
        for some in cut(len(numbers), size):
            drawn = []
            for b in some:  # its units, each as often as it was drawn, rising
                units = np.repeat(np.arange(len(self.first)), times[b, self.first])
                drawn.append(self.draw(units, generators[b], n_boot))
            shape = len(some), n_boot, times.shape[1]
            # samples of a sample are judged on that sample, which stands for the data
            source = np.broadcast_to(times[some.start : some.stop, None], shape)
            source = source.reshape(-1, times.shape[1])
            first = (1 + numbers.start + some.start) * n_boot
            places = np.arange(first, first + len(source))
            made = self.values(np.concatenate(drawn), source, places)
            for k, b in enumerate(some):
                own = slice(k * n_boot, (k + 1) * n_boot)
                for place, one in enumerate(made):
                    optimism = ResampledValues(one.own[own], one.whole[own]).optimism
                    found[place, b] = optimism.mean() if len(optimism) else np.nan
        return found


def _of_rows(threshold: ArrayLike | None, n: int) -> Floats:
    """Return a threshold, or one per row, as an array of n rows."""
    one = np.asarray(threshold, dtype=float)
    return np.broadcast_to(one, (n, *one.shape[1:]))
