"""Columns of numbers or dates as floats, which quantiles can cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import DataError
from statcv.folds.strata.identifiers import written
from statcv.folds.strata.stratifier import columns_of, is_truth
from statcv.folds.strata.thresholds import EXACT
from statcv.formula import why_text


def as_floats(frame: pd.DataFrame, name: str) -> tuple[NDArray[np.float64], bool]:
    """Return a column as floats, and whether it holds dates."""
    column = columns_of(frame, [name])[name]
    if is_truth(column):
        raise DataError(
            f"column {name!r} holds truth values, which have no quantiles; "
            f"by_value({name!r}) keeps each of the two whole."
        )
    if is_numeric(column):
        _refuse_long(column, name)
        if isinstance(column.dtype, np.dtype) and column.dtype == object:
            column = column.astype(float)
        floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(floats + 0.0), False
    if _is_date(column):
        days, codes = written(column)
        numbers = np.array(days, dtype="datetime64[D]").astype(np.int64)
        return numbers.astype(float)[codes], True
    raise DataError(
        f"column {name!r} is {column.dtype}, and only numbers and dates have "
        f"quantiles; use by_hash({name!r}) or by_value({name!r})."
        + why_text(column, name)
    )


def _refuse_long(column: pd.Series[Any], name: str) -> None:
    """Refuse integers that floats cannot distinguish."""
    if pd.api.types.infer_dtype(column) != "integer" or not len(column):
        return
    if max(int(column.max()), -int(column.min())) > EXACT:
        raise DataError(
            f"column {name!r} holds integers above 2**53, which have no exact "
            "quantiles and look like identifiers; "
            f"by_hash({name!r}) or by_value({name!r}) keeps equal ones together."
        )


def is_numeric(column: pd.Series[Any]) -> bool:
    """Whether a column holds numbers, also as objects, but not truth values."""
    if column.dtype == object:
        numbers = ("integer", "floating", "mixed-integer-float", "decimal")
        return pd.api.types.infer_dtype(column) in numbers
    types = pd.api.types
    return (
        types.is_numeric_dtype(column)
        and not types.is_bool_dtype(column)
        and not types.is_complex_dtype(column)
    )


def _is_date(column: pd.Series[Any]) -> bool:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return False
    dates = ("date", "datetime", "datetime64")
    return column.dtype.kind == "M" or pd.api.types.infer_dtype(column) in dates
