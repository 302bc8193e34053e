"""Who does the tasks: this process, or others by joblib."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

from statcv.engine.setup import Setup
from statcv.engine.shared import Shared
from statcv.engine.threads import one_thread
from statcv.errors import ArgumentError, ArgumentTypeError
from statcv.whole import is_whole

Made = TypeVar("Made")


def check_jobs(n_jobs: Any) -> None:
    """Refuse a number of processes that is none."""
    if n_jobs is not None and (not is_whole(n_jobs)):
        raise ArgumentTypeError(f"n_jobs must be a whole number, not {n_jobs!r}.")
    if n_jobs == 0:
        raise ArgumentError("n_jobs=0 means no process; use 1, or -1 for all cores.")


def do_tasks(
    fit: Callable[[Setup, range], Made],
    setup: Setup,
    ranges: Sequence[range],
    n_jobs: int | None,
) -> Generator[tuple[range, Made], None, None]:
    """Yield each task with what its fits gave, as they end.

    Parameters
    ----------
    fit : callable
    setup : Setup
    ranges : sequence of range
    n_jobs : int or None
        As joblib takes it; a surrounding ``joblib.parallel_config`` holds where it
        is None. A single task is done here, and there are never more workers than
        tasks.
    """
    workers = min(_jobs(n_jobs), len(ranges))
    if workers < 2:
        with one_thread():
            for task in ranges:
                yield task, fit(setup, task)
        return
    from joblib import Parallel, delayed

    if setup.design.terms.plain is None:
        _ = setup.design.matrix, setup.design.terms.levels  # once, not in each worker
    prefer = "threads" if getattr(setup.model, "releases_gil", False) else None
    as_they_end = _returns_as_they_end(prefer)
    parallel = Parallel(
        n_jobs=workers,
        prefer=prefer,
        return_as="generator_unordered" if as_they_end else "list",
    )
    # a backend that returns lists is given few tasks at a time, for a checkpoint
    size = len(ranges) if as_they_end else 2 * workers
    shared = Shared(setup)
    with one_thread():  # here for threads, in each task for processes
        here = os.getpid()
        for start in range(0, len(ranges), size):
            some = ranges[start : start + size]
            yield from parallel(delayed(_do)(fit, shared, task, here) for task in some)


def _returns_as_they_end(prefer: str | None) -> bool:
    """Tell whether the active backend of joblib returns results one by one."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer=prefer)
    return bool(getattr(backend, "supports_return_generator", False))


def _jobs(n_jobs: int | None) -> int:
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


def _do(
    fit: Callable[[Setup, range], Made], shared: Shared, task: range, caller: int
) -> tuple[range, Made]:
    with one_thread(blas=os.getpid() != caller):  # a thread has the caller's limit
        return task, fit(shared.value, task)
