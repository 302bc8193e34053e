"""ROC and precision-recall curves of the pooled held-out predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from statcv.metrics import pr_curve, roc_curve
from statcv.plots.base import (
    CURVE,
    GREY,
    has_curves,
    new_axes,
    next_colour,
    require_binary,
    short_scheme,
)
from statcv.readable import Readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


def plot_roc(
    result: Readable, ax: Axes | None = None, label: str | None = None
) -> Axes:
    """Draw the ROC curve of the pooled held-out predictions.

    A line a repeat. The legend gives the pooled auROC, which is the area under the
    curve shown, and the headline estimate where that is another one.

    Parameters
    ----------
    result : CVResult
        Of a binary outcome.
    ax : matplotlib.axes.Axes, optional
        Where to draw; call twice with the same Axes to lay curves over each other.
    label : str, optional
        Name of the curve; the scheme.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    OutcomeError
        If the outcome does not have two classes.
    """
    require_binary(result, "a ROC curve")
    ax = new_axes(ax)
    if not has_curves(ax):
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")

    def points(y: Floats, score: Floats) -> tuple[Floats, Floats]:
        curve = roc_curve(y, score)
        return curve.fpr, curve.tpr

    _draw(result, ax, points, _legend(result, "auroc", label))
    ax.set(
        xlabel="1 − specificity",
        ylabel="sensitivity",
        title="ROC, held-out predictions pooled",
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        aspect="equal",
    )
    _solid_legend(ax, "lower right")
    return ax


def plot_pr(result: Readable, ax: Axes | None = None, label: str | None = None) -> Axes:
    """Draw the precision-recall curve of the pooled held-out predictions.

    The dotted line is the share of positives, which a model of no skill attains.

    Parameters
    ----------
    result : CVResult
        Of a binary outcome.
    ax : matplotlib.axes.Axes, optional
    label : str, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    OutcomeError
        If the outcome does not have two classes.
    """
    require_binary(result, "a precision-recall curve")
    ax = new_axes(ax)
    if not has_curves(ax):
        share = float(np.mean(result.scores.y))
        ax.axhline(share, color=GREY, linewidth=0.8, linestyle=":")

    def points(y: Floats, score: Floats) -> tuple[Floats, Floats]:
        curve = pr_curve(y, score)
        return curve.recall, curve.precision

    _draw(result, ax, points, _legend(result, "auprc", label), drawstyle="steps-pre")
    ax.set(
        xlabel="recall (sensitivity)",
        ylabel="precision",
        title="Precision and recall, held-out predictions pooled",
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.05),
    )
    _solid_legend(ax, "lower left")
    return ax


def _draw(
    result: Readable,
    ax: Axes,
    points: Callable[[Floats, Floats], tuple[Floats, Floats]],
    legend: str,
    **style: Any,
) -> None:
    """Draw a line a repeat, thinner where there are many; the first is named."""
    scores, colour = result.scores, next_colour(ax)
    repeats = len(scores.by_repeat)
    style |= {"linewidth": 1.8 if repeats == 1 else 0.9}
    style |= {"alpha": max(0.15, 1 / np.sqrt(repeats))}
    for number, where in enumerate(scores.by_repeat):
        x, y = points(scores.y[scores.row[where]], scores.predicted[where])
        (line,) = ax.plot(x, y, color=colour, **style)
        if number == 0:
            line.set(gid=CURVE, label=legend)


def _solid_legend(ax: Axes, place: Literal["lower left", "lower right"]) -> None:
    """Name each curve by a solid line, however faint its repeats are drawn."""
    legend = ax.legend(loc=place, frameon=False, fontsize="small")
    for line in legend.get_lines():
        line.set(alpha=1, linewidth=1.8)


def _legend(result: Readable, metric: str, label: str | None) -> str:
    pooled = result.estimate(metric, how="pooled")
    headline = result.estimate(metric)
    text = f"{label or short_scheme(result.plan)}: {pooled.label} {pooled.value:.3f}"
    if headline.how != "pooled":
        text += f" ({headline.how.replace('_', ' ')} {headline.value:.3f})"
    return text
