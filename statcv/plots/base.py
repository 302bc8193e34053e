"""How all plots look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from statcv.errors import OutcomeError
from statcv.folds import FoldPlan
from statcv.readable import Readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe & Ito's colours, which people with any colour vision tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
GREY = "#7f7f7f"
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
