"""Weights that make training sets alike without losing a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from statcv.errors import SchemeError
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.draw_evenly import contains, keys_of
from statcv.folds.rebalance.subsample import least_counts
from statcv.numeric.arrays import Array, Codes, Floats, Ints, Numbers
from statcv.words import plural

# order of the power series, whose remainder is below e / 21! where |theta z| <= 1
ORDER = 20
STEPS = 12  # most steps of Newton's method on the power series
CLOSE = 1e-14  # distance of a tilted mean from its target, in sds, that is close enough


@dataclass(frozen=True, eq=False)
class ClassWeights:
    """Weights by class: each class has the same total weight in every training set.

    Attributes
    ----------
    codes : numpy.ndarray of int, shape (n,)
        The class of each record.
    table : numpy.ndarray of float64, shape (splits, classes)
        The weight of a record of each class in each split.
    """

    codes: Codes
    table: Floats

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """What the weights depend on, for the plan's fingerprint."""
        return self.codes.astype(np.float64), self.table

    def of(self, split: int, rows: Codes) -> Floats:
        """Return the weights of training records of a split."""
        return np.asarray(self.table[split, self.codes[rows]])

    def means(self, values: Array, training_sums: Callable[[Array], Floats]) -> Floats:
        """Return the weighted mean of values over each training set, from sums."""
        total = np.zeros((2, len(self.table)))
        for code, weights in enumerate(self.table.T):
            own = self.codes == code
            total += weights * [training_sums(values * own), training_sums(own)]
        return np.asarray(total[0] / total[1])

    def chosen(self, splits: Codes) -> ClassWeights:
        """Return the weights of some splits."""
        return replace(self, table=self.table[splits])


def class_weights(
    codes: Codes, counts: Ints, levels: Sequence[object] = ()
) -> ClassWeights:
    """Weight each class up to its largest count in any training set.

    Parameters
    ----------
    codes : numpy.ndarray of int, shape (n,)
        Class of each record, from 0.
    counts : numpy.ndarray of int, shape (splits, classes)
        Records of each class in every training set.
    levels : sequence, optional
        Names of the classes.

    Raises
    ------
    SchemeError
        If a training set has no record of a class.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[1, 2], [1, 2], [2, 1], [2, 1]])
    >>> weights = class_weights(np.array([0, 0, 1, 1]), counts)
    >>> weights.of(0, np.array([1, 2, 3]))
    array([2., 1., 1.])
    """
    least_counts(counts, codes, levels)
    return ClassWeights(codes, counts.max(axis=0) / np.maximum(counts, 1))


@dataclass(frozen=True, eq=False)
class Tilting:
    """Exponential weights that give every training set the mean of all records.

    The weight of a record is exp(log_scale + theta * deviation), in each split; the
    weights of a training set sum to the number of its records.

    Attributes
    ----------
    deviations : numpy.ndarray of float64, shape (n,)
        The outcome minus its mean over all records.
    theta, log_scale : numpy.ndarray of float64, shape (splits,)
    """

    deviations: Floats
    theta: Floats
    log_scale: Floats

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """What the weights depend on, for the plan's fingerprint."""
        return self.deviations, self.theta

    def of(self, split: int, rows: Codes) -> Floats:
        """Return the weights of training records of a split."""
        tilt = self.theta[split] * self.deviations[rows]
        return np.asarray(np.exp(self.log_scale[split] + tilt))

    def chosen(self, splits: Codes) -> Tilting:
        """Return the weights of some splits."""
        theta, log_scale = self.theta[splits], self.log_scale[splits]
        return replace(self, theta=theta, log_scale=log_scale)


Weighting = ClassWeights | Tilting


def tilting(y: NDArray[np.floating], tests: Ragged, out: Ragged) -> Tilting:
    """Tilt each training set so that its weighted mean is that of all records.

    Parameters
    ----------
    y : numpy.ndarray of float, shape (n,)
        A continuous outcome.
    tests, out : Ragged
        The records that each split holds out, and the others that it does not
        train on.

    Raises
    ------
    SchemeError
        If the mean of all records is not within the range of a training set.

    Notes
    -----
    With deviations z from the mean of all records, theta is the root of
    sum z exp(theta z) over the training set. This sum is the one over all records, a
    power series in theta whose coefficients are their moments, minus the terms of the
    few that are absent. Where theta z reaches beyond 1 the sum is taken as it stands.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1.0, 2.0, 3.0, 4.0])
    >>> tilt = tilting(y, Ragged.of([[0], [1], [2], [3]]), Ragged.empty(4))
    >>> weights = tilt.of(0, np.array([1, 2, 3]))
    >>> weights.sum().round(9), (weights @ y[1:] / weights.sum()).round(9)
    (np.float64(3.0), np.float64(2.5))
    """
    z = np.asarray(y, dtype=np.float64) - np.mean(y)
    z -= z.mean()
    if np.ptp(y) == 0:
        z[:] = 0
    splits = len(tests)
    _check_ranges(z, tests, out)
    largest = float(np.abs(z).max()) or 1.0
    unit = z / largest
    owner = np.concatenate([tests.owners, out.owners])
    absent = unit[np.concatenate([tests.values, out.values])]
    theta, total = _by_series(unit, owner, absent, splits, CLOSE * float(unit.std()))
    log_total = np.log(total)
    for split in np.flatnonzero(np.isnan(theta)).tolist():
        trained = np.delete(unit, np.append(tests[split], out[split]))
        theta[split], log_total[split] = _directly(trained)
    count = len(z) - tests.sizes - out.sizes
    return Tilting(z, theta / largest, np.log(count) - log_total)


def _check_ranges(z: Floats, tests: Ragged, out: Ragged) -> None:
    """Refuse a training set that lies wholly on one side of the mean."""
    below, above = (
        np.count_nonzero(side) - (tests.sums(side) + out.sums(side)).astype(np.int64)
        for side in (z < 0, z > 0)
    )
    count = len(z) - tests.sizes - out.sizes
    sided = np.flatnonzero(((below == 0) != (above == 0)) | (count == 0))
    if len(sided):
        raise SchemeError(
            "the mean of the outcome is outside the range of "
            f"{plural(len(sided), 'training set')} (the first is that of split "
            f"{sided[0] + 1}), so that no weights restore it; hold out fewer records "
            "together."
        )


def _by_series(
    unit: Floats, owner: Numbers, absent: Floats, splits: int, close: float
) -> tuple[Floats, Floats]:
    """Return theta and the sum of exp(theta u) of each split; NaN and 1 if too far."""
    moments = np.empty(ORDER + 3)
    power = np.ones_like(unit)
    for order in range(ORDER + 3):
        moments[order] = power.sum()
        power *= unit

    def summed(theta: Floats, tilted: Floats, order: int) -> Floats:
        """Sum u ** order * exp(theta u) over each training set."""
        total = np.zeros(splits)
        for j in range(ORDER, -1, -1):  # Horner's rule, with 1 / j! built up inside
            total = moments[order + j] + total * theta / (j + 1)
        absentees = np.bincount(owner, tilted * absent**order, splits)
        return np.asarray(total - absentees, dtype=np.float64)

    theta = np.zeros(splits)
    for _ in range(STEPS):
        tilted = np.exp(theta[owner] * absent)
        total, slope = summed(theta, tilted, 0), summed(theta, tilted, 1)
        off = np.abs(slope) > close * total
        if not off.any():
            break
        curve = summed(theta, tilted, 2)
        theta -= np.divide(slope, curve, out=np.zeros(splits), where=off & (curve > 0))
        theta = np.clip(theta, -1, 1)
    theta[off], total[off] = np.nan, 1
    return theta, total


def _directly(unit: Floats) -> tuple[float, float]:
    """Return theta and the logarithm of the sum of exp(theta u) of one training set."""
    from scipy.optimize import brentq
    from scipy.special import logsumexp, softmax

    def mean(theta: float) -> float:
        return float(softmax(theta * unit) @ unit)

    # the tilted mean rises with theta, so that its root lies on the other side of 0
    far = -float(np.sign(mean(0.0)))
    while mean(far) * far < 0:
        far *= 2
    theta = float(brentq(mean, 0.0, far, xtol=1e-15)) if far else 0.0
    return theta, float(logsumexp(theta * unit))


# ---- a record dropped, for a continuous outcome ----


def nearest_mean(y: NDArray[np.floating], tests: Ragged, out: Ragged) -> Ragged:
    """Choose the record whose removal brings each training mean closest to the overall.

    Parameters
    ----------
    y : numpy.ndarray of float, shape (n,)
        A continuous outcome.
    tests, out : Ragged
        As in :func:`statcv.folds.rebalance.subsample.UnequalSets`.

    Returns
    -------
    Ragged
        One record per split, the first of equally good ones.

    Raises
    ------
    SchemeError
        If a training set has fewer than two records.

    Notes
    -----
    With deviations z from the mean of all n records, a training set without z_j has
    the mean (S - z_j) / (m - 1), where S sums its m deviations: the record to drop is
    the one whose deviation is nearest to S.

    Examples
    --------
    >>> import numpy as np
    >>> tests = Ragged.of([[0], [1], [2]])
    >>> nearest_mean(np.array([1.0, 3.0, 2.0]), tests, Ragged.empty(3)).values
    array([1, 0, 0], dtype=int32)
    """
    n, splits = len(y), len(tests)
    if (tests.sizes + out.sizes > n - 2).any():
        raise SchemeError(
            "a training set has fewer than two records, so that none can be dropped "
            "to restore the mean; hold out fewer at a time."
        )
    z = y - y.mean()
    z -= z.mean()
    target = -(tests.sums(z) + out.sums(z))
    order = np.argsort(z, kind="stable")
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    value = z[order]
    parts = (keys_of(one.owners, rank[one.values], n + 1) for one in (tests, out))
    absent = np.sort(np.concatenate(list(parts)))
    at = np.searchsorted(value, target)
    after = _first_trained(absent, n, at, 1)
    before = _first_trained(absent, n, at - 1, -1)
    # the smallest row is taken if several values below the target are equal
    run = np.searchsorted(value, value[np.maximum(before, 0)])
    before = np.where(before >= 0, _first_trained(absent, n, run, 1), before)
    far = np.inf
    below = np.where(before >= 0, target - value[np.maximum(before, 0)], far)
    above = np.where(after < n, value[np.minimum(after, n - 1)] - target, far)
    rows = order[np.stack([np.maximum(before, 0), np.minimum(after, n - 1)])]
    tie = np.isclose(below, above, rtol=0, atol=1e-12 * np.abs(z).max(initial=0))
    chosen = np.where(tie, rows.min(axis=0), np.where(below < above, *rows))
    return Ragged.split(chosen, np.ones(splits, dtype=np.int64))


def _first_trained(absent: Ints, n: int, ranks: Ints, step: int) -> Ints:
    """Return for each split the first rank trained on, from a given one up or down.

    The ranks that are absent from training are sorted numbers split * (n + 1) + rank.
    """
    found, split = ranks.copy(), np.arange(len(ranks)) * (n + 1)
    open_ = np.arange(len(ranks))
    while len(open_):
        inside = found[open_] >= 0
        open_ = open_[inside & contains(absent, (split + found)[open_])]
        found[open_] += step
    return found
