"""The columns of a design matrix as expressions of the columns of the data.

A formula is computed once more, with each column in place of its values: what is done
with it is written down.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.lib.mixins import NDArrayOperatorsMixin

from statcv.errors import EquationError
from statcv.formula import Terms, of_r
from statcv.numeric.arrays import Floats
from statcv.results.final import expressions
from statcv.results.final.expressions import Expression, Spline

Factors = tuple[Expression, ...]  # their product is a column of the matrix

ROUNDING = 1e-13  # the part of a basis function that is rounding
OTHERS: Mapping[str, Callable[..., Any]] = {
    "log2": lambda x: np.log(x) / np.log(Traced(expressions.Number(2.0))),
    "log10": lambda x: np.log(x) / np.log(Traced(expressions.Number(10.0))),
    "log1p": lambda x: np.log(1 + x),
    "expm1": lambda x: np.exp(x) - 1,
    "square": lambda x: x * x,
    "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "abs": np.absolute,
    "positive": lambda x: x,
    **{"bitwise_and": np.logical_and, "bitwise_or": np.logical_or},
    "invert": np.logical_not,
}
WORKS = (
    "The model still predicts by predict(new). What can be written down are columns, "
    "levels, operations, comparisons, np.where, clip, log, exp, sqrt, abs, sin, cos, "
    "tan, bs, cr, poly, center, scale and clr; put anything else into a column of the "
    "data."
)


class Traced(NDArrayOperatorsMixin):
    """What a formula computes, as expressions of columns in place of values.

    Parameters
    ----------
    *columns : Expression
    levels : sequence of str, optional
        The levels, if it is a column of text.
    """

    def __init__(self, *columns: Expression, levels: Sequence[str] = ()) -> None:
        self.columns, self.levels = columns, levels

    def __array_ufunc__(self, of: Any, method: str, *given: Any, **named: Any) -> Any:
        return _operation(of.__name__, given, named or method != "__call__")

    def __array_function__(self, of: Any, _: Any, given: Any, named: Any) -> Any:
        return _operation(of.__name__, given, named)

    def __getattr__(self, name: str) -> Any:
        if name not in ("abs", "clip"):
            raise AttributeError(f"it uses .{name}")
        return lambda *given: _operation(name, (self, *given), {})

    def __bool__(self) -> NoReturn:
        raise TypeError("it calls a function that needs the values of a column")

    __array__ = __len__ = __iter__ = __float__ = __bool__


def _operation(name: str, given: Sequence[Any], named: object) -> Any:
    if name in OTHERS and not named:
        return OTHERS[name](*given)
    if name not in expressions.OPERATIONS or named:
        raise TypeError(f"it uses {name}()")
    if not any(isinstance(one, str) for one in given):
        return Traced(expressions.Call(name, tuple(map(_one, given))))
    of, level = sorted(given, key=lambda one: isinstance(one, str))
    if name not in ("equal", "not_equal") or not of.levels:
        raise TypeError(f"{level!r} is compared with what is not text")
    same = [(one, float((one == level) == (name == "equal"))) for one in of.levels]
    return Traced(expressions.Levels(_one(of), tuple(same)))


def _one(given: Any) -> Expression:
    if isinstance(given, (int, float, np.number)):
        return expressions.Number(float(given))
    if not isinstance(given, Traced) or len(given.columns) != 1:
        raise TypeError(
            "it computes with something other than single columns and numbers"
        )
    return given.columns[0]


def unwritten(code: str, why: object) -> EquationError:
    """Return the error for a term that cannot be written down."""
    return EquationError(
        f"the term {code!r} cannot be written as an equation: "
        f"{str(why).rstrip('.')}. {WORKS}"
    )


def column_factors(terms: Terms) -> list[Factors]:
    """Return expressions whose product is each column of the matrix of all rows.

    Raises
    ------
    EquationError
        If a term cannot be written down; the message names it and says why.
    """
    columns = {name: _column_of(terms, name) for name in terms.columns}
    if terms.is_plain:
        each = ([columns[name] for name in term] for term in terms.formula.products)
        return [tuple(map(_one, one)) for one in each]
    made: dict[tuple[str, ...], list[Factors]] = {}
    for term, subterms in terms.whole.term_codings.items():
        own = made.setdefault(tuple(one.code for one in term.factors), [])
        for subterm in subterms:
            parts = [
                _factor(terms, columns, factor, subterm.contrast_matrices)
                for factor in reversed(subterm.factors)
            ]
            own += [
                tuple(one for one in each[::-1] if one != expressions.Number(1.0))
                for each in product(*parts)
            ]
    return [one for term in terms.formula.terms for one in made[term]]


def _column_of(terms: Terms, name: str) -> Traced:
    dtype = terms.columns[name].dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return Traced(expressions.Column(name, "text"), levels=list(dtype.categories))
    return Traced(expressions.Column(name, "truth" if dtype.kind == "b" else "number"))


def _factor(
    terms: Terms, columns: Mapping[str, Traced], factor: Any, codings: Mapping[Any, Any]
) -> Sequence[Expression]:
    """Return an expression for each column of a factor."""
    info = terms.whole.factor_infos[factor]
    state, known = info.state, {"clr": _log_ratios, "offset": lambda x: x, **columns}
    for name, one in state["transforms"].items():
        known[name] = _Learnt(one, terms.frame)
    try:
        value = state["eval_env"].eval(state["eval_code"], inner_namespace=known)
        value = value.data if hasattr(value, "contrast") else value
        found = value.columns if isinstance(value, Traced) else (_one(value),)
        if factor not in codings:
            if len(found) != info.num_columns:
                raise TypeError("its columns are not understood one by one")
            return found
        of = _one(value)
    except Exception as error:  # from whatever the formula calls
        raise unwritten(factor.code, error) from None
    levels = info.categories
    try:
        levels = [one if isinstance(one, str) else float(one) for one in levels]
    except TypeError:  # intervals of pd.cut(), and dates
        kind = type(levels[0]).__name__
        why = f"its levels are of type {kind}; turn them into text by .astype(str)"
        raise unwritten(factor.code, why) from None
    codes = [
        tuple(zip(levels, map(float, codes), strict=True))
        for codes in np.asarray(codings[factor].matrix, dtype=float).T
    ]
    truth = ((0.0, 0.0), (1.0, 1.0)) if _is_truth(of) else None
    return [of if one == truth else expressions.Levels(of, one) for one in codes]


def _is_truth(of: Expression) -> bool:
    """Return whether an expression is 0 or 1 in all rows."""
    if isinstance(of, expressions.Call):
        return of.operation in expressions.COMPARED or of.operation.startswith(
            "logical"
        )
    comparison = isinstance(of, expressions.Levels)  # with text
    return comparison or (isinstance(of, expressions.Column) and of.kind == "truth")


# ---- functions that learn ----


def _log_ratios(
    *parts: Any, pseudocount: Any = None, chosen: Any = None, prevalence: Any = None
) -> Traced:
    """Return the logarithms of the chosen parts minus their mean."""
    logs = [np.log(one if pseudocount is None else one + pseudocount) for one in parts]
    use = [True] * len(logs) if chosen is None else chosen
    used = [log for log, own in zip(logs, use, strict=True) if own]
    mean = sum(used[1:], used[0]) / len(used)
    each = zip(logs, use, strict=True)
    return Traced(*(_one(log - mean if own else 0) for log, own in each))


class _Learnt:
    """A function that learnt from the rows of a frame."""

    def __init__(self, function: Any, frame: pd.DataFrame) -> None:
        self._function, self._frame = function, frame

    def transform(self, *given: Any, **named: Any) -> Traced:
        """Return its columns."""
        learnt, name = self._function, type(self._function).__name__.lower()
        if name == "clr":
            return _log_ratios(*given, chosen=learnt._chosen, **named)
        if any(isinstance(one, Traced) for one in (*given[1:], *named.values())):
            raise TypeError(f"the arguments of {name}() are not plain numbers")
        of = _one(given[0])
        x = expressions.evaluate(of, self._frame)

        def values(x: Floats) -> Floats:
            made = learnt.transform(x, *given[1:], **named)
            return np.asarray(made, dtype=float).reshape(len(x), -1)

        knots = np.unique(np.asarray(getattr(learnt, "_all_knots", []), dtype=float))
        if np.ptp(x := x[np.isfinite(x)]) == 0:
            raise TypeError("it is learnt from a column of equal values")
        if name == "bs":  # whose outer polynomials go on beyond the boundary
            knots = knots[1:-1]
        degree = getattr(learnt, "_degree", 3)
        found = splines(of, (x.min(), x.max()), values, knots, degree)
        if not found:
            raise TypeError(f"{name}() is not a polynomial in pieces of one column")
        return Traced(*found)


def splines(
    of: Expression,
    limits: tuple[float, float],
    values: Callable[[Floats], Floats],
    knots: Floats,
    degree: int,
) -> list[Spline]:
    """Return the spline of each column of a function; none if it is not one.

    Between each two knots, and beyond the first and the last, a polynomial is fitted at
    more of Chebyshev's points than it needs; a knot has what changes there.
    """
    from scipy.linalg import pascal

    (low, high), powers = limits, np.arange(degree + 1)
    first, last = (knots[0], knots[-1]) if len(knots) else (high, low)
    width = high - low
    ends = np.array([min(low, first - width), *knots, max(high, last + width)])
    count, above = degree + 1, np.maximum(powers - powers[:, None], 0)
    binomial = pascal(count, kind="upper")
    nodes = np.append(np.cos(np.pi * (powers + 0.5) / count), (-0.9, 0.03, 0.9))
    origin = float(knots[0]) if len(knots) else (low + high) / 2
    here, piece, jumps = origin, np.zeros((0, 0)), list[tuple[float, Floats]]()
    for place, (left, right) in enumerate(pairwise(ends)):
        half, step = (right - left) / 2, left - here
        at, here = (left + right) / 2 + half * nodes, float(left) if place else origin
        scaled, unit = ((at - here) / half)[:, None] ** powers, half ** powers[:, None]
        wanted = values(at)
        # Taylor's expansion of the polynomial before, about the knot
        before = (binomial * step**above) @ piece * unit if place else 0.0
        piece = np.linalg.solve(scaled[:count], wanted[:count])
        size = max(np.abs(wanted).max(), np.abs(before).max())
        if np.abs(scaled @ piece - wanted).max() > 100 * ROUNDING * size:
            return []
        change = np.where(np.abs(piece - before) < ROUNDING * size, 0.0, piece - before)
        jumps.append((here, change / unit))
        piece = piece / unit
    (_, start), *jumps = jumps
    changes = np.array([start, *(change for _, change in jumps)])
    used = int(powers[changes.any(axis=(0, 2))].max()) + 1
    if not jumps and start.shape[1] == 1 and used == 2:
        root = origin - float(start[0, 0] / start[1, 0])  # c (x - where it is 0)
        origin, start[0] = (root if abs(root) > ROUNDING * width else 0.0), 0.0
    made = []
    for j, own in enumerate(start[:used].T.tolist()):
        each = [(at, int(k), float(d[k, j])) for at, d in jumps for k in powers]
        changed = tuple(one for one in each if one[2] != 0)
        made.append(Spline(of, origin, tuple(own), changed))
    return made


# ---- the names of published coefficients ----

_PLAIN = (
    *(ast.Expression, ast.Name, ast.Load, ast.Constant, ast.Call, ast.BinOp),
    *(ast.UnaryOp, ast.Compare, ast.operator, ast.unaryop, ast.cmpop),
)


class _Namespace(dict[str, Any]):
    """Functions by name; any other name is a column."""

    def __missing__(self, name: str) -> Traced:
        return Traced(expressions.Column(name))


def read(text: str) -> Expression:
    """Return the expression of Python whose names are columns, or R's functions.

    Raises
    ------
    SyntaxError
        If it is not Python.
    EquationError
        If it cannot be written down.
    """
    tree = ast.parse(text, mode="eval")
    known = _Namespace(
        of_r(), I=lambda x: x, Q=lambda name: Traced(expressions.Column(name))
    )
    known |= {"where": np.where, "minimum": np.minimum, "maximum": np.maximum}
    known["np"] = SimpleNamespace(**known)
    for node in ast.walk(tree):
        shown = ast.unparse(node)
        if not isinstance(node, _PLAIN) and not re.fullmatch(r"np\.\w*", shown):
            raise unwritten(text, f"it uses {shown}")
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else "I"
        if called.removeprefix("np.") not in known:
            raise unwritten(text, f"it uses {called}()")
    try:
        return _one(eval(compile(tree, "<name>", "eval"), {"__builtins__": {}}, known))
    except (TypeError, AttributeError) as error:
        raise unwritten(text, error) from None
