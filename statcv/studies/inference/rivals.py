"""Intervals of cross-validated estimates that the literature recommends.

The package's own default interval is compared with them in simulation studies. Each
function takes a result of :func:`statcv.cv` and returns the two limits of an interval
that is computed from refits, all of which are made together if the model allows it.
Limits beyond the range of the metric are moved to its ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit

from statcv.engine import Setup, run_resampled
from statcv.errors import MetricError, OutcomeError, SchemeError
from statcv.folds import FoldPlan, Ragged, make_plan
from statcv.inference import LeftOut, Scores
from statcv.inference.refits.nested_cv import (
    FOLDED,
    folds_of,
    nested_plan,
    nested_tests,
    new_divisions,
)
from statcv.inference.refits.refitting import (
    fixed_threshold,
    mean_values,
    run_quietly,
    scores_of,
)
from statcv.metrics import METRICS, Metric
from statcv.metrics.areas.placements import normal_quantile
from statcv.results.result import CVResult

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
Limits = tuple[float, float]

DISTINCT = 0.632  # share of the records that a bootstrap sample is expected to contain
TRAINED = 0.9  # share of the records that a random split trains on
TRIES = 1000  # draws of samples or splits whose training sets have all classes
TRIM = 1e-3  # least distance of a distribution function from 0 and 1
FURTHEST = 30.0  # largest fluctuation of a distribution function, in logits
ROUNDS = 10  # of targeting


# ---- the bootstrap of the cross-validation (Cai et al.) ----


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
    records are divided before they are weighted by the bootstrap, so that all copies of
    a record are in one fold, and the training sets are enlarged, since they contain
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
    >>> frame = statcv.studies.inference.Population(60, 0.5, 0.8, False).sample(
    ...     np.random.default_rng(1)
    ... )
    >>> result = statcv.cv("y ~ . - id", frame, model=Logit(C=1.0), seed=1)
    >>> lower, upper = cai_interval(result, samples=10)
    >>> 0.5 < lower < upper
    True
    """
    chosen, how = _stated(result, metric, how)
    setup = result.refits.setup_for(chosen)
    _check(setup, folded=True)
    value = _value(result, chosen, how)
    rng = _generator(result, seed)
    times, fold = draw_samples(setup, samples, foldings, rng)
    values = sample_values(
        setup, chosen, how, times, fold, fixed_threshold(result.scores)
    )
    return _about(
        value, math.sqrt(between_variance(values)), level, _range(result, chosen)
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
        left = left[~_all_classes(setup, trained).all(axis=(1, 2))]
        if not len(left):
            return times, fold
    raise _too_small("bootstrap sample", "fold")


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
        Probability above which class 1 is predicted; 0.5 unless given.

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


# ---- the conservative Z interval (Nadeau & Bengio) ----


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
    >>> frame = statcv.studies.inference.Population(60, 0.5, 0.8, False).sample(
    ...     np.random.default_rng(1)
    ... )
    >>> result = statcv.cv("y ~ . - id", frame, model=Logit(C=1.0), seed=1)
    >>> lower, upper = conservative_z_interval(result, "brier")
    >>> 0 < lower < upper < 0.5
    True
    """
    chosen, how = _stated(result, metric, None)
    if chosen.casewise is None:
        raise MetricError(
            f"{chosen.label} is not a mean over records, as the conservative Z "
            "interval requires."
        )
    setup = result.refits.setup_for(chosen)
    _check(setup, folded=False)
    value = _value(result, chosen, how)
    times, held = draw_halves(setup, halvings, splits, _generator(result, seed))
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
    return _about(value, math.sqrt(variance), level, _range(result, chosen))


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
        left = left[~_all_classes(setup, made[0]).all(axis=(1, 2))]
        if not len(left):
            return trained, held
    raise _too_small("half", "split")


# ---- the area under the curve by CV-TMLE (Benkeser et al.) ----


def cv_tmle_interval(
    result: CVResult, *, level: float = 0.95, seed: int | None = None
) -> Limits:
    """Return the interval of the auROC by CV-TMLE (Benkeser et al.).

    Parameters
    ----------
    result : CVResult
        Result for two classes, with three or more random folds of single records.
    level : float, default 0.95
    seed : int, optional
        Seed for new folds; the folds are those of the result unless given.

    Returns
    -------
    lower, upper : float
        Limits, between 0 and 1.

    Notes
    -----
    The interval is centred at the estimate of :func:`cv_tmle`, not at that of the
    result.

    Examples
    --------
    >>> import statcv
    >>> from statcv.models import Logit
    >>> frame = statcv.studies.inference.Population(60, 0.5, 0.8, False).sample(
    ...     np.random.default_rng(1)
    ... )
    >>> result = statcv.cv("y ~ . - id", frame, model=Logit(C=1.0), seed=1)
    >>> lower, upper = cv_tmle_interval(result)
    >>> 0.5 < lower < upper <= 1
    True
    """
    found = cv_tmle(result, seed=seed)
    return _about(found.value, found.se, level, (0.0, 1.0))


@dataclass(frozen=True, eq=False)
class TargetedArea:
    """An auROC by targeted minimum loss-based estimation.

    Attributes
    ----------
    value : float
        Targeted estimate.
    initial, one_step : float
        Estimate before targeting, and that plus the mean of its influence function.
    influence : numpy.ndarray, shape (n,)
        Influence function of each record, after targeting.
    """

    value: float
    initial: float
    one_step: float
    influence: Floats

    @property
    def se(self) -> float:
        """The standard error, from the variance of the influence function."""
        return float(self.influence.std(ddof=1)) / math.sqrt(len(self.influence))


def cv_tmle(result: CVResult, *, seed: int | None = None) -> TargetedArea:
    """Estimate the auROC of k-fold cross-validation by CV-TMLE (Benkeser et al.).

    In each training set, the distributions of the predictions in either class are
    estimated by nested cross-validation: each other fold is predicted by the fit
    without it and without the outer fold. The auROC that they imply is corrected by the
    held-out records. Logistic regressions, with the distribution function as offset
    and the density of the other class as weight, shift the distribution functions
    until the mean of the influence function is below 1/n.

    Parameters
    ----------
    result : CVResult
        Result for two classes, with three or more random folds of single records.
    seed : int, optional
        Seed for new folds; the folds are those of the result unless given.

    Raises
    ------
    SchemeError
        If the result does not have three random folds of single records.
    OutcomeError
        If there are not two classes, or a training set lacks one.

    Notes
    -----
    It follows the R package nlpred by the same authors: the nested folds are the other
    outer folds, the distributions are means of those of the nested folds, distribution
    functions are kept 0.001 away from 0 and 1, and there are at most 10 rounds. Three
    details differ. The mean of the distribution functions of the nested folds is
    shifted, whereas nlpred shifts each of them. The mass beyond the largest prediction
    is added to that prediction. If the result has several repeats, estimates and
    influence functions are averaged over them.

    References
    ----------
    Benkeser, Petersen & van der Laan (2020), Improved small-sample estimation of
    nonlinear cross-validated prediction metrics, JASA 115:1917.
    """
    setup = result.refits.setup_for(METRICS["auroc"])
    _check(setup, folded=True)
    plan, y = setup.plan, setup.design.y
    if setup.design.outcome.kind != "binary":
        raise OutcomeError("CV-TMLE of the auROC is for an outcome with two classes.")
    if len(plan.labels[0]) < 3:
        raise SchemeError("nested cross-validation needs three folds or more.")
    divided = plan if seed is None else new_divisions(setup, plan.repeats, seed)
    parts = [nested_tests(folds_of(divided, r)) for r in range(divided.repeats)]
    whole = nested_plan(plan, parts)
    scores = scores_of(whole, run_quietly(setup, whole, None), y)
    read = scores.to_rank(scores.predicted)
    cuts = np.cumsum([len(part.values) for part in parts])[:-1]
    found = [
        targeted_area(_nested_folds(part, own, y), len(y))
        for part, own in zip(parts, np.split(read, cuts), strict=True)
    ]
    return TargetedArea(
        value=float(np.mean([one.value for one in found])),
        initial=float(np.mean([one.initial for one in found])),
        one_step=float(np.mean([one.one_step for one in found])),
        influence=np.mean([one.influence for one in found], axis=0),
    )


@dataclass(frozen=True, eq=False)
class OuterFold:
    """The predictions of one outer fold, and those nested in its training set.

    Attributes
    ----------
    row : numpy.ndarray of int, shape (m,)
        The records of the fold.
    y, score : numpy.ndarray, shape (m,)
        Their classes, 0 or 1, and their predictions.
    nested_y, nested_score : numpy.ndarray, shape (n - m,)
        Classes and predictions of the other records.
    nested_fold : numpy.ndarray of int, shape (n - m,)
        Their folds.
    """

    row: Numbers
    y: Numbers
    score: Floats
    nested_y: Numbers
    nested_score: Floats
    nested_fold: Numbers

    @cached_property
    def grids(self) -> tuple[Floats, Floats]:
        """The distinct nested predictions of either class, in rising order."""
        low, high = (np.unique(self.nested_score[self.nested_y == c]) for c in (0, 1))
        return low, high

    @cached_property
    def at_own(self) -> tuple[Floats, Floats]:
        """The logit of the distribution function of each class, on its own grid."""
        return self._logit(0, self.grids[0]), self._logit(1, self.grids[1])

    @cached_property
    def at_other(self) -> tuple[Floats, Floats]:
        """The logit of the distribution function of each class, on the other's grid."""
        return self._logit(0, self.grids[1]), self._logit(1, self.grids[0])

    @cached_property
    def below(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether each record of a class is at most each point of the other's grid."""
        low, high = (self.score[self.y == code][:, None] for code in (0, 1))
        return low <= self.grids[1], high <= self.grids[0]

    def _logit(self, code: int, points: Floats) -> Floats:
        """Return the logit of the mean distribution function of the nested folds."""
        own = self.nested_y == code
        sizes = np.bincount(self.nested_fold[own])
        mass = 1 / sizes[self.nested_fold[own]] / np.count_nonzero(sizes)
        order = np.argsort(self.nested_score[own], kind="stable")
        reached = np.concatenate([[0.0], np.cumsum(mass[order])])
        place = np.searchsorted(self.nested_score[own][order], points, side="right")
        return np.asarray(logit(np.clip(reached[place], TRIM, 1 - TRIM)))

    def density(self, code: int, shift: float) -> Floats:
        """Return the mass of each point of a class's grid, after a shift."""
        reached = expit(self.at_own[code] + shift)
        reached[-1] = 1
        return np.diff(reached, prepend=0.0)

    def area(self, shifts: tuple[float, float]) -> float:
        """Return the auROC that the two distributions imply."""
        above = 1 - expit(self.at_other[1] + shifts[1])
        return float(self.density(0, shifts[0]) @ above)

    def influence(self, code: int, shifts: tuple[float, float]) -> Floats:
        """Return the influence function of a class, times the share of the class."""
        reached = expit(self.at_other[code] + shifts[code])
        mass = self.density(1 - code, shifts[1 - code])
        return np.asarray((-1) ** code * (self.below[code] - reached) @ mass)


def _nested_folds(
    tests: Ragged, scores: Floats, y: NDArray[np.generic]
) -> list[OuterFold]:
    """Arrange the predictions of the lists of ``nested_tests`` by outer fold."""
    k = round((math.sqrt(8 * len(tests) + 1) - 1) / 2)
    rows, fold = tests.values.astype(np.intp), np.empty(len(y), dtype=np.intp)
    fold[rows[: tests.starts[k]]] = tests.owners[: tests.starts[k]]
    inner = np.arange(tests.starts[k], len(rows))
    first, second = np.triu_indices(k, 1)
    pair = tests.owners[inner] - k
    outer = first[pair] + second[pair] - fold[rows[inner]]  # the other of the pair
    codes = y.astype(np.intp)
    made = []
    for number, (start, stop) in enumerate(pairwise(tests.starts[: k + 1])):
        own, nested = rows[start:stop], inner[outer == number]
        made.append(
            OuterFold(
                row=own,
                y=codes[own],
                score=scores[start:stop],
                nested_y=codes[rows[nested]],
                nested_score=scores[nested],
                nested_fold=fold[rows[nested]],
            )
        )
    return made


def targeted_area(folds: list[OuterFold], n: int) -> TargetedArea:
    """Return the targeted auROC of one division into folds.

    Parameters
    ----------
    folds : list of OuterFold
    n : int
        Number of records.
    """
    y = np.concatenate([fold.y for fold in folds])
    share = np.bincount(y, minlength=2) / n
    shifts = (0.0, 0.0)
    influence = _influence(folds, shifts, share, n)
    initial = float(np.mean([fold.area(shifts) for fold in folds]))
    one_step = initial + float(influence.mean())
    for _ in range(ROUNDS):
        if abs(influence.mean()) <= 1 / n:
            break
        shifts = _target(folds, 0, shifts), shifts[1]
        shifts = shifts[0], _target(folds, 1, shifts)
        influence = _influence(folds, shifts, share, n)
    value = float(np.mean([fold.area(shifts) for fold in folds]))
    return TargetedArea(value, initial, one_step, influence)


def _influence(
    folds: list[OuterFold], shifts: tuple[float, float], share: Floats, n: int
) -> Floats:
    made = np.zeros(n)
    for fold in folds:
        for code in (0, 1):
            rows = fold.row[fold.y == code]
            made[rows] = fold.influence(code, shifts) / share[code]
    return made


def _target(folds: list[OuterFold], code: int, shifts: tuple[float, float]) -> float:
    """Return the shift of a class by logistic regression, given that of the other."""
    count = [len(fold.below[code]) for fold in folds]
    mass = [fold.density(1 - code, shifts[1 - code]) for fold in folds]
    weight = np.concatenate([m * c for m, c in zip(mass, count, strict=True)])
    offset = np.concatenate([fold.at_other[code] for fold in folds])
    observed = sum(
        float(m @ fold.below[code].sum(axis=0))
        for m, fold in zip(mass, folds, strict=True)
    )

    def score(shift: float) -> float:
        return observed - float(weight @ expit(offset + shift))

    if score(-FURTHEST) <= 0:
        return -FURTHEST
    if score(FURTHEST) >= 0:
        return FURTHEST
    return float(brentq(score, -FURTHEST, FURTHEST))


# ---- common to all ----


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
        Probability above which class 1 is predicted if the model does not choose it.

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
        return mean_values(scores, metric, how, np.arange(groups), groups)


def _all_classes(setup: Setup, trained: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return whether training sets, of shape (..., n), have records of every class."""
    if setup.design.outcome.kind == "continuous":
        return np.ones(trained.shape[:-1], dtype=bool)
    codes = range(len(setup.design.outcome.levels))
    there = [trained[..., setup.design.y == code].any(axis=-1) for code in codes]
    return np.asarray(np.all(there, axis=0))


def _stated(result: CVResult, metric: str, how: str | None) -> tuple[Metric, str]:
    """Return the metric, and the way in which it is stated."""
    chosen = METRICS[metric]
    return chosen, result.scores.headline(chosen) if how is None else how


def _value(result: CVResult, metric: Metric, how: str) -> float:
    """Return the estimate of a result."""
    of_one = np.zeros(len(result.scores.by_repeat), dtype=np.intp)
    return float(mean_values(result.scores, metric, how, of_one, 1)[0])


def _generator(result: CVResult, seed: int | None) -> np.random.Generator:
    return np.random.default_rng(result.refits.setup.seed if seed is None else seed)


def _range(result: CVResult, metric: Metric) -> Limits:
    """Return the least and the greatest value of a metric."""
    return metric.bounds_with(result.scores.n_classes)


def _about(value: float, se: float, level: float, bounds: Limits) -> Limits:
    """Return the limits, moved into the range of the metric if they are outside."""
    half, (least, most) = normal_quantile(level) * se, bounds
    return float(np.maximum(value - half, least)), float(np.minimum(value + half, most))


def _check(setup: Setup, folded: bool) -> None:
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


def _too_small(sample: str, part: str) -> OutcomeError:
    return OutcomeError(
        f"a class is so small that in {TRIES} attempts no {sample} was drawn of which "
        f"every {part} trains on all classes."
    )
