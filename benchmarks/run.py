"""Benchmarks against other software, in one command.

    python benchmarks/run.py [--quick] [--only NAME ...] [--runs 7] [--out FOLDER]
    python benchmarks/run.py --grid [--quick] [--only NAME ...] [--runs 5]

First the results of every case are compared with those of a peer at high precision; an
AssertionError names a case that differs. Then runs of statcv and of the peers
alternate, with one thread each. Tables are written to benchmarks/results; with --quick
they are written only if --out is given. With --only, the other rows are kept if they
are from the same machine and versions. --grid measures models, schemes and sizes on a
grid instead, of which --only chooses those whose names begin with one of the given.
"""

from __future__ import annotations

import argparse
import datetime
import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from cases import Case, all_cases
from grid import cells, grid
from machine import machine
from memory import measured
from peers import NotInstalledError
from products import products
from scaling import costs
from timing import agree, ratios

import statcv as scv

RESULTS = Path(__file__).with_name("results")
SEPARATE = ("memory", "scaling")


def main(command_line: list[str] | None = None) -> None:
    """Compare and time the cases, and write the tables."""
    given = arguments(command_line)
    out = given.out or (None if given.quick else RESULTS)
    warnings.simplefilter("ignore", scv.errors.DistributionalBiasWarning)
    if given.grid:
        measure_grid(given, out)
        return
    makers = all_cases(given.quick)
    wanted = set(given.only or [*makers, *SEPARATE])
    unknown = wanted - {*makers, *SEPARATE}
    if unknown:
        known = ", ".join([*makers, *SEPARATE])
        raise SystemExit(f"unknown case {', '.join(unknown)}; the cases are {known}")
    tables = Tables(out)
    cases: dict[str, Case] = {}
    gaps: dict[str, float] = {}
    for name in [name for name in makers if name in wanted]:
        try:
            cases[name] = makers[name]()
        except NotInstalledError as error:
            print(f"{name}: skipped; {error}")
            continue
        gaps[name] = agree(name, cases[name])
        print(f"{name}: agrees to {gaps[name]:.1e}", flush=True)
    for name, case in cases.items():
        rows = [{"gap": gaps[name], **row} for row in ratios(case, given.runs)]
        tables.add("ratios", name, rows)
        if case.logit:
            tables.add("products", name, [products(case, given.runs)])
    if "memory" in wanted:
        size = (1000, 5) if given.quick else (20_000, 20)
        tables.add("memory", "memory", [measured(*size)])
    if "scaling" in wanted:
        tables.add("scaling", "scaling", costs(given.quick, given.runs))


def measure_grid(given: argparse.Namespace, out: Path | None) -> None:
    """Measure the cells of the grid, and write their table after each."""
    starts = tuple(given.only or [""])
    chosen = [one for one in cells(given.quick) if one.name.startswith(starts)]
    tables = Tables(out)
    for cell, row in zip(
        chosen, grid(chosen, given.runs, not given.quick), strict=True
    ):
        tables.add("grid", cell.name, [row])


class Tables:
    """Tables in files of a folder; each row has the name of its case and a date."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.today = datetime.date.today().isoformat()
        names = [cell.name for cell in cells()]
        self.order = [*all_cases(quick=False), *SEPARATE, *names]
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        file, here = folder / "machine.json", machine()
        known = json.loads(file.read_text()) if file.exists() else {}
        if any(known.get(name, value) != value for name, value in here.items()):
            known = {}
            for old in folder.glob("*.csv"):
                old.unlink()
        file.write_text(json.dumps(known | here, indent=1) + "\n")

    def add(self, table: str, case: str, rows: Iterable[dict[str, Any]]) -> None:
        """Replace the rows of a case."""
        made = []
        for row in rows:
            made.append({"case": case, "date": self.today, **row})
            text = ", ".join(f"{key} {short(value)}" for key, value in row.items())
            print(f"{case}: {text}", flush=True)
        if self.folder is None:
            return
        file, new = self.folder / f"{table}.csv", pd.DataFrame(made)
        if file.exists():
            old = pd.read_csv(file)
            new = pd.concat([old[old["case"] != case], new])
            place = new["case"].map(lambda name: (*self.order, name).index(name))
            new = new.iloc[place.argsort(kind="stable")]
        new.to_csv(file, index=False, float_format="%.4g")


def short(value: Any) -> Any:
    """Format a float with three significant digits; return other values unchanged."""
    return f"{value:.3g}" if isinstance(value, float) else value


def arguments(command_line: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a small part of the work")
    parser.add_argument("--grid", action="store_true", help="the grid of sizes")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="cases to run")
    parser.add_argument("--runs", type=int, help="number of runs (7; 1 with --quick)")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="folder for the tables"
    )
    given = parser.parse_args(command_line)
    given.runs = given.runs or (1 if given.quick else 7)
    return given


if __name__ == "__main__":
    main()
