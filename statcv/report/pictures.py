"""The pictures of a report, by the kind of outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from statcv.plots.classes import MAX_CLASSES, against_others, draw_roc
from statcv.report.facts import Reported, outcome_level
from statcv.report.parts import Cited, Picture, Section
from statcv.results.refittable import Refittable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# title and description of each picture of a result
OF_RESULT = {
    "folds": (
        "Balance of the folds",
        "Outcome of held-out records against that of the training sets.",
    ),
    "predicted": (
        "Observed against predicted",
        "Observed values against held-out predictions.",
    ),
    "roc": (
        "ROC curve",
        "Sensitivity against one minus specificity of the held-out predictions.",
    ),
    "calibration": (
        "Calibration",
        "Observed share of positives against held-out predicted probability.",
    ),
    "decision": (
        "Decision curve",
        "Net benefit against threshold probability, beside treating all and none.",
    ),
    "risk": (
        "Distributions of predicted risk",
        "Held-out predictions of each class, back to back.",
    ),
}
OF_COMPARISON = {
    "forest": (
        "Paired differences",
        "Differences between the results, with their intervals.",
    ),
    "roc": (
        "ROC curves",
        "Sensitivity against one minus specificity, one curve per result.",
    ),
    "decision": (
        "Decision curves",
        "Net benefit against threshold probability, one curve per result.",
    ),
}


def pictures_section(result: Refittable, level: float) -> Section:
    """Return the pictures that suit the outcome, and what is said of others.

    Parameters
    ----------
    result : CVResult
    level : float
        Confidence level of the bands.
    """
    kind, said = result.design.outcome.kind, ""
    probabilities, external = result.scores.probabilities, result.scores.external
    if kind == "continuous":
        pictures = [_picture("predicted", result), *_balance(result)]
        said = "ROC, calibration of risks and net benefit are for classes."
    elif kind == "binary":
        roc = _picture("roc", result, band=True, level=level)
        pictures = [roc, _picture("risk", result)]
        if probabilities:
            both = ("calibration", "decision")
            pictures[1:1] = [_picture(name, result, level=level) for name in both]
        else:
            said = (
                "Calibration and net benefit need probabilities, and these predictions "
                "are scores on a scale of their own."
            )
    else:
        pictures = _of_classes(result, level)
        said = (
            "Each class is shown against all others. Net benefit is defined for two "
            "classes, and is not shown."
        )
        if len(result.design.outcome.levels) > MAX_CLASSES:
            said += " For so many, neither ROC curves nor calibration are drawn."
        elif not probabilities:
            said += " Scores that are not probabilities have no calibration."
    if external:
        pictures = [
            replace(one, description=_not_held_out(one.description)) for one in pictures
        ]
    return Section("Pictures", prose=(said,) * bool(said), pictures=tuple(pictures))


def _not_held_out(text: str) -> str:
    return text.replace("held-out ", "").replace("Held-out p", "P")


def _picture(name: str, result: Refittable, **options: Any) -> Picture:
    """Return the plot of this name."""
    from statcv import plots

    plot: Callable[..., Any] = getattr(plots, f"plot_{PLOTS.get(name, name)}")
    return Picture(name, *OF_RESULT[name], lambda ax: plot(result, ax=ax, **options))


PLOTS = {"folds": "bias"}


def _balance(result: Refittable) -> list[Picture]:
    return [] if result.scores.external else [_picture("folds", result)]


def _of_classes(result: Refittable, level: float) -> list[Picture]:
    """Return the pictures of several classes, each against the others."""
    from statcv.plots import plot_calibration

    levels = result.design.outcome.levels
    if len(levels) > MAX_CLASSES:
        return _balance(result)
    roc = Picture(
        "roc",
        "ROC curves, each class against the others",
        "Sensitivity against one minus specificity of the held-out predictions, one "
        "curve per class.",
        partial(draw_roc, result),
    )
    each = []
    for code in range(len(levels) if result.scores.probabilities else 0):
        level_of_class = outcome_level(Cited(result), code)
        one = against_others(result, code)

        def draw(ax: Axes, one: Refittable = one) -> Axes:
            return plot_calibration(one, ax=ax, level=level)

        picture = Picture(
            f"calibration_{code + 1}",
            ("Calibration, ", *level_of_class, " against the others"),
            "Observed share of the class against its held-out predicted probability.",
            draw,
        )
        each.append(picture)
    return [roc, *each, *_balance(result)]


def pictures_of_comparison(comparison: Reported) -> tuple[Picture, ...]:
    """Return the pictures of a comparison.

    Parameters
    ----------
    comparison : Comparison
    """
    results = comparison.results.values()
    names = ["forest"]
    if {one.design.outcome.kind for one in results} == {"binary"}:
        names.append("roc")
        if all(one.scores.probabilities for one in results):
            names.append("decision")
    return tuple(
        Picture(name, *OF_COMPARISON[name], partial(comparison.plot, name))
        for name in names
    )
