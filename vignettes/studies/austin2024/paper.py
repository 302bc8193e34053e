"""The tables of the simulations, and the numbers that the paper prints, beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from statcv.metrics import auprc
from statcv.results import CVResult
from studies.austin2024.aurocs import null_aurocs, null_kinds, signal_aurocs
from studies.austin2024.beyond import null_classes, null_numbers
from studies.austin2024.estimates import ASKED, OF_PAIRS
from studies.austin2024.families import other_models, predictions, standardised
from studies.austin2024.public_data import SHORT, public_data
from studies.austin2024.samples import (
    PAPERS_SETS,
    RECORDS,
    against_half,
    held_out,
    noise_of,
    pooled,
)
from studies.austin2024.simulations import (
    PAPERS_GROUP,
    PAPERS_PENALTY,
    SWARM,
    SWARM_BALANCES,
    SWARM_RECORDS,
    dummies,
    exact,
    penalties,
    stratified,
)
from studies.papers import Folder, Paper, Rounding, Table

Row = dict[str, Any]

AUROCS = ("auroc", "expected", "loocv", "rloocv", "rloocv_paired", "predicted")
DIGITS = dict.fromkeys(AUROCS, 4) | dict.fromkeys(("se", "bias_se"), 2)
DIGITS |= dict.fromkeys(("milliseconds", "sd", "rmse"), 3)
OF_MANY = (*SHORT[:-1], "pairs")  # estimates of 250 records: not of all pairs
COLUMNS = ("figure", "quantity", "paper", "data_sets", "mean", "sd", "se", "p")

TABLES = {
    "penalties": Table(PAPERS_SETS, penalties),
    "stratified": Table(PAPERS_SETS, stratified),
    "dummies": Table(PAPERS_SETS, dummies),
    "swarm": Table(
        PAPERS_SETS,
        partial(dummies, n=SWARM_RECORDS, balances=SWARM_BALANCES, groups=(SWARM,)),
    ),
    "neighbours": Table(PAPERS_SETS, other_models),
    "forest": Table(PAPERS_SETS, partial(other_models, model="forest")),
    "predictions": Table(1, predictions),
    "standardised": Table(PAPERS_SETS, standardised),
    "null": Table(2000, null_aurocs),
    "null_kinds": Table(2000, null_kinds),
    "null_250": Table(500, partial(null_aurocs, n=(250,), estimates=OF_MANY)),
    "signal": Table(1000, signal_aurocs),
    "corrections": Table(
        1000,
        partial(
            signal_aurocs,
            n=(50,),
            covariates=(5,),
            aurocs=(0.75,),
            models=("logit 1", "logit 0.01", "neighbors 5", "neighbors 1"),
            estimates=(*ASKED, "standardised"),
        ),
    ),
    "of_pairs": Table(
        1000,
        partial(
            signal_aurocs,
            n=(30, 100),
            covariates=(2,),
            aurocs=(0.75,),
            estimates=OF_PAIRS,
        ),
    ),
    "public_data": Table(200, public_data),
    "numbers": Table(200, null_numbers),
    "classes": Table(200, null_classes),
}
PAPER = Paper("austin2024", TABLES, rounding=Rounding(columns=DIGITS, decimals=6))


def stored(name: str, folder: Folder = None) -> pd.DataFrame:
    """Return a stored table of results at full scale.

    Parameters
    ----------
    name : str
        ``"penalties"``, ``"stratified"``, ``"dummies"``, ``"swarm"`` (groups of four
        of 100 records), ``"neighbours"``, ``"forest"``, ``"predictions"``, ``"null"``,
        ``"null_250"``, ``"null_kinds"``, ``"standardised"``, ``"signal"``,
        ``"corrections"``, ``"of_pairs"``, ``"public_data"``, ``"numbers"``,
        ``"classes"``.
    folder : str or path, optional
        Folder of your own tables, as written by
        ``python -m studies austin2024``.

    Returns
    -------
    pandas.DataFrame
        What the function of the study returns; numbers have five digits or fewer.

    Raises
    ------
    ArgumentError
        If there is no such table.
    DataError
        If its file does not exist.

    Examples
    --------
    >>> table = stored("penalties")
    >>> table.columns[:3].tolist()
    ['data_set', 'balance', 'C']
    """
    table: pd.DataFrame = PAPER.stored(name, folder)
    return table


def paper_and_ours(folder: Folder = None) -> pd.DataFrame:
    """Return every number of the paper's simulations beside ours.

    Parameters
    ----------
    folder : str or path, optional
        Folder of the tables; by default those that are stored.

    Returns
    -------
    pandas.DataFrame
        ``figure``; ``quantity``, an auROC unless stated otherwise; ``paper``, as it
        prints it; ``data_sets``, and over these the ``mean``, the ``sd``, the Monte
        Carlo error ``se`` of the mean and ``p``, of a t-test against ½. Where there
        is nothing random, the number is ``mean``.

    Raises
    ------
    DataError
        If the file of a table does not exist.

    Examples
    --------
    >>> from studies import austin2024
    >>> austin2024.paper_and_ours().columns.tolist()
    ['figure', 'quantity', 'paper', 'data_sets', 'mean', 'sd', 'se', 'p']
    """
    rows = [
        *_dummies(folder),
        *_logistic(folder),
        *_stratified(folder),
        *_other_models(folder),
        *_standardised(folder),
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _dummies(folder: Folder) -> Iterator[Row]:
    frame = noise_of(1, 0, 0.5, RECORDS, covariates=1)
    negative = held_out(frame, "negmean", 1, scheme="loocv")
    mean = held_out(frame, "mean", 1, scheme="loocv")
    rebalanced = held_out(frame, "negmean", 1, scheme="rloocv", repeats=1)
    yield _fixed("1b", "negative mean, LOOCV", "1", pooled(negative))
    yield _fixed("S2a", "auPR, negative mean, LOOCV", "1", _trapezoid(negative))
    yield _fixed("S2c", "mean, LOOCV, balance .5", "0", pooled(mean))
    said = "mean, LOOCV, balance .5"
    yield _fixed("S2d", f"auPR, {said}", "0.25", _trapezoid(mean))
    yield _fixed("S2d", f"average precision, {said}", "", _average_precision(mean))
    yield _fixed("3b", "negative mean, RLOOCV", "0.50", pooled(rebalanced))
    table = stored("dummies", folder)
    largest = table[table["group"] == 100]
    yield _drawn("1c", "P = 100", "0.55 (p < .001)", largest["auroc"])
    means = largest.groupby("balance")["auroc"].mean()
    yield _fixed("1c", "P = 100, least balance", "0.54", means.min())
    yield _fixed("1c", "P = 100, greatest balance", "0.57", means.max())
    printed = {0.1: "0.88 ± 0.03", 0.5: "0.76 ± 0.04", 0.9: "0.88 ± 0.03"}
    for balance, own in stored("swarm", folder).groupby("balance"):
        said = printed[float(str(balance))]
        name = f"P = 4, N = 100, balance {balance:g}"
        yield _drawn("S2b", name, said, own["auroc"])
        yield _fixed("S2b", f"{name}, closed form", said, own["expected"].iloc[0])


def _logistic(folder: Folder) -> Iterator[Row]:
    table = stored("penalties", folder)
    own = table[np.isclose(table["C"], PAPERS_PENALTY)]
    yield _drawn("2a", "LOOCV", "0.23 ± 0.13 (p < .001)", own["loocv"])
    for balance, part in own.groupby("balance"):
        yield _drawn("2a", f"LOOCV, balance {balance:g}", "", part["loocv"])
    yield _drawn("3c", "RLOOCV", "0.5 (p = .84)", own["rloocv"])
    yield _drawn("3c", "RLOOCV, paired", "", own["rloocv_paired"])
    weakest = table[table["C"] == table["C"].max()]
    strongest = table[table["C"] == table["C"].min()]
    yield _drawn("5a", "LOOCV, weakest penalty", "0.48 ± 0.07", weakest["loocv"])
    yield _drawn("5a", "LOOCV, strongest penalty", "0", strongest["loocv"])
    for C, part in table.groupby("C"):
        if C not in (weakest["C"].iloc[0], strongest["C"].iloc[0]):
            yield _drawn("5a", f"LOOCV, C = {C:g}", "", part["loocv"])
    columns = ["loocv", "rloocv", "rloocv_paired"]
    every = table.groupby(["data_set", "balance"])[columns].mean()  # they share data
    yield _drawn("5a", "LOOCV, all penalties", "(p < .001)", every["loocv"])
    yield _drawn("5b", "RLOOCV, all", "0.50 ± 0.06 (p = .09)", every["rloocv"])
    yield _drawn("5b", "RLOOCV, all, paired", "", every["rloocv_paired"])


def _stratified(folder: Folder) -> Iterator[Row]:
    table = stored("stratified", folder)
    fives = table[table["group"] == PAPERS_GROUP]
    even = fives["balance"].map(lambda balance: exact(balance, PAPERS_GROUP))
    said = "0.50 ± 0.06 (p = .59)"
    yield _drawn("2b", "leave-5-out, exact", said, fives.loc[even, "auroc"])
    yield _drawn("2b", "leave-5-out, not exact", "", fives.loc[~even, "auroc"])
    greatest = fives.loc[~even, "auroc"].max()
    yield _fixed("2b", "leave-5-out, not exact, greatest", "< 0.45", greatest)
    twos = table[(table["group"] == 2) & np.isclose(table["balance"], 0.5)]
    yield _drawn("2c", "leave-2-out, balance .5", "0.50 ± 0.05", twos["auroc"])


def _other_models(folder: Folder) -> Iterator[Row]:
    for figure, name, said, printed in (
        ("S3a", "forest", "random forest", "0.48 ± 0.08 (p = .009)"),
        ("S3b", "neighbours", "5 nearest neighbours", "0.48 ± 0.04 (p = 2.9e-05)"),
    ):
        table = stored(name, folder)
        yield _drawn(figure, f"{said}, LOOCV", printed, table["loocv"])
        yield _drawn(figure, f"{said}, RLOOCV", "", table["rloocv"])
        yield _drawn(figure, f"{said}, RLOOCV, paired", "", table["rloocv_paired"])


def _standardised(folder: Folder) -> Iterator[Row]:
    table = stored("standardised", folder)
    logistic = table[table["model"] == "logit 0.01"]
    yield _drawn("S5a", "logistic, standardised", "0.5 (p = .14)", logistic["auroc"])
    nearest = table[table["model"] == "neighbors 1"]
    yield _drawn("S5b", "1-NN, standardised", "> 0.5 (p < .001)", nearest["auroc"])
    for balance, own in nearest.groupby("balance"):
        share = float(str(balance))
        said = "> 0.8" if share in (0.1, 0.9) else "> 0.5"
        name = f"1-NN, standardised, balance {share:g}"
        yield _drawn("S5b", name, said, own["auroc"])
        expected = 1 - share * (1 - share)
        yield _fixed("S5b", f"{name}, closed form", said, expected)


def _trapezoid(result: CVResult) -> float:
    table = result.predictions
    return float(auprc(table["observed"], table["predicted"], method="trapezoid"))


def _average_precision(result: CVResult) -> float:
    table = result.predictions
    return float(auprc(table["observed"], table["predicted"]))


def _fixed(figure: str, quantity: str, paper: str, value: float) -> Row:
    return {"figure": figure, "quantity": quantity, "paper": paper, "mean": value}


def _drawn(figure: str, quantity: str, paper: str, values: Any) -> Row:
    said = {"figure": figure, "quantity": quantity, "paper": paper}
    return {**said, **against_half(values)}
