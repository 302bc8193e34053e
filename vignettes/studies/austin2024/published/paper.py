"""The tables of published data, and the numbers that the paper prints, beside ours."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd

from studies.austin2024.published.analyses import TITLES
from studies.austin2024.published.curves import (
    IN_THE_PAPER,
    PRINTED,
    Figure4,
    figure4,
    summary,
)
from studies.austin2024.published.normal_classes import SAMPLES
from studies.austin2024.published.tuning import PUBLISHED, TuningPaths, tuning_paths
from studies.papers import Folder, Paper, Rounding, Table

Row = tuple[str, str, str, float, float]

QUICK = ("ptb", "cfs_xgboost", "cfs_logistic")  # analyses that have many draws
NOT_PUBLIC = "irae"
_STRENGTHS = {
    (NOT_PUBLIC, "LOOCV, pooled", "strongest"): "1e-2",
    (NOT_PUBLIC, "LOOCV, pooled", "weakest"): "1e-6",
    (NOT_PUBLIC, "RLOOCV, pooled", "strongest"): "1e5",
    (NOT_PUBLIC, "RLOOCV, pooled", "weakest"): "1e2",
}


def _figure4(count: int, **how: Any) -> pd.DataFrame:
    return figure4(count, **how).predictions


def _draws(count: int, **how: Any) -> pd.DataFrame:
    found = figure4(count, analyses=QUICK, pairs=False, **how)
    return found.aurocs[found.aurocs["estimate"] != "LOOCV, pooled"]


def _paths_of_samples(count: int, **how: Any) -> pd.DataFrame:
    return tuning_paths(SAMPLES, data_sets=count, **how).table


def _paths_of_data(count: int, **how: Any) -> pd.DataFrame:
    return tuning_paths(PUBLISHED, runs=count, **how).table


def _wide(table: pd.DataFrame) -> pd.DataFrame:
    """Return paths with one column per estimate."""
    order = table["estimate"].unique()
    index = ["data", "number", "C"]
    wide = table.pivot(index=index, columns="estimate", values="auroc")[order]
    by_data = wide.index.get_level_values("data")
    parts = [wide[by_data == data] for data in table["data"].unique()]
    rows: pd.DataFrame = pd.concat(parts).reset_index()
    return rows


def _paths(wide: pd.DataFrame) -> TuningPaths:
    """Return paths as they were before they were written."""
    index = ["data", "number", "C"]
    long = wide.melt(id_vars=index, var_name="estimate", value_name="auroc")
    return TuningPaths(long.dropna(ignore_index=True))


FIGURE4: dict[str, Any] = {"options": ("irae",), "results": "figure4"}
PATHS: dict[str, Any] = {"results": "tuning", "to_file": _wide, "from_file": _paths}
TABLES = {
    "tuning_samples": Table(100, _paths_of_samples, **PATHS),
    "tuning_published": Table(10, _paths_of_data, ("irae",), **PATHS),
    "figure4": Table(10, _figure4, **FIGURE4, from_file=Figure4),
    "figure4_draws": Table(40, _draws, **FIGURE4),
}
PAPER = Paper(
    "austin2024.published",
    TABLES,
    rounding=Rounding(digits=7, decimals=None),
    options={"irae": {"help": "the file that statcv.load_irae reads"}},
)


def stored(name: str, folder: Folder = None) -> Any:
    """Return a stored table of results at full scale.

    Parameters
    ----------
    name : str
        ``"figure4"``, ten runs of every analysis; ``"figure4_draws"``, the auROCs of
        more runs, which show the precision of ten; ``"tuning_samples"`` and
        ``"tuning_published"``.
    folder : str or path, optional
        Folder of your own tables, as written by
        ``python -m studies austin2024.published``.

    Returns
    -------
    Figure4, TuningPaths or pandas.DataFrame

    Raises
    ------
    ArgumentError
        If there is no such table.
    DataError
        If its file does not exist.

    Examples
    --------
    >>> from studies.austin2024 import published
    >>> draws = published.stored("figure4_draws").query("analysis == 'cfs_xgboost'")
    >>> draws.groupby("estimate")["auroc"].mean().round(3).to_dict()
    {'RLOOCV, paired': 0.841, 'RLOOCV, pooled': 0.812}
    """
    return PAPER.stored(name, folder)


def paper_and_ours(folder: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Return every number of Figures 4 and 5c beside ours.

    Parameters
    ----------
    folder : str or path, optional
        Folder of the tables; by default those that are stored. Those that
        ``python -m studies austin2024.published DIRECTORY FOLDER --irae FILE``
        writes have the analyses of the file that :func:`statcv.load_irae` reads, too.

    Returns
    -------
    pandas.DataFrame
        ``part``, ``quantity``, ``paper`` (as it prints it, or as the authors' code has
        it; empty where neither does), ``ours``, and ``se``, the Monte Carlo standard
        error: 0 where nothing is drawn, NaN where it is not known. ``ours`` is NaN
        where the data are not public, and the tables are without them.

    Raises
    ------
    DataError
        If the file of a table does not exist.

    Examples
    --------
    >>> from studies.austin2024 import published
    >>> published.paper_and_ours().columns.tolist()
    ['part', 'quantity', 'paper', 'ours', 'se']
    """
    figure = stored("figure4", folder)
    rows = [
        *_medians(figure, stored("figure4_draws", folder)),
        *_tests(figure),
        *_tuning(stored("tuning_published", folder)),
    ]
    return pd.DataFrame(rows, columns=["part", "quantity", "paper", "ours", "se"])


def _medians(figure: Figure4, draws: pd.DataFrame) -> list[Row]:
    rows: list[Row] = []
    table = figure.table
    names = dict.fromkeys([*IN_THE_PAPER, *table["analysis"]])
    for name in names:
        part = f"Figure 4, {TITLES[name]}"
        own = table[table["analysis"] == name]
        if own.empty:  # not public
            for scheme, value in zip(("LOOCV", "RLOOCV"), PRINTED[name], strict=True):
                text = f"{value:.3f}"
                rows.append((part, f"{scheme}, pooled, median", text, np.nan, np.nan))
        for row in own.to_dict("records"):
            printed = "" if np.isnan(row["paper"]) else f"{row['paper']:.3f}"
            kind = "median" if "pooled" in row["estimate"] else "mean"
            name_of = (
                f"{row['estimate']}, {kind}" if row["runs"] > 1 else row["estimate"]
            )
            rows.append((part, name_of, printed, row[kind], row[f"{kind}_se"]))
        rows += _many(part, draws[draws["analysis"] == name])
    return rows


def _many(part: str, draws: pd.DataFrame) -> list[Row]:
    rows: list[Row] = []
    for estimate, values in draws.groupby("estimate", sort=False)["auroc"]:
        found = summary(values.to_numpy())
        for kind in ("median", "mean"):
            label = f"{estimate}, {kind} of {len(values)}"
            rows.append((part, label, "", found[kind], found[f"{kind}_se"]))
    return rows


def _tests(figure: Figure4) -> list[Row]:
    rows: list[Row] = []
    for row in figure.tests().to_dict("records"):
        name = row["analysis"]
        label = f"DeLong p, {TITLES[name]}" if name in TITLES else f"p, {name}"
        printed = "" if np.isnan(row["paper"]) else f"{row['paper']:.3g}"
        rows.append(("Figure 4, tests", label, printed, row["p"], np.nan))
    return rows


def _tuning(paths: TuningPaths) -> list[Row]:
    rows: list[Row] = []
    best = paths.chosen().set_index(["data", "estimate"])
    p = paths.tests().set_index("data")["p"]
    printed_of: dict[str, dict[str, str]] = {
        NOT_PUBLIC: {"LOOCV, pooled": "0.817", "RLOOCV, pooled": "0.845", "p": "0.0012"}
    }
    for name in dict.fromkeys([NOT_PUBLIC, *p.index]):
        part, printed = f"Figure 5c, {name}", printed_of.get(name, {})
        for estimate in ("LOOCV, pooled", "RLOOCV, pooled", "leave-pair-out"):
            text, label = printed.get(estimate, ""), f"best auROC, {estimate}"
            value, se = (
                _or_nan(best[key], (name, estimate)) for key in ("auroc", "se")
            )
            rows.append((part, label, text, value, se))
            for end in ("strongest", "weakest"):
                C = _or_nan(best[end], (name, estimate))
                text = _STRENGTHS.get((name, estimate, end), "")
                label = f"{end} best penalty, 1/C, {estimate}"
                rows.append((part, label, text, 1 / C, np.nan))
        rows.append(
            (part, "Wilcoxon p", printed.get("p", ""), _or_nan(p, name), np.nan)
        )
    return rows


def _or_nan(values: pd.Series[Any], key: Any) -> float:
    return float(values[key]) if key in values.index else np.nan
