"""Strata of an identifier: a keyed hash is the fold, at every site that has the key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from statcv.arguments import check_types
from statcv.errors import ArgumentError, DataError, SchemeError
from statcv.folds.strata import hashing, stratifier
from statcv.folds.strata.meant_otherwise import warn_of_near_values
from statcv.numeric.arrays import Numbers

KeyedBy = Literal["key", "environment", "nothing"]


def by_hash(
    columns: str | Sequence[str],
    key: hashing.Key | None = hashing.FROM_ENVIRONMENT,
    balanced: bool = False,
) -> ByHash:
    """Let the fold be a keyed hash of an identifier, the same wherever the key is.

    Parameters
    ----------
    columns : str or list of str
        Column of the identifier; several columns count together (date of birth and
        sex).
    key : bytes or str, optional
        The secret; by default what the environment variable ``STATCV_KEY`` holds.
        ``None`` is a hash that anyone can undo, and warns. A key is never shown, and is
        omitted when the stratifier or its folds are pickled.
    balanced : bool
        Whether folds have about equal sizes, by thresholds on the hash, in place of the
        hash modulo k.

    Examples
    --------
    >>> by_hash(["dob", "sex"], key="our secret")
    ByHash(columns=('dob', 'sex'), key=<key>, balanced=False)
    """
    check_types(by_hash, locals())
    return ByHash(stratifier.names_of(columns), HeldKey.of(key), bool(balanced))


class HeldKey:
    """A key that is hidden from fields, attributes and pickles.

    Parameters
    ----------
    keyed_by : {"key", "environment", "nothing"}
        Where the key comes from.
    value : bytes, str or None
        The key, which :meth:`reveal` alone returns.
    """

    __slots__ = ("_reveal", "keyed_by")
    keyed_by: KeyedBy
    _reveal: Callable[[], hashing.Key | None]

    def __init__(self, keyed_by: KeyedBy, value: hashing.Key | None) -> None:
        object.__setattr__(self, "keyed_by", keyed_by)
        object.__setattr__(self, "_reveal", lambda: value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a key does not change; make another for {name}.")

    def reveal(self) -> hashing.Key | None:
        """Return the key."""
        return self._reveal()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HeldKey):
            return NotImplemented
        same = self.keyed_by == other.keyed_by
        return same and self.reveal() == other.reveal()

    def __hash__(self) -> int:
        return hash((self.keyed_by, self.reveal()))

    @classmethod
    def of(cls, key: hashing.Key | None) -> HeldKey:
        """Hold a key as a caller gives it."""
        if key is None:
            return cls("nothing", None)
        if key is hashing.FROM_ENVIRONMENT:
            return cls("environment", key)
        return cls("key", hashing.check_key(key))

    @property
    def trace(self) -> str | None:
        """A few digits that differ between keys without revealing the key."""
        value = self.reveal()
        if value is None:
            return None
        return f"{int(hashing.keyed_digest(['which key'], value)[0]):014x}"[:6]

    def __repr__(self) -> str:
        return f"<{self.keyed_by}>"

    def __copy__(self) -> HeldKey:
        return self

    def __deepcopy__(self, memo: object) -> HeldKey:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.keyed_by == "key":
            return HeldKey, ("environment", hashing.FROM_ENVIRONMENT)
        return HeldKey, (self.keyed_by, self.reveal())


@dataclass(frozen=True)
class ByHash(stratifier.Stratifier):
    """A keyed hash of one or several columns; see :func:`by_hash`.

    Attributes
    ----------
    key : HeldKey
    balanced : bool

    Examples
    --------
    >>> frame = pd.DataFrame({"id": [7, 8, 9, 7]})
    >>> cut = by_hash("id", key="statcv").cut(frame, k=2)
    >>> cut.codes, cut.sentence
    (array([0, 1, 0, 0]), '2 folds by keyed hash of id')
    """

    key: HeldKey = field(default_factory=lambda: HeldKey.of(hashing.FROM_ENVIRONMENT))
    balanced: bool = False
    made_by: ClassVar[str] = "by_hash"
    random: ClassVar[bool] = False  # the hash alone determines the fold

    @property
    def only_for_folds(self) -> str:
        """Whether folds are to be of about equal size, if given."""
        return "balanced=True" if self.balanced else ""

    def values(self, frame: pd.DataFrame) -> Numbers:
        """Return codes of equal identifiers, whatever the key."""
        return stratifier.written_of(frame, self.columns, truth=False)[1]

    def warn(self, frame: pd.DataFrame, named: bool = False) -> None:
        """Warn of identifiers that are nearly the same, which hash differently."""
        texts, _ = stratifier.written_of(frame, self.columns, truth=False)
        warn_of_near_values(texts, self.label)

    def cut(
        self, frame: pd.DataFrame, k: int, seed: int = 0, repeat: int = 0
    ) -> stratifier.Cut:
        """Hash the values into k folds."""
        k = hashing.check_k(k)
        digests = self._digests(frame)
        distinct, counts = np.unique(digests, return_counts=True)
        stratifier.check_units(counts, k, self.label, None)
        bounds = hashing.even_thresholds(digests, k) if self.balanced else None
        folds = hashing.fold_of(digests, k, bounds)
        if empty := int((np.bincount(folds, minlength=k) == 0).sum()):
            raise SchemeError(
                f"{empty} of k={k} folds by the hash of {self.label} would be empty, "
                f"since it has only {len(distinct)} distinct values; use a smaller k, "
                "or by_hash(…, balanced=True)."
            )
        by = f"keyed hash of {self.label}"
        if self.key.keyed_by == "nothing":
            by = f"a hash of {self.label} without a key"
        said = f"{k} folds{' of about equal size' * self.balanced} by {by}"
        return stratifier.Cut(self, k, True, folds, said, bounds, trace=self.key.trace)

    def units_of(self, frame: pd.DataFrame, cut: stratifier.Cut) -> Numbers:
        """Return the fold of each record.

        Raises
        ------
        ArgumentError
            If the key, taken from the environment, is missing or has changed.
        """
        if self.key.trace != cut.trace:
            raise ArgumentError(
                f"the key in {hashing.FROM_ENVIRONMENT.value} is not the one by which "
                f"the folds of {self.label} were made; set that one."
            )
        return hashing.fold_of(self._digests(frame), cut.units, cut.thresholds)

    def _digests(self, frame: pd.DataFrame) -> hashing.Digests:
        chosen = stratifier.columns_of(frame, self.columns, truth=False)
        try:
            return hashing.keyed_digest(chosen, self.key.reveal())
        except DataError as error:
            raise DataError(f"stratify={self.label!r}: {error}") from None
