"""Products of columns, and how rows are cut for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from statcv.models.base import Matrix
from statcv.numeric.gram import grams, products_of
from statcv.numeric.threads import product

NARROW = 64  # columns up to which products may be made once for all pairs of classes
WIDER = 1.2  # columns for each pair of classes up to which products are made once
LANES = 8  # rows whose products are computed together


def add_products(sums: Matrix, X: Matrix, curved: Matrix, room: Matrix) -> None:
    """Add, in place, weighted products of the columns for each two classes.

    Parameters
    ----------
    sums : numpy.ndarray, shape (pairs, p, p)
    X : numpy.ndarray, shape (rows, p)
    curved : numpy.ndarray, shape (pairs, rows)
        The weights.
    room : numpy.ndarray, shape (rows, p)
        Room for the rows, which may be in it already.
    """
    p = X.shape[1]
    if p <= min(WIDER * len(curved), NARROW):
        sums += grams(curved.astype(X.dtype), products_of(X), p)
        return
    # a matrix and its transpose take half the work of two matrices
    for total, (left, right) in zip(sums, factors(X, curved, room), strict=True):
        total += product(left, right)


def cut(n: int, size: int) -> list[slice]:
    """Return n rows in stretches of one size, but the last."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def padded(few: Matrix) -> Matrix:
    """Return rows followed by some of zeros, where products are quicker with them.

    Products take longer for five to seven rows than for eight, and for two, three and
    nine to eleven than for as many as fours.
    """
    short = -len(few) % LANES
    if short >= LANES // 2:
        short -= LANES // 2
    if not short or len(few) < 2:
        return few
    return np.concatenate([few, np.zeros((short, few.shape[1]), few.dtype)])


def added(parts: Iterable[Matrix]) -> Matrix:
    """Add arrays in their order, in the place of the first."""
    rest = iter(parts)
    total = next(rest)
    for one in rest:
        total += one
    return total


def factors(X: Matrix, curved: Matrix, room: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    """Yield two factors of the weighted products of rows, for each two classes.

    ``room`` is for one of them, and may be that of the rows themselves.
    """
    if len(curved) == 1 and (curved >= 0).all():
        np.multiply(X, np.sqrt(curved[0])[:, None], out=room, casting="same_kind")
        yield room.T, room  # half the work of two different matrices
        return
    for own in curved:
        if (own >= 0).all():
            rows = X * np.sqrt(own).astype(X.dtype, copy=False)[:, None]
            yield rows.T, rows
        else:
            yield X.T * own.astype(X.dtype, copy=False), X
