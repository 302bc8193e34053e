"""Warnings of a fit, separated from those of fits in other threads."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_inside = 0
_outer: Any = None
_shown: Any = None
_own = threading.local()


@contextmanager
def collected() -> Iterator[list[warnings.WarningMessage]]:
    """Collect the warnings of this thread without showing them.

    ``warnings.catch_warnings`` changes what the whole process does with warnings;
    where threads enter and leave it in turn, some are lost for good.

    Examples
    --------
    >>> with collected() as given:
    ...     warnings.warn("slow", stacklevel=1)
    >>> str(given[0].message)
    'slow'
    """
    given: list[warnings.WarningMessage] = []
    _enter()
    before, _own.given = getattr(_own, "given", None), given
    try:
        yield given
    finally:
        _own.given = before
        _leave()


def passed_on(call: Callable[[Any], Any], given: Any) -> Any:
    """Return what a call returns, and show its warnings after it.

    scikit-learn catches warnings where it checks its input, so that predictions in one
    thread would put back what warnings do while a fit in another collects its own.
    """
    with collected() as found:
        made = call(given)
    for warning in found:
        show(warning)
    return made


def show(warning: warnings.WarningMessage) -> None:
    """Show a collected warning as if it were given now."""
    where = warning.filename, warning.lineno
    warnings.warn_explicit(warning.message, warning.category, *where)


def _enter() -> None:
    global _inside, _outer, _shown
    with _lock:
        if _inside == 0:
            if warnings.showwarning is not _collect:  # another thread restored it
                _shown = warnings.showwarning
            _outer = warnings.catch_warnings()
            _outer.__enter__()
            warnings.simplefilter("always")
            warnings.showwarning = _collect
        _inside += 1


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0:
            _outer.__exit__(None, None, None)
            warnings.showwarning = _shown


def _collect(message: Any, category: Any, *where: Any, **more: Any) -> None:
    given = getattr(_own, "given", None)
    if given is None:  # a thread that does not fit
        _shown(message, category, *where, **more)
    else:
        given.append(warnings.WarningMessage(message, category, *where, **more))
