"""The common appearance of all plots, and checks of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from statcv.arguments import described, is_list, is_number, one_of
from statcv.errors import ArgumentError, ArgumentTypeError, OutcomeError
from statcv.folds import FoldPlan
from statcv.inference import Readable, Scores
from statcv.metrics import CurveBand
from statcv.numeric.arrays import Floats
from statcv.plots.fit import CURVE, REASON, Place, draw_legend, fitting
from statcv.words import limits_digits, percent, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What the studies of papers use of the style of figures
__all__ = ["COLOURS", "GREY", "draw_legend", "new_axes", "shade", "written"]


# Okabe & Ito's colours, which can be distinguished with any type of colour vision; the
# last three are darker, so that all have a contrast of 3 with white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#C26A9B", "#A67300", "#2E93CC")
GREY = "#7f7f7f"
EXTERNAL = "external validation"
UNIT = (-0.02, 1.02)  # limits of an axis of shares


def new_axes(ax: Axes | None, width: float = 5.0, height: float | None = None) -> Axes:
    """Return ``ax``, or the Axes of a new figure.

    Raises
    ------
    ArgumentTypeError
        If ``ax`` is not a matplotlib Axes.
    """
    if ax is not None:
        if not hasattr(ax, "get_xlim"):
            several = "; give one of them" if is_list(ax) else ""
            if hasattr(ax, "design") and hasattr(ax, "held"):
                several = "; this plot draws one result, so call it for each"
            raise ArgumentTypeError(
                f"ax must be a matplotlib Axes, not {described(ax)}{several}."
            )
        _lay_out_if_plain(ax)
        return fitting(ax).ax
    import matplotlib.pyplot as plt

    wide = figure_width(width)
    size = (wide, 0.92 * wide if height is None else height)
    return fitting(plt.subplots(figsize=size, layout="constrained")[1]).ax


def check_drawn(given: object, attribute: str, verb: str) -> None:
    """Check that a plot is given what a verb of a result returns."""
    if not hasattr(given, attribute):
        raise ArgumentTypeError(
            f"plot_{verb}() draws what result.{verb}() returns, not {described(given)}."
        )


def axes_of_rows(ax: Axes | None, rows: int, inches: float, width: float = 5.0) -> Axes:
    """Return ``ax``, or the Axes of a new figure with the height for its rows."""
    return new_axes(ax, width, min(1.3 + inches * rows, 40))


def figure_width(most: float) -> float:
    """Return the width of a new figure, which a style for print makes narrower."""
    import matplotlib as mpl

    return min(most, float(mpl.rcParams["figure.figsize"][0]))


def ink() -> Any:
    """Return the colour of texts, in which marks without a colour are drawn."""
    import matplotlib as mpl

    return mpl.rcParams["text.color"]


def thick() -> float:
    """Return the width of curves, which are thicker than other lines."""
    import matplotlib as mpl

    return 1.2 * float(mpl.rcParams["lines.linewidth"])


def _lay_out_if_plain(ax: Axes) -> None:
    """Lay a figure out so that no label is cut, unless its owner has done so."""
    import matplotlib as mpl

    from statcv.plots.layout import SettledLayout

    figure = ax.get_figure(root=True)
    if figure is None or figure.get_layout_engine() is not None:
        return
    usual: Any = mpl.rcParams
    sides, own = ("left", "right", "bottom", "top"), figure.subplotpars
    if all(getattr(own, one) == usual[f"figure.subplot.{one}"] for one in sides):
        figure.set_layout_engine(SettledLayout())


def count_curves(ax: Axes) -> int:
    """Return how many curves there are on these Axes, each in the legend once."""
    return sum(line.get_gid() == CURVE for line in ax.lines)


def draw_curve(
    ax: Axes, x: Any, y: Any, label: str | None, colour: str | None = None, **style: Any
) -> str:
    """Draw a curve that the legend names, and return its colour.

    Its colour is the next one unless given.
    """
    colour = colour or COLOURS[count_curves(ax) % len(COLOURS)]
    (line,) = ax.plot(x, y, color=colour, **{"linewidth": thick(), **style})
    line.set_gid(CURVE)
    if label:
        line.set_label(label)
    return colour


def shade(
    ax: Axes, at: Floats, lower: Floats, upper: Floats, colour: str, label: str | None
) -> None:
    """Shade the band of a curve, which the legend names once."""
    known = label in ax.get_legend_handles_labels()[1]
    look: dict[str, Any] = {"color": colour, "alpha": 0.2, "linewidth": 0}
    ax.fill_between(at, lower, upper, label=None if known else label, **look)


def draw_band(ax: Axes, band: CurveBand, colour: str) -> None:
    """Shade the band of a curve; if there is none, the legend says why."""
    if band.reason:
        reason = f"no band: {band.reason.partition(':')[0]}"
        ax.plot([], [], " ", label=reason, gid=REASON)
        return
    label = f"{percent(band.level)} band, {band.method}"
    shade(ax, band.at, band.lower, band.upper, colour, label)


def pointwise(level: float) -> str:
    """Return the name of a pointwise band in a legend.

    >>> pointwise(0.95)
    '95% band, pointwise'
    """
    return f"{percent(level)} band, pointwise"


def draw_bars(
    ax: Axes, edges: Floats, heights: Any, colour: str, label: str | None = None
) -> None:
    """Draw the bars of a histogram."""
    look: dict[str, Any] = {"align": "edge", "edgecolor": "white", "linewidth": 0.5}
    wide = np.diff(edges)
    ax.bar(edges[:-1], heights, wide, color=colour, label=label, **look)


def draw_level(ax: Axes, y: float, **style: Any) -> None:
    """Draw a dotted level line, such as that of no effect."""
    ax.axhline(y, **{"color": GREY, "linewidth": 0.8, "linestyle": ":", **style})


def draw_diagonal(ax: Axes, ends: Sequence[float] = (0, 1)) -> None:
    """Draw the dotted line on which both axes have equal values."""
    ax.plot(ends, ends, color=GREY, linewidth=0.8, linestyle=":")


def finish(
    ax: Axes,
    across: str,
    above: str,
    title: str,
    corner: Place | None = None,
    **limits: tuple[float, float],
) -> Axes:
    """Name the axes, draw the legend, and return the Axes."""
    ax.set(xlabel=across, ylabel=above, title=title, **limits)
    draw_legend(ax, corner)
    return ax


def horizon_of(result: Readable, picture: str, at: float | None) -> float | None:
    """Return the horizon of a plot; None if the outcome is not a time to an event.

    Raises
    ------
    ArgumentError
        If the result has several horizons, and ``at`` is not one of them.
    OutcomeError
        If the result has none.
    """
    outcome = result.design.outcome
    known = " or ".join(f"at={time:g}" for time in outcome.horizons)
    if outcome.kind != "survival":
        if at is not None:
            raise ArgumentError(
                f"at={at!r} is for times to an event, and {outcome.name!r} is "
                f"{outcome.kind}."
            )
        return None
    if not known:
        raise OutcomeError(
            f"{picture} of times to an event needs the risk by some time: give cv() "
            "horizon=."
        )
    if at is None and len(outcome.horizons) > 1:
        raise ArgumentError(f"{picture} is for one horizon: give {known}.")
    chosen = outcome.horizons[0] if at is None else at
    if not (is_number(chosen) and float(chosen) in outcome.horizons):
        raise ArgumentError(f"at={at!r} is not a horizon of the result: give {known}.")
    return float(chosen)


def short_scheme(plan: FoldPlan) -> str:
    """Return the name of the scheme, with its repeats, for the label of a plot."""
    repeats = f" × {plan.repeats}" if plan.repeats > 1 else ""
    name = EXTERNAL if plan.scheme == "external" else plan.scheme
    return f"{name}{repeats}"


def written(value: float, digits: int = 3) -> str:
    """Format a number with a typographic minus sign.

    >>> written(-0.5), written(-0.0001), written(float("-inf")), written(float("nan"))
    ('−0.500', '0.000', '−∞', '–')
    """
    if not np.isfinite(value):
        return "–" if np.isnan(value) else "∞" if value > 0 else "−∞"
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def with_ends(value: float, ends: Sequence[float], digits: int | None = None) -> str:
    """Return an estimate with its interval, if it has one, as tables print it.

    >>> with_ends(-0.123, (-0.31, 0.05)), with_ends(0.5, (float("nan"), 1.0))
    ('−0.12 (−0.31 to 0.05)', '0.50')
    """
    places = limits_digits(*ends) if digits is None else digits
    known = (np.nan, np.nan) if np.isnan(ends).any() else ends
    lower, upper = (written(end, places) for end in known)
    return with_interval(written(value, places), lower, upper)


def titled(what: str, *hows: str) -> str:
    """Return a title that says how predictions were combined.

    >>> titled("ROC", "pooled")
    'ROC, held-out predictions pooled'
    >>> titled("ROC", EXTERNAL)
    'ROC, external validation'
    """
    return f"{what}, {predictions_said(*hows)}"


def predictions_said(*hows: str) -> str:
    """Return how the predictions of all results were made and combined.

    >>> predictions_said(EXTERNAL, "pooled", "pooled")
    'held-out predictions pooled and external validation'
    """
    distinct = dict.fromkeys(hows)
    held = [how for how in distinct if not how.startswith(EXTERNAL)]
    said = [f"held-out predictions {' and '.join(held)}"] if held else []
    return " and ".join([*said, *(how for how in distinct if how not in held)])


def draw_treating_none(ax: Axes) -> None:
    """Draw the net benefit of treating no one."""
    ax.axhline(0, color=GREY, linewidth=1.2, label="treat none")


def prediction_label(scores: Scores, what: str) -> str:
    """Return the label of an axis of predictions, which may be held-out ones."""
    return what if scores.external else f"held-out {what}"


# ---- print ----

STYLES = ("paper",)  # each has a file of its name


def style(name: Literal["paper"] = "paper") -> AbstractContextManager[None]:
    """Return a context in which figures are drawn and saved for print.

    Characters are of 8 points, lines are thin, and a figure of one plot has the width
    of a column (3.5 inches), that of :func:`plot_referee` the width of a page. PDF and
    SVG contain text as text, which an editor can search and change. Both drawing and
    saving have to be within the context.

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
    file = Path(__file__).with_name(f"{name}.mplstyle")
    return mpl.rc_context(mpl.rc_params_from_file(file, use_default_template=False))
