"""Read a CSV so that every number is the double that was written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any

import pandas as pd


def read_table(
    file: IO[bytes], text: Iterable[str], dates: Iterable[str] = ()
) -> pd.DataFrame:
    """Return the table; `text` and `dates` name its columns that hold no numbers."""
    days = list(dates)
    table: pd.DataFrame = pd.read_csv(
        file,
        dtype=dict.fromkeys(text, str),
        parse_dates=days,
        **_exact_numbers(),
    )
    return table.astype(dict.fromkeys(days, "datetime64[ns]"))


def _exact_numbers() -> dict[str, Any]:
    """Return what asks for exact numbers; from pandas 3.1 on they always are."""
    version = tuple(int(part) for part in pd.__version__.split(".")[:2])
    return {} if version >= (3, 1) else {"float_precision": "round_trip"}
