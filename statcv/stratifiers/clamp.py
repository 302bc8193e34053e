"""The nearest value outside a record's own fold.

A fold made of a covariate holds values that its training set lacks. A model then
predicts from the nearest values that it has seen; moving each record there, and
predicting again with models that have seen all, tells what that costs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.intp]
Floats = NDArray[np.float64]


def nearest_outside(values: Floats, fold: Codes) -> Codes:
    """Return for each record one of another fold whose value is nearest.

    Of two equally near values the lower one is taken.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
    fold : numpy.ndarray of int, shape (n,)
        Equal values lie in one fold; two folds at least.

    Returns
    -------
    numpy.ndarray of intp, shape (n,)
        Positions of records. A missing value stays where it is.

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


def commonest_outside(codes: Codes, fold: Codes) -> Codes:
    """Return for each record one of another fold with the commonest value there.

    For values without an order.

    Parameters
    ----------
    codes : numpy.ndarray of int, shape (n,)
        Of the values, from 0; equal ones lie in one fold.
    fold : numpy.ndarray of int, shape (n,)

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
