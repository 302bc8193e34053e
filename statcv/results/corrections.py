"""Estimates of the fit to all rows, corrected for optimism by the bootstrap."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal, overload

import numpy as np

from statcv import arguments
from statcv.errors import ArgumentTypeError
from statcv.inference.refits.corrected_calibration import CorrectedCalibration
from statcv.inference.refits.corrected_calibration import (
    corrected_calibration as corrected_curve,
)
from statcv.inference.refits.optimism import OptimismCorrected, OptimismTable
from statcv.inference.refits.optimism import optimism_corrected as corrected
from statcv.metrics import Metric
from statcv.results.refits import Running
from statcv.results.refittable import Refittable


@overload
def optimism_corrected(
    result: Refittable,
    metric: str | Metric | None = ...,
    *,
    n_boot: int = ...,
    level: float = ...,
    interval: str = ...,
    stratified: bool = ...,
    seed: int | np.random.Generator | None = ...,
    n_jobs: int | None = ...,
    progress: bool | None = ...,
) -> OptimismCorrected: ...


@overload
def optimism_corrected(
    result: Refittable,
    metric: list[str] | list[Metric] | tuple[Metric, ...],
    *,
    n_boot: int = ...,
    level: float = ...,
    interval: str = ...,
    stratified: bool = ...,
    seed: int | np.random.Generator | None = ...,
    n_jobs: int | None = ...,
    progress: bool | None = ...,
) -> OptimismTable: ...


def optimism_corrected(
    result: Refittable,
    metric: str | Metric | list[str] | list[Metric] | tuple[Metric, ...] | None = None,
    *,
    n_boot: int = 500,
    level: float = 0.95,
    interval: str = "cross_validated",
    stratified: bool = False,
    seed: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> OptimismCorrected | OptimismTable:
    """Return Harrell's bootstrap estimate: the apparent value minus the optimism.

    An alternative to cross-validation. The value of the fit to a bootstrap sample
    on that sample, minus its value on all records, estimates the optimism.

    Parameters
    ----------
    metric : str or list of str, optional
        Name of the metric, or of several from the same fits; the headline metric
        unless given.
    n_boot : int, default 500
        Number of bootstrap samples.
    level : float, default 0.95
        Confidence level of the interval.
    interval : {"cross_validated", "abcloc", "location_shifted", "two_stage"}
        Half-widths of the cross-validated metric's default interval; the limits of
        ``rms`` from version 8.1; the apparent interval shifted by the optimism; or
        a bootstrap of the whole correction, with ``n_boot`` times as many fits. The
        last two are too narrow with few records for each predictor.
    stratified : bool, default False
        Whether each class is resampled separately.
    seed, n_jobs, progress
        Seed, number of processes and progress bar, as in :meth:`estimate`.

    Returns
    -------
    OptimismCorrected or OptimismTable
        The corrected estimate with its interval; of a list of metrics a table, with
        one row per metric.

    Raises
    ------
    ArgumentError
        If ``interval`` is unknown, or ``level`` does not lie between 0 and 1.

    References
    ----------
    Harrell, Lee & Mark (1996), Stat. Med. 15:361; Noma, Shinozaki, Iba, Teramukai
    & Furukawa (2021), Stat. Med. 40:5691.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> ridge = res.update(model=scv.models.Logit(C=1.0))
    >>> one = ridge.optimism_corrected("auroc", n_boot=50, seed=1)
    >>> round(one.apparent, 3), round(float(one), 3)
    (0.879, 0.853)
    """
    arguments.check_types(optimism_corrected, locals())
    one = metric is None or isinstance(metric, (str, Metric))
    if metric is None or isinstance(metric, (str, Metric)):
        metrics = [result._metric(metric)]
    elif arguments.is_list(metric):
        metrics = [result._metric(name) for name in metric]
    else:
        raise ArgumentTypeError(
            "metric must be a metric or a list of them, not "
            f"{arguments.described(metric)}."
        )
    arguments.check_level(level)
    moved = metrics if interval == "cross_validated" else []
    found = corrected(
        result.refits.setup,
        metrics,
        cross_validated=[result.estimate(own, level=level) for own in moved],
        n_boot=n_boot,
        level=level,
        interval=interval,
        stratified=stratified,
        threshold=result.threshold,
        **asdict(Running.of(result, seed, n_jobs, progress)),
    )
    return found[0] if one else OptimismTable(found)


def corrected_calibration(
    result: Refittable,
    *,
    n_boot: int = 500,
    level: float = 0.95,
    smooth: Literal["spline", "loess"] = "spline",
    seed: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> CorrectedCalibration:
    """Return the calibration curve of the fit to all rows, minus its optimism.

    The curve of a bootstrap sample's fit on that sample, minus that on all records,
    is averaged over samples. The curve of held-out predictions is that of
    :func:`statcv.plots.plot_calibration`.

    Parameters
    ----------
    n_boot : int, default 500
        Number of bootstrap samples.
    level : float, default 0.95
        Confidence level of the pointwise band, which is that of ``rms`` from
        version 8.1.
    smooth : {"spline", "loess"}
        The smoother, as in :func:`statcv.metrics.calibration_curve`.
    seed, n_jobs, progress
        As in :meth:`estimate`.

    Returns
    -------
    CorrectedCalibration
        The ``apparent`` and the ``corrected`` curve at ``predicted``, and the band;
        :func:`statcv.plots.plot_corrected_calibration` draws them.

    Raises
    ------
    OutcomeError, MetricError
        If the outcome does not have two classes, or the predictions are not
        probabilities.

    References
    ----------
    Harrell (2015), Regression Modeling Strategies, section 10.11.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> ridge = res.update(model=scv.models.Logit(C=1.0))
    >>> curve = ridge.corrected_calibration(n_boot=50, seed=1)
    >>> curve.to_frame().iloc[:1, :4].round(3)
       predicted  apparent  optimism  corrected
    0      0.146      0.03    -0.073      0.103
    """
    arguments.check_types(corrected_calibration, locals())
    return corrected_curve(
        result.refits.setup,
        n_boot=n_boot,
        level=level,
        smooth=smooth,
        **asdict(Running.of(result, seed, n_jobs, progress)),
    )
