"""The ranking of candidates before any model is fitted on their folds."""

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
    OWN,
    Ratio,
    anova,
    chi_square,
    fold_auroc,
    mean_shares,
    mutual_information,
    quantile_codes,
    regression,
)
from statcv.results.stratifier_bias.candidates import CandidateStratifier, numbers_of
from statcv.results.stratifier_bias.setting import (
    Setting,
    mean_value,
    moved_by_records,
    standard_error,
)

# Least squares over the thousand pairs of data set and covariate in Figure 4 of
# `vignettes/studies/bey2020`, of 12 000 records each.
INTERCEPT, OF_CLAMP, OF_PERMUTATION = 0.40, 1.01, 0.058
MEASURED_IN = METRICS["accuracy"]


def predicted_drop(clamp: Any, permutation: Any) -> Any:
    """Return the predicted loss of accuracy, in points, with one quantile bin per fold.

    Clamping measures the loss on values on which a model was not trained. Permutation
    measures how much the model depends on the covariate, whose effect is estimated less
    well without a part of its range.

    Parameters
    ----------
    clamp, permutation : float or array
        Losses of held-out accuracy in points if values are moved out of their own bin,
        and if they are permuted.

    Returns
    -------
    float or array
        The predicted loss, which is at least 0; NaN where either argument is NaN.

    Examples
    --------
    >>> round(float(predicted_drop(4.0, 10.0)), 2)
    5.02
    >>> float(predicted_drop(-2.0, -9.0))
    0.0
    """
    drop = INTERCEPT + OF_CLAMP * np.maximum(clamp, 0) + OF_PERMUTATION * permutation
    return np.maximum(drop, 0.0)


# Correlations of predicted and measured losses over 240 covariates of 48 simulated data
# sets of 600 or 2000 records, with linear, U-shaped and interacting effects: accuracy,
# auROC, Brier score. They are for boosted trees, 15 neighbours and logistic regression.
CORRELATIONS = {
    "trees": (0.79, 0.94, 0.89),
    "neighbours": (0.87, 0.92, 0.93),
    "linear": (-0.25, 0.76, -0.27),
}
# the same over 30 covariates of six data sets with interacting effects alone
WITH_INTERACTIONS = {"trees": (0.30, 0.63, 0.25), "neighbours": (0.70, 0.85, 0.69)}
OF_TREES = ("total_gain", "feature_importances")


def predicts(setting: Setting, importance: str) -> bool:
    """Return whether clamping predicts the loss for a model of this kind.

    It does for trees and nearest neighbours, which respond to nearby values. The
    coefficients of linear models change as a whole without a part of the range.
    """
    near = setting.model.capabilities.predicts_by_neighbors
    return near or importance in OF_TREES


# ---- the ranking ----

FEW = 50  # largest number of levels for a contingency table

Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RankedCandidates:
    """The ranking, and the cross-validation from which it was computed.

    Attributes
    ----------
    table : pandas.DataFrame
        The ranking, with one row per candidate.
    found : AlteredScores
        One repeat of the unbiased cross-validation.
    importance : str
        The kind of importance in the column of that name.
    how : str
        The way in which folds are combined.
    plan : FoldPlan
        The unbiased folds.
    """

    table: pd.DataFrame
    found: AlteredScores
    importance: str
    how: str
    plan: FoldPlan


def rank(
    setting: Setting,
    candidates: Sequence[CandidateStratifier],
    plans: Mapping[str, FoldPlan],
    how: str | None,
    n_jobs: int | None,
    bar: Any,
) -> RankedCandidates:
    """Rank candidates by the results of one unbiased cross-validation.

    Parameters
    ----------
    setting : Setting
    candidates : sequence of CandidateStratifier
    plans : mapping of str to FoldPlan
        The folds of each candidate, one repeat.
    how : str or None
        The way in which folds are combined; the default for the folds if None.
    n_jobs, bar
        Number of processes and progress bar, as in :func:`statcv.engine.read_fits`.
    """
    plan = setting.unbiased_plan()
    owns = [plans[candidate.name] for candidate in candidates]
    rng = np.random.default_rng(
        np.random.SeedSequence(setting.seed, spawn_key=(PERMUTED_COLUMN,))
    )
    every: list[tuple[Alteration, FoldPlan]] = []
    clamped, permuted = [], []  # positions of each candidate's alterations
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
    if not predicts(setting, label):
        table["predicted"] = np.nan
    return RankedCandidates(_in_order(table), found, label, way, plan)


# ---- the rows of the ranking ----


class _Drops:
    """The loss of the metric when records are altered."""

    def __init__(self, setting: Setting, found: AlteredScores, how: str) -> None:
        self.setting, self.found, self.how = setting, found, how
        self.before = mean_value(found.scores, setting.metric, how)
        self.moved = moved_by_records([found.scores], setting.metric, how)

    def row(
        self, candidate: CandidateStratifier, clamped: range, permuted: range
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
            # if no term uses it, other terms may still predict its folds
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
    setting: Setting, candidate: CandidateStratifier, own: FoldPlan, plan: FoldPlan
) -> dict[str, Any]:
    """Return the columns that need data and folds only, without the model."""
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
        "duplicates_split": count_split(own, setting.groups),
    }


def count_split(plan: FoldPlan, groups: Codes | None) -> float:
    """Return the number of records per repeat whose fit was trained on a duplicate.

    It is NaN if no duplicates are known.
    """
    if groups is None:
        return np.nan
    return float(trained_on_equal(plan, groups).sum() / plan.repeats)


def _association(
    setting: Setting, candidate: CandidateStratifier, fold: Codes
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
    table: pd.DataFrame, candidates: Sequence[CandidateStratifier], found: AlteredScores
) -> str:
    """Add importances from the fits, and return the kind used for the ranking."""
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
    first = table["folds"].map(lambda text: not text.endswith("bins per fold"))
    whole = float(loss[first].sum() or loss.sum())
    table["importance"] = loss / whole if whole > 0 else 0.0
    return "permutation"


COLUMNS = (
    *("candidate", "folds", "in_model", "rank", "predicted", "clamp", "clamp_se"),
    *("importance", "total_gain", "gain", "permutation", "mutual_information"),
    *("anova_f", "anova_p", "heterogeneity", "duplicates_split"),
)


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Sort by the predicted loss, then by importance, and number from 1.

    Without any prediction the order is that of the association with the outcome.
    """
    by = ["predicted", "importance", "permutation", "mutual_information"]
    if table["predicted"].isna().all():
        by = by[::-1]
    table = table.sort_values(by, ascending=False, kind="stable", ignore_index=True)
    table["rank"] = np.arange(1, len(table) + 1)
    return table[[name for name in COLUMNS if name in table]]
