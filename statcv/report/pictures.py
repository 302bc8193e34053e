"""The pictures of a report, by the kind of outcome."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from statcv.plots.classes import MAX_CLASSES
from statcv.plots.protocol import named_results
from statcv.plots.referee import PANELS
from statcv.report.parts import Picture, Section
from statcv.results.comparison.comparison import Comparison
from statcv.results.refittable import Refittable

ROC = (
    "roc",
    "ROC curve",
    "Sensitivity against one minus specificity of the held-out predictions.",
)
RISK = (
    "risk",
    "Distributions of predicted risk",
    "Held-out predictions of each class.",
)
SURVIVAL = (
    "survival",
    "Survival by risk group",
    "Kaplan-Meier curves in groups of the held-out linear predictor.",
)
# name, title and description of each of the four plots that result.plot() draws
OF_RESULT = {
    "binary": (
        ROC,
        (
            "calibration",
            "Calibration",
            "Observed share of positives against held-out predicted probability.",
        ),
        (
            "decision",
            "Decision curve",
            "Net benefit against threshold probability, beside treating all and none.",
        ),
        RISK,
    ),
    "scores": (
        ROC,
        (
            "pr",
            "Precision-recall curve",
            "Precision against sensitivity of the held-out predictions.",
        ),
        None,
        RISK,
    ),
    "continuous": (
        (
            "predicted",
            "Observed against predicted",
            "Observed values against held-out predictions.",
        ),
        (
            "means",
            "Mean outcome by prediction",
            "Mean observed value in groups of the held-out predictions.",
        ),
        (
            "errors",
            "Errors by prediction",
            "Observed minus predicted value against the held-out prediction.",
        ),
        (
            "distribution",
            "Distribution of the errors",
            "Observed minus predicted value, with its quartiles.",
        ),
    ),
    "survival": (
        (
            "roc",
            "ROC curve at the last horizon",
            "Sensitivity for the event by the horizon against one minus specificity.",
        ),
        (
            "calibration",
            "Calibration at the last horizon",
            "Observed risk against held-out predicted risk, with Kaplan-Meier risks of "
            "groups.",
        ),
        (
            "decision",
            "Decision curve at the last horizon",
            "Net benefit against threshold probability, beside treating all and none.",
        ),
        SURVIVAL,
    ),
    "without horizon": (
        (
            "areas",
            "AUC over time",
            "AUC of the held-out linear predictor for the event by each time.",
        ),
        None,
        (
            "estimate",
            "The headline estimate",
            "Estimate with its interval.",
        ),
        SURVIVAL,
    ),
    "multiclass": (
        (
            "roc",
            "ROC curves, each class against the others",
            "Sensitivity against one minus specificity of the held-out predictions, "
            "one curve per class.",
        ),
        (
            "calibration",
            "Calibration, each class against the others",
            "Observed share of a class against its held-out predicted probability.",
        ),
        (
            "classes",
            "Observed and predicted classes",
            "Records by observed and by predicted class.",
        ),
        (
            "risk",
            "Predictions of the observed class",
            "Held-out prediction of the class that each record has.",
        ),
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
# what is said of ordered classes instead
AT_CUTS = (
    (", each class against the others", " at each cut point"),
    ("one curve per class", "one curve per cut point"),
    ("share of a class", "share above a cut point"),
)


def pictures_section(result: Refittable, level: float) -> Section:
    """Return the pictures that ``result.plot()`` shows, and what is said of others.

    Parameters
    ----------
    result : CVResult
    level : float
        Confidence level of the bands.
    """
    kind, said = result.design.outcome.kind, ""
    draws = PANELS[kind](named_results((result,), "report"), level)
    probabilities, external = result.scores.probabilities, result.scores.external
    described = OF_RESULT[kind]
    if kind == "continuous":
        said = "ROC, calibration of risks and net benefit are for classes."
    elif kind == "binary" and not probabilities:
        described = OF_RESULT["scores"]
        said = (
            "Calibration and net benefit need probabilities, and these predictions "
            "are scores on a scale of their own."
        )
    elif kind == "survival" and not result.design.outcome.horizons:
        described = OF_RESULT["without horizon"]
        said = "Calibration and net benefit need the risk by some time (horizon=)."
    elif kind == "multiclass":
        said = "Each class is shown against all others."
        if result.design.outcome.ordered:
            said = "The classes above each cut point are shown against those below it."
        said += " Net benefit is defined for two classes, and is not shown."
        if len(result.design.outcome.levels) > MAX_CLASSES:
            said += " For so many, neither ROC curves nor calibration are drawn."
        elif not probabilities:
            said += " Scores that are not probabilities have no calibration."
    pictures = []
    for words, draw in zip(described, draws, strict=True):
        if words is None:
            continue
        name, title, text = words
        if result.design.outcome.ordered:
            for a, b in AT_CUTS:
                title, text = title.replace(a, b), text.replace(a, b)
        if external:
            text = text.replace("held-out ", "").replace("Held-out p", "P")

        def drawn(ax: Any, draw: Callable[..., Any] = draw) -> Any:
            return draw(ax=ax)

        pictures.append(Picture(name, title, text, drawn))
    return Section("Pictures", prose=(said,) * bool(said), pictures=tuple(pictures))


def pictures_of_comparison(comparison: Comparison) -> tuple[Picture, ...]:
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
    first, more = next(iter(results)).design.outcome, {}
    if first.horizons:
        names, more = ["forest", "roc", "decision"], {"at": first.horizons[-1]}
    options: dict[str, Any] = {"forest": {}} | dict.fromkeys(names[1:], more)
    return tuple(
        Picture(name, *OF_COMPARISON[name], partial(comparison.plot, name, **own))
        for name, own in options.items()
    )
