"""The command `statcv`: `statcv cv`, `statcv compare` and `statcv data`.

What is heavy is imported where it is used, so that ``statcv --help`` is quick.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import statcv
from statcv.errors import (
    ArgumentError,
    DataError,
    StatcvError,
    StatcvWarning,
    suggestion,
)
from statcv.export import make_folder, write_comparison, write_result, write_table

if TYPE_CHECKING:
    import pandas as pd

    from statcv.result import CVResult

WIDTH = 79
SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
CALL = ["model", "scheme", "k", "p", "repeats", "stratify", "rebalance", "positive"]
CALL += ["na_action", "metrics", "weights", "seed", "n_jobs", "progress"]
EXAMPLES = """\
examples:
  statcv cv "GRADE ~ GPA + TUCE + PSI" spector --scheme rloocv --seed 1
  statcv cv "y ~ x1 * x2 + np.log1p(x3**2)" ehr -k 5 --repeats 4 --out results
  statcv compare "GRADE ~ GPA + TUCE" spector --schemes loocv,rloocv --seed 1
  statcv compare "y ~ x1 + x2 + x3" ehr --models logit,xgboost -k 5 --seed 1
  statcv data spector --out spector.csv

Formulas know patsy's functions, poly(), bs(), and numpy as np. DATA is a data set
that `statcv data` lists, or a .csv, .csv.gz, .tsv, .tsv.gz or .parquet file; an
unnamed first column of text files holds the labels of the rows.
Exit codes: 0; 2 for wrong input, with a line that says why; 130 if interrupted.
"""


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
    options = _parser().parse_args(argv)
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
        return _fail(f"{kind}: {_reason(error)} (STATCV_TRACEBACK=1 shows where)")
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


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Print the line and exit with 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def _reason(error: Exception) -> str:
    """Return what went wrong in one line."""
    text = (isinstance(error, OSError) and error.strerror) or str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


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


# ---- what may be typed ----


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="statcv",
        description="Cross-validation for statisticians.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    version = f"statcv {statcv.__version__}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Callable[..., None], text: str) -> Any:
        made = commands.add_parser(
            name, help=text, description=f"{text.capitalize()}.", allow_abbrev=False
        )
        made.set_defaults(run=run)
        return made.add_argument

    _add_call(command("cv", _cv, "cross-validate one model"))
    add = command("compare", _compare, "compare schemes or models on the same rows")
    _add_call(add)
    add("--schemes", type=_names, metavar="A,B", help="schemes to compare")
    add("--models", type=_names, metavar="A,B", help="models to compare")
    add = command("data", _data, "list data sets, describe one, or write it to a file")
    add("name", nargs="?", metavar="NAME", help="a data set or a file")
    add("--fetch", action="store_true", help="download it, once")
    add("--out", type=Path, metavar="FILE.csv", help="write it there")
    return parser


def _add_call(add: Any) -> None:
    """Add what ``cv`` and ``compare`` share: mostly the arguments of ``cv()``."""
    add("formula", metavar="FORMULA", help='such as "y ~ age * sex"; quote it')
    add("data", metavar="DATA", help="name of a data set (statcv data), or a file")
    add("--model", metavar="NAME", help="logit, linear, xgboost, mean or negmean")
    schemes = "kfold, stratified_kfold, rkfold, loocv, rloocv, lpocv, rlpocv"
    others = "leave_pair_out, montecarlo, bootstrap, or a column of fold numbers"
    add("--scheme", metavar="NAME", help=f"{schemes}, {others}")
    add("-k", "--k", type=int, metavar="K", help="number of folds (10)")
    add("-p", "--p", type=_number, metavar="P", help="records, or share, held out")
    together = "columns whose equal values never part"
    add("--stratify", type=_names, metavar="A,B", help=together)
    evened = "subsample, weight, upsample, all or bag"
    add("--rebalance", metavar="HOW", help=f"even out training sets: {evened}")
    add("--repeats", type=int, metavar="N", help="draw the folds so often (1)")
    add("--positive", metavar="LEVEL", help="the positive class; else the second")
    missing = {"choices": ("drop", "raise", "pass"), "default": "drop"}
    add("--na-action", **missing, help="for rows with missing values (drop)")
    metrics = "such as auroc,brier; the first is the headline, and what is compared"
    add("--metrics", type=_names, metavar="A,B", help=metrics)
    add("--weights", metavar="COLUMN", help="weights of the rows in the fits")
    add("--seed", type=int, metavar="N", help="same seed, same numbers")
    add("--jobs", dest="n_jobs", type=int, metavar="N", help="processes; -1: all cores")
    add("--level", type=_level, default=0.95, help="of the intervals (0.95)")
    quiet = {"dest": "progress", "action": "store_const", "const": False}
    add("--quiet", **quiet, help="show no progress bar")
    add("--out", type=Path, metavar="DIR", help="write tables and pictures there")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _number(text: str) -> float:
    """Return a whole number, or a share."""
    try:
        return int(text) if text.strip().isdigit() else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None


def _level(text: str) -> float:
    try:
        if 0 < float(text) < 1:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is no number between 0 and 1")


# ---- statcv cv, statcv compare ----


def _cv(options: argparse.Namespace) -> None:
    data = _read_data(options.data)
    if options.out:
        make_folder(options.out)
    result = _fit(options, data, {})
    written = write_result(result, options.out, options.level) if options.out else []
    print(result.summary(options.level))
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
    if _call["stratify"] is not None and len(_call["stratify"]) == 1:
        _call["stratify"] = _call["stratify"][0]
    return _cv(_options.formula, _data, **{**_call, **_change})


def _changes(options: Any, data: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return what differs between the results to compare, by their names.

    Of several schemes k, p and repeats go to those that take them; if none does, to
    all, for cv() to refuse.
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
    for argument, flag in (("k", "has_k"), ("p", "has_p"), ("repeats", "random")):
        takers = [n for n in names if getattr(SCHEMES.get(n), flag, False)] or names
        for name, change in changes.items():
            change[argument] = getattr(options, argument) if name in takers else None
    return changes


# ---- data ----


def _read_data(name: str) -> pd.DataFrame:
    """Return a data set by its name, or a file by its path."""
    from statcv import datasets

    how = datasets.available_data().set_index("name")["how"]
    if name in how.index:
        fetch = getattr(datasets, f"fetch_{name}", None)
        return fetch() if fetch else datasets.load_data(name)
    path = Path(name)
    if not path.exists():
        files = [str(p) for p in path.parent.glob("*") if p.name.endswith(SUFFIXES)]
        hint = suggestion(name, [*how.index, *files])
        raise DataError(f"there is no file and no data set {name!r}.{hint}")
    if not path.name.lower().endswith(SUFFIXES):
        raise DataError(f"{name!r} does not end in {', '.join(SUFFIXES)}.")
    try:
        return _read_file(path)
    except ImportError:
        line = 'reading Parquet needs pyarrow: pip install "statcv[parquet]"'
        raise DataError(line) from None
    except Exception as error:  # of pandas, pyarrow, zlib or the system
        raise DataError(f"cannot read {name!r}: {_reason(error)}") from error


def _read_file(path: Path) -> pd.DataFrame:
    import pandas as pd

    name, content = path.name.lower(), BytesIO(path.read_bytes())
    if name.endswith(".parquet"):
        return pd.read_parquet(content, engine="pyarrow")
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # rows too long
        table: pd.DataFrame = pd.read_csv(
            content,
            sep="\t" if name.endswith((".tsv", ".tsv.gz")) else ",",
            compression="gzip" if name.endswith(".gz") else None,
            index_col=False,
        )
    if table.shape[1] == 1 and ";" in table.columns[0]:
        raise DataError("its fields are set off by ';', not by ','; write it anew.")
    unnamed = table.columns[0] == "Unnamed: 0"
    return table.set_index("Unnamed: 0").rename_axis(None) if unnamed else table


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


if __name__ == "__main__":
    sys.exit(main())
