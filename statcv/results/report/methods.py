"""The paragraph on methods, with the works that it cites."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from statcv.results.report.facts import is_given, resampling, sentence_parts
from statcv.results.report.parts import Prose, Said, Section, count

if TYPE_CHECKING:
    from statcv.results.comparison.comparison import Comparison
    from statcv.results.result import CVResult

WORKS = {
    "austin": "Austin GI, Pe'er I, Korem T (2024). Distributional bias compromises "
    "leave-one-out cross-validation. Sci Adv 11(48):eadx6976 (2025).",
    "bey": "Bey R, Goussault R, Grolleau F, Benchoufi M, Porcher R (2020). "
    "Fold-stratified cross-validation for unbiased and privacy-preserving federated "
    "learning. J Am Med Inform Assoc 27:1244-1251.",
    "delong": "DeLong ER, DeLong DM, Clarke-Pearson DL (1988). Comparing the areas "
    "under two or more correlated receiver operating characteristic curves. "
    "Biometrics 44:837-845.",
    "nadeau": "Nadeau C, Bengio Y (2003). Inference for the generalization error. "
    "Machine Learning 52:239-281.",
    "efron": "Efron B (1982). The Jackknife, the Bootstrap and Other Resampling Plans. "
    "SIAM, Philadelphia.",
    "stratos": "Van Calster B, Collins GS, Vickers AJ, et al. (2025), topic group 6 "
    "of STRATOS. Performance evaluation of predictive AI models to support "
    "medical decisions: overview and guidance. Lancet Digit Health; arXiv:2412.10288.",
    "vickers": "Vickers AJ, Elkin EB (2006). Decision curve analysis. Med Decis Making "
    "26:565-574.",
    "tripod": "Collins GS, Moons KGM, Dhiman P, et al. (2024). TRIPOD+AI statement. "
    "BMJ 385:e078378, doi.org/10.1136/bmj-2023-078378; www.tripod-statement.org.",
    "probast": "Moons KGM, Damen JAA, Kaul T, et al. (2025). PROBAST+AI. BMJ "
    "388:e082505, doi.org/10.1136/bmj-2024-082505; www.probast.org.",
    "cluster": "Debray TPA, Collins GS, Riley RD, et al. (2023). TRIPOD-Cluster "
    "checklist. BMJ 380:e071018, doi.org/10.1136/bmj-2022-071018; "
    "www.tripod-statement.org.",
    "efron632": "Efron B, Tibshirani R (1997). Improvements on cross-validation: the "
    ".632+ bootstrap method. J Am Stat Assoc 92:548-560.",
}
OF_INTERVALS = {
    "delong": "delong",
    "logit": "delong",
    "corrected_t": "nadeau",
    "infinitesimal_jackknife": "efron",
}


def cited_works(result: CVResult, level: float) -> tuple[str, ...]:
    """Return the keys of the works that apply to what was done."""
    keys = ["tripod"]
    scheme = result.plan.scheme
    if result.plan.rebalanced or scheme in ("loocv", "rloocv", "lpocv"):
        keys.append("austin")
    if result.plan.strata is not None and not result.scores.external:
        keys.append("bey")
    interval = result.estimate(level=level).interval.name
    if interval in OF_INTERVALS:
        keys.append(OF_INTERVALS[interval])
    if scheme == "bootstrap":
        keys.append("efron632")
    if _has_probabilities(result):
        keys += ["stratos", "vickers"]
    return tuple(keys)


def methods_section(
    results: Mapping[str, CVResult], level: float, comparison: Comparison | None = None
) -> Section:
    """Return the paragraphs on methods and the works that they cite.

    Parameters
    ----------
    results : mapping of str to CVResult
        One result, or those of a comparison by name.
    level : float
        Confidence level of the intervals.
    comparison : Comparison, optional
        The comparison of the results.
    """
    keys = dict.fromkeys(
        key for one in results.values() for key in cited_works(one, level)
    )
    number = {key: place for place, key in enumerate(keys, start=1)}

    def cite(*names: str) -> str:
        places = [str(number[name]) for name in names if name in number]
        return f" [{', '.join(places)}]" if places else ""

    prose: list[Prose] = []
    for place, (name, result) in enumerate(results.items()):
        root = "res"
        named: Prose = ()
        if comparison is not None:
            root = f"res.results[{name!r}]"
            named = (Said(name, f"list(res.results)[{place}]"), ": ")
        prose.append((*named, *_paragraph(result, level, root, cite)))
        prose.append((*named, *sentence_parts(result, level, root)))
    if comparison is not None:
        prose.append(_of_differences(comparison))
    prose.append((f"The report follows TRIPOD+AI{cite('tripod')}.",))
    return Section(
        "Methods",
        prose=tuple(prose),
        items=tuple(f"[{number[key]}] {WORKS[key]}" for key in keys),
    )


def _paragraph(
    result: CVResult, level: float, root: str, cite: Callable[..., str]
) -> Prose:
    """Return how a result was made and its interval computed."""
    plan, design = result.plan, result.design
    n = count(design.n, f"{root}.design.n")
    label = Said(result.learner.label, f"{root}.learner.label")
    of_model: Prose = ("We took ", label, " of ", n, " records")
    if not is_given(result):
        text = Said(design.formula.text, f"{root}.design.formula.text")
        of_model = (
            "We fitted a model (",
            label,
            ") to ",
            n,
            " records by the formula ",
        )
        of_model += (text,)
    if result.scores.external:
        first: Prose = (
            "We took ",
            label,
            " of ",
            n,
            " records, made by a model that was fitted to other records: this is an "
            "external validation. ",
        )
        return (*first, *_interval(result, level, root, cite))
    first = (
        *of_model,
        *_left_out(result, root),
        ". Performance was estimated by ",
        *resampling(result, root),
        f"{cite('bey', 'austin', 'efron632')}, with ",
        count(plan.n_fits, f"{root}.plan.n_fits"),
        " fits and seed ",
        count(result.seed, f"{root}.seed"),
        f". {_learnt(result)}",
    )
    return (*first, *_interval(result, level, root, cite))


def _interval(
    result: CVResult, level: float, root: str, cite: Callable[..., str]
) -> Prose:
    """Return how the interval was computed, and what is shown beside it."""
    one, call = result.estimate(level=level), f"{root}.estimate(level={level!r})"
    metric = Said(one.label, f"{call}.label")
    interval: Prose = ("The ", metric, " has no interval: ")
    if one.method != "none":
        method = Said(one.method, f"{call}.method")
        works = cite("delong", "nadeau", "efron")
        interval = ("The interval of the ", metric, " is by the method ", method)
        interval += (works, "; " if one.assumes.startswith("the ") else "; it ")
    last: Prose = ()
    if _has_probabilities(result):
        last = (
            " Discrimination, calibration, net benefit and the distributions of "
            f"predicted risk are shown{cite('stratos', 'vickers')}.",
        )
    return (*interval, Said(one.assumes, f"{call}.assumes"), ".", *last)


def _left_out(result: CVResult, root: str) -> Prose:
    """Return how many rows were left out as incomplete, if any were."""
    design = result.design
    lost = design.n_given - design.n
    if not lost or is_given(result):
        return ()
    n = count(lost, f"{root}.design.n_given - {root}.design.n")
    given = count(design.n_given, f"{root}.design.n_given")
    return (", after ", n, " of ", given, " were left out as incomplete")


def _of_differences(comparison: Comparison) -> Prose:
    """Return how the results were compared."""
    return (
        "The ",
        Said(comparison.stated, "res.stated"),
        " was compared between the results, which have the same records: ",
        Said(comparison.method.title, "res.method.title"),
        "; ",
        Said(comparison.method.assumes, "res.method.assumes"),
        ".",
    )


def _has_probabilities(result: CVResult) -> bool:
    return result.design.outcome.kind == "binary" and result.scores.probabilities


def _learnt(result: CVResult) -> str:
    """Return a sentence on what was learnt in each training set, if anything was."""
    learnt = []
    if result.design.terms.stateful:
        learnt.append("terms that learn from data")
    if hasattr(result, "tuned"):
        learnt.append("hyperparameters")
    if not learnt or is_given(result):
        return ""
    said = " and ".join(learnt)
    return f"{said.capitalize()} were learnt again in each training set. "
