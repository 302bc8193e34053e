"""Linear algebra kept to one thread while folds are fitted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_inside = 0
_limits: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS to one thread: sums in another order round otherwise.

    So results are the same bit by bit however many processes fit the folds. The
    limit is the process's own; the last of several threads to leave lifts it.
    """
    global _inside, _limits
    from threadpoolctl import threadpool_limits

    with _lock:
        if _inside == 0:
            _limits = threadpool_limits(1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limits.restore_original_limits()
