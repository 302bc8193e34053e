"""Local quadratic and linear regression."""

from __future__ import annotations

import numpy as np

from statcv.metrics.inputs import Floats

_ALMOST_EQUAL = 1e-3  # share of the range below which records have no slope
_STEP = 0.01  # share of the range that R's lowess interpolates
_SINGULAR = 1e-12  # ratio of extreme eigenvalues below which a matrix is singular


def loess_weights(x: Floats, at: float, span: float) -> tuple[slice, Floats]:
    """Return the weights of a local quadratic fit, whose value is their product with y.

    The tricube weights extend over the nearest share `span` of the records (Cleveland
    1979). `x` is sorted, and the slice selects the records with positive weight. The
    weights are NaN if fewer than three distinct values are that near.
    """
    near, width = _nearest(x, at, span)
    if width == 0:
        return near, np.full(near.stop - near.start, np.nan)
    within, offset, weight = _tricube(x, at, width)
    moments = [weight.sum()]
    power = weight
    for _ in range(4):
        power = power * offset
        moments.append(power.sum())
    gram = np.array([moments[k : k + 3] for k in range(3)])
    values, vectors = np.linalg.eigh(gram)
    if values[0] <= _SINGULAR * values[-1]:
        return within, np.full_like(weight, np.nan)
    constant, linear, square = vectors @ (vectors[0] / values)
    first: Floats = weight * (constant + offset * (linear + offset * square))
    return within, first


def lowess_weights(x: Floats, at: float, span: float) -> tuple[slice, Floats]:
    """Return the weights of a local linear fit, as `loess_weights` does.

    Where the records nearby are almost equal, the fit is their mean, as in R's
    ``lowess``.
    """
    _, width = _nearest(x, at, span)
    if width == 0:
        equal = slice(
            *(int(np.searchsorted(x, at, side)) for side in ("left", "right"))
        )
        return equal, np.full(equal.stop - equal.start, 1 / (equal.stop - equal.start))
    within, _, weight = _tricube(x, at, width)
    weight = weight / weight.sum()
    centre = float(weight @ x[within])
    away = x[within] - centre
    variance = float(weight @ (away * away))
    if variance > (_ALMOST_EQUAL * (x[-1] - x[0])) ** 2:
        weight = weight * (1 + (at - centre) / variance * away)
    return within, weight


def lowess_points(values: Floats) -> Floats:
    """Return the values at which R's ``lowess`` fits; others are interpolated.

    Parameters
    ----------
    values : numpy.ndarray
        The distinct values, in rising order.
    """
    delta, last, chosen = _STEP * (values[-1] - values[0]), values.size - 1, [0]
    while chosen[-1] < last:
        far = int(np.searchsorted(values, values[chosen[-1]] + delta, "right")) - 1
        chosen.append(max(chosen[-1] + 1, far))
    return values[chosen]


def _nearest(x: Floats, at: float, span: float) -> tuple[slice, float]:
    """Return the nearest share of the sorted records, and their largest distance."""
    n, begin = x.size, 0
    near = max(1, int(np.floor(span * n + 1e-5)))
    end = n - near
    while begin < end:  # the window whose farther end is nearest
        middle = (begin + end) // 2
        if at - x[middle] > x[middle + near] - at:
            begin = middle + 1
        else:
            end = middle
    width = max(at - x[begin], x[begin + near - 1] - at)
    return slice(begin, begin + near), float(width)


def _tricube(x: Floats, at: float, width: float) -> tuple[slice, Floats, Floats]:
    """Return the records within a distance, their offsets, and tricube weights."""
    begin, end = np.searchsorted(x, [at - width, at + width])
    within = slice(int(begin), int(end))
    offset = (x[within] - at) / width
    distance = np.abs(offset)
    weight = np.maximum(1 - distance * distance * distance, 0)
    return within, offset, weight * weight * weight
