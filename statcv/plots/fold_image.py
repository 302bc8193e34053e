"""The picture of who is held out, as colours of records and fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from statcv.folds import Ragged, Response
from statcv.plots.base import COLOURS
from statcv.plots.splits import Shown, class_colours

if TYPE_CHECKING:
    from matplotlib.colors import Normalize


# largest number of records with a line each; more share lines, in their mean colour
MOST_LINES = 250


TRAINED, AGAIN = 0.16, 0.45  # colour strength of training records: once, and repeated


DARK = "#262626"


STRATA = (0.35, 0.8)  # alternating greys of the bands of strata


Floats = NDArray[np.float64]


Rows = NDArray[np.intp]


def in_order(
    shown: Shown, response: Response | None, sites: Rows | None = None
) -> Rows:
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
        table = np.array([rgb(name) for name in class_colours(response.classes)])
        return table[response.codes], None
    import matplotlib as mpl
    from matplotlib.colors import Normalize

    scale = Normalize(response.values.min(), response.values.max())
    return mpl.colormaps["cividis"](scale(response.values))[:, :3], scale


def dropped_colour(response: Response | None) -> str:
    """Return the colour of records excluded from training, unlike the others."""
    if response is None or (response.by_class and response.classes <= len(COLOURS)):
        return DARK
    return COLOURS[1]  # distinct from a scale of dark blue to yellow


def rgb(name: str) -> Floats:
    """Return a colour by its name."""
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(name))


def fold_image(shown: Shown, rows: Rows, colours: Floats, dropped: Floats) -> Floats:
    """Return the image, (lines, columns, 3), with the mean colour of each line.

    All cells are first painted as training records, and then changed if they are not.
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
    lay(absent_records(shown), by_fit, dark, 1 / shown.fits_each)
    copies = _distinct(plan.copied.chosen(shown.fits), plan.n)
    lay(copies, by_fit, 1 - AGAIN * (1 - colours), 1 / shown.fits_each)
    return np.clip(image, 0, 1)


def _distinct(lists: Ragged, n: int) -> Ragged:
    """List each record once."""
    cells = np.unique(lists.owners * n + lists.values)
    return Ragged.split(cells % n, np.bincount(cells // n, minlength=len(lists)))


def strata_bands(codes: NDArray[Any], lines: int) -> Floats:
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
