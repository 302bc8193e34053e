"""What ROC and precision-recall curves share: lines of repeats, titles, legends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import one_of
from statcv.inference import Readable
from statcv.metrics import CurveBand
from statcv.plots.base import EXTERNAL, draw_band, draw_curve, thick, titled, with_ends
from statcv.plots.protocol import averaged, how_averaged

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Line = tuple[Floats, Floats]
Band = bool | Literal["pointwise", "simultaneous"]
METHODS = ("pointwise", "simultaneous")


def curve_title(ax: Axes, what: str, how: str) -> str:
    """Return the title of all curves, which may be of several kinds."""
    title, before = titled(what, how), ax.get_title().replace("\n", " ")
    if before in ("", title):
        return title
    external = [EXTERNAL in one for one in (before, title)]
    if all(external):
        return f"{what}, {EXTERNAL}"
    return f"{what}, held-out predictions" + f" and {EXTERNAL}" * any(external)


def band_method(band: Band) -> Literal["pointwise", "simultaneous"] | None:
    """Return the method of a band; None if no band is drawn."""
    one_of(band, (True, False, *METHODS), "band")
    if isinstance(band, bool):
        return "pointwise" if band else None
    return band


def how_drawn(result: Readable, method: str | None) -> str:
    """Return how the predictions of the curve were combined, for the title."""
    scores = result.scores
    if method is None and len(scores.by_repeat) > 1:
        return EXTERNAL + ", by repeat" if scores.external else "pooled by repeat"
    return how_averaged(scores)


def draw_lines(ax: Axes, lines: list[Line], legend: str, **style: Any) -> None:
    """Draw lines, which are thinner if there are many; the first is in the legend."""
    style |= {"linewidth": thick() / (1 if len(lines) == 1 else 2)}
    style |= {"alpha": max(0.15, 1 / np.sqrt(len(lines)))}
    colour = draw_curve(ax, *lines[0], legend, **style)
    for points in lines[1:]:
        ax.plot(*points, color=colour, **style)


def curve_label(result: Readable, metric: str, name: str, level: float) -> str:
    """Return the legend entry: the headline estimate, with its interval or its name."""
    one = result.estimate(metric, level=level)
    said = with_ends(one.value, (one.lower, one.upper))
    if not name:
        return f"{one.label} {said}"
    return f"{name}: {one.label} {said.partition(' (')[0]}"


def draw_kind(
    result: Readable,
    ax: Axes,
    points: Callable[[Floats, Floats], Line],
    shaded: CurveBand | None,
    legend: str,
    **style: Any,
) -> None:
    """Draw the curve of the mean predictions with its band, or that of each repeat."""
    scores = result.scores
    if shaded is not None:
        rows, predicted = averaged(scores, rank=True)
        line = points(scores.y[rows].astype(float), predicted)
        draw_band(ax, shaded, draw_curve(ax, *line, legend, **style))
        return
    parts = [scores.by_record(where, rank=True) for where in scores.by_repeat]
    lines = [points(scores.y[rows], scores.to_rank(each)) for rows, each in parts]
    draw_lines(ax, lines, legend, **style)
