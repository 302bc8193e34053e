"""The tables of the study, which ship with the package, and the runs that make them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from studies.inference.cells import MODELS
from studies.inference.defaults import run_defaults
from studies.inference.questions import QUESTIONS
from studies.inference.run import run_study
from studies.papers import Folder, Paper, Rounding, Table

DUPLICATES: dict[str, Any] = {
    "duplicates": [True],
    "n": [60, 250],
    "balances": [0.3],
    "auroc": [0.5, 0.7],
}
FEWER = 200


def grids(question: str, data_sets: int) -> list[dict[str, Any]]:
    """Return the runs of a question, the most informative cells first.

    The question of skill uses the whole grid. The others use fewer
    data sets, at two balances, and at one with fewer schemes if n is large; so does
    everything with duplicates.
    """
    few = {"schemes": ["stratified_kfold", "loocv", "rloocv"]}
    if question == "no_skill":
        each = {"questions": [question], "data_sets": data_sets}
        duplicated = {**each, **DUPLICATES}
        return [
            {**each, "duplicates": [False]},
            {**duplicated, "n": [60]},
            {**duplicated, "n": [250], **few},
        ]
    each = {"questions": [question], "data_sets": min(data_sets, FEWER)}
    plain = {**each, "duplicates": [False], "balances": [0.1, 0.3]}
    if question == "nested":
        plain |= few
    return [
        {**plain, "n": [30, 60, 100]},
        {**plain, "n": [250], "balances": [0.3], **few},
        {**each, **DUPLICATES, **few},
    ]


def _study(
    count: int,
    *,
    questions: Sequence[str] = tuple(QUESTIONS),
    refits: int = 200,
    **how: Any,
) -> pd.DataFrame:
    """Run the grids of the questions into one directory, and return its table."""
    for question in questions:
        for grid in grids(question, count):
            table = run_study(**grid, refits=refits, **how)
    return table


PAPER = Paper(
    "inference",
    {
        "study": Table(500, _study, ("questions", "refits"), results=""),
        "defaults": Table(100, run_defaults, ("models",), results="defaults"),
    },
    rounding=Rounding(digits=4, errors=4, decimals=None),
    options={
        "models": {
            "nargs": "+",
            "choices": list(MODELS),
            "help": "of the defaults, which are tried; all unless given",
        },
        "questions": {
            "nargs": "+",
            "choices": list(QUESTIONS),
            "default": list(QUESTIONS),
            "help": "which of them are run; the table has all of the directory",
        },
        "refits": {
            "type": int,
            "default": 200,
            "help": "data sets on which slow methods are tried, at most",
        },
    },
    place=Path(str(files("statcv.data"))),  # the summaries of results quote them
)


def stored(name: str = "study", folder: Folder = None) -> pd.DataFrame:
    """Return a stored table of the study at full scale.

    Parameters
    ----------
    name : str
        ``"study"``, the intervals, tests and comparisons of two normal classes; or
        ``"defaults"``, the default interval and test on populations of other shapes.
    folder : str or path, optional
        Folder of your own table, as written by
        ``python -m studies inference``.

    Returns
    -------
    pandas.DataFrame
        As :func:`study_table` or
        :func:`~studies.inference.defaults_table` returns it; numbers
        have four digits.

    Raises
    ------
    ArgumentError
        If there is no such table.
    DataError
        If its file does not exist.

    Examples
    --------
    >>> from studies.inference import stored
    >>> stored()["question"].unique().tolist()
    ['no_skill', 'equals', 'losses', 'nested']
    """
    table: pd.DataFrame = PAPER.stored(name, folder)
    return table
