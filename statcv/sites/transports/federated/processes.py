"""Processes in which XGBoost runs, apart from that of a site or the server.

XGBoost waits for a site that is gone without an end, and may end its process. What can
be waited for with a limit, and ended, is a process of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

WORKER: Final = Path(__file__).with_name("worker.py")
SECRET: Final = "STATCV_KEY"
_PIECE: Final = 2**16


class SilentError(Exception):
    """A process has not said anything for too long."""


class TreeProcess:
    """A process in which XGBoost runs.

    Parameters
    ----------
    asked : dict
        What it is to do, as values of JSON.
    parts : bytes
        What follows on its input.
    """

    def __init__(self, asked: dict[str, Any], *parts: bytes) -> None:
        known = {name: os.environ[name] for name in os.environ if name != SECRET}
        self._popen = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**known, "OMP_NUM_THREADS": "1"},
        )
        self._held = b""
        self.lines, self._asked = 0, 0
        assert self._popen.stdin is not None
        # A broken pipe shows when the process is read.
        with contextlib.suppress(BrokenPipeError):
            for part in (json.dumps(asked).encode() + b"\n", *parts):
                self._popen.stdin.write(part)
            self._popen.stdin.flush()

    def hear(self, seconds: float) -> dict[str, Any] | None:
        """Return what the process says next; None if it has ended.

        Raises
        ------
        SilentError
            If it says nothing for this many seconds.
        """
        assert self._popen.stdout is not None
        place, until = self._popen.stdout.fileno(), time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(place, selectors.EVENT_READ)
            while b"\n" not in self._held:
                left = until - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise SilentError
                piece = os.read(place, _PIECE)
                if not piece:
                    return None
                self._held += piece
        line, _, self._held = self._held.partition(b"\n")
        said = dict(json.loads(line))
        if said["is"] == "alive":
            self._asked -= 1
        else:
            self.lines += 1
        return said

    def ask(self) -> None:
        """Ask whether it is alive, which is answered on its output."""
        assert self._popen.stdin is not None
        self._asked += 1
        with contextlib.suppress(OSError, ValueError):  # if it has ended
            self._popen.stdin.write(b"?")
            self._popen.stdin.flush()

    @property
    def answers(self) -> bool:
        """Whether it has answered all that it was asked."""
        return self._asked == 0

    @property
    def number(self) -> int:
        """Its number, by which the system knows it."""
        return self._popen.pid

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._popen.poll() is not None

    def end(self) -> None:
        """End it."""
        self._popen.kill()
        self._popen.wait()

    def close(self) -> None:
        """End it, and close its pipes."""
        self.end()
        for pipe in (self._popen.stdin, self._popen.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
