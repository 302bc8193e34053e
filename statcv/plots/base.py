"""The common appearance of all plots, and checks of their arguments."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import described, is_list
from statcv.errors import ArgumentTypeError, OutcomeError
from statcv.folds import FoldPlan
from statcv.inference import Readable, Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What the studies of papers use of the style of figures
__all__ = ["COLOURS", "GREY", "new_axes", "shade", "written"]

Floats = NDArray[np.float64]

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


def shade(
    ax: Axes, at: Floats, lower: Floats, upper: Floats, colour: str, label: str | None
) -> None:
    """Shade the band of a curve."""
    ax.fill_between(at, lower, upper, color=colour, alpha=0.2, linewidth=0, label=label)


def require_result(result: object, function: str) -> None:
    """Check that the argument of a plot is a result.

    Raises
    ------
    ArgumentTypeError
        If it is not a result.
    """
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


def no_band(reason: str) -> str:
    """Return the entry of a legend that says why there is no band.

    >>> no_band("no positive record")
    'no band: no positive record'
    """
    return fill(f"no band: {reason.partition(':')[0]}", LEGEND)


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
