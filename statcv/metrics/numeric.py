"""Metrics of a continuous outcome."""

from __future__ import annotations

import numpy as np

from statcv.metrics import inputs
from statcv.numeric.arrays import ArrayLike, Floats

_SAME = 1e-14  # relative distance from a mean that is due to rounding


def mse(y: ArrayLike, yhat: ArrayLike) -> float:
    """Mean squared error.

    Parameters
    ----------
    y, yhat : array_like of shape (n,)
        Observed and predicted values.

    Returns
    -------
    float
        The error; NaN if a value is NaN or there are no records.

    Raises
    ------
    MetricError
        If the arrays are not numeric and one-dimensional, or differ in length.

    Examples
    --------
    >>> mse([1, 2, 3], [1, 2, 6])
    3.0
    """
    return inputs.mean_of(casewise_mse(y, yhat))


def casewise_mse(y: ArrayLike, yhat: ArrayLike) -> Floats:
    """Squared error of each record.

    Parameters
    ----------
    y, yhat
        As in `mse`, which is the mean of these losses.

    Returns
    -------
    ndarray of shape (n,)
        The squared errors.

    Raises
    ------
    MetricError
        As in `mse`.

    Examples
    --------
    >>> casewise_mse([1, 2, 3], [1, 2, 6]).tolist()
    [0.0, 0.0, 9.0]
    """
    return _squares(_errors(y, yhat))


def rmse(y: ArrayLike, yhat: ArrayLike) -> float:
    """Root mean squared error, in the unit of the outcome.

    Parameters
    ----------
    y, yhat : array_like of shape (n,)
        Observed and predicted values.

    Returns
    -------
    float
        The error; NaN if a value is NaN or there are no records.

    Raises
    ------
    MetricError
        If the arrays are not numeric and one-dimensional, or differ in length.

    Examples
    --------
    >>> rmse([1, 2, 3, 4], [1, 2, 3, 6])
    1.0
    """
    return float(np.sqrt(mse(y, yhat)))


def mae(y: ArrayLike, yhat: ArrayLike) -> float:
    """Mean absolute error.

    Parameters
    ----------
    y, yhat : array_like of shape (n,)
        Observed and predicted values.

    Returns
    -------
    float
        The error; NaN if a value is NaN or there are no records.

    Raises
    ------
    MetricError
        If the arrays are not numeric and one-dimensional, or differ in length.

    Examples
    --------
    >>> mae([1, 2, 3], [1, 2, 6])
    1.0
    """
    return inputs.mean_of(casewise_mae(y, yhat))


def casewise_mae(y: ArrayLike, yhat: ArrayLike) -> Floats:
    """Absolute error of each record.

    Parameters
    ----------
    y, yhat
        As in `mae`, which is the mean of these losses.

    Returns
    -------
    ndarray of shape (n,)
        The absolute errors.

    Raises
    ------
    MetricError
        As in `mae`.

    Examples
    --------
    >>> casewise_mae([1, 2, 3], [1, 2, 6]).tolist()
    [0.0, 0.0, 3.0]
    """
    return np.asarray(np.abs(_errors(y, yhat)))


def r2(y: ArrayLike, yhat: ArrayLike, baseline: ArrayLike | None = None) -> float:
    """R²: the share of the variation about a baseline that the prediction explains.

    R² is 1 - Σ(y - ŷ)² / Σ(y - baseline)². It is negative if the baseline predicts
    better.

    In :func:`statcv.cv` the baseline of the metric ``"r2"`` is the mean of the held-out
    outcomes, as in scikit-learn's ``r2_score`` of all held-out predictions. The metric
    is undefined for a fold of one record. That mean is known only after the fact: under
    leave-one-out even the best model without predictors, the training mean, has an R²
    of 1 - (n / (n - 1))². The baseline of the metric ``"r2_training"`` is the mean of
    each training set (Q², which has the form of the Brier skill score), for which that
    model has the value 0.

    Parameters
    ----------
    y, yhat : array_like of shape (n,)
        Observed and predicted values.
    baseline : array_like of shape (n,) or float, optional
        Prediction without a model; the mean of `y` by default.

    Returns
    -------
    float
        The share; NaN if the baseline has no error (up to rounding), if a value is
        NaN, or if there are no records.

    Raises
    ------
    MetricError
        If the arrays are not numeric and one-dimensional, or differ in length.

    Examples
    --------
    >>> r2([1, 2, 3, 4], [1, 2, 3, 3])
    0.8
    >>> r2([1, 2, 3, 4], [1, 2, 3, 3], baseline=[3, 3, 2, 2])
    0.9
    """
    if baseline is None:
        baseline = inputs.mean_of(inputs.vector(y, "y"))
    return inputs.in_one_group(r2_by_group, y, yhat, baseline=baseline)


def r2_by_group(
    y: ArrayLike,
    yhat: ArrayLike,
    group: ArrayLike,
    groups: int,
    baseline: ArrayLike | None = None,
) -> Floats:
    """R² in each of many groups of records, in one computation.

    Parameters
    ----------
    y, yhat, baseline
        As in `r2`; the default baseline is the mean of `y` in the group.
    group : array_like of int, shape (n,)
        Group of each record, from 0.
    groups : int
        Number of groups.

    Returns
    -------
    ndarray of shape (groups,)
        The share in each group; NaN where `r2` is.

    Raises
    ------
    MetricError
        As in `r2`.

    Examples
    --------
    >>> r2_by_group([1, 2, 3, 4], [1, 2, 3, 3], [0, 0, 1, 1], 3)
    array([ 1., -1., nan])
    """
    observed, own = inputs.vector(y, "y"), np.asarray(group)
    remaining = np.bincount(own, _squares(_errors(y, yhat)), groups)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        if baseline is None:
            size = np.bincount(own, None, groups)
            baseline = (np.bincount(own, observed, groups) / size)[own]
        reference = inputs.per_record(baseline, observed.size, "baseline")
        off = observed - reference
        removable = np.bincount(own, off**2, groups)
        apart = ~(np.abs(off) <= _SAME * np.abs(reference))
        known = (np.bincount(own, apart, groups) > 0) & (removable > 0)
        known &= ~np.isinf(removable)
        return np.where(known, 1 - remaining / removable, np.nan)


def _errors(y: ArrayLike, yhat: ArrayLike) -> Floats:
    observed, predicted = inputs.vector(y, "y"), inputs.vector(yhat, "yhat")
    inputs.same_length(observed.size, predicted.size, "yhat")
    with np.errstate(invalid="ignore", over="ignore"):
        return observed - predicted


def _squares(errors: Floats) -> Floats:
    with np.errstate(over="ignore"):
        squares: Floats = errors**2
    return squares
