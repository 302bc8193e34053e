"""The bias from stratifiers against their importance or predicted bias."""

from __future__ import annotations

from functools import partial
from itertools import product
from textwrap import fill
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ArgumentError, ArgumentTypeError, suggestion
from statcv.plots.base import COLOURS, GREY, TITLE, draw_level, new_axes, written
from statcv.plots.splits import lay_out, legend_below
from statcv.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS = {
    "importance": "normalised importance",
    "total_gain": "normalised total gain",
    "gain": "normalised gain",
    "predicted": "predicted loss",
    "clamp": "loss where values are clamped outside their fold",
    "permutation": "loss where held-out values are permuted",
    "mutual_information": "mutual information with the outcome (nats)",
    "anova_f": "F, association with the outcome",
    "heterogeneity": "auROC of the fold from other covariates",
    "rank": "rank by predicted loss",
}
ONE_BIN = "quantiles, 1 bin per fold"
LEAST = 5  # least number of data points for a correlation
MARK = 4.0  # points from the middle of a mark to its edge
# distances from mark to name that are tried, in points, in this order
AWAY = (6, 14, 24, 36, 52, 72, 96, 124)
LINE = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 0}
FAR = 14.0  # points between a mark and its name above which a line joins them


Floats = NDArray[np.float64]


class Biases(Protocol):
    """The bias from stratifiers, as the plot reads it."""

    @property
    def ranking(self) -> pd.DataFrame:
        """One row per candidate: candidate, folds, in_model, importance etc."""

    @property
    def measured(self) -> pd.DataFrame | None:
        """One row per candidate: ratio, ratio_lower, ratio_upper."""

    @property
    def metric(self) -> str:
        """The label of the metric."""

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""


def plot_stratifier_bias(
    result: Biases, ax: Axes | None = None, *, against: str = "importance"
) -> Axes:
    """Draw the ratio of stratified to unbiased estimate against importance.

    If the bias was not measured, the predicted loss is drawn instead, or the mutual
    information with the outcome if no loss could be predicted. There is one point per
    candidate, with its interval over folds. Filled points are covariates of the formula
    with one quantile bin per fold, as in the paper; the correlations are computed from
    these if there are at least five. Other points are open. A cross marks candidates
    that split known duplicates across folds, whose estimates may be biased upwards.

    Parameters
    ----------
    result : StratifierBias
        Return value of :func:`statcv.stratifier_bias`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; those of a new figure by default.
    against : str, default "importance"
        Numeric column of ``result.ranking`` for the horizontal axis.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.

    Raises
    ------
    ArgumentError
        If there is no ratio, or there is no such column.

    References
    ----------
    Bey et al. (2020), JAMIA 27:1244, Figure 4.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.simulate_ehr(300, 60, seed=1)
    >>> bias = scv.stratifier_bias(
    ...     "y ~ x3 + x7 + x10", df, ["x3", "x7", "x10"], repeats=3, seed=1
    ... )
    >>> scv.plots.plot_stratifier_bias(bias).get_xlabel()
    'normalised importance'
    """
    if not hasattr(result, "ranking"):
        raise ArgumentTypeError(
            "plot_stratifier_bias() draws the result of stratifier_bias(), not "
            f"{'None' if result is None else f'a {type(result).__name__}'}."
        )
    table, label = _joined(result, against)
    ax = new_axes(ax)
    measured = result.measured is not None
    draw_level(ax, float(measured), linewidth=0.9, zorder=0)
    x, ratio = table[against].to_numpy(float), table["y"].to_numpy(float)
    reach = np.abs(np.vstack([ratio - table["lower"], table["upper"] - ratio]))
    filled = (table["in_model"] & (table["folds"] == ONE_BIN)).to_numpy()
    for own, colour, face, name in (
        (filled, COLOURS[0], COLOURS[0], _correlations(x[filled], ratio[filled])),
        (~filled, COLOURS[1], "none", "other folds, or not in the formula"),
    ):
        if own.any():
            ax.errorbar(
                x[own],
                ratio[own],
                yerr=reach[:, own],
                fmt="o",
                color=colour,
                markerfacecolor=face,
                linewidth=1,
                label=name,
            )
    leaks = (table["duplicates_split"] > 0).to_numpy()
    if leaks.any():
        (crosses,) = ax.plot(x[leaks], ratio[leaks], "x", color=COLOURS[3])
        crosses.set(markersize=9, label="splits known duplicates")
    ax.margins(x=0.12)
    ax.set(xlabel=LABELS.get(against, against), ylabel=label)
    limits = f", {percent(result.level)} intervals over folds, given the records"
    known = np.isfinite(reach).any()
    title = f"Bias by stratifier{limits if known else ''}"
    ax.set_title(fill(title if measured else "Stratifiers, bias not measured", TITLE))
    legend_below(ax)
    _name_points(ax, list(table.index), x, ratio, reach)
    return ax


def _name_points(
    ax: Axes, names: list[str], x: Floats, y: Floats, reach: Floats
) -> None:
    """Write names beside points, where they cover no other name, mark or interval.

    Each name is tried on all sides and at several distances, for the current size of
    the figure. A line leads to a name that is far from its mark, or nearer to another.
    """
    ax.autoscale_view()
    lay_out(ax)
    points = 72 / ax.figure.dpi
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y)).tolist()
    marks = ax.transData.transform(np.column_stack([x, y])[known]) * points
    taken: list[Floats] = []  # left, bottom, right and top of what must stay visible
    for i, at in zip(known, marks, strict=True):
        down, up = np.nan_to_num(reach[:, i])
        ends = ax.transData.transform([(x[i], y[i] - down), (x[i], y[i] + up)]) * points
        (left, low), (_, high) = ends
        taken.append(np.array([left - 1, low - 1, left + 1, high + 1]))
        taken.append(np.concatenate([at - MARK, at + MARK]))
    frame = ax.get_window_extent()
    inside = np.array([frame.x0, frame.y0, frame.x1, frame.y1]) * points
    for i, at in zip(known, marks, strict=True):
        name = partial(
            ax.annotate, names[i], (x[i], y[i]), (0, 0), textcoords="offset points"
        )
        text = name(fontsize="small")
        size = text.get_window_extent()
        width, height = size.width * points, size.height * points
        best = _free_place(at, width, height, taken, inside, marks)
        taken.append(best)
        far = float(_distances(best, at[None])[0]) > FAR
        if far or not _is_nearest(best, at, marks):
            text.remove()
            text = name(fontsize="small", arrowprops=LINE)
        text.set_position(tuple(best[:2] - at))


def _distances(box: Floats, marks: Floats) -> Floats:
    """Return the distance of each mark from a box; 0 inside it."""
    outside = np.maximum(box[:2] - marks, marks - box[2:]).clip(0)
    return np.asarray(np.hypot(*outside.T))


def _is_nearest(box: Floats, at: Floats, marks: Floats) -> bool:
    """Return whether a mark is clearly nearer to a box than all others are."""
    others = _distances(box, marks[(marks != at).any(axis=1)])
    return bool(_distances(box, at[None])[0] + MARK <= others.min(initial=np.inf))


def _free_place(
    at: Floats,
    width: float,
    height: float,
    taken: list[Floats],
    inside: Floats,
    marks: Floats,
) -> Floats:
    """Return the box of a name that covers least of what is taken."""
    found, least = None, np.inf
    others = np.array(taken)
    for away in AWAY:
        up, down = (away + height) / 2, -(away + height) / 2
        sides = product((away, -away - width), (0, up, down))
        above = product((-width / 2, -away - width / 2, away - width / 2), (up, down))
        for left, middle in (*sides, *((x, 2 * y) for x, y in above)):
            low = middle - height / 2
            box = np.array([left, low, left + width, low + height]) + np.tile(at, 2)
            across = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
            along = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
            area = across.clip(0) * along.clip(0)
            area[2 * len(marks) :] *= 10  # names, of which none may cover another
            covered = float(area.sum())
            outside = np.maximum(inside[:2] - box[:2], box[2:] - inside[2:]).clip(0)
            covered += float(outside.sum()) * 100
            # a name that is not near its mark needs a line
            covered += 1.0 * (not _is_nearest(box, at, marks))
            if covered < least:
                found, least = box, covered
        if least == 0:
            break
    assert found is not None  # the first place covers less than everything
    return found


def _joined(result: Biases, against: str) -> tuple[pd.DataFrame, str]:
    """Return what is drawn, with its limits, and the label of the vertical axis."""
    ranking, measured = result.ranking.set_index("candidate"), result.measured
    known = ranking.select_dtypes("number").columns.tolist()
    if against not in known:
        raise ArgumentError(
            f"against={against!r} is not a numeric column of the ranking; these are "
            f"{', '.join(known)}.{suggestion(against, known)}"
        )
    columns = ranking[[*{against, "in_model", "folds", "duplicates_split"}]]
    if measured is None:
        predicted = ranking["predicted"].notna().any()
        drawn = "predicted" if predicted else "mutual_information"
        label = LABELS[drawn] + (f" of {result.metric}" if predicted else "")
        heights = pd.DataFrame({"y": ranking[drawn], "lower": np.nan, "upper": np.nan})
        return columns.join(heights), label
    if measured["ratio"].isna().all():
        raise ArgumentError(
            f"the unbiased {result.metric} is not above 0, so there is no ratio."
        )
    heights = measured.set_index("candidate")[["ratio", "ratio_lower", "ratio_upper"]]
    heights.columns = pd.Index(["y", "lower", "upper"])
    return heights.join(columns), f"{result.metric}: stratified over unbiased"


def _correlations(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Return Pearson's and Spearman's r of points, if there are at least five.

    Examples
    --------
    >>> _correlations(np.arange(5.0), np.array([3.0, 2.0, 1.0, 0.0, -2.0]))
    'Pearson r = −0.99, Spearman r = −1.00 (5)'
    """
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if len(x) < LEAST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return "quantile bins, one per fold"
    from scipy.stats import rankdata

    pearson = np.corrcoef(x, y)[0, 1]
    spearman = np.corrcoef(rankdata(x), rankdata(y))[0, 1]
    return (
        f"Pearson r = {written(pearson, 2)}, Spearman r = {written(spearman, 2)} "
        f"({len(x)})"
    )
