"""What the paper prints of published data, and what was measured here."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd

from statcv.studies.austin2024.published.analyses import TITLES
from statcv.studies.austin2024.published.curves import (
    IN_THE_PAPER,
    PRINTED,
    Figure4,
)
from statcv.studies.austin2024.published.tables import stored
from statcv.studies.austin2024.published.tuning import TuningPaths

Row = tuple[str, str, str, float, float]
NOT_PUBLIC = "irae"


def paper_and_ours(folder: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Return every number of Figures 4 and 5c beside ours.

    Parameters
    ----------
    folder : str or path, optional
        Of the tables; those that ship with the package by default.

    Returns
    -------
    pandas.DataFrame
        ``part``, ``quantity``, ``paper`` (as it prints it, empty where it does not),
        ``ours``, and ``se``, the Monte Carlo standard error. NaN where the data are
        not public, and were not given.

    Raises
    ------
    DataError
        If a table was not written.
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
        label = f"{estimate}, mean of {len(values)}"
        se = float(values.std(ddof=1)) / len(values) ** 0.5
        rows.append((part, label, "", float(values.mean()), se))
    return rows


def _tests(figure: Figure4) -> list[Row]:
    rows: list[Row] = []
    for row in figure.tests().to_dict("records"):
        name = row["analysis"]
        label = f"DeLong p, {TITLES[name]}" if name in TITLES else name
        printed = "" if np.isnan(row["paper"]) else f"{row['paper']:.3g}"
        rows.append(("Figure 4, tests", label, printed, row["p"], np.nan))
    return rows


def _tuning(paths: TuningPaths) -> list[Row]:
    rows: list[Row] = []
    best = paths.chosen().set_index(["data", "estimate"])
    p = paths.tests().set_index("data")["p"]
    told: dict[str, dict[str, str]] = {
        NOT_PUBLIC: {
            "LOOCV, pooled": "0.817",
            "RLOOCV, pooled": "0.845",
            "p": "0.0012",
        }
    }
    for name in dict.fromkeys([NOT_PUBLIC, *p.index]):
        part, printed = f"Figure 5c, {name}", told.get(name, {})
        for estimate in ("LOOCV, pooled", "RLOOCV, pooled", "leave-pair-out"):
            value = _or_nan(best["auroc"], (name, estimate))
            rows.append(
                (
                    part,
                    f"best auROC, {estimate}",
                    printed.get(estimate, ""),
                    value,
                    np.nan,
                )
            )
            for end in ("strongest", "weakest"):
                C = _or_nan(best[end], (name, estimate))
                text = _STRENGTHS.get((name, estimate, end), "")
                label = f"{end} best penalty, 1/C, {estimate}"
                rows.append((part, label, text, 1 / C, np.nan))
        value = _or_nan(p, name)
        rows.append((part, "Wilcoxon p", printed.get("p", ""), value, np.nan))
    return rows


_STRENGTHS = {
    (NOT_PUBLIC, "LOOCV, pooled", "strongest"): "1e-2",
    (NOT_PUBLIC, "LOOCV, pooled", "weakest"): "1e-6",
    (NOT_PUBLIC, "RLOOCV, pooled", "strongest"): "1e5",
    (NOT_PUBLIC, "RLOOCV, pooled", "weakest"): "1e2",
}


def _or_nan(values: pd.Series[Any], key: Any) -> float:
    return float(values[key]) if key in values.index else np.nan
