"""Formula and frame make a Design: outcome, matrix, column names, rows kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from statcv import errors
from statcv.arguments import one_of
from statcv.formula import frame as frames
from statcv.formula.frame import Series
from statcv.formula.language import overflow
from statcv.formula.language.parse import Formula, is_offset, is_strata, parse_formula
from statcv.formula.language.quoting import quoted
from statcv.formula.language.terms import NumericColumns, Terms, is_finite
from statcv.formula.outcomes.outcome import Outcome, read_outcome
from statcv.formula.row_values import row_weights
from statcv.formula.text_numbers import (
    text_numbers,
    warn_of_codes,
    warn_of_missing_levels,
)
from statcv.numeric.arrays import Array, Bools, Floats, Numbers
from statcv.tables import Printed
from statcv.words import joined, listed

NA_ACTIONS = ("drop", "raise", "pass")
MANY_LEVELS = 100  # text with more levels than this is unlikely to be a factor


@dataclass(frozen=True, eq=False, repr=False)
class Design(Printed):
    """Outcome and predictors of the kept rows.

    Attributes
    ----------
    formula : Formula
    outcome : Outcome
    terms : Terms
        Predictors, which give a matrix for any training and held-out rows.
    kept : numpy.ndarray
        Positions of the kept rows in the data.
    labels : pandas.Index
        Their labels.
    n_given : int
        Number of rows of the data.
    missing : dict
        For each column, how many of the dropped rows lack it.
    absent : dict
        For each column that kept rows lack, which of them do.
    weightless : int
        Number of complete rows that were dropped because their weight is 0.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> res.design.n_given, res.design.outcome.name, len(res.design.kept)
    (32, 'GRADE', 32)
    """

    formula: Formula
    outcome: Outcome
    terms: Terms
    kept: Numbers
    labels: pd.Index[Any]
    n_given: int
    missing: Mapping[str, int]
    absent: Mapping[str, Bools] = field(default_factory=dict)
    weightless: int = 0

    @property
    def n(self) -> int:
        """The number of kept rows."""
        return len(self.kept)

    @property
    def n_incomplete(self) -> int:
        """The number of rows that were dropped because they are incomplete."""
        return self.n_given - self.n - self.weightless

    @property
    def n_absent(self) -> int:
        """The number of kept rows that lack a covariate."""
        lacking = list(self.absent.values())
        return int(np.any(lacking, axis=0).sum()) if lacking else 0

    @property
    def lacking(self) -> str:
        """The columns that kept rows lack, with the number of these."""
        return counted({name: int(one.sum()) for name, one in self.absent.items()})

    @property
    def y(self) -> Array:
        """The coded outcome, shape (n,)."""
        return self.outcome.y

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the matrix."""
        return self.terms.names

    @property
    def intercept(self) -> int | None:
        """Position of the intercept among the columns, or None."""
        return self.names.index("Intercept") if self.formula.intercept else None

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Positions of the columns whose coefficient is 1, as of ``offset(x)``."""
        return tuple(j for j, name in enumerate(self.names) if is_offset(name))

    @property
    def beside_offsets(self) -> set[str]:
        """Columns of the data that terms other than offsets use."""
        return _beside_offsets(self.terms)

    @cached_property
    def strata(self) -> str:
        """The term ``strata(x)`` of the formula, or an empty text."""
        codes = (code for term in self.formula.terms for code in term)
        return next(filter(is_strata, codes), "")

    @cached_property
    def matrix(self) -> Floats:
        """The matrix of all kept rows, with stateful terms learnt on all of them."""
        return self.terms.whole_matrix()

    @cached_property
    def squares(self) -> Floats:
        """The sum of squares of each column of the matrix, shape (p,)."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(np.einsum("ij,ij->j", self.matrix, self.matrix))

    @cached_property
    def is_finite(self) -> bool:
        """Whether no cell of the matrix is missing or infinite."""
        return bool(np.isfinite(self.squares).all()) or is_finite(self.matrix)

    def fold(self, training: Numbers, others: Numbers) -> tuple[Floats, Floats]:
        """Return the matrices of training and other rows, learnt on the former."""
        if not self.terms.stateful:
            return self.matrix[training], self.matrix[others]
        learnt, frame = self.terms.learn(training), self.terms.frame
        return (
            self.terms.matrix(frame.iloc[training], learnt),
            self.terms.matrix(frame.iloc[others], learnt),
        )

    def taken(self, rows: Numbers) -> Design:
        """Return a design that gives each outcome the predictors of another row.

        Parameters
        ----------
        rows : numpy.ndarray of int, shape (n,)
            For each outcome, the position of the row that supplies the predictors.
        """
        absent = {name: lacks[rows] for name, lacks in self.absent.items()}
        terms = _moved(self.terms, rows, offsets=False)
        return replace(self, terms=terms, absent=absent)

    def with_outcomes(self, rows: Numbers) -> Design:
        """Return a design that gives each row's predictors the outcome of another row.

        An offset, such as the exposure of a count, stays with the outcome.
        """
        made, outcome = self, replace(self.outcome, y=self.y[rows])
        if self.offsets:
            made = replace(self, terms=_moved(self.terms, rows, offsets=True))
        return replace(made, outcome=outcome)

    def new_matrix(self, data: object) -> tuple[Floats, pd.Index[Any]]:
        """Return the matrix of new rows, as :meth:`matrix` codes them.

        Rows with a missing predictor are NaN, as are those where a term is infinite.
        """
        new = self.new_columns(data)
        made = self.terms.matrix(new)
        infinite = np.isinf(made)  # as of log(0)
        infinite[:, [*self.offsets]] = False  # an exposure of 0 has a mean of 0
        return np.where(infinite, np.nan, made), new.index

    def extended(self, data: object, complete: Bools) -> Design:
        """Return a design with the complete ones of new rows after its own.

        Their outcome is not known, and has any value: they are only predicted.
        """
        new, columns = self.new_columns(data)[complete], {}
        for name, column in self.terms.columns.items():
            added = new[name]
            if column.dtype.kind not in "iuf":  # numbers may be of another type
                added = added.astype(column.dtype)
            columns[name] = pd.concat([column, added], ignore_index=True)
        index = pd.RangeIndex(self.n + len(new))
        outcome = replace(self.outcome, y=np.resize(self.y, len(index)))
        terms = Terms(self.formula, columns, index)
        made = replace(self, outcome=outcome, terms=terms, labels=index)
        absent = {
            one: np.pad(lacks, (0, len(new))) for one, lacks in self.absent.items()
        }
        return replace(made, kept=index.to_numpy(), absent=absent)

    def new_columns(self, data: object) -> pd.DataFrame:
        """Return the columns of new rows that the formula uses, as they were learnt."""
        frame = frames.as_frame(data)
        for column in self.formula.columns:
            if column not in frame.columns:
                raise errors.ColumnError(
                    f"the new data lack the column {column!r}."
                    + errors.suggestion(column, frame.columns)
                )
        columns = {
            name: frames.as_learnt(
                frames.plain_column(frame[name], name), self.terms.columns[name], name
            )
            for name in self.formula.columns
        }
        return pd.DataFrame(columns, index=frame.index)


def _beside_offsets(terms: Terms) -> set[str]:
    of_terms = {name: terms.columns_of(j) for j, name in enumerate(terms.names)}
    return {c for n, used in of_terms.items() if not is_offset(n) for c in used}


def _moved(terms: Terms, rows: Numbers, offsets: bool) -> Terms:
    """Take other rows of the columns of offsets alone, or of all other columns."""
    others = _beside_offsets(terms)
    columns = {
        name: column.iloc[rows].set_axis(terms.index)
        if (name in others) != offsets
        else column
        for name, column in terms.columns.items()
    }
    return Terms(terms.formula, columns, terms.index)


def make_design(
    formula: object,
    data: object,
    *,
    scope: Mapping[str, Any],
    positive: object = None,
    horizon: object = None,
    na_action: str | None = None,
    incomplete: str = "drop",
    not_in_dot: Collection[str] = (),
    distribution: str = "",
    ordered: bool = False,
    weights: Any = None,
) -> Design:
    """Join a formula and a frame.

    Parameters
    ----------
    formula : str
        Formula in patsy's language, with ``.`` for all other columns.
    data : data frame
        One row per record.
    scope : dict
        Names that the formula may call, beyond patsy's own functions.
    positive : optional
        Level of the outcome that counts as positive.
    horizon : float or sequence of float, optional
        Times by which the risk of an event is predicted.
    na_action : {"drop", "raise", "pass"}, optional
        Treatment of rows with missing values: R's ``na.omit``, ``na.fail``,
        ``na.pass``. A row whose outcome is missing is never kept.
    incomplete : {"drop", "keep", "impute"}
        That treatment by default: ``"keep"`` passes rows on, unless a term learns from
        a column with missing values; ``"impute"`` gives columns provisional values.
    not_in_dot : collection of str
        Columns that ``.`` does not stand for.
    distribution : str
        Distribution of the outcome, if it is a count.
    ordered : bool
        Whether the model needs an outcome of ordered classes.
    weights : str or array-like, optional
        Weights of the records. A row whose weight is 0 is not kept, as it is not one of
        the observations of R's ``glm``.
    """
    arguments, action = locals(), incomplete
    if na_action is not None:
        action = one_of(na_action, NA_ACTIONS, "na_action")
    frame = frames.as_frame(data)
    parsed = parse_formula(formula, frame.columns.tolist(), scope, not_in_dot)
    given = {name: frame[name] for name in parsed.outcome_columns}
    numbers = NumericColumns.of(frame, parsed.columns)
    covariates = {} if numbers else {name: frame[name] for name in parsed.columns}
    kept, missing = _complete_rows(given, covariates, len(frame), parsed, action)
    n_complete = len(kept)
    if weights is not None:
        kept = kept[row_weights(weights, frame, kept) > 0]
    index = frame.index
    if len(kept) < len(frame):
        index = index[kept]
        given = {name: column.iloc[kept] for name, column in given.items()}
        covariates = {name: column.iloc[kept] for name, column in covariates.items()}
        numbers = numbers and numbers.chosen(kept)
    plain = {name: frames.plain_column(one, name) for name, one in covariates.items()}
    lacking = {name: frames.is_missing(column) for name, column in plain.items()}
    absent = {name: lacks for name, lacks in lacking.items() if lacks.any()}
    if action == "impute":
        plain |= {name: _provisional(plain[name], name) for name in absent}
    terms = Terms(parsed, numbers or plain, index)
    refuse_text_numbers(parsed, frame, () if terms.is_plain else parsed.terms)
    numbered = not (parsed.survival or distribution or ordered)
    own = parsed.factors[parsed.outcome].column if numbered else None
    warn_of_codes({**given, **covariates}, own)
    outcome = read_outcome(
        parsed, given, index, positive, horizon, distribution, ordered
    )
    if not terms.is_plain:  # otherwise the matrix shows it
        refuse_identifiers(parsed, terms.columns)
        overflow.refuse_infinite(terms.columns)
        overflow.refuse_learning_overflow(terms)
    if absent and action in ("pass", "keep") and (name := learns_from(terms, absent)):
        if action == "pass":
            raise errors.FormulaError(
                f"column {name!r} has missing values, and a term that learns from it "
                "(center, scale, bs, …) cannot be learnt with na_action='pass': use "
                "impute= or drop the rows."
            )
        return make_design(**{**arguments, "na_action": "drop"})
    refuse_names_twice(terms)
    terms.check_rowwise()
    design = Design(
        formula=parsed,
        outcome=outcome,
        terms=terms,
        kept=kept,
        labels=index,
        n_given=len(frame),
        missing=missing,
        absent=absent,
        weightless=n_complete - len(kept),
    )
    overflow.refuse_not_finite(design)
    return design


def _complete_rows(
    outcome: Series, columns: Series, n: int, formula: Formula, na_action: str
) -> tuple[Numbers, dict[str, int]]:
    incomplete = np.zeros(n, dtype=bool)
    missing = _mark_missing(outcome, incomplete)
    if incomplete.all():
        raise errors.OutcomeError(
            f"all values of the outcome {formula.outcome!r} are missing."
        )
    if na_action in ("drop", "raise"):
        missing |= _mark_missing(columns, incomplete)
    if na_action == "raise" and missing:
        raise errors.DataError(
            f"{int(incomplete.sum())} of {n} rows have missing values "
            f"({counted(missing)}) and na_action='raise' refuses them."
        )
    if incomplete.all():
        if empty := [name for name, count in missing.items() if count == n]:
            raise errors.DataError(
                f"column {empty[0]!r} has no value at all; leave it out of the formula "
                f"(- {quoted(empty[0])})."
            )
        raise errors.DataError(
            f"no row is complete: every one of {n} lacks something "
            f"({counted(missing)}); na_action='pass' passes missing covariates on to "
            "a pipeline that imputes."
        )
    return np.flatnonzero(~incomplete), missing


def _provisional(column: pd.Series[Any], name: str) -> pd.Series[Any]:
    """Return a column with its most frequent level, or its median, where it lacks one.

    The layout of the matrix is found with it; all fits use imputed values.
    """
    if column.isna().all():
        raise errors.DataError(
            f"column {name!r} has no value at all, so that it cannot be imputed; leave "
            "it out of the formula."
        )
    number = frames.is_number(column.dtype)
    return column.fillna(column.median() if number else column.mode().iloc[0])


def _mark_missing(columns: Series, incomplete: Bools) -> dict[str, int]:
    """Mark, in place, rows that lack one of the columns; count them by column."""
    missing = {}
    for name, column in columns.items():
        absent = frames.is_missing(column)
        if count := int(np.count_nonzero(absent)):
            missing[name] = count
            incomplete |= absent
    return missing


def counted(missing: Mapping[str, int]) -> str:
    """Return ``bmi 12, age 9``: the largest counts first, at most five."""
    ranked = sorted(missing.items(), key=lambda item: -item[1])
    return listed([f"{name} {n}" for name, n in ranked], most=5, noun=" columns")


# ---- what columns of the data cannot be used as they are ----


def refuse_text_numbers(
    formula: Formula, frame: pd.DataFrame, terms: Iterable[Iterable[str]]
) -> None:
    """Check that no plain column is text only for how its numbers are written.

    A column of few different integers and a code may be a factor, and is named.
    """
    outcome = formula.survival or (formula.outcome,)
    factors = [*outcome, *(code for term in terms for code in term)]
    for name in dict.fromkeys(formula.factors[code].column for code in factors):
        if name is None:
            continue
        found = text_numbers(frame[name], name)
        _warn_of_levels(frame[name], name, among_text=found is None)
        if found is None:
            continue
        sentence, sure = found
        if sure:
            raise errors.DataError(sentence)
        errors.warn(f"{sentence} Here it is a factor.", errors.MissingDataWarning)


def _warn_of_levels(column: pd.Series[Any], name: str, among_text: bool) -> None:
    """Name levels that differ only in case or in spaces, or seem to mean missing."""
    if frames.is_number(column.dtype):
        return
    try:
        counts = column.value_counts()
    except TypeError:  # lists and the like, which are refused elsewhere
        return
    counts = counts[counts > 0].iloc[: MANY_LEVELS + 1]
    if len(counts) > MANY_LEVELS:
        return
    if among_text:
        warn_of_missing_levels(counts, name)
    alike: dict[str, list[str]] = {}
    for level, count in counts.items():
        if isinstance(level, str):
            same = alike.setdefault(" ".join(level.casefold().split()), [])
            same.append(f"{level!r} ({count})")
    twice = [joined(levels) for levels in alike.values() if len(levels) > 1]
    if twice:
        errors.warn(
            f"levels of {name!r} differ only in case or spaces: {listed(twice)}. If "
            f"they mean the same, data[{name!r}].str.strip().str.lower() makes them "
            "one level.",
            errors.StatcvWarning,
        )


def refuse_identifiers(formula: Formula, columns: Series) -> None:
    """Check that no term is a date or an identifier, unless inside a function."""
    plain = {formula.factors[code].column for term in formula.terms for code in term}
    for name in (str(column) for column in plain if column is not None):
        column = columns[name]
        if frames.is_number(column.dtype):
            continue
        if pd.api.types.is_datetime64_any_dtype(column.dtype):
            raise errors.FormulaError(
                f"{name!r} is a date; as a predictor it would be one level per day. "
                f"Leave it out (- {quoted(name)}) or turn it into a number first."
            )
        if isinstance(column.dtype, pd.CategoricalDtype):
            levels = len(column.cat.categories)
            if levels == 0:
                raise errors.DataError(f"column {name!r} has no value at all.")
            if levels > MANY_LEVELS or levels > max(10, len(column) // 2):
                raise errors.FormulaError(
                    f"{name!r} is text with {levels} levels in {len(column)} rows, "
                    "more like an identifier than a factor; leave it out "
                    f"(- {quoted(name)})."
                )


def refuse_names_twice(terms: Terms) -> None:
    """Check that no two columns of the matrix have one name."""
    if len(set(terms.names)) < len(terms.names):
        name, _ = Counter(terms.names).most_common(1)[0]
        raise errors.FormulaError(
            f"two columns of the matrix are called {name!r}, so their coefficients "
            "could not be distinguished; rename that column of the data."
        )


def learns_from(terms: Terms, absent: Collection[str]) -> str | None:
    """Return the first of some columns from which a term learns; None if none does."""
    try:
        learning: Collection[str] = terms.learning_columns
    except errors.FormulaError:  # as of a spline, whose knots cannot be placed
        codes = {code for term in terms.formula.terms for code in term}
        factors = [terms.formula.factors[code] for code in codes]
        learning = {c for one in factors if one.column is None for c in one.columns}
    return next((name for name in absent if name in learning), None)
