"""``statcv data``: the list of data sets, and what is in one of them."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

import pandas as pd

from statcv.cli import WIDTH, files
from statcv.datasets import available_data
from statcv.errors import ArgumentError
from statcv.formula import why_text


def _data(options: argparse.Namespace) -> None:
    name, listed = options.name, available_data().set_index("name", drop=False)
    if name is None:
        if options.fetch or options.out:
            raise ArgumentError("--fetch and --out need the name of a data set.")
        print("\n".join(_about(row) for _, row in listed.iterrows()))
        return
    download = name in listed.index and listed.loc[name, "how"] == "download"
    if options.fetch and not download:
        raise ArgumentError(f"{name!r} needs no download; leave --fetch out.")
    if download and not (options.fetch or listed.loc[name, "here"]):
        raise ArgumentError(f"{name!r} is not here yet: add --fetch to download it.")
    table = files.read_data(name, files.layout_of(options))
    if options.out:
        print(f"Written: {files.write_table(options.out, table)}")
        return
    print(f"{name}: {len(table)} rows, {table.shape[1]} columns\n")
    columns = {"type": table.dtypes.astype(str), "missing": table.isna().sum()}
    print(table.iloc[:0].T.assign(**columns).to_string())
    for name in table:
        if why := why_text(table[name], str(name)):
            print(f"\n{textwrap.fill(why.strip(), WIDTH)}")


def _about(row: pd.Series[Any]) -> str:
    """Return the entry of a data set in the list."""
    name, how = row["name"], row["how"]
    if not row["here"]:
        how = f"not here yet: statcv data {name} --fetch"
    size = f"{row['rows']} rows, {row['columns']} columns, outcome {row['outcome']}"
    return "\n          ".join([f"{name:<9} {size}", row["source"], how])


COMMANDS = {"data": _data}
