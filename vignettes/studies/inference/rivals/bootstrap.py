"""The bootstrap of the cross-validation (Cai et al.)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from statcv.engine import Setup
from statcv.folds import FoldPlan, make_plan
from statcv.inference.refits import fixed_threshold
from statcv.metrics import Metric
from statcv.results import CVResult
from studies.inference.rivals.resampling import (
    TRIES,
    about,
    check,
    generator_of,
    has_all_classes,
    range_of,
    resampled_values,
    stated,
    too_small,
    value_of,
)

Floats = NDArray[np.float64]
Limits = tuple[float, float]

DISTINCT = 0.632  # share of the records that a bootstrap sample is expected to contain


def cai_interval(
    result: CVResult,
    metric: str = "auroc",
    *,
    how: str | None = None,
    samples: int = 60,
    foldings: int = 2,
    level: float = 0.95,
    seed: int | None = None,
) -> Limits:
    """Return the interval by a bootstrap of the cross-validation (Cai et al.).

    The records are drawn with replacement, and each bootstrap sample is cross-validated
    a few times with different folds. A one-way random-effects model separates the
    variance between the samples from that between the folds of a sample. The interval
    is the estimate plus and minus the normal quantile times the standard deviation
    between samples.

    Parameters
    ----------
    result : CVResult
        Result with k random folds of single records.
    metric : str, default "auroc"
    how : {"pooled", "per_fold"}, optional
        The way of stating the metric; that of the result's headline unless given.
    samples : int, default 60
        Number of bootstrap samples.
    foldings : int, default 2
        Number of divisions of each sample into folds.
    level : float, default 0.95
    seed : int, optional
        Seed for the samples and the folds; the seed of the result unless given.

    Returns
    -------
    lower, upper : float
        Limits; NaN if the metric has no value.

    Raises
    ------
    SchemeError
        If the result does not have random folds of single records.
    OutcomeError
        If a class is so small that training sets would lack it.

    Notes
    -----
    This is their Algorithm 2, the fast version of the bootstrap. As in the paper, the
    records are divided before they are weighted by the bootstrap, so that repeats of
    one record are in one fold, and the training sets are enlarged, since they contain
    only 63.2% distinct records: the share that is held out minimises the paper's loss
    (:func:`folds_of_samples`). It differs from the paper in four respects:

    - The paper holds out random parts. Here the scheme of the result makes the folds,
      so that the adjusted share is rounded to a number of folds, usually k or k + 1.
    - The paper recommends 400 samples with 20 divisions, and for as few as these a
      simulated critical value (its Algorithm 3), for which the normal one is used here.
    - The estimate of the paper is a mean over so many divisions that their variation is
      negligible. If the result has a single one, its variation is not counted.
    - Samples and divisions of which a training set lacks a class are drawn again, and
      folds in which a rank metric has no value are ignored.

    A negative estimate of the variance between samples counts as zero. The paper's loss
    and the numbers that it recommends are quoted from descriptions of the paper.

    References
    ----------
    Cai, Luo, Guo, Pellegrini, Pang, de Moor, Shen, Charu & Tian (2023), Bootstrapping
    the cross-validation estimate, arXiv:2307.00260.

    Examples
    --------
    >>> import statcv
    >>> from statcv.models import Logit
    >>> from studies.inference import Population
    >>> rng = np.random.default_rng(1)
    >>> frame = Population(60, 0.5, 0.8, False).sample(rng)
    >>> result = statcv.cv("y ~ . - id", frame, model=Logit(C=1.0), seed=1)
    >>> lower, upper = cai_interval(result, samples=10)
    >>> 0.5 < lower < upper
    True
    """
    chosen, how = stated(result, metric, how)
    setup = result.refits.setup_for(chosen)
    check(setup, folded=True)
    value = value_of(result, chosen, how)
    rng = generator_of(result, seed)
    times, fold = draw_samples(setup, samples, foldings, rng)
    values = sample_values(
        setup, chosen, how, times, fold, fixed_threshold(result.scores)
    )
    return about(
        value, math.sqrt(between_variance(values)), level, range_of(result, chosen)
    )


def folds_of_samples(n: int, k: int) -> int:
    """Return the number of folds of a bootstrap sample.

    The training size a minimises the sum of (0.632 a / m - 1)² and of 0.368 times
    ((n - m) / (n - a) - 1)², where m is the training size of the cross-validation. The
    first counts the missing distinct records, the second the missing held-out ones.

    Parameters
    ----------
    n : int
        Number of records.
    k : int
        Number of folds of the cross-validation.

    Examples
    --------
    >>> folds_of_samples(100, 10), folds_of_samples(100, 5), folds_of_samples(100, 2)
    (11, 6, 3)
    """
    m = n * (k - 1) / k

    def loss(a: float) -> float:
        held = (n - m) / (n - a) - 1
        return float((DISTINCT * a / m - 1) ** 2 + (1 - DISTINCT) * held**2)

    a = float(minimize_scalar(loss, bounds=(m, n - 1e-6 * n), method="bounded").x)
    return max(k, min(round(n / (n - a)), n))


def draw_samples(
    setup: Setup, samples: int, foldings: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw bootstrap samples and their folds.

    Parameters
    ----------
    setup : Setup
    samples, foldings : int
        Number of bootstrap samples, and of the divisions of each into folds.
    rng : numpy.random.Generator

    Returns
    -------
    times : numpy.ndarray of int, shape (samples, n)
        How often each record was drawn.
    fold : numpy.ndarray of int, shape (samples, foldings, n)
        The fold of each record, from 0.
    """
    n = setup.design.n
    times = np.zeros((samples, n), dtype=np.int32)
    fold = np.zeros((samples, foldings, n), dtype=np.int32)
    left = np.arange(samples)
    for _ in range(TRIES):
        draws = rng.multinomial(n, np.full(n, 1 / n), len(left))
        times[left] = draws
        seed = int(rng.integers(2**32))
        plan = _divided(setup, len(left) * foldings, seed)
        fold[left] = plan.held_out.reshape(len(left), foldings, n)
        trained = _trained(times[left], fold[left])
        left = left[~has_all_classes(setup, trained).all(axis=(1, 2))]
        if not len(left):
            return times, fold
    raise too_small("bootstrap sample", "fold")


def sample_values(
    setup: Setup,
    metric: Metric,
    how: str,
    times: NDArray[np.int32],
    fold: NDArray[np.int32],
    threshold: float | None = None,
) -> Floats:
    """Return a metric by cross-validation of bootstrap samples.

    Parameters
    ----------
    setup : Setup
    metric : Metric
    how : {"pooled", "per_fold"}
    times, fold
        As :func:`draw_samples` returns them.
    threshold : float, optional
        Smallest probability for which class 1 is predicted; 0.5 unless given.

    Returns
    -------
    numpy.ndarray, shape (samples, foldings)
    """
    samples, foldings, n = fold.shape
    trained = _trained(times, fold)
    folds = trained.shape[2]
    held = times[:, None, None, :] - trained
    values = resampled_values(
        setup,
        metric,
        how,
        trained.reshape(-1, n),
        held.reshape(-1, n),
        np.repeat(np.arange(samples * foldings), folds),
        threshold,
    )
    return values.reshape(samples, foldings)


def between_variance(values: Floats) -> float:
    """Return the variance between the rows of a table, by a random-effects model.

    Parameters
    ----------
    values : numpy.ndarray, shape (rows, columns)

    Examples
    --------
    >>> between_variance(np.array([[1.0, 1.0], [3.0, 3.0]]))
    2.0
    >>> between_variance(np.array([[0.0, 2.0], [2.0, 4.0]]))  # 2 - 2 / 2
    1.0
    """
    means = values.mean(axis=1)
    between = float(means.var(ddof=1))
    if values.shape[1] > 1:
        between -= float(values.var(axis=1, ddof=1).mean()) / values.shape[1]
    return max(between, 0.0) if math.isfinite(between) else math.nan


def _trained(times: NDArray[np.int32], fold: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return how often each fit trains on a record: (samples, foldings, folds, n)."""
    every = np.arange(fold.max() + 1)
    outside = fold[:, :, None, :] != every[:, None]
    return np.asarray(times[:, None, None, :] * outside, dtype=np.int32)


def _divided(setup: Setup, repeats: int, seed: int) -> FoldPlan:
    """Divide the records into the folds of bootstrap samples, as the scheme does."""
    plan = setup.plan
    return make_plan(
        plan.scheme,
        setup.design.y,
        setup.design.outcome.kind,
        k=folds_of_samples(plan.n, len(plan.labels[0])),
        repeats=repeats,
        seed=seed,
    )
