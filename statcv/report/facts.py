"""What a report states of a result: its sentence, its data and its session."""

from __future__ import annotations

import platform

import numpy as np

from statcv.engine import PACKAGES, installed
from statcv.folds import SCHEMES
from statcv.inference import RandomEffects
from statcv.report.parts import (
    Cited,
    Prose,
    ReportTable,
    Said,
    Words,
    count,
    limits_cell,
    named_values,
    plain_text,
    prose,
    rounded,
)
from statcv.results.refittable import Refittable
from statcv.results.summary import MANY
from statcv.words import limits_digits

DRAWN_WITH = ("matplotlib", "jinja2")


def is_given(result: Refittable) -> bool:
    """Return whether the predictions were made by other software."""
    return not result.learner.capabilities.refits


def lists_coefficients(result: Refittable) -> bool:
    """Return whether the report lists the coefficients of the fit to all records."""
    held = result.held.coefficients
    return held is not None and 0 < held.shape[1] <= MANY


def estimate_of(res: Cited, level: float) -> Cited:
    """Return the headline of a result."""
    call = f"{res.api}.estimate(level={level!r})"
    return Cited(res.thing.estimate(level=level), call)


def events(res: Cited) -> Said | None:
    """Return the number of positive records, or events; None for other outcomes."""
    y, api = res.thing.design.y, f"{res.api}.design.y"
    if res.thing.design.outcome.kind == "binary":
        return count(int(y.sum()), f"int({api}.sum())")
    if res.thing.design.outcome.kind == "survival":
        return count(int((y > 0).sum()), f"int(({api} > 0).sum())")
    return None


def horizons(res: Cited) -> Prose:
    """Return the times by which risk is predicted, after a word; empty without any."""
    known = res.thing.design.outcome.horizons
    said: Prose = ()
    for place, time in enumerate(known):
        source = f"{res.api}.design.outcome.horizons[{place}]"
        before = " by " if not place else " and " if place == len(known) - 1 else ", "
        said += (before, Said(f"{time:g}", source, time))
    return said


def censoring(res: Cited) -> Prose:
    """Return how censored records entered the estimates."""
    said = "a censored record is compared with the events before its censoring"
    if res.thing.design.outcome.horizons:
        training = res.thing.design.outcome.censoring == "training"
        said += (
            "; at a horizon, records with a known status have as weights the inverse "
            "probability of censoring, by the Kaplan-Meier estimate from "
            + ("the training set of each fit" if training else "all records")
        )
    return (said,)


def outcome_level(res: Cited, code: int) -> Prose:
    """Return the name of the outcome and one of its levels."""
    level = res.each("design.outcome.levels")[code]
    return prose("{res.design.outcome.name} = {level}", res=res, level=level)


def resampling(res: Cited) -> Prose:
    """Return the scheme in the words of a paper, as a phrase without a verb."""
    plan = res.thing.plan
    if res.thing.scores.external:
        return prose("external validation ({res.plan.sentence})", res=res)
    scheme, strata = SCHEMES.get(plan.scheme), plan.strata
    of_values = strata is None or strata.identifies
    if scheme is None or scheme.splits not in ("folds", "units") or not of_values:
        return prose("cross-validation ({res.plan.sentence})", res=res)
    folds = scheme.splits == "folds"
    out = "leave-one-out" if strata is None else "leave-one-cluster-out"
    words = "rebalanced " * plan.rebalanced
    words += f"{'{k}-fold' if folds else out} cross-validation"
    if plan.repeats > 1:
        times = ", repeated {n} times" if folds else ", with {n} draws"
        words += times.format(n="{res.plan.repeats:d}")
    timed = res.thing.design.outcome.kind == "survival"
    what = "events" if timed else "classes"
    conditions = [f"{what} spread evenly over folds"] * scheme.spreads
    if strata is not None:
        conditions.append(
            "records with equal {res.plan.strata.label} kept together "
            "({res.plan.strata.count:d} clusters)"
        )
    if conditions:
        words += f", with {' and '.join(conditions)}"
    k = count(len(plan.labels[0]), f"len({res.api}.plan.labels[0])")
    return prose(words, res=res, k=k)


def value_words(res: Cited, level: float, interval: str = "CI") -> Prose:
    """Return the value of the headline with its interval, which is named."""
    one = estimate_of(res, level)
    places = limits_digits(one.thing.lower, one.thing.upper)
    if np.isnan(one.thing.lower):
        return prose(f"{{one.value:.{places}f}} (no interval)", one=one)
    share = Said(f"{100 * level:g}", f"100 * {one.api}.level", 100 * one.thing.level)
    words = " ({share}% {interval} {one.lower:F} to {one.upper:F})"
    words = f"{{one.value:F}}{words}".replace(":F}", f":.{places}f}}")
    return prose(words, one=one, share=share, interval=interval)


def headline(res: Cited, level: float) -> Prose:
    """Return the headline metric with its interval, without a verb."""
    one = estimate_of(res, level)
    how = Said(one.thing.how.replace("_", " "), f"{one.api}.how.replace('_', ' ')")
    value = value_words(res, level)
    return prose("{one.label} ({how}) {value}", one=one, how=how, value=value)


def the(res: Cited, level: float, article: str = "the ") -> str:
    """Return the article of the headline metric; none with a person's name."""
    return "" if "'s " in estimate_of(res, level).thing.label else article


def sentence_parts(res: Cited, level: float) -> Prose:
    """Return the sentence for an abstract, with the source of each number."""
    with_events: Prose = ()
    if n := events(res):
        with_events = (" with ", n, " events")
    if res.thing.design.outcome.kind == "binary":
        with_events += (" (", *outcome_level(res, 1), ")")
    words = "{metric} of the model ({res.learner.label}) was {value} in "
    return prose(
        the(res, level, "The ") + words + "{res.design.n:d} records{events}, "
        "by {scheme}.",
        metric=prose("{one.label}", one=estimate_of(res, level)),
        value=value_words(res, level, "confidence interval"),
        res=res,
        events=with_events,
        scheme=resampling(res),
    )


def sentence_of(result: Refittable, level: float = 0.95) -> str:
    """Return the sentence for an abstract."""
    return plain_text(sentence_parts(Cited(result), level))


def size(res: Cited) -> Prose:
    """Return the number of records, columns and events."""
    design, words = res.thing.design, "n = {res.design.n:d}"
    drop = without_intercept(res)
    if not is_given(res.thing):
        words += "; {columns} columns of the design matrix"
        words += ", with the intercept" * (design.intercept is not None and not drop)
    of_events = events(res)
    if of_events:
        words += "; {events} events"
    columns = count(
        len(design.names[drop:]), f"len({res.api}.design.names{'[1:]' * drop})"
    )
    return prose(words, res=res, columns=columns, events=of_events or "")


def without_intercept(res: Cited) -> int:
    """Return 1 if the first column is an intercept that a survival model ignores."""
    design = res.thing.design
    return int(design.outcome.kind == "survival" and design.intercept == 0)


def per_column(res: Cited) -> Prose:
    """Return the number of records, or of the rarer class, per column."""
    design, api = res.thing.design, f"{res.api}.design"
    columns = design.matrix.shape[1] - (design.intercept is not None)
    if design.outcome.kind == "survival" and columns:
        each = float((design.y > 0).sum() / columns)
        source = f"({api}.y > 0).sum() / "
        source += f"({api}.matrix.shape[1] - ({api}.intercept is not None))"
        return (Said(f"{each:.1f}", source, each), " events per column")
    if design.outcome.kind != "binary" or not columns:
        return prose("{res.design.n:d} records", res=res)
    each = float(min(np.bincount(design.y, minlength=2)) / columns)
    source = (
        f"min(({api}.y == 0).sum(), ({api}.y == 1).sum()) / "
        f"({api}.matrix.shape[1] - ({api}.intercept is not None))"
    )
    said = Said(f"{each:.1f}", source, each)
    return (said, " records of the rarer class per column")


def missing(res: Cited) -> list[tuple[Said, Said]]:
    """Return the columns in which values are missing, with the number of them."""
    api = f"{res.api}.design.missing"
    return [
        (Said(name, f"list({api})[{place}]"), count(n, f"{api}[{name!r}]"))
        for place, (name, n) in enumerate(res.thing.design.missing.items())
    ]


def data_flow(res: Cited) -> ReportTable:
    """Return the rows given, omitted and used, with positives and clusters."""
    result = res.thing
    design = result.design
    repeated = is_given(result) and not result.validated
    lost = "further rows of records" if repeated else "rows omitted as incomplete"
    rows: list[tuple[Words, Words]] = [
        ("rows given", res.said("design.n_given", "d")),
        (lost, count(design.n_given - design.n, "res.design.n_given - res.design.n")),
    ]
    rows += [(("missing in ", name), n) for name, n in missing(res)]
    rows.append(("records used", res.said("design.n", "d")))
    if not result.scores.external:
        held = int((np.bincount(result.held.row) > 0).sum())
        source = "len(set(res.held.row.ravel().tolist()))"
        rows.append(("records held out", count(held, source)))
    for code in range(len(design.outcome.levels)):
        n = count(int((design.y == code).sum()), f"int((res.design.y == {code}).sum())")
        positive = design.outcome.kind == "binary" and code == 1
        rows.append(((*outcome_level(res, code), " (positive)" * positive), n))
    if design.outcome.kind == "survival":
        rows.append(("records with the event", events(res) or ""))
        median = rounded(design.outcome.follow_up, "res.design.outcome.follow_up")
        if not np.isnan(design.outcome.follow_up):
            rows.append(("median follow-up, by reverse Kaplan-Meier", median))
    for place, time in enumerate(design.outcome.horizons):
        at = f"res.design.outcome.horizons[{place}]"
        said = Said(f"{time:g}", at, time)
        for what, test, own in (
            ("events by ", "res.design.y > 0", design.y > 0),
            ("censored by ", "res.design.y < 0", design.y < 0),
        ):
            by_then = int((own & (np.abs(design.y) <= time)).sum())
            source = f"int((({test}) & (abs(res.design.y) <= {at})).sum())"
            rows.append(((what, said), count(by_then, source)))
    codes = None if result.plan.strata is None else result.scores.clusters
    if codes is not None:
        source = "len(set(res.scores.clusters.tolist()))"
        rows.append(("clusters", count(len(np.unique(codes)), source)))
    return named_values("Data flow", *rows)


def heterogeneity_table(found: RandomEffects, api: str) -> ReportTable:
    """Return what random effects say of the spread of clusters."""
    limits = {name: getattr(found, name) for name in ("estimate", "lower", "upper")}
    mean = limits_cell(limits, f"vars({api})[")
    said = {
        "prediction_lower": "lower limit of the prediction interval for a new cluster",
        "prediction_upper": "upper limit of it",
        "tau2": "variance between clusters (tau²)",
        "i2": "share of heterogeneity (I²)",
        "p_heterogeneity": "p-value of the test of no heterogeneity",
    }
    rows: list[tuple[Words, Words]] = [
        (label, rounded(float(getattr(found, name)), f"{api}.{name}"))
        for name, label in said.items()
    ]
    first = ("mean over clusters, with its interval", mean)
    return named_values("Heterogeneity, by random effects", first, *rows)


def session(seed: Said | None) -> ReportTable:
    """Return the versions of Python and the packages, and the seed."""
    rows: list[tuple[Words, Words]] = [
        ("Python", Said(platform.python_version(), "platform.python_version()"))
    ]
    for name, version in installed((*PACKAGES, *DRAWN_WITH)).items():
        rows.append((name, Said(version, f"importlib.metadata.version({name!r})")))
    if seed is not None:
        rows.append(("seed", seed))
    return named_values("Session", *rows)
