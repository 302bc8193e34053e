"""What the intervals of the literature share: samples, their fits, and limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from statcv.engine import Setup, run_resampled
from statcv.errors import OutcomeError, SchemeError
from statcv.inference import LeftOut, Scores
from statcv.inference.refits import FOLDED, mean_values
from statcv.metrics import METRICS, Metric
from statcv.results import CVResult

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
Limits = tuple[float, float]

TRIES = 1000  # largest number of draws until every training set has all classes


def resampled_values(
    setup: Setup,
    metric: Metric,
    how: str,
    trained: NDArray[np.int32],
    held: NDArray[np.int32],
    group: Numbers,
    threshold: float | None = None,
) -> Floats:
    """Fit samples of the records, and return a metric of others that they predict.

    Parameters
    ----------
    setup : Setup
    metric : Metric
    how : {"pooled", "per_fold"}
        Whether the predictions of a group are pooled, or the metric averaged over its
        fits.
    trained, held : numpy.ndarray of int, shape (fits, n)
        How often each fit trains on a record, and predicts it.
    group : numpy.ndarray of int, shape (fits,)
        The group of each fit, in rising order from 0.
    threshold : float, optional
        Smallest probability of a predicted class 1 if the model does not choose it.

    Returns
    -------
    numpy.ndarray, shape (groups,)
        Metric of each group; NaN where it has no value.
    """
    numbers = np.arange(len(trained))
    made = run_resampled(setup, trained, numbers)
    split, row = np.nonzero(held)
    copies = held[split, row]
    split, row = np.repeat(split, copies), np.repeat(row, copies)
    y, none = setup.design.y, np.empty(0, dtype=np.intp)
    cuts = made.thresholds
    if cuts is None and threshold is not None:
        cuts = np.full(len(trained), threshold)
    size = trained.sum(axis=1).astype(float)
    scores = Scores(
        y=y[row],  # each copy is a record of its own
        split=split,
        row=np.arange(len(row)),
        predicted=made.predicted[split, row],
        repeat=group,
        n_train=size,
        baseline=trained @ y.astype(float) / size,
        left=LeftOut(
            none, none, np.empty(0), np.empty(0, dtype=bool), np.zeros_like(group)
        ),
        probabilities=made.probabilities,
        threshold=None if cuts is None else cuts[split],
    )
    groups = int(group[-1]) + 1
    with np.errstate(invalid="ignore", divide="ignore"):
        return mean_values(scores, metric, how, np.arange(groups))


def has_all_classes(setup: Setup, trained: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return whether training sets, of shape (..., n), have records of every class."""
    if setup.design.outcome.kind == "continuous":
        return np.ones(trained.shape[:-1], dtype=bool)
    codes = range(len(setup.design.outcome.levels))
    there = [trained[..., setup.design.y == code].any(axis=-1) for code in codes]
    return np.asarray(np.all(there, axis=0))


def stated(result: CVResult, metric: str, how: str | None) -> tuple[Metric, str]:
    """Return the metric, and the way in which it is stated."""
    chosen = METRICS[metric]
    return chosen, result.scores.headline(chosen) if how is None else how


def value_of(result: CVResult, metric: Metric, how: str) -> float:
    """Return the estimate of a result."""
    of_one = np.zeros(len(result.scores.by_repeat), dtype=np.intp)
    return float(mean_values(result.scores, metric, how, of_one)[0])


def generator_of(result: CVResult, seed: int | None) -> np.random.Generator:
    """Return the generator of a seed, by default that of the result."""
    return np.random.default_rng(result.refits.setup.seed if seed is None else seed)


def range_of(result: CVResult, metric: Metric) -> Limits:
    """Return the least and the greatest value of a metric."""
    return metric.bounds_with(result.scores.n_classes)


def about(value: float, se: float, level: float, bounds: Limits) -> Limits:
    """Return the limits, moved into the range of the metric if they are outside."""
    half, (least, most) = -float(ndtri((1 - level) / 2)) * se, bounds
    return float(np.maximum(value - half, least)), float(np.minimum(value + half, most))


def check(setup: Setup, folded: bool) -> None:
    """Check that a plan is one of single records, and of random folds if need be."""
    plan = setup.plan
    if folded and plan.scheme not in FOLDED:
        raise SchemeError(
            f"this interval is for {' and '.join(FOLDED)}, not for {plan.scheme}."
        )
    if plan.rebalanced or plan.weighting is not None or setup.weights is not None:
        raise SchemeError("this interval is for training sets that are not balanced.")
    if plan.strata is not None:
        raise SchemeError(
            "this interval is for independent records, but this plan keeps records "
            f"with equal values of {plan.strata.label} together."
        )


def too_small(sample: str, part: str) -> OutcomeError:
    """Return the error of a class that samples or splits lack again and again."""
    return OutcomeError(
        f"a class is so small that in {TRIES} attempts no {sample} was drawn of which "
        f"every {part} trains on all classes."
    )
