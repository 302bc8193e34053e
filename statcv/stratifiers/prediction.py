"""What folds of quantile bins cost, told before any model is fitted on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from statcv.metrics import METRICS

# Least squares over the thousand pairs of data set and covariate in Figure 4 of
# `statcv.studies.bey2020`, of 12 000 records each.
INTERCEPT, OF_CLAMP, OF_PERMUTATION = 0.40, 1.01, 0.058
MEASURED_IN = METRICS["accuracy"]


def predicted_drop(clamp: Any, permutation: Any) -> Any:
    """Return by how many points accuracy drops where each fold is one quantile bin.

    Clamping tells what a model loses on values that it has not seen; permutation, how
    much of what it knows hangs on the covariate, and is learnt worse without a part of
    its range.

    Parameters
    ----------
    clamp, permutation : float or array
        Losses of held-out accuracy in points, where values are moved out of their own
        bin, and where they are permuted.

    Returns
    -------
    float or array
        At least 0; NaN where either is.

    Examples
    --------
    >>> round(float(predicted_drop(4.0, 10.0)), 2)
    5.02
    >>> float(predicted_drop(-2.0, -9.0))
    0.0
    """
    drop = INTERCEPT + OF_CLAMP * np.maximum(clamp, 0) + OF_PERMUTATION * permutation
    return np.maximum(drop, 0.0)
