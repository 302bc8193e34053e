"""The style of figures for print."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Literal

from statcv.arguments import one_of

STYLES: dict[str, dict[str, Any]] = {
    "paper": {
        "figure.figsize": (3.5, 3.2),
        "font.size": 8,
        "font.family": "sans-serif",
        "font.sans-serif": ["Arial", "Helvetica", "Liberation Sans", "DejaVu Sans"],
        "axes.titlesize": "medium",
        "axes.linewidth": 0.6,
        "lines.linewidth": 0.9,
        "lines.markersize": 4,
        "patch.linewidth": 0.6,
        **{f"{axis}tick.major.width": 0.6 for axis in "xy"},
        **{f"{axis}tick.major.size": 2.5 for axis in "xy"},
        "savefig.dpi": 600,
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
        "svg.fonttype": "none",
    }
}


def style(name: Literal["paper"] = "paper") -> AbstractContextManager[None]:
    """Return a context in which figures are drawn and saved for print.

    Characters are of 8 points, lines are thin, and a figure of one plot has the width
    of a column (3.5 inches), that of :func:`plot_referee` the width of a page. Figures
    that are saved as PDF or SVG contain their text as text, which an editor can search
    and change. Both drawing and saving have to be within the context.

    Parameters
    ----------
    name : {"paper"}
        Name of the style.

    Returns
    -------
    context manager
        The settings apply inside its ``with`` block.

    Raises
    ------
    ArgumentError
        If there is no such style.

    Examples
    --------
    >>> import tempfile
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder, scv.plots.style("paper"):
    ...     figure = scv.plots.plot_roc(res).figure
    ...     figure.savefig(f"{folder}/roc.pdf")
    >>> float(figure.get_figwidth())
    3.5
    """
    import matplotlib as mpl

    one_of(name, STYLES, "name")
    settings: Any = STYLES[name]
    return mpl.rc_context(settings)
