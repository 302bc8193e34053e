"""Work that threads share, with the same results for any number of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")
Made = TypeVar("Made")

WORTH = 4e6  # operations of a part that is worth a thread


class _Allowed(threading.local):
    """The threads that the work of this thread may use."""

    number = 1
    pool: ThreadPoolExecutor | None = None


_allowed = _Allowed()


def usual_threads() -> int:
    """Return the number of cores for this process, or of threads if that is set.

    It is set by the environment variable ``OMP_NUM_THREADS``, which other libraries
    heed as well.
    """
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdecimal() and int(wanted):
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def allow_threads(number: int) -> Iterator[None]:
    """Allow a number of threads, this one among them, to the work inside."""
    before = _allowed.number, _allowed.pool
    _allowed.number, _allowed.pool = number, None
    try:
        yield
    finally:
        if _allowed.pool is not None:
            _allowed.pool.shutdown()
        _allowed.number, _allowed.pool = before


def shared(work: Callable[[T], Made], items: Sequence[T], cost: float) -> list[Made]:
    """Return what a function makes of each item, in their order.

    Parameters
    ----------
    work : callable
        Function whose result does not depend on other items.
    items : sequence
    cost : float
        Number of arithmetic operations for one item, about. Cheap ones, and those of
        work that is itself one of the items, are done in this thread.

    Examples
    --------
    >>> with allow_threads(2):
    ...     shared(abs, [-1, 2, -3], cost=1e9)
    [1, 2, 3]
    """
    hands = min(_allowed.number, len(items), int(cost * len(items) / WORTH))
    if hands < 2:
        return [work(item) for item in items]
    pool = _pool()
    made: list[Made | None] = [None] * len(items)
    heeded = np.geterr()

    def do(hand: int) -> None:
        with np.errstate(**heeded), allow_threads(1):
            for place in range(hand, len(items), hands):
                made[place] = work(items[place])

    others = [pool.submit(do, hand) for hand in range(1, hands)]
    try:
        do(0)
    finally:
        for other in others:
            other.result()
    return made  # type: ignore[return-value]


def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    if _allowed.pool is None:
        _allowed.pool = ThreadPoolExecutor(_allowed.number - 1)
    return _allowed.pool
