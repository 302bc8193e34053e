"""How far an estimate varies with the random folds, or with the sample of pairs.

The pairs that are held out are a balanced sample of all. Whether a pair is ranked
right depends on both of its records, and on the pair itself; in a balanced sample
every record has its share, so that what belongs to records is no matter of chance. What
is left varies as the residuals of an additive model of records do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ArgumentError
from statcv.folds import count_unlike
from statcv.inference.estimates.pairs import ConcordantPairs, concordant_pairs
from statcv.inference.estimates.values import values_by_repeat
from statcv.inference.scores import Scores
from statcv.metrics import Metric

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

LEAST_DF = 10  # of residuals, below which all variation is taken for theirs
SAME = 1e-12  # variance; what is less is rounding


def monte_carlo_sd(scores: Scores, metric: Metric, how: str, values: Floats) -> float:
    """Return how far an estimate of one repeat moves with the seed.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    values : numpy.ndarray
        Of the repeats, or folds.

    Returns
    -------
    float
        The sd of the values that there are. Of a single one what a sample of pairs
        tells of itself; NaN where nothing does.
    """
    known = values[~np.isnan(values)]
    if len(known) > 1:
        return float(known.std(ddof=1))
    if how != "paired" or len(known) < 1 or not metric.rank:
        return math.nan
    return sampling_sd(scores, metric)


def sampling_sd(scores: Scores, metric: Metric) -> float:
    """Return the Monte Carlo sd of a share of pairs, had from one sample of them.

    Of m among M pairs of two classes it is the root of (1 - m/M) s²/m, s² being the
    residual variance of an additive model of records, fitted by least squares to
    whether a pair is ranked right. Where counts of pairs differ by one between
    records, that adds what the records explain in so far. Where fewer than ten
    degrees of freedom are left for s², and where the sample is not balanced, the
    variance of all pairs stands for it, which errs on the wide side. Of several
    classes it is the mean over every two.

    Parameters
    ----------
    scores : Scores
        Of one repeat.
    metric : Metric

    Returns
    -------
    float
        NaN where the pairs are all that there are, or of no such sample, or where all
        are ranked alike, which tells nothing of the others.

    References
    ----------
    Cochran (1977), Sampling Techniques, chapter 8, on samples of every row and column.
    """
    listed = concordant_pairs(scores, metric) if is_sampled(scores) else None
    if listed is None or listed.repeats != 1 or np.isnan(listed.won).any():
        return math.nan
    sort = np.full(len(scores.y), -1)
    held = np.unique(scores.row)
    sort[held] = np.unique(scores.y[held], return_inverse=True)[1]
    variance = sum(
        _variance(listed, np.flatnonzero(listed.cell == cell), sort)
        for cell in range(listed.cells)
    )
    return math.sqrt(variance) / listed.cells if variance > SAME else math.nan


def is_sampled(scores: Scores) -> bool:
    """Tell whether the pairs held out are some of those that differ in outcome."""
    if not (scores.pairwise and scores.left.held.all()):
        return False
    drawn = len(scores.left.repeat) / len(scores.by_repeat)
    return bool(drawn < count_unlike(scores.y[np.unique(scores.row)]))


def _variance(listed: ConcordantPairs, where: Numbers, sort: Numbers) -> float:
    """Return the variance of the share in one cell over balanced samples.

    ``sort`` is equal for records that are no pair, and -1 for those in none.
    """
    first, second, won = listed.first[where], listed.second[where], listed.won[where]
    if listed.cells > 1 and len(where):  # of two classes
        sort = np.where(np.isin(sort, sort[[first[0], second[0]]]), sort, -1)
    members = np.flatnonzero(sort >= 0)
    own = len(members) - np.bincount(sort[members])[sort[members]]
    m, possible = len(won), int(own.sum()) // 2
    if m < 2:
        return math.nan
    if m >= possible:
        return 0.0
    every = float(won.var(ddof=1))
    times = np.bincount(np.concatenate([first, second]), minlength=len(sort))[members]
    share = m * own / possible
    residual, df = residuals(first, second, won)
    balanced = (np.abs(times - share) < 1).all()
    if not balanced or df < LEAST_DF:
        return (1 - m / possible) * every / m
    left = float(residual @ residual) / df
    rest = share - np.floor(share)
    uneven = float((rest * (1 - rest)).sum()) * max(every - left, 0.0) / m**2
    return (1 - m / possible) * left / m + uneven


def residuals(first: Numbers, second: Numbers, won: Floats) -> tuple[Floats, int]:
    """Return residuals of pairs from a sum of two records' effects, and their df.

    Parameters
    ----------
    first, second : numpy.ndarray of int, shape (pairs,)
        Both records of each pair.
    won : numpy.ndarray, shape (pairs,)

    Examples
    --------
    >>> one, other = np.array([0, 0, 1, 1]), np.array([2, 3, 2, 3])
    >>> left, df = residuals(one, other, np.array([1.0, 0.0, 0.0, 1.0]))
    >>> left.round(6).tolist(), df
    ([0.5, -0.5, -0.5, 0.5], 1)
    """
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import lsqr

    number = np.unique(np.concatenate([first, second]), return_inverse=True)[1]
    one, two = number[: len(won)], number[len(won) :]
    pair, n = np.arange(len(won)), int(number.max()) + 1
    where = (np.concatenate([pair, pair]), number)
    design = coo_array((np.ones(len(number)), where), shape=(len(won), n)).tocsr()
    effects = lsqr(design, won, atol=1e-10, btol=1e-10, iter_lim=20 * n)[0]
    return won - design @ effects, len(won) - _rank(one, two, n)


def _rank(one: Numbers, two: Numbers, n: int) -> int:
    """Return the rank of effects: one less for each part that falls in two classes.

    A part of the records, linked by pairs, falls in two classes if no pair is within
    one of them; then it comes apart when each record is taken twice.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    def parts(first: Numbers, second: Numbers, size: int) -> int:
        links = coo_array((np.ones(len(first)), (first, second)), shape=(size, size))
        return int(connected_components(links.tocsr(), directed=False)[0])

    twice = parts(np.concatenate([one, one + n]), np.concatenate([two + n, two]), 2 * n)
    return n - (twice - parts(one, two, n))


# ---- what random folds leave to chance, and how many repeats would make it small ----


@dataclass(frozen=True)
class MonteCarlo:
    """How far an estimate moves with the seed of its folds, the records being given.

    Attributes
    ----------
    sd : float
        Standard deviation over repeats; of one repeat that held out a sample of pairs
        what they tell of it, else NaN.
    repeats : int
        Repeats that have a value.

    Examples
    --------
    >>> chance = MonteCarlo(sd=0.03, repeats=4)
    >>> chance.se, chance.needed(0.005)
    (0.015, 36)
    """

    sd: float
    repeats: int

    @property
    def se(self) -> float:
        """Standard error of the mean over the repeats; sampling error is no part."""
        return self.sd / math.sqrt(self.repeats) if self.repeats else math.nan

    def needed(self, size: float) -> int | None:
        """Return how many repeats bring the standard error to a size or below it.

        None where the sd is not known, as of one repeat.

        Parameters
        ----------
        size : float
            Above 0.

        Raises
        ------
        ArgumentError
            If the size is not above 0.
        """
        if not size > 0:
            raise ArgumentError(f"size must be above 0, not {size!r}.")
        if math.isnan(self.sd):
            return None
        ratio = (self.sd / size) ** 2
        return max(1, math.ceil(ratio * (1 - 1e-12)))


def monte_carlo(scores: Scores, metric: Metric, how: str) -> MonteCarlo:
    """Return the Monte Carlo error of an estimate, from its repeats.

    Repeats are independent draws of the folds (and of what is dropped) for the same
    records, so that their sd over the root of their number is the standard error of
    their mean. Per fold a repeat counts with the mean over its folds, which are not
    independent of each other. Of one repeat that held out a sample of pairs the sd is
    had from the pairs (`pair_sampling`).

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}

    Returns
    -------
    MonteCarlo
        With NaN where fewer than two repeats have a value and no sample of pairs tells,
        as under a scheme that has nothing random.
    """
    values = values_by_repeat(scores, metric, how)
    known = values[~np.isnan(values)]
    return MonteCarlo(monte_carlo_sd(scores, metric, how, values), len(known))
