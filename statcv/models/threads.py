"""Sums over many records in several threads, with the same result as in one.

Records are cut into the same parts whatever the number of threads, and what the parts
give is added in order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TypeVar

PARTS = 4  # of the records, and threads at most

_allowed: ContextVar[int] = ContextVar("threads", default=1)
_pools: dict[int, ThreadPoolExecutor] = {}

Made = TypeVar("Made")
Item = TypeVar("Item")


@contextmanager
def threads_allowed(number: int) -> Iterator[None]:
    """Allow so many threads for sums over records."""
    token = _allowed.set(number)
    try:
        yield
    finally:
        _allowed.reset(token)


def usable_cores() -> int:
    """Return the number of cores that this process may use.

    The variable ``OMP_NUM_THREADS`` of the environment limits it, as it does elsewhere;
    joblib sets it in its processes.
    """
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(min(cores, int(limit)), 1) if limit.isdigit() else cores


def each(work: Callable[[Item], Made], items: Sequence[Item]) -> list[Made]:
    """Return what a function makes of each item, in as many threads as are allowed.

    Examples
    --------
    >>> with threads_allowed(2):
    ...     each(abs, [-3, 4])
    [3, 4]
    """
    threads = min(_allowed.get(), PARTS, len(items))
    if threads < 2:
        return [work(item) for item in items]
    return list(_pool().map(work, items))


def in_parts(items: Sequence[Item]) -> list[Sequence[Item]]:
    """Cut items into consecutive parts of about the same length.

    >>> in_parts(range(5))
    [range(0, 1), range(1, 2), range(2, 3), range(3, 5)]
    """
    cuts = [len(items) * part // PARTS for part in range(PARTS + 1)]
    return [items[start:stop] for start, stop in pairwise(cuts) if start < stop]


def _pool() -> ThreadPoolExecutor:
    """Return the threads of this process, which does not share them with its parent."""
    own = os.getpid()
    if own not in _pools:
        _pools.clear()
        _pools[own] = ThreadPoolExecutor(min(usable_cores(), PARTS))
    return _pools[own]
