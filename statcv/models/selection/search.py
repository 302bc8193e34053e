"""The choice of terms in all training sets together.

Training sets that ask for the fit of the same terms have it in one batched call, and
no fit is made twice. Which sets a training set asks for follows from its own criteria.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ModelError
from statcv.formula import Learnt
from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.fits import FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.families import width_of
from statcv.models.likelihood import Gaussian
from statcv.models.selection.terms import addable, droppable, members
from statcv.numeric.gram import information_of

if TYPE_CHECKING:
    from statcv.models.selection.rules import Selection

Numbers = NDArray[np.intp]
DEPENDENT = 1e-9  # eigenvalue, of 1 in all records, of a direction without records


@dataclass(eq=False)
class Search:
    """The criteria of sets of terms in some training sets, as they become known.

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
    _known: dict[int, Matrix] = field(default_factory=dict)
    _sizes: dict[int, NDArray[np.intp]] = field(default_factory=dict)

    def chosen(self) -> list[int]:
        """Return the set of terms that each training set chooses."""
        upper = self._upper()
        self._check_size(upper)
        direction = self.rule.direction
        if not direction:
            return upper
        if self.rule.by == "p":
            return self._by_wald(upper)
        found = [self.forced] * len(upper) if direction == "forward" else [*upper]
        live = list(range(len(found)))
        self._learn((found[fold], fold) for fold in live)
        while live:
            moves = {fold: self._moves(found[fold], upper[fold]) for fold in live}
            self._learn((to, fold) for fold in live for to in moves[fold])
            moved = []
            for fold in live:
                best = self._best(found[fold], moves[fold], fold)
                if best != found[fold]:
                    found[fold] = best
                    moved.append(fold)
            live = moved
        return found

    def fitted(self, chosen: list[int]) -> Iterator[tuple[Numbers, Numbers, FoldFits]]:
        """Yield the fits of sets of terms: the folds, their columns, and the fits."""
        for one in dict.fromkeys(chosen):
            some = np.flatnonzero([other == one for other in chosen])
            columns = self._columns(one)
            yield some, columns, self._fit(columns, some)

    # ---- the moves of a training set ----

    def _moves(self, here: int, upper: int) -> list[int]:
        terms, direction = self.rule.terms, self.rule.direction
        made = []
        if direction != "forward":
            made += [here ^ 1 << i for i in droppable(here, self.forced, terms)]
        if direction != "backward":
            made += [here | 1 << i for i in addable(here, upper, terms)]
        return made

    def _best(self, here: int, moves: list[int], fold: int) -> int:
        """Return the set of the least criterion; terms without a parameter go first."""
        size = self._size(here)[fold]
        idle = [to for to in moves if to < here and self._size(to)[fold] == size]
        if idle:
            return idle[-1]
        best, least = here, self._known[here][fold]
        for to in moves:
            if self._known[to][fold] < least:
                best, least = to, self._known[to][fold]
        return best

    def _learn(self, wanted: Any) -> None:
        """Compute the criteria of pairs of a set and a training set."""
        folds = defaultdict[int, list[int]](list)
        for one, fold in wanted:
            known = self._known.get(one)
            if known is None or np.isnan(known[fold]):
                folds[one].append(fold)
        for one, numbers in folds.items():
            some = np.unique(numbers)
            if one not in self._known:
                self._known[one] = np.full(len(self.folds), np.nan)
            columns = self._columns(one)
            made = self._fit(columns, some)
            deviance = self._deviance(columns, some, made.coefficients)
            self._known[one][some] = (
                deviance + self._price[some] * self._size(one)[some]
            )

    @cached_property
    def _price(self) -> Matrix:
        """The penalty of the criterion for each parameter."""
        if self.rule.by == "bic":
            return np.log(self._count)
        return np.full(len(self.folds), 2.0)

    # ---- fits of some columns ----

    def _columns(self, chosen: int) -> Numbers:
        found = [c for i in members(chosen) for c in self.rule.terms[i].columns]
        assert self.records.intercept is not None
        return np.sort(np.array([self.records.intercept, *found], dtype=np.intp))

    def _fit(self, columns: Numbers, some: Numbers) -> FoldFits:
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
        )
        model: Any = self.rule.model
        fitted = model.fit_folds(part, folds)
        if fitted is None:  # as for more columns than are fitted together
            made = FoldFits.empty(len(some), self._free * len(columns))
            return made.refit(model, part, folds)
        beta = np.nan_to_num(np.asarray(fitted.coefficients))
        none = np.zeros(len(some), dtype=bool)
        return FoldFits(beta, fitted.converged, fitted.separated, none)

    @property
    def _free(self) -> int:
        """The number of linear predictors that are fitted."""
        return max(width_of(self.records) - 1, 1)

    def _deviance(self, columns: Numbers, some: Numbers, beta: Matrix) -> Matrix:
        """Return minus twice the log-likelihood, as R's ``extractAIC`` has it."""
        eta = self._linear(columns, some, beta)
        y, weights = self._y[some] if self._y.ndim > 1 else self._y, self._weights[some]
        if isinstance(self.rule.model.capabilities.likelihood, Gaussian):
            squares = (weights * (y - eta[..., 0]) ** 2).sum(axis=1)
            return np.asarray(self._count[some] * np.log(squares / self._count[some]))
        if self._free == 1:
            loss = np.logaddexp(0.0, eta[..., 0]) - y * eta[..., 0]
        else:
            every = np.concatenate([np.zeros_like(eta[..., :1]), eta], axis=2)
            own = np.take_along_axis(
                every, np.broadcast_to(y, eta.shape[:2])[..., None], axis=2
            )
            loss = np.logaddexp.reduce(every, axis=2) - own[..., 0]
        return np.asarray(2 * (weights * loss).sum(axis=1))

    def _linear(self, columns: Numbers, some: Numbers, beta: Matrix) -> Matrix:
        """Return the linear predictors of all records, shape (m, n, free)."""
        beta = beta.reshape(len(some), self._free, -1)
        if self._matrices is None:
            return np.asarray(beta @ self.records.X[:, columns].T).swapaxes(1, 2)
        X = self._matrices[some][:, :, columns]
        return np.asarray(np.matmul(X, beta.swapaxes(1, 2)))

    # ---- the training sets ----

    @cached_property
    def _matrices(self) -> Matrix | None:
        """The matrix of each training set, shape (m, n, p); None if they share one."""
        if not isinstance(self.folds.matrices, Learnt):
            return None
        return self.folds.matrices.matrices(np.arange(len(self.folds)))

    @cached_property
    def _weights(self) -> Matrix:
        return self.folds.weights_in(self.records, np.arange(len(self.folds)))

    @cached_property
    def _count(self) -> Matrix:
        """The number of training records, with repetitions but not weights."""
        plain = replace(self.folds, weights=None)
        records = replace(self.records, weights=None)
        return np.asarray(
            plain.weights_in(records, np.arange(len(self.folds))).sum(axis=1)
        )

    @cached_property
    def _y(self) -> NDArray[Any]:
        y, outcome = self.records.y, self.folds.outcome
        return y if outcome is None else y[outcome]

    def _size(self, chosen: int) -> NDArray[np.intp]:
        """Return the number of parameters of a set in each training set."""
        if chosen not in self._sizes:
            columns = self._columns(chosen)
            made = np.full(len(self.folds), len(columns))
            for fold in self._deficient.tolist():
                made[fold] = np.linalg.matrix_rank(self._rows(fold)[:, columns])
            self._sizes[chosen] = made * self._free
        return self._sizes[chosen]

    def _rows(self, fold: int) -> Matrix:
        """Return the matrix of a training set, in units of its columns."""
        used = self._weights[fold] > 0
        X = self.records.X if self._matrices is None else self._matrices[fold]
        rows = X[used]
        size = np.linalg.norm(rows, axis=0)
        return np.asarray(rows / np.where(size > 0, size, 1.0))

    @cached_property
    def _deficient(self) -> Numbers:
        """The training sets in which columns are dependent."""
        p = self.records.X.shape[1]
        if p >= len(self.records.X) or self._matrices is not None:
            every = range(len(self.folds))
            return np.array(
                [f for f in every if np.linalg.matrix_rank(self._rows(f)) < p], np.intp
            )
        # in an orthonormal basis the Gram matrix of all records is the identity
        basis = np.linalg.qr(self.records.X)[0]
        gram = information_of(basis, (self._weights > 0).astype(float))
        return np.flatnonzero(np.linalg.eigvalsh(gram)[:, 0] < DEPENDENT)

    def _upper(self) -> list[int]:
        """Return the terms among which each training set chooses."""
        terms, screen = self.rule.terms, self.rule.screen
        if screen is None:
            return [(1 << len(terms)) - 1] * len(self.folds)
        free = [i for i in range(len(terms)) if not self.forced >> i & 1]
        columns = np.array([terms[i].columns[0] for i in free])
        X, W = self.records.X[:, columns], self._weights
        total = W.sum(axis=1)[:, None]
        y = np.broadcast_to(self._y, W.shape).astype(float)
        y = y - (W * y).sum(axis=1, keepdims=True) / total
        if self._matrices is None:
            X = X - X.mean(axis=0)  # so that sums of squares keep their digits
            square = W @ X**2 - (W @ X) ** 2 / total
            product = (W * y) @ X
        else:
            every = self._matrices[:, :, columns]
            every = (
                every
                - (W[:, :, None] * every).sum(axis=1, keepdims=True) / total[:, None]
            )
            square = (W[:, :, None] * every**2).sum(axis=1)
            product = ((W * y)[:, :, None] * every).sum(axis=1)
        share = np.divide(
            product**2, square, out=np.zeros_like(square), where=square > 0
        )
        best = np.argsort(-share, axis=1, kind="stable")[:, :screen]
        return [self.forced | sum(1 << free[i] for i in own) for own in best.tolist()]

    def _check_size(self, upper: list[int]) -> None:
        """Refuse training sets that have no more records than columns."""
        records = (self._weights > 0).sum(axis=1)
        size = np.array([len(self._columns(one)) for one in upper])
        lacking = np.flatnonzero(records <= size)
        if len(lacking):
            worst = lacking[0]
            raise ModelError(
                f"terms of {size[worst]} columns cannot be compared in a training set "
                f"of {records[worst]} records: give fewer terms, or let each training "
                "set first find its best columns, such as Forward(screen=10)."
            )

    # ---- by Wald tests ----

    def _by_wald(self, upper: list[int]) -> list[int]:
        """Drop the least significant term of each set while its p exceeds the level."""
        found = [*upper]
        for one in dict.fromkeys(upper):
            some = np.flatnonzero([other == one for other in upper])
            for fold, kept in zip(
                some.tolist(), self._eliminated(one, some), strict=True
            ):
                found[fold] = kept
        return found

    def _eliminated(self, start: int, some: Numbers) -> list[int]:
        from scipy.special import chdtrc

        columns = self._columns(start)
        beta = self._fit(columns, some).coefficients
        information = self._information(columns, some, beta)
        pull = np.einsum("mij,mj->mi", information, beta)
        place = {j: k for k, j in enumerate(columns.tolist())}
        terms = {
            i: np.array([place[j] for j in self.rule.terms[i].columns])
            for i in members(start)
        }
        sets, live = [start] * len(some), np.arange(len(some))
        while len(live):
            # without some terms, the quadratic log-likelihood has its optimum at the
            # inverse of the information of the others times their pull
            inside = np.zeros((len(live), len(columns)), dtype=bool)
            for row, fold in enumerate(live.tolist()):
                inside[row] = np.isin(columns, self._columns(sets[fold]))
            both = inside[:, :, None] & inside[:, None, :]
            H = np.where(both, information[live], np.eye(len(columns)))
            covariance = np.linalg.inv(H)
            at = np.einsum("mij,mj->mi", covariance, np.where(inside, pull[live], 0.0))
            p = np.full((len(live), len(self.rule.terms)), -1.0)
            for i, own in terms.items():
                b, V = at[:, own], covariance[:, own[:, None], own]
                wald = np.einsum(
                    "mi,mi->m", b, np.linalg.solve(V, b[:, :, None])[..., 0]
                )
                p[:, i] = chdtrc(len(own), wald)
            going = []
            for row, fold in enumerate(live.tolist()):
                may = droppable(sets[fold], self.forced, self.rule.terms)
                worst = max(may, key=lambda i: p[row, i], default=None)
                if worst is not None and p[row, worst] > self.rule.level:
                    sets[fold] ^= 1 << worst
                    going.append(fold)
            live = np.array(going, dtype=np.intp)
        return sets

    def _information(self, columns: Numbers, some: Numbers, beta: Matrix) -> Matrix:
        eta = self._linear(columns, some, beta)[..., 0]
        weights = self._weights[some]
        if isinstance(self.rule.model.capabilities.likelihood, Gaussian):
            y = self._y[some] if self._y.ndim > 1 else self._y
            free = self._count[some] - len(columns)
            sigma = (weights * (y - eta) ** 2).sum(axis=1) / free
            weights = weights / sigma[:, None]
        else:
            small = np.exp(-np.abs(eta))
            weights = weights * small / (1 + small) ** 2
        if self._matrices is None:
            X = self.records.X[:, columns]
            products = (X[:, :, None] * X[:, None, :]).reshape(len(X), -1)
            return np.asarray(
                (weights @ products).reshape(-1, len(columns), len(columns))
            )
        X = self._matrices[some][:, :, columns]
        return np.asarray(np.matmul((X * weights[:, :, None]).swapaxes(1, 2), X))
