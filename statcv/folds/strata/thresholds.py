"""Thresholds of a covariate: numbers or days, checked, and their bins as text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Final

import numpy as np
import pandas as pd

from statcv.errors import ArgumentError, ArgumentTypeError, DataError
from statcv.numeric.arrays import Array, Floats, Ints
from statcv.tables import Printed

EXACT = 2**53  # beyond it floats skip integers
_DAY = re.compile(r"\d{4,}-\d\d-\d\d")
_BIN = re.compile(r"[\[(](\S+), (\S+)\)")


@dataclass(frozen=True, repr=False)
class Thresholds(Printed):
    """Rising thresholds: the lowest value of each bin but the first.

    Attributes
    ----------
    values : tuple of float
        Numbers, or days since 1970-01-01.
    dates : bool
        Whether they are days.

    Examples
    --------
    >>> Thresholds.of([35.5, 56]).bins
    ['(-inf, 35.5)', '[35.5, 56)', '[56, inf)']
    >>> Thresholds.of(["1990-01-01"]).array
    array(['1990-01-01'], dtype='datetime64[D]')
    """

    values: tuple[float, ...]
    dates: bool

    @classmethod
    def of(cls, given: Any) -> Thresholds:
        """Check thresholds as a caller gives them.

        Raises
        ------
        ArgumentTypeError
            If they are not a list of numbers or a list of dates.
        ArgumentError
            If the list is empty, or a threshold is missing, infinite or out of order.
        """
        many = isinstance(given, Iterable) and getattr(given, "ndim", 1) == 1
        if not many or isinstance(given, (str, bytes, Mapping, Set)):
            raise ArgumentTypeError(
                f"thresholds must be a list of numbers or dates, not {given!r}."
            )
        read = [_number_or_day(value) for value in given]
        if not read:
            raise ArgumentError("thresholds is empty; give at least one.")
        kinds = {is_day for _, is_day in read}
        if len(kinds) > 1:
            raise ArgumentTypeError("thresholds mix numbers and dates; give one kind.")
        made = cls(tuple(number for number, _ in read), kinds.pop())
        if len(wrong := np.flatnonzero(np.diff(made.bounds) <= 0)):
            before, after = made.texts[wrong[0]], made.texts[wrong[0] + 1]
            raise ArgumentError(
                f"thresholds must rise, but {after} comes after {before}."
            )
        return made

    def __len__(self) -> int:
        return len(self.values)

    @property
    def bounds(self) -> Floats:
        """The thresholds as floats, days as days since 1970-01-01."""
        return np.array(self.values, dtype=np.float64)

    @property
    def array(self) -> Array:
        """The thresholds as a user reads them: floats, or days (datetime64)."""
        if not self.dates:
            return self.bounds
        return self.bounds.astype(np.int64).astype("datetime64[D]")

    @property
    def texts(self) -> list[str]:
        """Each threshold as text, from which it can be read exactly."""
        return [as_text(number, self.dates) for number in self.values]

    @property
    def listed(self) -> str:
        """The thresholds as a list in print, the first and the last of many."""
        texts, many = self.texts, len(self) > 6
        return f"[{', '.join([*texts[:3], '…', texts[-1]] if many else texts)}]"

    @property
    def bins(self) -> list[str]:
        """The half-open interval of each bin as text."""
        return intervals(self.texts)


def as_text(number: float, is_day: bool) -> str:
    """Return a number in the fewest digits that give it exactly, a day in ISO form."""
    if is_day:
        return str(np.datetime64(int(number), "D"))
    return repr(float(number)).removesuffix(".0")


def intervals(texts: list[str]) -> list[str]:
    """Return the intervals between thresholds as text.

    Examples
    --------
    >>> intervals(["35.5"])
    ['(-inf, 35.5)', '[35.5, inf)']
    """
    lows = ["(-inf", *(f"[{text}" for text in texts)]
    return [f"{low}, {high})" for low, high in zip(lows, [*texts, "inf"], strict=True)]


def between(bins: Iterable[str]) -> list[str]:
    """Return the thresholds, in rising order, between intervals in any order.

    Raises
    ------
    DataError
        If a text is not an interval, or the intervals do not adjoin each other.

    Examples
    --------
    >>> between(["[56, inf)", "(-inf, 35.5)", "[35.5, 56)"])
    ['35.5', '56']
    """
    upper: dict[str, str] = {}
    for text in bins:
        found = _BIN.fullmatch(str(text))
        if found is None:
            raise DataError(f"bin {text!r} is not an interval such as '[35.5, 56)'.")
        if upper.setdefault(found[1], found[2]) != found[2]:
            raise DataError(f"two bins of the table begin at {found[1]}.")
    texts, at = [], "-inf"
    while at in upper:
        at = upper.pop(at)
        texts.append(at)
    if at != "inf" or upper:
        raise DataError(
            f"the bins of the table do not adjoin each other: none begins at {at}."
            if at != "inf"
            else f"bins of the table overlap: one begins at {next(iter(upper))}."
        )
    return texts[:-1]


def as_number(text: str) -> float | str:
    """Return text as a number if it is one; else the text, perhaps a date."""
    try:
        return float(text)
    except ValueError:
        return text


def _number_or_day(value: Any) -> tuple[float, bool]:
    """Return a threshold as a float, and whether it is a day."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        raise ArgumentError(f"a threshold is missing: {value!r}.")
    if isinstance(value, (str, date, np.datetime64)):
        return float(_day(value).astype(np.int64)), True
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Real, Decimal)):
        raise ArgumentTypeError(
            f"a threshold must be a number or a date, not {value!r}."
        )
    if not math.isfinite(value):
        raise ArgumentError(f"a threshold must be finite, not {value!r}.")
    if isinstance(value, Integral) and abs(int(value)) > EXACT:
        raise ArgumentError(f"threshold {value} is above 2**53, which floats skip.")
    return float(value) + 0.0, False


def _day(value: Any) -> Any:
    """Return a date as a day, or say why it is not one."""
    if isinstance(value, str):
        try:
            if _DAY.fullmatch(value.strip()):
                return np.datetime64(value.strip(), "D")
        except ValueError:
            pass
        raise ArgumentTypeError(
            f"threshold {value!r} is text that is not a date such as '1990-01-31'."
        )
    if isinstance(value, np.datetime64):
        day = value.astype("datetime64[D]")
        midnight = day == value
    else:
        timed = isinstance(value, datetime)
        day = np.datetime64((value.date() if timed else value).isoformat(), "D")
        midnight = not timed or value.time() == time()
    if not midnight:
        raise ArgumentError(
            f"threshold {value} has a time of day, but dates count by day."
        )
    return day


# ---- where to cut values, in order, into bins of about equal count ----


_EXACT: Final = 1500  # values up to which every choice is compared
_NEVER: Final = np.int64(2**62)


def even_cuts(counts: Any, bins: int) -> Ints:
    """Return where to cut distinct values, in order, into bins of about equal count.

    The sum of squared bin sizes is least, and so is their variance: sizes differ by at
    most one if possible. No bin is empty. Every choice of cuts is compared (dynamic
    programming) for up to some thousand values; with more, cuts near those of
    successively finer grids.

    Parameters
    ----------
    counts : array-like of int
        Number of records with each distinct value, rising; at least ``bins`` values.
    bins : int

    Returns
    -------
    numpy.ndarray of int64, shape (bins - 1,)
        The number of values below each cut.

    Examples
    --------
    >>> even_cuts([40, 15, 15, 15, 15], bins=3)
    array([1, 3])
    """
    below = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    values = len(below) - 1
    if values <= _EXACT and bins * values * values <= 10**8:
        return _least_squares(below, [np.arange(1, values)] * (bins - 1))
    return _coarse_to_fine(below, bins)


def _least_squares(below: Ints, places: list[Ints]) -> Ints:
    """Choose one place for each cut, rising, with the least sum of squared sizes."""
    before, cost = np.array([0]), np.array([0], dtype=np.int64)
    back = []
    for here in [*places, np.array([len(below) - 1])]:
        sizes = below[here][:, None] - below[before]
        total = np.where(here[:, None] > before, cost + sizes * sizes, _NEVER)
        best = total.argmin(axis=1)
        back.append(best)
        before, cost = here, np.minimum(total[np.arange(len(here)), best], _NEVER)
    cuts, at = np.empty(len(places), dtype=np.int64), back[-1][0]
    for j in range(len(places) - 1, -1, -1):
        cuts[j], at = places[j][at], back[j][at]
    return cuts


def _coarse_to_fine(below: Ints, bins: int) -> Ints:
    """Choose cuts on a coarse grid, then near them on finer ones.

    The excess of a heavy value over a bin's share says nothing about where the others
    should be cut, so the grid runs over counts capped at that share.
    """
    counts = np.diff(below)
    share = _share(counts, bins)
    mass = np.concatenate([[0.0], np.cumsum(np.minimum(counts, share))])
    last = len(below) - 1
    edge = np.arange(1, bins)[:, None]

    def cheapest(near: Ints) -> tuple[Ints, int]:
        """Choose among places near each cut, with room for the cuts beside it."""
        inside = np.clip(near, edge, last - (bins - edge))
        cuts = _least_squares(below, [np.unique(row) for row in inside])
        sizes = np.diff(below[np.concatenate([[0], cuts, [last]])])
        return cuts, int((sizes * sizes).sum())

    right = np.searchsorted(mass, (edge + np.arange(-64, 65) / 4) * share)
    cuts, least = cheapest(np.hstack([right - 1, right]))
    step = share / 4
    while True:
        step = step / 8
        near = mass[cuts][:, None] + np.arange(-16, 17) * step
        beside, before = cuts[:, None] + np.arange(-8, 9), least
        cuts, least = cheapest(np.hstack([np.searchsorted(mass, near), beside]))
        if step <= 1 and least == before:
            return cuts


def _share(counts: Ints, bins: int) -> float:
    """Return the size of a bin if heavier values have bins of their own."""
    heaviest = np.sort(counts)[::-1]
    rest = counts.sum() - np.concatenate([[0], np.cumsum(heaviest[: bins - 1])])
    shares = rest / (bins - np.arange(bins))
    fits = heaviest[:bins] <= shares
    return float(shares[fits.argmax()] if fits.any() else shares[-1])
