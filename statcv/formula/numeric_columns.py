"""Columns of numbers that are read from a frame as one array, and their products."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.formula.language.parse import Formula

Matrix = NDArray[np.float64]

CELLS = 2**16  # numbers of a matrix that are computed at once
MIN_ROWS = 2**11  # rows of a matrix that are computed at once, at least
MIN_COLUMNS = 10  # columns from which reading them all as one array is quicker


@dataclass(frozen=True, eq=False)
class NumericColumns(Mapping[str, "pd.Series[Any]"]):
    """Many columns of finite numbers, without a Series for each until it is asked for.

    Attributes
    ----------
    cells : numpy.ndarray, shape (n, columns)
    places : dict
        The position of each column, by name.
    index : pandas.Index
        Labels of the rows.
    """

    cells: Matrix
    places: Mapping[str, int]
    index: pd.Index[Any]

    @classmethod
    def of(cls, frame: pd.DataFrame, names: tuple[str, ...]) -> NumericColumns | None:
        """Read columns; None if they are few, or one is not of finite numbers."""
        if len(names) < MIN_COLUMNS:
            return None
        places = {name: j for j, name in enumerate(frame.columns.tolist())}
        used, dtypes = [places[name] for name in names], frame.dtypes.tolist()
        if any(dtypes[j] != np.float64 for j in used):
            return None
        values = frame.take(used, axis=1).to_numpy()  # quicker than by names
        if not is_finite(values):
            return None
        return cls(values, {name: j for j, name in enumerate(names)}, frame.index)

    def chosen(self, rows: NDArray[np.intp]) -> NumericColumns:
        """Return some of the rows."""
        return replace(self, cells=self.cells[rows], index=self.index[rows])

    def __getitem__(self, name: str) -> pd.Series[Any]:
        values = self.cells[:, self.places[name]]
        return pd.Series(values, index=self.index, name=name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def multiplied(
    formula: Formula, columns: Mapping[str, pd.Series[Any]] | pd.DataFrame, n: int
) -> Matrix:
    """Multiply columns, some rows at a time, so that these stay in the cache."""
    products = formula.products
    if isinstance(columns, NumericColumns):
        used = dict(zip(columns.places, columns.cells.T, strict=True))
    else:
        used = {name: columns[name].to_numpy() for names in products for name in names}
    matrix = np.ones((n, len(products)))
    rows = max(MIN_ROWS, CELLS // max(len(products), 1))
    for start in range(0, n, rows):
        some = slice(start, start + rows)
        for j, (first, *others) in enumerate(filter(None, products), formula.intercept):
            matrix[some, j] = used[first][some]
            for name in others:
                matrix[some, j] *= used[name][some]
    return matrix


def is_finite(matrix: Matrix) -> bool:
    """Return whether all cells are finite; they are if their sum is."""
    with np.errstate(invalid="ignore", over="ignore"):
        # einsum takes half as long as numpy.sum
        return bool(np.isfinite(np.einsum("ij->", matrix)) or np.isfinite(matrix).all())
