"""The interval from the influence of held-out records, and of weights on the fits.

The variance of records is that of their influences as held-out records. What the fits
add is found without refits from random weights, with which the coefficients move.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from statcv.engine import cut
from statcv.inference.assumptions import ASSUMED
from statcv.inference.estimates.draws import CELLS, SMOOTH, n_draws
from statcv.inference.estimates.influences import (
    Influences,
    Units,
    influences,
    influences_on,
)
from statcv.inference.estimates.pair_variation import pair_variation
from statcv.inference.estimates.pairs import NO_PAIRS, is_mirrored
from statcv.inference.estimates.values import casewise
from statcv.inference.intervals import interval
from statcv.inference.intervals.at_boundary import at_end, units_of_share
from statcv.inference.intervals.interval import Interval
from statcv.inference.scores import Scores, mean_by
from statcv.metrics import Metric
from statcv.metrics.areas.placements import symmetric_limits
from statcv.models.selection import chooses_terms, selection_in

if TYPE_CHECKING:
    from statcv.inference.intervals.request import IntervalRequest

METHOD = "infinitesimal jackknife"
OF_ONE_CLASS = ("sensitivity", "specificity")
WITH_FITS = ASSUMED["with_fits"]
ALL_TERMS = "the coefficients of all terms, chosen or not,"
CORRECTED = ASSUMED["corrected"]
CHOSEN = "takes {what} as given"
SHARE = (0.0, 1.0)
LEAST = 1e-24  # variance; anything smaller is rounding error
# the variance of more than twenty folds, as shared training records inflate it
NEARLY_TWICE = 1.95
MAX_COMPARED = 32  # splits whose fits are compared with each other, or a sample


def infinitesimal_serves(scores: Scores, metric: Metric, how: str) -> bool:
    """Return whether the influence of each record is known, through the fits too.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    """
    if scores.sensitivity is None or metric.derive is None or metric.weighted is None:
        return False
    if how == "pooled":
        return _is_pooled(scores, metric, how)
    return metric.rank and not (how == "paired" and is_mirrored(scores, metric))


def influence_serves(scores: Scores, metric: Metric, how: str) -> bool:
    """Return whether the influence of each record is known, with the fits as given.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    """
    known = metric.derive is not None and _is_pooled(scores, metric, how)
    return metric.is_auroc or known


def corrected_serves(scores: Scores, metric: Metric, how: str) -> bool:
    """Return whether the influence can be corrected for shared training records.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    """
    if metric.derive is None or scores.external:
        return False
    if scores.apart or not metric.rank:
        return _is_pooled(scores, metric, how)
    return not (how == "paired" and is_mirrored(scores, metric))


def _is_pooled(scores: Scores, metric: Metric, how: str) -> bool:
    """Return whether predictions of all splits of a repeat are pooled."""
    return how == "pooled" and (not scores.apart or metric.pools_splits)


def shared_training(scores: Scores, metric: Metric | None = None) -> float:
    """Return by how much folds whose fits share training records vary more.

    If the values of two folds have the correlation n_test/n (Nadeau & Bengio 2003), the
    variance of the mean of k folds is 1 + (k - 1)/k times that of independent ones.
    The errors of neighbours for a continuous outcome vary by half of that more, since
    a mean of several outcomes hardly depends on one of them.

    Parameters
    ----------
    scores : Scores
        The held-out predictions, of splits that partition the records.
    metric : Metric, optional
        The metric whose estimate varies, but not its difference between models.
    """
    # 1 + (1 - n_test/n): the covariance of two folds adds to the variance
    more = 1 - len(scores.row) / scores.n_splits / scores.n_held_out
    of_numbers = metric is not None and metric.reads == "numbers"
    halved = of_numbers and scores.by_neighbors
    return 1 + (SMOOTH if halved else 1.0) * more


def infinitesimal_interval(asked: IntervalRequest, fits: str = "varied") -> Interval:
    """Compute an interval from the influence of each record, or cluster.

    The variance is that of the influences of the records as held-out records, plus
    what the fits add to it when records are weighted at random (:class:`Draws`), for
    errors above and below 0 separately; for a mean over folds or pairs, also the
    variance of the interaction of pairs, and for an area under the precision-recall
    curve that of the shares of the classes; its variance is at least that of deleting
    each record in turn. For a metric between 0 and 1 that ranks or counts records the
    limits have the shape of Wilson's: the variance for a parameter θ is proportional to
    θ(1 - θ). What the fits add to the variance of sensitivity and specificity is not,
    since a fit may decide all records alike; it is at least their variance between the
    fits, each applied to all records. The standard error and the upper limit of an area
    count that variance too where a penalty leaves out all columns in some fits. The
    area of a model that chooses terms varies more where nearly equal training sets
    share one choice, and an area that is pooled for want of both classes in each fold
    on the side opposite to its bias. Precision, negative predictive value, F1 and
    Matthews' correlation count two records that are added to the table. For a ratio,
    and a mean error of numbers, the limits are computed on the logarithmic scale, and
    of the latter with one variance for both sides. The part of a calibration slope
    below 0 is an error of that size at least, since a fit has no skill at worst.
    Student's t has the degrees of freedom of two samples as large as the smaller class,
    or for losses and calibration fewer than records if a few of them determine the
    variance (Satterthwaite); clusters of unequal size count as fewer.

    Parameters
    ----------
    asked : IntervalRequest
        The estimate, of a metric with derivatives.
    fits : {"varied", "given", "correlated"}
        Whether records have influence through the fits, or the fits are taken as given,
        or folds are taken as correlated because their fits share training records.

    References
    ----------
    Rubin (1981), Annals of Statistics 9:130 (exponential weights); Pregibon (1981),
    Annals of Statistics 9:705 (one step without a record); DeLong, DeLong &
    Clarke-Pearson (1988), Biometrics 44:837; Nadeau & Bengio (2003), Machine Learning
    52:239; Wilson (1927), JASA 22:209; Satterthwaite (1946), Biometrics Bulletin
    2:110.
    """
    scores, metric, how, value = asked.scores, asked.metric, asked.how, asked.value
    if math.isnan(value):
        why = "no fold has a value" if how == "per_fold" else "it has no value"
        return Interval.none(NO_PAIRS[metric.pairs] if how == "paired" else why)
    if at_end(metric, value) and fits != "given":
        return Interval.none(f"an area of {value:g} has no first-order variation")
    make = partial(_variation, scores, metric, how, fits)
    moved = scores.once(metric, ("variation", how, fits), make)
    if isinstance(moved, str):
        return Interval.none(moved)
    found = moved.value
    tied = metric.rank and how == "per_fold" and _ties_within_splits(scores)
    # errors and ratios have any unit
    scale = interval.scale_of(metric, value)
    size = value**2 if scale == "log" else max(value**2, 1.0)
    if tied or not moved.variance > LEAST * size:
        return Interval.none(f"no {moved.kind} moves the estimate, {interval.NOTHING}")
    method, assumes = moved.words
    if fits == "correlated":
        method, assumes = f"corrected {method}", CORRECTED
    # either side has the variation of the fits on that side
    variances = [moved.variance, *moved.sides]
    # no fit is expected to have the reverse of skill, so that a slope errs by its part
    # below 0
    if fits != "given" and interval.is_slope(metric):
        variances[2] = max(variances[2], min(value, 0.0) ** 2)
    # the variance found at one share is carried to another by p (1 - p)
    spread, own = found * (1 - found), value * (1 - value)
    turned, constant = 1.0, [0.0, 0.0, 0.0]
    if scale == "log" and metric.target is None:
        # the scale already makes the upper side wider; two variances would count the
        # skewness of the draws twice
        variances = [moved.variance] * 3
    if metric.reads in ("order", "classes") and metric.bounds == SHARE and spread:
        # a share of 0 or 1 of few decisions varies as with those that are added
        own = own or spread
        scale, turned = "wilson", own / spread
        # a fit that decides all records alike has 0 or 1 there, so that fits vary
        if metric.name in OF_ONE_CLASS:
            constant = [one - moved.given for one in variances]
    elif not spread and (units := units_of_share(scores, metric)):
        # a share of 0 or 1 of the records varies as Laplace's 1 / (m + 2) does
        wrong = 1 / (units + 2)
        scale, constant, own = "wilson", variances, wrong * (1 - wrong)
        spread, variances = own, [one + own / units for one in variances]

    def limits(one: float, fixed: float) -> tuple[float, float]:
        # the variance of a share depends on it, so that Wilson's limits are not even
        if scale == "wilson":
            rate = (one - fixed) / spread
            return interval.wilson_limits(value, rate, asked.level, moved.df, fixed)
        se = math.sqrt(one)
        return symmetric_limits(value, se, asked.level, df=moved.df, scale=scale)

    both = list(zip(variances, constant, strict=True))
    se, below, above = (
        math.sqrt((one - fixed) * turned + fixed) for one, fixed in both
    )
    lower, upper = limits(*both[1])[0], limits(*both[2])[1]
    made = Interval(lower, upper, se, method, assumes, moved.df, scale)
    fixed, spread = (constant[1], constant[2]), own if scale == "wilson" else math.nan
    return replace(made, spread=spread, constant=fixed, sides=(below, above))


def _ties_within_splits(scores: Scores) -> bool:
    """Return whether all records of a split are predicted alike, in every split."""
    starts = scores.starts[:-1]
    ends = (np.maximum, np.minimum)
    highest, lowest = (by.reduceat(scores.predicted, starts) for by in ends)
    return bool((highest == lowest).all())


@dataclass(frozen=True)
class _Variation:
    """The variance of an estimate, as the influences of records give it.

    Attributes
    ----------
    value : float
        The metric of the pooled predictions.
    variance, df : float
    given : float
        The variance with the fits as given.
    sides : tuple of float
        The variances for the distance of the lower and of the upper limit.
    kind : {"record", "cluster"}
        What varies.
    words : tuple of str
        The method, and what it assumes.
    """

    value: float
    variance: float
    given: float
    sides: tuple[float, float]
    df: float
    kind: str
    words: tuple[str, str]


def know_variations(scores: Scores, asked: Sequence[tuple[Metric, str, float]]) -> None:
    """Compute the variances of several estimates together, for their intervals.

    Parameters
    ----------
    scores : Scores
        The held-out predictions, which keep the variances.
    asked : sequence of (Metric, str, float)
        Metrics for which :func:`infinitesimal_serves`, the way in which each is stated,
        and its value.
    """
    some = [
        (metric, how)
        for metric, how, value in asked
        if not (math.isnan(value) or at_end(metric, value))
    ]
    found = influences_on(scores, some)
    for (metric, how), one in zip(some, found, strict=True):
        make = partial(_variation, scores, metric, how, "varied", one)
        scores.once(metric, ("variation", how, "varied"), make)


def _variation(
    scores: Scores,
    metric: Metric,
    how: str,
    fits: str,
    found: Influences | str | None = None,
) -> _Variation | str:
    """Return the variance of an estimate, or the reason why it has none."""
    if found is None:
        found = influences(scores, metric, how, of_fits=fits == "varied")
    if not isinstance(found, str) and how != "pooled" and found.value in SHARE:
        found = influences(scores, metric, of_fits=fits == "varied")  # may misrank some
    if isinstance(found, str):
        return found
    known, draws = found.given_fits, found.draws
    if metric.rank:
        # influences leave out what two records do together
        known += pair_variation(scores, metric, how, found)
    if fits == "correlated":
        known *= shared_training(scores, metric)
    if metric.rank and metric.pairs is None:
        # shares do not depend on the fits
        known = (known + found.of_shares) * by_deletion(metric, [found])
    excess, below, above = 0.0, 0.0, _of_unseen_errors(scores, metric, found.units)
    if draws is not None:
        between, added = _between_fits(scores, metric), (draws.excess, *draws.sides)
        if metric.rank:
            chosen = _of_one_choice(scores, metric, found.value, known)
            excess, below, above = (one + chosen for one in added)
            # fits that rank all records alike err downwards, beside what others add
            excess, above = excess + between, above + between
            if _is_biased(scores, metric, how):
                below += max(draws.bias, 0.0) ** 2
                above += min(draws.bias, 0.0) ** 2
        else:
            excess, below, above = (max(one, between) for one in added)
    is_of_counts = metric.reads in ("order", "classes")
    df = found.units.df if is_of_counts else found.heavy_df
    variances = known + excess, known, (known + below, known + above)
    words = _in_words(scores, metric, found)
    return _Variation(found.value, *variances, df, found.units.kind, words)


def _is_biased(scores: Scores, metric: Metric, how: str) -> bool:
    """Return whether ranks are pooled although fits predict on other levels.

    Where each fold has both classes, a mean over folds has no such bias. A precision
    hardly has it unless predictions of several fits are averaged.
    """
    pooled = how == "pooled" == scores.headline(metric)
    return pooled and (metric.no_skill is not None or scores.apart)


def by_deletion(metric: Metric, found: Sequence[Influences]) -> float:
    """Return the jackknife variance of a precision, relative to that of influences.

    With few positive records it is not a linear function of their weights. Each record,
    or cluster, of a sample is deleted with the fits as given. It is 1 for other
    metrics.

    Parameters
    ----------
    metric : Metric
    found : sequence of Influences
        The influences on the estimate, or on two whose difference varies.
    """
    if not metric.rank or metric.pairs is not None or metric.no_skill is not None:
        return 1.0
    assert metric.weighted is not None
    unit = found[0].units.unit
    every = chosen = np.flatnonzero(np.bincount(unit, found[0].units.counted))
    if len(every) > (most := n_draws(len(every))):
        chosen = np.random.default_rng(0).choice(every, most, replace=False)
    values, held = np.zeros(len(chosen)), np.zeros(len(unit))
    for sign, one in zip((1, -1), found, strict=False):
        held += sign * one.held
        for some in cut(len(chosen), max(1, CELLS // len(unit))):
            kept = (unit != chosen[some, None]).astype(float)
            for row, y, read in one.ranked:
                own = metric.weighted(y, read[None], kept[:, row])
                values[some] += sign * own / len(one.ranked)
    moved = np.bincount(unit, held)[chosen].var()
    # a deletion moves a mean by n / (n - 1) times the influence
    shrunk = (1 - 1 / len(every)) ** 2
    return max(shrunk * float(values.var() / moved), 1.0) if moved > 0 else 1.0


def _between_fits(scores: Scores, metric: Metric) -> float:
    """Return the variance between fits of a metric of all records, trained or not.

    The fit to all records differs as much from the mean of the fits to parts of them.
    No derivative shows that some of these decide, or rank, all records alike, as a
    lasso does that chooses no term.
    """
    assert scores.sensitivity is not None and metric.weighted is not None
    ranks_alike = metric.is_auroc and scores.sensitivity.varying < 1
    if scores.decided or not (ranks_alike or metric.name in OF_ONE_CLASS):
        return 0.0
    of = scores.sensitivity.setup.plan.fits.split_of
    few = np.unique(np.linspace(0, scores.n_splits - 1, MAX_COMPARED).astype(np.intp))
    some = np.flatnonzero(np.isin(of, few))
    splits, predicted = mean_by(of[some], scores.sensitivity.of_all_records(some))
    cuts, alike = scores.threshold_for(metric), np.ones((1, len(scores.y)))
    # the threshold of a split is that of the records that it holds out
    cut = 0.5 if cuts is None else cuts[scores.starts[splits], None]
    more = {} if metric.rank else {"threshold": cut}
    values = metric.weighted(scores.y, predicted, alike, **more)
    known = len(splits) > 1
    return float(values.var(ddof=1)) * (1 + 1 / scores.n_splits) if known else 0.0


def _of_one_choice(scores: Scores, metric: Metric, value: float, given: float) -> float:
    """Return the variance of an area that is due to a choice which all fits share.

    Training sets that hardly differ choose the same terms. As far as these are noise,
    the predictions of all fits err alike, as values of folds do that share training
    records.
    """
    assert scores.sensitivity is not None
    shared, model = shared_training(scores), scores.sensitivity.setup.model
    if not (metric.is_auroc and shared > NEARLY_TWICE and chooses_terms(model)):
        return 0.0
    # without signal all of a choice is noise, and none of it where ranks are certain
    return given * (shared - 1) * (1 - (2 * value - 1) ** 2)


def _of_unseen_errors(scores: Scores, metric: Metric, units: Units) -> float:
    """Return the variance of a log-loss that is due to wrong predictions of 0 and 1.

    If none of m such predictions was wrong, a share of 1 / (m + 2) is taken to be, each
    at the largest loss that the metric counts (Laplace's rule of succession).
    """
    if metric.name != "log_loss":
        return 0.0
    rounding = float(np.finfo(scores.predicted.dtype).eps)
    losses, most = casewise(scores, metric), -math.log(rounding)
    sure = losses <= 2 * rounding
    if not sure.any() or losses.max() >= (1 - rounding) * most:  # in the variance
        return 0.0
    number = len(np.unique(units.unit[scores.row[sure]]))
    wrong = 1 / (number + 2)
    return (most * float(sure.mean())) ** 2 * wrong * (1 - wrong) / number


def _in_words(scores: Scores, metric: Metric, found: Influences) -> tuple[str, str]:
    """Return the method and its assumptions in words."""
    by_cluster = found.units.kind == "cluster"
    summed = " summed by cluster" if by_cluster else ""
    if found.draws is None:
        method = f"influence of records{summed}"
        if metric.is_auroc and scores.external:
            method = f"DeLong's variance{summed} and Wilson's limits"
        return method, interval.CLUSTERS_ONLY if by_cluster else interval.RECORDS_ONLY
    assert scores.sensitivity is not None
    model, as_given = scores.sensitivity.setup.model, []
    chosen, unit = selection_in(model), "clusters" if by_cluster else "records"
    fits = "the fits" if chosen is None else ALL_TERMS
    assumes = WITH_FITS.format(unit=unit, fits=fits)
    if chosen is None and chooses_terms(model):
        as_given.append("the columns that are left out")
    if chosen is not model and model.capabilities.fits_per_training_set > 1:
        as_given.append("the tuning parameters")
    cuts = scores.given_threshold
    if metric.cuts and cuts is not None and np.ptp(cuts) > 0:
        as_given.append("the chosen thresholds")
    if as_given:
        assumes += "; " + CHOSEN.format(what=" and ".join(as_given))
    return METHOD + summed, assumes
