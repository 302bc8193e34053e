"""Run all of the study, or go on; and write its tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from statcv.studies.austin2024.paper import RUNS, make_table


def main() -> None:
    """Read the arguments, run, write."""
    parser = argparse.ArgumentParser(prog="python -m statcv.studies.austin2024")
    parser.add_argument("directory", help="where parts are kept")
    parser.add_argument("tables", help="the folder of the csv files to be written")
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--most", type=int, help="data sets of each, at most")
    given = parser.parse_args()
    tables = Path(given.tables)
    tables.mkdir(parents=True, exist_ok=True)
    for name in given.only:
        count = min(RUNS[name].count, given.most or RUNS[name].count)
        directory = Path(given.directory)
        make_table(name, count, directory, tables, seed=given.seed, n_jobs=given.jobs)


if __name__ == "__main__":
    main()
