"""The expected pooled auROC on noise, to first order, without a fit."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.errors import ArgumentError, suggestion

Floats = NDArray[np.float64]

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
    x, spread, m, share = _checked(X, positives, C, scheme)
    (n, p), w = x.shape, share * (1 - share)
    inverse = np.linalg.pinv(m * spread + np.eye(p) / C, hermitian=True)
    scaled = x @ inverse @ _root(spread)
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


def _checked(
    X: ArrayLike, positives: int, C: float, scheme: str
) -> tuple[Floats, Floats, float, float]:
    """Return centred covariates, their covariance, m and the share of positives."""
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
    n = len(x)
    if not 1 <= positives <= n - 1:
        raise ArgumentError(
            f"positives={positives} is out of range: of {n} records from 1 to {n - 1}."
        )
    x = x - x.mean(axis=0)
    share = positives / n
    return x, x.T @ x / n, n * share * (1 - share), share


def _root(spread: Floats) -> Floats:
    values, vectors = np.linalg.eigh(spread)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))
