"""Metrics of weighted records, for many sets of weights and predictions at once.

Every function takes the outcomes ``y``, shape (n,), predictions ``x``, shape (m, n) or
(m, n, K), and weights, shape (m, n), of the same records, and returns m values. Either
predictions or weights may be the same in all sets, with a first axis of length 1. A
metric that depends on baselines or a threshold takes them by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from statcv.metrics.classification.confusion import tables_of
from statcv.numeric.arrays import Array, Bools, Floats, Numbers

Weighted = Callable[..., Floats]

MAX_EXACT = 2**11  # records whose predictions are sorted; more are counted in bins
BINS = 2**13  # bins of equal width between the least and the largest prediction
DIGITS = 2.0**40  # predictions tie that agree to this share of the largest one
MAX_PAIRS = 2**13  # pairs of records with different numbers, a sample if there are more
SETTLED = 1e-15  # change in the last of the steps, relative to the slope
NEWTON_STEPS = 12  # steps of Newton's method by which a calibration is fitted
# largest change of a calibration's intercept, or of its slope times the sd of log-odds
MAX_STEP = 3.0
ALIKE = 1e-12  # relative difference of predictions that are equal up to rounding
SURE = float(np.finfo(float).eps)  # distance of a probability from 0 and 1


def mean(values: Floats, weights: Floats) -> Floats:
    """Return weighted means along the last axis."""
    with np.errstate(invalid="ignore"):
        return np.asarray((values * weights).sum(axis=-1) / weights.sum(axis=-1))


# ---- means over records, and functions of them ----


@dataclass(frozen=True)
class WeightedMean:
    """The weighted mean of a function of single records, or its root.

    Attributes
    ----------
    casewise : callable
        The function of outcomes and predictions, and of thresholds or whatever else it
        takes of each prediction.
    root : bool
        Whether the metric is the square root of the mean.
    """

    casewise: Callable[..., Floats]
    root: bool = False

    def __call__(
        self, y: Array, x: Floats, weights: Floats, **each: Floats | float
    ) -> Floats:
        """Return the metric, with all sets of records in one call of the function."""
        sets, n = x.shape[:2]
        named = {name: _tiled(given, sets, n) for name, given in each.items()}
        flat = x.reshape(sets * n, *x.shape[2:])
        values = self.casewise(np.tile(y, sets), flat, **named)
        found = mean(values.reshape(sets, n), weights)
        return np.sqrt(found) if self.root else found


def _tiled(given: Floats | float, sets: int, n: int) -> Floats:
    each = np.broadcast_to(given, (n, *np.shape(given)[1:]))
    return np.concatenate([each] * sets)


def explained(
    y: Array, x: Floats, weights: Floats, baseline: Floats | None = None
) -> Floats:
    """Return the share of squared errors that is explained."""
    centre = mean(y, weights)[:, None] if baseline is None else baseline
    with np.errstate(divide="ignore", invalid="ignore"):  # nothing to explain
        return 1 - mean((x - y) ** 2, weights) / mean((y - centre) ** 2, weights)


def discrimination_slope(y: Array, x: Floats, weights: Floats) -> Floats:
    """Return the difference between the mean probabilities of the classes."""
    return mean(x, weights * (y == 1)) - mean(x, weights * (y != 1))


def observed_expected(y: Array, x: Floats, weights: Floats) -> Floats:
    """Return the ratio of observed to expected events."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((weights * y).sum(axis=1) / (weights * x).sum(axis=1))


@dataclass(frozen=True)
class WeightedRecalibration:
    """The calibration slope, or the intercept with a slope of 1.

    Attributes
    ----------
    slope : bool
    """

    slope: bool

    def __call__(self, y: Array, x: Floats, weights: Floats) -> Floats:
        """Return the coefficient, by Newton steps of limited length."""
        from scipy.special import logit

        eta = logit(np.clip(x, SURE, 1 - SURE))
        if len(y) > MAX_EXACT:
            eta, y, weights = _in_bins(eta, y, weights)
        return self.coefficients(y, eta, weights)[int(self.slope)]

    def coefficients(
        self, y: Array, eta: Floats, weights: Floats
    ) -> tuple[Floats, Floats]:
        """Return the intercepts and the slopes of linear predictors."""
        from scipy.special import expit, logit

        start = logit(np.clip(mean(y, weights), SURE, 1 - SURE))[:, None]
        a, b = (start, 0 * start) if self.slope else (0 * start, 1 + 0 * start)
        a, b, _ = regressed(
            *(y, eta, weights, a, b, expit), lambda p: p * (1 - p), slope=self.slope
        )
        return a[:, 0], b[:, 0]


def regressed(
    y: Array,
    eta: Floats,
    weights: Floats,
    a: Floats,
    b: Floats,
    mean_of: Callable[[Floats], Floats],
    variance: Callable[[Floats], Floats],
    *,
    slope: bool = True,
    rounds: int = NEWTON_STEPS,
) -> tuple[Floats, Floats, Floats]:
    """Regress on one linear predictor with a canonical link, by limited Newton steps.

    Parameters
    ----------
    y, eta, weights : numpy.ndarray
        Outcomes, shape (n,), and linear predictors and weights, (m, n).
    a, b : numpy.ndarray, shape (m, 1)
        Intercepts and slopes at the start.
    mean_of, variance : callable
        Mean by the linear predictor, and variance by the mean.
    slope : bool, default True
        Whether the slope is fitted too.
    rounds : int
        Largest number of steps.

    Returns
    -------
    tuple of numpy.ndarray, each of shape (m, 1)
        Intercepts, slopes, and the last change of the slopes times the spread.
    """
    spread = np.maximum(eta.std(axis=1, keepdims=True), SURE)
    for _ in range(rounds):
        fitted = mean_of(a + b * eta)
        pull, curved = weights * (y - fitted), weights * variance(fitted)
        total = np.maximum(curved.sum(axis=1, keepdims=True), SURE)
        up = _limited(pull.sum(axis=1, keepdims=True) / total)
        a, turn = a + up, 0 * up
        if slope:
            centre = (curved * eta).sum(axis=1, keepdims=True) / total
            away = eta - centre
            square = (curved * away**2).sum(axis=1, keepdims=True)
            turn = (pull * away).sum(axis=1, keepdims=True)
            turn = _limited(turn / np.maximum(square, SURE**2) * spread)
            a, b = a - turn / spread * centre, b + turn / spread
        moved = np.maximum(np.abs(up), np.abs(turn))
        if not (moved > SETTLED * (1 + np.abs(b))).any():
            break
    return a, b, turn


def by_record(eta: Floats, residual: Floats, curved: Floats, slope: bool) -> Floats:
    """Return the derivatives of a slope, or an intercept, by the weight of each record.

    Parameters
    ----------
    eta, residual, curved : numpy.ndarray, shape (n,)
        What the slope multiplies, and the score and the information of each record.
    slope : bool
    """
    if not slope:
        return np.asarray(residual / curved.sum())
    away = eta - (curved @ eta) / curved.sum()  # orthogonal to the intercept
    return np.asarray(away * residual / ((curved * away) @ away))


def _in_bins(x: Floats, y: Array, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean prediction and outcome, and the weight, in each bin of x."""
    sets = max(len(x), len(weights))
    place = np.arange(sets)[:, None] * BINS + _bins(x)
    weights = np.broadcast_to(weights, place.shape)

    def sums(values: Floats) -> Floats:
        found = np.bincount(place.ravel(), values.ravel(), sets * BINS)
        return np.asarray(found, dtype=float).reshape(sets, BINS)

    total = sums(weights)
    share = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    return sums(weights * x) * share, sums(weights * y) * share, total


def _bins(x: Floats) -> Numbers:
    """Return the bin of each prediction, from 0."""
    least = x.min(axis=1, keepdims=True)
    size = float(np.abs(x).max(initial=0.0)) or 1.0
    reach = np.maximum(x.max(axis=1, keepdims=True) - least, size / DIGITS)
    return np.asarray((x - least) * ((BINS - 1) / reach), dtype=np.intp)


def _limited(step: Floats) -> Floats:
    return np.clip(step, -MAX_STEP, MAX_STEP)


# ---- predicted classes ----


@dataclass(frozen=True)
class WeightedTable:
    """A metric of the table of observed and predicted classes.

    Attributes
    ----------
    of_table : callable
        The metric as a function of a table of shares, shape (K, K).
    added : float
        The records, of weight 1, that are added to the table and spread evenly.
    """

    of_table: Callable[[Floats], float]
    added: float = 0.0

    def __call__(
        self,
        y: Array,
        x: Floats,
        weights: Floats,
        threshold: Floats | float | None = None,
    ) -> Floats:
        """Return the metric."""
        sets, classes = max(len(x), len(weights)), 2 if x.ndim == 2 else x.shape[2]
        if x.ndim == 2:
            cut = 0.5 if threshold is None else threshold
            chosen = (x - cut >= -ALIKE * np.abs(cut)).astype(np.intp)
        else:
            x = x if threshold is None else x - threshold
            chosen = (x >= (1 - ALIKE) * x.max(axis=2, keepdims=True)).argmax(axis=2)
        observed = y.astype(np.intp)
        each = np.arange(sets)[:, None]
        tables = tables_of(each, observed, chosen, (sets, classes), weights)
        tables += self.added / classes**2
        return np.array([self.of_table(one) for one in tables])


# ---- the order of the predictions ----


def auroc(y: Array, x: Floats, weights: Floats) -> Floats:
    """Return the area under the ROC curve: the weighted share of pairs ranked right."""
    high, low = _by_value(y == 1, x, weights)
    below = np.cumsum(low, axis=1) - low / 2
    with np.errstate(invalid="ignore"):
        pairs = high.sum(axis=1) * low.sum(axis=1)
        return np.asarray((high * below).sum(axis=1) / pairs)


def average_precision(y: Array, x: Floats, weights: Floats) -> Floats:
    """Return the average precision, which other areas under the curve vary like."""
    high, low = (np.flip(one, axis=1) for one in _by_value(y == 1, x, weights))
    found, false = np.cumsum(high, axis=1), np.cumsum(low, axis=1)
    precision = np.zeros_like(found)
    np.divide(found, found + false, out=precision, where=high > 0)
    with np.errstate(invalid="ignore"):
        return np.asarray((high * precision).sum(axis=1) / high.sum(axis=1))


def _by_value(positive: Bools, x: Floats, weights: Floats) -> list[Floats]:
    """Return the weights of both classes by prediction, in rising order, (m, values).

    Many predictions are counted in bins, which is ten times as fast as sorting them.
    """
    sets, n = max(len(x), len(weights)), x.shape[1]
    if n > MAX_EXACT:
        place, values, ones = _bins(x), BINS, positive
    else:
        size = float(np.abs(x).max(initial=0.0)) or 1.0
        rounded = np.rint(x * (DIGITS / size))
        order = np.argsort(rounded, axis=1)
        rising = np.take_along_axis(rounded, order, axis=1)
        place, values = np.zeros(x.shape, dtype=np.intp), n
        np.cumsum(rising[:, 1:] != rising[:, :-1], axis=1, out=place[:, 1:])
        ones = positive[order]
        weights = np.take_along_axis(np.broadcast_to(weights, (sets, n)), order, axis=1)
    cell = (place + values * np.arange(sets)[:, None]).ravel()
    sides = (np.broadcast_to(weights * some, (sets, n)) for some in (ones, ~ones))
    sums = (np.bincount(cell, own.ravel(), sets * values) for own in sides)
    return [np.asarray(one, dtype=float).reshape(sets, values) for one in sums]


def auroc_hand_till(y: Array, x: Floats, weights: Floats) -> Floats:
    """Return Hand and Till's mean area over every two classes."""
    areas = []
    for a, b in permutations(range(x.shape[2]), 2):
        own = np.flatnonzero((y == a) | (y == b))
        areas.append(auroc(y[own] == a, x[:, own, a], weights[:, own]))
    return np.asarray(np.mean(areas, axis=0))


def auroc_ovr(y: Array, x: Floats, weights: Floats) -> Floats:
    """Return the mean area of each class against the rest."""
    classes = range(x.shape[2])
    return np.asarray(np.mean([auroc(y == a, x[..., a], weights) for a in classes], 0))


def concordance(y: Array, x: Floats, weights: Floats) -> Floats:
    """Return the share of pairs with different numbers that are ranked alike."""
    first, second = _pairs(len(y))
    higher = y[first] > y[second]
    differ = y[first] != y[second]
    one = np.where(higher, first, second)[differ]
    other = np.where(higher, second, first)[differ]
    return mean(won(x[:, one], x[:, other]), weights[:, one] * weights[:, other])


def won(one: Floats, other: Floats) -> Floats:
    """Return whether the first of each two predictions is higher; ½ for a tie."""
    size = float(np.abs(one).max(initial=0.0)) or 1.0
    return np.asarray((np.sign(np.rint((one - other) * (DIGITS / size))) + 1) / 2)


def _pairs(n: int) -> tuple[Numbers, Numbers]:
    """Return all pairs of n records, or the same sample of them every time."""
    if n * (n - 1) // 2 <= MAX_PAIRS:
        first, second = np.triu_indices(n, 1)
        return first, second
    rng = np.random.default_rng(0)
    first = rng.integers(n, size=MAX_PAIRS)
    second = (first + rng.integers(1, n, size=MAX_PAIRS)) % n
    return first, second


# ---- the first-order change of a metric with the weight of each record ----


@dataclass(frozen=True, eq=False)
class Placements:
    """How each record is placed among those of the other of two classes.

    Attributes
    ----------
    share : numpy.ndarray, shape (n,)
        The share of the other class that a record is on the right side of, where a tie
        counts one half.
    area : float
        The area under the ROC curve.
    tied : float
        The share of the pairs of two classes that tie.
    """

    share: Floats
    area: float
    tied: float


@dataclass(frozen=True, eq=False)
class Derivative:
    """The derivative of a metric by the weight of each record.

    Attributes
    ----------
    weight : numpy.ndarray, shape (n,)
        The derivatives, which sum to 0.
    placed : Placements or None
        The placements, for an area under a ROC curve.
    value : float or None
        The metric itself, if it is known by the way.
    unseen : float
        The variance due to records that were not seen, but are added (Agresti & Min
        2005), if the value is one that counts them.
    """

    weight: Floats
    placed: Placements | None = None
    value: float | None = None
    unseen: float = 0.0


Derive = Callable[..., Derivative]  # arguments: outcomes and predictions
