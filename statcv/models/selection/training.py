"""The training sets in which terms are chosen, and fits of some of their columns.

A set of terms is an integer whose binary digits say which terms it has, so that equal
sets of different training sets are equal keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ArgumentError, ModelError, suggestion
from statcv.formula import Design, Learnt, is_offset
from statcv.models.base import Matrix, Model, TrainingSet
from statcv.models.batched.cox import free_columns, problems
from statcv.models.batched.fits import FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.partial_likelihood import PartialLikelihoods
from statcv.models.batched.risk_sets import count_strata
from statcv.models.families import width_of
from statcv.models.likelihood import Gaussian
from statcv.models.linear import Linear
from statcv.models.logit import mean_of

# ---- the terms of a formula ----


@dataclass(frozen=True)
class Term:
    """A term of a formula: a covariate, a factor, a spline, or an interaction.

    Attributes
    ----------
    name : str
    columns : tuple of int
        Its columns of the matrix.
    factors : frozenset of str
        The variables whose product it is.
    """

    name: str
    columns: tuple[int, ...]
    factors: frozenset[str]

    def contains(self, other: Term) -> bool:
        """Return whether the other term is a main effect below this interaction."""
        return other.factors < self.factors


def terms_of(design: Design) -> tuple[Term, ...]:
    """Return the terms of a design besides intercept and offsets, in their order.

    A factor of one level has no column, and cannot be chosen.
    """
    places: dict[tuple[str, ...], list[int]] = {}
    for j in range(len(design.names)):
        places.setdefault(design.terms.term_of(j), []).append(j)
    return tuple(
        Term(":".join(codes), tuple(places[codes]), frozenset(codes))
        for codes in design.formula.terms
        if codes in places and codes and not is_offset(codes[0])
    )


def forced_by(keep: Iterable[str], terms: tuple[Term, ...]) -> int:
    """Return the set of terms that are kept by name, with those that they contain.

    Raises
    ------
    ArgumentError
        If a name is not that of a term.
    """
    made, named = 0, {frozenset(_parts(term.name)): term for term in terms}
    for name in keep:
        found = named.get(frozenset(_parts(name)))
        if found is None:
            known = [term.name for term in terms]
            raise ArgumentError(
                f"keep= names {name!r}, which is not a term of the formula; its terms "
                f"are {', '.join(known[:8])}{', …' * (len(known) > 8)}."
                + suggestion(name, known)
            )
        for place, term in enumerate(terms):
            if term == found or found.contains(term):
                made |= 1 << place
    return made


def _parts(name: str) -> list[str]:
    return "".join(name.split()).split(":")


def members(chosen: int) -> Iterator[int]:
    """Yield the places of the terms of a set.

    >>> list(members(0b1010))
    [1, 3]
    """
    while chosen:
        low = chosen & -chosen
        yield low.bit_length() - 1
        chosen ^= low


def droppable(chosen: int, forced: int, terms: tuple[Term, ...]) -> list[int]:
    """Return the terms that may leave a set: no other one of it contains them."""
    inside = [terms[place] for place in members(chosen)]
    return [
        place
        for place in members(chosen & ~forced)
        if not any(other.contains(terms[place]) for other in inside)
    ]


def addable(chosen: int, upper: int, terms: tuple[Term, ...]) -> list[int]:
    """Return the terms that may enter a set: it has all main effects below them."""
    outside = [terms[place] for place in members(upper & ~chosen)]
    return [
        place
        for place in members(upper & ~chosen)
        if not any(terms[place].contains(other) for other in outside)
    ]


# ---- the training sets ----


if TYPE_CHECKING:
    from statcv.models.selection.rules import Selection

Numbers = NDArray[np.intp]


@dataclass(eq=False)
class Sets:
    """Some training sets, and the terms among which each of them chooses.

    Attributes
    ----------
    rule : Selection
    records : TrainingSet
    folds : Folds
    forced : int
        The set of terms in every model.
    """

    rule: Selection
    records: TrainingSet
    folds: Folds
    forced: int
    _places: dict[int, Numbers] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.folds)

    def columns(self, chosen: int) -> Numbers:
        """Return the columns of a set of terms, and the intercept."""
        if chosen in self._places:
            return self._places[chosen]
        found = [c for i in members(chosen) for c in self.rule.terms[i].columns]
        assert self.records.intercept is not None
        every = np.array([self.records.intercept, *found], dtype=np.intp)
        self._places[chosen] = np.sort(every)
        return self._places[chosen]

    def fit(self, columns: Numbers, some: Numbers) -> FoldFits:
        """Fit some training sets to some columns."""
        records, folds = self.records, self.folds.chosen(some)
        if isinstance(folds.matrices, Learnt):
            folds = replace(folds, matrices=folds.matrices.of_columns(columns))
        assert records.intercept is not None
        intercept = int(np.searchsorted(columns, records.intercept))
        part = replace(
            records,
            X=np.ascontiguousarray(records.X[:, columns]),
            names=tuple(records.names[j] for j in columns.tolist()),
            intercept=intercept,
            factors=None,
            centre=None if records.centre is None else records.centre[columns],
        )
        model: Any = self.rule.model
        fitted = model.fit_folds(part, folds)
        if fitted is None:  # as for more columns than are fitted together
            made = FoldFits.empty(len(some), self.free * len(columns))
            return made.refit(model, part, folds)
        beta = np.asarray(fitted.coefficients)
        if self.is_survival and fitted.linear is not None:
            beta = fitted.linear.coefficients  # with that of the intercept
        beta = np.nan_to_num(beta)
        none = np.zeros(len(some), dtype=bool)
        return FoldFits(beta, fitted.converged, fitted.separated, none)

    @property
    def is_gaussian(self) -> bool:
        """Whether the likelihood is that of least squares."""
        return isinstance(self.rule.model.capabilities.likelihood, Gaussian)

    @property
    def is_survival(self) -> bool:
        """Whether the likelihood is the partial one of times to an event."""
        return self.records.kind == "survival"

    @property
    def free(self) -> int:
        """The number of linear predictors that are fitted."""
        return max(width_of(self.records) - 1, 1)

    def deviance(self, eta: Matrix, some: Numbers) -> Matrix:
        """Return minus twice the log-likelihood, as R's ``extractAIC`` has it."""
        if self.is_survival:
            return partial_deviance(self, eta, some)
        y, weights = self.outcome(some), self.weights[some]
        if self.is_gaussian:
            squares = (weights * (y - eta[..., 0]) ** 2).sum(axis=1)
            return np.asarray(self.count[some] * np.log(squares / self.count[some]))
        if self.free == 1:
            loss = np.logaddexp(0.0, eta[..., 0]) - y * eta[..., 0]
        else:
            every = np.concatenate([np.zeros_like(eta[..., :1]), eta], axis=2)
            own = np.take_along_axis(
                every, np.broadcast_to(y, eta.shape[:2])[..., None], axis=2
            )
            loss = np.logaddexp.reduce(every, axis=2) - own[..., 0]
        return np.asarray(2 * (weights * loss).sum(axis=1))

    def linear(self, columns: Numbers, some: Numbers, beta: Matrix) -> Matrix:
        """Return the linear predictors of all records, shape (m, n, free).

        Those of times to an event are without the offset.
        """
        beta, offset = beta.reshape(len(some), self.free, -1), self.records.offset
        if self.matrices is None:
            eta = np.asarray(beta @ self.records.X[:, columns].T).swapaxes(1, 2)
            return eta if offset is None or self.is_survival else eta + offset[:, None]
        X = self.matrices[some][:, :, columns]
        return np.asarray(np.matmul(X, beta.swapaxes(1, 2)))

    # ---- the training sets ----

    @cached_property
    def matrices(self) -> Matrix | None:
        """The matrix of each training set, shape (m, n, p); None if they share one."""
        if not isinstance(self.folds.matrices, Learnt):
            return None
        return self.folds.matrices.matrices(np.arange(len(self)))

    @cached_property
    def weights(self) -> Matrix:
        """The weights of the records, shape (folds, n)."""
        return self.folds.weights_in(self.records, np.arange(len(self)))

    @cached_property
    def count(self) -> Matrix:
        """The number of training records, with repetitions but not weights.

        Of times to an event those with an event are counted, as R's ``BIC`` does.
        """
        plain, every = replace(self.folds, weights=None), np.arange(len(self))
        counts = plain.weights_in(replace(self.records, weights=None), every)
        if self.is_survival:
            counts = counts * (self.outcome(every) > 0)
        return np.asarray(counts.sum(axis=1))

    def outcome(self, some: Numbers) -> NDArray[Any]:
        """Return the outcome, shape (n,), or that of each of some folds."""
        y, outcome = self.records.y, self.folds.outcome
        return y if outcome is None else np.asarray(y[outcome[some]])

    def moves(self, fold: int, here: int) -> list[int]:
        """Return the sets that a training set compares with one."""
        terms, direction, made = self.rule.terms, self.rule.direction, list[int]()
        if direction != "forward":
            made += [here ^ 1 << i for i in droppable(here, self.forced, terms)]
        if direction != "backward":
            made += [here | 1 << i for i in addable(here, self.upper[fold], terms)]
        return made

    def size(self, chosen: int, fold: int) -> int:
        """Return the number of parameters of a set in a training set."""
        columns = self.columns(chosen)
        if fold not in self.lacking:
            return len(columns) * self.free
        return self.free * int(np.linalg.matrix_rank(self._rows(fold)[:, columns]))

    def _rows(self, fold: int) -> Matrix:
        """Return the matrix of a training set, in units of its columns."""
        used = self.weights[fold] > 0
        X = self.records.X if self.matrices is None else self.matrices[fold]
        rows = X[used]
        size = np.linalg.norm(rows, axis=0)
        return np.asarray(rows / np.where(size > 0, size, 1.0))

    @cached_property
    def lacking(self) -> frozenset[int]:
        """The training sets in which columns are dependent."""
        found = set()
        for fold, one in enumerate(self.upper):
            own = self._rows(fold)[:, self.columns(one)]
            if np.linalg.matrix_rank(own) < own.shape[1]:
                found.add(fold)
        return frozenset(found)

    @cached_property
    def upper(self) -> list[int]:
        """Return the terms among which each training set chooses."""
        terms, screen = self.rule.terms, self.rule.screen
        if screen is None:
            return [(1 << len(terms)) - 1] * len(self)
        free = [i for i in range(len(terms)) if not self.forced >> i & 1]
        columns = np.array([terms[i].columns[0] for i in free])
        X, W = self.records.X[:, columns], self.weights
        total = W.sum(axis=1)[:, None]
        y = self.outcome(np.arange(len(self)))
        y = martingale_residuals(self) if self.is_survival else y
        y = np.broadcast_to(y, W.shape).astype(float)
        y = y - (W * y).sum(axis=1, keepdims=True) / total
        X = X - X.mean(axis=0)  # so that sums of squares keep their digits
        square, product = W @ X**2 - (W @ X) ** 2 / total, (W * y) @ X
        share = np.divide(
            product**2, square, out=np.zeros_like(square), where=square > 0
        )
        best = np.argsort(-share, axis=1, kind="stable")[:, :screen]
        return [self.forced | sum(1 << free[i] for i in own) for own in best.tolist()]

    def check_size(self) -> None:
        """Refuse training sets that have no more records than columns."""
        records = (self.weights > 0).sum(axis=1)
        size = np.array([len(self.columns(one)) for one in self.upper])
        lacking = np.flatnonzero(records <= size)
        if len(lacking):
            worst = lacking[0]
            raise ModelError(
                f"terms of {size[worst]} columns cannot be compared in a training set "
                f"of {records[worst]} records: give fewer terms, or let each training "
                "set first find its best columns, such as Forward(screen=10)."
            )

    @cached_property
    def price(self) -> Matrix:
        """The penalty of the criterion for each parameter."""
        if self.rule.by == "bic":
            return np.log(self.count)
        return np.full(len(self), 2.0)

    @cached_property
    def padded(self) -> Matrix:
        """The columns of the matrices, (folds or 1, p + 1, n), and one of zeros."""
        every = self.records.X[None] if self.matrices is None else self.matrices
        columns = np.zeros((len(every), every.shape[2] + 1, every.shape[1]))
        columns[:, :-1] = every.swapaxes(1, 2)
        if self.is_survival:  # about their means, without an intercept
            columns -= columns.mean(axis=2, keepdims=True)
        return columns

    def side_by_side(
        self, folds: Numbers, columns: list[Numbers], start: Matrix
    ) -> tuple[Matrix, Matrix, NDArray[np.bool_]]:
        """Return columns of each fold as rows, and zeros up to their largest number.

        With them are the coefficients in ``start``, and which rows are of no column.
        """
        place = np.full((len(folds), max(map(len, columns))), start.shape[1] - 1)
        for row, own in enumerate(columns):
            place[row, : len(own)] = own
        at = np.zeros_like(folds) if self.matrices is None else folds
        idle = place == start.shape[1] - 1
        if self.is_survival:
            idle = ~np.isin(place, free_columns(self.records))
        return self.padded[at[:, None], place], start[folds[:, None], place], idle


def mean_by(model: Model, kind: str) -> Callable[[Matrix], Matrix]:
    """Return the function from linear predictors to predictions."""
    return np.asarray if isinstance(model, Linear) else mean_of(kind)


# ---- partial likelihoods ----


STEPS = 8  # largest number of Newton's steps from a fit to one term more or less


def partial_likelihoods(
    sets: Sets, some: Numbers, X: Matrix
) -> Iterator[tuple[Numbers, PartialLikelihoods]]:
    """Yield training sets of one outcome, as places in ``some``, and their likelihoods.

    Parameters
    ----------
    sets : Sets
    some : numpy.ndarray of int, shape (m,)
        Some of the training sets.
    X : numpy.ndarray, shape (n, q), or (m, n, q)
        The covariates of all records, or as each training set has them.
    """
    model: Any = sets.rule.model
    none = np.zeros((len(some), X.shape[-1]))
    given = X, sets.records, sets.folds, some, none, model.ties == "efron"
    for places, problem, _ in problems(*given):
        yield places, problem


def partial_deviance(sets: Sets, eta: Matrix, some: Numbers) -> Matrix:
    """Return minus twice the log partial likelihoods, by predictors (m, n, 1)."""
    made = np.empty(len(some))
    for own, problem in partial_likelihoods(sets, some, eta):
        one = np.ones((len(own), 1))
        made[own] = 2 * problem.loss(problem.linear(one), one)
    return made


def partial_newton(
    sets: Sets,
    rows: Matrix,
    beta: Matrix,
    folds: Numbers,
    idle: NDArray[np.bool_],
    settled: float,
) -> tuple[Matrix, NDArray[np.bool_]]:
    """Move coefficients in place until a step gains less than ``settled``.

    Returns
    -------
    deviance : numpy.ndarray, shape (m,)
    done : numpy.ndarray of bool, shape (m,)
        Which have settled where hazards do not differ by orders of magnitude.
    """
    deviance, done = np.full(len(rows), np.nan), np.zeros(len(rows), dtype=bool)
    for own, every in partial_likelihoods(sets, folds, rows.swapaxes(1, 2)):
        live, problem = own, replace(every, ridge=idle[own].astype(float))
        for _ in range(STEPS):
            eta = problem.linear(beta[live])
            gradient = problem.gradient(eta, beta[live])
            try:
                move = np.linalg.solve(problem.hessian(eta), gradient[:, :, None])
            except np.linalg.LinAlgError:  # hazards are monotone
                break
            beta[live] += move[:, :, 0]
            near = (move[:, :, 0] * gradient).sum(axis=1) < settled
            done[live[near]] = True
            live, problem = live[~near], problem.part(~near)
            if not len(live):
                break
        eta = every.linear(beta[own])
        done[own] &= ~every.extreme(eta)
        deviance[own] = 2 * every.loss(eta, beta[own])
    return deviance, done


def partial_information(
    sets: Sets, X: Matrix, beta: Matrix, some: Numbers, columns: Numbers
) -> Matrix:
    """Return the information on columns; that on those without a coefficient is 1."""
    made = np.empty((len(some), X.shape[-1], X.shape[-1]))
    centred = X - X.mean(axis=-2, keepdims=True)
    for own, problem in partial_likelihoods(sets, some, centred):
        made[own] = problem.hessian(problem.linear(beta[own]))
    none = np.flatnonzero(~np.isin(columns, free_columns(sets.records)))
    made[:, none, none] = 1.0
    return made


def martingale_residuals(sets: Sets) -> Matrix:
    """Return those of the model without covariates, (folds, n).

    Their products with a covariate sum to its score, as residuals of a mean do.
    """
    every, n = np.arange(len(sets)), len(sets.records.X)
    made = np.empty((len(sets), n))
    for own, problem in partial_likelihoods(sets, every, np.zeros((n, 1))):
        weights, at = problem.weights, problem.sets
        residual = -problem.expected(problem.jumps(np.zeros_like(weights)))
        residual[:, at.dead] += weights[:, at.dead]
        made[own[:, None], at.order] = residual / np.where(weights > 0, weights, 1.0)
    return made


def baselines(sets: Sets, beta: Matrix) -> tuple[Matrix, Matrix]:
    """Return the constants and baselines of `CoxFits`, of coefficients (folds, p)."""
    every, centre = np.arange(len(sets)), sets.records.centre
    eta = sets.linear(np.arange(beta.shape[1]), every, beta)
    constant = -eta.mean(axis=1)[:, 0] if centre is None else -beta @ centre
    horizons = sets.records.horizons
    baseline = np.empty((len(sets), count_strata(sets.records.names), len(horizons)))
    for own, problem in partial_likelihoods(sets, every, eta):
        known = problem.linear(np.ones((len(own), 1))) + constant[own, None, None]
        baseline[own] = problem.log_baseline(known, horizons)
    return constant, baseline
