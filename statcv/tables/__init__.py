"""How tables, numbers and objects print: as a statistician would write them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from statcv.tables.numbers import check_digits as check_digits
from statcv.tables.numbers import column as column
from statcv.tables.numbers import decimals as decimals
from statcv.tables.numbers import number as number
from statcv.tables.printed import WIDTH as WIDTH
from statcv.tables.printed import Constructed as Constructed
from statcv.tables.printed import Printed as Printed
from statcv.tables.printed import Said as Said
from statcv.tables.printed import fields_of as fields_of
from statcv.tables.printed import heading_of as heading_of
from statcv.tables.printed import wrapped as wrapped

if TYPE_CHECKING:
    from statcv.tables.frames import Table as Table
    from statcv.tables.frames import Values as Values
    from statcv.tables.frames import labels_of as labels_of
    from statcv.tables.frames import row_digits as row_digits
    from statcv.tables.frames import shown_frame as shown_frame

OF_FRAMES = ("Table", "Values", "labels_of", "row_digits", "shown_frame")


def __getattr__(name: str) -> Any:
    """Import a table when it is first used: metrics need no pandas."""
    if name in OF_FRAMES:
        return getattr(import_module("statcv.tables.frames"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
