"""Means over the predictions of each record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mean_by(rows: NDArray[np.intp], values: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return the distinct rows in rising order, and the mean value of each."""
    times = np.bincount(rows)
    distinct = np.flatnonzero(times)
    if len(distinct) == len(rows):  # each once
        means = np.empty((len(times), *values.shape[1:]))
        means[rows] = values
        return distinct, means if len(distinct) == len(times) else means[distinct]
    columns = values.reshape(len(values), -1).T
    # the mean of each class is taken over the predictions of a record
    total = np.stack(
        [np.bincount(rows, column)[distinct] for column in columns], axis=1
    )
    means = total / times[distinct][:, None]
    return distinct, means.reshape(len(distinct), *values.shape[1:])
