"""Folds from a keyed hash of an identifier: the same record, the same fold, anywhere.

A value is brought to one written form (:mod:`statcv.folds.strata.identifiers`) and
hashed by HMAC-SHA-256 under a secret key. The first seven bytes of the hash, as a
big-endian number, are its *digest*; the fold is the digest modulo k, or the interval it
lies in. Hospitals that share the key agree on every record without showing it, and so
does a database (:func:`statcv.folds.strata.hashing_sql.sql_fold`).

Make the key once, by ``python -c "import secrets; print(secrets.token_hex(32))"``, hand
it over as a password, and keep it in the environment variable ``STATCV_KEY``.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from enum import Enum
from importlib import resources
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from statcv import errors
from statcv.arguments import check_whole
from statcv.errors import ArgumentError, ArgumentTypeError, SchemeError
from statcv.folds.strata.identifiers import check_present, one_column, written
from statcv.folds.strata.identifiers import normalise as normalise
from statcv.numeric.arrays import Ints


class _Origin(Enum):
    ENVIRONMENT = "STATCV_KEY"


FROM_ENVIRONMENT: Final = _Origin.ENVIRONMENT
Key = bytes | str | Literal[_Origin.ENVIRONMENT]
Digests = NDArray[np.uint64]
_AT_ONCE = 2**17  # values hashed at a time, which bounds the memory beside the result


# -- the hash -------------------------------------------------------------------------


def keyed_digest(values: Any, key: Key | None = FROM_ENVIRONMENT) -> Digests:
    """Return the digest of each value: the first seven bytes of its hash.

    Parameters
    ----------
    values : Series, Index, array, list or DataFrame
        What :func:`statcv.folds.strata.identifiers.normalise` reads; none may be
        missing. The columns of a frame count together: what is hashed is their written
        forms, in order, with U+001F between them (a text that holds it inside is
        refused).
    key : bytes or str, optional
        The secret; text counts as its UTF-8 bytes. By default what the environment
        variable ``STATCV_KEY`` holds. ``None`` is plain SHA-256, and warns.

    Returns
    -------
    numpy.ndarray of uint64
        Pseudonyms: whoever has the key can identify them.

    Raises
    ------
    DataError
        If values are missing (they are counted), or cannot be hashed.
    ArgumentError
        If there is no key, or an empty one.

    Examples
    --------
    >>> keyed_digest(["what do ya want for nothing?"], b"Jefe")
    array([25856945554415733], dtype=uint64)
    """
    secret = None if key is None else check_key(key)
    values = one_column(values)
    check_present(values)
    digests = np.empty(len(values), dtype=np.uint64)
    for start in range(0, len(values), _AT_ONCE):
        some = getattr(values, "iloc", values)[start : start + _AT_ONCE]
        texts, codes = written(some)
        hashes = _hashes(map(str.encode, texts), secret)
        found = np.frombuffer(hashes, dtype=">u8")[::4] >> np.uint64(8)
        digests[start : start + _AT_ONCE] = found[codes]
    if secret is None:
        errors.warn(
            "values are hashed without a key, so anyone can hash every candidate and "
            "see which one fits: a century has 36 525 dates of birth, hashed in well "
            "under a second. A digest then reveals the date, a fold narrows it down. "
            "Give key=, the same wherever records are compared.",
            errors.PrivacyWarning,
        )
    return digests


def keyed_fold(values: Any, k: int, key: Key | None = FROM_ENVIRONMENT) -> Ints:
    """Return the fold of each value, from 0: its digest modulo ``k``.

    It depends on value, ``k`` and key alone, so that later records, or those of other
    sites, do not change it. Sizes are random; those of
    ``balanced_folds`` are not.

    Parameters
    ----------
    values : Series, Index, array, list or DataFrame
        Identifiers; the columns of a frame count together.
    k : int
        Number of folds, at least 2.
    key : bytes or str, optional
        The secret; by default what the environment variable ``STATCV_KEY`` holds.

    Returns
    -------
    numpy.ndarray of int

    Raises
    ------
    DataError, ArgumentError
        If values are missing or cannot be hashed, or there is no key.

    Examples
    --------
    >>> keyed_fold([7, "7", 7.0, "007"], 5, key="statcv")
    array([3, 3, 3, 1])
    """
    k = check_k(k)
    return fold_of(keyed_digest(values, key), k)


def balanced_folds(
    values: Any, k: int, key: Key | None = FROM_ENVIRONMENT
) -> tuple[Ints, Digests]:
    """Return folds of about equal size, and the k - 1 thresholds between them.

    Arguments are those of ``keyed_fold``. A threshold lies midway between two
    distinct digests and belongs to the fold above: sizes differ by one at most if
    values are distinct. ``assign(digests, thresholds)`` allocates other digests.

    Raises
    ------
    SchemeError
        If there are fewer distinct values than folds.

    Examples
    --------
    >>> folds, thresholds = balanced_folds(range(10), 3, key="statcv")
    >>> np.bincount(folds)
    array([3, 4, 3])
    """
    k = check_k(k)
    digests = keyed_digest(values, key)
    thresholds = even_thresholds(digests, k)
    return fold_of(digests, k, thresholds), thresholds


def fold_of(digests: Digests, k: int, thresholds: Any = None) -> Ints:
    """Return the fold of digests: between thresholds, or modulo ``k`` without any."""
    if thresholds is None:
        return (digests % np.uint64(k)).view(np.int64)
    return assign(digests, thresholds)


def even_thresholds(digests: Digests, k: int) -> Digests:
    """Return the k - 1 thresholds of :func:`balanced_folds` for these digests."""
    distinct, counts = np.unique(digests, return_counts=True)
    if len(distinct) < k:
        raise SchemeError(
            f"{len(distinct)} distinct values cannot fill k={k} folds, since equal "
            "values are never split; use a smaller k."
        )
    below = np.concatenate([[0], np.cumsum(counts)]) * k
    shares = np.arange(1, k) * len(digests)
    cut = np.searchsorted(below, shares)
    cut -= shares - below[cut - 1] < below[cut] - shares
    step = np.arange(k - 1)  # cuts rise, and leave room on both sides
    cut = np.maximum.accumulate(np.maximum(cut - step, 1)) + step
    cut = np.minimum(cut, len(distinct) - (k - 1) + step)
    low, high = distinct[cut - 1], distinct[cut]
    return low + (high - low + np.uint64(1)) // np.uint64(2)


def assign(digests: Any, thresholds: Any) -> Ints:
    """Return which interval between rising thresholds each digest lies in, from 0.

    Examples
    --------
    >>> assign([0, 9, 10, 99], thresholds=[10, 20])
    array([0, 0, 1, 2])
    """
    below, bounds = np.asarray(digests), np.asarray(thresholds)
    for array in (below, bounds):
        if array.size and (array.dtype.kind not in "iu" or array.min() < 0):
            raise ArgumentTypeError("digests and thresholds must be integers from 0.")
    if bounds.ndim != 1 or (bounds[1:] <= bounds[:-1]).any():
        raise ArgumentError("thresholds must be a list of rising numbers.")
    below, bounds = below.astype(np.uint64), bounds.astype(np.uint64)
    return np.searchsorted(bounds, below, side="right").astype(np.int64)


def pads(key: Key = FROM_ENVIRONMENT) -> tuple[bytes, bytes]:
    """Return the two 64-byte pads of a key, inner and outer, as RFC 2104 makes them.

    ``sha256(outer + sha256(inner + text))`` is the text's HMAC. They give the key away.

    Examples
    --------
    >>> inner, outer = pads("secret")
    >>> inner[:6] + outer[:6]
    b'ESUDSB/9?.9('
    """
    block = check_key(key)
    block = hashlib.sha256(block).digest() if len(block) > 64 else block
    block = block.ljust(64, b"\0")
    return bytes(b ^ 0x36 for b in block), bytes(b ^ 0x5C for b in block)


def _hashes(messages: Iterable[bytes], key: bytes | None) -> bytearray:
    """Return the 32-byte hashes of the messages, one after the other."""
    keyed = hashlib.sha256() if key is None else hmac.new(key, digestmod="sha256")
    hashes = bytearray()
    for message in messages:  # a state that holds the key is copied, not recomputed
        one = keyed.copy()
        one.update(message)
        hashes += one.digest()
    return hashes


def check_key(key: Key) -> bytes:
    """Return the bytes of a key, or raise."""
    if key is FROM_ENVIRONMENT:
        held = os.environ.get(key.value)
        if not held:
            raise ArgumentError(
                f"there is no key to hash with: set the environment variable "
                f"{key.value}, give key=, or say key=None for a hash without one."
            )
        return os.fsencode(held)
    if not isinstance(key, (bytes, str)):
        raise ArgumentTypeError(f"key must be bytes or text, not {type(key).__name__}.")
    if not key:
        raise ArgumentError("the key is empty; key=None is a hash without one.")
    return key.encode() if isinstance(key, str) else key


def check_k(k: int) -> int:
    """Return a number of folds, or raise."""
    check_whole(k, "k", least=2, most=2**31)
    return int(k)


# -- test vectors ---------------------------------------------------------------------


_TYPES: Final[dict[str, Callable[[str], Any]]] = {
    "text": str,
    "integer": int,
    "float": float,
    "decimal": Decimal,
    "datetime": datetime.fromisoformat,
}


def _test_vectors() -> Iterator[tuple[bytes, Any, str, str, int]]:
    """Yield key, value, written form, HMAC-SHA-256 in hex, and fold of 5, from a file.

    The first three are those of RFC 4231.
    """
    file = resources.files("statcv.folds.strata").joinpath("test_vectors.json")
    for row in json.loads(file.read_text("utf-8")):
        value = _TYPES[row["type"]](row["value"])
        yield bytes.fromhex(row["key"]), value, row["written"], row["hmac"], row["fold"]


TEST_VECTORS: Final = tuple(_test_vectors())
