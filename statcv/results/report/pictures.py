"""The pictures of a report, by the kind of outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from statcv.errors import OutcomeError
from statcv.results.report.facts import outcome_level
from statcv.results.report.parts import Picture, Section, plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from statcv.results.comparison.comparison import Comparison
    from statcv.results.result import CVResult

MOST_CLASSES = 8  # largest number of classes with a picture each


def pictures_section(result: CVResult, level: float) -> Section:
    """Return the pictures that suit the outcome, and say which do not."""
    kind, said = result.design.outcome.kind, ""
    if kind == "continuous":
        pictures = _of_numbers(result)
        said = "ROC, calibration of risks and net benefit are for classes."
    elif kind == "binary":
        pictures = _of_two_classes(result, level)
        if not result.scores.probabilities:
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
        if len(result.design.outcome.levels) > MOST_CLASSES:
            said += " For so many, neither ROC curves nor calibration are drawn."
        elif not result.scores.probabilities:
            said += " Scores that are not probabilities have no calibration."
    if result.scores.external:
        pictures = tuple(
            replace(one, description=_not_held_out(one.description)) for one in pictures
        )
    return Section("Pictures", prose=(said,) * bool(said), pictures=pictures)


def _not_held_out(text: str) -> str:
    return text.replace("held-out ", "").replace("Held-out p", "P")


def _balance(result: CVResult) -> tuple[Picture, ...]:
    """Return the balance of the folds, which an external validation does not have."""
    from statcv import plots

    if result.scores.external:
        return ()
    picture = Picture(
        "folds",
        "Balance of the folds",
        "Outcome of held-out records against that of the training sets.",
        lambda ax: plots.plot_bias(result, ax=ax),
    )
    return (picture,)


def _of_numbers(result: CVResult) -> tuple[Picture, ...]:
    from statcv import plots

    predicted = Picture(
        "predicted",
        "Predicted against observed",
        "Held-out predictions against observed values.",
        lambda ax: plots.plot_predicted(result, ax=ax),
    )
    return (predicted, *_balance(result))


def _of_two_classes(result: CVResult, level: float) -> tuple[Picture, ...]:
    from statcv import plots

    roc = Picture(
        "roc",
        "ROC curve",
        "Sensitivity against one minus specificity of the held-out predictions.",
        lambda ax: plots.plot_roc(result, ax=ax),
    )
    risk = Picture(
        "risk",
        "Distributions of predicted risk",
        "Held-out predictions of each class, back to back.",
        lambda ax: plots.plot_risk(result, ax=ax),
    )
    if not result.scores.probabilities:
        return (roc, risk)
    calibration = Picture(
        "calibration",
        "Calibration",
        "Observed share of positives against held-out predicted probability.",
        lambda ax: plots.plot_calibration(result, ax=ax, level=level),
    )
    decision = Picture(
        "decision",
        "Decision curve",
        "Net benefit against threshold probability, beside treating all and none.",
        lambda ax: plots.plot_decision(result, ax=ax, level=level),
    )
    return (roc, calibration, decision, risk)


# ---- several classes: each against the others ----


def _of_classes(result: CVResult, level: float) -> tuple[Picture, ...]:
    """Return ROC curves of all classes, and the calibration of each."""
    from statcv import plots

    levels = result.design.outcome.levels

    def draw_roc(ax: Axes) -> None:
        for code, level in enumerate(levels):
            plots.plot_roc(against_others(result, code), ax=ax, label=str(level))

    def draw_calibration(code: int) -> Callable[[Axes], Any]:
        one = against_others(result, code)
        return lambda ax: plots.plot_calibration(one, ax=ax, level=level)

    roc = Picture(
        "roc",
        "ROC curves, each class against the others",
        "Sensitivity against one minus specificity of the held-out predictions, one "
        "curve per class.",
        draw_roc,
    )
    if len(levels) > MOST_CLASSES:
        return _balance(result)
    each = [
        Picture(
            f"calibration_{code + 1}",
            ("Calibration, ", *outcome_level(result, code), " against the others"),
            "Observed share of the class against its held-out predicted probability.",
            draw_calibration(code),
        )
        for code in range(len(levels))
        if result.scores.probabilities
    ]
    return (roc, *each, *_balance(result))


def draw_classes(result: CVResult) -> NDArray[Any]:
    """Draw the pictures of several classes on one figure, and return its Axes."""
    from statcv.plots.predictions import panel_axes

    pictures = _of_classes(result, 0.95)
    if not pictures:
        raise OutcomeError(
            f"there is no picture of more than {MOST_CLASSES} classes and no folds."
        )
    axes = panel_axes(result, len(pictures))
    for picture, ax in zip(pictures, axes.flat, strict=False):
        picture.draw(ax)
        if picture.name != "folds":
            ax.set_title(plain_text(picture.title))
    return axes


def against_others(result: CVResult, code: int) -> CVResult:
    """Return the held-out predictions of one class as those of a binary outcome.

    Parameters
    ----------
    result : CVResult
        Result for several classes.
    code : int
        Code of the class that counts as positive.
    """
    outcome, held = result.design.outcome, result.held
    own = np.asarray(outcome.y == code, dtype=outcome.y.dtype)
    named = ("others", outcome.levels[code])
    binary = replace(outcome, kind="binary", y=own, levels=named, notes=())
    column = replace(
        held,
        predicted=held.predicted[:, code],
        partner_predicted=held.partner_predicted[:, code],
        linear=None,
    )
    return replace(result, design=replace(result.design, outcome=binary), held=column)


# ---- a comparison ----


def pictures_of_comparison(comparison: Comparison) -> tuple[Picture, ...]:
    """Return the differences, and curves of all results if there are two classes."""
    results = comparison.results.values()
    drawn = [
        Picture(
            "forest",
            "Paired differences",
            "Differences between the results, with their intervals.",
            lambda ax: comparison.plot("forest", ax=ax),
        )
    ]
    binary = {one.design.outcome.kind for one in results} == {"binary"}
    if binary:
        drawn.append(
            Picture(
                "roc",
                "ROC curves",
                "Sensitivity against one minus specificity, one curve per result.",
                lambda ax: comparison.plot("roc", ax=ax),
            )
        )
    if binary and all(one.scores.probabilities for one in results):
        drawn.append(
            Picture(
                "decision",
                "Decision curves",
                "Net benefit against threshold probability, one curve per result.",
                lambda ax: comparison.plot("decision", ax=ax),
            )
        )
    return tuple(drawn)
