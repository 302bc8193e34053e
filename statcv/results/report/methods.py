"""The paragraph on methods, with the works that it cites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from statcv.results.report.facts import sentence_parts
from statcv.results.report.parts import Prose, Said, Section, count

if TYPE_CHECKING:
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
    "BMJ 385:e078378.",
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
    if result.plan.strata is not None:
        keys.append("bey")
    interval = result.estimate(level=level).interval.name
    if interval in OF_INTERVALS:
        keys.append(OF_INTERVALS[interval])
    if scheme == "bootstrap":
        keys.append("efron632")
    if result.design.outcome.kind == "binary" and result.scores.probabilities:
        keys += ["stratos", "vickers"]
    return tuple(keys)


def is_given(result: CVResult) -> bool:
    """Return whether the predictions were made by other software."""
    return not result.refits.possible


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


def methods_section(result: CVResult, level: float) -> Section:
    """Return the paragraph on methods and the works that it cites."""
    keys = cited_works(result, level)
    number = {key: place for place, key in enumerate(keys, start=1)}

    def cite(*names: str) -> str:
        places = [str(number[name]) for name in names if name in number]
        return f" [{', '.join(places)}]" if places else ""

    plan, design = result.plan, result.design
    one, call = result.estimate(level=level), f"res.estimate(level={level!r})"
    of_model: Prose = (
        "We fitted ",
        Said(result.learner.label, "res.learner.label"),
        " to ",
        count(design.n, "res.design.n"),
        " records by the formula ",
        Said(design.formula.text, "res.design.formula.text"),
    )
    if is_given(result):
        of_model = (
            "We took ",
            Said(result.learner.label, "res.learner.label"),
            " of ",
            count(design.n, "res.design.n"),
            " records",
        )
    first: Prose = (
        *of_model,
        ", and estimated performance by cross-validation (",
        Said(plan.sentence, "res.plan.sentence"),
        f"){cite('bey', 'austin', 'efron632')}, with ",
        count(plan.n_fits, "res.plan.n_fits"),
        " fits and seed ",
        count(result.seed, "res.seed"),
        f". {_learnt(result)}",
    )
    interval: Prose = (f"The {one.label} has no interval: ",)
    if one.method != "none":
        interval = (
            f"The interval of the {one.label} is by ",
            Said(one.method, f"{call}.method"),
            f"{cite('delong', 'nadeau', 'efron')}: it ",
        )
    second: Prose = (*interval, Said(one.assumes, f"{call}.assumes"), ". ")
    third: Prose = ()
    if "stratos" in keys:
        third = (
            "Discrimination, calibration, net benefit and the distributions of "
            f"predicted risk are shown{cite('stratos', 'vickers')}. ",
        )
    last = f"The report follows TRIPOD+AI{cite('tripod')}."
    return Section(
        "Methods",
        prose=((*first, *second, *third, last), sentence_parts(result, level)),
        items=tuple(Said(f"[{number[key]}] {WORKS[key]}") for key in keys),
    )
