"""A directory from which an interrupted run resumes, and the identity of a run."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from statcv import errors
from statcv.engine.predictions import ALL, OPTIONAL, Part
from statcv.engine.setup import Setup
from statcv.files import DRAFT, write_whole
from statcv.models.linear_fits import ARRAYS, LinearFits
from statcv.numeric.arrays import Array
from statcv.words import plural

OF_LINEAR = (*ARRAYS, "rows")  # what is kept of linear fits


def to_bytes(part: Part, call: str) -> bytes:
    """Return a part as the bytes of an ``npz`` archive.

    Parameters
    ----------
    part : Part
    call : str
        Identity of the call.
    """
    linear = None if part.linear is None else part.linear.smallest
    known = {name: getattr(part, name) for name in (*ALL, *OPTIONAL, "coefficients")}
    known |= {f"linear_{name}": getattr(linear, name, None) for name in OF_LINEAR}
    for fit, curves in enumerate(part.curves or []):
        known |= {f"curve_{fit}_{k}": one for k, one in enumerate(curves.values())}
    arrays = {name: np.asarray(one) for name, one in known.items() if one is not None}
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
        names = (*OPTIONAL, "coefficients")
        optional: dict[str, Any] = {name: arrays.get(name) for name in names}
        return Part(
            fits=range(*said["fits"]),
            **{name: arrays[name] for name in ALL},
            probabilities=said["probabilities"],
            names=tuple(said["names"]),
            chosen=said["chosen"],
            curves=None if said["curves"] is None else curves,
            linear=_linear(arrays),
            **optional,
        )
    except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile):
        return None


def _linear(arrays: Mapping[str, Array]) -> LinearFits | None:
    kept: dict[str, Any] = {name: arrays.get(f"linear_{name}") for name in OF_LINEAR}
    if kept["coefficients"] is None or kept["penalty"] is None:
        return None
    return LinearFits(**kept)


def digest(content: bytes) -> str:
    """Return 16 hex digits that differ if a file is incomplete or altered."""
    return hashlib.sha256(content).hexdigest()[:16]


# ---- the directory of a run that can be resumed ----

CALL = "call.json"  # identifies the call of the directory
PART = re.compile(r"fits-(\d+)-(\d+)\.([0-9a-f]{16})\.npz")


def remove_drafts(folder: Path) -> None:
    """Remove files that a process was writing when it was killed."""
    for file in folder.iterdir():
        draft = DRAFT.fullmatch(file.name)
        if draft and (draft[1] == CALL or PART.fullmatch(draft[1])):
            file.unlink(missing_ok=True)


@dataclass(frozen=True)
class Checkpoint:
    """A directory of parts, one file per task, each with its digest in its name.

    For a model that is tuned fold by fold, a task is one outer fold with all its inner
    fits; for one whose folds are fitted together, it is about a second of work.

    Attributes
    ----------
    directory : Path
    call : str
        Identity of the call; every part repeats it.
    fits : int
        Number of fits of the call.
    """

    directory: Path
    call: str
    fits: int

    @classmethod
    def of(cls, directory: Any, setup: Setup) -> Checkpoint:
        """Resume from the directory of the call, or create it.

        Raises
        ------
        CheckpointError
            If it belongs to another call, data set or version; the message says which.
        If it is not a checkpoint and holds other files.
        """
        path = _path(directory)
        here = identity_of(setup)
        there = _read_call(path)
        if there is None:
            _begin(path, here)
        elif digest_of(there) != digest_of(here):
            said = ", ".join(differences(there, here)) or "it cannot be compared"
            raise errors.CheckpointError(
                f"the checkpoint {str(path)!r} is of another call: {said}. Give "
                "another directory, or delete this one."
            )
        with _writing(path):
            remove_drafts(path)
        return cls(path, digest_of(here), setup.plan.n_fits)

    def read(self, ranges: Sequence[range]) -> dict[range, Part]:
        """Return the tasks that are done, ignoring damaged or foreign files."""
        wanted, done, bad = set(ranges), {}, 0
        for path in sorted(self.directory.iterdir()):
            named = PART.fullmatch(path.name)
            if named is None:
                continue
            fits = range(int(named[1]), int(named[2]))
            if fits not in wanted or fits in done:
                continue
            try:
                content = path.read_bytes()
            except OSError:
                content = b""
            whole = digest(content) == named[3]
            part = from_bytes(content, self.call) if whole else None
            if part is None or part.fits != fits:
                bad += 1
            else:
                done[fits] = part
        if bad:
            errors.warn(
                f"{plural(bad, 'file')} in the checkpoint {str(self.directory)!r} "
                "cannot be used, torn or of another call; their fits are made again.",
                errors.CheckpointWarning,
            )
        return done

    def write(self, part: Part) -> None:
        """Keep a part."""
        content = to_bytes(part, self.call)
        width = len(str(self.fits))
        numbers = f"{part.fits.start:0{width}}-{part.fits.stop:0{width}}"
        path = self.directory / f"fits-{numbers}.{digest(content)}.npz"
        with _writing(self.directory):
            write_whole(path, content)

    def told(self, ranges: Sequence[range]) -> str:
        """Say what an interrupted run leaves behind: the fits already in files."""
        with warnings.catch_warnings():
            # it was given at the start
            warnings.simplefilter("ignore", errors.CheckpointWarning)
            done = sum(map(len, self.read(ranges)))
        return (
            f"{done} of {plural(self.fits, 'fit')} are kept in "
            f"{str(self.directory)!r}; the same call goes on from there."
        )


def kept_seed(directory: Any) -> int | None:
    """Return the seed of the call to which a directory belongs, or None.

    Examples
    --------
    >>> kept_seed("no such directory")
    """
    there = _read_call(_path(directory))
    seed = None if there is None else there.get("seed")
    return seed if isinstance(seed, int) else None


def _path(directory: Any) -> Path:
    if not isinstance(directory, (str, os.PathLike)) or not str(directory):
        raise errors.ArgumentTypeError(
            f"checkpoint must be the path of a directory, not {directory!r}."
        )
    path = Path(directory)
    if os.path.isfile(path):  # False also where a path cannot exist
        raise errors.CheckpointError(
            f"checkpoint={str(path)!r} is a file, not a directory."
        )
    return path


def _begin(path: Path, identity: Mapping[str, Any]) -> None:
    """Create the directory, or take an empty one, and record the call it belongs to."""
    text = json.dumps(identity, indent=2, ensure_ascii=False)
    with _writing(path):
        path.mkdir(parents=True, exist_ok=True)
        if any(not file.name.startswith(".") for file in path.iterdir()):
            raise errors.CheckpointError(
                f"{str(path)!r} holds files, but no checkpoint; give a new or an empty "
                "directory."
            )
        write_whole(path / CALL, f"{text}\n".encode())


def _read_call(path: Path) -> dict[str, Any] | None:
    file = path / CALL
    there: Any = None
    with _writing(path):
        try:
            there = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError:  # not JSON
            pass
    if not isinstance(there, dict) or "versions" not in there:
        raise errors.CheckpointError(
            f"{str(file)!r} was not written by statcv; give another directory."
        )
    return there


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Say that nothing can be kept in a directory, and why, if that fails."""
    try:
        yield
    except OSError as error:
        why = f"the checkpoint {str(path)!r} ({errors.reason(error)})"
        raise errors.CheckpointError(f"nothing can be kept in {why}.") from error


# ---- the identity of a run ----


def identity_of(setup: Setup) -> dict[str, Any]:
    """Return what identifies the call, for people and programs to read.

    Raises
    ------
    CheckpointError
        If the model cannot be distinguished from another.
    """
    python = ".".join(platform.python_version_tuple()[:2])
    return {
        "versions": {"python": python, **installed()},
        "formula": setup.design.formula.text,
        "model": setup.model.label,
        "model_digest": _model_digest(setup.model),
        "scheme": setup.plan.sentence,
        "folds": setup.plan.fingerprint,
        "fits": setup.plan.n_fits,
        "data_digest": _data_digest(setup),
        "seed": setup.seed,
    }


def digest_of(identity: Mapping[str, Any]) -> str:
    """Return 16 hex digits that differ between identities.

    >>> digest_of({"seed": 1, "fits": 2}) == digest_of({"fits": 2, "seed": 1})
    True
    """
    return digest(json.dumps(identity, sort_keys=True).encode())


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Say in which respects two identities differ.

    Examples
    --------
    >>> differences({"seed": 1, "data_digest": "a"}, {"seed": 2, "data_digest": "b"})
    ['the data differ', 'seed 1 there, 2 here']
    """
    old, new = there.get("versions", {}), here.get("versions", {})
    names = [one for one in sorted({*old, *new}) if old.get(one) != new.get(one)]
    said = [f"{one} {old.get(one)} there, {new.get(one)} here" for one in names]
    differs = {name for name in here if there.get(name) != here[name]}
    for name in ("formula", "model", "scheme"):
        if name in differs:
            said.append(f"{name} {there.get(name)!r} there, {here[name]!r} here")
    if "folds" in differs and "scheme" not in differs:
        said.append("the folds differ")
    if "model_digest" in differs and "model" not in differs:
        said.append("the model's parameters differ")
    if "data_digest" in differs:
        said.append("the data differ")
    if "seed" in differs:
        said.append(f"seed {there.get('seed')} there, {here['seed']} here")
    return said


def _model_digest(model: Any) -> str:
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    try:
        return f"{kind} {_digest_of_object(model)}"
    except Exception as error:
        raise errors.CheckpointError(
            f"a checkpoint could not distinguish {model.label} from another model, "
            f"since it cannot be pickled ({errors.reason(error)}); define it, and the "
            "functions that it uses, in a module."
        ) from error


def _digest_of_object(value: Any) -> str:
    """Return joblib's digest, the same in every process for frozen sets too."""
    from joblib.hashing import NumpyHasher

    class Hasher(NumpyHasher):  # type: ignore[misc]
        def save(self, obj: Any) -> None:
            super().save(set(obj) if type(obj) is frozenset else obj)

    return str(Hasher().hash(value))


def _data_digest(setup: Setup) -> str:
    """Return a digest of outcome, matrix, weights and who never parts."""
    import pandas as pd

    design, strata = setup.design, setup.plan.strata
    terms, outcome = design.terms, design.outcome
    said = design.names, outcome.kind, list(map(str, outcome.levels))
    frame = pd.util.hash_pandas_object(terms.frame).to_numpy() if terms.stateful else 0
    codes = None if strata is None else strata.codes
    numbers = np.asarray(design.y), design.matrix, setup.weights
    return _digest_of_object((said, *numbers, codes, frame))


# ---- versions of packages ----

PACKAGES: tuple[str, ...] = (
    *("statcv", "numpy", "scipy", "pandas", "patsy"),
    *("scikit-learn", "statsmodels", "xgboost"),
)


def installed(names: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Return the versions of packages; those that are not installed are omitted.

    Parameters
    ----------
    names : sequence of str
        Names of packages; those on which the numbers of a fit depend by default.

    Examples
    --------
    >>> list(installed(["numpy", "no-such-package"]))
    ['numpy']
    """
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
