"""The fit to all records, from which those of folds are not far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from statcv.models.base import TrainingSet
from statcv.models.batched.blocks import Block, Penalties
from statcv.models.batched.downdate import Downdate, dot, downdated
from statcv.models.batched.problem import Problem, roots_of
from statcv.models.batched.row_space import spares_the_intercept_only
from statcv.models.batched.separate import fit_alone
from statcv.models.families import Family, curvature, family_of
from statcv.numeric.arrays import Bools, Floats, Numbers
from statcv.numeric.gram import column_units, information_of, of_all_classes

MAX_NEWTON_STEPS = 30
CLOSE = 1e-3  # the decrement of the last step, which leaves about its square
MAX_CONDITION = 1e10  # the largest condition number of the Hessian
GOOD_CONDITION = 1e4  # the largest condition number that costs no relevant digits


@dataclass(frozen=True, eq=False)
class Centre:
    """The fit to all records, in coordinates where its Hessian is the identity.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, k)
        The records; of one linear predictor in the coordinates.
    turn : numpy.ndarray, shape (q, free, k), or None
        From coordinates to coefficients of these; None if they are the coordinates.
    back : numpy.ndarray, shape (q, free, p)
        From coordinates to coefficients of the records as given.
    theta : numpy.ndarray, shape (q,)
    family : Family
    weights : numpy.ndarray, shape (n,)
    ridge : numpy.ndarray, shape (q, q), or None
    bounded : bool
        Whether fits to all classes have an optimum, by a ridge on all columns but the
        intercept.
    scale : float
        The size of what is negligible, in units of linear predictors.
    """

    X: Floats
    turn: Floats | None
    back: Floats
    theta: Floats
    family: Family
    weights: Floats
    ridge: Floats | None
    bounded: bool
    scale: float = 1.0

    def beta(self, theta: Floats) -> Floats:
        """Return the coefficients of each linear predictor, shape (m, K, p)."""
        free = np.tensordot(theta, self.back, axes=1)
        return np.asarray(np.matmul(self.family.basis, free))

    def problem(self, block: Block, penalties: Penalties | None = None) -> Problem:
        """Return the problem of the fits of a block."""
        outcome = block.outcome
        family = self.family if outcome is None else self.family.chosen(outcome)
        ridge = self.ridge
        if penalties is not None:
            ridge = self.turned(penalties(block.fits))
        weights = None if (self.weights == 1).all() else self.weights
        parts = self.X, self.turn, family, block, weights, ridge
        bounded = self.bounded and penalties is None
        return Problem(*parts, partial(self._surely, bounded))

    def _surely(self, bounded: bool, block: Block, theta: Floats) -> Bools:
        """Return which fits are not separated, as they are near or have a ridge.

        A ridge bounds a fit to all classes, whichever records it has.
        """
        # each predictor changes by this at most, a difference by twice as much
        moved = theta - self.theta
        moved = np.sqrt(dot(moved, moved)) * self.reach
        sure = np.asarray(self.spread + 2 * moved < self.family.moderate)
        if bounded:
            y, codes = self.family.y, self.family.codes
            sure |= block.has_classes(y, self.weights, codes)
        return sure

    def turned(self, penalties: Floats) -> Floats:
        """Return penalties on the columns, shape (m, p, p), as those on coordinates."""
        every = np.einsum("kc,qcp->kqp", self.family.basis, self.back)
        return np.asarray(sum(one @ penalties @ one.T for one in every))

    @cached_property
    def eta(self) -> Floats:
        """The linear predictors, shape (1, K, n)."""
        return self._problem.linear(self.theta[None])

    @cached_property
    def _problem(self) -> Problem:
        block = Block.of_counts(np.ones((1, len(self.X))))
        return Problem(self.X, self.turn, self.family, block, self.weights, self.ridge)

    @cached_property
    def variances(self) -> Floats:
        """Those of the records along the directions, shape (directions, 1, n)."""
        return self.family.variances(self.eta)

    @cached_property
    def spread(self) -> float:
        """The largest spread of linear predictors of a record."""
        return float(self.family.spread(self.eta)[0][self.weights > 0].max(initial=0.0))

    @cached_property
    def reach(self) -> float:
        """The most that a step of length 1 moves a linear predictor."""
        return reach(self.X[self.weights > 0], self.turn, self.family)

    @cached_property
    def noise(self) -> float:
        """The length of steps that rounding makes, of the sums above all."""
        # rounding errors add up at random, as the root of their number
        least = 1e-15 * float(np.sqrt(len(self.theta) * len(self.X))) * self.scale
        if self.turn is None:
            return least
        first = self._residuals[0] if self.family.several else self._residuals
        sizes: Any = np.abs(first)
        sums = (sizes * self.weights) @ np.abs(self.X)
        every = np.abs(np.einsum("kc,qcp->qkp", self.family.basis, self.turn))
        # rounding changes a number by about 5e-17 of its size on average
        rounded = 5e-17 * np.linalg.norm(every.reshape(len(every), -1) @ sums.ravel())
        return max(least, float(rounded))

    @cached_property
    def _residuals(self) -> Floats:
        """Those of all records, shape (K, n), or (outcomes, K, n) of several."""
        outcomes = len(self.family.y) if self.family.several else 1
        eta = np.repeat(self.eta, outcomes, axis=0)
        with np.errstate(over="ignore"):
            self.family.pull(eta)
        return eta if self.family.several else eta[0]

    def start(self, problem: Problem) -> tuple[Floats, Floats]:
        """Return the centre for each fit, and the gradient there.

        That of all records is known, so that only what a fold changes is summed.
        """
        block, rows = problem.block, self._rows
        theta = np.tile(self.theta, (len(block), 1))
        own = (
            self._residuals if block.outcome is None else self._residuals[block.outcome]
        )
        # what a fold leaves out is taken from the sum over all records
        sums = [block.sums(own[..., k, :], rows) for k in range(own.shape[-2])]
        made = problem.turned(np.stack(sums, axis=1))
        return theta, made - problem.penalty(theta)

    @cached_property
    def _rows(self) -> Floats:
        return np.asarray(self.X * self.weights[:, None])

    def few_hessian(self, block: Block) -> Downdate:
        """Return the inverse Hessian at the centre of fits that change few records.

        Each record changes as many directions as are free. Weights in the fits are left
        aside: these are near 1 in most plans, and cost only steps.
        """
        # a record is left out by many folds, but its root is needed once
        rows, place = np.unique(block.rows, return_inverse=True)
        roots, free = self._roots(rows), int(self.family.basis.shape[1])
        width = free * block.rows.shape[1]
        few = roots[place].reshape(len(block), width, len(self.theta))
        return downdated(few, np.repeat(block.less, free, axis=1))

    def _roots(self, rows: Numbers) -> Floats:
        """Return what records add to the root of the Hessian, (rows, free, q)."""
        X = self.X[rows]
        variances = self.variances[:, 0, rows] * self.weights[rows]
        if self.turn is None:
            return np.asarray((X * np.sqrt(variances[0])[:, None])[:, None])
        turned = np.einsum("qcp,np->ncq", self.turn, X, optimize=True)
        return np.asarray(np.matmul(roots_of(self.family, variances), turned))


def reach(X: Floats, turn: Floats | None, family: Family) -> float:
    """Return the most that a step of length 1 moves a linear predictor."""
    if turn is None:
        return float(np.sqrt(np.einsum("...ij,...ij->...i", X, X).max(initial=0.0)))
    every = np.einsum("kc,qcp->kpq", family.basis, turn)
    return max(reach(X @ one, None, family) for one in every)


def find_centre(records: TrainingSet, ridge: Floats) -> Centre | None:
    """Fit all records; None if they do not determine the coefficients well.

    Parameters
    ----------
    records : TrainingSet
        All records; ``y`` may have one row for each of several outcomes.
    ridge : numpy.ndarray, shape (p,)
        Strength of the penalty on each column.
    """
    family, weights, X = family_of(records, ridge), records.weights, records.X
    used = X if weights is None else X[weights > 0]
    weights = np.ones(len(X)) if weights is None else weights
    live = np.flatnonzero((used != 0).any(axis=0))
    if not len(live):
        return None
    unit = column_units(X[:, live])
    X = (X if len(live) == X.shape[1] else X[:, live]) / unit
    # β of a column is β × unit of the scaled one, so that λβ² is (λ / unit²)(β × unit)²
    strengths = ridge[live] / unit**2
    start = np.zeros((int(family.basis.shape[1]), len(live)))
    free = _newton(X, family, weights, strengths, start)
    if free is None and not family.several:  # steps of a half may find it
        alone = fit_alone(records, ridge)
        if alone.converged and not alone.separated:
            beta = alone.beta.reshape(len(ridge), -1)[live].T * unit
            # the pseudoinverse takes coefficients of classes to those that are free
            inverse = np.linalg.pinv(family.basis)
            free = _newton(X, family, weights, strengths, inverse @ beta)
    if free is None:
        return None
    basis, width = family.basis, family.width
    variances = family.variances((basis @ free @ X.T)[None])[:, 0] * weights
    hessian = _hessian(X, family, variances, strengths)
    # coordinates in which the information of all records is the identity
    whiten = _whitening(hessian, X, family, variances, strengths)
    if whiten is None:
        return None
    turn = whiten.T.reshape(-1, len(free), len(live))
    back = np.zeros((len(turn), len(free), len(ridge)))
    back[:, :, live] = turn / unit
    penalties = whiten * np.sqrt(np.tile(strengths, len(free)))[:, None]
    return Centre(
        X=X @ whiten if width == 1 else X,
        turn=None if width == 1 else turn,
        back=back,
        # W Wᵀ is the inverse of H, so that Wᵀ H turns coefficients to coordinates
        theta=whiten.T @ (hessian @ free.ravel()),
        family=family,
        weights=weights,
        ridge=penalties.T @ penalties if strengths.any() else None,
        bounded=spares_the_intercept_only(records, ridge),
    )


def _hessian(X: Floats, family: Family, variances: Floats, strengths: Floats) -> Floats:
    """Return the Hessian with the penalty, by weighted variances (directions, n)."""
    each = [information_of(X, own[None])[0] for own in curvature(family, variances)]
    made = of_all_classes(each, int(family.basis.shape[1]))
    made.flat[:: len(made) + 1] += np.tile(strengths, len(made) // X.shape[1])
    return made


def _whitening(
    hessian: Floats, X: Floats, family: Family, variances: Floats, strengths: Floats
) -> Floats | None:
    """Return W, (c k, q), such that Wᵀ H W is the identity for a Hessian; None without.

    Where columns are close to dependent, once more for the digits lost at first.
    """
    whiten = np.eye(len(hessian))
    along, tiled = family.directions, np.tile(strengths, family.basis.shape[1])
    for condition in (MAX_CONDITION, GOOD_CONDITION):
        size = np.sqrt(hessian.diagonal())
        if not (size > 0).all():  # probabilities of 0 and 1 wherever a column is not 0
            return None
        # a unit diagonal first, so that units of columns cost no digits
        values, vectors = np.linalg.eigh(hessian / np.outer(size, size))
        if not values[0] * condition > values[-1]:
            return None
        whiten = whiten @ (vectors / np.sqrt(values) / size[:, None])
        if values[0] * GOOD_CONDITION > values[-1]:
            break
        # the records in the new coordinates, in each direction
        turn = whiten.reshape(along.shape[1], X.shape[1], -1)
        hessian = (whiten.T * tiled) @ whiten
        for one, own in zip(along, variances, strict=True):
            rows = X @ np.tensordot(one, turn, axes=1) * np.sqrt(own)[:, None]
            hessian += rows.T @ rows
    return whiten


def _newton(
    X: Floats, family: Family, weights: Floats, strengths: Floats, free: Floats
) -> Floats | None:
    """Return coefficients near the optimum, (free, k); None if they run away."""
    from scipy.linalg import lapack

    before, basis, targets = np.inf, family.basis, family.targets
    for _ in range(MAX_NEWTON_STEPS):
        # Fisher scoring on the mean outcome, which is any outcome if there is one
        eta = basis @ free @ X.T
        pulled = (targets - family.mean(eta)) * weights
        gradient = (basis.T @ (pulled @ X) - free * strengths).ravel()
        variances = family.variances(eta[None])[:, 0] * weights
        hessian = _hessian(X, family, variances, strengths)
        _, step, failed = lapack.dposv(hessian, gradient)
        if failed:  # not definite, but for rounding
            try:
                step = np.linalg.solve(hessian, gradient)
            except np.linalg.LinAlgError:
                return None
        # twice the gain that the step promises if the objective is quadratic
        decrement = float(step @ gradient)
        if not 0 <= decrement < np.inf:
            return None
        free = free + step.reshape(free.shape)
        if decrement <= CLOSE and decrement <= before / 20:  # not under separation
            return free
        before = decrement
    return None
