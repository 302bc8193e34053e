"""The apparent value of a metric less its optimism, as bootstrap samples tell it.

A model does better on the records that it was fitted to than on others. By how much is
seen where it is fitted to bootstrap samples of the records, which stand to all records
as these do to all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.engine import Setup
from statcv.engine.progress import progress_bar
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    UndefinedMetricWarning,
    warn,
)
from statcv.inference.intervals import Interval
from statcv.inference.optimism_fits import ResampledValues, Resampling
from statcv.inference.refitting import warn_of_refits
from statcv.metrics import Metric
from statcv.whole import is_whole

Floats = NDArray[np.float64]

INTERVALS = ("location_shifted", "two_stage")
ASSUMES = {
    "location_shifted": (
        "takes the spread of the corrected value as that of the apparent one, moved "
        "by the optimism; too high and too narrow where n is small and there is little "
        "to find, and for very flexible models"
    ),
    "two_stage": (
        "corrects the optimism in every bootstrap sample anew; too high where n is "
        "small and there is little to find, and for very flexible models"
    ),
}


@dataclass(frozen=True)
class OptimismCorrected:
    """A metric corrected for optimism; ``float()`` of it is the corrected value.

    Attributes
    ----------
    metric, label : str
    apparent : float
        The metric of the fit on all records, on those same records.
    optimism : float
        The mean, over bootstrap samples, of the metric of a sample's fit on the
        sample less that on all records.
    value : float
        The apparent value less the optimism.
    lower, upper, se, level : float
    method, assumes : str
    n_boot, n_undefined : int
        Bootstrap samples, and those of them in which the metric has no value.
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
        Design, model and weights; of the plan only which records never part: sources
        are drawn as a whole.
    metric : Metric
    n_boot : int, default 500
        Bootstrap samples.
    level : float, default 0.95
    interval : {"location_shifted", "two_stage"}
        The percentiles of the samples' apparent values, less the optimism; or the
        percentiles of what is made of each sample by ``n_boot`` samples of it in turn,
        which takes ``n_boot`` times as many fits.
    stratified : bool, default False
        Draw as many of each class as there are.
    threshold : float, optional
        Above what class 1 is predicted, where the model does not choose it; a half
        where not given.
    seed : int, optional
        Of the samples; that of the setup where not given.
    n_jobs, progress
        As :func:`statcv.engine.run` takes them.

    Returns
    -------
    OptimismCorrected
        NaN, with a warning, where the metric has no value in half of the samples.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is out of range, or no class can be drawn from as whole sources
        are.
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
        raise ArgumentTypeError(f"n_boot must be a whole number, not {n_boot!r}.")
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
            f"{'' if 2 * undefined >= n_boot else '; they are left out'}.",
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
        flat = se <= 1e-7 * max(1.0, abs(apparent))  # a slope that is 1 by its fit
        least, most = study.metric.bounds
        lower, upper = max(lower, least), min(upper, most)
    method, assumes = f"{interval.replace('_', '-')} bootstrap", ASSUMES[interval]
    if math.isnan(se):
        method, assumes = "none", "it has no value in too many bootstrap samples"
    elif flat:
        lower = upper = se = np.nan
        method, assumes = "none", "its apparent value is the same in every sample"
        if interval == "location_shifted":
            assumes += "; interval='two_stage' does not rest on that"
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
