"""The description of the data: the first table of a paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ArgumentError, ArgumentTypeError, ColumnError, suggestion
from statcv.formula import as_frame, is_missing, row_values
from statcv.inference.paired.records import is_result
from statcv.report.paper import check_options
from statcv.results.export import INDENT, PaperTable
from statcv.results.groups import group_name
from statcv.results.refittable import Refittable
from statcv.results.summary import column, decimals
from statcv.words import plural, with_interval

OUTCOME = "outcome"  # the word for the classes of a result's outcome
SKEWED = 1.0  # skewness above which a median is shown
MAX_LEVELS = 50  # levels of a column above which it looks like an identifier
MAX_GROUPS = 12  # values of a grouping above which it looks continuous
LARGE = 100.0  # standard deviation from which numbers have no decimals
MANY = 200  # number of records from which percentages have a decimal

Flags = NDArray[np.bool_]
Rows = list[tuple[str, list[str]]]  # the names of rows, and their cells


def table1(
    data: Any,
    by: Any = None,
    *,
    columns: str | Sequence[str] | None = None,
    categories: str | Sequence[str] = (),
    median: bool | str | Sequence[str] | None = None,
    digits: int | None = None,
    caption: str | None = None,
    label: str | None = None,
) -> PaperTable:
    """Describe the data, overall and by group, as the first table of a paper does.

    Numbers are described by mean and standard deviation, or by median and quartiles;
    categories by counts and percentages of the records that have a value. Missing
    values are counted.

    Parameters
    ----------
    data : CVResult or data frame
        A result, of which all rows given to :func:`statcv.cv` are described, those
        that were left out as incomplete included; or a data frame.
    by : str or array-like, optional
        Column of groups, or one value per row. ``"outcome"`` stands for the classes
        of a result's outcome.
    columns : str or list of str, optional
        Columns to describe; for a result, the outcome (unless it is ``by``) and the
        predictors of the formula, else all columns.
    categories : str or list of str, default ()
        Columns of numbers that are codes of categories. Text, and numbers with at most
        two different values, always are.
    median : bool, str or list of str, optional
        Columns that are described by median and quartiles. Unless given, these are
        columns whose skewness is above 1 or below -1.
    digits : int, optional
        Number of decimals of numbers; unless given, as many as show two significant
        digits of the standard deviation, and at least one below a deviation of 100.
    caption, label : str, optional
        Caption and label, as in :func:`statcv.table`.

    Returns
    -------
    PaperTable

    Raises
    ------
    ColumnError
        If a column is not in the data.
    ArgumentError
        If ``by="outcome"`` has no classes, a grouping has more than 12 values, or a
        column of text looks like an identifier.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + TUCE + PSI", scv.load_data("spector"), seed=1)
    >>> scv.table1(res, by="outcome", caption="Students")
    Students
    <BLANKLINE>
                    All (n = 32) GRADE = 0 (n = 21) GRADE = 1 (n = 11)
    GPA, mean (SD)   3.12 (0.47)        2.95 (0.36)        3.43 (0.50)
    TUCE, mean (SD)   21.9 (3.9)         21.1 (3.8)         23.5 (3.8)
    PSI = 1, n (%)      14 (44%)            6 (29%)            8 (73%)
    """
    check_options(table1, locals())
    frame, names, groups, name = _read(data, by, columns)
    known = ~is_missing(groups) if groups is not None else np.ones(len(frame), bool)
    if not known.any():
        raise ArgumentError("there are no records to describe.")
    frame = frame[known]
    parts = {f"All (n = {len(frame)})": np.ones(len(frame), bool)}
    if groups is not None:
        own = groups[known]
        levels = _levels(own)
        if len(levels) > MAX_GROUPS:
            raise ArgumentError(
                f"by={name!r} has {len(levels)} different values; cut it into at most "
                f"{MAX_GROUPS} groups, for example with pandas.cut."
            )
        for level in levels:
            member = (own == level).to_numpy(bool)
            parts[f"{name} = {_said(level)} (n = {member.sum()})"] = member
    coded, rows = _named(categories, frame), Rows()
    skewed = median if isinstance(median, bool | None) else _named(median, frame)
    for one in names:
        middle = one in skewed if isinstance(skewed, list) else skewed
        rows += _describe(frame[one], [*parts.values()], one in coded, middle, digits)
    if caption is None:
        caption = f"Characteristics of {plural(len(frame), 'record')}"
        caption += f", by {name}" * bool(name)
        if lost := int((~known).sum()):
            caption += f"; {plural(lost, 'record')} without {name} left out"
        caption += "."
    cells = pd.DataFrame(
        [own for _, own in rows], columns=list(parts), index=[n for n, _ in rows]
    )
    return PaperTable(cells, caption, label)


# ---- what is described ----


def _read(
    data: Any, by: Any, columns: Any
) -> tuple[pd.DataFrame, list[str], pd.Series[Any] | None, str]:
    """Return the data, the columns to describe, and the groups with their name."""
    result: Any = data if is_result(data) else None
    frame = as_frame(data if result is None else result.call.data)
    of_outcome = isinstance(by, str) and by == OUTCOME and by not in frame.columns
    names = list(map(str, frame.columns))
    if result is not None:
        formula = result.design.formula
        names = list(dict.fromkeys([*formula.outcome_columns, *formula.columns]))
        if not result.learner.capabilities.refits:
            if columns is None:
                raise ArgumentError(
                    "predictions of other software have no predictors to describe; "
                    "name the columns of the data by columns=."
                )
            frame = frame.iloc[result.design.kept]  # one row per record
    if columns is not None:
        names = _named(columns, frame)
    if by is None:
        return frame, names, None, ""
    if not of_outcome:
        groups, name = row_values(by, frame, "by"), group_name(by)
        return frame, [n for n in names if n != name], groups, name
    if result is None:
        raise ArgumentTypeError(
            "by='outcome' is for a result of cv(); of a data frame, name a column."
        )
    groups = _classes(result, frame)
    used = result.design.formula.outcome_columns if columns is None else ()
    return (
        frame,
        [n for n in names if n not in used],
        groups,
        result.design.outcome.name,
    )


def _named(columns: str | Sequence[str], frame: pd.DataFrame) -> list[str]:
    """Return the names of columns, all of which are in the data."""
    names = [columns] if isinstance(columns, str) else list(columns)
    for name in names:
        if name not in frame.columns:
            raise ColumnError(
                f"{name!r} is not a column of the data."
                + suggestion(name, map(str, frame.columns))
            )
    return names


def _classes(result: Refittable, frame: pd.DataFrame) -> pd.Series[Any]:
    """Return the class of each row, also of rows that were left out as incomplete."""
    outcome = result.design.outcome
    if not outcome.levels:
        raise ArgumentError(
            f"by='outcome' needs classes, but {outcome.name} is continuous; cut it "
            "into groups, for example with pandas.cut."
        )
    if outcome.name in frame.columns:
        return frame[outcome.name]
    groups = pd.Series(None, index=frame.index, dtype=object)
    levels = np.asarray(outcome.levels, dtype=object)
    refits = result.learner.capabilities.refits
    kept = result.design.kept if refits else np.arange(len(frame))
    groups.iloc[kept] = levels[outcome.y]
    return groups


def _levels(values: pd.Series[Any]) -> list[Any]:
    """Return the levels that occur, in their order."""
    present = values[~is_missing(values)]
    if isinstance(values.dtype, pd.CategoricalDtype):
        return [v for v in values.cat.categories if (present == v).any()]
    found = present.unique().tolist()
    return sorted(found, key=lambda v: (isinstance(v, str), v))


def _said(level: Any) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)


# ---- how it is described ----


def _describe(
    values: pd.Series[Any],
    parts: Sequence[Flags],
    coded: bool,
    median: bool | None,
    digits: int | None,
) -> Rows:
    """Return the rows that describe a column in each part of the records."""
    absent, name = is_missing(values), str(values.name)
    kinds = pd.api.types
    numeric = kinds.is_numeric_dtype(values) and not kinds.is_bool_dtype(values)
    if coded or not numeric or values[~absent].nunique() <= 2:
        rows = _counts(values, absent, parts, name)
    else:
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
        skewness: Any = pd.Series(numbers).skew()
        if median is None:
            median = not -SKEWED <= float(skewness) <= SKEWED
        rows = [_moments(numbers, absent, parts, name, median, digits)]
    if absent.any():
        rows.append(
            (f"{INDENT}missing", [str((absent & part).sum()) for part in parts])
        )
    return rows


def _counts(
    values: pd.Series[Any], absent: Flags, parts: Sequence[Flags], name: str
) -> Rows:
    """Return the counts of each level, or of the second of two levels."""
    levels = _levels(values)
    if len(levels) > MAX_LEVELS:
        raise ArgumentError(
            f"column {name!r} has {len(levels)} different values that are not numbers; "
            "it looks like an identifier. Leave it out by columns=."
        )
    places = int(len(values) >= MANY)
    rows: Rows = []
    for level in levels:
        is_level = (values == level).fillna(False).to_numpy(bool)
        cells = []
        for part in parts:
            count, known = int((is_level & part).sum()), int((part & ~absent).sum())
            share = f" ({100 * count / known:.{places}f}%)" if known else ""
            cells.append(f"{count}{share}")
        rows.append((f"{INDENT}{_said(level)}", cells))
    if len(levels) <= 2:
        return (
            [(f"{name} = {_said(levels[-1])}, n (%)", rows[-1][1])]
            if levels
            else [(name, [""] * len(parts))]
        )
    return [(f"{name}, n (%)", [""] * len(parts)), *rows]


def _moments(
    numbers: NDArray[np.float64],
    absent: Flags,
    parts: Sequence[Flags],
    name: str,
    median: bool,
    digits: int | None,
) -> tuple[str, list[str]]:
    """Return mean and standard deviation, or median and quartiles, of each part."""
    spread = float(np.std(numbers[~absent], ddof=1))
    places = digits
    if places is None:
        places = decimals(spread) if np.isfinite(spread) and spread > 0 else 3
        places = max(places, 1) if spread < LARGE else places
    cells = []
    for part in parts:
        own = numbers[part & ~absent]
        if not len(own):
            cells.append("–")
        elif median:
            middle = np.quantile(own, [0.5, 0.25, 0.75])
            cells.append(with_interval(*column(middle.tolist(), [], places)))
        else:
            sd = float(np.std(own, ddof=1)) if len(own) > 1 else np.nan
            mean, around = column([float(np.mean(own)), sd], [], places)
            cells.append(f"{mean} ({around})")
    return f"{name}, {'median (IQR)' if median else 'mean (SD)'}", cells
