"""What average precision is where the order of the records is left to chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from statcv.metrics._inputs import binary_scores
from statcv.metrics.ranking import round_significant


def auprc_in_random_order(
    y: ArrayLike, score: ArrayLike, *, tie_tol: float = 1e-12
) -> float:
    """Average precision that is expected where the scores are dealt at random.

    It is the share of positives where all scores tie, and where none do it is above
    that, by about (1 - share) log(n) / n.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,)
        Only which of them are equal matters.
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
    """
    positive, values = binary_scores(y, score)
    n, ones = len(positive), int(positive.sum())
    if ones == 0 or np.isnan(values).any():
        return float("nan")
    rounded = round_significant(values, tie_tol)
    tied = np.unique(-rounded, return_counts=True)[1]
    above = np.cumsum(tied)  # those included
    others = (above - 1) * (ones - 1) / max(n - 1, 1)  # positives beside one of them
    return float(np.sum(tied * (1 + others) / above) / n)
