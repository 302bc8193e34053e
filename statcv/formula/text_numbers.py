"""Columns that are text only because of how some of their numbers are written.

A code among the numbers (``<5``, ``n.d.``), a decimal comma, thousands separators or a
sign of per cent turn a column of numbers into text, whose values would be levels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd

from statcv.errors import MissingDataWarning, warn
from statcv.formula.frame import is_number, shown_label
from statcv.formula.language.quoting import quoted
from statcv.formula.outcomes.outcome import CODES, FEW
from statcv.words import plural, stored_sections

SHOWN: Final = 3  # values of a kind in a message
DATE: Final = r"\d{4}([-/.])\d{1,2}\1\d{1,2}([ T].*)?|\d{1,2}([-/.])\d{1,2}\3\d{2,4}"
MOST_COLUMNS: Final = 100  # columns among whose numbers codes are looked for
MISSING: Final = frozenset(["", ".", "..", "?", "na", "n/a", "#n/a", "nan"])
NUMBER: Final = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"


# the kinds of text that is not a plain number, with their remedies
KINDS = partial(stored_sections, "statcv.formula", "text_kinds.ini")


def text_numbers(column: pd.Series[Any], name: str) -> tuple[str, bool] | None:
    """Say why a column of numbers is text; None if it is anything else.

    Parameters
    ----------
    column : pandas.Series
    name : str

    Returns
    -------
    sentence : str
        The column, the first values and their rows, and what to do.
    sure : bool
        Whether the values are numbers beyond doubt. Otherwise there are codes among
        few different integers, and the column may be a factor.

    Examples
    --------
    >>> print(text_numbers(pd.Series(["3.1", "<5", "7.25", "8"]), "crp")[0])
    column 'crp' is text, since it has values that are limits (1 of 4; first: '<5' in \
row 1): put a number in the place of each, such as half the limit, or count it as \
missing with --missing "<5" (in Python: missing=["<5"]).
    >>> text_numbers(pd.Series(["a", "b", "7"]), "site") is None
    True
    """
    if is_number(column.dtype) or isinstance(column.dtype, pd.CategoricalDtype):
        return None
    values = column.dropna()
    try:
        codes, distinct = pd.factorize(values)
    except TypeError:  # lists and the like, which are refused elsewhere
        return None
    if not any(isinstance(value, str) for value in distinct):
        return None
    texts = np.array([str(value).strip() for value in distinct], dtype=object)
    kinds, counts = np.array([*map(_kind, texts)], dtype=object), np.bincount(codes)
    strange, plain = kinds == "code", kinds == "number"
    padded = [text for text in texts if re.fullmatch(r"0\d+", text)]
    if plain.all() and padded:
        return (
            f"column {name!r} is text of numbers with leading zeros, such as "
            f"{padded[0]!r}; if it is a quantity, pd.to_numeric(data[{name!r}]) makes "
            "numbers of it."
        ), False
    if plain.all() and len(texts) > FEW and any(float(text) % 1 for text in texts):
        return (
            f"column {name!r} is text of numbers, such as {texts[0]!r}; "
            f"pd.to_numeric(data[{name!r}]) makes numbers of it."
        ), False
    if len(texts) and all(re.fullmatch(DATE, text) for text in texts):
        return (
            f"column {name!r} is text of dates, such as {texts[0]!r}; if it is a time, "
            f"pd.to_datetime(data[{name!r}]) makes dates of it, and the days between "
            "two dates are a number."
        ), False
    many = strange.sum() > FEW or 2 * counts[strange].sum() >= len(values)
    if plain.all() or many or np.isin(kinds, ["code", "limit"]).all():
        return None
    numbers = {float(text) for text in texts[plain]}
    if "decimal" in kinds:  # one clear comma settles what the others are
        kinds[kinds == "either"] = "decimal"
    elif "mark" in kinds or any("." in text for text in texts[plain]):
        kinds[kinds == "either"] = "mark"
    sure = bool((kinds[~plain] != "code").any() or len(numbers) > FEW)
    sure = sure or any(number % 1 for number in numbers)
    if not sure and not all(isinstance(value, str) for value in distinct):
        return None
    first = np.unique(codes, return_index=True)[1]
    parts = []
    for kind in KINDS().sections():
        told = KINDS()[kind]
        own = np.flatnonzero(kinds == kind)
        if not len(own):
            continue
        shown = ", ".join(
            f"{texts[i]!r} in row {shown_label(values.index[first[i]])}"
            for i in own[:SHOWN]
        )
        said, one = [f'"{text}"' for text in texts[own[:FEW]]], texts[own[0]]
        advice = told["remedy"].format(
            name=name,
            quoted=quoted(name),
            words=" ".join(said),
            python=", ".join(said),
            first=one,
            joined=one.replace(",", ""),
            pointed=one.replace(",", ".").rstrip("0").rstrip("."),
        )
        counted = f"{counts[own].sum()} of {len(values)}; first: {shown}"
        parts.append(f"values {told['called']} ({counted}): {advice}")
    return f"column {name!r} is text, since it has {'; and '.join(parts)}.", sure


def _kind(text: str) -> str:
    """Return the kind of a value: a number, or one of the others."""
    read = KINDS()
    known = {kind: read[kind]["pattern"] for kind in read.sections()}
    patterns = {"number": NUMBER, **known}
    return next(kind for kind, own in patterns.items() if re.fullmatch(own, text, re.S))


def why_text(column: pd.Series[Any], name: str) -> str:
    """Return the sentence of :func:`text_numbers` after a blank, or nothing."""
    found = text_numbers(column, name)
    return "" if found is None else f" {found[0]}"


def means_missing(text: str) -> bool:
    """Return whether a text usually stands for a missing value.

    ``null`` does only in capitals: in small letters it is a genotype.

    >>> means_missing(" n/a "), means_missing("NULL"), means_missing("null")
    (True, True, False)
    """
    bare = text.strip()
    return bare in ("NULL", "#NULL!") or bare.casefold() in MISSING


def warn_of_missing_levels(counts: pd.Series[int], name: str) -> None:
    """Name levels such as ``"."`` that seem to stand for missing values."""
    for level, count in counts.items():
        if isinstance(level, str) and means_missing(level):
            warn(
                f"column {name!r} has the level {level!r} in {plural(count, 'row')}: "
                f"{_if_missing(level)}. Here it is a level like others.",
                MissingDataWarning,
            )


def _if_missing(code: str) -> str:
    remedy, one = KINDS()["code"]["remedy"].partition(";")[0], f'"{code}"'
    return remedy.format(words=one, python=one)


def warn_of_codes(
    columns: Mapping[str, pd.Series[Any]], classes: str | None = None
) -> None:
    """Name numbers such as -99 and 999 that seem to stand for missing values.

    They occur at least twice, and are farther from all other values than these are from
    each other, or are the only ones below 0. One beside the 0 and 1 of the outcome
    ``classes`` is named where that is read.
    """
    for name, column in columns.items() if len(columns) <= MOST_COLUMNS else ():
        if not is_number(column.dtype):
            continue
        values = column.to_numpy(float, na_value=np.nan)
        values = values[~np.isnan(values)]
        if not len(values):
            continue
        low, high = values.min().item(), values.max().item()
        for code in {low, high} & set(CODES):
            others = values[values != code]
            count, apart = len(values) - len(others), np.abs(others - code)
            if count == 1 or not len(others) or np.ptp(others) == 0:
                continue
            if name == classes and np.isin(others, (0, 1)).all():
                continue
            alone, far = code < 0 <= others.min(), apart.min() > np.ptp(others)
            if far or alone:
                where = "far from all other" if far else "below 0, unlike all other"
                warn(
                    f"column {name!r} has {code:g} in {count} rows, {where} "
                    f"values ({others.min():g} to {others.max():g}): "
                    f"{_if_missing(f'{code:g}')}.",
                    MissingDataWarning,
                )
