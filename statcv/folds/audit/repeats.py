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

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ArgumentError, DataError
from statcv.folds.audit.duplicates import (
    Codes,
    Columns,
    Tolerance,
    chosen_columns,
    groups_of,
    value_codes,
)
from statcv.formula import row_values
from statcv.tables import Table


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
    places, chosen = _placed(frame, site, "site", columns)
    codes = groups_of(frame, chosen, tolerance, within=places)
    repeated = np.bincount(codes)[codes] > 1
    return _rows(frame, codes, repeated, site, places)


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
    places, chosen = _placed(frame, site, "site", columns)
    codes = groups_of(frame, chosen, tolerance)
    return _rows(frame, codes, _in_several(codes, places), site, places)


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
    places, chosen = _placed(frame, fold, "fold", columns)
    codes = groups_of(frame, chosen, tolerance)
    return _rows(frame, codes, _in_several(codes, places), fold, places)


def _placed(
    frame: pd.DataFrame, place: Any, argument: str, columns: Columns
) -> tuple[pd.Series[Any], list[Hashable]]:
    """Return the site or fold of each row, and the columns to compare."""
    if isinstance(place, str) and columns is None and isinstance(frame, pd.DataFrame):
        columns = [name for name in frame.columns if name != place]
    chosen = chosen_columns(frame, columns)
    alike = isinstance(place, pd.Series) and place.index.equals(frame.index)
    places = place.rename(argument) if alike else row_values(place, frame, argument)
    if isinstance(place, str) and place in chosen:
        raise ArgumentError(
            f"columns= has the {argument} {place!r}, by which records would always "
            "differ; leave it out."
        )
    if places.isna().any():
        raise DataError(
            f"the {argument} is missing in {int(places.isna().sum())} of {len(frame)} "
            "rows; fill it in, or leave those rows out."
        )
    for added in ["group"] if isinstance(place, str) else [argument, "group"]:
        if added in frame.columns:
            raise DataError(
                f"the data have a column {added!r}, which is the name of one that is "
                f"added; rename it: data.rename(columns={{{added!r}: …}})."
            )
    return places, chosen


def _in_several(codes: Codes, places: pd.Series[Any]) -> NDArray[np.bool_]:
    """Return for each row whether its group is at more than one place."""
    where = pd.Series(value_codes(places)[0])
    return np.asarray(where.groupby(codes).transform("nunique") > 1)


def _rows(
    frame: pd.DataFrame,
    codes: Codes,
    found: NDArray[np.bool_],
    place: Any,
    places: pd.Series[Any],
) -> pd.DataFrame:
    """Return the rows found, group by group, with the place unless it is a column."""
    rows = np.flatnonzero(found)
    rows = rows[np.argsort(codes[rows], kind="stable")]
    answer = frame.iloc[rows].copy()
    if not isinstance(place, str):
        answer[places.name] = places.iloc[rows].array
    answer["group"] = pd.factorize(codes[rows])[0] + 1
    first = {str(places.name): str(places.name), "group": "group"}
    columns = first | {name: str(name) for name in answer}
    return Table(answer, "Records that are duplicated, group by group", columns)
