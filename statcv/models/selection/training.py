"""The training sets in which terms are chosen, and fits of some of their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from statcv.errors import ModelError
from statcv.formula import Learnt
from statcv.models.base import Model, TrainingSet
from statcv.models.batched.blocks import Block
from statcv.models.batched.cox import free_columns, problems
from statcv.models.batched.cumulative import CumulativeOdds
from statcv.models.batched.fits import FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.partial_likelihood import PartialLikelihoods
from statcv.models.batched.problem import Problem
from statcv.models.batched.risk_sets import count_strata
from statcv.models.batched.separate import Penalised
from statcv.models.counts import Dispersed, NegativeBinomial, counted
from statcv.models.families import Family, family_of, width_of
from statcv.models.likelihood import CumulativeLogit, Gaussian, LogLinear
from statcv.models.linear import Linear
from statcv.models.logit import mean_of
from statcv.models.selection.terms import addable, droppable, members
from statcv.numeric.arrays import Array, Bools, Floats, Numbers
from statcv.numeric.newton import minimise

if TYPE_CHECKING:
    from statcv.models.selection.rules import Selection

DEPENDENT = 1e-10  # length of a column of length 1 beside others, if they determine it
PERFECT = 1e-20  # share of the sum of squares that rounding leaves of a perfect fit


class Sets:
    """Some training sets, and the terms among which each of them chooses.

    Attributes
    ----------
    rule : Selection
    records : TrainingSet
        All records.
    folds : Folds
        The training sets, with matrices learnt together if terms are.
    forced : int
        The set of terms in every model.
    intercept : int
        The column of the intercept.
    is_gaussian, is_survival, is_ordered, is_dispersed : bool
        Whether the likelihood is that of least squares, the partial one of times to an
        event, that of ordered classes, or of counts whose dispersion is estimated.
    cuts : int
        The number of cut points of ordered classes; 0 without order.
    free : int
        The number of linear predictors with coefficients of their own.
    matrices : numpy.ndarray, shape (m, n, p), or None
        The matrix of each training set; None if they share one.
    weights : numpy.ndarray, shape (m, n)
        The weights of the records.
    apart : numpy.ndarray of bool, shape (m,)
        Which training sets the model of all terms separates, if its tests choose.
    """

    def __init__(
        self, rule: Selection, records: TrainingSet, folds: Folds, forced: int
    ) -> None:
        assert records.intercept is not None
        self.rule, self.records, self.folds, self.forced = rule, records, folds, forced
        self.intercept = records.intercept
        self.likelihood: Any = rule.model.capabilities.likelihood
        self.is_gaussian = isinstance(self.likelihood, Gaussian)
        self.is_survival = records.kind == "survival"
        self.is_ordered = isinstance(self.likelihood, CumulativeLogit)
        self.is_dispersed = isinstance(rule.model, NegativeBinomial)
        self.cuts = records.n_classes - 1 if self.is_ordered else 0
        self.free = 1 if self.is_ordered else max(width_of(records) - 1, 1)
        every, learnt = np.arange(len(folds)), folds.matrices
        self.matrices = learnt.matrices(every) if isinstance(learnt, Learnt) else None
        self.weights = folds.weights_in(records, every)
        self.apart = np.zeros(len(folds), dtype=bool)
        self._places: dict[int, Numbers] = {}
        self._moves: dict[tuple[int, int], list[int]] = {}

    def __len__(self) -> int:
        return len(self.folds)

    def columns(self, chosen: int) -> Numbers:
        """Return the columns of a set of terms, and the intercept."""
        if chosen in self._places:
            return self._places[chosen]
        found = [c for i in members(chosen) for c in self.rule.terms[i].columns]
        every = np.array([self.intercept, *found], dtype=np.intp)
        self._places[chosen] = np.sort(every)
        return self._places[chosen]

    def fit(self, columns: Numbers, some: Numbers) -> FoldFits:
        """Fit some training sets to some columns, with coefficients as in `layout`."""
        records, folds = self.records, self.folds.chosen(some)
        if isinstance(folds.matrices, Learnt):
            folds = replace(folds, matrices=folds.matrices.of_columns(columns))
        part, model = records.of_columns(columns), cast(Any, self.rule.model)
        fitted = model.fit_folds(part, folds)
        if fitted is None:  # as for more columns than are fitted together
            made = FoldFits.empty(len(some), self.free * len(columns))
            return made.refit(model, part, folds)
        none = np.zeros(len(some), dtype=bool)
        assert fitted.linear is not None
        if self.cuts or self.is_survival or self.is_dispersed:
            beta = fitted.linear.coefficients  # (m, q), or (m, q, cuts)
        else:
            beta = np.nan_to_num(np.asarray(fitted.coefficients))
        if self.cuts:
            place, slopes = part.intercept, beta[:, :, 0].copy()
            slopes[:, place] = 0.0
            beta = np.column_stack([beta[:, place], slopes])
        return FoldFits(beta, fitted.converged, fitted.separated, none)

    # ---- the likelihood ----

    def layout(self, columns: Numbers, width: int) -> Numbers:
        """Return where the coefficients of columns are among those of all.

        Coefficients stand class by class, and after the cut points of ordered classes.

        Parameters
        ----------
        columns : numpy.ndarray of int, shape (q,), or (m, q)
        width : int
            The number of all columns.

        Returns
        -------
        numpy.ndarray of int, shape (coefficients,), or (m, coefficients)
        """
        starts = self.cuts + width * np.arange(self.free)
        each = [columns + start for start in starts.tolist()]
        heads = np.broadcast_to(np.arange(self.cuts), (*columns.shape[:-1], self.cuts))
        return np.concatenate([heads, *each], axis=-1)

    @cached_property
    def family(self) -> Family:
        """The log-likelihood of the outcomes, unless they are times or ordered."""
        kinds = {Gaussian: "continuous", LogLinear: "count"}
        kind = kinds.get(type(self.likelihood), self.records.kind)
        none = np.zeros(self.records.X.shape[1])
        return family_of(replace(self.records, kind=kind), none)

    def objectives(
        self, rows: Floats, folds: Numbers, idle: Bools
    ) -> Iterator[tuple[Numbers, Any]]:
        """Yield training sets, as places in ``folds``, and minus their log-likelihoods.

        Parameters
        ----------
        rows : numpy.ndarray, shape (m, q, n)
            The columns of each fit as rows.
        folds : numpy.ndarray of int, shape (m,)
            The training set of each.
        idle : numpy.ndarray of bool, shape (m, q)
            Rows without a coefficient: a ridge determines it, as 0.
        """
        X, ridge = rows.swapaxes(1, 2), idle.astype(float)
        if self.is_survival:
            for own, problem in partial_likelihoods(self, folds, X):
                yield own, replace(problem, ridge=ridge[own])
            return
        every, weights = np.arange(len(folds)), self.weights[folds]
        if self.is_ordered:
            y = np.broadcast_to(self.outcome(folds), weights.shape).astype(np.intp)
            yield every, CumulativeOdds.of(X, y, weights, self.cuts + 1, ridge)
            return
        family, outcome = self.family, self.folds.outcome
        if outcome is not None:
            family = family.chosen(outcome[folds])
        kind = Dispersed if self.is_dispersed else Penalised
        block, strengths = Block.of_counts(weights), np.tile(ridge, self.free)
        yield every, kind(Problem(X, None, family, block, None, strengths[:, None]))

    def zeros(self) -> Floats:
        """Return coefficients of all columns and one of zeros, all of them 0."""
        width = self.records.X.shape[1] + 1
        return np.zeros((len(self), self.cuts + self.free * width))

    def moderate(self, problem: Any, beta: Floats) -> Bools:
        """Return which fits are not separated for sure."""
        eta = problem.linear(beta)
        if self.is_survival:
            return np.asarray(problem.have_events & ~problem.extreme(eta))
        if self.is_ordered:
            return np.asarray(~problem.extreme(eta))
        family = problem.problem.family
        return np.asarray(family.spread(eta).max(axis=1) < family.moderate)

    def theta(self, beta: Floats) -> Floats:
        """Return theta of each training set, by coefficients of all columns."""
        every, columns = np.arange(len(self)), np.arange(self.records.X.shape[1])
        rows, _, idle = self.side_by_side(every, [columns] * len(self))
        ((_, problem),) = self.objectives(rows, every, idle)
        return np.asarray(problem.theta(beta))

    def deviance(self, loss: Floats, folds: Numbers) -> Floats:
        """Return minus twice the log-likelihood, as R's ``extractAIC`` has it."""
        if not self.is_gaussian:
            return 2 * loss
        # by the variance of largest likelihood, above 0 for a perfect fit
        squares = np.maximum(2 * loss, PERFECT * self.spread[folds])
        return np.asarray(self.count[folds] * np.log(squares / self.count[folds]))

    @cached_property
    def spread(self) -> Floats:
        """The sum of squares of the outcome about its mean, in each training set."""
        y, W = self.outcome(np.arange(len(self))), self.weights
        mean = (W * y).sum(axis=1) / W.sum(axis=1)
        return np.asarray((W * (y - mean[:, None]) ** 2).sum(axis=1))

    # ---- the training sets ----

    @cached_property
    def count(self) -> Floats:
        """The number of training records, with repetitions but not weights.

        Of times to an event those with an event are counted, as R's ``BIC`` does.
        """
        every = np.arange(len(self))
        counts = self.folds.counts_in(len(self.records.X), every)
        if self.is_survival:
            counts = counts * (self.outcome(every) > 0)
        return np.asarray(counts.sum(axis=1))

    def outcome(self, some: Numbers) -> Array:
        """Return the outcome, shape (n,), or that of each of some folds."""
        y, outcome = self.records.y, self.folds.outcome
        return y if outcome is None else np.asarray(y[outcome[some]])

    def moves(self, fold: int, here: int) -> list[int]:
        """Return the sets that a training set compares with one."""
        key = here, self.upper[fold]
        if key not in self._moves:
            terms, direction, made = self.rule.terms, self.rule.direction, list[int]()
            if direction != "forward":
                made += [here ^ 1 << i for i in droppable(here, self.forced, terms)]
            if direction != "backward":
                made += [here | 1 << i for i in addable(*key, terms)]
            self._moves[key] = made
        return self._moves[key]

    def size(self, chosen: int, fold: int) -> int:
        """Return the number of parameters of a set in a training set."""
        columns = self.columns(chosen)
        rank = len(columns)
        if fold in self.lacking:
            rank = int(np.linalg.matrix_rank(self._rows(fold)[:, columns]))
        return self.free * rank + self.cuts - self.is_ordered

    def sizes(self, pairs: Sequence[tuple[int, int]]) -> Floats:
        """Return the number of parameters of sets by training set."""
        return np.array([self.size(one, fold) for fold, one in pairs], dtype=float)

    def determined(self, chosen: int, fold: int) -> Numbers:
        """Return the columns of a set that others before them do not determine."""
        columns = self.columns(chosen)
        if fold not in self.lacking:
            return columns
        # a small pivot is what a column adds to those before it
        triangle = np.linalg.qr(self._rows(fold)[:, columns], mode="r")
        return np.asarray(columns[np.abs(np.diag(triangle)) > DEPENDENT])

    def _rows(self, fold: int) -> Floats:
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
        X = X - X.mean(axis=0)  # so that sums of squares keep their digits
        square = W @ X**2 - (W @ X) ** 2 / W.sum(axis=1)[:, None]
        share = np.zeros_like(square)
        # score tests of one column each, in the model without any
        for score, size in self.scores(X):
            share += score**2 / size[:, None]
        share = np.divide(share, square, out=share, where=square > 0)
        share[square <= 0] = 0.0  # a constant column
        best = np.argsort(-share, axis=1, kind="stable")[:, :screen]
        return [self.forced | sum(1 << free[i] for i in own) for own in best.tolist()]

    def scores(self, X: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Yield the scores of columns in the model of no term, (folds, q), and a size.

        Those of several classes are of one class after the other, and its weight.
        """
        every, weights = np.arange(len(self)), self.weights
        one = np.ones(len(self))
        if self.is_survival:
            made = np.zeros((len(self), X.shape[1]))
            alike = np.broadcast_to(X, (len(self), *X.shape))
            for own, problem in partial_likelihoods(self, every, alike):
                none = made[own]
                made[own] = problem.gradient(problem.linear(none), none)
            yield made, one
            return
        rows = np.broadcast_to(1.0, (len(self), 1, len(X)))
        ((_, problem),) = self.objectives(rows, every, one[:, None] == self.is_ordered)
        eta = problem.linear(minimise(problem).beta)
        if self.is_ordered:
            yield problem.slopes(eta)[0].sum(axis=0) @ X, one
            return
        made = problem.at(eta) if self.is_dispersed else problem
        made.problem.family.pull(eta)
        for k, residual in enumerate(eta.swapaxes(0, 1)):
            of_class = weights * (self.outcome(every) == k)
            yield (weights * residual) @ X, one if self.free == 1 else of_class.sum(1)

    def check_size(self) -> None:
        """Refuse training sets that have no more records than columns."""
        records = (self.weights > 0).sum(axis=1)
        size = np.array([len(self.columns(one)) for one in self.upper])
        lacking = np.flatnonzero(records <= size)
        if len(lacking):
            worst = lacking[0]
            if self.rule.screen is not None:
                raise ModelError(
                    f"screen={self.rule.screen} leaves {size[worst]} columns with the "
                    "intercept and keep=, which cannot be compared in a training set "
                    f"of {records[worst]} records; give a smaller number."
                )
            raise ModelError(
                f"terms of {size[worst]} columns cannot be compared in a training set "
                f"of {records[worst]} records: give fewer terms, or let each training "
                "set first find its best columns, such as Forward(screen=10)."
            )

    @cached_property
    def price(self) -> Floats:
        """The penalty of the criterion for each parameter."""
        if self.rule.by == "bic":
            return np.log(self.count)
        return np.full(len(self), 2.0)

    @cached_property
    def padded(self) -> Floats:
        """The columns of the matrices, (folds or 1, p + 1, n), and one of zeros."""
        every = self.records.X[None] if self.matrices is None else self.matrices
        columns = np.zeros((len(every), every.shape[2] + 1, every.shape[1]))
        columns[:, :-1] = every.swapaxes(1, 2)
        if self.is_survival:  # about their means, without an intercept
            columns -= columns.mean(axis=2, keepdims=True)
        return columns

    def side_by_side(
        self, folds: Numbers, columns: list[Numbers]
    ) -> tuple[Floats, Numbers, Bools]:
        """Return columns of each fold as rows, and zeros up to their largest number.

        With them are the places of their coefficients among those of all columns and
        one of zeros, and which rows have no coefficient.
        """
        width = self.records.X.shape[1] + 1
        place = np.full((len(folds), max(map(len, columns))), width - 1)
        for row, own in enumerate(columns):
            place[row, : len(own)] = own
        at = np.zeros_like(folds) if self.matrices is None else folds
        idle = place == width - 1
        if self.is_survival:
            idle = ~np.isin(place, free_columns(self.records))
        elif self.is_ordered:
            idle |= place == self.intercept
        return self.padded[at[:, None], place], self.layout(place, width), idle


def mean_by(model: Model, kind: str) -> Callable[[Floats], Floats]:
    """Return the function from linear predictors to predictions."""
    likelihood = model.capabilities.likelihood
    if isinstance(likelihood, LogLinear):
        return counted
    if isinstance(likelihood, CumulativeLogit):
        return likelihood.mean
    return np.asarray if isinstance(model, Linear) else mean_of(kind)


# ---- partial likelihoods ----


def partial_likelihoods(
    sets: Sets, some: Numbers, X: Floats
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


def baselines(sets: Sets, beta: Floats) -> tuple[Floats, Floats]:
    """Return the constants and baselines of `CoxFits`, of coefficients (folds, p)."""
    every, centre = np.arange(len(sets)), sets.records.centre
    X = sets.records.X if sets.matrices is None else sets.matrices
    eta = np.matmul(X, beta[:, :, None]) if X.ndim > 2 else (beta @ X.T)[:, :, None]
    constant = -eta.mean(axis=1)[:, 0] if centre is None else -beta @ centre
    horizons = sets.records.horizons
    baseline = np.empty((len(sets), count_strata(sets.records.names), len(horizons)))
    for own, problem in partial_likelihoods(sets, every, eta):
        known = problem.linear(np.ones((len(own), 1))) + constant[own, None, None]
        baseline[own] = problem.log_baseline(known, horizons)
    return constant, baseline
