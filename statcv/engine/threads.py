"""One thread while folds are fitted, whatever a library would take."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_inside = 0
_limits: Any = None
_libraries: tuple[Any, Any] = (None, None)
_modules = 0
_own = threading.local()


@contextmanager
def one_thread(blas: bool = True) -> Iterator[None]:
    """Keep BLAS and OpenMP to one thread: sums in another order round otherwise.

    So results are the same bit by bit however many processes fit the folds, and
    these are as many threads as there are processes. A model that is told its own
    number of threads, as XGBoost's ``n_jobs``, keeps to that.

    The limit of BLAS is the process's own; the last of several to leave lifts it. That
    of OpenMP is each thread's, and the only one without ``blas``.
    """
    global _inside, _limits
    outermost = not getattr(_own, "inside", False)
    with _lock:
        of_blas, openmp = _loaded()
        if blas and _inside == 0:
            _limits = of_blas.limit(limits=1)
        _inside += blas
        mine = openmp.limit(limits=1) if outermost else None
    _own.inside = True
    try:
        yield
    finally:
        with _lock:
            if mine is not None:
                mine.restore_original_limits()
                _own.inside = False
            _inside -= blas
            if blas and _inside == 0:
                _limits.restore_original_limits()


def _loaded() -> tuple[Any, Any]:
    """Return the process's libraries, looked for anew once it imports more."""
    global _libraries, _modules
    if len(sys.modules) != _modules:
        from threadpoolctl import ThreadpoolController

        found = ThreadpoolController()
        _libraries = found.select(user_api="blas"), found.select(user_api="openmp")
        _modules = len(sys.modules)
    return _libraries
