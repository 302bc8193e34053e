"""An equation as a reader sees it: plain text, LaTeX, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from statcv.results.final.expressions import Expression, Levels, Spline
from statcv.results.final.languages import (
    LATEX,
    TEXT,
    Language,
    latex_number,
    latex_text,
)
from statcv.results.writers import plain

if TYPE_CHECKING:
    from statcv.results.final.equation import Equation, Part

BEYOND = "(u)+ is u where u is above 0, and 0 elsewhere."
SOFTMAX = "P(class) is exp(its score) / the sum of exp(score) over all classes."


@dataclass(frozen=True)
class _Term:
    """A number, and what it multiplies; an empty text stands for a factor of 1."""

    number: float
    product: str = ""


@dataclass(frozen=True)
class _Style:
    """How terms are put together in text, or in LaTeX."""

    language: Language
    number: Callable[[str], str]
    times: str
    power: str
    beyond: str  # the positive part of {0}
    at_least: str
    function: str  # by its letter, number and argument

    def shown(self, term: _Term, digits: int) -> tuple[str, str]:
        """Return the sign of a term, and the rest."""
        size = self.number(f"{abs(term.number):.{digits}g}")
        if term.product and size == "1":
            size = ""
        text = self.times.join(one for one in (size, term.product) if one)
        return "-" if term.number < 0 else "+", text

    def distance(self, of: str, origin: float, digits: int) -> str:
        """Write the distance of an argument from a number."""
        if not origin:
            return of
        sign = "-" if origin > 0 else "+"
        return f"({of} {sign} {self.number(f'{abs(origin):.{digits}g}')})"


_PLAIN = _Style(TEXT, str, " ", "{0}^{1}", "{0}+", ">=", "{0}{1}({2})")
_TEX = _Style(
    LATEX, latex_number, r"\,", "{0}^{{{1}}}", "{0}_+", r"\ge", "{0}_{{{1}}}({2})"
)


@dataclass
class _Writer:
    """The terms of an equation, and the functions that they call.

    Attributes
    ----------
    style : _Style
    digits : int
    functions : dict
        Splines, and codings of several levels, by the names that they got.
    """

    style: _Style
    digits: int
    functions: dict[str, Levels | Spline] = field(default_factory=dict)

    def term(self, part: Part) -> _Term:
        """Return a part of a linear predictor."""
        number, names = part.coefficient, []
        for one in part.factors:
            name = self._factor(one)
            if isinstance(name, _Term):
                number, name = number * name.number, name.product
            names.append(name)
        return _Term(number, self.style.times.join(names))

    def _factor(self, one: Expression) -> str | _Term:
        language = self.style.language
        if not isinstance(one, (Levels, Spline)):
            return language.written(one)
        of = language.written(one.of)
        if isinstance(one, Levels):
            present = [(level, code) for level, code in one.values if code != 0]
            if len(present) == 1 and present[0][1] == 1.0:
                level = present[0][0]
                text = isinstance(level, str)
                shown = language.text(str(level)) if text else f"{level:g}"
                return f"[{of} = {shown}]"
        elif not one.jumps and not one.coefficients[0] and len(one.coefficients) == 2:
            distance = self.style.distance(of, one.origin, self.digits)
            return _Term(one.coefficients[1], distance)
        known = [name for name, other in self.functions.items() if other == one]
        if known:
            return known[0]
        alike = [a for a in self.functions.values() if type(a) is type(one)]
        number = 1 + len(alike)
        letter = "f" if isinstance(one, Spline) else "c"
        name = self.style.function.format(letter, number, of)
        self.functions[name] = one
        return name

    def definition(self, one: Spline) -> list[_Term]:
        """Return the terms of a spline."""
        style, of = self.style, self.style.language.written(one.of)
        made = []
        for k, coefficient in enumerate(one.coefficients):
            if coefficient:
                x = style.distance(of, one.origin, self.digits)
                made.append(_Term(coefficient, self._power(x, k)))
        for knot, k, coefficient in one.jumps:
            if coefficient and not k:
                at = style.number(f"{knot:.{self.digits}g}")
                made.append(_Term(coefficient, f"[{of} {style.at_least} {at}]"))
            elif coefficient:
                x = style.distance(of, knot, self.digits)
                x = x if knot else f"({of})"
                made.append(_Term(coefficient, self._power(style.beyond.format(x), k)))
        return made or [_Term(0.0)]

    def _power(self, x: str, k: int) -> str:
        return "" if not k else x if k == 1 else self.style.power.format(x, k)

    def lines(self, terms: list[_Term]) -> list[str]:
        """Return each term with its sign, but a first one that is positive."""
        (sign, first), *rest = [self.style.shown(term, self.digits) for term in terms]
        return [sign.replace("+", "") + first, *(f"{sign} {one}" for sign, one in rest)]

    @property
    def cut(self) -> bool:
        """Whether some spline has terms that begin at a knot."""
        every = self.functions.values()
        return any(
            k and d for one in every if isinstance(one, Spline) for _, k, d in one.jumps
        )


def _heads(equation: Equation) -> list[str]:
    if equation.kind == "continuous":
        return [f"E({equation.outcome})"]
    if equation.kind == "binary":
        return [f"logit P({equation.outcome} = {equation.levels[1]})"]
    return [f"score of {equation.outcome} = {level}" for level in equation.levels]


def _codes(one: Levels) -> list[tuple[str, str]]:
    return [
        (f"{code:g}", level if isinstance(level, str) else f"{level:g}")
        for level, code in one.values
    ]


def to_text(equation: Equation) -> str:
    """Return the equation, one line per term."""
    writer, made = _Writer(_PLAIN, equation.digits), []
    for head, parts in zip(_heads(equation), equation.parts, strict=True):
        lines = writer.lines([writer.term(part) for part in parts])
        made += [f"{head} =", *(f"    {one}" for one in lines)]
    if equation.kind == "multiclass":
        made.append(SOFTMAX)
    for name, one in writer.functions.items():
        if isinstance(one, Levels):
            lines = [f"{code} for {level}" for code, level in _codes(one)]
        else:
            lines = writer.lines(writer.definition(one))
        made += ["", f"{name} =", *(f"    {one}" for one in lines)]
    return "\n".join([*made, *(["", BEYOND] if writer.cut else [])])


def to_html(equation: Equation) -> str:
    """Return the text, as preformatted HTML."""
    return f"<pre>{escape(to_text(equation))}</pre>"


def to_latex(equation: Equation) -> str:
    """Return an ``align*`` with a line for each term."""
    writer, rows = _Writer(_TEX, equation.digits), []
    name = latex_text(equation.outcome)
    heads = [rf"s_{{{latex_text(str(one))}}}" for one in equation.levels]
    if equation.kind == "continuous":
        heads = [rf"\mathrm{{E}}({name})"]
    elif equation.kind == "binary":
        level = latex_text(str(equation.levels[1]))
        heads = [rf"\operatorname{{logit}} P({name} = {level})"]
    for head, parts in zip(heads, equation.parts, strict=True):
        rows += _aligned(head, writer.lines([writer.term(part) for part in parts]))
    if equation.kind == "multiclass":
        rows.append(r"P(\text{class}) ={}& \exp(s_{\text{class}}) / \sum \exp(s)")
    for name, one in writer.functions.items():
        if isinstance(one, Spline):
            rows += _aligned(name, writer.lines(writer.definition(one)))
            continue
        cases = r" \\ ".join(rf"{code}, & {latex_text(to)}" for code, to in _codes(one))
        rows.append(rf"{name} ={{}}& \begin{{cases}} {cases} \end{{cases}}")
    body = " \\\\\n".join(rows)
    return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"


def _aligned(head: str, lines: list[str]) -> list[str]:
    return [f"{head} ={{}}& {lines[0]}", *(f"& {one}" for one in lines[1:])]


def to_markdown(equation: Equation) -> str:
    """Return a table of coefficients and what they multiply, and one per function."""
    writer, made = _Writer(_PLAIN, equation.digits), []
    for head, parts in zip(_heads(equation), equation.parts, strict=True):
        made += _table(f"**{plain(head)}**", writer, [*map(writer.term, parts)])
    if equation.kind == "multiclass":
        made += [SOFTMAX, ""]
    for name, one in writer.functions.items():
        if isinstance(one, Spline):
            made += _table(plain(name), writer, writer.definition(one))
            continue
        made += [f"{plain(name)} is", "", "| code | level |", "| --: | :-- |"]
        made += [f"| {code} | {plain(level)} |" for code, level in _codes(one)]
        made.append("")
    return "\n".join([*made, *([BEYOND, ""] if writer.cut else [])])


def _table(head: str, writer: _Writer, terms: list[_Term]) -> list[str]:
    rows = [
        f"| {one.number:.{writer.digits}g} | {plain(one.product)} |" for one in terms
    ]
    head += " is the sum of"
    return [head, "", "| coefficient | times |", "| --: | :-- |", *rows, ""]
