"""The bias from stratifiers against their importance or predicted bias."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ArgumentError, ArgumentTypeError, suggestion
from statcv.plots.base import COLOURS, GREY, TITLE, new_axes, written
from statcv.plots.splits import lay_out, legend_below

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
LEAST = 5  # points that a correlation needs
MARK = 4.0  # points from the middle of a mark to its edge
AWAY = (6, 14, 24, 36)  # points between a mark and its name, tried in this order


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

    There is one point per candidate, with its interval over folds. Filled points are
    covariates of the formula with one quantile bin per fold, as in the paper; the
    correlations are computed from these if there are at least five. Other points are
    open. A cross marks candidates that split known duplicates across folds, whose
    estimates may be biased upwards.

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
        If the bias was not measured, there is no ratio, or there is no such column.

    References
    ----------
    Bey et al. (2020), JAMIA 27:1244, Figure 4.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.studies.simulate_ehr(300, 60, seed=1)
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
    table = _joined(result, against)
    ax = new_axes(ax)
    ax.axhline(1, color=GREY, linewidth=0.9, linestyle=":", zorder=0)
    x, ratio = table[against].to_numpy(float), table["ratio"].to_numpy(float)
    reach = np.abs(
        np.vstack([ratio - table["ratio_lower"], table["ratio_upper"] - ratio])
    )
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
    ax.set(xlabel=LABELS.get(against, against), ylabel=_ylabel(result))
    limits = f", {result.level:.0%} intervals over folds, given the records"
    known = np.isfinite(reach).any()
    ax.set_title(fill(f"Bias by stratifier{limits if known else ''}", TITLE))
    legend_below(ax, ax.get_legend_handles_labels()[0])
    _name_points(ax, list(table.index), x, ratio, reach)
    return ax


def _name_points(
    ax: Axes, names: list[str], x: Floats, y: Floats, reach: Floats
) -> None:
    """Write names beside points, where they cover no other name, mark or interval.

    Each name is tried to the right, to the left, above and below, at several distances,
    for the current size of the figure.
    """
    ax.autoscale_view()
    lay_out(ax)
    points = 72 / ax.figure.dpi
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y)).tolist()
    taken: list[Floats] = []  # left, bottom, right and top of what must stay visible
    for i in known:
        down, up = np.nan_to_num(reach[:, i])
        ends = ax.transData.transform([(x[i], y[i] - down), (x[i], y[i] + up)]) * points
        (left, low), (_, high) = ends
        taken.append(np.array([left - 1, low - 1, left + 1, high + 1]))
        at = ax.transData.transform((x[i], y[i])) * points
        taken.append(np.concatenate([at - MARK, at + MARK]))
    frame = ax.get_window_extent()
    inside = np.array([frame.x0, frame.y0, frame.x1, frame.y1]) * points
    for i in known:
        text = ax.annotate(
            names[i],
            (x[i], y[i]),
            xytext=(0, 0),
            textcoords="offset points",
            fontsize="small",
        )
        size = text.get_window_extent()
        at = ax.transData.transform((x[i], y[i])) * points
        best = _free_place(at, size.width * points, size.height * points, taken, inside)
        text.set_position(tuple(best[:2] - at))
        taken.append(best)


def _free_place(
    at: Floats, width: float, height: float, taken: list[Floats], inside: Floats
) -> Floats:
    """Return the box of a name that covers least of what is taken."""
    found, least = None, np.inf
    others = np.array(taken)
    for away in AWAY:
        for left, low in (
            (away, -height / 2),
            (-away - width, -height / 2),
            (away, away / 2),
            (-away - width, away / 2),
            (away, -away / 2 - height),
            (-away - width, -away / 2 - height),
        ):
            box = np.array([left, low, left + width, low + height]) + np.tile(at, 2)
            across = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
            along = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
            covered = float((across.clip(0) * along.clip(0)).sum())
            outside = np.maximum(inside[:2] - box[:2], box[2:] - inside[2:]).clip(0)
            covered += float(outside.sum()) * 100
            if covered < least:
                found, least = box, covered
        if least == 0:
            break
    assert found is not None  # the first place covers less than everything
    return found


def _ylabel(result: Biases) -> str:
    return f"{result.metric}: stratified over unbiased"


def _joined(result: Biases, against: str) -> pd.DataFrame:
    ranking, measured = result.ranking, result.measured
    known = ranking.select_dtypes("number").columns.tolist()
    if against not in known:
        raise ArgumentError(
            f"against={against!r} is not a numeric column of the ranking; these are "
            f"{', '.join(known)}.{suggestion(against, known)}"
        )
    if measured is None:
        raise ArgumentError(
            "the bias was not measured, so there is no ratio to draw; call "
            "stratifier_bias(…, measure=True)."
        )
    if measured["ratio"].isna().all():
        raise ArgumentError(
            f"the unbiased {result.metric} is not above 0, so there is no ratio."
        )
    joined = measured.set_index("candidate")[["ratio", "ratio_lower", "ratio_upper"]]
    return joined.join(
        ranking.set_index("candidate")[
            [*{against, "in_model", "folds", "duplicates_split"}]
        ]
    )


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
