"""The bias from stratifiers against their importance or predicted bias."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.errors import ArgumentError, ArgumentTypeError, suggestion
from statcv.numeric.arrays import Floats
from statcv.plots.base import COLOURS, GREY, new_axes, written
from statcv.plots.fit import draw_legend, name_rows
from statcv.words import percent, stored_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = stored_rows("statcv.plots", "columns_of_stratifiers.txt")
LABELS = {row[0]: row[1] for row in COLUMNS}
ONE_BIN = "quantiles, 1 bin per fold"
LEAST = 5  # least number of data points for a correlation
UNMEASURED = "Stratifiers, bias not measured"


def plot_stratifier_bias(
    result: Any, ax: Axes | None = None, *, against: str = "importance"
) -> Axes:
    """Draw the ratio of stratified to unbiased estimate, ranked by importance.

    If the bias was not measured, the predicted loss is drawn instead, or the mutual
    information with the outcome. There is one row per candidate, with its interval over
    folds and its importance at the right. Filled points are covariates of the formula
    with one quantile bin per fold, from which, if at least five, correlations with the
    importance are computed. A cross marks candidates that split known duplicates across
    folds, whose estimates may be biased upwards.

    Parameters
    ----------
    result : StratifierBias
        Return value of :func:`statcv.stratifier_bias`.
    ax : matplotlib.axes.Axes, optional
    against : str, default "importance"
        Numeric column of ``result.ranking`` by which candidates are ranked.

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
    >>> bias = scv.stratifier_bias("y ~ x3 + x7", df, ["x3", "x7"], repeats=3, seed=1)
    >>> ax = scv.plots.plot_stratifier_bias(bias)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x3', 'x7']
    """
    if not hasattr(result, "ranking"):
        raise ArgumentTypeError(
            "plot_stratifier_bias() draws the result of stratifier_bias(), not "
            f"{'None' if result is None else f'a {type(result).__name__}'}."
        )
    table, label = _joined(result, against)
    ax = new_axes(ax)
    measured = result.measured is not None
    line = ax.axvline(float(measured), linewidth=0.9, linestyle=":", color=GREY)
    line.set_zorder(0)
    value, known = table["y"].to_numpy(float), table[against].to_numpy(float)
    reach = np.abs(np.vstack([value - table["lower"], table["upper"] - value]))
    filled = (table["in_model"] & (table["folds"] == ONE_BIN)).to_numpy()
    rows = np.arange(len(table))
    for own, colour, face, name in (
        (filled, COLOURS[0], COLOURS[0], _correlations(known[filled], value[filled])),
        (~filled, COLOURS[1], "none", "other folds, or not in the formula"),
    ):
        if own.any():
            look: dict[str, Any] = {"markerfacecolor": face, "linewidth": 1}
            at, ends = (value[own], rows[own]), reach[:, own]
            ax.errorbar(*at, xerr=ends, fmt="o", color=colour, label=name, **look)
    leaks = (table["duplicates_split"] > 0).to_numpy()
    if leaks.any():
        crossed: dict[str, Any] = {"ms": 9, "label": "splits known duplicates"}
        ax.plot(value[leaks], rows[leaks], "x", color=COLOURS[3], **crossed)
    name_rows(ax, table.index.tolist(), [_short(one) for one in known])
    ranked = LABELS.get(against, against)
    ax.set_xlabel(label)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    limits = f", {percent(result.level)} intervals over folds, given the records"
    shown = limits if np.isfinite(reach).any() else ""
    ax.set_title(f"Bias by stratifier{shown}" if measured else UNMEASURED)
    draw_legend(ax, title=f"at the right: {ranked}")
    return ax


def _short(value: float) -> str:
    """Return a number in two digits that count.

    >>> _short(0.4127), _short(12.3), _short(float("nan"))
    ('0.41', '12', '–')
    """
    return "–" if np.isnan(value) else f"{value:.2g}".replace("-", "−")


def _joined(result: Any, against: str) -> tuple[pd.DataFrame, str]:
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
    elif measured["ratio"].isna().all():
        raise ArgumentError(
            f"the unbiased {result.metric} is not above 0, so there is no ratio."
        )
    else:
        ratios = measured.set_index("candidate")
        heights = ratios[["ratio", "ratio_lower", "ratio_upper"]]
        heights.columns = pd.Index(["y", "lower", "upper"])
        label = f"{result.metric}: stratified over unbiased"
    table = heights[heights["y"].notna()].join(columns)
    rising = against == "rank"
    return table.sort_values(against, ascending=rising, kind="stable"), label


def _correlations(x: Floats, y: Floats) -> str:
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
    pearson, spearman = (
        pd.Series(x).corr(pd.Series(y), one) for one in ("pearson", "spearman")
    )
    said = f"Pearson r = {written(pearson, 2)}, Spearman r = {written(spearman, 2)}"
    return f"{said} ({len(x)})"
