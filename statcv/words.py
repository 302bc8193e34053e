"""Lists, counts, shares and p-values in words, for messages, summaries and plots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from configparser import ConfigParser
from functools import cache
from importlib import resources

DIGITS = 2  # decimals of an estimate without an interval
ROUNDING = 1e-11  # a quarter of an interval that is rounding
SAME = 1e-6  # the share of the widest interval below which one is rounding


def plural(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> plural(1, "split"), plural(3, "split")
    ('1 split', '3 splits')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def listed(
    names: Sequence[object],
    count: int | None = None,
    most: int = 6,
    between: str = ", ",
    noun: str = "",
) -> str:
    """Return the first names with commas, and how many more there are.

    >>> listed(list("abc")), listed(list("abcd"), most=2), listed(list("ab"), 9)
    ('a, b, c', 'a, b and 2 more', 'a, b and 7 more')
    >>> listed(list("abcd"), most=2, between="; ", noun=" columns")
    'a; b; and 2 more columns'
    """
    shown = between.join(map(str, names[:most]))
    more = (len(names) if count is None else count) - min(len(names), most)
    last = " and" if between == ", " else f"{between}and"
    return f"{shown}{last} {more:,} more{noun}" if more else shown


def joined(parts: Sequence[object]) -> str:
    """Return all parts, the last of them after "and".

    >>> joined(["a"]), joined(["a", "b"]), joined(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    *first, last = map(str, parts)
    return f"{', '.join(first)} and {last}" if first else last


def percent(share: float) -> str:
    """Return a share, such as the level of an interval, in percent.

    >>> percent(0.95), percent(0.975)
    ('95%', '97.5%')
    """
    return f"{100 * share:g}%"


def p_value(p: float) -> str:
    """Return a p-value as it stands in a column of a table.

    >>> p_value(0.0321), p_value(2e-7), p_value(float("nan"))
    ('0.032', '<0.0001', '–')
    """
    if math.isnan(p):
        return "–"
    return "<0.0001" if p < 1e-4 else f"{p:.2g}" if p < 0.01 else f"{p:.3f}"


def p_in_words(p: float, digits: str = ".4f") -> str:
    """Return a p-value as it stands in a sentence, in digits of this format.

    >>> p_in_words(0.03214), p_in_words(0.03214, ".2g"), p_in_words(2e-7)
    ('p = 0.0321', 'p = 0.032', 'p < 0.0001')
    """
    return "p < 0.0001" if p < 1e-4 else f"p = {p:{digits}}"


def with_interval(value: str, lower: str, upper: str) -> str:
    """Return an estimate with its limits, all rounded already, as papers print it.

    >>> with_interval("0.68", "0.58", "0.77"), with_interval("0.68", "–", "–")
    ('0.68 (0.58 to 0.77)', '0.68')
    """
    return value if lower == upper == "–" else f"{value} ({lower} to {upper})"


def with_limits(
    value: float,
    lower: float,
    upper: float,
    level: float = 0.95,
    digits: int | None = None,
) -> str:
    """Return a number with its interval, as it stands in a sentence.

    >>> with_limits(0.7913, 0.6942, 0.8714), with_limits(52.13, 48.0, 60.0)
    ('0.79 (95% CI 0.69 to 0.87)', '52.1 (95% CI 48.0 to 60.0)')
    >>> with_limits(0.79, 0.69, 0.87, 0.9, digits=1), with_limits(0.5, math.nan, 1.0)
    ('0.8 (90% CI 0.7 to 0.9)', '0.50 (no interval)')
    """
    if digits is None:
        digits = limits_digits(lower, upper)
    shown = [_rounded(one, digits) for one in (value, lower, upper)]
    if math.isnan(lower) or math.isnan(upper):
        return f"{shown[0]} (no interval)"
    return f"{shown[0]} ({percent(level)} CI {shown[1]} to {shown[2]})"


def limits_digits(lower: float, upper: float) -> int:
    """Return the decimals of an estimate with its interval, wherever it is printed.

    They are two where a quarter of the width of the interval is from 0.01 to 1, one
    more for each power of ten below, and one less for each above.

    >>> limits_digits(0.61, 0.82), limits_digits(48.0, 60.0), limits_digits(0.86, 0.87)
    (2, 1, 3)
    >>> limits_digits(-1e-16, 1e-16)
    2
    """
    quarter = (upper - lower) / 4
    if not (math.isfinite(quarter) and quarter > ROUNDING):
        return DIGITS
    places = 1 - math.floor(math.log10(quarter)) - (quarter < 0.1)
    return int(min(max(places, 0), 12))


def shared_digits(lower: Iterable[float], upper: Iterable[float]) -> int:
    """Return the decimals of a column of estimates: those of the narrowest interval.

    >>> shared_digits([0.61, 0.86, math.nan], [0.82, 0.87, 1.0])
    3
    >>> shared_digits([-0.2, -1e-15], [0.1, 1e-15])
    2
    """
    pairs = [(low, high) for low, high in zip(lower, upper, strict=True) if low < high]
    # what does not vary but for rounding needs no decimals
    least = max((high - low for low, high in pairs), default=0.0) * SAME
    seen = [pair for pair in pairs if pair[1] - pair[0] > least]
    return max((limits_digits(*pair) for pair in seen), default=DIGITS)


def _rounded(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    return f"{round(value, digits) + 0.0:.{digits}f}"


def stated(label: str, how: str) -> str:
    """Return the label of a metric with the way in which folds are combined.

    >>> stated("auROC", "per_fold")
    'auROC (per fold)'
    """
    return f"{label} ({how.replace('_', ' ')})"


def sentence_case(text: str) -> str:
    """Return a text with a capital letter first.

    >>> sentence_case("five-fold cross-validation")
    'Five-fold cross-validation'
    """
    return f"{text[0].upper()}{text[1:]}"


def sentence(text: str) -> str:
    """Return a clause as a sentence: a capital letter first, and a full stop.

    >>> sentence("measured coverage was 0.94")
    'Measured coverage was 0.94.'
    """
    return f"{sentence_case(text)}{'' if text.endswith('.') else '.'}"


@cache
def stored_sections(room: str, file: str) -> ConfigParser:
    """Return a file of a room that has sections with named texts.

    >>> stored_sections("statcv.datasets", "published.ini")["cfs data"]["name"]
    'cfs_vogl.csv'
    """
    made = ConfigParser(interpolation=None)
    made.read_string(resources.files(room).joinpath(file).read_text("utf-8"))
    return made


@cache
def stored_rows(room: str, file: str) -> tuple[tuple[str, ...], ...]:
    """Return the lines of a table that is a file of a room, each split into its cells.

    >>> stored_rows("statcv.inference.refits", "optimism.txt")[0][0]
    'cross_validated'
    """
    text = resources.files(room).joinpath(file).read_text("utf-8")
    return tuple(tuple(line.split(" | ")) for line in text.splitlines())


def stored_texts(room: str, file: str) -> dict[str, str]:
    """Return the texts of a table of names and texts, by name.

    >>> stored_texts("statcv.metrics", "usual.txt")["binary"].split()[0]
    'auroc'
    """
    return {row[0]: row[1] for row in stored_rows(room, file)}
