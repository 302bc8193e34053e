"""An equation as code: Python, R, SQL, and the formulas of a spreadsheet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pandas as pd

from statcv.errors import ArgumentError, MissingPackageError
from statcv.results.final.languages import PYTHON, SQL, Language, R, exact, spreadsheet

if TYPE_CHECKING:
    from statcv.results.final.equation import Equation, Part

LARGEST = 700.0  # the largest linear predictor whose exponential all databases compute


def _product(language: Language, part: Part) -> str:
    """Write a coefficient times its factors."""
    factors = [language.written(one) for one in part.factors]
    coefficient = exact(part.coefficient)
    if part.coefficient == 1.0 and factors:
        return " * ".join(factors)
    return " * ".join([coefficient, *factors])


def _sum(language: Language, parts: tuple[Part, ...], start: str = "\n        ") -> str:
    return f"{start}+ ".join(_product(language, part) for part in parts)


def to_python(equation: Equation, name: str) -> str:
    """Return a function of a record that maps columns to values."""
    names = ", ".join(one.name for one in equation.columns)
    lines = [
        "import math",
        "",
        "",
        f"def {name}(row):",
        f'    """{_described(equation)} from {names or "no column"}."""',
        f"    if any(row[name] is None for name in {_names(equation)!r}):",
        "        return math.nan",
    ]
    sums = [_sum(PYTHON, parts) for parts in equation.parts]
    if equation.kind == "multiclass":
        lines += ["    linear = ["]
        lines += [f"        {one}," for one in sums]
        lines += [
            "    ]",
            "    most = max(linear)",
            "    odds = [math.exp(one - most) for one in linear]",
            f"    levels = {[plain(one) for one in equation.levels]!r}",
            "    return dict(zip(levels, [one / sum(odds) for one in odds]))",
        ]
        return "\n".join(lines) + "\n"
    lines += ["    linear = (", f"        {sums[0]}", "    )"]
    if equation.kind == "continuous":
        return "\n".join([*lines, "    return linear"]) + "\n"
    lines += [
        "    if linear < 0:",
        "        return math.exp(linear) / (1 + math.exp(linear))",
        "    return 1 / (1 + math.exp(-linear))",
    ]
    return "\n".join(lines) + "\n"


def _names(equation: Equation) -> list[str]:
    return [one.name for one in equation.columns]


def plain(level: Any) -> Any:
    """Return a level as text or a number of Python."""
    return level if isinstance(level, str) else getattr(level, "item", lambda: level)()


def _described(equation: Equation) -> str:
    if equation.kind == "continuous":
        return f"The expected {equation.outcome}"
    if equation.kind == "binary":
        return f"The probability that {equation.outcome} is {equation.levels[1]}"
    return f"The probability of each class of {equation.outcome}"


def to_r(equation: Equation, name: str) -> str:
    """Return an R function of a data frame."""
    sums = [_sum(R, parts, "\n    ") for parts in equation.parts]
    comment = f"# {_described(equation)}, for each row of a data frame."
    head = [comment, f"{name} <- function(data) {{"]
    if equation.kind != "multiclass":
        last = "plogis(linear)" if equation.kind == "binary" else "linear"
        linear = f"  linear <- rep(0, nrow(data)) + ({sums[0]}\n  )"
        return "\n".join([*head, linear, f"  {last}", "}"]) + "\n"
    each = ",\n".join(f"    rep(0, nrow(data)) + ({one})" for one in sums)
    levels = ", ".join(
        json.dumps(str(one), ensure_ascii=False) for one in equation.levels
    )
    return "\n".join(
        [
            *head,
            f"  linear <- cbind(\n{each}\n  )",
            "  odds <- exp(linear - apply(linear, 1, max))",
            "  risks <- odds / rowSums(odds)",
            f"  colnames(risks) <- c({levels})",
            "  risks",
            "}\n",
        ]
    )


def to_sql(equation: Equation, table: str) -> str:
    """Return a query that adds predictions to the rows of a table."""
    quoted = _quoted(table)
    sums = [_sum(SQL, parts) for parts in equation.parts]
    names = [f"linear_{k + 1}" for k in range(len(sums))]
    inner = ",\n    ".join(
        f"CAST({one} AS DOUBLE PRECISION) AS {name}"
        for one, name in zip(sums, names, strict=True)
    )
    inside = f"FROM (\n  SELECT *,\n    {inner}\n  FROM {quoted}\n) AS computed"
    if equation.kind == "continuous":
        return f"SELECT *, linear_1 AS predicted\n{inside}\n"
    if equation.kind == "binary":
        most = f"CASE WHEN linear_1 > {LARGEST} THEN {LARGEST} ELSE linear_1 END"
        risk = (
            f"CASE WHEN linear_1 < -{LARGEST} THEN 0.0\n"
            f"  ELSE 1.0 / (1.0 + EXP(-{most})) END"
        )
        return f"SELECT *, {risk} AS predicted\n{inside}\n"
    shares = []
    for k, level in enumerate(equation.levels):
        odds = " + ".join(
            f"EXP(CASE WHEN {other} - {names[k]} > {LARGEST} THEN {LARGEST} "
            f"WHEN {other} - {names[k]} < -{LARGEST} THEN -{LARGEST} "
            f"ELSE {other} - {names[k]} END)"
            for other in names
        )
        shares.append(f"1.0 / ({odds}) AS {_quoted(f'predicted_{level}')}")
    return f"SELECT *,\n  {', '.join(shares)}\n{inside}\n"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def to_excel(equation: Equation, path: Any, data: object) -> None:
    """Write a workbook with a row for each record, and formulas that predict."""
    try:
        from openpyxl import Workbook
        from openpyxl.styles import Font
        from openpyxl.utils import get_column_letter
    except ImportError:
        raise MissingPackageError(
            "to_excel() needs openpyxl: pip install openpyxl."
        ) from None
    names = _names(equation)
    frame = pd.DataFrame({name: [None] for name in names}) if data is None else data
    if not isinstance(frame, pd.DataFrame):
        raise ArgumentError(
            f"data must be a pandas data frame, not {type(frame).__name__}."
        )
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ArgumentError(f"the data lack the column {missing[0]!r}.")
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "prediction"
    linear = [f"linear predictor {k + 1}" for k in range(len(equation.parts))]
    classes = [f"{equation.outcome} = {level}" for level in equation.levels]
    predicted = {
        "binary": [f"P({classes[1]})"] if len(classes) > 1 else [],
        "continuous": [f"predicted {equation.outcome}"],
        "multiclass": [f"P({one})" for one in classes],
    }[equation.kind]
    sheet.append([*names, *linear, *predicted])
    for cell in sheet[1]:
        cell.font = Font(bold=True)
    first = len(names) + 1
    for number, row in enumerate(frame[names].itertuples(index=False), start=2):
        cells = {
            name: f"{get_column_letter(j + 1)}{number}" for j, name in enumerate(names)
        }
        language = spreadsheet(cells.__getitem__)
        blank = f"COUNTBLANK(A{number}:{get_column_letter(len(names))}{number})>0"
        formulas = [
            f"=IF({blank},NA(),{_sum(language, parts, '')})"
            if names
            else f"={_sum(language, parts, '')}"
            for parts in equation.parts
        ]
        etas = [f"{get_column_letter(first + k)}{number}" for k in range(len(linear))]
        if equation.kind == "binary":
            formulas.append(f"=1/(1+EXP(-{etas[0]}))")
        elif equation.kind == "continuous":
            formulas.append(f"={etas[0]}")
        else:
            formulas += [
                "=1/(" + "+".join(f"EXP({other}-{own})" for other in etas) + ")"
                for own in etas
            ]
        values = [None if pd.isna(one) else plain(one) for one in row]
        sheet.append([*values, *formulas])
    sheet.freeze_panes = "A2"
    book.save(path)
