"""The plots of a comparison, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from statcv.arguments import one_of
from statcv.plots.curves import plot_pr, plot_roc
from statcv.plots.decision import plot_decision
from statcv.plots.difference import plot_difference
from statcv.plots.forest import plot_forest
from statcv.plots.protocol import Compared

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_comparison(
    compared: Compared, kind: str | None, ax: Axes | None, **options: Any
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
    return KINDS[kind](compared, ax, **options)


def _laid_over(
    picture: Callable[..., Axes], compared: Compared, ax: Axes | None, **options: Any
) -> Axes:
    for name, result in compared.results.items():
        ax = picture(result, ax=ax, label=name, **options)
    assert ax is not None  # there are at least two results
    return ax


def _roc(compared: Compared, ax: Axes | None, **options: Any) -> Axes:
    return _laid_over(plot_roc, compared, ax, **options)


def _pr(compared: Compared, ax: Axes | None, **options: Any) -> Axes:
    return _laid_over(plot_pr, compared, ax, **options)


def _decision(compared: Compared, ax: Axes | None, **options: Any) -> Axes:
    return plot_decision(compared, ax=ax, **{"level": compared.level, **options})


def _difference(compared: Compared, ax: Axes | None, **options: Any) -> Axes:
    return plot_difference(compared, ax=ax, **options)


def _forest(compared: Compared, ax: Axes | None, **options: Any) -> Axes:
    return plot_forest(compared, ax=ax, **options)


KINDS: dict[str, Callable[..., Axes]] = {
    "roc": _roc,
    "pr": _pr,
    "decision": _decision,
    "difference": _difference,
    "forest": _forest,
}
