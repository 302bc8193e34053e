"""Stratifiers: covariates whose equal values are held out together.

A stratifier finds the records with equal values, and cuts them into *units* for k
folds: bins of a number, classes of a hash, whole values. A unit is a fold by itself
(*fixed*), or is allocated to one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv import errors
from statcv.arguments import check_types
from statcv.folds.strata.hashing import check_k
from statcv.folds.strata.identifiers import INTEGERS, SEPARATOR, count_missing, written
from statcv.folds.strata.meant_otherwise import (
    warn_of_missing_values,
    warn_of_near_values,
    warn_of_no_repeats,
)
from statcv.folds.strata.thresholds import Thresholds, intervals
from statcv.formula import check_column
from statcv.numeric.arrays import Array, Numbers
from statcv.tables import Printed
from statcv.words import plural


@dataclass(frozen=True, eq=False, repr=False)
class Cut(Printed):
    """A stratifier's values cut for k folds: the unit in which a record falls.

    Attributes
    ----------
    stratifier : Stratifier
    units : int
        Number of units, k at least.
    fixed : bool
        Whether unit j is fold j; otherwise units are allocated to folds.
    codes : numpy.ndarray of intp
        The unit of each record that was cut, as :meth:`of` returns it.
    sentence : str
        What the folds are, in words.
    at : Thresholds, numpy.ndarray of uint64, tuple of str or None
        What units are told by: thresholds between bins, least digests of each unit but
        the first, or the written form of each value; None: digests modulo k.
    allocated : numpy.ndarray of intp, or None
        The fold of each unit, if it was agreed.
    trace : str or None
        Trace that differs between keys, if digests depend on one.
    unknown : str
        Why the unit of other records is not known; empty if it is.
    """

    stratifier: Stratifier
    units: int
    fixed: bool
    codes: Numbers = field(repr=False)
    sentence: str
    at: Thresholds | NDArray[np.uint64] | tuple[str, ...] | None = None
    allocated: Numbers | None = None
    trace: str | None = field(default=None, repr=False)
    unknown: str = ""

    @property
    def thresholds(self) -> Array | None:
        """The least number, or digest, of each unit but the first, if it has one."""
        if isinstance(self.at, Thresholds):
            return self.at.array
        return self.at if isinstance(self.at, np.ndarray) else None

    @property
    def allocation(self) -> Numbers | None:
        """The fold of each unit, if it does not depend on the records."""
        own = np.arange(self.units) if self.fixed else None
        return own if self.allocated is None else self.allocated

    @property
    def bins(self) -> list[str]:
        """The interval between thresholds that each unit is, if it is one."""
        if isinstance(self.at, np.ndarray):
            return intervals([*map(str, self.at)])
        return self.at.bins if isinstance(self.at, Thresholds) else []

    def of(self, frame: pd.DataFrame) -> Numbers:
        """Return the unit of each record of these or other data; -1 for none."""
        if self.unknown:
            raise errors.SchemeError(self.unknown)
        return self.stratifier.units_of(frame, self)


@dataclass(frozen=True)
class Stratifier(ABC):
    """One or several columns whose equal values are never split across folds.

    Attributes
    ----------
    columns : tuple of str
    identifies : bool
        Whether records with equal values are one cluster, such as a person's; the
        columns are then not predictors in ``y ~ .``.
    made_by : str
        The name of the function that makes it.
    """

    columns: tuple[str, ...]
    identifies: ClassVar[bool] = True
    made_by: ClassVar[str]

    @property
    def label(self) -> str:
        """The columns in one name."""
        return " + ".join(self.columns)

    @property
    @abstractmethod
    def random(self) -> bool:
        """Whether the folds depend on seed and repeat."""

    @property
    def only_for_folds(self) -> str:
        """The argument that applies to k folds alone, if any."""
        return ""

    @property
    def fixes_folds(self) -> bool:
        """Whether values alone determine the fold of a record."""
        return True

    @property
    def n_folds(self) -> int | None:
        """The number of folds that it fixes, whatever the records."""
        return None

    def values(self, frame: pd.DataFrame) -> Numbers:
        """Return which records hold equal values: codes from 0."""
        return written_of(frame, self.columns)[1]

    @abstractmethod
    def warn(self, frame: pd.DataFrame, named: bool = False) -> None:
        """Warn of signs that the columns were meant otherwise.

        Parameters
        ----------
        frame : pandas.DataFrame
            The records.
        named : bool
            Whether the caller gave bare names of columns instead of a stratifier.
        """

    @abstractmethod
    def cut(self, frame: pd.DataFrame, k: int, seed: int = 0, repeat: int = 0) -> Cut:
        """Cut the values into units for k folds.

        Raises
        ------
        SchemeError
            If there are fewer distinct values than folds.
        DataError
            If values are missing, or of a kind that cannot be cut.
        """

    @abstractmethod
    def units_of(self, frame: pd.DataFrame, cut: Cut) -> Numbers:
        """Return the unit of each record of other data in a cut; -1 for none."""


def columns_of(
    frame: pd.DataFrame, columns: Sequence[str], truth: bool = True
) -> pd.DataFrame:
    """Return the columns, which must exist and have no missing values.

    Columns of truth values are refused where ``truth`` is False.
    """
    for name in columns:
        check_column(frame, name, "stratify")
        if count := count_missing(frame[name]):
            raise errors.DataError(
                f"the stratifier {name!r} is missing in {count} of {len(frame)} "
                "records, and what is missing has no fold; leave those rows out "
                f"(data.dropna(subset=[{name!r}])), or give each a value of its own."
            )
    of_truth = [name for name in columns if is_truth(frame[name])]
    if of_truth and not truth:
        name = of_truth[0]
        raise errors.DataError(
            f"stratify={name!r} is a column of truth values, which do not identify; "
            f"by_value({name!r}) keeps each of the two whole."
        )
    return frame[list(columns)]


def written_of(
    frame: pd.DataFrame, columns: Sequence[str], truth: bool = True
) -> tuple[list[str], Numbers]:
    """Return distinct written forms, and the code of each record."""
    chosen = columns_of(frame, columns, truth)
    for name in columns:
        if is_truth(chosen[name]):
            chosen = chosen.assign(**{name: chosen[name].astype(object).map(str)})
    try:
        return written(chosen)
    except errors.DataError as error:
        raise errors.DataError(f"stratify={' + '.join(columns)!r}: {error}") from None


def is_truth(column: pd.Series[Any]) -> bool:
    """Whether a column holds truth values."""
    return pd.api.types.is_bool_dtype(column) or (
        column.dtype == object and pd.api.types.infer_dtype(column) == "boolean"
    )


def check_units(
    counts: Numbers, k: int, label: str, name: Callable[[int], str] | None
) -> None:
    """Refuse fewer values than folds; warn where one value is more than a fold."""
    n = int(counts.sum())
    if len(counts) < k:
        raise errors.SchemeError(
            f"{label} has {plural(len(counts), 'distinct value')}, which cannot fill "
            f"k={k} folds, since equal values are never split; use a smaller k."
        )
    if heavy := int((counts > -(-n // k)).sum()):
        largest = int(counts.argmax())
        which = "the largest" if name is None else f"{label}={name(largest)}"
        errors.warn(
            f"{plural(heavy, 'value')} of {label} {'has' if heavy == 1 else 'have'} "
            f"more than 1/{k} of the records: {which} has {counts[largest]} of {n}. "
            "Equal values are never split, so the folds differ in size.",
            errors.FoldWarning,
        )


def names_of(columns: str | Sequence[str]) -> tuple[str, ...]:
    """Return names of columns as a caller gives them, each once."""
    names = (columns,) if isinstance(columns, str) else columns
    if not isinstance(names, (list, tuple)) or not all(
        isinstance(name, str) for name in names
    ):
        raise errors.ArgumentTypeError(
            f"columns must be a name or a list of names, not {columns!r}."
        )
    if not names:
        raise errors.ArgumentError("a stratifier needs a column; give its name.")
    if len(set(names)) < len(names):
        raise errors.ArgumentError(f"a column is named twice in {list(names)!r}.")
    return tuple(names)


# ---- whole values, and the argument stratify= ----


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
    >>> cut.codes, cut.fixed, cut.sentence
    (array([0, 1, 0, 2]), False, '2 folds of whole values of site')
    """

    made_by: ClassVar[str] = "by_value"
    random: ClassVar[bool] = True
    fixes_folds: ClassVar[bool] = False  # whole values go to any fold

    def warn(self, frame: pd.DataFrame, named: bool = False) -> None:
        """Warn where no value is repeated, and of values that are nearly the same."""
        texts, codes = written_of(frame, self.columns)
        counts = np.bincount(codes)
        if named:
            warn_of_no_repeats(counts, self.columns)
        warn_of_missing_values(texts, counts, self.label)
        if any(frame[name].dtype.kind not in INTEGERS for name in self.columns):
            warn_of_near_values(texts, self.label)

    def cut(self, frame: pd.DataFrame, k: int, seed: int = 0, repeat: int = 0) -> Cut:
        """Let each distinct value be a unit."""
        k = check_k(k)
        known, codes = written_of(frame, self.columns)
        counts = np.bincount(codes, minlength=len(known))
        check_units(counts, k, self.label, lambda i: known[i].replace(SEPARATOR, " + "))
        said = f"{k} folds of whole values of {self.label}"
        return Cut(self, len(known), False, codes, said, tuple(known))

    def units_of(self, frame: pd.DataFrame, cut: Cut) -> Numbers:
        """Return the code of each record's value, -1 for one that was not cut."""
        assert isinstance(cut.at, tuple)
        texts, codes = written_of(frame, self.columns)
        known = pd.Index(cut.at, dtype=object)
        return known.get_indexer(pd.Index(texts, dtype=object))[codes]


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
        raise errors.ArgumentTypeError(
            "stratify must be the name of a column, a list of names, or one of "
            f"by_quantile, by_hash and by_value, not {type(stratify).__name__}; "
            "values go into a column of the data first."
        )
    names = names_of(stratify)
    columns_of(frame, names)
    return by_value(names)
