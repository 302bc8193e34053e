"""The common appearance of all plots, and checks of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import described, is_list
from statcv.errors import ArgumentTypeError, OutcomeError
from statcv.folds import FoldPlan
from statcv.inference import Readable, Scores
from statcv.metrics import CurveBand
from statcv.words import percent

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

# What the studies of papers use of the style of figures
__all__ = ["COLOURS", "GREY", "new_axes", "shade", "written"]

Floats = NDArray[np.float64]
Place = Literal["lower left", "lower right", "upper left", "upper right"]

# Okabe & Ito's colours, which can be distinguished with any type of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
GREY = "#7f7f7f"
LEGEND = 42  # characters of a line in a legend
TITLE = 52  # characters that fit above a plot
EXTERNAL = "external validation"
CURVE = "curve"  # gid of the line that is in the legend; other repeats lack it


def new_axes(ax: Axes | None) -> Axes:
    """Return ``ax``, or the Axes of a new figure.

    Raises
    ------
    ArgumentTypeError
        If ``ax`` is not a matplotlib Axes.
    """
    if ax is not None:
        if not hasattr(ax, "get_xlim"):
            several = "; give one of them" if is_list(ax) else ""
            if hasattr(ax, "design") and hasattr(ax, "held"):
                several = "; this plot draws one result, so call it for each"
            raise ArgumentTypeError(
                f"ax must be a matplotlib Axes, not {described(ax)}{several}."
            )
        return ax
    import matplotlib.pyplot as plt

    _, made = plt.subplots(figsize=(5, 4.6), layout="constrained")
    return made


def next_colour(ax: Axes) -> str:
    """Return the next colour after those of the curves already drawn."""
    drawn = sum(line.get_gid() == CURVE for line in ax.lines)
    return COLOURS[drawn % len(COLOURS)]


def has_curves(ax: Axes) -> bool:
    """Return whether there are curves on these Axes."""
    return any(line.get_gid() == CURVE for line in ax.lines)


def draw_curve(
    ax: Axes, x: Any, y: Any, label: str | None, colour: str | None = None, **style: Any
) -> str:
    """Draw a curve that the legend names, and return its colour.

    Its colour is the next one unless given.
    """
    colour = colour or next_colour(ax)
    (line,) = ax.plot(x, y, color=colour, **{"linewidth": 1.8, **style})
    line.set_gid(CURVE)
    if label:
        line.set_label(label)
    return colour


def shade(
    ax: Axes, at: Floats, lower: Floats, upper: Floats, colour: str, label: str | None
) -> None:
    """Shade the band of a curve, which the legend names once."""
    known = label in ax.get_legend_handles_labels()[1]
    look: dict[str, Any] = {"color": colour, "alpha": 0.2, "linewidth": 0}
    ax.fill_between(at, lower, upper, label=None if known else label, **look)


def draw_band(ax: Axes, band: CurveBand, colour: str) -> None:
    """Shade the band of a curve; if there is none, the legend says why."""
    if band.reason:
        reason = f"no band: {band.reason.partition(':')[0]}"
        ax.plot([], [], " ", label=fill(reason, LEGEND))
        return
    label = f"{percent(band.level)} band, {band.method}"
    shade(ax, band.at, band.lower, band.upper, colour, label)


def pointwise(level: float) -> str:
    """Return the name of a pointwise band in a legend.

    >>> pointwise(0.95)
    '95% band, pointwise'
    """
    return f"{percent(level)} band, pointwise"


def draw_level(ax: Axes, y: float, **style: Any) -> None:
    """Draw a dotted level line, such as that of no effect."""
    ax.axhline(y, **{"color": GREY, "linewidth": 0.8, "linestyle": ":", **style})


def draw_diagonal(ax: Axes, ends: Sequence[float] = (0, 1)) -> None:
    """Draw the dotted line on which both axes have equal values."""
    ax.plot(ends, ends, color=GREY, linewidth=0.8, linestyle=":")


def draw_legend(
    ax: Axes, place: Place, handles: Sequence[Artist] | None = None
) -> Legend:
    """Draw a legend inside the plot."""
    if handles is None:
        handles = ax.get_legend_handles_labels()[0]
    return ax.legend(handles=handles, loc=place, frameon=False, fontsize="small")


def require_result(result: object, function: str, *others: object) -> None:
    """Check that the argument of a plot is a result, with no result or Axes after it.

    Raises
    ------
    ArgumentTypeError
        If it is not a result, or one of the others is a result or Axes.
    """
    for other in others:
        if hasattr(other, "get_xlim"):
            raise ArgumentTypeError(
                f"{function}() draws several plots in a figure of its own; leave the "
                "Axes out."
            )
        if hasattr(other, "design"):
            raise ArgumentTypeError(
                f"{function}() draws one result; call it for each, or compare them by "
                "plot_roc(a, b), plot_calibration(a, b) or plot_decision(a, b)."
            )
    if not (hasattr(result, "design") and hasattr(result, "held")):
        raise ArgumentTypeError(
            f"{function}() draws a result, which cv() returns, not "
            f"{'None' if result is None else f'a {type(result).__name__}'}."
        )


def require_binary(result: Readable, picture: str) -> None:
    """Check that the outcome of a result has two classes."""
    kind = result.design.outcome.kind
    if kind != "binary":
        raise OutcomeError(
            f"{picture} needs an outcome of two classes, but "
            f"{result.design.outcome.name!r} is {kind}."
        )


def short_scheme(plan: FoldPlan) -> str:
    """Return the name of the scheme, with its repeats, for the label of a plot."""
    repeats = f" × {plan.repeats}" if plan.repeats > 1 else ""
    name = EXTERNAL if plan.scheme == "external" else plan.scheme
    return f"{name}{repeats}"


def written(value: float, digits: int = 3) -> str:
    """Format a number with a typographic minus sign.

    >>> written(-0.5), written(-0.0001), written(float("-inf"))
    ('−0.500', '0.000', '−∞')
    """
    if abs(value) == float("inf"):
        return "∞" if value > 0 else "−∞"
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def titled(what: str, *hows: str) -> str:
    """Return a title, in one or two lines, that says how predictions were combined.

    >>> titled("ROC", "pooled")
    'ROC, held-out predictions pooled'
    >>> titled("ROC", EXTERNAL)
    'ROC, external validation'
    """
    said = predictions_said(*hows)
    title = f"{what}, {said}"
    return title if len(title) <= TITLE else f"{what}\n{fill(said, TITLE - 6)}"


def predictions_said(*hows: str) -> str:
    """Return how the predictions of all results were made and combined.

    >>> predictions_said(EXTERNAL, "pooled", "pooled")
    'held-out predictions pooled and external validation'
    """
    distinct = dict.fromkeys(hows)
    held = [how for how in distinct if not how.startswith(EXTERNAL)]
    said = [f"held-out predictions {' and '.join(held)}"] if held else []
    return " and ".join([*said, *(how for how in distinct if how not in held)])


def prediction_label(scores: Scores, what: str) -> str:
    """Return the label of an axis of predictions, which may be held-out ones."""
    return what if scores.external else f"held-out {what}"
