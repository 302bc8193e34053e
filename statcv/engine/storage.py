"""Parts as files of NumPy arrays and JSON, which run no code when they are read."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import uuid
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine.predictions import Part

ARRAYS = ("predicted", "partner_predicted", "converged", "separated", "seconds")


def to_bytes(part: Part, call: str) -> bytes:
    """Return a part as the bytes of an ``npz`` archive.

    Parameters
    ----------
    part : Part
    call : str
        Identity of the call.
    """
    arrays: dict[str, NDArray[Any]] = {name: getattr(part, name) for name in ARRAYS}
    if part.coefficients is not None:
        arrays["coefficients"] = part.coefficients
    if part.curves is not None:
        for fit, curves in enumerate(part.curves):
            for place, curve in enumerate(curves.values()):
                arrays[f"curve_{fit}_{place}"] = curve
    said = {
        "call": call,
        "fits": [part.fits.start, part.fits.stop],
        "probabilities": bool(part.probabilities),
        "names": part.names,
        "chosen": part.chosen,
        "curves": None if part.curves is None else list(map(list, part.curves)),
    }
    buffer = io.BytesIO()
    np.savez(buffer, about=np.array(json.dumps(said)), **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def from_bytes(content: bytes, call: str) -> Part | None:
    """Return the part that the bytes hold; None if it is not a part of the call."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as read:
            arrays = dict(read)
        said = json.loads(arrays.pop("about").item())
        if said["call"] != call:
            return None
        curves = [
            {name: arrays[f"curve_{fit}_{place}"] for place, name in enumerate(names)}
            for fit, names in enumerate(said["curves"] or [])
        ]
        return Part(
            fits=range(*said["fits"]),
            **{name: arrays[name] for name in ARRAYS},
            probabilities=said["probabilities"],
            names=tuple(said["names"]),
            coefficients=arrays.get("coefficients"),
            chosen=said["chosen"],
            curves=None if said["curves"] is None else curves,
        )
    except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile):
        return None


def digest(content: bytes) -> str:
    """Return 16 hex digits that differ if a file is incomplete or altered."""
    return hashlib.sha256(content).hexdigest()[:16]


DRAFT = re.compile(r"\.(call\.json|fits-[0-9a-f.-]+\.npz)\.[0-9a-f]{32}\.tmp")
TRIES = 3  # another start of the same call may take a draft for abandoned


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is complete or absent, even if the power fails."""
    for tries_left in reversed(range(TRIES)):
        try:
            _write_whole(path, content)
        except FileNotFoundError:
            if not tries_left or not path.parent.is_dir():
                raise
        else:
            return


def _write_whole(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    if os.name == "posix":  # the name too has to reach the disk
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def remove_drafts(folder: Path) -> None:
    """Remove files that a process was writing when it was killed."""
    for file in folder.iterdir():
        if DRAFT.fullmatch(file.name):
            file.unlink(missing_ok=True)
