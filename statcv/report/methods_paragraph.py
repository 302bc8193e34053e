"""The paragraph on methods, with the works that it cites."""

from __future__ import annotations

from collections.abc import Mapping

from statcv.report.facts import names_of
from statcv.report.parts import Cited, Prose, Section
from statcv.report.prose import phrase
from statcv.results.comparison.comparison import Comparison
from statcv.results.result import CVResult
from statcv.words import stored_texts

WORKS = stored_texts("statcv.report", "templates/works.txt")
OF_INTERVALS = {"corrected_t": "nadeau", "infinitesimal_jackknife": "efron"}


def cited_works(result: CVResult, level: float) -> tuple[str, ...]:
    """Return the keys of the works that apply to what was done."""
    keys = ["tripod"]
    scheme = result.plan.scheme
    if result.plan.rebalanced or scheme in ("loocv", "rloocv", "lpocv"):
        keys.append("austin")
    if result.plan.strata is not None and not result.scores.external:
        keys.append("bey")
    interval = result.estimate(level=level).interval
    if "DeLong" in interval.method:
        keys.append("delong")
    elif interval.name in OF_INTERVALS:
        keys.append(OF_INTERVALS[interval.name])
    if scheme == "bootstrap":
        keys.append("efron632")
    if result.design.outcome.kind == "binary" and result.scores.probabilities:
        keys += ["stratos", "vickers"]
    if result.design.outcome.horizons:
        keys += ["blanche", "vickers"]
    return tuple(keys)


def methods_section(
    results: Mapping[str, Cited], level: float, comparison: Comparison | None = None
) -> Section:
    """Return the paragraphs on methods and the works that they cite.

    Parameters
    ----------
    results : mapping of str to Cited
        One result, or those of a comparison by name.
    level : float
        Confidence level of the intervals.
    comparison : Comparison, optional
        The comparison of the results.
    """
    keys = dict.fromkeys(
        key for one in results.values() for key in cited_works(one.thing, level)
    )
    number = {key: place for place, key in enumerate(keys, start=1)}

    def cite(*names: str) -> str:
        places = [str(number[name]) for name in names if name in number]
        return f" [{', '.join(places)}]" if places else ""

    each = results.values()
    paragraphs: list[Prose] = [phrase("methods", one, level, cite) for one in each]
    if comparison is not None:
        named = zip(names_of(comparison), paragraphs, strict=True)
        paragraphs = [(name, ": ", *own) for name, own in named]
        first = next(iter(each))
        paragraphs.append(phrase("compared", Cited(comparison), first, level))
    paragraphs.append((f"The report follows TRIPOD+AI{cite('tripod')}.",))
    works = tuple(f"[{number[key]}] {WORKS[key]}" for key in keys)
    return Section("Methods", tuple(paragraphs), works)
