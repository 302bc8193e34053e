"""Folds from a keyed hash of an identifier: the same record, the same fold, anywhere.

A value is brought to one written form and hashed by HMAC-SHA-256 under a secret key.
The first seven bytes of the hash, as a big-endian number, are its *digest*; the fold is
the digest modulo k, or the interval it lies in. Hospitals that share the key agree on
every record without showing it, and so does a database
(:func:`statcv.folds.hashing_sql.sql_fold`).

Make the key once, by ``python -c "import secrets; print(secrets.token_hex(32))"``, hand
it over as a password, and keep it in the environment variable ``STATCV_KEY``.
"""

from __future__ import annotations

import hashlib
import math
import os
import unicodedata
from collections.abc import Iterable, Mapping, Set
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    DataError,
    PrivacyWarning,
    SchemeError,
    warn,
)


class _Origin(Enum):
    ENVIRONMENT = "STATCV_KEY"


FROM_ENVIRONMENT: Final = _Origin.ENVIRONMENT
Key = bytes | str | Literal[_Origin.ENVIRONMENT]
Folds = NDArray[np.int64]
Digests = NDArray[np.uint64]


# -- one written form -----------------------------------------------------------------


def normalise(value: Any) -> str:
    r"""Return the written form of a value, which is what is hashed.

    - Text: Unicode NFC, without the white space around it (what ``str.strip()`` takes
      off: Unicode's White_Space and U+001C to U+001F). Case, inner space and leading
      zeros stay. Empty text is a value; numbers and dates in text are not parsed.
    - Whole numbers, from floats and decimals too: digits. 1, 1.0 and Decimal("1.00")
      are ``1``, -0.0 is ``0``. Long identifiers belong in text or integers: a float
      above 2**53 lost digits when it was read.
    - Other numbers: ``repr`` of the float (float32 widened, decimals rounded to it).
    - Dates and times: the day, ``YYYY-MM-DD``; the time of day is cut off, a time
      zone not converted.
    - Refused: truth values (to Python True equals 1, and every database writes it in
      its own way), bytes (their encoding is unknown), infinity, and what is missing.

    Examples
    --------
    >>> normalise("  Ame\u0301lie "), normalise(7.0), normalise("007")
    ('Amélie', '7', '007')
    """
    if isinstance(value, str):
        return _written_text(value)
    if type(value) in (int, float) and value == value:  # at once; the rest is slower
        return _written_number(value)
    if pd.api.types.is_scalar(value) and pd.isna(value):
        raise _missing(1, 1)
    if isinstance(value, (Real, Decimal)) and not isinstance(value, bool):
        return _written_number(value)
    if isinstance(value, date):
        return (value.date() if isinstance(value, datetime) else value).isoformat()
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[D]"))
    raise DataError(
        f"a value of type {type(value).__name__} cannot be hashed; text, numbers "
        "and dates can; turn it into text, the same wherever it is hashed."
    )


def _written_text(text: str) -> str:
    if text.isascii():
        return text.strip()
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"text that is not valid Unicode cannot be hashed ({error.reason}); read "
            "the data with the encoding in which they were written."
        ) from None
    return unicodedata.normalize("NFC", text).strip()


def _written_number(value: Any) -> str:
    if not isinstance(value, (int, Integral)):
        if not math.isfinite(value):
            raise DataError("an infinite number cannot be hashed.")
        if value != int(value):
            return repr(float(value))
    return str(int(value))


def _missing(count: int, n: int) -> DataError:
    return DataError(
        f"{count} of {n} values to hash {'is' if count == 1 else 'are'} missing, and "
        "what is missing has no fold; leave those rows out (data.dropna(subset=[…])), "
        "or give each an identifier of its own."
    )


def _texts(values: Any) -> tuple[list[str], NDArray[np.intp] | None]:
    """Return written forms, and which of them each value has (None: one each)."""
    column = _column(values)
    absent = column.isna()
    kind, own = column.dtype.kind, (np.dtype, pd.DatetimeTZDtype)  # not Arrow's
    if kind == "f" and not isinstance(column.dtype, own):
        absent |= np.isnan(column.to_numpy(dtype=float, na_value=np.nan))
    if absent.any():
        raise _missing(int(absent.sum()), len(column))
    if kind == "M" and isinstance(column.dtype, own):
        column = pd.Series(column.dt.tz_localize(None).dt.floor("D"))
    items, codes = column.tolist(), None
    if column.dtype != object and not isinstance(column.dtype, pd.StringDtype):
        codes, unique = pd.factorize(column)  # among objects True would pass for 1
        items = unique.tolist()
    texts = [
        v.strip() if type(v) is str and v.isascii() else normalise(v) for v in items
    ]
    if codes is None and len(distinct := dict.fromkeys(texts)) < len(texts):
        place = {text: i for i, text in enumerate(distinct)}
        codes = np.fromiter(map(place.__getitem__, texts), np.intp, len(texts))
        texts = list(distinct)
    return texts, codes


def _column(values: Any) -> pd.Series[Any]:
    if getattr(values, "ndim", 1) == 1:
        if isinstance(values, (pd.Series, pd.Index, pd.Categorical, np.ndarray)):
            return pd.Series(values).reset_index(drop=True)
        if isinstance(values, Iterable) and not isinstance(
            values, (str, bytes, Mapping, Set)
        ):
            return pd.Series(list(values), dtype=object)
    raise ArgumentTypeError(
        f"values must be one column or list, not {type(values).__name__}."
    )


# -- the hash -------------------------------------------------------------------------


def keyed_digest(values: Any, key: Key | None = FROM_ENVIRONMENT) -> Digests:
    """Return the digest of each value: the first seven bytes of its hash.

    Parameters
    ----------
    values : Series, Index, array or list
        What :func:`normalise` reads; none may be missing.
    key : bytes or str, optional
        The secret; text counts as its UTF-8 bytes. By default what the environment
        variable ``STATCV_KEY`` holds. ``None`` is plain SHA-256, and warns.

    Returns
    -------
    numpy.ndarray of uint64
        Pseudonyms: whoever has the key can tell whose they are.

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
    secret = None if key is None else _key_bytes(key)
    texts, codes = _texts(values)
    if secret is None:
        warn(
            "values are hashed without a key, so anyone can hash every candidate and "
            "see which one fits: a century has 36 525 dates of birth, hashed in well "
            "under a second. A digest then tells the date, a fold narrows it down. "
            "Give key=, the same wherever records are compared.",
            PrivacyWarning,
        )
    hashes = _hashes(map(str.encode, texts), secret)
    digests = np.frombuffer(hashes, dtype=">u8")[::4].astype(np.uint64) >> np.uint64(8)
    return digests if codes is None else digests[codes]


def keyed_fold(values: Any, k: int, key: Key | None = FROM_ENVIRONMENT) -> Folds:
    """Return the fold of each value, from 0: its digest modulo ``k``, at least 2.

    It depends on value, ``k`` and key alone, so records that come later, or lie
    elsewhere, fall where they would have. ``values`` and ``key`` are as
    :func:`keyed_digest` takes them. Sizes are random; :func:`balanced_folds` are not.

    Examples
    --------
    >>> keyed_fold([7, "7", 7.0, "007"], 5, key="statcv")
    array([3, 3, 3, 1])
    """
    k = check_k(k)
    return (keyed_digest(values, key) % np.uint64(k)).astype(np.int64)


def balanced_folds(
    values: Any, k: int, key: Key | None = FROM_ENVIRONMENT
) -> tuple[Folds, Digests]:
    """Return folds of about equal size, and the k - 1 thresholds between them.

    Arguments are those of :func:`keyed_fold`. A threshold lies midway between two
    distinct digests, where the count of records below comes nearest to its share, and
    belongs to the fold above: sizes differ by one at most where values are distinct,
    and none is empty. :func:`assign` deals other digests by the same thresholds.

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
    distinct, counts = np.unique(digests, return_counts=True)
    if len(distinct) < k:
        raise SchemeError(
            f"{len(distinct)} distinct values cannot fill k={k} folds, since equal "
            "values never part; use a smaller k."
        )
    below = np.concatenate([[0], np.cumsum(counts)]) * k
    shares = np.arange(1, k) * len(digests)
    cut = np.searchsorted(below, shares)
    cut -= shares - below[cut - 1] < below[cut] - shares
    step = np.arange(k - 1)  # cuts rise, and leave room on both sides
    cut = np.maximum.accumulate(np.maximum(cut - step, 1)) + step
    cut = np.minimum(cut, len(distinct) - (k - 1) + step)
    low, high = distinct[cut - 1], distinct[cut]
    thresholds = low + (high - low + np.uint64(1)) // np.uint64(2)
    return assign(digests, thresholds), thresholds


def assign(digests: Any, thresholds: Any) -> Folds:
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
    block = _key_bytes(key)
    block = hashlib.sha256(block).digest() if len(block) > 64 else block
    block = block.ljust(64, b"\0")
    return bytes(b ^ 0x36 for b in block), bytes(b ^ 0x5C for b in block)


def _hashes(messages: Iterable[bytes], key: bytes | None) -> bytearray:
    """Return the 32-byte hashes of the messages, one after the other."""
    hashes = bytearray()
    if key is None:
        for message in messages:
            hashes += hashlib.sha256(message).digest()
        return hashes
    inner, outer = (hashlib.sha256(pad).copy for pad in pads(key))
    for message in messages:  # states that hold the pads are copied, not made anew
        first, second = inner(), outer()
        first.update(message)
        second.update(first.digest())
        hashes += second.digest()
    return hashes


def _key_bytes(key: Key) -> bytes:
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
    """Return a number of folds, or say why it is none."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise ArgumentError(f"k must be a whole number, not {k!r}.")
    if not 2 <= k <= 2**31:
        raise ArgumentError(f"k={k} is out of range: from 2 to 2**31.")
    return int(k)


# -- test vectors ---------------------------------------------------------------------


_LONG, _OWN = b"\xaa" * 131, b"statcv"

# (key, value, written form, HMAC-SHA-256 in hex, fold of 5); the first three: RFC 4231
# fmt: off
TEST_VECTORS: Final[tuple[tuple[bytes, Any, str, str, int], ...]] = (
    (b"\x0b" * 20, "Hi There", "Hi There",
     "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7", 2),
    (b"Jefe", "what do ya want for nothing?", "what do ya want for nothing?",
     "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", 3),
    (_LONG, "Test Using Larger Than Block-Size Key - Hash Key First",
     "Test Using Larger Than Block-Size Key - Hash Key First",
     "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54", 3),
    (_OWN, "", "",
     "e2f48b39446564eb42e9355deea783e43f5e5c8aee0b47cde22595968a0c84bc", 0),
    (_OWN, " 007\t", "007",
     "871b5ca23855a449224559908f0beb1d5f72f3c7267e37d6785e1b6c9ae9cae8", 1),
    (_OWN, 7.0, "7",
     "47b4bedbf5a0eeb8920ffb9d121301c9e3c46067ffb8cd6e72d6b12bba421805", 3),
    (_OWN, -0.0, "0",
     "95fa499086bb2bd8d392c73528d5bfaafda4d8855b75516890bf2ffaaeeb31a5", 0),
    (_OWN, Decimal("2.50"), "2.5",
     "d2ebfe54f3b4b2c05b0daabd8dd55fcfabf12a19bcb656694bb2d028d69d4908", 4),
    (_OWN, 1e-7, "1e-07",
     "ed89378797b235482761b72b5db050a70492d5414821c7979ad7b143116bc4ed", 1),
    (_OWN, 2**60, "1152921504606846976",
     "6dabe1176d993e2b6630c99c590814cc9a112656109df79c8b5414dcb2acaff0", 2),
    (_OWN, datetime(1970, 1, 2, 23), "1970-01-02",
     "f6af959e135ead24fef22a153d088c248bbeca3ceb659295fcd669498074d13f", 4),
    (_OWN, "Ame\u0301lie O'Neil", "Amélie O'Neil",
     "3d61fce61a9f8ee2dbdfeacd8847e148e9a97294b17905424a02685eaf64944d", 2),
    (_OWN, "\u3000山田 太郎\xa0", "山田 太郎",
     "85b95115edfa48686fe03f2909e70ab852c2e885a0bf21bb9d319778e0165be1", 4),
    (_OWN, "👩\u200d⚕\ufe0f", "👩\u200d⚕\ufe0f",
     "cb6bcfa2c4934eadff8d979b393a2a32a562d53e16844f6e53888256a83990fb", 0),
)
