"""Columns that are text only because of how some of their numbers are written.

A code among the numbers (``<5``, ``n.d.``), a decimal comma, thousands separators or a
sign of per cent turn a column of numbers into text, whose values would be levels.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import pandas as pd

from statcv.formula.frame import is_number, shown_label
from statcv.formula.language.quoting import quoted
from statcv.formula.outcomes.outcome import FEW

SHOWN: Final = 3  # values of a kind in a message
NUMBER: Final = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_ANY: Final = r"[+-]?\d[\d.,]*"
_MONEY: Final = r"([$€£¥₹]|EUR|USD|GBP|CHF|JPY)"
_GAP: Final = "[ '\u2019\u00a0\u2009\u202f]"
_DECIMAL: Final = 'read the file with --decimal "," (in Python: decimal=",")'
_MISSING: Final = "with --missing {words} (in Python: missing=[{python}])"

# kinds of values that are not plain numbers, in the order in which they are tried: the
# pattern, what the values are called, and a remedy that loses no value
KINDS: Final = {
    "sign": (
        rf"{_ANY}\s*%|{_MONEY}\s*{_ANY}|{_ANY}\s*{_MONEY}",
        "with a per cent sign or a currency",
        "take the sign off, and divide per cent by 100, which makes them shares",
    ),
    "mark": (
        rf"[+-]?[1-9]\d{{0,2}}((,\d{{3}})+\.\d*|(,\d{{3}}){{2,}}|(\.\d{{3}})+,\d+|"
        rf"(\.\d{{3}}){{2,}}|({_GAP}\d{{3}})+([.,]\d+)?)|[\u2012-\u2014\u2212]{_ANY}",
        "with a mark between thousands, or a dash for the minus sign",
        "take out what separates thousands, and write the minus sign as '-'",
    ),
    "either": (
        r"[+-]?[1-9]\d{0,2},\d{3}",
        "with a comma",
        "{first!r} may be {joined}, with a comma between thousands, or {pointed}; if "
        f"the comma is the decimal point, {_DECIMAL}; if it separates thousands, take "
        "it out (in Python: data[{name!r}].str.replace(',', ''))",
    ),
    "decimal": (
        r"[+-]?\d*,\d+([eE][+-]?\d+)?",
        "with a decimal comma",
        f"{_DECIMAL}, where no number has a point",
    ),
    "limit": (
        rf"[<>≤≥]\s*=?\s*{_ANY}",
        "that are limits",
        "put a number in the place of each, such as half the limit, or count it as "
        f"missing {_MISSING}",
    ),
    "code": (
        ".*",
        "that are not numbers",
        f"if these mean that the value is missing, read the file {_MISSING}; if the "
        "column is a factor, write C({quoted}) in the formula",
    ),
}


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
    for kind, (_, called, remedy) in KINDS.items():
        own = np.flatnonzero(kinds == kind)
        if not len(own):
            continue
        shown = ", ".join(
            f"{texts[i]!r} in row {shown_label(values.index[first[i]])}"
            for i in own[:SHOWN]
        )
        said, one = [f'"{text}"' for text in texts[own[:FEW]]], texts[own[0]]
        advice = remedy.format(
            name=name,
            quoted=quoted(name),
            words=" ".join(said),
            python=", ".join(said),
            first=one,
            joined=one.replace(",", ""),
            pointed=one.replace(",", ".").rstrip("0").rstrip("."),
        )
        counted = f"{counts[own].sum()} of {len(values)}; first: {shown}"
        parts.append(f"values {called} ({counted}): {advice}")
    return f"column {name!r} is text, since it has {'; and '.join(parts)}.", sure


def _kind(text: str) -> str:
    """Return the kind of a value: a number, or one of the others."""
    patterns = {"number": NUMBER, **{kind: row[0] for kind, row in KINDS.items()}}
    return next(kind for kind, own in patterns.items() if re.fullmatch(own, text, re.S))


def why_text(column: pd.Series[Any], name: str) -> str:
    """Return the sentence of :func:`text_numbers` after a blank, or nothing."""
    found = text_numbers(column, name)
    return "" if found is None else f" {found[0]}"
