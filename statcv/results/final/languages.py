"""How an expression is written in Python, R, SQL, a spreadsheet, LaTeX and text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from statcv.results.final.expressions import (
    Call,
    Column,
    Expression,
    Level,
    Levels,
    Number,
    Spline,
)
from statcv.results.writers import latex

Cases = list[tuple[str, str]]  # conditions, each with a value


@dataclass(frozen=True)
class Language:
    """What differs between languages.

    Attributes
    ----------
    column : callable
        Function that writes a column.
    number : callable
        Function that writes a number, with all its digits unless it rounds.
    text : callable
        Function that writes a level that is text.
    templates : dict
        How each operation is written, with its arguments as ``{0}``, ``{1}``.
    same : str
        How a value is compared with a level that is text.
    cases : callable
        Function of conditions with values, and of the value otherwise, that writes the
        value of the first condition that is true.
    missing : str
        The missing value.
    """

    column: Callable[[Column], str]
    number: Callable[[float], str]
    text: Callable[[str], str]
    templates: Mapping[str, str]
    cases: Callable[[Cases, str], str]
    missing: str
    same: str = "{0} = {1}"

    def written(self, expression: Expression) -> str:
        """Return the text of an expression, in brackets where it needs them."""
        match expression:
            case Number(value):
                shown = self.number(value)
                return f"({shown})" if value < 0 else shown
            case Column():
                return self.column(expression)
            case Call(operation, arguments):
                parts = [self.written(one) for one in arguments]
                return self.templates[operation].format(*parts)
            case Levels():
                return self.levels(expression)
            case Spline():
                return self.spline(expression)

    def levels(self, one: Levels) -> str:
        """Write a number for each level."""
        of = self.written(one.of)
        cases = [(self._is(of, level), self.number(x)) for level, x in one.values]
        if one.otherwise is not None:
            absent = self.templates["absent"].format(of)
            cases = [(absent, self.missing), *cases]
            return self.cases(cases, self.number(one.otherwise))
        return self.cases(cases, self.missing)

    def _is(self, of: str, level: Level) -> str:
        if isinstance(level, str):
            return self.same.format(of, self.text(level))
        return self.templates["equal"].format(of, self.number(level))

    def spline(self, one: Spline) -> str:
        """Write a polynomial by Horner's rule, and what changes from each knot on."""
        of = self.written(one.of)
        made = self._polynomial(of, one.origin, one.coefficients)
        for knot in one.knots:
            own = {power: d for at, power, d in one.jumps if at == knot}
            change = [own.get(power, 0.0) for power in range(max(own) + 1)]
            below = self.templates["below"].format(of, self.number(knot))
            beyond = self._polynomial(of, knot, change)
            jump = self.cases([(below, self.number(0.0))], beyond)
            made = self.templates["+"].format(made, jump)
        return made

    def _polynomial(self, of: str, origin: float, given: Sequence[float]) -> str:
        x = of
        if origin:
            x = self.templates["-"].format(of, self.written(Number(origin)))
        made = self.written(Number(given[-1]))
        for coefficient in given[-2::-1]:
            made = self.templates["*"].format(made, x)
            if coefficient:
                shown = self.written(Number(coefficient))
                made = self.templates["+"].format(shown, made)
        return made


def exact(value: float) -> str:
    """Return the shortest decimal number that is read as the same number."""
    return repr(float(value))


def _nested(template: str) -> Callable[[Cases, str], str]:
    """Return a function that writes cases by a nested choice between two."""

    def write(cases: Cases, otherwise: str) -> str:
        made = otherwise
        for condition, value in reversed(cases):
            made = template.format(condition, value, made)
        return made

    return write


COMPARED = ("<", "<=", ">", ">=", "==")
INFIX = {name: f"({{0}} {name} {{1}})" for name in ("+", "-", "*", "/")}
PYTHON = Language(
    column=lambda one: f"row[{one.name!r}]",
    number=exact,
    text=repr,
    templates={
        **INFIX,
        "**": "({0} ** {1})",
        "negative": "(-{0})",
        "absent": "{0} != {0}",
        "equal": "{0} == {1}",
        "below": "{0} < {1}",
        **{sign: f"float({{0}} {sign} {{1}})" for sign in COMPARED},
        "and": "min({0}, {1})",
        "or": "max({0}, {1})",
        "not": "(1 - {0})",
        "if": "({1} if {0} else {2})",
        "minimum": "min({0}, {1})",
        "maximum": "max({0}, {1})",
        "abs": "abs({0})",
        **{name: f"math.{name}({{0}})" for name in ("log", "exp", "sqrt", "floor")},
        "ceil": "math.ceil({0})",
    },
    cases=_nested("({1} if {0} else {2})"),
    missing="math.nan",
    same="{0} == {1}",
)
R = Language(
    column=lambda one: f"data[[{json.dumps(one.name, ensure_ascii=False)}]]",
    number=exact,
    text=lambda level: json.dumps(level, ensure_ascii=False),
    templates={
        **INFIX,
        "**": "({0} ^ {1})",
        "negative": "(-{0})",
        "absent": "is.na({0})",
        "equal": "{0} == {1}",
        "below": "{0} < {1}",
        **{sign: f"as.numeric({{0}} {sign} {{1}})" for sign in COMPARED},
        "and": "pmin({0}, {1})",
        "or": "pmax({0}, {1})",
        "not": "(1 - {0})",
        "if": "ifelse({0} != 0, {1}, {2})",
        "minimum": "pmin({0}, {1})",
        "maximum": "pmax({0}, {1})",
        **{name: f"{name}({{0}})" for name in ("log", "exp", "sqrt", "abs", "floor")},
        "ceil": "ceiling({0})",
    },
    cases=_nested("ifelse({0}, {1}, {2})"),
    missing="NA",
    same="{0} == {1}",
)


def _sql_cases(cases: Cases, otherwise: str) -> str:
    when = " ".join(f"WHEN {condition} THEN {value}" for condition, value in cases)
    return f"CASE {when} ELSE {otherwise} END"


def _sql_column(one: Column) -> str:
    quoted = '"' + one.name.replace('"', '""') + '"'
    if one.kind == "text":
        return quoted
    if one.kind == "truth":
        return f"CASE WHEN {quoted} THEN 1.0 WHEN NOT {quoted} THEN 0.0 END"
    return f"CAST({quoted} AS DOUBLE PRECISION)"


def _condition(sign: str) -> str:
    both = f"{{0}} {sign} {{1}}"
    return f"CASE WHEN {both} THEN 1.0 WHEN NOT {both} THEN 0.0 END"


SQL = Language(
    column=_sql_column,
    number=exact,
    text=lambda level: "'" + level.replace("'", "''") + "'",
    templates={
        **INFIX,
        "**": "POWER({0}, {1})",
        "negative": "(-{0})",
        "absent": "{0} IS NULL",
        "equal": "{0} = {1}",
        "below": "{0} < {1}",
        **{sign: _condition(sign.replace("==", "=")) for sign in COMPARED},
        "and": "({0} * {1})",
        "or": "({0} + {1} - {0} * {1})",
        "not": "(1.0 - {0})",
        "if": "CASE WHEN {0} <> 0 THEN {1} WHEN {0} = 0 THEN {2} END",
        "minimum": "CASE WHEN {0} < {1} THEN {0} WHEN {0} >= {1} THEN {1} END",
        "maximum": "CASE WHEN {0} > {1} THEN {0} WHEN {0} <= {1} THEN {1} END",
        "log": "LN({0})",
        **{name: f"{name.upper()}({{0}})" for name in ("exp", "sqrt", "abs", "floor")},
        "ceil": "CEIL({0})",
    },
    cases=_sql_cases,
    missing="NULL",
)


def spreadsheet(cell_of: Callable[[str], str]) -> Language:
    """Return the language of formulas in cells.

    Parameters
    ----------
    cell_of : callable
        Function of the name of a column that returns its cell, such as ``B2``.
    """
    return Language(
        column=lambda one: (
            f"(1*{cell_of(one.name)})" if one.kind == "truth" else cell_of(one.name)
        ),
        number=exact,
        text=lambda level: '"' + level.replace('"', '""') + '"',
        templates={
            **INFIX,
            "**": "({0}^{1})",
            "negative": "(-{0})",
            "absent": "ISBLANK({0})",
            "equal": "{0}={1}",
            "below": "{0}<{1}",
            **{
                sign: f"IF({{0}}{sign.replace('==', '=')}{{1}},1,0)"
                for sign in COMPARED
            },
            "and": "MIN({0},{1})",
            "or": "MAX({0},{1})",
            "not": "(1-{0})",
            "if": "IF({0}<>0,{1},{2})",
            "minimum": "MIN({0},{1})",
            "maximum": "MAX({0},{1})",
            "log": "LN({0})",
            **{name: f"{name.upper()}({{0}})" for name in ("exp", "sqrt", "abs")},
            "floor": "INT({0})",
            "ceil": "(-INT(-{0}))",
        },
        cases=_nested("IF({0},{1},{2})"),
        missing="NA()",
        same="EXACT({0},{1})",
    )


# ---- for readers ----

TEXT = Language(
    column=lambda one: one.name,
    number=lambda value: f"{value:g}",
    text=str,
    templates={
        **INFIX,
        "**": "{0}^{1}",
        "negative": "-{0}",
        "absent": "{0} missing",
        "equal": "{0} = {1}",
        "below": "{0} < {1}",
        **{sign: f"[{{0}} {sign.replace('==', '=')} {{1}}]" for sign in COMPARED},
        "and": "{0} {1}",
        "or": "max({0}, {1})",
        "not": "(1 - {0})",
        "if": "({1} if {0}, else {2})",
        "minimum": "min({0}, {1})",
        "maximum": "max({0}, {1})",
        **{
            name: f"{name}({{0}})"
            for name in ("log", "exp", "sqrt", "abs", "floor", "ceil")
        },
    },
    cases=lambda cases, otherwise: "; ".join(
        f"{value} if {condition}" for condition, value in cases
    ),
    missing="none",
)


def latex_text(text: str) -> str:
    """Return text as it stands in a formula of LaTeX."""
    return rf"\text{{{latex(text)}}}"


LATEX = Language(
    column=lambda one: latex_text(one.name),
    number=lambda value: latex_number(f"{value:g}"),
    text=latex_text,
    templates={
        "+": "({0} + {1})",
        "-": "({0} - {1})",
        "*": r"{0} \cdot {1}",
        "/": r"\frac{{{0}}}{{{1}}}",
        "**": "{{{0}}}^{{{1}}}",
        "negative": "-{0}",
        "absent": r"{0}\ \text{{missing}}",
        "equal": "{0} = {1}",
        "below": "{0} < {1}",
        "<": "[{0} < {1}]",
        "<=": r"[{0} \le {1}]",
        ">": "[{0} > {1}]",
        ">=": r"[{0} \ge {1}]",
        "==": "[{0} = {1}]",
        "and": r"{0} \cdot {1}",
        "or": r"\max({0}, {1})",
        "not": "(1 - {0})",
        "if": r"({1}\ \text{{if}}\ {0}\text{{, else}}\ {2})",
        "minimum": r"\min({0}, {1})",
        "maximum": r"\max({0}, {1})",
        "log": r"\log({0})",
        "exp": r"\exp({0})",
        "sqrt": r"\sqrt{{{0}}}",
        "abs": r"\lvert {0} \rvert",
        "floor": r"\lfloor {0} \rfloor",
        "ceil": r"\lceil {0} \rceil",
    },
    cases=lambda cases, otherwise: ", ".join(
        rf"{value}\ \text{{if}}\ {condition}" for condition, value in cases
    ),
    missing=r"\text{none}",
)


def latex_number(shown: str) -> str:
    r"""Return a printed number as it stands in a formula of LaTeX.

    >>> print(latex_number("1.5e-07"))
    1.5 \cdot 10^{-7}
    """
    mantissa, power, exponent = shown.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if power else mantissa
