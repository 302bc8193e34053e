"""The plots of a comparison, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from statcv.arguments import one_of
from statcv.plots.protocol import ComparedResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CURVES = ("roc", "pr", "calibration", "decision")


def draw_comparison(
    compared: ComparedResults, kind: str | None, ax: Axes | None, **options: Any
) -> Axes:
    """Draw a plot of a comparison.

    Parameters
    ----------
    compared : Comparison
        Comparison to draw.
    kind : str or None
        Plot to draw; None for ROC curves if the outcome is binary, and otherwise for a
        forest plot of the differences.
    ax : matplotlib.axes.Axes, optional
    **options
        Further arguments of the plot.

    Raises
    ------
    ArgumentError
        If there is no such plot.
    """
    from statcv import plots

    if kind is None:
        outcomes = {one.design.outcome.kind for one in compared.results.values()}
        kind = "roc" if outcomes == {"binary"} else "forest"
    one_of(kind, (*CURVES, "difference", "forest"), "kind")
    if kind in CURVES:
        options = {"level": compared.level, **options}
    draw: Callable[..., Axes] = getattr(plots, f"plot_{kind}")
    return draw(compared, ax=ax, **options)
