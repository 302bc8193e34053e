"""Which names of an expression are data, and which are functions.

Data come only from the columns of the data frame. The caller's scope supplies functions
and modules, never data: patsy by itself would silently use a variable of the script in
place of a misspelt column.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import sys
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from statcv.arguments import function_answer
from statcv.errors import ColumnError, FormulaError, StatcvError, suggestion
from statcv.formula.functions import (
    LEARNING_ARGUMENT,
    SELECTOR,
    Clr,
    clr,
    labels_of_parts,
    log,
    outside_a_call,
    poly,
    spread,
)
from statcv.formula.limits import MAX_EXPRESSIONS, check_cost, check_count
from statcv.formula.permitted import (
    METHODS,
    check_arguments,
    check_attribute,
    check_function,
    elementwise_of_numpy,
    in_module,
    why_refused,
)
from statcv.formula.quoting import column_of

_READ = (
    *(ast.Expression, ast.Name, ast.Constant, ast.Load, ast.Call, ast.keyword),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Attribute),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
    *(ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Subscript, ast.Slice),
)
_INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_ALIAS = "_function_"  # prefix of a function that shares its name with a column
_LEARNING = "_learning_"  # prefix of a clr() that is learnt on training rows


def caller_scope() -> ChainMap[str, Any]:
    """Return the names that are known where the calling function was called."""
    frame = sys._getframe(2)
    return ChainMap(frame.f_locals, frame.f_globals)


@dataclass(frozen=True)
class Factor:
    """An expression of a formula.

    Attributes
    ----------
    code : str
        Code as shown in the formula and in the names of the matrix's columns.
    python : str
        Code as evaluated, in which a function that shares its name with a column has
        another name.
    columns : tuple of str
        Columns that the expression uses.
    column : str or None
        The column, if the expression is a single column.
    labels : tuple of str
        Labels of the columns of its matrix, where each is a part of a whole.
    """

    code: str
    python: str
    columns: tuple[str, ...]
    column: str | None = None
    labels: tuple[str, ...] = ()


def column_factor(code: str, column: str, renamed: bool) -> Factor:
    """Return the factor of an expression that is a single column."""
    python = _ALIAS + code if code != column and renamed else code
    return Factor(code, python, (column,), column)


@cache
def transforms() -> Mapping[str, Any]:
    """Return the functions of every formula: patsy's, and the package's own."""
    import patsy.builtins

    from statcv.formula.functions import bs, standardize

    known = {name: getattr(patsy.builtins, name) for name in patsy.builtins.__all__}
    scaled = {"scale": standardize, "standardize": standardize}
    return {**known, **scaled, "bs": bs, "clr": clr, "poly": poly}


_OF_R = """exp sqrt log2 log10 log1p expm1 abs sign floor ceiling:ceil trunc round sin
cos tan asin:arcsin acos:arccos atan:arctan sinh cosh tanh asinh:arcsinh acosh:arccosh
atanh:arctanh"""


@cache
def of_r() -> Mapping[str, Any]:
    """Return R's elementwise functions, which need no ``np.`` in a formula."""
    names = (word.partition(":")[::2] for word in _OF_R.split())
    return {"log": log, **{own: getattr(np, other or own) for own, other in names}}


def namespace(functions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names that are available when factors are evaluated."""
    import patsy

    learning = {_LEARNING + "clr": patsy.stateful_transform(Clr)}
    known = {**of_r(), **functions, **transforms(), **learning}
    return {**known, **{_ALIAS + name: value for name, value in known.items()}}


@contextmanager
def evaluating(what: str) -> Iterator[None]:
    """Convert any failure in an expression of the formula to a FormulaError.

    NumPy's warnings, as about the logarithm of 0, are suppressed: cells that are not
    finite raise an error later, which names the row.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except StatcvError:
        raise
    except Exception as error:
        reason = error.__cause__ or error  # patsy wraps what a factor raises
        if isinstance(reason, StatcvError):
            raise reason from None
        kind = type(reason).__name__
        kind = "" if kind == "PatsyError" else f"{kind}: "
        raise FormulaError(f"{what} failed: {kind}{reason}") from error


def resolve(
    codes: Iterable[str], columns: Collection[str], scope: Mapping[str, Any]
) -> tuple[dict[str, Factor], dict[str, Any]]:
    """Return the factors of some expressions, and the names they use from the scope.

    The package's own transforms take precedence and are not listed; only functions and
    modules of the caller are. Python's builtins are not called.

    Parameters
    ----------
    codes : iterable of str
    columns : collection of str
        Columns of the data, among which one is found quickly.
    scope : mapping

    Raises
    ------
    FormulaError
        If an expression cannot be read.
    ColumnError
        If a name is neither a column nor a function or module in ``scope``.
    """
    factors: dict[str, Factor] = {}
    functions: dict[str, Any] = {}
    expressions = 0
    for code in codes:
        column = column_of(code)
        if column is not None and column in columns:
            factors[code] = column_factor(code, column, "Q" in columns)
            continue
        expressions += 1
        check_count(expressions, MAX_EXPRESSIONS, "terms that are not columns")
        reader = _Reader(code, columns, scope)
        factors[code] = reader.factor()
        functions.update(reader.functions)
    return factors, functions


class _Reader(ast.NodeTransformer):
    """Classifies the names of one expression as columns, functions or its own."""

    def __init__(
        self,
        code: str,
        columns: Collection[str],
        scope: Mapping[str, Any],
    ) -> None:
        self.code, self.columns, self.scope = code, columns, scope
        self.used: dict[str, None] = {}
        self.functions: dict[str, Any] = {}
        self.renamed = False
        self.top: ast.expr | None = None

    def factor(self) -> Factor:
        """Return the factor of the expression."""
        tree = _parsed(self.code)
        self.renamed |= check_cost(tree, self.code)
        self.top = tree.body
        if isinstance(tree.body, ast.Name):
            self._column(tree.body.id)  # a function by itself is not a term
        if isinstance(tree.body, ast.Constant) and keyword.iskeyword(self.code):
            raise FormulaError(
                f"the term {self.code!r} is a constant; a column of that name is "
                f"written in backticks, `{self.code}`."
            )
        if any(isinstance(node, _INNER) for node in ast.walk(tree)):
            raise FormulaError(
                f"the term {self.code!r} holds a lambda or a comprehension; give it a "
                "name in your script and call that."
            )
        try:
            tree = self.visit(tree)
            python = ast.unparse(tree) if self.renamed else self.code
        except RecursionError:
            raise _too_long(self.code) from None
        labels = labels_of_parts(_parsed(self.code), "clr", self.columns, self.code)
        return Factor(self.code, python, tuple(self.used), labels=labels)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if isinstance(node.op, ast.BitOr) and node is self.top:
            raise FormulaError(
                f"the term {self.code!r} uses '|': models with random effects are not "
                "fitted; cv(stratify='g') keeps the records of a group g together."
            )
        return self.generic_visit(node)

    def visit(self, node: ast.AST) -> Any:
        """Read a node, if it is of a permitted kind."""
        if not isinstance(node, _READ):
            raise FormulaError(
                f"the term {self.code!r} holds Python that no formula needs "
                f"({type(node).__name__}); put it into a function of your script."
            )
        return super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        shown = ast.unparse(node.func)
        self._answer(shown)
        if isinstance(node.func, ast.Name):
            self._call_by_name(node, node.func)
        elif isinstance(node.func, ast.Attribute):
            self._call_by_attribute(node, node.func)
        else:
            raise FormulaError(
                f"the term {self.code!r} calls {shown!r}, which is not a name; give "
                "the function a name in your script and call that."
            )
        arguments = self._spread(node.args)
        node.args = [self.visit(argument) for argument in arguments]
        node.keywords = [self.visit(argument) for argument in node.keywords]
        return node

    def _call_by_name(self, node: ast.Call, function: ast.Name) -> None:
        name = function.id
        if name == SELECTOR:
            raise outside_a_call(self.code)
        if name == "Q":
            self._column(_literal(node.args, self.code))
        found = transforms().get(name)
        if found is None and (found := self._of_r(name)) is None:
            found = self.functions[name] = self._called(name)
        check_arguments(found, node, f"{name}()", self.code)
        node.func = self._function(function)
        if name == "clr" and _learns(node):
            self.renamed = True
            node.func = ast.Name(_LEARNING + name, ast.Load())

    def _call_by_attribute(self, node: ast.Call, function: ast.Attribute) -> None:
        shown = ast.unparse(function)
        found = self._in_module(function)
        check_arguments(found, node, f"{shown}()", self.code)
        if found is None:
            self._of_column(function, call=True)
        elif isinstance(found, (int, float)):
            raise FormulaError(f"the term {self.code!r} calls {shown}, a number.")

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        found = self._in_module(node)
        if found is None:
            self._of_column(node, call=False)
        elif not isinstance(found, (int, float)):
            check_function(found, ast.unparse(node), self.code)
        return node

    def _in_module(self, node: ast.Attribute) -> object | None:
        """Return the object that dotted names denote; None if it is a column's."""
        names, root = [node.attr], node
        while isinstance(root.value, ast.Attribute):
            root = root.value
            names.insert(0, root.attr)
        self._refuse_hidden(names)
        if not (
            isinstance(root.value, ast.Name) and self._of_module(root.value.id, root)
        ):
            return None
        module = self.scope[root.value.id]
        self.functions[root.value.id] = module
        found = in_module(module, names, ast.unparse(node), self.code)
        root.value = self._function(root.value)
        return found

    def _of_column(self, node: ast.Attribute, call: bool) -> None:
        """Read an attribute of a column, or of an expression of columns."""
        accessor, inner = None, node.value
        if isinstance(inner, ast.Attribute) and inner.attr in METHODS:
            accessor = inner.attr
        node.value = self.visit(inner)
        check_attribute(accessor, node.attr, self.code, call)

    def _refuse_hidden(self, names: Iterable[str]) -> None:
        for name in names:
            if name.startswith("_"):
                raise FormulaError(
                    f"the term {self.code!r} uses .{name}: attributes that begin with "
                    "an underscore are not for formulas."
                )

    def _answer(self, shown: str) -> None:
        """Raise an error for a function of R that says what to use instead."""
        answer = function_answer(shown)
        if answer and not callable(self.scope.get(shown)):
            raise _not_known(shown, self.code, answer)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.columns or not self._lent(node.id):
            self._column(node.id)
        return node

    def _function(self, node: ast.Name) -> ast.Name:
        """Rename a function that shares its name with a column."""
        if node.id not in self.columns:
            return node
        self.renamed = True
        return ast.Name(_ALIAS + node.id, ast.Load())

    def _spread(self, arguments: list[ast.expr]) -> list[ast.expr]:
        """Replace patterns by the columns that match them."""
        found = spread(arguments, self.columns, self.code)
        self.renamed |= found != arguments
        return found

    def _called(self, name: str) -> Any:
        value = self.scope.get(name)
        if callable(value):
            check_function(value, f"{name}()", self.code)
            return value
        if hasattr(builtins, name) and not elementwise_of_numpy(name):
            check_function(getattr(builtins, name), f"{name}()", self.code)
        raise FormulaError(
            f"the term {self.code!r} calls {name!r}, which is not a known function."
            + (_of_numpy(name) or suggestion(name, transforms()))
        )

    def _of_r(self, name: str) -> object | None:
        """Return a function of R, unless the script has one of that name."""
        own = self.scope.get(name)
        lent = callable(own) and why_refused(own) is None
        return None if lent else of_r().get(name)

    def _lent(self, name: str) -> bool:
        """Whether a name that is not a column is a function."""
        value = self.scope.get(name)
        if callable(value) or isinstance(value, ModuleType):
            check_function(value, name, self.code)
            self.functions.setdefault(name, value)
            return True
        return name in transforms()

    def _of_module(self, name: str, node: ast.Attribute) -> bool:
        """Whether ``name.attribute`` is a module's, and not a column's."""
        import pandas as pd

        module = self.scope.get(name)
        if not isinstance(module, ModuleType):
            return False
        if name not in self.columns or not hasattr(module, node.attr):
            return name not in self.columns
        if hasattr(pd.Series, node.attr):
            raise FormulaError(
                f"{name}.{node.attr} in {self.code!r} may be the module's or the "
                f"column's, since {name!r} is both; write Q({name!r}).{node.attr} for "
                "the column, or import the module by another name."
            )
        return True

    def _column(self, name: str) -> None:
        if name not in self.columns:
            message = f"there is no column {name!r} in the data."
            if name in self.scope:
                message = (
                    f"there is no column {name!r} in the data; the variable of that "
                    "name in your script is not used: add it to the data, or write "
                    "its value."
                )
            raise ColumnError(
                message + (_import(name) or suggestion(name, self.columns))
            )
        self.used[name] = None


def _parsed(code: str) -> ast.Expression:
    try:
        return ast.parse(code, mode="eval")
    except (RecursionError, MemoryError, ValueError):  # nested, or a huge constant
        raise _too_long(code) from None
    except SyntaxError as error:
        called, bracket, _ = code.partition("(")
        answer = function_answer(called.strip()) if bracket else None
        if answer:  # as.factor(x): `as` is a keyword of Python
            raise _not_known(called.strip(), code, answer) from None
        words = re.findall(r"(?<![.\w'\"])[a-z]+\b", code)
        word = next(filter(keyword.iskeyword, words), None)
        if word and "%" not in code:
            raise FormulaError(
                f"cannot read the term {code!r}: {word!r} is a word of Python; a "
                f"column of that name is written in backticks, `{word}`."
            ) from None
        if "%" in code:
            raise FormulaError(
                f"cannot read the term {code!r}: there is no %in% or other operator "
                "in % signs here; nested terms are written a:b, and membership is "
                "np.isin(x, [1, 2])."
            ) from None
        raise FormulaError(
            f"cannot read the term {code!r}: {error.msg}\n"
            f"    {code}\n    {' ' * ((error.offset or 1) - 1)}^"
        ) from None


def _too_long(code: str) -> FormulaError:
    return FormulaError(f"cannot read a term of {len(code):,} characters.")


def _not_known(function: str, code: str, answer: str) -> FormulaError:
    """Return the error for a function of R, with the alternative."""
    return FormulaError(f"there is no {function}() in formulas ({code!r}): {answer}.")


def _literal(arguments: list[ast.expr], code: str) -> str:
    given = arguments[0] if len(arguments) == 1 else None
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return given.value
    raise FormulaError(f"Q() takes the name of a column in quotes, in {code!r}.")


def _learns(call: ast.Call) -> bool:
    """Whether a call of clr() chooses its parts by the rows."""
    given = [k.value for k in call.keywords if k.arg == LEARNING_ARGUMENT]
    return any(ast.unparse(value) != "None" for value in given)


def _of_numpy(name: str) -> str:
    return f" Did you mean 'np.{name}'?" if elementwise_of_numpy(name) else ""


def _import(name: str) -> str:
    """Return how to import a module that formulas often use."""
    if name in ("TRUE", "FALSE"):
        return f" Python writes {name.capitalize()}."
    module = {"np": "numpy", "pd": "pandas"}.get(name)
    return f" Functions of {module} need 'import {module} as {name}'." if module else ""
