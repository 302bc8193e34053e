"""Metrics of predicted classes and probabilities, for two classes and for more.

Two classes: `y` is 0 or 1 and `p`, of shape (n,), the probability of 1. More: `y`
holds the codes 0 … K-1 and `p`, of shape (n, K), has a column for each. A metric
that is a mean over records has a ``casewise_`` twin with the records' own values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.errors import MetricError
from statcv.metrics.discrimination.ranking import round_significant
from statcv.metrics.inputs import (
    Bools,
    Floats,
    Ints,
    binary_outcome,
    class_codes,
    real_array,
    same_length,
)


def outcome_and_prediction(y: ArrayLike, p: ArrayLike) -> tuple[Ints, NDArray[Any]]:
    """Check and return class codes, and predictions of shape (n,) or (n, K)."""
    p = real_array(p, "p")
    if p.ndim not in (1, 2) or (p.ndim == 2 and p.shape[1] < 2):
        raise MetricError(
            f"p has shape {p.shape}; it must be (n,), or (n, K) with K of 2 or more."
        )
    several = p.ndim == 2
    codes = class_codes(y, p.shape[1]) if several else binary_outcome(y).astype(np.intp)
    same_length(codes.size, p.shape[0], "p")
    return codes, p


def columns(p: NDArray[Any]) -> NDArray[Any]:
    """Return predictions with a column for each number of a record."""
    return p.reshape(len(p), -1) if p.size else np.empty((len(p), 1))


def predicted_class(p: NDArray[Any], threshold: ArrayLike) -> Floats:
    """Return the code of each record's predicted class; NaN where there is none.

    Of two classes it is 1 where `p` is above the threshold, both rounded to 12
    significant digits; of K it is the first of the largest.
    """
    scores = round_significant(p)
    missing = np.isnan(columns(scores)).any(axis=1)
    if scores.ndim == 1:
        cutoff = _cutoff(threshold, scores.size)
        chosen = (scores > cutoff).astype(np.float64)
        missing |= np.isnan(cutoff)
    else:
        if np.ndim(threshold) or threshold != 0.5:
            given = "an array" if np.ndim(threshold) else repr(threshold)
            raise MetricError(
                f"threshold={given} means nothing for {scores.shape[1]} columns of "
                "probabilities, whose largest is the prediction; leave it out."
            )
        chosen = scores.argmax(axis=1).astype(np.float64)
    chosen[missing] = np.nan
    return chosen


def _cutoff(threshold: ArrayLike, n: int) -> Floats:
    """Return one threshold, or one a record, rounded as the scores are."""
    cutoff = round_significant(real_array(threshold, "threshold"))
    if cutoff.ndim > 1:
        raise MetricError(
            f"threshold has shape {cutoff.shape}; it must be one number, or (n,)."
        )
    if cutoff.ndim:
        same_length(n, cutoff.size, "threshold")
    return cutoff


# ---- metrics of predicted classes and probabilities, for two classes and for more ----

_ROW_SUM_TOLERANCE = 1e-5  # softmax in single precision sums to one within 1e-6


def accuracy(y: ArrayLike, p: ArrayLike, threshold: ArrayLike = 0.5) -> float:
    """Share of records whose class is predicted right.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome: 0 or 1, or the codes 0 … K-1.
    p : array_like of shape (n,) or (n, K)
        Probability (or score) of 1, or of each class.
    threshold : float or array_like of shape (n,), default 0.5
        For two classes: 1 is predicted where `p` is above it, or above the record's
        own. (For more, the class of the largest `p`, the first of equals.)
        Comparisons are made after rounding to 12 significant digits, so that
        0.5 + 1e-16 is not above 0.5.

    Returns
    -------
    float
        The share; NaN when a `p` or a threshold is NaN, or there is no record.

    Raises
    ------
    MetricError
        If shapes or outcomes do not fit, or a threshold is given for K classes.

    Examples
    --------
    >>> accuracy([0, 1, 1, 0], [0.2, 0.9, 0.4, 0.5])
    0.75
    >>> accuracy([0, 2], [[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]])
    0.5
    """
    return _mean(casewise_accuracy(y, p, threshold))


def casewise_accuracy(y: ArrayLike, p: ArrayLike, threshold: ArrayLike = 0.5) -> Floats:
    """Hits: 1 where the class of a record is predicted right, else 0.

    Parameters
    ----------
    y, p, threshold
        As in `accuracy`, which is the mean of these.

    Returns
    -------
    ndarray of shape (n,)
        0 or 1; NaN where `p` or the threshold is NaN.

    Raises
    ------
    MetricError
        As in `accuracy`.

    Examples
    --------
    >>> casewise_accuracy([0, 1, 1], [0.2, 0.9, 0.4]).tolist()
    [1.0, 1.0, 0.0]
    """
    codes, p = outcome_and_prediction(y, p)
    chosen = predicted_class(p, threshold)
    hit: Floats = (chosen == codes).astype(np.float64)
    hit[np.isnan(chosen)] = np.nan
    return hit


def balanced_accuracy(y: ArrayLike, p: ArrayLike, threshold: ArrayLike = 0.5) -> float:
    """Mean over classes of the share of their records predicted right.

    Parameters
    ----------
    y, p, threshold
        As in `accuracy`.

    Returns
    -------
    float
        The mean; NaN when a `p` or a threshold is NaN, or a class has no record.
        (To average over the classes at hand instead is biased where small folds
        lack the rare one.)

    Raises
    ------
    MetricError
        As in `accuracy`.

    Examples
    --------
    >>> balanced_accuracy([0, 0, 0, 1], [0.1, 0.2, 0.3, 0.4])
    0.5
    """
    codes, p = outcome_and_prediction(y, p)
    hit = casewise_accuracy(codes, p, threshold)
    n_classes = 2 if p.ndim == 1 else p.shape[1]
    size = np.bincount(codes, minlength=n_classes)
    if not size.all():
        return float("nan")
    recall = np.bincount(codes, weights=hit, minlength=n_classes) / size
    return float(recall.mean())


def brier(y: ArrayLike, p: ArrayLike) -> float:
    """Brier score: mean squared distance of probabilities from what happened.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome: 0 or 1, or the codes 0 … K-1.
    p : array_like of shape (n,) or (n, K)
        Probability of 1, or of each class (rows that sum to one).

    Returns
    -------
    float
        For two classes the mean of (p - y)², between 0 and 1. For K classes the
        squares are summed over the classes, between 0 and 2, so that two columns
        give twice the value of one. NaN when a `p` is no probability.

    Raises
    ------
    MetricError
        If shapes or outcomes do not fit.

    References
    ----------
    Brier (1950), Monthly Weather Review 78:1, eq. 2 (the sum over classes).

    Examples
    --------
    >>> brier([0, 1], [0.5, 1.0])
    0.125
    >>> brier([0, 1], [[0.5, 0.5], [0.0, 1.0]])
    0.25
    """
    return _mean(casewise_brier(y, p))


def casewise_brier(y: ArrayLike, p: ArrayLike) -> Floats:
    """Squared distance of each record's probabilities from what happened.

    Parameters
    ----------
    y, p
        As in `brier`, which is the mean of these.

    Returns
    -------
    ndarray of shape (n,)
        The losses; NaN where `p` is no probability.

    Raises
    ------
    MetricError
        As in `brier`.

    Examples
    --------
    >>> casewise_brier([0, 1], [0.5, 1.0]).tolist()
    [0.25, 0.0]
    """
    codes, p = outcome_and_prediction(y, p)
    given: Floats = _probabilities(p).astype(np.float64, copy=False)
    if given.ndim == 1:
        return (given - codes) ** 2
    happened = codes[:, None] == np.arange(given.shape[1])
    loss: Floats = ((given - happened) ** 2).sum(axis=1)
    return loss


def log_loss(y: ArrayLike, p: ArrayLike) -> float:
    """Mean negative log of the probability given to what happened.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome: 0 or 1, or the codes 0 … K-1.
    p : array_like of shape (n,) or (n, K)
        Probability of 1, or of each class (rows that sum to one). Kept away from 0
        and 1 by the precision of its type (2.2e-16 for double), as scikit-learn
        does: a record predicted wrong with certainty costs 36, not infinity.

    Returns
    -------
    float
        The loss in nats; NaN when a `p` is no probability.

    Raises
    ------
    MetricError
        If shapes or outcomes do not fit.

    References
    ----------
    Good (1952), JRSS B 14:107.

    Examples
    --------
    >>> round(log_loss([0, 1], [0.5, 0.5]), 4)
    0.6931
    """
    return _mean(casewise_log_loss(y, p))


def casewise_log_loss(y: ArrayLike, p: ArrayLike) -> Floats:
    """Negative log of the probability given to what happened, record by record.

    Parameters
    ----------
    y, p
        As in `log_loss`, which is the mean of these.

    Returns
    -------
    ndarray of shape (n,)
        The losses; NaN where `p` is no probability.

    Raises
    ------
    MetricError
        As in `log_loss`.

    Examples
    --------
    >>> casewise_log_loss([0, 1], [0.0, 0.0]).round(2).tolist()
    [0.0, 36.04]
    """
    codes, p = outcome_and_prediction(y, p)
    margin = float(np.finfo(p.dtype).eps)
    given: Floats = _probabilities(p).astype(np.float64, copy=False)
    given = np.clip(given, margin, 1 - margin)
    if given.ndim == 1:
        given = np.where(codes == 1, given, 1 - given)
    else:
        given = given[np.arange(codes.size), codes]
    loss: Floats = -np.log(given)
    return loss


def _probabilities(p: NDArray[Any]) -> NDArray[Any]:
    """Return p with NaN for records whose numbers are no probabilities."""
    proper: Bools = np.asarray(columns((p >= 0) & (p <= 1)).all(axis=1))
    if p.ndim == 2:
        off_one = np.abs(np.where(proper[:, None], p, np.nan).sum(axis=1) - 1)
        proper &= off_one <= _ROW_SUM_TOLERANCE
    checked = p.copy()
    checked[~proper] = np.nan
    return checked


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else float("nan")
