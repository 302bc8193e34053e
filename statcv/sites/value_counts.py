"""Counts of a site's values in bins about thresholds, none of which is small."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ArgumentError, ArgumentTypeError, MessageError, SiteError
from statcv.folds.strata import is_numeric, written
from statcv.formula import as_frame
from statcv.sites.cells import Cells
from statcv.sites.messages import Message
from statcv.sites.record_folds import check_whole_columns
from statcv.sites.scores import packed

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

EPOCH: Final = date(1970, 1, 1)
THRESHOLDS: Final = "thresholds"
N_COARSE_BINS: Final = 256  # number of bins of the first round


def bin_edges(header: Mapping[str, Any]) -> Floats:
    """Return the rising edges that a message asks for."""
    ranges = [(header["low"], header["high"], N_COARSE_BINS)]
    ranges += [(low, high, header["fine"]) for low, high in header["ranges"]]
    parts = [
        low + (high - low) * np.arange(1, count) / count for low, high, count in ranges
    ]
    edges = np.concatenate(parts)
    return np.unique(np.ceil(edges) if header["dates"] else edges)


def count_values(message: bytes, data: Any, site: str) -> bytes:
    """Answer a message with counts, none of which is small.

    A site answers each of the two rounds once, for a range that it has agreed to: the
    difference of answers in other ranges can reveal a record.

    Parameters
    ----------
    message : bytes
        The message of :func:`ask_counts` or :func:`next_ranges`.
    data : data frame
        Data of the site.
    site : str

    Raises
    ------
    SiteError
        If the column is missing, is of another kind, or has missing values.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> data = scv.load_data("ehr")
    >>> at = {name: data.iloc[i::3] for i, name in enumerate("ABC")}
    >>> first = sites.ask_counts("x1", low=-8, high=8, k=4)
    >>> replies = [sites.count_values(first, own, name) for name, own in at.items()]
    >>> sites.Message.of(replies[0]).kind
    'thresholds'
    """
    asked = Message.of(message)
    if asked.kind != THRESHOLDS:
        raise MessageError("the message does not ask for counts of values.")
    header = asked.header
    values = _values(data, header["column"], bool(header["dates"]), site)
    cell = int(header["cell"])
    if len(values) < cell:
        raise SiteError(f"site {site}: fewer than {cell} records.")
    coarse = bin_edges({**header, "ranges": []})
    first = Cells.of(_counted(values, coarse), cell)
    edges = bin_edges(header)
    counts = _counted(values, edges)
    kept = np.isin(edges, coarse[first.cuts])
    cells = _divided(counts, kept, cell)
    told = {"site": site, "bins": len(edges) + 1}
    return bytes(Message(THRESHOLDS, told, packed([cells])))


def _divided(counts: Numbers, kept: NDArray[np.bool_], cell: int) -> Cells:
    """Return counts in intervals that divide those between edges that are kept."""
    cuts = kept.copy()
    starts = np.concatenate([[0], np.flatnonzero(kept) + 1, [len(counts)]])
    for begin, end in pairwise(starts):
        cuts[begin : end - 1] = Cells.of(counts[begin:end], cell).cuts
    return Cells.cut(counts, cuts)


def _counted(values: Floats, edges: Floats) -> Numbers:
    place = np.searchsorted(edges, values, side="right")
    return np.bincount(place, minlength=len(edges) + 1)


def _values(data: Any, column: str, dates: bool, site: str) -> Floats:
    """Return a column as numbers, dates as days since 1970-01-01."""
    frame = as_frame(data)
    check_whole_columns(frame, [column], site)
    values = frame[column]
    numeric = is_numeric(values)
    if numeric == dates:
        raise SiteError(
            f"site {site}: column {column!r} is of type {values.dtype}, and the range "
            f"is one of {'dates' if dates else 'numbers'}."
        )
    if numeric:
        return np.asarray(values.astype(float), dtype=np.float64) + 0.0
    try:
        texts, codes = written(values)
        days = np.array(texts, dtype="datetime64[D]").astype(np.int64)
    except ValueError:
        raise SiteError(
            f"site {site}: column {column!r} has values that are not dates."
        ) from None
    return days.astype(np.float64)[codes]


def number_of(value: Any, name: str) -> tuple[float, bool]:
    """Return an end of a range as a number, and whether it is a date."""
    try:
        if isinstance(value, (str, date, np.datetime64)):
            day = np.datetime64(pd.Timestamp(value).date(), "D")
            return float(day.astype(np.int64)), True
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(f"{name} must be a number or a date.") from None
    if not np.isfinite(number):
        raise ArgumentError(f"{name} must be finite.")
    return number, False


def shown_as(edge: float, header: Mapping[str, Any]) -> float | date:
    """Return an edge as a number, or as a date if the range is one of dates."""
    return EPOCH + timedelta(days=int(edge)) if header["dates"] else float(edge)
