"""Wilcoxon's signed-rank test of paired differences, exact with ties and zeros."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.arguments import check_level, one_of
from statcv.errors import DataError
from statcv.inference.tests.htest import check_alternative
from statcv.metrics import midrank, round_significant
from statcv.metrics.areas.placements import normal_quantile
from statcv.numeric.arrays import ArrayLike, Floats, Numbers
from statcv.tables import Printed

ZEROS = ("pratt", "wilcox")
LARGEST_EXACT = 200  # differences; with more, the normal approximation is as good


@dataclass(frozen=True, repr=False)
class SignedRank(Printed):
    """The result of Wilcoxon's signed-rank test.

    Attributes
    ----------
    statistic : float
        V, the sum of the ranks of the positive differences.
    p_value : float
    alternative : str
    median, lower, upper, level : float
        Hodges and Lehmann's estimate of the centre of the differences, which is the
        median of all pairwise means, and its interval, which has at least its nominal
        level.
    n, n_zero : int
        Number of differences, and of those that are 0.
    exact : bool
        Whether p is exact rather than by the normal approximation.
    reason : str
        Reason why a number is missing or says little; empty otherwise.

    Examples
    --------
    >>> from statcv.inference.tests.signed_rank import signed_rank
    >>> test = signed_rank([0.03, 0.02, -0.01, 0.06, 0.04])
    >>> test.statistic, round(test.p_value, 3), round(test.median, 3), test.exact
    (14.0, 0.125, 0.03, True)
    """

    statistic: float
    p_value: float
    alternative: str
    median: float
    lower: float
    upper: float
    level: float
    n: int
    n_zero: int
    exact: bool
    reason: str = ""


def signed_rank(
    differences: ArrayLike,
    *,
    alternative: str = "two-sided",
    zeros: str = "pratt",
    level: float = 0.95,
) -> SignedRank:
    """Test whether paired differences are symmetric about 0.

    Differences are ranked by absolute value; those that are equal to 12 significant
    digits share a mid-rank. With up to 200 differences p is exact given the ranks,
    even with ties and zeros, since all patterns of signs are counted.

    Parameters
    ----------
    differences : array_like of shape (n,)
    alternative : {"two-sided", "greater", "less"}
        Alternative for the centre of the differences, compared with 0.
    zeros : {"pratt", "wilcox"}
        Treatment of differences of 0: "pratt" ranks them with the others and then
        omits them, "wilcox" omits them before ranking.
    level : float, default 0.95
        Confidence level of the interval of the centre.

    Returns
    -------
    SignedRank
        Its numbers are NaN, with the reason, if there are no differences or one is not
        finite; p is 1 if all are 0.

    Raises
    ------
    DataError
        If the differences are not one-dimensional.
    ArgumentError
        If an argument is out of range.

    References
    ----------
    Wilcoxon (1945), Biometrics Bulletin 1:80; Pratt (1959), JASA 54:655 (zeros);
    Hodges & Lehmann (1963), Ann. Math. Stat. 34:598.

    Examples
    --------
    >>> found = signed_rank([0.4, 1.2, -0.3, 0.8, 0.9, 0.1])
    >>> found.statistic, found.p_value
    (19.0, 0.09375)
    """
    check_alternative(alternative)
    one_of(zeros, ZEROS, "zeros")
    check_level(level)
    given = np.asarray(differences, dtype=float)
    if given.ndim != 1:
        raise DataError(
            f"differences must be one-dimensional, not of shape {given.shape}."
        )
    # differences that agree to 12 digits tie
    values = round_significant(given)
    missing = int((~np.isfinite(values)).sum())
    if missing or not len(values):
        why = f"{missing} of {len(values)} differences are not finite"
        return _nothing(alternative, level, len(values), why if missing else "no pairs")
    n_zero = int((values == 0).sum())
    ranked = values if zeros == "pratt" else values[values != 0]
    rank = midrank(np.abs(ranked))
    # Pratt ranks zeros and then drops them
    rank, sign = rank[ranked != 0], np.sign(ranked[ranked != 0])
    statistic = float(rank[sign > 0].sum())
    exact = len(values) <= LARGEST_EXACT
    tails = _exact_tails(rank, statistic) if exact else _normal_tails(rank, statistic)
    both = min(1.0, 2 * min(tails))
    p = {"greater": tails[0], "less": tails[1]}.get(alternative, both)
    # Walsh averages, whose median is that of Hodges and Lehmann
    one, other = np.triu_indices(len(given))
    walsh = np.sort((given[one] + given[other]) / 2)
    lower, upper, short = _interval(walsh, len(values), level)
    limits, n = (lower, upper, level), len(values)
    tested = statistic, p, alternative, float(np.median(walsh))
    reason = "every difference is 0" if n_zero == n else short
    return SignedRank(*tested, *limits, n, n_zero, exact, reason)


def _nothing(alternative: str, level: float, n: int, reason: str) -> SignedRank:
    nan = float("nan")
    return SignedRank(nan, nan, alternative, nan, nan, nan, level, n, 0, True, reason)


def _null(doubled: Numbers) -> Floats:
    """Return the null distribution of twice the sum of the positive ranks."""
    share = np.zeros(int(doubled.sum()) + 1)
    share[0] = 1.0
    # each rank is added to the sum or not, with probability one half
    for rank in doubled:
        moved = share / 2
        share = moved.copy()
        share[rank:] += moved[: len(moved) - rank]
    return share


def _exact_tails(rank: Floats, statistic: float) -> tuple[float, float]:
    """Return P(V ≥ v) and P(V ≤ v) over all patterns of signs."""
    share = _null(np.rint(2 * rank).astype(np.intp))
    place = round(2 * statistic)
    above, below = share[place:].sum(), share[: place + 1].sum()
    return min(1.0, float(above)), min(1.0, float(below))


def _normal_tails(rank: Floats, statistic: float) -> tuple[float, float]:
    """Return the tails by the normal distribution, with continuity correction."""
    from scipy.special import ndtr

    if not len(rank):
        return 1.0, 1.0
    excess = statistic - rank.sum() / 2
    sd = np.sqrt((rank**2).sum()) / 2
    return float(ndtr((0.5 - excess) / sd)), float(ndtr((0.5 + excess) / sd))


def _interval(walsh: Floats, n: int, level: float) -> tuple[float, float, str]:
    """Return the interval between sorted pairwise means that inverts the test."""
    if n <= LARGEST_EXACT:
        reached = np.cumsum(_null(2 * np.arange(1, n + 1))[::2])
        cut = int(np.searchsorted(reached, (1 - level) / 2 * (1 + 1e-12), side="right"))
    else:
        # mean n(n + 1)/4 and variance n(n + 1)(2n + 1)/24 under the null
        spread = np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        below = n * (n + 1) / 4 - normal_quantile(level) * spread
        cut = int(np.ceil(below - 0.5))  # with the continuity correction that p has
    if cut < 1:
        why = f"{n} differences are too few for an interval of level {level:g}"
        return np.nan, np.nan, why
    return float(walsh[cut - 1]), float(walsh[len(walsh) - cut]), ""
