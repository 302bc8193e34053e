"""Read a CSV file so that every number is the double that was written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any

import pandas as pd


def read_table(
    file: IO[bytes], text: Iterable[str], dates: Iterable[str] = ()
) -> pd.DataFrame:
    """Return the table; `text` and `dates` name its columns of text and of dates."""
    days = list(dates)
    table: pd.DataFrame = pd.read_csv(
        file,
        dtype=dict.fromkeys(text, str),
        parse_dates=days,
        **_exact_numbers(),
    )
    return table.astype(dict.fromkeys(days, "datetime64[ns]"))


def _exact_numbers() -> dict[str, Any]:
    """Return the option for exact numbers, which pandas 3.1 and later always read."""
    version = tuple(int(part) for part in pd.__version__.split(".")[:2])
    return {} if version >= (3, 1) else {"float_precision": "round_trip"}
