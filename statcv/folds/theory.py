"""Closed forms of fold composition, and of pooled areas on noise.

Counts go in, an exact number comes out; nothing is drawn at random. *The chapter*
is on stratified k-fold cross-validation, *Austin* is Austin, Pe'er & Korem (2024).
Leaving p out makes n // p folds; the sizes of folds differ by one at most.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np

from statcv.arguments import is_whole, one_of
from statcv.errors import ArgumentError, suggestion
from statcv.numeric.arrays import ArrayLike, Floats, Numbers

__all__ = [
    "balanced_error_bias",
    "class_share_variance",
    "cv_mean_variance",
    "largest_k",
    "majority_flip_probability",
    "negative_mean_auroc",
    "no_positive_probability",
    "pooled_null_auroc",
    "rlpocv_training_counts",
    "stratified_quotas",
    "training_mean_correlation",
]

Allocation = Literal["random", "binomial", "stratified"]
LeavePOut = Literal["lpocv", "stratified_lpocv", "rlpocv"]


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


def stratified_quotas(class_counts: ArrayLike, k: int) -> Numbers:
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
    return np.asarray(counts // k + (place < counts % k))


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


def positive_counts(class_counts: ArrayLike) -> Numbers:
    """Return counts of classes, none of them empty, or refuse them."""
    counts = np.asarray(class_counts)
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or min(counts, default=0) < 1:
        raise ArgumentError(f"class_counts={class_counts!r} are not counts from 1 on.")
    return counts.astype(np.intp)


def likely(size: int, share: float) -> Numbers:
    """Return the counts in a fold beyond which less than 1e-21 lies (Hoeffding)."""
    ends = size * share + np.array([-5, 5]) * math.sqrt(size)
    return np.arange(max(0, math.floor(ends[0])), min(size, math.ceil(ends[1])) + 1)


def choosing(*choices: tuple[int, Numbers]) -> Any:
    """Return probabilities proportional to the product of C(n, k); 0 if impossible."""
    from scipy.special import gammaln

    logs = sum(-gammaln(k + 1) - gammaln(n - k + 1) for n, k in choices)
    weights = np.exp(logs - np.max(logs))
    return weights / weights.sum()


# ---- leave-p-out, and the bias of its training means ----


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


# ---- the expected pooled auROC on noise, to first order, without a fit ----


LEAVING_ONE = ("loocv", "rloocv", "weight")
BLOCK = 2_000_000  # pairs of records that are held in memory at a time
EQUAL = 1e-12  # relative squared distance below which two records are equal


def pooled_null_auroc(
    X: ArrayLike, positives: int, *, C: float = math.inf, scheme: str = "loocv"
) -> float:
    """Return the mean pooled auROC of logistic regression on noise.

    The prediction of a held-out record i comes from a fit that had the label of j, and
    that of j from one that had the label of i. The label of j draws the prediction of
    its neighbour i towards it, and that of i draws j the other way; so a pair of
    different classes is ranked by the difference of two predictions that depend on
    neither label, minus the pull of the two on each other. Let z = (1, x), w = π(1 − π)
    with the share π of positive records, B the sum of w zz' over the records other
    than i and j, and A the inverse of B with 1/C added to the diagonal of the slopes.
    To first order::

        E auROC = E Φ(−pull / √((zᵢ − zⱼ)' A B A (zᵢ − zⱼ) + v))

    over pairs of records. Under leave-one-out the pull is zᵢ' A zⱼ, of which the part
    through the intercept is distributional bias. Where training sets are balanced it
    is zᵢ' A (zⱼ − z̄), with the mean of the other records, which takes 1/(w(n − 2))
    away: that is what is left. The variance v is of the records that are dropped at
    random: (π² + (1 − π)²)/2 times the sum over i and j of x' A₀ Σ A₀ x, with centred
    covariates, their covariance Σ and A₀ of all records; 0 where none is dropped.

    Parameters
    ----------
    X : array-like, shape (n, p)
        Covariates, without an intercept.
    positives : int
        Records of the positive class.
    C : float, optional
        Inverse strength of the ridge penalty, in scikit-learn's convention; by default
        no penalty.
    scheme : {"loocv", "rloocv", "weight"}
        Leave-one-out: as it is, with a record of the other class dropped, or with
        weights that give a class the same total in every training set.

    Returns
    -------
    float
        Expected auROC if labels are permuted at random among these records. The
        approximation takes fitted probabilities to be near the share of positives; it
        fails if classes are separated, as without a penalty if p is near n.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or covariates are missing or not finite.

    References
    ----------
    Distributional bias: G. I. Austin, I. Pe'er and T. Korem (2024), arXiv:2406.01652.
    The expansion is our own; see the page *Bias of cross-validation*.

    Examples
    --------
    >>> X = np.random.default_rng(1).uniform(size=(250, 20))
    >>> [round(pooled_null_auroc(X, 125, C=C), 2) for C in (1e-3, 1e-2, 1.0)]
    [0.0, 0.33, 0.49]
    >>> round(pooled_null_auroc(X, 125, C=0.01, scheme="rloocv"), 3)
    0.495
    """
    if scheme not in LEAVING_ONE:
        raise ArgumentError(
            f"scheme {scheme!r} is not one of {', '.join(LEAVING_ONE)}."
            f"{suggestion(str(scheme), LEAVING_ONE)}"
        )
    if not C > 0:
        raise ArgumentError(f"C must be above 0, not {C}.")
    x = np.asarray(X, dtype=float)
    if x.ndim != 2 or not np.isfinite(x).all():
        raise ArgumentError("X must be a matrix of finite numbers, one row per record.")
    n, p = x.shape
    if not 1 <= positives <= n - 1:
        raise ArgumentError(
            f"positives={positives} is out of range: of {n} records from 1 to {n - 1}."
        )
    x = x - x.mean(axis=0)
    spread, share = x.T @ x / n, positives / n
    w = share * (1 - share)
    m = n * w
    inverse = np.linalg.pinv(m * spread + np.eye(p) / C, hermitian=True)
    values, vectors = np.linalg.eigh(spread)
    scaled = x @ inverse @ (vectors * np.sqrt(np.maximum(values, 0)))
    reach, sandwich = 1 / m + x @ inverse @ x.T, 1 / m + m * scaled @ scaled.T
    dropped = (share**2 + (1 - share) ** 2) / 2 if scheme == "rloocv" else 0.0
    size = (scaled**2).sum(axis=1)
    nil = 8 * np.finfo(float).eps / m
    total, step = 0.0, max(BLOCK // n, 1)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        pull, variance = _without_both(rows, reach, sandwich, w, scheme == "loocv")
        variance[variance < EQUAL * m * (size[rows, None] + size) + nil] = 0.0
        lost = _lost(pull, variance + dropped * (size[rows, None] + size))
        own = np.arange(len(lost))
        lost[own, start + own] = 1.0  # a record does not form a pair with itself
        total += float((1 - lost).sum())
    return float(total / (n * (n - 1)))


def _without_both(
    rows: slice, reach: Floats, sandwich: Floats, w: float, alone: bool
) -> tuple[Floats, Floats]:
    """Return pull and variance of pairs whose fits were trained on neither record.

    By Woodbury's identity: with K the 2 × 2 block of ``reach`` (z'Az) of a pair, that
    without both is K (I − wK)⁻¹.

    Parameters
    ----------
    rows : slice
        The first record of the pairs; the second is every one.
    reach, sandwich : numpy.ndarray, shape (n, n)
        z'Az and z'ABAz of all records.
    w : float
        Variance of a label.
    alone : bool
        Whether training sets are not balanced.
    """
    n, own, other = len(reach), np.diag(reach)[rows, None], np.diag(reach)
    both = reach[rows]
    # (I − wK)⁻¹, by its three entries
    first, second, cross = 1 - w * other, 1 - w * own, w * both
    determinant = first * second - cross**2
    first, second, cross = (one / determinant for one in (first, second, cross))
    pull = cross / w - (0.0 if alone else 1 / w / (n - 2))
    # coefficients of the difference of the two
    left, right = first - cross, cross - second
    variance = left**2 * np.diag(sandwich)[rows, None] + right**2 * np.diag(sandwich)
    variance += 2 * left * right * sandwich[rows]
    variance -= w * (
        (left * own + right * both) ** 2 + (left * both + right * other) ** 2
    )
    return pull, variance


def _lost(pull: Floats, variance: Floats) -> Floats:
    """Return the probability that a normal variable of mean 0 is below the pull."""
    from scipy.special import ndtr

    certain = np.where(pull == 0, 0.0, np.copysign(np.inf, pull))
    ratio = np.divide(pull, np.sqrt(variance), out=certain, where=variance > 0)
    return np.asarray(ndtr(ratio))
