"""Run or continue the study of a paper, and write its tables.

``python -m studies PAPER DIRECTORY FOLDER`` keeps results in the directory, so
that it can be interrupted, and writes the csv files of the tables into the folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from studies.papers import Paper

PAPERS = (
    "austin2024",
    "austin2024.published",
    "bey2020",
    "geroldinger2023",
    "inference",
    "pooling",
    "smith2014",
    "survival",
    "updating",
)


def paper_of(name: str) -> Paper:
    """Return the study of a paper by the name of its subpackage."""
    paper: Paper = import_module(f"studies.{name}.paper").PAPER
    return paper


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and write the tables.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the command line.
    """
    parser = argparse.ArgumentParser(prog="python -m studies")
    papers = parser.add_subparsers(dest="paper", required=True, metavar="PAPER")
    for name in PAPERS:
        _add_arguments(papers.add_parser(name), paper_of(name))
    given = parser.parse_args(arguments)
    paper, folder = paper_of(given.paper), Path(given.folder)
    folder.mkdir(parents=True, exist_ok=True)
    options = {name: getattr(given, name) for name in paper.options}
    for name in given.only:
        table = paper.make(
            name,
            given.directory,
            most=given.most,
            seed=given.seed,
            n_jobs=given.jobs,
            progress=given.progress,
            **options,
        )
        paper.write(name, table, folder)


def _add_arguments(parser: argparse.ArgumentParser, paper: Paper) -> None:
    names = list(paper.tables)
    parser.add_argument("directory", help="where results are kept")
    parser.add_argument("folder", help="where the csv files are written")
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--most", type=int, help="data sets of each table, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--progress", action=argparse.BooleanOptionalAction)
    for name, how in paper.options.items():
        parser.add_argument(f"--{name}", **how)


if __name__ == "__main__":
    main()
