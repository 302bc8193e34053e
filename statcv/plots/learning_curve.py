"""Learning curves: a metric by boosting round, for training and held-out records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from statcv.errors import MetricError, suggestion
from statcv.inference import Readable
from statcv.plots.base import COLOURS, CURVE, new_axes, require_result, short_scheme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PARTS = {"training": "training records", "held_out": "held-out records"}


def plot_learning_curve(
    result: Readable, metric: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a metric by boosting round: the mean over fits, and a thin line per fit.

    In the mean a fit that stopped early keeps its last value.

    Parameters
    ----------
    result : CVResult
        Result for a model that keeps learning curves: ``models.XGBoost(curves=True)``.
    metric : str, optional
        Name of the metric in the model, such as XGBoost's ``"logloss"``; the first
        metric by default.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; those of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.

    Raises
    ------
    LearningCurveError
        If the model did not keep learning curves.
    MetricError
        If there is no learning curve of that metric.
    """
    require_result(result, "plot_learning_curve")
    from matplotlib.ticker import MaxNLocator

    table = result.learning_curves
    known = table["metric"].unique().tolist()
    chosen = known[0] if metric is None else metric
    if chosen not in known:
        raise MetricError(
            f"there is no learning curve of {chosen!r}; the metrics are "
            f"{', '.join(known)}.{suggestion(chosen, known)} "
            "XGBoost(curves=True, eval_metric=[…]) sets them."
        )
    ax, own = new_axes(ax), table[table["metric"] == chosen]
    for (part, label), colour in zip(PARTS.items(), COLOURS, strict=False):
        wide = own.pivot(index="round", columns="fit", values=part)
        ax.plot(wide.index, wide, color=colour, linewidth=0.6, alpha=0.3)
        means = wide.ffill().mean(axis=1)
        (line,) = ax.plot(wide.index, means, color=colour, label=label)
        line.set_gid(CURVE)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel="rounds", ylabel=chosen)
    ax.set_title(f"Mean over {own['fit'].nunique()} fits, {short_scheme(result.plan)}")
    ax.legend()
    return ax
