"""The apparent value of a metric minus its optimism, by the bootstrap.

A model performs better on the records to which it was fitted than on others. The
difference is estimated by fitting it to bootstrap samples, which relate to the records
as the records relate to the population.
"""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from statcv.arguments import (
    MAX_RESAMPLES,
    RESAMPLE,
    check_level,
    check_whole,
    one_of,
)
from statcv.engine import (
    OF_THE_FITS,
    TASKS,
    ResampledFits,
    Setup,
    cut,
    do_tasks,
    fit_all,
    progress_bar,
    run_resampled,
)
from statcv.errors import (
    ArgumentError,
    UndefinedMetricWarning,
    warn,
)
from statcv.inference.estimates.estimate import Estimate
from statcv.inference.estimates.values import score
from statcv.inference.intervals.infinitesimal import is_ratio
from statcv.inference.intervals.interval import Interval
from statcv.inference.refits.refitting import warn_of_refits
from statcv.inference.scores import clusters_of
from statcv.metrics import Metric, auroc_by_weight
from statcv.metrics.areas.placements import normal_quantile
from statcv.models import Fit
from statcv.models.thresholds import threshold_in, threshold_used
from statcv.words import percent

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

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
    def known(self) -> NDArray[np.bool_]:
        """Whether each sample has both values."""
        return np.isfinite(self.own) & np.isfinite(self.whole)

    @property
    def optimism(self) -> Floats:
        """The optimism of each sample whose values are both known."""
        return (self.own - self.whole)[self.known]


@dataclass(frozen=True)
class Study:
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

    def __init__(self, setup: Setup, study: Study) -> None:
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
        streams = [
            np.random.SeedSequence(seed, spawn_key=(RESAMPLE, b)) for b in numbers
        ]
        generators = [np.random.default_rng(stream) for stream in streams]
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
        found = np.full((len(metrics), 2, len(times)), np.nan)
        for batch, made in self.fits(times, numbers, n_jobs, bar):
            both = np.stack([times[batch], source[batch]])
            for place, metric in enumerate(metrics):
                found[place][:, batch] = self._of_fits(metric, made, both)
        return [ResampledValues(*one) for one in found]

    def fits(
        self, times: Counts, numbers: Rows, n_jobs: int | None = 1, bar: Any = None
    ) -> Iterator[tuple[Rows, ResampledFits]]:
        """Yield the positions of some samples, and their fits, where there are any.

        The arguments are those of :meth:`values`.
        """
        able = self._enough(times)
        if bar is not None:
            bar.update(int((~able).sum()))
        fitting = np.flatnonzero(able)
        size = max(1, PREDICTIONS // len(self.every))
        for start in range(0, len(fitting), size):
            batch = fitting[start : start + size]
            made = run_resampled(self.setup, times[batch], numbers[batch], n_jobs, bar)
            self.failed += made.failed
            yield batch, made

    def _enough(self, times: Counts) -> NDArray[np.bool_]:
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
            units = np.count_nonzero(times[:, one_each], axis=1)
            present += units > 0
            enough &= (units == 0) | (units >= self.apart)
        return np.asarray(enough & (present >= self.least))

    def _of_fits(self, metric: Metric, made: ResampledFits, both: Counts) -> Floats:
        """Return a metric of each fit where both tables count, shape (2, fits)."""
        _, fits, n = both.shape
        if metric.is_auroc:
            read = metric.readable(made.predicted.reshape(-1), made.probabilities)
            # readable probabilities have 12 digits, and are not rounded again
            exact = {"tie_tol": 0.0} if metric.rank and made.probabilities else {}
            return auroc_by_weight(self.y, read.reshape(fits, n), both, **exact)
        own = [None] * fits if made.thresholds is None else list(made.thresholds)
        cuts = [threshold_used(metric, self.study.threshold, one) for one in own]
        if metric.casewise is None:
            return np.array(
                [
                    [
                        self._score(
                            metric, table[fit], made, fit, cuts[fit], both[0, fit]
                        )
                        for fit in range(fits)
                    ]
                    for table in both
                ]
            )
        above = None
        if cuts[0] is not None:
            above = np.concatenate([_of_rows(one, n) for one in cuts])
        predicted = made.predicted.reshape(-1, *made.predicted.shape[2:])
        read = metric.readable(predicted, made.probabilities, above)
        named = {} if above is None else {"threshold": above}
        losses = metric.casewise(np.tile(self.y, fits), read, **named).reshape(fits, n)
        total = [np.where(table > 0, table * losses, 0).sum(axis=1) for table in both]
        return np.asarray(np.array(total) / both.sum(axis=2))

    def _score(
        self,
        metric: Metric,
        times: Counts,
        made: ResampledFits,
        fit: int,
        threshold: Cut,
        trained: Counts,
    ) -> float:
        rows, mean = np.repeat(self.every, times), np.repeat(self.y, trained).mean()
        predicted = made.predicted[fit, rows]
        cut = threshold[rows] if isinstance(threshold, np.ndarray) else threshold
        given = rows, predicted, made.probabilities, cut, mean
        return self._value(metric, *given)

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
        return score(metric, self.y[rows], read, baseline, cuts)

    @cached_property
    def of_all(self) -> tuple[Fit, Floats]:
        """The fit to all records, and its predictions of them."""
        setup, strata = self.setup, self.setup.plan.strata
        fit = fit_all(
            setup.design,
            setup.model,
            seed=setup.seed,
            weights=setup.weights,
            strata=None if strata is None else strata.codes,
        )
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
            drawn = [
                self.draw(self._units(times[b]), generators[b], n_boot) for b in some
            ]
            shape = len(some), n_boot, times.shape[1]
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

    def _units(self, times: Counts) -> Rows:
        """Return the units of a sample, each as often as it was drawn, rising."""
        return np.repeat(np.arange(len(self.first)), times[self.first])


def _of_rows(threshold: ArrayLike | None, n: int) -> Floats:
    """Return a threshold, or one per row, as an array of n rows."""
    one = np.asarray(threshold, dtype=float)
    return np.broadcast_to(one, (n, *one.shape[1:]))


def _optimisms(study: Study, setup: Setup, numbers: range) -> tuple[Floats, int]:
    """Return the optimism of some samples, and how many fits failed."""
    resampling = Resampling(setup, study)
    return resampling.optimisms(numbers), resampling.failed


# ---- the apparent value of a metric minus its optimism ----


INTERVALS = ("cross_validated", "abcloc", "location_shifted", "two_stage")
SHRUNK = 1.25  # weight of the original records in the index of ABCLOC
TWO_SIDED = 10  # samples from which its two sides have a standard deviation each
ASSUMES = {
    "cross_validated": (
        "assumes that the corrected value varies as the cross-validated one does, "
        "whose default interval is moved to it: on the logit scale of a share, and on "
        "the logarithmic scale of a ratio"
    ),
    "abcloc": (
        "takes the standard deviations above and below the mean of the value in the "
        "bootstrap sample minus 1.25 times that on all records; is too narrow when n "
        "is small and the predictors carry little information"
    ),
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


@dataclass(frozen=True, repr=False)
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

    Examples
    --------
    >>> import statcv as scv
    >>> data, ridge = scv.load_data("spector"), scv.models.Logit(C=1.0)
    >>> res = scv.cv("GRADE ~ GPA + PSI", data, model=ridge, k=4, seed=1)
    >>> one = res.optimism_corrected("auroc", n_boot=50, seed=1)
    >>> round(one.apparent, 3), round(one.optimism, 3), round(float(one), 3)
    (0.879, 0.025, 0.853)
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

    def __str__(self) -> str:
        return _printed([self])

    def __repr__(self) -> str:
        return str(self)

    @property
    def interval(self) -> Interval:
        """The interval alone."""
        return Interval(self.lower, self.upper, self.se, self.method, self.assumes)


class OptimismTable(Mapping[str, OptimismCorrected]):
    """Several metrics corrected for optimism by the same bootstrap samples.

    Printed, it has one row per metric, with the columns of ``rms::validate`` and an
    interval.

    Parameters
    ----------
    corrected : sequence of OptimismCorrected
    """

    def __init__(self, corrected: Sequence[OptimismCorrected]) -> None:
        self._by_name = {one.metric: one for one in corrected}

    def __getitem__(self, metric: str) -> OptimismCorrected:
        return self._by_name[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric: apparent, optimism, corrected, limits, n."""
        return pd.DataFrame(
            {
                "apparent": [one.apparent for one in self.values()],
                "optimism": [one.optimism for one in self.values()],
                "corrected": [one.value for one in self.values()],
                "lower": [one.lower for one in self.values()],
                "upper": [one.upper for one in self.values()],
                "n": [one.n_boot - one.n_undefined for one in self.values()],
            },
            index=pd.Index(list(self), name="metric"),
        )

    @property
    def shown(self) -> pd.DataFrame:
        """The table as text, rounded for reading."""
        return _shown(list(self.values()))

    def __str__(self) -> str:
        return _printed(list(self.values()))

    def __repr__(self) -> str:
        return str(self)


def _shown(corrected: Sequence[OptimismCorrected]) -> pd.DataFrame:
    """Return a table of corrected metrics, as text."""
    first = corrected[0]

    def stated(value: float) -> str:
        return "–" if math.isnan(value) else f"{value:.3f}"

    return pd.DataFrame(
        {
            "apparent": [stated(one.apparent) for one in corrected],
            "optimism": [stated(one.optimism) for one in corrected],
            "corrected": [stated(one.value) for one in corrected],
            f"{percent(first.level)} interval": [
                "–"
                if math.isnan(one.lower)
                else f"{stated(one.lower)} to {stated(one.upper)}"
                for one in corrected
            ],
            "n": [str(one.n_boot - one.n_undefined) for one in corrected],
        },
        index=[one.label for one in corrected],
    )


def _way(one: OptimismCorrected) -> str:
    """Return the method of an interval, or why it is not available."""
    return (
        one.method if one.method != "none" else f"none for {one.label}: {one.assumes}"
    )


def _printed(corrected: Sequence[OptimismCorrected]) -> str:
    """Return a table of corrected metrics with its caption, as text."""
    if not corrected:
        return "No metric was corrected for optimism."
    methods = list(dict.fromkeys(_way(one) for one in corrected))
    caption = f"Corrected for optimism by {corrected[0].n_boot} bootstrap samples"
    intervals = textwrap.fill(f"Intervals: {', '.join(methods)}", 79)
    return f"{caption}\n\n{_shown(corrected).to_string()}\n\n{intervals}"


def optimism_corrected(
    setup: Setup,
    metrics: Sequence[Metric],
    *,
    cross_validated: Sequence[Estimate] = (),
    n_boot: int = 500,
    level: float = 0.95,
    interval: str = "cross_validated",
    stratified: bool = False,
    threshold: float | None = None,
    seed: int | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> list[OptimismCorrected]:
    """Correct the apparent values of metrics for optimism by the bootstrap.

    Parameters
    ----------
    setup : Setup
        Design, model and weights. Only the clusters of its plan are used: clusters are
        drawn as a whole.
    metrics : sequence of Metric
        The metrics, which are computed from the same fits.
    cross_validated : sequence of Estimate
        The cross-validated estimate of each metric, with its interval at the same
        level; needed for ``interval="cross_validated"``.
    n_boot : int, default 500
        Number of bootstrap samples.
    level : float, default 0.95
        Confidence level of the interval.
    interval : {"cross_validated", "abcloc", "location_shifted", "two_stage"}
        Method of the interval. "cross_validated" moves the default interval of the
        cross-validated estimate to the corrected value, on the logit scale for a metric
        between 0 and 1. "abcloc" is the interval of ``rms`` from version 8.1: the
        corrected value minus z·s₁ and plus z·s₀, where s₁ and s₀ are the standard
        deviations above and below the mean of the value in a sample minus 1.25 times
        that of its fit on all records. "location_shifted" takes the percentiles of the
        samples' apparent values, minus the optimism; "two_stage" takes the percentiles
        of the samples' corrected values, each from ``n_boot`` samples of the sample,
        which needs ``n_boot`` times as many fits (see Notes).
    stratified : bool, default False
        Whether to draw as many records of each class as there are.
    threshold : float, optional
        Smallest probability of a predicted class 1 if the model does not choose it;
        0.5 unless given.
    seed : int, optional
        Seed for the samples; the seed of the setup unless given. Results do not depend
        on ``n_jobs``.
    n_jobs, progress
        As :func:`statcv.engine.run` takes them.

    Returns
    -------
    list of OptimismCorrected
        Values are NaN, with a warning, if the metric has no value in half of the
        samples or more.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is out of range, or ``stratified`` is asked for although clusters
        are drawn or the outcome is continuous.
    FitError
        If the model fails.

    Notes
    -----
    Sample b is drawn by a generator of its own, seeded by ``seed`` and b. The same
    generator then draws the samples of the sample one after the other (with
    ``stratified``, those of the first class before those of the second), from its
    records or clusters in rising order; a cluster drawn twice counts as two. So the
    first samples are the same for both intervals. Fit b, or fit ``n_boot`` (1 + b) + c
    for sample c of sample b, gets the seed of that number if the model draws anything.

    The two-stage interval of 500 samples needs 250,500 fits. Models that fit all
    samples together, such as :class:`statcv.models.Logit`, make these in large batches:
    for 200 records and 10 columns they take some ten seconds on one core, and a few
    times as long if most samples are separated. Other models are fitted one by one. A
    worker takes whole samples, each with all of its samples.

    References
    ----------
    Efron & Gong (1983), American Statistician 37:36.
    Harrell, Lee & Mark (1996), Statistics in Medicine 15:361.
    Noma, Shinozaki, Iba, Teramukai & Furukawa (2021), Statistics in Medicine 40:5691.
    """
    _check(n_boot, interval)
    check_level(level)
    stream = setup.seed if seed is None else seed
    study = Study(tuple(metrics), bool(stratified), threshold, stream, n_boot)
    resampling = Resampling(setup, study)
    times, _ = resampling.samples(range(n_boot))
    fits = n_boot * (1 + n_boot * (interval == "two_stage"))
    again = np.full((len(metrics), n_boot), np.nan)
    with progress_bar(fits, progress, "fit") as bar:
        source = np.broadcast_to(np.int32(1), times.shape)
        numbers = np.arange(n_boot)
        found = resampling.values(times, source, numbers, n_jobs, bar)
        apparent = resampling.apparent()
        if interval == "two_stage":
            again, failed = _again(study, setup, n_jobs, bar)
            resampling.failed += failed
    warn_of_refits(resampling.failed, fits)
    none: list[Estimate | None] = [None] * len(metrics)
    around = cross_validated or none
    return [
        _finish(*one, interval, level)
        for one in zip(metrics, apparent, found, again, around, strict=True)
    ]


def _again(
    study: Study, setup: Setup, n_jobs: int | None, bar: Any
) -> tuple[Floats, int]:
    """Return the optimisms of every sample, and how many fits failed."""
    size = max(1, study.n_boot // TASKS) if setup.fits_together else 1
    ranges = cut(study.n_boot, size)
    found, failed = np.empty((len(study.metrics), study.n_boot)), 0
    with warnings.catch_warnings():
        for category in OF_THE_FITS:  # counted
            warnings.simplefilter("ignore", category)
        doing = do_tasks(partial(_optimisms, study), setup, ranges, n_jobs)
        with closing(doing):
            for samples, (optimism, missed) in doing:
                found[:, samples.start : samples.stop] = optimism
                failed += missed
                bar.update(len(samples) * study.n_boot)
    return found, failed


def check_samples(n_boot: object) -> None:
    """Check a number of bootstrap samples.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If it is not an integer of 2 or more.
    """
    check_whole(n_boot, "n_boot", least=2, most=MAX_RESAMPLES)


def _check(n_boot: object, interval: str) -> None:
    check_samples(n_boot)
    one_of(interval, INTERVALS, "interval")


def _finish(
    metric: Metric,
    apparent: float,
    found: ResampledValues,
    again: Floats,
    around: Estimate | None,
    interval: str,
    level: float,
) -> OptimismCorrected:
    n_boot = len(found.own)
    undefined = n_boot - int(found.known.sum())
    if undefined:
        warn(
            f"{metric.label} has no value in {undefined} of {n_boot} bootstrap samples"
            f"{'' if 2 * undefined >= n_boot else '; these are ignored'}.",
            UndefinedMetricWarning,
        )
    optimism, error = np.nan, np.nan
    if 2 * undefined < n_boot and len(found.optimism) > 1:
        optimism = float(found.optimism.mean())
        error = float(found.optimism.std(ddof=1) / math.sqrt(len(found.optimism)))
    value = apparent - optimism
    if math.isnan(value):
        made = Interval.none("it has no value in too many bootstrap samples")
    elif interval == "cross_validated":
        made = _moved(metric, value, around)
    elif interval == "abcloc":
        made = abcloc(value, found, level)
    else:
        spread = found.own[found.known] - optimism
        if interval == "two_stage":
            spread = (found.own - again)[found.known & np.isfinite(again)]
        made = _percentiles(apparent, spread, interval, level)
    least, most = metric.bounds
    return OptimismCorrected(
        metric=metric.name,
        label=metric.label,
        apparent=apparent,
        optimism=optimism,
        value=value,
        lower=max(made.lower, least),
        upper=min(made.upper, most),
        se=made.se,
        level=level,
        method=made.method,
        assumes=made.assumes,
        n_boot=n_boot,
        n_undefined=undefined,
        optimism_se=error,
    )


def _moved(metric: Metric, value: float, around: Estimate | None) -> Interval:
    """Return the interval of a cross-validated estimate, moved to another value."""
    if around is None or math.isnan(around.lower):
        why = "it was not computed" if around is None else around.assumes
        return Interval.none(f"the cross-validated estimate has none: {why}")
    given = np.array([around.lower, around.value, around.upper])
    scaled, back, se = given, value, around.se
    if metric.bounds == (0.0, 1.0):
        if not (0 < value < 1 and 0 < around.value < 1):
            return Interval.none("its logit is infinite")
        with np.errstate(divide="ignore"):
            scaled, back = np.log(given / (1 - given)), math.log(value / (1 - value))
        se *= value * (1 - value) / (around.value * (1 - around.value))
    elif is_ratio(metric):
        if not (value > 0 and around.value > 0):
            return Interval.none("its logarithm is infinite")
        with np.errstate(divide="ignore"):
            scaled, back = np.log(given), math.log(value)
        se *= value / around.value
    lower, upper = back + scaled[0] - scaled[1], back + scaled[2] - scaled[1]
    if metric.bounds == (0.0, 1.0):
        lower, upper = 1 / (1 + np.exp(-lower)), 1 / (1 + np.exp(-upper))
    elif is_ratio(metric):
        lower, upper = np.exp(lower), np.exp(upper)
    method = f"half-widths of the cross-validated interval ({around.method})"
    assumes = ASSUMES["cross_validated"]
    return Interval(float(lower), float(upper), float(se), method, assumes)


def _is_constant(se: float, value: float) -> bool:
    """Return whether values with that standard error are equal, but for rounding."""
    return se <= 1e-7 * max(1.0, abs(value))


def abcloc(value: float, found: ResampledValues, level: float) -> Interval:
    """Return asymmetric limits from both sides of the bootstrap's distribution.

    As in ``Hmisc::dualSD``, the deviations of a side are from the mean of all, the sum
    of their squares is divided by one less than their number, and fewer than ten
    samples have one standard deviation.
    """
    index = (found.own - SHRUNK * found.whole)[found.known]
    away, se = index - index.mean(), float(index.std(ddof=1))
    if _is_constant(se, value):
        return Interval.none("its value is the same in every sample")
    bottom = top = se
    if len(index) >= TWO_SIDED:
        top, bottom = (
            float(np.sqrt((side**2).sum() / max(len(side) - 1, 1)))
            for side in (away[away >= 0], away[away <= 0])
        )
    z = normal_quantile(level)
    return Interval(
        value - z * top,
        value + z * bottom,
        se,
        "ABCLOC bootstrap",
        ASSUMES["abcloc"],
    )


def _percentiles(
    apparent: float, spread: Floats, interval: str, level: float
) -> Interval:
    """Return the percentiles of values in bootstrap samples."""
    se = float(spread.std(ddof=1))
    if _is_constant(se, apparent):  # such as a slope fitted to be 1
        why = "its apparent value is the same in every sample"
        if interval == "location_shifted":
            why += "; interval='two_stage' does not depend on it"
        return Interval.none(why)
    lower, upper = np.quantile(spread, ((1 - level) / 2, (1 + level) / 2)).tolist()
    method = f"{interval.replace('_', '-')} bootstrap"
    return Interval(lower, upper, se, method, ASSUMES[interval])
