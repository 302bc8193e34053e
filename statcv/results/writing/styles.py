"""The styles of a report, which the command line names without loading a report."""

from __future__ import annotations

from typing import Final

from statcv.errors import ArgumentError, suggestion

STYLES: Final = ("tripod+ai", "probast+ai", "tripod-cluster")


def check_style(style: object, by: object = None) -> None:
    """Check the style of a report.

    Raises
    ------
    ArgumentError
        If it is unknown, or clusters are asked for without ``by=``.
    """
    if style is None:
        return
    if style not in STYLES:
        raise ArgumentError(
            f"style must be one of {', '.join(map(repr, STYLES))}, not {style!r}."
            + suggestion(style, STYLES)
        )
    if style == "tripod-cluster" and by is None:
        raise ArgumentError(
            "style='tripod-cluster' needs by=, the column of the clusters, such as "
            "by='site'."
        )
