"""Warnings of distributional bias: metrics that the folds alone bias."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from contextvars import Context
from dataclasses import replace
from typing import Any

import numpy as np

from statcv.folds import by_quantile
from statcv.folds.audit import UNLIKE, between_folds, opposite_twins
from statcv.folds.theory import pooled_null_auroc
from statcv.inference.estimates.no_skill import MATERIAL, NoSkill
from statcv.inference.estimates.values import values_by_repeat
from statcv.inference.refits.refitting import uncensored_in_training
from statcv.inference.tests.permutation import is_permutable
from statcv.numeric.arrays import Array
from statcv.results.result import CVResult
from statcv.results.wording.phrases import caution
from statcv.words import joined, listed

Labels = Array

PASSED_ON = {"weight": "weights", "all": "every subsample"}
MAX_TRAINED = 10_000  # largest sum of training records that are fitted once more
MOST_IN_PAIRS = 500  # largest number of records of which all pairs are examined
POINTS = 2000  # number of points that represent the two normal distributions

# what a model without predictors predicts; what of the folds reveals what is held out
SHARES, WAYS = "training class proportions", ("high", "low")
OF_KIND = {
    "binary": ("training mean", "training means", "labels"),
    "multiclass": (SHARES, SHARES, "labels"),
    "continuous": ("training mean", "training means", "values"),
    "survival": ("Kaplan-Meier risk of the training set", "baseline hazards", "times"),
}


def warn_of_bias(result: CVResult) -> None:
    """Warn of metrics that are biased for a model without predictors."""
    _warn_of_neighbours(result)
    outcome = result.design.outcome
    if outcome.levels:
        for found in opposite_twins(result.plan, result.design.matrix, outcome.y):
            caution("opposite twins", sentence=found.sentence)
    _warn_of_other_fits(result)
    if _warn_of_ranges(result) or not result.suspect:
        return
    rows = result.without_predictors
    if not any(row.material and _is_asked(result, row) for row in rows):
        return
    able = result.learner.capabilities.refits and is_permutable(result.plan)
    without, known, held_out = OF_KIND[outcome.kind]
    told = {"without": without, "known": known, "held_out": held_out}
    caution("training means", scores=_said(rows), result=result, able=able, **told)


def _warn_of_ranges(result: CVResult) -> bool:
    """Warn of folds that follow a covariate which is tied to the outcome.

    A model that needs the covariate is tested on values on which it was not trained
    (Bey et al. 2020). Models of which all folds are fitted together, and those with
    little to fit, are fitted once more on folds of narrower bins; for others only the
    folds are judged.
    """
    strata = result.plan.strata
    able = result.learner.capabilities
    if strata is None or not strata.finer or not able.refits:
        return False
    share, p = _tie(result)
    fits = able.fits_per_training_set
    together = result.refits.setup.fits_together and fits <= 1
    measured = together or fits * result.plan.n_train.sum() <= MAX_TRAINED
    if not p < UNLIKE or not (measured or share > MATERIAL):
        return False
    if measured:
        worse = [
            row
            for row in _on_finer_folds(result)
            if row.told and row.bias * (row.perfect - row.value) < 0
        ]
        if not any(row.material and _is_asked(result, row) for row in worse):
            return False
        said = [
            f"{row.metric.label} {abs(row.bias):.3f} too {WAYS[row.bias < 0]}"
            for row in worse
        ]
        size = f", by comparison with narrower bins: {listed(said)}"
    else:
        size = "; stratifier_bias() measures by how much"
        if told := _said(result.without_predictors):
            without = OF_KIND[result.design.outcome.kind][0]
            size = f": a model that predicts the {without} would score {told}{size}"
    caution("ranges", strata=strata, share=share, measured=measured, size=size)
    return True


def _tie(result: CVResult) -> tuple[float, float]:
    """Return the share of the outcome's variance between folds, and its p-value."""
    y, tests = result.design.y, result.plan.tests.part(0, len(result.plan.labels[0]))
    levels = range(1, len(result.design.outcome.levels))
    values = [(y == code) * 1.0 for code in levels] or [y]
    tied = [between_folds(one[tests.values], tests.owners) for one in values]
    share, _, p = max(tied)
    return share, p * len(tied)


def _on_finer_folds(result: CVResult) -> list[NoSkill]:
    """Return each metric without skill, moved by its bias beside narrower bins."""
    strata: Any = result.plan.strata
    changes = {
        "stratify": by_quantile(strata.label, strata.finer_per_fold),
        "scheme": result.plan.scheme,
        "k": len(result.plan.labels[0]),
        "progress": False,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finer = Context().run(  # whose warnings are not those of the result
            result.call.again, result.design.formula, {}, changes
        )
        rows = []
        for row in result.without_predictors:
            about = row.metric, row.how
            here = values_by_repeat(result.scores, *about).mean()
            moved = float(here - values_by_repeat(finer.scores, *about).mean())
            rows.append(replace(row, found=row.value + moved))
    return rows


def _is_asked(result: CVResult, row: NoSkill) -> bool:
    """Return whether a metric warrants a warning by itself.

    The area under the precision-recall curve is pooled over any folds, and joins the
    warning of others unless it was asked for.
    """
    return result.call.metrics is not None or not row.metric.pools_splits


def _said(rows: Iterable[NoSkill]) -> str:
    """Return the metrics that are worth telling, with their values without skill."""
    told = [row.sentence for row in rows if row.told]
    return joined(told) if told else ""


def _warn_of_neighbours(result: CVResult) -> None:
    """Warn of nearest neighbours, which pass the weight of the held-out class on."""
    near = result.learner.capabilities.predicts_by_neighbors
    if result.plan.rebalance not in PASSED_ON or not near:
        return
    for metric in result.chosen_metrics if result.design.outcome.levels else ():
        if metric.rank and result.scores.headline(metric) == "pooled":
            balanced = PASSED_ON[result.plan.rebalance]
            return caution("neighbours", balanced=balanced, metric=metric.label)


def _warn_of_other_fits(result: CVResult) -> None:
    """Warn of a pooled rank metric that was requested under balanced leave-one-out.

    Each of two held-out records was used to fit the model that predicts the other one.
    This bias remains if training sets are balanced. It is computed to first order for a
    logistic regression on noise, and only for small samples, because it is computed
    from all pairs and decreases with the number of records.
    """
    scheme, n = result.plan.made_by, result.plan.n
    alone = scheme is not None and scheme.leaves_one_out and result.plan.strata is None
    asked = result.call.metrics is not None
    if not (alone and asked and result.plan.rebalanced and n <= MOST_IN_PAIRS):
        return
    constant = not result.learner.capabilities.uses_predictors
    if result.design.outcome.kind != "binary" or constant:
        return
    every, X, y = result.without_predictors, result.design.matrix, result.design.y
    rows = [row for row in every if row.metric.rank and row.how == "pooled"]
    if not rows or not len(X.T) or not np.isfinite(X).all():
        return
    penalty = math.inf if len(X.T) < n / 4 else 1.0
    area = pooled_null_auroc(X, int(y.sum()), C=penalty, scheme="rloocv")
    rows = [replace(row, found=row.value + _shift(row, y, area)) for row in rows]
    if said := _said(rows):
        first = next(row.metric.name for row in rows if row.told)
        caution("other fits", scores=said, metric=first)


def _shift(row: NoSkill, y: Labels, area: float) -> float:
    """Return the change of a metric if the auROC of noise is not one half.

    The scores of the two classes are normal distributions that have this auROC.
    """
    from scipy.special import ndtri

    share = float(y.mean())
    ones = np.arange(POINTS) < share * POINTS
    scores = np.empty(POINTS)
    for side in (ones, ~ones):
        scores[side] = ndtri((np.arange(side.sum()) + 0.5) / side.sum())
    apart = math.sqrt(2) * float(ndtri(area))
    tied = row.metric.of_random_order() or row.metric
    return row.metric(ones, scores + apart * ones) - tied(ones, scores)


def warn_of_longer_times(result: CVResult) -> None:
    """Count the held-out records beyond the times from which censoring is estimated."""
    outcome = result.design.outcome
    if outcome.censoring == "all":
        return
    given = result.plan, outcome.y, outcome.horizons
    if longer := uncensored_in_training(*given)[1]:
        caution("longer times", longer=longer, total=len(result.scores.row))
