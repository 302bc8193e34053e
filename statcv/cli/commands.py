"""The commands of `statcv` that cross-validate, with a function for each of them."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from statcv.cli import WIDTH, files
from statcv.cli.fold_plans import PLAN
from statcv.errors import ArgumentError, MetricError, suggestion
from statcv.folds import SCHEMES
from statcv.models import MODELS
from statcv.report import check_path
from statcv.results.comparison.comparison import make_comparison
from statcv.results.result import CVResult
from statcv.results.writing.styles import check_style
from statcv.tables import column, row_digits
from statcv.verbs.cv import CVCall
from statcv.verbs.from_predictions import from_predictions
from statcv.words import percent

PREDICTIONS = ["observed", "fold", "repeat", "row", "cluster", "positive"]
PREDICTIONS += ["metrics", "probabilities", "threshold", "seed"]
CALL = [*PLAN, "model", "new_levels", "metrics", "threshold", "weights", "n_jobs"]
CALL += ["progress", "select", "exposure"]


# ---- statcv cv, statcv compare ----


def _cv(options: argparse.Namespace) -> None:
    data, out, level = _data_of(options, options.stratify), options.out, options.level
    files.make_folder(out)
    result = _fit(options, data, {"checkpoint": options.checkpoint})
    summary = result.summary(level, null_bias=options.null_bias)
    written = files.write_result(result, out, level, summary) if out else []
    print(summary)
    if options.test is not None:
        print(f"\n{result.test(n_permutations=options.test, level=level)}")
    _tell(written, out)


def _report(options: argparse.Namespace) -> None:
    style, by, level = options.style, options.by, options.level
    check_path(options.out)
    check_style(style, by)
    data = _data_of(options, [*(options.stratify or []), by])
    result = _fit(options, data, {"checkpoint": options.checkpoint})
    written = result.report(options.out, style=style, by=by, level=level)
    print(f"{result.sentence(level)}\n\nWritten: {written}")


def _evaluate(options: argparse.Namespace) -> None:
    by, out, level = options.by, options.out, options.level
    identifying = [options.cluster, options.fold, options.row, by]
    data = files.read_data(options.data, files.layout_of(options), identifying)
    files.make_folder(out)
    call = {name: getattr(options, name) for name in PREDICTIONS}
    predicted = files.one_or_more(options.predicted)
    result = from_predictions(data, predicted=predicted, **call)
    summary = result.summary(level)
    if summary.tables["Metrics"]["estimate"].isna().all():
        raise MetricError("no metric has a value for these predictions.")
    groups = by and result.metrics(level, by=by)
    written = files.write_result(result, out, level, summary) if out else []
    if out and by:
        written.append(files.write_table(out / "groups.csv", groups))
    print(summary)
    if by:
        print(f"\nBy {by}, with {percent(level)} intervals")
        for metric, own in groups.groupby("metric", sort=False):
            digits, table = row_digits(own, "lower", "upper"), own[[by, "n"]]
            for name in ("estimate", "lower", "upper"):
                table = table.assign(**{name: column(own[name].tolist(), [], digits)})
            shown = table.set_index(by).rename_axis(None)
            print("", metric, shown.to_string(), sep="\n")
    _tell(written, out)


def _compare(options: argparse.Namespace) -> None:
    data = _data_of(options, options.stratify)
    (name, change), *others = _changes(options, data).items()
    files.make_folder(options.out)
    results = {name: _fit(options, data, change)}
    results |= {other: results[name].update(**change) for other, change in others}
    metric = options.metrics[0] if options.metrics else None
    comparison = make_comparison(results, metric, options.level)
    written = files.write_comparison(comparison, options.out) if options.out else []
    for result in results.values():
        print(result.summary(options.level), end="\n\n\n")
    print(comparison.summary())
    _tell(written, options.out)


def _data_of(
    options: argparse.Namespace, identifying: Sequence[str | None] | None
) -> pd.DataFrame:
    layout = files.layout_of(options)
    return files.read_data(options.data, layout, identifying, options.formula)


def _fit(
    options: argparse.Namespace, data: pd.DataFrame, change: Mapping[str, Any]
) -> CVResult:
    """Cross-validate, in a scope that offers formulas numpy as ``np`` alone."""
    call = {name: getattr(options, name) for name in CALL}
    call["stratify"] = files.one_or_more(options.stratify)
    call["tune"] = files.by_name(options.tune, "--tune gives the values of a name")
    made = CVCall(formula=options.formula, data=data, **{**call, **change})
    return made.run({"np": np})


def _changes(options: Any, data: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the arguments that differ between the results to compare, by name.

    With several schemes, each of k, p, pairs and repeats is passed to the schemes that
    take it. If no scheme takes it, all get it, and cv() raises an error.
    """
    if (options.schemes is None) == (options.models is None):
        raise ArgumentError("compare takes either --schemes A,B or --models A,B.")
    one, known, more = "model", list(MODELS), []
    if options.schemes is not None:
        one, known, more = "scheme", list(SCHEMES), [*data.columns]
    names = options.schemes or options.models or []
    if getattr(options, one) is not None:
        raise ArgumentError(f"--{one} means nothing beside --{one}s; leave it out.")
    for name in names:
        if name not in [*known, *more]:
            there = f"there are {', '.join(known)}."
            hint = suggestion(name, [*known, *more])
            raise ArgumentError(f"there is no {one} {name!r}; {there}{hint}")
    if len(set(names)) < max(len(names), 2):
        raise ArgumentError(f"--{one}s takes two or more different names: A,B.")
    changes: dict[str, dict[str, Any]] = {name: {one: name} for name in names}

    def takers(*flags: str) -> list[str]:
        """Return the schemes for which an argument means something, or all."""
        known = [n for n in names if any(getattr(SCHEMES.get(n), f, 0) for f in flags)]
        return known or names

    sampled = ["has_pairs"] * (options.pairs is not None)
    flags = {"k": ["has_k"], "p": ["has_p"], "pairs": ["has_pairs"]}
    for argument, own in {**flags, "repeats": ["random", *sampled]}.items():
        able = takers(*own)
        for name, change in changes.items():
            change[argument] = getattr(options, argument) if name in able else None
    return changes


def _tell(written: Sequence[Path], folder: Path | None) -> None:
    """Print which files were written."""
    if folder is not None:
        names = ", ".join(path.relative_to(folder).as_posix() for path in written)
        wrapped = textwrap.fill(names, WIDTH - 2, break_on_hyphens=False)
        print(f"\nWritten to {folder}:\n{textwrap.indent(wrapped, '  ')}")


COMMANDS = {"cv": _cv, "report": _report, "evaluate": _evaluate, "compare": _compare}
