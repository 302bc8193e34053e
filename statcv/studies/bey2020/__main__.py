"""Run or continue the study, the most important parts first, and write its tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from statcv.studies.bey2020.paper import RUNS, write_run
from statcv.studies.bey2020.samples import Scale


def main() -> None:
    """Read the arguments, run, write."""
    parser = argparse.ArgumentParser(prog="python -m statcv.studies.bey2020")
    parser.add_argument("directory", help="where parts are kept")
    parser.add_argument("tables", help="the folder of the csv files to be written")
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="factor for the numbers of people"
    )
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--most", type=int, help="data sets of each, at most")
    given = parser.parse_args()
    scale = Scale(
        n=round(10_000 * given.scale),
        n_duplicates=round(2_000 * given.scale),
        rounds=given.rounds,
    )
    tables = Path(given.tables)
    tables.mkdir(parents=True, exist_ok=True)
    for name in given.only:
        run = RUNS[name]
        count = min(run.count, given.most or run.count)
        own = Path(given.directory) / name
        table = run.make(count, scale, own, given.seed, given.jobs)
        write_run(name, table, tables)


if __name__ == "__main__":
    main()
