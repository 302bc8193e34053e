"""Scores that are equal up to rounding error.

Scores that are equal in exact arithmetic can differ in the sixteenth digit, and a
ranking would take that noise for signal, so scores are rounded to 12 significant
digits before they are ranked. Predicted probabilities of two classes are first rounded
to 12 decimals, so that they tie near 0 as they do near 1, and the result does not
depend on which class is positive.
"""

from __future__ import annotations

import numpy as np

from statcv.errors import MetricError
from statcv.metrics.inputs import real_array, real_number
from statcv.numeric.arrays import ArrayLike, Bools, Floats, Numbers

TIE_TOL = 1e-12  # default tolerance, to which rounded probabilities are exact already
_MOST_DECIMALS = 15  # decimals of probabilities near 0 that those near 1 have too
_DECIMALS = 12
_EXTREME = 1e-9  # distance from 0 and 1 at which 12 decimals lose digits
_LEAST = 2.0**-53  # distance of a double from 1
_DOUBLE_DIGITS = 16  # a double holds no more significant digits than these
_POWERS = np.array([float(f"1e{k}") for k in range(301)])  # each correctly rounded


def round_significant(score: ArrayLike, tie_tol: float = 1e-12) -> Floats:
    """Round to significant digits, so that equal scores tie.

    Parameters
    ----------
    score : array_like
        Numbers in an array of any shape.
    tie_tol : float, default 1e-12
        Relative tolerance, at least 0 and below 1: ``round(-log10(tie_tol))``
        digits are kept. With 0, or less than double precision, nothing is rounded.

    Returns
    -------
    ndarray of float
        The rounded numbers; 0, infinities and NaN are unchanged.

    Raises
    ------
    MetricError
        If `tie_tol` is negative, NaN, or at least 1, or `score` is not numeric.

    Notes
    -----
    The predictions of an intercept-only model whose training sets have equal class
    totals differ by only 5e-17; without rounding, their auROC is not 0.5. Two numbers
    on either side of a rounding boundary remain different, which no grid can avoid.

    Examples
    --------
    >>> round_significant([0.1 + 0.2, 0.3]).tolist()
    [0.3, 0.3]
    >>> round_significant([123456.0, 0.00123456], tie_tol=1e-3).tolist()
    [123000.0, 0.00123]
    """
    values = real_array(score, "score").astype(np.float64, order="C")
    digits = _digits(tie_tol)
    if digits >= _DOUBLE_DIGITS:
        return values
    size = np.abs(values)
    ordinary = (size > 0) & (size < np.inf)  # 0, infinities and NaN stay
    exponent = np.floor(np.log10(size[ordinary])).astype(np.intp)
    mantissa = np.rint(_shifted(values[ordinary], digits - 1 - exponent))
    carried = np.abs(mantissa) >= _POWERS[digits]  # 9.99… became 10: another digit
    mantissa[carried] /= 10
    exponent[carried] += 1
    values[ordinary] = _shifted(mantissa, exponent - digits + 1)
    return values


def _digits(tie_tol: float) -> int:
    """Check a tolerance for ties, and return the number of digits that it keeps."""
    if not 0 <= real_number(tie_tol, "tie_tol") < 1:
        raise MetricError(f"tie_tol must be at least 0 and below 1, not {tie_tol!r}.")
    return _DOUBLE_DIGITS if tie_tol == 0 else max(1, round(-np.log10(tie_tol)))


def begins_value(
    rising: Floats, tie_tol: float = 1e-12, known: Bools | None = None
) -> Bools:
    """Return whether each of some rising numbers differs from the one before it.

    Numbers are equal if they are after `round_significant`; only numbers that are near
    each other have to be rounded.

    Parameters
    ----------
    rising : numpy.ndarray, shape (n,)
        Numbers in rising order; NaN, which comes last, differs from all.
    tie_tol : float, default 1e-12
        As in `round_significant`.
    known : numpy.ndarray of bool, shape (n,), optional
        Which numbers are not compared, and begin another series that rises.

    Examples
    --------
    >>> begins_value(np.array([0.1, 0.3, 0.1 + 0.2, 0.4])).tolist()
    [True, True, False, True]
    """
    _digits(tie_tol)
    new = np.ones(len(rising), dtype=bool)
    with np.errstate(invalid="ignore", over="ignore"):  # infinite numbers
        one, other = rising[:-1], rising[1:]
        size = np.maximum(-one, other)  # size of the larger one, as they rise
        # by more than a unit of the last digit that is kept
        new[1:] = other - one > 40 * tie_tol * size
    if known is not None:
        new |= known
    near = np.flatnonzero(~new)
    near = near[rising[near] != rising[near - 1]]  # as most tied numbers are equal
    if len(near):
        one, other = rising[near - 1], rising[near]
        new[near] = round_significant(one, tie_tol) != round_significant(other, tie_tol)
    return new


def round_probabilities(p: ArrayLike) -> Floats:
    """Round probabilities of one of two classes so that either class can be positive.

    A double next to 1 stands for every probability within 1e-16 of it, while next to
    0 there are doubles down to 1e-308: two confident predictions would tie for one
    class and be ranked for the other. Rounded to 12 decimals, p ties exactly where
    1 - p does. Where some are nearer to 0 or 1 than a thousand such steps, all are
    replaced by log-odds of 12 decimals, among which those beyond double precision tie.

    Parameters
    ----------
    p : array_like
        Probabilities in an array of any shape, or other numbers whose absolute error
        matters.

    Returns
    -------
    ndarray of float
        The rounded probabilities, or their log-odds.

    Examples
    --------
    >>> round_probabilities([0.1 + 0.2, 1.0]).tolist()
    [0.3, 1.0]
    >>> round_probabilities([1e-20, 1e-18, 1e-13, 1 - 1e-14]).round(2).tolist()
    [-36.74, -36.74, -29.93, 32.24]
    """
    values = real_array(p, "p").astype(np.float64, copy=False)
    side = np.minimum(values, 1 - values)
    if ((side > 0) & (side < _EXTREME)).any() and not (side < 0).any():
        from scipy.special import logit

        inside = np.clip(np.round(values, _MOST_DECIMALS), _LEAST, 1 - _LEAST)
        return np.asarray(np.round(logit(inside), _DECIMALS))
    return np.asarray(np.round(values, _DECIMALS))


def _shifted(values: Floats, places: Numbers) -> Floats:
    """Return values × 10^places, rounded only once if 10^places is a double."""
    near = np.clip(places, -300, 300)
    far = places - near
    with np.errstate(over="ignore", under="ignore"):
        for part in (near, far):  # correctly rounded, and exact where the power is 1
            up, down = _POWERS[np.maximum(part, 0)], _POWERS[np.maximum(-part, 0)]
            values = values * up / down
    return values
