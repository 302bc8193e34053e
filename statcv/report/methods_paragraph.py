"""The paragraph on methods, with the works that it cites."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from statcv.report.facts import censoring, is_given, names_of, omitted, resampling, the
from statcv.report.parts import Cited, Prose, Section, prose
from statcv.results.comparison.comparison import Comparison
from statcv.results.refittable import Refittable
from statcv.words import stored_rows

WORKS = {row[0]: row[1] for row in stored_rows("statcv.report", "templates/works.txt")}
OF_INTERVALS = {"corrected_t": "nadeau", "infinitesimal_jackknife": "efron"}


def cited_works(result: Refittable, level: float) -> tuple[str, ...]:
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
    if _has_probabilities(result):
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

    paragraphs: list[Prose] = [_paragraph(one, level, cite) for one in results.values()]
    if comparison is not None:
        each = zip(names_of(comparison), paragraphs, strict=True)
        paragraphs = [(name, ": ", *own) for name, own in each]
        words = the(next(iter(results.values())), level, "The ")
        words += (
            "{res.stated} was compared between the results on the same records by "
            "this test: {res.method.title}; {res.method.assumes}."
        )
        paragraphs.append(prose(words, res=Cited(comparison)))
    paragraphs.append((f"The report follows TRIPOD+AI{cite('tripod')}.",))
    works = tuple(f"[{number[key]}] {WORKS[key]}" for key in keys)
    return Section("Methods", tuple(paragraphs), works)


def _paragraph(res: Cited, level: float, cite: Callable[..., str]) -> Prose:
    """Return how a result was made and its interval computed."""
    words = "We took {res.learner.label} of {res.design.n:d} records"
    known: dict[str, Prose] = {"left_out": ()}
    if (lost := omitted(res)).value:
        omission = ", after {lost} of {res.design.n_given:d} were omitted as incomplete"
        known["left_out"] = prose(omission, lost=lost, res=res)
    if res.thing.validated:
        words = (
            "This is an external validation of a model ({res.learner.label}) on "
            "{res.plan.n:d} records{left_out}; nothing was fitted to them. "
        )
    elif res.thing.scores.external:
        words += (
            ", made by a model that was fitted to other records: this is an external "
            "validation. "
        )
    else:
        if not is_given(res.thing):
            words = (
                "We fitted a model ({res.learner.label}) to {res.design.n:d} records "
                "by the formula {res.design.formula.text}{left_out}"
            )
        words += (
            ". Performance was estimated by {resampling}"
            f"{cite('bey', 'austin', 'efron632')} ({{res.plan.n_fits:d}} fits; "
            f"seed {{res.seed:d}}). {_learnt(res.thing)}"
        )
        known["resampling"] = resampling(res)
    return (*prose(words, res=res, **known), *_interval(res, level, cite))


def _interval(res: Cited, level: float, cite: Callable[..., str]) -> Prose:
    """Return how the interval was computed, and what is shown beside it."""
    one = res.estimate(level=level)
    words = f"{the(res, level, 'The ')}{{one.label}} has no interval: "
    if one.thing.method != "none":
        words = f"The interval of {the(res, level)}{{one.label}} is by this method: "
        words += "{one.method}"
        words += cite("delong", "nadeau", "efron")
        words += "; " if one.thing.assumes.startswith("the ") else "; it "
    words += "{one.assumes}."
    more: Prose = ()
    if res.thing.design.outcome.kind == "survival":
        more = (" As to censoring, ", *censoring(res), f"{cite('blanche')}.")
    if res.thing.design.outcome.horizons:
        words += (
            " Discrimination, calibration and net benefit at the last horizon, and "
            f"survival by risk group are shown{cite('vickers')}."
        )
    if _has_probabilities(res.thing):
        words += (
            " Discrimination, calibration, net benefit and the distributions of "
            f"predicted risk are shown{cite('stratos', 'vickers')}."
        )
    return (*prose(words, one=one), *more)


def _has_probabilities(result: Refittable) -> bool:
    return result.design.outcome.kind == "binary" and result.scores.probabilities


def _learnt(result: Refittable) -> str:
    """Return a sentence on what was learnt in each training set, if anything was."""
    learnt = ["terms that learn from data"] * bool(result.design.terms.stateful)
    learnt += ["hyperparameters"] * (result.held.chosen is not None)
    if not learnt or is_given(result):
        return ""
    said = " and ".join(learnt).capitalize()
    return f"{said} were learnt again in each training set. "
