"""Restricted cubic splines, and local quadratic regression."""

from __future__ import annotations

import numpy as np

from statcv.metrics.inputs import Floats

_OUTER = {3: 0.1, 4: 0.05, 5: 0.05}  # Harrell's outer quantile by number of knots


_SINGULAR = 1e-12  # ratio of extreme eigenvalues below which a matrix is singular


def spline_knots(x: Floats, knots: int) -> Floats:
    """Return knots at the quantiles that Harrell recommends; they may coincide."""
    outer = _OUTER[knots]
    return np.quantile(x, np.linspace(outer, 1 - outer, knots))


def restricted_cubic(x: Floats, knots: Floats) -> Floats:
    """Return the intercept, x, and the cubic terms that are linear beyond the knots.

    There is one cubic term per knot except the last two, scaled by the distance between
    the outer knots (Harrell 2015, Regression Modeling Strategies, eq. 2.25). With fewer
    than three knots there are no cubic terms.
    """
    columns = [np.ones(x.size), x]
    if len(knots) > 2:
        first, before, last = knots[0], knots[-2], knots[-1]

        def cube(knot: float) -> Floats:
            above: Floats = np.maximum((x - knot) / (last - first), 0) ** 3
            return above

        ends = (cube(before), cube(last))
        for knot in knots[:-2]:
            share = (knot - before) / (last - before)
            columns.append(cube(knot) - (1 - share) * ends[0] - share * ends[1])
    return np.stack(columns, axis=1)


def loess_weights(x: Floats, at: float, span: float) -> tuple[slice, Floats]:
    """Return the weights of a local quadratic fit, whose value is their product with y.

    The tricube weights extend over the nearest share `span` of the records (Cleveland
    1979). `x` is sorted, and the slice selects the records with positive weight. The
    weights are NaN if fewer than three distinct values are that near.
    """
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
    if width == 0:
        return slice(begin, begin + near), np.full(near, np.nan)
    within = slice(*np.searchsorted(x, [at - width, at + width]))
    offset = (x[within] - at) / width
    distance = np.abs(offset)
    weight = np.maximum(1 - distance * distance * distance, 0)
    weight = weight * weight * weight
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
