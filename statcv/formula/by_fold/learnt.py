"""Design matrices of many training sets, in each of which the terms are learnt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import compress, product
from typing import Any

import numpy as np
import pandas as pd

from statcv.formula.by_fold import expressions
from statcv.formula.by_fold.learning import transforms
from statcv.formula.by_fold.training_sets import TrainingSets
from statcv.formula.language.parse import Formula
from statcv.formula.language.permitted import values_of
from statcv.formula.language.scope import PatsyFactor, namespace
from statcv.numeric.arrays import Codes, Floats, Ints, Numbers

KEPT = 2**24  # numbers of basis matrices that are kept: 128 MB


@dataclass(frozen=True, eq=False)
class Learnt:
    """The design matrices of several training sets.

    That of a training set is the *basis* of its group times coefficients of its own.
    Each column of a basis is a product of columns of the ``ColumnSource`` objects.

    Attributes
    ----------
    n : int
        The number of records.
    sources : tuple of ColumnSource
    products : tuple of tuple
        For each column of the bases, the source and the column in it of each factor.
    group : numpy.ndarray of int, shape (fits,)
        The group of each training set, in which the bases are the same.
    first : numpy.ndarray of int, shape (groups,)
        A training set of each group, by its number in the states of a ``ColumnSource``.
    fixed : numpy.ndarray, shape (columns of a basis, p)
        Coefficients that all training sets have.
    place : tuple of numpy.ndarray of int
        Rows and columns of the k other coefficients.
    own : numpy.ndarray, shape (fits, k)
        These coefficients.
    """

    n: int
    sources: tuple[expressions.ColumnSource, ...]
    products: tuple[expressions.Monomial, ...]
    group: Ints
    first: Ints
    fixed: Floats
    place: tuple[Numbers, Numbers]
    own: Floats
    _kept: dict[int, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.group)

    def chosen(self, fits: Codes) -> Learnt:
        """Return the matrices of some training sets."""
        return replace(self, group=self.group[fits], own=self.own[fits])

    def of_columns(self, columns: Codes) -> Learnt:
        """Return the matrices of some columns, from as few columns of the bases."""
        rows, places = self.place
        own = np.isin(places, columns)
        used = (self.fixed[:, columns] != 0).any(axis=1)
        used[rows[own]] = True
        row = np.cumsum(used) - 1
        return replace(
            self,
            products=tuple(compress(self.products, used)),
            fixed=self.fixed[np.ix_(used, columns)],
            place=(row[rows[own]], np.searchsorted(columns, places[own])),
            own=self.own[:, own],
            _kept={},
        )

    def bases(self, groups: Codes) -> Floats:
        """Return the bases of some groups, shape (m, n, columns of a basis)."""
        values: dict[int, Floats] = {}
        made = np.ones((len(groups), self.n, len(self.products)))
        for j, factors in enumerate(self.products):
            for number, column in factors:
                if number not in values:
                    values[number] = expressions.source_values(
                        self.sources[number], self.first[groups]
                    )
                made[:, :, j] *= values[number][:, :, column]
        return made

    def basis(self, group: int) -> Floats:
        """Return the basis of a group, shape (n, columns of a basis)."""
        if group not in self._kept:
            made = self.bases(np.array([group]))[0]
            if (len(self._kept) + 1) * made.size > KEPT:
                self._kept.clear()
            self._kept[group] = made
        return self._kept[group]

    def coefficients(self, fits: Codes) -> Floats:
        """Return the coefficients of some training sets, (m, columns of a basis, p)."""
        made = np.tile(self.fixed, (len(fits), 1, 1))
        made[:, self.place[0], self.place[1]] = self.own[fits]
        return made

    def matrix(self, fit: int, rows: Codes) -> Floats:
        """Return the design matrix of some records, as learnt in a training set."""
        basis = self.basis(int(self.group[fit]))
        return np.asarray(basis[rows] @ self.coefficients(np.array([fit]))[0])

    def matrices(self, fits: Codes) -> Floats:
        """Return the design matrices of all records, shape (m, n, p)."""
        groups, place = np.unique(self.group[fits], return_inverse=True)
        coefficients = self.coefficients(fits)
        if len(groups) == 1:
            return np.asarray(self.basis(int(groups[0])) @ coefficients)
        return np.asarray(np.matmul(self.bases(groups)[place], coefficients))


# ---- the layout of a design, and how its terms are learnt ----


@dataclass(frozen=True, eq=False)
class PreparedTerms:
    """The terms of a formula, ready to be learnt in many training sets together.

    Attributes
    ----------
    formula : Formula
    learner : Learner
        What is learnt on all records.
    found : dict
        The columns of these expressions, as learnt there.
    whole : callable
        Returns the columns of the matrix, in patsy's order, as patsy learns them on
        all records.
    frame : pandas.DataFrame
        The columns of the data.
    """

    formula: Formula
    learner: expressions.Learner
    found: Mapping[str, expressions.Columns]
    whole: Callable[[], Any]
    frame: pd.DataFrame

    @classmethod
    def of(
        cls, formula: Formula, frame: pd.DataFrame, whole: Callable[[], Any]
    ) -> PreparedTerms | None:
        """Prepare the terms; None if none learns, or some must be learnt by patsy."""
        functions = namespace(formula.functions)
        known = {
            code: expressions.parsed(one.python)
            for code, one in formula.factors.items()
        }
        learning = tuple(
            c for c, tree in known.items() if expressions.learns(tree, functions)
        )
        if not learning:
            return None
        columns = {str(name): column for name, column in frame.items()}
        sets = TrainingSets.whole(len(frame))
        learner = expressions.Learner(sets, columns, functions, transforms())
        try:
            found = {c: learner.learn(formula.factors[c].python) for c in learning}
        except expressions.NotKnownError:
            return None
        return cls(formula, learner, found, whole, frame)

    def learn(self, sets: TrainingSets | None, order: list[int]) -> Learnt | None:
        """Learn the terms in each training set; None if they are not learnt together.

        Parameters
        ----------
        sets : TrainingSets or None
            None for the set of all records.
        order : list of int
            Patsy's number of each column of the matrix.
        """
        learner = self.learner if sets is None else self.learner.again(sets)
        try:
            every = self._columns(learner)
        except expressions.NotKnownError:
            return None
        return _assembled(learner, [every[j] for j in order])

    def _columns(self, learner: expressions.Learner) -> expressions.Columns:
        """Return the columns of the matrix, in patsy's order."""
        layout = self.whole()
        factors = {
            factor: self._factor(learner, factor, info)
            for factor, info in layout.factor_infos.items()
        }
        made: expressions.Columns = []
        for subterms in layout.term_codings.values():
            for subterm in subterms:
                parts = [
                    self._coded(learner, factor, layout.factor_infos[factor], subterm)
                    if factor in subterm.contrast_matrices
                    else factors[factor]
                    for factor in subterm.factors
                ]
                for reversed_one in product(*reversed(parts)):
                    column: expressions.Column = {expressions.ONE: 1.0}
                    for other in reversed(reversed_one):
                        column = expressions.times(column, other)
                    made.append(column)
        return made

    def _factor(
        self, learner: expressions.Learner, factor: PatsyFactor, info: Any
    ) -> expressions.Columns:
        if info.type != "numerical":
            return []
        if factor.code in self.found:
            if learner is self.learner:
                return self.found[factor.code]
            return learner.learn(self.formula.factors[factor.code].python)
        values = np.asarray(factor.eval(info.state, self.frame))
        values = values if values.ndim == 2 else values[:, None]
        if values.dtype.kind == "f":
            values = values.astype(float, copy=False)
        number = learner.add(values, ("factor", factor.code))
        return [{((number, j),): 1.0} for j in range(values.shape[1])]

    def _coded(
        self, learner: expressions.Learner, factor: PatsyFactor, info: Any, subterm: Any
    ) -> expressions.Columns:
        coding = subterm.contrast_matrices[factor].matrix
        given = values_of(factor.eval(info.state, self.frame))
        codes = pd.Categorical(given, categories=list(info.categories)).codes
        if (codes < 0).any():
            raise expressions.NotKnownError
        key = ("coded", factor.code, coding.tobytes())
        number = learner.add(coding[codes].astype(float), key)
        return [{((number, j),): 1.0} for j in range(coding.shape[1])]


def _assembled(learner: expressions.Learner, columns: expressions.Columns) -> Learnt:
    """Return the matrices with the given columns."""
    products = list(dict.fromkeys(one for column in columns for one in column))
    row = {one: i for i, one in enumerate(products)}
    fixed = np.zeros((len(products), len(columns)))
    place: list[tuple[int, int]] = []
    own: list[Floats] = []
    for j, column in enumerate(columns):
        for one, part in column.items():
            if isinstance(part, np.ndarray):
                place.append((row[one], j))
                own.append(part)
            else:
                fixed[row[one], j] = part
    fits = learner.sets.fits
    used = dict.fromkeys(number for one in products for number, _ in one)
    states = [learner.sources[number].state for number in used]
    varying = [state for state in states if state is not None]
    first, group = np.zeros(1, dtype=np.int64), np.zeros(fits, dtype=np.int64)
    if varying:
        first, group = expressions.distinct_rows(np.column_stack(varying))
    rows, places = np.array(place, dtype=np.intp).reshape(-1, 2).T
    return Learnt(
        n=learner.sets.n,
        sources=tuple(learner.sources),
        products=tuple(products),
        group=group,
        first=first,
        fixed=fixed,
        place=(rows, places),
        own=np.column_stack(own) if own else np.empty((fits, 0)),
    )
