"""Closed forms for the composition of folds, and for variance and bias of estimates.

Counts go in, an exact number comes out; nothing is drawn at random. *The chapter*
is on stratified k-fold cross-validation; the sizes of folds differ by one at most.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.arguments import is_whole, one_of
from statcv.errors import ArgumentError

Allocation = Literal["random", "binomial", "stratified"]


def no_positive_probability(n: int, positives: int, fold_size: int) -> float:
    """Return the probability that a random fold holds no positive record.

    C(n − positives, fold_size) / C(n, fold_size), taken as ∏ (1 − b/(n − i)) over
    i < a for the smaller count a and the larger b. The chapter, "The Problem with
    Randomness", calls its example (below) "small but not negligible".

    Parameters
    ----------
    n, positives, fold_size : int
        All records, those of the class in question, and those in the fold.

    Raises
    ------
    ArgumentError
        If a count is not an integer from 0 to n.

    Examples
    --------
    >>> f"{no_positive_probability(20_000, 200, 2_000):.1e}"
    '6.3e-10'
    """
    n = whole("n", n, 1)
    sizes = whole("positives", positives, 0, n), whole("fold_size", fold_size, 0, n)
    if sum(sizes) > n:
        return 0.0
    return float(np.exp(np.log1p(-max(sizes) / (n - np.arange(min(sizes)))).sum()))


def class_share_variance(
    n: int, class_count: int, k: int, allocation: Allocation = "random"
) -> float:
    """Return the variance of a class's share of a fold.

    The chapter, "The Principle of Stratification". With q = class_count/n and a fold of
    m = n/k, drawn at random: q(1 − q)/m × (n − m)/(n − 1), hypergeometric, a mean over
    folds where sizes differ; binomial approximation: k q(1 − q)/n. Spread evenly: r(k −
    r)/n², r = class_count mod k, since r folds chosen of k hold one more than the
    others (their size taken as n/k throughout).

    Parameters
    ----------
    n, class_count, k : int
        All records, those of the class, and the folds.
    allocation : {"random", "binomial", "stratified"}
        Random folds exactly or by the approximation, or classes spread evenly.

    Raises
    ------
    ArgumentError
        If k or class_count exceeds n, k < 2, or ``allocation`` is not one of these.

    Examples
    --------
    >>> [round(class_share_variance(1200, 324, 8, d), 6) for d in get_args(Allocation)]
    [0.001151, 0.001314, 1.1e-05]
    """
    one_of(allocation, get_args(Allocation), "allocation")
    n = whole("n", n, 2)
    k, count = whole("k", k, 2, n), whole("class_count", class_count, 0, n)
    if allocation == "stratified":
        return count % k * (k - count % k) / n**2
    spread = count * (n - count) / n**2
    if allocation == "binomial":
        return k * spread / n
    sizes = stratified_quotas([n], k)
    return float(np.mean(spread / sizes * (n - sizes) / (n - 1)))


def stratified_quotas(class_counts: ArrayLike, k: int) -> NDArray[np.intp]:
    """Return how many records of each class each fold holds, spread evenly.

    ⌊n_c/k⌋ of class c, and the n_c mod k that remain one to a fold, beginning
    where the class before ended. The chapter, "The Principle of Stratification",
    begins each class at the first fold (sizes 12, 11, 10), yet prints these counts.

    Parameters
    ----------
    class_counts : array_like of int, shape (classes,)
        Records of each class, at least one.
    k : int
        Folds.

    Returns
    -------
    ndarray of int, shape (k, classes)
        One row per fold; a fold plan has the rows in random order.

    Raises
    ------
    ArgumentError
        If class_counts are not positive integers, or k is not from 2 to n.

    Examples
    --------
    >>> stratified_quotas([23, 7, 3], k=3).tolist()
    [[8, 2, 1], [8, 2, 1], [7, 3, 1]]
    """
    counts = positive_counts(class_counts)
    k = whole("k", k, 2, int(counts.sum()))
    place = (np.arange(k)[:, None] - (np.cumsum(counts) - counts)) % k
    quotas: NDArray[np.intp] = counts // k + (place < counts % k)
    return quotas


def largest_k(class_counts: ArrayLike) -> int:
    """Return the most folds of which each can hold every class: k ≤ min n_c.

    The chapter, "When the Minority Class is Too Rare"; 1 means that no k will do.
    Beyond it, k folds merged into n_c blocks can be the folds of k = n_c (in the
    chapter: are) if n_c divides k, else only where there are very few records.

    Parameters
    ----------
    class_counts : array_like of int, shape (classes,)
        Records of each class, at least one.

    Raises
    ------
    ArgumentError
        If class_counts are not positive integers.

    Examples
    --------
    >>> largest_k([23, 7, 3])
    3
    """
    return int(positive_counts(class_counts).min())


def balanced_error_bias(k: int, minority: int, error_0: float, error_1: float) -> float:
    """Return the bias of the folds' mean balanced error when a class is too rare.

    (k − n₁)/(2k) × (ε₀ − ε₁) where k > n₁, else 0: k − n₁ folds lack class 1 and
    average over class 0 alone. The chapter, "When the Minority Class is Too Rare".

    Parameters
    ----------
    k, minority : int
        Folds, and records n₁ of the rarer class.
    error_0, error_1 : float
        Error rates within the larger and the rarer class.

    Raises
    ------
    ArgumentError
        If k < 2, minority < 1, or a rate is not from 0 to 1.

    Examples
    --------
    >>> round(balanced_error_bias(10, 6, error_0=0.1, error_1=0.4), 9)
    -0.06
    """
    lacking = max(0, whole("k", k, 2) - whole("minority", minority, 1))
    gap = number("error_0", error_0, 0, 1) - number("error_1", error_1, 0, 1)
    return lacking / (2 * int(k)) * gap


def cv_mean_variance(fold_variance: float, k: int, rho: float) -> float:
    """Return the variance of the mean of k correlated fold estimates.

    Var(R)/k × [1 + (k − 1)ρ]. The chapter, "Correlation Between Folds".

    Parameters
    ----------
    fold_variance, rho : float
        Variance of one fold's estimate, and the correlation between any two.
    k : int
        Folds.

    Raises
    ------
    ArgumentError
        If fold_variance < 0, k < 2, or rho is not from −1/(k − 1) to 1.

    Examples
    --------
    >>> round(cv_mean_variance(0.01, k=10, rho=0.5), 9)
    0.0055
    """
    rho = number("rho", rho, -1 / (whole("k", k, 2) - 1), 1)
    mean_variance = number("fold_variance", fold_variance, 0, np.inf) / k
    return max(0.0, mean_variance * (1 + (k - 1) * rho))


def majority_flip_probability(
    n: int, positives: int, train_size: int, ties: float = 0.0
) -> float:
    """Return the probability that a random training set has the other majority.

    With n₁ records in the smaller class and t in training, the sum over x > t/2 of
    C(n₁, x) C(n − n₁, t − x) / C(n, t). Training sets of stratified folds may tie
    but never flip. The chapter, "Reducing Estimator Variance via Classifier …".

    Parameters
    ----------
    n, positives, train_size : int
        All records, those of one class (not half of n), and t.
    ties : float, default 0
        Weight of x = t/2: ½ for a rule that tosses a coin.

    Raises
    ------
    ArgumentError
        If a count exceeds n, the classes are equal, or ties is not from 0 to 1.

    Examples
    --------
    >>> [round(majority_flip_probability(100, 51, 90, w), 4) for w in (0, 1)]
    [0.1758, 0.3963]
    """
    n, t = whole("n", n, 1), whole("train_size", train_size, 1, n)
    positives = whole("positives", positives, 0, n)
    smaller = min(positives, n - positives)
    if 2 * smaller == n:
        raise ArgumentError(f"{positives} of {n} records: neither class is larger.")
    x = np.arange(max(0, t - n + smaller), min(smaller, t) + 1)
    pmf = choosing((smaller, x), (n - smaller, t - x))
    weight = (2 * x > t) + number("ties", ties, 0, 1) * (2 * x == t)
    return min(1.0, float(pmf @ weight))


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
