"""The estimate on the folds of each candidate, compared with the unbiased one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.engine import progress_bar, run_quietly
from statcv.errors import FoldWarning
from statcv.folds import FoldPlan
from statcv.inference import MonteCarlo, Scores, values_by_split
from statcv.inference.refits.refitting import scores_of
from statcv.numeric.arrays import Floats
from statcv.results.stratifier_bias.candidates import UNBIASED, CandidateStratifier
from statcv.results.stratifier_bias.ranking import count_split
from statcv.results.stratifier_bias.setting import Setting, se_of_difference, values_of
from statcv.results.wording.phrases import caution
from statcv.tables import Table, number

if TYPE_CHECKING:
    from statcv.results.stratifier_bias.bias import StratifierBias


def shown_to(width: float, setting: Setting) -> float:
    """Return the width of the interval that determines the digits of a loss.

    Losses in points are shown to a tenth of a point at most.
    """
    return float(np.fmax(width, 1.0)) if setting.points else width


def verdict(
    cost: float, half: float, of_records: float, split: float, setting: Setting
) -> str:
    """State the bias of a candidate in words.

    Parameters
    ----------
    cost : float
        Loss compared with the unbiased estimate, in points or units of the metric.
    half, of_records : float
        Half the widths of its intervals over folds and over records; NaN if there is no
        interval.
    split : float
        Number of known duplicates that it splits; NaN if none are known.
    setting : Setting
    """
    return leaks(split) + _said(cost, half, of_records, setting)


def leaks(split: float) -> str:
    """Return a warning that known duplicates are split, or an empty string.

    >>> leaks(1234.0), leaks(float("nan"))
    ('leaks: splits 1,234 known duplicates; ', '')
    """
    return f"leaks: splits {split:,.0f} known duplicates; " if split > 0 else ""


def _said(cost: float, half: float, of_records: float, setting: Setting) -> str:
    unit = "points" if setting.points else f"of {setting.metric.label}"
    if np.isnan(cost):
        return f"{setting.metric.label} has no value"
    if np.isnan(half) and cost == 0:
        return "no difference (no interval over folds)"
    verb, away = "costs" if cost >= 0 else "flatters by", abs(cost)
    if np.isnan(half):
        return f"{verb} {number(away)} {unit} (no interval over folds)"
    digits = shown_to(2 * half, setting)
    if away <= half:
        most = number(away + np.fmax(half, of_records), digits)
        return f"no bias detected: at most {most} {unit}"
    least = number(away - half, digits)
    if float(least) == 0:  # although the interval excludes 0
        least = number(away - half, 10 * (away - half))
    here = " in these records" * (away <= of_records)
    within = ", within sampling error over records" * bool(here)
    limits = f"({least} to {number(away + half, digits)}){within}"
    return f"{verb} {number(away, digits)} {unit}{here} {limits}"


# ---- the estimate on the folds of each candidate, and the unbiased one ----


@dataclass(frozen=True, eq=False)
class Runs:
    """Cross-validations on the folds of one stratifier, or on unbiased folds.

    Attributes
    ----------
    plan : FoldPlan
    scores : list of Scores
        The predictions: one element with all repeats, or one per seed of the model if
        the folds are fixed.
    failed : int
        The number of fits that did not converge, or were separated.
    """

    plan: FoldPlan
    scores: list[Scores]
    failed: int

    @property
    def fits(self) -> int:
        """The number of fits, over all seeds."""
        return self.plan.n_fits * len(self.scores)


def measure_all(
    result: StratifierBias,
    candidates: Sequence[CandidateStratifier],
    repeats: int,
    by_chance: bool,
    *,
    n_jobs: int | None,
    progress: bool | None,
) -> StratifierBias:
    """Add the biases that are measured on the folds of candidates and on unbiased ones.

    Parameters
    ----------
    result : StratifierBias
        The ranking, in whose order the candidates are measured.
    candidates : sequence of CandidateStratifier
    repeats : int
        Number of times that random folds are drawn.
    by_chance : bool
        Whether the model itself depends on the seed, so that it is fitted repeatedly on
        fixed folds too.
    n_jobs, progress
        As in :func:`statcv.cv`.

    Warns
    -----
    UndefinedMetricWarning
        If the metric is undefined in some folds.
    """
    setting, how, names = result.setting, result.how, [*result.ranking["candidate"]]
    candidates = sorted(candidates, key=lambda one: names.index(one.name))
    each = [repeats if by_chance or one.stratifier.random else 1 for one in candidates]
    with progress_bar(setting.k * (repeats + sum(each)), progress) as bar:
        plan = setting.unbiased_plan(repeats)
        reference = _fitted(setting, plan, 1, n_jobs, bar)
        made, rows, lacking = {UNBIASED: plan}, [], []
        done = {UNBIASED: reference}  # by candidate; equal fixed folds are fitted once
        for candidate in candidates:
            key, own, times = candidate.name, result.plans[candidate.name], 1
            if not candidate.stratifier.random:
                key, times = own.fingerprint, repeats if by_chance else 1
            elif repeats > 1:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", FoldWarning)  # already given once
                    own = setting.plan(candidate.stratifier, repeats)
            if key in done:
                bar.update(own.n_fits * times)
            else:
                done[key] = _fitted(setting, own, times, n_jobs, bar)
            runs, made[candidate.name] = done[key], own
            rows.append(_row(result, candidate, runs, reference))
            by_fold = [values_by_split(run, setting.metric) for run in runs.scores]
            if how == "per_fold" and np.isnan(np.concatenate(by_fold)).any():
                lacking.append(candidate.name)
    if lacking:
        label = setting.metric.label
        caution("undefined in folds", label=label, candidates=lacking)
    values = values_of(reference.scores, setting.metric, how)
    return replace(
        result,
        measured=Table(
            pd.DataFrame(rows),
            "Bias that was measured if folds are stratified by each candidate",
            ["candidate", "bias", "verdict"],
            limits={"bias": ("lower", "upper")},
            level=result.level,
        ),
        unbiased=float(values.mean()),
        chance=MonteCarlo(_sd(values), len(values)),
        plans=made,
        failed=result.failed + sum(one.failed for one in done.values()),
        fits=result.fits + sum(one.fits for one in done.values()),
    )


def _fitted(
    setting: Setting, plan: FoldPlan, times: int, n_jobs: int | None, bar: Any
) -> Runs:
    """Fit a plan with several seeds of the model."""
    scores, failed = [], 0
    for time in range(times):
        numbers = np.arange(plan.n_fits) + time * plan.n_fits
        held = run_quietly(setting.setup(plan), plan, n_jobs, numbers)
        failed += held.failed
        scores.append(scores_of(plan, held, setting.design.outcome))
        bar.update(plan.n_fits)
    return Runs(plan, scores, failed)


def _row(
    result: StratifierBias, candidate: CandidateStratifier, runs: Runs, reference: Runs
) -> dict[str, Any]:
    from scipy.special import ndtri

    setting, how, level = result.setting, result.how, result.level
    own = values_of(runs.scores, setting.metric, how)
    unbiased = values_of(reference.scores, setting.metric, how)
    estimate, base = float(own.mean()), float(unbiased.mean())
    bias, fixed = setting.scale * (estimate - base), not candidate.stratifier.random
    half = setting.scale * fold_interval(own, unbiased, fixed, level)
    se = se_of_difference(setting, runs.scores, reference.scores, how)
    of_records = setting.scale * float(ndtri((1 + level) / 2) * se)
    split = count_split(runs.plan, setting.groups)
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
        "duplicates_split": split,
        "verdict": verdict(-setting.sign * bias, half, of_records, split, setting),
    }


def fold_interval(own: Floats, unbiased: Floats, fixed: bool, level: float) -> float:
    """Return half the width of an interval of the bias over folds, given the data.

    It is a t interval for the mean difference, over repeats, between the stratified and
    the unbiased estimate. Fixed folds have no repeats. They are treated as one draw of
    random folds, so that their estimate has the sd of the unbiased repeats, to which
    the error of the unbiased mean is added.

    Parameters
    ----------
    own, unbiased : numpy.ndarray
        Estimates, one per repeat.
    fixed : bool
        Whether the folds are fixed.
    level : float
        Confidence level of the interval.

    Returns
    -------
    float
        Half the width; NaN for one repeat, or if the repeats do not differ.

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


def _sd(values: Floats) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else np.nan
