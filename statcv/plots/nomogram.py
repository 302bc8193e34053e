"""Nomograms: the points of each predictor, and the risk of their total, on rulers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.arguments import check_types, described
from statcv.errors import ArgumentTypeError
from statcv.plots.base import GREY, axes_of_rows, ink
from statcv.plots.fit import fitting, name_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Labels = Sequence[tuple[float, str, bool]]  # place, text, whether on the way back

POINTS = np.arange(0.0, 101.0, 10.0)
LABEL, LANE = 0.14, 0.48  # distance of labels from a line, and from each other
MARGIN = 0.04  # room for labels at both ends of a line
CHARACTERS = 22  # along a line in the narrowest Axes
EACH = 3  # numbers up to which all are shown
TOTAL = "Total points"


def plot_nomogram(
    model: Any,
    *,
    ax: Axes | None = None,
    values: Mapping[str, Sequence[Any]] | None = None,
    at: Sequence[float] | None = None,
    lp: bool = False,
) -> Axes:
    """Draw a model as a nomogram, by which its risk is read off with a ruler.

    The points above the value of each predictor are added up, and the risk stands
    below their total. Labels of numbers are thinned where they would overlap; where the
    points of a predictor turn, labels of values on the way back are above its line.

    Parameters
    ----------
    model : FullModel, WrittenModel or CVResult
        A fitted, shrunk, loaded or published model; of a result, the fit to all rows.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; those of a new figure by default.
    values, at : optional
        Values of predictors, and risks, that are shown, as in
        ``result.final.nomogram``, which returns the numbers that are drawn.
    lp : bool, default False
        Whether to show the linear predictor as well.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.

    Raises
    ------
    EquationError, ArgumentError, ColumnError
        As ``result.final.nomogram`` raises them.
    ArgumentTypeError
        If ``model`` is not a model.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> ax = scv.plots.plot_nomogram(res.final, at=[0.1, 0.5, 0.9])
    >>> ax.get_yticklabels()[-1].get_text()
    'Risk of GRADE = 1'
    """
    check_types(plot_nomogram, locals())
    model = getattr(model, "final", model)
    if not hasattr(model, "nomogram"):
        raise ArgumentTypeError(
            f"plot_nomogram draws a model, as result.final is, not {described(model)}."
        )
    table = pd.DataFrame(model.nomogram(values=values, at=at))
    if not lp:
        table = table[table["axis"] != "Linear predictor"]
    points = pd.DataFrame({"axis": "Points", "value": POINTS, "points": POINTS})
    table = pd.concat([points.astype({"value": object}), table])
    names = list(dict.fromkeys(table["axis"]))
    ax = axes_of_rows(ax, len(names), 0.44)
    places: list[float] = []
    y, length = 0.0, 100.0
    for name in names:
        if name == TOTAL:
            length = float(table.loc[table["axis"] == name, "points"].max())
            ax.vlines(POINTS / 100, 0, places[-1], color=GREY, alpha=0.3, lw=0.6)
        rows = table[table["axis"] == name]
        x, shown = rows["points"].to_numpy(float) / length, rows["value"].tolist()
        back = np.diff(x, prepend=x[0]) * (x[-1] - x[0]) < 0
        each = isinstance(shown[0], str) or len(x) <= EACH
        y += LANE * bool(back.any() and not each)
        places.append(y)
        ax.plot(x, np.full(len(x), y), "|-", color=ink(), lw=0.8, ms=5, clip_on=False)
        said = [one if isinstance(one, str) else f"{one:g}" for one in shown]
        labels = sorted(zip(x, said, back, strict=True))
        y += 1 + (_write_each if each else _write_some)(ax, y, labels)
    name_rows(ax, names, (), places)
    ax.tick_params(axis="y", length=0, pad=8)
    ax.set(xlim=(-MARGIN, 1 + MARGIN), ylim=(y - 0.3, -0.3), xticks=[])
    ax.spines[:].set_visible(False)
    return ax


def _write_some(ax: Axes, y: float, labels: Labels) -> float:
    """Write numbers below a line, and above it on the way back; return no more room."""
    for way, sign, place in ((False, 1, "top"), (True, -1, "bottom")):
        look: dict[str, Any] = {"ha": "center", "va": place}
        own = [(at, said.replace("-", "−")) for at, said, back in labels if back == way]
        texts = [ax.text(at, y + sign * LABEL, said, **look) for at, said in own]
        fitting(ax).along.append(texts)
    return 0.0


def _write_each(ax: Axes, y: float, labels: Labels) -> float:
    """Write levels below a line, in lanes if they could overlap; return their room."""
    ends: list[float] = []
    half = 0.5 / CHARACTERS
    pitch = LANE * max(1 + len(said) // CHARACTERS for _, said, _ in labels)
    for at, said, _ in labels:
        wide = min((len(said) + 1) / CHARACTERS, 1.0)
        place, x, left = "left", at - half, at - half
        if left + wide > 1 + MARGIN:
            place, x, left = "right", at + half, at + half - wide
        if left < -MARGIN:
            place, x, left = "center", 0.5, 0.5 - wide / 2
        lane = next((k for k, end in enumerate(ends) if end <= left), len(ends))
        ends[lane : lane + 1] = [left + wide]
        look: dict[str, Any] = {"ha": place, "va": "top"}
        ax.text(x, y + LABEL + pitch * lane, said, **look)
    return pitch * len(ends) - LANE
