"""One object for all tasks, whose arrays go to each worker once."""

from __future__ import annotations

import pickle
import sys
import uuid
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGE = 2**20  # bytes of an array that joblib maps into memory

_last: tuple[str, Any] = ("", None)


class Shared:
    """An object on its way to workers.

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
    >>> shared = Shared({"x": np.arange(3)})
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


def _received(token: str, head: Any, *beside: Any) -> Shared:
    """Put the object together, unless it came with an earlier task."""
    global _last
    if _last[0] != token:
        value = pickle.loads(head, buffers=beside)
        _last = (token, Shared(value))
    received: Shared = _last[1]
    return received
