"""Work that threads share, with the same results for any number of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from statcv.numeric.arrays import Array

T = TypeVar("T")
Made = TypeVar("Made")

WORTH = 4e6  # least number of operations for which a thread is worth its cost
RECORD = 100.0  # assumed number of operations for a record, where they are not counted
STOPPING = 500  # numbers in the result of numpy.matmul below which threads wait
MAX_VECTORS = 5  # rows up to which they are quicker multiplied one by one
MIN_LONG = 50  # rows and columns of a matrix from which that is so


class _Allowed(threading.local):
    """The threads that the work of this thread may use."""

    number = 1
    busy = False  # with an item of shared work
    pool: ThreadPoolExecutor | None = None  # the threads besides this one


_allowed = _Allowed()


def _mark_busy() -> None:
    _allowed.busy = True


def usual_threads() -> int:
    """Return the number of cores for this process, or of threads if that is set.

    It is set by the environment variable ``OMP_NUM_THREADS``, which other libraries
    take account of as well.
    """
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdecimal() and int(wanted):
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def allow_threads(number: int) -> Iterator[None]:
    """Allow a number of threads, this one among them, to the work inside.

    Work that is itself an item of shared work has this thread alone.
    """
    before = _allowed.number, _allowed.pool
    number = 1 if _allowed.busy else number
    try:
        if number == 1 or before[0] == number:  # inside of the same threads
            _allowed.number = number
            yield
            return
        # each of the others starts when there is work
        with ThreadPoolExecutor(number - 1, initializer=_mark_busy) as _allowed.pool:
            _allowed.number = number
            yield
    finally:
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
    if hands < 2 or _allowed.pool is None:
        return [work(item) for item in items]
    made: list[Made | None] = [None] * len(items)
    places = iter(range(len(items)))  # each goes to the thread that asks for it first
    on_error = np.geterr()

    def do() -> None:
        with np.errstate(**on_error):
            for place in places:
                made[place] = work(items[place])

    helpers = [_allowed.pool.submit(do) for _ in range(hands - 1)]
    allowed, _allowed.number, _allowed.busy = _allowed.number, 1, True
    try:
        do()
    finally:
        _allowed.number, _allowed.busy = allowed, False
        wait(helpers)
    for helper in helpers:
        helper.result()
    return made  # type: ignore[return-value]


def product(left: Array, right: Array) -> Array:
    """Return ``left @ right`` of two matrices, while other threads go on.

    ``numpy.matmul`` stops them if the product is small. ``numpy.dot`` does not, but is
    slower for a matrix and its transpose.

    Examples
    --------
    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))
    array([[11.]])
    """
    small = len(left) * right.shape[1] < STOPPING
    multiply: Any = np.dot if small else np.matmul
    return np.asarray(multiply(left, right))


def rows_times(rows: Array, matrix: Array) -> Array:
    """Return ``rows @ matrix`` of few long rows, as BLAS is quickest at it.

    Examples
    --------
    >>> rows_times(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))
    array([[11.]])
    """
    if min(matrix.shape) < MIN_LONG:
        return product(rows, matrix)
    if len(rows) > MAX_VECTORS:
        # sums along columns are quicker if the matrix comes first
        columns = matrix.flags.c_contiguous
        return product(matrix.T, rows.T).T if columns else product(rows, matrix)
    made = np.empty((len(rows), matrix.shape[1]), matrix.dtype)
    for row, own in zip(rows, made, strict=True):
        np.dot(row, matrix, out=own)
    return made
