"""Multinomial logistic regression in all folds together.

As for two classes: in coordinates where the Hessian of the fit to all records is the
identity, each fold takes steps by that matrix minus the records that it leaves out,
with its exact gradient. Folds that do not converge get their own Hessian, and finally a
fit of their own, which also judges separation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, RidgeModel, TrainingSet
from statcv.models.batched.chord import ACCURACY, SINGULAR, approach
from statcv.models.batched.downdate import (
    Downdate,
    Inverse,
    Whole,
    by_lists,
    symmetric_inverse,
)
from statcv.models.batched.folds import (
    CELLS,
    Block,
    FittedFolds,
    FoldFits,
    Folds,
    Learnt,
    Numbers,
    predictors,
)
from statcv.models.batched.logit import Penalties
from statcv.models.batched.own_matrices import (
    Classes,
    InBasis,
    Regression,
    Start,
)
from statcv.models.batched.passes import fit_by_passes
from statcv.models.batched.row_space import spares_the_intercept_only
from statcv.models.likelihood import LinearFits
from statcv.models.multinomial import (
    class_hessian,
    class_names,
    class_roots,
    contrasts,
    free_classes,
    softmax,
    solve_classes,
    with_others,
)
from statcv.models.newton import EXTREME, column_units, is_steep
from statcv.models.spread import diagonal
from statcv.threads import QUICK, shared

CONDITION = 1e10  # the largest condition number of the Hessian
LARGEST = 700.0  # the logarithm of odds against the class observed


@dataclass(frozen=True, eq=False)
class ClassCentre:
    """The fit to all records, in coordinates where its Hessian is the identity.

    Class 0 has no coefficients without a penalty; with one, those of all classes sum to
    zero.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, p)
        The columns that are not all 0.
    live : numpy.ndarray of int, shape (p,)
        Which columns these are.
    basis : numpy.ndarray, shape (classes, c)
        Coefficients of the classes are this times those that are free.
    turn : numpy.ndarray, shape (q, c × p)
        From coordinates to the latter.
    theta : numpy.ndarray, shape (q,)
    ridge : numpy.ndarray, shape (q, q)
    y : numpy.ndarray of int, shape (n,) or (outcomes, n)
    weights : numpy.ndarray, shape (n,)
    bounded : bool
        Whether fits to all classes have an optimum, by a ridge on all columns but the
        intercept.
    """

    X: Matrix
    live: Numbers
    basis: Matrix
    turn: Matrix
    theta: Matrix
    ridge: Matrix
    y: NDArray[np.intp]
    weights: Matrix
    bounded: bool

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.basis)

    @cached_property
    def back(self) -> Matrix:
        """From coordinates to coefficients, shape (q, classes, p)."""
        free = self.turn.reshape(len(self.turn), self.basis.shape[1], -1)
        return np.asarray(np.matmul(self.basis, free))

    @cached_property
    def flat(self) -> Matrix:
        """``back`` with all coefficients in a row, shape (q, classes × p)."""
        return np.ascontiguousarray(self.back.reshape(len(self.back), -1))

    @cached_property
    def reach(self) -> float:
        """The most that a step of length 1 moves a linear predictor."""
        used = self.X[self.weights > 0]
        longest = [
            np.einsum("iq,iq->i", rows, rows).max()
            for rows in (used @ self.back[:, k].T for k in range(self.classes))
        ]
        return float(np.sqrt(max(longest)))

    @cached_property
    def noise(self) -> float:
        """The length of steps that rounding makes, of the sums above all."""
        least = 1e-15 * np.sqrt(len(self.theta) * len(self.X))
        probability, others = self.probability
        own = self.y if self.y.ndim == 1 else self.y[0]
        apart = np.where(own[:, None] == np.arange(self.classes), others, probability)
        sums = (apart * self.weights[:, None]).T @ np.abs(self.X)
        rounded = 5e-17 * np.linalg.norm(np.abs(self.flat) @ sums.ravel())
        return float(max(least, rounded))

    @cached_property
    def observed(self) -> Numbers:
        """Where the class observed is among all classes and records, as ``y``."""
        return self.y.astype(np.intp) * len(self.X) + np.arange(len(self.X))

    @cached_property
    def eta(self) -> Matrix:
        """The linear predictors, shape (n, classes)."""
        beta = (self.theta @ self.flat).reshape(self.classes, -1)
        return np.asarray(self.X @ beta.T)

    @cached_property
    def probability(self) -> tuple[Matrix, Matrix]:
        """Those of the classes, and what they lack of 1, each (n, classes)."""
        return with_others(self.eta)

    @cached_property
    def widest(self) -> float:
        """The largest difference of two linear predictors of a record."""
        eta = self.eta[self.weights > 0]
        return float((eta.max(axis=1) - eta.min(axis=1)).max())

    def roots(self, rows: Numbers) -> Matrix:
        """Return of some records the rows that they add to the root of the Hessian.

        Shape (rows, classes, q): one for each class.
        """
        probability, others = (one[rows] for one in self.probability)
        apart = class_roots(probability, others, self.weights[rows])
        made = np.zeros((len(rows), self.classes, len(self.theta)))
        for k in range(self.classes):
            made += apart[:, :, k, None] * (self.X[rows] @ self.back[:, k].T)[:, None]
        return made


def find_class_centre(records: TrainingSet, ridge: Matrix) -> ClassCentre | None:
    """Fit all records; None if they do not determine the coefficients well."""
    X, y, classes = records.X, records.y, records.n_classes
    bounded = spares_the_intercept_only(records, ridge)
    weights = np.ones(len(X)) if records.weights is None else records.weights
    live = np.flatnonzero((X[weights > 0] != 0).any(axis=0))
    if not len(live):
        return None
    indicator = np.eye(classes)[y]
    mean = indicator if y.ndim == 1 else indicator.mean(axis=0)
    solved = solve_classes(records, mean, ridge)
    if not solved.converged or solved.separated:
        return None
    X, ridge = X[:, live], ridge[live]
    unit = column_units(X)
    basis = contrasts(ridge, classes)
    shares = with_others(X @ solved.beta[live])
    hessian = class_hessian(X / unit, *shares, weights, basis)
    hessian += np.diag(np.tile(ridge / unit**2, basis.shape[1]))
    scale = np.sqrt(hessian.diagonal())
    if not (scale > 0).all():
        return None
    values, vectors = np.linalg.eigh(hessian / np.outer(scale, scale))
    if not values[0] * CONDITION > values[-1]:
        return None
    turn = (vectors / np.sqrt(values) / scale[:, None]).T
    turn /= np.tile(unit, basis.shape[1])
    gamma = (basis.T @ (solved.beta[live] * unit[:, None]).T).ravel()
    theta = np.sqrt(values) * (vectors.T @ (scale * gamma))
    penalty = (turn * np.tile(ridge, basis.shape[1])) @ turn.T
    return ClassCentre(X, live, basis, turn, theta, penalty, y, weights, bounded)


@dataclass(frozen=True, eq=False)
class ClassProblem:
    """The optimisation problem of some fits.

    Attributes
    ----------
    centre : ClassCentre
    block : Block
    own : numpy.ndarray, shape (m, q, q), or None
        What the penalty of each fit has beyond that of the centre, where fits have
        their own.
    """

    centre: ClassCentre
    block: Block
    own: Matrix | None = None

    @classmethod
    def of(
        cls, centre: ClassCentre, block: Block, penalties: Penalties | None
    ) -> ClassProblem:
        """Set up the fits of a block."""
        if penalties is None:
            return cls(centre, block)
        given = penalties(block.fits)[:, centre.live[:, None], centre.live]
        made = sum(one @ given @ one.T for one in centre.back.transpose(1, 0, 2))
        return cls(centre, block, made - centre.ridge)

    def __len__(self) -> int:
        return len(self.block)

    @property
    def reach(self) -> float:
        """The most that a step of length 1 moves a linear predictor."""
        return self.centre.reach

    def furthest(self, step: Matrix) -> Matrix:
        """Return by how much a step moves some linear predictor at most, (m,)."""
        return np.asarray(np.abs(self.linear(step)).max(axis=(1, 2), initial=0.0))

    def part(self, chosen: NDArray[Any]) -> ClassProblem:
        """Return the problem of some of the fits."""
        own = None if self.own is None else self.own[chosen]
        return replace(self, block=self.block.part(chosen), own=own)

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the gradient of each fit's log-likelihood, less the penalty's.

        Residuals are sums of the probabilities of the classes that were not
        observed, which keep their digits near 0.
        """
        centre, block = self.centre, self.block
        own = centre.observed
        own = own if block.outcome is None else own[block.outcome]
        own = np.broadcast_to(own, (len(theta), block.n))
        odds = self.linear(theta)
        flat = odds.reshape(len(theta), -1)
        odds -= np.take_along_axis(flat, own, axis=1)[:, None]
        np.minimum(odds, LARGEST, out=odds)
        np.exp(odds, out=odds)
        np.put_along_axis(flat, own, 0.0, axis=1)
        against = odds.sum(axis=1)
        odds /= (1 + against)[:, None]
        np.put_along_axis(flat, own, -against / (1 + against), axis=1)
        for k in range(centre.classes):
            block.multiply(odds[:, k])
        sums = odds.reshape(-1, block.n) @ (centre.X * centre.weights[:, None])
        sums = sums.reshape(len(theta), -1)
        gradient = -sums @ centre.flat.T - theta @ centre.ridge
        if self.own is not None:
            gradient -= np.einsum("bp,bpq->bq", theta, self.own)
        return np.asarray(gradient)

    def linear(self, theta: Matrix) -> Matrix:
        """Return the linear predictors of all records, shape (m, classes, n)."""
        centre = self.centre
        beta = (theta @ centre.flat).reshape(-1, len(centre.live))
        return (beta @ centre.X.T).reshape(len(theta), centre.classes, -1)

    def common_hessian(self) -> Inverse:
        """Return the inverse Hessian of each fit near the centre.

        If few records change, their weights in the fit are ignored.
        """
        centre, block = self.centre, self.block
        if not block.few(len(centre.live)):
            return self.own_hessian(np.tile(centre.theta, (len(block), 1)))
        return _downdated(centre, block)

    def own_hessian(self, theta: Matrix) -> Whole:
        """Return the inverse Hessian of each fit at its coefficients."""
        centre, turn = self.centre, self.centre.turn
        made, eta = np.empty((len(theta), len(turn), len(turn))), self.linear(theta)

        def put(place: int) -> None:
            counts = self.block.counted(place) * centre.weights
            shares = with_others(eta[place].T)
            own = class_hessian(centre.X, *shares, counts, centre.basis)
            made[place] = turn @ own @ turn.T

        q = len(turn)
        cost = QUICK * q * (centre.X.size * centre.classes + 4.0 * q**2)
        shared(put, range(len(theta)), cost)
        made += centre.ridge
        if self.own is not None:
            made += self.own
        return Whole(symmetric_inverse(made))


def _downdated(centre: ClassCentre, block: Block) -> Downdate:
    """Each record has one row per class in the root of the Hessian."""
    rows, place = np.unique(block.rows, return_inverse=True)
    roots = centre.roots(rows).reshape(-1, len(centre.theta))
    first = place.reshape(block.rows.shape)[:, :, None] * centre.classes
    places = (first + np.arange(centre.classes)).reshape(len(block), -1)
    less = np.repeat(block.less, centre.classes, axis=1)
    times = np.repeat(block.times, centre.classes, axis=1)
    return by_lists(roots, replace(block, rows=places, times=times, less=less))


# ---- multinomial logistic regression in all folds together ----

HESSIANS = 8  # own Hessians at most of a fold


def fit_class_folds(
    model: RidgeModel,
    records: TrainingSet,
    folds: Folds,
    own: Matrix | None = None,
) -> FoldFits:
    """Fit more than two classes in every fold, as ``Logit`` would.

    Parameters
    ----------
    model : Logit
    records : TrainingSet
        All records; ``y`` may have one row for each of several outcomes, which
        ``folds.outcome`` selects.
    folds : Folds
    own : numpy.ndarray, shape (fits, p), optional
        Strength of the ridge on each column in each fit, if fits have their own.

    Returns
    -------
    FoldFits
        Coefficients of the free classes, class by class.

    Examples
    --------
    >>> from statcv.models import Logit
    >>> X = np.column_stack([np.ones(6), [0.0, 1, 2, 3, 4, 5]])
    >>> y = np.array([0, 0, 1, 1, 2, 2])
    >>> records = TrainingSet(X, y, "multiclass", 3, ("one", "x"), 0, None, seed=0)
    >>> folds, model = Folds.leaving_out([[0], [5]]), Logit(C=1.0)
    >>> fits = fit_class_folds(model, records, folds)
    >>> fitted = by_class(fits, records, folds, model.ridge(records))
    >>> fitted.predict(np.array([0, 5]), np.array([0, 1])).round(2)
    array([[0.66, 0.33, 0.01],
           [0.01, 0.33, 0.66]])
    """
    fits = sure_class_fits(model, records, folds, own=own)
    return fits.refit(model, records, folds)


def by_class(
    fits: FoldFits, records: TrainingSet, folds: Folds, penalty: Matrix
) -> FittedFolds:
    """Predict the probabilities of the classes.

    Parameters
    ----------
    fits : FoldFits
        Those of :func:`fit_class_folds`.
    records : TrainingSet
    folds : Folds
    penalty : numpy.ndarray, shape (p,) or (fits, p)
        Strength of the ridge on each column.
    """
    classes = records.n_classes
    free = free_classes(penalty, classes)
    shape = len(folds), len(free), records.X.shape[1]
    beta = np.zeros((len(folds), classes, shape[2]))
    beta[:, free] = fits.coefficients.reshape(shape)

    def predict(rows: Numbers, numbers: Numbers) -> Matrix:
        eta = [predictors(beta[:, k], records.X, rows, numbers) for k in range(classes)]
        return softmax(np.stack(eta, axis=1))

    columns = beta.transpose(0, 2, 1)

    def at(X: Matrix, fits: Numbers) -> Matrix:
        return softmax(np.einsum("mp,mpk->mk", X, columns[fits]))

    return FittedFolds(
        Learnt(fits.coefficients, records.X, folds),
        class_names(records.names, free),
        fits.converged,
        fits.separated,
        predict,
        linear=LinearFits(columns, np.broadcast_to(penalty, columns.shape[:2])),
        at=at,
    )


def class_regression(
    model: RidgeModel, records: TrainingSet, own: Matrix | None
) -> Regression:
    """Return how folds of several classes are fitted that have their own matrices."""
    ridge, classes, p = model.ridge(records), records.n_classes, records.X.shape[1]
    free = free_classes(ridge, classes)

    def start(records: TrainingSet) -> Start | None:
        centre = find_class_centre(records, ridge)
        if centre is None:
            return None
        back = np.zeros((len(centre.theta), classes, p))
        back[:, :, centre.live] = centre.back
        return Start(back, centre.theta, centre.ridge if ridge.any() else None)

    def in_basis(
        basis: TrainingSet, folds: Folds, penalties: Penalties | None
    ) -> FoldFits:
        other = InBasis.of(model, p, len(folds), penalties)
        return sure_class_fits(other, basis, folds, penalties)

    def linear(coefficients: Matrix) -> Matrix:
        made = np.zeros((len(coefficients), classes, p))
        made[:, free] = coefficients.reshape(len(coefficients), len(free), p)
        return made.transpose(0, 2, 1)

    return Regression(
        family=Classes(),
        start=start,
        in_basis=in_basis,
        ridge=ridge if own is None else own,
        linear=linear,
        mean=softmax,
        names=class_names(records.names, free),
        free=free,
    )


def sure_class_fits(
    model: RidgeModel,
    records: TrainingSet,
    folds: Folds,
    penalties: Penalties | None = None,
    own: Matrix | None = None,
) -> FoldFits:
    """Return the fits that are beyond doubt; the others have not converged.

    Parameters
    ----------
    model, records, folds, penalties, own
        As in :func:`statcv.models.batched.logit.sure_logit_fits`.
    """
    ridge = model.ridge(records)
    free = free_classes(ridge, records.n_classes)
    columns = records.X.shape[1]
    fits = FoldFits.empty(len(folds), len(free) * columns)
    made = None
    if penalties is None:
        made = fit_by_passes(records, folds, ridge, own)
    if own is not None:
        penalties = partial(diagonal, own)
    if made is not None:
        fits.coefficients[:] = made[0][:, free].reshape(len(folds), -1)
        fits.converged[:] = made[1]
    centre = None if made is not None else find_class_centre(records, ridge)
    if centre is not None:
        back = np.zeros((len(centre.theta), len(free), columns))
        back[:, :, centre.live] = centre.back[:, free]
        flat = back.reshape(len(back), -1)
        for block in _blocks(centre, folds):
            theta, sure = _fit_block(ClassProblem.of(centre, block, penalties))
            fits.coefficients[block.fits] = theta @ flat
            fits.converged[block.fits] = sure
    empty = folds.empty_columns(records.X, records.weights)
    if empty is not None:
        fits.coefficients[np.tile(empty, len(free))] = 0.0
    return fits


def _blocks(centre: ClassCentre, folds: Folds) -> Iterator[Block]:
    (n, p), q = centre.X.shape, len(centre.theta)
    for block in folds.blocks(n, p):
        few = block.few(p)
        hessian = block.rows.shape[1] * centre.classes * q if few else q * q
        size = max(1, CELLS // max(n * centre.classes, hessian))
        for start in range(0, len(block), size):
            yield block.part(np.arange(start, min(start + size, len(block))))


def _fit_block(problem: ClassProblem) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return the coefficients of each fit, and whether they are beyond doubt."""
    centre = problem.centre
    theta = np.tile(centre.theta, (len(problem), 1))
    theta, done = _iterate(problem, theta, problem.common_hessian())
    for _ in range(HESSIANS):
        left = np.flatnonzero(~done)
        if not len(left):
            break
        rest = problem.part(left)
        own = rest.own_hessian(theta[left])
        theta[left], done[left] = _iterate(rest, theta[left], own)
    ended = np.flatnonzero(done)
    done[ended] = _not_separated(problem.part(ended), theta[ended])
    return theta, done


def _iterate(
    problem: ClassProblem, theta: Matrix, inverse: Inverse
) -> tuple[Matrix, NDArray[np.bool_]]:
    """Step until the gradients vanish; return coefficients and which fits converged."""
    enough, noise = ACCURACY / problem.reach, problem.centre.noise
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gradient = problem.gradient(theta)
        found, done, _ = approach(problem, theta, gradient, inverse, enough, noise)
    return found, done


def _not_separated(problem: ClassProblem, theta: Matrix) -> NDArray[np.bool_]:
    """Return which fits cannot be separated.

    If no probability comes near 0, or a ridge bounds a fit to all classes, they are
    not. Otherwise a fit of its own would call a fold separated only if a step with
    negligible gain could still move linear predictors, and the Hessian shows whether it
    could.
    """
    centre = problem.centre
    large = -np.log(EXTREME * centre.classes) - 1
    moved = np.sqrt(((theta - centre.theta) ** 2).sum(axis=1)) * centre.reach
    sure = np.asarray(centre.widest + 2 * moved < large)
    if centre.bounded and problem.own is None:
        sure |= problem.block.has_classes(centre.y, centre.weights, centre.classes)
    for place in np.flatnonzero(~sure).tolist():
        one = problem.part(np.array([place]))
        eta = one.linear(theta[place : place + 1])[0]
        counts = one.block.counted(0) * centre.weights
        used = counts > 0
        if (eta.max(axis=0) - eta.min(axis=0))[used].max() < large:
            sure[place] = True
            continue
        inverse = one.own_hessian(theta[place : place + 1])
        furthest = 0.0
        for k in range(centre.classes):
            rows = centre.X[used] @ centre.back[:, k].T
            squares = np.einsum("ij,ij->i", rows @ inverse.matrices[0], rows)
            furthest = max(furthest, float(squares.max()))
        regular = inverse.norm[0] <= SINGULAR
        sure[place] = regular and is_steep(counts.sum(), furthest, centre.classes)
    return sure
