"""Multinomial logistic regression in all folds together.

As for two classes: in coordinates where the Hessian of the fit to all records is
the identity, each fold takes steps by that matrix less the records that it leaves
out, with its exact gradient. Folds that do not yield get their own Hessian, and in
the end a fit of their own, which also judges separation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, RidgeModel, TrainingSet, refuse_missing
from statcv.models.multinomial import class_names, free_classes, softmax
from statcv.models.newton import EXTREME, FLOOR, MOVING, TOLERANCE
from statcv.models.together.chord import ACCURACY, SINGULAR, approach
from statcv.models.together.downdate import Inverse
from statcv.models.together.fitted import FittedFolds
from statcv.models.together.folds import CELLS, Block, FoldFits, Folds, Numbers
from statcv.models.together.multinomial_problem import (
    ClassCentre,
    ClassProblem,
    find_class_centre,
)

HESSIANS = 8  # of its own that a fold gets


def fit_class_folds(
    model: RidgeModel, records: TrainingSet, folds: Folds
) -> FittedFolds:
    """Fit more than two classes in every fold, as ``Logit`` would.

    Parameters
    ----------
    model : Logit
    records : TrainingSet
        All records; ``y`` may have a row for each of several outcomes, then
        ``folds.outcome`` says which.
    folds : Folds

    Examples
    --------
    >>> from statcv.models import Logit
    >>> X = np.column_stack([np.ones(6), [0.0, 1, 2, 3, 4, 5]])
    >>> y = np.array([0, 0, 1, 1, 2, 2])
    >>> records = TrainingSet(X, y, "multiclass", 3, ("one", "x"), 0, None, seed=0)
    >>> folds = Folds.leaving_out([[0], [5]])
    >>> fitted = fit_class_folds(Logit(C=1.0), records, folds)
    >>> fitted.predict(np.array([0, 5]), np.array([0, 1])).round(2)
    array([[0.66, 0.33, 0.01],
           [0.01, 0.33, 0.66]])
    """
    ridge, classes = model.ridge(records), records.n_classes
    free = free_classes(ridge, classes)
    names = class_names(records.names, free)
    fits = class_fold_fits(model, records, folds)
    shape = len(folds), len(free), records.X.shape[1]
    beta = np.zeros((len(folds), classes, shape[2]))
    beta[:, free] = fits.coefficients.reshape(shape)

    def predict(rows: Numbers, numbers: Numbers) -> Matrix:
        X = records.X[rows]
        eta = [np.einsum("ij,ij->i", X, beta[numbers, k]) for k in range(classes)]
        return softmax(np.stack(eta, axis=1))

    empty = np.tile(folds.empty_columns(records.X, None), len(free))
    learnt = np.where(empty, np.nan, fits.coefficients)
    return FittedFolds(learnt, names, fits.converged, fits.separated, predict)


def class_fold_fits(model: RidgeModel, records: TrainingSet, folds: Folds) -> FoldFits:
    """Return the coefficients of every fold, class by class."""
    refuse_missing(records, "logistic regression")
    ridge = model.ridge(records)
    free = free_classes(ridge, records.n_classes)
    columns = records.X.shape[1]
    fits = FoldFits.empty(len(folds), len(free) * columns)
    centre = find_class_centre(records, ridge)
    if centre is not None:
        back = np.zeros((len(centre.theta), len(free), columns))
        back[:, :, centre.live] = centre.back[:, free]
        flat = back.reshape(len(back), -1)
        for block in _blocks(centre, folds):
            theta, sure = _fit_block(ClassProblem(centre, block))
            fits.coefficients[block.fits] = theta @ flat
            fits.converged[block.fits] = sure
    empty = folds.empty_columns(records.X, records.weights)
    fits.coefficients[np.tile(empty, len(free))] = 0.0
    return fits.refit(model, records, folds)


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
    """Step until the gradients vanish; return where, and which fits came there."""
    enough, noise = ACCURACY / problem.reach, problem.centre.noise
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gradient = problem.gradient(theta)
        found, done, _ = approach(problem, theta, gradient, inverse, enough, noise)
    return found, done


def _not_separated(problem: ClassProblem, theta: Matrix) -> NDArray[np.bool_]:
    """Tell which fits cannot be separated.

    Where no probability comes near 0, they are not. Else a fit of its own would call
    a fold separated only if a step that gains next to nothing could still move
    linear predictors, and whether it could, the Hessian tells.
    """
    centre = problem.centre
    large = -np.log(EXTREME * centre.classes) - 1
    moved = np.sqrt(((theta - centre.theta) ** 2).sum(axis=1)) * centre.reach
    sure = np.asarray(centre.widest + 2 * moved < large)
    least = (MOVING / 2) ** 2 / (2 * (TOLERANCE + FLOOR) * np.log(centre.classes))
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
        sure[place] = regular and counts.sum() * furthest < least
    return sure
