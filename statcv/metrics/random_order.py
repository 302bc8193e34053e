"""The area under the precision-recall curve where the order is left to chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from statcv.metrics._inputs import binary_scores, one_of
from statcv.metrics.curves import PR_METHODS, PrMethod
from statcv.metrics.ranking import round_significant


def auprc_in_random_order(
    y: ArrayLike,
    score: ArrayLike,
    *,
    method: PrMethod = "average_precision",
    tie_tol: float = 1e-12,
) -> float:
    """Area under the precision-recall curve that is expected of permuted scores.

    Average precision is the share of positives where all scores tie, and where none do
    it is above that, by about (1 - share) log(n) / n.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,)
        Only which of them are equal matters.
    method : {"average_precision", "trapezoid", "interpolated"}
        As in `auprc`. Interpolation is exact where no scores tie or all do, and to
        first order otherwise.
    tie_tol : float, default 1e-12
        See `round_significant`.

    Returns
    -------
    float
        The mean over all orders; NaN when there is no positive record or a score is
        NaN.

    References
    ----------
    Bestgen (2015), Prague Bull. Math. Linguist. 103:131.

    Examples
    --------
    >>> auprc_in_random_order([0, 1], [0.2, 0.8])  # 1 or a half
    0.75
    >>> auprc_in_random_order([0, 1], [0.5, 0.5])
    0.5
    >>> auprc_in_random_order([0, 1], [0.2, 0.8], method="trapezoid")
    0.625
    """
    one_of(method, PR_METHODS, "method")
    positive, values = binary_scores(y, score)
    n, ones = len(positive), int(positive.sum())
    if ones == 0 or np.isnan(values).any():
        return float("nan")
    rounded = round_significant(values, tie_tol)
    tied = np.unique(-rounded, return_counts=True)[1]
    above = np.cumsum(tied)  # those included
    beside = (ones - 1) / max(n - 1, 1)  # share of positives beside one of them
    height = (1 + (above - 1) * beside) / above
    if method != "average_precision":
        start = height if method == "interpolated" else 1.0
        before = np.where(above > tied, beside, start)  # precision of the point before
        height = (height + before) / 2
    return float(np.sum(tied * height) / n)
