"""Titles, legends and names that fit their Axes, at each size that is drawn.

Matplotlib asks the locator of Axes for their place before each layout and each draw.
A `Fitting` is such a locator: it keeps the place, and wraps, shrinks and moves texts
according to the room that the figure has for these Axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.plots.legend import (
    LINES,
    FittedLegend,
    Place,
    size_of,
    thin,
    thin_labels,
    wrap,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
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
            text.set_text(whole)
            self._wrap_text(text, 0.94 * min(across, slot), renderer)
            if text.get_window_extent(renderer).height * points > HEAD * along:
                text.set_text(short)
                self._wrap_text(text, 0.94 * min(across, slot), renderer)
            tall = text.get_window_extent(renderer).height * points
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
    if handles is None and not ax.get_legend_handles_labels()[0]:
        return
    fitting(ax).legend = FittedLegend(ax, place, handles, title)


def name_rows(ax: Axes, names: Sequence[str], beside: Sequence[str]) -> None:
    """Name rows, the first at the top, and write a text at the right of each."""
    own, across = fitting(ax), ax.get_yaxis_transform()
    look: dict[str, Any] = {"va": "center", "fontsize": "small", "transform": across}
    own.names = tuple(names)
    own.side = [ax.text(1.02, row, text, **look) for row, text in enumerate(beside)]
    ax.set_yticks(range(len(names)), own.names)


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
