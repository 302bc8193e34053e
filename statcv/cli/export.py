"""A result or a comparison as files: tables, text and pictures in a folder."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statcv.errors import ArgumentError, MissingPackageError

if TYPE_CHECKING:
    import pandas as pd

    from statcv.results.comparison.comparison import Comparison
    from statcv.results.result import CVResult
    from statcv.results.summary import Summary
    from statcv.results.writing.export import PaperTable
    from statcv.sites import SitesResult


def make_folder(folder: Path) -> None:
    """Make a folder, or raise an error that says why this fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(
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
    written = [_write_text(folder / "summary.txt", summary or result.summary(level))]
    written += _write_paper_table(table(result, level=level), folder)
    written += [write_table(folder / f"{name}.csv", t) for name, t in tables.items()]
    kind = result.design.outcome.kind
    written.append(_write_picture(folder / "panel.png", result.plot))
    if kind == "binary":
        written.append(_write_picture(folder / "roc.png", lambda: plot_roc(result)))
    return written


def write_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """Write a comparison, and each of its results in a subfolder."""
    from statcv.verbs.table import table

    estimates = comparison.table.rename_axis("result").reset_index()
    written = [
        _write_text(folder / "comparison.txt", comparison.summary()),
        *_write_paper_table(table(comparison), folder),
        write_table(folder / "estimates.csv", estimates),
        write_table(folder / "differences.csv", comparison.differences),
    ]
    kinds = {each.design.outcome.kind for each in comparison.results.values()}
    if kinds == {"binary"}:
        written.append(_write_picture(folder / "roc.png", comparison.plot))
    results: Any = comparison.results
    for name, result in results.items():
        below = folder / re.sub(r"[^\w-]+", "_", name)
        make_folder(below)
        written += write_result(result, below, comparison.level)
    return written


def write_sites_result(
    result: SitesResult, folder: Path, level: float, summary: Summary
) -> list[Path]:
    """Write the tables of a result over sites, its summary and a forest plot."""
    tables = {
        "metrics": result.metrics(level),
        "sites": result.by_site(level=level).reset_index(),
        "folds": result.folds,
    }
    more, trees = [], result.run.progress.forests
    if trees is None:
        tables["coefficients"] = result.coefficients
        tables["model"] = result.model.reset_index()
    else:
        # the trees fitted to all records, for xgboost.Booster
        more.append(folder / "trees.ubj")
        more[0].write_bytes(trees.raw[-1])
    return [
        *more,
        _write_text(folder / "summary.txt", summary),
        *(write_table(folder / f"{name}.csv", t) for name, t in tables.items()),
        _write_picture(folder / "sites.png", lambda: result.plot(level=level)),
    ]


def _write_text(path: Path, content: object) -> Path:
    path.write_text(f"{content}\n", encoding="utf-8", newline="\n")
    return path


def _write_paper_table(table: PaperTable, folder: Path) -> list[Path]:
    """Write the table for a paper, as a document of Word too if that is possible."""
    written = [
        _write_text(folder / "table.tex", table.to_latex()),
        _write_text(folder / "table.md", table.to_markdown().rstrip()),
    ]
    with suppress(MissingPackageError):
        written.append(table.to_word(folder / "table.docx"))
    return written


def write_table(path: Path, table: pd.DataFrame) -> Path:
    """Write a table as CSV with LF line ends."""
    table.to_csv(path, index=False, lineterminator="\n")
    return path


def _write_picture(path: Path, draw: Callable[[], Any]) -> Path:
    """Write the figure on which `draw` draws; it returns Axes, or several."""
    import matplotlib
    import numpy as np

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = np.ravel(draw())[0].figure
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return path
