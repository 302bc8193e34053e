"""How far an estimate varies with the random folds, or with the sample of pairs.

The pairs that are held out are a balanced sample of all pairs. Whether a pair is ranked
correctly depends on both of its records, and on the pair itself. In a balanced sample
every record occurs in its share of pairs, so that the effects of the records do not
vary between samples; what varies are the residuals of an additive model of the records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from statcv.errors import ArgumentError
from statcv.folds import count_unlike
from statcv.inference.estimates.pairs import ConcordantPairs, concordant_pairs
from statcv.inference.estimates.values import values_by_repeat
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.numeric.arrays import Floats, Numbers
from statcv.tables import Printed, Said

LEAST_DF = 10  # residual df below which all variation counts as residual
SAME = 1e-12  # a variance below this is rounding error


def monte_carlo_sd(scores: Scores, metric: Metric, how: str, values: Floats) -> float:
    """Return the sd of an estimate from one repeat over seeds.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    values : numpy.ndarray
        The metric in each repeat, or in each fold.

    Returns
    -------
    float
        The sd of the defined values. For a single value, the sd that is estimated from
        its sample of pairs; NaN if there is no such sample.
    """
    known = values[~np.isnan(values)]
    if len(known) > 1:
        with np.errstate(over="ignore", invalid="ignore"):  # infinite values
            return float(known.std(ddof=1))
    if how != "paired" or len(known) < 1 or not metric.rank:
        return math.nan
    return sampling_sd(scores, metric)


def sampling_sd(scores: Scores, metric: Metric) -> float:
    """Return the Monte Carlo sd of a share of pairs, estimated from one sample of them.

    For m of the M pairs of two classes, the sd is the root of (1 - m/M) s²/m, where s²
    is the residual variance of an additive model of the records, fitted by least
    squares to whether a pair is ranked correctly. If the numbers of pairs per record
    differ by one, a part of the variance that the records explain is added. If fewer
    than ten degrees of freedom are left for s², or if the sample is not balanced, s² is
    replaced by the variance over all pairs, which makes the sd conservative. For
    several classes, the variance is that of the mean over every two classes.

    Parameters
    ----------
    scores : Scores
        The held-out predictions of one repeat.
    metric : Metric

    Returns
    -------
    float
        NaN if the sample contains all pairs, if there is no sample of pairs, or if all
        pairs are ranked alike, which says nothing about the other pairs.

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
    cells = (np.flatnonzero(listed.cell == cell) for cell in range(listed.cells))
    variance = sum(_variance(listed, own, sort) for own in cells)
    return math.sqrt(variance) / listed.cells if variance > SAME else math.nan


def is_sampled(scores: Scores) -> bool:
    """Return whether the held-out pairs are a sample of all that differ in outcome."""
    if not (scores.pairwise and scores.left.held.all()):
        return False
    drawn = len(scores.left.repeat) / len(scores.by_repeat)
    return bool(drawn < count_unlike(scores.y[np.unique(scores.row)]))


def _variance(listed: ConcordantPairs, where: Numbers, sort: Numbers) -> float:
    """Return the variance of the share in one cell over balanced samples.

    Records with the same ``sort`` do not form a pair; those with -1 are in no pair.
    """
    first, second, won = listed.first[where], listed.second[where], listed.won[where]
    if listed.cells > 1 and len(where):  # a cell compares two classes
        sort = np.where(np.isin(sort, sort[[first[0], second[0]]]), sort, -1)
    members = np.flatnonzero(sort >= 0)
    # the number of possible partners of each record: those of other outcomes
    own = len(members) - np.bincount(sort[members])[sort[members]]
    m, possible = len(won), int(own.sum()) // 2
    if m < 2:
        return math.nan
    if m >= possible:
        return 0.0
    # a simple random sample of pairs, with the finite population correction
    every = float(won.var(ddof=1))
    times = np.bincount(np.concatenate([first, second]), minlength=len(sort))[members]
    share = m * own / possible
    residual, df = residuals(first, second, won)
    balanced = (np.abs(times - share) < 1).all()
    if not balanced or df < LEAST_DF:
        return (1 - m / possible) * every / m
    # a balanced sample removes the variation between records, but for rounding
    left = float(residual @ residual) / df
    rest = share - np.floor(share)
    uneven = float((rest * (1 - rest)).sum()) * max(every - left, 0.0) / m**2
    return (1 - m / possible) * left / m + uneven


def residuals(first: Numbers, second: Numbers, won: Floats) -> tuple[Floats, int]:
    """Return the residuals of pairs from the sum of two record effects, and their df.

    Parameters
    ----------
    first, second : numpy.ndarray of int, shape (pairs,)
        The two records of each pair.
    won : numpy.ndarray, shape (pairs,)
        Whether each pair is ranked correctly: 1, 0, or 0.5 for a tie.

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
    # each pair is the sum of the effects of its two records
    design = coo_array((np.ones(len(number)), where), shape=(len(won), n)).tocsr()
    effects = lsqr(design, won, atol=1e-10, btol=1e-10, iter_lim=20 * n)[0]
    return won - design @ effects, len(won) - _rank(one, two, n)


def _rank(one: Numbers, two: Numbers, n: int) -> int:
    """Return the rank of the record effects: n minus the bipartite components.

    Pairs link records to components. A component is bipartite if its double cover,
    which takes each record twice, is disconnected.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    def parts(first: Numbers, second: Numbers, size: int) -> int:
        links = coo_array((np.ones(len(first)), (first, second)), shape=(size, size))
        return int(connected_components(links.tocsr(), directed=False)[0])

    # a bipartite component leaves one contrast of its effects undetermined
    twice = parts(np.concatenate([one, one + n]), np.concatenate([two + n, two]), 2 * n)
    return n - (twice - parts(one, two, n))


# ---- the Monte Carlo error, and the repeats that would make it small ----


@dataclass(frozen=True, repr=False)
class MonteCarlo(Printed):
    """How far an estimate varies with the seed of its folds, given the records.

    Attributes
    ----------
    sd : float
        The standard deviation over repeats. For a single repeat, the standard
        deviation that is estimated from its sample of pairs; NaN without such a sample.
    repeats : int
        The number of repeats that have a value.

    Examples
    --------
    >>> chance = MonteCarlo(sd=0.03, repeats=4)
    >>> chance.se, chance.needed(0.005)
    (0.015, 36)
    """

    sd: float
    repeats: int

    def _said(self) -> Said:
        below = {"sd of one repeat": self.sd, "repeats": self.repeats}
        below["se of their mean"] = self.se
        return "Monte Carlo error over random folds, for the same records", below

    @property
    def se(self) -> float:
        """The standard error of the mean over repeats, without sampling error."""
        return self.sd / math.sqrt(self.repeats) if self.repeats else math.nan

    def needed(self, size: float) -> int | None:
        """Return the number of repeats for which the standard error is at most a size.

        It is None if the sd is not known, for example with a single repeat.

        Parameters
        ----------
        size : float
            The largest acceptable standard error, above 0.

        Raises
        ------
        ArgumentError
            If the size is not above 0.
        """
        if not size > 0:
            raise ArgumentError(f"size must be above 0, not {size!r}.")
        if math.isnan(self.sd):
            return None
        # the standard error falls with the root of the number of repeats
        ratio = (self.sd / size) ** 2
        return max(1, math.ceil(ratio * (1 - 1e-12)))


def monte_carlo(scores: Scores, metric: Metric, how: str) -> MonteCarlo:
    """Return the Monte Carlo error of an estimate, from its repeats.

    Repeats are independent draws of the folds (and of the dropped records) for the same
    records, so that their sd over the root of their number is the standard error of
    their mean. Per fold, the value of a repeat is the mean over its folds, which are
    not independent of each other. For a single repeat that held out a sample of pairs,
    the sd is estimated from the pairs (`sampling_sd`).

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}

    Returns
    -------
    MonteCarlo
        The sd is NaN if fewer than two repeats have a value and there is no sample of
        pairs, for example under a scheme without random folds.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> from statcv.inference import monte_carlo
    >>> many = res.update(repeats=5)
    >>> error = monte_carlo(many.scores, scv.metrics.get_metric("auroc"), "pooled")
    >>> round(error.sd, 3), round(error.se, 3)
    (0.016, 0.007)
    """
    values = values_by_repeat(scores, metric, how)
    known = values[~np.isnan(values)]
    return MonteCarlo(monte_carlo_sd(scores, metric, how, values), len(known))
