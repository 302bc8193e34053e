"""The columns of a design matrix as expressions of the columns of the data."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import EquationError
from statcv.formula import Terms, as_function_name
from statcv.results.final.expressions import (
    TRUTHS,
    Call,
    Column,
    Expression,
    Levels,
    Number,
    Spline,
    evaluate,
)

Floats = NDArray[np.float64]
Factors = tuple[Expression, ...]  # their product is a column of the matrix

ROUNDING = 1e-13  # the part of a basis function that is rounding
BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.BitAnd: "and",
    ast.BitOr: "or",
}
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=="}
FUNCTIONS = {
    **{name: name for name in ("log", "exp", "sqrt", "abs", "floor", "ceil")},
    "absolute": "abs",
    "ceiling": "ceil",
    "where": "if",
    **{name: name for name in ("minimum", "maximum")},
    **{"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**"},
}
BASES = {"log2": 2.0, "log10": 10.0}
TRANSPARENT = ("I", "Q", "C", "float", "asarray", "array")


def column_factors(terms: Terms) -> list[Factors]:
    """Return expressions whose product is each column of the matrix of all rows.

    Raises
    ------
    EquationError
        If a term cannot be written down; the message names it and says why.
    """
    if terms.is_plain:
        return [
            tuple(_column_of(terms, name) for name in term)
            for term in terms.formula.products
        ]
    made: dict[tuple[str, ...], list[Factors]] = {}
    info = terms.whole
    for term, subterms in info.term_codings.items():
        columns = made.setdefault(tuple(one.code for one in term.factors), [])
        for subterm in subterms:
            parts = [
                _coded(terms, factor, info.factor_infos[factor], subterm)
                if factor in subterm.contrast_matrices
                else _numeric(terms, factor, info.factor_infos[factor])
                for factor in subterm.factors
            ]
            columns += [
                tuple(one for one in each[::-1] if one != Number(1.0))
                for each in product(*reversed(parts))
            ]
    return [one for term in terms.formula.terms for one in made[term]]


def _coded(terms: Terms, factor: Any, info: Any, subterm: Any) -> list[Expression]:
    """Return a number for each level, for each column of a coding."""
    coding = subterm.contrast_matrices[factor].matrix
    of = _reader(terms, factor.code, info.state).data()
    levels = [_plain(level) for level in info.categories]
    codes = [
        tuple(zip(levels, map(float, column), strict=True))
        for column in np.asarray(coding, dtype=float).T
    ]
    return [of if _is_truth(of, one) else Levels(of, one) for one in codes]


def _is_truth(of: Expression, codes: tuple[tuple[str | float, float], ...]) -> bool:
    """Return whether an expression is 0 or 1, as it is coded."""
    truth = isinstance(of, Column) and of.kind == "truth"
    truth |= isinstance(of, Call) and of.operation in TRUTHS
    truth |= isinstance(of, Levels)  # a comparison with text
    return truth and codes == ((0.0, 0.0), (1.0, 1.0))


def _numeric(terms: Terms, factor: Any, info: Any) -> list[Expression]:
    found = _reader(terms, factor.code, info.state).columns()
    if len(found) != info.num_columns:
        raise _unknown(factor.code, "its columns are not understood one by one")
    return found


def _plain(level: Any) -> str | float:
    return level if isinstance(level, str) else float(level)


def _column_of(terms: Terms, name: str) -> Column:
    dtype = terms.columns[name].dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return Column(name, "text")
    return Column(name, "truth" if dtype.kind == "b" else "number")


def _unknown(code: str, why: str) -> EquationError:
    return EquationError(
        f"the term {code!r} cannot be written as an equation: {why}. The model still "
        "predicts by predict(new); a term of operations, log, exp, sqrt, abs, bs, cr, "
        "poly, center or scale can be written down."
    )


def _reader(terms: Terms, code: str, state: Mapping[str, Any]) -> Reader:
    tree = ast.parse(state["eval_code"], mode="eval").body

    def column(name: str) -> Column:
        if name not in terms.columns:
            raise _unknown(code, f"{name} is not a column")
        return _column_of(terms, name)

    return Reader(code, tree, column, terms.frame, state["transforms"])


@dataclass(frozen=True)
class Reader:
    """Reads the Python of a factor, with what its functions learnt.

    Attributes
    ----------
    code : str
        The factor as it was written.
    tree : ast.expr
    column : callable
        Function of a name that returns the column.
    frame : pandas.DataFrame
        Rows on which functions were learnt.
    learnt : mapping
        Functions that learnt from the rows, by name.
    """

    code: str
    tree: ast.expr
    column: Callable[[str], Column]
    frame: pd.DataFrame = field(default_factory=pd.DataFrame)
    learnt: Mapping[str, Any] = field(default_factory=dict)

    def data(self) -> Expression:
        """Return the expression of a factor's values, which are levels."""
        found = self.columns()
        if len(found) != 1:
            raise _unknown(self.code, "its levels are not those of one column")
        return found[0]

    def columns(self) -> list[Expression]:
        """Return the expressions of all columns."""
        return self._read(self.tree)

    def _one(self, node: ast.expr) -> Expression:
        found = self._read(node)
        if len(found) != 1:
            shown = ast.unparse(node)
            raise _unknown(self.code, f"{shown} has {len(found)} columns")
        return found[0]

    def _read(self, node: ast.expr) -> list[Expression]:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return [Number(float(value))]
            case ast.Name():
                return [self.column(node.id)]
            case ast.UnaryOp(op=ast.USub()):
                inside = self._one(node.operand)
                if isinstance(inside, Number):
                    return [Number(-inside.value)]
                return [Call("negative", (inside,))]
            case ast.UnaryOp(op=ast.Invert()):
                return [Call("not", (self._one(node.operand),))]
            case ast.UnaryOp(op=ast.UAdd()):
                return self._read(node.operand)
            case ast.BinOp() if type(node.op) in BINARY:
                both = self._one(node.left), self._one(node.right)
                return [Call(BINARY[type(node.op)], both)]
            case ast.Compare(ops=[operator]):
                return [self._compared(node, operator)]
            case ast.Call():
                return self._called(node)
        raise _unknown(self.code, f"{ast.unparse(node)} is not among them")

    def _compared(self, node: ast.Compare, operator: ast.cmpop) -> Expression:
        right = node.comparators[0]
        if isinstance(right, ast.Constant) and isinstance(right.value, str):
            levels = self._levels_of(self._one(node.left))
            wanted = isinstance(operator, ast.Eq)
            if not levels or not isinstance(operator, (ast.Eq, ast.NotEq)):
                raise _unknown(self.code, f"{ast.unparse(node)} compares text")
            same = [(one, float((one == right.value) is wanted)) for one in levels]
            return Levels(self._one(node.left), tuple(same))
        both = self._one(node.left), self._one(right)
        if isinstance(operator, ast.NotEq):
            return Call("not", (Call("==", both),))
        if type(operator) not in COMPARISONS:
            raise _unknown(self.code, f"{ast.unparse(node)} is not among them")
        return Call(COMPARISONS[type(operator)], both)

    def _levels_of(self, column: Expression) -> list[str]:
        if not isinstance(column, Column) or column.kind != "text":
            return []
        return list(self.frame[column.name].cat.categories)

    def _called(self, node: ast.Call) -> list[Expression]:
        function, given = node.func, node.args
        if isinstance(function, ast.Attribute) and function.attr == "transform":
            return self._of_learnt(ast.unparse(function.value), node)
        name = as_function_name(ast.unparse(function).rpartition(".")[2])
        if name == "Q" and isinstance(given[0], ast.Constant):
            return [self.column(str(given[0].value))]
        if name in TRANSPARENT:
            return self._read(given[0])
        if node.keywords and name != "log":
            raise _unknown(self.code, f"{name}() is called with arguments by name")
        inside = [self._one(one) for one in given]
        if name == "log" and (len(inside) > 1 or node.keywords):
            inside += [self._one(one.value) for one in node.keywords]
            logs = [Call("log", (one,)) for one in inside]
            return [Call("/", (logs[0], logs[1]))]
        if name in BASES:
            base = Number(float(np.log(BASES[name])))
            return [Call("/", (Call("log", tuple(inside)), base))]
        if name == "log1p":
            return [Call("log", (Call("+", (Number(1.0), *inside)),))]
        if name == "expm1":
            return [Call("-", (Call("exp", tuple(inside)), Number(1.0)))]
        if name == "square":
            return [Call("**", (*inside, Number(2.0)))]
        if name == "clip" and len(inside) == 3:
            return [
                Call("minimum", (Call("maximum", (inside[0], inside[1])), inside[2]))
            ]
        if name not in FUNCTIONS:
            raise _unknown(self.code, f"{name}() is not among them")
        return [Call(FUNCTIONS[name], tuple(inside))]

    def _of_learnt(self, name: str, node: ast.Call) -> list[Expression]:
        """Return each column of a function that learnt from the rows, in pieces."""
        learnt = self.learnt[name]
        try:
            others = [ast.literal_eval(one) for one in node.args[1:]]
            named = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
        except ValueError:
            raise _unknown(self.code, "its arguments are not plain numbers") from None
        kind = type(learnt).__name__
        if kind not in DEGREES or getattr(learnt, "_cyclic", False):
            raise _unknown(self.code, "it is not a polynomial in pieces of one column")
        inside = self._one(node.args[0])

        def values(x: Floats) -> Floats:
            made = learnt.transform(x, *others, **named)
            return np.asarray(made, dtype=float).reshape(len(x), -1)

        knots = np.unique(np.asarray(getattr(learnt, "_all_knots", []), dtype=float))
        if kind == "Bs":  # whose outer polynomials go on beyond the boundary
            knots = knots[1:-1]
        x = evaluate(inside, self.frame)
        if np.ptp(x[np.isfinite(x)]) == 0:
            raise _unknown(self.code, "it is learnt from a column of equal values")
        degree = DEGREES[kind](learnt, others, named)
        return list(_splines(inside, x, values, knots, degree))


DEGREES: Mapping[str, Callable[[Any, list[Any], dict[str, Any]], int]] = {
    "Center": lambda *_: 1,
    "Standardize": lambda *_: 1,
    "Bs": lambda learnt, *_: int(learnt._degree),
    "CR": lambda *_: 3,
    "Poly": lambda learnt, *_: int(learnt._degree),
}


def _splines(
    of: Expression,
    x: Floats,
    values: Callable[[Floats], Floats],
    knots: Floats,
    degree: int,
) -> Iterator[Spline]:
    """Yield the spline of each column, by interpolation between its knots."""
    low, high = float(np.nanmin(x)), float(np.nanmax(x))
    width = high - low
    first, last = (knots[0], knots[-1]) if len(knots) else (high, low)
    ends = np.array([min(low, first - width), *knots, max(high, last + width)])
    # Chebyshev's points interpolate polynomials with all digits
    points = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    origin = float(knots[0]) if len(knots) else (low + high) / 2
    before, jumps = np.empty(0), []
    for place, (left, right) in enumerate(pairwise(ends)):
        half = (right - left) / 2
        at = (left + right) / 2 + half * points
        here = left if place else origin
        powers = np.vander((at - here) / half, degree + 1, increasing=True)
        piece = np.linalg.solve(powers, values(at))
        if not place:
            start = _without_rounding(piece) / _powers(half, degree)
            before = start
            continue
        moved = _moved(before, here - (ends[place - 1] if place > 1 else origin))
        change = _without_rounding(piece - moved * _powers(half, degree))
        before = piece / _powers(half, degree)
        jumps.append((float(here), change / _powers(half, degree)))
    if not jumps and degree == 1 and start.shape[1] == 1:  # c (x - where it is 0)
        origin -= float(start[0, 0] / start[1, 0])
        start[0] = 0.0
    for j in range(start.shape[1]):
        own = tuple(
            (knot, power, float(change[power, j]))
            for knot, change in jumps
            for power in range(degree + 1)
            if change[power, j] != 0
        )
        yield Spline(of, origin, tuple(map(float, start[:, j])), own)


def _powers(half: float, degree: int) -> Floats:
    return np.asarray(half ** np.arange(degree + 1))[:, None]


def _without_rounding(scaled: Any) -> Floats:
    """Return coefficients with 0 for those that are due to rounding."""
    return np.where(np.abs(scaled) < ROUNDING, 0.0, scaled)


def _moved(coefficients: Floats, step: float) -> Floats:
    """Return the coefficients of polynomials in powers from a place further on."""
    made = coefficients.copy()
    for k in range(len(made) - 1):  # Horner's rule, repeated
        for j in range(len(made) - 2, k - 1, -1):
            made[j] += step * made[j + 1]
    return made
