"""Logistic regression on a restricted cubic spline of the logit of probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.metrics.inputs import Bools, Floats, Ints
from statcv.metrics.probabilities.recalibration import (
    COLLINEAR,
    fit_logistic,
    logit_of,
    no_fit,
    sandwich,
    separated,
    undefined,
)

_OUTER = {3: 0.1, 4: 0.05, 5: 0.05}  # Harrell's outer quantile by number of knots
_FEW = 50  # with fewer records in the smaller class there are three knots


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


@dataclass(frozen=True, eq=False)
class SplineFit:
    """A logistic regression on a restricted cubic spline of the logit of p.

    Attributes
    ----------
    linear : numpy.ndarray, shape (n,), or None
        Linear predictors of the records; None, with the reason, if there is no fit.
    beta, covariance, places : numpy.ndarray
        Coefficients, their covariance, and the knots as logits.
    method, reason : str
    """

    linear: Floats | None
    beta: Floats
    covariance: Floats
    places: Floats
    method: str
    reason: str

    def at(self, p: Floats) -> tuple[Floats, Floats]:
        """Return the logit of the curve at any probabilities, and its standard error.

        The spline is linear beyond its outer knots, and so outside the range of p.
        """
        drawn = restricted_cubic(logit_of(p), self.places)
        with np.errstate(invalid="ignore"):
            variance = np.einsum("ij,jk,ik->i", drawn, self.covariance, drawn)
            return drawn @ self.beta, np.sqrt(variance)


def spline_fit(
    positive: Bools, p: Floats, knots: int | None, codes: Ints | None
) -> SplineFit:
    """Fit the spline with the knots of `calibration_curve`, or give the reason."""
    none, method = np.empty(0), "restricted cubic spline"
    if reason := undefined(positive, p) or separated(positive, p):
        return SplineFit(None, none, none, none, method, reason)
    x, few = logit_of(p), min(positive.sum(), (~positive).sum()) < _FEW
    wanted = knots or (3 if few else 4)
    for count in range(wanted, 1, -1):  # as many of the requested knots as possible
        places = spline_knots(x, count) if count > 2 else none
        method = f"restricted cubic spline, {count} knots"
        fit = no_fit(p.size, count, COLLINEAR)
        if not (np.diff(places) <= 1e-9 * np.ptp(x)).any():
            columns = restricted_cubic(x, places)
            fit = fit_logistic(positive, columns, np.zeros(p.size))
        if not fit.reason:
            break
        reason = reason or f"there is no spline with {wanted} knots: {fit.reason}"
    if not len(places):
        method = "straight line on the logit scale"
    if fit.reason:
        return SplineFit(None, none, none, none, method, fit.reason)
    covariance = fit.covariance
    if codes is not None:
        covariance, missing = sandwich(fit, positive, columns, codes)
        reason = "; ".join(filter(None, (reason, missing)))
    return SplineFit(fit.linear, fit.beta, covariance, places, method, reason)
