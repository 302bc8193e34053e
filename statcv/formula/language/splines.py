"""Spline bases of the same values for many vectors of knots."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


def b_splines(x: Floats, knots: Floats, degree: int) -> Floats:
    """Return B-splines, the outermost of which continue beyond the boundary knots.

    De Boor's recurrence is followed as in SciPy, with a repeated knot giving 0.

    Parameters
    ----------
    x : numpy.ndarray, shape (n,)
    knots : numpy.ndarray, shape (m, k)
        Knots in rising order, with the boundary knots ``degree + 1`` times.
    degree : int

    Returns
    -------
    numpy.ndarray, shape (m, n, k - degree - 1)

    Examples
    --------
    >>> b_splines(np.array([0.0, 0.5, 2.0]), np.array([[0.0, 0.0, 1.0, 1.0]]), 1)
    array([[[ 1. ,  0. ],
            [ 0.5,  0.5],
            [-1. ,  2. ]]])
    """
    m, count = len(knots), knots.shape[1] - degree - 1
    last = np.full((m, len(x)), degree, dtype=np.intp)
    for j in range(degree + 1, count):
        last += knots[:, j, None] <= x
    at = {s: _of_each(knots, last + s) for s in range(1 - degree, degree + 1)}
    splines = [np.ones((m, len(x)))]
    for j in range(1, degree + 1):
        before, splines = splines, [np.zeros((m, len(x)))]
        for i in range(1, j + 1):
            upper, lower = at[i], at[i - j]
            apart = upper - lower
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.where(apart > 0, before[i - 1] / apart, 0.0)
            splines[i - 1] += share * (upper - x)
            splines.append(share * (x - lower))
    made = np.zeros((m, len(x), count))
    where = np.arange(0, made.size, count).reshape(m, len(x)) + last - degree
    for i, spline in enumerate(splines):
        made.reshape(-1)[where + i] = spline
    return made


def cubic_splines(x: Floats, knots: Floats, cyclic: bool) -> Floats:
    """Return cubic regression splines, natural or cyclic (Wood 2006, §4.1).

    Parameters
    ----------
    x : numpy.ndarray, shape (n,)
    knots : numpy.ndarray, shape (m, k)
        Distinct knots in rising order.
    cyclic : bool
        Whether values and derivatives are the same at both ends.

    Returns
    -------
    numpy.ndarray, shape (m, n, k), or (m, n, k - 1) if cyclic
    """
    m, k = knots.shape
    low, high = knots[:, :1], knots[:, -1:]
    values = np.broadcast_to(x, (m, len(x)))
    if cyclic:
        width = high - low
        above = low + (values - high) % width
        below = high - (low - values) % width
        values = np.where(values > high, above, np.where(values < low, below, values))
    piece = np.zeros((m, len(x)), dtype=np.intp)
    for j in range(1, k - 1):
        piece += knots[:, j, None] < values
    left, right = _of_each(knots, piece), _of_each(knots, piece + 1)
    width, ahead, behind = right - left, right - values, values - left
    cubes = [
        np.where(values > high, 0.0, ahead**3),
        np.where(values < low, 0, behind**3),
    ]
    bend = _cyclic_bend(knots) if cyclic else _natural_bend(knots)
    following = piece + 1
    if cyclic:
        following[following == k - 1] = 0
    fit = np.arange(m)[:, None]
    made = np.zeros((m, len(x), bend.shape[2]))
    for where, share, cube in ((piece, ahead, cubes[0]), (following, behind, cubes[1])):
        curved = cube / (6 * width) - width * share / 6
        made += curved[:, :, None] * bend[fit, where]
        made[fit, np.arange(len(x)), where] += share / width
    return made


def _of_each(values: Floats, places: Integers) -> Floats:
    fit = np.arange(0, values.size, values.shape[1])[:, None]
    return np.asarray(values.reshape(-1)[places + fit])


def _natural_bend(knots: Floats) -> Floats:
    """Map values at the knots to second derivatives, shape (m, k, k)."""
    m, k = knots.shape
    h = np.diff(knots, axis=1)
    made = np.zeros((m, k, k))
    band, change = np.zeros((m, k - 2, k - 2)), np.zeros((m, k - 2, k))
    for i in range(k - 2):
        band[:, i, i] = (h[:, i] + h[:, i + 1]) / 3
        if i:
            band[:, i, i - 1] = band[:, i - 1, i] = h[:, i] / 6
        change[:, i, i] = 1 / h[:, i]
        change[:, i, i + 2] = 1 / h[:, i + 1]
        change[:, i, i + 1] = -change[:, i, i] - change[:, i, i + 2]
    made[:, 1:-1] = np.linalg.solve(band, change)
    return made


def _cyclic_bend(knots: Floats) -> Floats:
    """Map values at the knots but the last to second derivatives, (m, k - 1, k - 1)."""
    m, n = knots.shape[0], knots.shape[1] - 1
    h = np.diff(knots, axis=1)
    band, change = np.zeros((m, n, n)), np.zeros((m, n, n))
    band[:, 0, 0] = (h[:, n - 1] + h[:, 0]) / 3
    band[:, 0, n - 1] = band[:, n - 1, 0] = h[:, n - 1] / 6
    change[:, 0, 0] = -1 / h[:, 0] - 1 / h[:, n - 1]
    change[:, 0, n - 1] = change[:, n - 1, 0] = 1 / h[:, n - 1]
    for i in range(1, n):
        band[:, i, i] = (h[:, i - 1] + h[:, i]) / 3
        band[:, i, i - 1] = band[:, i - 1, i] = h[:, i - 1] / 6
        change[:, i, i] = -1 / h[:, i - 1] - 1 / h[:, i]
        change[:, i, i - 1] = change[:, i - 1, i] = 1 / h[:, i - 1]
    return np.asarray(np.linalg.solve(band, change))
