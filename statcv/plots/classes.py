"""Several classes, each of them against all others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.errors import OutcomeError
from statcv.inference import Readable
from statcv.plots.bias import plot_bias
from statcv.plots.calibration import plot_calibration
from statcv.plots.predictions import panel_axes
from statcv.plots.roc import plot_roc

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

MAX_CLASSES = 8  # largest number of classes with a picture each


def plot_classes(result: Readable) -> NDArray[Any]:
    """Draw ROC curves and calibration of each class, and fold balance.

    Parameters
    ----------
    result : CVResult
        Result for an outcome of several classes.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes
        The Axes of the panel.

    Raises
    ------
    OutcomeError
        If there are too many classes and no folds.
    """
    outcome, scores = result.design.outcome, result.scores
    drawn: dict[str, Callable[..., Any]] = {}
    if len(outcome.levels) <= MAX_CLASSES:
        drawn["ROC curves, each class against the others"] = partial(draw_roc, result)
        for code, level in enumerate(outcome.levels if scores.probabilities else ()):
            title = f"Calibration, {outcome.name} = {level} against the others"
            drawn[title] = partial(plot_calibration, against_others(result, code))
    if not scores.external:
        drawn[""] = partial(plot_bias, result)
    if not drawn:
        raise OutcomeError(
            f"there is no picture of more than {MAX_CLASSES} classes and no folds."
        )
    axes = panel_axes(result, len(drawn))
    for (title, draw), ax in zip(drawn.items(), axes.flat, strict=False):
        draw(ax=ax)
        if title:
            ax.set_title(title)
    return axes


def draw_roc(result: Readable, ax: Axes) -> None:
    """Draw the ROC curve of each class against the others."""
    for code, level in enumerate(result.design.outcome.levels):
        plot_roc(against_others(result, code), ax=ax, label=str(level))


def against_others(result: Any, code: int) -> Any:
    """Return the result of one class against all others, with its probabilities."""
    outcome, held = result.design.outcome, result.held
    own = np.asarray(outcome.y == code, dtype=outcome.y.dtype)
    named = ("others", outcome.levels[code])
    binary = replace(outcome, kind="binary", y=own, levels=named, notes=())
    column = replace(
        held,
        predicted=held.predicted[:, code],
        partner_predicted=held.partner_predicted[:, code],
        linear=None,
    )
    return replace(result, design=replace(result.design, outcome=binary), held=column)
