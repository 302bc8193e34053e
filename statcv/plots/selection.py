"""How often each term was chosen in the training sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from statcv.plots.base import COLOURS, GREY, finish, new_axes
from statcv.plots.drawn import Drawn, one_result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TERMS = 30  # terms that are drawn, the most frequent ones


def plot_selection(*results: Drawn, ax: Axes | None = None) -> Axes:
    """Draw the share of training sets in which each term was chosen.

    Terms of the model of all records have another colour than the others. At most 30
    terms are drawn, the most frequent ones.

    Parameters
    ----------
    *results : CVResult
        One result of ``cv(select=)``.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; those of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.

    Raises
    ------
    NotTunedError
        If no terms were chosen.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> few = scv.cv("GRADE ~ GPA + TUCE", df, select="backward", k=4, seed=1)
    >>> [label.get_text() for label in scv.plots.plot_selection(few).get_yticklabels()]
    ['GPA', 'TUCE']
    """
    result: Any = one_result(results, "plot_selection", "draw each by itself")
    table = result.selection
    shown = table[table["frequency"] > 0].head(MOST_TERMS)
    shown = table.head(MOST_TERMS) if len(table) <= MOST_TERMS else shown
    ax = new_axes(ax)
    for inside, label in ((True, "in the model of all records"), (False, "not in it")):
        own = shown["all_records"] == inside
        if own.any():
            places, shares = shown.index[own], shown["frequency"][own]
            colour = COLOURS[0] if inside else GREY
            ax.hlines(places, 0, shares, color=colour, linewidth=1.0)
            ax.plot(shares, places, "o", color=colour, label=label, clip_on=False)
    ax.set_yticks(range(len(shown)), shown["term"])
    ax.set(xlim=(0, 1), ylim=(len(shown) - 0.5, -0.5))
    title = f"Terms chosen in {len(result.held.converged)} training sets"
    return finish(ax, "share of training sets", "", title)
