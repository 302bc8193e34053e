"""The records of a result as a curve reads them: each once, with one prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.errors import MetricError
from statcv.inference import Readable, Scores
from statcv.inference.estimates.pairs import ConcordantPairs, concordant_pairs
from statcv.plots.base import require_binary

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Records:
    """Every record that was held out, once.

    Attributes
    ----------
    row : numpy.ndarray of int, shape (n,)
    y : numpy.ndarray, shape (n,)
        Coded outcome.
    predicted : numpy.ndarray, shape (n,)
        Averaged over all the times that the record was held out.
    clusters : numpy.ndarray of int, shape (n,), or None
        The source of each, where a source has several.
    how : str
        What was pooled or averaged, in words.
    """

    row: NDArray[np.intp]
    y: NDArray[np.int64]
    predicted: Floats
    clusters: NDArray[np.intp] | None
    how: str


def records_of(
    result: Readable, picture: str, *, rank: bool = False, probabilities: bool = False
) -> Records:
    """Return the records of a result with two classes.

    Parameters
    ----------
    result : Readable
    picture : str
        What they are for, as an error names it.
    rank : bool
        Whether only the order counts: in a tournament a record then has the share of
        pairs that it won.
    probabilities : bool
        Whether the picture needs probabilities.

    Raises
    ------
    OutcomeError
        If the outcome does not have two classes.
    MetricError
        If probabilities are needed and predictions are none.
    """
    require_binary(result, picture)
    scores = result.scores
    if probabilities and not scores.probabilities:
        raise MetricError(
            f"{picture} needs probabilities, and the predictions of "
            f"{result.learner.label} are scores on a scale of their own; use a model "
            "that predicts probabilities, or calibrate it inside the folds, as "
            "scikit-learn's CalibratedClassifierCV does."
        )
    row, predicted = averaged(scores, rank)
    clusters = None if scores.clusters is None else scores.clusters[row]
    y = np.asarray(scores.y[row], dtype=np.int64)
    return Records(row, y, predicted, clusters, how_averaged(scores))


def placed_pairs(scores: Scores) -> ConcordantPairs | None:
    """Return the pairs whose placement values make a ROC curve.

    None where each record has a score of its own, or there are too many pairs to list.
    """
    each_in_many = scores.overlapping and not scores.tournament
    return concordant_pairs(scores) if each_in_many else None


def averaged(scores: Scores, rank: bool) -> tuple[NDArray[np.intp], Floats]:
    """Return each held-out record once, with its mean prediction.

    For ranks as an auROC reads it, in a tournament the share of its pairs that it won.
    """
    if not (rank and scores.tournament):
        rows, mean = scores.mean_prediction()
        return rows, scores.to_rank(mean) if rank else mean
    parts = [scores.by_record(where, rank=True) for where in scores.by_repeat]
    rows, won = (np.concatenate(column) for column in zip(*parts, strict=True))
    distinct, place = np.unique(rows, return_inverse=True)
    return distinct, np.bincount(place, won) / np.bincount(place)


def how_averaged(scores: Scores) -> str:
    """Say in words what became of the predictions of a record.

    The words follow "held-out predictions".
    """
    repeats = len(scores.by_repeat)
    if repeats > 1:
        return f"averaged over {repeats} repeats"
    return "averaged by record" if scores.overlapping else "pooled"
