"""The training mean against the held-out label: the picture of distributional bias."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from statcv.errors import OutcomeError
from statcv.plots.base import COLOURS, GREY, new_axes, short_scheme
from statcv.readable import Readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_balance(result: Readable, ax: Axes | None = None) -> Axes:
    """Draw the mean outcome of each training set against that held out.

    Points on a falling line give the held-out label away: the training mean alone
    tells it. Points on a level line give nothing away. A point's area is the
    number of folds that fall on it.

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
    outcome, scores = result.design.outcome, result.scores
    if outcome.kind == "multiclass":
        raise OutcomeError("classes of more than two have no mean.")
    ax = new_axes(ax)
    sizes = np.bincount(scores.split, minlength=scores.n_splits)
    held = np.bincount(scores.split, outcome.y[scores.row], scores.n_splits)
    points = np.stack([held / sizes, scores.baseline], axis=1).round(12)
    places, counts = np.unique(points, axis=0, return_counts=True)
    area = 30 + 120 * counts / counts.max() if len(counts) < 50 else 16
    ax.axhline(float(outcome.y.mean()), color=GREY, linewidth=0.8, linestyle=":")
    ax.scatter(places[:, 0], places[:, 1], s=area, color=COLOURS[0], alpha=0.6)
    if outcome.kind == "binary":
        ax.set_xlim(-0.08, 1.08)
        spread = np.ptp(places[:, 1])
        middle = float(outcome.y.mean())
        half = max(spread, 1.5 / len(outcome.y))
        ax.set_ylim(middle - half, middle + half)
    what = "share of positives" if outcome.kind == "binary" else f"mean {outcome.name}"
    ax.set(
        xlabel=f"{what}, held out",
        ylabel=f"{what}, training set",
        title=f"Fold balance, {short_scheme(result.plan)}",
    )
    return ax
