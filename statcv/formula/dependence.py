"""Columns of a design that the others determine, to numerical precision."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.formula.design import Design
from statcv.formula.terms import Matrix

TOLERANCE = 1e-10  # of a column's norm: what must be left beside the others
PART = 1e-6  # of a column's norm: what another must add to be named
MOST_COLUMNS = 500
ROWS = 2000  # that are looked at before all are
SHOWN = 3  # columns that are named


def dependent_columns(design: Design) -> list[str]:
    """Say which columns are constant, or determined by those before them.

    Nothing is said of designs with 500 columns and more than that, or with as many
    columns as rows, where dependence is the rule, nor of missing values.

    Parameters
    ----------
    design : Design

    Returns
    -------
    list of str
        One clause for each such column, such as ``"'b' is a multiple of 'a'"``.
    """
    X = design.matrix
    n, p = X.shape
    if not 0 < p < n or p > MOST_COLUMNS or not np.isfinite(X).all():
        return []
    some = X[:: max(1, n // max(ROWS, 4 * p))]
    if len(some) < n and not len(_dependent(some)[0]):
        return []  # rows can only make columns more different
    columns, parts = _dependent(X)
    return [
        _said(design.names, X[:, j], int(j), part)
        for j, part in zip(columns, parts, strict=True)
    ]


def _dependent(X: Matrix) -> tuple[NDArray[np.intp], list[NDArray[np.intp]]]:
    """Return dependent columns, and for each the earlier ones that make it up."""
    largest = np.abs(X).max(axis=0)
    scaled = X / np.where(largest > 0, largest, 1.0)
    norm = np.linalg.norm(scaled, axis=0)
    R: Matrix = np.asarray(
        np.linalg.qr(scaled / np.where(norm > 0, norm, 1.0), mode="r")
    )
    dependent = np.abs(R.diagonal()) < TOLERANCE
    free = np.flatnonzero(~dependent)
    found, parts = np.flatnonzero(dependent), []
    for j in found:
        before = free[free < j]
        weights = np.linalg.solve(R[np.ix_(before, before)], R[before, j])
        parts.append(before[np.abs(weights) > PART])
    return found, parts


def _said(
    names: tuple[str, ...], column: Matrix, j: int, part: NDArray[np.intp]
) -> str:
    if np.ptp(column) <= TOLERANCE * np.abs(column).max():
        return f"{names[j]!r} is constant ({column[0]:g})"
    others = [names[i] for i in part if names[i] != "Intercept"]
    if len(part) == len(others) == 1:
        return f"{names[j]!r} is a multiple of {others[0]!r}"
    shown = ", ".join(repr(name) for name in others[:SHOWN])
    more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    return f"{names[j]!r} is determined by {shown}{more}"


def in_words(clauses: list[str]) -> str:
    """Join what is said of columns, of at most three of them.

    >>> in_words(["'a' is constant (1)", "'b' is a multiple of 'c'"])
    "'a' is constant (1); 'b' is a multiple of 'c'"
    """
    more = f"; and {len(clauses) - SHOWN} more" if len(clauses) > SHOWN else ""
    return "; ".join(clauses[:SHOWN]) + more
