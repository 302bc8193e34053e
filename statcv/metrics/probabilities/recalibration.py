"""Calibration slope, calibration intercept, and ratio of observed to expected events.

The outcome is regressed on the logit of the probabilities (Cox 1958). Probabilities are
not clipped: if one is exactly 0 or 1, its logit is infinite, and there is neither a
slope nor an intercept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.metrics.inputs import Bools, Floats
from statcv.metrics.probabilities.logistic import (
    COLLINEAR,
    DECREMENT,
    FLAT,
    IN_CACHE,
    RANK,
    SEPARATED,
    LogisticFit,
    fit_logistic,
    no_fit,
)
from statcv.metrics.records import improper
from statcv.numeric.threads import RECORD, shared

_FIRST = 2**10  # records that are looked at first
_SAME = 1e-12  # logits nearer than this, relative to the largest, are equal


def undefined(positive: Bools, p: Floats) -> str:
    """Return why there is no logistic recalibration; empty if there is one."""
    if odd := improper(p):
        return odd
    certain = int(((p == 0) | (p == 1)).sum())
    if certain:
        return (
            f"{certain} of the {p.size} values of p are exactly 0 or 1, so their logit "
            "is infinite"
        )
    if positive.all() or not positive.any():
        return f"all records are {'positive' if positive.any() else 'negative'}"
    return ""


def intercept_fit(positive: Bools, p: Floats) -> LogisticFit:
    """Fit the intercept alone, with the logit of p as an offset."""
    if reason := undefined(positive, p):
        return no_fit(p.size, 1, reason)
    return fit_logistic(positive, ones_of(p), logit_of(p))


def separated(positive: Bools, p: Floats) -> str:
    """Return why the regression on the logit of p has no slope; empty if it has one.

    With one covariate the classes are separated if their ranges do not overlap (Albert
    & Anderson 1984), which is checked on the logits themselves.
    """
    return _separated(positive, logit_of(p))


def _separated(positive: Bools, logit: Floats) -> str:
    low, high = float(logit.min()), float(logit.max())
    same = _SAME * max(1.0, -low, high)
    if high - low <= same:
        return "all values of p are equal, so there is no slope"
    for some in (slice(_FIRST), slice(None)):  # ranges of a part may overlap already
        one, part = positive[some], logit[some]
        ones, zeros = part[one], part[~one]
        if not len(ones) or not len(zeros):
            continue
        if ones.min() < zeros.max() - same and zeros.min() < ones.max() - same:
            return ""
    return "p separates the classes, so the slope is infinite"


def slope_fit(positive: Bools, p: Floats) -> LogisticFit:
    """Fit the intercept and the slope."""
    if reason := undefined(positive, p) or separated(positive, p):
        return no_fit(p.size, 2, reason)
    fit = fit_logistic(positive, columns_of(p), np.zeros(p.size))
    if fit.reason in (SEPARATED, COLLINEAR):
        return no_fit(p.size, 2, f"{fit.reason}, up to rounding")
    return fit


@dataclass(frozen=True, eq=False)
class Recalibration:
    """The coefficients of a logistic regression on the logit of probabilities.

    Attributes
    ----------
    intercept, slope : float
        The coefficients; a slope of 1 if it is not estimated. The intercept is NaN if
        there is no fit, for the reasons that :class:`LogisticFit` gives.
    """

    intercept: float
    slope: float


def recalibration(positive: Bools, p: Floats, *, slope: bool) -> Recalibration:
    """Fit the intercept with the slope fixed at 1, or both.

    With many records Newton's steps begin at the probabilities themselves. Where these
    steps do not soon become short the fit is that of :func:`fit_logistic`.
    """
    reason = undefined(positive, p)
    if not reason and len(p) >= _MANY:
        logit = np.log(p / (1 - p))
        reason = _separated(positive, logit) if slope else ""
        found = None if reason else _from_start(positive, p, logit, slope)
        if found is not None:
            return found
    if slope:
        return Recalibration(*map(float, slope_fit(positive, p).beta))
    return Recalibration(float(intercept_fit(positive, p).beta[0]), 1.0)


_MANY = 2**10  # records
_SURE = 1e-20  # expected gain of a step that need not be made
_STEPS = 8  # more than enough from probabilities that are near their best fit


def _from_start(
    positive: Bools, p: Floats, logit: Floats, slope: bool
) -> Recalibration | None:
    """Fit by Newton's method from slope 1; None if its steps do not soon end."""
    middle = float(logit.mean())
    away = logit - middle
    squares = float(away @ away)
    if slope and not squares > RANK**2 * float(logit @ logit) * len(p):
        return None
    a, b, last = middle, 1.0, np.inf
    for step in range(_STEPS):
        gradient, information = _sums_at(positive, p if not step else None, away, a, b)
        if slope:
            scale = np.sqrt([len(p), squares])
            alike = information / scale / scale[:, None]
            if np.linalg.eigvalsh(alike)[0] < FLAT:
                return None
        elif information[0, 0] < FLAT * len(p):
            return None
        k = 2 if slope else 1
        move = np.linalg.solve(information[:k, :k], gradient[:k])
        gain = float(gradient[:k] @ move)
        if not gain <= last / 4:
            return None
        a, b = a + move[0], b + (move[1] if slope else 0.0)
        # the next gain is the third power of this one, over the square of the last
        if gain <= DECREMENT or (step and gain * (gain / last) ** 2 <= _SURE):
            break
        last = gain
    else:
        return None
    return Recalibration(float(a - b * middle), float(b))


def _sums_at(
    positive: Bools, p: Floats | None, away: Floats, a: float, b: float
) -> tuple[Floats, Floats]:
    """Return the gradient of the log-likelihood, and minus its second derivatives.

    They are those by a and b, where a + b t is the linear predictor at a distance t of
    the logit from its mean. Fitted probabilities that are known are not computed.
    """

    def sums(start: int) -> Floats:
        some = slice(start, start + IN_CACHE)
        t = away[some]
        if p is None:
            fitted = b * t
            fitted += a
            fitted = probability_of(fitted)
        else:
            fitted = p[some]
        weight = 1 - fitted
        weight *= fitted
        residual = positive[some] - fitted
        heavy = weight * t
        mixed = heavy.sum()
        return np.array(
            [[residual.sum(), residual @ t], [weight.sum(), mixed], [mixed, heavy @ t]]
        )

    parts = shared(sums, range(0, len(away), IN_CACHE), RECORD * IN_CACHE)
    gradient, *information = np.sum(parts, axis=0)
    return gradient, np.array(information)


def logit_of(p: Floats) -> Floats:
    """Return the logits of probabilities."""
    from scipy.special import logit

    return np.asarray(logit(p))


def probability_of(logit: Floats) -> Floats:
    """Return the probabilities of logits; of many in half the time of scipy's."""
    with np.errstate(over="ignore"):  # a probability of 0
        odds = np.exp(-logit)
    odds += 1
    return np.reciprocal(odds, out=odds)


def ones_of(p: Floats) -> Floats:
    """Return the design matrix of the intercept alone."""
    return np.ones((p.size, 1))


def columns_of(p: Floats) -> Floats:
    """Return the design matrix of the intercept and the logit."""
    return np.stack([np.ones(p.size), logit_of(p)], axis=1)
