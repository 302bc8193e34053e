"""Metrics of predicted classes and probabilities, for two or more classes.

With two classes, `y` is 0 or 1, and `p`, of shape (n,), is the probability of 1. With
more classes, `y` holds the codes 0 … K-1, and `p`, of shape (n, K), has a column for
each class. For each metric that is a mean over records there is a function
``casewise_…`` that returns one value per record.
"""

from __future__ import annotations

import numpy as np

from statcv.errors import MetricError
from statcv.metrics import inputs
from statcv.metrics.discrimination.rounding import round_significant
from statcv.numeric.arrays import Array, ArrayLike, Bools, Floats, Numbers


def outcome_and_prediction(y: ArrayLike, p: ArrayLike) -> tuple[Numbers, Array]:
    """Check and return the class codes, and predictions of shape (n,) or (n, K)."""
    p = inputs.real_array(p, "p")
    if p.ndim not in (1, 2) or (p.ndim == 2 and p.shape[1] < 2):
        raise inputs.wrong_shape("p", p, "(n,), or (n, K) with K at least 2")
    if p.ndim == 2:
        codes = inputs.class_codes(y, p.shape[1])
    else:
        codes = inputs.binary_outcome(y).astype(np.intp)
    inputs.same_length(codes.size, p.shape[0], "p")
    return codes, p


def columns(p: Array) -> Array:
    """Return predictions as a matrix with one row per record."""
    return p.reshape(len(p), -1) if p.size else np.empty((len(p), 1))


def predicted_class(p: Array, threshold: ArrayLike) -> Floats:
    """Return the code of each record's predicted class; NaN if there is no prediction.

    With two classes it is 1 if `p` is at least the threshold, after both are rounded to
    12 significant digits. With K classes it is the class of the largest `p`, less any
    thresholds of shape (n, K), and in a tie the first of them, or 1 of two.
    """
    scores = round_significant(p)
    missing = np.isnan(columns(scores)).any(axis=1)
    if scores.ndim == 1:
        cutoff = _cutoff(threshold, scores.size)
        chosen = (scores >= cutoff).astype(np.float64)
        missing |= np.isnan(cutoff)
    else:
        if np.shape(threshold) == scores.shape:
            scores = scores - np.asarray(threshold)
        elif np.ndim(threshold) or threshold != 0.5:
            given = "an array" if np.ndim(threshold) else repr(threshold)
            raise MetricError(
                f"threshold={given} means nothing for {scores.shape[1]} columns of "
                "probabilities, of which the largest is predicted; omit it."
            )
        second = scores.shape[1] == 2 and scores[:, 1] >= scores[:, 0]
        chosen = np.where(second, 1.0, scores.argmax(axis=1))
    chosen[missing] = np.nan
    return chosen


def predicted_as(p: Array, threshold: ArrayLike) -> Floats:
    """Return 1 for the predicted class and 0 for others, in the shape of p."""
    chosen = predicted_class(p, threshold)
    if p.ndim == 1:
        return chosen
    shown: Floats = (chosen[:, None] == np.arange(p.shape[1])).astype(float)
    shown[np.isnan(chosen)] = np.nan
    return shown


def _cutoff(threshold: ArrayLike, n: int) -> Floats:
    """Return one threshold, or one per record, rounded in the same way as scores."""
    cutoff = round_significant(inputs.real_array(threshold, "threshold"))
    if cutoff.ndim > 1:
        raise inputs.wrong_shape("threshold", cutoff, "one number, or (n,)")
    if cutoff.ndim:
        inputs.same_length(n, cutoff.size, "threshold")
    return cutoff


# ---- metrics of predicted classes and probabilities, for two or more classes ----

_ROW_SUM_TOLERANCE = 1e-5  # softmax in single precision sums to one within 1e-6
MAX_OUTSIDE = 1e-6  # largest distance of a probability from 0 to 1 that is rounding
MAX_OFF_ONE = 1e-3  # largest distance of a sum of probabilities from 1 that is rounding


def without_noise(p: Floats) -> tuple[Floats, Bools, Bools]:
    """Return probabilities without rounding noise, and which records had it or are bad.

    Values are clipped to 0 to 1, and those of several classes are divided by their sum.
    The last array marks the records that do not have probabilities.
    """
    kept = np.clip(p, 0, 1)
    off = np.abs(columns(p) - columns(kept)).max(axis=1)
    bad = off > MAX_OUTSIDE
    if p.ndim == 1:
        return kept, off > 0, bad
    total = kept.sum(axis=1)
    uneven = np.abs(total - 1) > _ROW_SUM_TOLERANCE
    kept[uneven] /= np.maximum(total[uneven], MAX_OUTSIDE)[:, None]
    return kept, (off > 0) | uneven, bad | (np.abs(total - 1) > MAX_OFF_ONE)


def accuracy(y: ArrayLike, p: ArrayLike, threshold: ArrayLike = 0.5) -> float:
    """Share of records whose class is predicted correctly.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome: 0 or 1, or the codes 0 … K-1.
    p : array_like of shape (n,) or (n, K)
        Probability (or score) of 1, or of each class.
    threshold : float or array_like of shape (n,), default 0.5
        Threshold for two classes: 1 is predicted if `p` is at least the threshold,
        which may differ between records. (With more classes, the class with the largest
        `p` is predicted, and the first of them in a tie.) Comparisons are made after
        rounding to 12 significant digits, so that 0.5 - 1e-16 is at least 0.5.

    Returns
    -------
    float
        The share; NaN if a value of `p` or a threshold is NaN, or there are no records.

    Raises
    ------
    MetricError
        If the shapes or outcomes are not valid, or a threshold is given for K classes.

    Examples
    --------
    >>> accuracy([0, 1, 1, 1], [0.2, 0.9, 0.4, 0.5])
    0.75
    >>> accuracy([0, 2], [[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]])
    0.5
    """
    return inputs.mean_of(casewise_accuracy(y, p, threshold))


def casewise_accuracy(y: ArrayLike, p: ArrayLike, threshold: ArrayLike = 0.5) -> Floats:
    """Whether each record's class is predicted correctly, as 1 or 0.

    Parameters
    ----------
    y, p, threshold
        As in `accuracy`, which is the mean of these values.

    Returns
    -------
    ndarray of shape (n,)
        1 for a correct prediction, 0 for a wrong one; NaN if `p` or the threshold is
        NaN.

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


def brier(y: ArrayLike, p: ArrayLike) -> float:
    """Brier score: mean squared distance between probabilities and outcomes.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome: 0 or 1, or the codes 0 … K-1.
    p : array_like of shape (n,) or (n, K)
        Probability of 1, or of each class (rows that sum to one).

    Returns
    -------
    float
        For two classes, the mean of (p - y)², between 0 and 1. For K classes the
        squares are summed over the classes, and the score lies between 0 and 2, so that
        two columns give twice the value of one. NaN if a value of `p` is not a
        probability.

    Raises
    ------
    MetricError
        If the shapes or outcomes are not valid.

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
    return inputs.mean_of(casewise_brier(y, p))


def casewise_brier(y: ArrayLike, p: ArrayLike) -> Floats:
    """Squared distance between each record's probabilities and its outcome.

    Parameters
    ----------
    y, p
        As in `brier`, which is the mean of these losses.

    Returns
    -------
    ndarray of shape (n,)
        The losses; NaN if `p` is not a probability.

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
    given: Floats = proper_probabilities(p).astype(np.float64, copy=False)
    if given.ndim == 1:
        return (given - codes) ** 2
    happened = codes[:, None] == np.arange(given.shape[1])
    return np.asarray(((given - happened) ** 2).sum(axis=1))


def log_loss(y: ArrayLike, p: ArrayLike) -> float:
    """Mean negative logarithm of the predicted probability of the observed class.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome: 0 or 1, or the codes 0 … K-1.
    p : array_like of shape (n,) or (n, K)
        Probability of 1, or of each class (rows that sum to one). As in scikit-learn,
        probabilities are clipped to a distance from 0 and 1 that is the precision of
        their type (2.2e-16 for double): the loss of a record that is predicted wrongly
        with certainty is 36, and not infinite.

    Returns
    -------
    float
        The loss in nats; NaN if a value of `p` is not a probability.

    Raises
    ------
    MetricError
        If the shapes or outcomes are not valid.

    References
    ----------
    Good (1952), JRSS B 14:107.

    Examples
    --------
    >>> round(log_loss([0, 1], [0.5, 0.5]), 4)
    0.6931
    """
    return inputs.mean_of(casewise_log_loss(y, p))


def casewise_log_loss(y: ArrayLike, p: ArrayLike) -> Floats:
    """Negative logarithm of the predicted probability of each record's class.

    Parameters
    ----------
    y, p
        As in `log_loss`, which is the mean of these losses.

    Returns
    -------
    ndarray of shape (n,)
        The losses; NaN if `p` is not a probability.

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
    given: Floats = proper_probabilities(p).astype(np.float64, copy=False)
    given = np.clip(given, margin, 1 - margin)
    if given.ndim == 1:
        given = np.abs((codes != 1) - given)  # that of 1, or of 0
    else:
        given = given[np.arange(codes.size), codes]
    return np.asarray(-np.log(given))


def proper_probabilities(p: Array) -> Array:
    """Return p with NaN for records whose values are not probabilities."""
    within: Bools = (p >= 0) & (p <= 1)
    if p.ndim == 1:
        return p if within.all() else np.where(within, p, np.nan)
    proper: Bools = np.asarray(columns(within).all(axis=1))
    off_one = np.abs(np.where(proper[:, None], p, np.nan).sum(axis=1) - 1)
    proper &= off_one <= _ROW_SUM_TOLERANCE
    return p if proper.all() else np.where(proper[:, None], p, np.nan)
