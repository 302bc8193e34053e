"""Duplicated records, exact or near, and the sites or folds that hold them.

A model that was trained on a duplicate of a held-out record has seen its outcome. Bey
et al. (2020) define three ways for data to be free of duplicates: no record twice at a
site (1), no record at two sites (2), no record in two folds (3). Each is a check here
that returns the records that violate it.

R. Bey, R. Goussault, F. Grolleau, M. Benchoufi and R. Porcher, "Fold-stratified
cross-validation for unbiased and privacy-preserving federated learning", JAMIA 27
(2020) 1244-1251.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from statcv import errors
from statcv.folds.strata.identifiers import normalise
from statcv.formula import check_column, row_values
from statcv.numeric.arrays import Floats, Numbers
from statcv.tables import Table
from statcv.words import plural

Columns = Sequence[Hashable] | Hashable | None
Tolerance = float | Mapping[Any, float]

MOST_PAIRS = 20_000_000  # most pairs of near records, so that they fit in memory
# share of a tolerance by which a distance may exceed it: 0.3 and 0.2 are 0.1 apart
ROUNDING = 1e-9


def equal_records(frame: pd.DataFrame, columns: Columns = None) -> Numbers:
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


def near_records(
    frame: pd.DataFrame, columns: Columns, tolerance: Tolerance
) -> Numbers:
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
        raise errors.FrameError(
            f"the data must be a pandas data frame, not {type(frame).__name__}."
        )
    if not len(frame):
        raise errors.DataError("the data have no rows.")
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise errors.DataError(
            f"the data have two columns {twice!r}; rename one of them."
        )
    if columns is None:
        columns = list(frame.columns)
    elif isinstance(columns, str) or not isinstance(columns, Iterable):
        columns = [columns]
    chosen = list(dict.fromkeys(columns))
    for name in chosen:
        check_column(frame, name, "columns")
    if not chosen:
        raise errors.ArgumentError("there is no column left to compare records by.")
    return chosen


def groups_of(
    frame: pd.DataFrame,
    chosen: Sequence[Hashable],
    tolerance: Tolerance | None,
    within: pd.Series[Any] | None = None,
) -> Numbers:
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
            raise errors.ArgumentError(
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
            raise errors.ArgumentError("tolerance= needs a numeric column.")
        tolerance = dict.fromkeys(numeric, tolerance)
    for name, width in tolerance.items():
        check_column(frame, name, "tolerance")
        if name not in chosen:
            raise errors.ArgumentError(
                f"tolerance= names the column {name!r}, which is not among those to "
                "compare; add it to columns=."
            )
        if name not in numeric:
            raise errors.ArgumentError(
                f"tolerance= names the column {name!r}, which is not numeric but "
                f"{frame[name].dtype}; turn it into numbers, or leave it out of the "
                "mapping: it must be equal then."
            )
        if isinstance(width, bool) or not isinstance(width, Real):
            raise errors.ArgumentTypeError(
                f"tolerance must be a number, not {type(width).__name__}."
            )
        if not 0 <= width < math.inf:
            raise errors.ArgumentError(
                f"tolerance must be finite and from 0, not {width}."
            )
    return {name: float(width) for name, width in tolerance.items() if width > 0}


def value_codes(column: pd.Series[Any]) -> tuple[Numbers, int]:
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


def _form_codes(values: list[Any], name: Hashable) -> tuple[Numbers, int]:
    number: dict[Any, int] = {None: 0}
    try:
        each = [number.setdefault(_form(value), len(number)) for value in values]
        return np.array(each, dtype=np.intp), len(number)
    except TypeError:
        raise errors.DataError(
            f"the column {name!r} holds values that cannot be compared, such as lists; "
            "turn them into text, or leave it out of columns=."
        ) from None


def _form(value: Any) -> Any:
    """Return what equal values share: the written form, or the value itself."""
    text = isinstance(value, str)  # isna() is slow, and no text is missing
    if not text and pd.api.types.is_scalar(value) and pd.isna(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    try:
        return normalise(value)
    except errors.DataError:
        return value


def _combined(parts: Iterable[tuple[Numbers, int]]) -> Numbers:
    """Return the number of each combination, from 0 as they appear."""
    (total, _), *others = parts
    for codes, size in others:
        total = pd.factorize(total * size + codes)[0]
    return pd.factorize(total)[0]


def _joined(same: Numbers, points: Floats) -> Numbers:
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
    labels: Numbers = connected_components(graph, directed=False)[1]
    _warn_of_chains(points, labels)
    return pd.factorize(labels[distinct])[0]


def _near_pairs(points: Floats) -> Numbers:
    """Return the positions of all pairs within 1 of each other, shape (2, pairs)."""
    from scipy.spatial import cKDTree

    tree, reach = cKDTree(points), 1 + ROUNDING
    count = (int(tree.count_neighbors(tree, reach, p=np.inf)) - len(points)) // 2
    if count > MOST_PAIRS:
        raise errors.ArgumentError(
            f"tolerance= is too wide: {count:,} pairs of distinct records are near "
            f"each other, {len(points):,} of {len(points):,} records looked at; give a "
            "smaller one, or more columns."
        )
    return np.asarray(tree.query_pairs(reach, p=np.inf, output_type="ndarray").T)


def _warn_of_chains(points: Floats, labels: Numbers) -> None:
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(labels.max() + 1))
    points = points[order]
    high, low = np.maximum.reduceat(points, starts), np.minimum.reduceat(points, starts)
    spans = (high - low).max(axis=1)
    chains = int((spans > 2 * (1 + ROUNDING)).sum())
    if chains:
        widest = int(spans.argmax())
        errors.warn(
            f"{plural(chains, 'group')} of near-duplicates "
            f"{'is a chain' if chains == 1 else 'are chains'}: the widest spans "
            f"{spans[widest]:.3g} tolerances with {int((labels == widest).sum())} "
            "distinct records, while duplicates of one original span 2 at most; a "
            "smaller tolerance, or more columns, would separate them.",
            errors.FoldWarning,
        )


# ---- the sites or folds that hold duplicates ----


def repeats_within_site(
    frame: pd.DataFrame,
    site: Any,
    columns: Columns = None,
    *,
    tolerance: Tolerance | None = None,
) -> pd.DataFrame:
    """Return the records that are duplicated within a site.

    The result is empty if definition 1 of Bey et al. (2020) holds, deduplication within
    each hospital: no two records of a site are equal.

    Parameters
    ----------
    frame : pandas.DataFrame
    site : str or array-like
        A column of the frame; or a value for each row, a series by its labels.
    columns : list of labels, or one; optional
        What makes records equal. Default: all columns but the site.
    tolerance : float or mapping of label to float, optional
        Tolerance for near-duplicates, as in
        :func:`statcv.folds.audit.duplicates.near_records`. Default: equal records only.

    Returns
    -------
    pandas.DataFrame
        Whole rows under their labels, group by group; ``site`` if it is not a column of
        the frame; and ``group``, from 1.

    Raises
    ------
    ArgumentError
        If the site is among the columns.
    ColumnError, DataError
        As :func:`statcv.folds.audit.duplicates.equal_records`; if the site is missing
        somewhere; if the data have a column of a name that is added.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [61, 61, 61, 70], "site": ["A", "B", "B", "B"]})
    >>> repeats_within_site(frame, "site")
    Records that are duplicated, group by group
    <BLANKLINE>
       site  group  age
    1  B         1   61
    2  B         1   61
    """
    return _duplicated(frame, site, "site", columns, tolerance, within=True)


def repeats_across_sites(
    frame: pd.DataFrame,
    site: Any,
    columns: Columns = None,
    *,
    tolerance: Tolerance | None = None,
) -> pd.DataFrame:
    """Return the records that are held at more than one site.

    The result is empty if definition 2 of Bey et al. (2020) holds, deduplication
    between hospitals: no record of a site equals one of another. Arguments, result and
    errors are those of :func:`repeats_within_site`; a group holds all its records, at
    whichever site.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [61, 70, 61], "site": ["A", "B", "B"]})
    >>> repeats_across_sites(frame, "site")
    Records that are duplicated, group by group
    <BLANKLINE>
       site  group  age
    0  A         1   61
    2  B         1   61
    """
    return _duplicated(frame, site, "site", columns, tolerance)


def split_repeats(
    frame: pd.DataFrame,
    fold: Any,
    columns: Columns = None,
    *,
    tolerance: Tolerance | None = None,
) -> pd.DataFrame:
    """Return the records that are in more than one fold.

    The result is empty if definition 3 of Bey et al. (2020) holds, deduplication
    between folds: records of different folds differ, at whichever site. It follows from
    definitions 1 and 2 together, and is sufficient for no fit to train on a duplicate
    of a held-out record.

    Arguments, result and errors are those of :func:`repeats_within_site`, with the fold
    in place of the site; -1, for never held out, counts as a fold. Columns that say
    where a record was kept, not whose it is, make duplicates differ: name the others in
    ``columns``.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [61, 70, 61, 70], "site": ["A", "A", "B", "B"]})
    >>> split_repeats(frame, fold=[1, 1, 2, 1], columns=["age"])
    Records that are duplicated, group by group
    <BLANKLINE>
       fold  group  age  site
    0     1      1   61  A
    2     2      1   61  B
    """
    return _duplicated(frame, fold, "fold", columns, tolerance)


def _duplicated(
    frame: pd.DataFrame,
    place: Any,
    argument: str,
    columns: Columns,
    tolerance: Tolerance | None,
    within: bool = False,
) -> pd.DataFrame:
    """Return the records duplicated within a site, or at several sites or folds.

    They come group by group, with their place unless it is a column of the data.
    """
    named = isinstance(place, str)
    if named and columns is None and isinstance(frame, pd.DataFrame):
        columns = [name for name in frame.columns if name != place]
    chosen = chosen_columns(frame, columns)
    alike = isinstance(place, pd.Series) and place.index.equals(frame.index)
    places = place.rename(argument) if alike else row_values(place, frame, argument)
    if named and place in chosen:
        raise errors.ArgumentError(
            f"columns= has the {argument} {place!r}, by which records would always "
            "differ; leave it out."
        )
    if places.isna().any():
        raise errors.DataError(
            f"the {argument} is missing in {int(places.isna().sum())} of {len(frame)} "
            "rows; fill it in, or leave those rows out."
        )
    for added in ["group"] if named else [argument, "group"]:
        if added in frame.columns:
            raise errors.DataError(
                f"the data have a column {added!r}, which is the name of one that is "
                f"added; rename it: data.rename(columns={{{added!r}: …}})."
            )
    codes = groups_of(frame, chosen, tolerance, places if within else None)
    where = pd.Series(value_codes(places)[0]).groupby(codes)
    rows = np.flatnonzero(where.transform("size" if within else "nunique") > 1)
    rows = rows[np.argsort(codes[rows], kind="stable")]
    answer = frame.iloc[rows].copy()
    if not named:
        answer[places.name] = places.iloc[rows].array
    answer["group"] = pd.factorize(codes[rows])[0] + 1
    first: list[Hashable] = [str(places.name), "group"]
    shown = {name: str(name) for name in [*first, *answer]}
    return Table(answer, "Records that are duplicated, group by group", shown)
