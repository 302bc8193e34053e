"""The apparent value of a metric minus its optimism, by the bootstrap.

A model performs better on the records to which it was fitted than on others. The
difference is estimated by fitting it to bootstrap samples, which relate to the records
as the records relate to the population.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import MAX_RESAMPLES, check_level, check_whole, one_of
from statcv.engine import TASKS, Setup, cut, do_tasks, progress_bar, quiet_fits
from statcv.errors import StatcvWarning, UndefinedMetricWarning, warn
from statcv.inference.estimates.estimate import Estimate
from statcv.inference.intervals.interval import SCALES, Interval, scale_of
from statcv.inference.refits.refitting import warn_of_refits
from statcv.inference.refits.resampling import ResampledValues, Resampling, Samples
from statcv.metrics import Metric
from statcv.metrics.areas.placements import normal_quantile
from statcv.metrics.probabilities.distances import DISTANCES
from statcv.numeric.arrays import Floats
from statcv.tables import Table, shown_frame
from statcv.words import stored_texts


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

    def __repr__(self) -> str:
        return str(_table([self]))

    def _repr_html_(self) -> str:
        return _table([self])._repr_html_()

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
        return _table(list(self.values()))

    @property
    def shown(self) -> pd.DataFrame:
        """The table as text, rounded for reading."""
        return shown_frame(_table(list(self.values())))

    def __repr__(self) -> str:
        return str(self.to_frame())

    def _repr_html_(self) -> str:
        return _table(list(self.values()))._repr_html_()


def _table(corrected: Sequence[OptimismCorrected]) -> Table:
    """Return one row per metric, with the intervals' methods in the note."""
    names = pd.Index([one.metric for one in corrected], name="metric")
    rows = [(o.apparent, o.optimism, o.value, o.lower, o.upper) for o in corrected]
    columns = ["apparent", "optimism", "corrected", "lower", "upper"]
    table = pd.DataFrame(rows, names, columns)
    table["n"] = [one.n_boot - one.n_undefined for one in corrected]
    if not corrected:
        return Table(table, "No metric was corrected for optimism.")
    methods = dict.fromkeys(
        one.method if one.method != "none" else f"none for {one.label}: {one.assumes}"
        for one in corrected
    )
    return Table(
        table,
        f"Corrected for optimism by {corrected[0].n_boot} bootstrap samples",
        ["apparent", "optimism", "corrected", "n"],
        limits={"corrected": ("lower", "upper")},
        alike=("apparent", "optimism"),
        level=corrected[0].level,
        words={one.metric: one.label for one in corrected},
        note=f"Intervals: {', '.join(methods)}.",
    )


def _optimisms(study: Samples, setup: Setup, numbers: range) -> tuple[Floats, int]:
    """Return the optimism of some samples, and how many fits failed."""
    resampling = Resampling(setup, study)
    return resampling.optimisms(numbers), resampling.failed


# ---- the apparent value of a metric minus its optimism ----


INTERVALS = ("cross_validated", "abcloc", "location_shifted", "two_stage")
SHRUNK = 1.25  # weight of the original records in the index of ABCLOC
TWO_SIDED = 10  # samples from which its two sides have a standard deviation each
ASSUMES = stored_texts("statcv.inference.refits", "optimism.txt")


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
    check_whole(n_boot, "n_boot", least=2, most=MAX_RESAMPLES)
    one_of(interval, INTERVALS, "interval")
    check_level(level)
    stream = setup.seed if seed is None else seed
    # every metric is read from the same fits
    study = Samples(tuple(metrics), bool(stratified), threshold, stream, n_boot)
    resampling = Resampling(setup, study)
    times, _ = resampling.samples(range(n_boot))
    fits = n_boot * (1 + n_boot * (interval == "two_stage"))
    again = np.full((len(metrics), n_boot), np.nan)
    with progress_bar(fits, progress, "fit") as bar:
        source = np.broadcast_to(np.int32(1), times.shape)
        numbers = np.arange(n_boot)
        running: dict[str, Any] = {"n_jobs": n_jobs, "bar": bar}
        found = resampling.values(times, source, numbers, **running)
        apparent = resampling.apparent()
        if interval == "two_stage":
            again, failed = _again(study, setup, n_jobs, bar)
            resampling.failed += failed
    warn_of_refits(resampling.failed, fits)
    none: list[Estimate | None] = [None] * len(metrics)
    around = cross_validated or none
    each = zip(metrics, apparent, found, again, around, strict=True)
    return [_finish(*one, interval, level) for one in each]


def _again(
    study: Samples, setup: Setup, n_jobs: int | None, bar: Any
) -> tuple[Floats, int]:
    """Return the optimisms of every sample, and how many fits failed."""
    size = max(1, study.n_boot // TASKS) if setup.fits_together else 1
    ranges = cut(study.n_boot, size)
    found, failed = np.empty((len(study.metrics), study.n_boot)), 0
    with quiet_fits():
        doing = do_tasks(partial(_optimisms, study), setup, ranges, n_jobs)
        with closing(doing):
            for samples, (optimism, missed) in doing:
                found[:, samples.start : samples.stop] = optimism
                failed += missed
                bar.update(len(samples) * study.n_boot)
    return found, failed


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
    # optimism is the mean of sample minus original over bootstrap samples
    optimism, error = np.nan, np.nan
    if 2 * undefined < n_boot and len(found.optimism) > 1:
        optimism = float(found.optimism.mean())
        error = float(found.optimism.std(ddof=1) / math.sqrt(len(found.optimism)))
    value = apparent - optimism
    if math.isnan(value):
        made = Interval.none("it has no value in too many bootstrap samples")
    elif interval == "cross_validated":
        made = _moved(metric, value, around)
        if around is not None and not around.lower <= value <= around.upper:
            _warn_of_disagreement(metric, value, around)
    elif interval == "abcloc":
        made = abcloc(value, found, level)
    else:
        # values in the samples, moved down by the optimism
        spread = found.own[found.known] - optimism
        if interval == "two_stage":
            spread = (found.own - again)[found.known & np.isfinite(again)]
        made = _percentiles(apparent, spread, interval, level)
    least, most = metric.bounds
    limits = max(made.lower, least), min(made.upper, most), made.se, level
    numbers, said = (apparent, optimism, value, *limits), (made.method, made.assumes)
    named = metric.name, metric.label
    return OptimismCorrected(*named, *numbers, *said, n_boot, undefined, error)


def _warn_of_disagreement(metric: Metric, value: float, around: Estimate) -> None:
    """Warn that a value lies outside the interval of the cross-validated one."""
    if math.isnan(around.lower):
        return
    warn(
        f"the corrected {metric.label}, {value:.2f}, lies outside the interval of the "
        f"cross-validated one, {around.lower:.2f} to {around.upper:.2f}: one of them "
        "is biased. A bootstrap sample holds two thirds of the records, so that the "
        "optimism of a model that nearly reproduces its training records, such as a "
        "forest, is underestimated; leave-one-out biases ranks and means downwards.",
        StatcvWarning,
    )


def _moved(metric: Metric, value: float, around: Estimate | None) -> Interval:
    """Return the interval of a cross-validated estimate, moved to another value."""
    if around is None or math.isnan(around.lower):
        why = "it was not computed" if around is None else around.assumes
        return Interval.none(f"the cross-validated estimate has none: {why}")
    # the half-widths are kept on the scale on which the metric has no bounds
    share = metric.bounds == (0.0, 1.0)
    near = "log" if metric.name in DISTANCES else scale_of(metric, 1.0)
    scale = SCALES["logit" if share else near]
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.array([around.lower, around.value, around.upper])
        low, middle, high = scale.to(ends)
        centre = scale.to(value)
    if not (np.isfinite(middle) and np.isfinite(centre)):
        return Interval.none(f"its {scale.name} is infinite")
    lower, upper = (scale.back(centre + end - middle) for end in (low, high))
    se = around.se * scale.slope(value) / scale.slope(around.value)
    method = f"half-widths of the cross-validated interval ({around.method})"
    areas = metric.rank and metric.no_skill is not None and around.how == "pooled"
    assumes = ASSUMES["cross_validated_ranks" if areas else "cross_validated"]
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
    # the index whose distribution ABCLOC takes for that of the error
    index = (found.own - SHRUNK * found.whole)[found.known]
    away, se = index - index.mean(), float(index.std(ddof=1))
    if _is_constant(se, value):
        return Interval.none("its value is the same in every sample")
    bottom = top = se
    if len(index) >= TWO_SIDED:
        # the standard deviation on either side of the mean
        top, bottom = (
            float(np.sqrt((side**2).sum() / max(len(side) - 1, 1)))
            for side in (away[away >= 0], away[away <= 0])
        )
    z = normal_quantile(level)
    limits, said = (value - z * top, value + z * bottom), ASSUMES["abcloc"]
    return Interval(*limits, se, "ABCLOC bootstrap", said)


def _percentiles(
    apparent: float, spread: Floats, interval: str, level: float
) -> Interval:
    """Return the percentiles of values in bootstrap samples."""
    # the spread over bootstrap samples
    se = float(spread.std(ddof=1))
    if _is_constant(se, apparent):  # such as a slope fitted to be 1
        why = "its apparent value is the same in every sample"
        if interval == "location_shifted":
            why += "; interval='two_stage' does not depend on it"
        return Interval.none(why)
    lower, upper = np.quantile(spread, ((1 - level) / 2, (1 + level) / 2)).tolist()
    method = f"{interval.replace('_', '-')} bootstrap"
    return Interval(lower, upper, se, method, ASSUMES[interval])
