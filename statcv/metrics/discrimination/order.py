"""Numbers in rising order, fast when there are many, and which of them are equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.metrics.inputs import Bools, Floats, Ints

_MANY = 2**13  # count from which numbers are sorted faster by their digits
_BITS = 64  # bits of the integers by which numbers are sorted
_EXACT = 52  # bits of the fraction of a double


def in_rising_order(values: Floats) -> tuple[Ints, Floats]:
    """Return the positions of numbers in rising order, and the numbers in that order.

    The positions of equal numbers rise. Many numbers are first sorted by their place
    between the least and the largest, in as many bits as their positions leave of 64,
    which leaves few to be exchanged.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
        NaN comes last.

    Examples
    --------
    >>> order, rising = in_rising_order(np.array([0.3, 0.1, 0.3, 0.2]))
    >>> order.tolist(), rising.tolist()
    ([1, 3, 0, 2], [0.1, 0.2, 0.3, 0.3])
    """
    if len(values) < _MANY or is_rising(values):
        return _by_comparison(values)
    with np.errstate(over="ignore", invalid="ignore"):
        low, span = values.min(), np.ptp(values)
    if not 0 < span < np.inf:  # also true for NaN
        return _by_comparison(values)
    bits = (len(values) - 1).bit_length()
    largest = 2.0 ** min(_BITS - bits, _EXACT) - 1
    place = ((values - low) * (largest / span)).astype(np.uint64)
    place <<= np.uint64(bits)
    place |= np.arange(len(values), dtype=np.uint64)
    place.sort()
    place &= np.uint64(2**bits - 1)
    order: Ints = place.astype(np.intp)
    nearly = values[order]
    if is_rising(nearly):
        return order, nearly
    again, rising = _by_comparison(nearly)
    return np.asarray(order[again]), rising


def _by_comparison(values: Floats) -> tuple[Ints, Floats]:
    order = np.argsort(values, kind="stable")
    return order, values[order]


def is_rising(values: Floats | Ints) -> bool:
    """Return whether no number is less than the one before it."""
    return bool((values[1:] >= values[:-1]).all())


def distinct_values(values: Floats) -> tuple[Floats, Ints]:
    """Return the distinct numbers in rising order, and which of them each one is.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
        NaN counts as one number, the last.

    Examples
    --------
    >>> distinct, place = distinct_values(np.array([0.3, 0.1, 0.3]))
    >>> distinct.tolist(), place.tolist()
    ([0.1, 0.3], [1, 0, 1])
    """
    if len(values) < _MANY or np.isnan(values).any():
        distinct, place = np.unique(values, return_inverse=True)
        return distinct, place
    order, rising = in_rising_order(values)
    new = np.ones(len(rising), dtype=bool)
    np.not_equal(rising[1:], rising[:-1], out=new[1:])
    place = np.empty(len(rising), dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    return rising[new], place


@dataclass(frozen=True, eq=False)
class Ties:
    """The numbers that equal others, of some in rising order.

    Attributes
    ----------
    first, last : numpy.ndarray of int, shape (ties,)
        The positions of the first and the last of equal numbers.
    """

    first: Ints
    last: Ints

    @classmethod
    def of(cls, new: Bools) -> Ties:
        """Find the ties, given whether each number differs from the one before it."""
        later = np.flatnonzero(~new)
        begin = np.flatnonzero(np.diff(later, prepend=-1) > 1)
        return cls(later[begin] - 1, later[np.append(begin[1:], len(later)) - 1])

    def halve(self, through: Floats) -> Floats:
        """Count one half of those that tie, in place, and return how many tie.

        Parameters
        ----------
        through : numpy.ndarray, shape (n,)
            How many of some records are at or before each position.

        Returns
        -------
        numpy.ndarray, shape (ties,)
            How many of them each tie has.

        Examples
        --------
        >>> through = np.array([1.0, 1.0, 2.0, 3.0])
        >>> Ties.of(np.array([True, True, False, True])).halve(through)
        array([1.])
        >>> through
        array([1. , 1.5, 1.5, 3. ])
        """
        before = np.where(self.first, through[self.first - 1], 0.0)
        after = through[self.last]
        sizes = self.last - self.first + 1
        place = np.repeat(self.first - np.cumsum(sizes) + sizes, sizes)
        place += np.arange(len(place))
        through[place] = np.repeat((before + after) / 2, sizes)
        return np.asarray(after - before)


# ---- probabilities of two classes, sorted by value and class ----

_STEPS = 1e12  # steps from 0 to 1 of probabilities that are rounded to 12 decimals


def class_keys(positive: Bools, p: Floats) -> Ints | None:
    """Return integers that rise with rounded probabilities, and then by class.

    They are twice the number of steps of 1e-12, plus 1 for a positive record. To sort
    them is faster than to find the order of the probabilities.

    Parameters
    ----------
    positive : numpy.ndarray of bool, shape (n,)
    p : numpy.ndarray, shape (n,)

    Returns
    -------
    numpy.ndarray of int, shape (n,), or None
        None if there are few numbers, or if some are not between 0 and 1, or not
        multiples of 1e-12.
    """
    if len(p) < _MANY or np.rint(p[0] * _STEPS) / _STEPS != p[0]:
        return None
    steps = p * _STEPS
    np.rint(steps, out=steps)
    if not (steps.min() >= 0 and steps.max() <= _STEPS):  # also true for NaN
        return None
    if not (steps / _STEPS == p).all():
        return None
    keys = steps.astype(np.int64)
    keys *= 2
    keys += positive
    return keys


@dataclass(frozen=True, eq=False)
class ByValue:
    """The records of two classes, counted by value in rising order.

    Attributes
    ----------
    ones, zeros : numpy.ndarray, shape (values,)
        The number of positive and of other records with each value.
    """

    ones: Ints
    zeros: Ints

    @classmethod
    def of(cls, keys: Ints) -> ByValue:
        """Count the records; the keys are those of :func:`class_keys`, and sorted."""
        through = np.cumsum(keys & 1)
        value = keys >> 1
        last = np.flatnonzero(np.append(value[1:] != value[:-1], True))
        ones = np.diff(through[last], prepend=0)
        return cls(ones, np.diff(last + 1, prepend=0) - ones)

    @property
    def area(self) -> float:
        """The area under the ROC curve; NaN if a class has no records."""
        below = np.cumsum(self.zeros)
        pairs = float(self.ones.sum()) * float(below[-1])
        won = self.ones @ (below - self.zeros) + (self.ones @ self.zeros) / 2
        return float(won) / pairs if pairs else float("nan")

    @property
    def average_precision(self) -> float:
        """The average precision; NaN if there are no positive records."""
        ones, zeros = self.ones[::-1], self.zeros[::-1]
        found = np.cumsum(ones)
        if not found[-1]:
            return float("nan")
        precision = found / (found + np.cumsum(zeros))
        return float(ones @ precision) / float(found[-1])
