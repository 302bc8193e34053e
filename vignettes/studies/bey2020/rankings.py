"""The importance of covariates in a model, and their ranks as stratifiers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.folds import by_quantile
from statcv.models import Fit, TrainingSet
from statcv.results import CVResult
from statcv.results.stratifier_bias import (
    anova,
    fold_auroc,
    mutual_information,
    nearest_outside,
    quantile_codes,
)

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
KINDS = ("gain", "total_gain", "weight", "cover")
RANKINGS = (
    *KINDS,
    "permutation",
    "clamp",
    "mutual_information",
    "anova_f",
    "heterogeneity",
)


@dataclass(frozen=True, eq=False)
class FoldModel:
    """A model, and the records held out from its training set.

    Attributes
    ----------
    fit : Fit
    held_out : numpy.ndarray of int
    X : numpy.ndarray
        The design of the records held out.
    y : numpy.ndarray
    """

    fit: Fit
    held_out: Codes
    X: Floats
    y: NDArray[Any]

    def accuracy(self, X: Floats | None = None) -> float:
        """Return the share predicted right, of other covariates if given."""
        predicted = self.fit.predict(self.X if X is None else X)
        return float(((predicted > 0.5) == self.y).mean())


def fold_models(result: CVResult) -> list[FoldModel]:
    """Fit the folds of a cross-validation again, and return the models.

    Parameters
    ----------
    result : CVResult
        Result for two classes, by a model that uses no random numbers.
    """
    design = result.design
    return [
        FoldModel(
            trained_on(result, train),
            held_out,
            design.matrix[held_out],
            design.y[held_out],
        )
        for train, held_out in result.plan.split()
    ]


def trained_on(result: CVResult, rows: Codes) -> Fit:
    """Return the model of a cross-validation, fitted on some of its records."""
    design = result.design
    training = TrainingSet(
        X=design.matrix[rows],
        y=design.y[rows],
        kind=design.outcome.kind,
        n_classes=len(design.outcome.levels),
        names=design.names,
        intercept=design.intercept,
        weights=None,
        seed=result.seed,
    )
    return result.learner.fit(training)


def rank(result: CVResult, models: list[FoldModel], seed: int) -> pd.DataFrame:
    """Return all numbers, with one row per covariate and one column per kind.

    Parameters
    ----------
    result : CVResult
        The unbiased cross-validation, with numeric covariates.
    models : list of FoldModel
        Models of its folds.
    seed : int
        Seed for the permutations.
    """
    design, k = result.design, len(models)
    columns = [j for j in range(len(design.names)) if j != design.intercept]
    names, x = [design.names[j] for j in columns], design.matrix[:, columns]
    bins = [_bins(values, k) for values in x.T]
    held_out = np.empty(design.n, dtype=np.intp)
    for number, model in enumerate(models):
        held_out[model.held_out] = number
    numbers = importance(models, names)
    numbers["permutation"] = permutation_importance(models, columns, seed)
    numbers["clamp"] = clamp(models, columns, x, bins)
    numbers["mutual_information"] = [
        mutual_information(quantile_codes(values), design.y) for values in x.T
    ]
    numbers["anova_f"] = [anova(values, design.y).value for values in x.T]
    numbers["heterogeneity"] = [
        fold_auroc(np.delete(x, place, axis=1), own, held_out)
        for place, own in enumerate(bins)
    ]
    return numbers.rename_axis("stratifier")[list(RANKINGS)]


def importance(models: list[FoldModel], names: list[str]) -> pd.DataFrame:
    """Return XGBoost's importances, normalised to sum one, as means over models.

    ``gain`` is the mean gain of a split, ``total_gain`` the sum; ``weight`` the number
    of splits; ``cover`` the mean sum of Hessians.
    """
    numbered = [f"f{place}" for place in range(len(names))]  # as XGBoost calls them
    means = {}
    for kind in KINDS:
        shares = []
        for model in models:
            booster: Any = model.fit
            scores = booster.booster.get_score(importance_type=kind)
            found = np.array([scores.get(name, 0.0) for name in numbered])
            total = found.sum()
            shares.append(found / total if total > 0 else np.full(len(names), np.nan))
        means[kind] = np.mean(shares, axis=0)
    return pd.DataFrame(means, index=names)


def permutation_importance(
    models: list[FoldModel], columns: list[int], seed: int
) -> Floats:
    """Return the loss of held-out accuracy when a covariate is shuffled."""
    rng = np.random.default_rng(seed)

    def shuffled(model: FoldModel, place: int) -> Floats:
        return rng.permutation(model.X[:, columns[place]])

    return _lost(models, columns, shuffled)


def clamp(
    models: list[FoldModel], columns: list[int], x: Floats, bins: list[Codes]
) -> Floats:
    """Return the loss of held-out accuracy when a covariate leaves its quantile bin.

    Stratified on the covariate, a model has seen no value of a record's own bin. So
    each held-out value is moved to the nearest one outside its bin, and predicted again
    by the same models.
    """
    moved = [
        values[nearest_outside(values, own)]
        for values, own in zip(x.T, bins, strict=True)
    ]
    return _lost(models, columns, lambda model, place: moved[place][model.held_out])


def _lost(
    models: list[FoldModel],
    columns: list[int],
    values: Callable[[FoldModel, int], Floats],
) -> Floats:
    """Return the mean loss of accuracy when one column has other values."""
    lost = np.zeros((len(models), len(columns)))
    for row, model in enumerate(models):
        whole = model.accuracy()
        for place, column in enumerate(columns):
            X = model.X.copy()
            X[:, column] = values(model, place)
            lost[row, place] = whole - model.accuracy(X)
    return np.asarray(lost.mean(axis=0))


def _bins(values: Floats, k: int) -> Codes:
    frame = pd.DataFrame({"value": values})
    return np.asarray(by_quantile("value").cut(frame, k).codes)
