"""What a report states of a result: its sentence, its data and its session."""

from __future__ import annotations

import platform

import numpy as np

from statcv.engine import PACKAGES, installed
from statcv.report import parts
from statcv.report.parts import Cited, Said, said
from statcv.report.prose import phrase
from statcv.results.comparison.comparison import Comparison
from statcv.results.result import CVResult
from statcv.results.summary import MANY
from statcv.words import stored_rows

DRAWN_WITH = ("matplotlib", "jinja2")


def is_given(result: CVResult) -> bool:
    """Return whether the predictions were made by other software."""
    return not result.learner.capabilities.refits


def lists_coefficients(result: CVResult) -> bool:
    """Return whether the report lists the coefficients of the fit to all records."""
    held = result.held.coefficients
    return held is not None and 0 < held.shape[1] <= MANY


def sentence_of(result: CVResult, level: float = 0.95) -> str:
    """Return the sentence for an abstract."""
    return parts.plain_text(phrase("sentence", Cited(result), level))


def data_flow(res: Cited) -> parts.ReportTable:
    """Return the rows given, omitted and used, with positives and clusters."""
    result, outcome = res.thing, res.thing.design.outcome
    repeated = is_given(result) and not result.validated
    lost = "further rows of records" if repeated else "rows omitted as incomplete"
    rows: list[tuple[parts.Words, Cited]] = [
        ("rows given", res.design.n_given),
        (lost, res.design.n_incomplete),
    ]
    for name in res.computed("list(res.design.missing)"):
        rows.append((("missing in ", said(name)), res.design.missing[name.thing]))
    if res.thing.design.weightless:
        rows.append(("rows of weight 0", res.design.weightless))
    rows.append(("records used", res.design.n))
    if not result.scores.external:
        held = res.computed("len(set(res.held.row.ravel().tolist()))")
        rows.append(("records held out", held))
    for code in range(len(outcome.levels)):
        positive = " (positive)" * (outcome.kind == "binary" and code == 1)
        level = (*phrase("outcome_level", res, code), positive)
        rows.append((level, res.computed(f"int((res.design.y == {code}).sum())")))
    if outcome.kind == "survival":
        events = res.computed("int((res.design.y > 0).sum())")
        rows.append(("records with the event", events))
        if not np.isnan(outcome.follow_up):
            median = "median follow-up, by reverse Kaplan-Meier"
            rows.append((median, res.design.outcome.follow_up))
    for place, time in enumerate(res.design.outcome.horizons):
        until = f"(abs(res.design.y) <= res.design.outcome.horizons[{place}])"
        for what, sign in (("events by ", ">"), ("censored by ", "<")):
            number = res.computed(f"int(((res.design.y {sign} 0) & {until}).sum())")
            rows.append(((what, said(time, "g")), number))
    if result.plan.strata is not None and result.scores.clusters is not None:
        rows.append(
            ("clusters", res.computed("len(set(res.scores.clusters.tolist()))"))
        )
    each = ((name, parts.count_or_number(value)) for name, value in rows)
    return parts.named_values("Data flow", *each)


def names_of(comparison: Comparison) -> list[Said]:
    """Return the names of the results of a comparison."""
    return [said(name) for name in Cited(comparison).computed("list(res.results)")]


def heterogeneity_table(found: Cited) -> parts.ReportTable:
    """Return what random effects say of the spread of clusters."""
    table = stored_rows("statcv.report", "templates/heterogeneity.txt")
    rows = [(text, parts.number_of(getattr(found, name))) for name, text in table]
    mean = parts.limits_cell(found.computed("vars(res)").__getitem__)
    first = ("mean over clusters, with its interval", mean)
    return parts.named_values("Heterogeneity, by random effects", first, *rows)


def session(seed: Said | None, code: tuple[str, ...] = ()) -> parts.Section:
    """Return the versions of Python and packages, the seed, and the code to replay."""
    rows: list[tuple[parts.Words, parts.Words]] = [
        ("Python", Said(platform.python_version(), "platform.python_version()"))
    ]
    for name, version in installed((*PACKAGES, *DRAWN_WITH)).items():
        rows.append((name, Said(version, f"importlib.metadata.version({name!r})")))
    if seed is not None:
        rows.append(("seed", seed))
    title, table = "Session" + " and replay" * bool(code), parts.named_values
    return parts.Section(title, tables=(table("Session", *rows),), code=code)
