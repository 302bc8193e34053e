"""Equal and nearly equal records of a frame, in groups."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnError,
    DataError,
    FoldWarning,
    FrameError,
    suggestion,
    warn,
)
from statcv.folds.strata.identifiers import normalise
from statcv.words import plural

Codes = NDArray[np.intp]
Columns = Sequence[Hashable] | Hashable | None
Tolerance = float | Mapping[Any, float]

MOST_PAIRS = 20_000_000  # most pairs of near records, so that they fit in memory
# share of a tolerance by which a distance may exceed it: 0.3 and 0.2 are 0.1 apart
ROUNDING = 1e-9
BLOCK = 4096  # points asked for their neighbours at once


def equal_records(frame: pd.DataFrame, columns: Columns = None) -> Codes:
    """Return the number of the group of equal records that each row belongs to.

    Values are equal as identifiers are
    (:func:`statcv.folds.strata.identifiers.normalise`), and missing ones equal each
    other, since a duplicate of an incomplete record is a duplicate:

    - Numbers by value: 1 equals 1.0, 0.0 equals -0.0. Truth values count as 1 and 0.
    - Text in Unicode's form NFC, without the white space around it.
    - Dates and times by day.
    - Whatever else can be hashed equals itself.

    Parameters
    ----------
    frame : pandas.DataFrame
    columns : list of labels, or one; optional
        What makes records equal. Default: all columns.

    Returns
    -------
    numpy.ndarray of int, shape (n,)
        From 0, in the order in which groups appear.

    Raises
    ------
    ColumnError
        If there is no such column.
    DataError
        If there are no rows, a column twice, or values that cannot be compared.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["f", "m", "f "], "age": [61, 70, 61.0]})
    >>> equal_records(frame)
    array([0, 1, 0])
    """
    return groups_of(frame, chosen_columns(frame, columns), None)


def near_records(frame: pd.DataFrame, columns: Columns, tolerance: Tolerance) -> Codes:
    """Return the number of the group of near-duplicates that each row belongs to.

    Two records are near if no numeric column differs by more than its tolerance (a
    billionth of which is allowed for rounding) and all other columns are equal in the
    sense of :func:`equal_records`. A group holds records that are linked by steps
    between near ones. Duplicates that each lie within the tolerance of one original
    span two tolerances at most; a group that spans more is a chain, which gives a
    warning.

    Parameters
    ----------
    frame : pandas.DataFrame
    columns : list of labels, or one, or None
        What makes records near. None: all columns.
    tolerance : float or mapping of label to float
        Largest difference between duplicates, in the column's own units; 0 for equal
        values. A single number applies to all numeric columns except truth values and
        dates. In a mapping, columns that are not named must be equal.

    Returns
    -------
    numpy.ndarray of int, shape (n,)
        From 0, in the order in which groups appear.

    Raises
    ------
    ArgumentError
        If a tolerance is negative or not finite, or names a column that is not
        numeric; if it is so wide that more than 20 million pairs are near.
    ColumnError, DataError
        As in :func:`equal_records`.

    Warns
    -----
    FoldWarning
        If records are chained.

    Notes ----- Distinct records are looked up in a k-d tree: a million records take
    about ten seconds with three columns, less than a minute with ten. Missing and
    infinite values equal themselves only.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["f", "f", "m"], "weight": [61.2, 61.3, 61.2]})
    >>> near_records(frame, ["sex", "weight"], tolerance=0.1)
    array([0, 0, 1])
    """
    return groups_of(frame, chosen_columns(frame, columns), tolerance)


def chosen_columns(frame: pd.DataFrame, columns: Columns) -> list[Hashable]:
    """Return the columns to compare records by, all unless named."""
    if not isinstance(frame, pd.DataFrame):
        raise FrameError(
            f"the data must be a pandas data frame, not {type(frame).__name__}."
        )
    if not len(frame):
        raise DataError("the data have no rows.")
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise DataError(f"the data have two columns {twice!r}; rename one of them.")
    chosen: list[Hashable]
    if columns is None:
        chosen = list(frame.columns)
    elif isinstance(columns, str) or not isinstance(columns, Iterable):
        chosen = [columns]
    else:
        chosen = list(dict.fromkeys(columns))
    for name in chosen:
        check_column(frame, name, "columns")
    if not chosen:
        raise ArgumentError("there is no column left to compare records by.")
    return chosen


def check_column(frame: pd.DataFrame, name: Hashable, argument: str) -> None:
    """Refuse a column that the data lack."""
    if name not in frame.columns:
        raise ColumnError(
            f"{argument}={name!r} is not a column of the data."
            + suggestion(name, map(str, frame.columns))
        )


def groups_of(
    frame: pd.DataFrame,
    chosen: Sequence[Hashable],
    tolerance: Tolerance | None,
    within: pd.Series[Any] | None = None,
) -> Codes:
    """Return the group of each record: equal, or near, and ``within`` equal places."""
    widths = {} if tolerance is None else _widths(frame, chosen, tolerance)
    exact = [frame[name] for name in chosen if name not in widths]
    if within is not None:
        exact.append(within)
    same = [value_codes(column) for column in exact]
    if not widths:
        return _combined(same)
    points = np.empty((len(frame), len(widths)))
    for j, (name, width) in enumerate(widths.items()):
        values = frame[name].to_numpy(dtype=float, na_value=np.nan)
        finite = np.isfinite(values)
        same.append(value_codes(pd.Series(np.where(finite, 0.0, values))))
        with np.errstate(over="ignore"):
            points[:, j] = np.where(finite, values, 0.0) / width
        if not np.isfinite(points[:, j]).all():
            raise ArgumentError(
                f"tolerance={width} is too small beside the values of the column "
                f"{name!r}; 0 is for equal ones."
            )
    return _joined(_combined(same), points)


def _widths(
    frame: pd.DataFrame, chosen: Sequence[Hashable], tolerance: Tolerance
) -> dict[Hashable, float]:
    """Return the columns that may differ, and their tolerances."""
    numeric = [name for name in chosen if frame[name].dtype.kind in "iuf"]
    if not isinstance(tolerance, Mapping):
        if not numeric:
            raise ArgumentError("tolerance= needs a numeric column.")
        tolerance = dict.fromkeys(numeric, tolerance)
    for name, width in tolerance.items():
        check_column(frame, name, "tolerance")
        if name not in chosen:
            raise ArgumentError(
                f"tolerance= names the column {name!r}, which is not among those to "
                "compare; add it to columns=."
            )
        if name not in numeric:
            raise ArgumentError(
                f"tolerance= names the column {name!r}, which is not numeric but "
                f"{frame[name].dtype}; turn it into numbers, or leave it out of the "
                "mapping: it must be equal then."
            )
        if isinstance(width, bool) or not isinstance(width, Real):
            raise ArgumentTypeError(
                f"tolerance must be a number, not {type(width).__name__}."
            )
        if not 0 <= width < math.inf:
            raise ArgumentError(f"tolerance must be finite and from 0, not {width}.")
    return {name: float(width) for name, width in tolerance.items() if width > 0}


def value_codes(column: pd.Series[Any]) -> tuple[Codes, int]:
    """Return a number for each value of a column, and how many there may be."""
    kind, own = column.dtype.kind, (np.dtype, pd.DatetimeTZDtype)  # not Arrow's
    if kind == "M" and isinstance(column.dtype, own):
        column = column.dt.tz_localize(None).dt.floor("D")
    elif kind == "f" and not isinstance(column.dtype, own):  # NaN and NA are missing
        column = pd.Series(column.to_numpy(dtype=float, na_value=np.nan))
    if kind in "biufcm" or (kind == "M" and isinstance(column.dtype, own)):
        codes, unique = pd.factorize(column)
        return codes + 1, len(unique) + 1
    if column.dtype != object or pd.api.types.infer_dtype(column) == "string":
        codes, unique = pd.factorize(column)
        numbers, size = _form_codes(unique.tolist(), column.name)
        return np.append(numbers, 0)[codes], size  # -1, the missing, is the last
    return _form_codes(column.tolist(), column.name)


def _form_codes(values: list[Any], name: Hashable) -> tuple[Codes, int]:
    number: dict[Any, int] = {None: 0}
    try:
        each = (number.setdefault(_form(value), len(number)) for value in values)
        return np.fromiter(each, np.intp, len(values)), len(number)
    except TypeError:
        raise DataError(
            f"the column {name!r} holds values that cannot be compared, such as lists; "
            "turn them into text, or leave it out of columns=."
        ) from None


def _form(value: Any) -> Any:
    """Return what equal values share: the written form, or the value itself."""
    if type(value) is str and value.isascii():
        return value.strip()
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    try:
        return normalise(value)
    except DataError:
        return value


def _combined(parts: Iterable[tuple[Codes, int]]) -> Codes:
    """Return the number of each combination, from 0 as they appear."""
    (total, _), *others = parts
    for codes, size in others:
        total = pd.factorize(total * size + codes)[0]
    return pd.factorize(total)[0]


def _joined(same: Codes, points: NDArray[np.float64]) -> Codes:
    """Return the groups joined by steps of at most 1 in any coordinate."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    each = [value_codes(pd.Series(values)) for values in points.T]
    distinct = _combined([(same, 0), *each])
    first = np.unique(distinct, return_index=True)[1]
    points, same = points[first], same[first]
    rows = np.flatnonzero(np.bincount(same)[same] > 1)
    apart = 3.0 * same[rows, None]  # values that are not the same are never near
    left, right = rows[_near_pairs(np.hstack([points[rows], apart]))]
    near = np.ones(len(left), dtype=np.int8)
    graph = coo_matrix((near, (left, right)), shape=(len(first), len(first)))
    labels: Codes = connected_components(graph, directed=False)[1]
    _warn_of_chains(points, labels)
    return pd.factorize(labels[distinct])[0]


def _near_pairs(points: NDArray[np.float64]) -> Codes:
    """Return the positions of all pairs within 1 of each other, shape (2, pairs)."""
    from scipy.spatial import cKDTree

    found, count = [np.empty((2, 0), dtype=np.int32)], 0
    tree = cKDTree(points)
    for start in range(0, len(points), BLOCK):
        rows = tree.indices[start : start + BLOCK]  # neighbours in turn, which is fast
        ball = {"x": points[rows], "r": 1 + ROUNDING, "p": np.inf}
        sizes = tree.query_ball_point(**ball, return_length=True)
        count += int(sizes.sum()) - len(rows)
        if count > 2 * MOST_PAIRS:
            raise ArgumentError(
                f"tolerance= is too wide: {count // 2:,} pairs of distinct records are "
                f"near each other, {min(start + BLOCK, len(points)):,} of "
                f"{len(points):,} records looked at; give a smaller one, or more "
                "columns."
            )
        if (sizes > 1).any():
            near = np.concatenate(tree.query_ball_point(**ball, return_sorted=False))
            pairs = np.stack([np.repeat(rows, sizes), near]).astype(np.int32)
            found.append(pairs[:, pairs[0] < pairs[1]])
    return np.concatenate(found, axis=1)


def _warn_of_chains(points: NDArray[np.float64], labels: Codes) -> None:
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(labels.max() + 1))
    points = points[order]
    high, low = np.maximum.reduceat(points, starts), np.minimum.reduceat(points, starts)
    spans = (high - low).max(axis=1)
    chains = int((spans > 2 * (1 + ROUNDING)).sum())
    if chains:
        widest = int(spans.argmax())
        warn(
            f"{plural(chains, 'group')} of near-duplicates "
            f"{'is a chain' if chains == 1 else 'are chains'}: the widest spans "
            f"{spans[widest]:.3g} tolerances with {int((labels == widest).sum())} "
            "distinct records, while duplicates of one original span 2 at most; a "
            "smaller tolerance, or more columns, would separate them.",
            FoldWarning,
        )
