"""Tests of two models' predictions for the same records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.engine import cut
from statcv.inference.estimates.draws import SMOOTH
from statcv.inference.estimates.influences import Influences
from statcv.inference.intervals.interval import corrected_t_interval
from statcv.inference.refits.jackknife import Jackknife, corrected_se
from statcv.inference.scores import se_of_mean
from statcv.metrics import Metric, midrank, round_significant
from statcv.metrics.areas.placements import ratio, symmetric_limits, tail
from statcv.numeric.arrays import Array, Floats, Numbers, Outcomes


@dataclass(frozen=True)
class PairedTest:
    """The difference between two models, with its test.

    Attributes
    ----------
    difference, se, lower, upper : float
        The second estimate minus the first, its standard error and interval.
    statistic, p_value : float
    reason : str
        The reason why a number is missing or uninformative; otherwise empty.
    df : float
        Degrees of freedom of Student's t; NaN for the normal distribution.
    equal : float
        The standard error where the difference is 0, if the test has another one there.
    """

    difference: float
    se: float
    lower: float
    upper: float
    statistic: float
    p_value: float
    reason: str = ""
    df: float = math.nan
    equal: float = math.nan

    @classmethod
    def unavailable(cls, difference: float, reason: str) -> PairedTest:
        """Return a test without a value, with the reason."""
        nan = math.nan
        return cls(difference, nan, nan, nan, nan, nan, reason)

    @classmethod
    def of(
        cls,
        difference: float,
        se: float,
        level: float,
        df: float = math.nan,
        *,
        most: float = math.inf,
        reason: str = "",
        equal: float = math.nan,
    ) -> PairedTest:
        """Return Wald's test of a difference, and its interval.

        With another standard error where the difference is 0, the test is that of
        Wilson's interval, whose variance changes evenly on both sides of 0, up to that
        of the difference found.

        Parameters
        ----------
        difference, se : float
        level : float
            Confidence level of the interval.
        df : float
            Degrees of freedom of Student's t; the normal distribution unless given.
        most : float
            The largest possible difference, at which the limits end.
        reason : str
        equal : float
            The standard error where the difference is 0, if it is another one.
        """
        # a difference divided by its standard error, by Student's t or the normal
        lower, upper = symmetric_limits(difference, se, level, df=df)
        statistic = ratio(difference, se if math.isnan(equal) else equal)
        if difference and not math.isnan(equal):
            size, half = abs(difference), upper - difference
            away = half / se * equal
            # the limit is where it is as many standard errors away as it has there
            growth = math.copysign(1, size - away) * (half**2 - away**2) / size / 2
            root = math.sqrt(growth**2 + 2 * growth * size + away**2)
            ends = size + growth - root, size - half
            near = max(ends) if equal < se else min(ends)
            lower, upper = (near, upper) if difference > 0 else (lower, -near)
        limits = max(lower, -most), min(upper, most)
        p = tail(statistic, df, "two-sided")
        return cls(difference, se, *limits, statistic, p, reason, df, equal)


EXACT_UNITS = 16  # with at most this many units, all patterns of signs are enumerated
CELLS = 2**21  # random signs held in memory at a time
SLACK = 1e-12  # sums that differ by less, relative to their terms, are equal


@dataclass(frozen=True)
class Swaps:
    """The result of a test by swapping.

    Attributes
    ----------
    as_extreme, times : int
        Number of patterns at least as extreme as the observed one, and of all that were
        evaluated.
    sd : float
        Standard deviation of the difference under swaps.
    exact : bool
        Whether these are all possible patterns.
    undefined : int
        Number of patterns without a value, which count as extreme.
    """

    as_extreme: int
    times: int
    sd: float
    exact: bool
    undefined: int = 0

    @property
    def p_value(self) -> float:
        """The two-sided p-value; random swaps include the observed one."""
        observed = int(not self.exact)
        return (observed + self.as_extreme) / (observed + self.times)


def flip_signs(
    terms: Floats, clusters: Numbers | None, times: int, rng: np.random.Generator
) -> Swaps:
    """Test a sum by changing the signs of its terms, jointly within a cluster.

    With at most 16 nonzero terms all patterns of signs are used. Otherwise they are
    random, and the observed pattern counts as one of them: if b of B sums are at least
    as extreme, then p = (1 + b) / (1 + B), which is never zero (Phipson & Smyth 2010).

    Parameters
    ----------
    terms : numpy.ndarray, shape (n,)
    clusters : numpy.ndarray of int, shape (n,), optional
    times : int
        Number of random patterns.
    rng : numpy.random.Generator

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> flip_signs(np.array([0.4, 0.1, 0.3]), None, 999, rng).p_value
    0.25
    """
    if clusters is not None:
        place = np.unique(clusters, return_inverse=True)[1]
        terms = np.asarray(np.bincount(place, terms), dtype=float)
    # the sd of a sum of independent random signs
    sd = float(np.sqrt((terms**2).sum()))
    moving = terms[terms != 0]
    # under the null hypothesis each sign is equally likely
    reached = abs(float(moving.sum())) - SLACK * float(np.abs(moving).sum())
    at_a_time = max(1, CELLS // max(len(moving), 1))
    # a sum with other signs is twice the terms kept minus all terms
    patterns = _patterns(len(moving), times, rng, at_a_time)
    sums = np.concatenate([2 * (kept @ moving) - moving.sum() for kept in patterns])
    as_extreme = int((np.abs(sums) >= reached).sum())
    return Swaps(as_extreme, len(sums), sd, len(moving) <= EXACT_UNITS)


def _patterns(
    units: int, times: int, rng: np.random.Generator, at_a_time: int = 1
) -> Iterator[NDArray[np.int8]]:
    """Yield which units change: every pattern of few of them, or random patterns."""
    exact = units <= EXACT_UNITS
    for some in cut(2**units if exact else times, at_a_time):
        if exact:
            bits = np.array(some)[:, None] >> np.arange(units) & 1
            yield bits.astype(np.int8)
        else:
            yield rng.integers(0, 2, (len(some), units), dtype=np.int8)


def auroc_terms(y: Outcomes, a: Floats, b: Floats) -> Floats:
    """Return one term per record; their sum is the auROC of b minus that of a.

    The scores of each model are replaced by mid-ranks among all records, which puts
    both models on one scale. Swapping the two ranks of a record then changes the sign
    of its term, since in a pair of records either the comparisons within the models
    are exchanged, or those across models are.

    Parameters
    ----------
    y : numpy.ndarray, shape (n,)
        Class of each record, 0 or 1.
    a, b : numpy.ndarray, shape (n,)
        Scores of the two models.

    References
    ----------
    Venkatraman & Begg (1996), Biometrika 83:835 (ranks that are exchanged); Bandos,
    Rockette & Gur (2005), Statistics in Medicine 24:2873 (the difference of areas).

    Examples
    --------
    >>> y = np.array([0, 0, 1, 1])
    >>> terms = auroc_terms(y, np.array([1.0, 3, 2, 4]), np.array([1.0, 2, 3, 4]))
    >>> float(terms.sum())
    0.25
    """
    first, second = midrank(round_significant(a)), midrank(round_significant(b))
    positive = np.asarray(y) == 1
    terms = np.empty(len(positive))
    for members, sign in ((positive, 1), (~positive, -1)):
        rivals = np.sort(np.concatenate([first[~members], second[~members]]))
        # twice as many rivals: those of either model
        gained = _below(rivals, second[members]) - _below(rivals, first[members])
        terms[members] = sign * gained
    return np.asarray(terms / (2 * positive.sum() * (~positive).sum()))


def _below(ordered: Floats, values: Floats) -> Floats:
    """Count the ordered numbers below each value; a tie counts as one half."""
    left = np.searchsorted(ordered, values, side="left")
    return (left + np.searchsorted(ordered, values, side="right")) / 2


def swap(
    metric: Callable[[Floats], float],
    a: Floats,
    b: Floats,
    clusters: Numbers | None,
    times: int,
    rng: np.random.Generator,
) -> Swaps:
    """Test the difference of a metric by swapping the predictions of two models.

    It serves metrics whose difference is not a sum over records, and evaluates the
    metric of either model once per pattern. A pattern without a value counts as
    extreme.

    Parameters
    ----------
    metric : callable
        Function of the predictions of all records.
    a, b : numpy.ndarray, shape (n,) or (n, classes)
        Predictions of the two models, on one scale.
    clusters, times, rng
        As :func:`flip_signs` takes them.
    """
    units = np.arange(len(a))
    if clusters is not None:
        units = np.unique(clusters, return_inverse=True)[1]
    differ = (a != b).reshape(len(a), -1).any(axis=1)
    moving, place = np.unique(units[differ], return_inverse=True)
    # records that both models predict alike do not move
    first, second = metric(a), metric(b)
    changed, found = np.zeros(len(a), dtype=bool), []
    for turned in _patterns(len(moving), times, rng):
        changed[differ] = turned[0, place] == 1
        where = changed if a.ndim == 1 else changed[:, None]
        found.append(metric(np.where(where, a, b)) - metric(np.where(where, b, a)))
    known = np.array(found)[~np.isnan(found)]
    undefined = len(found) - len(known)
    reached = abs(second - first) - SLACK * max(abs(first), abs(second))
    as_extreme = int((np.abs(known) >= reached).sum()) + undefined
    sd = float(np.sqrt(np.mean(known**2))) if len(known) else np.nan
    exact = len(moving) <= EXACT_UNITS
    return Swaps(as_extreme, len(found), sd, exact, undefined)


Clusters = Numbers | None

ALIKE = 1e-12  # relative to the largest: differences closer than this are equal


def paired_t(change: Floats, clusters: Clusters, level: float) -> PairedTest:
    """Test the mean of casewise differences by a t test, over cluster totals if any.

    The variance of the mean is G/(G − 1) Σ (Σ (d − d̄))² / n², where the inner sum is
    over the records of each of G clusters; without clusters this is the usual s²/n.

    Parameters
    ----------
    change : numpy.ndarray, shape (n,)
        The value of the second model for each record minus that of the first.
    clusters : numpy.ndarray of int, shape (n,), or None
        Cluster of each record.
    level : float
        Confidence level of the interval.

    Examples
    --------
    >>> import numpy as np
    >>> test = paired_t(np.array([0.1, 0.3, 0.2, 0.4]), None, 0.95)
    >>> round(test.statistic, 3), round(test.p_value, 4)
    (3.873, 0.0305)
    """
    mean = float(change.mean())
    odd = int((~np.isfinite(change)).sum())
    if odd:
        why = f"{odd} of {len(change)} records have an infinite or missing loss"
        return PairedTest.unavailable(np.nan, why)
    se, g = se_of_mean(change, clusters)
    unit = "cluster" if g < len(change) else "record"
    if g < 2:
        return PairedTest.unavailable(mean, f"there is only one {unit}")
    # a spread within rounding error counts as 0
    if se <= ALIKE * float(np.abs(change).max()):
        return _without_variation(change, unit)
    return PairedTest.of(mean, se, level, g - 1)


def _without_variation(change: Floats, unit: str) -> PairedTest:
    """Return the test of equal differences: whether they are 0, without an interval.

    A mean that is negligible relative to the single differences is 0 up to rounding.
    """
    mean = float(change.mean())
    if abs(mean) <= ALIKE * float(np.abs(change).max()):
        mean = 0.0
    why = f"every {unit} has the same difference, so that there is no variation"
    tested = ratio(mean, 0.0), float(mean == 0)
    return PairedTest(mean, 0.0, np.nan, np.nan, *tested, why)


def paired_corrected_t(
    change: Floats, n_train: Floats, n_test: Floats, level: float
) -> PairedTest:
    """Test the mean difference over the same folds by the corrected t test.

    Parameters
    ----------
    change : numpy.ndarray, shape (folds,)
        The value of the second model in each fold minus that of the first, over all
        repeats.
    n_train, n_test : numpy.ndarray, shape (folds,)
        Number of training records and of held-out records of each fold.
    level : float
        Confidence level of the interval.

    References
    ----------
    Nadeau & Bengio (2003), Machine Learning 52:239; Bouckaert & Frank (2004), PAKDD
    (with repeats).
    """
    odd = int((~np.isfinite(change)).sum())
    if odd:
        why = f"the metric has no value in {odd} of {len(change)} folds"
        return PairedTest.unavailable(np.nan, why)
    mean = float(change.mean())
    if len(change) > 1 and np.ptp(change) <= ALIKE * np.abs(change).max():
        return _without_variation(change, "fold")
    found = corrected_t_interval(change, n_train, n_test, level)
    if np.isnan(found.se):
        return PairedTest.unavailable(mean, found.assumes)
    return PairedTest.of(mean, found.se, level, len(change) - 1)


def paired_permutation(
    metric: Metric,
    value: Callable[[Floats], float],
    y: Array,
    a: Floats,
    b: Floats,
    clusters: Clusters,
    times: int,
    rng: np.random.Generator,
    losses: tuple[Floats, Floats] | None = None,
) -> PairedTest:
    """Compare two models by swapping their predictions, cluster by cluster if any.

    For a rank metric, scores are first replaced by their mid-ranks within each model.

    Parameters
    ----------
    metric : Metric
    value : callable
        Function from the predictions of all records to the metric.
    y : numpy.ndarray, shape (n,)
        Outcome of each record.
    a, b : numpy.ndarray, shape (n,) or (n, classes)
        Predictions of the first and of the second model.
    clusters : numpy.ndarray of int, shape (n,), or None
        Cluster of each record.
    times : int
        Number of random swaps if there are too many to enumerate.
    rng : numpy.random.Generator
    losses : tuple of numpy.ndarray, optional
        The losses of the records by both models, if the metric is their mean.

    Returns
    -------
    PairedTest
        A test without an interval; its standard error is the standard deviation of the
        difference under swaps.
    """
    if losses is None:
        difference = value(b) - value(a)
    else:
        difference = float(losses[1].mean() - losses[0].mean())
    if not np.isfinite(difference):
        return PairedTest.unavailable(difference, f"{metric.label} has no value")
    if metric.is_auroc:
        # swapping a record's predictions changes the sign of its term
        found = flip_signs(auroc_terms(y, a, b), clusters, times, rng)
    elif losses is not None:
        # a mean of losses changes by the sum of the records' differences
        change = losses[1] - losses[0]
        found = flip_signs(change / len(change), clusters, times, rng)
    else:
        if metric.rank:
            a, b = _ranks(a), _ranks(b)
        found = swap(value, a, b, clusters, times, rng)
    tested = ratio(difference, found.sd), found.p_value
    return PairedTest(difference, found.sd, np.nan, np.nan, *tested, _about(found))


def _ranks(scores: Floats) -> Floats:
    """Return the mid-ranks of scores, separately for each class."""
    if scores.ndim == 1:
        return midrank(round_significant(scores))
    return np.column_stack([_ranks(column) for column in scores.T])


def _about(found: Swaps) -> str:
    if found.undefined:
        lost = f"{found.undefined} of {found.times} swaps"
        return f"{lost} have no value and count as extreme"
    if found.exact and found.times < 2**5:
        return f"there are only {found.times} distinct swaps"
    return ""


# ---- the influence of each record on the difference ----


def paired_influence(
    both: Sequence[Influences],
    difference: float,
    level: float,
    limits: tuple[float, float],
    *,
    of_pairs: float = 0.0,
    curved: float = 1.0,
    inflated: float = 1.0,
    below: float = 0.0,
    at_equality: float = 1.0,
    traded: bool = False,
    ending: bool = False,
) -> PairedTest:
    """Compare two estimates by the influence of each record on their difference.

    The difference of nested models varies less where they perform equally well: the
    p-value, and the limit on the side of 0, have the variance that it has there, and
    the share of the fits that a smooth function of the coefficients has.

    Fits of equally good models may find different shares of the records positive, and
    differ in sensitivity, although neither is better. Of such metrics the p-value, and
    the limit on the side of 0, have the variance over such fits: that of the difference
    itself over the draws, not of its error. A metric that is near its end can only move
    away from it, so that the mean square about the estimate is taken. Without draws
    the correlation of folds is counted twice, since the shares of both classes vary.

    Parameters
    ----------
    both : sequence of Influences
        The influences on the two estimates, with one numbering of the records.
    difference : float
        The second estimate minus the first.
    level : float
        Confidence level of the interval.
    limits : tuple of float
        The least and the largest possible value of the metric.
    of_pairs : float
        The variance of the interaction of pairs.
    curved : float
        Factor of the variance with the fits as given, if the metric is not a linear
        function of the weights of records.
    inflated : float
        Factor of the variance with the fits as given, if folds are correlated; the
        variance of the difference is at least as large.
    below : float
        The part of the difference that lies below no skill, which is an error of that
        size; the standard error is at least as large.
    at_equality : float
        The variance where nested models perform equally well, relative to that here.
    traded : bool
        Whether fits gain, or lose, by finding more records positive.
    ending : bool
        Whether the metric ends where a fit finds no record, or every record, positive.
    """
    # the influence on a difference is the difference of the influences
    found = both[1].minus(both[0])
    draws, df = found.draws, found.units.df
    excess = 0.0 if draws is None else draws.excess
    given = curved * found.given_fits + of_pairs
    se = max(math.sqrt(max(given + excess, given * inflated)), abs(below))
    size = max(float(np.abs(one.held).max()) for one in both)
    reason = ""
    if se <= ALIKE * max(size, ALIKE):
        se, reason = 0.0, f"no {found.units.kind} influences the difference"
        difference = 0.0 if abs(difference) <= ROUNDING else difference
    most = limits[1] - limits[0]
    equal = math.nan
    if se and traded and difference:
        # the fits move the estimate itself more than its distance from the truth
        moved = given * (2 * inflated - 1)
        if draws is not None:
            shift = float(draws.moved.mean()) - difference
            moved = float(draws.moved.var()) + ending * shift**2
        equal = max(se, math.sqrt(moved))
    elif se and draws is not None and difference and at_equality < 1:
        smooth = given + excess * min(SMOOTH / draws.share, 1)
        smooth = max(smooth, given * inflated)
        equal = max(math.sqrt(at_equality * smooth), abs(below))
    return PairedTest.of(
        difference, se, level, df, most=most, reason=reason, equal=equal
    )


# ---- the auROCs of two models, compared by a jackknife that refits both ----

ROUNDING = 1e-12  # smallest difference of areas that is not a rounding error


def paired_jackknife(
    first: Jackknife,
    second: Jackknife,
    difference: float,
    given: PairedTest,
    level: float,
) -> PairedTest:
    """Compare two estimates of auROC by the influence of each record, with refits.

    The variance of the difference is the mean of the jackknife variance, which tends to
    be too large, and the variance that takes the fits as given, and is never below the
    latter; t has the degrees of freedom of the jackknife.

    Parameters
    ----------
    first, second : Jackknife
        Both estimates with each record, or cluster, deleted.
    difference : float
        The second estimate minus the first.
    given : PairedTest
        DeLong's test of the pooled estimates, which takes the fits as given.
    level : float
        Confidence level of the interval.
    """
    alike = np.array_equal(first.group, second.group) and first.unit == second.unit
    if not alike:
        why = "the clusters differ between the results"
        return PairedTest.unavailable(difference, why)
    if math.isnan(given.se):
        return PairedTest.unavailable(difference, given.reason)
    # the jackknife of the difference deletes the same record from both
    values = second.values - first.values
    moved = Jackknife(values, first.group, first.unit, first.n_fits)
    # half of what the jackknife exceeds DeLong's variance by
    se, df = corrected_se(moved, given.se), moved.df if not moved.unmoved else math.nan
    if se <= ROUNDING:
        se, difference = 0.0, 0.0 if abs(difference) <= ROUNDING else difference
    reasons = dict.fromkeys(j.caveats.removeprefix("; ") for j in (first, second))
    if se == 0:
        reasons = {"no record influences the difference": None}
    reason = "; ".join(filter(None, reasons))
    return PairedTest.of(difference, se, level, df, most=1.0, reason=reason)
