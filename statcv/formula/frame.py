"""Conversion of any data frame to a pandas data frame of plain NumPy columns."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from datetime import date
from os import PathLike
from typing import Any, TypeGuard

import numpy as np
import pandas as pd

from statcv import errors
from statcv.numeric.arrays import Bools

Series = Mapping[str, "pd.Series[Any]"]  # columns by name


def as_frame(data: object) -> pd.DataFrame:
    """Return ``data`` as a pandas frame with unique row labels and text names.

    Parameters
    ----------
    data : data frame
        pandas data frame, or one that narwhals supports: polars, pyarrow, DuckDB, …

    Returns
    -------
    pandas.DataFrame
        The same object if it is a pandas data frame; it is never changed.

    Raises
    ------
    FrameError
        If ``data`` is not a data frame.
    DataError
        If it is empty, or a row label or a column name occurs twice.
    """
    frame = data if isinstance(data, pd.DataFrame) else _through_narwhals(data)
    if len(frame) == 0:
        raise errors.DataError("the data frame is empty: it has no rows.")
    if frame.shape[1] == 0:
        raise errors.DataError("the data frame is empty: it has no columns.")
    # a list of the names is read many times quicker than the index itself
    names = frame.columns.tolist()
    if odd := [name for name in names if not isinstance(name, str)]:
        several = frame.columns.nlevels > 1  # as those of a sheet with merged headers
        remedy = "map('_'.join)" if several else "astype(str)"
        raise errors.DataError(
            f"column names must be text, but {odd[0]!r} is not; "
            f"rename the columns, for instance data.columns = data.columns.{remedy}."
        )
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()]
        raise errors.DataError(
            f"column {twice[0]!r} occurs more than once in the data."
        )
    if not frame.index.is_unique:
        labels = frame.index[frame.index.duplicated()]
        raise errors.DataError(
            f"{len(labels)} row labels of the data occur more than once (first: "
            f"{shown_label(labels[0])}), so predictions could not be distinguished; "
            "use data.reset_index(drop=True)."
        )
    # times and events in one column, as scikit-survival has them
    kinds = zip(names, frame.dtypes.tolist(), strict=True)
    pairs = [name for name, dtype in kinds if getattr(dtype, "names", None)]
    if pairs:
        frame = frame.copy(deep=False)
    for name in pairs:
        frame[name] = pd.Series(frame[name].tolist(), frame.index, object)
    return frame


def check_column(frame: pd.DataFrame, name: Hashable, argument: str) -> None:
    """Refuse a column that the data lack."""
    if name not in frame.columns:
        raise errors.ColumnError(
            f"{argument}={name!r} is not a column of the data."
            + errors.suggestion(name, map(str, frame.columns))
        )


def shown_label(label: Any) -> str:
    """Return a row's label as messages show it: ``3``, not ``np.int64(3)``."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def is_missing(column: pd.Series[Any]) -> Bools:
    """Return which values are missing, including NaN in nullable and Arrow numbers."""
    if isinstance(column.dtype, np.dtype) or not pd.api.types.is_float_dtype(column):
        return np.asarray(column.isna())
    values = column.to_numpy(dtype=float, na_value=np.nan)
    return np.asarray(np.isnan(values))


def is_number(dtype: Any) -> TypeGuard[np.dtype[Any]]:
    """Return whether a dtype is one of NumPy's numbers."""
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"


def _through_narwhals(data: object) -> pd.DataFrame:
    import narwhals as nw

    try:
        native: Any = nw.from_native(data, series_only=False)
    except TypeError:
        table = isinstance(data, (dict, list, np.ndarray))
        hint = "; wrap it in pandas.DataFrame(…)" if table else ""
        if isinstance(data, dict) and all(map(np.isscalar, data.values())):
            hint = "; one record is pandas.DataFrame([…])"
        elif isinstance(data, pd.Series):
            hint = "; one record is a row of the frame, data.iloc[[0]]"
        elif isinstance(data, (str, PathLike)):
            hint = "; statcv.read_table(path) reads a file"
        raise errors.FrameError(
            f"data must be a data frame, not {type(data).__name__}{hint}."
        ) from None
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    if native.implementation.is_polars():
        # its categories come in the order in which the process met them
        unordered = [n for n, kind in native.schema.items() if kind == nw.Categorical]
        native = native.with_columns(nw.col(name).cast(nw.String) for name in unordered)
    try:
        return pd.DataFrame(native.to_pandas())
    except ImportError as error:  # polars needs pyarrow for this
        raise errors.MissingPackageError(
            f"reading a {type(data).__module__.split('.')[0]} frame needs pyarrow: "
            "pip install pyarrow"
        ) from error


def plain_column(column: pd.Series[Any], name: str) -> pd.Series[Any]:
    """Convert nullable, Arrow, text and object columns to dtypes that patsy reads.

    Numbers become float64 or an integer type, booleans bool, and text and categories a
    ``Categorical`` of the levels that occur (text sorted, as in R's factor; declared
    categories in their own order). Missing values stay missing, as NaN in numbers and
    in categories; booleans with missing values become numbers. Dates stay dates.
    """
    dtype = column.dtype
    if is_number(dtype):
        return column.astype(float) if dtype.itemsize < 4 else column
    if isinstance(dtype, pd.CategoricalDtype):
        return column.cat.remove_unused_categories()
    if pd.api.types.is_bool_dtype(dtype):
        if column.isna().any():
            return column.astype("Float64").astype(float)
        return column.astype(bool)
    if pd.api.types.is_numeric_dtype(dtype):
        if pd.api.types.is_complex_dtype(dtype):
            raise errors.DataError(f"column {name!r} holds complex numbers.")
        return _plain_number(column)
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return column.astype("datetime64[ns]") if dtype.kind != "M" else column
    if pd.api.types.is_timedelta64_dtype(dtype):
        raise errors.DataError(
            f"column {name!r} holds time differences; turn them into numbers, "
            "for instance with .dt.total_seconds()."
        )
    return _plain_object(column, name)


def _plain_number(column: pd.Series[Any]) -> pd.Series[Any]:
    if column.isna().any() or not pd.api.types.is_integer_dtype(column.dtype):
        values = column.to_numpy(dtype=float, na_value=np.nan)
    else:
        values = column.to_numpy(dtype=np.int64)
    return pd.Series(values, index=column.index, name=column.name)


def _plain_object(column: pd.Series[Any], name: str) -> pd.Series[Any]:
    if isinstance(column.dtype, pd.StringDtype):  # text alone, level by level
        return _factor(column, sorted(column.dropna().unique()))
    values = column.astype(object).where(column.notna(), None)
    present = [value for value in values if value is not None]
    if all(isinstance(value, str) for value in present):
        return _factor(values, sorted(set(present)))
    if all(isinstance(value, (bool, np.bool_)) for value in present):
        truth = values.map({True: 1.0, False: 0.0}).astype(float)
        return truth if truth.isna().any() else truth.astype(bool)
    if all(isinstance(value, date) for value in present):
        return pd.to_datetime(values)
    try:
        return values.where(values.notna(), np.nan).astype(float)
    except (TypeError, ValueError):
        kinds = sorted({type(value).__name__ for value in present})
        if len(kinds) == 1:
            why = f"holds values of the type {kinds[0]}; make them numbers or text."
        else:
            why = (
                f"mixes values of several types ({', '.join(kinds)}); make them all "
                "numbers or all text."
            )
        raise errors.DataError(f"column {name!r} {why}") from None


def _factor(values: pd.Series[Any], levels: list[str]) -> pd.Series[Any]:
    return pd.Series(
        pd.Categorical(values, categories=levels), index=values.index, name=values.name
    )


def as_learnt(
    column: pd.Series[Any], learnt: pd.Series[Any], name: str
) -> pd.Series[Any]:
    """Return a new column with the categories of the fit, or raise an error."""
    if not isinstance(learnt.dtype, pd.CategoricalDtype):
        if column.isna().all():
            return column.astype(float)
        if isinstance(column.dtype, pd.CategoricalDtype):
            raise errors.DataError(
                f"column {name!r} is text in the new data, but was a number in the "
                "data of the fit."
            )
        if learnt.dtype.kind == "b" and not column.dropna().isin([0, 1]).all():
            odd = column.dropna()[~column.dropna().isin([0, 1])].iloc[0]
            raise errors.DataError(
                f"column {name!r} has the value {odd}, but was true or false in the "
                "data of the fit."
            )
        whole = learnt.dtype.kind == "b" and column.notna().all()
        return column.astype(bool) if whole else column
    known = learnt.cat.categories
    unknown = [v for v in column.dropna().unique() if v not in known]
    if unknown:
        raise errors.DataError(
            f"column {name!r} has the level {shown_label(unknown[0])}, which the data "
            f"of the fit did not have ({', '.join(map(str, known[:8]))})."
        )
    return pd.Series(
        pd.Categorical(column, categories=known), index=column.index, name=name
    )
