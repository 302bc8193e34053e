"""How held-out predictions change with the weights of the training records.

A prediction of a fit by (penalised) maximum likelihood changes with the weight of its
training record j at the rate x'H⁻¹ x_j r_j, where x is the row that is predicted, r_j
the residual and H the penalised information. Nothing is fitted again. What terms of the
formula, scalers and imputers learnt in a training set is taken as given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from statcv.engine.predictions import Held
from statcv.engine.setup import Setup
from statcv.models.batched import CELLS
from statcv.models.firth import firth_changes
from statcv.models.likelihood import Bernoulli, Likelihood, LinearFits
from statcv.models.thresholds import training_weights

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

MOST = 0.8  # leverage; with more, a Newton step goes astray
TINY = 1e-12  # added to an information matrix whose diagonal is 1
BLOCK = 16  # cells of a block of fits, in units of CELLS


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The fits of a plan, as functions of the weights of their training records.

    Attributes
    ----------
    setup : Setup
        The data, the plan and the model.
    fits : LinearFits
        The linear predictors of the fits.
    likelihood : Likelihood
        The likelihood that they maximise.
    """

    setup: Setup
    fits: LinearFits
    likelihood: Likelihood

    @classmethod
    def of(cls, setup: Setup, held: Held) -> Sensitivity | None:
        """Return the sensitivity of a run; None for a model without a likelihood."""
        likelihood = setup.model.capabilities.likelihood
        if likelihood is None or held.linear is None:
            return None
        return cls(setup, held.linear, likelihood)

    def standardised(self, fit: Numbers, row: Numbers) -> Floats:
        """Return linear predictors with mean 0 and sd 1 in the training set.

        They depend on the direction of the coefficients alone, and are 0 if all
        records are predicted alike.

        Parameters
        ----------
        fit, row : numpy.ndarray of int, shape (m,)
            The fit and the record of each prediction; fits with one linear predictor.
        """
        found = np.zeros(len(fit))
        order = np.argsort(fit, kind="stable")
        for numbers in self._blocks(np.unique(fit)):
            start = np.searchsorted(fit[order], numbers[0], side="left")
            stop = np.searchsorted(fit[order], numbers[-1], side="right")
            some = order[start:stop]
            X = self._matrix(int(numbers[0]), row[some])
            beta, _ = self._coefficients(numbers)
            trained = training_weights(self.setup.records, self.setup.folds, numbers)
            scale = Scale.of(X, beta, trained)
            owner = np.searchsorted(numbers, fit[some])
            apart = np.einsum("mp,mp->m", X[row[some]], beta[owner])
            found[some] = (apart - scale.mean[owner]) * scale.rate[owner]
        return found

    def influence(
        self,
        fit: Numbers,
        row: Numbers,
        slope: Floats,
        *,
        standardised: Floats | None = None,
        one_step: bool = False,
    ) -> Floats:
        """Return the change of a function of predictions with each record's weight.

        Parameters
        ----------
        fit, row : numpy.ndarray of int, shape (m,)
            The fit and the record of each prediction.
        slope : numpy.ndarray, shape (m,) or (m, classes)
            The derivative of the function by the linear predictor of each prediction.
        standardised : numpy.ndarray, shape (m,), optional
            The standardised linear predictors, if the derivative is by these.
        one_step : bool
            Whether changes are those of a Newton step without the record, which is
            longer than the derivative by 1/(1 - h), where h is its leverage (Pregibon
            1981); no more than five times as long.

        Returns
        -------
        numpy.ndarray, shape (n,)
            The derivative by the relative weight of each record, summed over the fits.
            Where classes have the same total weight in every training set, it includes
            the change of that total, to which held-out records contribute as well.
        """
        order = np.argsort(fit, kind="stable")
        fit, row, slope = fit[order], row[order], slope[order]
        total = np.zeros(self.setup.plan.n)
        for numbers in self._blocks(np.unique(fit)):
            start = np.searchsorted(fit, numbers[0], side="left")
            stop = np.searchsorted(fit, numbers[-1], side="right")
            owner = np.searchsorted(numbers, fit[start:stop])
            own = None if standardised is None else standardised[order[start:stop]]
            total += self._of_block(
                numbers, owner, row[start:stop], slope[start:stop], own, one_step
            ).sum(axis=0)
        return total

    # ---- the design of some fits ----

    def _blocks(self, fits: Numbers) -> Iterator[Numbers]:
        """Yield the fits in blocks that have the same matrix."""
        alone = self.setup.design.terms.stateful or self.fits.filled is not None
        width = self.setup.plan.n * int(np.prod(self.fits.coefficients.shape[2:]))
        step = 1 if alone else max(1, BLOCK * CELLS // max(width, 1))
        for start in range(0, len(fits), step):
            yield fits[start : start + step]

    def _matrix(self, fit: int, row: Numbers) -> Floats:
        """Return the matrix of a fit; 0 for records that it neither knows nor meets."""
        design, X = self.setup.design, self.setup.records.X
        if design.terms.stateful:
            train = self.setup.plan.train(fit)
            met = np.union1d(train, row)
            X = np.zeros_like(X)
            frame = design.terms.frame.iloc[met]
            X[met] = design.terms.matrix(frame, design.terms.learn(train))
        if self.fits.filled is not None:
            X = np.where(np.isnan(X), self.fits.filled[fit], X)
        if self.fits.constant is not None:
            X = np.column_stack([X, np.ones(len(X))])
        return X

    def _coefficients(self, numbers: Numbers) -> tuple[Floats, Floats]:
        """Return coefficients and penalties, with those of the constant."""
        beta, penalty = self.fits.coefficients[numbers], self.fits.penalty[numbers]
        if self.fits.constant is not None:
            own = self.fits.constant[numbers][:, None]
            beta = np.concatenate([beta, own], axis=1)
            penalty = np.column_stack([penalty, np.zeros(len(penalty))])
        return np.nan_to_num(beta), penalty

    # ---- one block ----

    def _of_block(
        self,
        numbers: Numbers,
        owner: Numbers,
        row: Numbers,
        slope: Floats,
        standardised: Floats | None,
        one_step: bool,
    ) -> Floats:
        """Return the derivative by the relative weight of each record, (fits, n)."""
        X = self._matrix(int(numbers[0]), row)
        beta, penalty = self._coefficients(numbers)
        y = self.setup.records.y
        trained = training_weights(self.setup.records, self.setup.folds, numbers)
        counts = trained
        if self.fits.class_weights is not None:
            counts = trained * self.fits.class_weights[numbers][:, y]
        target = np.zeros((len(numbers), *beta.shape[1:]))
        for some in np.array_split(
            np.arange(len(row)), 1 + len(row) * X.shape[1] // CELLS
        ):
            part = X[row[some]].reshape(len(some), -1, *[1] * (slope.ndim - 1))
            np.add.at(target, owner[some], part * slope[some][:, None])
        if standardised is not None:
            target = Scale.of(X, beta, trained).through(
                target, owner, slope, standardised
            )
        changes = self._changes if beta.ndim == 2 else self._changes_of_classes
        moved = changes(X, beta, penalty, counts, target)
        if one_step and beta.ndim == 2:
            moved = moved / (1 - self._leverage(X, beta, penalty, counts))
        if self.fits.balanced is not None:
            every = np.zeros_like(y, dtype=np.intp)
            through = by_class(trained, moved, every) - by_class(trained, moved, y)
            moved = moved + self.fits.balanced[numbers][:, None] * through
        plan, given = self.setup.plan, self.setup.weights
        if plan.rebalance is not None and plan.response and plan.response.by_class:
            own, codes = (
                np.ones(plan.n) if given is None else given,
                plan.response.codes,
            )
            through = by_class(own[None], moved, codes)
            through -= by_class(trained, moved, codes)
            moved = moved + through
        return moved

    def _changes(
        self, X: Floats, beta: Floats, penalty: Floats, counts: Floats, target: Floats
    ) -> Floats:
        if self.likelihood == Bernoulli(firth=True):
            y = self.setup.records.y
            parts = zip(counts, beta, target, strict=True)
            return np.stack([firth_changes(X, y, *part) for part in parts])
        y, eta = self.setup.records.y[None], beta @ X.T
        pull = counts * self.likelihood.residual(y, eta)
        weights = counts * self.likelihood.curvature(y, eta)
        solved = solve(information(X, weights), penalty, target)
        return np.asarray((solved @ X.T) * pull)

    def _leverage(
        self, X: Floats, beta: Floats, penalty: Floats, counts: Floats
    ) -> Floats:
        """Return the leverage of each record in each fit, (fits, n)."""
        y, eta = self.setup.records.y[None], beta @ X.T
        weights = counts * self.likelihood.curvature(y, eta)
        inverse = inverted(information(X, weights), penalty)
        return np.clip(weights * quadratic(X, inverse), 0.0, MOST)

    def _changes_of_classes(
        self, X: Floats, beta: Floats, penalty: Floats, counts: Floats, target: Floats
    ) -> Floats:
        y, eta = self.setup.records.y[None], np.einsum("bpk,np->bnk", beta, X)
        pull = counts[..., None] * self.likelihood.residual(y, eta)
        shares = self.likelihood.curvature(y, eta)
        matrix = information_of_classes(X, shares, counts)
        classes = beta.shape[2]
        flat = target.transpose(0, 2, 1).reshape(len(beta), -1)
        solved = solve(matrix, np.tile(penalty, classes), flat)
        solved = solved.reshape(len(beta), classes, -1)
        return np.asarray(np.einsum("bkp,np,bnk->bn", solved, X, pull, optimize=True))


@dataclass(frozen=True, eq=False)
class Scale:
    """The mean and the spread of linear predictors in the training sets of fits.

    Attributes
    ----------
    mean, rate : numpy.ndarray, shape (fits,)
        The mean, and one over the standard deviation, 0 if there is no spread.
    centre, along : numpy.ndarray, shape (fits, p)
        The mean of the design matrix, and its covariance with the linear predictor.
    """

    mean: Floats
    rate: Floats
    centre: Floats
    along: Floats

    @classmethod
    def of(cls, X: Floats, beta: Floats, weights: Floats) -> Scale:
        """Return the scale of fits with training weights of shape (fits, n)."""
        shares = weights / weights.sum(axis=1, keepdims=True)
        eta = beta @ X.T
        mean = (shares * eta).sum(axis=1)
        apart = shares * (eta - mean[:, None])
        variance = (apart * (eta - mean[:, None])).sum(axis=1)
        least = (TINY * np.abs(eta).max(axis=1)) ** 2
        spread = np.sqrt(np.maximum(variance, 0.0))
        rate = np.divide(1.0, spread, out=np.zeros_like(mean), where=variance > least)
        return cls(mean, rate, shares @ X, apart @ X)

    def through(
        self, target: Floats, owner: Numbers, slope: Floats, standardised: Floats
    ) -> Floats:
        """Return derivatives by coefficients, of a function of what is standardised.

        Parameters
        ----------
        target : numpy.ndarray, shape (fits, p)
            The same, of the function of linear predictors.
        owner : numpy.ndarray of int, shape (m,)
            The fit of each prediction.
        slope, standardised : numpy.ndarray, shape (m,)
            The derivative by each standardised prediction, and its value.
        """
        fits = len(target)
        sums = np.bincount(owner, slope, fits)[:, None]
        moments = np.bincount(owner, slope * standardised, fits)[:, None]
        rate = self.rate[:, None]
        shifted = (target - sums * self.centre) * rate
        return np.asarray(shifted - moments * self.along * rate**2)


def by_class(weights: Floats, values: Floats, codes: NDArray[np.intp]) -> Floats:
    """Return the sum of the values of a class, times each weight's share of it.

    Parameters
    ----------
    weights : numpy.ndarray, shape (m, n) or (1, n)
    values : numpy.ndarray, shape (m, n)
    codes : numpy.ndarray of int, shape (n,)

    Examples
    --------
    >>> weights, values = np.array([[1.0, 3.0, 1.0]]), np.array([[2.0, 2.0, 5.0]])
    >>> by_class(weights, values, np.array([0, 0, 1]))
    array([[1., 3., 5.]])
    """
    member = codes[:, None] == np.arange(codes.max(initial=0) + 1)
    sums, totals = values @ member, weights @ member
    ratio = np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)
    return np.asarray(weights * ratio[:, codes])


def information(X: Floats, weights: Floats) -> Floats:
    """Return X'WX for several sets of weights, shape (m, p, p).

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
    weights : numpy.ndarray, shape (m, n)

    Examples
    --------
    >>> information(np.array([[1.0, 2.0], [1.0, 0.0]]), np.array([[1.0, 3.0]]))
    array([[[4., 2.],
            [2., 4.]]])
    """
    (n, p), fits = X.shape, len(weights)
    made = np.empty((fits, p, p))
    if fits <= p * (p + 1) // 2:
        for fit, own in enumerate(weights):
            made[fit] = (X.T * own) @ X
        return made
    first, second = _pairs(p)
    sums = np.zeros((fits, len(first)))
    step = max(1, CELLS // max(len(first), 1))
    for start in range(0, n, step):
        some = slice(start, start + step)
        sums += weights[:, some] @ (X[some, first] * X[some, second])
    made[:, first, second] = sums
    made[:, second, first] = sums
    return made


def information_of_classes(X: Floats, shares: Floats, counts: Floats) -> Floats:
    """Return the information of multinomial fits, class by class, (m, Kp, Kp).

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
    shares : numpy.ndarray, shape (m, n, K)
        Probabilities of the classes.
    counts : numpy.ndarray, shape (m, n)
        Weights of the records.
    """
    p, (fits, _, classes) = X.shape[1], shares.shape
    made = np.empty((fits, classes, p, classes, p))
    for a in range(classes):
        for b in range(a, classes):
            joint = counts * shares[..., a] * ((a == b) - shares[..., b])
            made[:, a, :, b] = made[:, b, :, a] = information(X, joint)
    return made.reshape(fits, classes * p, classes * p)


def solve(matrix: Floats, penalty: Floats, target: Floats) -> Floats:
    """Solve penalised systems of equations, with 0 for what is not determined.

    Parameters
    ----------
    matrix : numpy.ndarray, shape (m, p, p)
        Symmetric matrices without negative eigenvalues.
    penalty : numpy.ndarray, shape (m, p)
        What is added to the diagonal; infinite for an unknown that is 0.
    target : numpy.ndarray, shape (m, p)

    Examples
    --------
    >>> matrix = np.array([[[1.0, 1.0], [1.0, 1.0]]])
    >>> solve(matrix, np.array([[1.0, np.inf]]), np.array([[4.0, 1.0]]))
    array([[2., 0.]])
    """
    scaled, root = _equilibrated(matrix, penalty)
    found = np.linalg.solve(scaled, (target / root)[..., None])[..., 0]
    return np.asarray(found / root)


def inverted(matrix: Floats, penalty: Floats) -> Floats:
    """Return the inverse of penalised matrices, with 0 for what is not determined.

    Parameters
    ----------
    matrix, penalty
        As :func:`solve` takes them.

    Examples
    --------
    >>> inverted(np.array([[[2.0, 0.0], [0.0, 1.0]]]), np.array([[2.0, np.inf]]))
    array([[[0.25, 0.  ],
            [0.  , 0.  ]]])
    """
    scaled, root = _equilibrated(matrix, penalty)
    return np.asarray(np.linalg.inv(scaled) / root[:, :, None] / root[:, None, :])


def _equilibrated(matrix: Floats, penalty: Floats) -> tuple[Floats, Floats]:
    """Return penalised matrices with a diagonal of 1, and the roots of their own."""
    used = np.isfinite(penalty)
    diagonal = np.einsum("mpp->mp", matrix) + np.where(used, penalty, 0.0)
    used &= diagonal > 0
    root = np.where(used, np.sqrt(np.where(used, diagonal, 1.0)), np.inf)
    scaled = matrix / root[:, :, None] / root[:, None, :]
    np.einsum("mpp->mp", scaled)[...] = 1 + TINY
    return scaled, root


def quadratic(X: Floats, matrix: Floats) -> Floats:
    """Return x'Ax for every row x of X and each of several matrices A.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
    matrix : numpy.ndarray, shape (m, p, p)

    Returns
    -------
    numpy.ndarray, shape (m, n)

    Examples
    --------
    >>> quadratic(np.array([[1.0, 2.0]]), np.array([[[1.0, 1.0], [1.0, 0.0]]]))
    array([[5.]])
    """
    (n, p), fits = X.shape, len(matrix)
    if fits <= p * (p + 1) // 2:
        return np.stack([((X @ one) * X).sum(axis=1) for one in matrix])
    first, second = _pairs(p)
    twice = np.where(first == second, 1.0, 2.0)
    found = np.empty((fits, n))
    step = max(1, CELLS // max(len(first), 1))
    for start in range(0, n, step):
        some = slice(start, start + step)
        products = X[some, first] * X[some, second]
        found[:, some] = (matrix[:, first, second] * twice) @ products.T
    return found


def _pairs(p: int) -> tuple[Numbers, Numbers]:
    """Return every two of p columns, in order."""
    pairs = np.array(list(combinations_with_replacement(range(p), 2))).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
