"""From terms to a matrix, with everything that a term learns learnt on training rows.

patsy does the coding. It learns the layout (columns, category levels) from the whole
frame. What a *stateful* term learns from the values (the mean of ``center``, the knots
of ``bs``) is learnt again on each training set, in all of them together where
:mod:`statcv.formula.by_fold.expressions` knows how. The matrix of a formula of plain
numeric columns is computed here, without patsy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
import patsy

from statcv.formula.by_fold.learnt import Learnt, PreparedTerms
from statcv.formula.by_fold.training_sets import TrainingSets
from statcv.formula.frame import Series, is_number
from statcv.formula.language import scope
from statcv.formula.language.parse import Formula
from statcv.formula.language.permitted import check_rowwise, values_of
from statcv.numeric.arrays import Floats, Numbers

Levels = tuple[Numbers, tuple[Any, ...]]  # codes of the rows, and labels
Combined = tuple[tuple[str, ...], Numbers, tuple[str, ...]]  # factors, cells, labels


class Terms:
    """The right-hand side of a formula on a given frame.

    Parameters
    ----------
    formula : Formula
        Parsed formula.
    columns : mapping of str to pandas.Series
        Columns that the formula uses, of plain dtypes.
    index : pandas.Index
        Labels of the rows.
    """

    def __init__(self, formula: Formula, columns: Series, index: pd.Index[Any]) -> None:
        self.formula = formula
        self.columns = columns
        self.index = index

    def __getstate__(self) -> dict[str, Any]:
        """Drop patsy's objects, which do not pickle and are made again on demand."""
        known = {"is_plain", "stateful", "names", "levels"}
        kept = {"formula", "columns", "index", *known}
        return {name: self.__dict__[name] for name in kept & self.__dict__.keys()}

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The columns as a data frame."""
        return pd.DataFrame(dict(self.columns), index=self.index)

    @cached_property
    def is_plain(self) -> bool:
        """Whether each column of the matrix is a product of numeric columns."""
        formula, columns = self.formula, self.columns
        if isinstance(columns, NumericColumns):
            return formula.multiplies
        numeric = (is_number(columns[name].dtype) for name in formula.columns)
        return formula.multiplies and all(numeric)

    @cached_property
    def _prepared(self) -> PreparedTerms | None:
        """The terms ready to be learnt together; None if patsy learns them."""
        if self.is_plain:
            return None
        return PreparedTerms.of(self.formula, self.frame, lambda: self.whole)

    @cached_property
    def whole(self) -> Any:
        """Patsy's description of the design, with what is learnt on the whole frame."""
        environment = patsy.EvalEnvironment([scope.namespace(self.formula.functions)])
        factors = self.formula.factors
        terms = [
            patsy.Term([scope.PatsyFactor(factors[code], "term") for code in term])
            for term in self.formula.terms
        ]
        with scope.evaluating("the formula"):
            (info,) = patsy.design_matrix_builders(
                [terms], lambda: iter([self.frame]), environment, scope.KeepMissing()
            )
        return info

    @cached_property
    def stateful(self) -> bool:
        """Whether a term learns from the values of the rows."""
        return bool(self.learning_columns)

    @cached_property
    def learning_columns(self) -> tuple[str, ...]:
        """The columns from which a term learns."""
        if self.is_plain:
            return ()
        if self._prepared is not None:
            return self._columns_in(self._prepared.found)
        infos = self.whole.factor_infos.items()
        return self._columns_in(f.code for f, one in infos if one.state["transforms"])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the matrix's columns, terms in the order of the formula."""
        if self.is_plain:
            return tuple(":".join(term) or "Intercept" for term in self.formula.terms)
        patsys = [self.whole.column_names[j] for j in self._order]
        return tuple(map(self._labelled, patsys, self.origins))

    def _labelled(self, name: str, term: tuple[str, ...]) -> str:
        """Replace the number of a part of a whole by its label."""
        for code in term:
            for j, label in enumerate(self.formula.factors[code].labels):
                name = name.replace(f"{code}[{j}]", label)
        return name

    @cached_property
    def _places(self) -> dict[tuple[str, ...], range]:
        """Patsy's numbers of a term's columns; it sorts factors before numbers."""
        return {
            tuple(factor.code for factor in term.factors): range(own.start, own.stop)
            for term, own in self.whole.term_slices.items()
        }

    @cached_property
    def _order(self) -> list[int]:
        """Patsy's numbers of the columns, in the order of the formula."""
        return [j for term in self.formula.terms for j in self._places[term]]

    @cached_property
    def origins(self) -> list[tuple[str, ...]]:
        """The factors of the term of each column of the matrix."""
        if self.is_plain:
            return list(self.formula.terms)
        return [term for term in self.formula.terms for _ in self._places[term]]

    def columns_of(self, j: int) -> tuple[str, ...]:
        """Return the columns of the data that column ``j`` of the matrix uses."""
        return self._columns_in(self.origins[j])

    def _columns_in(self, codes: Iterable[str]) -> tuple[str, ...]:
        columns = [self.formula.factors[code].columns for code in codes]
        return tuple(dict.fromkeys(name for names in columns for name in names))

    def learn(self, rows: Numbers) -> Any:
        """Return what the terms learn on ``rows``, for :meth:`matrix`."""
        return self.learn_frame(self.frame.iloc[rows])

    def learn_frame(self, training: pd.DataFrame) -> Any:
        """Return what the terms learn on a frame, which has the prepared columns."""
        infos = {}
        for factor, info in self.whole.factor_infos.items():
            state: dict[str, Any] = {}
            environment = info.state["eval_env"]
            for which in range(factor.memorize_passes_needed(state, environment)):
                factor.memorize_chunk(state, which, training)
                factor.memorize_finish(state, which)
            infos[factor] = patsy.design_info.FactorInfo(
                factor, info.type, state, info.num_columns, info.categories
            )
        return patsy.DesignInfo(self.whole.column_names, infos, self.whole.term_codings)

    def learn_together(self, sets: TrainingSets) -> Learnt | None:
        """Learn the terms in all training sets; None if patsy learns them one by one.

        Parameters
        ----------
        sets : TrainingSets
        """
        if self._prepared is None:
            return None
        return self._prepared.learn(sets, self._order)

    def whole_matrix(self) -> Floats:
        """Return the design matrix of all rows."""
        if self.is_plain:
            return multiplied(self.formula, self.columns, len(self.index))
        n = len(self.index)
        ready = self._prepared
        learnt = None if ready is None else ready.learn(None, self._order)
        if learnt is None:
            return self.matrix(self.frame)
        return learnt.matrix(0, np.arange(n))

    def matrix(self, frame: pd.DataFrame, learnt: Any = None) -> Floats:
        """Return the design matrix of ``frame``, which has the prepared columns.

        A missing value makes the cells of its terms NaN.
        """
        if self.is_plain:
            return multiplied(self.formula, frame, len(frame))
        info, keep = learnt or self.whole, scope.KeepMissing()
        with scope.evaluating("the formula"):
            built = patsy.build_design_matrices([info], frame, keep)[0]
        matrix = np.asarray(built, dtype=float)[:, self._order]
        for factor, absent in zip(info.factor_infos, keep.missing, strict=True):
            if absent.any():
                using = np.array([factor.code in term for term in self.origins])
                matrix[np.ix_(absent, using)] = np.nan
        return np.ascontiguousarray(matrix)

    @cached_property
    def levels(self) -> Mapping[str, Levels]:
        """Codes of each row (-1 if missing), and labels, of categorical factors.

        Factors that a term multiplies come last, as one whose levels are the
        combinations that occur.
        """
        return {} if self.is_plain else self.levels_in(self.frame)

    def levels_in(self, frame: pd.DataFrame) -> Mapping[str, Levels]:
        """Return codes and labels as :attr:`levels` of a frame of prepared columns."""
        found = self._factor_levels(frame)
        for name, (factors, cells, labels) in self.combined.items():
            codes = np.stack([found[factor][0] for factor in factors])
            sizes = [len(found[factor][1]) for factor in factors]
            known = np.ravel_multi_index(tuple(cells), sizes)
            own = np.ravel_multi_index(tuple(np.maximum(codes, 0)), sizes)
            place = np.searchsorted(known, own).clip(max=len(known) - 1)
            same = (known[place] == own) & (codes >= 0).all(axis=0)
            found[name] = np.where(same, place, -1), labels
        return found

    @cached_property
    def combined(self) -> Mapping[str, Combined]:
        """Categorical factors that a term multiplies, by their joint name.

        Each with its factors, their codes in each combination that occurs, shape
        (factors, combinations), and the names of these.
        """
        found = self._factor_levels(self.frame)
        terms = {tuple(f for f in term if f in found) for term in self.formula.terms}
        made = {}
        for term in sorted(terms):
            if len(term) < 2 or any(set(term) < set(other) for other in terms):
                continue
            codes = np.stack([found[factor][0] for factor in term])
            sizes = [len(found[factor][1]) for factor in term]
            whole = codes[:, (codes >= 0).all(axis=0)]
            occurring = np.unique(np.ravel_multi_index(tuple(whole), sizes))
            cells = np.stack(np.unravel_index(occurring, sizes))
            each = [
                np.array(found[f][1], dtype=str)[c]
                for f, c in zip(term, cells, strict=True)
            ]
            labels = tuple(map(":".join, zip(*each, strict=True)))
            made[":".join(term)] = term, cells, labels
        return made

    def _factor_levels(self, frame: pd.DataFrame) -> dict[str, Levels]:
        found = {}
        for factor, info in self.whole.factor_infos.items():
            if info.type == "categorical":
                value = values_of(factor.eval(info.state, frame))
                codes = pd.Categorical(value, categories=list(info.categories)).codes
                found[factor.code] = (codes.astype(np.intp), tuple(info.categories))
        return found

    def at_levels(
        self, frame: pd.DataFrame, levels: Mapping[str, Numbers], learnt: Any = None
    ) -> Floats:
        """Return the matrices of ``frame`` with some factors at other levels.

        ``levels`` has m codes for each of these factors; shape (m, rows, p).
        """
        info = learnt or self.whole
        m, infos = len(next(iter(levels.values()))), {}
        for factor, one in info.factor_infos.items():
            if factor.code in levels:
                codes = np.repeat(levels[factor.code], len(frame))
                known: Any = list(one.categories)
                given = pd.Categorical.from_codes(codes, known)
                state = {**one.state, "given": given}
                one = patsy.design_info.FactorInfo(
                    factor, one.type, state, categories=one.categories
                )
            infos[factor] = one
        info = patsy.DesignInfo(info.column_names, infos, info.term_codings)
        rows = np.tile(np.arange(len(frame)), m)
        return self.matrix(frame.iloc[rows], info).reshape(m, len(frame), -1)

    def check_rowwise(self) -> None:
        """Check for terms that learn from the rows in a way that patsy does not see."""
        if self.is_plain:
            return
        for factor, info in self.whole.factor_infos.items():
            described = self.formula.factors[factor.code]
            if described.column is None:
                evaluate = partial(factor.eval, info.state)
                check_rowwise(evaluate, self.frame, described.columns, factor.what)


# ---- columns of numbers that are read as one array, and their products ----


CELLS = 2**16  # numbers of a matrix that are computed at once
MIN_ROWS = 2**11  # rows of a matrix that are computed at once, at least
MIN_COLUMNS = 10  # columns from which reading them all as one array is quicker


@dataclass(frozen=True, eq=False)
class NumericColumns(Mapping[str, "pd.Series[Any]"]):
    """Many columns of finite numbers, without a Series for each until it is asked for.

    Attributes
    ----------
    cells : numpy.ndarray, shape (n, columns)
    places : dict
        The position of each column, by name.
    index : pandas.Index
        Labels of the rows.
    """

    cells: Floats
    places: Mapping[str, int]
    index: pd.Index[Any]

    @classmethod
    def of(cls, frame: pd.DataFrame, names: tuple[str, ...]) -> NumericColumns | None:
        """Read columns; None if they are few, or one is not of finite numbers."""
        if len(names) < MIN_COLUMNS:
            return None
        places = {name: j for j, name in enumerate(frame.columns.tolist())}
        used, dtypes = [places[name] for name in names], frame.dtypes.tolist()
        if any(dtypes[j] != np.float64 for j in used):
            return None
        values = frame.take(used, axis=1).to_numpy()  # quicker than by names
        if not is_finite(values):
            return None
        return cls(values, {name: j for j, name in enumerate(names)}, frame.index)

    def chosen(self, rows: Numbers) -> NumericColumns:
        """Return some of the rows."""
        return replace(self, cells=self.cells[rows], index=self.index[rows])

    def __getitem__(self, name: str) -> pd.Series[Any]:
        values = self.cells[:, self.places[name]]
        return pd.Series(values, index=self.index, name=name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def multiplied(formula: Formula, columns: Series | pd.DataFrame, n: int) -> Floats:
    """Multiply columns; without interactions all at once, a tenth of the time."""
    products = formula.products
    matrix = np.ones((n, len(products)))
    if isinstance(columns, NumericColumns):
        if products[formula.intercept :] == tuple(zip(columns.places)):
            matrix[:, int(formula.intercept) :] = columns.cells
            return matrix
        used = dict(zip(columns.places, columns.cells.T, strict=True))
    else:
        used = {name: columns[name].to_numpy() for names in products for name in names}
    for j, names in enumerate(filter(None, products), formula.intercept):
        for name in names:
            matrix[:, j] *= used[name]
    return matrix


def is_finite(matrix: Floats) -> bool:
    """Return whether all cells are finite."""
    return bool(np.isfinite(matrix).all())
