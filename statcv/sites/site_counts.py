"""Counts that a site answers with, of values or of patients, none of which is small."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ArgumentError, ArgumentTypeError, MessageError, SiteError
from statcv.folds import ByHash, by_hash
from statcv.folds.strata import check_key, is_numeric, keyed_digest, written
from statcv.formula import as_frame
from statcv.sites.cells import Cells
from statcv.sites.messages import Message, counts
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
    number = _counted(values, edges)
    kept = np.isin(edges, coarse[first.cuts])
    cells = _divided(number, kept, cell)
    told = {"site": site, "bins": len(edges) + 1}
    return bytes(Message(THRESHOLDS, told, packed([cells])))


def _divided(number: Numbers, kept: NDArray[np.bool_], cell: int) -> Cells:
    """Return counts in intervals that divide those between edges that are kept."""
    cuts = kept.copy()
    starts = np.concatenate([[0], np.flatnonzero(kept) + 1, [len(number)]])
    for begin, end in pairwise(starts):
        cuts[begin : end - 1] = Cells.of(number[begin:end], cell).cuts
    return Cells.cut(number, cuts)


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


Counts = NDArray[np.int64]

SHARED: Final = "shared"
BITS: Final = 56  # length of a digest, in bits
MIN_BUCKETS: Final = 8  # least number of buckets for an estimate
MAX_BUCKETS: Final = 2**16  # largest number of buckets


def keyed(columns: str | Sequence[str], key: Any) -> ByHash:
    """Return the stratifier with a key, or with that of the environment."""
    return by_hash(columns) if key is None else by_hash(columns, key=key)


def count_buckets(message: bytes, data: Any, site: str, key: Any = None) -> bytes:
    """Answer with the numbers of distinct patients in buckets.

    A site answers once: the difference of answers on changed data can reveal a patient.

    Parameters
    ----------
    message : bytes
        The message of :func:`ask_buckets`.
    data : data frame
        Data of the site.
    site : str
    key : bytes or str, optional
        The key of the sites; what ``STATCV_KEY`` holds unless given.

    Raises
    ------
    SiteError
        If a column is missing, the key is another one, or there are too few patients.

    Examples
    --------
    >>> import pandas as pd
    >>> import statcv as scv
    >>> from statcv import sites
    >>> at = {
    ...     "A": pd.DataFrame({"id": range(12_000)}),
    ...     "B": pd.DataFrame({"id": range(8_000, 20_000)}),
    ... }
    >>> message = sites.ask_buckets(scv.by_hash("id", key="statcv"), tables=4)
    >>> reply = sites.count_buckets(message, at["A"], "A", key="statcv")
    >>> sites.Message.of(reply).kind
    'shared'
    """
    asked = Message.of(message)
    if asked.kind != SHARED:
        raise MessageError("the message does not ask for counts in buckets.")
    header, frame = asked.header, as_frame(data)
    who = keyed(header["columns"], key)
    if who.key.trace != header["key"]:
        raise SiteError(
            f"site {site}: the key is not the one whose name is {header['key']}."
        )
    check_whole_columns(frame, who.columns, site)
    identifiers = frame[list(who.columns)].drop_duplicates()
    made = [
        np.unique(keyed_digest(identifiers, table_key(who.key.reveal(), number)))
        for number in range(int(header["tables"]))
    ]
    found = bucket_counts(made, int(header["cell"]))
    if found.shape[1] < MIN_BUCKETS:
        raise SiteError(
            f"site {site}: {MIN_BUCKETS} buckets with at least {header['cell']} "
            "patients each cannot be made; there are too few patients."
        )
    return bytes(Message(SHARED, {"site": site}, {"buckets": counts(found)}))


def table_key(key: Any, number: int) -> bytes:
    """Return the key of a table, which no identifier has as its hash.

    Written forms have no space around them, so that the label differs from all of them.
    """
    label = f" patients shared by sites, table {number} ".encode()
    return hmac.new(check_key(key), label, hashlib.sha256).digest()


def bucket_counts(digests: Sequence[NDArray[np.uint64]], cell: int) -> Counts:
    """Count digests in the largest number of buckets none of which is small.

    Parameters
    ----------
    digests : sequence of numpy.ndarray of uint64
        Distinct digests of 56 bits, of each table.
    cell : int

    Returns
    -------
    numpy.ndarray of int, shape (tables, buckets)
        The number of buckets is a power of 2; each is the union of two neighbours of
        the next larger number.

    Examples
    --------
    >>> digests = np.arange(40, dtype=np.uint64) << np.uint64(50)
    >>> bucket_counts([digests], 5)
    array([[32,  8]])
    """
    n = max(1, min(len(one) for one in digests) // max(cell, 1))
    bits = min(int(math.log2(n)), int(math.log2(MAX_BUCKETS)))  # the mean is no less
    shift = np.uint64(BITS - bits)
    found = np.stack(
        [
            np.bincount((one >> shift).astype(np.int64), minlength=2**bits)
            for one in digests
        ]
    )
    while found.shape[1] > 1 and found.min() < cell:
        found = halved(found)
    return found


def halved(found: Counts) -> Counts:
    """Return counts in half as many buckets."""
    return np.asarray(found.reshape(len(found), -1, 2).sum(axis=2))
