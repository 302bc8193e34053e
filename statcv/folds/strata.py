"""Stratifiers as a caller names them, and the simplest: whole values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from statcv.errors import ArgumentTypeError
from statcv.folds.hashing import check_k
from statcv.folds.identifiers import SEPARATOR
from statcv.folds.strata_hash import ByHash, HashCut, HeldKey, by_hash
from statcv.folds.strata_quantile import (
    ByQuantile,
    QuantileCut,
    by_quantile,
    is_numeric,
)
from statcv.folds.stratifier import (
    Codes,
    Cut,
    Stratifier,
    check_units,
    columns_of,
    names_of,
    written_of,
)

__all__ = [
    "ByHash",
    "ByQuantile",
    "ByValue",
    "Cut",
    "HashCut",
    "HeldKey",
    "QuantileCut",
    "Stratifier",
    "ValueCut",
    "by_hash",
    "by_quantile",
    "by_value",
    "resolve_stratifier",
]


def by_value(columns: str | Sequence[str]) -> ByValue:
    """Keep each distinct value whole, and deal values to folds at random.

    Parameters
    ----------
    columns : str or list of str
        Several columns count together: each combination is a value.

    Examples
    --------
    >>> by_value("site")
    ByValue(columns=('site',))
    """
    return ByValue(names_of(columns))


@dataclass(frozen=True)
class ByValue(Stratifier):
    """Whole values; see :func:`by_value`.

    Examples
    --------
    >>> frame = pd.DataFrame({"site": ["A", "B", "A", "C"]})
    >>> cut = by_value("site").cut(frame, k=2)
    >>> cut.codes, cut.fixed, cut.sentence(2)
    (array([0, 1, 0, 2]), False, 'whole values of site dealt to 2 folds')
    """

    made_by: ClassVar[str] = "by_value"

    @property
    def random(self) -> bool:
        """Values are dealt at random."""
        return True

    @property
    def fixes_folds(self) -> bool:
        """Whole values may be dealt to any fold."""
        return False

    def cut(
        self, frame: pd.DataFrame, k: int, seed: int = 0, repeat: int = 0
    ) -> ValueCut:
        """Let each distinct value be a unit."""
        k = check_k(k)
        known, codes = written_of(frame, self.columns)
        counts = np.bincount(codes, minlength=len(known))
        check_units(counts, k, self.label, lambda i: known[i].replace(SEPARATOR, " + "))
        return ValueCut(self.columns, len(known), False, codes, tuple(known))


@dataclass(frozen=True, eq=False)
class ValueCut(Cut):
    """Whole values.

    Attributes
    ----------
    known : tuple of str
        The written form of each value.
    """

    known: tuple[str, ...] = field(repr=False)

    def of(self, frame: pd.DataFrame) -> Codes:
        """Return the code of each record's value, -1 for one that was not cut."""
        texts, codes = written_of(frame, self.columns)
        place = {text: code for code, text in enumerate(self.known)}
        return np.array([place.get(text, -1) for text in texts], dtype=np.intp)[codes]

    def sentence(self, k: int) -> str:
        """Say what the folds are."""
        return f"whole values of {self.label} dealt to {k} folds"


def resolve_stratifier(stratify: Any, frame: pd.DataFrame) -> Stratifier:
    """Return the stratifier that a caller means.

    Parameters
    ----------
    stratify : str, list of str or Stratifier
        One name: quantile bins of a number, a keyed hash of anything else. Several:
        a keyed hash of them together.
    frame : pandas.DataFrame

    Raises
    ------
    ColumnError
        If there is no such column.
    ArgumentTypeError
        If it is none of these.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [30, 40], "born": ["1990-01-02", "1980-03-04"]})
    >>> resolve_stratifier("age", frame)
    ByQuantile(columns=('age',), per_fold=1)
    >>> resolve_stratifier("born", frame)
    ByHash(columns=('born',), key=<environment>, balanced=False)
    """
    if isinstance(stratify, Stratifier):
        columns_of(frame, stratify.columns)
        return stratify
    if not isinstance(stratify, (str, list, tuple)):
        raise ArgumentTypeError(
            "stratify must be the name of a column, a list of names, or one of "
            f"by_quantile, by_hash and by_value, not {type(stratify).__name__}; "
            "values go into a column of the data first."
        )
    names = names_of(stratify)
    chosen = columns_of(frame, names)
    if isinstance(stratify, str) and is_numeric(chosen[stratify]):
        return by_quantile(stratify)
    return ByHash(names, implied=True)
