"""The proportional-odds regression of all records, and how it changes with each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.models.batched import CumulativeOdds, Folds
from statcv.models.likelihood import CumulativeLogit
from statcv.numeric.inverses import inverted
from statcv.numeric.newton import minimise
from statcv.sensitivity.reference import (
    MAX_LEVERAGE,
    Reference,
    fewer_columns,
    mean_times,
    of_clusters,
    within_classes,
)

LEAST_WEIGHT = 1e-9  # so that every class has a probability

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


def ordered_reference(
    X: Floats,
    y: Numbers,
    penalty: Floats,
    given: Floats,
    folds: Folds,
    by_class: Numbers | None = None,
    clusters: Numbers | None = None,
) -> Reference:
    """Fit all records, with the mean weight that they have in the fits.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
        The matrix, without the intercept.
    y : numpy.ndarray of int, shape (n,)
        Classes.
    penalty : numpy.ndarray, shape (p,)
        The ridge of each coefficient.
    given, folds, by_class, clusters
        As in :meth:`Reference.of`.
    """
    X, penalty = fewer_columns(X, penalty)
    times, classes = mean_times(folds, len(X)), int(y.max()) + 1
    weights = np.maximum(given * times, LEAST_WEIGHT)
    odds = CumulativeOdds.of(X, y[None], weights[None], classes, penalty)
    beta, cuts = minimise(odds).beta, odds.cuts
    eta = odds.linear(beta)
    pull, curved = odds.slopes(eta)
    inverse = inverted(odds.hessian(curved)[0], np.zeros(beta.shape[1]))
    rows = odds.rows(0)
    # the score of a record, for a training weight of 1, and the step that it makes
    score = np.einsum("rnq,rn->nq", rows[:2], pull[:, 0] * (given / weights))
    step = score @ inverse
    # without a record whose information along its step is the share h of all, that is
    # 1 / (1 - h) times as long
    own = (np.einsum("rnq,nq->rn", rows, step) ** 2 * curved[:, 0]).sum(axis=0)
    gain = (step * score).sum(axis=1)
    leverage = np.divide(own, gain, out=np.zeros_like(own), where=gain > 0)
    if clusters is not None:
        leverage = of_clusters(X, leverage, clusters)
    step /= (1 - np.clip(leverage, 0, MAX_LEVERAGE))[:, None]
    # the last coefficient of each linear predictor is its cut point
    every = np.empty((len(X), cuts, X.shape[1] + 1))
    every[..., :-1], every[..., -1] = step[:, None, cuts:], step[:, :cuts]
    if by_class is not None:
        within_classes(every, by_class, given, times)
    levels = odds.start[0, 1:-1] + beta[0, :cuts]
    along = (X @ beta[0, cuts:])[:, None] + levels
    X = np.column_stack([X, np.ones(len(X))])
    return Reference(X, along, every, given, times, folds, CumulativeLogit())
