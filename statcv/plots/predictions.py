"""Held-out predictions against outcomes, and the standard panel of a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.errors import OutcomeError
from statcv.inference import Readable
from statcv.plots.base import (
    COLOURS,
    draw_diagonal,
    new_axes,
    prediction_label,
    require_result,
)
from statcv.plots.bias import plot_bias
from statcv.plots.pr import plot_pr
from statcv.plots.roc import plot_roc

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


def plot_predicted(result: Readable, ax: Axes | None = None) -> Axes:
    """Draw held-out predictions by class, or against a continuous outcome.

    Each record is one point. Its predictions are averaged over repeats.

    Parameters
    ----------
    result : CVResult
        Result for a binary or continuous outcome.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; those of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.

    Raises
    ------
    OutcomeError
        If the outcome has more than two classes.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> ax = scv.plots.plot_predicted(res)
    >>> ax.get_ylabel()
    'held-out prediction'
    """
    require_result(result, "plot_predicted")
    outcome = result.design.outcome
    if outcome.kind == "multiclass":
        raise OutcomeError(
            "plot_predicted() needs an outcome of two classes, or a continuous outcome."
        )
    ax = new_axes(ax)
    rows, predicted = result.scores.mean_prediction()
    observed = outcome.y[rows]
    above = prediction_label(result.scores, "prediction")
    averaged = ", averaged over repeats" if result.plan.repeats > 1 else ""
    if outcome.kind == "continuous":
        ends = [
            min(observed.min(), predicted.min()),
            max(observed.max(), predicted.max()),
        ]
        draw_diagonal(ax, ends)
        ax.plot(observed, predicted, "o", color=COLOURS[0], markersize=4, alpha=0.6)
        ax.set(xlabel=f"observed {outcome.name}", ylabel=above)
        ax.set_title(f"Predicted against observed{averaged}")
        return ax
    size, columns = (4, 7) if len(rows) <= 200 else (1.5, 41)
    groups = [predicted[observed == k] for k in (0, 1)]
    ax.boxplot(
        groups,
        positions=[0, 1],
        widths=0.5,
        showfliers=False,
        medianprops={"color": "black"},
    )
    for k, group in enumerate(groups):
        # points are spread sideways by their rank modulo a few columns, not at random
        column = np.argsort(np.argsort(group)) % columns
        ax.plot(
            k + (column / (columns - 1) - 0.5) * 0.3,
            group,
            "o",
            color=COLOURS[k],
            markersize=size,
            alpha=0.6,
        )
    names = [
        f"{level}\n(n = {len(groups[k])})" for k, level in enumerate(outcome.levels)
    ]
    ax.set_xticks([0, 1], names)
    ax.set(xlabel=f"observed {outcome.name}", ylabel=above)
    ax.set_title(f"Predicted by class{averaged}")
    return ax


# ---- the standard panel of a result, like R's ``plot`` of a model ----


def plot_panel(result: Readable, *others: object) -> NDArray[Any]:
    """Draw ROC and precision-recall curves, predictions by class, and fold balance.

    For a continuous outcome the panel consists of predictions against observations, and
    fold balance. An external validation has no fold balance.

    Parameters
    ----------
    result : CVResult
        Result for a binary or continuous outcome.
    *others
        Refused: the panel draws one result, in a figure of its own.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes
        The Axes of the panel.

    Raises
    ------
    OutcomeError
        If the outcome has more than two classes.
    ArgumentTypeError
        If a second result, or Axes, are given.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> axes = scv.plots.plot_panel(res)
    >>> [ax.get_xlabel() for ax in axes.ravel()[:3]]
    ['1 − specificity', 'recall (sensitivity)', 'observed GRADE']
    """
    require_result(result, "plot_panel", *others)
    kind = result.design.outcome.kind
    if kind == "multiclass":
        raise OutcomeError(
            "plot_panel() needs an outcome of two classes, or a continuous outcome; "
            "result.plot() draws each of several classes against the others."
        )
    pictures: list[Callable[..., Axes]] = [plot_predicted]
    if not result.scores.external:  # a bias of folds needs folds
        pictures.append(plot_bias)
    if kind == "binary":
        pictures = [plot_roc, plot_pr, *pictures]
    axes = panel_axes(result, len(pictures))
    for picture, ax in zip(pictures, axes.flat, strict=False):
        picture(result, ax=ax)
    return axes if len(axes) > 1 else np.asarray(axes[0][: len(pictures)])


def panel_axes(result: Readable, number: int) -> NDArray[Any]:
    """Return the Axes of a titled figure with some panels, two in a row."""
    import matplotlib.pyplot as plt

    rows = -(-number // 2)
    figure, axes = plt.subplots(
        rows, 2, figsize=(9.5, 4.6 * rows), layout="constrained", squeeze=False
    )
    figure.suptitle(f"{result.design.formula.text}: {result.plan.sentence}", wrap=True)
    for ax in axes.flat[number:]:
        ax.set_axis_off()
    return np.asarray(axes)
