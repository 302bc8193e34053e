"""The identity of a run, by which a checkpoint knows its own."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from typing import Any

import numpy as np

from statcv.engine.setup import Setup
from statcv.engine.versions import installed
from statcv.errors import CheckpointError, reason


def identity_of(setup: Setup) -> dict[str, Any]:
    """Return what identifies the call, for people and programs to read.

    Raises
    ------
    CheckpointError
        If the model cannot be distinguished from another.
    """
    return {
        "versions": _versions(),
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
    text = json.dumps(identity, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Say in which respects two identities differ.

    Examples
    --------
    >>> differences({"seed": 1, "data_digest": "a"}, {"seed": 2, "data_digest": "b"})
    ['the data differ', 'seed 1 there, 2 here']
    """
    said = []
    old, new = there.get("versions", {}), here.get("versions", {})
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            said.append(f"{name} {old.get(name)} there, {new.get(name)} here")
    for name in ("formula", "model", "scheme"):
        if there.get(name) != here.get(name):
            said.append(f"{name} {there.get(name)!r} there, {here.get(name)!r} here")
    same_scheme = there.get("scheme") == here.get("scheme")
    if same_scheme and there.get("folds") != here.get("folds"):
        said.append("the folds differ")
    same_label = there.get("model") == here.get("model")
    if same_label and there.get("model_digest") != here.get("model_digest"):
        said.append("the model's parameters differ")
    if there.get("data_digest") != here.get("data_digest"):
        said.append("the data differ")
    if there.get("seed") != here.get("seed"):
        said.append(f"seed {there.get('seed')} there, {here.get('seed')} here")
    return said


def _versions() -> dict[str, str]:
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **installed()}


def _model_digest(model: Any) -> str:
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    try:
        return f"{kind} {_digest_of_object(model)}"
    except Exception as error:
        raise CheckpointError(
            f"a checkpoint could not distinguish {model.label} from another model, "
            f"since it cannot be pickled ({reason(error)}); define it, and the "
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
    said = (design.names, design.outcome.kind, list(map(str, design.outcome.levels)))
    digest = hashlib.sha256(repr(said).encode())
    arrays = [design.y, design.matrix, setup.weights]
    arrays.append(None if strata is None else strata.codes)
    if design.terms.stateful:
        arrays.append(pd.util.hash_pandas_object(design.terms.frame).to_numpy())
    for array in arrays:
        if array is None:
            digest.update(b"none")
            continue
        digest.update(f"{array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
