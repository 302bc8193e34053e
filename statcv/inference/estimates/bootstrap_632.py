"""The .632 and .632+ rules, which combine the apparent and the out-of-bag value.

A bootstrap sample contains about 63.2% of the records, so that its fit predicts the
out-of-bag records worse than a fit to all records would; the apparent value of the
metric errs in the other direction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from statcv.arguments import check_level
from statcv.errors import MetricError
from statcv.inference.assumptions import ASSUMED
from statcv.inference.estimates.estimate import Estimate
from statcv.inference.estimates.values import (
    casewise_by_record,
    mean_of_known,
    values_by_split,
)
from statcv.inference.intervals.interval import Interval
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.numeric.arrays import Floats, Outcomes
from statcv.tables import Printed

DRAWN = 0.632  # the share of the records that a bootstrap sample contains
MOST = 250_000  # the largest number of pairs of an outcome and a prediction
NO_INTERVAL = ASSUMED["no_interval_of_632"]


@dataclass(frozen=True, repr=False)
class Bootstrap632(Printed):
    """The values that the .632 and .632+ rules combine (Efron & Tibshirani 1997).

    Attributes
    ----------
    apparent : float
        The metric of the fit to all records, on those same records.
    out_of_bag : float
        The leave-one-out bootstrap: the metric on the out-of-bag records.
    no_information : float
        The metric when outcomes are independent of the predictions.
    greater_is_better : bool
        Whether greater values of the metric are better.

    Examples
    --------
    >>> wrong = Bootstrap632(0.0, 0.5, 0.5, greater_is_better=False)
    >>> wrong.overfitting, wrong.plain, round(wrong.plus, 12)
    (1.0, 0.316, 0.5)
    """

    apparent: float
    out_of_bag: float
    no_information: float
    greater_is_better: bool

    @property
    def overfitting(self) -> float:
        """The relative overfitting rate, from 0 to 1 (equations 28 and 31)."""
        sign = 1.0 if self.greater_is_better else -1.0
        lost = sign * (self.apparent - self.out_of_bag)
        most = sign * (self.apparent - self.no_information)
        if np.isnan(lost + most):
            return np.nan
        return min(lost / most, 1.0) if lost > 0 and most > 0 else 0.0

    @property
    def plain(self) -> float:
        """The .632 value (equation 24)."""
        return (1 - DRAWN) * self.apparent + DRAWN * self.out_of_bag

    @property
    def plus(self) -> float:
        """The .632+ value (equation 32).

        If the out-of-bag value is no worse than no information, this is
        ``(1 - w) apparent + w out_of_bag`` with ``w = .632 / (1 - .368 overfitting)``.
        """
        # the weight of the out-of-bag value rises from .632 to 1 with overfitting
        rate = self.overfitting
        no_worse = max if self.greater_is_better else min
        bounded = no_worse(self.out_of_bag, self.no_information)
        more = (1 - DRAWN) * DRAWN * rate / (1 - (1 - DRAWN) * rate)
        return self.plain + (bounded - self.apparent) * more


@dataclass(frozen=True, repr=False)
class BootstrapEstimate(Estimate):
    """An estimate by the .632 or .632+ rule, with the values that it combines.

    Attributes
    ----------
    parts : Bootstrap632
        The values that the rule combines.
    """

    parts: Bootstrap632 = field(kw_only=True)


def bootstrap_estimate(
    scores: Scores,
    metric: Metric,
    how: str,
    fitted: Floats,
    level: float,
    threshold: float | Floats | None = None,
) -> BootstrapEstimate:
    """Estimate a metric by the .632 or the .632+ rule.

    Parameters
    ----------
    scores : Scores
        The out-of-bag predictions of bootstrap samples.
    metric : Metric
        The metric to estimate.
    how : {".632", ".632+"}
        The rule.
    fitted : numpy.ndarray, shape (n,) or (n, classes)
        Predictions of the fit to all records, for those records.
    level : float
        The confidence level, which is only recorded: the rules offer no interval.
    threshold : float or numpy.ndarray, optional
        The threshold of the fit to all records, if it has one, or one per record.
    """
    check_level(level, MetricError)
    values = _out_of_bag(scores, metric)
    parts = join_values(scores, metric, fitted, threshold)
    value = parts.plain if how == ".632" else parts.plus
    stated = metric.name, metric.label, how, value, level
    counts = int(np.isnan(values).sum()), len(values)
    make = partial(Interval.none, NO_INTERVAL)
    return BootstrapEstimate(*stated, *counts, np.nan, make, parts=parts)


def join_values(
    scores: Scores,
    metric: Metric,
    fitted: Floats,
    threshold: float | Floats | None = None,
) -> Bootstrap632:
    """Return the apparent, out-of-bag and no-information values of a metric."""
    read = metric.readable(fitted, scores.probabilities, threshold)
    mean = np.full(len(scores.y), scores.y.mean()) if metric.uses_baseline else None
    return Bootstrap632(
        apparent=float(metric(scores.y, read, mean, threshold)),
        out_of_bag=mean_of_known(_out_of_bag(scores, metric)),
        no_information=no_information(metric, scores.y, read, threshold),
        greater_is_better=metric.greater_is_better,
    )


def _out_of_bag(scores: Scores, metric: Metric) -> Floats:
    """Return one value per record for a mean over records, else one per sample.

    The value of a record is the mean over the samples for which it is out-of-bag.
    """
    if metric.casewise is None:
        return values_by_split(scores, metric)
    rows, values = casewise_by_record(scores, metric)
    of_all = np.full(len(scores.y), np.nan)
    of_all[rows] = values
    return of_all


def no_information(
    metric: Metric,
    y: Outcomes,
    predicted: Floats,
    threshold: float | Floats | None = None,
) -> float:
    """Return the value of a metric if outcomes and predictions were independent.

    This is the metric over all n² pairs of the outcome of one record and the
    prediction for another (or the same): for errors the textbook double mean, for
    auROC ½, for auPR the share of positives. Above 500 records it is computed from
    250 000 of the pairs, in which every record occurs equally often.

    Parameters
    ----------
    metric : Metric
    y : numpy.ndarray, shape (n,)
        The outcomes.
    predicted : numpy.ndarray, shape (n,) or (n, classes)
        The predictions, in the form that the metric uses.
    threshold : float or numpy.ndarray, optional
        The smallest prediction for which class 1 is predicted.

    Examples
    --------
    >>> from statcv.metrics import METRICS
    >>> y, predicted = np.array([0, 0, 0, 1]), np.array([0.1, 0.2, 0.7, 0.8])
    >>> no_information(METRICS["accuracy"], y, predicted)
    0.5
    >>> no_information(METRICS["auroc"], y, predicted)
    0.5
    """
    n = len(y)
    count = min(n, max(MOST // n, 1))
    # every outcome meets predictions of other records, evenly spread
    shifts = np.arange(count) * n // count
    if count < n:  # because neighbours in the data may be alike
        order = np.random.default_rng(0).permutation(n)
        predicted = predicted[order]
        threshold = threshold[order] if isinstance(threshold, np.ndarray) else threshold
    other = (np.arange(n) + shifts[:, None]) % n
    outcomes = np.tile(y, count)
    mean = np.full(len(outcomes), outcomes.mean()) if metric.uses_baseline else None
    if isinstance(threshold, np.ndarray):
        threshold = threshold[other.ravel()]
    return float(metric(outcomes, predicted[other.ravel()], mean, threshold))
