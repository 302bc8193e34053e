"""Ridge logistic regression in all folds together, for several penalties.

From one penalty to the next a fold's coefficients move smoothly, so those at the next
are extrapolated, and few steps follow. Under a strong penalty all folds share one
Hessian; under a weak one each has its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet, refuse_missing
from statcv.models.batched.blocks import Block
from statcv.models.batched.centre import Centre, find_centre
from statcv.models.batched.downdate import Inverse, OneInverse, inverted
from statcv.models.batched.fits import FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.near import until_of
from statcv.models.batched.passes import are_few_and_large
from statcv.models.batched.quasi_newton import settle
from statcv.models.batched.separate import refit
from statcv.models.logit import Logit
from statcv.models.spread import diagonal

KNOTS = 3  # penalties from which the next coefficients are foreseen
MAX_WEIGHT = 8.0  # the largest sum of absolute weights in a forecast of coefficients
MAX_CELLS = 2**17  # values of records above which each penalty is as quick by itself
# values above which each penalty is as quick with more than MAX_COLUMNS columns
MAX_CELLS_WIDE = 2**15
MAX_COLUMNS = 150  # columns above which MAX_CELLS_WIDE takes the place of MAX_CELLS


def fit_logit_path(
    Cs: Sequence[float] | Matrix,
    records: TrainingSet,
    folds: Folds,
    spread: Matrix | None = None,
) -> list[FoldFits]:
    """Fit a binary outcome in every fold with every penalty.

    Parameters
    ----------
    Cs : sequence of float
        Inverse strengths of the penalty, as in :class:`~statcv.models.Logit`; in
        any order.
    records : TrainingSet
        All records; ``y`` may have one row for each of several outcomes, which
        ``folds.outcome`` selects.
    folds : Folds
    spread : numpy.ndarray, shape (fits, p), optional
        Variances of the columns in each training set, 0 for the intercept, if columns
        are standardised.

    Returns
    -------
    list of FoldFits
        For each penalty the result of
        :func:`~statcv.models.batched.near.fit_class_folds`.

    Examples
    --------
    >>> X = np.column_stack([np.ones(6), [0.0, 1, 2, 3, 4, 5]])
    >>> y = np.array([0, 1, 0, 0, 1, 1])
    >>> records = TrainingSet(X, y, "binary", 2, ("one", "x"), 0, None, seed=0)
    >>> folds = Folds.leaving_out([[0], [5]])
    >>> weak, strong = fit_logit_path([1.0, 0.01], records, folds)
    >>> weak.coefficients.round(3)
    array([[-0.475,  0.299],
           [-1.022,  0.299]])
    >>> strong.coefficients.round(3)
    array([[ 0.376,  0.01 ],
           [-0.425,  0.01 ]])
    """
    refuse_missing(records, "logistic regression")
    models = [Logit(float(C), standardize=spread is not None) for C in Cs]
    fits = [FoldFits.empty(len(folds), records.X.shape[1]) for _ in models]
    centres = _centres(models, records)
    if centres:
        n, q = next(iter(centres.values())).X.shape
        for block in folds.blocks(n, q, each=max(n, q * q), larger=4):
            for number, beta, sure in _along(models, centres, block, spread):
                fits[number].coefficients[block.fits] = beta
                fits[number].converged[block.fits] = sure
    empty = folds.empty_columns(records.X, records.weights)
    for model, made in zip(models, fits, strict=True):
        if empty is not None:
            made.coefficients[empty] = 0.0
        if spread is None:
            refit(made, model, records, folds)
        else:
            made.refit(model, records, folds)
    return fits


def is_quicker_by_itself(folds: Folds, shape: tuple[int, ...]) -> bool:
    """Return whether fits with one penalty gain nothing from those with another.

    So it is with large folds, whose gradients take less time than their Hessians, and
    whose optima are far from those of all records.
    """
    size, columns = shape[0] * shape[1], shape[1]
    large = size > MAX_CELLS or (columns > MAX_COLUMNS and size > MAX_CELLS_WIDE)
    return large and are_few_and_large(folds, shape, classes=2)


def _centres(models: list[Logit], records: TrainingSet) -> dict[int, Centre]:
    """Fit all records with each penalty, the strongest first, if possible."""
    centres: dict[int, Centre] = {}
    near = None
    # under the strongest penalty 0 is a near start, and each optimum is near the next
    for number in np.argsort([model.strength for model in models], kind="stable"):
        centre = find_centre(records, models[number].ridge(records), near)
        if centre is not None:
            centres[int(number)] = near = centre
    return centres


def _along(
    models: list[Logit], centres: dict[int, Centre], block: Block, spread: Matrix | None
) -> Iterator[tuple[int, Matrix, NDArray[np.bool_]]]:
    """Yield the number of each penalty, coefficients, and whether they are sure."""
    few = block.few(len(next(iter(centres.values())).theta))
    shared = True
    places: list[float] = []
    moves: list[Matrix] = []  # from the fit to all records
    for number, centre in centres.items():
        penalties = None
        if spread is not None:
            penalties = partial(diagonal, spread / models[number].strength)
        problem = centre.problem(block, penalties)
        place = float(np.log(models[number].strength))
        theta = np.tile(centre.theta, (len(block), 1))
        if places:
            # coefficients as a polynomial in log C, through the latest of them
            weights = _ahead(places, place)
            known = np.stack(moves[-len(weights) :])
            theta += _within(centre, np.tensordot(weights, known, axes=1))
        inverse: Inverse | None = None
        gradient = None
        if shared:
            gradient = problem.gradient(theta)
            inverse = centre.few_hessian(block) if few else _share(centre, block)
        until = until_of(centre)
        found, sure, near = settle(problem, theta, until, gradient, inverse)
        shared = shared and near
        theta = np.where(sure[:, None], found, theta)
        places = [*places, place][-KNOTS:]
        moves = [*moves, (theta - centre.theta) @ centre.back[:, 0]][-KNOTS:]
        yield number, theta @ centre.back[:, 0], sure


def _within(centre: Centre, beta: Matrix) -> Matrix:
    """Return the coordinates of coefficients, shape (m, p), in those of a centre."""
    back = centre.back[:, 0]
    live = (back != 0).any(axis=0)
    return np.asarray(np.linalg.solve(back[:, live].T, beta[:, live].T).T)


def _ahead(places: list[float], place: float) -> Matrix:
    """Return the weights of past values that extrapolate to a further place.

    They are those of the polynomial through as many values as keep it stable.
    """
    for first in range(len(places) - 1):
        known = np.array(places[first:])
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = known[:, None] - known
            ratio = (place - known) / apart
            np.fill_diagonal(ratio, 1.0)
            # Lagrange's polynomials at the place: the product of (x - xⱼ) / (xᵢ - xⱼ)
            # over j ≠ i
            weights: Matrix = ratio.prod(axis=1)
        # errors of the values are multiplied by this sum at most
        if np.abs(weights).sum() <= MAX_WEIGHT:
            return weights
    return np.ones(1)


def _share(centre: Centre, block: Block) -> OneInverse:
    """Return the inverse Hessian at the centre, minus the mean share left out."""
    variance = centre.variances[0, 0] * centre.weights
    share = float(block.total(variance).mean() / variance.sum())
    # folds lose about the same share of the information
    hessian = share * np.eye(len(centre.theta))
    if centre.ridge is not None:
        # the identity has the ridge in it, of which folds lose nothing
        hessian += (1 - share) * centre.ridge
    inverse = inverted(hessian[None])[0]
    return OneInverse(inverse)
