"""What columns of the data cannot be used as they are, with what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pandas as pd

from statcv.errors import DataError, FormulaError, MissingDataWarning, warn
from statcv.formula.frame import is_number
from statcv.formula.language.parse import Formula
from statcv.formula.language.quoting import quoted
from statcv.formula.language.terms import Terms
from statcv.formula.text_numbers import text_numbers

Series = Mapping[str, "pd.Series[Any]"]
MANY_LEVELS = 100  # text with more levels than this is unlikely to be a factor


def refuse_text_numbers(
    formula: Formula, frame: pd.DataFrame, terms: Iterable[Iterable[str]]
) -> None:
    """Check that no plain column is text only for how its numbers are written.

    A column of few different integers and a code may be a factor, and is named.
    """
    outcome = formula.survival or (formula.outcome,)
    factors = [*outcome, *(code for term in terms for code in term)]
    for name in dict.fromkeys(formula.factors[code].column for code in factors):
        found = None if name is None else text_numbers(frame[name], name)
        if found is None:
            continue
        sentence, sure = found
        if sure:
            raise DataError(sentence)
        warn(f"{sentence} Here it is a factor.", MissingDataWarning)


def refuse_identifiers(formula: Formula, columns: Series) -> None:
    """Check that no term is a date or an identifier, unless inside a function."""
    plain = {formula.factors[code].column for term in formula.terms for code in term}
    for name in (str(column) for column in plain if column is not None):
        column = columns[name]
        if is_number(column.dtype):
            continue
        if pd.api.types.is_datetime64_any_dtype(column.dtype):
            raise FormulaError(
                f"{name!r} is a date; as a predictor it would be one level per day. "
                f"Leave it out (- {quoted(name)}) or turn it into a number first."
            )
        if isinstance(column.dtype, pd.CategoricalDtype):
            levels = len(column.cat.categories)
            if levels == 0:
                raise DataError(f"column {name!r} has no value at all.")
            if levels > MANY_LEVELS or levels > max(10, len(column) // 2):
                raise FormulaError(
                    f"{name!r} is text with {levels} levels in {len(column)} rows, "
                    "more like an identifier than a factor; leave it out "
                    f"(- {quoted(name)})."
                )


def refuse_names_twice(terms: Terms) -> None:
    """Check that no two columns of the matrix have one name."""
    if len(set(terms.names)) < len(terms.names):
        name, _ = Counter(terms.names).most_common(1)[0]
        raise FormulaError(
            f"two columns of the matrix are called {name!r}, so their coefficients "
            "could not be distinguished; rename that column of the data."
        )


def learns_from(terms: Terms, absent: Collection[str]) -> str | None:
    """Return the first of some columns from which a term learns; None if none does."""
    try:
        learning: Collection[str] = terms.learning_columns
    except FormulaError:  # as of a spline, whose knots cannot be placed
        codes = {code for term in terms.formula.terms for code in term}
        factors = [terms.formula.factors[code] for code in codes]
        learning = {c for one in factors if one.column is None for c in one.columns}
    return next((name for name in absent if name in learning), None)
