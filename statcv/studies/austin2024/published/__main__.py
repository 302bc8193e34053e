"""Run all of the study, or go on; and write its tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from statcv.studies.austin2024.published.paper import RUNS, WITH_IRAE, write_table


def main() -> None:
    """Read the arguments, run, write."""
    parser = argparse.ArgumentParser(
        prog="python -m statcv.studies.austin2024.published"
    )
    parser.add_argument("directory", help="where parts are kept")
    parser.add_argument("tables", help="the folder of the csv files to be written")
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--most", type=int, help="runs of each, at most")
    parser.add_argument("--irae", help="the file that statcv.load_irae reads")
    given = parser.parse_args()
    tables = Path(given.tables)
    tables.mkdir(parents=True, exist_ok=True)
    for name in given.only:
        own = RUNS[name]
        count = min(own.count, given.most or own.count)
        how = {"seed": given.seed, "n_jobs": given.jobs}
        if given.irae is not None and name in WITH_IRAE:
            how["irae"] = given.irae
        table = own.make(count, Path(given.directory), **how)
        write_table(name, table, tables)


if __name__ == "__main__":
    main()
