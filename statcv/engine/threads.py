"""Linear algebra kept to one thread while folds are fitted."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_inside = 0
_limits: Any = None
_libraries: Any = None
_modules = 0


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS to one thread: sums in another order round otherwise.

    So results are the same bit by bit however many processes fit the folds. The
    limit is the process's own; the last of several threads to leave lifts it.
    """
    global _inside, _limits
    with _lock:
        if _inside == 0:
            _limits = _loaded().limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limits.restore_original_limits()


def _loaded() -> Any:
    """Return the libraries of the process, looked for anew once it imports more."""
    global _libraries, _modules
    if len(sys.modules) != _modules:
        from threadpoolctl import ThreadpoolController

        _libraries = ThreadpoolController().select(user_api="blas")
        _modules = len(sys.modules)
    return _libraries
