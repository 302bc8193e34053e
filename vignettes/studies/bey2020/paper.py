"""The tables of the study, and the numbers that the paper prints, beside ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from studies.bey2020.beyond import fresh_records, narrow_bins, numbers_of_folds
from studies.bey2020.hard_duplicates import leak_of_duplicates, limits
from studies.bey2020.importance import Figure4, figure4
from studies.bey2020.learning import Figure2, figure2
from studies.bey2020.rankings import KINDS, RANKINGS
from studies.bey2020.samples import MATCHED, Scale, rotations
from studies.bey2020.violins import OPTIMUM, Figure3, bias, figure3
from studies.papers import Folder, Paper, Rounding, Table

Row = tuple[str, str, str, float, float]

CLOSE = "close to 0"
PRINTED = {"random": "above 0", "x5": "roughly −5 %"} | dict.fromkeys(
    ("x1", "x2", "x4", "x8", "x9", "x10"), CLOSE
)


def _of(
    study: Callable[..., Any], attribute: str = "", **fixed: Any
) -> Callable[..., pd.DataFrame]:
    """Return what runs a study at a scale, and gives its table."""

    def make(
        count: int, *, scale: float = 1.0, rounds: int = 200, **how: Any
    ) -> pd.DataFrame:
        size = Scale(
            n=round(10_000 * scale), n_duplicates=round(2_000 * scale), rounds=rounds
        )
        found = study(count, scale=size, **fixed, **how)
        table: pd.DataFrame = getattr(found, attribute) if attribute else found
        return table

    return make


def _rotations(count: int, *, seed: int, **how: Any) -> pd.DataFrame:
    return rotations(count, **how)  # each of a seed of its own


SIZE = ("scale", "rounds")
TABLES = {
    "rotations": Table(400, _rotations),
    "figure3": Table(30, _of(figure3, "table"), SIZE, from_file=Figure3),
    "figure4": Table(100, _of(figure4, "table"), SIZE, from_file=Figure4),
    "figure3_drawn": Table(
        60, _of(figure3, "table", rotations="drawn"), SIZE, from_file=Figure3
    ),
    "figure2": Table(30, _of(figure2, "curves"), SIZE, from_file=Figure2),
    "fresh": Table(30, _of(fresh_records), SIZE),
    "fresh_drawn": Table(30, _of(fresh_records, rotations="drawn"), SIZE),
    "per_fold": Table(30, _of(narrow_bins), SIZE),
    "limits": Table(30, _of(limits), SIZE),
    "k": Table(30, _of(numbers_of_folds), SIZE),
    "leak": Table(30, _of(leak_of_duplicates), SIZE),
}
CURVES = ("training", "held_out", "first_training", "first_held_out")
DIGITS = dict.fromkeys(RANKINGS, 3) | dict.fromkeys(CURVES, 4)
PAPER = Paper(
    "bey2020",
    TABLES,
    rounding=Rounding(columns=DIGITS),
    options={
        "scale": {
            "type": float,
            "default": 1.0,
            "help": "factor for the numbers of people",
        },
        "rounds": {"type": int, "default": 200, "help": "rounds of boosting"},
    },
)


def stored(name: str, folder: Folder = None) -> Any:
    """Return a stored table of results at full scale.

    Parameters
    ----------
    name : str
        ``"figure2"``, ``"figure3"``, ``"figure4"``; ``"figure3_drawn"``, with another
        rotation in each of 60 simulations; ``"fresh"``, ``"fresh_drawn"``,
        ``"per_fold"``, ``"k"``, ``"limits"``, ``"leak"``, ``"rotations"``.
    folder : str or path, optional
        Folder of your own tables, as written by ``python -m studies bey2020``.

    Returns
    -------
    Figure2, Figure3, Figure4 or pandas.DataFrame
        What the function of the study returns; numbers have five digits or fewer.

    Raises
    ------
    ArgumentError
        If there is no such table.
    DataError
        If its file does not exist.

    Examples
    --------
    >>> from studies import bey2020
    >>> leak = bey2020.stored("leak")
    >>> leak[["predicted", "measured"]].mean().round(1).to_dict()
    {'predicted': 3.3, 'measured': 3.2}
    """
    return PAPER.stored(name, folder)


def paper_and_ours(folder: Folder = None) -> pd.DataFrame:
    """Return every number of the paper beside ours, and what goes beyond it.

    Parameters
    ----------
    folder : str or path, optional
        Folder of the tables; by default those that are stored.

    Returns
    -------
    pandas.DataFrame
        ``part`` (a figure, or what is asked), ``quantity``, ``paper`` (as it prints
        it, empty where it does not), ``ours``, and ``se``, the Monte Carlo standard
        error. Biases are in points of accuracy, against the unbiased estimate unless
        stated otherwise.

    Raises
    ------
    DataError
        If the file of a table does not exist.

    Examples
    --------
    >>> from studies import bey2020
    >>> numbers = bey2020.paper_and_ours()
    >>> numbers.columns.tolist()
    ['part', 'quantity', 'paper', 'ours', 'se']
    """
    rows = [
        *_population(folder),
        *_learning(folder),
        *_strategies(folder),
        *_importance(stored("figure4", folder)),
        *_fresh(folder),
        *_beyond(folder),
    ]
    return pd.DataFrame(rows, columns=["part", "quantity", "paper", "ours", "se"])


def _population(folder: Folder) -> list[Row]:
    table, part = stored("rotations", folder), "population"
    own = table[table["seed"] == MATCHED]
    rows: list[Row] = []
    for name, printed in (("optimum", "0.88"), ("positives", "~0.47")):
        if len(own):
            rows.append((part, f"{name}, matched rotation", printed, *_mean(own[name])))
        rows.append((part, f"{name}, over rotations", printed, *_mean(table[name])))
        spread = float(table[name].std(ddof=1))
        rows.append((part, f"sd of {name} over rotations", "", spread, np.nan))
    return rows


def _learning(folder: Folder) -> list[Row]:
    curves = stored("figure2", folder).curves
    last = curves[curves["round"] == curves["round"].max()]
    rows: list[Row] = []
    for row in last.to_dict("records"):
        printed = "equal" if row["strategy"] != "unbiased" else ""
        name = f"{row['strategy']}, training"
        rows.append(("Figure 2", name, printed, row["training"], np.nan))
    for row in last.to_dict("records"):
        name = f"{row['strategy']}, held out"
        rows.append(("Figure 2", name, "", row["held_out"], row["held_out_se"]))
    return rows


def _strategies(folder: Folder) -> list[Row]:
    rows: list[Row] = []
    for name, part in (
        ("figure3", "Figure 3"),
        ("figure3_drawn", "Figure 3, over rotations"),
    ):
        figure = stored(name, folder)
        accuracies = figure.table.groupby("strategy")["accuracy"]
        for strategy in (OPTIMUM, "unbiased"):
            found = _mean(accuracies.get_group(strategy))
            printed = "0.88" if strategy == OPTIMUM else ""
            rows.append((part, f"accuracy, {strategy}", printed, *found))
        rows += _biases(part, figure.bias, PRINTED)
    return rows


def _importance(figure: Figure4) -> list[Row]:
    table, rows = figure.correlations(), []
    for row in table.to_dict("records"):
        name = row["ranking"]
        printed = "−0.77" if name in KINDS else ""
        text = f"Pearson's r, {name}"
        rows.append(("Figure 4", text, printed, row["pearson"], row["pearson_se"]))
    for kind, text in (("spearman", "Spearman's ρ"), ("within", "ρ in a data set")):
        for row in table.to_dict("records"):
            name = f"{text}, {row['ranking']}"
            rows.append(("Figure 4", name, "", row[kind], row[f"{kind}_se"]))
    for row in figure.calibration().to_dict("records"):
        name = f"drop by clamp and permutation: {row['term']}"
        rows.append(("Figure 4", name, "", row["coefficient"], row["se"]))
    return rows


def _fresh(folder: Folder) -> list[Row]:
    rows: list[Row] = []
    for name, rotation in (("fresh", ""), ("fresh_drawn", ", over rotations")):
        table = stored(name, folder)
        for truth in ("with duplicates", "without duplicates"):
            for models in ("", ", all"):
                against = f"{truth}{models}"
                part = f"against fresh records, {against}{rotation}"
                found = bias(table, against=against)
                found = found[~found["strategy"].str.startswith("with")]
                rows += _biases(part, found, {})
    return rows


def _beyond(folder: Folder) -> list[Row]:
    narrow = stored("per_fold", folder)
    rows: list[Row] = []
    for noise, table in narrow.groupby("noise"):
        rows += _biases(f"bins a fold, noise {noise:g} sd", bias(table), {})
    for k, table in stored("k", folder).groupby("k"):
        rows += _biases(f"k = {k}", bias(table), {})
    rows += _biases("limits", bias(stored("limits", folder)), {})
    leak = stored("leak", folder)
    for name in ("predicted", "measured"):
        rows.append(("leak of duplicates", name, "", *_mean(leak[name])))
    return rows


def _biases(part: str, table: pd.DataFrame, printed: dict[str, str]) -> list[Row]:
    return [
        (
            part,
            f"bias, {row['strategy']}",
            printed.get(row["strategy"], ""),
            row["bias"],
            row["se"],
        )
        for row in table.to_dict("records")
    ]


def _mean(values: pd.Series[Any]) -> tuple[float, float]:
    """Return the mean and its Monte Carlo standard error."""
    return float(values.mean()), float(values.std(ddof=1)) / len(values) ** 0.5
