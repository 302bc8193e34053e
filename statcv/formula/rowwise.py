"""Whether an expression gives each row its value from that row alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import FormulaError

REMEDY = (
    "it learns from the data, and held-out rows would leak into training. Use a term "
    "that is learnt in each fold: center, scale, bs, cr, poly."
)


def check_rowwise(
    evaluate: Callable[[pd.DataFrame], Any],
    frame: pd.DataFrame,
    columns: Sequence[str],
    what: str,
) -> None:
    """Refuse an expression that gives a part of the rows other values than the whole.

    ``x - x.mean()``, a rank or a cut at quantiles do; the extremes of a column are
    missed where a part happens to hold them too, so some parts are the lower half of
    a column, and its lowest row alone.

    Parameters
    ----------
    evaluate : callable
        Frame → values of the expression, everything learnt held fixed.
    frame : pandas.DataFrame
    columns : sequence of str
        The columns that the expression uses.
    what : str
        How to call it in messages.

    Raises
    ------
    FormulaError
        If the values depend on which rows are there.
    """
    whole = _cells(evaluate(frame))
    if np.ndim(whole) == 0 or len(whole) != len(frame):
        count = "one value" if np.size(whole) == 1 else f"{len(whole)} values"
        raise FormulaError(f"{what} gives {count} for {len(frame)} rows: {REMEDY}")
    for rows in _parts(frame, columns):
        try:
            part = _cells(evaluate(frame.iloc[rows]))
        except FormulaError:
            part = None
        if part is None or not _same(part, whole[rows]):
            raise FormulaError(
                f"{what} gives other values on a part of the rows than on all of "
                f"them: {REMEDY}"
            )


def _parts(frame: pd.DataFrame, columns: Sequence[str]) -> list[NDArray[np.intp]]:
    n = len(frame)
    parts = [np.arange(0, n, 2), np.arange(1, n, 2), np.arange(n - n // 3, n)]
    for name in columns:
        column = frame[name]
        codes = column.cat.codes if hasattr(column, "cat") else column
        order = np.argsort(codes.to_numpy(), kind="stable")
        parts += [np.sort(order[: n // 2]), np.sort(order[n // 2 :])]
        parts += [order[:1], order[-1:]]
    return [rows for rows in parts if 0 < len(rows) < n]


def values_of(value: Any) -> Any:
    """Unwrap what patsy's ``C()`` returns."""
    return value.data if hasattr(value, "contrast") else value


def _cells(value: Any) -> Any:
    array = np.asarray(values_of(value))
    return array.astype(float) if array.dtype.kind in "iufb" else array.astype(str)


def _same(part: Any, whole: Any) -> bool:
    if np.shape(part) != np.shape(whole):
        return False
    if part.dtype.kind == "f" and whole.dtype.kind == "f":
        finite = np.abs(whole[np.isfinite(whole)])
        near = 1e-12 * (finite.max() if len(finite) else 0.0)
        return bool(np.allclose(part, whole, rtol=1e-9, atol=near, equal_nan=True))
    return bool((part == whole).all())
