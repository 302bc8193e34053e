"""Run or continue the study, or some of its questions, and write its table."""

from __future__ import annotations

import argparse
from typing import Any

from statcv.studies.inference.questions import QUESTIONS
from statcv.studies.inference.run import run_study, study_table

COPIES: dict[str, Any] = {
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
        copies = {**each, **COPIES}
        return [
            {**each, "duplicates": [False]},
            {**copies, "n": [60]},
            {**copies, "n": [250], **few},
        ]
    each = {"questions": [question], "data_sets": min(data_sets, FEWER)}
    plain = {**each, "duplicates": [False], "balances": [0.1, 0.3]}
    if question == "nested":
        plain |= few
    return [
        {**plain, "n": [30, 60, 100]},
        {**plain, "n": [250], "balances": [0.3], **few},
        {**each, **COPIES, **few},
    ]


def main() -> None:
    """Read the arguments, run, write."""
    parser = argparse.ArgumentParser(prog="python -m statcv.studies.inference")
    parser.add_argument("directory", help="where parts are kept")
    parser.add_argument("table", help="the csv file to be written")
    asked = list(QUESTIONS)
    parser.add_argument("--questions", nargs="+", choices=asked, default=asked)
    parser.add_argument("--data-sets", type=int, default=500)
    parser.add_argument("--refits", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    for question in given.questions:
        for grid in grids(question, given.data_sets):
            run_study(given.directory, refits=given.refits, n_jobs=given.jobs, **grid)
    study_table(given.directory).to_csv(given.table, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
