"""Arguments with one value per row, such as weights and folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import DataError
from statcv.formula.frame import check_column
from statcv.formula.text_numbers import why_text
from statcv.numeric.arrays import Floats, Numbers
from statcv.words import plural


def row_values(values: Any, frame: pd.DataFrame, name: str) -> pd.Series[Any]:
    """Return a value for each row of the data.

    Parameters
    ----------
    values : str or array-like
        Name of a column; series, matched by its labels; or array in the order of the
        rows.
    frame : pandas.DataFrame
        The data.
    name : str
        Name of the argument, for messages.

    Raises
    ------
    ColumnError
        If there is no column of that name.
    DataError
        If values do not fit the rows.
    """
    if isinstance(values, str):
        check_column(frame, values, name)
        return frame[values]
    if isinstance(values, pd.Series):
        if not values.index.is_unique or not values.index.isin(frame.index).all():
            raise DataError(
                f"{name}= is a series whose labels are not those of the data."
            )
        return values.reindex(frame.index).rename(name)
    array = np.asarray(values)
    if array.ndim != 1 or len(array) != len(frame):
        raise DataError(
            f"{name}= must have one value for each of the {len(frame)} rows of the "
            f"data, or be the name of one column, but has the shape {array.shape}."
        )
    return pd.Series(array, index=frame.index, name=name)


def row_weights(values: Any, frame: pd.DataFrame, kept: Numbers) -> Floats:
    """Return the weights of the kept rows.

    Raises
    ------
    DataError
        If weights are missing, negative, infinite, or all zero.
    """
    column = row_values(values, frame, "weights").iloc[kept]
    if not pd.api.types.is_numeric_dtype(column.dtype):
        why = why_text(column, str(column.name))
        raise DataError(f"the weights must be numbers, not {column.dtype}.{why}")
    weights = column.to_numpy(dtype=float, na_value=np.nan)
    if not np.isfinite(weights).all():
        count = int((~np.isfinite(weights)).sum())
        raise DataError(
            f"the weights are missing or infinite in {plural(count, 'row')}; leave "
            "these rows out, or give them a weight."
        )
    if (weights < 0).any() or not (weights > 0).any():
        raise DataError("the weights must be 0 or more, and some above 0.")
    return np.asarray(weights)
