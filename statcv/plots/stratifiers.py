"""The bias from stratifiers against their importance or predicted bias."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ArgumentError, ArgumentTypeError, suggestion
from statcv.plots.base import COLOURS, GREY, TITLE, new_axes, written

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
LETTER, LINE = 5.0, 9.0  # width of a character and height of a line of names


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
    ax.legend(fontsize="small")
    _name_points(ax, list(table.index), x, ratio)
    return ax


def _name_points(
    ax: Axes, names: list[str], x: NDArray[np.float64], y: NDArray[np.float64]
) -> None:
    """Write names beside points, and move the lower of two overlapping names down.

    The distances are in points, for the current size of the figure.
    """
    ax.autoscale_view()
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    inches = 72 / ax.figure.dpi
    placed: list[tuple[float, float, float]] = []
    for i in known[np.argsort(-y[known], kind="stable")].tolist():
        across, up = ax.transData.transform((x[i], y[i])) * inches
        width, at = LETTER * len(names[i]), up + 3.0
        for left, right, other in sorted(placed, key=lambda one: -one[2]):
            if left < across + width and across < right and abs(at - other) < LINE:
                at = other - LINE
        placed.append((across, across + width, at))
        ax.annotate(
            names[i],
            (x[i], y[i]),
            xytext=(5, at - up),
            textcoords="offset points",
            fontsize="small",
        )


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
