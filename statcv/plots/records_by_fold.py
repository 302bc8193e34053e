"""Records by folds: who is held out, and on whom each fold trains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.arguments import described, is_list
from statcv.errors import DataError
from statcv.folds import FoldPlan, Ragged, Response
from statcv.folds.audit import trained_on_equal
from statcv.inference import Readable
from statcv.numeric.arrays import Array, Floats, Numbers
from statcv.plots import splits
from statcv.plots.base import COLOURS, GREY, draw_legend, ink, new_axes
from statcv.plots.fit import fitting
from statcv.plots.splits import Shown
from statcv.plots.wrapping import take_literally

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.lines import Line2D


# largest number of records with a line each; more share lines, in their mean colour
MOST_LINES = 250


TRAINED, AGAIN = 0.16, 0.45  # colour strength of training records: once, and repeated


DARK = "#262626"


STRATA = (0.35, 0.8)  # alternating greys of the bands of strata


def in_order(
    shown: Shown, response: Response | None, sites: Numbers | None = None
) -> Numbers:
    """Return the records to draw, from top to bottom.

    Records are sorted by the first column that holds them out, and then by class or
    value. They are sorted by class first if a record is held out more than once, or if
    only a sample of the splits is drawn, with the records held out or dropped in it.
    Records of one cluster are adjacent. If there are sites, these come first.
    """
    plan, many = shown.plan, len(shown.splits)
    tests = plan.tests.chosen(shown.splits)
    absent = absent_records(shown)
    column = np.repeat(np.arange(many), shown.fits_each)
    first, drop = np.full(plan.n, many), np.full(plan.n, many)
    np.minimum.at(first, tests.values, tests.owners)
    np.minimum.at(drop, absent.values, column[absent.owners])
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
    if sites is not None:
        keys.append(sites)
    order = np.lexsort(keys)
    if shown.sampled:
        order = order[(first[order] < many) | (drop[order] < many)]
    return order


def record_colours(
    n: int, response: Response | None
) -> tuple[Floats, Normalize | None]:
    """Return each record's colour, (n, 3), and the scale of a continuous outcome."""
    if response is None:
        return np.tile(rgb(COLOURS[0]), (n, 1)), None
    if response.by_class:
        table = np.array([rgb(name) for name in splits.class_colours(response.classes)])
        return table[response.codes], None
    import matplotlib as mpl
    from matplotlib.colors import Normalize

    scale = Normalize(response.values.min(), response.values.max())
    return mpl.colormaps["cividis"](scale(response.values))[:, :3], scale


def rgb(name: str) -> Floats:
    """Return a colour by its name."""
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(name))


def fold_image(shown: Shown, rows: Numbers, colours: Floats, dropped: Floats) -> Floats:
    """Return the image, (lines, columns, 3), with the mean colour of each line.

    All cells are first painted as training records, and then changed if they are not.
    """
    plan, many = shown.plan, len(shown.splits)
    lines = min(len(rows), MOST_LINES)
    line = np.full(plan.n, -1)
    line[rows] = np.arange(len(rows)) * lines // len(rows)
    size = np.bincount(line[rows], minlength=lines)
    pale = 1 - TRAINED * (1 - colours)
    ground = np.zeros((lines, 3))
    np.add.at(ground, line[rows], pale[rows])
    image = np.repeat((ground / size[:, None])[:, None], many, axis=1)

    def lay(who: Ragged, columns: Numbers, paint: Floats, weight: Floats) -> None:
        column, row = columns[who.owners], who.values
        seen = line[row] >= 0
        column, row = column[seen], row[seen]
        share = weight[column] / size[line[row]]
        change = (paint[row] - pale[row]) * share[:, None]
        np.add.at(image, (line[row], column), change)

    by_split = np.arange(many)
    by_fit = np.repeat(by_split, shown.fits_each)
    once = np.ones(many)
    dark = np.broadcast_to(dropped, colours.shape)
    lay(plan.tests.chosen(shown.splits), by_split, colours, once)
    lay(absent_records(shown), by_fit, dark, 1 / shown.fits_each)
    lists = plan.copied.chosen(shown.fits)
    cells = np.unique(lists.owners * plan.n + lists.values)  # each record once
    sizes = np.bincount(cells // plan.n, minlength=len(lists))
    copies = Ragged.split(cells % plan.n, sizes)
    lay(copies, by_fit, 1 - AGAIN * (1 - colours), 1 / shown.fits_each)
    return np.clip(image, 0, 1)


def strata_bands(codes: Array, lines: int) -> Floats:
    """Return greys, (lines, 1, 3), that alternate from cluster to cluster."""
    turn = np.concatenate([[0], np.cumsum(np.diff(codes) != 0)]) % 2
    grey = np.array(STRATA)[turn]
    line = np.arange(len(codes)) * lines // len(codes)
    mean = np.bincount(line, grey) / np.bincount(line)
    return np.repeat(mean[:, None, None], 3, axis=2)


def absent_records(shown: Shown) -> Ragged:
    """Return the records that each fit neither holds out nor trains on."""
    plan = shown.plan
    return plan.dropped.chosen(shown.fits).beside(plan.kept_out.chosen(shown.fits))


MOST_GRID = 40  # largest number of lines or columns with white between them
MOST_LABELS = 30  # largest number of records whose labels are at the axis


def plot_folds(
    plan: FoldPlan | Readable,
    repeat: int | None = None,
    ax: Axes | None = None,
    *,
    sites: Sequence[Any] | pd.Series[Any] | None = None,
    duplicates: Sequence[Any] | pd.Series[Any] | None = None,
) -> Axes:
    """Draw a plan as a grid of records by folds.

    Each line is a record and each column a fold. The colour is full if the record is
    held out, pale if it is in the training set, stronger if it is in the training set
    more than once, and dark if it is excluded from training. The hue shows the class,
    or the value of a continuous outcome. Records are sorted by the folds that hold them
    out. If the plan keeps clusters together, bands at the left show the clusters.

    Parameters
    ----------
    plan : FoldPlan or CVResult
        Plan, or result whose plan is drawn.
    repeat : int, optional
        Repeat to draw, from 1. The default is the first repeat; if each repeat is a
        single split (``montecarlo``, ``bootstrap``), all are drawn side by side.
    ax : matplotlib.axes.Axes, optional
    sites : array_like, optional
        Site of each record of the plan, by which records are sorted first.
    duplicates : array_like, optional
        Identity of each record of the plan, such as the number of a person, which
        duplicates share. A cross marks a held-out record with a duplicate in the
        training set of the same fold, which reveals its outcome.

    Raises
    ------
    ArgumentError
        If there is no such repeat.
    ArgumentTypeError
        If ``plan`` is neither a plan nor a result.
    DataError
        If ``sites`` or ``duplicates`` does not have one known value per record.

    Notes
    -----
    Of more than 250 splits an evenly spaced sample is drawn, with the records that are
    held out or dropped in these. Of more than 250 records several share a line. If a
    fold has several fits, the darkness of a record is in proportion to the share of
    fits in which it is dropped.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> plan = scv.fold_plan("GRADE", df, k=4, seed=1)
    >>> scv.plots.plot_folds(plan).get_title()
    'Who is held out, stratified_kfold'
    """
    plan, response = splits.plan_and_response(plan)
    shown = splits.shown_splits(plan, response, repeat)
    place = None if sites is None else _coded(sites, plan, "sites")
    rows = in_order(shown, response, None if place is None else place[0])
    colours, scale = record_colours(plan.n, response)
    dark = DARK  # records that are not trained on
    if response and not (response.by_class and response.classes <= len(COLOURS)):
        dark = COLOURS[1]  # distinct from a scale of dark blue to yellow
    image = fold_image(shown, rows, colours, rgb(dark))
    ax = new_axes(ax)
    lines, columns = image.shape[:2]
    ax.imshow(image, aspect="auto", interpolation="nearest")
    left = -0.5
    if plan.strata is not None:
        left -= 0.05 * columns
        bands = strata_bands(plan.strata.codes[rows], lines)
        ends = (left, left + 0.04 * columns, lines - 0.5, -0.5)
        ax.imshow(bands, aspect="auto", extent=ends, interpolation="nearest")
    ax.set(xlim=(left, columns - 0.5), ylim=(lines - 0.5, -0.5))
    # white between cells, if these are few
    if columns <= MOST_GRID:
        ax.vlines(np.arange(columns + 1) - 0.5, -0.5, lines - 0.5, "white", lw=1)
    if lines <= MOST_GRID:
        ax.hlines(np.arange(1, lines) - 0.5, -0.5, columns - 0.5, "white", lw=1)
    shown.name_axis(ax)
    _name_records(ax, plan, rows, lines)
    if place is not None:
        _name_sites(ax, place[0][rows], place[1], lines)
    marks = []
    if duplicates is not None:
        same = _coded(duplicates, plan, "duplicates")[0]
        marks = _mark_divided(ax, shown, same, rows, lines)
    ax.set_title(f"Who is held out, {shown.title}")
    _explain(ax, shown, response, (dark, scale), marks)
    return ax


def _coded(
    values: Sequence[Any] | pd.Series[Any], plan: FoldPlan, argument: str
) -> tuple[Numbers, list[str]]:
    """Return the number of each record's value, and the values in sorted order."""
    if not is_list(values):
        raise DataError(f"{argument} must be a list, not {described(values)}.")
    column = pd.Series(values)
    if len(column) != plan.n:
        raise DataError(
            f"{argument} has {len(column):,} values, but the plan is for {plan.n:,} "
            "records."
        )
    if column.isna().any():
        raise DataError(f"{argument} is missing in {int(column.isna().sum())} records.")
    codes, found = pd.factorize(column, sort=True)
    return np.asarray(codes, dtype=np.intp), [str(value) for value in found]


def _name_sites(ax: Axes, sites: Numbers, names: list[str], lines: int) -> None:
    """Draw a line between sites, and write their names at the left."""
    starts = np.flatnonzero(np.diff(sites, prepend=-1))
    ends = np.append(starts[1:], len(sites))
    edges, scale = starts * lines / len(sites) - 0.5, lines / len(sites)
    for edge in edges[1:].tolist():
        ax.axhline(edge, color=DARK, linewidth=1.2).set_gid("site")
    middle = (starts + ends) / 2 * scale - 0.5
    ax.set_yticks(middle, [names[code] for code in sites[starts].tolist()])
    ax.tick_params(axis="y", labelsize="small", length=0)
    count = ax.get_ylabel()
    ax.set_ylabel(f"{count}, by site" if count != "record" else "site")


def _mark_divided(
    ax: Axes, shown: Shown, identity: Numbers, rows: Numbers, lines: int
) -> list[Line2D]:
    """Mark held-out records with a duplicate in the training set."""
    tests = shown.plan.tests
    seen = trained_on_equal(shown.plan, identity)
    line = np.full(shown.plan.n, -1)
    line[rows] = np.arange(len(rows)) * lines // len(rows)
    column = np.full(shown.plan.n_splits, -1)
    column[shown.splits] = np.arange(len(shown.splits))
    x, y = column[tests.owners[seen]], line[tests.values[seen]]
    drawn = (x >= 0) & (y >= 0)
    if not drawn.any():
        return []
    label = f"a duplicate is trained on ({int(drawn.sum()):,})"
    look: dict[str, Any] = {"ms": 5.0 if lines <= MOST_GRID else 3.0, "gid": "divided"}
    return ax.plot(x[drawn], y[drawn], "x", color=ink(), label=label, **look)


def _name_records(ax: Axes, plan: FoldPlan, rows: Numbers, lines: int) -> None:
    count = len(rows)
    if count <= MOST_LABELS:
        labels = rows if plan.rows is None else plan.rows[rows]
        ax.set_yticks(np.arange(count), list(map(str, labels)))
        ax.tick_params(axis="y", labelsize="small", length=0)
        ax.set_ylabel("record")
        return
    ax.set_yticks([])
    said = f"{count:,} records"
    if count < plan.n:
        said = f"the {count:,} of {plan.n:,} records\nheld out or dropped here"
    if lines < count:
        each = count / lines
        said += f", {each:.2g} per line" if each < 10 else f", {each:,.0f} per line"
    ax.set_ylabel(said)


def _explain(
    ax: Axes,
    shown: Shown,
    response: Response | None,
    colours: tuple[str, Normalize | None],
    marks: list[Line2D],
) -> None:
    """Add a legend of the colours below the plot."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.patches import Patch

    plan, (dark, scale) = shown.plan, colours
    if scale is not None and response is not None:
        bar = ScalarMappable(scale, "cividis")
        drawn = ax.figure.colorbar(bar, ax=ax, label=f"{response.name}, held out")
        fitting(ax).beside = (drawn.ax,)
        take_literally(drawn.ax)
        held = []
    elif response is None:
        held = [Patch(color=COLOURS[0], label="held out")]
    else:
        held = splits.class_handles(response, ", held out")
    weighted = ", weighted" if plan.weighting is not None else ""
    fade = 1 - rgb(GREY)
    pale, mid = 1 - 2 * TRAINED * fade, 1 - 0.9 * fade
    trained = [Patch(color=pale.tolist(), label=f"paler: trained on{weighted}")]
    if plan.copied.chosen(shown.fits).sizes.any():
        trained.append(Patch(color=mid.tolist(), label="less pale: more than once"))
    dropped = absent_records(shown).sizes
    if dropped.any():
        balance = not plan.kept_out.chosen(shown.fits).sizes.any()
        why = "dropped for balance" if balance else "not trained on"
        ends = dict.fromkeys(f"{n:,}" for n in (dropped.min(), dropped.max()))
        each = " to ".join(ends)
        trained.append(Patch(color=dark, label=f"{why}, {each} per fit"))
    bands = "" if plan.strata is None else f"bands at the left: {plan.strata.sentence}"
    draw_legend(ax, None, [*held, *trained, *marks], bands)
