"""How unlike the folds of a candidate are in all other covariates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.metrics import auroc_hand_till

TINY = 1e-9  # of the mean variance, so that dependent columns can be inverted
Codes = NDArray[np.intp]
Floats = NDArray[np.float64]


def fold_auroc(X: Floats, fold: Codes, held_out: Codes) -> float:
    """Return how well the fold of a record is told from its covariates.

    A linear discriminant analysis of the folds, cross-validated; of held-out records
    Hand and Till's auROC, the mean over what was held out together. 0.5 where the
    folds are alike in the covariates' means.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
        Covariates without the candidate's own. A missing value counts as the mean.
    fold : numpy.ndarray of int, shape (n,)
        The fold of the candidate in which each record lies, from 0.
    held_out : numpy.ndarray of int, shape (n,)
        The random folds of the cross-validation.

    Returns
    -------
    float
        NaN without covariates, or where no held-out part has records of all folds.

    Examples
    --------
    >>> x = np.arange(40.0)
    >>> fold_auroc(np.column_stack([x]), (x >= 20).astype(int), np.arange(40) % 2)
    1.0
    """
    X = X[:, ~np.isnan(X).all(axis=0)]
    spread = np.nanstd(X, axis=0)
    X = X[:, spread > 0]
    if not X.shape[1]:
        return np.nan
    X = (X - np.nanmean(X, axis=0)) / spread[spread > 0]
    X = np.nan_to_num(X)
    values = []
    for part in np.unique(held_out):
        out = held_out == part
        if len(np.unique(fold[out])) < fold.max() + 1:
            continue
        if len(np.unique(fold[~out])) < fold.max() + 1:
            continue
        shares = _posterior(X[~out], fold[~out], X[out])
        values.append(auroc_hand_till(fold[out], shares))
    return float(np.mean(values)) if values else np.nan


def _posterior(X: Floats, classes: Codes, new: Floats) -> Floats:
    """Return the shares of the classes at new records by linear discriminants."""
    counts = np.bincount(classes)
    sums = np.zeros((len(counts), X.shape[1]))
    np.add.at(sums, classes, X)
    means = sums / counts[:, None]
    within = X - means[classes]
    variance = within.T @ within / max(len(X) - len(counts), 1)
    variance += (
        TINY
        * max(float(np.trace(variance)) / len(variance), 1e-12)
        * np.eye(len(variance))
    )
    slopes = np.linalg.solve(variance, means.T)
    score = new @ slopes - (means.T * slopes).sum(axis=0) / 2 + np.log(counts)
    score = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(score / score.sum(axis=1, keepdims=True))
