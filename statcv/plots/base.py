"""How all plots look."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ArgumentTypeError, OutcomeError
from statcv.folds import FoldPlan
from statcv.inference import Readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

# Okabe & Ito's colours, which people with any colour vision tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
GREY = "#7f7f7f"
LEGEND = 42  # letters of a line in a legend
TITLE = 52  # letters that fit above a picture
CURVE = "curve"  # marks the named line of a curve, whose repeats are not


def new_axes(ax: Axes | None) -> Axes:
    """Return ``ax``, or the Axes of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, made = plt.subplots(figsize=(5, 4.6), layout="constrained")
    return made


def next_colour(ax: Axes) -> str:
    """Return the colour after those of the curves already drawn."""
    drawn = sum(line.get_gid() == CURVE for line in ax.lines)
    return COLOURS[drawn % len(COLOURS)]


def has_curves(ax: Axes) -> bool:
    """Return whether curves were drawn on these Axes before."""
    return any(line.get_gid() == CURVE for line in ax.lines)


def shade(
    ax: Axes, at: Floats, lower: Floats, upper: Floats, colour: str, label: str | None
) -> None:
    """Shade a band about a curve."""
    ax.fill_between(at, lower, upper, color=colour, alpha=0.2, linewidth=0, label=label)


def require_result(result: object, function: str) -> None:
    """Raise where a picture is not given a result.

    Raises
    ------
    ArgumentTypeError
        If it is something else.
    """
    if not (hasattr(result, "design") and hasattr(result, "held")):
        raise ArgumentTypeError(
            f"{function}() draws a result, as cv() returns it, not "
            f"{'None' if result is None else f'a {type(result).__name__}'}."
        )


def require_binary(result: Readable, picture: str) -> None:
    """Raise where a picture needs two classes."""
    kind = result.design.outcome.kind
    if kind != "binary":
        raise OutcomeError(
            f"{picture} needs an outcome of two classes; "
            f"{result.design.outcome.name!r} is {kind}."
        )


def short_scheme(plan: FoldPlan) -> str:
    """Return the scheme as a plot's label names it."""
    repeats = f" × {plan.repeats}" if plan.repeats > 1 else ""
    return f"{plan.scheme}{repeats}"


def written(value: float, digits: int = 3) -> str:
    """Write a number with a minus sign that is one.

    >>> written(-0.5), written(-0.0001), written(float("-inf"))
    ('−0.500', '0.000', '−∞')
    """
    if abs(value) == float("inf"):
        return "∞" if value > 0 else "−∞"
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def no_band(reason: str) -> str:
    """Say in a legend why there is no band.

    >>> no_band("no positive record")
    'no band: no positive record'
    """
    return fill(f"no band: {reason.partition(':')[0]}", LEGEND)


def titled(what: str, how: str) -> str:
    """Return a title that says what became of the predictions, in one line or two.

    >>> titled("ROC", "pooled")
    'ROC, held-out predictions pooled'
    """
    title = f"{what}, held-out predictions {how}"
    if len(title) <= TITLE:
        return title
    return f"{what}\n{fill(f'held-out predictions {how}', TITLE - 6)}"
