"""Nearest neighbours: the mean outcome of the most similar records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from statcv.arguments import check_types, check_whole, one_of
from statcv.errors import ModelError
from statcv.models import base
from statcv.models.base import Capabilities, PlainFit, TrainingSet
from statcv.models.batched.fits import FittedFolds
from statcv.models.batched.folds import Folds
from statcv.models.batched.neighbors import Neighborhood, fit_own_neighbors
from statcv.numeric.arrays import Floats, Numbers
from statcv.tables import Constructed
from statcv.words import plural

WEIGHTS = ("uniform", "distance")


@dataclass(frozen=True, repr=False)
class Neighbors(Constructed):
    """Nearest neighbours: the mean outcome, or class shares, of the k most similar.

    Similarity is by Euclidean distance in the columns of the design, without its
    intercept.

    Parameters
    ----------
    k : int
        Number of neighbours. Records that are equally near share the last places.
    weights : {"uniform", "distance"}
        Whether neighbours count equally, or by one over their distance.
    scale : bool
        Whether to divide columns by their standard deviation in the training set of
        each fold. Otherwise the unit of a column determines its influence, as in R's
        ``class::knn`` and scikit-learn.

    Examples
    --------
    >>> Neighbors(k=2).label
    '2 nearest neighbours'
    """

    k: int = 5
    weights: str = "uniform"
    scale: bool = False
    # one search serves all fits
    capabilities = Capabilities(
        fits_together=True,
        own_matrices=True,
        fits_per_training_set=0,
        predicts_by_neighbors=True,
    )

    def __post_init__(self) -> None:
        check_whole(self.k, "k", least=1, error=ModelError)
        one_of(self.weights, WEIGHTS, "weights", ModelError)
        check_types(Neighbors, vars(self), ModelError)

    @property
    def label(self) -> str:
        """How print and summary call it."""
        parts = [plural(self.k, "nearest neighbour")]
        if self.weights == "distance":
            parts.append("weighted by distance")
        if self.scale:
            parts.append("scaled columns")
        return ", ".join(parts)

    def check(self, kind: str) -> None:
        """Raise ModelError for an outcome that cannot be averaged."""
        base.refuse_kind(
            "a model of neighbours", kind, ("binary", "multiclass", "continuous")
        )

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        _refuse(training, self.label)
        fitted = Neighborhood.of(self, training, Folds.leaving_out([[]]))
        if fitted.fewest < self.k:
            raise ModelError(
                f"k={self.k} neighbours are more than the training set has records: "
                f"{fitted.fewest}; use a smaller k."
            )
        return PlainFit(partial(_predicted, fitted))

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds | None:
        """Fit the training sets of all folds together."""
        _refuse(records, self.label)
        if folds.matrices is not None:
            return fit_own_neighbors(self, records, folds)
        fitted = Neighborhood.of(self, records, folds)
        if fitted.fewest < self.k:
            return None
        X = records.without_intercept

        def predict(rows: Numbers, fits: Numbers) -> Floats:
            return fitted.predict(X, rows, fits)

        def at(X: Floats, fits: Numbers) -> Floats:
            X = base.without_column(X, records.intercept)
            return fitted.predict(X, np.arange(len(X)), fits)

        done = np.ones(len(folds), dtype=bool)
        return FittedFolds(None, (), done, ~done, predict, at=at)


def _predicted(fitted: Neighborhood, X: Floats) -> Floats:
    """Return means or shares; NaN where a covariate is missing."""
    X = base.without_column(X, fitted.records.intercept)
    # a record that lacks a covariate has no distance from others
    known = np.isfinite(X).all(axis=1)
    rows = np.flatnonzero(known)
    found = fitted.predict(X, rows, np.zeros(len(rows), dtype=np.intp))
    predicted = np.full((len(X), *found.shape[1:]), np.nan)
    predicted[known] = found
    return predicted


def _refuse(training: TrainingSet, label: str) -> None:
    base.refuse_missing(training, label)
    if training.without_intercept.shape[1] == 0:
        raise ModelError(
            f"{label}: at least one predictor is needed; for the model without any "
            "use model='mean'."
        )
