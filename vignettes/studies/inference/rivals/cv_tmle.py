"""The area under the curve by CV-TMLE (Benkeser et al.)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

from statcv.engine import run_quietly
from statcv.errors import OutcomeError, SchemeError
from statcv.folds import Ragged
from statcv.inference.refits import (
    folds_of,
    nested_plan,
    nested_tests,
    new_divisions,
    scores_of,
)
from statcv.metrics import METRICS
from statcv.results import CVResult
from studies.inference.rivals.resampling import about, check

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
Limits = tuple[float, float]

TRIM = 1e-3  # least distance of a distribution function from 0 and 1
FURTHEST = 30.0  # largest fluctuation of a distribution function, in logits
ROUNDS = 10  # number of rounds of targeting


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
    >>> from studies.inference import Population
    >>> rng = np.random.default_rng(1)
    >>> frame = Population(60, 0.5, 0.8, False).sample(rng)
    >>> result = statcv.cv("y ~ . - id", frame, model=Logit(C=1.0), seed=1)
    >>> lower, upper = cv_tmle_interval(result)
    >>> 0.5 < lower < upper <= 1
    True
    """
    found = cv_tmle(result, seed=seed)
    return about(found.value, found.se, level, (0.0, 1.0))


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
    check(setup, folded=True)
    plan, y = setup.plan, setup.design.y
    if setup.design.outcome.kind != "binary":
        raise OutcomeError("CV-TMLE of the auROC is for an outcome with two classes.")
    if len(plan.labels[0]) < 3:
        raise SchemeError("nested cross-validation needs three folds or more.")
    divided = plan if seed is None else new_divisions(setup, plan.repeats, seed)
    parts = [nested_tests(folds_of(divided, r)) for r in range(divided.repeats)]
    whole = nested_plan(plan, parts)
    scores = scores_of(whole, run_quietly(setup, whole, None), setup.design.outcome)
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
