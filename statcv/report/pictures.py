"""The pictures of a report, by the kind of outcome."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from statcv.plots.drawn import named_results
from statcv.plots.referee import MAX_CLASSES, PANELS
from statcv.report.parts import Picture, Section, stored_rows
from statcv.results.comparison.comparison import Comparison
from statcv.results.refittable import Refittable

# what is said of ordered classes instead
AT_CUTS = (
    (", each class against the others", " at each cut point"),
    ("one curve per class", "one curve per cut point"),
    ("share of a class", "share above a cut point"),
)


def _described(kind: str) -> list[tuple[str, ...]]:
    """Return the name, title and description of each picture; "none" of one omitted."""
    return [row[1:] for row in stored_rows("pictures.txt") if row[0] == kind]


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
    if kind == "continuous":
        said = "ROC, calibration of risks and net benefit are for classes."
    elif kind == "binary" and not probabilities:
        kind = "scores"
        said = (
            "Calibration and net benefit need probabilities, and these predictions "
            "are scores on a scale of their own."
        )
    elif kind == "survival" and not result.design.outcome.horizons:
        kind = "without horizon"
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
    for words, draw in zip(_described(kind), draws, strict=True):
        if words == ("none",):
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
        Picture(name, title, text, partial(comparison.plot, name, **options[name]))
        for name, title, text in _described("comparison")
        if name in options
    )
