"""Areas under ROC curves for several classes.

`y` holds the codes 0 … K-1, and `p`, of shape (n, K), has a column of scores for each
class. Only the order of the records in each column matters. Ties count one half, after
scores are rounded to 12 significant digits, as in `auroc`.
"""

from __future__ import annotations

from itertools import permutations
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import MetricError
from statcv.metrics.discrimination.ranking import auroc
from statcv.metrics.inputs import (
    Floats,
    Ints,
    class_codes,
    one_of,
    real_array,
    same_length,
)


@overload
def auroc_ovr(
    y: ArrayLike,
    p: ArrayLike,
    *,
    average: Literal["macro", "weighted"] = "macro",
    tie_tol: float = 1e-12,
) -> float: ...
@overload
def auroc_ovr(
    y: ArrayLike, p: ArrayLike, *, average: None, tie_tol: float = 1e-12
) -> Floats: ...
def auroc_ovr(
    y: ArrayLike,
    p: ArrayLike,
    *,
    average: Literal["macro", "weighted"] | None = "macro",
    tie_tol: float = 1e-12,
) -> float | Floats:
    """Area under the ROC curve of each class against the rest.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, the codes 0 … K-1.
    p : array_like of shape (n, K)
        Probability or score of each class, one column per class.
    average : {"macro", "weighted"} or None
        The mean of the areas; their mean weighted by the number of records of each
        class; or one area per class.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    float or ndarray of shape (K,)
        The mean area, or the areas. The area is NaN for a class that has no records or
        all of them, and for a column that contains NaN; so is the mean.

    Raises
    ------
    MetricError
        If the shapes or codes are not valid, or `average` is unknown.

    Notes
    -----
    The areas depend on the number of records in each of the other classes;
    `auroc_hand_till` does not.

    References
    ----------
    Provost & Domingos (2003), Machine Learning 52:199 (weighted).

    Examples
    --------
    >>> y = [0, 1, 2, 2]
    >>> p = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.1, 0.2, 0.7]]
    >>> auroc_ovr(y, p, average=None).round(3).tolist()
    [1.0, 0.667, 0.875]
    >>> round(auroc_ovr(y, p), 4), round(auroc_ovr(y, p, average="weighted"), 4)
    (0.8472, 0.8542)
    """
    if average is not None:
        one_of(average, ("macro", "weighted"), "average")
    codes, scores = _codes_and_scores(y, p)
    classes = range(scores.shape[1])
    size = np.bincount(codes, minlength=len(classes))
    areas: Floats = np.array(
        [auroc(codes == k, scores[:, k], tie_tol=tie_tol) for k in classes]
    )
    if average is None:
        return areas
    if average == "macro" or not size.any():
        return float(areas.mean())
    return float(size @ areas / size.sum())


def auroc_hand_till(y: ArrayLike, p: ArrayLike, *, tie_tol: float = 1e-12) -> float:
    """Hand and Till's M: the mean area under the ROC curve over all pairs of classes.

    For classes i and j only their own records are used: the probability that a record
    of class i has a higher score for i than a record of class j, averaged with the same
    probability for j. M is the mean over the pairs of classes, and does not depend on
    class frequencies. For two classes with complementary scores it equals `auroc`.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, the codes 0 … K-1.
    p : array_like of shape (n, K)
        Probability or score of each class, one column per class.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    float
        The mean; NaN if a class has no records or a score is NaN.

    Raises
    ------
    MetricError
        If the shapes or codes are not valid.

    References
    ----------
    Hand & Till (2001), Machine Learning 45:171, eq. 7.

    Examples
    --------
    >>> y = [0, 1, 2, 2]
    >>> p = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.1, 0.2, 0.7]]
    >>> auroc_hand_till(y, p)
    0.875
    """
    codes, scores = _codes_and_scores(y, p)
    if np.isnan(scores).any():
        return float("nan")
    areas = []
    for k, j in permutations(range(scores.shape[1]), 2):
        own = (codes == k) | (codes == j)
        areas.append(auroc(codes[own] == k, scores[own, k], tie_tol=tie_tol))
    return float(np.mean(areas))


def _codes_and_scores(y: ArrayLike, p: ArrayLike) -> tuple[Ints, Floats]:
    scores = real_array(p, "p").astype(np.float64, copy=False)
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise MetricError(
            f"p has shape {scores.shape}; it must be (n, K), with one column for each "
            "of 2 or more classes."
        )
    codes = class_codes(y, scores.shape[1])
    same_length(codes.size, len(scores), "p")
    return codes, scores
