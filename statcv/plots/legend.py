"""A legend in a corner of the Axes, or below their axis, as there is room."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.legend import Legend
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

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


# ---- texts in the room that they have: wrapped lines, and ticks without overlap ----


def wrap(text: Text, whole: str, most: float, renderer: Any) -> None:
    """Wrap a text at words, and if need be within them, to a width in points."""
    figure: Any = text.get_figure(root=True)

    def too_long() -> bool:
        box = text.get_window_extent(renderer)
        along = box.height if text.get_rotation() in (90, 270) else box.width
        return bool(along * 72 / figure.dpi > most)

    text.set_text(whole)
    if not too_long():
        return
    lines = whole.split("\n")
    longest = max(map(len, lines))
    for within in (False, True)[: 1 if "$" in whole else 2]:
        for letters in range(longest, 3, -1):
            wrapped = [fill(line, letters, break_long_words=within) for line in lines]
            if (found := "\n".join(wrapped)) != text.get_text():
                text.set_text(found)
                if not too_long():
                    return


def overlapping(boxes: Sequence[Bbox]) -> bool:
    """Return whether any two boxes overlap by more than a pixel.

    >>> from matplotlib.transforms import Bbox
    >>> overlapping([Bbox([[0, 0], [9, 9]]), Bbox([[5, 5], [20, 9]])])
    True
    """
    return any(
        min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
        for a, b in combinations(boxes, 2)
    )


def thin(axis: Axis, renderer: Any) -> None:
    """Hide every second label of an axis, or more, until none overlap."""
    params = axis.get_tick_params()
    if not (params.get("labelbottom") or params.get("labelleft")):
        return
    axis.get_ticklabels()  # brings the ticks up to date
    low, high = sorted(axis.get_view_interval())
    edge = 1e-9 * (high - low)
    ticks = axis.get_major_ticks()
    seen = [one for one in ticks if low - edge <= one.get_loc() <= high + edge]
    thin_labels([tick.label1 for tick in seen], 0.0, renderer)


def thin_labels(labels: Sequence[Text], pad: float, renderer: Any) -> None:
    """Hide every second label, or more, until none are nearer than a pad on each."""
    for step in range(1, len(labels) + 1):
        for place, label in enumerate(labels):
            label.set_visible(place % step == 0)
        shown = [label for label in labels[::step] if label.get_text()]
        boxes = [one.get_window_extent(renderer).padded(pad, 0) for one in shown]
        if not overlapping(boxes):
            return


def size_of(text: Text) -> float:
    """Return the size of the characters of a text in points."""
    size: Any = text.get_fontsize()
    return float(size)
