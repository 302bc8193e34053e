"""The tables of this study that ship with the package, and the runs that make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from statcv.studies.austin2024.beyond import null_classes, null_numbers
from statcv.studies.austin2024.dummies import (
    SWARM,
    SWARM_BALANCES,
    SWARM_RECORDS,
    dummies,
)
from statcv.studies.austin2024.estimates import ASKED, OF_PAIRS
from statcv.studies.austin2024.kinds import null_kinds
from statcv.studies.austin2024.null import null_aurocs
from statcv.studies.austin2024.others import other_models
from statcv.studies.austin2024.paper_data import PAPERS_SETS
from statcv.studies.austin2024.penalties import penalties
from statcv.studies.austin2024.public_data import SHORT, public_data
from statcv.studies.austin2024.regression import predictions
from statcv.studies.austin2024.scores import standardised
from statcv.studies.austin2024.signal import signal_aurocs
from statcv.studies.austin2024.stratified import stratified
from statcv.studies.tables import Folder, file_of, read_table, write_table

PAPER = "austin2024"
AUROCS = ("auroc", "expected", "loocv", "rloocv", "rloocv_paired", "predicted")
DIGITS = dict.fromkeys(AUROCS, 4) | dict.fromkeys(("se", "bias_se"), 2)
DIGITS |= dict.fromkeys(("milliseconds", "sd", "rmse"), 3)
DECIMALS = 6


OF_MANY = (*SHORT[:-1], "pairs")  # estimates of 250 records: not of all pairs


@dataclass(frozen=True)
class Run:
    """A part of the study.

    Attributes
    ----------
    count : int
        Number of data sets.
    make : callable
        Data sets, and ``directory=``, ``seed=``, ``n_jobs=`` → table.
    """

    count: int
    make: Callable[..., pd.DataFrame]


RUNS = {
    "penalties": Run(PAPERS_SETS, penalties),
    "stratified": Run(PAPERS_SETS, stratified),
    "dummies": Run(PAPERS_SETS, dummies),
    "swarm": Run(
        PAPERS_SETS,
        partial(dummies, n=SWARM_RECORDS, balances=SWARM_BALANCES, groups=(SWARM,)),
    ),
    "neighbours": Run(PAPERS_SETS, other_models),
    "forest": Run(PAPERS_SETS, partial(other_models, model="forest")),
    "predictions": Run(1, predictions),
    "standardised": Run(PAPERS_SETS, standardised),
    "null": Run(2000, null_aurocs),
    "null_kinds": Run(2000, null_kinds),
    "null_250": Run(500, partial(null_aurocs, n=(250,), estimates=OF_MANY)),
    "signal": Run(1000, signal_aurocs),
    "corrections": Run(
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
    "of_pairs": Run(
        1000,
        partial(
            signal_aurocs,
            n=(30, 100),
            covariates=(2,),
            aurocs=(0.75,),
            estimates=OF_PAIRS,
        ),
    ),
    "public_data": Run(200, public_data),
    "numbers": Run(200, null_numbers),
    "classes": Run(200, null_classes),
}
"""The runs by the name of their table."""


def make_table(
    name: str, count: int, directory: Path, tables: Path, **how: Any
) -> None:
    """Run a part of the study, or what is missing of it, and write its table."""
    table = RUNS[name].make(count, directory=directory / name, **how)
    write_table(table, tables / file_of(PAPER, name), DIGITS, DECIMALS)


def stored(name: str, folder: Folder = None) -> pd.DataFrame:
    """Return a table of results at full scale, which ships with the package.

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
        ``python -m statcv.studies.austin2024``.

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
    return read_table(PAPER, name, RUNS, folder)
