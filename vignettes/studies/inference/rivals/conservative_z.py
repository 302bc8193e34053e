"""The conservative Z interval (Nadeau and Bengio)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from statcv.engine import Setup
from statcv.errors import MetricError, OutcomeError
from statcv.inference.refits import fixed_threshold
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

Limits = tuple[float, float]

TRAINED = 0.9  # share of the records that a random split trains on


def conservative_z_interval(
    result: CVResult,
    metric: str = "brier",
    *,
    halvings: int = 10,
    splits: int = 15,
    level: float = 0.95,
    seed: int | None = None,
) -> Limits:
    """Return the conservative Z interval of a mean loss (Nadeau & Bengio).

    The records are divided at random into halves, several times, and in each half the
    loss is estimated by random splits. The halves share no record, so that half of
    the squared difference of their estimates is an unbiased estimate of the variance
    of one of them. This is larger than the variance of an estimate from all records.

    Parameters
    ----------
    result : CVResult
        Result for single records, with any scheme.
    metric : str, default "brier"
        Mean over records.
    halvings : int, default 10
        Number of divisions into halves.
    splits : int, default 15
        Number of random splits of each half.
    level : float, default 0.95
    seed : int, optional
        Seed for the halves and the splits; the seed of the result unless given.

    Returns
    -------
    lower, upper : float
        Limits; NaN if a loss has no value.

    Raises
    ------
    MetricError
        If the metric is not a mean over records.
    OutcomeError
        If a class is so small that training sets would lack it.

    Notes
    -----
    Schulz-Kümpel et al. recommend the interval. The numbers of divisions and splits are
    the defaults of their R package mlr3inferr, and so are the sizes: a split of a half
    holds out as many records as a split of all records would, which is a tenth of all.
    Divisions and splits of which a training set lacks a class are drawn again. The
    centre is the estimate of the result, not the mean over splits of all records.

    References
    ----------
    Nadeau & Bengio (2003), Machine Learning 52:239.
    Schulz-Kümpel, Fischer, Hornung, Boulesteix, Nagler & Bischl (2024),
    arXiv:2409.18836.

    Examples
    --------
    >>> import statcv
    >>> from statcv.models import Logit
    >>> from studies.inference import Population
    >>> rng = np.random.default_rng(1)
    >>> frame = Population(60, 0.5, 0.8, False).sample(rng)
    >>> result = statcv.cv("y ~ . - id", frame, model=Logit(C=1.0), seed=1)
    >>> lower, upper = conservative_z_interval(result, "brier")
    >>> 0 < lower < upper < 0.5
    True
    """
    chosen, how = stated(result, metric, None)
    if chosen.casewise is None:
        raise MetricError(
            f"{chosen.label} is not a mean over records, as the conservative Z "
            "interval requires."
        )
    setup = result.refits.setup_for(chosen)
    check(setup, folded=False)
    value = value_of(result, chosen, how)
    times, held = draw_halves(setup, halvings, splits, generator_of(result, seed))
    values = resampled_values(
        setup,
        chosen,
        "per_fold",
        times.reshape(-1, setup.design.n),
        held.reshape(-1, setup.design.n),
        np.repeat(np.arange(2 * halvings), splits),
        fixed_threshold(result.scores),
    ).reshape(halvings, 2)
    variance = float(((values[:, 0] - values[:, 1]) ** 2).mean()) / 2
    return about(value, math.sqrt(variance), level, range_of(result, chosen))


def draw_halves(
    setup: Setup, halvings: int, splits: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw random halves, and random splits of each.

    Parameters
    ----------
    setup : Setup
    halvings, splits : int
        Number of divisions into halves, and of random splits of each half.
    rng : numpy.random.Generator

    Returns
    -------
    trained, held : numpy.ndarray of int, shape (halvings, 2, splits, n)
        1 for a record that is trained on, or held out; otherwise 0.
    """
    n = setup.design.n
    half, out = n // 2, n - round(TRAINED * n)
    if not 0 < out < half:
        raise OutcomeError(f"{n} records are too few for random splits of halves.")
    trained = np.zeros((halvings, 2, splits, n), dtype=np.int32)
    held = np.zeros_like(trained)
    left = np.arange(halvings)
    for _ in range(TRIES):
        order = np.argsort(rng.random((len(left), n)), axis=1)[:, : 2 * half]
        rows = order.reshape(len(left), 2, 1, half)
        place = np.argsort(rng.random((len(left), 2, splits, half)), axis=-1)
        drawn = np.take_along_axis(np.broadcast_to(rows, place.shape), place, axis=-1)
        made = np.zeros((2, len(left), 2, splits, n), dtype=np.int32)
        np.put_along_axis(made[0], drawn[..., out:], 1, axis=-1)
        np.put_along_axis(made[1], drawn[..., :out], 1, axis=-1)
        trained[left], held[left] = made
        left = left[~has_all_classes(setup, made[0]).all(axis=(1, 2))]
        if not len(left):
            return trained, held
    raise too_small("half", "split")
