"""How tables, numbers and objects print: as a statistician would write them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from statcv.tables.numbers import check_digits, column, decimals, number
from statcv.tables.printed import (
    WIDTH,
    Constructed,
    Printed,
    Said,
    fields_of,
    heading_of,
    wrapped,
)

if TYPE_CHECKING:
    from statcv.tables.table import Table, Values, labels_of, row_digits, shown_frame

__all__ = [
    "WIDTH",
    "Constructed",
    "Printed",
    "Said",
    "Table",
    "Values",
    "check_digits",
    "column",
    "decimals",
    "fields_of",
    "heading_of",
    "labels_of",
    "number",
    "row_digits",
    "shown_frame",
    "wrapped",
]


def __getattr__(name: str) -> Any:
    """Import a table when it is first used: metrics need no pandas."""
    if name in __all__:
        return getattr(import_module("statcv.tables.table"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
