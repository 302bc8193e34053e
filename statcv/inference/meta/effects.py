"""Meta-analysis of several data sets or sites by a random-effects model.

Each estimate varies about the true value of its own data set, and the true values vary
about a common mean with standard deviation tau.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from statcv.arguments import check_level, one_of
from statcv.errors import DataError
from statcv.metrics.areas.placements import normal_quantile
from statcv.numeric.arrays import Floats
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
