"""What a formula may call, and whether the value of each row depends on that row only.

A formula is text, and may come from an untrusted person. It can use the columns, the
functions of :func:`statcv.formula.language.scope.transforms`, the elementwise functions
of NumPy, SciPy and pandas, and functions that the calling script names. None of the
former writes to files or data; the script is responsible for its own functions.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import math
import re
import sys
import types
from collections.abc import Callable, Container, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import FormulaError, suggestion
from statcv.numeric.arrays import Numbers
from statcv.words import joined, stored_sections

PERMITTED = stored_sections("statcv.formula.language", "permitted.ini")
_SENTENCES = {k: v.replace("\n", " ") for k, v in PERMITTED["sentences"].items()}
REMEDY, OFFERED = _SENTENCES["remedy"], _SENTENCES["offered"]


Evaluate = Callable[[pd.DataFrame], Any]  # function that evaluates an expression


def check_rowwise(
    evaluate: Evaluate, frame: pd.DataFrame, columns: Sequence[str], what: str
) -> None:
    """Check that an expression gives a subset of rows the same values as all rows.

    ``x - x.mean()``, a rank or a cut at quantiles does not. A function of the extremes
    of a column would pass where a subset happens to hold them too, so the subsets
    include the lower half of a column, and its lowest row by itself.

    Parameters
    ----------
    evaluate : callable
        Function from a frame to the values of the expression, with everything learnt
        held fixed.
    frame : pandas.DataFrame
        The data.
    columns : sequence of str
        Columns that the expression uses.
    what : str
        Name of the expression in messages.

    Raises
    ------
    FormulaError
        If the values depend on which other rows are present.
    """
    whole = _cells(evaluate(frame))
    if np.ndim(whole) == 0 or len(whole) != len(frame):
        count = "one value" if np.size(whole) == 1 else f"{len(whole)} values"
        raise FormulaError(f"{what} gives {count} for {len(frame)} rows: {REMEDY}")
    for rows in _parts(frame, columns):
        try:
            part = _cells(evaluate(frame.iloc[rows]))
        except FormulaError:
            part = None
        if part is None or not _same(part, whole[rows]):
            raise FormulaError(
                f"{what} gives other values on a part of the rows than on all of "
                f"them: {REMEDY}"
            )


def _parts(frame: pd.DataFrame, columns: Sequence[str]) -> list[Numbers]:
    n = len(frame)
    parts = [np.arange(0, n, 2), np.arange(1, n, 2), np.arange(n - n // 3, n)]
    for name in columns:
        column = frame[name]
        codes = column.cat.codes if hasattr(column, "cat") else column
        order = np.argsort(codes.to_numpy(), kind="stable")
        parts += [np.sort(order[: n // 2]), np.sort(order[n // 2 :])]
        parts += [order[:1], order[-1:]]
    return [rows for rows in parts if 0 < len(rows) < n]


def values_of(value: Any) -> Any:
    """Return the data inside the value of patsy's ``C()``."""
    return value.data if hasattr(value, "contrast") else value


def _cells(value: Any) -> Any:
    array = np.asarray(values_of(value))
    return array.astype(float) if array.dtype.kind in "iufb" else array.astype(str)


def _same(part: Any, whole: Any) -> bool:
    if np.shape(part) != np.shape(whole):
        return False
    if part.dtype.kind == "f" and whole.dtype.kind == "f":
        finite = np.abs(whole[np.isfinite(whole)])
        near = 1e-12 * (finite.max() if len(finite) else 0.0)
        return bool(np.allclose(part, whole, rtol=1e-9, atol=near, equal_nan=True))
    return bool((part == whole).all())


# ---- what a formula may call, decided by the object and not by its name ----

_WRITING = frozenset({"out", "inplace", "copy", "where"})
_CLOSED = frozenset({"numpy", "pandas", "scipy", "statcv", "patsy", "builtins"})

METHODS: Mapping[str | None, frozenset[str]] = {
    accessor: frozenset(PERMITTED["names"][f"{accessor or ''} methods".strip()].split())
    for accessor in (None, "str", "dt", "cat")
}
_LEARNING = PERMITTED["names"]["learning"].split()


def why_refused(value: object) -> str | None:
    """Return why a formula may not call an object, or None where it may.

    Examples
    --------
    >>> import numpy as np
    >>> why_refused(np.log), why_refused(np.where)
    (None, None)
    >>> why_refused(open)
    "is a function of Python's own"
    >>> why_refused(np.save)
    'is not an elementwise function'
    """
    if wrapped := _wrapped(value):
        inner = [one for one in wrapped if one not in vars(math).values()]
        return next(filter(None, map(why_refused, inner)), None)
    if _is_elementwise(value):
        return None
    if isinstance(value, np.ufunc):
        return "is made by np.frompyfunc, which does not tell what it calls"
    if isinstance(value, ModuleType):
        return "is a module, not a function"
    if any(value is one for one in vars(builtins).values()):  # exit, in a console
        return "is a function of Python's own"
    if not isinstance(value, (type, types.FunctionType, *_BUILT_IN)):
        room = type(value).__module__.partition(".")[0]
        own = room not in sys.stdlib_module_names or room == "__main__"
        return None if own else "is a function of Python's own"  # operator.methodcaller
    home = getattr(value, "__module__", None) or "builtins"
    room = home.partition(".")[0]
    if room in _CLOSED - {"builtins"}:
        return "is not an elementwise function"
    if room == "builtins" or (room in sys.stdlib_module_names and room != "__main__"):
        return "is a function of Python's own"
    installed = "site-packages" in str(getattr(sys.modules.get(room), "__file__", ""))
    if installed and _READS_OR_WRITES.match(getattr(value, "__name__", "")):
        return "reads or writes files, by its name"
    return None


def _wrapped(value: object) -> list[object]:
    """Return the callables that a wrapper of functools or NumPy calls or passes on."""
    if isinstance(value, functools.partial):
        return [value.func, *filter(callable, [*value.args, *value.keywords.values()])]
    if isinstance(value, np.vectorize):
        return [value.pyfunc]
    if isinstance(value, (staticmethod, classmethod, type(functools.cache(abs)))):
        return [value.__wrapped__]
    return []


# names of functions of installed packages, such as joblib.load
_READS_OR_WRITES = re.compile("(read|scan|load|open|save|write|dump|to|fetch)(_|s?$)")
_BUILT_IN = (
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    type(np.where),
)


def _is_elementwise(value: object) -> bool:
    if isinstance(value, np.ufunc):
        return not value.__name__.endswith("(vectorized)")
    of_pandas = [
        getattr(pd, name) for name in PERMITTED["names"]["functions of pandas"].split()
    ]
    known = [*(getattr(np, name) for name in PERMITTED["numpy"]), *of_pandas]
    return any(value is one for one in known)


def elementwise_of_numpy(name: str) -> bool:
    """Return whether NumPy has an elementwise function of that name.

    >>> elementwise_of_numpy("log10"), elementwise_of_numpy("save")
    (True, False)
    """
    return _is_elementwise(getattr(np, name, None))


def check_function(value: object, shown: str, code: str) -> None:
    """Check that a formula may call a function.

    Parameters
    ----------
    value : object
        Object that would be called, or passed to a function.
    shown : str
        Its name in the formula.
    code : str
        Code of the term, for messages.

    Raises
    ------
    FormulaError
        If the object may not be called.
    """
    why = why_refused(value)
    if why is None:
        return
    name = shown.rpartition(".")[2]
    if name in _LEARNING:
        raise FormulaError(f"the term {code!r} calls {shown}: {REMEDY}")
    raise FormulaError(f"the term {code!r} calls {shown}, which {why}. {OFFERED}")


def in_module(module: ModuleType, names: list[str], shown: str, code: str) -> object:
    """Return the object that dotted names denote, through modules only.

    Raises
    ------
    FormulaError
        If there is no such object, or it is neither a number nor an elementwise
        function.
    """
    value: object = module
    for name in names:
        if not isinstance(value, ModuleType) or not hasattr(value, name):
            raise FormulaError(
                f"the term {code!r}: there is no {shown}."
                + suggestion(name, vars(value) if isinstance(value, ModuleType) else ())
            )
        value = getattr(value, name)
    if isinstance(value, (int, float)):
        return value  # np.pi
    if not _is_elementwise(value) and why_refused(value) is None:
        raise FormulaError(
            f"the term {code!r} calls {shown}: a formula may call only elementwise "
            f"functions of the modules NumPy, SciPy and pandas. Import {names[-1]} by "
            "name, so that your script names what the formula may call."
        )
    check_function(value, shown, code)
    return value


def check_arguments(function: object, call: ast.Call, shown: str, code: str) -> None:
    """Check that no argument lets a call write into a column.

    Raises
    ------
    FormulaError
        If there is ``out=``, ``inplace=`` or ``**``, or one positional argument more
        than the function reads.
    """
    # a function of the script may have any argument
    lent = function is not None and not _is_elementwise(function)
    for keyword in call.keywords:
        if keyword.arg is None or (keyword.arg in _WRITING and not lent):
            given = "**" if keyword.arg is None else f"{keyword.arg}="
            raise FormulaError(
                f"the term {code!r} gives {given} to {shown}, which could write into "
                "the data; a formula only reads them."
            )
    most = _most_positional(function)
    if most is not None and len(call.args) > most:
        raise FormulaError(
            f"the term {code!r} gives {len(call.args)} arguments to {shown}, which "
            f"reads {most} at most; a further one would be written into."
        )


def check_learnt(
    function: object, call: ast.Call, name: str, code: str, columns: Container[str]
) -> None:
    """Refuse arguments that a function which learns from rows does not have.

    Those after the first, such as degrees of freedom, are not columns.
    """
    learnt = getattr(function, "__patsy_stateful_transform__", None)
    if learnt is None:
        return
    known = inspect.signature(learnt.transform)
    given = {str(keyword.arg) for keyword in call.keywords}
    try:
        bound = known.bind(None, *call.args, **dict.fromkeys(given))
    except TypeError as error:
        shown = ", ".join(str(one) for one in known.parameters if one != "self")
        powers = ", and powers by themselves are x + I(x**2)" * (name == "poly")
        raise FormulaError(
            f"cannot read the term {code!r}: {error}. It is {name}({shown}){powers}."
        ) from None
    settings = [*call.args[1:], *(k.value for k in call.keywords if k.arg != "x")]
    named = [one.id for one in settings if isinstance(one, ast.Name)]
    odd, why = [one for one in named if one in columns], ""
    if odd and "x" in known.parameters:
        why = f"has the column {odd[0]!r} where {name}() needs a setting; write its "
        why += "value out, as in bs(x, df=4)"
    elif name in ("cr", "cs", "cc") and not {"df", "knots"} & {*bound.arguments}:
        why = f"needs its degrees of freedom or knots, as in {name}(x, df=4)"
    elif name == "te" and any(isinstance(one, ast.Name) for one in call.args):
        why = "multiplies splines, and their degrees of freedom are given, as in "
        why += "te(cr(x, df=4), cr(z, df=4)); the product of two columns is x:z"
    if why:
        raise FormulaError(f"the term {code!r} {why}.")


def _most_positional(function: object) -> int | None:
    if isinstance(function, np.ufunc):
        return function.nin
    for name, most in PERMITTED["numpy"].items():
        if function is getattr(np, name):
            return int(most)
    return None


def check_attribute(accessor: str | None, name: str, code: str, call: bool) -> None:
    """Check that an attribute of a column is on the list of permitted ones.

    Parameters
    ----------
    accessor : str or None
        ``"str"``, ``"dt"`` or ``"cat"`` for an attribute of one of these.
    name, code : str
        Name of the attribute, and code of the term for messages.
    call : bool
        Whether the attribute is called.

    Raises
    ------
    FormulaError
        If the attribute is not on the list.
    """
    if name in METHODS[accessor] or (accessor is None and not call and name in METHODS):
        return
    shown = f".{name}()" if call else f".{name}"
    if name in _LEARNING:
        raise FormulaError(f"the term {code!r} uses {shown} of a column: {REMEDY}")
    known = sorted(METHODS[accessor])
    of = f".{accessor}" if accessor else "a column"
    raise FormulaError(
        f"the term {code!r} calls {shown} of a column, and a formula uses of {of} only "
        f"{joined(known)}; add a "
        "column to the data first." + suggestion(name, known)
    )
