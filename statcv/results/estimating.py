"""The estimates of a result, the refits for their intervals, and those for optimism."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from statcv import arguments, inference
from statcv.errors import ArgumentTypeError, MetricError
from statcv.folds import FoldPlan
from statcv.inference.estimates.monte_carlo import MonteCarlo
from statcv.inference.estimates.monte_carlo import monte_carlo as error_by_chance
from statcv.inference.intervals.request import IntervalRequest
from statcv.inference.refits.corrected_calibration import CorrectedCalibration
from statcv.inference.refits.corrected_calibration import (
    corrected_calibration as corrected_curve,
)
from statcv.inference.refits.jackknife import Jackknife, keep_jackknife
from statcv.inference.refits.optimism import OptimismCorrected, OptimismTable
from statcv.inference.refits.optimism import optimism_corrected as corrected
from statcv.metrics import Metric
from statcv.results.refits import Running, warn_of_interval
from statcv.results.wording.phrases import caution

if TYPE_CHECKING:
    from statcv.results.result import CVResult


def estimate(
    result: CVResult,
    metric: str | Metric | None = None,
    how: str | None = None,
    level: float = 0.95,
    interval: str | None = None,
    *,
    seed: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> inference.Estimate:
    """Estimate a metric, with a confidence interval.

    Parameters
    ----------
    metric : str, optional
        Name of the metric; the headline metric unless given.
    how : {"pooled", "per_fold", "paired", ".632", ".632+"}, optional
        Way in which held-out predictions are combined. ``"pooled"`` computes the
        metric from those of all folds, ``"per_fold"`` averages it over folds, and
        ``"paired"`` (auROC, concordance, calibration slope) compares only records
        that were both absent from the training set of one fit. ``".632"`` and
        ``".632+"`` need ``scheme="bootstrap"``. Unless given, rank metrics are
        paired if the scheme compares pairs, as ``rloocv`` does, and per fold if
        every fold has both classes; under ``montecarlo`` and ``bootstrap`` all
        metrics are per fold; otherwise they are pooled.
    level : float, default 0.95
        Confidence level of the interval.
    interval : str, optional
        Method of the interval. The default makes no refits and depends on scheme,
        metric, outcome and family of the model, not on the number of records:
        ``"infinitesimal_jackknife"`` for a model with a likelihood, which counts
        the variation of the fits to first order; otherwise
        ``"corrected_influence"`` for rank metrics, ``"corrected_t"`` for other
        means over folds, ``"curve"`` for the distances of a calibration curve, and
        ``"records"`` or ``"influence"``.

        Others without refits: ``"delong"`` and ``"logit"`` (the same on the logit
        scale) for auROC, ``"pairs"`` for paired estimates, ``"bootstrap"`` and
        ``"bca"``. An auROC of exactly 1 or 0 has an exact bound from disjoint
        pairs, except for a 0 that the training means alone produce, as under
        ``loocv``.

        With refits, which also count the variability of the fits: ``"jackknife"``,
        ``"jackknife_logit"``, ``"corrected_jackknife"`` for auROC, and
        ``"nested_cv"`` for a mean over records under k folds.
    seed : int, numpy.random.Generator or None
        Seed for intervals that use random draws; the seed of the result if None.
    n_jobs, progress
        Number of processes and progress bar for refits, as in :func:`statcv.cv`.

    Returns
    -------
    Estimate
        The estimate with its interval; ``float`` of it is the estimate alone.

    Raises
    ------
    MetricError
        If the metric is unknown, or not available for the outcome or the scheme.

    Warns
    -----
    CostWarning, UndefinedMetricWarning
        If refits will take long (given before they start), or the metric is
        undefined in some folds or repeats, with their number.

    References
    ----------
    Efron & Tibshirani (1997), JASA 92:548 (.632 and .632+); DeLong, DeLong &
    Clarke-Pearson (1988), Biometrics 44:837; LeDell, Petersen & van der Laan
    (2015), Electron. J. Stat. 9:1583; Nadeau & Bengio (2003), Mach. Learn. 52:239;
    Bates, Hastie & Tibshirani (2023), JASA 119:1434; Wager, Hastie & Efron (2014),
    JMLR 15:1625.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> print(res.estimate("auroc"))
    auROC 0.83 (95% CI 0.57 to 0.98)
    >>> round(float(res.estimate("brier", how="pooled")), 3)
    0.151
    """
    arguments.check_types(estimate, locals())
    running = Running.of(result, seed, n_jobs, progress)
    metric = result._metric(metric)
    if how in inference.BOOTSTRAPS and is_bootstrap(result.plan):
        if interval is not None:
            raise MetricError(f"how={how!r} has no interval; omit interval=.")
        refits = result.refits
        cut = refits.full_threshold(metric)
        found: inference.Estimate = inference.bootstrap_estimate(
            result.scores, metric, how, refits.fitted, level, cut
        )
    elif interval in inference.INTERVALS and inference.INTERVALS[interval].refits:
        _check_refits(result, f"interval={interval!r}")
        bare = inference.make_estimate(result.scores, metric, how, level)
        if (metric, bare.how) not in result.refits.jackknives:
            warn_of_interval(result, interval)
        asked = IntervalRequest(
            *(result.scores, metric, bare.how, level, running.seed),
            setup=result.refits.setup_for(metric),
            kept=result.refits.jackknives,
            running=running.processes,
        )
        made = replace(inference.INTERVALS[interval].make(asked), name=interval)
        found = bare.with_interval(lambda: made)
    else:
        found = inference.make_estimate(
            result.scores, metric, how, level, interval, seed=running.seed
        )
    if found.n_undefined:
        unit = "folds" if found.how == "per_fold" else "repeats"
        if how in inference.BOOTSTRAPS and metric.casewise is not None:
            unit = "records"
        elif result.scores.by_split:
            unit = "splits"
        caution("undefined values", found=found, unit=unit)
    return found


def jackknife(
    result: CVResult,
    metric: str | Metric | None = None,
    how: str | None = None,
    *,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Jackknife:
    """Return the jackknife: the estimate refitted without each record in turn.

    If ``stratify=`` defines clusters, whole clusters are deleted instead.

    Parameters
    ----------
    metric, how : str, optional
        Metric and way of combining, as in :meth:`estimate`.
    n_jobs, progress
        Number of processes and progress bar, as in :func:`statcv.cv`.

    Returns
    -------
    Jackknife
        The ``values``, one per record or cluster, and their ``variance``.

    Raises
    ------
    MetricError
        If the estimate cannot be jackknifed; the message gives the reason.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> loo = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
    >>> len(loo.jackknife("auroc").values)
    32
    """
    arguments.check_types(jackknife, locals())
    running = Running.of(result, None, n_jobs, progress)
    metric = result._metric(metric)
    way = inference.resolve_how(result.scores, metric, how)
    _check_refits(result, "the jackknife")
    if (metric, way) not in result.refits.jackknives:
        warn_of_interval(result, "jackknife")
    kept, setup = result.refits.jackknives, result.refits.setup_for(metric)
    about = setup, result.scores, metric, way, kept
    found = keep_jackknife(*about, **running.processes)
    if isinstance(found, str):
        raise MetricError(f"{metric.label} has no jackknife: {found.rstrip('.')}.")
    return found


def monte_carlo(
    result: CVResult, metric: str | Metric | None = None, how: str | None = None
) -> MonteCarlo:
    """Return the Monte Carlo error of an estimate: how far it varies with the seed.

    Parameters
    ----------
    metric, how : str, optional
        Metric and way of combining, as in :meth:`estimate`.

    Returns
    -------
    MonteCarlo
        The standard deviation over repeats, ``sd``; the standard error of their
        mean, ``se``; and ``needed(size)``, the number of repeats that brings the
        standard error below a given size.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> loo = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
    >>> chance = loo.monte_carlo("auroc")
    >>> chance.needed(chance.se)
    20
    """
    arguments.check_types(monte_carlo, locals())
    metric = result._metric(metric)
    way = inference.resolve_how(result.scores, metric, how)
    return error_by_chance(result.scores, metric, way)


def is_bootstrap(plan: FoldPlan) -> bool:
    """Return whether the plan samples records, so that there are .632 estimates."""
    return plan.made_by is not None and plan.made_by.samples


def _check_refits(result: CVResult, what: str) -> None:
    """Raise an error if there is no model that can be refitted.

    Parameters
    ----------
    result : CVResult
    what : str
        Name of the method that needs the refits, for the message.
    """
    if not result.refits.possible:
        raise MetricError(
            f"{what} needs refits, but these predictions come from other software or "
            "an earlier fit, so that there is no model to fit."
        )


# ---- corrected for optimism by the bootstrap ----


@overload
def optimism_corrected(
    result: CVResult,
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
    result: CVResult,
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
    result: CVResult,
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
    elif arguments.is_list(metric) and len(metric):
        metrics = [result._metric(name) for name in metric]
    else:
        raise ArgumentTypeError(
            "metric must be a metric or a list of one or more, not "
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
    result: CVResult,
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
