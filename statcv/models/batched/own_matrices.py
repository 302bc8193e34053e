"""Regressions of all folds together, where each fold has a matrix of its own.

The matrix of a fold is a basis times coefficients. If many folds share a basis, and
these coefficients have an inverse, they are fitted in the basis like folds of one
matrix, each with the penalty that is the ridge on its own columns. The other folds are
fitted side by side, from the fit to all records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from statcv.formula import Learnt
from statcv.models.base import Model, TrainingSet, refuse_missing
from statcv.models.batched.blocks import CELLS, Block, Penalties, pieces
from statcv.models.batched.centre import Centre, reach
from statcv.models.batched.downdate import inverted
from statcv.models.batched.fits import FittedFolds, FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.predictions import by_linear_predictor
from statcv.models.batched.quasi_newton import ACCURACY, Until, settle
from statcv.models.families import free_classes, width_of
from statcv.numeric.arrays import Bools, Floats, Numbers

SHARED = 16  # folds from which a fit to all records in their basis is worth its time
COLUMNS = 200  # columns from which models are fitted fold by fold
# the growth of the inverse Hessian of least squares above which a fold is fitted alone
GROWTH = 1e4


@dataclass(frozen=True, eq=False)
class Regression:
    """How a model is fitted to folds that have matrices of their own.

    Attributes
    ----------
    centre : callable
        Function of all records that returns their fit, or None without one.
    in_basis : callable
        Function of records, folds, about their ridge, and penalties that fits the folds
        together in one matrix, and leaves those that are not beyond doubt.
    ridge : numpy.ndarray, shape (p,) or (fits, p)
        Strength of the ridge on each column, in each fit if fits have their own.
    mean : callable
        Function from linear predictors, (m,) or (m, classes), to predictions.
    """

    centre: Callable[[TrainingSet], Centre | None]
    in_basis: Callable[[TrainingSet, Folds, Floats, Penalties | None], FoldFits]
    ridge: Floats
    mean: Callable[[Floats], Floats]


def fit_own_folds(
    model: Model, regression: Regression, records: TrainingSet, folds: Folds
) -> FittedFolds | None:
    """Fit folds that have matrices of their own; None if they are fitted one by one.

    Parameters
    ----------
    model : Model
    regression : Regression
        How it is fitted.
    records : TrainingSet
        All records, with the matrix in which the terms are learnt on all of them.
    folds : Folds
        Folds with ``matrices``.
    """
    learnt, (n, p) = folds.matrices, records.X.shape
    if not isinstance(learnt, Learnt) or not 0 < p < min(n, COLUMNS):
        return None
    refuse_missing(records, model.label)
    free = free_classes(regression.ridge, width_of(records))
    fits = FoldFits.empty(len(folds), len(free) * p)
    empty = np.zeros((len(folds), p), dtype=bool)
    alone = np.ones(len(folds), dtype=bool)
    if len(learnt.products) == p:
        most = 16 * CELLS // p**2  # folds whose coefficients are kept at once
        for group in np.flatnonzero(np.bincount(learnt.group) >= SHARED).tolist():
            members = np.flatnonzero(learnt.group == group)
            for some in pieces(members, most):
                if _in_basis(regression, records, folds, some, fits, empty):
                    alone[some] = False
    rest = np.flatnonzero(alone)
    centre = regression.centre(records) if len(rest) else None
    for some in pieces(rest, max(1, 4 * CELLS // (n * p))):
        matrices = learnt.matrices(some)
        weights = folds.weights_in(records, some)
        empty[some] = ~((matrices != 0) & (weights > 0)[:, :, None]).any(axis=1)
        if centre is not None:
            own = None if regression.ridge.ndim == 1 else regression.ridge[some]
            block = replace(
                Block.of_counts(weights),
                outcome=None if folds.outcome is None else folds.outcome[some],
            )
            theta, sure = _side_by_side(centre, matrices, block, own)
            found = centre.beta(theta)[:, free].reshape(len(some), -1)
            fits.coefficients[some] = np.where(sure[:, None], found, 0.0)
            fits.converged[some] = sure
    fits.coefficients[np.tile(empty, len(free))] = 0.0
    fits = fits.refit(model, records, folds)
    fitted = predicted_by(fits, records, folds, regression.mean, regression.ridge)
    free = fits.coefficients.shape[1] // empty.shape[1]
    known = np.where(np.tile(empty, free), np.nan, fits.coefficients)
    return replace(fitted, coefficients=known)


def _side_by_side(
    centre: Centre, X: Floats, block: Block, own: Floats | None
) -> tuple[Floats, Bools]:
    """Return the coordinates of fits with matrices (m, n, p), and which are sure.

    They start from the fit to all records, and have a Hessian each.
    """
    problem = centre.problem(block)
    problem = replace(problem, X=X, turn=centre.back, weights=None)
    if own is not None:
        penalties = own[:, :, None] * np.eye(X.shape[2])
        problem = replace(problem, ridge=centre.turned(penalties))
    noise = 1e-15 * float(np.sqrt(block.n * len(centre.theta))) * centre.scale
    enough = ACCURACY * centre.scale / reach(X, centre.back, centre.family)
    theta = np.tile(centre.theta, (len(block), 1))
    theta, sure = settle(problem, theta, Until(enough, noise))
    if centre.family.quadratic:  # nothing separates, but columns may be dependent
        variances = problem.family.variances(problem.linear(theta))
        sure &= problem.inverse_hessian(variances).norm <= GROWTH
    return theta, sure


def _in_basis(
    regression: Regression,
    records: TrainingSet,
    folds: Folds,
    some: Numbers,
    fits: FoldFits,
    empty: Bools,
) -> bool:
    """Fit in their basis, in place, folds of a group; return whether they were."""
    learnt = folds.matrices
    assert isinstance(learnt, Learnt)
    own, p = learnt.coefficients(some), records.X.shape[1]
    inverse = inverted(own)
    if not np.isfinite(inverse).all():
        return False
    basis = replace(records, X=learnt.basis(int(learnt.group[some[0]])), intercept=None)
    chosen = replace(folds, matrices=None).chosen(some)
    about, penalties = np.zeros(p), None
    if regression.ridge.any():
        ridge = np.broadcast_to(regression.ridge, (len(folds), p))[some]
        # β = Aγ turns the ridge on γ = A⁻¹β to A⁻ᵀ Λ A⁻¹
        turned = inverse.transpose(0, 2, 1) * ridge[:, None] @ inverse

        about = np.einsum("mpp->p", turned) / len(turned)
        penalties = turned.__getitem__
    made = regression.in_basis(basis, chosen, about, penalties)
    within = made.coefficients.reshape(len(some), -1, p)
    # γ = A⁻¹β: back from the basis to the columns of each fold
    back = np.matmul(within, inverse.transpose(0, 2, 1))
    fits.coefficients[some] = back.reshape(len(some), -1)
    fits.converged[some] = made.converged
    lost = chosen.empty_columns(basis.X, records.weights)
    if lost is not None:
        empty[some] = ~((own != 0) & ~lost[:, :, None]).any(axis=1)
    return True


# ---- predictions ----


def predicted_by(
    fits: FoldFits,
    records: TrainingSet,
    folds: Folds,
    mean: Callable[[Floats], Floats],
    ridge: Floats,
) -> FittedFolds:
    """Predict by linear predictors of matrices of the folds' own.

    Parameters
    ----------
    fits, records, folds
        Fits to folds whose terms were learnt together.
    mean, ridge
        As in :class:`Regression`.
    """
    learnt = folds.matrices
    fitted = by_linear_predictor(fits, records, folds, mean, ridge)
    assert fitted.linear is not None and isinstance(learnt, Learnt)
    beta, p = fitted.linear.coefficients, records.X.shape[1]
    along = _along(learnt, beta.reshape(len(beta), p, -1))

    def predict(rows: Numbers, numbers: Numbers) -> Floats:
        eta = np.empty((len(rows), along.shape[2]))
        group = learnt.group[numbers]
        order = np.argsort(group, kind="stable")
        for groups, bases in _bases(learnt, np.unique(group)):
            ends = np.searchsorted(group[order], [groups[0], groups[-1] + 1])
            some = order[ends[0] : ends[1]]
            place = np.searchsorted(groups, group[some])
            values = bases[place, rows[some]]
            eta[some] = np.einsum("mr,mrk->mk", values, along[numbers[some]])
        return mean(eta if beta.ndim > 2 else eta[:, 0])

    coefficients = fits.coefficients
    return replace(fitted, coefficients=coefficients, predict=predict, everywhere=None)


def _along(learnt: Learnt, columns: Floats) -> Floats:
    """Return coefficients of the bases, shape (fits, columns of a basis, k)."""
    made = np.empty((len(columns), len(learnt.products), columns.shape[2]))
    step = max(1, CELLS // max(columns.shape[1] * len(learnt.products), 1))
    for some in pieces(np.arange(len(columns)), step):
        made[some] = np.matmul(learnt.coefficients(some), columns[some])
    return made


def _bases(learnt: Learnt, groups: Numbers) -> Iterator[tuple[Numbers, Floats]]:
    step = max(1, 4 * CELLS // max(learnt.n * len(learnt.products), 1))
    for some in pieces(groups, step):
        if len(some) == 1:
            yield some, learnt.basis(int(some[0]))[None]
        else:
            yield some, learnt.bases(some)
