"""The metrics of a model without predictors under these folds, and at no skill.

Holding out an outcome moves the mean of the remaining records, so that a model which
predicts only that mean can be far from no skill under a plan: below it, for example
under leave-one-out, or above it, where class weights reverse the direction.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from statcv.errors import MetricError
from statcv.folds import FoldPlan
from statcv.inference.estimates.constants import ROUNDING, Constants
from statcv.inference.estimates.values import mean_of_known, pooled_values, values_by
from statcv.inference.scores import Scores
from statcv.metrics import METRICS, Metric
from statcv.numeric.arrays import Array
from statcv.numeric.survival import events_by
from statcv.tables import Printed, Said, Table, labels_of
from statcv.words import stated

MATERIAL = 0.1  # share of the way from no skill to perfect that is reported
ENOUGH = 4000  # predictions that are examined first


@dataclass(frozen=True, repr=False)
class NoSkill(Printed):
    """A metric of the model without predictors, under the folds and at no skill.

    Attributes
    ----------
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
        The way in which the metric is stated for these folds.
    value : float
        The value of no skill: the metric of one constant prediction for all records.
    found : float
        The metric of the model without predictors under the plan.
    perfect : float
        The value of perfect predictions; NaN if the metric has no such value.
    n : int
        The number of held-out records.
    """

    metric: Metric
    how: str
    value: float
    found: float
    perfect: float
    n: int

    def _said(self) -> Said:
        below = {"no skill": self.value, "without predictors": self.found}
        return f"{stated(self.metric.label, self.how)} without predictors", below

    @property
    def bias(self) -> float:
        """The metric of the model without predictors minus the value of no skill."""
        off = self.found - self.value
        return 0.0 if abs(off) <= ROUNDING * max(1.0, abs(self.value)) else off

    @property
    def material(self) -> bool:
        """Whether the bias exceeds a tenth of the way from no skill to perfect."""
        return self.exceeds(MATERIAL)

    @property
    def told(self) -> bool:
        """Whether the bias is worth mentioning beside one that is material."""
        return self.exceeds(MATERIAL / 5)

    def exceeds(self, share: float) -> bool:
        """Return whether the bias exceeds a share of the way from no skill to perfect.

        The mean loss of a mean, or of probabilities, is greater by about 2/n on records
        that were not used to compute it, and by chance at most by three times as much.
        This is the cost of fewer training records, not a bias, and is added to the
        share.
        """
        if self.metric.reads not in ("order", "classes"):
            # three times the expected cost of a mean that is estimated
            share += 6 / self.n
        span = abs(self.perfect - self.value)
        return bool(span > 0 and abs(self.bias) > share * span)

    @property
    def sentence(self) -> str:
        """The bias in words: metric, size and direction."""
        way = "low" if self.bias < 0 else "high"
        return (
            f"{self.metric.label} {self.found:.3f} where no skill is {self.value:.3f} "
            f"({abs(self.bias):.3f} too {way})"
        )


def no_skill_table(rows: Sequence[NoSkill]) -> pd.DataFrame:
    """Return one row per metric: how, no_skill, without_predictors and bias."""
    names = ["metric", "how", "no_skill", "without_predictors", "bias"]
    cells = [(row.metric.name, row.how, row.value, row.found, row.bias) for row in rows]
    return Table(
        pd.DataFrame(cells, columns=names),
        "Metrics of the model without predictors, and their values without skill",
        names,
        words=labels_of(row.metric for row in rows),
    )


def no_skill(rivals: Rivals, metrics: Sequence[Metric]) -> tuple[NoSkill, ...]:
    """Score the model without predictors under a plan.

    Parameters
    ----------
    rivals : Rivals
        The held-out predictions, whose thresholds are used if they are fixed.
    metrics : sequence of Metric
        The metrics to compute.

    Returns
    -------
    tuple of NoSkill
        One for each metric, stated as in the headline. The values are NaN for measures
        of calibration, since a constant prediction is calibrated.
    """
    with rivals.scores.in_threads(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked = ((one, rivals.scores.headline(one)) for one in metrics)
        found = tuple(_compared(*one, rivals) for one in asked)
    rivals.release()
    return found


def is_suspect(rivals: Rivals, metrics: Sequence[Metric]) -> bool:
    """Return whether the folds may bias a metric, judged by some of the predictions.

    This avoids the computation for all predictions when training sets are alike, and
    for metrics that the folds cannot bias.
    """
    constants, scores = rivals.constants, rivals.scores
    if constants is None or constants.same or not len(scores.row):
        return False
    # a metric without a value, or with that of a constant in any folds, is unbiased
    asked = [(one, scores.headline(one)) for one in metrics if one.target is None]
    able = [one for one in asked if not _ties_all(*one)]
    step = -(-len(scores.row) // ENOUGH)
    some, share = rivals, MATERIAL
    if step > 1:
        part = scores.chosen(slice(None, None, step))
        some, share = Rivals(part, constants), MATERIAL / 2
    with scores.in_threads(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return any(_compared(*one, some).exceeds(share) for one in able)


def _ties_all(metric: Metric, how: str) -> bool:
    """Return whether a metric compares only equal predictions of one split."""
    return metric.rank and how != "pooled"


@dataclass(frozen=True, eq=False)
class Rivals:
    """The held-out records with predictions that were made without predictors.

    Attributes
    ----------
    scores : Scores
        The held-out predictions.
    constants : Constants or None
        The predictions of that model; None if the predictions come from a model that
        was fitted to other records.
    """

    scores: Scores
    constants: Constants | None

    def release(self) -> None:
        """Release the memory of the predictions, which can be made again."""
        for name in ("perfect", "in_pairs"):
            self.__dict__.pop(name, None)

    @cached_property
    def perfect(self) -> Scores:
        """The scores with the outcomes as predictions."""
        scores = self.scores
        y = scores.outcome
        if scores.predicted.ndim > 1:
            return scores.predicting(np.eye(scores.n_classes)[y])
        binary = scores.y.dtype.kind in "iub"
        best = y.astype(float)
        if binary and not scores.probabilities:
            # scores are cut at 0, so that -1 and 1 are perfect
            best = 2 * best - 1
        return scores.predicting(best, threshold=None, of_training=None)

    @cached_property
    def in_pairs(self) -> list[tuple[Scores, Scores]]:
        """The scores with one constant, and under the folds, for each shift."""
        assert self.constants is not None
        of_all, by_fold = self.constants.at_no_skill, self.constants.under_folds
        scores, shifts = self.scores, self.constants.shifts
        return [(of_all(scores, shift), by_fold(scores, shift)) for shift in shifts]


def _compared(metric: Metric, how: str, rivals: Rivals) -> NoSkill:
    constants, scores = rivals.constants, rivals.scores
    if constants is None or metric.target is not None:
        return NoSkill(metric, how, math.nan, math.nan, math.nan, scores.n_held_out)
    perfect = _perfect(metric, rivals)
    alike = constants.offset is None  # so that a constant ties all records
    order = metric.of_random_order() if alike else None
    if order is not None:  # its value for ties differs from that for a random order
        value = found = _value(order, scores, how)
        if not (_ties_all(metric, how) or constants.same):
            under_folds = rivals.in_pairs[0][1]
            if constants.own:
                found = _value(metric, under_folds, how)
            else:
                # averaged over random orders of the predictions that tie
                ties = metric.of_random_order(of_ties=True, tie_tol=ROUNDING)
                assert ties is not None
                one = "per_fold" if under_folds.apart else how
                found = _value(ties, under_folds, one)
        return NoSkill(metric, how, value, found, perfect, scores.n_held_out)
    known = metric.without_skill(scores.n_classes)
    found = value = math.nan
    for constant, under_folds in rivals.in_pairs:
        at_all = _value(metric, constant, "pooled" if alike else how)
        if metric.is_auroc and alike:  # half of all pairs; none without one class
            at_all = perfect / 2
        if math.isnan(at_all) and known is not None:
            at_all = known  # the Matthews correlation of a constant class is 0/0
        here = at_all
        if not (_ties_all(metric, how) or constants.same):
            here = _value(metric, under_folds, how)
        # between small shifts up and down, take the one with the larger bias
        if math.isnan(found) or abs(here - at_all) > abs(found - value):
            found, value = here, at_all
    return NoSkill(metric, how, value, found, perfect, scores.n_held_out)


def _perfect(metric: Metric, rivals: Rivals) -> float:
    """Return the metric of perfect predictions; NaN if it has no value."""
    if metric.is_auroc:
        y, repeats = rivals.scores.outcome, rivals.scores.by_repeat
        return 1.0 if any(np.ptp(y[where]) for where in repeats) else math.nan
    if metric.perfect is not None:
        return metric.perfect
    if metric.horizon is not None:  # a risk of 1 for those with the event by then
        scores = rivals.scores
        known = events_by(scores.outcome, metric.horizon)
        best = np.broadcast_to(known[:, None] * 1.0, scores.predicted.shape)
        return _value(metric, scores.predicting(best), "pooled")
    return _value(metric, rivals.perfect, "pooled")


def _value(metric: Metric, scores: Scores, how: str) -> float:
    """Return the metric, stated in one way; NaN if it has no value.

    A caller's own function has no value if it rejects constant or perfect predictions.
    """
    try:
        return mean_of_known(values_by(scores, metric, how))
    except MetricError:
        return math.nan


# ---- the training means alone ----


def mean_model_hand_till(
    scores: Scores, plan: FoldPlan, weights: Array | None = None
) -> float:
    """Return Hand and Till's pooled auROC of the class shares in the training sets.

    A difference from 0.5 is distributional bias. Under leave-one-out the value is 0,
    since the training share of the held-out record's class is the smaller one.

    Parameters
    ----------
    scores : Scores
        The held-out predictions of several classes.
    plan : FoldPlan
        The fold plan.
    weights : numpy.ndarray, shape (n,), optional
        Weights of the records in the fits; in rebalanced training sets the classes have
        equal totals of these as well.

    Returns
    -------
    float
        The mean over the repeats that hold out every class; NaN if no repeat does.

    References
    ----------
    Austin, Pe'er & Korem (2024); Hand & Till (2001), Machine Learning 45:171.
    """
    weighed = np.ones(plan.n) if weights is None or plan.rebalanced else weights
    fits, total = plan.fits, plan.training_means(weighed)
    members = (weighed * (scores.y == code) for code in range(scores.n_classes))
    shares = [fits.mean_by_split(plan.training_means(one) / total) for one in members]
    # the class shares of the training set stand for predictions
    alone = np.column_stack(shares)[scores.split]
    values = pooled_values(replace(scores, predicted=alone), METRICS["auroc_hand_till"])
    return mean_of_known(values)
