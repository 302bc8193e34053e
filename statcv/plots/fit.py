"""Titles, legends and names that fit their Axes, at each size that is drawn.

Matplotlib asks the locator of Axes for their place before each layout and each draw.
A `Fitting` is such a locator: it keeps the place, and wraps, shrinks and moves texts
according to the room that the figure has for these Axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from statcv.plots.wrapping import size_of, take_literally, thin, thin_labels, wrap

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

WIDE = 27  # width of Axes with their labels, in heights of a character, of full size
SMALLEST = 7.0  # points of the characters to which others are shrunk
SIDE = 0.36  # largest share of the width for names, or for numbers beside the rows
SMALL = 0.8  # relative size of names above which they may take several lines
PAD = 10.0  # points that stay free at both edges together
LOWEST = 50.0  # points that the label of the vertical axis has at least
HEAD = 0.3  # largest share of the height of the Axes for the text at their top


class Fitting:
    """The texts of some Axes, fitted to the room that these have in the figure.

    Attributes
    ----------
    legend : FittedLegend or None
        The legend, if there is one.
    names : tuple of str
        Names of the rows at the vertical axis, if there are rows.
    side : list of Text
        Numbers to the right of the rows.
    along : list of list of Text
        Labels of ticks along lines, which are thinned as those of an axis.
    head : tuple, or None
        Text in the upper left corner, the height up to which there are data, the whole
        text, and a shorter form of it for low Axes.
    above : tuple of Text
        Title of the whole figure, whose size follows that of the others.
    beside : tuple of Axes
        Axes of a colour bar, whose sizes do too.
    """

    def __init__(self, ax: Axes) -> None:
        import matplotlib as mpl

        self.ax, self.before = ax, ax.get_axes_locator()
        self.font = float(mpl.rcParams["font.size"])
        self.legend: FittedLegend | None = None
        self.names: tuple[str, ...] = ()
        self.side: list[Text] = []
        self.along: list[list[Text]] = []
        self.head: tuple[Text, float, str, str] | None = None
        self.above: tuple[Text, ...] = ()
        self.beside: tuple[Axes, ...] = ()
        self.key: tuple[Any, ...] = ()
        self.sizes: dict[Any, float] = {}
        self.wholes: dict[Text, tuple[str, str]] = {}

    def __call__(self, ax: Any, renderer: Any) -> Bbox:
        """Return the place of the Axes, after their texts were fitted to it."""
        place = ax.get_position(original=True)
        if self.before is not None:
            place = self.before(ax, renderer)
        if renderer is not None:
            ax.apply_aspect(place)
            self._fit(renderer)
        return place

    def get_subplotspec(self) -> Any:
        """Return the place in a grid, for which a tight layout asks the locator."""
        return self.ax.get_subplotspec()

    # ---- what is fitted ----

    def _fit(self, renderer: Any) -> None:
        """Fit all texts if the size or a text has changed, and place the legend."""
        ax = self.ax
        width, height = _room(ax)
        said = [text.get_text() for text in self._texts()]
        slot = ax.get_position(original=True).width * _size(ax.figure)[0]
        size = round(width), round(height), round(slot)
        key = (*size, ax.figure.dpi, self.legend, self.names)
        least = min(1.0, SMALLEST / self.font)
        scale = float(np.clip(width / (WIDE * self.font), least, 1))
        if (*key, said) != self.key:
            self._set_sizes(scale)
            # the room across depends on that along, and back
            for _ in range(3 if self.names else 2):
                self._wrap(width, height, slot, scale, renderer)
            said = [text.get_text() for text in self._texts()]
            self.key = (*key, said)
        if self.legend is not None and not self.legend.removed:
            self.legend.settle(renderer)
        self._make_head_room(renderer)
        for axis in (ax.xaxis, ax.yaxis):
            thin(axis, renderer)
        for labels in self.along:
            thin_labels(labels, 0.25 * self.font, renderer)

    def _texts(self) -> list[Text]:
        ax = self.ax
        return [ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts]

    def _set_sizes(self, scale: float) -> None:
        """Shrink all texts but the legend, relative to the size they were given."""
        bars = [bar.yaxis for bar in self.beside]
        for text in (*self._texts(), *self.above, *(bar.label for bar in bars)):
            size = self.sizes.setdefault(text, size_of(text))
            text.set_fontsize(min(size * scale, self.font) if scale < 1 else size)
        for axis in (self.ax.xaxis, self.ax.yaxis, *bars):
            labels = axis.get_ticklabels()
            size = size_of(labels[0]) if labels else self.font
            axis.set_tick_params(labelsize=self.sizes.setdefault(axis, size) * scale)

    def _wrap(
        self, width: float, height: float, slot: float, scale: float, renderer: Any
    ) -> None:
        """Wrap all texts to a width and a height in points.

        Layouts ignore how wide a title is, which has to fit the slot of the Axes.
        """
        ax = self.ax
        points = 72 / ax.figure.dpi
        if self.names:
            self._wrap_rows(width, height, renderer)
        drawn = ax.yaxis.get_tightbbox(renderer)
        left = 0.0 if drawn is None else (ax.bbox.x0 - drawn.x0) * points
        right = 0.0
        for text in self.side:
            right = max(right, text.get_window_extent(renderer).width * points + PAD)
        across = max(width - left - right - PAD, 4 * self.font)
        title = min(across + right, slot + 2 * min(left, right) + 3)
        self._wrap_text(ax.title, title, renderer)
        self._wrap_text(ax.xaxis.label, across, renderer)
        if self.legend is not None and not self.legend.removed:
            inside = min(across, height - self._taken(renderer))
            below = min(width - PAD, slot + left + right + 3)
            self.legend.fit(below, inside, height, scale, renderer)
        along = max(0.96 * (height - self._taken(renderer)), LOWEST)
        self._wrap_text(ax.yaxis.label, along, renderer)
        for text in ax.texts:
            if text not in self.side:
                self._wrap_text(text, 0.94 * min(across, slot), renderer)
        if self.head is not None:
            text, _, whole, short = self.head
            for said in (whole, short):
                text.set_text(said)
                self._wrap_text(text, 0.94 * min(across, slot), renderer)
                tall = text.get_window_extent(renderer).height * points
                if tall <= HEAD * along:
                    break
            text.set_visible(tall <= 2 * HEAD * along)

    def _taken(self, renderer: Any) -> float:
        """Return the height of all that is above and below the Axes, in points."""
        ax = self.ax
        points = 72 / ax.figure.dpi
        taken = PAD + ax.title.get_window_extent(renderer).height * points
        drawn = ax.xaxis.get_tightbbox(renderer)
        if drawn is not None:
            taken += (ax.bbox.y0 - drawn.y0) * points
        if self.legend and not (self.legend.removed or self.legend.inside):
            taken += self.legend.height(renderer)
        return float(taken)

    def _wrap_text(self, text: Text, most: float, renderer: Any) -> None:
        """Wrap a text, from the form in which it was given."""
        whole, last = self.wholes.get(text, ("", ""))
        if text.get_text() != last:
            whole = text.get_text()
        if whole:
            wrap(text, whole, most, renderer)
        self.wholes[text] = whole, text.get_text()

    # ---- names of rows ----

    def _wrap_rows(self, width: float, height: float, renderer: Any) -> None:
        """Wrap names, and write them smaller, until no two rows overlap."""
        ax = self.ax
        most = SIDE * width
        for text in self.side:
            self._wrap_text(text, most, renderer)
        places, usual = ax.get_yticks(), size_of(ax.yaxis.label)
        bottom, top = ax.get_ylim()
        row = (height - self._taken(renderer)) / abs(bottom - top)
        ax.set_yticks(places, self.names, fontsize=usual)
        ax.get_yticklabels()  # brings the ticks up to date
        labels = [tick.label1 for tick in ax.yaxis.get_major_ticks()]
        for share in (1.0, 1.3, np.inf):
            for label, name in zip(labels, self.names, strict=True):
                wrap(label, name, share * most, renderer)
            wrapped = [label.get_text() for label in labels]
            size = row / LINES / (1 + max(text.count("\n") for text in wrapped))
            if size >= SMALL * usual:
                break
        ax.set_yticks(places, wrapped, fontsize=min(size, usual))
        for text in self.side:
            height = LINES * (1 + text.get_text().count("\n"))
            text.set_fontsize(min(size_of(text), row / height))
        for text in ax.texts if self.along else ():
            text.set_fontsize(min(size_of(text), 0.5 * row / LINES))  # half a row

    def _make_head_room(self, renderer: Any) -> None:
        """Set the upper limit so that no data are behind the text at the top."""
        if self.head is None:
            return
        text, top, *_ = self.head
        room = text.get_window_extent(renderer).height + self.font
        share = min(room * text.get_visible() / max(self.ax.bbox.height, 1.0), 0.7)
        bottom = self.ax.get_ylim()[0]
        self.ax.set_ylim(bottom, bottom + (top - bottom) / (1 - share))


# ---- how the plots ask for it ----


def fitting(ax: Axes) -> Fitting:
    """Return the fitting of some Axes, which is new if they have none."""
    known = ax.get_axes_locator()
    if isinstance(known, Fitting):
        return known
    made = Fitting(ax)
    ax.set_axes_locator(made)
    return made


def draw_legend(
    ax: Axes,
    place: Place | None = None,
    handles: Sequence[Artist] | None = None,
    title: str = "",
) -> None:
    """Draw a legend below the axis, or in a corner unless it would cover something.

    Dotted lines, which are for reference, may be covered.
    """
    take_literally(ax)
    if handles is None and not ax.get_legend_handles_labels()[0]:
        return
    fitting(ax).legend = FittedLegend(ax, place, handles, title)


def name_rows(
    ax: Axes,
    names: Sequence[str],
    beside: Sequence[str],
    places: Sequence[float] | None = None,
) -> None:
    """Name rows, the first at the top, and write a text at the right of each."""
    own, across = fitting(ax), ax.get_yaxis_transform()
    look: dict[str, Any] = {"va": "center", "fontsize": "small", "transform": across}
    own.names = tuple(names)
    own.side = [ax.text(1.02, row, text, **look) for row, text in enumerate(beside)]
    ax.set_yticks(range(len(names)) if places is None else places, own.names)
    take_literally(ax)


def say(ax: Axes, words: str) -> Axes:
    """Write in the middle of Axes, which have no ticks, why nothing is drawn."""
    fitting(ax)
    ax.set(xticks=[], yticks=[])
    middle: dict[str, Any] = {"ha": "center", "va": "center"}
    ax.text(0.5, 0.5, words, transform=ax.transAxes, **middle)
    return ax


def _room(ax: Axes) -> tuple[float, float]:
    """Return the width and the height that Axes have with their labels, in points."""
    figure: Any = ax.figure
    share, spec = np.ones(2), ax.get_subplotspec()
    if spec is None:
        place = ax.get_position(original=True)
        share = np.array([place.width, place.height])
    else:
        top = spec.get_topmost_subplotspec()
        for one in (spec,) if top is spec else (spec, top):
            grid: Any = one.get_gridspec()
            across, along = grid.get_width_ratios(), grid.get_height_ratios()
            columns, rows = one.colspan, one.rowspan
            share[0] *= sum(across[columns.start : columns.stop]) / sum(across)
            share[1] *= sum(along[rows.start : rows.stop]) / sum(along)
    width, height = share * _size(figure)
    return float(width), float(height)


def _size(figure: Any) -> Any:
    """Return the width and the height of a figure in points."""
    return figure.bbox.size * 72 / figure.dpi


# ---- a legend in a corner of the Axes, or below their axis, as there is room ----


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
        self, ax: Axes, place: Place | None, handles: Sequence[Any] | None, title: str
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
        look: dict[str, Any] = {"loc": place or "upper center", "ncols": columns}
        look |= {"handlelength": 1.6, "columnspacing": BETWEEN, "frameon": False}
        look |= dict.fromkeys(("fontsize", "title_fontsize"), self.size)
        self.made = self.ax.legend(handles=handles, title=self.title or None, **look)
        for handle, shown in zip(handles, self.made.legend_handles, strict=False):
            if _gid(handle) == CURVE and shown is not None:
                shown.set(alpha=1, linewidth=self.line)  # repeats are faint and thin
        take_literally(self.made)
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
