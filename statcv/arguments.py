"""What counts as an integer, a number, a list, a confidence level and a seed."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from numbers import Real
from types import ModuleType
from typing import Any, TypeGuard

import numpy as np

from statcv.errors import ArgumentError, ArgumentTypeError, StatcvError, suggestion
from statcv.numeric.arrays import Floats, Ints, Numbers


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a Python or NumPy integer; a bool is not.

    Examples
    --------
    >>> is_whole(3), is_whole(np.int64(3)), is_whole(3.0), is_whole(True)
    (True, True, False, False)
    """
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


MAX_REPEATS = 10_000  # repeats of a scheme, or draws of it
MAX_RESAMPLES = 100_000  # bootstrap samples or permutations of one call
MAX_JOBS = 1024  # processes of one call
MAX_SEED = 2**128 - 1  # the entropy that a SeedSequence takes
MAX_GROUPS = 10_000_000  # groups whose areas are computed together
MAX_BINS = 100_000  # folds times bins per fold, or groups of predictions


def check_whole(
    value: object,
    name: str,
    least: int,
    most: float = math.inf,
    error: type[StatcvError] = ArgumentError,
) -> None:
    """Raise an error if a value is not an integer within the range.

    Examples
    --------
    >>> check_whole(1, "k", least=2)
    Traceback (most recent call last):
    ...
    statcv.errors.ArgumentError: k must be 2 or more, not 1, which is out of range.
    """
    if not is_whole(value):
        kind = ArgumentTypeError if error is ArgumentError else error
        raise kind(f"{name} must be an integer, not {described(value)}.")
    if not least <= value <= most:
        limit = f"{least} or more" if value < least else f"at most {most:,}"
        shown = described(value)
        raise error(f"{name} must be {limit}, not {shown}, which is out of range.")


def one_of(
    value: Any,
    known: Iterable[Any],
    name: str,
    error: type[StatcvError] = ArgumentError,
) -> Any:
    """Check that an option is among the known ones, and return it.

    Examples
    --------
    >>> one_of("hol", ("holm", "bh"), "adjust")
    Traceback (most recent call last):
    ...
    statcv.errors.ArgumentError: adjust must be 'holm' or 'bh', not 'hol'. Did you \
mean 'holm'?
    """
    options = tuple(known)
    for option in options:
        if value is option or (isinstance(value, str) and value == option):
            return option
    near = suggestion(value, [one for one in options if isinstance(one, str)])
    listed = " or ".join(map(repr, options))
    raise error(f"{name} must be {listed}, not {described(value)}.{near}")


def refuse_given(what: str, **given: object) -> None:
    """Refuse arguments that mean nothing for something, if they are given.

    >>> refuse_given("two results", pair=None)
    """
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(f"{name}={value!r} means nothing for {what}.")


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number within the range of floats, and not NaN.

    Examples
    --------
    >>> is_number(1), is_number(math.nan), is_number(True), is_number("1")
    (True, False, False, False)
    """
    if not isinstance(value, Real) or isinstance(value, (bool, np.timedelta64)):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:
        return False


def described(value: object) -> str:
    """Return a short value as it is written, and the type of any other.

    Examples
    --------
    >>> described("a"), described(np.zeros(99)), described([1, 2])
    ("'a'", 'a value of type ndarray', '[1, 2]')
    """
    if isinstance(value, (str, bytes, list, tuple, dict, int, float, type(None))):
        try:
            text = repr(value)
        except ValueError:  # an integer of thousands of digits
            text = ""
        if 0 < len(text) <= 60 and " at 0x" not in text:
            return text
    return f"a value of type {type(value).__name__}"


def is_list(value: object) -> bool:
    """Return whether a value is a list, a tuple, a Series, or an array of some length.

    Examples
    --------
    >>> is_list([1]), is_list(np.arange(2)), is_list("ab"), is_list(np.array(1))
    (True, True, False, False)
    """
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    listed = isinstance(value, Sequence) or hasattr(value, "to_list")
    return listed and not isinstance(value, (str, bytes, type))


_KINDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "str": ("text", lambda value: isinstance(value, str)),
    "int": ("an integer", is_whole),
    "float": ("a number", lambda value: isinstance(value, float) or is_number(value)),
    "bool": ("True or False", lambda value: isinstance(value, (bool, np.bool_))),
    "None": ("None", lambda value: value is None),
    "Mapping": ("a mapping", lambda value: isinstance(value, Mapping)),
    "Sequence": ("a list", is_list),
}
_KINDS |= {"Literal": _KINDS["str"], "tuple": _KINDS["Sequence"]}


def check_types(
    function: Callable[..., Any],
    given: Mapping[str, object],
    error: type[StatcvError] = ArgumentTypeError,
) -> None:
    """Check arguments that a signature annotates as text, numbers, or True or False.

    Parameters
    ----------
    function : callable
        The function or class whose annotations say what each argument is. Arguments
        that may be of any other type are not checked, nor is ``level``.
    given : mapping
        The values of the arguments: ``locals()`` at the start of the function.
    error : type, optional
        Type of the error that is raised.

    Raises
    ------
    ArgumentTypeError
        If an argument is of none of its types, or an empty text; or the given error.

    Examples
    --------
    >>> def drawn(share: float = 0.95, how: str | None = None): ...
    >>> check_types(drawn, {"share": [0.9], "how": None})
    Traceback (most recent call last):
    ...
    statcv.errors.ArgumentTypeError: share must be a number, not [0.9].
    """
    for name, kinds in _kinds_of(function).items():
        value = given[name]
        if not any(holds(value) for _, holds in kinds):
            wanted = " or ".join(says for says, _ in kinds).removesuffix(" or None")
            raise error(f"{name} must be {wanted}, not {described(value)}.")
        if isinstance(value, str) and not value:
            raise error(f"{name} is an empty text.")


@cache
def _kinds_of(
    function: Callable[..., Any],
) -> dict[str, tuple[tuple[str, Callable[[object], bool]], ...]]:
    """Return what each argument may be, if every alternative can be checked."""
    found = {}
    for name, note in function.__annotations__.items():
        while "[" in note:
            note = re.sub(r"\[[^\[\]]*\]", "", note)
        kinds = [_kind(part, function) for part in note.split(" | ")]
        if name not in ("return", "level") and None not in kinds:
            found[name] = tuple(dict.fromkeys(kind for kind in kinds if kind))
    return found


def _kind(
    part: str, function: Callable[..., Any]
) -> tuple[str, Callable[[object], bool]] | None:
    """Return the kind of a type's name: one of the table, or a class of the package."""
    kind = vars(sys.modules[function.__module__]).get(part)
    if part in _KINDS:
        return _KINDS[part]
    if not isinstance(kind, type) or not kind.__module__.startswith("statcv."):
        return None
    if getattr(kind, "_is_protocol", False):
        return None
    return f"of type {part}", lambda value: isinstance(value, kind)


def numbers(values: object, name: str) -> Floats:
    """Return a list of numbers as an array.

    Examples
    --------
    >>> numbers([1, 2], "weights").tolist()
    [1.0, 2.0]
    """
    try:
        made = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        made = np.empty(())
    if made.ndim != 1:
        raise ArgumentTypeError(f"{name} must be numbers, not {described(values)}.")
    return made


def check_level(level: object, error: type[StatcvError] = ArgumentError) -> None:
    """Check that a confidence level lies between 0 and 1.

    Parameters
    ----------
    level : float
        Confidence level.
    error : type, optional
        Type of the error that is raised.

    Raises
    ------
    ArgumentError
        Or an error of the given type.

    Examples
    --------
    >>> check_level(95)
    Traceback (most recent call last):
    ...
    statcv.errors.ArgumentError: level must lie between 0 and 1, such as 0.95, not 95.
    """
    if not is_number(level) or not 0 < level < 1:
        raise error(
            "level must lie between 0 and 1, such as 0.95, not "
            + described(level)
            + "."
        )


def offered(room: Mapping[str, Any]) -> list[str]:
    """Return the names that a room offers: those that it imports, but no module.

    >>> offered({"__name__": "room", "math": math, "floor": math.floor})
    ['floor']
    """
    return sorted(
        name
        for name, value in room.items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    )


# ---- seeds ----

# Streams of random numbers that are derived from one seed.
PLAN, FIT, FULL_FIT, PERMUTATION = 0, 1, 2, 4
RESERVE, PAIR_SAMPLE, RESAMPLE, RESAMPLE_HELD = 8, 9, 10, 11
PERMUTED_COLUMN = 12


def resolve_seed(seed: object) -> int:
    """Return the integer that a seed stands for.

    Parameters
    ----------
    seed : int, numpy.random.Generator or None
        Seed. From a Generator one integer is drawn, and None gives a fresh seed. The
        integer that is returned reproduces the results.

    Raises
    ------
    ArgumentTypeError
        If `seed` is of another type.
    ArgumentError
        If `seed` is negative.

    Examples
    --------
    >>> resolve_seed(7)
    7
    """
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**32))
    if not is_whole(seed):
        raise ArgumentTypeError(
            "seed must be an integer, a numpy Generator or None, not "
            f"{type(seed).__name__} ({seed!r})."
        )
    check_whole(seed, "seed", least=0, most=MAX_SEED)
    return int(seed)


def fit_seeds(seed: int, fits: Numbers) -> Ints:
    """Return the seeds of the models of some fits.

    Parameters
    ----------
    seed : int
        Seed of the call.
    fits : numpy.ndarray of int
        Numbers of the fits.

    Examples
    --------
    >>> bool(fit_seeds(7, np.array([0, 3]))[1] == fit_seeds(7, np.array([3]))[0])
    True
    """
    streams = (np.random.SeedSequence(seed, spawn_key=(FIT, int(fit))) for fit in fits)
    first = [int(stream.generate_state(1)[0] // 2) for stream in streams]
    return np.array(first, dtype=np.int64)
