"""The training mean against the held-out label: the picture of distributional bias."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from statcv.folds import FoldPlan, Response
from statcv.folds.audit import training_means
from statcv.inference import Readable
from statcv.plots.base import GREY, new_axes, short_scheme
from statcv.plots.splits import class_colours, legend_below, require_response

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


def plot_bias(plan: FoldPlan | Readable, ax: Axes | None = None) -> Axes:
    """Draw the mean outcome of each training set against that held out.

    Points on a falling line give the held-out label away: the training mean alone
    tells it. Points on a level line give nothing away. A point's area is the
    number of folds that fall on it, of all repeats. The title gives the correlation
    of a record's outcome with the mean of the training set, over all held-out records.

    Of more than two classes each has its colour, and its share in the training sets
    is drawn less that in all records. Where the plan trains on no record, as for
    predictions made elsewhere without folds, the picture is empty and says so.

    Parameters
    ----------
    plan : FoldPlan or CVResult
        With an outcome.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    SchemeError
        If the plan was made without an outcome.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv.plots import plot_bias
    >>> plan = scv.fold_plan("GRADE", scv.load_data("spector"), scheme="loocv")
    >>> plot_bias(plan).get_title().splitlines()
    ['Fold balance, loocv', 'r = −1.00 over the records held out']
    """
    plan, response = require_response(plan, "a picture of balance")
    ax, title = new_axes(ax), f"Fold balance, {short_scheme(plan)}"
    if not plan.n_train.any():
        ax.set(xticks=[], yticks=[], title=f"{title}\nno record was trained on")
        return ax
    if response.kind == "multiclass":
        correlations = _draw_classes(ax, plan, response)
        across = "share of a class, held out"
        above = "share in the training set, less overall"
    else:
        values = response.values.astype(float)
        colour = class_colours(1)[0]
        correlations = [_draw(ax, plan, values, 0.0, colour)]
        middle = float(values.mean())
        ax.axhline(middle, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
        what = f"mean {response.name}"
        if response.kind == "binary":
            what = "share of positives"
            _set_limits(ax, middle, plan.n)
        across, above = f"{what}, held out", f"{what}, training set"
    if response.by_class:
        ax.set_xlim(-0.08, 1.08)
    ax.set(
        xlabel=across,
        ylabel=above,
        title=f"{title}\n{_said(correlations)}",
    )
    return ax


def _draw_classes(ax: Axes, plan: FoldPlan, response: Response) -> list[float]:
    """Draw the shares of each class, in its colour."""
    from matplotlib.lines import Line2D

    colours, correlations, handles = class_colours(response.classes), [], []
    for code, colour in enumerate(colours):
        member = (response.codes == code).astype(float)
        correlations.append(_draw(ax, plan, member, float(member.mean()), colour))
        label = f"{response.name} = {response.levels[code]}"
        handles.append(Line2D([], [], ls="", marker="o", color=colour, label=label))
    ax.axhline(0, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
    _set_limits(ax, 0.0, plan.n)
    legend_below(ax, handles)
    return correlations


def _draw(ax: Axes, plan: FoldPlan, values: Floats, less: float, colour: str) -> float:
    """Draw a point for each distinct pair of means; return the records' correlation."""
    trained = training_means(plan, values)
    held = plan.tests.sums(values) / plan.tests.sizes
    points = np.stack([held, trained - less], axis=1).round(12)
    places, counts = np.unique(points, axis=0, return_counts=True)
    area = 30 + 120 * counts / counts.max() if len(counts) < 50 else 16
    ax.scatter(places[:, 0], places[:, 1], s=area, color=colour, alpha=0.6)
    owners, labels = plan.tests.owners, values[plan.tests.values]
    told = trained[owners]
    if np.ptp(told) <= 1e-12 * np.abs(values).max() or np.ptp(labels) == 0:
        return np.nan
    return float(np.corrcoef(told, labels)[0, 1])


def _set_limits(ax: Axes, middle: float, n: int) -> None:
    """Show training shares about the middle, by the weight of a record at least."""
    drawn = [np.asarray(points.get_offsets())[:, 1] for points in ax.collections]
    half = max(float(np.ptp(np.concatenate(drawn))), 1.5 / n)
    ax.set_ylim(middle - half, middle + half)


def _said(correlations: list[float]) -> str:
    """Write one correlation, or the range of several."""
    known = [value for value in correlations if not np.isnan(value)]
    if not known:
        return "training means all equal: they tell nothing"
    low, high = (f"{end:.2f}".replace("-", "−") for end in (min(known), max(known)))
    said = low if low == high else f"{low} to {high}"
    return f"r = {said} over the records held out"
