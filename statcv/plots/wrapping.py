"""Texts in the room that they have: wrapped lines, and ticks without overlap."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from textwrap import fill
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axis import Axis
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox


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


def take_literally(artist: Artist) -> None:
    """Let names with dollar signs be drawn as they are, not as mathematics.

    Text with a backslash is mathematics, as ticks of a logarithmic axis have it.
    """
    from matplotlib.text import Text

    for text in artist.findobj(Text):
        if isinstance(text, Text) and "\\" not in text.get_text():
            text.set_parse_math(False)


def size_of(text: Text) -> float:
    """Return the size of the characters of a text in points."""
    size: Any = text.get_fontsize()
    return float(size)
