"""Data sets by their names, and files by their paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from statcv.errors import ArgumentError, DataError, StatcvError, suggestion

if TYPE_CHECKING:
    import pandas as pd

    from statcv.folds import Stratifier
    from statcv.sites import SitesPlan

LAYOUT = ("missing", "sep", "decimal", "encoding")


def read_data(
    name: str,
    layout: Mapping[str, Any] = MappingProxyType({}),
    identifying: str | Sequence[str | None] | None = (),
    formula: str | None = None,
) -> pd.DataFrame:
    """Return a data set by its name, or a file by its path.

    Parameters
    ----------
    name : str
    layout : mapping
        How a file is laid out, as :func:`layout_of` returns it.
    identifying : sequence of str
        Columns that are read as text, as it is written.
    formula : str, optional
        Formula whose columns are read as it needs them, even if they identify.
    """
    from statcv import datasets

    how = datasets.available_data().set_index("name")["how"]
    if name in how.index:
        if layout:
            raise ArgumentError(
                f"--{next(iter(layout))} means nothing for the data set {name!r}, "
                "which is not a file."
            )
        fetch = getattr(datasets, f"fetch_{name}", None)
        return fetch() if fetch else datasets.load_data(name)
    path = Path(name)
    if not path.exists():
        hint = suggestion(name, [*how.index, *map(str, path.parent.glob("*.*"))])
        raise DataError(f"there is no file and no data set {name!r}.{hint}")
    wanted = [identifying] if isinstance(identifying, str) else identifying or []

    def choose(names: list[str]) -> set[str]:
        there = {column for column in wanted if column in names}
        return there - _used(formula, names, there) if there and formula else there

    return datasets.read_table(path, text=choose, **layout)


def layout_of(options: Any) -> dict[str, Any]:
    """Return how a file is laid out, as options say."""
    given = {name: getattr(options, name) for name in LAYOUT}
    return {name: value for name, value in given.items() if value is not None}


def _used(formula: str, names: list[str], identifying: set[str]) -> set[str]:
    """Return the columns that a formula uses; none if it cannot be parsed."""
    import numpy as np

    from statcv.formula import parse_formula

    if formula in names:
        return {formula}
    try:
        parsed = parse_formula(formula, names, {"np": np}, identifying)
    except StatcvError:  # the error is raised again when the formula is used
        return set()
    return {*parsed.outcome_columns, *parsed.columns}


def read_site_data(
    plan: SitesPlan, name: str, layout: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the records of a site; identifiers and agreed levels of text are text."""
    from statcv.sites.agreement import columns_of

    used = columns_of(plan.formula)
    text = [] if plan.stratify["by"] == "quantile" else plan.stratify.get("columns", [])
    text = [column for column in text if column not in used]
    text += [n for n, levels in plan.levels.items() if isinstance(levels[0], str)]
    return read_data(name, layout, text)


def read_plan(path: Path) -> SitesPlan:
    """Return the plan in a file.

    Raises
    ------
    ArgumentError
        If there is no file.
    """
    from statcv.sites import SitesPlan
    from statcv.sites.transports import read

    text = read(path)
    if text is None:
        raise ArgumentError(f"there is no file {path}.")
    return SitesPlan.from_json(text)


def refuse(options: Any, names: Iterable[str], why: str) -> None:
    """Raise an error that says why options mean nothing, if they are given."""
    for name in names:
        if getattr(options, name) is not None:
            flag = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
            raise ArgumentError(f"{flag} means nothing {why}.")


def by_name(
    given: Sequence[tuple[str, list[Any]]] | None, once: str
) -> dict[str, list[Any]] | None:
    """Return the values of an option ``NAME=A,B`` that may be repeated, by name."""
    if given and len(dict(given)) < len(given):
        raise ArgumentError(f"{once} once: NAME=A,B.")
    return dict(given) if given else None


def one_or_more(names: list[str] | None) -> str | list[str] | None:
    """Return a single name by itself."""
    return names[0] if names and len(names) == 1 else names


def quantile_bins(options: Any, column: str) -> Stratifier:
    """Return bins of a column between ``--thresholds``, if they are given."""
    from statcv.folds import by_quantile
    from statcv.folds.strata import as_number

    agreed = options.thresholds and [as_number(text) for text in options.thresholds]
    return by_quantile(column, options.per_fold or 1, agreed)
