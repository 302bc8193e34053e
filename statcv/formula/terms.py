"""Terms → matrix, with everything that a term learns learnt on training rows.

patsy does the coding. What it learns of the layout (columns, category levels)
comes from the whole frame; what a *stateful* term learns of the values (the mean
of ``center``, the knots of ``bs``) is learnt again on each training set. A
formula of plain numeric columns is multiplied out here without patsy.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import DataError, FormulaError
from statcv.formula.parse import Formula
from statcv.formula.scope import expression_names, transforms

Matrix = NDArray[np.float64]


class Terms:
    """The right-hand side of a formula on a given frame.

    Parameters
    ----------
    formula : Formula
    frame : pandas.DataFrame
        The kept rows of the columns that the formula uses, of plain dtypes.
    """

    def __init__(self, formula: Formula, frame: pd.DataFrame) -> None:
        self.formula = formula
        self.frame = frame

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what patsy made, which does not pickle; it is made again."""
        plain = {"formula", "frame", "plain", "stateful", "names", "levels"}
        return {name: self.__dict__[name] for name in plain & self.__dict__.keys()}

    @cached_property
    def plain(self) -> tuple[tuple[str, ...], ...] | None:
        """Numeric columns to multiply for each column of the matrix, or None."""
        products = []
        for term in self.formula.terms:
            columns = tuple(map(self._plain_name, term))
            if any(c is None or self.frame[c].dtype.kind not in "iuf" for c in columns):
                return None
            products.append(columns)
        return tuple(products)  # type: ignore[arg-type]

    def _plain_name(self, code: str) -> str | None:
        """Return the column that a factor is, if it is one and nothing else."""
        if code in self.frame.columns:
            return code
        names, called = expression_names(code)
        simple = called == {"Q"} and code.startswith("Q(") and len(names) == 1
        return next(iter(names)) if simple and code.count("(") == 1 else None

    @cached_property
    def _whole(self) -> Any:
        """The description by patsy of the design, learnt on the whole frame."""
        import patsy

        environment = patsy.EvalEnvironment(
            [{**transforms(), **self.formula.functions}]
        )
        terms = [
            patsy.Term([patsy.EvalFactor(code) for code in term])
            for term in self.formula.terms
        ]
        try:
            (info,) = patsy.design_matrix_builders(
                [terms], lambda: iter([self.frame]), environment, _keep_missing()
            )
        except patsy.PatsyError as error:
            raise FormulaError(_patsy_message(error)) from None
        return info

    @cached_property
    def stateful(self) -> bool:
        """Whether a term learns from the values of the rows."""
        if self.plain is not None:
            return False
        states = (info.state for info in self._whole.factor_infos.values())
        return any(state["transforms"] for state in states)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the matrix's columns, terms in the order of the formula."""
        if self.plain is not None:
            return tuple(":".join(term) or "Intercept" for term in self.formula.terms)
        return tuple(self._whole.column_names[j] for j in self._order)

    @cached_property
    def _order(self) -> list[int]:
        """Columns as the formula orders them, as in R; patsy puts factors first."""
        slices = self._whole.term_slices
        by_codes = {
            tuple(factor.code for factor in term.factors): where
            for term, where in slices.items()
        }
        order: list[int] = []
        for term in self.formula.terms:
            where = by_codes[term]
            order.extend(range(where.start, where.stop))
        return order

    def learn(self, rows: NDArray[np.intp] | None = None) -> Any:
        """Return what the terms learn on ``rows``, for :meth:`matrix`."""
        if self.plain is not None or rows is None or not self.stateful:
            return None
        import patsy

        training = self.frame.iloc[rows]
        infos = {}
        for factor, info in self._whole.factor_infos.items():
            state: dict[str, Any] = {}
            environment = info.state["eval_env"]
            try:
                for which in range(factor.memorize_passes_needed(state, environment)):
                    factor.memorize_chunk(state, which, training)
                    factor.memorize_finish(state, which)
            except patsy.PatsyError as error:
                raise FormulaError(_patsy_message(error)) from None
            infos[factor] = patsy.design_info.FactorInfo(
                factor, info.type, state, info.num_columns, info.categories
            )
        return patsy.DesignInfo(
            self._whole.column_names, infos, self._whole.term_codings
        )

    def matrix(self, frame: pd.DataFrame, learnt: Any = None) -> Matrix:
        """Return the design matrix of ``frame``, which has the prepared columns.

        A missing value makes the cells of its terms NaN.
        """
        if self.plain is not None:
            return _multiply(self.plain, frame)
        import patsy

        filled, missing = _fill_levels(frame)
        try:
            built = patsy.build_design_matrices(
                [learnt or self._whole], filled, _keep_missing()
            )[0]
        except patsy.PatsyError as error:
            raise FormulaError(_patsy_message(error)) from None
        matrix = np.asarray(built, dtype=float)
        if matrix.shape[0] != len(frame):  # an intercept alone has one row
            matrix = np.repeat(matrix, len(frame), axis=0)
        matrix = matrix[:, self._order]
        for column, rows in missing.items():
            matrix[rows[:, None], self._columns_using(column)] = np.nan
        return np.ascontiguousarray(matrix)

    def _columns_using(self, column: str) -> list[int]:
        using: list[int] = []
        position = 0
        widths = self._whole.term_slices
        by_codes = {
            tuple(f.code for f in term.factors): s.stop - s.start
            for term, s in widths.items()
        }
        for term in self.formula.terms:
            width = by_codes[term]
            if any(column in expression_names(code)[0] for code in term):
                using.extend(range(position, position + width))
            position += width
        return using

    @cached_property
    def levels(self) -> Mapping[str, tuple[NDArray[np.intp], tuple[Any, ...]]]:
        """Codes of each row, and labels, of every categorical factor."""
        if self.plain is not None:
            return {}
        filled, _ = _fill_levels(self.frame)
        found = {}
        for factor, info in self._whole.factor_infos.items():
            if info.type == "categorical":
                value = _values(factor.eval(info.state, filled))
                codes = pd.Categorical(value, categories=list(info.categories)).codes
                found[factor.code] = (codes.astype(np.intp), tuple(info.categories))
        return found

    def check_rowwise(self) -> None:
        """Refuse a term that learns from the rows in a way patsy does not see.

        With everything learnt held fixed, a part of the rows must give the same
        values as the whole. ``x - x.mean()``, a rank or a quantile cut do not.
        """
        if self.plain is not None:
            return
        n = len(self.frame)
        filled, _ = _fill_levels(self.frame)
        parts = [np.arange(0, n, 2), np.arange(1, n, 2), np.arange(n - n // 3, n)]
        for factor, info in self._whole.factor_infos.items():
            if "(" not in factor.code:
                continue
            whole = _cells(factor.eval(info.state, filled))
            for rows in parts:
                if len(rows) and not _same_part(factor, info, filled, rows, whole):
                    raise FormulaError(
                        f"the term {factor.code!r} gives other values on a part of "
                        "the rows than on all of them: it learns from the data, and "
                        "held-out rows would leak into training. Use a term that is "
                        "learnt in each fold: center, scale, bs, cr, poly."
                    )


def _same_part(
    factor: Any, info: Any, frame: pd.DataFrame, rows: NDArray[np.intp], whole: Any
) -> bool:
    import patsy

    try:
        part = _cells(factor.eval(info.state, frame.iloc[rows]))
    except patsy.PatsyError:
        return False
    if np.shape(part) != np.shape(whole[rows]):
        return bool(np.shape(whole) == ())
    if part.dtype.kind == "f" and whole.dtype.kind == "f":
        return bool(np.allclose(part, whole[rows], rtol=1e-9, equal_nan=True))
    return bool((part == whole[rows]).all())


def _values(value: Any) -> Any:
    """Unwrap what patsy's ``C()`` returns."""
    return value.data if hasattr(value, "contrast") else value


def _cells(value: Any) -> Any:
    array = np.asarray(_values(value))
    return array.astype(float) if array.dtype.kind in "iufb" else array.astype(str)


def _multiply(products: tuple[tuple[str, ...], ...], frame: pd.DataFrame) -> Matrix:
    matrix = np.empty((len(frame), len(products)))
    for j, columns in enumerate(products):
        matrix[:, j] = 1.0
        for column in columns:
            matrix[:, j] *= frame[column].to_numpy(dtype=float)
    return matrix


def _fill_levels(
    frame: pd.DataFrame,
) -> tuple[pd.DataFrame, dict[str, NDArray[np.intp]]]:
    """Put the first level in place of missing ones, which patsy cannot code."""
    missing = {}
    for name in frame.columns:
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype) and column.isna().any():
            missing[name] = np.flatnonzero(column.isna().to_numpy())
            frame = frame.assign(**{name: column.fillna(column.cat.categories[0])})
    return frame, missing


def _keep_missing() -> Any:
    import patsy

    return patsy.NAAction(on_NA="raise", NA_types=[])


def _patsy_message(error: Exception) -> str:
    """Return what was wrong; patsy adds the place below it."""
    cause = error.__cause__
    if isinstance(cause, (FormulaError, DataError)):
        return str(cause)
    return f"a term of the formula failed: {error}"
