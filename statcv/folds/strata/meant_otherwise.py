"""Signs that a stratifier was meant otherwise.

A bare name keeps equal values together, which means nothing where no value occurs
twice; bins of a covariate mean nothing where its values are identifiers; and
identifiers that differ in case, blanks or leading zeros are often one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import FoldWarning, warn
from statcv.folds.strata.identifiers import SEPARATOR
from statcv.formula import means_missing
from statcv.numeric.arrays import Numbers
from statcv.words import listed

NAMED = re.compile(
    r"(^|[\W_])(id|ids|pid|mrn|uuid|guid|identifier|patient|subject|person|participant"
    r"|individual|household|family|nhs|ssn|barcode)(s|nr|no|num|number|code|id|_id)?"
    r"($|[\W_])",
    re.IGNORECASE,
)
DATED = re.compile(r"\d{4}-\d\d-\d\d(?=t?\d\d:\d\d)")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?")
BY_CHANCE = 1e-4  # probability below which agreement within values is not due to chance
ENOUGH = 20_000  # records that are examined


def warn_of_no_repeats(counts: Numbers, columns: Sequence[str]) -> None:
    """Warn if no value occurs twice, so that the stratifier has no effect.

    Parameters
    ----------
    counts : numpy.ndarray of int
        The number of records of each distinct value.
    columns : sequence of str
        The columns of the stratifier.
    """
    if len(counts) < 2 or counts.max() > 1:
        return
    advice = (
        f"; by_quantile({columns[0]!r}) cuts a covariate into bins, which is "
        "fold-stratification by a number"
    )
    warn(
        f"no value of {' + '.join(columns)} occurs twice among {counts.sum()} records, "
        "so that stratify= keeps nothing together: each record is its own group"
        f"{advice * (len(columns) == 1)}.",
        FoldWarning,
    )


def warn_of_missing_values(texts: Sequence[str], counts: Numbers, label: str) -> None:
    """Warn of records with a word for a missing value, which would be one cluster."""
    for text, count in zip(texts, counts.tolist(), strict=True):
        unknown = text.strip().casefold() == "unknown" or means_missing(text)
        if count > 1 and unknown:
            warn(
                f"{count} records have {text!r} in {label}, and count as one cluster; "
                "if it means that the value is missing, leave these records out, or "
                "give each a value of its own.",
                FoldWarning,
            )


def warn_of_near_values(texts: Sequence[str], label: str) -> None:
    """Warn of distinct values that are often one, such as ``7`` and ``007``.

    They differ only in case, blanks or leading zeros, or are one number (``100.0``,
    ``1e2``) or one date with and without a time.

    Parameters
    ----------
    texts : sequence of str
        Distinct written values.
    label : str
        The stratifier's columns.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_near_values(["A12", "a 12", "B7"], "patient")
    >>> str(caught[0].message)[:59]
    '2 of 3 distinct values of patient differ from another only '
    """
    alike: dict[tuple[str | Decimal, ...], list[str]] = {}
    for text in texts:
        alike.setdefault(tuple(map(_bare, text.split(SEPARATOR))), []).append(text)
    groups = [group for group in alike.values() if len(group) > 1]
    if not groups:
        return
    joined = [[text.replace(SEPARATOR, " + ") for text in group] for group in groups]
    shown = listed([" and ".join(map(repr, group)) for group in joined], most=3)
    warn(
        f"{sum(map(len, groups))} of {len(texts)} distinct values of {label} differ "
        "from another only in case, blanks or leading zeros, in how a number is "
        f"written or in the time of a day: {shown}. They count as different groups; "
        "write them alike if they are the same.",
        FoldWarning,
    )


def _bare(text: str) -> str | Decimal:
    """Return a part of a value, without what :func:`warn_of_near_values` ignores."""
    bare = "".join(text.casefold().split())
    if bare[:1].isalpha():
        return bare.removesuffix(".0")
    if NUMBER.fullmatch(bare):
        return Decimal(bare)
    dated = DATED.match(bare)
    return dated[0] if dated else bare.lstrip("0").removesuffix(".0")


def warn_of_identifier(frame: pd.DataFrame, column: str) -> None:
    """Warn where a column to be cut into bins looks like an identifier.

    Parameters
    ----------
    frame : pandas.DataFrame
        The records, whose other columns may show it.
    column : str
        The column of numbers that is cut.
    """
    sign = sign_of_identifier(frame, column)
    if sign:
        warn(
            f"by_quantile({column!r}) cuts a covariate into bins and counts records as "
            f"independent, but {column} looks like an identifier: {sign}. "
            f"stratify={column!r} keeps its equal values together, as one group each.",
            FoldWarning,
        )


def sign_of_identifier(frame: pd.DataFrame, column: str) -> str:
    """Say why a column of numbers looks like an identifier; empty if it does not.

    It is named like one, or records of one value agree in another column more than by
    chance, unless that column is a function of its order (such as an age group).

    Examples
    --------
    >>> who, bmi = np.repeat([3, 1, 4, 2], 3), np.repeat([21.4, 30.0, 25.5, 19.5], 3)
    >>> visits = pd.DataFrame({"who": who, "bmi": bmi, "age": np.arange(12) // 2 + 40})
    >>> sign_of_identifier(visits, "who")
    'records of one value have the same bmi'
    >>> sign_of_identifier(visits, "age")
    ''
    """
    frame = frame.iloc[:ENOUGH]
    values = frame[column]
    codes, distinct = pd.factorize(values, sort=True)
    if len(distinct) < 2 or len(distinct) == len(codes) or not _integral(values):
        return ""
    if NAMED.search(column) or re.search(r"[a-z](Id|ID)$", column):
        return "its name, and its repeated integers"
    surplus = len(codes) - len(distinct)
    first = np.unique(codes, return_index=True)[1]
    for other in frame.columns:
        if other == column:
            continue
        try:
            own = pd.factorize(frame[other])[0]
        except TypeError:  # a column of lists, say
            continue
        if (own != own[first][codes]).any():
            continue
        share = float(((np.bincount(own - own.min()) / len(own)) ** 2).sum())
        if share**surplus < BY_CHANCE and not _function_of_order(frame[other], first):
            return f"records of one value have the same {other}"
    return ""


def _integral(values: pd.Series[Any]) -> bool:
    if not pd.api.types.is_numeric_dtype(values):
        return pd.api.types.infer_dtype(values) == "integer"
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    return bool((numbers == np.round(numbers)).all())


def _function_of_order(values: pd.Series[Any], first: Numbers) -> bool:
    """Return whether a column, one value for each rising identifier, rises with it.

    A column that cuts it into intervals counts too: each level is one stretch.
    """
    by_value, types = values.iloc[first], pd.api.types
    if types.is_numeric_dtype(by_value) and not types.is_bool_dtype(by_value):
        steps = np.diff(by_value.to_numpy(dtype=float, na_value=np.nan))
        if (steps >= 0).all() or (steps <= 0).all():
            return True
    codes = pd.factorize(by_value)[0]
    stretches = 1 + int((codes[1:] != codes[:-1]).sum())
    return stretches == codes.max() + 1 and 2 * stretches <= len(codes)
