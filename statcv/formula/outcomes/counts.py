"""Outcomes that are counts, their exposures, and other offsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import (
    ColumnError,
    DataError,
    OutcomeError,
    StatcvWarning,
    suggestion,
    warn,
)
from statcv.formula.frame import is_number, plain_column, shown_label
from statcv.formula.language.overflow import refuse_infinite, refuse_overflow
from statcv.formula.language.parse import is_offset
from statcv.formula.language.quoting import quoted
from statcv.formula.language.terms import Terms
from statcv.words import plural


def read_counts(
    values: pd.Series[Any], name: str, positive: object = None
) -> NDArray[np.float64]:
    """Check the values of an outcome that is a count, and return them.

    Raises
    ------
    OutcomeError
        If they are not numbers, or negative, or all 0, or if a class is named.
    DataError
        If they are infinite, or too large.
    """
    if positive is not None:
        raise OutcomeError(f"positive={positive!r} needs two classes, not counts.")
    if not is_number(values.dtype):
        raise OutcomeError(
            f"the outcome {name!r} is not a number; a regression of counts needs one."
        )
    numbers = values.to_numpy().astype(float)
    refuse_infinite({name: values})
    refuse_overflow(numbers, f"the outcome {name!r}")
    if below := int((numbers < 0).sum()):
        raise OutcomeError(
            f"the outcome {name!r} is negative in {plural(below, 'row')}, such as "
            f"{numbers.min():g}; counts are 0 or more."
        )
    if not numbers.any():
        raise OutcomeError(
            f"the outcome {name!r} is 0 in all rows: without an event there is no rate."
        )
    parts = int((numbers != np.round(numbers)).sum())
    if parts:
        warn(
            f"the outcome {name!r} is not an integer in {plural(parts, 'row')}; if it "
            "is a rate, take the count as the outcome and give its exposure=.",
            StatcvWarning,
        )
    return numbers


def with_exposure(formula: object, column: str, frame: pd.DataFrame) -> str:
    """Return a formula with the logarithm of a column of exposures as an offset.

    Raises
    ------
    ColumnError, DataError
        If there is no such column, or an exposure is not a number above 0.
    """
    if column not in frame.columns:
        raise ColumnError(
            f"exposure={column!r} is not a column of the data."
            + suggestion(column, frame.columns)
        )
    values = plain_column(frame[column], column)
    if not is_number(values.dtype):
        raise DataError(f"the exposure {column!r} is not a number.")
    none = (values <= 0).to_numpy()
    if none.any():
        raise DataError(
            f"the exposure {column!r} is 0 or less in {plural(int(none.sum()), 'row')} "
            f"(first: {shown_label(frame.index[none][0])}), where nothing can be "
            "counted; leave these rows out."
        )
    return f"{formula} + offset(log({quoted(column)}))"


def moved(terms: Terms, rows: NDArray[np.intp], offsets: bool) -> Terms:
    """Take other rows of the columns of offsets alone, or of all other columns."""
    of_terms = {name: terms.columns_of(j) for j, name in enumerate(terms.names)}
    others = {c for n, used in of_terms.items() if not is_offset(n) for c in used}
    columns = {
        name: column.iloc[rows].set_axis(terms.index)
        if (name in others) != offsets
        else column
        for name, column in terms.columns.items()
    }
    return Terms(terms.formula, columns, terms.index)
