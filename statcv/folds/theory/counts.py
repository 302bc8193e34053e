"""Counts: whether they are in range, and how probable it is to draw them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.arguments import is_whole
from statcv.errors import ArgumentError


def whole(name: str, value: Any, low: int, high: float = math.inf) -> int:
    """Return an integer within a range, or refuse it."""
    if not is_whole(value):
        raise ArgumentError(f"{name} must be an integer, not {value!r}.")
    return int(number(name, value, low, high))


def number(name: str, value: Any, low: float, high: float) -> float:
    """Return a number within a range, or refuse it."""
    real = isinstance(value, (int, float, np.integer, np.floating))
    if not (real and low <= value <= high and value < math.inf):
        raise ArgumentError(f"{name}={value!r} is out of range: {low} to {high}.")
    return float(value)


def positive_counts(class_counts: ArrayLike) -> NDArray[np.intp]:
    """Return counts of classes, none of them empty, or refuse them."""
    counts = np.asarray(class_counts)
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or min(counts, default=0) < 1:
        raise ArgumentError(f"class_counts={class_counts!r} are not counts from 1 on.")
    return counts.astype(np.intp)


def likely(size: int, share: float) -> NDArray[np.intp]:
    """Return the counts in a fold beyond which less than 1e-21 lies (Hoeffding)."""
    ends = size * share + np.array([-5, 5]) * math.sqrt(size)
    return np.arange(max(0, math.floor(ends[0])), min(size, math.ceil(ends[1])) + 1)


def choosing(*choices: tuple[int, NDArray[np.intp]]) -> Any:
    """Return probabilities proportional to the product of C(n, k); 0 if impossible."""
    from scipy.special import gammaln

    logs = sum(-gammaln(k + 1) - gammaln(n - k + 1) for n, k in choices)
    weights = np.exp(logs - np.max(logs))
    return weights / weights.sum()
