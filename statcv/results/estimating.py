"""The estimates of a result, and the refits that their intervals need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from statcv import inference
from statcv.arguments import check_types
from statcv.errors import MetricError, UndefinedMetricWarning, warn
from statcv.folds import FoldPlan
from statcv.inference.estimates.monte_carlo import MonteCarlo
from statcv.inference.estimates.monte_carlo import monte_carlo as error_by_chance
from statcv.inference.intervals.request import IntervalRequest
from statcv.inference.refits.jackknife import Jackknife, keep_jackknife
from statcv.metrics import Metric
from statcv.results.refits import Running, warn_of_interval
from statcv.results.refittable import Refittable
from statcv.words import stated


def estimate(
    result: Refittable,
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
    check_types(estimate, locals())
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
        warn(
            f"{stated(metric.label, found.how)} has no value in "
            f"{found.n_undefined} of {found.n_values} {unit}; they are omitted.",
            UndefinedMetricWarning,
        )
    return found


def jackknife(
    result: Refittable,
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
    check_types(jackknife, locals())
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
        raise MetricError(f"{metric.label} has no jackknife: {found}.")
    return found


def monte_carlo(
    result: Refittable, metric: str | Metric | None = None, how: str | None = None
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
    check_types(monte_carlo, locals())
    metric = result._metric(metric)
    way = inference.resolve_how(result.scores, metric, how)
    return error_by_chance(result.scores, metric, way)


def is_bootstrap(plan: FoldPlan) -> bool:
    """Return whether the plan samples records, so that there are .632 estimates."""
    return plan.made_by is not None and plan.made_by.samples


def _check_refits(result: Refittable, what: str) -> None:
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
