"""Calibration curves: the outcome as a smooth function of the predicted probability."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from statcv.arguments import check_level, is_whole
from statcv.errors import MetricError
from statcv.metrics import inputs
from statcv.metrics.areas.placements import normal_quantile
from statcv.metrics.probabilities import recalibration
from statcv.metrics.probabilities.recalibration import logit_of
from statcv.numeric.arrays import ArrayLike, Bools, Floats, Numbers
from statcv.numeric.logistic import expit
from statcv.tables import Printed
from statcv.words import plural

_POINTS = 101  # points at which a curve is drawn
_EXACT = 201  # with more distinct values a loess is interpolated between this many
_NOTHING = 1e-6  # a standard error of a share below this is rounding
SPANS = {"loess": 0.75, "lowess": 2 / 3}  # the defaults of R
LEAST = 10  # records; a loess of fewer interpolates the outcomes
PARTS = 51  # points between which a curve and its errors are interpolated
QUANTILES = {"e50": 0.5, "e90": 0.9}
Smooth = Literal["spline", "loess", "lowess"]


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationCurve(Printed):
    """Observed share of positives as a smooth function of the predicted probability.

    Attributes
    ----------
    predicted, observed : ndarray of shape (points,)
        Probabilities, and the curve at these points; NaN outside the range of `p`.
    lower, upper : ndarray of shape (points,)
        Limits of the pointwise band.
    level : float
        Confidence level of the band.
    method : str
        Name of the smoothing method.
    knots : ndarray
        Knots of the spline, as probabilities; empty if there are no knots.
    ici, e50, e90, emax : float
        Mean (the integrated calibration index), median, 90th percentile and maximum,
        over the records, of the distance between curve and probability.
    n : int
        Number of records.
    reason : str
        Why a value is missing, or why another curve than the requested one was fitted;
        otherwise empty.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.random.default_rng(1).uniform(size=200)
    >>> y = np.random.default_rng(2).uniform(size=200) < p
    >>> curve = calibration_curve(y, p)
    >>> curve.method, round(curve.ici, 3)
    ('restricted cubic spline, 4 knots', 0.041)
    """

    _points, _with_band = ("predicted", "observed"), "observed"

    predicted: Floats
    observed: Floats
    lower: Floats
    upper: Floats
    level: float
    method: str
    knots: Floats
    ici: float
    e50: float
    e90: float
    emax: float
    n: int
    reason: str = ""


def calibration_curve(
    y: ArrayLike,
    p: ArrayLike,
    *,
    level: float = 0.95,
    at: ArrayLike | None = None,
    smooth: Smooth = "spline",
    knots: int | None = None,
    clusters: ArrayLike | None = None,
) -> CalibrationCurve:
    """Observed share of positives as a smooth function of the probability.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.
    level : float, default 0.95
        Confidence level of the pointwise band.
    at : array_like of shape (points,), optional
        Probabilities at which the curve is evaluated. By default 101 equidistant points
        from the smallest to the largest `p`; there is no curve outside this range.
    smooth : {"spline", "loess", "lowess"}
        A logistic regression on a restricted cubic spline of the logit of `p`; or a
        local regression on `p` itself, in which `p` can also be 0 or 1: quadratic with
        span 0.75, clipped to [0, 1], as R's ``loess``, or linear with span 2/3, as
        ``lowess(iter=0)``, whose distances ``rms::val.prob`` gives.
    knots : {3, 4, 5}, optional
        Number of knots of the spline, at the quantiles that Harrell recommends. The
        default is four, or three if a class has fewer than 50 records; fewer, with a
        reason, if the fit does not exist.
    clusters : array_like of shape (n,), optional
        Cluster labels, for the cluster sandwich estimator.

    Returns
    -------
    CalibrationCurve
        ``predicted``, ``observed``, ``lower`` and ``upper``; ``ici``, ``e50``, ``e90``
        and ``emax``, the mean, median, 90th percentile and maximum of the distance
        between curve and probability over records. NaN, with the ``reason``, if the
        curve does not exist.

    Raises
    ------
    MetricError
        If an argument is not valid.

    References
    ----------
    Harrell (2015), Regression Modeling Strategies, sections 2.4.6 and 10.11; Austin &
    Steyerberg (2019), Statistics in Medicine 38:4051 (ICI, E50, E90); Austin &
    Steyerberg (2014), Statistics in Medicine 33:517 (loess).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> p = rng.uniform(0.05, 0.95, 300)
    >>> y = rng.random(300) < p
    >>> curve = calibration_curve(y, p, at=[0.2, 0.5])
    >>> curve.observed.round(2).tolist(), round(curve.ici, 3)
    ([0.2, 0.47], 0.026)
    """
    check_level(level, MetricError)
    inputs.one_of(smooth, get_args(Smooth), "smooth")
    if knots is not None and (
        smooth != "spline" or not is_whole(knots) or knots not in (3, 4, 5)
    ):
        raise MetricError(f"knots={knots!r} must be 3, 4 or 5, with smooth='spline'.")
    positive, p = inputs.binary_probabilities(y, p)
    codes = None if clusters is None else inputs.clusters_of(clusters, p.size)
    points = _points(p, at)
    within = (points >= p.min(initial=1.0)) & (points <= p.max(initial=0.0))
    fit: SplineFit | LocalFit
    if smooth == "spline":
        fit = spline_fit(positive, p, knots, codes)
    else:
        fit = local_fit(positive, p, codes, smooth)
    middle, se = np.full((2, points.size), np.nan)
    far, reasons = (np.nan,) * 4, [fit.reason]
    if fit.linear is not None:
        middle[within], se[within] = fit.at(points[within])
        far = distances(fit.shown(fit.linear), fit.p)
        if smooth != "spline" and within.any() and (se[within] < _NOTHING).all():
            reasons.append("the loess is 0 or 1 everywhere, so its band has no width")
        if out := int((~within).sum()):
            reasons.append(f"{plural(out, 'point')} outside the range of p")
    margin = normal_quantile(level) * se
    heights = (middle, middle - margin, middle + margin)
    curve, lower, upper = (np.clip(fit.shown(one), 0, 1) for one in heights)
    places, reason = np.asarray(expit(fit.places)), "; ".join(filter(None, reasons))
    about = level, fit.method, places
    return CalibrationCurve(points, curve, lower, upper, *about, *far, p.size, reason)


def _points(p: Floats, at: ArrayLike | None) -> Floats:
    if at is None:
        if inputs.improper(p):
            return np.full(_POINTS, np.nan)
        return np.linspace(p.min(), p.max(), _POINTS)
    return inputs.vector(at, "at")


def distances(curve: Floats, p: Floats) -> tuple[float, float, float, float]:
    """Return ICI, E50, E90 and the maximum distance."""
    distance = np.abs(curve - p)
    if np.isnan(distance).any():
        return np.nan, np.nan, np.nan, np.nan
    e50, e90 = np.quantile(distance, [*QUANTILES.values()])
    return float(distance.mean()), float(e50), float(e90), float(distance.max())


# ---- local regression ----


_ALMOST_EQUAL = 1e-3  # share of the range below which records have no slope
_STEP = 0.01  # share of the range that R's lowess interpolates
_SINGULAR = 1e-12  # ratio of extreme eigenvalues below which a matrix is singular


@dataclass(frozen=True, eq=False)
class LocalFit:
    """A local regression of the outcome on the probability.

    Attributes
    ----------
    p, y : numpy.ndarray, shape (n,)
        Probabilities in rising order, and the outcomes.
    codes : numpy.ndarray of int, shape (n,), or None
        Clusters of the records, if they are dependent.
    smooth : {"loess", "lowess"}
    method, reason : str
    linear : numpy.ndarray, shape (n,), or None
        The curve at the records; None, with the reason, if there is no curve.
    """

    p: Floats
    y: Floats
    codes: Numbers | None
    smooth: Literal["loess", "lowess"]
    method: str
    reason: str
    linear: Floats | None = None
    places: Floats = field(default_factory=lambda: np.empty(0))

    def weights(self, at: float) -> tuple[slice, Floats]:
        """Return the weights of the outcomes of some records in the curve."""
        weights_at = loess_weights if self.smooth == "loess" else lowess_weights
        return weights_at(self.p, at, SPANS[self.smooth])

    def shown(self, curve: Floats) -> Floats:
        """Return the curve as shares, which those of a loess are."""
        return np.clip(curve, 0, 1) if self.smooth == "loess" else curve

    def at(self, points: Floats) -> tuple[Floats, Floats]:
        """Return the curve at some probabilities, and its standard error."""
        assert self.linear is not None
        fitted, own = np.clip(self.linear, 0, 1), self.codes
        spread = np.sqrt(fitted * (1 - fitted)) if own is None else self.y - fitted
        curve, se = np.empty((2, points.size))
        for k, point in enumerate(points):
            near, weights = self.weights(point)
            curve[k], parts = weights @ self.y[near], weights * spread[near]
            summed = parts if own is None else np.bincount(own[near], parts)
            se[k] = np.sqrt(summed @ summed)
        return curve, se


def local_fit(
    positive: Bools,
    p: Floats,
    codes: Numbers | None,
    smooth: Literal["loess", "lowess"],
) -> LocalFit:
    """Fit a local regression at the records, or give the reason."""
    least, reason = 3 if smooth == "loess" else 2, inputs.improper(p)
    if not reason and (positive.all() or not positive.any()):
        reason = f"all records are {'positive' if positive.any() else 'negative'}"
    if not reason and (found := len(np.unique(p))) < least:
        reason = f"p has {plural(found, 'distinct value')}; {smooth} needs {least}"
    order, method = np.argsort(p), f"{smooth}, span {SPANS[smooth]:.2f}"
    own, y = None if codes is None else codes[order], positive[order].astype(float)
    fit = LocalFit(p[order], y, own, smooth, method, reason)
    if reason:
        return fit
    loess = smooth == "loess"
    values = some_points(p, _EXACT) if loess else lowess_points(np.unique(p))
    curve = [weights @ y[near] for near, weights in map(fit.weights, values)]
    if np.isnan(curve).any():
        reason = "in some places the loess covers fewer than three distinct values of p"
    return replace(fit, linear=np.interp(fit.p, values, curve), reason=reason)


def some_points(x: Floats, most: int = PARTS) -> Floats:
    """Return the distinct values, or of more than that many the values at quantiles."""
    at = np.unique(x)
    return np.unique(np.quantile(x, np.linspace(0, 1, most))) if len(at) > most else at


def between(at: Floats, x: Floats) -> tuple[Numbers, Numbers, Floats]:
    """Return the points around each value, and its nearness to the upper one."""
    below = np.clip(np.searchsorted(at, x, "right") - 1, 0, max(len(at) - 2, 0))
    above = np.minimum(below + 1, len(at) - 1)
    gap = at[above] - at[below]
    share = np.divide(x - at[below], gap, out=np.zeros_like(x), where=gap > 0)
    return below, above, np.clip(share, 0, 1)


def loess_weights(x: Floats, at: float, span: float) -> tuple[slice, Floats]:
    """Return the weights of a local quadratic fit, whose value is their product with y.

    The tricube weights extend over the nearest share `span` of the records (Cleveland
    1979). `x` is sorted, and the slice selects the records with positive weight. The
    weights are NaN if fewer than three distinct values are that near.
    """
    width = _reach(x, at, span)
    if width == 0:
        return slice(0, 1), np.array([np.nan])
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
    width = _reach(x, at, span)
    if width == 0:
        begin, end = (int(np.searchsorted(x, at, side)) for side in ("left", "right"))
        return slice(begin, end), np.full(end - begin, 1 / (end - begin))
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


def _reach(x: Floats, at: float, span: float) -> float:
    """Return the largest distance of the nearest share of the sorted records."""
    near = max(1, int(np.floor(span * x.size + 1e-5)))
    # the window of as many records whose farther end is nearest
    ends = at - x[: x.size - near + 1], x[near - 1 :] - at
    return float(np.maximum(*ends).min())


def _tricube(x: Floats, at: float, width: float) -> tuple[slice, Floats, Floats]:
    """Return the records within a distance, their offsets, and tricube weights."""
    begin, end = np.searchsorted(x, [at - width, at + width])
    within = slice(int(begin), int(end))
    offset = (x[within] - at) / width
    distance = np.abs(offset)
    weight = np.maximum(1 - distance * distance * distance, 0)
    return within, offset, weight * weight * weight


# ---- the spline ----


_OUTER = {3: 0.1, 4: 0.05, 5: 0.05}  # Harrell's outer quantile by number of knots
_FEW = 50  # with fewer records in the smaller class there are three knots


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
            return np.asarray(np.maximum((x - knot) / (last - first), 0) ** 3)

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
    p : numpy.ndarray, shape (n,)
        Probabilities of the records.
    linear : numpy.ndarray, shape (n,), or None
        Linear predictors of the records; None, with the reason, if there is no fit.
    beta, covariance, places : numpy.ndarray
        Coefficients, their covariance, and the knots as logits.
    method, reason : str
    """

    p: Floats
    linear: Floats | None
    beta: Floats
    covariance: Floats
    places: Floats
    method: str
    reason: str

    def shown(self, curve: Floats) -> Floats:
        """Return the curve as shares."""
        return np.asarray(expit(curve))

    def at(self, p: Floats) -> tuple[Floats, Floats]:
        """Return the logit of the curve at any probabilities, and its standard error.

        The spline is linear beyond its outer knots, and so outside the range of p.
        """
        drawn = restricted_cubic(logit_of(p), self.places)
        with np.errstate(invalid="ignore"):
            variance = np.einsum("ij,jk,ik->i", drawn, self.covariance, drawn)
            return drawn @ self.beta, np.sqrt(variance)


def spline_fit(
    positive: Bools, p: Floats, knots: int | None, codes: Numbers | None
) -> SplineFit:
    """Fit the spline with the knots of `calibration_curve`, or give the reason."""
    none, method = np.empty(0), "restricted cubic spline"
    if reason := recalibration.undefined(positive, p) or recalibration.separated(
        positive, p
    ):
        return SplineFit(p, None, none, none, none, method, reason)
    x, few = logit_of(p), min(positive.sum(), (~positive).sum()) < _FEW
    wanted = knots or (3 if few else 4)
    for count in range(wanted, 1, -1):  # as many of the requested knots as possible
        places, outer = none, _OUTER.get(count)
        if outer is not None:
            places = np.quantile(x, np.linspace(outer, 1 - outer, count))
        method = f"restricted cubic spline, {count} knots"
        fit = recalibration.no_fit(p.size, count, recalibration.COLLINEAR)
        if not (np.diff(places) <= 1e-9 * np.ptp(x)).any():
            columns = restricted_cubic(x, places)
            fit = recalibration.fit_logistic(positive, columns, np.zeros(p.size))
        if not fit.reason:
            break
        reason = reason or f"there is no spline with {wanted} knots: {fit.reason}"
    if not len(places):
        method = "straight line on the logit scale"
    if fit.reason:
        return SplineFit(p, None, none, none, none, method, fit.reason)
    covariance = fit.covariance
    if codes is not None:
        covariance, missing = recalibration.sandwich(fit, positive, columns, codes)
        reason = "; ".join(filter(None, (reason, missing)))
    return SplineFit(p, fit.linear, fit.beta, covariance, places, method, reason)
