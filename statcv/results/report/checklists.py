"""Checklists of reporting guidelines, filled from a result as far as it goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from statcv.results.report.facts import sentence_of
from statcv.results.report.methods import is_given
from statcv.results.report.parts import Said, Section, Table

if TYPE_CHECKING:
    from statcv.results.result import CVResult

AUTHOR: Final = "for the author"

TRIPOD: Final[tuple[tuple[str, str], ...]] = (
    ("1", "title: development or evaluation, population, outcome"),
    ("2", "abstract"),
    ("3a", "health context and rationale"),
    ("3b", "target population, purpose and users"),
    ("3c", "known health inequalities"),
    ("4", "objectives: development, evaluation or both"),
    ("5a", "sources of data and their representativeness"),
    ("5b", "dates of the data"),
    ("6a", "setting, number and location of centres"),
    ("6b", "eligibility"),
    ("6c", "treatments received"),
    ("7", "data preparation and quality checks"),
    ("8a", "outcome, time horizon, and how it is assessed"),
    ("8b", "qualification of outcome assessors"),
    ("8c", "blinding of outcome assessment"),
    ("9a", "choice of initial predictors"),
    ("9b", "predictors, and how and when they are measured"),
    ("9c", "qualification of predictor assessors"),
    ("10", "sample size"),
    ("11", "missing data"),
    ("12a", "use of the data, and how they are divided"),
    ("12b", "handling of predictors"),
    ("12c", "model, building, tuning and internal validation"),
    ("12d", "heterogeneity between clusters"),
    ("12e", "performance measures and plots"),
    ("12f", "model updating"),
    ("12g", "how predictions were computed"),
    ("13", "class imbalance"),
    ("14", "fairness"),
    ("15", "output of the model, and thresholds"),
    ("16", "differences between training and evaluation data"),
    ("17", "ethical approval"),
    ("18a", "funding"),
    ("18b", "conflicts of interest"),
    ("18c", "protocol"),
    ("18d", "registration"),
    ("18e", "sharing of data"),
    ("18f", "sharing of code"),
    ("19", "patient and public involvement"),
    ("20a", "flow of participants"),
    ("20b", "characteristics of participants"),
    ("20c", "comparison with the development data"),
    ("21", "participants and events in each analysis"),
    ("22", "specification of the full model"),
    ("23a", "performance with intervals"),
    ("23b", "heterogeneity of performance"),
    ("24", "results of updating"),
    ("25", "interpretation, with fairness"),
    ("26", "limitations"),
    ("27a", "handling of poor or missing input in use"),
    ("27b", "interaction and expertise of users"),
    ("27c", "next steps"),
)


def item_number(name: str) -> int:
    """Return the number of an item without the letter of its part.

    >>> item_number("12c")
    12
    """
    return int(name.rstrip("abcdefg"))


def tripod_answers(result: CVResult, level: float, by: str | None) -> dict[str, str]:
    """Return what the result says of each item of TRIPOD+AI that it can answer."""
    design, plan, outcome = result.design, result.plan, result.design.outcome
    label, text = result.learner.label, result.design.formula.text
    events = int(design.y.sum()) if outcome.kind == "binary" else None
    columns = design.matrix.shape[1]
    size = f"n = {design.n}; {columns} columns of the design matrix"
    if events is not None:
        size += f"; {events} events"
    lost = design.n_given - design.n
    metrics = ", ".join(metric.label for metric in result.chosen_metrics)
    classes = outcome.describe()
    concerns = result.audit.concerns
    answers = {
        "1": f"outcome {outcome.name}; {label}",
        "2": sentence_of(result, level),
        "4": "internal validation by cross-validation",
        "7": (
            "terms that learn from data are learnt in each training set"
            if design.terms.stateful
            else "no term of the formula learns from data"
        ),
        "8a": f"{outcome.name}: {classes}; the definition is for the author",
        "9b": f"{text}; the measurement is for the author",
        "10": f"{size}; the justification is for the author",
        "11": f"{lost} of {design.n_given} rows left out or joined"
        + "".join(f"; {n} lack {name}" for name, n in design.missing.items()),
        "12a": plan.sentence,
        "12b": f"as the formula states: {', '.join(design.names)}",
        "12c": f"{label}; {plan.n_fits} fits; {plan.scheme}",
        "12e": f"{metrics}; see the pictures",
        "13": plan.rebalance or "training sets were not rebalanced",
        "15": ("probabilities" if result.scores.probabilities else "predicted values")
        + ("" if result.threshold is None else f"; threshold {result.threshold:g}"),
        "16": f"training sets of {plan.n_train.min()} to {plan.n_train.max()} records "
        "of the same data",
        "18f": "see the replay command",
        "20a": "see the data flow",
        "21": f"{size}; {plan.n_fits} fits",
        "23a": str(result.estimate(level=level)),
        "26": (
            f"audit of the folds: {concerns[0]}"
            if concerns
            else "the audit of the folds has no concern"
        )
        + "; others are for the author",
    }
    if not is_given(result):
        answers["12g"] = "each record is predicted by fits that were not trained on it"
    if result.held.coefficients is not None:
        answers["22"] = "coefficients over the fits; res.model has the fit on all rows"
    if by is not None:
        answers["12d"] = f"random effects over {by}"
        answers["23b"] = "see the estimates of clusters"
    return answers


def checklist(
    title: str, items: tuple[tuple[str, str], ...], answers: Mapping[str, str]
) -> Table:
    """Return a checklist, with the items that are the author's named as such."""
    rows = tuple(
        (Said(name), Said(what), Said(answers.get(name, AUTHOR)))
        for name, what in items
    )
    return Table(title, ("item", "topic", "from the result"), rows)


def tripod_section(result: CVResult, level: float, by: str | None) -> Section:
    """Return the checklist of TRIPOD+AI."""
    answers = tripod_answers(result, level, by)
    filled = {item_number(name) for name in answers}
    total = len({item_number(name) for name, _ in TRIPOD})
    said = f"{len(filled)} of {total} items are filled from the result."
    table = checklist("TRIPOD+AI: 27 items", TRIPOD, answers)
    return Section("TRIPOD+AI checklist", prose=((said,),), tables=(table,))


QUESTIONS: Final = (
    ("Participants", "inclusion and exclusion appropriate"),
    ("Analysis", "number of participants with the outcome sufficient"),
    ("Analysis", "missing data handled appropriately"),
    ("Analysis", "overfitting accounted for by internal validation"),
    ("Analysis", "no leakage between training and held-out records"),
    ("Analysis", "class imbalance methods followed by recalibration"),
    ("Analysis", "relevant performance measures evaluated"),
    ("Predictors", "predictors assessed without knowledge of the outcome"),
    ("Outcome", "outcome determined appropriately"),
)


def probast_section(result: CVResult, level: float) -> Section:
    """Return the signalling questions of PROBAST+AI that a result can answer."""
    design, plan = result.design, result.plan
    columns = design.matrix.shape[1] - (design.intercept is not None)
    size = f"{design.n} records"
    if design.outcome.kind == "binary" and columns:
        rarer = int(min(np.bincount(design.y, minlength=2)))
        size = f"{rarer / columns:.1f} records of the rarer class per column"
    lost = design.n_given - design.n
    concerns = result.audit.concerns
    measured = ", ".join(metric.label for metric in result.chosen_metrics)
    answers = (
        AUTHOR,
        size,
        f"{lost} of {design.n_given} rows left out or joined",
        f"held-out predictions of {plan.n_fits} fits",
        "; ".join(concerns) or "the audit of the folds has no concern",
        plan.rebalance or "training sets were not rebalanced",
        measured,
        AUTHOR,
        AUTHOR,
    )
    rows = tuple(
        (Said(domain), Said(what), Said(answer))
        for (domain, what), answer in zip(QUESTIONS, answers, strict=True)
    )
    head = ("domain", "question", "from the result")
    table = Table("PROBAST+AI: questions in brief", head, rows)
    said = (
        "The judgement of each question is the reader's; the table states what the "
        "result can tell of it (Moons et al. 2025, BMJ 388:e082505)."
    )
    return Section("PROBAST+AI", prose=((said,),), tables=(table,))
