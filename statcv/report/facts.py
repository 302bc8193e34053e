"""What a report states of a result: its sentence, its data and its session."""

from __future__ import annotations

import platform

import numpy as np

from statcv.engine import PACKAGES, installed
from statcv.folds import SCHEMES
from statcv.report import parts
from statcv.report.parts import Cited, Prose, Said, count, number_of, prose, said
from statcv.results.comparison.comparison import Comparison
from statcv.results.refittable import Refittable
from statcv.results.summary import MANY
from statcv.words import limits_digits, stored_rows

DRAWN_WITH = ("matplotlib", "jinja2")


def is_given(result: Refittable) -> bool:
    """Return whether the predictions were made by other software."""
    return not result.learner.capabilities.refits


def lists_coefficients(result: Refittable) -> bool:
    """Return whether the report lists the coefficients of the fit to all records."""
    held = result.held.coefficients
    return held is not None and 0 < held.shape[1] <= MANY


def events(res: Cited) -> Said | None:
    """Return the number of positive records, or events; None for other outcomes."""
    y, kind = res.design.y, res.thing.design.outcome.kind
    if kind not in ("binary", "survival"):
        return None
    return count((y if kind == "binary" else y > 0).sum().passed_to(int))


def horizons(res: Cited) -> Prose:
    """Return the times by which risk is predicted, after a word; empty without any."""
    words: list[str | Said] = []
    for time in res.design.outcome.horizons:
        words += [", " if words else " by ", said(time, "g")]
    if len(words) > 2:
        words[-2] = " and "
    return tuple(words)


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
    level = res.design.outcome.levels[code]
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
    k = count(res.plan.labels[0].passed_to(len))
    return prose(words, res=res, k=k)


def value_words(one: Cited, interval: str = "CI") -> Prose:
    """Return the value of an estimate with its interval, which is named."""
    places = limits_digits(one.thing.lower, one.thing.upper)
    if np.isnan(one.thing.lower):
        return prose(f"{{one.value:.{places}f}} (no interval)", one=one)
    level = 100 * one.thing.level
    share = Said(f"{level:g}", f"100 * {one.api}.level", level)
    words = " ({share}% {interval} {one.lower:F} to {one.upper:F})"
    words = f"{{one.value:F}}{words}".replace(":F}", f":.{places}f}}")
    return prose(words, one=one, share=share, interval=interval)


def headline(res: Cited, level: float) -> Prose:
    """Return the headline metric with its interval, without a verb."""
    one = res.estimate(level=level)
    how, value = one.how.replace("_", " "), value_words(one)
    return prose("{one.label} ({how}) {value}", one=one, how=how, value=value)


def the(res: Cited, level: float, article: str = "the ") -> str:
    """Return the article of the headline metric; none with a person's name."""
    return "" if "'s " in res.thing.estimate(level=level).label else article


def sentence_parts(res: Cited, level: float) -> Prose:
    """Return the sentence for an abstract, with the source of each number."""
    one, with_events = res.estimate(level=level), Prose()
    if n := events(res):
        with_events = (" with ", n, " events")
    if res.thing.design.outcome.kind == "binary":
        with_events += (" (", *outcome_level(res, 1), ")")
    words = "{metric} of the model ({res.learner.label}) was {value} in "
    return prose(
        the(res, level, "The ") + words + "{res.design.n:d} records{events}, "
        "by {scheme}.",
        metric=one.label,
        value=value_words(one, "confidence interval"),
        res=res,
        events=with_events,
        scheme=resampling(res),
    )


def sentence_of(result: Refittable, level: float = 0.95) -> str:
    """Return the sentence for an abstract."""
    return parts.plain_text(sentence_parts(Cited(result), level))


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
    columns = count(res.design.names.from_place(drop).passed_to(len))
    return prose(words, res=res, columns=columns, events=of_events or "")


def without_intercept(res: Cited) -> int:
    """Return 1 if the first column is an intercept that a survival model ignores."""
    design = res.thing.design
    return int(design.outcome.kind == "survival" and design.intercept == 0)


def per_column(res: Cited) -> Prose:
    """Return the number of records, or of the rarer class, per column."""
    design, y = res.thing.design, f"{res.api}.design.y"
    columns = design.matrix.shape[1] - (design.intercept is not None)
    if design.outcome.kind not in ("binary", "survival") or not columns:
        return prose("{res.design.n:d} records", res=res)
    few, source = (design.y > 0).sum(), f"({y} > 0).sum()"
    what = " events per column"
    if design.outcome.kind == "binary":
        few = min(np.bincount(design.y, minlength=2))
        source = f"min(({y} == 0).sum(), ({y} == 1).sum())"
        what = " records of the rarer class per column"
    source += f" / ({res.api}.design.matrix.shape[1] - "
    source += f"({res.api}.design.intercept is not None))"
    each = float(few / columns)
    return (Said(f"{each:.1f}", source, each), what)


def missing(res: Cited) -> list[tuple[Said, Said]]:
    """Return the columns in which values are missing, with the number of them."""
    known = res.design.missing
    return [(said(one), count(known[one.thing])) for one in known.passed_to(list)]


def data_flow(res: Cited) -> parts.ReportTable:
    """Return the rows given, omitted and used, with positives and clusters."""
    result, design = res.thing, res.thing.design
    repeated = is_given(result) and not result.validated
    lost = "further rows of records" if repeated else "rows omitted as incomplete"
    rows: list[tuple[parts.Words, parts.Words]] = [
        ("rows given", count(res.design.n_given)),
        (lost, omitted(res)),
    ]
    rows += [(("missing in ", name), n) for name, n in missing(res)]
    rows.append(("records used", count(res.design.n)))
    if not result.scores.external:
        held = number_of_different(res.held.row.ravel())
        rows.append(("records held out", held))
    for code in range(len(design.outcome.levels)):
        n = count(res.design.y.equal_to(code).sum().passed_to(int))
        positive = design.outcome.kind == "binary" and code == 1
        rows.append(((*outcome_level(res, code), " (positive)" * positive), n))
    if design.outcome.kind == "survival":
        rows.append(("records with the event", events(res) or ""))
        if not np.isnan(design.outcome.follow_up):
            median = number_of(res.design.outcome.follow_up)
            rows.append(("median follow-up, by reverse Kaplan-Meier", median))
    y = res.design.y
    for time in res.design.outcome.horizons:
        for what, own in (("events by ", y > 0), ("censored by ", y < 0)):
            until = np.abs(y.thing) <= time.thing
            source = f"({own.api} & (abs({y.api}) <= {time.api}))"
            number = Cited(own.thing & until, source).sum().passed_to(int)
            rows.append(((what, said(time, "g")), count(number)))
    if result.plan.strata is not None and result.scores.clusters is not None:
        rows.append(("clusters", number_of_different(res.scores.clusters)))
    return parts.named_values("Data flow", *rows)


def names_of(comparison: Comparison) -> list[Said]:
    """Return the names of the results of a comparison."""
    results = Cited(comparison.results, "res.results")
    return [said(name) for name in results.passed_to(list)]


def omitted(res: Cited) -> Said:
    """Return the number of rows that are given and not used."""
    given, used = res.design.n_given, res.design.n
    return count(Cited(given.thing - used.thing, f"{given.api} - {used.api}"))


def number_of_different(values: Cited) -> Said:
    """Return how many different values an array has."""
    return count(values.tolist().passed_to(set).passed_to(len))


def heterogeneity_table(found: Cited) -> parts.ReportTable:
    """Return what random effects say of the spread of clusters."""
    table = stored_rows("statcv.report", "templates/heterogeneity.txt")
    rows = [(text, number_of(getattr(found, name))) for name, text in table]
    mean = parts.limits_cell(found.passed_to(vars).__getitem__)
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
