"""What each fold holds: shares of classes or means, and the bias of training means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import check_types, one_of
from statcv.folds import FoldPlan, Response
from statcv.folds.audit import training_means
from statcv.inference import Readable
from statcv.plots import base, splits
from statcv.plots.fit import say
from statcv.words import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WHATS = ("held out", "training")
MOST_GAPS = 40  # largest number of bars that have gaps between them
Floats = NDArray[np.float64]


def plot_composition(
    plan: FoldPlan | Readable,
    ax: Axes | None = None,
    what: Literal["held out", "training"] = "held out",
    repeat: int | None = None,
) -> Axes:
    """Draw the share of each class in every fold, with the sizes of the folds.

    The dotted lines are the shares in all records. For a continuous outcome the plot
    shows the mean and standard deviation in every fold, and the mean of all records.

    Parameters
    ----------
    plan : FoldPlan or CVResult
        Plan that was made with an outcome, or a result.
    ax : matplotlib.axes.Axes, optional
    what : {"held out", "training"}
        The records that a fold holds out, or those of its training sets. In training
        sets records count as often as they were drawn, and with their weights. Shares
        are averaged over the fits of a fold.
    repeat : int, optional
        Repeat to draw, from 1. The default is the first repeat; if each repeat is a
        single split (``montecarlo``, ``bootstrap``), all are drawn side by side.

    Raises
    ------
    SchemeError
        If the plan was made without an outcome.
    ArgumentError
        If there is no such repeat, or ``what`` is not one of the two.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> plan = scv.fold_plan("GRADE", df, k=4, seed=1)
    >>> scv.plots.plot_composition(plan).get_title()
    'Records held out, stratified_kfold'
    """
    check_types(plot_composition, locals())
    one_of(what, WHATS, "what")
    plan, response = splits.require_response(plan, "a plot of composition")
    shown = splits.shown_splits(plan, response, repeat)
    ax = base.new_axes(ax)
    sizes = _sizes(shown, what)
    room = shown.name_axis(ax, sizes)
    if response.by_class:
        _draw_shares(ax, shown, response, what)
    else:
        _draw_means(ax, shown, response, what)
    ax.set_xlim(-0.5, len(sizes) - 0.5)
    title = "Records held out" if what == "held out" else "Training sets"
    title += f", {shown.title}"
    if not room:
        low, high = min(sizes), max(sizes)
        said = plural(high, "record") if low == high else f"{low:,} to {high:,} records"
        title += f", {said} each"
    ax.set_title(title)
    return ax


def mean_of(shown: splits.Shown, values: NDArray[np.generic], what: str) -> Floats:
    """Return the mean of values over the held-out or training records of each split."""
    plan = shown.plan
    if what == "training":
        return shown.mean_of_fits(plan.training_means(values))
    tests = plan.tests.chosen(shown.splits)
    return np.asarray(tests.sums(values) / tests.sizes)


def _draw_shares(ax: Axes, shown: splits.Shown, response: Response, what: str) -> None:
    """Draw stacked shares of the classes, with the first class at the bottom."""
    places = np.arange(len(shown.splits))
    width = 0.85 if len(places) <= MOST_GAPS else 1.0
    below = np.zeros(len(places))
    for code, colour in enumerate(splits.class_colours(response.classes)):
        share = mean_of(shown, response.codes == code, what)
        ax.bar(places, share, width, below, color=colour)
        below = below + share
    for share in np.cumsum(response.counts / response.counts.sum())[:-1]:
        ax.axhline(share, color=base.ink(), linewidth=1.2, linestyle=":")
    ax.set(ylim=(0, 1), ylabel=f"share of each class{_pooled(shown, what)}")
    base.draw_legend(
        ax, None, splits.class_handles(response), "dotted: shares in all records"
    )


def _draw_means(ax: Axes, shown: splits.Shown, response: Response, what: str) -> None:
    """Draw the mean of each split with its standard deviation."""
    places = np.arange(len(shown.splits))
    middle = float(response.values.mean())
    apart = response.values - middle
    mean = mean_of(shown, apart, what)
    spread = np.sqrt(np.maximum(mean_of(shown, apart**2, what) - mean**2, 0))
    base.draw_level(ax, middle, linewidth=1)
    look: dict[str, Any] = {"color": base.COLOURS[0], "ecolor": base.COLOURS[5]}
    look["markersize"] = 5 if len(places) <= MOST_GAPS else 2.5
    error = spread if spread.any() else None
    ax.errorbar(places, middle + mean, yerr=error, fmt="o", **look)
    named = "mean ± sd" if spread.any() else "value"
    ax.set_ylabel(f"{response.name}, {named}{_pooled(shown, what)}")


def _pooled(shown: splits.Shown, what: str) -> str:
    several = what == "training" and (shown.fits_each > 1).any()
    return ", averaged over fits" if several else ""


def _sizes(shown: splits.Shown, what: str) -> list[int]:
    """Return the number of records of each split, averaged over its fits."""
    plan = shown.plan
    if what == "held out":
        return [int(size) for size in plan.tests.sizes[shown.splits]]
    return [round(size) for size in shown.mean_of_fits(plan.n_train.astype(float))]


# ---- training means against held-out outcomes: a plot of distributional bias ----


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
    plan, response = splits.require_response(plan, "a plot of balance")
    ax, title = base.new_axes(ax), f"Fold balance, {base.short_scheme(plan)}"
    if not plan.n_train.any():
        ax.set_title(title)
        return say(ax, "there are no training sets")
    if response.kind == "multiclass":
        correlations = _draw_classes(ax, plan, response)
        across = "share of a class, held out"
        above = "share in the training set minus overall share"
    else:
        values = response.values.astype(float)
        colour = splits.class_colours(1)[0]
        correlations = [_draw(ax, plan, values, 0.0, colour)]
        middle = float(values.mean())
        base.draw_level(ax, middle, zorder=0)
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
    for code, colour in enumerate(splits.class_colours(response.classes)):
        member = (response.codes == code).astype(float)
        correlations.append(_draw(ax, plan, member, float(member.mean()), colour))
    base.draw_level(ax, 0, zorder=0)
    _set_limits(ax, 0.0, plan.n)
    base.draw_legend(ax, None, splits.class_handles(response))
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
