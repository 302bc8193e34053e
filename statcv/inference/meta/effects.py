"""Meta-analysis of several data sets or sites by a random-effects model.

Each estimate varies about the true value of its own data set, and the true values vary
about a common mean with standard deviation tau.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from statcv.arguments import check_level, one_of
from statcv.errors import ArgumentError, DataError
from statcv.inference.tests.htest import check_alternative
from statcv.metrics.areas.placements import normal_quantile
from statcv.numeric.arrays import ArrayLike, Floats
from statcv.tables import Printed, Said, fields_of

METHODS = ("REML", "DL")
GRID = 60  # number of values of tau² in the grid for the likelihood


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomEffects(Printed):
    """The mean over data sets, and their heterogeneity.

    Attributes
    ----------
    estimate, se, lower, upper, level : float
        The mean, its standard error, and its interval with the confidence level.
    tau2, i2 : float
        Variance between data sets, and its share of the total variance of an
        estimate, from 0 to 1.
    q, p_heterogeneity : float
        Cochran's Q, and the p-value of the hypothesis that tau is 0.
    prediction_lower, prediction_upper : float
        Prediction interval for the true value of a further data set, by the t
        distribution with k − 2 degrees of freedom; NaN for two data sets.
    n : int
        Number of data sets.
    method : str
        How tau² and the interval were estimated.
    reason : str
        The reason why a number is missing or uninformative; otherwise empty.

    Examples
    --------
    >>> from statcv.inference import random_effects
    >>> mean = random_effects([0.02, 0.05, 0.03], [0.01, 0.02, 0.01])
    >>> round(mean.estimate, 3), round(mean.i2, 2), mean.n
    (0.028, 0.0, 3)
    """

    estimate: float
    se: float = np.nan
    lower: float = np.nan
    upper: float = np.nan
    tau2: float = np.nan
    i2: float = np.nan
    q: float = np.nan
    p_heterogeneity: float = np.nan
    prediction_lower: float = np.nan
    prediction_upper: float = np.nan
    level: float
    n: int
    method: str
    reason: str = ""

    def _said(self) -> Said:
        names = {"tau2": "tau", "i2": "I²", "q": "Q", "p_heterogeneity": "p of tau = 0"}
        said = {names.get(name, name): one for name, one in fields_of(self).items()}
        said["tau"] = float(np.sqrt(self.tau2))
        said["I²"] = "–" if np.isnan(self.i2) else f"{self.i2:.0%}"
        return "Mean over data sets or groups, and their heterogeneity", said


def random_effects(
    estimates: ArrayLike,
    ses: ArrayLike,
    level: float = 0.95,
    *,
    method: str = "REML",
    hartung_knapp: bool = True,
) -> RandomEffects:
    """Combine estimates of several data sets by a random-effects model.

    Parameters
    ----------
    estimates, ses : array_like of shape (k,)
        Estimate and standard error of each data set. A data set that lacks either
        (NaN), or whose standard error is 0, is excluded and counted in ``reason``.
    level : float, default 0.95
        Confidence level of the intervals.
    method : {"REML", "DL"}
        Estimator of tau²: restricted maximum likelihood, or the method of moments of
        DerSimonian and Laird.
    hartung_knapp : bool, default True
        Whether the standard error of the mean is estimated from the observed spread
        of the estimates and the interval uses t with k − 1 degrees of freedom.
        Otherwise the standard error follows from the weights and the interval is
        normal, which is too narrow for few data sets. If the estimates lie closer
        together than their standard errors explain, the standard error remains that
        of the weights (the modified variant), and ``method`` says so: otherwise the
        interval could be narrower than that of a fixed-effect model.

    Returns
    -------
    RandomEffects
        The numbers are NaN, with the reason, if fewer than two data sets remain; a
        single data set keeps its own estimate.

    Raises
    ------
    DataError
        If lengths differ, or a standard error is negative.
    ArgumentError
        If ``method`` or ``level`` is out of range.

    References
    ----------
    DerSimonian & Laird (1986), Controlled Clinical Trials 7:177; Hartung & Knapp
    (2001), Statistics in Medicine 20:3875; Röver, Knapp & Friede (2015), BMC Med.
    Res. Methodol. 15:99 (its modification); Higgins & Thompson (2002), Statistics in
    Medicine 21:1539 (I²); Higgins, Thompson & Spiegelhalter (2009), JRSS A 172:137
    (prediction); Viechtbauer (2005), J. Educ. Behav. Stat. 30:261 (REML).

    Examples
    --------
    >>> found = random_effects([0.10, 0.30, 0.35, 0.65], [0.1, 0.1, 0.1, 0.2])
    >>> round(found.estimate, 3), round(found.lower, 3), round(found.upper, 3)
    (0.306, -0.008, 0.62)
    >>> round(found.tau2, 4), round(found.i2, 2)
    (0.0182, 0.58)
    """
    from scipy.special import chdtrc, stdtrit

    one_of(method, METHODS, "method")
    check_level(level)
    every, errors = np.asarray(estimates, dtype=float), np.asarray(ses, dtype=float)
    if every.ndim != 1 or every.shape != errors.shape:
        raise DataError(
            f"estimates and ses must have the same length, one number per data set, "
            f"not shapes {every.shape} and {errors.shape}."
        )
    if (errors < 0).any():
        raise DataError(f"a standard error is negative: {errors[errors < 0][0]:g}.")
    known = np.isfinite(every) & np.isfinite(errors) & (errors > 0)
    y, variance = every[known], errors[known] ** 2
    reason = ""
    if not known.all():
        reason = (
            f"{int((~known).sum())} of {len(known)} data sets are excluded, because "
            "they have no estimate or no standard error above 0"
        )
    if len(y) < 2:
        few = "only one data set has" if len(y) else "no data set has"
        alone = float(y[0]) if len(y) else np.nan
        about: dict[str, Any] = {"method": method, "level": level, "n": len(y)}
        about["reason"] = f"{few} both; a meta-analysis needs two"
        return RandomEffects(estimate=alone, **about)
    # Cochran's Q about the mean of a common effect
    k, fixed = len(y), 1 / variance
    q = float(fixed @ (y - _mean(y, fixed)) ** 2)
    if method == "DL":  # by moments: Q minus its expectation, scaled, and at least 0
        scale = fixed.sum() - (fixed**2).sum() / fixed.sum()
        tau2 = max(0.0, float((q - k + 1) / scale))
    else:
        tau2 = _reml(y, variance)
    weights = 1 / (variance + tau2)
    mean = _mean(y, weights)
    se = float(1 / np.sqrt(weights.sum()))
    quantile, how = normal_quantile(level), f"{method}, normal"
    if hartung_knapp:
        # Hartung and Knapp scale the variance by the spread found, at least by 1
        spread = float(weights @ (y - mean) ** 2) / (k - 1)
        se *= float(np.sqrt(max(1.0, spread)))
        quantile = float(stdtrit(k - 1, (1 + level) / 2))
        how = f"{method}, Hartung–Knapp"
        if spread < 1 - 1e-9:  # REML of two data sets gives 1 up to rounding
            how += f" modified (factor 1 instead of {spread:.2g})"
    # Higgins and Thompson's typical variance within data sets
    typical = (k - 1) * fixed.sum() / (fixed.sum() ** 2 - (fixed**2).sum())
    half, beyond = quantile * se, np.nan
    if k > 2:
        # a further data set varies with tau² as well
        further = float(stdtrit(k - 2, (1 + level) / 2))
        beyond = further * float(np.sqrt(se**2 + tau2))
    else:
        few = "a prediction interval needs three data sets"
        reason = f"{reason}; {few}" if reason else few
    found = {"estimate": mean, "se": se, "lower": mean - half, "upper": mean + half}
    found |= {"prediction_lower": mean - beyond, "prediction_upper": mean + beyond}
    found |= {"tau2": tau2, "i2": float(tau2 / (tau2 + typical)), "q": q}
    found |= {"p_heterogeneity": float(chdtrc(k - 1, q)), "level": level}
    return RandomEffects(n=k, method=how, reason=reason, **found)


def _mean(y: Floats, weights: Floats) -> float:
    return float(weights @ y / weights.sum())


def _reml(y: Floats, variance: Floats) -> float:
    """Return tau² by restricted maximum likelihood.

    The likelihood can have several maxima: they are bracketed on a grid that starts at
    0, and the largest of those found is returned.
    """
    from scipy.optimize import brentq

    def likelihood(tau2: float) -> float:
        weights = 1 / (variance + tau2)
        rest = weights @ (y - _mean(y, weights)) ** 2
        return float(np.log(weights).sum() - np.log(weights.sum()) - rest) / 2

    def slope(tau2: float) -> float:
        weights = 1 / (variance + tau2)
        rest = weights**2 @ (y - _mean(y, weights)) ** 2
        return float(rest - weights.sum() + (weights**2).sum() / weights.sum()) / 2

    largest = float(np.ptp(y) ** 2 + variance.max())  # the slope is negative beyond
    # the likelihood may have several peaks, so that slopes are searched on a grid
    grid = np.concatenate([[0.0], largest * np.geomspace(1e-8, 1, GRID)])
    slopes = np.array([slope(tau2) for tau2 in grid])
    turns = np.flatnonzero((slopes[:-1] > 0) & (slopes[1:] <= 0))
    peaks = [0.0] if slopes[0] <= 0 else []
    to: dict[str, float] = {"xtol": 1e-16, "rtol": 1e-14}
    peaks += [float(brentq(slope, grid[i], grid[i + 1], **to)) for i in turns]
    return max(peaks, key=likelihood)


# ---- p-values of several data sets, combined ----


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
    >>> from statcv.inference.meta.effects import fisher
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

    values, missing = _p_values(p)
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
    values, missing = _p_values(p)
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


def _p_values(p: ArrayLike) -> tuple[Floats, str]:
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
