"""The logistic function, and its form for several classes."""

from __future__ import annotations

import numpy as np

from statcv.numeric.arrays import Floats


def expit(eta: Floats) -> Floats:
    """Return 1 / (1 + exp(−eta)) without overflow."""
    small = np.exp(-np.abs(eta))
    return np.where(eta >= 0, 1.0, small) / (1.0 + small)


def softmax(eta: Floats, axis: int = 1) -> Floats:
    """Return the class probabilities of linear predictors."""
    raised = np.exp(eta - eta.max(axis=axis, keepdims=True))
    return np.asarray(raised / raised.sum(axis=axis, keepdims=True))
