"""ROC and precision-recall curves of the pooled held-out predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from statcv.metrics import pr_curve, roc_curve
from statcv.plots.base import (
    GREY,
    new_axes,
    next_colour,
    require_binary,
    short_scheme,
)
from statcv.readable import Readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    colour, first = next_colour(ax), True
    scores = result.scores
    if not any(line.get_gid() == "curve" for line in ax.lines):
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    for where in scores.by_repeat:
        curve = roc_curve(scores.y[scores.row[where]], scores.predicted[where])
        ax.plot(
            curve.fpr,
            curve.tpr,
            color=colour,
            gid="curve" if first else "repeat",
            label=_legend(result, "auroc", label) if first else None,
            **_thinner(len(scores.by_repeat)),
        )
        first = False
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
    colour, first = next_colour(ax), True
    scores = result.scores
    if not any(line.get_gid() == "curve" for line in ax.lines):
        ax.axhline(float(np.mean(scores.y)), color=GREY, linewidth=0.8, linestyle=":")
    for where in scores.by_repeat:
        curve = pr_curve(scores.y[scores.row[where]], scores.predicted[where])
        ax.step(
            curve.recall,
            curve.precision,
            where="post" if curve.recall[0] > curve.recall[-1] else "pre",
            color=colour,
            gid="curve" if first else "repeat",
            label=_legend(result, "auprc", label) if first else None,
            **_thinner(len(scores.by_repeat)),
        )
        first = False
    ax.set(
        xlabel="recall (sensitivity)",
        ylabel="precision",
        title="Precision and recall, held-out predictions pooled",
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.05),
    )
    _solid_legend(ax, "lower left")
    return ax


def _thinner(repeats: int) -> dict[str, Any]:
    if repeats == 1:
        return {"linewidth": 1.8}
    return {"linewidth": 0.9, "alpha": max(0.15, 1 / np.sqrt(repeats))}


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
