"""Columns of a design that are linear combinations of the others."""

from __future__ import annotations

import numpy as np

from statcv.formula.design import Design
from statcv.numeric.arrays import Floats, Numbers
from statcv.numeric.gram import column_units

TOLERANCE = 1e-10  # share of a column's norm that the others must leave unexplained
PART = 1e-6  # share of a column's norm that another must contribute to be named
MOST_COLUMNS = 500
ROWS = 2000  # number of rows examined before all are
SHOWN = 3  # number of columns named


def dependent_columns(design: Design) -> list[str]:
    """Describe the columns that are constant, or determined by earlier ones.

    Designs with 500 columns or more, or with at least as many columns as rows, are not
    examined, since dependence is the rule there; nor are columns with missing values.

    Parameters
    ----------
    design : Design

    Returns
    -------
    list of str
        One clause for each such column, such as ``"'b' is a multiple of 'a'"``.
    """
    # a coefficient that is 1 does not compete with those of other columns
    free = np.setdiff1d(np.arange(len(design.names)), design.offsets)
    X, names = design.matrix[:, free], tuple(design.names[j] for j in free)
    n, p = X.shape
    if not 0 < p < n or p > MOST_COLUMNS or not design.is_finite:
        return []
    some = X[:: max(1, n // max(ROWS, 4 * p))]
    if len(some) < n and not len(_dependent(some)[0]):
        return []  # rows can only make columns more different
    columns, parts = _dependent(X)
    return [
        _said(names, X[:, j], int(j), part)
        for j, part in zip(columns, parts, strict=True)
    ]


def _dependent(X: Floats) -> tuple[Numbers, list[Numbers]]:
    """Return dependent columns, and for each the earlier ones that determine it."""
    scaled = X / column_units(X)
    norm = np.linalg.norm(scaled, axis=0)
    scaled /= np.where(norm > 0, norm, 1.0)
    R: Floats = np.asarray(np.linalg.qr(scaled, mode="r"))
    dependent = np.abs(R.diagonal()) < TOLERANCE
    free = np.flatnonzero(~dependent)
    found, parts = np.flatnonzero(dependent), []
    for j in found:
        before = free[free < j]
        weights = np.linalg.solve(R[np.ix_(before, before)], R[before, j])
        parts.append(before[np.abs(weights) > PART])
    return found, parts


def _said(names: tuple[str, ...], column: Floats, j: int, part: Numbers) -> str:
    if np.ptp(column) <= TOLERANCE * np.abs(column).max():
        return f"{names[j]!r} is constant ({column[0]:g})"
    others = [names[i] for i in part if names[i] != "Intercept"]
    if len(part) == len(others) == 1:
        return f"{names[j]!r} is a multiple of {others[0]!r}"
    shown = ", ".join(repr(name) for name in others[:SHOWN])
    more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    return f"{names[j]!r} is determined by {shown}{more}"


def in_words(clauses: list[str]) -> str:
    """Join the clauses on columns, at most three of them.

    >>> in_words(["'a' is constant (1)", "'b' is a multiple of 'c'"])
    "'a' is constant (1); 'b' is a multiple of 'c'"
    """
    more = f"; and {len(clauses) - SHOWN} more" if len(clauses) > SHOWN else ""
    return "; ".join(clauses[:SHOWN]) + more
