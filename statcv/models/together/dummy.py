"""The training mean of every fold, by counting."""

from __future__ import annotations

import numpy as np

from statcv.models.base import Matrix, TrainingSet
from statcv.models.together.folds import Folds


def fold_means(records: TrainingSet, folds: Folds) -> Matrix:
    """Return the mean outcome, or the class shares, of every training set.

    What :class:`~statcv.models.Mean` predicts for any record of the fold. Counts are
    whole numbers, whose sums are exact, so that equal shares stay equal.

    Parameters
    ----------
    records : TrainingSet
        All records; ``y`` may have a row for each of several outcomes, then
        ``folds.outcome`` says which.
    folds : Folds

    Returns
    -------
    numpy.ndarray, shape (fits,), or (fits, classes) for more than two

    Examples
    --------
    >>> y = np.array([0, 1, 1, 1])
    >>> records = TrainingSet(np.ones((4, 1)), y, "binary", 2, ("one",), 0, None, 0)
    >>> fold_means(records, Folds.leaving_out([[0], [3]]))
    array([1.        , 0.66666667])
    """
    n, y = len(records.X), records.y
    weights = np.ones(n) if records.weights is None else records.weights
    many = records.kind == "multiclass"
    parts = [y == c for c in range(records.n_classes)] if many else [y]
    means = np.empty((len(folds), len(parts)))
    for block in folds.blocks(n, p=1):
        own = slice(None) if block.outcome is None else block.outcome
        total = block.sums(np.ones(n), weights[:, None])
        for column, part in enumerate(parts):
            summed = block.sums(part[own].astype(float), weights[:, None])
            means[block.fits, column] = (summed / total)[:, 0]
    return means if many else means[:, 0]
