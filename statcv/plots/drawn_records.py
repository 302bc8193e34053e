"""The records of a result that a plot draws, with what is averaged of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.errors import MetricError
from statcv.inference import Readable, Scores
from statcv.inference.estimates.pairs import ConcordantPairs, concordant_pairs
from statcv.metrics.survival.curves import RisksBy
from statcv.plots.base import EXTERNAL, horizon_of, require_binary, with_ends

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DrawnRecords:
    """All records that were held out, each of them once.

    Attributes
    ----------
    row : numpy.ndarray of int, shape (n,)
        Positions of the records in the data.
    y : numpy.ndarray, shape (n,)
        Coded outcome, or signed times.
    predicted : numpy.ndarray, shape (n,)
        Predictions, averaged over all splits that hold the record out.
    clusters : numpy.ndarray of int, shape (n,), or None
        Cluster of each record, if there are clusters.
    how : str
        Description of how the predictions were combined.
    risks : RisksBy or None
        The risks of an event by a horizon, if the outcome is a time to an event.
    """

    row: NDArray[np.intp]
    y: NDArray[Any]
    predicted: Floats
    clusters: NDArray[np.intp] | None
    how: str
    risks: RisksBy | None = None


def records_of(
    result: Readable,
    picture: str,
    *,
    rank: bool = False,
    probabilities: bool = False,
    timed: bool = False,
    at: float | None = None,
) -> DrawnRecords:
    """Return the records of a result with two classes, or with times to an event.

    Parameters
    ----------
    result : Readable
        Result to read.
    picture : str
        Name of the plot in error messages.
    rank : bool
        Whether only the order matters. In a tournament the prediction of a record is
        then the share of pairs that it won.
    probabilities : bool
        Whether the plot needs probabilities.
    timed : bool
        Whether times to an event can be drawn.
    at : float, optional
        Their horizon.

    Raises
    ------
    OutcomeError
        If the outcome does not have two classes, or there is no horizon.
    MetricError
        If probabilities are needed, and the predictions are not probabilities.
    """
    horizon = horizon_of(result, picture, at) if timed else None
    if horizon is not None:
        return timed_records(result, horizon)
    require_binary(result, picture)
    scores = result.scores
    if probabilities and not scores.probabilities:
        raise MetricError(
            f"{picture} needs probabilities, but the predictions of "
            f"{result.learner.label} are scores on a scale of their own; use a model "
            "that predicts probabilities, or calibrate it inside the folds, for "
            "example with scikit-learn's CalibratedClassifierCV."
        )
    row, predicted = averaged(scores, rank)
    clusters = None if scores.clusters is None else scores.clusters[row]
    y = np.asarray(scores.y[row], dtype=np.int64)
    return DrawnRecords(row, y, predicted, clusters, how_averaged(scores))


def timed_records(result: Readable, horizon: float | None = None) -> DrawnRecords:
    """Return records with times to an event, and their risks by a horizon.

    Without one, the predictions are the linear predictors.
    """
    outcome, column = result.design.outcome, 0
    if horizon is not None:
        column = 1 + outcome.horizons.index(horizon)
    scores = of_column(result.scores, column)
    row, predicted = scores.mean_prediction()
    if missing := int(np.isnan(predicted).sum()):
        raise MetricError(
            f"{missing} of {len(row)} predictions are NaN; a curve needs all of them."
        )
    clusters = None if scores.clusters is None else scores.clusters[row]
    y = scores.y[row]
    every = None if len(row) == len(outcome.y) else outcome.y
    risks = RisksBy(y, predicted, horizon or 0.0, every, clusters, result.seed)
    return DrawnRecords(row, y, predicted, clusters, how_averaged(scores), risks)


def of_column(scores: Scores, column: int) -> Scores:
    """Return one of the predictions of each record: 0 is the linear predictor."""
    return scores.predicting(scores.predicted[:, column])


def placed_pairs(scores: Scores) -> ConcordantPairs | None:
    """Return the pairs whose placement values give the ROC curve.

    The value is None if each record has a score of its own, or if there are too many
    pairs to list.
    """
    each_in_many = scores.overlapping and not scores.tournament
    return concordant_pairs(scores) if each_in_many else None


def averaged(scores: Scores, rank: bool) -> tuple[NDArray[np.intp], Floats]:
    """Return each held-out record once, with its mean prediction.

    With ``rank``, predictions are in the form that auROC reads; in a tournament they
    are the share of its pairs that a record won.
    """
    if not (rank and scores.tournament):
        rows, mean = scores.mean_prediction()
        return rows, scores.to_rank(mean) if rank else mean
    parts = [scores.by_record(where, rank=True) for where in scores.by_repeat]
    rows, won = (np.concatenate(column) for column in zip(*parts, strict=True))
    distinct, place = np.unique(rows, return_inverse=True)
    return distinct, np.bincount(place, won) / np.bincount(place)


def how_averaged(scores: Scores) -> str:
    """Return how the predictions of a record were combined.

    The text continues the phrase "held-out predictions", unless it begins with
    "external validation".
    """
    repeats = len(scores.by_repeat)
    if repeats > 1:
        of_others = f"{EXTERNAL}, " * scores.external
        return f"{of_others}averaged over {repeats} repeats"
    if scores.external:
        return EXTERNAL
    return "averaged by record" if scores.overlapping else "pooled"


def how_drawn(result: Readable, method: str | None) -> str:
    """Return how the predictions of the curve were combined, for the title."""
    scores = result.scores
    if method is None and len(scores.by_repeat) > 1:
        return EXTERNAL + ", by repeat" if scores.external else "pooled by repeat"
    return how_averaged(scores)


def curve_label(result: Readable, metric: str, name: str, level: float) -> str:
    """Return the legend entry: the headline estimate, with its interval or its name."""
    one = result.estimate(metric, level=level)
    said = with_ends(one.value, (one.lower, one.upper))
    if not name:
        return f"{one.label} {said}"
    return f"{name}: {one.label} {said.partition(' (')[0]}"
