"""Learning curves: a metric by boosting round, for training and held-out records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from statcv.errors import ArgumentError, MetricError, suggestion
from statcv.inference import Readable
from statcv.plots.base import (
    COLOURS,
    draw_curve,
    new_axes,
    require_result,
    short_scheme,
)
from statcv.plots.splits import legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PARTS = {"training": "training records", "held_out": "held-out records"}


def plot_learning_curve(
    result: Readable | Mapping[str, Readable],
    metric: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric by boosting round: the mean over fits, and a thin line per fit.

    In the mean a fit that stopped early keeps its last value. Of several results only
    the means are drawn, in a colour each: full for the held-out records, and dashed for
    the training records.

    Parameters
    ----------
    result : CVResult, or mapping of str to CVResult
        Result for a model that keeps learning curves: ``models.XGBoost(curves=True)``;
        or several such results by name.
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
    ArgumentError
        If there is no result.

    Examples
    --------
    >>> import statcv as scv
    >>> model = scv.models.XGBoost(n_estimators=10, curves=True)
    >>> data = scv.load_data("spector")
    >>> res = scv.cv("GRADE ~ GPA + PSI", data, model=model, k=4, seed=1)
    >>> ax = scv.plots.plot_learning_curve(res)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('rounds', 'logloss')
    """
    if isinstance(result, Mapping):
        return _draw_several(result, metric, ax)
    require_result(result, "plot_learning_curve")
    own, chosen = _curves(result, metric)
    ax = new_axes(ax)
    for (part, label), colour in zip(PARTS.items(), COLOURS, strict=False):
        wide = own.pivot(index="round", columns="fit", values=part)
        ax.plot(wide.index, wide, color=colour, linewidth=0.6, alpha=0.3)
        means = wide.ffill().mean(axis=1)
        draw_curve(ax, wide.index, means, label, colour, linewidth=None)
    ax.set_title(f"Mean over {own['fit'].nunique()} fits, {short_scheme(result.plan)}")
    return _finished(ax, chosen)


def _draw_several(
    results: Mapping[str, Readable], metric: str | None, ax: Axes | None
) -> Axes:
    """Draw the means of several results."""
    if not results:
        raise ArgumentError("there is no result to draw.")
    for result in results.values():
        require_result(result, "plot_learning_curve")
    found = [_curves(result, metric) for result in results.values()]
    chosen = found[0][1]
    if any(other != chosen for _, other in found):
        raise MetricError(
            "the results have learning curves of different metrics; choose one with "
            "metric=."
        )
    ax = new_axes(ax)
    for number, (name, (own, _)) in enumerate(zip(results, found, strict=True)):
        colour = COLOURS[number % len(COLOURS)]
        for part, style in (("held_out", "-"), ("training", "--")):
            wide = own.pivot(index="round", columns="fit", values=part)
            means = wide.ffill().mean(axis=1)
            label = f"{name}, {PARTS[part]}"
            look: dict[str, Any] = {"linestyle": style, "linewidth": None}
            draw_curve(ax, wide.index, means, label, colour, **look)
    ax.set_title("Mean over fits")
    return _finished(ax, chosen)


def _curves(result: Readable, metric: str | None) -> tuple[pd.DataFrame, str]:
    """Return the learning curves of one metric, and its name."""
    table = result.learning_curves
    known = table["metric"].unique().tolist()
    chosen = known[0] if metric is None else metric
    if chosen not in known:
        raise MetricError(
            f"there is no learning curve of {chosen!r}; the metrics are "
            f"{', '.join(known)}.{suggestion(chosen, known)} "
            "XGBoost(curves=True, eval_metric=[…]) sets them."
        )
    return table[table["metric"] == chosen], str(chosen)


def _finished(ax: Axes, metric: str) -> Axes:
    """Add ticks at round numbers, the labels and the legend."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    ax.set(xlabel="rounds", ylabel=metric)
    legend_below(ax)
    return ax
