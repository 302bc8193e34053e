"""The estimate on the folds of each candidate, beside the unbiased one."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import FoldWarning, UndefinedMetricWarning, warn
from statcv.folds import FoldPlan
from statcv.inference import MonteCarlo, Scores
from statcv.inference.refits.refitting import run_quietly, scores_of
from statcv.metrics import Metric
from statcv.results.stratifier_bias.candidates import UNBIASED, Candidate
from statcv.results.stratifier_bias.ranking import count_parted
from statcv.results.stratifier_bias.setting import Setting
from statcv.results.stratifier_bias.values import (
    moved_by_records,
    standard_error,
    undefined_folds,
    values_of,
)
from statcv.results.summary import number


def shown_to(width: float, setting: Setting) -> float:
    """Return what decides the digits of a loss that is known to a width.

    Of points a tenth is the last that is of use.
    """
    return float(np.fmax(width, 1.0)) if setting.points else width


def verdict(
    cost: float, half: float, of_records: float, parted: float, setting: Setting
) -> str:
    """Say what a candidate costs.

    Parameters
    ----------
    cost : float
        How much worse the estimate is than the unbiased one, in points or units.
    half, of_records : float
        Half the width of its interval over folds, and over records; NaN for none.
    parted : float
        Known copies that it parts; NaN where none are known.
    setting : Setting
    """
    return leaks(parted) + _said(cost, half, of_records, setting)


def leaks(parted: float) -> str:
    """Say first that known copies are parted; nothing where none are, or are known.

    >>> leaks(1234.0), leaks(float("nan"))
    ('leaks: parts 1,234 known duplicates; ', '')
    """
    return f"leaks: parts {parted:,.0f} known duplicates; " if parted > 0 else ""


def _said(cost: float, half: float, of_records: float, setting: Setting) -> str:
    unit = "points" if setting.points else f"of {setting.metric.label}"
    if np.isnan(cost):
        return f"{setting.metric.label} has no value"
    if np.isnan(half) and cost == 0:
        return "no difference (no interval over folds)"
    verb = "costs" if cost >= 0 else "flatters by"
    if np.isnan(half):
        return f"{verb} {number(abs(cost))} {unit} (no interval over folds)"
    digits = shown_to(2 * half, setting)
    if abs(cost) <= half:
        most = number(abs(cost) + np.fmax(half, of_records), digits)
        return f"no bias to be seen: at most {most} {unit}"
    low, high = abs(cost) - half, abs(cost) + half
    least = number(low, digits)
    if float(least) == 0:  # of an interval that excludes 0
        least = number(low, 10 * low)
    limits = f"({least} to {number(high, digits)})"
    size = f"{verb} {number(abs(cost), digits)} {unit}"
    if abs(cost) <= of_records:
        return f"{size} in these records {limits}, within the chance of records"
    return f"{size} {limits}"


# ---- the estimate on the folds of each candidate, beside the unbiased one ----

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Runs:
    """Cross-validations on the folds of one stratifier, or on unbiased ones.

    Attributes
    ----------
    plan : FoldPlan
    scores : list of Scores
        One, of all repeats; or one a seed of the model, where the folds are fixed.
    failed : int
        Fits that did not converge, or were separated.
    fixed : bool
        Whether values alone make the folds, so that no seed gives others.
    """

    plan: FoldPlan
    scores: list[Scores]
    failed: int
    fixed: bool = False


@dataclass(frozen=True, eq=False)
class Measured:
    """The estimates of all candidates beside the unbiased one.

    Attributes
    ----------
    table : pandas.DataFrame
    unbiased : float
    chance : MonteCarlo
        How far the unbiased estimate moves with its folds.
    plans : dict of str to FoldPlan
    failed, fits : int
    """

    table: pd.DataFrame
    unbiased: float
    chance: MonteCarlo
    plans: dict[str, FoldPlan]
    failed: int
    fits: int


def fits_to_make(
    setting: Setting, candidates: Sequence[Candidate], repeats: int, by_chance: bool
) -> int:
    """Count the fits of :func:`measure_all`."""
    each = [repeats if by_chance or one.stratifier.random else 1 for one in candidates]
    return setting.k * (repeats + sum(each))


def measure_all(
    setting: Setting,
    candidates: Sequence[Candidate],
    plans: Mapping[str, FoldPlan],
    how: str,
    *,
    repeats: int,
    by_chance: bool,
    level: float,
    n_jobs: int | None,
    bar: Any,
) -> Measured:
    """Cross-validate on the folds of every candidate, and on unbiased ones.

    Parameters
    ----------
    setting : Setting
    candidates : sequence of Candidate
    plans : mapping of str to FoldPlan
        The folds of each, one repeat.
    how : {"pooled", "per_fold"}
    repeats : int
        How often random folds are drawn.
    by_chance : bool
        Whether the model itself depends on the seed: then it is fitted as often on
        folds that are fixed, too.
    level : float
        Of the intervals.
    n_jobs, bar
        As :func:`statcv.engine.run` takes them; a bar to move on.

    Warns
    -----
    UndefinedMetricWarning
        If the metric has no value in some folds.
    """
    plan = setting.unbiased_plan(repeats)
    reference = Runs(plan, *_fitted(setting, plan, 1, n_jobs, bar))
    made, rows, lacking, failed = {UNBIASED: plan}, [], [], reference.failed
    fits, alike = plan.n_fits, dict[str, Runs]()  # fixed folds, each fitted once
    for candidate in candidates:
        own, fixed = plans[candidate.name], not candidate.stratifier.random
        if not fixed and repeats > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FoldWarning)  # was given at the start
                own = setting.plan(candidate.stratifier, repeats)
        times = repeats if fixed and by_chance else 1
        runs = alike.get(own.fingerprint) if fixed else None
        if runs is None:
            runs = Runs(own, *_fitted(setting, own, times, n_jobs, bar), fixed)
            failed, fits = failed + runs.failed, fits + own.n_fits * times
        else:
            bar.update(own.n_fits * times)
        if fixed:
            alike[own.fingerprint] = runs
        rows.append(_row(setting, candidate, runs, reference, how, level))
        if undefined_folds(runs.scores, setting.metric, how):
            lacking.append(candidate.name)
        made[candidate.name] = own
    if lacking:
        warn(
            f"{setting.metric.label} has no value in some folds of "
            f"{', '.join(lacking)}; they are left out there.",
            UndefinedMetricWarning,
        )
    values = values_of(reference.scores, setting.metric, how)
    return Measured(
        table=pd.DataFrame(rows),
        unbiased=float(values.mean()),
        chance=MonteCarlo(_sd(values), len(values)),
        plans=made,
        failed=failed,
        fits=fits,
    )


def _fitted(
    setting: Setting, plan: FoldPlan, times: int, n_jobs: int | None, bar: Any
) -> tuple[list[Scores], int]:
    """Fit a plan, with as many seeds of the model, and count what failed."""
    scores, failed = [], 0
    for time in range(times):
        numbers = np.arange(plan.n_fits) + time * plan.n_fits
        held = run_quietly(setting.setup(plan), plan, n_jobs, numbers)
        failed += int((~held.converged | held.separated).sum())
        scores.append(scores_of(plan, held, setting.design.y))
        bar.update(plan.n_fits)
    return scores, failed


def _row(
    setting: Setting,
    candidate: Candidate,
    runs: Runs,
    reference: Runs,
    how: str,
    level: float,
) -> dict[str, Any]:
    metric = setting.metric
    own = values_of(runs.scores, metric, how)
    unbiased = values_of(reference.scores, metric, how)
    estimate, base = float(own.mean()), float(unbiased.mean())
    bias = setting.scale * (estimate - base)
    half = setting.scale * fold_interval(own, unbiased, runs.fixed, level)
    of_records = setting.scale * _records_interval(
        setting, metric, runs, reference, how, level
    )
    parted = count_parted(runs.plan, setting.groups)
    relative = 1 / (setting.scale * base) if base > 0 else np.nan
    return {
        "candidate": candidate.name,
        "folds": candidate.folds,
        "estimate": estimate,
        "unbiased": base,
        "bias": bias,
        "lower": bias - half,
        "upper": bias + half,
        "records_lower": bias - of_records,
        "records_upper": bias + of_records,
        "ratio": 1 + relative * bias,
        "ratio_lower": 1 + relative * (bias - half),
        "ratio_upper": 1 + relative * (bias + half),
        "repeats": len(own),
        "parted": parted,
        "verdict": verdict(-setting.sign * bias, half, of_records, parted, setting),
    }


def fold_interval(own: Floats, unbiased: Floats, fixed: bool, level: float) -> float:
    """Return half the width of an interval of the bias over folds, given the data.

    Over repeats i the differences of stratified and unbiased estimate; a t interval of
    their mean. Folds that are fixed have no repeats. They are one set of folds, as
    much a matter of chance as one set of random ones, so that their estimate counts
    with the sd of the unbiased repeats, beside the error of the unbiased mean.

    Parameters
    ----------
    own, unbiased : numpy.ndarray
        Estimates by repeat.
    fixed : bool
    level : float

    Returns
    -------
    float
        NaN for one repeat, or where repeats do not differ.

    Examples
    --------
    >>> own, unbiased = np.array([0.70]), np.array([0.80, 0.82, 0.81])
    >>> round(fold_interval(own, unbiased, True, 0.95), 4)
    0.0497
    """
    from scipy.special import stdtrit

    times = len(unbiased)
    if times < 2:
        return np.nan
    if fixed:
        se = _sd(unbiased) * np.sqrt(1 + 1 / times)
    else:
        se = _sd(own - unbiased) / np.sqrt(times)
    return float(stdtrit(times - 1, (1 + level) / 2) * se) if se > 0 else np.nan


def _records_interval(
    setting: Setting,
    metric: Metric,
    runs: Runs,
    reference: Runs,
    how: str,
    level: float,
) -> float:
    """Return half the width of an interval over records, paired record by record."""
    from scipy.special import ndtri

    own = moved_by_records(runs.scores, metric, how)
    unbiased = moved_by_records(reference.scores, metric, how)
    if own is None or unbiased is None:
        return np.nan
    return float(
        ndtri((1 + level) / 2) * standard_error(own - unbiased, setting.groups)
    )


def _sd(values: Floats) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else np.nan
