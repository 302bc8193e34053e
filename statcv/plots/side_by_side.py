"""The plots of a comparison, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from statcv.arguments import one_of
from statcv.plots.calibration import plot_calibration
from statcv.plots.decision import plot_decision
from statcv.plots.difference import plot_difference
from statcv.plots.forest import plot_forest
from statcv.plots.pr import plot_pr
from statcv.plots.protocol import ComparedResults
from statcv.plots.roc import plot_roc

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_comparison(
    compared: ComparedResults, kind: str | None, ax: Axes | None, **options: Any
) -> Axes:
    """Draw a plot of a comparison.

    Parameters
    ----------
    compared : Comparison
        Comparison to draw.
    kind : str or None
        One of `KINDS`; None for ROC curves if the outcome is binary, and otherwise for
        a forest plot of the differences.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; those of a new figure by default.
    **options
        Further arguments of the plot.

    Raises
    ------
    ArgumentError
        If there is no such plot.
    """
    if kind is None:
        outcomes = {one.design.outcome.kind for one in compared.results.values()}
        kind = "roc" if outcomes == {"binary"} else "forest"
    one_of(kind, KINDS, "kind")
    if kind in CURVES:
        options = {"level": compared.level, **options}
    return KINDS[kind](compared, ax=ax, **options)


CURVES: dict[str, Callable[..., Axes]] = {
    "roc": plot_roc,
    "pr": plot_pr,
    "calibration": plot_calibration,
    "decision": plot_decision,
}
KINDS: dict[str, Callable[..., Axes]] = {
    **CURVES,
    "difference": plot_difference,
    "forest": plot_forest,
}
