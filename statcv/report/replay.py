"""The calls that make a result or a comparison again, as code."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from statcv.report.facts import is_given
from statcv.report.parts import literal
from statcv.results.comparison.comparison import Comparison
from statcv.results.result import CVResult
from statcv.results.stability import Stability

NOT_OF_NUMBERS = ("validated", "data", "formula", "n_jobs", "checkpoint", "progress")


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


def replay(result: CVResult, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the call in Python, and on the command line if that can express it.

    Parameters
    ----------
    result : CVResult
    options : mapping
        Options of the report by name.
    """
    lines = _call(result, "data,  # the data frame", not result.scores.external)
    lines[0] = f"res = {lines[0]}"
    shown = [stability_call(one) for one in result.refits.stabilities.values()]
    python = _script([*lines, *shown], options)
    own = {**changed_arguments(result), **options}
    shell = None if shown or is_given(result) else _command(result, own)
    return (python,) if shell is None else (python, shell)


def stability_call(found: Stability) -> str:
    """Return the call that gives a stability."""
    given = [f"{name}={literal(one) or name}" for name, one in found.given.items()]
    return f"res.stability({', '.join(given)})"


def replay_comparison(
    comparison: Comparison, options: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the calls that make a comparison, in Python.

    Parameters
    ----------
    comparison : Comparison
    options : mapping
        Options of the report by name.
    """
    asked, results = comparison.asked, comparison.results
    first = results[asked.names[0]]
    own = [argument(name, value) for name, value in asked.options.items()]
    if asked.fitted is not None:
        texts = {name: results[name].design.formula.text for name in asked.names}
        formulas = [f"    {name!r}: {text!r}," for name, text in texts.items()]
        given = {**asked.fitted, "seed": first.seed}
        kept = (name for name in given if name not in NOT_OF_NUMBERS)
        fitted = [argument(name, given[name]) for name in kept]
        data = "data=data,  # the data frame"
        lines = ["formulas = {", *formulas, "}", "res = scv.compare("]
        lines += [f"    {text}" for text in ["formulas,", data, *fitted, *own]]
        return (_script([*lines, ")"], options),)
    frames = {id(results[name].call.data): name for name in reversed(asked.names)}
    lines = ["results = {"]
    for name in asked.names:
        of = frames[id(results[name].call.data)]
        place = asked.names.index(of) + 1
        data = "data,  # the data frame"
        if len(frames) > 1:
            data = f"data_{place},  # the data frame of {of!r}"
        call = _call(results[name], data, comparison_draws(comparison))
        call[0], call[-1] = f"{name!r}: {call[0]}", f"{call[-1]},"
        lines += [f"    {text}" for text in call]
    if not own:
        lines += ["}", "res = scv.compare(results)"]
    else:
        lines += ["}", "res = scv.compare(", "    results,"]
        lines += [*(f"    {text}" for text in own), ")"]
    return (_script(lines, options),)


def argument(name: str, value: Any) -> str:
    """Return an argument as code.

    >>> argument("k", 5)
    'k=5,'
    """
    if (said := literal(value)) is None:
        return f"{name}={name},  # an object of your script"
    return f"{name}={said},"


def comparison_draws(comparison: Comparison) -> bool:
    """Return whether folds or a test of a comparison depend on a seed."""
    external = all(one.scores.external for one in comparison.results.values())
    return not external or comparison.method.name == "permutation"


def _call(result: CVResult, data: str, draws: bool) -> list[str]:
    """Return the lines of the call that makes a result, with its seed if it draws."""
    predicted = is_given(result)
    given = changed_arguments(result)
    if not draws:
        given.pop("seed", None)
    lines = [] if predicted else [f"{result.design.formula.text!r},"]
    lines += [data, *(argument(name, value) for name, value in given.items())]
    verb = "scv.from_predictions" if predicted else "scv.cv"
    verb = "model.validate" if result.validated else verb
    return [f"{verb}(", *(f"    {text}" for text in lines), ")"]


def _script(lines: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return a script that ends with the report."""
    words = ['"report.html"']
    words += [f"{name}={literal(value) or name}" for name, value in options.items()]
    last = f"res.report({', '.join(words)})"
    return "\n".join(["import statcv as scv", "", *lines, last])


FLAGS = {"k": "-k", "p": "-p", "n_jobs": "--jobs"}


def _command(result: CVResult, given: dict[str, Any]) -> str | None:
    words = ["statcv", "report", result.design.formula.text, "data.csv"]
    plain = (str, int, float, np.integer, np.floating)  # what can be typed
    for name, value in given.items():
        flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
        values = value if isinstance(value, (list, tuple)) else [value]
        able = all(isinstance(one, plain) and "," not in str(one) for one in values)
        if name == "tune" or not able:
            return None
        words += [flag, ",".join(map(str, values))]
    return shlex.join([*words, "--out", "report.html"])
