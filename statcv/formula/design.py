"""Formula and frame → Design: outcome, matrix, column names, kept rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import (
    ArgumentError,
    ColumnError,
    DataError,
    FormulaError,
    OutcomeError,
    suggestion,
)
from statcv.formula.frames import as_frame, plain_column
from statcv.formula.outcome import Outcome, make_outcome
from statcv.formula.parse import Formula, parse
from statcv.formula.scope import transforms
from statcv.formula.terms import Matrix, Terms

NA_ACTIONS = ("drop", "raise", "pass")
MANY_LEVELS = 100  # text with more levels than this is hardly a factor


@dataclass(frozen=True, eq=False)
class Design:
    """Outcome and predictors of the kept rows.

    Attributes
    ----------
    formula : Formula
    outcome : Outcome
    terms : Terms
        The predictors, which give a matrix for any training and held-out rows.
    kept : numpy.ndarray
        Positions of the kept rows in the data.
    labels : pandas.Index
        Their labels.
    n_given : int
        Rows of the data.
    missing : dict
        How many of the dropped rows lack each column.
    """

    formula: Formula
    outcome: Outcome
    terms: Terms
    kept: NDArray[np.intp]
    labels: pd.Index[Any]
    n_given: int
    missing: Mapping[str, int]

    @property
    def n(self) -> int:
        """The number of kept rows."""
        return len(self.kept)

    @property
    def y(self) -> NDArray[Any]:
        """The coded outcome, shape (n,)."""
        return self.outcome.y

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the matrix."""
        return self.terms.names

    @property
    def intercept(self) -> int | None:
        """Position of the intercept among the columns, or None."""
        return self.names.index("Intercept") if () in self.formula.terms else None

    @cached_property
    def matrix(self) -> Matrix:
        """The matrix of all kept rows, stateful terms learnt on all of them."""
        return self.terms.matrix(self.terms.frame)

    def fold(
        self, training: NDArray[np.intp], others: NDArray[np.intp]
    ) -> tuple[Matrix, Matrix]:
        """Return the matrices of training and other rows, learnt on the former."""
        if not self.terms.stateful:
            return self.matrix[training], self.matrix[others]
        learnt, frame = self.terms.learn(training), self.terms.frame
        return (
            self.terms.matrix(frame.iloc[training], learnt),
            self.terms.matrix(frame.iloc[others], learnt),
        )

    def absent_levels(self, training: NDArray[np.intp]) -> list[tuple[str, Any]]:
        """Return the (factor, level) pairs that no training row has."""
        absent = []
        for factor, (codes, labels) in self.terms.levels.items():
            counts = np.bincount(codes[training], minlength=len(labels))
            absent += [(factor, labels[j]) for j in np.flatnonzero(counts == 0)]
        return absent

    def new_matrix(self, data: object) -> tuple[Matrix, pd.Index[Any]]:
        """Return the matrix of new rows, as :meth:`matrix` codes them.

        Rows with a missing predictor are NaN.
        """
        frame = as_frame(data)
        for column in self.formula.columns:
            if column not in frame.columns:
                raise ColumnError(
                    f"the new data lack the column {column!r}."
                    + suggestion(column, frame.columns)
                )
        columns = {
            name: _match_levels(
                plain_column(frame[name], name), self.terms.frame[name], name
            )
            for name in self.formula.columns
        }
        new = pd.DataFrame(columns, index=frame.index)
        return self.terms.matrix(new), frame.index


def make_design(
    formula: object,
    data: object,
    *,
    scope: Mapping[str, Any],
    positive: object = None,
    na_action: str = "drop",
    not_in_dot: Collection[str] = (),
) -> Design:
    """Join a formula and a frame.

    Parameters
    ----------
    formula : str
        In patsy's language, with ``.`` for all other columns.
    data : data frame
    scope : dict
        Names that the formula may call, beyond patsy's own functions.
    positive : optional
        The outcome's level that counts as positive.
    na_action : {"drop", "raise", "pass"}
        What becomes of rows with missing values: R's ``na.omit``, ``na.fail``,
        ``na.pass``. A row whose outcome is missing is never kept.
    not_in_dot : collection of str
        Columns that ``.`` does not stand for.
    """
    if na_action not in NA_ACTIONS:
        raise ArgumentError(
            f"na_action must be one of {', '.join(NA_ACTIONS)}, not {na_action!r}."
            + suggestion(na_action, NA_ACTIONS)
        )
    frame = as_frame(data)
    parsed = parse(formula, list(frame.columns), scope, not_in_dot)
    kept, missing = _complete_rows(frame, parsed, na_action)
    rows = frame.iloc[kept]
    outcome = _evaluate_outcome(parsed, rows, positive)
    columns = {name: plain_column(rows[name], name) for name in parsed.columns}
    prepared = pd.DataFrame(columns, index=rows.index)
    _refuse_identifiers(prepared)
    terms = Terms(parsed, prepared)
    _refuse_infinite(prepared)
    terms.check_rowwise()
    design = Design(
        formula=parsed,
        outcome=outcome,
        terms=terms,
        kept=kept,
        labels=rows.index,
        n_given=len(frame),
        missing=missing,
    )
    _check_matrix(design, na_action)
    return design


def _complete_rows(
    frame: pd.DataFrame, formula: Formula, na_action: str
) -> tuple[NDArray[np.intp], dict[str, int]]:
    no_outcome = frame[list(formula.outcome_columns)].isna()
    if no_outcome.any(axis=1).all():
        raise OutcomeError(
            f"all values of the outcome {formula.outcome!r} are missing."
        )
    absent = no_outcome
    if na_action != "pass":
        absent = frame[[*formula.outcome_columns, *formula.columns]].isna()
    incomplete = absent.any(axis=1).to_numpy()
    missing = {str(name): int(count) for name, count in absent.sum().items() if count}
    if na_action == "raise" and missing:
        raise DataError(
            f"{int(incomplete.sum())} of {len(frame)} rows have missing values "
            f"({counted(missing)}) and na_action='raise' refuses them."
        )
    if incomplete.all():
        raise DataError(
            f"no row is complete: every one of {len(frame)} lacks something "
            f"({counted(missing)}); na_action='pass' hands missing covariates on to "
            "a pipeline that imputes."
        )
    return np.flatnonzero(~incomplete), missing


def counted(missing: Mapping[str, int]) -> str:
    """Return ``bmi 12, age 9``, most first, at most five."""
    ranked = sorted(missing.items(), key=lambda item: -item[1])
    more = f" and {len(ranked) - 5} more columns" if len(ranked) > 5 else ""
    return ", ".join(f"{name} {count}" for name, count in ranked[:5]) + more


def _evaluate_outcome(
    formula: Formula, rows: pd.DataFrame, positive: object
) -> Outcome:
    import patsy

    columns = {name: plain_column(rows[name], name) for name in formula.outcome_columns}
    name = formula.outcome
    if name in columns:
        return make_outcome(columns[name], name, positive)
    factor = patsy.EvalFactor(name)
    state: dict[str, Any] = {}
    frame = pd.DataFrame(columns, index=rows.index)
    environment = patsy.EvalEnvironment([{**transforms(), **formula.functions}])
    if factor.memorize_passes_needed(state, environment):
        raise FormulaError(
            f"the outcome {name!r} learns from all rows, held-out ones too; "
            "transform it row by row, or beforehand."
        )
    try:
        value = factor.eval(state, frame)
        half = factor.eval(state, frame.iloc[::2])
    except patsy.PatsyError as error:
        raise FormulaError(f"the outcome {name!r} failed: {error}") from None
    classes = hasattr(value, "contrast")
    if classes:
        value, half = value.data, half.data
    if len(value) != len(rows) or not np.array_equal(
        np.asarray(value)[::2].astype(str), np.asarray(half).astype(str)
    ):
        raise FormulaError(
            f"the outcome {name!r} gives other values on a part of the rows than on "
            "all of them, so held-out rows would leak; transform it row by row."
        )
    series = plain_column(pd.Series(value, index=rows.index), name)
    if series.isna().any():
        raise DataError(
            f"the outcome {name!r} is not a number in {int(series.isna().sum())} rows."
        )
    return make_outcome(series, name, positive, classes)


def _refuse_identifiers(frame: pd.DataFrame) -> None:
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_datetime64_any_dtype(column.dtype):
            raise FormulaError(
                f"{name!r} is a date; as a predictor it would be one level a day. "
                f"Leave it out (- {name}) or turn it into a number first."
            )
        if isinstance(column.dtype, pd.CategoricalDtype):
            levels = len(column.cat.categories)
            if levels > MANY_LEVELS or levels > max(10, len(column) // 2):
                raise FormulaError(
                    f"{name!r} is text with {levels} levels in {len(column)} rows, "
                    f"more like an identifier than a factor; leave it out (- {name})."
                )


def _refuse_infinite(frame: pd.DataFrame) -> None:
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind == "f":
            infinite = np.isinf(column.to_numpy())
            if infinite.any():
                raise DataError(
                    f"column {name!r} has {int(infinite.sum())} infinite values "
                    f"(first in row {frame.index[infinite][0]!r})."
                )


def _check_matrix(design: Design, na_action: str) -> None:
    if na_action == "pass" and design.terms.stateful:
        used = design.terms.frame
        if used.isna().any(axis=None):
            raise FormulaError(
                "na_action='pass' cannot be combined with a term that learns from "
                "the data (center, scale, bs, …): impute first, or drop the rows."
            )
    finite = np.isfinite(design.matrix)
    if na_action == "pass":
        finite |= np.isnan(design.matrix)
    bad = ~finite
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise DataError(
            f"the term {design.names[column]!r} is {design.matrix[row, column]:g} in "
            f"{int(bad[:, column].sum())} rows (first: {design.labels[row]!r})."
        )


def _match_levels(
    column: pd.Series[Any], learnt: pd.Series[Any], name: str
) -> pd.Series[Any]:
    if not isinstance(learnt.dtype, pd.CategoricalDtype):
        return column
    known = learnt.cat.categories
    unknown = [v for v in column.dropna().unique() if v not in known]
    if unknown:
        raise DataError(
            f"column {name!r} has the level {unknown[0]!r}, which the data of the fit "
            f"did not have ({', '.join(map(str, known[:8]))})."
        )
    return pd.Series(
        pd.Categorical(column, categories=known), index=column.index, name=name
    )
