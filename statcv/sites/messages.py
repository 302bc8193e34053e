"""Messages between sites and coordinator: a JSON header and arrays of numbers.

A message is text and numbers alone. Nothing in it can be run, and what is read is
checked before any of it is used: version, length, names, types and shapes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from statcv.errors import MessageError
from statcv.numeric.arrays import Array, Floats
from statcv.tables import Printed
from statcv.words import stored_texts

VERSION: Final = 1
MAGIC: Final = b"statcv sites %d\n" % VERSION
MAX_MESSAGE_BYTES: Final = 2**22  # largest size of a message, in bytes
TYPES: Final = ("<f8", "<f4", "|u1", "<u2", "<u4", "<u8")
_LENGTH = 4  # bytes that give the length of the header
_MAX_AXES = 3
MINIMUM_SITES: Final = 3
SENTENCES: Final = stored_texts("statcv.sites", "sentences.txt")
REFUSE: Final = "refuse"  # the kind of a message that gives no answer


@dataclass(frozen=True, eq=False, repr=False)
class Message(Printed):
    """One message.

    Attributes
    ----------
    kind : str
        What the message is, such as ``"fit"``.
    header : dict
        Values of JSON.
    arrays : dict of numpy.ndarray
        Numbers: floats, or integers from 0.

    Examples
    --------
    >>> sent = Message("fit", {"round": 2}, {"gradient": np.array([0.5, -1.0])})
    >>> got = Message.of(bytes(sent))
    >>> got.kind, got.header, got.arrays["gradient"].tolist()
    ('fit', {'round': 2}, [0.5, -1.0])
    """

    kind: str
    header: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)

    def __bytes__(self) -> bytes:
        stored = {name: _stored(array) for name, array in self.arrays.items()}
        listed = [[name, a.dtype.str, list(a.shape)] for name, a in stored.items()]
        head = {"kind": self.kind, "header": dict(self.header), "arrays": listed}
        text = canonical(head)
        parts = [MAGIC, len(text).to_bytes(_LENGTH, "big"), text]
        made = b"".join([*parts, *(array.tobytes() for array in stored.values())])
        if len(made) > MAX_MESSAGE_BYTES:
            raise MessageError(too_long(len(made)))
        return made

    @classmethod
    def of(cls, data: bytes) -> Message:
        """Read a message.

        Raises
        ------
        MessageError
            If it is not a message of this version, is too long, or is not well formed.
        """
        if len(data) > MAX_MESSAGE_BYTES:
            raise MessageError(too_long(len(data)))
        if not data.startswith(MAGIC):
            raise MessageError(
                f"not a message of version {VERSION}; all sites need the same version."
            )
        begin = len(MAGIC) + _LENGTH
        length = int.from_bytes(data[len(MAGIC) : begin], "big")
        head = _header(data[begin : begin + length])
        arrays, place = {}, begin + length
        for name, dtype, shape in head["arrays"]:
            kind = np.dtype(dtype)
            size = math.prod(shape)
            if place + size * kind.itemsize > len(data):
                raise MessageError("the message is cut short.")
            arrays[name] = np.frombuffer(data, kind, size, place).reshape(shape)
            place += size * kind.itemsize
        if place != len(data):
            raise MessageError("the message is longer than its arrays.")
        return cls(head["kind"], head["header"], arrays)

    @property
    def site(self) -> str:
        """The site that says it sent the message; ``?`` if none does."""
        return str(self.header.get("site", "?"))

    def array(self, name: str, shape: tuple[int, ...]) -> Floats:
        """Return an array of finite numbers of the expected shape as floats.

        Raises
        ------
        MessageError
            If it is missing, or has another shape or numbers that are not finite.
        """
        found = self.arrays.get(name)
        if found is None or found.shape != shape:
            has = "is missing" if found is None else f"has shape {found.shape}"
            raise MessageError(f"array {name!r} {has}; expected shape {shape}.")
        floats = found.astype(np.float64)
        if not np.isfinite(floats).all():
            raise MessageError(f"array {name!r} has numbers that are not finite.")
        return floats


def too_long(size: int) -> str:
    """Return why a message of this many bytes is refused."""
    return f"a message of {size} bytes is longer than the limit of {MAX_MESSAGE_BYTES}."


def too_few(number: int) -> str:
    """Return why a run needs more sites."""
    return (
        f"{number} sites take part, and at least {MINIMUM_SITES} must, since with two "
        "each could subtract its own numbers from the sums."
    )


def refusal(site: str, why: str, **header: Any) -> Message:
    """Return the message of a site that gives no answer, with its reason."""
    told = {"site": site, "why": why.removeprefix(f"site {site}: ")}
    return Message(REFUSE, {**told, **header})


def is_refusal(data: bytes) -> bool:
    """Return whether a site gives no answer."""
    return Message.of(data).kind == REFUSE


def canonical(value: Any) -> bytes:
    r"""Return JSON with sorted keys and no spaces, which is the same everywhere.

    >>> canonical({"b": [1, 2.5], "a": "é"})
    b'{"a":"\xc3\xa9","b":[1,2.5]}'
    """
    how: dict[str, Any] = {"sort_keys": True, "separators": (",", ":")}
    return json.dumps(value, ensure_ascii=False, allow_nan=False, **how).encode()


def counts(values: Any) -> Array:
    """Return integers from 0 in the shortest type that holds them."""
    array = np.asarray(values)
    shortest = np.min_scalar_type(int(array.max(initial=0)))
    return array.astype(shortest.newbyteorder("<"))


def _stored(array: Array) -> Array:
    kept = np.ascontiguousarray(array)
    if kept.dtype.str not in TYPES:
        kept = counts(kept) if kept.dtype.kind in "iub" else kept.astype("<f8")
    return kept


def _header(text: bytes) -> dict[str, Any]:
    """Read the header of a message, or raise."""
    try:
        head = json.loads(text.decode(), parse_constant=_refuse_constant)
        listed = [
            (str(name), str(dtype), [int(n) for n in shape])
            for name, dtype, shape in head["arrays"]
        ]
        made = {"kind": head["kind"], "header": head["header"], "arrays": listed}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise MessageError("the header of the message cannot be read.") from None
    formed = isinstance(made["kind"], str) and isinstance(made["header"], dict)
    for _, dtype, shape in listed:
        formed &= dtype in TYPES and len(shape) <= _MAX_AXES
        formed &= all(0 <= n <= MAX_MESSAGE_BYTES for n in shape)
    if not formed or len({name for name, *_ in listed}) < len(listed):
        raise MessageError("the header of the message is not well formed.")
    return made


def _refuse_constant(name: str) -> float:
    raise ValueError(name)
