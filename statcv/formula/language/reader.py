"""The names of an expression: columns, functions, or names of its own."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Any, TypeGuard

from statcv.errors import ColumnError, FormulaError, suggestion
from statcv.formula.language import limits, permitted
from statcv.formula.language import scope as scopes
from statcv.formula.language.functions import LEARNING_ARGUMENT
from statcv.formula.language.quoting import column_of, quoted
from statcv.formula.language.scope import Factor, Scope
from statcv.vocabulary import function_answer
from statcv.words import listed

# ---- a term read as Python ----


def parsed_term(code: str) -> ast.Expression:
    """Return the tree of a term, or say what keeps it from being read."""
    try:
        return ast.parse(code, mode="eval")
    except (RecursionError, MemoryError, ValueError):  # nested, or a huge constant
        raise too_long(code) from None
    except SyntaxError as error:
        called, bracket, _ = code.partition("(")
        answer = function_answer(called.strip()) if bracket else None
        if answer:  # as.factor(x): `as` is a keyword of Python
            raise not_known(called.strip(), code, answer) from None
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


def too_long(code: str) -> FormulaError:
    """Return the error for a term that is nested too deeply."""
    return FormulaError(f"cannot read a term of {len(code):,} characters.")


def not_known(function: str, code: str, answer: str) -> FormulaError:
    """Return the error for a function of R, with the alternative."""
    return FormulaError(f"there is no {function}() in formulas ({code!r}): {answer}.")


# ---- calls that take many columns, such as columns("bmi_*") ----


SELECTOR = "columns"


def _calls(node: ast.AST, function: str) -> TypeGuard[ast.Call]:
    """Return whether a node is a call of a function by its name."""
    return isinstance(node, ast.Call) and getattr(node.func, "id", None) == function


def spread(
    arguments: Iterable[ast.expr], columns: Collection[str], code: str
) -> list[ast.expr]:
    """Replace each ``columns(…)`` by the columns that match.

    Parameters
    ----------
    arguments : iterable of ast.expr
        Arguments of a call.
    columns : collection of str
        Columns of the data.
    code : str
        Code of the term, for messages.

    Raises
    ------
    ColumnError
        If no column matches a pattern.
    FormulaError
        If an argument is not a pattern.
    """
    found: list[ast.expr] = []
    for argument in arguments:
        if _calls(argument, SELECTOR):
            for name in _matching(argument, columns, code):
                found.append(ast.parse(quoted(name), mode="eval").body)
        else:
            found.append(argument)
    return found


def labels_of_parts(
    tree: ast.Expression, function: str, columns: Collection[str], code: str
) -> tuple[str, ...]:
    """Return one label per part for an expression with one call of a parts function.

    ``scale(clr(a, b))`` has the labels ``scale(clr(a))`` and ``scale(clr(b))``. The
    tree is modified.
    """
    calls = [node for node in ast.walk(tree) if _calls(node, function)]
    if len(calls) != 1:
        return ()
    (call,) = calls
    parts = spread(call.args, columns, code)
    call.keywords = []
    labels = []
    for part in parts:
        call.args = [part]
        labels.append(ast.unparse(tree))
    return tuple(labels)


def _matching(call: ast.Call, columns: Collection[str], code: str) -> list[str]:
    patterns = [
        argument.value
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
    if not patterns or call.keywords or len(patterns) < len(call.args):
        raise FormulaError(
            f"columns() takes patterns in quotes, in {code!r}: "
            'columns("lactobacillus_*", "gardnerella_1").'
        )
    names: dict[str, None] = {}
    for pattern in patterns:
        if len(pattern) > limits.MAX_TEXT:
            raise FormulaError(
                f"columns() has a pattern above {limits.MAX_TEXT} characters."
            )
        matched = [name for name in columns if fnmatchcase(name, pattern)]
        if not matched:
            raise ColumnError(
                f"no column of the data matches {pattern!r}."
                + suggestion(pattern, columns)
            )
        names |= dict.fromkeys(matched)
    return list(names)


# ---- the names of a term ----


_READ = (
    *(ast.Expression, ast.Name, ast.Constant, ast.Load, ast.Call, ast.keyword),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Attribute),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
    *(ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Subscript, ast.Slice),
)
_INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def resolve(
    codes: Iterable[str], columns: Collection[str], scope: Scope
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
            factors[code] = scopes.column_factor(code, column, "Q" in columns)
            continue
        expressions += 1
        limits.check_count(
            expressions, limits.MAX_EXPRESSIONS, "terms that are not columns"
        )
        reader = _Reader(code, columns, scope)
        factors[code] = reader.factor()
        functions.update(reader.functions)
    return factors, functions


class _Reader(ast.NodeTransformer):
    """Classifies the names of one expression as columns, functions or its own."""

    def __init__(self, code: str, columns: Collection[str], scope: Scope) -> None:
        self.code, self.columns, self.scope = code, columns, scope
        self.used: dict[str, None] = {}
        self.functions: dict[str, Any] = {}
        self.renamed = False
        self.top: ast.expr | None = None

    def factor(self) -> Factor:
        """Return the factor of the expression."""
        tree = parsed_term(self.code)
        self.renamed |= limits.check_cost(tree, self.code)
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
            raise too_long(self.code) from None
        labels = labels_of_parts(parsed_term(self.code), "clr", self.columns, self.code)
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
        answer = function_answer(shown)
        if answer and not callable(self.scope.get(shown)):
            raise not_known(shown, self.code, answer)
        if isinstance(node.func, ast.Name):
            self._call_by_name(node, node.func)
        elif isinstance(node.func, ast.Attribute):
            self._call_by_attribute(node, node.func)
        else:
            raise FormulaError(
                f"the term {self.code!r} calls {shown!r}, which is not a name; give "
                "the function a name in your script and call that."
            )
        arguments = spread(node.args, self.columns, self.code)
        self.renamed |= arguments != node.args
        node.args = [self.visit(argument) for argument in arguments]
        node.keywords = [self.visit(argument) for argument in node.keywords]
        return node

    def _call_by_name(self, node: ast.Call, function: ast.Name) -> None:
        name = function.id
        if name == SELECTOR:
            raise FormulaError(
                f"columns() in {self.code!r} stands for the arguments of a function, "
                'as in clr(columns("lactobacillus_*")); it is not a term by itself.'
            )
        if name == "Q":
            self._column(_literal(node.args, self.code))
        found = scopes.transforms().get(name)
        if found is None and (found := self._of_r(name)) is None:
            found = self.functions[name] = self._called(name)
        permitted.check_arguments(found, node, f"{name}()", self.code)
        permitted.check_learnt(found, node, name, self.code, self.columns)
        node.func = self._function(function)
        if name == "clr" and _learns(node):
            self.renamed = True
            node.func = ast.Name(scopes.LEARNING + name, ast.Load())

    def _call_by_attribute(self, node: ast.Call, function: ast.Attribute) -> None:
        shown = ast.unparse(function)
        found = self._in_module(function)
        permitted.check_arguments(found, node, f"{shown}()", self.code)
        if found is None:
            self._of_column(function, call=True)
        elif isinstance(found, (int, float)):
            raise FormulaError(f"the term {self.code!r} calls {shown}, a number.")

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        found = self._in_module(node)
        if found is None:
            self._of_column(node, call=False)
        elif not isinstance(found, (int, float)):
            permitted.check_function(found, ast.unparse(node), self.code)
        return node

    def _in_module(self, node: ast.Attribute) -> object | None:
        """Return the object that dotted names denote; None if it is a column's."""
        names, root = [node.attr], node
        while isinstance(root.value, ast.Attribute):
            root = root.value
            names.insert(0, root.attr)
        for name in names:
            if name.startswith("_"):
                raise FormulaError(
                    f"the term {self.code!r} uses .{name}: attributes that begin with "
                    "an underscore are not for formulas."
                )
        if not (
            isinstance(root.value, ast.Name) and self._of_module(root.value.id, root)
        ):
            return None
        module = self.scope[root.value.id]
        self.functions[root.value.id] = module
        found = permitted.in_module(module, names, ast.unparse(node), self.code)
        root.value = self._function(root.value)
        return found

    def _of_column(self, node: ast.Attribute, call: bool) -> None:
        """Read an attribute of a column, or of an expression of columns."""
        accessor, inner, dotted = None, node.value, ast.unparse(node)
        if dotted in self.columns:
            raise ColumnError(
                f"{dotted!r} in {self.code!r} is read as an attribute of "
                f"{ast.unparse(inner)!r}; a column whose name has a dot is written in "
                f"backticks, `{dotted}`."
            )
        if isinstance(inner, ast.Attribute) and inner.attr in permitted.METHODS:
            accessor = inner.attr
        node.value = self.visit(inner)
        permitted.check_attribute(accessor, node.attr, self.code, call)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.columns or not self._lent(node.id):
            self._column(node.id)
        return node

    def _function(self, node: ast.Name) -> ast.Name:
        """Rename a function that shares its name with a column."""
        if node.id not in self.columns:
            return node
        self.renamed = True
        return ast.Name(scopes.ALIAS + node.id, ast.Load())

    def _called(self, name: str) -> Any:
        value = self.scope.get(name)
        if callable(value):
            permitted.check_function(value, f"{name}()", self.code)
            return value
        if hasattr(builtins, name) and not permitted.elementwise_of_numpy(name):
            permitted.check_function(getattr(builtins, name), f"{name}()", self.code)
        raise FormulaError(
            f"the term {self.code!r} calls {name!r}, which is not a known function."
            + (_of_numpy(name) or suggestion(name, scopes.transforms()))
        )

    def _of_r(self, name: str) -> object | None:
        """Return a function of R, unless the script has one of that name."""
        own = self.scope.get(name)
        lent = callable(own) and permitted.why_refused(own) is None
        return None if lent else scopes.of_r().get(name)

    def _lent(self, name: str) -> bool:
        """Whether a name that is not a column is a function."""
        value = self.scope.get(name)
        if callable(value) or isinstance(value, ModuleType):
            permitted.check_function(value, name, self.code)
            self.functions.setdefault(name, value)
            return True
        return name in scopes.transforms()

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
            hint = _import(name) or suggestion(name, self.columns)
            raise ColumnError(message + (hint or _those_of(self.columns)))
        self.used[name] = None


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
    return f" Did you mean 'np.{name}'?" if permitted.elementwise_of_numpy(name) else ""


def _those_of(columns: Collection[str]) -> str:
    """Return which columns the data have, and whether the file was read as one."""
    if len(columns) > 1:
        return f" The columns are {listed([*columns])}."
    (only,) = columns
    mark = re.search(r"[;,\t| ]", only)
    how = f"; read the file with the separator {mark[0]!r}" if mark else ""
    return f" The only column is {only!r}{how}."


def _import(name: str) -> str:
    """Return how to import a module that formulas often use."""
    if name in ("TRUE", "FALSE"):
        return f" Python writes {name.capitalize()}."
    if name == "contr":  # contr.sum
        return " Contrasts are C(x, Sum), C(x, Poly) and C(x, Treatment('b'))."
    module = {"np": "numpy", "pd": "pandas"}.get(name)
    return f" Functions of {module} need 'import {module} as {name}'." if module else ""
