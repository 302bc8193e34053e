"""Boxes, heat maps, violins and curves, as the paper draws them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.plots.base import COLOURS, GREY, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, RED, GREEN = COLOURS[:3]
HALF: dict[str, Any] = {"color": "black", "linestyle": (0, (5, 4)), "linewidth": 0.9}
NEAR, ASIDE, WIDEST = 0.012, 0.045, 0.84  # of a swarm: upwards, across, in all
DARK = 0.25  # of a cell this far from ½ the number is written in white


def draw_boxes(
    table: pd.DataFrame, value: str, ax: Axes | None, colour: str = BLUE
) -> Axes:
    """Draw a box per class balance: quartiles and whiskers to 1.5 times their range."""
    ax = new_axes(ax)
    groups = {share: own[value].dropna() for share, own in _by_balance(table)}
    drawn = ax.boxplot(
        list(groups.values()),
        positions=range(len(groups)),
        widths=0.65,
        patch_artist=True,
        medianprops={"color": "black"},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": GREY},
    )
    for box in drawn["boxes"]:
        box.set(facecolor=colour, alpha=0.6)
    ax.axhline(0.5, **HALF)
    ax.set_xticks(range(len(groups)), [f"{share:g}" for share in groups])
    count = table["data_set"].nunique()
    ax.set(
        xlabel="share of positive records",
        ylabel="auROC, pooled",
        title=f"{count} data sets a balance",
        ylim=(-0.02, 1.02),
    )
    return ax


def draw_swarm(table: pd.DataFrame, value: str, ax: Axes) -> Axes:
    """Draw a point per data set over the boxes, with equal ones side by side."""
    for place, (_, own) in enumerate(_by_balance(table)):
        height = np.sort(own[value].dropna().to_numpy())
        row = np.round(height / NEAR).astype(int)
        number = np.arange(len(row)) - np.searchsorted(row, row)
        last = np.bincount(row - row[0])[row - row[0]] - 1
        step = np.minimum(ASIDE, WIDEST / np.maximum(last, 1))
        ax.plot(
            place + (number - last / 2) * step,
            height,
            ".",
            color="black",
            markersize=2.5,
        )
    return ax


def draw_heat(
    table: pd.DataFrame, across: str, value: str, ax: Axes | None, label: str
) -> Axes:
    """Draw the mean of every class balance and of what goes across, and write it."""
    ax = new_axes(ax)
    means = table.pivot_table(index=across, columns="balance", values=value)
    ax.imshow(means, cmap="RdBu", vmin=0, vmax=1, aspect="auto")
    for (row, column), mean in np.ndenumerate(means.to_numpy()):
        colour = "white" if abs(mean - 0.5) > DARK else "black"
        text = f"{mean:.2f}"
        ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
    ax.set_xticks(range(means.shape[1]), [f"{share:g}" for share in means.columns])
    ax.set_yticks(range(means.shape[0]), [f"{one:g}" for one in means.index])
    ax.set(xlabel="share of positive records", ylabel=label)
    return ax


def draw_violins(table: pd.DataFrame, ax: Axes | None) -> Axes:
    """Draw a violin of predictions per class balance, and a line at the balance."""
    ax = new_axes(ax)
    groups = {share: own["predicted"] for share, own in _by_balance(table)}
    drawn = ax.violinplot(
        list(groups.values()), range(len(groups)), widths=0.85, showextrema=False
    )
    for body in drawn["bodies"]:  # type: ignore[attr-defined]
        body.set(facecolor=BLUE, alpha=0.6)
    for place, share in enumerate(groups):
        ax.hlines(share, place - 0.45, place + 0.45, color=RED)
    ax.set_xticks(range(len(groups)), [f"{share:g}" for share in groups])
    ax.set(
        xlabel="share of positive records",
        ylabel="held-out prediction",
        ylim=(-0.02, 1.02),
    )
    return ax


def _by_balance(table: pd.DataFrame) -> list[tuple[float, pd.DataFrame]]:
    return [(float(str(share)), own) for share, own in table.groupby("balance")]
