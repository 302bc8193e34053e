"""Training means against held-out outcomes: a plot of distributional bias."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from statcv.folds import FoldPlan, Response
from statcv.folds.audit import training_means
from statcv.inference import Readable
from statcv.plots.base import draw_legend, draw_level, new_axes, short_scheme
from statcv.plots.fit import say
from statcv.plots.splits import class_colours, class_handles, require_response

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


def plot_bias(plan: FoldPlan | Readable, ax: Axes | None = None) -> Axes:
    """Draw the mean outcome of each training set against that of the held-out records.

    Points on a falling line show that the training mean alone reveals the held-out
    outcome; points on a level line show that it reveals nothing. The area of a point
    increases with the number of folds at its position, over all repeats. The title
    gives the correlation, over all held-out records, of the outcome of a record with
    the mean of its training set. With more than two classes each has its own colour,
    and the vertical axis is the share of the class in the training set minus its share
    in all records.

    Parameters
    ----------
    plan : FoldPlan or CVResult
        Plan that was made with an outcome, or a result.
    ax : matplotlib.axes.Axes, optional

    Raises
    ------
    SchemeError
        If the plan was made without an outcome.

    Examples
    --------
    >>> import statcv as scv
    >>> plan = scv.fold_plan("GRADE", scv.load_data("spector"), scheme="loocv")
    >>> scv.plots.plot_bias(plan).get_title().splitlines()[1]
    'r = −1.00 over held-out records'
    """
    plan, response = require_response(plan, "a plot of balance")
    ax, title = new_axes(ax), f"Fold balance, {short_scheme(plan)}"
    if not plan.n_train.any():
        ax.set_title(title)
        return say(ax, "there are no training sets")
    if response.kind == "multiclass":
        correlations = _draw_classes(ax, plan, response)
        across = "share of a class, held out"
        above = "share in the training set minus overall share"
    else:
        values = response.values.astype(float)
        colour = class_colours(1)[0]
        correlations = [_draw(ax, plan, values, 0.0, colour)]
        middle = float(values.mean())
        draw_level(ax, middle, zorder=0)
        what = f"mean {response.name}"
        if response.kind == "binary":
            what = "share of positives"
            _set_limits(ax, middle, plan.n)
        across, above = f"{what}, held out", f"{what}, training set"
    if response.by_class:
        ax.set_xlim(-0.08, 1.08)
    ax.set(xlabel=across, ylabel=above, title=f"{title}\n{_said(correlations)}")
    return ax


def _draw_classes(ax: Axes, plan: FoldPlan, response: Response) -> list[float]:
    """Draw the shares of each class in the colour of the class."""
    correlations = []
    for code, colour in enumerate(class_colours(response.classes)):
        member = (response.codes == code).astype(float)
        correlations.append(_draw(ax, plan, member, float(member.mean()), colour))
    draw_level(ax, 0, zorder=0)
    _set_limits(ax, 0.0, plan.n)
    draw_legend(ax, None, class_handles(response))
    return correlations


def _draw(
    ax: Axes, plan: FoldPlan, values: Floats, reference: float, colour: str
) -> float:
    """Draw a point per distinct pair of means, and return the records' correlation."""
    trained = training_means(plan, values)
    held = plan.tests.sums(values) / plan.tests.sizes
    points = np.stack([held, trained - reference], axis=1).round(12)
    places, counts = np.unique(points, axis=0, return_counts=True)
    area = 30 + 120 * counts / counts.max() if len(counts) < 50 else 16
    ax.scatter(places[:, 0], places[:, 1], s=area, color=colour, alpha=0.6)
    owners, labels = plan.tests.owners, values[plan.tests.values]
    means = trained[owners]
    if np.ptp(means) <= 1e-12 * np.abs(values).max() or np.ptp(labels) == 0:
        return np.nan
    return float(np.corrcoef(means, labels)[0, 1])


def _set_limits(ax: Axes, middle: float, n: int) -> None:
    """Centre the axis of training shares, with at least the width of one record."""
    drawn = [np.asarray(points.get_offsets())[:, 1] for points in ax.collections]
    half = max(float(np.ptp(np.concatenate(drawn))), 1.5 / n)
    ax.set_ylim(middle - half, middle + half)


def _said(correlations: list[float]) -> str:
    """Return the text of one correlation, or of the range of several."""
    known = [value for value in correlations if not np.isnan(value)]
    if not known:
        return "the training means are all equal"
    low, high = (f"{end:.2f}".replace("-", "−") for end in (min(known), max(known)))
    said = low if low == high else f"{low} to {high}"
    return f"r = {said} over held-out records"
