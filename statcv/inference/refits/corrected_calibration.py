"""The calibration curve of the fit to all records, corrected for optimism.

At each probability the curve is treated as a metric is: its value in a bootstrap
sample, minus that of the sample's fit on all records, is an estimate of the optimism.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from statcv.arguments import MAX_RESAMPLES, check_level, check_whole
from statcv.engine import Setup, progress_bar
from statcv.errors import MetricError, OutcomeError, UndefinedMetricWarning, warn
from statcv.inference.refits.optimism import abcloc
from statcv.inference.refits.refitting import warn_of_refits
from statcv.inference.refits.resampling import ResampledValues, Resampling, Samples
from statcv.metrics import calibration_curve
from statcv.numeric.arrays import Floats
from statcv.tables import Table
from statcv.words import percent, plural

Smooth = Literal["spline", "loess"]

POINTS = 50  # as in rms::calibrate, which also omits the four at each end
BEYOND = 4


@dataclass(frozen=True, eq=False, repr=False)
class CorrectedCalibration:
    """A calibration curve with its optimism, and a band around the corrected curve.

    Attributes
    ----------
    predicted : numpy.ndarray, shape (points,)
        Probabilities at which the curve is evaluated.
    apparent : numpy.ndarray, shape (points,)
        The curve of the fit to all records, on those same records.
    optimism : numpy.ndarray, shape (points,)
        Mean over bootstrap samples of the curve of a sample's fit on the sample, minus
        that on all records.
    lower, upper : numpy.ndarray, shape (points,)
        Limits of the pointwise band.
    level : float
    method : str
        The smoothing method of the curve.
    n_boot : int
    predictions : numpy.ndarray, shape (n,)
        The predictions of the fit to all records.
    """

    predicted: Floats
    apparent: Floats
    optimism: Floats
    lower: Floats
    upper: Floats
    level: float
    method: str
    n_boot: int
    predictions: Floats

    @property
    def corrected(self) -> Floats:
        """The apparent curve minus its optimism, between 0 and 1."""
        return np.clip(self.apparent - self.optimism, 0.0, 1.0)

    @property
    def distance(self) -> float:
        """The mean distance of the corrected curve from the predictions it covers."""
        p, known = self.predictions, np.isfinite(self.corrected)
        if not known.any():
            return float("nan")
        x, curve = self.predicted[known], self.corrected[known]
        p = p[(p >= x[0]) & (p <= x[-1])]
        return float(np.abs(np.interp(p, x, curve) - p).mean())

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per probability."""
        names = ("predicted", "apparent", "optimism", "corrected", "lower", "upper")
        return Table(
            pd.DataFrame({name: getattr(self, name) for name in names}),
            f"Calibration curve corrected for optimism ({self.method})",
            ["predicted", "apparent", "optimism", "corrected"],
            limits={"corrected": ("lower", "upper")},
            level=self.level,
        )

    def __repr__(self) -> str:
        low, high = self.predicted[[0, -1]]
        return (
            f"Calibration curve corrected for optimism ({self.method})\n"
            f"{plural(len(self.predicted), 'point')} from {low:.3f} to {high:.3f}, "
            f"mean distance from the predictions {self.distance:.3f}\n"
            f"{percent(self.level)} band, pointwise: ABCLOC of {self.n_boot} bootstrap "
            "samples"
        )


def corrected_calibration(
    setup: Setup,
    *,
    n_boot: int = 500,
    level: float = 0.95,
    smooth: Smooth = "spline",
    seed: int | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> CorrectedCalibration:
    """Correct the calibration curve of the fit to all records for optimism.

    Parameters
    ----------
    setup : Setup
        Design, model and weights, and the clusters of its plan, which are drawn whole.
    n_boot, level, seed, n_jobs, progress
        As :func:`statcv.inference.refits.optimism.optimism_corrected` takes them.
    smooth : {"spline", "loess"}
        As :func:`statcv.metrics.calibration_curve` takes it.

    Raises
    ------
    OutcomeError
        If the outcome does not have two classes.
    MetricError
        If the predictions are not probabilities.
    """
    check_whole(n_boot, "n_boot", least=2, most=MAX_RESAMPLES)
    check_level(level)
    if setup.design.outcome.kind != "binary":
        raise OutcomeError("A calibration curve needs an outcome with two classes.")
    stream = setup.seed if seed is None else seed
    resampling = Resampling(setup, Samples((), False, None, stream, n_boot))
    fit, predictions = resampling.of_all
    if not fit.probabilities:
        raise MetricError("A calibration curve needs probabilities as predictions.")
    times, _ = resampling.samples(range(n_boot))
    y, every, at = resampling.y, resampling.every, _points(predictions)
    curve = partial(calibration_curve, at=at, smooth=smooth)
    apparent = curve(y, predictions)
    found = np.full((2, len(at), n_boot), np.nan)
    with progress_bar(n_boot, progress, "fit") as bar:
        for batch, made in resampling.fits(times, np.arange(n_boot), n_jobs, bar):
            for sample, p in zip(batch, made.predicted, strict=True):
                # the curve in the sample, and the curve of the same fit in all records
                own = np.repeat(every, times[sample])
                for place, rows in enumerate((own, every)):
                    found[place, :, sample] = curve(y[rows], p[rows]).observed
    warn_of_refits(resampling.failed, n_boot)
    values = [ResampledValues(*found[:, point]) for point in range(len(at))]
    enough = np.array([2 * one.known.sum() > n_boot for one in values])
    missing = int((~enough).sum())
    if missing:
        warn(
            f"The calibration curve has no value in half of the bootstrap samples or "
            f"more at {missing} of {plural(len(at), 'point')}.",
            UndefinedMetricWarning,
        )
    optimism, limits = np.full(len(at), np.nan), np.full((2, len(at)), np.nan)
    for point in np.flatnonzero(enough):
        optimism[point] = values[point].optimism.mean()
        value = float(apparent.observed[point] - optimism[point])
        if np.isfinite(value):
            band = abcloc(value, values[point], level)
            limits[:, point] = np.clip([band.lower, band.upper], 0, 1)
    lower, upper = limits
    shown = at, apparent.observed, optimism, lower, upper
    about = level, apparent.method, n_boot
    return CorrectedCalibration(*shown, *about, predictions)


def _points(predictions: Floats) -> Floats:
    """Return the probabilities at which a curve of those predictions is evaluated."""
    inner = np.sort(predictions)
    if len(inner) > 2 * BEYOND + 2:
        inner = inner[BEYOND : len(inner) - BEYOND]
    return np.linspace(inner[0], inner[-1], POINTS)
