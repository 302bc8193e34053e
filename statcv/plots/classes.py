"""Several classes: each against all others, and observed against predicted.

Ordered classes are divided at each cut point instead: those above it against others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.inference import Readable
from statcv.plots.base import prediction_label, titled
from statcv.plots.calibration import plot_calibration
from statcv.plots.curves import plot_roc
from statcv.plots.drawn_records import how_averaged
from statcv.plots.fit import say
from statcv.plots.predictions import draw_classes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_CLASSES = 8  # largest number of classes with a curve each
DARK = 0.55  # share of a row above which its number is written in white


def draw_roc(result: Readable, ax: Axes) -> None:
    """Draw the ROC curve of each class against the others, or of each cut point."""
    if _has_room(result, ax):
        plot_roc(_each(result), ax=ax)
    ax.set_title(f"ROC{how_divided(result)}")


def draw_calibration(result: Readable, ax: Axes, level: float) -> None:
    """Draw the calibration curve of each class, or of each cut point."""
    if not result.scores.probabilities:
        say(ax, "calibration needs probabilities, and these predictions are scores")
    elif _has_room(result, ax):
        plot_calibration(_each(result), ax=ax, level=level)
        of = "" if result.design.outcome.ordered else " of the class"
        ax.set_ylabel(f"observed share{of}")
    ax.set_title(f"Calibration{how_divided(result)}")


def how_divided(result: Readable) -> str:
    """Return between which classes curves are drawn, as the end of a title."""
    ordered = result.design.outcome.ordered
    return " at each cut point" if ordered else ", each class against the others"


def _has_room(result: Readable, ax: Axes) -> bool:
    """Return whether classes are few enough for a curve each, or say why not."""
    many = len(result.design.outcome.levels)
    if many > MAX_CLASSES:
        say(ax, f"{many} classes are too many for a curve each")
    return many <= MAX_CLASSES


def draw_confusion(result: Readable, ax: Axes) -> None:
    """Draw the share of each observed class that is predicted as each class."""
    rows, predicted = result.scores.mean_prediction()
    outcome = result.design.outcome
    found, count = predicted.argmax(axis=1), len(outcome.levels)
    counts = np.zeros((count, count))
    np.add.at(counts, (outcome.y[rows], found), 1)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax.imshow(share, cmap="Blues", vmin=0, vmax=1)
    look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "small"}
    for (row, column), number in np.ndenumerate(counts):
        look["color"] = "white" if share[row, column] > DARK else "black"
        ax.text(column, row, f"{int(number)}", **look)
    places = range(count)
    ax.set_xticks(places, list(outcome.levels))
    ax.set_yticks(places, list(outcome.levels))
    ax.set(xlabel="predicted (largest value)", ylabel=f"observed {outcome.name}")
    ax.set_title("Records by observed and predicted class")


def draw_own_probability(result: Readable, ax: Axes) -> None:
    """Draw the prediction of the observed class of each record, by class."""
    rows, predicted = result.scores.mean_prediction()
    codes = result.design.outcome.y[rows]
    draw_classes(ax, result, predicted[np.arange(len(rows)), codes], codes)
    what = "probability" if result.scores.probabilities else "score"
    across = prediction_label(result.scores, f"{what} of the observed class")
    ax.set(xlabel=across, ylabel=f"observed {result.design.outcome.name}")
    ax.set_title(titled("Risks by outcome", how_averaged(result.scores)))


def _each(result: Readable) -> dict[str, Readable]:
    """Return each class against the others, or those above each cut point, by name."""
    levels, ordered = result.design.outcome.levels, result.design.outcome.ordered
    return {
        f"{'≥ ' * ordered}{one}": against_others(result, code)
        for code, one in enumerate(levels)
        if code or not ordered
    }


def against_others(result: Any, code: int) -> Any:
    """Return the result of a class, or those above a cut point, against all others."""
    outcome, held = result.design.outcome, result.held
    above = slice(code, None if outcome.ordered else code + 1)
    own = np.isin(outcome.y, range(len(outcome.levels))[above])
    named = ("others", outcome.levels[code])
    binary = replace(
        outcome,
        kind="binary",
        y=own.astype(outcome.y.dtype),
        levels=named,
        notes=(),
        ordered=False,
    )
    names = ("predicted", "partner_predicted")
    parts = {name: getattr(held, name)[:, above].sum(axis=1) for name in names}
    column = replace(held, linear=None, **parts)
    return replace(result, design=replace(result.design, outcome=binary), held=column)
