"""The four plots that a referee asks for, by the kind of outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.arguments import check_level, described, is_number, one_of
from statcv.errors import ArgumentError
from statcv.inference import Readable
from statcv.plots import outcome_by_prediction as by_prediction
from statcv.plots.base import EXTERNAL, figure_width, finish, prediction_label, titled
from statcv.plots.calibration import plot_calibration
from statcv.plots.decision import plot_decision
from statcv.plots.drawn import ComparedResults, Drawn, how_averaged, named_results
from statcv.plots.fit import fitting, say
from statcv.plots.forest import plot_forest
from statcv.plots.outcome_by_prediction import draw_classes, plot_risk
from statcv.plots.roc_and_pr import plot_pr, plot_roc
from statcv.plots.times_to_event import draw_areas, plot_survival

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

Draw = Callable[..., Any]
CURVES = ("roc", "pr", "calibration", "decision")
OF_A_RESULT = (*CURVES, "risk", "predicted", "survival", "groups", "selection", "folds")
STACKED = 5.0  # width in inches below which the plots stand one below the other
NARROWEST, WIDEST = 2.0, 100.0  # inches


def plot_referee(
    *results: Drawn, by: Any = None, level: float = 0.95, width: float | None = None
) -> NDArray[Any]:
    """Draw the four plots that a referee asks for; ``result.plot()`` calls this.

    - For two classes the four that the STRATOS initiative recommends: the ROC curve
      with its band, calibration, the decision curve, and the distribution of risk by
      outcome. Of several results, or groups, the curves are drawn together, and the
      last plot has their estimates. If predictions are not probabilities, there is a
      precision-recall curve instead of calibration, and no decision curve.
    - For a continuous outcome: the observed outcome against the prediction, its means
      in ten groups of the predictions, the errors against the prediction, and their
      distribution.
    - For several classes: ROC and calibration curves of each class against the others,
      the table of observed and predicted classes, and the probability of the observed
      class of each record.
    - For times to an event: the ROC curve, calibration and the decision curve at the
      last horizon, and survival by risk group; without a horizon the AUC over time,
      survival by risk group and the estimates.

    Parameters
    ----------
    *results : CVResult, mapping of str to CVResult, or Comparison
        One result; or several results with two classes, or with horizons.
    by : str or array-like, optional
        Grouping of the records of one result with two classes, as in
        :func:`plot_roc`.
    level : float, default 0.95
        Confidence level of the bands and intervals.
    width : float, optional
        Width of the figure in inches; below 5 the plots stand one below the other.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes, shape (2, 2)
        The Axes of the four plots.

    Raises
    ------
    ArgumentError
        If several results, or groups, have neither two classes nor horizons, or the
        figure is narrower than 2 inches.
    ArgumentTypeError
        If Axes are given.

    References
    ----------
    Van Calster, Collins, Vickers, …, Steyerberg (2025), Lancet Digital Health,
    arXiv:2412.10288.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> loo = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
    >>> scv.plots.plot_referee(loo).shape
    (2, 2)
    """
    check_level(level)
    named = named_results(results, "plot_referee", by=by)
    first = next(iter(named.values()))
    kinds = {result.design.outcome.kind for result in named.values()}
    risks = all(one.design.outcome.horizons for one in named.values())
    several = kinds == {"binary"} or (kinds == {"survival"} and risks)
    if not several and (len(named) > 1 or by is not None):
        raise ArgumentError(
            "the four plots of several results, or groups, are for two classes, or "
            "times to an event with a horizon; plot_forest(a, b) and "
            "plot_groups(a, by=) show the estimates of others."
        )
    import matplotlib.pyplot as plt

    wide = 2 * figure_width(4.4) if width is None else width
    if not (is_number(wide) and NARROWEST <= wide <= WIDEST):
        raise ArgumentError(
            f"width must be {NARROWEST} to {WIDEST} inches, not {described(wide)}."
        )
    figure, axes = _grid(plt.figure(layout="constrained"), wide)
    panels = PANELS[first.design.outcome.kind](named, level)
    for draw, ax in zip(panels, axes.flat, strict=True):
        fitting(ax)
        draw(ax=ax)
    model, scheme = first.in_words
    if len(named) > 1 and by is None:
        model = " and ".join(named)
    lines = [model, f"{scheme}; {first.rows}", *_shared(list(axes.flat))]
    said = "\n".join(lines).replace("$", r"\$")  # wrapping ignores parse_math
    title = figure.suptitle(said, fontsize="medium", wrap=True)
    fitting(axes[0, 0]).above = (title,)
    return np.asarray(axes)


def _grid(figure: Figure, wide: float) -> tuple[Figure, NDArray[Any]]:
    """Return four Axes: in two rows, or one below the other with a margin each."""
    if wide >= STACKED:
        figure.set_size_inches(wide, wide)
        return figure, np.asarray(figure.subplots(2, 2))
    figure.set_size_inches(wide, 4.2 * wide)
    grid = figure.add_gridspec(4, 1)
    cells = [grid[row].subgridspec(1, 1)[0] for row in range(4)]
    return figure, np.array([figure.add_subplot(one) for one in cells]).reshape(2, 2)


def _shared(axes: list[Axes]) -> list[str]:
    """Take what the titles share of how predictions were made, for the whole figure."""
    parts = [ax.get_title().partition(", ") for ax in axes]
    shared = {how for _, _, how in parts if "held-out" in how or EXTERNAL in how}
    if len(shared) != 1:
        return []
    for ax, (what, _, how) in zip(axes, parts, strict=True):
        if how in shared:
            ax.set_title(what)
    return [*shared]


def _of_two_classes(named: dict[str, Readable], level: float) -> list[Draw]:
    roc = partial(plot_roc, named, band=len(named) == 1, level=level)
    (*_, last) = named.values()
    risk: Draw = partial(plot_risk, last)
    if len(named) > 1:
        risk = partial(plot_forest, named, level=level)
    if not all(one.scores.probabilities for one in named.values()):
        why = "these need probabilities, and the predictions are scores"
        return [roc, partial(plot_pr, named), partial(_say_why, why), risk]
    decision = partial(plot_decision, named, level=level)
    return [roc, partial(plot_calibration, named, level=level), decision, risk]


def _say_why(why: str, ax: Axes) -> None:
    """Say why there is neither calibration nor a decision curve."""
    ax.set_title("Calibration and decision curve")
    say(ax, why)


def _of_numbers(named: dict[str, Readable], level: float) -> list[Draw]:
    (result,) = named.values()
    means: Draw = partial(by_prediction.draw_group_means, level=level)
    errors = by_prediction.draw_errors, by_prediction.draw_error_distribution
    four: tuple[Draw, ...] = (by_prediction.plot_predicted, means, *errors)
    return [partial(draw, result) for draw in four]


def _of_several_classes(named: dict[str, Readable], level: float) -> list[Draw]:
    (result,) = named.values()
    curves: Draw = partial(draw_calibration, level=level)
    four: tuple[Draw, ...] = (draw_roc, curves, draw_confusion, draw_own_probability)
    return [partial(draw, result) for draw in four]


def _of_times(named: dict[str, Readable], level: float) -> list[Draw]:
    first, *others = named.values()
    survival: Draw = partial(plot_survival, first, level=level)
    if not first.design.outcome.horizons:
        areas: Draw = partial(draw_areas, first, level=level)
        estimates: Draw = partial(plot_forest, named, level=level)
        why = "these need the risk by some time: give cv() horizon="
        return [areas, partial(_say_why, why), estimates, survival]
    more: dict[str, Any] = {"level": level, "at": first.design.outcome.horizons[-1]}
    roc = partial(plot_roc, named, band=not others, **more)
    calibration: Draw = partial(plot_calibration, named, **more)
    decision: Draw = partial(plot_decision, named, **more)
    last = partial(plot_forest, named, level=level) if others else survival
    return [roc, calibration, decision, last]


PANELS: dict[str, Callable[[dict[str, Readable], float], list[Draw]]] = {
    "binary": _of_two_classes,
    "continuous": _of_numbers,
    "multiclass": _of_several_classes,
    "survival": _of_times,
}


# ---- one plot of a comparison ----


def draw_comparison(
    compared: ComparedResults, kind: str | None, ax: Axes | None, **options: Any
) -> Axes:
    """Draw a plot of a comparison.

    Parameters
    ----------
    compared : Comparison
        Comparison to draw.
    kind : str or None
        Plot to draw; None for ROC curves if the outcome is binary, and otherwise for a
        forest plot of the differences.
    ax : matplotlib.axes.Axes, optional
    **options
        Further arguments of the plot.

    Raises
    ------
    ArgumentError
        If there is no such plot.
    """
    if kind is None:
        outcomes = {one.design.outcome.kind for one in compared.results.values()}
        kind = "roc" if outcomes == {"binary"} else "forest"
    one_of(kind, (*CURVES, "difference", "forest"), "kind")
    if kind in CURVES:
        options = {"level": compared.contrasts.level, **options}
    drawn: Axes = _plot_named(kind)(compared, ax=ax, **options)
    return drawn


def draw_result(result: Readable, kind: str | None, **options: Any) -> Any:
    """Draw the plot of a result that has a name, or the four without one.

    Raises
    ------
    ArgumentError
        If there is no such plot.
    """
    if kind is None:
        return plot_referee(result, **options)
    one_of(kind, OF_A_RESULT, "kind")
    return _plot_named(kind)(result, **options)


def _plot_named(kind: str) -> Draw:
    """Return the function that draws a kind of plot."""
    from statcv import plots

    drawn: Draw = getattr(plots, f"plot_{kind}")
    return drawn


# ---- several classes: each against all others, and observed against predicted ----


MAX_CLASSES = 8  # largest number of classes with a curve each
DARK = 0.55  # share of a row above which its number is written in white


def draw_roc(result: Readable, ax: Axes) -> None:
    """Draw the ROC curve of each class against the others, or of each cut point."""
    if _has_room(result, ax):
        plot_roc(_each(result), ax=ax)
    ax.set_title(f"ROC{how_divided(result)}")


def draw_calibration(result: Readable, ax: Axes, level: float) -> None:
    """Draw the calibration curve of each class, or of each cut point."""
    if not result.scores.probabilities:
        say(ax, "calibration needs probabilities, and these predictions are scores")
    elif _has_room(result, ax):
        plot_calibration(_each(result), ax=ax, level=level)
        of = "" if result.design.outcome.ordered else " of the class"
        ax.set_ylabel(f"observed share{of}")
    ax.set_title(f"Calibration{how_divided(result)}")


def how_divided(result: Readable) -> str:
    """Return between which classes curves are drawn, as the end of a title."""
    ordered = result.design.outcome.ordered
    return " at each cut point" if ordered else ", each class against the others"


def _has_room(result: Readable, ax: Axes) -> bool:
    """Return whether classes are few enough for a curve each, or say why not."""
    many = len(result.design.outcome.levels)
    if many > MAX_CLASSES:
        say(ax, f"{many} classes are too many for a curve each")
    return many <= MAX_CLASSES


def draw_confusion(result: Readable, ax: Axes) -> None:
    """Draw the share of each observed class that is predicted as each class."""
    rows, predicted = result.scores.mean_prediction()
    outcome = result.design.outcome
    found, count = predicted.argmax(axis=1), len(outcome.levels)
    counts = np.zeros((count, count))
    np.add.at(counts, (outcome.y[rows], found), 1)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax.imshow(share, cmap="Blues", vmin=0, vmax=1)
    look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "small"}
    for (row, column), number in np.ndenumerate(counts):
        look["color"] = "white" if share[row, column] > DARK else "black"
        ax.text(column, row, f"{int(number)}", **look)
    places = range(count)
    ax.set_xticks(places, list(outcome.levels))
    ax.set_yticks(places, list(outcome.levels))
    title = "Records by observed and predicted class"
    finish(ax, "predicted (largest value)", f"observed {outcome.name}", title)


def draw_own_probability(result: Readable, ax: Axes) -> None:
    """Draw the prediction of the observed class of each record, by class."""
    rows, predicted = result.scores.mean_prediction()
    codes = result.design.outcome.y[rows]
    draw_classes(ax, result, predicted[np.arange(len(rows)), codes], codes)
    what = "probability" if result.scores.probabilities else "score"
    across = prediction_label(result.scores, f"{what} of the observed class")
    title = titled("Risks by outcome", how_averaged(result.scores))
    finish(ax, across, f"observed {result.design.outcome.name}", title)


def _each(result: Readable) -> dict[str, Readable]:
    """Return each class against the others, or those above each cut point, by name."""
    levels, ordered = result.design.outcome.levels, result.design.outcome.ordered
    return {
        f"{'≥ ' * ordered}{one}": against_others(result, code)
        for code, one in enumerate(levels)
        if code or not ordered
    }


def against_others(result: Any, code: int) -> Any:
    """Return the result of a class, or those above a cut point, against all others."""
    outcome, held = result.design.outcome, result.held
    above = slice(code, None if outcome.ordered else code + 1)
    own = np.isin(outcome.y, range(len(outcome.levels))[above])
    named = ("others", outcome.levels[code])
    two: dict[str, Any] = {"kind": "binary", "levels": named, "ordered": False}
    binary = replace(outcome, y=own.astype(outcome.y.dtype), notes=(), **two)
    names = ("predicted", "partner_predicted")
    parts = {name: getattr(held, name)[:, above].sum(axis=1) for name in names}
    column = replace(held, linear=None, **parts)
    return replace(result, design=replace(result.design, outcome=binary), held=column)
