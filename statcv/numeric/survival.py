"""Right-censored times in one array: of an event if positive, of censoring if negative.

One number per record lets such outcomes be selected, permuted and stored as any other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def signed_times(time: NDArray[Any], event: NDArray[Any]) -> Floats:
    """Return times with the sign of their status: negative if censored.

    Parameters
    ----------
    time : numpy.ndarray, shape (n,)
        Times above 0.
    event : numpy.ndarray, shape (n,)
        Whether the event was observed at that time; else the record was censored.

    Examples
    --------
    >>> signed_times(np.array([5.0, 8.0]), np.array([True, False]))
    array([ 5., -8.])
    """
    return np.where(np.asarray(event, dtype=bool), time, -np.asarray(time, dtype=float))


def times_of(y: NDArray[Any]) -> Floats:
    """Return the times of an event or of censoring."""
    return np.abs(y)


def events_of(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether the event was observed."""
    return np.asarray(y > 0)
