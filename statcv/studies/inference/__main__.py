"""Run the whole study, or go on with it, and write its table."""

from __future__ import annotations

import argparse

from statcv.studies.inference.run import run_study
from statcv.studies.inference.table import study_table


def main() -> None:
    """Read the arguments, run, write."""
    parser = argparse.ArgumentParser(prog="python -m statcv.studies.inference")
    parser.add_argument("directory", help="where parts are kept")
    parser.add_argument("table", help="the csv file to be written")
    parser.add_argument("--data-sets", type=int, default=500)
    parser.add_argument("--refits", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    counts = {"data_sets": given.data_sets, "refits": given.refits}
    run_study(given.directory, duplicates=[False], n_jobs=given.jobs, **counts)
    run_study(
        given.directory,
        duplicates=[True],
        n=[60, 250],
        balances=[0.3],
        auroc=[0.5, 0.7],
        n_jobs=given.jobs,
        **counts,
    )
    study_table(given.directory).to_csv(given.table, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
