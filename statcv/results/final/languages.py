"""How an equation is spelled: as code, as formulas of a spreadsheet, and in print."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import TYPE_CHECKING, Any

import pandas as pd

from statcv.arguments import check_types
from statcv.errors import ArgumentError, ColumnError, needed
from statcv.formula import as_frame
from statcv.results.final.expressions import (
    COMPARED,
    Call,
    Column,
    Expression,
    Levels,
    Number,
    Spline,
    Text,
    distance,
    is_level,
)
from statcv.results.wording.phrases import phrase
from statcv.results.writing.writers import latex, plain, template
from statcv.tables import WIDTH

if TYPE_CHECKING:
    from statcv.results.final.equation import Equation, Part

SAME = {"logical_and": "minimum", "logical_or": "maximum"}  # for conditions


def _spellings() -> dict[str, dict[str, str]]:
    """Return the spelling of each operation, for each language of the table."""
    table = resources.files("statcv.results.final").joinpath("spellings.txt")
    lines = [one for one in table.read_text("utf-8").splitlines() if one[:1].strip("#")]
    (_, *languages), *rows = (re.split(" {2,}", line) for line in lines)
    made: dict[str, dict[str, str]] = {language: {} for language in languages}
    for operation, *spelled in rows:
        every = spelled * len(languages) if len(spelled) == 1 else spelled
        for language, one in zip(languages, every, strict=True):
            if one != "-":
                made[language][operation] = one
    return made


SPELLINGS = _spellings()


def exact(value: float) -> str:
    """Return the shortest decimal number that is read as the same number."""
    return repr(float(value))


def _without_brackets(text: str) -> str:
    """Return a text without the brackets that are around all of it.

    >>> _without_brackets("(a + 1)"), _without_brackets("(a + 1) * (b)")
    ('a + 1', '(a + 1) * (b)')
    """
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if not depth:
            whole = place and place == len(text) - 1
            return text[1:-1] if whole else text
    return text


@dataclass(frozen=True)
class Language:
    """How a language spells expressions.

    Attributes
    ----------
    spelled : dict
        The spelling of each operation.
    quote, text : callable
        Functions that write the name of a column, and a level that is text.
    number : callable
        Function that writes a number, with all its digits unless it rounds.
    """

    spelled: Mapping[str, str]
    quote: Callable[[str], str]
    text: Callable[[str], str]
    number: Callable[[float], str] = exact

    def spell(self, operation: str, *given: str) -> str:
        """Return the text of an operation on texts."""
        own = SAME.get(operation, operation)
        if own == "where" and given[2].startswith("CASE WHEN "):
            return f"CASE WHEN {given[0]} THEN {given[1]} {given[2][5:]}"
        texts = dict(zip("ABC", given, strict=False)) | {"F": own, "U": own.upper()}
        template = self.spelled.get(own, self.spelled["call"])
        return re.sub(
            r"(?<![A-Za-z])[ABCFU](?![A-Za-z])", lambda found: texts[found[0]], template
        )

    def written(self, expression: Expression) -> str:
        """Return the text of an expression, in brackets where it needs them."""
        match expression:
            case Number(value) if math.isnan(value):
                return self.spelled["missing"]
            case Number(value):
                return f"({self.number(value)})" if value < 0 else self.number(value)
            case Text(value):
                return self.text(value)
            case Column(name, kind):
                return self.spell(kind, name if kind == "linear" else self.quote(name))
            case Call(operation, _) if operation in COMPARED:
                numbers = self.number(1.0), self.number(0.0)
                kind = "truth of" if "truth of" in self.spelled else "where"
                return self.spell(kind, self.condition(expression), *numbers)
            case Call("where", (condition, *both)):
                texts = map(self.written, both)
                return self.spell("where", self.condition(condition), *texts)
            case Call(operation, (only,)) if operation not in self.spelled:
                return self.spell(operation, _without_brackets(self.written(only)))
            case Call(operation, arguments):
                return self.spell(operation, *map(self.written, arguments))
            case Levels(of, values, otherwise):
                made = self.written(
                    Number(math.nan if otherwise is None else otherwise)
                )
                for level, number in reversed(values):
                    same = self.condition(is_level(of, level))
                    made = self.spell("where", same, self.written(Number(number)), made)
                return made
            case Spline():
                return self.written(expression.in_steps())

    def condition(self, expression: Expression) -> str:
        """Return the text of an expression that is 1 or 0, as a condition."""
        if not (isinstance(expression, Call) and expression.operation in COMPARED):
            expression = Call("not_equal", (expression, Number(0.0)))
        of_text = any(isinstance(one, Text) for one in expression.arguments)
        operation = "is" if of_text else expression.operation
        return self.spell(operation, *map(self.written, expression.arguments))

    def sum(self, parts: tuple[Part, ...], start: str) -> str:
        """Write a linear predictor."""

        def product(part: Part) -> str:
            alone = part.coefficient == 1.0 and part.factors
            numbers = [] if alone else [self.number(part.coefficient)]
            return " * ".join([*numbers, *map(self.written, part.factors)])

        return start + f"{start}+ ".join(map(product, parts))


def quoted(text: str) -> str:
    """Return text in double quotes, as Python and R read it."""
    return json.dumps(text, ensure_ascii=False)


def _doubled(mark: str) -> Callable[[str], str]:
    return lambda text: mark + text.replace(mark, 2 * mark) + mark


PYTHON = Language(SPELLINGS["Python"], repr, repr)
R = Language(SPELLINGS["R"], quoted, quoted)
SQL = Language(SPELLINGS["SQL"], _doubled('"'), _doubled("'"))
CELLS = Language(SPELLINGS["cells"], str, _doubled('"'))


# ---- whole equations ----


def _code(
    equation: Equation, language: Language, form: str, indent: str, **more: Any
) -> str:
    """Return code by a template of linear predictors, and of predictions by level."""
    names = [f"linear_{k + 1}" for k in range(len(equation.parts))]
    sums = [language.sum(parts, f"\n{indent}") for parts in equation.parts]
    made = [*map(language.written, equation.results(names))]
    levels = map(as_python, equation.predicted if len(made) > 1 else [""])
    facts: dict[str, Any] = {"names": equation.names, "what": _described(equation)}
    facts["linear"] = [*zip(names, sums, strict=True)]
    facts["results"] = [*zip(levels, made, strict=True)]
    facts |= {"quoted": language.quote, "repr": repr, **more}
    text = template("statcv.results.final", f"{form}.txt").render(facts)
    return text.removesuffix("\n")


def _described(equation: Equation) -> str:
    return " ".join(phrase("equation", equation).split())


def to_python(equation: Equation, name: str = "predict") -> str:
    """Return a Python function of one record, which needs only ``math``.

    Parameters
    ----------
    name : str, default "predict"
        The name of the function.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> exec(res.final.equation().to_python())
    >>> round(predict({"GPA": 3.5, "PSI": 1}), 3)
    0.811
    """
    check_types(to_python, locals())
    if not name.isidentifier():
        raise ArgumentError(f"name={name!r} is not the name of a function.")
    columns = ", ".join(equation.names) or "no column"
    what = f"{_described(equation)} from {columns}."
    own = {"name": name, "what": what, "quoted": quoted}
    return _code(equation, PYTHON, "python", 8 * " ", **own)


def to_r(equation: Equation, name: str = "predict_outcome") -> str:
    """Return an R function of a data frame."""
    check_types(to_r, locals())
    return _code(equation, R, "r", 4 * " ", name=name)


def to_sql(equation: Equation, table: str) -> str:
    """Return a query that adds predictions to the rows of a table.

    It is understood by PostgreSQL, DuckDB and SQLite (with mathematical functions).

    Parameters
    ----------
    table : str
        The name of the table.
    """
    check_types(to_sql, locals())
    there = " AND ".join(f"{SQL.quote(one)} IS NOT NULL" for one in equation.names)
    return _code(equation, SQL, "sql", 8 * " ", table=table, there=there or "1 = 1")


def to_excel(equation: Equation, path: Any, data: object = None) -> None:
    """Write a spreadsheet with a row for each record, and formulas that predict.

    Parameters
    ----------
    path : str or path
        The file, which ends in ``.xlsx``.
    data : data frame, optional
        Records to write; unless given, one empty row is there to fill in.

    Raises
    ------
    MissingPackageError
        If openpyxl is not installed.
    """
    utils = needed("openpyxl.utils", "to_excel() needs openpyxl: pip install openpyxl.")
    names, wide = equation.names, len(equation.names)
    empty = pd.DataFrame({name: [None] for name in names}, [0])
    frame = empty if data is None else as_frame(data)
    if missing := [name for name in names if name not in frame.columns]:
        raise ColumnError(f"the data lack the column {missing[0]!r}.")
    heads = [f"linear predictor {k + 1}" for k in range(len(equation.parts))]
    classes = [f"P({equation.outcome} = {level})" for level in equation.levels]
    classes = classes[1:] if equation.kind == "binary" else classes
    heads += classes or [f"predicted {equation.outcome}"]
    survival = equation.kind == "survival"  # whose linear predictor is a prediction
    heads = list(equation.predicted) if survival else heads
    rows = []
    for number in range(2, len(frame) + 2):
        letters = map(utils.get_column_letter, range(1, wide + len(equation.parts) + 1))
        cells = [f"{letter}{number}" for letter in letters]
        own = dict(zip(names, cells, strict=False)).__getitem__
        language = replace(CELLS, quote=own)
        sums = [language.sum(parts, "") for parts in equation.parts]
        if names:
            blank = f"COUNTBLANK({cells[0]}:{cells[wide - 1]})>0"
            sums = [f"IF({blank},NA(),{one})" for one in sums]
        sums += map(language.written, equation.results(cells[wide:])[int(survival) :])
        rows.append([f"={one}" for one in sums])
    made = pd.DataFrame(rows, frame.index, heads)
    made = pd.concat([frame[names], made], axis=1)
    made.to_excel(path, sheet_name="prediction", index=False, freeze_panes=(1, 0))


def as_python(level: Any) -> Any:
    """Return a level as text or a number of Python."""
    return level if isinstance(level, str) else getattr(level, "item", lambda: level)()


# ---- as a reader sees it: plain text, LaTeX and Markdown ----


Term = tuple[float, str]  # a number, and what it multiplies; nothing stands for 1
Block = tuple[str, list[Term]]  # what is defined, and the terms whose sum it is

ORDERED = "The score is that of R's polr(), whose cut points are minus these constants."
SOFTMAX = "P(class) is exp(its score) / the sum of exp(score) over all classes."
BEYOND = "(u)+ is u where u is above 0, and 0 elsewhere."


def _number(value: float) -> str:
    return exact(value).removesuffix(".0")


def _latex_number(value: float) -> str:
    r"""Return a number as it stands in a formula of LaTeX.

    >>> print(_latex_number(1.5e-07))
    1.5 \cdot 10^{-7}
    """
    mantissa, power, exponent = _number(value).partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if power else mantissa


def _latex_text(text: str) -> str:
    return rf"\text{{{latex(text)}}}"


TEXT = Language(SPELLINGS["text"], str, str, _number)
LATEX = Language(SPELLINGS["LaTeX"], _latex_text, _latex_text, _latex_number)


@dataclass
class _Writer:
    """The terms of an equation, and the functions that they call.

    Attributes
    ----------
    language : Language
    functions : dict
        Splines, and codings of several levels, by the names that they got.
    """

    language: Language
    functions: dict[str, Levels | Spline] = field(default_factory=dict)

    def blocks(self, equation: Equation) -> Iterator[Block]:
        """Yield each linear predictor, and then each function."""
        text, few = self.language.text, equation.rounded(equation.digits)
        first = few.kind in ("binary", "ordered")  # the first class has no predictor
        score = self.language.spell("score")
        shared: list[Part] = []
        for level, parts in zip(few.levels[first:] or [""], few.parts, strict=True):
            head = self.language.spell(few.kind, text(few.outcome), text(str(level)))
            if few.kind == "ordered":
                shared = [part for part in parts if part.factors]
            own = [part for part in parts if part not in shared]
            terms = [self._term(part, few.digits) for part in own]
            yield head, [*terms, *[(1.0, score)][: len(shared)]]
        if shared:
            yield score, [self._term(part, few.digits) for part in shared]
        for name, one in self.functions.items():
            found = self._coding(one) if isinstance(one, Levels) else self._spline(one)
            yield name, [term for term in found if term[0]] or [(0.0, "")]

    def risks(self, equation: Equation) -> Iterator[tuple[str, str]]:
        """Yield the risk by each horizon, and what it is."""
        spell, number = self.language.spell, self.language.number
        for horizon, start in equation.rounded(equation.digits).baseline:
            yield spell("risk", number(horizon)), spell("baseline", number(start))

    def _term(self, part: Part, digits: int) -> Term:
        number, products = part.coefficient, list[str]()
        for one in part.factors:
            slope, product = self._factor(one)
            number *= slope
            products.append(product)
        return float(f"{number:.{digits}g}"), self.times.join(products)

    def _factor(self, one: Expression) -> Term:
        written = self.language.written
        if isinstance(one, Levels):
            present = [level for level, code in one.values if code]
            if [code for _, code in one.values if code] == [1.0]:
                return 1.0, written(is_level(one.of, present[0]))
        elif not isinstance(one, Spline):
            return 1.0, written(one)
        elif not one.jumps and not one.coefficients[0] and len(one.coefficients) == 2:
            return one.coefficients[1], written(distance(one.of, one.origin))
        for name, other in self.functions.items():
            if other == one:
                return 1.0, name
        number = 1 + sum(type(a) is type(one) for a in self.functions.values())
        index = f"_{{{number}}}" if self.language is LATEX else str(number)
        letter = "f" if isinstance(one, Spline) else "c"
        name = f"{letter}{index}({written(one.of)})"
        self.functions[name] = one
        return 1.0, name

    def _coding(self, one: Levels) -> Iterator[Term]:
        for level, code in one.values:
            yield code, self.language.written(is_level(one.of, level))

    def _spline(self, one: Spline) -> Iterator[Term]:
        written, spell = self.language.written, self.language.spell

        def power(x: str, k: int) -> str:
            return "" if not k else x if k == 1 else spell("power", x, str(k))

        for k, coefficient in enumerate(one.coefficients):
            yield coefficient, power(written(distance(one.of, one.origin)), k)
        for knot, k, coefficient in one.jumps:
            x = written(distance(one.of, knot)) if knot else f"({written(one.of)})"
            at_least = written(Call("greater_equal", (one.of, Number(knot))))
            beyond = power(spell("from a knot", x), k)
            yield coefficient, beyond if k else at_least

    @property
    def times(self) -> str:
        """What stands between factors."""
        return r"\," if self.language is LATEX else " "

    def lines(self, terms: list[Term]) -> list[str]:
        """Return each term with its sign, but a first one that is positive."""
        made: list[str] = []
        for number, product in terms:
            size = self.language.number(abs(number))
            factors = [product] if product and size == "1" else [size, product]
            sign = ("-" if number < 0 else "+") + (" " if made else "")
            made.append(sign + self.times.join(filter(None, factors)))
        return [made[0].removeprefix("+"), *made[1:]]

    def notes(self, equation: Equation) -> list[str]:
        """Return what a reader has to know besides."""
        splines = [one for one in self.functions.values() if isinstance(one, Spline)]
        beyond = any(k and d for one in splines for _, k, d in one.jumps)
        notes = [f"{risk} = {value}" for risk, value in self.risks(equation)]
        notes += [SOFTMAX] if equation.kind == "multiclass" else []
        notes += [ORDERED] if equation.kind == "ordered" else []
        return [*notes, BEYOND] if beyond else notes


def to_text(equation: Equation) -> str:
    """Return the equation, one line per term."""
    writer, made = _Writer(TEXT), []
    wrap = textwrap.TextWrapper(
        WIDTH, "    ", "        ", break_long_words=False, break_on_hyphens=False
    )
    for head, terms in writer.blocks(equation):
        made.append(f"{head} =")
        for line in writer.lines(terms):
            made += wrap.wrap(line)
        made.append("")
    return "\n".join([*made, *writer.notes(equation)]).rstrip()


def to_latex(equation: Equation) -> str:
    """Return LaTeX for ``amsmath``: an ``align*`` with a line for each term."""
    writer, rows = _Writer(LATEX), []
    for head, terms in writer.blocks(equation):
        first, *rest = writer.lines(terms)
        rows += [f"{head} ={{}}& {first}", *(f"& {one}" for one in rest)]
    if equation.kind == "multiclass":
        rows.append(r"P(\text{class}) ={}& \exp(s_{\text{class}}) / \sum \exp(s)")
    rows += [f"{risk} ={{}}& {value}" for risk, value in writer.risks(equation)]
    body = " \\\\\n".join(rows)
    return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"


def to_markdown(equation: Equation) -> str:
    """Return Markdown: a table of terms and coefficients, and of each function."""
    writer, made = _Writer(TEXT), []
    for head, terms in writer.blocks(equation):
        made += [f"**{plain(head)}** is the sum of", ""]
        made += ["| coefficient | times |", "| --: | :-- |"]
        made += [f"| {_number(number)} | {plain(one)} |" for number, one in terms]
        made.append("")
    return "\n".join([*made, "\n\n".join(writer.notes(equation))])
