"""The command `statcv`: `statcv cv`, `compare`, `folds` and `data`.

What is heavy is imported where it is used, so that ``statcv --help`` is quick.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statcv.arguments import make_parser
from statcv.errors import (
    ArgumentError,
    StatcvError,
    StatcvWarning,
    reason,
    suggestion,
)
from statcv.export import make_folder, write_comparison, write_result, write_table

if TYPE_CHECKING:
    import pandas as pd

    from statcv.result import CVResult

WIDTH = 79
PLAN = ["scheme", "k", "p", "pairs", "repeats", "rebalance", "positive"]
PLAN += ["na_action", "seed"]
CALL = [*PLAN, "model", "metrics", "threshold", "weights", "n_jobs", "progress"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after ``statcv``; those of the process where not given.

    Returns
    -------
    int
        0; 2 for wrong input; 130 if interrupted; 141 if the output's reader left.
    """
    options = make_parser(COMMANDS).parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # "−" must not stop an ASCII terminal
            stream.reconfigure(errors="replace")
    try:
        with _warnings_as_notes():
            options.run(options)
            print(end="", flush=True)
    except KeyboardInterrupt:
        return _fail("interrupted", code=130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (StatcvError, OSError) as error:
        return _fail(str(error))
    except Exception as error:  # not foreseen: one line all the same
        if os.environ.get("STATCV_TRACEBACK"):
            raise
        kind = type(error).__name__
        return _fail(f"{kind}: {reason(error)} (STATCV_TRACEBACK=1 shows where)")
    return 0


def _fail(message: str, code: int = 2) -> int:
    print(f"statcv: {_one_line(message)}", file=sys.stderr)
    return code


def _one_line(message: str) -> str:
    """Say in words where the caret of a formula that does not parse stands."""
    text, *place = message.splitlines()
    carets = [
        line.index("^") for line in place if line.strip("^ ") == "" and "^" in line
    ]
    if not carets:
        return " ".join([text, *map(str.strip, place)])
    indent = len(place[0]) - len(place[0].lstrip())
    return f"{text} (at character {carets[0] - indent + 1} of {place[0].strip()!r})"


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Show the package's warnings once each, as notes on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", StatcvWarning)
        try:
            yield
        finally:
            for text in dict.fromkeys(str(one.message) for one in caught):
                note = textwrap.fill(f"note: {text}", WIDTH, subsequent_indent="  ")
                print(note, file=sys.stderr)


# ---- statcv cv, statcv compare ----


def _cv(options: argparse.Namespace) -> None:
    data = _read_data(options.data)
    if options.out:
        make_folder(options.out)
    result = _fit(options, data, {"checkpoint": options.checkpoint})
    summary = result.summary(options.level, null_bias=options.null_bias)
    written = []
    if options.out:
        written = write_result(result, options.out, options.level, summary)
    print(summary)
    if options.test is not None:
        test = result.test(n_permutations=options.test, level=options.level)
        print(f"\n{test}")
    _tell(written, options.out)


def _compare(options: argparse.Namespace) -> None:
    from statcv.comparison import make_comparison

    data = _read_data(options.data)
    (name, change), *others = _changes(options, data).items()
    if options.out:
        make_folder(options.out)
    results = {name: _fit(options, data, change)}
    results |= {other: results[name].update(**change) for other, change in others}
    metric = options.metrics[0] if options.metrics else None
    comparison = make_comparison(results, metric, options.level)
    written = write_comparison(comparison, options.out) if options.out else []
    for result in results.values():
        print(result.summary(options.level), end="\n\n\n")
    print(comparison.summary())
    _tell(written, options.out)


def _fit(_options: Any, _data: pd.DataFrame, _change: Mapping[str, Any]) -> CVResult:
    """Call cv() where formulas find numpy as ``np`` and nothing else of this place."""
    import numpy as np  # noqa: F401

    from statcv.api import cv as _cv

    _call = {name: getattr(_options, name) for name in CALL}
    _call["stratify"] = _one_or_more(_options.stratify)
    _call["tune"] = _grid(_options.tune)
    return _cv(_options.formula, _data, **{**_call, **_change})


def _grid(given: list[tuple[str, list[Any]]] | None) -> dict[str, list[Any]] | None:
    if not given:
        return None
    grid = dict(given)
    if len(grid) < len(given):
        raise ArgumentError("--tune gives the values of a name once: NAME=A,B.")
    return grid


def _one_or_more(names: list[str] | None) -> str | list[str] | None:
    return names[0] if names and len(names) == 1 else names


def _changes(options: Any, data: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return what differs between the results to compare, by their names.

    Of several schemes k, p, pairs and repeats go to those that take them; if none
    does, to all, for cv() to refuse.
    """
    from statcv.folds import SCHEMES
    from statcv.models.resolve import MODELS

    if (options.schemes is None) == (options.models is None):
        raise ArgumentError("compare takes either --schemes A,B or --models A,B.")
    one = "model" if options.schemes is None else "scheme"
    names = options.schemes or options.models or []
    if getattr(options, one) is not None:
        raise ArgumentError(f"--{one} means nothing beside --{one}s; leave it out.")
    known = list(MODELS) if one == "model" else [*SCHEMES, *data.columns]
    for name in names:
        if name not in known:
            there_are = ", ".join(MODELS if one == "model" else SCHEMES)
            raise ArgumentError(
                f"there is no {one} {name!r}; there are {there_are}."
                + suggestion(name, known)
            )
    if len(set(names)) < max(len(names), 2):
        raise ArgumentError(f"--{one}s takes two or more different names: A,B.")
    changes: dict[str, dict[str, Any]] = {name: {one: name} for name in names}
    flags = {"k": "has_k", "p": "has_p", "pairs": "has_pairs", "repeats": "random"}
    for argument, flag in flags.items():
        takers = [n for n in names if getattr(SCHEMES.get(n), flag, False)]
        if argument == "repeats" and options.pairs is not None:
            takers += [n for n in names if getattr(SCHEMES.get(n), "has_pairs", False)]
        takers = takers or names
        for name, change in changes.items():
            change[argument] = getattr(options, argument) if name in takers else None
    return changes


# ---- statcv folds ----


def _folds(options: argparse.Namespace) -> None:
    from statcv.api import fold_plan

    data = _read_data(options.data)
    call = {name: getattr(options, name) for name in PLAN}
    call["stratify"] = _stratifier(options)
    plan = fold_plan(options.outcome, data, **call)
    written = options.out and write_table(options.out, plan.to_frame())
    print(f"{plan}\n")
    rows = data.loc[plan.rows] if options.duplicates else None
    print(plan.audit(data=rows, duplicates=options.duplicates))
    if written:
        print(f"\nWritten: {written}")


def _stratifier(options: argparse.Namespace) -> Any:
    """Return what the folds keep together; a key is never typed."""
    from statcv.folds.strata import by_hash, by_quantile, by_value

    names = _one_or_more(options.stratify)
    if options.by is None and options.per_fold is None:
        return names
    if names is None:
        raise ArgumentError("--by and --per-fold need --stratify, the columns.")
    if options.by in (None, "quantile"):
        if not isinstance(names, str):
            raise ArgumentError("--by quantile takes one column.")
        return by_quantile(names, per_fold=options.per_fold or 1)
    if options.per_fold is not None:
        raise ArgumentError("--per-fold means nothing without --by quantile.")
    return by_hash(names) if options.by == "hash" else by_value(names)


# ---- statcv data ----


def _read_data(name: str) -> pd.DataFrame:
    from statcv.datasets.files import read_data

    return read_data(name)


def _data(options: argparse.Namespace) -> None:
    from statcv.datasets import available_data

    name, listed = options.name, available_data().set_index("name", drop=False)
    if name is None:
        if options.fetch or options.out:
            raise ArgumentError("--fetch and --out need the name of a data set.")
        print("\n".join(_about(row) for _, row in listed.iterrows()))
        return
    download = name in listed.index and listed.loc[name, "how"] == "download"
    if options.fetch and not download:
        raise ArgumentError(f"{name!r} needs no download; leave --fetch out.")
    if download and not (options.fetch or listed.loc[name, "here"]):
        raise ArgumentError(f"{name!r} is not here yet: add --fetch to download it.")
    table = _read_data(name)
    if options.out:
        print(f"Written: {write_table(options.out, table)}")
        return
    print(f"{name}: {len(table)} rows, {table.shape[1]} columns\n")
    columns = {"type": table.dtypes.astype(str), "missing": table.isna().sum()}
    print(table.iloc[:0].T.assign(**columns).to_string())


def _about(row: pd.Series[Any]) -> str:
    """Return the entry of a data set in the list."""
    name, how = row["name"], row["how"]
    if not row["here"]:
        how = f"not here yet: statcv data {name} --fetch"
    size = f"{row['rows']} rows, {row['columns']} columns, outcome {row['outcome']}"
    return "\n          ".join([f"{name:<9} {size}", row["source"], how])


def _tell(written: Sequence[Path], folder: Path | None) -> None:
    """Print which files were written."""
    if folder is not None:
        names = ", ".join(path.relative_to(folder).as_posix() for path in written)
        wrapped = textwrap.fill(names, WIDTH - 2, break_on_hyphens=False)
        print(f"\nWritten to {folder}:\n{textwrap.indent(wrapped, '  ')}")


COMMANDS = {"cv": _cv, "compare": _compare, "folds": _folds, "data": _data}

if __name__ == "__main__":
    sys.exit(main())
