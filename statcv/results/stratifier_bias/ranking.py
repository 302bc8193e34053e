"""What can be said of candidates before any model is fitted on their folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import PERMUTED_COLUMN
from statcv.folds import FoldPlan
from statcv.folds.audit import trained_on_equal
from statcv.inference import Scores
from statcv.metrics import METRICS
from statcv.results.stratifier_bias.altered import (
    Alteration,
    AlteredScores,
    clamping,
    permuting,
    predict_altered,
    used_columns,
)
from statcv.results.stratifier_bias.association import (
    Ratio,
    anova,
    chi_square,
    fold_auroc,
    mutual_information,
    quantile_codes,
    regression,
)
from statcv.results.stratifier_bias.candidates import Candidate, numbers_of
from statcv.results.stratifier_bias.importance import OWN, mean_shares
from statcv.results.stratifier_bias.setting import Setting
from statcv.results.stratifier_bias.values import (
    mean_value,
    moved_by_records,
    standard_error,
)

# Least squares over the thousand pairs of data set and covariate in Figure 4 of
# `statcv.studies.bey2020`, of 12 000 records each.
INTERCEPT, OF_CLAMP, OF_PERMUTATION = 0.40, 1.01, 0.058
MEASURED_IN = METRICS["accuracy"]


def predicted_drop(clamp: Any, permutation: Any) -> Any:
    """Return by how many points accuracy drops where each fold is one quantile bin.

    Clamping tells what a model loses on values that it has not seen; permutation, how
    much of what it knows hangs on the covariate, and is learnt worse without a part of
    its range.

    Parameters
    ----------
    clamp, permutation : float or array
        Losses of held-out accuracy in points, where values are moved out of their own
        bin, and where they are permuted.

    Returns
    -------
    float or array
        At least 0; NaN where either is.

    Examples
    --------
    >>> round(float(predicted_drop(4.0, 10.0)), 2)
    5.02
    >>> float(predicted_drop(-2.0, -9.0))
    0.0
    """
    drop = INTERCEPT + OF_CLAMP * np.maximum(clamp, 0) + OF_PERMUTATION * permutation
    return np.maximum(drop, 0.0)


# ---- what can be said of candidates before any model is fitted on their folds ----

FEW = 50  # levels up to which values without an order are cells of a table

Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Ranked:
    """The ranking, and the cross-validation that it was read from.

    Attributes
    ----------
    table : pandas.DataFrame
    scores : Scores
        Of the unbiased cross-validation, one repeat.
    by_chance : bool
        Whether the model itself depends on the seed.
    importance : str
        What the column of that name is.
    how : str
        In which way the metric is stated.
    plan : FoldPlan
        The unbiased folds.
    failed : int
        Fits that did not converge, or were separated.
    """

    table: pd.DataFrame
    scores: Scores
    by_chance: bool
    importance: str
    how: str
    plan: FoldPlan
    failed: int


def rank(
    setting: Setting,
    candidates: Sequence[Candidate],
    plans: Mapping[str, FoldPlan],
    how: str | None,
    n_jobs: int | None,
    bar: Any,
) -> Ranked:
    """Rank candidates by what one unbiased cross-validation tells of them.

    Parameters
    ----------
    setting : Setting
    candidates : sequence of Candidate
    plans : mapping of str to FoldPlan
        The folds of each, one repeat.
    how : str or None
        In which way the metric is stated; None: as suits the folds.
    n_jobs, bar
        As :func:`statcv.engine.read_fits` takes them.
    """
    plan = setting.unbiased_plan()
    owns = [plans[candidate.name] for candidate in candidates]
    rng = np.random.default_rng(
        np.random.SeedSequence(setting.seed, spawn_key=(PERMUTED_COLUMN,))
    )
    every: list[tuple[Alteration, FoldPlan]] = []
    clamped, permuted = [], []  # where those of each candidate stand
    for candidate, own in zip(candidates, owns, strict=True):
        clamp = clamping(setting, candidate, own)
        clamped.append(range(len(every), len(every) + len(clamp)))
        every += [(one, own) for one in clamp]
        shuffled = permuting(setting, candidate, plan, rng)
        permuted.append(range(len(every), len(every) + len(shuffled)))
        every += [(one, plan) for one in shuffled]
    found = predict_altered(setting, plan, every, n_jobs, bar)
    way = how or found.scores.headline(setting.metric)
    drops = _Drops(setting, found, way)
    rows = [
        _row(setting, candidate, own, plan) | drops.row(candidate, clamp, shuffled)
        for candidate, own, clamp, shuffled in zip(
            candidates, owns, clamped, permuted, strict=True
        )
    ]
    table = pd.DataFrame(rows)
    label = _add_importance(table, candidates, found)
    return Ranked(
        table=_in_order(table),
        scores=found.scores,
        by_chance=found.by_chance,
        importance=label,
        how=way,
        plan=plan,
        failed=found.failed,
    )


# ---- what is said of each ----


class _Drops:
    """How much worse the metric becomes when records are altered."""

    def __init__(self, setting: Setting, found: AlteredScores, how: str) -> None:
        self.setting, self.found, self.how = setting, found, how
        self.before = mean_value(found.scores, setting.metric, how)
        self.moved = moved_by_records([found.scores], setting.metric, how)

    def row(
        self, candidate: Candidate, clamped: range, permuted: range
    ) -> dict[str, float]:
        setting = self.setting
        used = bool(used_columns(setting, candidate))
        clamp = self._mean(clamped)
        permutation = self._mean(permuted) if used else 0.0
        predicted = np.maximum(clamp, 0.0)
        if setting.metric == MEASURED_IN and candidate.one_bin:
            predicted = predicted_drop(clamp, permutation)
        return {
            "clamp": clamp,
            "clamp_se": self._se(clamped),
            "permutation": permutation,
            # where no term uses it, terms may still tell its folds
            "predicted": float(predicted) if used else np.nan,
        }

    def _mean(self, where: range) -> float:
        metric, altered = self.setting.metric, self.found.altered
        after = [mean_value(altered[a], metric, self.how) for a in where]
        if not after:
            return np.nan
        return float(np.mean([self.setting.drop(self.before, one) for one in after]))

    def _se(self, where: range) -> float:
        altered = [self.found.altered[a] for a in where]
        moved = (
            moved_by_records(altered, self.setting.metric, self.how) if where else None
        )
        if moved is None or self.moved is None:
            return np.nan
        se = standard_error(moved - self.moved, self.setting.groups)
        return self.setting.scale * se


def _row(
    setting: Setting, candidate: Candidate, own: FoldPlan, plan: FoldPlan
) -> dict[str, Any]:
    """Return what data and folds say, without the model."""
    fold = own.held_out[0].astype(np.intp)
    information, ratio = _association(setting, candidate, fold)
    design = setting.design
    others = [
        j
        for j in range(len(design.names))
        if j != design.intercept
        and not set(design.terms.columns_of(j)) & set(candidate.columns)
    ]
    held_out = plan.held_out[0].astype(np.intp)
    return {
        "candidate": candidate.name,
        "folds": candidate.folds,
        "in_model": bool(used_columns(setting, candidate)),
        "mutual_information": information,
        "anova_f": ratio.value,
        "anova_p": ratio.p,
        "heterogeneity": fold_auroc(design.matrix[:, others], fold, held_out),
        "parted": count_parted(own, setting.groups),
    }


def count_parted(plan: FoldPlan, groups: Codes | None) -> float:
    """Return how many records a repeat predicts by fits that have seen a known copy.

    NaN where no copies are known.
    """
    if groups is None:
        return np.nan
    return float(trained_on_equal(plan, groups).sum() / plan.repeats)


def _association(
    setting: Setting, candidate: Candidate, fold: Codes
) -> tuple[float, Ratio]:
    """Return mutual information with the outcome, and a ratio of variances."""
    y, by_class = setting.design.y, bool(setting.design.outcome.levels)
    classes = y.astype(np.intp) if by_class else quantile_codes(y)
    values = None
    if len(candidate.columns) == 1:
        values = numbers_of(setting.kept[candidate.columns[0]])
    if values is None:
        codes = candidate.stratifier.values(setting.kept)
        few = codes.max() < min(FEW, len(codes) // 10)
        cells = codes if few else fold
        ratio = chi_square(cells, y) if by_class else anova(y, cells)
        return mutual_information(cells, classes), ratio
    cells = quantile_codes(values)
    ratio = anova(values, classes) if by_class else regression(values, y)
    return mutual_information(cells, classes), ratio


def _add_importance(
    table: pd.DataFrame, candidates: Sequence[Candidate], found: AlteredScores
) -> str:
    """Add what the fits say of the candidates; return which kind is the importance."""
    kinds = {
        kind: shares
        for kind in (*OWN, "gain")
        if (shares := mean_shares(found.importance, kind)) is not None
    }
    for kind, shares in kinds.items():
        table[kind] = [
            sum(shares.get(name, 0.0) for name in one.columns) for one in candidates
        ]
    own = next((kind for kind in OWN if kind in kinds), None)
    if own is not None:
        table["importance"] = table[own]
        return own
    loss = table["permutation"].clip(lower=0)
    first = table["folds"].map(lambda text: not text.endswith("bins a fold"))
    whole = float(loss[first].sum() or loss.sum())
    table["importance"] = loss / whole if whole > 0 else 0.0
    return "permutation"


COLUMNS = (
    *("candidate", "folds", "in_model", "rank", "predicted", "clamp", "clamp_se"),
    *("importance", "total_gain", "gain", "permutation", "mutual_information"),
    *("anova_f", "anova_p", "heterogeneity", "parted"),
)


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Sort by the predicted loss, then importance; number from 1, the largest."""
    by = ["predicted", "importance", "permutation", "mutual_information"]
    table = table.sort_values(by, ascending=False, kind="stable", ignore_index=True)
    table["rank"] = np.arange(1, len(table) + 1)
    return table[[name for name in COLUMNS if name in table]]
