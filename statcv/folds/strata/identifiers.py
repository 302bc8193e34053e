"""The written form of a value, which identifies it and is hashed."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Set
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Final

import numpy as np
import pandas as pd

from statcv.errors import ArgumentTypeError, DataError
from statcv.numeric.arrays import Numbers

INTEGERS: Final = "iu"  # kinds of dtype whose distinct values have distinct forms
SEPARATOR: Final = "\x1f"  # the unit separator, which the edges of a text never keep


def normalise(value: Any) -> str:
    r"""Return the written form of a value, which is what is hashed.

    - Text: Unicode NFC, without the white space around it (what ``str.strip()`` takes
      off: Unicode's White_Space and U+001C to U+001F). Case, inner space and leading
      zeros stay. Empty text is a value; numbers and dates in text are not parsed.
    - Integers, also as floats and decimals: digits. 1, 1.0 and Decimal("1.00")
      are ``1``, -0.0 is ``0``. Long identifiers belong in text or integers: a float
      above 2**53 lost digits when it was read.
    - Other numbers: ``repr`` of the float (float32 widened, decimals rounded to it).
    - Dates and times: the day, ``YYYY-MM-DD``; the time of day is cut off, a time
      zone not converted.
    - Refused: truth values (to Python True equals 1, and every database writes it in
      its own way), bytes (their encoding is unknown), infinity, and what is missing.

    Examples
    --------
    >>> normalise("  Ame\u0301lie "), normalise(7.0), normalise("007")
    ('Amélie', '7', '007')
    """
    if isinstance(value, str):
        return _written_text(value)
    if pd.api.types.is_scalar(value) and pd.isna(value):
        raise _missing(1, 1, "values")
    if isinstance(value, (Real, Decimal)) and not isinstance(value, bool):
        return _written_number(value)
    if isinstance(value, date):
        return (value.date() if isinstance(value, datetime) else value).isoformat()
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[D]"))
    raise DataError(
        f"a value of type {type(value).__name__} cannot be hashed; text, numbers "
        "and dates can; turn it into text, the same wherever it is hashed."
    )


def _written_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"text that is not valid Unicode cannot be hashed ({error.reason}); read "
            "the data with the encoding in which they were written."
        ) from None
    return unicodedata.normalize("NFC", text).strip()


def _written_number(value: Any) -> str:
    if not isinstance(value, (int, Integral)):
        if not math.isfinite(value):
            raise DataError("an infinite number cannot be hashed.")
        if value != int(value):
            return repr(float(value))
    return str(int(value))


def written(values: Any) -> tuple[list[str], Numbers]:
    r"""Return the distinct written forms, and which of them each value has.

    Parameters
    ----------
    values : Series, Index, array, list or DataFrame
        None may be missing (:func:`check_present`). Columns of a frame are joined:
        their written forms, in order, with U+001F between them.

    Raises
    ------
    DataError
        If a value has no written form, or one of several columns holds U+001F inside
        a text, which would make it two parts.

    Examples
    --------
    >>> written([7, "a", 7.0, " a"])
    (['7', 'a'], array([0, 1, 0, 1]))
    >>> written(pd.DataFrame({"born": ["1970-01-02"], "sex": ["f"]}))
    (['1970-01-02\x1ff'], array([0]))
    """
    if isinstance(values, pd.DataFrame):
        return _joined(values)
    column, codes = as_series(values), None
    kind, own = column.dtype.kind, (np.dtype, pd.DatetimeTZDtype)  # not Arrow's
    if kind == "M" and isinstance(column.dtype, own):
        column = pd.Series(column.dt.tz_localize(None).dt.floor("D"))
    items: Any = column
    if column.dtype != object and not isinstance(column.dtype, pd.StringDtype):
        codes, items = pd.factorize(column)  # among objects True would pass for 1
    texts = [*map(normalise, items.tolist())]
    # a dictionary, since pandas before 3 ends texts at a null character
    place = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    same = np.array([place[text] for text in texts], dtype=np.intp)
    return list(place), same if codes is None else same[codes]


def _joined(frame: pd.DataFrame) -> tuple[list[str], Numbers]:
    columns = [written(column) for _, column in frame.items()]
    if not columns:
        raise ArgumentTypeError("values must have a column at least.")
    if len(columns) == 1:
        return columns[0]
    for name, (texts, _) in zip(frame.columns, columns, strict=True):
        if any(SEPARATOR in text for text in texts):
            raise DataError(
                f"column {name!r} holds the control character U+001F, which stands "
                "between columns that are hashed together; take it out."
            )
    (joined, codes), *others = columns
    for texts, part in others:
        pairs = codes.astype(np.int64) * len(texts) + part
        codes, distinct = pd.factorize(pairs)
        left, right = np.divmod(distinct, max(len(texts), 1))
        both = zip(left, right, strict=True)
        joined = [f"{joined[i]}{SEPARATOR}{texts[j]}" for i, j in both]
    return joined, codes


def one_column(values: Any) -> Any:
    """Return values that can be sliced, or raise if they are not a column."""
    if isinstance(values, (list, pd.DataFrame)):
        return values
    if getattr(values, "ndim", 1) == 1:
        if isinstance(values, (pd.Series, pd.Index, pd.Categorical, np.ndarray)):
            return values
        whole = isinstance(values, (str, bytes, Mapping, Set))
        if isinstance(values, Iterable) and not whole:
            return list(values)
    raise ArgumentTypeError(
        f"values must be one column or list, not {type(values).__name__}."
    )


def as_series(values: Any) -> pd.Series[Any]:
    """Return a column as a series, a list as one of objects."""
    column = one_column(values)
    if isinstance(column, list) or column.dtype == object:
        return pd.Series(column, dtype=object)
    return pd.Series(column)


def count_missing(values: Any) -> int:
    """Return how many values of a column are missing."""
    column = as_series(values)
    absent = column.isna().to_numpy()
    if column.dtype.kind == "f" and not isinstance(column.dtype, np.dtype):
        absent = absent | np.isnan(column.to_numpy(dtype=float, na_value=np.nan))
    return int(absent.sum())


def check_present(values: Any) -> None:
    """Raise a DataError that counts what is missing, of a frame in the first column."""
    framed = isinstance(values, pd.DataFrame)
    for name, column in values.items() if framed else [("", values)]:
        if count := count_missing(column):
            of = f"values of {name!r}" if framed else "values"
            raise _missing(count, len(values), of)


def _missing(count: int, n: int, values: str) -> DataError:
    return DataError(
        f"{count} of {n} {values} to hash {'is' if count == 1 else 'are'} missing, and "
        "what is missing has no fold; leave those rows out (data.dropna(subset=[…])), "
        "or give each an identifier of its own."
    )
