"""How estimates of Firth's likelihood change with the weight of each record.

The weight of a record enters its likelihood and the information, and so the leverages
of all records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.downdate import Whole, inverted
from statcv.models.batched.folds import CELLS
from statcv.models.batched.gram import information_of, quadratic_of
from statcv.models.firth import Place, orthonormal

__all__ = ["firth_changes", "flic_changes"]

SURE = 1e6  # the largest inverse information, of columns with a length of 1


def firth_changes(
    X: Matrix,
    y: NDArray[Any],
    counts: Matrix,
    beta: Matrix,
    targets: Sequence[Matrix],
) -> Iterator[Matrix]:
    """Yield how functions of several fits change with the weight of each record.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
    y : numpy.ndarray, shape (n,)
    counts : numpy.ndarray, shape (m, n)
        The weights of the records in each fit.
    beta : numpy.ndarray, shape (m, p)
        The estimates.
    targets : sequence of numpy.ndarray, shape (m, p)
        The derivatives of each function by the coefficients.

    Yields
    ------
    numpy.ndarray, shape (m, n)
        The derivatives of a function by the relative weight of each record.
    """
    total = counts.sum(axis=0)
    basis = orthonormal(X[total > 0], total[total > 0] / len(counts))
    fits, q = len(counts), basis.shape[1]
    if q**3 > CELLS:
        each = zip(counts, beta, np.stack(targets, axis=1), strict=True)
        yield from np.stack([changes_of_one(X, y, *one) for one in each], axis=1)
        return
    Z = X @ basis
    eta = beta @ X.T
    tanh, small = np.tanh(eta / 2), np.exp(-np.abs(eta))
    variance = small / (1 + small) ** 2
    weight = counts * variance
    information = information_of(Z, weight)
    inverse = inverted(information)
    doubtful = np.flatnonzero(~(Whole(inverse).norm <= SURE))
    inverse[doubtful] = 0.0
    leverages = weight * quadratic_of(Z, inverse)
    third = np.empty((fits, q, q, q))
    for column in range(q):
        third[:, column] = information_of(Z, weight * tanh * Z[:, column])
    third = np.matmul(inverse[:, None], third)
    bent = information_of(Z, leverages * (tanh**2 - 2 * variance))
    flat = third.reshape(fits, q, q * q)
    bent -= np.matmul(flat, third.swapaxes(2, 3).reshape(fits, q, q * q).swapaxes(1, 2))
    hessian = information - bent / 2
    hessian[doubtful] = np.eye(q)
    alone = {}
    for fit in doubtful.tolist():
        own = np.stack([target[fit] for target in targets])
        alone[fit] = changes_of_one(X, y, counts[fit], beta[fit], own)
    residual = counts * (2 * y - 1 - tanh) / 2
    for number, target in enumerate(targets):
        solved = np.linalg.solve(hessian, (target @ basis)[:, :, None])[:, :, 0]
        toward = solved @ Z.T
        pull = -tanh / 2 * toward
        inner = np.matmul(np.matmul(inverse, information_of(Z, pull * weight)), inverse)
        made = residual * toward + leverages * pull - weight * quadratic_of(Z, inner)
        for fit, own in alone.items():
            made[fit] = own[number]
        yield made


def flic_changes(
    X: Matrix,
    y: NDArray[Any],
    counts: Matrix,
    beta: Matrix,
    targets: Sequence[Matrix],
    uncorrected: Matrix,
) -> Iterator[Matrix]:
    """Yield how functions of corrected estimates change, as `firth_changes` does.

    Parameters
    ----------
    X, y, counts, beta, targets
        As :func:`firth_changes` takes them, ``beta`` with the corrected intercept.
    uncorrected : numpy.ndarray, shape (m, p)
        The estimates before their intercepts were corrected.
    """
    tanh = np.tanh(beta @ X.T / 2)
    variance = counts * (1 - tanh**2) / 4
    total = variance.sum(axis=1, keepdims=True)
    along = variance @ X / total  # of the shift, 1 for the intercept
    direct = counts * (2 * y - 1 - tanh) / 2 / total
    intercept = [int(np.argmax((X == 1.0).all(axis=0)))]
    slopes = [target[:, intercept] for target in targets]
    through = [
        target - slope * along for target, slope in zip(targets, slopes, strict=True)
    ]
    changes = firth_changes(X, y, counts, uncorrected, through)
    for slope, moved in zip(slopes, changes, strict=True):
        yield moved + slope * direct


def changes_of_one(
    X: Matrix, y: Matrix, weights: Matrix, beta: Matrix, targets: Matrix
) -> Matrix:
    """Return the changes of functions of one fit, (m, n), targets (m, p).

    Orthogonal decompositions take all digits that there are.
    """
    changes, used = np.zeros((len(targets), len(X))), weights > 0
    X, y, weights = X[used], y[used], weights[used]
    basis = orthonormal(X, weights)
    place = Place.at(X @ basis, X @ beta, weights)
    hessian, Q = np.eye(basis.shape[1]) - place.excess, place.Q
    own = place.whitened(np.asarray(basis.T @ targets.T))
    toward = (place.Z @ place.back(np.asarray(np.linalg.solve(hessian, own)))).T
    pull = -place.tanh / 2 * toward
    lost = [((Q @ ((Q.T * one) @ Q)) * Q).sum(axis=1) for one in pull]
    direct = weights * (2 * y - 1 - place.tanh) / 2 * toward
    changes[:, used] = direct + place.leverages * pull - np.array(lost)
    return changes
