"""What a report states of a result: its sentence, its data and its session."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import numpy as np

from statcv.engine import PACKAGES, installed
from statcv.folds import SCHEMES
from statcv.results.report.parts import (
    Prose,
    Said,
    Section,
    Table,
    Words,
    count,
    joined,
    named_values,
    plain_text,
    rounded,
)
from statcv.results.summary import MANY

if TYPE_CHECKING:
    from statcv.inference import RandomEffects
    from statcv.results.result import CVResult

DRAWN_WITH = ("matplotlib", "jinja2")


def is_given(result: CVResult) -> bool:
    """Return whether the predictions were made by other software."""
    return not result.learner.capabilities.refits


def lists_coefficients(result: CVResult) -> bool:
    """Return whether the report lists the coefficients of the fit to all records."""
    held = result.held.coefficients
    return held is not None and held.shape[1] <= MANY


def positives(result: CVResult, root: str = "res") -> Said:
    """Return the number of positive records of a binary outcome."""
    return count(int(result.design.y.sum()), f"int({root}.design.y.sum())")


def outcome_level(result: CVResult, code: int, root: str = "res") -> Prose:
    """Return the name of the outcome and one of its levels."""
    outcome, api = result.design.outcome, f"{root}.design.outcome"
    return (
        Said(outcome.name, f"{api}.name"),
        " = ",
        Said(str(outcome.levels[code]), f"{api}.levels[{code}]"),
    )


def resampling(result: CVResult, root: str = "res") -> Prose:
    """Return the scheme in the words of a paper, as a phrase without a verb."""
    plan, api = result.plan, f"{root}.plan"
    if result.scores.external:
        return ("external validation (", Said(plan.sentence, f"{api}.sentence"), ")")
    scheme, strata = SCHEMES.get(plan.scheme), plan.strata
    of_values = strata is None or strata.identifies
    if scheme is None or scheme.splits not in ("folds", "units") or not of_values:
        return ("cross-validation (", Said(plan.sentence, f"{api}.sentence"), ")")
    phrase: Prose = ("rebalanced " * plan.rebalanced,)
    if scheme.splits == "units":
        phrase += ("leave-one-", "out" if strata is None else "cluster-out")
    else:
        phrase += (count(len(plan.labels[0]), f"len({api}.labels[0])"), "-fold")
    phrase += (" cross-validation",)
    if plan.repeats > 1:
        folds = scheme.splits == "folds"
        phrase += (", repeated " if folds else ", with ",)
        phrase += (count(plan.repeats, f"{api}.repeats"),)
        phrase += (" times" if folds else " draws",)
    conditions: list[Prose] = []
    if scheme.spreads:
        conditions.append(("classes spread evenly over folds",))
    if strata is not None:
        conditions.append(
            (
                "records with equal ",
                Said(strata.label, f"{api}.strata.label"),
                " kept together (",
                count(strata.count, f"{api}.strata.count"),
                " clusters)",
            )
        )
    if conditions:
        phrase += (", with ", *joined(conditions, " and "))
    return phrase


def sentence_parts(result: CVResult, level: float, root: str = "res") -> Prose:
    """Return the sentence for an abstract, with the source of each number."""
    one, design = result.estimate(level=level), result.design
    call = f"{root}.estimate(level={level!r})"
    limits: Prose = (" (no interval)",)
    if not np.isnan(one.lower):
        share = Said(f"{100 * level:g}", f"100 * {call}.level", 100 * one.level)
        low = Said(f"{one.lower:.3f}", f"{call}.lower", one.lower)
        high = Said(f"{one.upper:.3f}", f"{call}.upper", one.upper)
        limits = (" (", share, "% confidence interval ", low, " to ", high, ")")
    events: Prose = ()
    if design.outcome.kind == "binary":
        n = positives(result, root)
        events = (" with ", n, " events (", *outcome_level(result, 1, root), ")")
    return (
        "The ",
        Said(one.label, f"{call}.label"),
        " (",
        Said(one.how.replace("_", " "), f"{call}.how.replace('_', ' ')"),
        ") of the model (",
        Said(result.learner.label, f"{root}.learner.label"),
        ") was ",
        Said(f"{one.value:.3f}", f"{call}.value", one.value),
        *limits,
        " in ",
        count(design.n, f"{root}.design.n"),
        " records",
        *events,
        ", by ",
        *resampling(result, root),
        ".",
    )


def sentence_of(result: CVResult, level: float = 0.95) -> str:
    """Return the sentence for an abstract."""
    return plain_text(sentence_parts(result, level))


def data_flow(result: CVResult) -> Table:
    """Return the rows given, left out and used, with positives and clusters."""
    design, plan = result.design, result.plan
    lost = design.n_given - design.n
    rows: list[tuple[Words, Words]] = [
        ("rows given", count(design.n_given, "res.design.n_given")),
        (
            "further rows of records"
            if is_given(result)
            else "rows left out as incomplete",
            count(lost, "res.design.n_given - res.design.n"),
        ),
    ]
    rows += [
        (
            ("missing in ", Said(name, f"list(res.design.missing)[{place}]")),
            count(n, f"res.design.missing[{name!r}]"),
        )
        for place, (name, n) in enumerate(design.missing.items())
    ]
    rows.append(("records used", count(design.n, "res.design.n")))
    held = int((np.bincount(result.held.row) > 0).sum())
    if not result.scores.external:
        source = "len(set(res.held.row.ravel().tolist()))"
        rows.append(("records held out", count(held, source)))
    for code in range(len(design.outcome.levels)):
        n = count(int((design.y == code).sum()), f"int((res.design.y == {code}).sum())")
        positive = design.outcome.kind == "binary" and code == 1
        name = (*outcome_level(result, code), " (positive)" * positive)
        rows.append((name, n))
    codes = None if plan.strata is None else result.scores.clusters
    if codes is not None:
        found = len(np.unique(codes))
        rows.append(
            ("clusters", count(found, "len(set(res.scores.clusters.tolist()))"))
        )
    return named_values("Data flow", *rows)


def warnings_section(result: CVResult) -> Section:
    """Return the warnings that the call gave."""
    return Section(
        "Warnings of the call",
        prose=() if result.warnings else ("The call gave no warning.",),
        items=warnings_of(result),
    )


def warnings_of(result: CVResult, root: str = "res") -> tuple[Said, ...]:
    """Return the warnings of a call as a list."""
    return tuple(
        Said(text, f"{root}.warnings[{place}]")
        for place, text in enumerate(result.warnings)
    )


def heterogeneity_table(found: RandomEffects, api: str) -> Table:
    """Return what random effects say of the spread of clusters."""
    rows = [
        (said, rounded(float(getattr(found, name)), f"{api}.{name}"))
        for name, said in (
            ("estimate", "mean over clusters"),
            ("lower", "lower limit"),
            ("upper", "upper limit"),
            ("tau2", "variance between clusters (tau²)"),
            ("i2", "share of heterogeneity (I²)"),
            ("p_heterogeneity", "p of no heterogeneity"),
        )
    ]
    return named_values("Heterogeneity, by random effects", *rows)


def session(seed: Said | None) -> Table:
    """Return the versions of Python and the packages, and the seed."""
    rows: list[tuple[Words, Words]] = [
        ("Python", Said(platform.python_version(), "platform.python_version()"))
    ]
    for name, version in installed((*PACKAGES, *DRAWN_WITH)).items():
        rows.append((name, Said(version, f"importlib.metadata.version({name!r})")))
    if seed is not None:
        rows.append(("seed", seed))
    return named_values("Session", *rows)
