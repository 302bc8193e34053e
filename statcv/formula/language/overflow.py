"""Numbers that are infinite, or so large that sums of their powers are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.errors import DataError
from statcv.formula.frame import shown_label
from statcv.numeric.arrays import Floats
from statcv.words import plural

if TYPE_CHECKING:
    from statcv.formula.design import Design
    from statcv.formula.language.terms import Terms


SMALLEST = float(np.finfo(float).tiny) ** 0.25  # smaller values lose fourth powers


def refuse_infinite(columns: Mapping[str, pd.Series[Any]]) -> None:
    """Check that no column has an infinite value."""
    word = "infinite value"
    for name, column in columns.items():
        if column.dtype.kind == "f":
            infinite = np.isinf(column.to_numpy())
            if infinite.any():
                raise DataError(
                    f"column {name!r} has {plural(int(infinite.sum()), word)} "
                    f"(first in row {shown_label(column.index[infinite][0])})."
                )


def refuse_overflow(values: Floats, named: str) -> None:
    """Check that sums of powers of the values are numbers, apart from NaN and inf."""
    if largest := _too_large(values):
        raise DataError(
            f"{named} has values up to {largest:.3g}, and sums of their powers exceed "
            "what a number can hold; divide it by a power of ten first, or mark these "
            "values as missing."
        )


def refuse_underflow(design: Design) -> None:
    """Check that sums of powers of no column of the matrix are 0 by rounding."""
    matrix, names = design.matrix, design.names
    # a mean square shows that the largest value is not too small
    if (design.squares > len(matrix) * SMALLEST**2).all():
        return
    size = np.maximum(matrix.max(axis=0, initial=0.0), -matrix.min(axis=0, initial=0.0))
    small = (size > 0) & (size < SMALLEST)
    if small.any():
        raise DataError(
            f"the term {names[small.argmax()]!r} has values of at most "
            f"{size[small.argmax()]:.3g}, whose powers are too small for a number; "
            "multiply it by a power of ten first."
        )


def refuse_learning_overflow(terms: Terms) -> None:
    """Check that no term learns from numbers of which sums of powers overflow."""
    floats = {n: c.to_numpy() for n, c in terms.columns.items() if c.dtype.kind == "f"}
    large = [name for name, values in floats.items() if _too_large(values)]
    if large:
        with np.errstate(over="ignore", invalid="ignore"):
            learning = terms.learning_columns
        for name in (one for one in large if one in learning):
            refuse_overflow(floats[name], f"column {name!r}")


def _too_large(values: Floats) -> float:
    """Return the size of the largest finite number if its powers overflow, else 0."""
    most = _most(len(values))
    cells = values.reshape(len(values), -1)
    with np.errstate(invalid="ignore", over="ignore"):
        squares = float(np.einsum("ij,ij->", cells, cells))  # one quick sum
    if squares <= most**2:
        return 0.0
    largest = float(np.abs(cells[np.isfinite(cells)]).max(initial=0.0))
    return largest if largest > most else 0.0


def _most(n: int) -> float:
    """Return the size of numbers beyond which powers of n of them overflow."""
    # a variance of squared errors sums fourth powers
    return float((np.finfo(float).max / max(n, 1)) ** 0.25 / 4)


def refuse_not_finite(design: Design) -> None:
    """Check that a cell is NaN only where a column of its term is missing."""
    if not design.squares.sum() <= _most(design.n) ** 2:
        for name, values in zip(design.names, design.matrix.T, strict=True):
            refuse_overflow(values, f"the term {name!r}")
    if design.is_finite:
        return
    bad = ~np.isfinite(design.matrix)
    refuse_infinite(design.terms.columns)
    for j in np.flatnonzero(bad.any(axis=0)):
        used = design.terms.frame[list(design.terms.columns_of(int(j)))]
        cells = design.matrix[:, j]
        rows = np.flatnonzero(bad[:, j] & ~(np.isnan(cells) & used.isna().any(axis=1)))
        if len(rows):
            raise DataError(
                f"the term {design.names[j]!r} is {cells[rows[0]]:g} in {len(rows)} "
                f"rows (first: {shown_label(design.labels[rows[0]])})."
            )
