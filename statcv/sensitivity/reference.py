"""The fit to all records, and how its coefficients change with each of them.

A fit by (penalised) maximum likelihood changes with the weight of its training record j
by H⁻¹ x_j r_j, where x_j is the row of the record, r_j the derivative of its
log-likelihood by the linear predictor, and H the penalised information. What terms of
the formula, scalers and imputers learn in a training set is taken as given.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from statcv.models.batched import CumulativeOdds, Folds, information_of, of_all_classes
from statcv.models.likelihood import CumulativeLogit, Likelihood, OfRecords
from statcv.numeric.arrays import Array, Floats, Numbers
from statcv.numeric.inverses import inverted
from statcv.numeric.newton import minimise

MIN_TOTAL = 1e-300  # the least total weight of a class by which sums are divided
# the largest leverage: a step without a record is at most five times as long
MAX_LEVERAGE = 0.8
DECIMALS = 9  # decimals to which combinations of the columns of equal rows agree
MAX_AVERAGED = 32  # fits at most whose weights are averaged
LEAST_WEIGHT = 1e-9  # weight with which every ordered class has a probability
MAX_CHANGES = 32  # records that a fit lacks or repeats, for which each is looked up


@dataclass(frozen=True, eq=False)
class Reference:
    """The fit to all records, one Newton step from a fit to most of them.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, p)
    eta : numpy.ndarray, shape (n, classes)
        The linear predictors; one column unless there are several classes.
    influence : numpy.ndarray, shape (n, classes, p)
        The change of the coefficients with the training weight of each record, as long
        as that of a Newton step without it (Pregibon 1981).
    curvature : numpy.ndarray, shape (n,)
        The weight of each record in the information, for a training weight of 1.
    times : numpy.ndarray, shape (n,)
        By what the fits multiply the weight of each record, on average.
    folds : Folds
        The training sets of the fits.
    likelihood : Likelihood
    """

    X: Floats
    eta: Floats
    influence: Floats
    curvature: Floats
    times: Floats
    folds: Folds
    likelihood: Likelihood

    @property
    def classes(self) -> int:
        """The number of linear predictors."""
        return int(self.eta.shape[1])

    @cached_property
    def _flat(self) -> Floats:
        return self.influence.reshape(len(self.X), -1)

    def predictors(self, change: Floats) -> Floats:
        """Return the linear predictors of the fit with other weights of all records.

        Parameters
        ----------
        change : numpy.ndarray, shape (m, n)
            The changes of the weights of the records, relative to 1.

        Returns
        -------
        numpy.ndarray, shape (m, n, classes)
        """
        return self.eta + self._along(change * self.times)

    def shifts(self, change: Floats, fit: Numbers, row: Numbers) -> Floats:
        """Return by how much linear predictors of the fits change with the weights.

        Parameters
        ----------
        change : numpy.ndarray, shape (m, n)
        fit, row : numpy.ndarray of int, shape (k,)
            The fit, in rising order, and the record of each prediction.

        Returns
        -------
        numpy.ndarray, shape (m, k, classes)
        """
        lists, times = self.folds.changes
        width = int(lists.sizes.max(initial=0))
        if self.folds.weights is not None or width > MAX_CHANGES:
            return self._one_by_one(change, fit, row)
        made, own = self._along(change)[:, row], self.X[row]
        for place in range(width):  # what each change of a training set moves
            known = lists.sizes[fit] > place
            at = np.where(known, lists.starts[fit] + place, 0)
            moved = lists.values[at]
            rate = np.einsum("kp,kcp->kc", own, self.influence[moved])
            # first order in the weight: -1 for a record left out, 1 for a repeat
            rate *= ((times[at] - 1.0) * known)[:, None]
            made += change[:, moved, None] * rate
        return np.asarray(made * self._scale[fit, None])

    def _along(self, change: Floats) -> Floats:
        """Return changes of the linear predictors of all records, (m, n, classes)."""
        moved = (change @ self._flat).reshape(len(change), self.classes, -1)
        return np.asarray(np.einsum("mcp,np->mnc", moved, self.X, optimize=True))

    def _one_by_one(self, change: Floats, fit: Numbers, row: Numbers) -> Floats:
        """Return the shifts of fits whose training sets differ in many records."""
        lists, times = self.folds.changes
        every = change @ self._flat
        made = np.empty((len(change), len(row), self.classes))
        begins = np.flatnonzero(np.diff(fit, prepend=-1))
        for begin, end in zip(begins, [*begins[1:], len(fit)], strict=True):
            number, some = int(fit[begin]), slice(begin, end)
            if self.folds.weights is not None:
                weights = self._times(number)
                moved = (change * weights) @ self._flat
            else:
                changed = lists[number]
                more = times[lists.starts[number] :][: len(changed)] - 1.0
                moved = every + (change[:, changed] * more) @ self._flat[changed]
            moved = moved.reshape(len(change), self.classes, -1)
            made[:, some] = np.einsum(
                "mcp,kp->mkc", moved, self.X[row[some]], optimize=True
            )
        return made * self._scale[fit, None]

    def _times(self, number: int) -> Floats:
        """Return by what a fit multiplies the weights of all records."""
        lists, times = self.folds.changes
        made = np.ones(len(self.X))
        made[lists[number]] = times[lists.starts[number] :][: len(lists[number])]
        if self.folds.weights is not None:
            made *= self.folds.weights(np.array([number]))[0]
        return made

    @cached_property
    def _scale(self) -> Floats:
        """How much less information each fit has than the mean, (fits,)."""
        lists, times = self.folds.changes
        if self.folds.weights is None:
            more = (times - 1.0) * self.curvature[lists.values]
            own = np.bincount(lists.owners, more, len(lists)) + self.curvature.sum()
        else:
            each = range(len(self.folds))
            own = np.array([self.curvature @ self._times(one) for one in each])
        # ratios of summed curvatures stand for those of information matrices
        mean = float(self.curvature @ self.times)
        found = np.divide(mean, own, out=np.ones(len(own)), where=own > 0)
        return np.asarray(found)


@dataclass(frozen=True, eq=False)
class Training:
    """How the fits weigh their training records.

    Attributes
    ----------
    given : numpy.ndarray, shape (n,)
        The weight of each record.
    folds : Folds
        The training sets of the fits.
    by_class : numpy.ndarray of int, shape (n,), or None
        The class of each record, if every class has a fixed total weight.
    clusters : numpy.ndarray of int, shape (n,), or None
        The cluster of each record, whose leverages are summed.
    """

    given: Floats
    folds: Folds
    by_class: Numbers | None = None
    clusters: Numbers | None = None

    @cached_property
    def times(self) -> Floats:
        """By what fits multiply the weight of each record, on average."""
        (lists, times), weights = self.folds.changes, self.folds.weights
        more = np.bincount(lists.values, times - 1.0, len(self.given))
        mean = 1 + more / max(len(self.folds), 1)
        if weights is not None:
            # a sample of the fits is enough for the mean of their weights
            some = np.linspace(0, len(self.folds) - 1, MAX_AVERAGED).astype(np.intp)
            mean = mean * weights(np.unique(some)).mean(axis=0)
        return np.asarray(mean)

    def longer(self, X: Floats, leverage: Floats) -> Floats:
        """Return by how much longer a step is without each record than to first order.

        Without a record of leverage h, it is about 1 / (1 - h) times as long. A
        leverage near 1 would make the step of a single record boundless.
        """
        if self.clusters is not None:
            leverage = _of_clusters(X, leverage, self.clusters)
        return np.asarray(1 / (1 - np.clip(leverage, 0, MAX_LEVERAGE)))

    def reference(
        self,
        X: Floats,
        eta: Floats,
        influence: Floats,
        curvature: Floats,
        likelihood: Likelihood,
    ) -> Reference:
        """Return the fit to all records, whose attributes these are."""
        if self.by_class is not None:
            self._take_within_classes(influence, self.by_class)
        known = self.times, self.folds, likelihood
        return Reference(X, eta, influence, curvature, *known)

    def _take_within_classes(self, influence: Floats, by_class: Numbers) -> None:
        """Let a record take weight from others of its class, whose total is fixed."""
        for code in np.unique(by_class):
            own = by_class == code
            given, times = self.given[own], self.times[own]
            # all records of the class lose what one gains
            share = given / max(given @ times, MIN_TOTAL)
            total = np.einsum("j,jcp->cp", times, influence[own])
            influence[own] -= share[:, None, None] * total


def records_reference(
    X: Floats,
    y: Array,
    beta: Floats,
    penalty: Floats,
    trained: Floats,
    training: Training,
    likelihood: OfRecords,
) -> Reference:
    """Step from one fit to the fit to all records.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
        The matrix of the fit.
    y : numpy.ndarray, shape (n,)
        The coded outcome.
    beta : numpy.ndarray, shape (p,) or (p, classes)
        The coefficients of the fit.
    penalty : numpy.ndarray, shape (p,)
        The ridge of each coefficient; infinite for one that is 0.
    trained : numpy.ndarray, shape (n,)
        By what the fit multiplied the weight of each record.
    training : Training
    likelihood : Likelihood
    """
    start, given, times = (X @ beta).reshape(len(X), -1), training.given, training.times
    X, penalty = fewer_columns(X, penalty)
    pull, curved = _slopes(likelihood, y, start, given)
    inverse = _inverse(X, curved * times[:, None], penalty)
    influence = _solved(inverse, X, pull)
    # the gradient of the fit is 0: only changes of its weights make the step
    step = np.einsum("j,jcp->cp", times - trained, influence)
    eta = start + X @ step.T
    pull, curved = _slopes(likelihood, y, eta, given)
    inverse = _inverse(X, curved * times[:, None], penalty)
    weight = given
    if curved.shape[1] == 1:
        weight = curved[:, 0]
        leverage = np.einsum("np,pq,nq->n", X, inverse, X) * (weight * times)
        pull = pull * training.longer(X, leverage)[:, None]
    influence = _solved(inverse, X, pull)
    return training.reference(X, eta, influence, weight, likelihood)


def _of_clusters(X: Floats, leverage: Floats, clusters: Numbers) -> Floats:
    """Return the mean leverage of the directions that the rows of a cluster span, (n,).

    Equal rows have the leverage of all of them together.
    """
    # equal rows have one projection in common, and different rows hardly ever do
    key = np.round(X @ np.cos(np.arange(X.shape[1])), DECIMALS)
    distinct = np.unique(
        np.stack([clusters, np.unique(key, return_inverse=True)[1]]), axis=1
    )
    # a cluster spans as many directions as different rows, or all columns
    rank = np.minimum(np.bincount(distinct[0]), X.shape[1])
    return np.asarray((np.bincount(clusters, leverage) / np.maximum(rank, 1))[clusters])


def _slopes(
    likelihood: OfRecords, y: Array, eta: Floats, given: Floats
) -> tuple[Floats, Floats]:
    """Return the residuals, and the weights in the information, (n, classes).

    Of several classes, the weights of single classes are the probabilities.
    """
    if eta.shape[1] > 1:
        pull, curved = likelihood.residual(y, eta), likelihood.curvature(y, eta)
        return pull * given[:, None], curved * given[:, None]
    pull = likelihood.residual(y, eta[:, 0]) * given
    curved = likelihood.curvature(y, eta[:, 0]) * given
    # the observed information of a link that is not canonical may be negative
    return pull[:, None], np.maximum(curved, 0.0)[:, None]


def _inverse(X: Floats, curved: Floats, penalty: Floats) -> Floats:
    """Return the inverse information, with rows for each column of each class."""
    classes = curved.shape[1]
    if classes == 1:
        return inverted(information_of(X, curved.T)[0], penalty)
    total = np.maximum(curved.sum(axis=1), MIN_TOTAL)
    # diag(p) - pp', times the weight of the record, to which its classes add up
    pairs = [
        curved[:, a] * ((a == b) - curved[:, b] / total)
        for a, b in zip(*np.triu_indices(classes), strict=True)
    ]
    found = [information_of(X, own[None])[0] for own in pairs]
    matrix = of_all_classes(found, classes)
    for column in np.flatnonzero(penalty == 0):  # free up to a constant in all classes
        own = column + len(penalty) * np.arange(classes)
        matrix[np.ix_(own, own)] += matrix[own, own].mean()
    return inverted(matrix, np.tile(penalty, classes))


def _solved(inverse: Floats, X: Floats, pull: Floats) -> Floats:
    """Return H⁻¹ of the product of each row and its residuals, (n, classes, p)."""
    if pull.shape[1] == 1:
        return np.asarray(((X @ inverse) * pull)[:, None])
    products = (pull[:, :, None] * X[:, None]).reshape(len(X), -1)
    return np.asarray((products @ inverse).reshape(len(X), pull.shape[1], -1))


def fewer_columns(X: Floats, penalty: Floats) -> tuple[Floats, Floats]:
    """Return columns that serve penalised fits as well, at most about one per record.

    Columns with a ridge enter a fit through their products alone, and those with an
    infinite one not at all.
    """
    used = np.isfinite(penalty)
    X, penalty = X[:, used], penalty[used]
    penalised = penalty > 0
    if np.count_nonzero(penalised) <= len(X):
        return X, penalty
    shrunk = X[:, penalised] / np.sqrt(penalty[penalised])
    # XΛ⁻¹X' = UDU': columns UD^½ with a ridge of 1 have the same products
    values, vectors = np.linalg.eigh(shrunk @ shrunk.T)
    kept = values > values[-1] * len(X) * np.finfo(float).eps
    few = vectors[:, kept] * np.sqrt(values[kept])
    columns = np.column_stack([X[:, penalty == 0], few])
    ridge = np.zeros(columns.shape[1])
    ridge[-few.shape[1] :] = 1.0
    return columns, ridge


# ---- ordered classes ----


def ordered_reference(
    X: Floats, y: Numbers, penalty: Floats, training: Training
) -> Reference:
    """Fit all records, with the mean weight that they have in the fits.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
        The matrix, without the intercept.
    y : numpy.ndarray of int, shape (n,)
        Classes.
    penalty : numpy.ndarray, shape (p,)
        The ridge of each coefficient.
    training : Training
    """
    X, penalty = fewer_columns(X, penalty)
    weights = np.maximum(training.given * training.times, LEAST_WEIGHT)
    odds = CumulativeOdds.of(X, y[None], weights[None], int(y.max()) + 1, penalty)
    beta, cuts = minimise(odds).beta, odds.cuts
    eta = odds.linear(beta)
    pull, curved = odds.slopes(eta)
    inverse = inverted(odds.information(curved)[0], np.zeros(beta.shape[1]))
    rows = odds.rows(0)
    # the score of a record, for a training weight of 1, and the step that it makes
    score = odds.scores(pull[:, 0] * (training.given / weights))
    step = score @ inverse
    # the leverage is the share of the record in the information along its step
    own = (np.einsum("rnq,nq->rn", rows, step) ** 2 * curved[:, 0]).sum(axis=0)
    gain = (step * score).sum(axis=1)
    leverage = np.divide(own, gain, out=np.zeros_like(own), where=gain > 0)
    step *= training.longer(X, leverage)[:, None]
    # the last coefficient of each linear predictor is its cut point
    every = np.empty((len(X), cuts, X.shape[1] + 1))
    every[..., :-1], every[..., -1] = step[:, None, cuts:], step[:, :cuts]
    levels = odds.start[0, 1:-1] + beta[0, :cuts]
    along = (X @ beta[0, cuts:])[:, None] + levels
    X = np.column_stack([X, np.ones(len(X))])
    return training.reference(X, along, every, training.given, CumulativeLogit())
