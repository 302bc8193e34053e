"""Learning curves: a metric by boosting round, for training and held-out records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from statcv.arguments import check_types
from statcv.errors import MetricError, suggestion
from statcv.inference import Readable
from statcv.plots.base import COLOURS, draw_curve, finish, new_axes, short_scheme
from statcv.plots.drawn import Drawn, named_results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PARTS = {"training": "training records", "held_out": "held-out records"}


def plot_learning_curve(
    *results: Drawn, metric: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a metric by boosting round: the mean over fits, and a thin line per fit.

    In the mean a fit that stopped early keeps its last value. Of several results only
    the means are drawn, in a colour each: full for the held-out records, and dashed for
    the training records.

    Parameters
    ----------
    *results : CVResult, or mapping of str to CVResult
        One result or several for a model that keeps learning curves:
        ``models.XGBoost(curves=True)``.
    metric : str, optional
        Name of the metric in the model, such as XGBoost's ``"logloss"``; the first
        metric by default.
    ax : matplotlib.axes.Axes, optional

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
    >>> df = scv.load_data("spector")
    >>> trees = scv.cv("GRADE ~ GPA + PSI", df, model=model, seed=1)
    >>> scv.plots.plot_learning_curve(trees).get_ylabel()
    'logloss'
    """
    from matplotlib.ticker import MaxNLocator

    check_types(plot_learning_curve, locals())
    named = named_results(results, "plot_learning_curve")
    found = [_curves(result, metric) for result in named.values()]
    chosen = found[0][1]
    if any(other != chosen for _, other in found):
        raise MetricError(
            "the results have learning curves of different metrics; choose one with "
            "metric=."
        )
    ax, several = new_axes(ax), len(named) > 1
    for number, (name, (own, _)) in enumerate(zip(named, found, strict=True)):
        for (part, label), colour in zip(PARTS.items(), COLOURS, strict=False):
            wide = own.pivot(index="round", columns="fit", values=part)
            means, look = wide.ffill().mean(axis=1), "-"
            if several:
                colour, label = COLOURS[number % len(COLOURS)], f"{name}, {label}"
                look = "--" if part == "training" else "-"
            else:
                ax.plot(wide.index, wide, color=colour, linewidth=0.6, alpha=0.3)
            draw_curve(ax, wide.index, means, label, colour, linestyle=look)
    fits = found[0][0]["fit"].nunique()
    scheme = short_scheme(next(iter(named.values())).plan)
    title = "Mean over fits" if several else f"Mean over {fits} fits, {scheme}"
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    return finish(ax, "rounds", chosen, title)


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
