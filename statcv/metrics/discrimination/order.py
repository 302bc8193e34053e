"""Numbers in rising order, fast when there are many, and which of them are equal."""

from __future__ import annotations

import numpy as np

from statcv.metrics.inputs import Floats, Ints

_MANY = 2**13  # numbers that are sorted faster by their digits
_HALF = np.uint32(16)  # bits
_LARGEST = 2.0**32 - 1


def rising_order(values: Floats) -> Ints:
    """Return the positions of numbers in rising order; of equal ones, in turn.

    Many numbers are first sorted by 32 bits of their place between the least and the
    largest, 16 at a time, which leaves few of them to be exchanged.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
        NaN comes last.

    Examples
    --------
    >>> rising_order(np.array([0.3, 0.1, 0.3, 0.2])).tolist()
    [1, 3, 0, 2]
    """
    if len(values) < _MANY or is_rising(values):
        return np.argsort(values, kind="stable")
    with np.errstate(over="ignore", invalid="ignore"):
        low, span = values.min(), np.ptp(values)
    if not 0 < span < np.inf:  # or NaN
        return np.argsort(values, kind="stable")
    place = ((values - low) * (_LARGEST / span)).astype(np.uint32)
    order = np.argsort(place.astype(np.uint16), kind="stable")
    upper = (place >> _HALF).astype(np.uint16)
    order = order[np.argsort(upper[order], kind="stable")]
    return np.asarray(order[np.argsort(values[order], kind="stable")])


def is_rising(values: Floats) -> bool:
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
    order = rising_order(values)
    rising = values[order]
    new = np.ones(len(rising), dtype=bool)
    np.not_equal(rising[1:], rising[:-1], out=new[1:])
    place = np.empty(len(rising), dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    return rising[new], place
