"""Common parts of plots of fold plans: the outcome, the splits and the colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import described, is_whole
from statcv.errors import ArgumentError, ArgumentTypeError, SchemeError
from statcv.folds import FoldPlan, Response
from statcv.inference import Readable
from statcv.plots.base import COLOURS, short_scheme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SPLITS = 250  # largest number of splits that are all drawn; of more, a sample is
MOST_NAMED = 12  # largest number of splits whose names are all at the axis
MOST_DIGITS = 50  # largest total number of digits for which the sizes are at the axis
Floats = NDArray[np.float64]


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
    splits: NDArray[np.intp]
    names: Sequence[Any] | None
    noun: str
    title: str
    sampled: bool = False

    @property
    def fits(self) -> NDArray[np.intp]:
        """The fits of these splits."""
        first = self.plan.first_fit
        return np.concatenate([np.arange(first[s], first[s + 1]) for s in self.splits])

    @property
    def fits_each(self) -> NDArray[np.int64]:
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
        title = short_scheme(plan)
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
    plan: FoldPlan, response: Response | None, splits: NDArray[np.intp]
) -> NDArray[np.intp] | None:
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
    if classes <= len(COLOURS):
        return list(COLOURS[:classes])
    import matplotlib as mpl
    from matplotlib.colors import to_hex

    map_ = mpl.colormaps["cividis"]
    return [to_hex(map_(place)) for place in np.linspace(0, 1, classes)]
