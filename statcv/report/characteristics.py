"""The description of the data: the first table of a paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import check_types
from statcv.errors import ArgumentError, ArgumentTypeError, ColumnError, suggestion
from statcv.formula import as_frame, is_missing, row_values
from statcv.inference.estimates.groups import group_name
from statcv.inference.paired.records import is_result
from statcv.numeric.arrays import Floats
from statcv.results.result import CVResult
from statcv.results.writing.export import INDENT, PaperTable, check_options
from statcv.tables import column, decimals
from statcv.words import plural, with_interval

OUTCOME = "outcome"  # the word for the classes of a result's outcome
SKEWED = 1.0  # skewness above which a median is shown
MAX_LEVELS = 50  # levels of a column above which it looks like an identifier
MAX_GROUPS = 12  # values of a grouping above which it looks continuous
LARGE = 100.0  # standard deviation from which numbers have no decimals
MANY = 200  # number of records from which percentages have a decimal

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
        that were omitted as incomplete included; or a data frame.
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
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> scv.table1(res, by="outcome", caption="Students")
    Students
    <BLANKLINE>
                   All (n = 32) GRADE = 0 (n = 21) GRADE = 1 (n = 11)
    GPA, mean (SD)  3.12 (0.47)        2.95 (0.36)        3.43 (0.50)
    PSI = 1, n (%)     14 (44%)            6 (29%)            8 (73%)
    """
    check_types(table1, {**locals(), "caption": None})
    check_options(digits, caption, label)
    frame, names, groups, name = _read(data, by, columns)
    coded, rows = _named(categories, frame), Rows()
    skewed = median if isinstance(median, bool | None) else _named(median, frame)
    known = np.ones(len(frame), bool) if groups is None else ~is_missing(groups)
    if not known.any():
        raise ArgumentError("there are no records to describe.")
    parts = {"All": frame[known]}
    levels = [] if groups is None else _levels(groups[known])
    if len(levels) > MAX_GROUPS:
        raise ArgumentError(
            f"by={name!r} has {len(levels)} different values; cut it into at most "
            f"{MAX_GROUPS} groups, for example with pandas.cut."
        )
    for level in levels:
        member = (groups == level).fillna(False).to_numpy(bool)
        parts[f"{name} = {_said(level)}"] = frame[member]
    for one in names:
        middle = one in skewed if isinstance(skewed, list) else skewed
        each = [part[one] for part in parts.values()]
        rows += _describe(each, one in coded, middle, digits)
    if caption is None:
        caption = f"Characteristics of {plural(int(known.sum()), 'record')}"
        caption += f", by {name}" * bool(name)
        if not known.all():
            lost = plural(int((~known).sum()), "record")
            caption += f"; {lost} without {name} omitted"
        caption += "."
    heads = [f"{head} (n = {len(part)})" for head, part in parts.items()]
    cells = pd.DataFrame([own for _, own in rows], columns=heads)
    return PaperTable(cells.set_axis([one for one, _ in rows]), caption, label)


# ---- what is described ----


def _read(
    data: Any, by: Any, columns: Any
) -> tuple[pd.DataFrame, list[str], pd.Series[Any] | None, str]:
    """Return the data, the columns to describe, and the groups with their name."""
    result: Any = data if is_result(data) else None
    frame = as_frame(data if result is None else result.call.data)
    names, groups, name = list(map(str, frame.columns)), None, ""
    if result is not None:
        formula, model = result.design.formula, result.validated
        known = formula.columns if model is None else model.predictors
        names = list(dict.fromkeys([*formula.outcome_columns, *known]))
    if isinstance(by, str) and by == OUTCOME and by not in frame.columns:
        if result is None:
            raise ArgumentTypeError(
                "by='outcome' is for a result of cv(); of a data frame, name a column."
            )
        groups, name = _classes(result, frame), result.design.outcome.name
        names = [one for one in names if one not in formula.outcome_columns]
    elif by is not None:
        groups, name = row_values(by, frame, "by"), group_name(by)
        names = [one for one in names if one != name]
    if columns is not None:
        names = _named(columns, frame)
    if result is None or result.learner.capabilities.refits or model:
        return frame, names, groups, name
    if columns is None:
        raise ArgumentError(
            "predictions of other software have no predictors to describe; name the "
            "columns of the data by columns=."
        )
    kept = result.design.kept  # one row per record
    return frame.iloc[kept], names, None if groups is None else groups.iloc[kept], name


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


def _classes(result: CVResult, frame: pd.DataFrame) -> pd.Series[Any]:
    """Return the class of each row, also of rows that were omitted as incomplete."""
    outcome = result.design.outcome
    if not outcome.levels:
        kind = "continuous"
        instead = "cut it into groups, for example with pandas.cut"
        if outcome.kind == "survival":
            kind, instead = "a time to an event", "name the column of its status"
        raise ArgumentError(
            f"by='outcome' needs classes, but {outcome.name} is {kind}; {instead}."
        )
    if outcome.name in frame.columns:
        return frame[outcome.name]
    groups = pd.Series(None, index=frame.index, dtype=object)
    levels = np.asarray(outcome.levels, dtype=object)
    groups.iloc[result.design.kept] = levels[outcome.y]
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
    each: Sequence[pd.Series[Any]], coded: bool, median: bool | None, digits: int | None
) -> Rows:
    """Return the rows that describe a column in all records, and in each group."""
    lost = [is_missing(one) for one in each]
    known = [one[~absent] for one, absent in zip(each, lost, strict=True)]
    whole, kinds = known[0], pd.api.types
    if not len(whole):
        cells = [f"{len(one)} (100%)" if len(one) else "–" for one in each]
        return [(f"{whole.name}, missing, n (%)", cells)]
    numeric = kinds.is_numeric_dtype(whole) and not kinds.is_bool_dtype(whole)
    if coded or not numeric or whole.nunique() <= 2:
        rows = _counts(known)
    else:
        numbers = [one.to_numpy(float) for one in known]
        what, cells = _moments(numbers, median, digits)
        rows = [(f"{whole.name}, {what}", cells)]
    if lost[0].any():
        rows.append((f"{INDENT}missing", [str(absent.sum()) for absent in lost]))
    return rows


def _counts(each: Sequence[pd.Series[Any]]) -> Rows:
    """Return the counts of each level, or of the second of two levels."""
    levels, name = _levels(each[0]), each[0].name
    if len(levels) > MAX_LEVELS:
        raise ArgumentError(
            f"column {name!r} has {len(levels)} different values that are not numbers; "
            "it looks like an identifier. Leave it out by columns=."
        )
    places, rows = int(len(each[0]) >= MANY), Rows()
    for level in levels:
        counts = [(int((one == level).sum()), len(one)) for one in each]
        shares = [f" ({100 * n / of:.{places}f}%)" if of else "" for n, of in counts]
        cells = [f"{n}{share}" for (n, _), share in zip(counts, shares, strict=True)]
        rows.append((f"{INDENT}{_said(level)}", cells))
    if 1 <= len(levels) <= 2:
        return [(f"{name} = {_said(levels[-1])}, n (%)", rows[-1][1])]
    return [(f"{name}, n (%)", [""] * len(each)), *rows]


def _moments(
    each: Sequence[Floats], median: bool | None, digits: int | None
) -> tuple[str, list[str]]:
    """Return mean and standard deviation, or median and quartiles, and which."""
    spread = float(np.std(each[0], ddof=1))
    skewness: Any = pd.Series(each[0]).skew()
    if median is None:
        median = not -SKEWED <= skewness <= SKEWED
    places = digits
    if places is None:
        places = decimals(spread) if np.isfinite(spread) and spread > 0 else 3
        places = max(places, 1) if spread < LARGE else places
    cells = []
    for own in map(pd.Series, each):
        numbers = (
            own.quantile([0.5, 0.25, 0.75]) if median else own.agg(["mean", "std"])
        )
        first, *others = column(numbers.tolist(), [], places)
        text = with_interval(first, *others) if median else f"{first} ({others[0]})"
        cells.append(text if len(own) else "–")
    return "median (IQR)" if median else "mean (SD)", cells
