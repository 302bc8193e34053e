"""Firth's penalised likelihood of logistic regression, also in all folds together.

The penalty's score needs the leverages of every fold, and so its information. Steps
begin with the information minus the curvature of the penalty in the fit to all records
for a Hessian. Folds that do not converge are fitted by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from statcv.errors import ModelError
from statcv.metrics.influence.weighted import regressed
from statcv.models.base import Model, TrainingSet, positive_weights
from statcv.models.batched.downdate import Whole
from statcv.models.batched.fits import FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.quasi_newton import ACCURACY, Until, climb
from statcv.numeric.arrays import Array, Bools, Floats
from statcv.numeric.gram import column_units, information_of, quadratic_of
from statcv.numeric.logistic import expit
from statcv.numeric.newton import Optimum, minimise

CONVEX = 1e-3  # the least eigenvalue of a Hessian, beside the information, to be used


def fit_firth(training: TrainingSet) -> Optimum:
    """Maximise the log-likelihood plus half the log-determinant of the information.

    Parameters
    ----------
    training : TrainingSet
        Training set with two classes; weights are case weights: 2 stands for a record
        that occurs twice.

    Returns
    -------
    Optimum

    References
    ----------
    Firth (1993), Biometrika 80, 27; Heinze & Schemper (2002), Statistics in
    Medicine 21, 2409.
    """
    used, weights = positive_weights(training)
    X, y = training.X[used], training.y[used]
    basis = orthonormal(X, weights)
    offset = None if training.offset is None else training.offset[used]
    theta, converged = maximise(X @ basis, y.astype(float), weights, offset)
    return Optimum(basis @ theta, converged, separated=False)


def orthonormal(X: Floats, weights: Floats) -> Floats:
    """Return B, shape (p, q), such that the weighted rows of X @ B are orthonormal.

    Firth's estimate does not depend on the coordinates: theta in these, B @ theta in
    those of X. If columns are dependent, B omits the directions that they do not
    determine.
    """
    unit = column_units(X)
    rows = X / unit * np.sqrt(weights)[:, None]
    # R has the singular values of the rows, and is much smaller
    R = np.linalg.qr(rows, mode="r")
    _, size, turn = np.linalg.svd(R, full_matrices=False)
    # a smaller singular value may be due to rounding alone
    kept = size > np.finfo(float).eps * max(rows.shape) * size.max(initial=0.0)
    return np.asarray(turn[kept].T / size[kept] / unit[:, None])


def maximise(
    Z: Floats, y: Floats, weights: Floats, offset: Floats | None = None
) -> tuple[Floats, bool]:
    """Return the maximum of the penalised likelihood, and whether it was found.

    Parameters
    ----------
    Z : numpy.ndarray, shape (n, q)
        Rows of full rank.
    y : numpy.ndarray, shape (n,)
        Outcomes from 0 to 1.
    weights : numpy.ndarray, shape (n,)
        Weights above 0.
    offset : numpy.ndarray, shape (n,), optional
        What is added to the linear predictor.
    """
    objective = _Firth(Z, y, weights, 0.0 if offset is None else offset)
    found = minimise(objective)
    return found.beta[0], bool(found.converged[0])


def excess(Z: Floats, eta: Floats, weights: Floats) -> Floats:
    """Return the information minus the Hessian of the penalised likelihood, (q, q)."""
    place = Place.at(Z, eta, weights)
    return np.asarray(place.R.T @ place.excess @ place.R)


@dataclass(frozen=True, eq=False)
class _Firth:
    """Minus the penalised log-likelihood, of a batch of one fit."""

    Z: Floats
    y: Floats
    weights: Floats
    offset: Floats | float

    @property
    def size(self) -> tuple[int, int]:
        return 1, self.Z.shape[1]

    def part(self, chosen: Array) -> _Firth:
        return self

    def at(self, eta: Floats) -> Place:
        return Place.at(self.Z, eta[0, 0] + self.offset, self.weights)

    def linear(self, beta: Floats) -> Floats:
        return np.asarray((beta @ self.Z.T)[:, None])

    def loss(self, eta: Floats, beta: Floats) -> Floats:
        # log(1 + exp(-eta)) and log(1 + exp(eta)) without overflow
        at = eta[0, 0] + self.offset
        positive, negative = np.logaddexp(0.0, -at), np.logaddexp(0.0, at)
        fit = self.weights @ (self.y * positive + (1 - self.y) * negative)
        with np.errstate(divide="ignore"):
            # ½ log det R'R is the sum of the logarithms of the pivots
            half = np.log(np.abs(self.at(eta).R.diagonal())).sum()
        return np.array([fit - half])

    def gradient(self, eta: Floats, beta: Floats) -> Floats:
        place, eta = self.at(eta), eta[0, 0] + self.offset
        # 1 - p and p, each from its own logarithm, keep their digits near 0
        short = self.y * np.exp(-np.logaddexp(0.0, eta))
        beyond = (1 - self.y) * np.exp(-np.logaddexp(0.0, -eta))
        # the score of the penalty draws fitted probabilities towards one half
        pull = place.leverages * place.tanh / 2
        return np.asarray((self.weights * (short - beyond) - pull) @ self.Z)[None]

    def newton(self, eta: Floats, gradient: Floats) -> Floats:
        place = self.at(eta)
        # in coordinates in which the information is the identity
        hessian = np.eye(gradient.shape[1]) - place.excess
        values, turn = np.linalg.eigh(hessian)
        # far from its maximum the penalised likelihood need not be concave
        if not (values > CONVEX).all():
            return self.cautious(eta, gradient)
        white = place.whitened(gradient[0])
        return place.back(turn @ (turn.T @ white / values))[None]

    def cautious(self, eta: Floats, gradient: Floats) -> Floats:
        """Fisher's scoring."""
        place = self.at(eta)
        return place.back(place.whitened(gradient[0]))[None]

    def furthest(self, eta: Floats) -> Floats:
        return np.asarray(np.abs(eta).max(axis=(1, 2), initial=0.0))

    def extreme(self, eta: Floats) -> Bools:
        return np.zeros(1, dtype=bool)  # the penalty keeps all coefficients finite


@dataclass(frozen=True, eq=False)
class Place:
    """The information at linear predictors: RᵀR, of weighted rows Q R.

    Attributes
    ----------
    Z, Q : numpy.ndarray, shape (n, q)
    R : numpy.ndarray, shape (q, q)
    tanh : numpy.ndarray, shape (n,)
        Twice the probability, minus 1.
    variance : numpy.ndarray, shape (n,)
        Variance of an outcome of weight 1.
    """

    Z: Floats
    Q: Floats
    R: Floats
    tanh: Floats
    variance: Floats

    @classmethod
    def at(cls, Z: Floats, eta: Floats, weights: Floats) -> Place:
        """Decompose the weighted rows at some linear predictors."""
        small = np.exp(-np.abs(eta))
        variance = small / (1 + small) ** 2
        Q, R = np.linalg.qr(Z * np.sqrt(weights * variance)[:, None])
        return cls(Z, Q, R, np.tanh(eta / 2), variance)

    @property
    def leverages(self) -> Floats:
        """The leverage of each record."""
        # hat values, the diagonal of the projection QQ' on the weighted columns
        return np.asarray(np.einsum("ij,ij->i", self.Q, self.Q))

    @property
    def excess(self) -> Floats:
        """Second derivatives of the penalty, where the information is the identity."""
        # records in coordinates in which the information is the identity
        rows = np.linalg.solve(self.R.T, self.Z.T).T
        share = self.leverages * (self.tanh**2 - 2 * self.variance)
        made = (rows.T * share) @ rows
        # tr(I⁻¹ I_j I⁻¹ I_k), with I_j the derivative of the information I by
        # coordinate j, as a sum over the columns of Q
        for column in self.Q.T:
            third = (rows.T * (self.tanh * column)) @ self.Q
            made -= third @ third.T
        return np.asarray(made / 2)

    def whitened(self, gradient: Floats) -> Floats:
        """Return a gradient in coordinates in which the information is the identity."""
        return np.asarray(np.linalg.solve(self.R.T, gradient))

    def back(self, step: Floats) -> Floats:
        """Return a step in these coordinates as one in those of ``Z``."""
        return np.asarray(np.linalg.solve(self.R, step))


# ---- all folds together ----


def fit_firth_folds(model: Model, records: TrainingSet, folds: Folds) -> FoldFits:
    """Fit a binary outcome in every fold, as ``Logit(firth=True)`` would.

    Parameters
    ----------
    model : Logit
    records : TrainingSet
        All records; ``y`` may have one row for each of several outcomes, which
        ``folds.outcome`` selects.
    folds : Folds

    Examples
    --------
    >>> from statcv.models import Logit
    >>> X = np.column_stack([np.ones(4), [0.0, 1, 2, 3]])
    >>> y = np.array([0, 0, 1, 1])
    >>> records = TrainingSet(X, y, "binary", 2, ("one", "x"), 0, None, seed=0)
    >>> folds = Folds.leaving_out([[0], [3]])
    >>> fit_firth_folds(Logit(firth=True), records, folds).coefficients.round(3)
    array([[-2.204,  1.398],
           [-1.99 ,  1.398]])
    """
    return sure_firth_fits(records, folds).refit(model, records, folds)


def sure_firth_fits(records: TrainingSet, folds: Folds) -> FoldFits:
    """Return the fits that were found together; the others have not converged.

    Parameters
    ----------
    records, folds
        As in :func:`fit_firth_folds`.
    """
    X, y = records.X, records.y.astype(float)
    fits = FoldFits.empty(len(folds), X.shape[1])
    weights = records.each_weight
    used = weights > 0
    basis = orthonormal(X[used], weights[used])
    Z = X @ basis
    # fits to several outcomes all start from the fit to the mean outcome
    mean = y if y.ndim == 1 else y.mean(axis=0)
    offset = np.zeros(len(X)) if records.offset is None else records.offset
    theta, converged = maximise(Z[used], mean[used], weights[used], offset[used])
    if converged and len(theta):
        curved = excess(Z[used], (Z @ theta + offset)[used], weights[used])
        each = max(len(Z), len(theta) ** 2)
        # in coordinates in which the information is about the identity
        reach = float(np.sqrt(np.einsum("ij,ij->i", Z, Z).max()))
        until = Until(ACCURACY / reach, noise=1e-15 * float(np.sqrt(Z.size)))
        for block in folds.blocks(len(Z), len(theta), each=each):
            own = y if block.outcome is None else y[block.outcome]
            counts = folds.weights_in(records, block.fits)
            problem = _Problem(Z, np.broadcast_to(own, counts.shape), counts, offset)
            start = np.tile(theta, (len(block), 1))
            # the curvature of the penalty is about that in the fit to all records
            inverse = Whole.of(information_of(Z, problem.at(start)[1]) - curved)
            with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
                found, done = climb(problem, start, inverse, until)
            fits.coefficients[block.fits] = found @ basis.T
            fits.converged[block.fits] = done
    empty = folds.empty_columns(X, records.weights)
    if empty is not None:
        fits.coefficients[empty] = 0.0
    return fits


@dataclass(frozen=True, eq=False)
class _Problem:
    """The optimisation problem of some fits.

    Attributes
    ----------
    Z : numpy.ndarray, shape (n, q)
    y, counts : numpy.ndarray, shape (fits, n)
        The outcome of each fit, and the weights of the records in it.
    offset : numpy.ndarray, shape (n,)
    """

    Z: Floats
    y: Floats
    counts: Floats
    offset: Floats

    def part(self, chosen: Array) -> _Problem:
        """Return the problem of some of the fits."""
        return replace(self, y=self.y[chosen], counts=self.counts[chosen])

    def at(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return 2p - 1, and weighted variances of the records, (m, n)."""
        tanh = np.tanh((theta @ self.Z.T + self.offset) / 2)
        # p = (1 + tanh(eta / 2)) / 2, so that p (1 - p) = (1 - tanh²) / 4
        return tanh, self.counts * (1 - tanh**2) / 4

    def gradient(self, theta: Floats) -> Floats:
        """Return the modified score of each fit; NaN without information."""
        tanh, variance = self.at(theta)
        inverse = Whole.of(information_of(self.Z, variance))
        # h = w x I⁻¹ x, by which the penalty draws a record to one half
        leverages = variance * quadratic_of(self.Z, inverse.matrices)
        pull = self.counts * (2 * self.y - 1 - tanh) - leverages * tanh
        score = pull @ self.Z / 2
        return np.where(inverse.usable[:, None], score, np.nan)


# ---- FLIC: the intercept corrected for the right mean of probabilities ----


MAX_STEPS = 300  # steps at most of the correction of intercepts


def intercept_shifts(eta: Floats, y: Floats, counts: Floats) -> Floats:
    """Return what to add to linear predictors for the right mean of probabilities.

    Parameters
    ----------
    eta : numpy.ndarray, shape (fits, n)
    y : numpy.ndarray, shape (n,) or (fits, n)
        Outcomes, 0 or 1.
    counts : numpy.ndarray, shape (fits, n)
        Weights of the records in each fit.

    References
    ----------
    Puhr, Heinze, Nold, Lusa & Geroldinger (2017), Statistics in Medicine 36, 2302:
    FLIC.

    Examples
    --------
    >>> eta, y = np.array([[-1.0, 0.0, 1.0]]), np.array([0.0, 0.0, 1.0])
    >>> shift = intercept_shifts(eta, y, np.ones((1, 3)))
    >>> round(float((1 / (1 + np.exp(-eta - shift[:, None]))).sum()), 9)
    1.0
    """
    none = np.zeros((len(eta), 1))
    start = none, none + 1, expit, lambda p: p * (1 - p)
    shift, *_ = regressed(y, eta, counts, *start, slope=False, rounds=MAX_STEPS)
    return shift[:, 0]


def correct_intercepts(
    coefficients: Floats, records: TrainingSet, folds: Folds
) -> Floats:
    """Return the coefficients of all folds with their intercepts corrected.

    Parameters
    ----------
    coefficients : numpy.ndarray, shape (fits, p)
    records, folds
        As in :func:`fit_firth_folds`.

    Raises
    ------
    ModelError
        If the design has no intercept.
    """
    if records.intercept is None:
        raise ModelError(
            "the formula has no intercept that flic=True could correct; keep it, or "
            "use Logit(firth=True)."
        )
    X, y = records.X, records.y.astype(float)
    made = coefficients.copy()
    for block in folds.blocks(len(X), X.shape[1], each=len(X)):
        counts = folds.weights_in(records, block.fits)
        own = y if block.outcome is None else y[block.outcome]
        eta = made[block.fits] @ X.T
        made[block.fits, records.intercept] += intercept_shifts(eta, own, counts)
    return made
