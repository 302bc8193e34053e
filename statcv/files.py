"""Files that are complete or absent, even if a process is killed while it writes."""

from __future__ import annotations

import os
import re
import uuid
from functools import partial
from pathlib import Path

DRAFT = re.compile(r"\.(.+)\.[0-9a-f]{32}\.tmp")  # what is written before it is whole
TRIES = 3  # another process may take a draft for abandoned


def write_whole(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file that is complete or absent, even if the power fails.

    The file has the permissions of `mode` that the process's umask leaves.
    """
    for tries_left in reversed(range(TRIES)):
        draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        try:
            with open(draft, "wb", opener=partial(os.open, mode=mode)) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
            break
        except FileNotFoundError:
            if not tries_left or not path.parent.is_dir():
                raise
        finally:
            draft.unlink(missing_ok=True)
    if os.name == "posix":  # the name too has to reach the disk
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
