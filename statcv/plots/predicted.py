"""Held-out predictions against what was observed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from statcv.errors import OutcomeError
from statcv.plots.base import COLOURS, GREY, new_axes, require_result
from statcv.readable import Readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_predicted(result: Readable, ax: Axes | None = None) -> Axes:
    """Draw held-out predictions by class, or against a continuous outcome.

    Each record is one point; over repeats its predictions are averaged.

    Parameters
    ----------
    result : CVResult
        Of a binary or continuous outcome.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    OutcomeError
        If the outcome has more than two classes.
    """
    require_result(result, "plot_predicted")
    outcome = result.design.outcome
    if outcome.kind == "multiclass":
        raise OutcomeError("predictions of more than two classes are not one axis.")
    ax = new_axes(ax)
    rows, predicted = result.scores.mean_prediction()
    observed = outcome.y[rows]
    averaged = ", averaged over repeats" if result.plan.repeats > 1 else ""
    if outcome.kind == "continuous":
        ends = [
            min(observed.min(), predicted.min()),
            max(observed.max(), predicted.max()),
        ]
        ax.plot(ends, ends, color=GREY, linewidth=0.8, linestyle=":")
        ax.plot(observed, predicted, "o", color=COLOURS[0], markersize=4, alpha=0.6)
        ax.set(xlabel=f"observed {outcome.name}", ylabel="held-out prediction")
        ax.set_title(f"Predicted against observed{averaged}")
        return ax
    size, columns = (4, 7) if len(rows) <= 200 else (1.5, 41)
    groups = [predicted[observed == k] for k in (0, 1)]
    ax.boxplot(
        groups,
        positions=[0, 1],
        widths=0.5,
        showfliers=False,
        medianprops={"color": "black"},
    )
    for k, group in enumerate(groups):
        # spread points sideways by their rank modulo a few columns: no randomness
        column = np.argsort(np.argsort(group)) % columns
        ax.plot(
            k + (column / (columns - 1) - 0.5) * 0.3,
            group,
            "o",
            color=COLOURS[k],
            markersize=size,
            alpha=0.6,
        )
    names = [
        f"{level}\n(n = {len(groups[k])})" for k, level in enumerate(outcome.levels)
    ]
    ax.set_xticks([0, 1], names)
    ax.set(xlabel=f"observed {outcome.name}", ylabel="held-out prediction")
    ax.set_title(f"Predicted by class{averaged}")
    return ax
