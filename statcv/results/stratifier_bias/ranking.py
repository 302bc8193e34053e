"""The ranking of candidates before any model is fitted on their folds.

A fold defined by a covariate contains values that its training set lacks. A model must
then predict from the nearest values on which it was trained. The resulting loss is
estimated by moving each record to those values, and predicting it again with models
that were trained on all values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from statcv.arguments import PERMUTED_COLUMN
from statcv.engine import FoldFit, Held, Part, plain, read_fits, warn_of_fits
from statcv.folds import FoldPlan
from statcv.folds.audit import trained_on_equal
from statcv.inference import Scores
from statcv.metrics import METRICS
from statcv.numeric.arrays import Floats, Numbers
from statcv.results.stratifier_bias import candidates as stratifiers
from statcv.results.stratifier_bias.association import (
    OWN,
    Ratio,
    Shares,
    anova,
    chi_square,
    fold_auroc,
    importances,
    mean_shares,
    mutual_information,
    quantile_codes,
    regression,
)
from statcv.results.stratifier_bias.candidates import CandidateStratifier
from statcv.results.stratifier_bias.setting import Setting, mean_value, se_of_difference

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


# ---- records moved out of their folds ----


def nearest_outside(values: Floats, fold: Numbers) -> Numbers:
    """Return for each record the record of another fold with the nearest value.

    If two values are equally near, the lower one is used.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
    fold : numpy.ndarray of int, shape (n,)
        The fold of each value. Equal values are in one fold, and there are at least two
        folds.

    Returns
    -------
    numpy.ndarray of intp, shape (n,)
        Positions of records. A record with a missing value keeps its own position.

    Examples
    --------
    >>> values = np.array([1.0, 2.0, 4.0, 5.0])
    >>> values[nearest_outside(values, np.array([0, 0, 1, 1]))]
    array([4., 4., 2., 2.])
    """
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    own = fold[order]
    change = np.flatnonzero(np.diff(own)) + 1  # where runs of one fold begin
    run = np.searchsorted(change, np.arange(len(order)), side="right")
    first, last = np.append(0, change), np.append(change, len(order))
    below, above = first[run] - 1, last[run]
    rising = values[order]
    down = np.where(below >= 0, rising - rising[np.maximum(below, 0)], np.inf)
    inside = np.minimum(above, len(order) - 1)
    up = np.where(above < len(order), rising[inside] - rising, np.inf)
    found = np.where(down <= up, below, inside)
    moved = np.arange(len(values))
    moved[order] = order[found]
    return moved


def commonest_outside(codes: Numbers, fold: Numbers) -> Numbers:
    """Return for each record a record with the commonest value of the other folds.

    This is the counterpart of :func:`nearest_outside` for values without an order.

    Parameters
    ----------
    codes : numpy.ndarray of int, shape (n,)
        Codes of the values, from 0. Equal values are in one fold.
    fold : numpy.ndarray of int, shape (n,)
        The fold of each record.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 1, 1, 2])
    >>> codes[commonest_outside(codes, np.array([0, 0, 0, 1, 1, 2]))]
    array([1, 1, 1, 0, 0, 0])
    """
    counts = np.bincount(codes)
    _, first = np.unique(codes, return_index=True)
    commonest = first[np.argsort(-counts, kind="stable")]  # a record of each value
    moved = np.empty(len(codes), dtype=np.intp)
    for one in np.unique(fold):
        moved[fold == one] = commonest[fold[commonest] != one][0]
    return moved


# ---- records in which a candidate has the values of other records ----

PERMUTATIONS = 5


@dataclass(frozen=True, eq=False)
class Alteration:
    """Columns in which every record is given the values of another record.

    Attributes
    ----------
    columns : tuple of str
        The altered columns, which the formula uses.
    whose : numpy.ndarray of int, shape (n,)
        The record whose values each record is given.
    plan : FoldPlan
        One repeat of the folds in which the predictions are evaluated.
    """

    columns: tuple[str, ...]
    whose: Numbers
    plan: FoldPlan

    def of(self, frame: pd.DataFrame, rows: Numbers) -> pd.DataFrame:
        """Return these rows of the frame with the columns altered."""
        index, own = frame.index[rows], frame[[*self.columns]].iloc[self.whose[rows]]
        return frame.iloc[rows].assign(**own.set_axis(index))


def clamping(
    setting: Setting, candidate: CandidateStratifier, plan: FoldPlan
) -> list[Alteration]:
    """Return the alterations that move a candidate's values out of their own folds.

    Nothing is moved if no term uses the candidate. The list is empty for several
    columns, for which there is no nearest value.
    """
    used = used_columns(setting, candidate)
    if not used:
        return [Alteration((), np.arange(plan.n), plan)]
    if len(candidate.columns) > 1:
        return []
    (name,) = used
    values = stratifiers.numbers_of(setting.design.terms.columns[name])
    fold = plan.held_out[0].astype(np.intp)
    if values is not None:
        return [Alteration(used, nearest_outside(values, fold), plan)]
    codes = candidate.stratifier.values(setting.kept)
    return [Alteration(used, commonest_outside(codes, fold), plan)]


def permuting(
    setting: Setting, candidate: CandidateStratifier, plan: FoldPlan, rng: Generator
) -> list[Alteration]:
    """Return permutations of a candidate's values within the held-out records."""
    used = used_columns(setting, candidate)
    made = []
    for _ in range(PERMUTATIONS if used else 0):
        whose = np.arange(plan.n)
        for split in range(plan.n_splits):
            rows = plan.test(split).astype(np.intp)
            whose[rows] = rng.permutation(rows)
        made.append(Alteration(used, whose, plan))
    return made


def used_columns(setting: Setting, candidate: CandidateStratifier) -> tuple[str, ...]:
    """Return the columns of a candidate that the formula uses."""
    return tuple(c for c in candidate.columns if c in setting.design.terms.columns)


# ---- held-out predictions with altered covariates ----


def _read_fold(
    fold: FoldFit, alterations: Sequence[Alteration]
) -> tuple[Part, list[Floats], dict[str, Shares], bool]:
    """Return predictions, unaltered and altered, importances, and use of the seed.

    The last is whether the model depends on its seed.
    """
    frame, rows, fit = fold.setup.design.terms.frame, fold.held_out, fold.fit
    predicted = fold.predict(frame.iloc[rows])
    part = Part(
        fits=range(fold.number, fold.number + 1),
        predicted=predicted,
        partner_predicted=predicted[:0],
        converged=np.array([fit.converged]),
        separated=np.array([fit.separated]),
        seconds=np.full(1, np.nan),
        probabilities=fit.probabilities,
        chosen=None if fit.chosen is None else [plain(fit.chosen)],
    )
    altered = [fold.predict(one.of(frame, rows)) for one in alterations]
    by_chance = fold.number == 0 and _by_chance(fold, predicted)
    return part, altered, importances(fold), by_chance


def _by_chance(fold: FoldFit, predicted: Floats) -> bool:
    """Return whether the fitted model depends on the seed."""
    other = replace(fold.training, seed=fold.training.seed + 1)
    again = replace(fold, fit=fold.setup.model.fit(other))
    frame = fold.setup.design.terms.frame.iloc[fold.held_out]
    return not np.array_equal(again.predict(frame), predicted, equal_nan=True)


@dataclass(frozen=True, eq=False)
class AlteredScores:
    """The held-out predictions of one cross-validation, unaltered and altered.

    Attributes
    ----------
    scores : Scores
        The predictions for unaltered records.
    altered : dict of Alteration to Scores
        The predictions for each alteration, in the folds in which it is evaluated.
    how : str
        The way in which folds are combined.
    importance : sequence of dict
        The importances of the columns in each fit.
    by_chance : bool
        Whether the model itself depends on the seed.
    failed : int
        The number of fits that did not converge, or were separated.
    """

    scores: Scores
    altered: dict[Alteration, Scores]
    how: str
    importance: Sequence[dict[str, Shares]]
    by_chance: bool
    failed: int


def predict_altered(
    setting: Setting,
    plan: FoldPlan,
    alterations: Sequence[Alteration],
    how: str | None,
    **running: Any,
) -> AlteredScores:
    """Fit every fold once, and predict its held-out records, unaltered and altered.

    Parameters
    ----------
    setting : Setting
    plan : FoldPlan
        The folds to be fitted, with one fit per split.
    alterations : sequence of Alteration
    how : str or None
        The way in which folds are combined; the default for the folds if None.
    **running
        Number of processes and progress bar, as in :func:`statcv.engine.read_fits`.
    """
    setup, y = setting.setup(plan), setting.design.y
    read = read_fits(setup, partial(_read_fold, alterations=alterations), **running)
    parts, predicted, importance, by_chance = zip(*read, strict=True)
    held = Held.joined(list(parts), setup)
    warn_of_fits(held, plan, setting.model)
    altered = {}
    for one, each in zip(alterations, zip(*predicted, strict=True), strict=True):
        by_record = np.empty_like(values := np.concatenate(each))
        by_record[plan.tests.values] = values
        row, fit = one.plan.tests.values.astype(np.intp), one.plan.tests.owners
        other = replace(held, fit=fit, row=row, predicted=by_record[row], chosen=None)
        altered[one] = Scores.of(one.plan, other, y)
    scores = Scores.of(plan, held, y)
    way = how or scores.headline(setting.metric)
    own = way, importance, any(by_chance), held.failed
    return AlteredScores(scores, altered, *own)


# ---- the ranking ----

FEW = 50  # largest number of levels for a contingency table


def rank(
    setting: Setting,
    candidates: Sequence[CandidateStratifier],
    plans: Mapping[str, FoldPlan],
    how: str | None,
    **running: Any,
) -> tuple[pd.DataFrame, AlteredScores, str]:
    """Rank candidates by the results of one unbiased cross-validation.

    Parameters
    ----------
    setting : Setting
    candidates : sequence of CandidateStratifier
    plans : mapping of str to FoldPlan
        The folds of each candidate, one repeat, and the unbiased folds.
    how : str or None
        The way in which folds are combined; the default for the folds if None.
    **running
        Number of processes and progress bar, as in :func:`statcv.engine.read_fits`.

    Returns
    -------
    pandas.DataFrame
        The ranking, with one row per candidate.
    AlteredScores
        One repeat of the unbiased cross-validation, from which it was computed.
    str
        The kind of importance in the ranking.
    """
    plan, own = plans[stratifiers.UNBIASED], [plans[one.name] for one in candidates]
    key = np.random.SeedSequence(setting.seed, spawn_key=(PERMUTED_COLUMN,))
    rng, both = np.random.default_rng(key), list(zip(candidates, own, strict=True))
    clamped = [clamping(setting, one, folds) for one, folds in both]
    permuted = [permuting(setting, one, plan, rng) for one in candidates]
    every = [one for moved in (*clamped, *permuted) for one in moved]
    found = predict_altered(setting, plan, every, how, **running)
    rows = [
        _row(setting, one, folds, plan) | _losses(setting, one, found, *moved)
        for (one, folds), *moved in zip(both, clamped, permuted, strict=True)
    ]
    table = pd.DataFrame(rows)
    label = _add_importance(table, candidates, found)
    if not predicts(setting, label):
        table["predicted"] = np.nan
    return _in_order(table), found, label


# ---- the rows of the ranking ----


def _losses(
    setting: Setting,
    candidate: CandidateStratifier,
    found: AlteredScores,
    *moved: Sequence[Alteration],
) -> dict[str, float]:
    """Return the losses of the metric when records are clamped, and permuted."""
    before, how = mean_value(found.scores, setting.metric, found.how), found.how
    after, permuted = ([found.altered[one] for one in each] for each in moved)

    def mean_loss(altered: list[Scores]) -> float:
        values = [mean_value(one, setting.metric, how) for one in altered]
        return float(np.mean([setting.drop(before, one) for one in values] or np.nan))

    used = bool(used_columns(setting, candidate))
    clamp, permutation = mean_loss(after), mean_loss(permuted) if used else 0.0
    predicted = np.maximum(clamp, 0.0)
    if setting.metric == MEASURED_IN and candidate.one_bin:
        predicted = predicted_drop(clamp, permutation)
    se = se_of_difference(setting, after, [found.scores], how) if after else np.nan
    return {
        "clamp": clamp,
        "clamp_se": setting.scale * se,
        "permutation": permutation,
        # if no term uses it, other terms may still predict its folds
        "predicted": float(predicted) if used else np.nan,
    }


def _row(
    setting: Setting, candidate: CandidateStratifier, own: FoldPlan, plan: FoldPlan
) -> dict[str, Any]:
    """Return the columns that need data and folds only, without the model."""
    fold, held_out = (one.held_out[0].astype(np.intp) for one in (own, plan))
    information, ratio = _association(setting, candidate, fold)
    design, columns = setting.design, set(candidate.columns)
    places = (j for j in range(len(design.names)) if j != design.intercept)
    others = [j for j in places if columns.isdisjoint(design.terms.columns_of(j))]
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


def count_split(plan: FoldPlan, groups: Numbers | None) -> float:
    """Return the number of records per repeat whose fit was trained on a duplicate.

    It is NaN if no duplicates are known.
    """
    if groups is None:
        return np.nan
    return float(trained_on_equal(plan, groups).sum() / plan.repeats)


def _association(
    setting: Setting, candidate: CandidateStratifier, fold: Numbers
) -> tuple[float, Ratio]:
    """Return mutual information with the outcome, and a ratio of variances."""
    y, by_class = setting.design.y, bool(setting.design.outcome.levels)
    classes = y.astype(np.intp) if by_class else quantile_codes(y)
    name, *others = candidate.columns
    values = None if others else stratifiers.numbers_of(setting.kept[name])
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
    for kind in (*OWN, "gain"):
        if (shares := mean_shares(found.importance, kind)) is not None:
            each = pd.Series(shares)
            table[kind] = [each.reindex([*one.columns]).sum() for one in candidates]
    for own in OWN:
        if own in table:
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
