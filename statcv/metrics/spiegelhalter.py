"""Spiegelhalter's test of calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import plural
from statcv.metrics._records import binary_probabilities, improper


@dataclass(frozen=True)
class SpiegelhalterTest:
    """Spiegelhalter's test that probabilities are those of the outcome.

    Attributes
    ----------
    statistic, p_value : float
        Standard normal where they are; two-sided p-value.
    reason : str
        Why a number is missing or says little; empty where all is well.
    """

    statistic: float
    p_value: float
    reason: str = ""


def spiegelhalter_test(y: ArrayLike, p: ArrayLike) -> SpiegelhalterTest:
    """Test whether each record was positive with the probability given to it.

    The Brier score less its expectation were the probabilities true, over its
    standard deviation. Records are taken as independent.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.

    Returns
    -------
    SpiegelhalterTest
        NaN with the reason where a `p` is no probability, or where the Brier score
        cannot vary (every `p` is 0, ½ or 1). Where what was called impossible
        happened, p is 0 whatever the statistic, and the reason counts.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or the lengths differ.

    References
    ----------
    Spiegelhalter (1986), Statistics in Medicine 5:421, section 4.

    Examples
    --------
    >>> test = spiegelhalter_test([0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.9])
    >>> round(test.statistic, 3), round(test.p_value, 3)
    (0.258, 0.796)
    """
    from scipy.special import ndtr

    positive, p = binary_probabilities(y, p)
    if odd := improper(p):
        return SpiegelhalterTest(np.nan, np.nan, odd)
    excess = float(((positive - p) * (1 - 2 * p)).sum())
    variance = float(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    impossible = int((np.where(positive, p, 1 - p) == 0).sum())
    if impossible:
        statistic = float(excess / np.sqrt(variance)) if variance else np.inf
        happened = f"{plural(impossible, 'record')} had probability 0 and happened"
        return SpiegelhalterTest(statistic, 0.0, happened)
    if variance == 0:
        fixed = "every p is 0, 1/2 or 1, so the Brier score does not vary"
        return SpiegelhalterTest(np.nan, np.nan, fixed)
    statistic = float(excess / np.sqrt(variance))
    return SpiegelhalterTest(statistic, 2 * float(ndtr(-abs(statistic))))
