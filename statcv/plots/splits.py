"""The splits of a plan: shares or means of the outcome, and bias of training means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from statcv.arguments import check_types, described, is_whole, one_of
from statcv.errors import ArgumentError, ArgumentTypeError, SchemeError
from statcv.folds import FoldPlan, Response
from statcv.folds.audit import training_means
from statcv.inference import Readable
from statcv.numeric.arrays import Floats, Ints, Numbers, Outcomes
from statcv.plots import base
from statcv.plots.fit import say
from statcv.words import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SPLITS = 250  # largest number of splits that are all drawn; of more, a sample is
MOST_NAMED = 12  # largest number of splits whose names are all at the axis
MOST_DIGITS = 50  # largest total number of digits for which the sizes are at the axis


def plan_and_response(source: FoldPlan | Readable) -> tuple[FoldPlan, Response | None]:
    """Return a plan, or the plan of a result, and the outcome if there is one."""
    if isinstance(source, FoldPlan):
        return source, source.response
    if not hasattr(source, "plan") or not hasattr(source, "design"):
        raise ArgumentTypeError(
            "plots of folds draw a FoldPlan or a CVResult, not "
            f"{type(source).__name__}; make one with fold_plan() or cv()."
        )
    return source.plan, Response.of_outcome(source.design.outcome)


def require_response(
    source: FoldPlan | Readable, picture: str
) -> tuple[FoldPlan, Response]:
    """Return the plan and its outcome, which the plot needs."""
    plan, response = plan_and_response(source)
    if response is None:
        raise SchemeError(
            f"{picture} needs the outcome, but the plan was made without one; name it "
            "in fold_plan('y', data=…)."
        )
    return plan, response


@dataclass(frozen=True, eq=False)
class Shown:
    """The splits of a plot, from left to right.

    Attributes
    ----------
    plan : FoldPlan
        Plan of the splits.
    splits : numpy.ndarray of int
        Numbers of the splits in the plan.
    names : sequence or None
        Names of the splits; None if they are sorted by the outcome.
    noun : str
        Noun for a split: "fold", "repeat", "split".
    title : str
        Scheme and repeat, and for a sample the total number of splits.
    sampled : bool
        Whether the splits are a sample.
    """

    plan: FoldPlan
    splits: Numbers
    names: Sequence[Any] | None
    noun: str
    title: str
    sampled: bool = False

    @property
    def fits(self) -> Numbers:
        """The fits of these splits."""
        first = self.plan.first_fit
        return np.concatenate([np.arange(first[s], first[s + 1]) for s in self.splits])

    @property
    def fits_each(self) -> Ints:
        """Number of fits of each split."""
        return np.diff(self.plan.first_fit)[self.splits]

    def mean_of_fits(self, values: Floats) -> Floats:
        """Average values of the plan's fits over the fits of each split."""
        return self.plan.fits.mean_by_split(values)[self.splits]

    def name_axis(self, ax: Axes, sizes: Sequence[int] = ()) -> bool:
        """Label the horizontal axis, and return whether there was room for sizes."""
        count = len(self.splits)
        if self.names is None:
            ax.set_xticks([])
            each = "record" if not self.plan.fits.holds_out_pairs else "pair"
            ax.set_xlabel(f"{count} splits, one {each} held out in each")
            return False
        step = -(-count // MOST_NAMED)
        places = np.arange(0, count, step)
        written = [str(self.names[place]) for place in places.tolist()]
        below = [f"{size:,}" for size in sizes]
        room = step == 1 and 0 < sum(map(len, below)) <= MOST_DIGITS
        if room:
            pairs = zip(written, below, strict=True)
            written = [f"{name}\n{size}" for name, size in pairs]
        ax.set_xticks(places, written)
        ax.set_xlabel(f"{self.noun}, and its records" if room else self.noun)
        return room


def shown_splits(
    plan: FoldPlan, response: Response | None, repeat: int | None
) -> Shown:
    """Choose the splits of a plot.

    These are the folds of one repeat, or all splits if every repeat is a single split.
    Splits that hold out single records or pairs are sorted by the outcome. If there are
    more than ``MOST_SPLITS``, an evenly spaced sample is taken.

    Raises
    ------
    ArgumentError
        If there is no such repeat.
    """
    if repeat is not None and (not is_whole(repeat) or not 1 <= repeat <= plan.repeats):
        raise ArgumentError(
            f"repeat must be one of the plan's repeats 1 to {plan.repeats}, not "
            f"{described(repeat)}."
        )
    alone = plan.repeats > 1 and plan.n_splits == plan.repeats
    title = plan.scheme
    if alone and repeat is None:
        splits, noun = np.arange(plan.n_splits), "repeat"
        title = base.short_scheme(plan)
    else:
        number = 1 if repeat is None else int(repeat)
        splits = np.arange(*plan.fits.first_split[number - 1 : number + 1])
        noun = "split" if alone else "fold"
        if plan.repeats > 1:
            title += f", repeat {number} of {plan.repeats}"
    ordered = _by_outcome(plan, response, splits)
    total = len(splits)
    chosen = splits if ordered is None else ordered
    if total > MOST_SPLITS:
        chosen = chosen[np.linspace(0, total - 1, MOST_SPLITS).round().astype(np.intp)]
        title += f", {MOST_SPLITS} of {total:,} splits"
    names = None
    if ordered is None:
        names = [plan.name(int(s))[noun == "fold"] for s in chosen]
    return Shown(plan, chosen, names, noun, title, total > MOST_SPLITS)


def _by_outcome(
    plan: FoldPlan, response: Response | None, splits: Numbers
) -> Numbers | None:
    """Sort splits of single records, or pairs, by their outcome; None for others."""
    sizes = plan.tests.sizes[splits]
    size = 2 if plan.fits.holds_out_pairs else 1
    if response is None or len(splits) == 1 or (sizes != size).any():
        return None
    rank = np.empty(plan.n, dtype=np.intp)
    rank[np.argsort(response.values, kind="stable")] = np.arange(plan.n)
    held = np.sort(rank[plan.tests.chosen(splits).values].reshape(-1, size), axis=1)
    return splits[np.lexsort(held.T[::-1])]


def class_handles(response: Response, more: str = "") -> list[Any]:
    """Return the entries of a legend that name the classes."""
    from matplotlib.patches import Patch

    each = zip(class_colours(response.classes), response.levels, strict=True)
    name = response.name
    return [Patch(color=own, label=f"{name} = {level}{more}") for own, level in each]


def class_colours(classes: int) -> list[str]:
    """Return one colour per class."""
    if classes <= len(base.COLOURS):
        return list(base.COLOURS[:classes])
    import matplotlib as mpl
    from matplotlib.colors import to_hex

    map_ = mpl.colormaps["cividis"]
    return [to_hex(map_(place)) for place in np.linspace(0, 1, classes)]


# ---- the composition of each fold: shares of the classes, or means ----


WHATS = ("held out", "training")
MOST_GAPS = 40  # largest number of bars that have gaps between them


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
    plan, response = require_response(plan, "a plot of composition")
    shown = shown_splits(plan, response, repeat)
    ax = base.new_axes(ax)
    each = plan.tests.sizes[shown.splits]
    if what == "training":  # averaged over the fits of a split
        each = np.rint(shown.mean_of_fits(plan.n_train.astype(float))).astype(int)
    sizes = [int(size) for size in each]
    room = shown.name_axis(ax, sizes)
    handles = None
    if response.by_class:
        _draw_shares(ax, shown, response, what)
        handles = class_handles(response)
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
    base.draw_legend(ax, None, handles, "dotted: shares in all records")
    return ax


def mean_of(shown: Shown, values: Outcomes, what: str) -> Floats:
    """Return the mean of values over the held-out or training records of each split."""
    plan = shown.plan
    if what == "training":
        return shown.mean_of_fits(plan.training_means(values))
    tests = plan.tests.chosen(shown.splits)
    return np.asarray(tests.sums(values) / tests.sizes)


def _draw_shares(ax: Axes, shown: Shown, response: Response, what: str) -> None:
    """Draw stacked shares of the classes, with the first class at the bottom."""
    places = np.arange(len(shown.splits))
    width = 0.85 if len(places) <= MOST_GAPS else 1.0
    below = np.zeros(len(places))
    for code, colour in enumerate(class_colours(response.classes)):
        share = mean_of(shown, response.codes == code, what)
        ax.bar(places, share, width, below, color=colour)
        below = below + share
    for share in np.cumsum(response.counts / response.counts.sum())[:-1]:
        ax.axhline(share, color=base.ink(), linewidth=1.2, linestyle=":")
    ax.set(ylim=(0, 1), ylabel=f"share of each class{_pooled(shown, what)}")


def _draw_means(ax: Axes, shown: Shown, response: Response, what: str) -> None:
    """Draw the mean of each split with its standard deviation."""
    places = np.arange(len(shown.splits))
    middle = float(response.values.mean())
    apart = response.values - middle
    mean = mean_of(shown, apart, what)
    spread = np.sqrt(np.maximum(mean_of(shown, apart**2, what) - mean**2, 0))
    base.draw_level(ax, middle, linewidth=1)
    look: dict[str, Any] = {"color": base.COLOURS[0], "ecolor": base.COLOURS[5]}
    look["markersize"] = 5 if len(places) <= MOST_GAPS else 2.5
    error, named = (spread, "mean ± sd") if spread.any() else (None, "value")
    ax.errorbar(places, middle + mean, yerr=error, fmt="o", **look)
    ax.set_ylabel(f"{response.name}, {named}{_pooled(shown, what)}")


def _pooled(shown: Shown, what: str) -> str:
    several = what == "training" and (shown.fits_each > 1).any()
    return ", averaged over fits" if several else ""


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
    plan, response = require_response(plan, "a plot of balance")
    ax, title = base.new_axes(ax), f"Fold balance, {base.short_scheme(plan)}"
    if not plan.n_train.any():
        ax.set_title(title)
        return say(ax, "there are no training sets")
    several = response.kind == "multiclass"
    if several:
        codes = range(response.classes)
        every = [(response.codes == code).astype(float) for code in codes]
        across = "share of a class, held out"
        above = "share in the training set minus overall share"
        base.draw_legend(ax, None, class_handles(response))
    else:
        every = [response.values.astype(float)]
        binary = response.kind == "binary"
        what = "share of positives" if binary else f"mean {response.name}"
        across, above = f"{what}, held out", f"{what}, training set"
    middles = [float(values.mean()) for values in every]
    references, middle = (middles, 0.0) if several else ([0.0], middles[0])
    colours = class_colours(len(every))
    correlations = [
        _draw(ax, plan, *one) for one in zip(every, references, colours, strict=True)
    ]
    base.draw_level(ax, middle, zorder=0)
    if response.by_class:
        _set_limits(ax, middle, plan.n)
        ax.set_xlim(-0.08, 1.08)
    return base.finish(ax, across, above, f"{title}\n{_said(correlations)}")


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
    known = sorted(value for value in correlations if not np.isnan(value))
    if not known:
        return "the training means are all equal"
    ends = (f"{value:.2f}".replace("-", "−") for value in (known[0], known[-1]))
    said = " to ".join(dict.fromkeys(ends))
    return f"r = {said} over held-out records"
