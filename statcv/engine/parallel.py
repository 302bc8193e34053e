"""Worker processes: their threads, the data they share, and progress."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import MAX_JOBS, check_whole
from statcv.engine.setup import Setup
from statcv.errors import ArgumentError, WorkerError
from statcv.numeric.threads import allow_threads, usual_threads


def progress_bar(total: int, progress: bool | None, unit: str = "fold") -> Any:
    """Return a bar of tqdm, which is drawn in a notebook too.

    Parameters
    ----------
    total : int
        Number of fits, or of other units.
    progress : bool or None
        Whether to show it; by default after two seconds and at a terminal only.
    unit : str
        Name of one unit.
    """
    if progress:
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm
    hidden = progress is False or (progress is None and not sys.stderr.isatty())
    delay = 2 if progress is None else 0
    return tqdm(total=total, desc=f"{unit}s", unit=unit, delay=delay, disable=hidden)


# ---- one thread while folds are fitted, whatever a library would use ----

_lock = threading.Lock()
_inside = 0
_limits: Any = None
_libraries: tuple[Any, Any] = (None, None)
_modules = 0
_own = threading.local()


@contextmanager
def one_thread(blas: bool = True, openmp: bool = True) -> Iterator[None]:
    """Keep BLAS and OpenMP to one thread, since the order of sums changes rounding.

    Results are thus the same bit by bit however many processes fit the folds, and
    there are as many threads as processes. A model with its own number of threads, such
    as XGBoost's ``n_jobs``, keeps to that number.

    OpenMP is not limited (``openmp=False``) where folds are fitted one after the other
    in the caller's thread by a model whose fits are the same for any number of threads
    (``any_threads`` of its capabilities): boosted trees of XGBoost and
    scikit-learn's ``HistGradientBoosting``. Forests have threads of joblib, which are
    never limited. XGBoost's linear booster, a metric that XGBoost follows or stops by,
    LightGBM (unless it is ``deterministic``, its sums depend on the threads) and all
    other models have one thread.

    The limit of BLAS holds for the process; the last of several to leave lifts it. That
    of OpenMP holds for each thread, and is the only one without ``blas``.
    """
    global _inside, _limits
    outermost = openmp and not getattr(_own, "inside", False)
    with _lock:
        if blas and _inside == 0:
            _limits = _limited(_loaded()[0])
        _inside += blas
        mine = _limited(_loaded()[1]) if outermost else None
    if outermost:
        _own.inside = True
    try:
        yield
    finally:
        with _lock:
            if mine is not None:
                mine.restore_original_limits()
            if outermost:
                _own.inside = False
            _inside -= blas
            if blas and _inside == 0 and _limits is not None:
                _limits.restore_original_limits()


def _limited(libraries: Any) -> Any:
    """Limit libraries to one thread; None if that is what they have."""
    if all(one.get_num_threads() == 1 for one in libraries.lib_controllers):
        return None
    return libraries.limit(limits=1)


def _loaded() -> tuple[Any, Any]:
    """Return the process's libraries, searched again once it imports more.

    scipy brings a BLAS of its own, which is loaded before, as the first fit of a
    process would otherwise load it with all its threads.
    """
    global _libraries, _modules
    import_module("scipy.linalg.lapack")
    if len(sys.modules) != _modules:
        from threadpoolctl import ThreadpoolController

        found = ThreadpoolController()
        _libraries = found.select(user_api="blas"), found.select(user_api="openmp")
        _modules = len(sys.modules)
    return _libraries


# ---- one object for all tasks, whose arrays go to each worker once ----

LARGE = 2**20  # bytes of an array that joblib maps into memory

_last: tuple[str, Any] = ("", None)


class SharedObject:
    """An object that is sent to workers.

    Threads take it as it is. For other processes it is pickled once, whatever the
    number of tasks, into flat arrays of bytes: these joblib maps into memory where
    they are large, and the object's own arrays lie there, not copied. A worker puts
    the object together for its first task and keeps it for those that follow.

    Parameters
    ----------
    value : object

    Examples
    --------
    >>> import pickle
    >>> shared = SharedObject({"x": np.arange(3)})
    >>> pickle.loads(pickle.dumps(shared)).value
    {'x': array([0, 1, 2])}
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        self._token = uuid.uuid4().hex
        self._sent: tuple[NDArray[np.uint8], ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (self._token, *self._bytes())

    def __sizeof__(self) -> int:
        return sys.getsizeof(self._token) + sum(one.nbytes for one in self._bytes())

    def _bytes(self) -> tuple[NDArray[np.uint8], ...]:
        if not self._sent:
            beside: list[NDArray[np.uint8]] = []

            def inside(buffer: pickle.PickleBuffer) -> bool:
                raw = buffer.raw()
                if raw.nbytes < LARGE:
                    return True
                beside.append(np.frombuffer(raw, np.uint8))
                return False

            head = _dumps(self.value, protocol=5, buffer_callback=inside)
            self._sent = (np.frombuffer(head, np.uint8), *beside)
        return self._sent


def _dumps(value: Any, **how: Any) -> bytes:
    """Pickle by value what a script or a notebook defines, as joblib does."""
    try:
        from cloudpickle import dumps  # type: ignore[import-untyped]
    except ImportError:  # joblib before 1.6 brings its own
        from joblib.externals.cloudpickle import dumps
    made: bytes = dumps(value, **how)
    return made


def _received(token: str, head: Any, *beside: Any) -> SharedObject:
    """Put the object together, unless it came with an earlier task."""
    global _last
    if _last[0] != token:
        value = pickle.loads(head, buffers=beside)
        _last = (token, SharedObject(value))
    received: SharedObject = _last[1]
    return received


# ---- the tasks are done by this process, or by others through joblib ----

SMALL = 2**18  # numbers in a matrix whose folds of boosted trees threads share

Made = TypeVar("Made")
Task = Callable[[Setup, range], Made]  # function that makes the fits of a range


def check_jobs(n_jobs: Any) -> None:
    """Check n_jobs."""
    if n_jobs is None:
        return
    check_whole(n_jobs, "n_jobs", least=-MAX_JOBS, most=MAX_JOBS)
    if n_jobs == 0:
        raise ArgumentError("n_jobs=0 means no process; use 1, or -1 for all cores.")


def do_tasks(
    fit: Task[Made], setup: Setup, ranges: Sequence[range], n_jobs: int | None
) -> Generator[tuple[range, Made], None, None]:
    """Yield each task with the results of its fits, as they finish.

    Parameters
    ----------
    fit : callable
    setup : Setup
    ranges : sequence of range
    n_jobs : int or None
        Number of processes, as in joblib; if None, a surrounding
        ``joblib.parallel_config`` decides. A single task is done here, and there are
        never more workers than tasks. Threads share small folds of boosted trees by
        default, each with one thread of OpenMP, where several for each fold would
        mostly wait for one another.

    Raises
    ------
    WorkerError
        If the system ends a worker process.
    """
    workers = min(_workers(setup, n_jobs), len(ranges)) if len(ranges) > 1 else 1
    if workers < 2:
        openmp = not setup.model.capabilities.any_threads
        with one_thread(openmp=openmp):
            for task in ranges:
                with own_threads(n_jobs):
                    made = fit(setup, task)
                yield task, made
        return
    from concurrent.futures.process import BrokenProcessPool

    from joblib import Parallel, delayed

    if not setup.design.terms.is_plain:
        _ = setup.design.matrix, setup.design.terms.levels  # once, not in each worker
    prefer = "threads" if setup.model.capabilities.releases_gil else None
    as_they_end = returns_as_they_end(prefer)
    kind = "generator_unordered" if as_they_end else "list"
    parallel = Parallel(n_jobs=workers, prefer=prefer, return_as=kind)
    # a backend that returns lists is given few tasks at a time, for a checkpoint
    size = len(ranges) if as_they_end else 2 * workers
    shared = SharedObject(setup)
    with one_thread():  # here for threads, in each task for processes
        here = os.getpid()
        try:
            for start in range(0, len(ranges), size):
                some = ranges[start : start + size]
                calls = (delayed(_do)(fit, shared, task, here) for task in some)
                yield from parallel(calls)
        except BrokenProcessPool:
            raise WorkerError(
                f"the system ended one of {workers} worker processes, most often for "
                "lack of memory. Use fewer (n_jobs=1 fits in this process); with "
                "checkpoint='folder' the folds that were finished are kept."
            ) from None


def returns_as_they_end(prefer: str | None = None) -> bool:
    """Return whether the active backend of joblib returns results one by one."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer=prefer)
    return bool(getattr(backend, "supports_return_generator", False))


def _workers(setup: Setup, n_jobs: int | None) -> int:
    """Return how many threads or processes there may be for the tasks."""
    able = setup.model.capabilities
    shared = able.any_threads and able.releases_gil and setup.records.X.size <= SMALL
    return _threads(n_jobs) if shared else _jobs(n_jobs)


def _jobs(n_jobs: int | None) -> int:
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


def own_threads(n_jobs: int | None) -> AbstractContextManager[None]:
    """Allow fits of all folds together as many threads as there may be processes.

    If ``n_jobs`` is None and no ``joblib.parallel_config`` says otherwise, these are
    all cores, or ``OMP_NUM_THREADS``.
    """
    check_jobs(n_jobs)
    return allow_threads(_threads(n_jobs))


def _threads(n_jobs: int | None) -> int:
    if n_jobs is None and "joblib" in sys.modules:
        from joblib.parallel import get_active_backend

        _, n_jobs = get_active_backend()
    return usual_threads() if n_jobs is None else _jobs(n_jobs)


@contextmanager
def threads_after_fits(n_jobs: int | None) -> Iterator[None]:
    """Share among threads what is computed from fits, as :func:`own_threads` does.

    BLAS has one in each, so that the results do not depend on their number.
    """
    with one_thread(openmp=False), own_threads(n_jobs):
        yield


def _do(
    fit: Task[Made], shared: SharedObject, task: range, caller: int
) -> tuple[range, Made]:
    with one_thread(blas=os.getpid() != caller):  # a thread has the caller's limit
        return task, fit(shared.value, task)
