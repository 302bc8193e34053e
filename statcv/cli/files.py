"""Data sets and files that commands read, and tables and pictures that they write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv import datasets, errors
from statcv.folds import Stratifier, by_quantile
from statcv.folds.strata import as_number
from statcv.formula import parse_formula

if TYPE_CHECKING:
    from statcv.results.comparison.comparison import Comparison
    from statcv.results.result import CVResult
    from statcv.results.summary import Summary
    from statcv.results.writing.export import PaperTable

# names that the tables of results have in a folder
TABLES = {"metrics", "predictions", "folds", "coefficients", "tuned", "pairs"}
TABLES |= {"groups", "estimates", "differences"}
READ = ("data", "name", "plan", "request")  # options that name a file to read
LAYOUT = ("missing", "sep", "decimal", "encoding")


def read_data(
    name: str,
    layout: Mapping[str, Any] = MappingProxyType({}),
    identifying: str | Sequence[str | None] | None = (),
    formula: str | None = None,
) -> pd.DataFrame:
    """Return a data set by its name, or a file by its path.

    Parameters
    ----------
    name : str
    layout : mapping
        How a file is laid out, as :func:`layout_of` returns it.
    identifying : sequence of str
        Columns that are read as text, as it is written.
    formula : str, optional
        Formula whose columns are read as it needs them, even if they identify.
    """
    how = datasets.available_data().set_index("name")["how"]
    if name in how.index:
        if layout:
            raise errors.ArgumentError(
                f"--{next(iter(layout))} means nothing for the data set {name!r}, "
                "which is not a file."
            )
        fetch = getattr(datasets, f"fetch_{name}", None)
        return fetch() if fetch else datasets.load_data(name)
    path = Path(name)
    if not path.exists():
        hint = errors.suggestion(name, [*how.index, *map(str, path.parent.glob("*.*"))])
        if "~" in name:
            hint = " The formula comes before the file."
        raise errors.DataError(f"there is no file and no data set {name!r}.{hint}")
    wanted = [identifying] if isinstance(identifying, str) else identifying or []

    def choose(names: list[str]) -> set[str]:
        there = {column for column in wanted if column in names}
        return there - _used(formula, names, there) if there and formula else there

    return datasets.read_table(path, text=choose, **layout)


def layout_of(options: Any) -> dict[str, Any]:
    """Return how a file is laid out, as options say.

    Raises
    ------
    ArgumentError
        If codes of missing values are joined by commas, as names are in other options.
    """
    given = {name: getattr(options, name) for name in LAYOUT}
    for code in given["missing"] or ():
        if "," in code and given["decimal"] != "," and len(code.split()) == 1:
            raise errors.ArgumentError(
                f"--missing {code} would be one code; give several with blanks between "
                f"them: --missing {code.replace(',', ' ')}."
            )
    return {name: value for name, value in given.items() if value is not None}


def _used(formula: str, names: list[str], identifying: set[str]) -> set[str]:
    """Return the columns that a formula uses; none if it cannot be parsed."""
    if formula in names:
        return {formula}
    try:
        parsed = parse_formula(formula, names, {"np": np}, identifying)
    except errors.StatcvError:  # the error is raised again when the formula is used
        return set()
    return {*parsed.outcome_columns, *parsed.columns}


def refuse(options: Any, names: Iterable[str], why: str) -> None:
    """Raise an error that says why options mean nothing, if they are given."""
    for name in names:
        if getattr(options, name) is not None:
            flag = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
            raise errors.ArgumentError(f"{flag} means nothing {why}.")


def by_name(
    given: Sequence[tuple[str, list[Any]]] | None, once: str
) -> dict[str, list[Any]] | None:
    """Return the values of an option ``NAME=A,B`` that may be repeated, by name."""
    if given and len(dict(given)) < len(given):
        raise errors.ArgumentError(f"{once} once: NAME=A,B.")
    return dict(given) if given else None


def one_or_more(names: list[str] | None) -> str | list[str] | None:
    """Return a single name by itself."""
    return names[0] if names and len(names) == 1 else names


def quantile_bins(options: Any, column: str) -> Stratifier:
    """Return bins of a column between ``--thresholds``, if they are given."""
    agreed = options.thresholds and [as_number(text) for text in options.thresholds]
    return by_quantile(column, options.per_fold or 1, agreed)


# ---- writing ----


def keep_what_is_read(options: Any) -> None:
    """Raise an error if ``--out``, or a table in it, would replace a file to read."""
    out: Any = getattr(options, "out", None)
    read = [getattr(options, name, None) for name in READ] if out else []
    for file in map(Path, filter(None, read)):
        inside = file.stem in TABLES and file.suffix == ".csv"
        place = out / file.name if inside and not out.is_file() else out
        if place.is_file() and file.exists() and place.samefile(file):
            raise errors.ArgumentError(
                f"--out would write over {file}, which is read; name another place."
            )


def make_folder(folder: Path | None) -> None:
    """Make a folder if one is named, or raise an error that says why this fails."""
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise errors.ArgumentError(
            f"cannot make the folder {folder}: {error.strerror or error}"
        ) from error


def write_result(
    result: CVResult, folder: Path, level: float, summary: Summary | None = None
) -> list[Path]:
    """Write a result's tables and pictures, and its summary; return the files."""
    from statcv.plots import plot_roc
    from statcv.verbs.table import table

    tables = {"metrics": result.metrics(level), "predictions": result.predictions}
    if not result.scores.external:
        tables["folds"] = result.folds
    if result.held.coefficients is not None:
        tables["coefficients"] = result.coefficients
    if result.held.chosen is not None:
        tables["tuned"] = result.tuned.map(lambda v: "None" if v is None else v)
    if len(result.pairs):
        tables["pairs"] = result.pairs
    written = [write_text(folder / "summary.txt", summary or result.summary(level))]
    written += _write_paper_table(table(result, level=level), folder)
    written += [write_table(folder / f"{name}.csv", t) for name, t in tables.items()]
    written.append(write_picture(folder / "panel.png", result.plot))
    if result.design.outcome.kind == "binary":
        written.append(write_picture(folder / "roc.png", lambda: plot_roc(result)))
    return written


def write_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """Write a comparison, and each of its results in a subfolder."""
    from statcv.verbs.table import table

    estimates = comparison.table.rename_axis("result").reset_index()
    written = [write_text(folder / "comparison.txt", comparison.summary())]
    written += _write_paper_table(table(comparison), folder)
    tables = {"estimates": estimates, "differences": comparison.differences}
    written += [write_table(folder / f"{name}.csv", t) for name, t in tables.items()]
    results: Any = comparison.results
    if {each.design.outcome.kind for each in results.values()} == {"binary"}:
        written.append(write_picture(folder / "roc.png", comparison.plot))
    for name, result in results.items():
        below = folder / re.sub(r"[^\w-]+", "_", name)
        make_folder(below)
        written += write_result(result, below, comparison.level)
    return written


def write_text(path: Path, content: object) -> Path:
    """Write text with LF line ends."""
    path.write_text(f"{content}\n", encoding="utf-8", newline="\n")
    return path


def _write_paper_table(table: PaperTable, folder: Path) -> list[Path]:
    """Write the table for a paper, as a document of Word too if that is possible."""
    written = [write_text(folder / "table.tex", table.to_latex())]
    written.append(write_text(folder / "table.md", table.to_markdown().rstrip()))
    with suppress(errors.MissingPackageError):
        written.append(table.to_word(folder / "table.docx"))
    return written


def write_table(path: Path, table: pd.DataFrame) -> Path:
    """Write a table as CSV with LF line ends."""
    if path.suffix.lower() in (".xlsx", ".xls", ".parquet", ".tsv", ".dta", ".sav"):
        raise errors.ArgumentError(
            f"{str(path)!r} would be a CSV file; let its name end in .csv."
        )
    table.to_csv(path, index=False, lineterminator="\n")
    return path


def write_picture(path: Path, draw: Callable[[], Any]) -> Path:
    """Write the figure on which `draw` draws; it returns Axes, or several."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = np.ravel(draw())[0].figure
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return path
