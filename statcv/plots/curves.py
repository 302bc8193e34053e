"""What ROC and precision-recall curves share: lines of repeats, titles, legends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import one_of
from statcv.inference import Readable
from statcv.plots.base import EXTERNAL, draw_curve, thick, titled
from statcv.plots.protocol import how_averaged

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


def draw_repeats(
    result: Readable,
    ax: Axes,
    points: Callable[[Floats, Floats], Line],
    legend: str,
    **style: Any,
) -> None:
    """Draw one line per repeat; the first is in the legend."""
    scores = result.scores
    parts = [scores.by_record(where, rank=True) for where in scores.by_repeat]
    lines = [
        points(scores.y[rows], scores.to_rank(predicted)) for rows, predicted in parts
    ]
    draw_lines(ax, lines, legend, **style)


def draw_lines(ax: Axes, lines: list[Line], legend: str, **style: Any) -> None:
    """Draw lines, which are thinner if there are many; the first is in the legend."""
    style |= {"linewidth": thick() / (1 if len(lines) == 1 else 2)}
    style |= {"alpha": max(0.15, 1 / np.sqrt(len(lines)))}
    colour = draw_curve(ax, *lines[0], legend, **style)
    for points in lines[1:]:
        ax.plot(*points, color=colour, **style)


def curve_label(
    result: Readable,
    metric: str,
    label: str,
    area: float | None = None,
    how: str = "pooled",
) -> str:
    """Return the legend entry: the area of the curve, and the headline if different."""
    pooled = result.estimate(metric, how="pooled")
    headline = result.estimate(metric)
    shown = pooled.value if area is None else area
    text = f"{label}: {pooled.label} {shown:.3f}"
    if headline.how != how or abs(headline.value - shown) > 5e-4:
        text += f" ({headline.how.replace('_', ' ')} {headline.value:.3f})"
    return text
