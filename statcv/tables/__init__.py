"""How tables, numbers and objects print: as a statistician would write them."""

from statcv.tables.columns import WIDTH, wrapped
from statcv.tables.numbers import check_digits, column, decimals, number
from statcv.tables.printed import Printed, Said, fields_of, heading_of
from statcv.tables.table import Table, Values, labels_of, shown_frame

__all__ = [
    "WIDTH",
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
    "shown_frame",
    "wrapped",
]
