"""How many patients two sites share, estimated from counts in buckets of a keyed hash.

A patient falls in the same bucket at every site, so that the counts of two sites that
share patients are correlated over buckets. The hash is another one than that of the
folds, and the coordinator, who has no key, cannot tell who is in a bucket.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from statcv.arguments import check_level, check_whole
from statcv.errors import ArgumentError, ArgumentTypeError, MessageError, SiteError
from statcv.folds import ByHash, by_hash
from statcv.folds.strata import check_key, keyed_digest
from statcv.formula import as_frame
from statcv.numeric.arrays import Ints
from statcv.sites.messages import Message, counts
from statcv.sites.plan import CELL
from statcv.sites.site_records import check_whole_columns
from statcv.tables import Table

SHARED: Final = "shared"
BITS: Final = 56  # length of a digest, in bits
MIN_BUCKETS: Final = 8  # least number of buckets for an estimate
MAX_BUCKETS: Final = 2**16  # largest number of buckets
MAX_TABLES: Final = 64  # largest number of independent hashes


@dataclass(frozen=True, eq=False)
class SharedPatients:
    """Estimated numbers of patients that pairs of sites share.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per pair of sites (``site``, ``other``): the number of ``shared``
        patients with its standard error and interval, and the number of ``buckets``.
    sites : pandas.DataFrame
        For each site the number of ``patients`` and of ``buckets``, and ``membership``,
        the area under the ROC curve of the best guess whether a person is a patient of
        the site, by someone who has both the counts and the key.
    level : float
        Confidence level of the intervals.

    Examples
    --------
    >>> import pandas as pd
    >>> from statcv import sites
    >>> at = {
    ...     "A": pd.DataFrame({"id": range(12_000)}),
    ...     "B": pd.DataFrame({"id": range(8_000, 20_000)}),
    ... }
    >>> found = sites.shared_patients(at, "id", key="statcv", tables=4)
    >>> found.table[["site", "other", "buckets"]]
      site other  buckets
    0    A     B      512
    """

    table: pd.DataFrame
    sites: pd.DataFrame
    level: float

    def __repr__(self) -> str:
        return str(self.table)


def shared_patients(
    data: Mapping[str, Any],
    columns: str | Sequence[str] | ByHash,
    key: Any = None,
    *,
    cell: int = CELL,
    tables: int = 1,
    level: float = 0.95,
) -> SharedPatients:
    """Estimate how many patients each two of the sites share.

    The sites are in this process, for teaching.

    Parameters
    ----------
    data : mapping of str to data frame
        The data of each site.
    columns : str, list of str or by_hash
        Columns that identify a patient, or the stratifier of the folds with its key.
    key : bytes or str, optional
        The key of the sites; what the environment variable ``STATCV_KEY`` holds unless
        given. The coordinator must not have it.
    cell : int, default 5
        Least number of patients in a bucket of a site.
    tables : int, default 1
        Number of independent hashes by which each site counts. More are more precise
        and disclose more; ``membership`` of the result says how much.
    level : float, default 0.95

    Returns
    -------
    SharedPatients

    Notes
    -----
    The estimate is the correlation of the sites' counts in ``m`` buckets times the
    geometric mean of the numbers of patients, with an interval by Fisher's z. It is
    **imprecise**: its standard error is about ``sqrt(n * other / (m * tables))``. It
    shows a tenth of the patients, and seldom a hundredth. Each site takes the largest
    power of 2 of which no bucket holds fewer than ``cell`` patients; two sites are
    compared at the smaller number.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from statcv import sites
    >>> people = pd.DataFrame({"id": np.arange(20_000)})  # A and B share 4 000
    >>> two = {"A": people[:12_000], "B": people[8_000:]}
    >>> sites.shared_patients(two, "id", key="statcv", tables=4)
    Patients shared by two sites
    <BLANKLINE>
    site  other      shared (95% CI)  buckets
    A     B      3994 (3524 to 4450)      512
    <BLANKLINE>
    Further columns: se.
    """
    if not isinstance(data, Mapping) or len(data) < 2:
        raise ArgumentTypeError(
            "data must be a mapping of at least two sites to data frames, such as "
            "{'A': a, 'B': b}."
        )
    who = columns if isinstance(columns, ByHash) else keyed(columns, key)
    message = ask_buckets(who, cell=cell, tables=tables)
    replies = [
        count_buckets(message, one, str(site), who.key.reveal())
        for site, one in data.items()
    ]
    return shared_of(replies, level)


def keyed(columns: str | Sequence[str], key: Any) -> ByHash:
    """Return the stratifier with a key, or with that of the environment."""
    return by_hash(columns) if key is None else by_hash(columns, key=key)


# ---- a site ----


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
    keys = [table_key(who.key.reveal(), j) for j in range(int(header["tables"]))]
    made = [np.unique(keyed_digest(identifiers, one)) for one in keys]
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


def bucket_counts(digests: Sequence[NDArray[np.uint64]], cell: int) -> Ints:
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
    bits = int(math.log2(min(n, MAX_BUCKETS)))  # the mean is no less
    places = [(one >> np.uint64(BITS - bits)).astype(np.int64) for one in digests]
    found = np.stack([np.bincount(one, minlength=2**bits) for one in places])
    while found.shape[1] > 1 and found.min() < cell:
        found = halved(found)
    return found


def halved(found: Ints) -> Ints:
    """Return counts in half as many buckets."""
    return np.asarray(found.reshape(len(found), -1, 2).sum(axis=2))


# ---- the coordinator ----


def ask_buckets(who: ByHash, *, cell: int = CELL, tables: int = 1) -> bytes:
    """Return the message that asks sites for counts in buckets.

    Parameters
    ----------
    who : by_hash
        The columns, with the key, of which the message has six digits that do not
        reveal it.
    cell, tables : int
        As in :func:`shared_patients`.

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
    >>> sites.Message.of(message).kind
    'shared'
    """
    check_whole(cell, "cell", least=1)
    check_whole(tables, "tables", least=1, most=MAX_TABLES)
    if who.key.keyed_by == "nothing":
        raise ArgumentError(
            "key=None is a hash that anyone can make, who then finds out in which "
            "bucket each person is; the sites need a key."
        )
    told = {"columns": list(who.columns), "key": who.key.trace}
    sizes = {"cell": int(cell), "tables": int(tables)}
    return bytes(Message(SHARED, {**told, **sizes}))


def shared_of(replies: Sequence[bytes], level: float = 0.95) -> SharedPatients:
    """Estimate shared patients from the answers of :func:`count_buckets`.

    Parameters
    ----------
    replies : sequence of bytes
        Answer of each site.
    level : float, default 0.95

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
    >>> replies = [
    ...     sites.count_buckets(message, own, name, key="statcv")
    ...     for name, own in at.items()
    ... ]
    >>> sites.shared_of(replies)
    Patients shared by two sites
    <BLANKLINE>
    site  other      shared (95% CI)  buckets
    A     B      3994 (3524 to 4450)      512
    <BLANKLINE>
    Further columns: se.
    """
    check_level(level)
    found: dict[str, Ints] = {}
    for one in map(Message.of, replies):
        site, array = one.site, one.arrays.get("buckets")
        if one.kind != SHARED or array is None or array.ndim != 2 or site in found:
            raise MessageError(f"site {site}: the answer has no counts in buckets.")
        tables, m = array.shape
        known = [len(own) for own in found.values()]
        if m < MIN_BUCKETS or m & (m - 1) or tables != (known or [tables])[0]:
            raise MessageError(f"site {site}: the answer has other tables.")
        found[site] = array.astype(np.int64)
    rows = [
        {"site": a, "other": b, **estimate_shared(found[a], found[b], level)}
        for a, b in itertools.combinations(sorted(found), 2)
    ]
    own = {site: found[site] for site in sorted(found)}
    patients = np.array([int(counts[0].sum()) for counts in own.values()])
    size = np.array([counts.size for counts in own.values()])
    sites = {"patients": patients, "buckets": [c.shape[1] for c in own.values()]}
    sites["membership"] = ndtr(np.sqrt(size / patients / 2))
    each = pd.DataFrame(sites, pd.Index(own, name="site"))
    shown = ["site", "other", "shared", "buckets"]
    how: dict[str, Any] = {"limits": {"shared": ("lower", "upper")}, "digits": 0}
    caption = "Patients shared by two sites"
    table = Table(pd.DataFrame(rows), caption, shown, level=level, **how)
    return SharedPatients(table, Table(each, "Patients of each site"), level)


def estimate_shared(one: Ints, other: Ints, level: float) -> dict[str, float]:
    """Return the estimate from the counts of two sites, with its interval.

    Parameters
    ----------
    one, other : numpy.ndarray of int, shape (tables, buckets)
    level : float
    """
    while one.shape[1] != other.shape[1]:
        few, many = sorted((one, other), key=lambda counts: counts.shape[1])
        one, other = few, halved(many)
    n, n_other = int(one[0].sum()), int(other[0].sum())
    about, about_other = (c - c.mean(axis=1, keepdims=True) for c in (one, other))
    squares = float((about**2).sum() * (about_other**2).sum())
    r = float((about * about_other).sum() / math.sqrt(squares)) if squares else 0.0
    r = min(max(r, -1 + 1e-12), 1 - 1e-12)
    scale = math.sqrt(n * n_other)
    df = one.size - len(one)  # a table's counts have a known sum
    half = float(ndtri((1 + level) / 2)) / math.sqrt(df - 2)
    ends = np.tanh(np.arctanh(max(r, 0.0)) + np.array([-half, half])) * scale
    lower, upper = np.clip(ends, 0, min(n, n_other)).tolist()
    return {
        "shared": float(np.clip(r * scale, 0, min(n, n_other))),
        "se": (1 - r**2) * scale / math.sqrt(df),
        "lower": lower,
        "upper": upper,
        "buckets": one.shape[1],
    }
