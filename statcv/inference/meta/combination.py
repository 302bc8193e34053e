"""Combined p-values of several data sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import ArgumentError, DataError
from statcv.inference.tests.htest import check_alternative
from statcv.numeric.arrays import Floats
from statcv.tables import Printed


@dataclass(frozen=True, repr=False)
class CombinedP(Printed):
    """The combined p-value of several independent tests.

    Attributes
    ----------
    method : {"Fisher", "Stouffer"}
    statistic : float
    df : float
        Degrees of freedom of Fisher's χ²; NaN for Stouffer's z.
    p_value : float
    n : int
        Number of p-values that were combined.
    reason : str
        The reason why a number is missing or uninformative; otherwise empty.

    Examples
    --------
    >>> from statcv.inference.meta.combination import fisher
    >>> both = fisher([0.04, 0.10])
    >>> round(both.statistic, 2), both.df, round(both.p_value, 3)
    (11.04, 4.0, 0.026)
    """

    method: str
    statistic: float
    df: float
    p_value: float
    n: int
    reason: str = ""


def one_sided(p: ArrayLike, direction: ArrayLike, alternative: str) -> Floats:
    """Turn two-sided p-values into one-sided ones by the signs of their statistics.

    The statistics must be symmetric about 0 under the null hypothesis.

    Parameters
    ----------
    p : array_like of shape (k,)
        Two-sided p-values.
    direction : array_like of shape (k,)
        Numbers with the signs of the statistics.
    alternative : {"greater", "less"}
        The side of the p-values that are returned.

    Examples
    --------
    >>> one_sided([0.04, 0.2], [1.5, -0.3], "greater").tolist()
    [0.02, 0.9]
    """
    check_alternative(alternative)
    half, sign = np.asarray(p, dtype=float) / 2, np.sign(direction)
    # a two-sided p is halved on the side that the statistic is on
    toward = sign if alternative == "greater" else -sign
    return np.where(toward == 0, 0.5, np.where(toward > 0, half, 1 - half))


def fisher(p: ArrayLike) -> CombinedP:
    """Combine independent p-values by Fisher's method: −2 Σ log p is χ² with 2k df.

    Two-sided p-values are combined without regard to the directions of the effects.

    Parameters
    ----------
    p : array_like of shape (k,)
        Independent p-values.

    Returns
    -------
    CombinedP
        The p-value is NaN, with the reason, if any of ``p`` is NaN.

    Raises
    ------
    DataError
        If ``p`` is empty, or a p-value is not between 0 and 1.

    References
    ----------
    Fisher (1932), Statistical Methods for Research Workers, 4th ed., §21.1.

    Examples
    --------
    >>> round(fisher([0.38976, 0.12437, 0.04829, 0.03233]).p_value, 5)
    0.01498
    """
    from scipy.special import chdtrc

    values, missing = _checked(p)
    # each −2 log p is χ² with 2 degrees of freedom
    df = 2.0 * len(values)
    if missing:
        return CombinedP("Fisher", np.nan, df, np.nan, len(values), missing)
    with np.errstate(divide="ignore"):
        statistic = float(-2 * np.log(values).sum()) + 0.0
    tail, n = float(chdtrc(df, statistic)), len(values)
    return CombinedP("Fisher", statistic, df, tail, n, _zero(values))


def stouffer(
    p: ArrayLike,
    *,
    direction: ArrayLike | None = None,
    alternative: str = "two-sided",
    weights: ArrayLike | None = None,
) -> CombinedP:
    """Combine independent p-values by Stouffer's method, with weights.

    The statistic is Σ w z / √Σ w², where z are normal deviates. The power is greatest
    with weights 1/se; weights √n come near to it if the data sets differ only in size.

    Parameters
    ----------
    p : array_like of shape (k,)
        Two-sided p-values whose sides are given by `direction`; or, without
        `direction`, p-values of any kind, which are combined unchanged, by
        z = Φ⁻¹(1 − p).
    direction : array_like of shape (k,), optional
        Numbers with the signs of the statistics.
    alternative : {"two-sided", "greater", "less"}
        The side of the combined p-value; used only with `direction`.
    weights : array_like of shape (k,), optional
        Weights of the deviates; equal unless given.

    Returns
    -------
    CombinedP
        The p-value is NaN, with the reason, if any of ``p`` is NaN or if infinite
        deviates have opposite signs.

    Raises
    ------
    DataError
        If ``p`` is empty, or a p-value is not between 0 and 1.
    ArgumentError
        If the weights are not k finite, non-negative numbers with a positive sum.

    References
    ----------
    Stouffer et al. (1949), The American Soldier; Lipták (1958), Publ. Math. Inst.
    Hung. Acad. Sci. 3:171; Zaykin (2011), J. Evol. Biol. 24:1836 (weights).

    Examples
    --------
    >>> round(stouffer([0.1, 0.1]).p_value, 4)
    0.035
    >>> stouffer([0.1, 0.1], direction=[1, -1]).p_value
    1.0
    """
    from scipy.special import ndtr, ndtri

    check_alternative(alternative)
    values, missing = _checked(p)
    k = len(values)
    scale = np.ones(k) if weights is None else np.asarray(weights, dtype=float)
    if scale.shape != (k,):
        raise ArgumentError(f"weights must be {k} numbers, one per p-value.")
    if not (np.isfinite(scale).all() and (scale >= 0).all() and scale.any()):
        raise ArgumentError("weights must be finite, not negative, and some above 0.")
    if missing:
        return CombinedP("Stouffer", np.nan, np.nan, np.nan, k, missing)
    if direction is None:
        # small p-values are large deviates
        z, side = -ndtri(values), "greater"
    else:
        sign, side = np.sign(np.asarray(direction, dtype=float)), alternative
        z = np.where(sign == 0, 0.0, sign * -ndtri(values / 2))
    used = scale > 0
    if np.isposinf(z[used]).any() and np.isneginf(z[used]).any():
        why = "the p-values contradict each other: one deviate is ∞ and another −∞"
        return CombinedP("Stouffer", np.nan, np.nan, np.nan, k, why)
    # a weighted sum of normal deviates has variance Σ w²
    statistic = float(scale[used] @ z[used] / np.sqrt((scale**2).sum()))
    tails = {"greater": ndtr(-statistic), "less": ndtr(statistic)}
    tail = float(tails.get(side, 2 * ndtr(-abs(statistic))))
    return CombinedP("Stouffer", statistic, np.nan, tail, k, _zero(values[used]))


def _checked(p: ArrayLike) -> tuple[Floats, str]:
    """Return p-values as an array, and a remark on those that are missing."""
    values = np.asarray(p, dtype=float)
    if values.ndim != 1 or not len(values):
        raise DataError(
            f"p-values must be a list of one or more, not an array of shape "
            f"{values.shape}."
        )
    outside = values[(values < 0) | (values > 1)]
    if len(outside):
        raise DataError(f"{outside[0]:g} is not a p-value: it is not between 0 and 1.")
    missing = int(np.isnan(values).sum())
    if not missing:
        return values, ""
    said = f"{missing} of {len(values)} data sets have no p-value; exclude them, or use"
    return values, f"{said} a test that has a p-value for each"


def _zero(values: Floats) -> str:
    zeros = int((values == 0).sum())
    if not zeros:
        return ""
    return f"{zeros} of {len(values)} p-values are 0, which determines the result"
