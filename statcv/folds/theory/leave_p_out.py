"""Closed forms for leave-p-out, and for the bias of its training means.

They are those of Austin, Pe'er & Korem (2024), *Austin* below. Leaving p out makes
n // p folds; the sizes of folds differ by one at most.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from statcv.arguments import one_of
from statcv.errors import ArgumentError
from statcv.folds.theory.composition import (
    choosing,
    likely,
    positive_counts,
    stratified_quotas,
    whole,
)

LeavePOut = Literal["lpocv", "stratified_lpocv", "rlpocv"]


def negative_mean_auroc(
    n: int, positives: int, p: int, scheme: LeavePOut = "lpocv"
) -> float:
    """Return the expected pooled auROC of the negative training mean.

    Austin, Figs. 1c and S2b; what exceeds ½ is distributional bias. A positive in a
    fold of s with x positives wins over a negative in a fold of t with y where its
    training mean is lower, (n₁ − x)/(n − s) < (n₁ − y)/(n − t); equal is half won.
    Random folds: P(x, y) = C(s, x) C(t, y) C(n − s − t, n₁ − x − y) / C(n, n₁); the
    area is the sum of E[x (t − y) won] / (n₁ (n − n₁)) over pairs of folds, each
    with itself too. Stratified: that sum over `stratified_quotas`. Rebalanced: ½.

    Parameters
    ----------
    n, positives, p : int
        All records, the positive ones n₁, and those held out at a time.
    scheme : {"lpocv", "stratified_lpocv", "rlpocv"}
        Random folds, classes spread evenly, or that with training sets rebalanced.

    Raises
    ------
    ArgumentError
        If a class is empty, p exceeds n/2, or rebalancing empties a class.

    Examples
    --------
    >>> [round(negative_mean_auroc(100, ones, p=4), 4) for ones in (10, 50)]
    [0.8801, 0.764]
    """
    one_of(scheme, get_args(LeavePOut), "scheme")
    n = whole("n", n, 2)
    positives = whole("positives", positives, 1, n - 1)
    counts = [positives, n - positives]
    k = n // whole("p", p, 1, n // 2)
    if scheme == "rlpocv":
        rlpocv_training_counts(counts, p)  # refuses invalid arguments
        return 0.5

    def won(x: Any, s: Any, y: Any, t: Any) -> Any:
        lead = (positives - y) * (n - s) - (positives - x) * (n - t)
        return x * (t - y) * (1 + np.sign(lead)) / 2

    if scheme == "stratified_lpocv":
        kinds, f = np.unique(stratified_quotas(counts, k), axis=0, return_counts=True)
        x, s = kinds[:, 0], kinds.sum(axis=1)
        return float(f @ won(x[:, None], s[:, None], x, s) @ f) / math.prod(counts)
    sizes, folds = np.unique(stratified_quotas([n], k), return_counts=True)
    area = float(folds @ (sizes * (sizes - 1))) / (2 * n * (n - 1))  # within a fold
    for s, many in zip(sizes, folds, strict=True):
        for t, others in zip(sizes, folds - (sizes == s), strict=True):
            if others:
                x, y = likely(s, positives / n)[:, None], likely(t, positives / n)
                pmf = choosing((s, x), (t, y), (n - s - t, positives - x - y))
                mean = float(np.sum(pmf * won(x, s, y, t)))
                area += float(many * others) * mean / math.prod(counts)
    return min(1.0, area)


def rlpocv_training_counts(class_counts: ArrayLike, p: int) -> tuple[int, ...]:
    """Return the class totals of every training set of rebalanced leave-p-out.

    n_c − ⌈n_c/G⌉ with G = n // p folds: some fold must hold ⌈n_c/G⌉ of class c, and
    spread evenly none holds more. Austin, Supplementary Note 1, has T − p + F // G
    and F − p + T // G, which is the same wherever p divides n = T + F.

    Parameters
    ----------
    class_counts : array_like of int, shape (classes,)
        Records of each class, at least one.
    p : int
        Records held out at a time.

    Raises
    ------
    ArgumentError
        If a count or p is out of range, or a class would be empty.

    Examples
    --------
    >>> rlpocv_training_counts([50, 50], p=5), rlpocv_training_counts([10, 1000], p=2)
    ((47, 47), (9, 998))
    """
    counts = positive_counts(class_counts)
    n = int(counts.sum())
    left = counts - -(-counts // (n // whole("p", p, 1, n // 2)))
    if not left.all():
        raise ArgumentError(f"p={p} leaves none of a class of {counts.min()} to train.")
    return tuple(left.tolist())


def training_mean_correlation(n: int, p: int) -> float:
    """Return the correlation of records' outcomes with their training means.

    −√((n − p)/(p(n − 1))) over random folds of any outcome; its square is the mean
    of r². Austin, Fig. 1a: −1 at p = 1. With the held-out *mean* it is −1 at every
    p, since training mean × (n − p) = total − p × held-out mean.

    Parameters
    ----------
    n, p : int
        All records, and those held out at a time.

    Raises
    ------
    ArgumentError
        If p exceeds n/2 or does not divide n.

    Examples
    --------
    >>> training_mean_correlation(100, 1), round(training_mean_correlation(100, 4), 4)
    (-1.0, -0.4924)
    """
    n = whole("n", n, 2)
    p = whole("p", p, 1, n // 2)
    if n % p:
        raise ArgumentError(f"p={p} does not divide n={n}: folds must be of one size.")
    return -math.sqrt((n - p) / (p * (n - 1)))
