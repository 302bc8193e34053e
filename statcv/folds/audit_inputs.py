"""What is handed to an audit: an outcome, data, and what makes records equal."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ArgumentError, DataError, FrameError
from statcv.folds.duplicates import (
    Columns,
    Tolerance,
    chosen_columns,
    equal_records,
    near_records,
)
from statcv.folds.findings import listed
from statcv.folds.plan import FoldPlan
from statcv.folds.response import Response

Labelled = TypeVar("Labelled", pd.DataFrame, "pd.Series[Any]")


def aligned(given: Labelled, plan: FoldPlan, argument: str) -> Labelled:
    """Return the rows of the plan's records."""
    if argument == "data" and not isinstance(given, pd.DataFrame):
        raise FrameError(
            f"data must be a pandas data frame, not {type(given).__name__}."
        )
    rows = plan.rows
    if rows is None or given.index.equals(rows):
        if len(given) != plan.n:
            raise DataError(
                f"{argument} has {len(given):,} rows, but the plan is for {plan.n:,} "
                "records."
            )
        return given
    lacking = ~rows.isin(given.index)
    if lacking.any():
        raise DataError(
            f"{argument} lacks {int(lacking.sum()):,} of the {plan.n:,} rows of the "
            f"plan, the first being {rows[lacking][0]!r}; their labels must be the "
            "same."
        )
    if not (rows.is_unique and given.index.is_unique):
        raise DataError(
            f"the rows of {argument} cannot be told apart, as labels come twice; make "
            "the plan of data with reset_index(drop=True)."
        )
    return given.loc[rows]


def outcome_of(y: Any, plan: FoldPlan) -> Response:
    """Code an outcome, as the plan has its own or else by its values."""
    if isinstance(y, pd.Series):
        column = aligned(y, plan, "y")
    else:
        own = isinstance(y, pd.api.extensions.ExtensionArray)  # categories, for one
        array = y if own else np.asarray(y)
        if array.ndim != 1 or len(array) != plan.n:
            raise DataError(
                f"y must have one value for each of the {plan.n:,} records of the "
                f"plan, but has the shape {array.shape}."
            )
        column = pd.Series(array)
    if column.isna().any():
        raise DataError(
            f"y is missing in {int(column.isna().sum())} of {plan.n:,} records; leave "
            "those out of the plan."
        )
    name = "the outcome" if column.name is None else str(column.name)
    numeric = column.dtype.kind in "iuf"
    by_class = not numeric or column.nunique() <= 2
    if plan.response is not None:
        by_class = plan.response.by_class
    if not by_class:
        values = column.to_numpy(dtype=np.float64)
        if not np.isfinite(values).all():
            raise DataError("y is infinite in some records.")
        return Response.of(values, "continuous", name=name)
    codes, levels = pd.factorize(column, sort=True)
    kind = "binary" if len(levels) == 2 else "multiclass"
    return Response.of(codes, kind, list(levels), name)


def groups_of_equals(
    plan: FoldPlan,
    records: pd.DataFrame | None,
    duplicates: Columns | bool,
    tolerance: Tolerance | None,
) -> tuple[NDArray[np.intp], str] | None:
    """Return the group of equal records of each, and in words what is equal.

    None where no duplicates are asked for.
    """
    if duplicates is None or duplicates is False:
        if tolerance is not None:
            raise ArgumentError(
                "tolerance= is for duplicates; name their columns in duplicates=, or "
                "say duplicates=True for all."
            )
        return None
    if records is None:
        raise ArgumentError(
            f"duplicates={duplicates!r} needs data=, the frame that has the columns."
        )
    columns = None if duplicates is True else duplicates
    names = listed([str(name) for name in chosen_columns(records, columns)])
    where = "all columns" if columns is None else names
    if tolerance is None:
        return equal_records(records, columns), f"equal in {where}"
    near = near_records(records, columns, tolerance)
    return near, f"nearly equal in {where}"
