"""Codes of observed classes, and the classes that predictions choose."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.errors import MetricError
from statcv.metrics._inputs import (
    Floats,
    Ints,
    binary_outcome,
    class_codes,
    real_array,
    same_length,
)
from statcv.metrics.ranking import round_significant


def outcome_and_prediction(y: ArrayLike, p: ArrayLike) -> tuple[Ints, NDArray[Any]]:
    """Check and return class codes, and predictions of shape (n,) or (n, K)."""
    p = real_array(p, "p")
    if p.ndim not in (1, 2) or (p.ndim == 2 and p.shape[1] < 2):
        raise MetricError(
            f"p has shape {p.shape}; it must be (n,), or (n, K) with K of 2 or more."
        )
    several = p.ndim == 2
    codes = class_codes(y, p.shape[1]) if several else binary_outcome(y).astype(np.intp)
    same_length(codes.size, p.shape[0], "p")
    return codes, p


def columns(p: NDArray[Any]) -> NDArray[Any]:
    """Return predictions with a column for each number of a record."""
    return p.reshape(len(p), -1) if p.size else np.empty((len(p), 1))


def predicted_class(p: NDArray[Any], threshold: ArrayLike) -> Floats:
    """Return the code of each record's predicted class; NaN where there is none.

    Of two classes it is 1 where `p` is above the threshold, both rounded to 12
    significant digits; of K it is the first of the largest.
    """
    scores = round_significant(p)
    missing = np.isnan(columns(scores)).any(axis=1)
    if scores.ndim == 1:
        cutoff = _cutoff(threshold, scores.size)
        chosen = (scores > cutoff).astype(np.float64)
        missing |= np.isnan(cutoff)
    else:
        if np.ndim(threshold) or threshold != 0.5:
            given = "an array" if np.ndim(threshold) else repr(threshold)
            raise MetricError(
                f"threshold={given} means nothing for {scores.shape[1]} columns of "
                "probabilities, whose largest is the prediction; leave it out."
            )
        chosen = scores.argmax(axis=1).astype(np.float64)
    chosen[missing] = np.nan
    return chosen


def _cutoff(threshold: ArrayLike, n: int) -> Floats:
    """Return one threshold, or one a record, rounded as the scores are."""
    cutoff = round_significant(real_array(threshold, "threshold"))
    if cutoff.ndim > 1:
        raise MetricError(
            f"threshold has shape {cutoff.shape}; it must be one number, or (n,)."
        )
    if cutoff.ndim:
        same_length(n, cutoff.size, "threshold")
    return cutoff
