"""The variances of columns in each training set, by which a ridge may be scaled."""

from __future__ import annotations

import numpy as np

from statcv.formula import Learnt
from statcv.models.base import TrainingSet
from statcv.models.batched.blocks import CELLS
from statcv.models.batched.folds import Folds
from statcv.numeric.arrays import Floats, Numbers

LOST = 1e-4  # share of the variance of all records below which a difference is inexact


def variances(
    X: Floats, weights: Floats | None = None, constant: float = 1.0
) -> Floats:
    """Return the (weighted) variance of each column.

    The divisor is the total weight, as in scikit-learn's ``StandardScaler``.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p), or (m, n, p) with weights
    weights : numpy.ndarray, shape (n,), or (m, n), optional
    constant : float, default 1.0
        What stands for the variance of a constant column.

    Examples
    --------
    >>> variances(np.array([[1.0, 2.0], [3.0, 2.0]])).tolist()
    [1.0, 1.0]
    >>> variances(np.array([[1.0], [3.0]]), np.array([3.0, 1.0])).tolist()
    [0.75]
    """
    given = np.ones(X.shape[:-1]) if weights is None else weights
    shares = given / given.sum(axis=-1, keepdims=True)
    mean = np.einsum("...n,...np->...p", shares, X)
    apart = X - mean[..., None, :]
    made = np.einsum("...n,...np,...np->...p", shares, apart, apart)
    # rounding of the mean alone gives a constant column a variance of this size
    least = X.shape[-2] * np.finfo(float).eps * np.abs(mean)
    return np.where(made <= least**2, constant, made)


def fold_variances(records: TrainingSet, folds: Folds, constant: float = 1.0) -> Floats:
    """Return the variances of the columns in the training set of each fit, (fits, p).

    Parameters
    ----------
    records : TrainingSet
        All records.
    folds : Folds
    constant : float, default 1.0
        What stands for the variance of a constant column.

    Examples
    --------
    >>> X = np.array([[1.0], [3.0], [9.0]])
    >>> records = TrainingSet(X, np.zeros(3), "binary", 2, ("x",), None, None, 0)
    >>> fold_variances(records, Folds.leaving_out([[2], [0]]))
    array([[1.],
           [9.]])
    """
    n, p = records.X.shape
    made = np.empty((len(folds), p))
    if isinstance(folds.matrices, Learnt):
        every, step = np.arange(len(folds)), max(1, 4 * CELLS // max(n * p, 1))
        for start in range(0, len(folds), step):
            some: Numbers = every[start : start + step]
            own = folds.weights_in(records, some)
            made[some] = variances(folds.matrices.matrices(some), own)
        return made
    weights = records.each_weight
    whole = variances(records.X, weights)
    # in centred columns the mean square minus the squared mean loses few digits
    Z = records.X - weights @ records.X / weights.sum()
    Z /= np.sqrt(whole)
    fixed = weights @ Z**2 < weights.sum() / 2  # otherwise 1 on average
    for block in folds.blocks(n, p):
        total = block.total(weights)[:, None]
        mean = block.sums(weights, Z) / total
        made[block.fits] = block.sums(weights, Z**2) / total - mean**2
    # a small difference of two sums has few digits, and is computed again
    inexact = ~((made > LOST) | fixed).all(axis=1)
    made = np.where(fixed, constant, made * whole)
    for fit in np.flatnonzero(inexact).tolist():
        own = folds.weights_in(records, np.array([fit]))[0]
        used = own > 0
        made[fit] = variances(records.X[used], own[used], constant)
    return made


def diagonal(strengths: Floats, fits: Numbers) -> Floats:
    """Return the ridges of some fits as matrices, shape (m, p, p).

    Examples
    --------
    >>> diagonal(np.array([[1.0, 2.0]]), np.array([0]))
    array([[[1., 0.],
            [0., 2.]]])
    """
    chosen = strengths[fits]
    return np.asarray(chosen[:, :, None] * np.eye(chosen.shape[1]))
