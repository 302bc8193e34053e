"""Records by folds: who is held out where, and on whom each fold trains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from statcv.folds import FoldPlan, Ragged, Response
from statcv.inference import Readable
from statcv.plots.base import COLOURS, GREY, new_axes
from statcv.plots.splits import (
    Shown,
    class_colours,
    legend_below,
    plan_and_response,
    shown_splits,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize

MOST_LINES = 250  # of more records several share a line, in their mean colour
MOST_GRID = 40  # lines and columns between which white is left
MOST_LABELS = 30  # records whose labels stand at the axis
TRAINED, AGAIN = 0.16, 0.45  # how strong the colour of training records is
DARK = "#262626"
STRATA = (0.35, 0.8)  # greys of the bands of strata, in turn
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


def plot_folds(
    plan: FoldPlan | Readable, repeat: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a plan as a picture of records by folds.

    A line is a record and a column a fold: full colour where the record is held out,
    pale where it trains, stronger where it comes in training more than once, dark
    where it is kept from training. The colour is the class, or the value of a
    continuous outcome. Records stand in the order of the folds that hold them out;
    where records never part, bands at the left mark those that are equal.

    Parameters
    ----------
    plan : FoldPlan or CVResult
    repeat : int, optional
        The repeat to draw, from 1: the first, or where each repeat is one split
        (``montecarlo``, ``bootstrap``) all side by side.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ArgumentError
        If there is no such repeat.
    ArgumentTypeError
        If it is neither a plan nor a result.

    Notes
    -----
    Of more than 250 splits a sample at even distances is drawn, with the records that
    these leave out; the title says so. Of more than 250 records several share a line.
    Where a fold has several fits, a record dropped in some of them is as dark as
    their share.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv.plots import plot_folds
    >>> plan = scv.fold_plan("GRADE", scv.load_data("spector"), k=4, seed=1)
    >>> plot_folds(plan).get_title()
    'Who is held out, stratified_kfold'
    """
    plan, response = plan_and_response(plan)
    shown = shown_splits(plan, response, repeat)
    rows = _in_order(shown, response)
    colours, scale = _colours(plan.n, response)
    dark = _dark(response)
    image = _image(shown, rows, colours, _rgb(dark))
    ax = new_axes(ax)
    lines, columns = image.shape[:2]
    ax.imshow(image, aspect="auto", interpolation="nearest")
    left = -0.5
    if plan.strata is not None:
        left -= 0.05 * columns
        bands = _bands(plan.strata.codes[rows], lines)
        ends = (left, left + 0.04 * columns, lines - 0.5, -0.5)
        ax.imshow(bands, aspect="auto", extent=ends, interpolation="nearest")
    ax.set(xlim=(left, columns - 0.5), ylim=(lines - 0.5, -0.5))
    _part_cells(ax, lines, columns)
    shown.name_axis(ax)
    _name_records(ax, plan, rows, lines)
    ax.set_title(f"Who is held out, {shown.title}")
    _explain(ax, shown, response, dark, scale)
    return ax


def _in_order(shown: Shown, response: Response | None) -> Rows:
    """Return the records to draw, from the top.

    By the first column that holds them out; within it by class or value. Classes go
    first where a record is held out more than once, and in a sample of the splits,
    whose records are those left out. Equal strata are adjacent.
    """
    plan, many = shown.plan, len(shown.splits)
    tests = plan.tests.chosen(shown.splits)
    left_out = _absent(shown)
    column = np.repeat(np.arange(many), shown.fits_each)
    first, drop = np.full(plan.n, many), np.full(plan.n, many)
    np.minimum.at(first, tests.values, tests.owners)
    np.minimum.at(drop, left_out.values, column[left_out.owners])
    values = np.zeros(plan.n) if response is None else response.values
    classes = np.zeros(plan.n) if response is None else response.codes
    overlap = np.bincount(tests.values, minlength=plan.n).max() > 1
    keys = [drop, values, first]
    if overlap or shown.sampled:
        keys.append(classes)
    if plan.strata is not None:
        codes = plan.strata.codes
        foremost = np.full(plan.strata.count, many)
        np.minimum.at(foremost, codes, first)
        keys += [codes, foremost[codes]]
    order = np.lexsort(keys)
    if shown.sampled:
        order = order[(first[order] < many) | (drop[order] < many)]
    return order


def _colours(n: int, response: Response | None) -> tuple[Floats, Normalize | None]:
    """Return each record's colour, (n, 3), and the scale of a continuous outcome."""
    if response is None:
        return np.tile(_rgb(COLOURS[0]), (n, 1)), None
    if response.by_class:
        table = np.array([_rgb(name) for name in class_colours(response.classes)])
        return table[response.codes], None
    import matplotlib as mpl
    from matplotlib.colors import Normalize

    scale = Normalize(response.values.min(), response.values.max())
    return mpl.colormaps["cividis"](scale(response.values))[:, :3], scale


def _dark(response: Response | None) -> str:
    """Return the colour of records kept from training: none of the outcome's."""
    if response is None or (response.by_class and response.classes <= len(COLOURS)):
        return DARK
    return COLOURS[1]  # beside a scale from dark blue to yellow


def _rgb(name: str) -> Floats:
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(name))


def _image(shown: Shown, rows: Rows, colours: Floats, dropped: Floats) -> Floats:
    """Return the picture, (lines, columns, 3): the mean colour of each line's records.

    Every record is laid as one that trains, and then changed where it does not.
    """
    plan, many = shown.plan, len(shown.splits)
    lines = min(len(rows), MOST_LINES)
    line = np.full(plan.n, -1)
    line[rows] = np.arange(len(rows)) * lines // len(rows)
    size = np.bincount(line[rows], minlength=lines)
    pale = 1 - TRAINED * (1 - colours)
    image = np.zeros((lines, many, 3))
    for channel in range(3):
        ground = np.bincount(line[rows], pale[rows, channel], lines) / size
        image[:, :, channel] = ground[:, None]

    def lay(who: Ragged, columns: Rows, paint: Floats, weight: Floats) -> None:
        column, row = columns[who.owners], who.values
        seen = line[row] >= 0
        column, row = column[seen], row[seen]
        share = weight[column] / size[line[row]]
        cell = line[row] * many + column
        for channel in range(3):
            change = (paint - pale)[row, channel] * share
            sums = np.bincount(cell, change, lines * many)
            image[:, :, channel] += sums.reshape(lines, many)

    by_split = np.arange(many)
    by_fit = np.repeat(by_split, shown.fits_each)
    once = np.ones(many)
    dark = np.broadcast_to(dropped, colours.shape)
    lay(plan.tests.chosen(shown.splits), by_split, colours, once)
    lay(_absent(shown), by_fit, dark, 1 / shown.fits_each)
    copies = _distinct(plan.copied.chosen(shown.fits), plan.n)
    lay(copies, by_fit, 1 - AGAIN * (1 - colours), 1 / shown.fits_each)
    return np.clip(image, 0, 1)


def _distinct(lists: Ragged, n: int) -> Ragged:
    """List each record once."""
    cells = np.unique(lists.owners * n + lists.values)
    return Ragged.split(cells % n, np.bincount(cells // n, minlength=len(lists)))


def _bands(codes: NDArray[Any], lines: int) -> Floats:
    """Return greys that change where the stratum does, (lines, 1, 3)."""
    turn = np.concatenate([[0], np.cumsum(np.diff(codes) != 0)]) % 2
    grey = np.array(STRATA)[turn]
    line = np.arange(len(codes)) * lines // len(codes)
    mean = np.bincount(line, grey) / np.bincount(line)
    return np.repeat(mean[:, None, None], 3, axis=2)


def _part_cells(ax: Axes, lines: int, columns: int) -> None:
    """Leave white between few columns, and between few lines."""
    if columns <= MOST_GRID:
        ax.vlines(np.arange(columns + 1) - 0.5, -0.5, lines - 0.5, "white", lw=1)
    if lines <= MOST_GRID:
        ax.hlines(np.arange(1, lines) - 0.5, -0.5, columns - 0.5, "white", lw=1)


def _name_records(ax: Axes, plan: FoldPlan, rows: Rows, lines: int) -> None:
    count = len(rows)
    if count <= MOST_LABELS:
        labels = rows if plan.rows is None else plan.rows[rows]
        ax.set_yticks(np.arange(count), [str(label) for label in labels])
        ax.tick_params(axis="y", labelsize="small", length=0)
        ax.set_ylabel("record")
        return
    ax.set_yticks([])
    said = f"{count:,} records"
    if count < plan.n:
        said = f"the {count:,} of {plan.n:,} records\nthat are left out here"
    if lines < count:
        each = count / lines
        said += f", {each:.2g} a line" if each < 10 else f", {each:,.0f} a line"
    ax.set_ylabel(said)


def _explain(
    ax: Axes,
    shown: Shown,
    response: Response | None,
    dark: str,
    scale: Normalize | None,
) -> None:
    """Name the colours below the picture."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.patches import Patch

    plan = shown.plan
    if scale is not None and response is not None:
        bar = ScalarMappable(scale, "cividis")
        ax.figure.colorbar(bar, ax=ax, label=f"{response.name}, held out")
        held = []
    elif response is None:
        held = [Patch(color=COLOURS[0], label="held out")]
    else:
        colours = class_colours(response.classes)
        held = [
            Patch(color=colour, label=f"{response.name} = {level}, held out")
            for colour, level in zip(colours, response.levels, strict=True)
        ]
    grey, weighted = _rgb(GREY), ", weighted" if plan.weighting is not None else ""
    pale, mid = (1 - strength * (1 - grey) for strength in (2 * TRAINED, 0.9))
    trained = [Patch(color=pale.tolist(), label=f"paler: trained on{weighted}")]
    if plan.copied.chosen(shown.fits).sizes.any():
        trained.append(Patch(color=mid.tolist(), label="less pale: more than once"))
    dropped = _absent(shown).sizes
    if dropped.any():
        balance = not plan.kept_out.chosen(shown.fits).sizes.any()
        why = "dropped for balance" if balance else "not trained on"
        trained.append(Patch(color=dark, label=f"{why}, {_range(dropped)} a fit"))
    bands = "" if plan.strata is None else f"bands at the left: {plan.strata.sentence}"
    legend_below(ax, [*held, *trained], bands)


def _absent(shown: Shown) -> Ragged:
    """Return whom each fit shown neither holds out nor trains on."""
    plan = shown.plan
    return plan.dropped.chosen(shown.fits).beside(plan.kept_out.chosen(shown.fits))


def _range(counts: NDArray[np.int64]) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
