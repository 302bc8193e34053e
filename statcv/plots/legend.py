"""A legend in a corner of the Axes, or below their axis, as there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from statcv.plots.wrapping import wrap

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

Place = Literal["lower left", "lower right", "upper left", "upper right"]

CURVE = "curve"  # gid of the line that is in the legend; other repeats lack it
REASON = "reason"  # gid of an entry that says why something is missing
# room of a legend beside each text and between columns, relative to its characters
INDENT, BETWEEN = 3.2, 1.2
WIDEST = 36  # width of two columns, in heights of a character
LINES = 1.25  # height of a line, relative to the size of its characters
CORNER = 0.3  # largest share of the height of the Axes for a legend inside
TALL = 0.25  # largest share of the height for a legend that has entries to spare


class FittedLegend:
    """A legend that is drawn again for each size of its Axes.

    Attributes
    ----------
    place : str or None
        Corner of the Axes, which is left if the legend would cover something; None for
        below the axis.
    handles : list or None
        Entries; if None, all that have a label.
    title : str
        Title of the legend.
    made : Legend
        What is drawn.
    """

    def __init__(
        self,
        ax: Axes,
        place: Place | None,
        handles: Sequence[Artist] | None,
        title: str,
    ) -> None:
        import matplotlib as mpl

        self.ax, self.place, self.handles, self.title = ax, place, handles, title
        self.size = float(mpl.rcParams["font.size"]) / 1.2
        self.usual, self.spared, self.width = self.size, 0, 0.0
        self.line = 1.2 * float(mpl.rcParams["lines.linewidth"])
        self.made = self._make(place, 1)
        if place is None:
            self._move(0.0, -4 * self.size)

    @property
    def inside(self) -> bool:
        """Whether the legend is in a corner of the Axes."""
        return self.made.get_bbox_to_anchor() is self.ax.bbox

    @property
    def removed(self) -> bool:
        """Whether the Axes have another legend, or none."""
        return self.ax.get_legend() is not self.made

    def height(self, renderer: Any) -> float:
        """Return the height of the legend in points."""
        box = self.made.get_window_extent(renderer)
        return float(box.height) * 72 / self.ax.figure.dpi

    def fit(
        self, width: float, inside: float, height: float, scale: float, renderer: Any
    ) -> None:
        """Draw the legend for a room in points.

        Parameters
        ----------
        width, height : float
            Room for a legend below, and for the Axes with all their labels.
        inside : float
            Width of the Axes themselves.
        scale : float
            Size of the characters, relative to the usual one.
        renderer
            What measures texts.
        """
        self.size, self.spared, self.width = self.usual * scale, 0, width
        if self.place is not None:
            self._make(self.place, 1)
            self._wrap(0.8 * inside, renderer)
            lines = [1 + one.get_text().count("\n") for one in self.made.get_texts()]
            if LINES * sum(lines) * self.size < CORNER * inside:
                return
        self._draw_below(width, renderer)
        while self.height(renderer) > TALL * height:
            before = len(self._entries())
            self.spared += 1
            if len(self._entries()) == before:
                return
            self._draw_below(width, renderer)

    def settle(self, renderer: Any) -> None:
        """Move the legend below what is drawn there, or out of a corner with curves."""
        if self.inside and self._covers(renderer):
            self._draw_below(self.width, renderer)
        if not self.inside:
            self._place_below(renderer)

    def _draw_below(self, width: float, renderer: Any) -> None:
        """Draw the legend below the axis, in two columns if they fit."""
        made = self._make(None, 1)
        wide = [text.get_window_extent(renderer).width for text in made.get_texts()]
        half = (len(wide) + 1) // 2
        columns = [max(part, default=0.0) for part in (wide[:half], wide[half:])]
        both = sum(columns) * 72 / self.ax.figure.dpi
        both += (2 * INDENT + BETWEEN) * self.size
        if len(wide) > 1 and both <= min(width, WIDEST * self.size):
            self._make(None, 2)
        else:
            self._wrap(width, renderer)

    def _make(self, place: Place | None, columns: int) -> Legend:
        handles = self._entries()
        self.made = self.ax.legend(
            handles=handles,
            title=self.title or None,
            loc=place or "upper center",
            ncols=columns,
            handlelength=1.6,
            columnspacing=BETWEEN,
            frameon=False,
            fontsize=self.size,
            title_fontsize=self.size,
        )
        for handle, shown in zip(handles, self.made.legend_handles, strict=False):
            if _gid(handle) == CURVE and shown is not None:
                shown.set(alpha=1, linewidth=self.line)  # repeats are faint and thin
        if place is None:
            self._move(0.0, 0.0)
        return self.made

    def _entries(self) -> list[Any]:
        """Return the entries of the legend, without some that explain no curve."""
        if self.handles is not None:
            return list(self.handles)
        handles: list[Any] = self.ax.get_legend_handles_labels()[0]
        more = [one for one in handles if _gid(one) not in (CURVE, REASON)]
        spared = more[len(more) - self.spared :] if self.spared else []
        if any(hasattr(one, "patches") for one in spared):  # the bars of both classes
            spared += [one for one in more if hasattr(one, "patches")]
        return [one for one in handles if one not in spared]

    def _wrap(self, width: float, renderer: Any) -> None:
        for text in self.made.get_texts():
            wrap(text, text.get_text(), width - INDENT * self.size, renderer)
        title = self.made.get_title()
        wrap(title, title.get_text(), width - self.size, renderer)

    def _covers(self, renderer: Any) -> bool:
        """Return whether the legend covers a curve or text, or leaves the Axes."""
        ax = self.ax
        box = self.made.get_window_extent(renderer)
        if box.x0 < ax.bbox.x0 or box.x1 > ax.bbox.x1 or box.y1 > ax.bbox.y1:
            return True
        if any(box.overlaps(text.get_window_extent(renderer)) for text in ax.texts):
            return True
        for line in ax.lines:
            path = line.get_transform().transform_path(line.get_path())
            solid = line.get_linestyle() != ":" and np.size(path.vertices) >= 4
            if solid and path.intersects_bbox(box, filled=False):
                return True
        return False

    def _place_below(self, renderer: Any) -> None:
        """Move the legend below the label of the axis, within the width of both."""
        ax, points = self.ax, 72 / self.ax.figure.dpi
        drawn = ax.xaxis.get_tightbbox(renderer)
        below = 0.0 if drawn is None else ax.bbox.y0 - drawn.y0
        across = ax.yaxis.get_tightbbox(renderer)
        left = 0.0 if across is None else max(ax.bbox.x0 - across.x0, 0.0)
        wider = self.made.get_window_extent(renderer).width - ax.bbox.width
        self._move(-float(np.clip(wider, 0, left)) / 2 * points, -below * points)

    def _move(self, right: float, up: float) -> None:
        """Move the legend from the middle of the lower edge, by points."""
        from matplotlib.transforms import ScaledTranslation

        ax = self.ax
        away = ScaledTranslation(right / 72, up / 72, ax.figure.dpi_scale_trans)
        self.made.set_bbox_to_anchor((0.5, 0), transform=ax.transAxes + away)


def _gid(handle: Any) -> str | None:
    return handle.get_gid() if hasattr(handle, "get_gid") else None
