"""What a report states of a result: its sentence, data, session and replay."""

from __future__ import annotations

import platform
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.engine import PACKAGES, installed
from statcv.results.report.parts import Prose, Said, Table, count, named_values
from statcv.results.summary import number

if TYPE_CHECKING:
    from statcv.results.result import CVResult

DRAWN_WITH = ("matplotlib", "jinja2")
NOT_OF_NUMBERS = ("data", "formula", "n_jobs", "checkpoint", "progress")


def rounded(value: float, api: str, se: float = np.nan) -> Said:
    """Return a number with as many digits as the tables give it."""
    return Said(number(value, se), api, float(value))


def sentence_parts(result: CVResult, level: float) -> Prose:
    """Return the sentence for an abstract, with the source of each number."""
    one, design, plan = result.estimate(level=level), result.design, result.plan
    call = f"res.estimate(level={level!r})"
    limits: Prose = (" (no interval)",)
    if not np.isnan(one.lower):
        share = Said(f"{100 * level:g}", f"100 * {call}.level", 100 * one.level)
        low = Said(f"{one.lower:.3f}", f"{call}.lower", one.lower)
        high = Said(f"{one.upper:.3f}", f"{call}.upper", one.upper)
        limits = (" (", share, "% confidence interval ", low, " to ", high, ")")
    events: Prose = ()
    if design.outcome.kind == "binary":
        events = (
            " with ",
            count(int(design.y.sum()), "int(res.design.y.sum())"),
            f" events ({design.outcome.name} = {design.outcome.positive})",
        )
    return (
        f"The {one.label} ({one.how.replace('_', ' ')}) of {result.learner.label} was ",
        Said(f"{one.value:.3f}", f"{call}.value", one.value),
        *limits,
        f", estimated from held-out predictions ({plan.scheme}: ",
        Said(plan.sentence, "res.plan.sentence"),
        ") of ",
        count(design.n, "res.design.n"),
        " records",
        *events,
        ".",
    )


def sentence_of(result: CVResult, level: float = 0.95) -> str:
    """Return the sentence for an abstract."""
    parts = sentence_parts(result, level)
    return "".join(p if isinstance(p, str) else p.text for p in parts)


def data_flow(result: CVResult) -> Table:
    """Return the rows given, left out and used, with positives and clusters."""
    design, plan = result.design, result.plan
    lost, refits = design.n_given - design.n, result.learner.capabilities.refits
    rows = [
        ("rows given", count(design.n_given, "res.design.n_given")),
        (
            "rows left out as incomplete" if refits else "further rows of records",
            count(lost, "res.design.n_given - res.design.n"),
        ),
    ]
    rows += [
        (f"missing in {name}", count(n, f"res.design.missing[{name!r}]"))
        for name, n in design.missing.items()
    ]
    rows.append(("records used", count(design.n, "res.design.n")))
    held = int((np.bincount(result.held.row) > 0).sum())
    rows.append(
        ("records held out", count(held, "len(set(res.held.row.ravel().tolist()))"))
    )
    for code, level in enumerate(design.outcome.levels):
        api = f"int((res.design.y == {code}).sum())"
        n = int((design.y == code).sum())
        name = f"{design.outcome.name} = {level}"
        positive = design.outcome.kind == "binary" and code == 1
        rows.append((name + " (positive)" * positive, count(n, api)))
    if plan.strata is not None:
        codes = result.scores.clusters
        if codes is not None:
            found = len(np.unique(codes))
            rows.append(
                ("clusters", count(found, "len(set(res.scores.clusters.tolist()))"))
            )
    return named_values("Data flow", *rows)


def session(seed: int | None) -> Table:
    """Return the versions of Python and the packages, and the seed."""
    rows = [("Python", Said(platform.python_version()))]
    versions = installed((*PACKAGES, *DRAWN_WITH))
    rows += [(name, Said(version)) for name, version in versions.items()]
    if seed is not None:
        rows.append(("seed", count(seed, "res.seed")))
    return named_values("Session", *rows)


# ---- the call ----


def changed_arguments(result: CVResult) -> dict[str, Any]:
    """Return the arguments of the call that are not the defaults, by name."""
    call: Any = result.call
    if not is_dataclass(call):
        return {}
    found = {}
    for field in fields(call):
        value = getattr(call, field.name)
        if field.name in NOT_OF_NUMBERS or value is field.default:
            continue
        if isinstance(value, (str, int, float)) and value == field.default:
            continue
        found[field.name] = value
    return found


def literal(value: Any) -> str | None:
    """Return a value as code, or None if it is an object of the caller's script."""
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        value = value.item()
    if isinstance(value, (str, int, float, bool, type(None))):
        return repr(value)
    if isinstance(value, (list, tuple)):
        parts = [literal(one) for one in value]
        if None in parts or len(parts) > 50:
            return None
        return f"[{', '.join(map(str, parts))}]"
    if isinstance(value, dict):
        pairs = [(literal(k), literal(v)) for k, v in value.items()]
        if any(None in pair for pair in pairs):
            return None
        return f"{{{', '.join(f'{k}: {v}' for k, v in pairs)}}}"
    if isinstance(value, (np.ndarray, pd.Series, pd.DataFrame)) or callable(value):
        return None
    text = repr(value)
    hidden = re.search(r"\b0x[0-9a-fA-F]+|<|[/\\]", text) or len(text) > 300
    return None if hidden else " ".join(text.split())


def replay(
    result: CVResult, options: Mapping[str, Any] | None = None
) -> tuple[str, ...]:
    """Return the call in Python, and on the command line if that can express it.

    Parameters
    ----------
    result : CVResult
    options : mapping, optional
        Options of the report by name; the report is not written unless given.
    """
    last = []
    if options is not None:
        words = ['"report.html"']
        for name, value in options.items():
            words.append(f"{name}={literal(value) or name}")
        last = [f"res.report({', '.join(words)})"]
    predictions = not result.learner.capabilities.refits
    verb = "from_predictions" if predictions else "cv"
    given = changed_arguments(result)
    lines = [] if predictions else [f"    {result.design.formula.text!r},"]
    lines.append("    data,  # the data frame")
    for name, value in given.items():
        said = literal(value)
        lines.append(
            f"    {name}={name},  # an object of your script"
            if said is None
            else f"    {name}={said},"
        )
    python = "\n".join(
        ["import statcv as scv", "", f"res = scv.{verb}(", *lines, ")", *last]
    )
    own = {**given, **(options or {})}
    shell = None if predictions else _command(result, own)
    return (python,) if shell is None else (python, shell)


FLAGS = {"k": "-k", "p": "-p", "n_jobs": "--jobs"}


def _command(result: CVResult, given: dict[str, Any]) -> str | None:
    words = ["statcv", "report", result.design.formula.text, "data.csv"]
    for name, value in given.items():
        flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
        values = value if isinstance(value, (list, tuple)) else [value]
        if name == "tune" or not _plain_words(values):
            return None
        words += [flag, ",".join(map(str, values))]
    return shlex.join([*words, "--out", "report.html"])


def _plain_words(values: Sequence[Any]) -> bool:
    """Return whether each value is a word or a number of a command line."""
    plain = (str, int, float, np.integer, np.floating)
    return all(isinstance(one, plain) and "," not in str(one) for one in values)
