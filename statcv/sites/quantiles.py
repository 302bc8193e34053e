"""Thresholds of a covariate on which sites agree, from two rounds of counts.

In the first round each site counts its values in equal bins of a public range, in the
second in narrow bins about each threshold. Neighbouring bins are joined until each
count is 0 or at least the agreed number, and intervals of the second round only divide
those of the first, so that no difference of two counts is smaller either. No value and
no sketch of values leaves a site.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final

import numpy as np
import pandas as pd

from statcv.arguments import MAX_BINS, check_types, check_whole
from statcv.errors import ArgumentError, ArgumentTypeError, MessageError, SiteError
from statcv.folds.strata import is_numeric, written
from statcv.formula import as_frame
from statcv.numeric.arrays import Bools, Floats, Numbers
from statcv.sites.cells import Cells, class_mass, counts_below, packed, unpacked
from statcv.sites.messages import Message
from statcv.sites.plan import CELL
from statcv.sites.site_records import check_whole_columns
from statcv.tables import Table
from statcv.words import plural

EPOCH: Final = date(1970, 1, 1)
THRESHOLDS: Final = "thresholds"
N_COARSE_BINS: Final = 256  # number of bins of the first round

# largest number of bins about each threshold in the second round, and in all
MAX_FINE_BINS_EACH: Final = 64
MAX_FINE_BINS: Final = 1024


@dataclass(frozen=True, eq=False)
class AgreedThresholds:
    """Thresholds on which sites agree; :func:`statcv.by_quantile` takes them.

    Attributes
    ----------
    column : str
    values : tuple of float or date
        The thresholds, rising.
    per_fold : int
        Number of bins of each fold.
    table : pandas.DataFrame
        For each threshold the share of records that should lie below it (``wanted``),
        the estimated share (``below``), and the least and the largest share that the
        counts allow (``least``, ``most``).
    bytes_sent : dict
        Number of bytes that each site has sent.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> data = scv.load_data("ehr")
    >>> at = {name: data.iloc[i::3] for i, name in enumerate("ABC")}
    >>> found = sites.thresholds(at, "x1", low=-8, high=8, k=4)
    >>> found.column, len(found), sorted(found.bytes_sent)
    ('x1', 3, ['A', 'B', 'C'])
    """

    column: str
    values: tuple[float, ...] | tuple[date, ...]
    per_fold: int
    table: pd.DataFrame
    bytes_sent: Mapping[str, int]

    def __iter__(self) -> Iterator[float | date]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def error(self) -> float:
        """Largest possible difference of a share from its estimate."""
        table = self.table
        sides = [table["most"] - table["below"], table["below"] - table["least"]]
        return float(np.max(sides))

    def __repr__(self) -> str:
        return (
            f"{plural(len(self), 'threshold')} of {self.column}: "
            f"{', '.join(map(str, self.values))}\nshares of records below are known "
            f"to {self.error:.2g}; at most {max(self.bytes_sent.values())} bytes from "
            f"{plural(len(self.bytes_sent), 'site')}"
        )


def thresholds(
    data: Mapping[str, Any],
    column: str,
    *,
    low: Any,
    high: Any,
    k: int = 5,
    per_fold: int = 1,
    cell: int = CELL,
) -> AgreedThresholds:
    """Find thresholds that cut the records of all sites into bins of about equal count.

    The sites are in this process, for teaching.

    Parameters
    ----------
    data : mapping of str to data frame
        The data of each site.
    column : str
        A column of numbers or dates.
    low, high : float or date
        A public range, chosen without looking at the data. Values outside of it are
        counted in its first or last bin.
    k, per_fold : int
        Number of folds, and of bins of each fold.
    cell : int, default 5
        Least number of records behind any count that is not 0.

    Returns
    -------
    AgreedThresholds
        The thresholds; its ``table`` says within which bounds the shares of records
        lie.

    Notes
    -----
    With many records in each narrow bin, the share of records below a threshold is
    within .0005 of the best. A bin with fewer than ``cell`` records is joined with its
    neighbours. Extreme values at a site show in a count of 0 next to one that is not.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import statcv as scv
    >>> from statcv import sites
    >>> ages = np.random.default_rng(1).normal(55, 15, 12_000).clip(0, 99)
    >>> three = {s: pd.DataFrame({"age": ages[i::3]}) for i, s in enumerate("ABC")}
    >>> found = sites.thresholds(three, "age", low=0, high=120, k=3)
    >>> [round((ages < one).mean().item(), 2) for one in found]
    [0.33, 0.67]
    """
    if not isinstance(data, Mapping) or not data:
        raise ArgumentTypeError(
            "data must be a mapping of sites to data frames, such as {'A': a, 'B': b}, "
            f"not {type(data).__name__}."
        )
    first = ask_counts(column, low=low, high=high, k=k, per_fold=per_fold, cell=cell)
    replies = [count_values(first, one, str(site)) for site, one in data.items()]
    second = next_ranges(first, replies)
    more = [count_values(second, one, str(site)) for site, one in data.items()]
    found = thresholds_of(second, more)
    sent = {
        str(site): len(one) + len(two)
        for site, one, two in zip(data, replies, more, strict=True)
    }
    return AgreedThresholds(column, found.values, per_fold, found.table, sent)


# ---- a site ----


def bin_edges(header: Mapping[str, Any]) -> Floats:
    """Return the rising edges that a message asks for."""
    ranges = [(header["low"], header["high"], N_COARSE_BINS)]
    ranges += [(low, high, header["fine"]) for low, high in header["ranges"]]
    parts = [lo + (hi - lo) * np.arange(1, n) / n for lo, hi, n in ranges]
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
    coarse, edges = bin_edges({**header, "ranges": []}), bin_edges(header)
    first = Cells.of(_counted(values, coarse), cell)
    cells = _divided(_counted(values, edges), np.isin(edges, coarse[first.cuts]), cell)
    told = {"site": site, "bins": len(edges) + 1}
    return bytes(Message(THRESHOLDS, told, packed([cells])))


def _divided(number: Numbers, kept: Bools, cell: int) -> Cells:
    """Return counts in intervals that divide those between edges that are kept."""
    cuts = kept.copy()
    for begin, end in pairwise([0, *np.flatnonzero(kept) + 1, len(number)]):
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


# ---- the coordinator ----


def ask_counts(
    column: str, *, low: Any, high: Any, k: int = 5, per_fold: int = 1, cell: int = CELL
) -> bytes:
    """Return the message that asks sites for counts in equal bins of a range.

    Parameters are those of :func:`thresholds`.

    Examples
    --------
    >>> from statcv import sites
    >>> message = sites.ask_counts("age", low=0, high=120, k=5)
    >>> sites.Message.of(message).kind
    'thresholds'
    """
    check_types(ask_counts, locals())
    check_whole(k, "k", least=2, most=MAX_BINS)
    check_whole(per_fold, "per_fold", least=1, most=MAX_BINS // k)
    check_whole(cell, "cell", least=1)
    ends = [number_of(low, "low"), number_of(high, "high")]
    if ends[0][1] != ends[1][1]:
        raise ArgumentTypeError("low and high must be two numbers or two dates.")
    if not ends[0][0] < ends[1][0]:
        raise ArgumentError("low must be less than high.")
    (first, dates), (last, _) = ends
    header = {"column": str(column), "dates": dates, "low": first, "high": last}
    header |= {"folds": int(k), "per_fold": int(per_fold), "cell": int(cell)}
    return bytes(Message(THRESHOLDS, {**header, "ranges": [], "fine": 0}))


def next_ranges(message: bytes, replies: Sequence[bytes]) -> bytes:
    """Return the message that asks for counts in narrow bins about each threshold.

    Parameters
    ----------
    message : bytes
        The message of :func:`ask_counts`.
    replies : sequence of bytes
        Answer of each site.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> data = scv.load_data("ehr")
    >>> at = {name: data.iloc[i::3] for i, name in enumerate("ABC")}
    >>> first = sites.ask_counts("x1", low=-8, high=8, k=4)
    >>> replies = [sites.count_values(first, own, name) for name, own in at.items()]
    >>> second = sites.next_ranges(first, replies)
    >>> sites.Message.of(second).kind
    'thresholds'
    """
    header = dict(Message.of(message).header)
    edges, read, wanted = bin_edges(header), _read(message, replies), _wanted(header)
    least, most = _shares_below([*read.values()])
    ends = np.concatenate([[header["low"]], edges, [header["high"]]])
    first = (most[:, None] <= wanted).sum(axis=0)  # edges that are surely below
    last = len(edges) + 1 - (least[:, None] >= wanted).sum(axis=0)
    header["ranges"] = np.stack([ends[first], ends[last]], axis=1).tolist()
    header["fine"] = max(8, min(MAX_FINE_BINS_EACH, MAX_FINE_BINS // len(wanted)))
    return bytes(Message(THRESHOLDS, header))


def thresholds_of(message: bytes, replies: Sequence[bytes]) -> AgreedThresholds:
    """Return the thresholds from the counts of the second round.

    Parameters
    ----------
    message : bytes
        The message of :func:`next_ranges`.
    replies : sequence of bytes
        Answer of each site.

    Raises
    ------
    SiteError
        If too many records have equal values for this number of bins.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> data = scv.load_data("ehr")
    >>> at = {name: data.iloc[i::3] for i, name in enumerate("ABC")}
    >>> first = sites.ask_counts("x1", low=-8, high=8, k=4)
    >>> replies = [sites.count_values(first, own, name) for name, own in at.items()]
    >>> second = sites.next_ranges(first, replies)
    >>> replies = [sites.count_values(second, own, name) for name, own in at.items()]
    >>> [round(one, 1) for one in sites.thresholds_of(second, replies)]
    [-0.8, 0.0, 0.9]
    """
    header = Message.of(message).header
    edges, cells = bin_edges(header), [*_read(message, replies).values()]
    n, mass = sum(int(one.counts.sum()) for one in cells), class_mass(cells)
    below = np.cumsum(sum(one.spread(mass) for one in cells))[:-1] / n
    least, most = _shares_below(cells)
    places: list[int] = []
    for wanted in _wanted(header):
        away = np.abs(below - wanted)
        tied = np.flatnonzero(away <= away.min() + 1e-6 / n)
        middle = (edges[tied[0]] + edges[tied[-1]]) / 2  # between two values
        places.append(int(tied[np.abs(edges[tied] - middle).argmin()]))
    if (np.diff(below[places]) <= 0).any():
        bins = len(places) + 1
        raise SiteError(
            f"too many records have equal values of {header['column']} for {bins} bins;"
            " ask for fewer folds, or fewer bins of each."
        )
    values: Any = tuple(edges[places].tolist())
    if header["dates"]:
        values = tuple(EPOCH + timedelta(days=int(day)) for day in values)
    shares = {"below": below, "least": least, "most": most}
    columns = {name: share[places] for name, share in shares.items()}
    told = pd.DataFrame({"threshold": values, "wanted": _wanted(header), **columns})
    sent = dict(sorted((Message.of(one).site, len(one)) for one in replies))
    caption = f"Thresholds of {header['column']}, and shares of records below"
    table = Table(told, caption)
    return AgreedThresholds(header["column"], values, header["per_fold"], table, sent)


def _shares_below(cells: Sequence[Cells]) -> Floats:
    """Return the least and the largest share of records below each edge."""
    return np.stack(counts_below(cells)) / sum(int(one.counts.sum()) for one in cells)


def _wanted(header: Mapping[str, Any]) -> Floats:
    bins = int(header["folds"]) * int(header["per_fold"])
    return np.arange(1, bins) / bins


def _read(message: bytes, replies: Sequence[bytes]) -> dict[str, Cells]:
    """Return the counts of each site, ordered by site."""
    header = Message.of(message).header
    bins, made = len(bin_edges(header)) + 1, {}
    for one in sorted(map(Message.of, replies), key=attrgetter("site")):
        if one.kind != THRESHOLDS or one.header.get("bins") != bins or one.site in made:
            raise MessageError(
                f"site {one.site}: the answer is not one to this message."
            )
        made[one.site] = unpacked(one.arrays, 1, bins)[0]
    if not made:
        raise ArgumentError("there is no answer of any site.")
    return made
