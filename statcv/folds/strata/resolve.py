"""Stratifiers from names of columns, and the simplest, by whole values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from statcv.arguments import check_types
from statcv.errors import ArgumentTypeError
from statcv.folds.strata.hashing import check_k
from statcv.folds.strata.identifiers import INTEGERS, SEPARATOR
from statcv.folds.strata.meant_otherwise import warn_of_near_values, warn_of_no_repeats
from statcv.folds.strata.stratifier import (
    Codes,
    Cut,
    Stratifier,
    check_units,
    columns_of,
    names_of,
    written_of,
)


def by_value(columns: str | Sequence[str]) -> ByValue:
    """Keep records with equal values together, whole values allocated at random.

    This is what the bare name of a column means.

    Parameters
    ----------
    columns : str or list of str
        Column of any dtype; of several, each combination is a value. Values are
        compared as they are written, so that 7, 7.0 and ``"7"`` are equal.

    Examples
    --------
    >>> by_value("site")
    ByValue(columns=('site',))
    """
    check_types(by_value, locals())
    return ByValue(names_of(columns))


@dataclass(frozen=True)
class ByValue(Stratifier):
    """Whole values; see :func:`by_value`.

    Examples
    --------
    >>> frame = pd.DataFrame({"site": ["A", "B", "A", "C"]})
    >>> cut = by_value("site").cut(frame, k=2)
    >>> cut.codes, cut.fixed, cut.sentence(2)
    (array([0, 1, 0, 2]), False, '2 folds of whole values of site')
    """

    made_by: ClassVar[str] = "by_value"

    @property
    def random(self) -> bool:
        """Values are allocated at random."""
        return True

    @property
    def fixes_folds(self) -> bool:
        """Whole values may be allocated to any fold."""
        return False

    def warn(self, frame: pd.DataFrame, named: bool = False) -> None:
        """Warn where no value is repeated, and of values that are nearly the same."""
        texts, codes = written_of(frame, self.columns)
        if named:
            warn_of_no_repeats(np.bincount(codes), self.columns)
        if any(frame[name].dtype.kind not in INTEGERS for name in self.columns):
            warn_of_near_values(texts, self.label)

    def cut(
        self, frame: pd.DataFrame, k: int, seed: int = 0, repeat: int = 0
    ) -> ValueCut:
        """Let each distinct value be a unit."""
        k = check_k(k)
        known, codes = written_of(frame, self.columns)
        counts = np.bincount(codes, minlength=len(known))
        check_units(counts, k, self.label, lambda i: known[i].replace(SEPARATOR, " + "))
        return ValueCut(self.columns, len(known), False, codes, tuple(known))


@dataclass(frozen=True, eq=False, repr=False)
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
        return f"{k} folds of whole values of {self.label}"


def resolve_stratifier(stratify: Any, frame: pd.DataFrame) -> Stratifier:
    """Return the stratifier for an argument ``stratify=``.

    Parameters
    ----------
    stratify : str, list of str or Stratifier
        One or several names stand for whole values, whatever their dtype: records with
        equal values are one cluster.
    frame : pandas.DataFrame

    Raises
    ------
    ColumnError
        If there is no such column.
    ArgumentTypeError
        If it is not one of these.

    Examples
    --------
    >>> frame = pd.DataFrame({"patient": [1, 1, 2], "born": ["1990", "1990", "1980"]})
    >>> resolve_stratifier("patient", frame)
    ByValue(columns=('patient',))
    >>> resolve_stratifier(["patient", "born"], frame)
    ByValue(columns=('patient', 'born'))
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
    columns_of(frame, names)
    return by_value(names)
