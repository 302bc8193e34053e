"""Counts of a site's patients in buckets of a keyed hash, none of which is small."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from statcv.errors import MessageError, SiteError
from statcv.folds import ByHash, by_hash
from statcv.folds.strata import check_key, keyed_digest
from statcv.formula import as_frame
from statcv.sites.messages import Message, counts
from statcv.sites.record_folds import check_whole_columns

Numbers = NDArray[np.int64]

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


def bucket_counts(digests: Sequence[NDArray[np.uint64]], cell: int) -> Numbers:
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


def halved(found: Numbers) -> Numbers:
    """Return counts in half as many buckets."""
    return np.asarray(found.reshape(len(found), -1, 2).sum(axis=2))
