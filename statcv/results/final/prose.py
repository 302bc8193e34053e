"""An equation as a reader sees it: plain text, LaTeX and Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from statcv.results.final.expressions import (
    Call,
    Expression,
    Levels,
    Number,
    Spline,
    distance,
    is_level,
)
from statcv.results.final.languages import SPELLINGS, Language, exact
from statcv.results.writing.writers import latex, plain
from statcv.tables import WIDTH

if TYPE_CHECKING:
    from statcv.results.final.equation import Equation, Part

Term = tuple[float, str]  # a number, and what it multiplies; nothing stands for 1
Block = tuple[str, list[Term]]  # what is defined, and the terms whose sum it is

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
        levels = equation.levels[1:] if equation.kind == "binary" else equation.levels
        for level, parts in zip(levels or [""], few.parts, strict=True):
            head = self.language.spell(few.kind, text(few.outcome), text(str(level)))
            yield head, [self._term(part, few.digits) for part in parts]
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
