"""What some of the fits of a plan gave: small enough to send and to keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Curves = Mapping[str, Floats]


@dataclass(frozen=True, eq=False)
class Part:
    """What a range of fits predicted, and how they went.

    Attributes
    ----------
    fits : range
        Their numbers in the plan.
    predicted, partner_predicted : numpy.ndarray, shape (m,) or (m, classes)
        At the records held out, and at the partners, in the order of the plan.
    converged, separated : numpy.ndarray of bool, shape (fits,)
    seconds : numpy.ndarray, shape (fits,)
    probabilities : bool
        Whether predictions are probabilities or means, not decision scores.
    names : tuple of str
        What coefficients are called.
    coefficients : numpy.ndarray, shape (fits, names), or None
    chosen : list of dict, or None
        For each fit the hyperparameters that were chosen in its training set.
    curves : list of dict, or None
        For each fit a metric's values after every round, shape (rounds, 2).
    """

    fits: range
    predicted: Floats
    partner_predicted: Floats
    converged: NDArray[np.bool_]
    separated: NDArray[np.bool_]
    seconds: Floats
    probabilities: bool
    names: tuple[str, ...] = ()
    coefficients: Floats | None = None
    chosen: Sequence[Mapping[str, Any]] | None = None
    curves: Sequence[Curves] | None = None


def joined_coefficients(parts: Sequence[Part]) -> tuple[tuple[str, ...], Floats | None]:
    """Return names and coefficients of all fits, NaN where one has no such term."""
    tables = [part.coefficients for part in parts if part.coefficients is not None]
    if len(tables) < len(parts):
        return (), None
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    if all(part.names == names for part in parts):
        return names, tables[0] if len(tables) == 1 else np.concatenate(tables)
    rows = []
    for part, table in zip(parts, tables, strict=True):
        rows.append(np.full((len(table), len(names)), np.nan))
        rows[-1][:, [names.index(name) for name in part.names]] = table
    return names, np.concatenate(rows)


def listed(
    parts: Iterable[Sequence[Mapping[str, Any]] | None],
) -> list[Mapping[str, Any]] | None:
    """Put the dicts of all fits after each other; None where a part has none."""
    made: list[Mapping[str, Any]] = []
    for part in parts:
        if part is None:
            return None
        made += part
    return made


def chosen_table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return hyperparameters as a table, in which None stays None.

    Parameters
    ----------
    rows : sequence of dict
        One for each fit, or each combination of values.

    Examples
    --------
    >>> chosen_table([{"C": None}, {"C": 1.0}])["C"].tolist()
    [None, 1.0]
    """
    table = pd.DataFrame(list(rows))
    for name in table.columns:
        values = [row.get(name, np.nan) for row in rows]
        if any(value is None for value in values):
            table[name] = pd.Series(values, dtype=object)
    return table


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Turn values into those that a table or a file can hold, others into text.

    >>> plain({"C": np.float64(0.1), "kernel": "rbf", "shape": (2, 3)})
    {'C': 0.1, 'kernel': 'rbf', 'shape': '(2, 3)'}
    """
    return {str(name): _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return " ".join(repr(value).split())
