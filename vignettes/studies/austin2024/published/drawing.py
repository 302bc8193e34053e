"""Curves with their spread over runs, and paths of penalties, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ArgumentError
from statcv.metrics import roc_curve
from statcv.plots.base import COLOURS, GREY, new_axes, shade
from studies.austin2024.published.analyses import TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from studies.austin2024.published.curves import Figure4

Floats = NDArray[np.float64]

NAMES = {"loocv": "LOOCV", "rloocv": "RLOOCV"}
BAND = "± 2 Monte Carlo standard errors"
PAIRS = "leave-pair-out, placement values"
AT = np.linspace(0, 1, 201)  # false positive rates at which curves are averaged
OF_DATA = {
    "ptb": "preterm birth",
    "cfs": "chronic fatigue",
    "irae": "adverse events",
    "stand_in": "simulated stand-in",
}
PATHS = {  # colour and line of each estimate
    "LOOCV, pooled": (COLOURS[0], "-"),
    "RLOOCV, pooled": (COLOURS[1], "-"),
    "RLOOCV, paired": (COLOURS[2], "--"),
    "leave-pair-out": (COLOURS[3], "-"),
    "truth": ("black", ":"),
}


def draw_curves(
    figure: Figure4, names: Sequence[str], axes: Sequence[Axes] | None
) -> NDArray[Any]:
    """Draw an analysis in each Axes."""
    if axes is None:
        import matplotlib.pyplot as plt

        columns = min(2 if len(names) <= 4 else 3, len(names))
        rows = -(-len(names) // columns)
        size = (4.2 * columns, 4.2 * rows)
        _, grid = plt.subplots(
            rows, columns, figsize=size, layout="constrained", squeeze=False
        )
        axes = list(grid.ravel())
        for spare in axes[len(names) :]:
            _explain(spare)
    axes = list(np.ravel(np.asarray(axes, dtype=object)))[: len(names)]
    if len(axes) < len(names):
        raise ArgumentError(f"{len(names)} analyses need as many axes.")
    medians = figure.table.set_index(["analysis", "estimate"])["median"]
    for name, ax in zip(names, axes, strict=True):
        own = figure.predictions[figure.predictions["analysis"] == name]
        _draw_analysis(own, medians[name], ax)
        ax.set(
            xlabel="1 − specificity",
            ylabel="sensitivity",
            title=TITLES[name],
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
            aspect="equal",
        )
        ax.title.set_fontsize("medium")
        ax.legend(loc="lower right", frameon=False, fontsize="small")
    return np.array(axes, dtype=object)


def _explain(ax: Axes) -> None:
    """Explain curves and bands in a cell of the grid that has no analysis."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    ax.set_axis_off()
    lines: list[Any] = [
        Line2D([], [], color=colour, linewidth=1.6, label=name)
        for name, colour in zip(
            (*(f"{name}, mean curve of the runs" for name in NAMES.values()), PAIRS),
            COLOURS,
            strict=False,
        )
    ]
    band = Patch(color=GREY, alpha=0.3, label="lowest to highest of the runs")
    half = Line2D([], [], color=GREY, linestyle=":", label="no skill")
    ax.legend(handles=[*lines, band, half], loc="center", frameon=False)


def _draw_analysis(own: pd.DataFrame, medians: pd.Series[float], ax: Axes) -> None:
    """Draw the mean curve of each scheme, and the lowest and highest of the runs."""
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    for scheme, colour in zip(NAMES, COLOURS, strict=False):
        curves = np.stack(
            [_curve(run) for _, run in own[own["scheme"] == scheme].groupby("run")]
        )
        median = medians[f"{NAMES[scheme]}, pooled"]
        kind = "median auROC" if len(curves) > 1 else "auROC"
        label = f"{NAMES[scheme]}: {kind} {median:.3f}"
        ax.plot(AT, curves.mean(axis=0), color=colour, linewidth=1.6, label=label)
        if len(curves) > 1:
            shade(ax, AT, curves.min(axis=0), curves.max(axis=0), colour, None)
    if "leave-pair-out" in medians:
        label = f"leave-pair-out: {medians['leave-pair-out']:.3f}"
        height = _placed(own[own["scheme"] == "leave_pair_out"])
        ax.plot(AT, height, color=COLOURS[2], linewidth=1.1, label=label)


def _placed(pairs: pd.DataFrame) -> Floats:
    """Return the share of placement values up to the false positive rates.

    A positive record's is the share of its pairs that it did not win.
    """
    values = 1 - pairs.loc[pairs["observed"] == 1, "predicted"].to_numpy()
    return np.asarray((values <= AT[:, None] + 1e-9).mean(axis=1))


def _curve(run: pd.DataFrame) -> Floats:
    """Return the sensitivity of a run at the false positive rates."""
    curve = roc_curve(run["observed"].to_numpy(), run["predicted"].to_numpy())
    return np.asarray(np.interp(AT, curve.fpr, curve.tpr))


def draw_paths(paths: pd.DataFrame, data: str, ax: Axes | None) -> Axes:
    """Draw a line per estimate, with twice its error, against the strength 1/C."""
    ax = new_axes(ax)
    ax.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":")
    shaded = False
    for estimate, (colour, line) in PATHS.items():
        own = paths[paths["estimate"] == estimate].sort_values("C")
        if own.empty:
            continue
        strength, value = 1 / own["C"].to_numpy(), own["auroc"].to_numpy()
        ax.plot(strength, value, color=colour, linestyle=line, label=estimate)
        error = 2 * own["se"].to_numpy()
        if error.any():
            shade(ax, strength, value - error, value + error, colour, None)
            shaded = True
    if shaded:
        ax.fill_between([], [], [], color=GREY, alpha=0.3, label=BAND)
    ax.set(
        xscale="log",
        ylim=(-0.02, 1.02),
        xlabel="strength of the penalty, 1/C",
        ylabel="auROC",
        title=OF_DATA.get(data, data),
    )
    ax.legend(loc="lower left", frameon=False, fontsize="small")
    return ax
