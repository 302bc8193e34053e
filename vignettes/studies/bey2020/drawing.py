"""How Figures 2 to 4 are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.errors import ArgumentError, suggestion
from statcv.plots.base import COLOURS, draw_legend, new_axes, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, RED, GREEN = COLOURS[:3]
# colours of two strategies; the others are blue
OWN_COLOUR = {"unbiased": GREEN, "random": RED}
# marks of two strategies; the others are triangles
MARKS = {"unbiased": "s", "random": "o"}
DASHES = (0, (5, 4))
SYMBOLS = 20  # number of symbols on a curve
LABELS = {
    "total_gain": "total gain, normalised",
    "gain": "gain, normalised",
    "weight": "number of splits, normalised",
    "cover": "cover, normalised",
    "permutation": "loss of accuracy when permuted",
    "clamp": "loss of accuracy when moved out of its bin",
    "mutual_information": "mutual information with the outcome (nats)",
    "anova_f": "F of the outcome",
    "heterogeneity": "auROC of the fold, by other covariates",
    "predicted": "predicted drop, in points",
}


def draw_learning(
    curves: pd.DataFrame, optimum: float, ax: Axes | None, first: bool
) -> Axes:
    """Draw accuracies after every round: training as symbols, held out as lines."""
    ax = new_axes(ax)
    lead = "first_" if first else ""
    lowest = []
    others = [name for name in curves["strategy"].unique() if name not in OWN_COLOUR]
    for name, own in curves.groupby("strategy", sort=False):
        strategy = str(name)
        colour = OWN_COLOUR.get(strategy) or _blue(others.index(strategy))
        style = "--" if strategy == "unbiased" else "-"
        held_out = own[f"{lead}held_out"]
        label = f"{_label(strategy)}, held out"
        ax.plot(own["round"], held_out, style, color=colour, label=label)
        some = own.iloc[:: max(len(own) // SYMBOLS, 1)]
        ax.plot(
            some["round"],
            some[f"{lead}training"],
            MARKS.get(strategy, "^"),
            color=colour,
            markersize=5,
            fillstyle="none",
            label=f"{_label(strategy)}, training",
        )
        lowest.append(np.nanmedian(held_out))
    ax.axhline(optimum, color="black", linestyle=DASHES, linewidth=0.9)
    ax.set_ylim(np.floor(20 * min(lowest) - 0.4) / 20, 1.003)
    what = "one data set" if first else "mean over data sets"
    ax.set(xlabel="rounds of boosting", ylabel="accuracy")
    ax.set_title(f"Training and held out, {what}", fontsize="medium")
    ax.plot([], [], color="black", linestyle=DASHES, label="optimum")
    handles = ax.get_legend_handles_labels()[0]
    # held out and optimum in one column, training in the other
    draw_legend(ax, None, [*handles[:-1:2], handles[-1], *handles[1:-1:2]])
    return ax


def draw_violins(table: pd.DataFrame, ax: Axes | None) -> Axes:
    """Draw a violin of accuracies per strategy."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
    values = {
        str(name): own["accuracy"].to_numpy()
        for name, own in table.groupby("strategy", sort=False)
    }
    optimum = values.pop("optimum", None)
    for place, (strategy, estimates) in enumerate(values.items()):
        drawn = ax.violinplot(
            estimates, [place], widths=0.85, showmeans=True, showextrema=False
        )
        colour = OWN_COLOUR.get(strategy, BLUE)
        parts: Any = drawn["bodies"]
        for part in parts:
            part.set(facecolor=colour, edgecolor=colour, alpha=0.55)
        drawn["cmeans"].set(color=colour, linewidth=1.4)
    if optimum is not None:
        mean, name = float(np.mean(optimum)), "optimum"
        ax.axhline(mean, color="black", linestyle=DASHES, linewidth=0.9, label=name)
    if "unbiased" in values:
        mean, name = float(np.mean(values["unbiased"])), "mean unbiased"
        ax.axhline(mean, color=GREEN, linestyle="--", linewidth=0.9, label=name)
    names = [_subscript(strategy) for strategy in values]
    ax.set_xticks(range(len(values)), names, rotation=30 if len(names) > 8 else 0)
    many = table["simulation"].nunique()
    ax.set(ylabel="estimated accuracy", title=f"{many} simulations")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax


def draw_importance(table: pd.DataFrame, importance: str, ax: Axes | None) -> Axes:
    """Draw the ratio of estimates against an importance."""
    from scipy.stats import pearsonr, spearmanr

    if importance not in LABELS:
        raise ArgumentError(
            f"importance {importance!r} is not one of {', '.join(LABELS)}."
            f"{suggestion(importance, LABELS)}"
        )
    ax = new_axes(ax)
    x, ratio = table[importance], table["ratio"]
    ax.axhline(1, color="black", linestyle=":", linewidth=0.8)
    ax.scatter(x, ratio, s=9, color=BLUE, alpha=0.5, linewidths=0)
    r, rho = (float(one(x, ratio).statistic) for one in (pearsonr, spearmanr))
    ax.set(
        xlabel=LABELS[importance],
        ylabel="accuracy, stratified / unbiased",
        title=f"Pearson's r = {written(r, 2)}, Spearman's ρ = {written(rho, 2)}",
    )
    return ax


def _blue(place: int) -> str:
    return (BLUE, *COLOURS[3:])[place % (len(COLOURS) - 2)]


def _label(strategy: str) -> str:
    stratified = strategy not in (*OWN_COLOUR, "hash")
    return _subscript(strategy) + "-stratified" * stratified


def _subscript(strategy: str) -> str:
    """Write x5 with its number below.

    >>> _subscript("x5 ×20"), _subscript("random")
    ('$x_{5}$ ×20', 'random')
    """
    if not strategy.startswith("x"):
        return strategy
    name, _, rest = strategy.partition(" ")
    return f"$x_{{{name[1:]}}}$ {rest}".strip()
