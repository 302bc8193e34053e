"""Numbers with the digits that their standard errors warrant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from statcv.arguments import is_whole
from statcv.errors import ArgumentError
from statcv.words import SAME

MOST = 6  # decimals beyond which a column is hard to read


def number(value: Any, se: float = np.nan) -> str:
    """Return a number with as many digits as its standard error warrants.

    >>> number(0.123456, 0.02), number(123.456, 20.0), number(float("nan"))
    ('0.123', '123', '–')
    """
    if value is None or np.isnan(value):
        return "–"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    if np.isfinite(se) and se > 0:
        places = decimals(se)
    else:
        places = 3 if abs(value) < 100 else 1
    return f"{round(float(value), places) + 0.0:.{places}f}"


def decimals(se: float) -> int:
    """Return the number of decimals that a standard error above 0 warrants.

    >>> decimals(0.02), decimals(20.0)
    (3, 0)
    """
    return int(np.clip(1 - np.floor(np.log10(se)), 0, MOST))


def check_digits(digits: int | None) -> None:
    """Check the number of decimals of a table.

    Raises
    ------
    ArgumentError
        If it is not an integer from 0 to 12, or None.
    """
    if digits is not None and not (is_whole(digits) and 0 <= digits <= 12):
        raise ArgumentError(f"digits must be an integer from 0 to 12, not {digits!r}.")


def column(
    values: Sequence[float],
    ses: Sequence[float] = (),
    digits: int | Sequence[int] | None = None,
    sizes: Sequence[float] = (),
) -> list[str]:
    """Return the numbers of a column, all with the same number of decimals.

    The smallest standard error determines the number of decimals unless it is given as
    ``digits``, for all or for each. Without a standard error, numbers have 3 decimals;
    fewer if they are large, and more if all of them are small. Where the largest number
    of a row is given as its size and would be 0 in these decimals, as a coefficient of
    platelets per litre is, the numbers of the row have three significant digits.

    >>> column([0.123456, 12.3456, float("nan")], [0.02, 0.5, float("nan")])
    ['0.123', '12.346', '–']
    >>> column([1.5, 1234.5]), column([0.00123, 0.00045])
    (['1.5', '1234.5'], ['0.00123', '0.00045'])
    >>> column([-4.3, 1.8224e-11, 0.0], sizes=[4.3, 1.8224e-11, 0.2])
    ['-4.300', '1.82e-11', '0.000']
    """
    if digits is None:
        known = [float(se) for se in ses if np.isfinite(se) and se > 0]
        known = [se for se in known if se > SAME * max(known)]
        digits = decimals(min(known)) if known else _decimals_without_se(values)
    each = [digits] * len(values) if isinstance(digits, int) else digits
    rows = zip(values, each, sizes or [np.inf] * len(values), strict=True)
    return [
        number(value)
        if value is None or not np.isfinite(value)
        else f"{value:#.3g}"
        if 0 < size < 10.0 ** (-places + (places == MOST))
        else f"{round(float(value), places) + 0.0:.{places}f}"
        for value, places, size in rows
    ]


def _decimals_without_se(values: Sequence[float]) -> int:
    """Return 3, or what shows three digits of the largest if all numbers are small."""
    sizes = [abs(value) for value in values if value is not None and value != 0]
    largest = max((size for size in sizes if np.isfinite(size)), default=1.0)
    if largest >= 100:
        return 1
    return 3 if largest >= 0.01 else min(2 - int(np.floor(np.log10(largest))), MOST)
