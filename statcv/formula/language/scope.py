"""Which names of an expression are data, and which are functions.

Data come only from the columns of the data frame. The caller's scope supplies functions
and modules, never data: patsy by itself would silently use a variable of the script in
place of a misspelt column.
"""

from __future__ import annotations

import sys
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import patsy
import patsy.builtins

from statcv.errors import FormulaError, StatcvError
from statcv.formula.frame import is_number
from statcv.formula.language import functions as own
from statcv.formula.language.permitted import PERMITTED
from statcv.numeric.arrays import Bools

ALIAS = "_function_"  # prefix of a function that shares its name with a column
LEARNING = "_learning_"  # prefix of a clr() that is learnt on training rows


Scope = Mapping[str, Any]  # what the script has under its names


def caller_scope() -> ChainMap[str, Any]:
    """Return the names that are known where the calling function was called."""
    frame = sys._getframe(2)
    return ChainMap(frame.f_locals, frame.f_globals)


class Factor(NamedTuple):
    """An expression of a formula; a named tuple, as there may be thousands.

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
    python = ALIAS + code if code != column and renamed else code
    return Factor(code, python, (column,), column)


@cache
def transforms() -> Mapping[str, Any]:
    """Return the functions of every formula: patsy's, and the package's own."""
    known = {name: getattr(patsy.builtins, name) for name in patsy.builtins.__all__}
    names = ("standardize", "strata", "bs", "clr", "poly", "offset")
    ours = {name: getattr(own, name) for name in names}
    return {**known, **ours, "scale": own.standardize}


@cache
def of_r() -> Mapping[str, Any]:
    """Return R's elementwise functions, which need no ``np.`` in a formula."""
    names, others = PERMITTED["names"]["functions of R"].split(), PERMITTED["r"]
    known = {name: getattr(np, others.get(name, name)) for name in names}
    return {"log": own.log, **known}


def namespace(functions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names that are available when factors are evaluated."""
    learning = {LEARNING + "clr": patsy.stateful_transform(own.Clr)}
    known = {**of_r(), **functions, **transforms(), **learning}
    return {**known, **{ALIAS + name: value for name, value in known.items()}}


@contextmanager
def evaluating(what: str, because: Callable[[], str] = str) -> Iterator[None]:
    """Convert any failure in an expression of the formula to a FormulaError.

    What ``because`` returns, unless it is empty, comes before what was raised.

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
        said, why = f"{kind}{reason}", because()
        said = f"{why} ({said})" if why else said
        raise FormulaError(f"{what} failed: {said}") from error


def no_numbers_among(columns: Iterable[str], data: Any) -> str:
    """Name the columns that are not numbers, as the reason why an expression failed."""
    said, advice = [], ""
    for name in columns:
        kind = data[name].dtype
        if isinstance(kind, pd.CategoricalDtype):
            first = next(iter(data[name].dropna()), "")
            said.append(f"column {name!r} is text, such as {str(first)!r}")
            advice = "; if they are numbers, pd.to_numeric() reads them"
        elif not is_number(kind):
            said.append(f"column {name!r} is of type {kind}, not a number")
    return " and ".join(said) + advice


# ---- subclasses that change what patsy does ----


class PatsyFactor(patsy.EvalFactor):  # type: ignore[misc]
    """A factor that is shown as its code and evaluated as its Python expression.

    Any failure in it is raised as a FormulaError that calls it ``what``.
    """

    def __init__(self, factor: Factor, role: str) -> None:
        code = factor.code
        super().__init__("x", origin=patsy.Origin(code, 0, len(code)))
        self.code = code
        self.what = f"the {role} {code!r}"
        self._python, self._columns = factor.python, factor.columns
        self._because: Callable[[], str] = str

    def memorize_passes_needed(self, state: dict[str, Any], environment: Any) -> int:
        """Prepare the state, which holds everything that is evaluated."""
        shown, self.code = self.code, self._python
        try:
            with evaluating(self.what):
                return int(super().memorize_passes_needed(state, environment))
        finally:
            self.code = shown

    def memorize_chunk(self, state: Any, which: int, data: Any) -> None:
        """Add a block of rows from which the factor learns."""
        self._because = partial(no_numbers_among, self._columns, data)
        with evaluating(self.what, self._because):
            super().memorize_chunk(state, which, data)

    def memorize_finish(self, state: Any, which: int) -> None:
        """Learn from the rows that were added."""
        because, self._because = self._because, str  # the rows are not kept
        with evaluating(self.what, because):
            super().memorize_finish(state, which)

    def eval(self, state: Any, data: Any) -> Any:
        """Return its values on the rows of ``data``, or those given in the state."""
        if "given" in state:
            return state["given"]
        with evaluating(self.what, partial(no_numbers_among, self._columns, data)):
            return super().eval(state, data)


class KeepMissing(patsy.NAAction):  # type: ignore[misc]
    """Keeps rows with missing values: NaN in numbers, recorded for categories.

    Attributes
    ----------
    missing : list of numpy.ndarray of bool
        For each factor, whether a row has no category.
    """

    def __init__(self) -> None:
        super().__init__(on_NA="raise", NA_types=["None", "NaN"])
        self.missing: list[Bools] = []

    def is_numerical_NA(self, arr: Any) -> Bools:  # noqa: N802
        """Leave NaN in numbers alone."""
        return np.zeros(len(arr), dtype=bool)

    def handle_NA(  # noqa: N802
        self, values: Any, is_NAs: Any, origins: Any
    ) -> list[Any]:
        """Replace a missing category by the first one, and record the row."""
        self.missing = list(is_NAs)
        return [
            np.where(absent, 0, value) if absent.any() else value
            for value, absent in zip(values, is_NAs, strict=True)
        ]
