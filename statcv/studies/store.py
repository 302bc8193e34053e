"""The files of a study, from which an interrupted run continues.

A file holds the results of some consecutive data sets; its name says what was measured
and on which data sets. A file is written whole, or not at all.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine.storage import write_whole
from statcv.errors import CheckpointError

SAID = "study.json"
PART = re.compile(r"(.+)-(\d+)-(\d+)\.npz")


def claim(path: Path, said: Mapping[str, Any]) -> None:
    """Continue in the directory of a study, or begin a new one.

    Parameters
    ----------
    path : pathlib.Path
        Directory of the study, which is made if it does not exist.
    said : mapping
        Arguments that must agree between runs that share the directory: names, numbers,
        or lists of these.

    Raises
    ------
    CheckpointError
        If the directory holds something else, or a study with other arguments.
    """
    path.mkdir(parents=True, exist_ok=True)
    file = path / SAID
    if not file.exists():
        if any(path.iterdir()):
            raise CheckpointError(
                f"{path} holds other files, and no study; give an empty directory."
            )
        write_whole(file, json.dumps(said).encode())
        return
    there, wanted = _said(file), json.loads(json.dumps(said))
    differ = [name for name in wanted if there.get(name) != wanted[name]]
    if differ:
        listed = ", ".join(f"{name}={there.get(name)}" for name in differ)
        raise CheckpointError(
            f"{path} holds a study with {listed}; give another directory, or the same "
            "arguments."
        )


def _said(file: Path) -> dict[str, Any]:
    try:
        there = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        there = None
    if not isinstance(there, dict):
        raise CheckpointError(f"{file} is not of a study; give another directory.")
    return there


def undone(path: Path, name: str, count: int, chunk: int) -> Iterator[range]:
    """Yield the data sets of a part of a study that are not in any file.

    Parameters
    ----------
    path : pathlib.Path
    name : str
        Prefix of the file names.
    count : int
        Number of data sets that are wanted.
    chunk : int
        Number of data sets in a file.
    """
    done = {number for part in parts_of(path, name) for number in part[1]}
    for start in range(0, count, chunk):
        whole = range(start, min(start + chunk, count))
        left = [number for number in whole if number not in done]
        if left:  # files hold the first of a chunk, if any
            yield range(left[0], whole.stop)


def parts_of(path: Path, name: str | None = None) -> list[tuple[Path, range]]:
    """Return the files of a study, or those of one name, with their data sets.

    Parameters
    ----------
    path : pathlib.Path
    name : str, optional
        Prefix of the file names.
    """
    found = []
    for file in sorted(path.glob(f"{name or ''}*.npz")):
        match = PART.fullmatch(file.name)
        if match and name in (None, match[1]):
            found.append((file, range(int(match[2]), int(match[3]))))
    return found


def write_part(
    path: Path, name: str, numbers: range, arrays: Mapping[str, Any]
) -> None:
    """Write the results of some data sets.

    Parameters
    ----------
    path : pathlib.Path
    name : str
    numbers : range
        Numbers of the data sets.
    arrays : mapping
        Arrays of numbers or text by name.
    """
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    file = f"{name}-{numbers.start:06d}-{numbers.stop:06d}.npz"
    write_whole(path / file, content.getvalue())


def read_part(file: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file.

    Raises
    ------
    CheckpointError
        If it cannot be read.
    """
    try:
        with np.load(io.BytesIO(Path(file).read_bytes())) as stored:
            return {name: stored[name] for name in stored.files}
    except Exception:  # whatever NumPy and zlib make of other bytes
        raise unreadable(file) from None


def unreadable(file: str | os.PathLike[str]) -> CheckpointError:
    """Return the error for a file that is damaged, or not part of the study."""
    return CheckpointError(
        f"{os.fspath(file)} cannot be read; delete it, and run the study again."
    )
