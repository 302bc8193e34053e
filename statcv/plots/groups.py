"""A metric in groups of the records, and its differences from one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.arguments import check_types
from statcv.inference import metric_of
from statcv.plots.base import figure_width
from statcv.plots.forest import plot_forest
from statcv.plots.protocol import Drawn, one_result
from statcv.words import p_value, percent

if TYPE_CHECKING:
    from numpy.typing import NDArray


def plot_groups(
    *results: Drawn,
    metric: str | None = None,
    by: Any = None,
    reference: Any = None,
    level: float = 0.95,
) -> NDArray[Any]:
    r"""Draw a metric in groups of the records, and its differences from one of them.

    The upper plot shows the estimates of ``result.metrics(by=)``, the lower one the
    differences of ``result.compare_groups(by=)``, whose p-values it gives, adjusted by
    Holm's method if there are several.

    Parameters
    ----------
    *results : CVResult
        One result, whose records are grouped.
    metric : str, optional
        Name of the metric; the headline metric unless given.
    by : str or array-like
        Grouping of the records: a column of the data, or one value per row of it.
    reference : optional
        Group with which all others are compared; the first in sorted order by default.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes, shape (2,)
        The Axes of the estimates and of the differences.

    Raises
    ------
    ArgumentError
        If ``by`` is missing, there is a single group, or no group is called
        ``reference``.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> scv.plots.plot_groups(res, metric="brier", by="PSI").shape
    (2,)
    """
    check_types(plot_groups, locals())
    instead = "plot_forest(a, b) shows the estimates of several results"
    result = one_result(results, "plot_groups", instead)
    by = True if by is None else by
    import matplotlib.pyplot as plt

    source: Any = result
    chosen = metric_of(result, metric or result.chosen_metrics[0].name)
    table = source.metrics(level, by=by)
    table = table[table["metric"] == chosen.name].reset_index(drop=True)
    name = next(c for c in table.columns if c != "metric")
    if reference is None:
        reference = table[name].iloc[0]
    found = source.compare_groups(chosen, by=by, reference=reference, level=level)
    adjusted = "p (Holm)" if len(found) > 1 else "p"
    columns = ("second", "first", "p_holm")
    rows = [
        f"{second} minus {first}\n{adjusted} = {p_value(p)}".replace("= <", "< ")
        for second, first, p in zip(*(found[one] for one in columns), strict=True)
    ]
    shown = found.assign(row=rows)[["row", "difference", "lower", "upper"]]
    counts = [len(table), 1.6 * len(found)]
    size = (figure_width(6.4), 2.4 + 0.4 * sum(counts))
    heights, layout = [count + 0.6 for count in counts], "constrained"
    axes = plt.subplots(2, 1, figsize=size, height_ratios=heights, layout=layout)[1]
    plot_forest(table, ax=axes[0], names=name)
    plot_forest(shown, ax=axes[1], names="row")
    axes[0].set_title(f"{chosen.label} by {name}, {percent(level)} intervals")
    axes[1].set(title="", xlabel=f"difference in {chosen.label}")
    return np.asarray(axes)
