"""What a pooled auROC is expected to be on noise, to first order, without a fit."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.errors import ArgumentError, suggestion

Floats = NDArray[np.float64]

LEAVING_ONE = ("loocv", "rloocv", "weight")
BLOCK = 2_000_000  # pairs that are held at a time
EQUAL = 1e-12  # of their size: records are equal that differ by less


def pooled_null_auroc(
    X: ArrayLike, positives: int, *, C: float = math.inf, scheme: str = "loocv"
) -> float:
    r"""Return the mean pooled auROC of logistic regression on noise.

    The prediction of a held-out record i comes from a fit that had the label of j, and
    that of j from one that had the label of i. The label of j draws the prediction of
    its neighbour i towards it, and that of i draws j the other way; so a pair of
    different classes is ranked by the difference D of two predictions that know
    neither label, less the pull of the two on each other. With the covariates centred,
    :math:`m = n\pi(1-\pi)`, :math:`A = (m\Sigma + I/C)^{-1}`, to first order

    .. math::

       \operatorname{E}\,\mathrm{auROC} = \operatorname{E}\,\Phi\left(
       -\frac{a + x_i' A x_j}{\sqrt{m\,(x_i - x_j)' A \Sigma A (x_i - x_j)
       + v_{ij}}}\right)

    over pairs of records. Under leave-one-out :math:`a = 1/m`, the pull through the
    intercept: distributional bias. Where training sets are balanced it is 0, and the
    rest is what is left. The variance :math:`v_{ij}` is of the records that are
    dropped at random,
    :math:`\tfrac12(\pi^2 + (1-\pi)^2)(x_i'A\Sigma A x_i + x_j'A\Sigma A x_j)`, and 0
    where none is.

    Parameters
    ----------
    X : array-like, shape (n, p)
        Covariates, without an intercept.
    positives : int
        Records of the positive class.
    C : float, optional
        Of the ridge penalty, in scikit-learn's convention; none by default.
    scheme : {"loocv", "rloocv", "weight"}
        Leave-one-out: as it is, with a record of the other class dropped, or with
        weights that give a class the same total in every training set.

    Returns
    -------
    float
        What is expected where labels are dealt at random to these records. The error
        of the approximation is that of first order in 1/n, large where n is near p.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or covariates are missing or not finite.

    References
    ----------
    Distributional bias: G. I. Austin, I. Pe'er and T. Korem (2024), arXiv:2406.01652.
    The expansion is ours; see the page *Unbiased at last*.

    Examples
    --------
    >>> X = np.random.default_rng(1).uniform(size=(250, 20))
    >>> [round(pooled_null_auroc(X, 125, C=C), 2) for C in (1e-3, 1e-2, 1.0)]
    [0.0, 0.34, 0.49]
    >>> round(pooled_null_auroc(X, 125, C=0.01, scheme="rloocv"), 3)
    0.496
    """
    x, spread, m, share = _checked(X, positives, C, scheme)
    n, p = x.shape
    bend = m * spread + np.eye(p) / C
    a = np.linalg.pinv(bend, hermitian=True)
    pulled, scaled = x @ a, x @ a @ _root(spread)
    size = (scaled**2).sum(axis=1)
    through_intercept = 1 / m if scheme == "loocv" else 0.0
    dropped = (share**2 + (1 - share) ** 2) / 2 if scheme == "rloocv" else 0.0
    total, step = 0.0, max(BLOCK // n, 1)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        pull = through_intercept + pulled[rows] @ x.T
        sums = size[rows, None] + size
        apart = sums - 2 * scaled[rows] @ scaled.T
        apart[apart < EQUAL * sums] = 0.0
        lost = _lost(pull, m * apart + dropped * sums)
        own = np.arange(len(pull))
        lost[own, start + own] = 1.0  # a record is no pair with itself
        total += float((1 - lost).sum())
    return float(total / (n * (n - 1)))


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
            f"scheme {scheme!r} is none of {', '.join(LEAVING_ONE)}."
            f"{suggestion(str(scheme), LEAVING_ONE)}"
        )
    if not C > 0:
        raise ArgumentError(f"C must be above 0, not {C}.")
    x = np.asarray(X, dtype=float)
    if x.ndim != 2 or not np.isfinite(x).all():
        raise ArgumentError("X must be a matrix of finite numbers, a row a record.")
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
