"""Strata of a number: bins of about equal count, on thresholds that can be reused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ArgumentError, ArgumentTypeError, DataError, FoldWarning, warn
from statcv.folds.cuts import even_cuts
from statcv.folds.hashing import check_k
from statcv.folds.identifier_signs import warn_of_identifier
from statcv.folds.identifiers import written
from statcv.folds.stratifier import (
    Codes,
    Cut,
    Stratifier,
    check_units,
    columns_of,
    is_truth,
)
from statcv.whole import is_whole

EXACT = 2**53  # beyond it floats skip whole numbers


def by_quantile(column: str, per_fold: int = 1) -> ByQuantile:
    """Cut a number, or a date, into bins of about equal count.

    Parameters
    ----------
    column : str
        A column of numbers or dates (which count by day).
    per_fold : int
        With 1, each of k bins is a fold: a fold then tests values that its training
        set lacks, and the estimate is pessimistic where the outcome depends on them.
        With more, ``per_fold * k`` narrow bins are dealt to the folds at random, which
        takes away nearly all of that bias. Records that are not quite equal part more
        often then.

    Examples
    --------
    >>> by_quantile("age", per_fold=20)
    ByQuantile(columns=('age',), per_fold=20)
    """
    if not is_whole(per_fold):
        raise ArgumentTypeError(f"per_fold must be a whole number, not {per_fold!r}.")
    if per_fold < 1:
        raise ArgumentError(f"per_fold={per_fold} is out of range: 1 or more.")
    if not isinstance(column, str):
        raise ArgumentTypeError(
            f"by_quantile takes the name of one column, not {column!r}."
        )
    return ByQuantile((column,), int(per_fold))


@dataclass(frozen=True)
class ByQuantile(Stratifier):
    """Bins of about equal count; see :func:`by_quantile`.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [30, 30, 41, 50, 62, 62]})
    >>> cut = by_quantile("age").cut(frame, k=3)
    >>> cut.codes, cut.thresholds
    (array([0, 0, 1, 1, 2, 2]), array([35.5, 56. ]))
    >>> cut.sentence(3)
    '3 quantile bins of age, one a fold'
    """

    per_fold: int = 1
    identifies: ClassVar[bool] = False

    @property
    def random(self) -> bool:
        """Whether bins are dealt to folds."""
        return self.per_fold > 1

    @property
    def only_for_folds(self) -> str:
        """The number of bins a fold, where it was said."""
        return f"per_fold={self.per_fold}" if self.per_fold > 1 else ""

    @property
    def fixes_folds(self) -> bool:
        """Whether a bin is a fold."""
        return self.per_fold == 1

    def values(self, frame: pd.DataFrame) -> Codes:
        """Return codes of equal numbers, rising with them."""
        numbers, _ = _numbers(frame, self.columns[0])
        return np.unique(numbers, return_inverse=True)[1].astype(np.intp)

    def warn(self, frame: pd.DataFrame, named: bool = False) -> None:
        """Warn of a column that looks like an identifier."""
        warn_of_identifier(frame, self.columns[0])

    def cut(
        self, frame: pd.DataFrame, k: int, seed: int = 0, repeat: int = 0
    ) -> QuantileCut:
        """Cut the values into ``per_fold * k`` bins."""
        k = check_k(k)
        numbers, dates = _numbers(frame, self.columns[0])
        distinct, counts = np.unique(numbers, return_counts=True)
        check_units(counts, k, self.label, lambda i: _shown(distinct[i], dates))
        bins = min(self.per_fold * k, len(distinct))
        if bins < self.per_fold * k:
            warn(
                f"{self.label} has {len(distinct)} distinct values, so there are "
                f"{bins} bins, not {self.per_fold * k} (per_fold={self.per_fold}).",
                FoldWarning,
            )
        cuts = even_cuts(counts, bins)
        bounds = _midway(distinct[cuts - 1], distinct[cuts])
        codes = np.searchsorted(bounds, numbers, side="right")
        return QuantileCut(self.columns, bins, self.per_fold == 1, codes, bounds, dates)


@dataclass(frozen=True, eq=False)
class QuantileCut(Cut):
    """Half-open bins of a number.

    Attributes
    ----------
    bounds : numpy.ndarray of float
        Each midway between two values, and in the bin above; of dates, days since
        1970-01-01.
    dates : bool
    """

    bounds: NDArray[np.float64]
    dates: bool

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """The least number of each bin but the first."""
        return self.bounds

    def of(self, frame: pd.DataFrame) -> Codes:
        """Return the bin of each record."""
        numbers, dates = _numbers(frame, self.columns[0])
        if dates != self.dates:
            kinds = ("numbers", "dates")
            raise DataError(
                f"column {self.label!r} holds {kinds[dates]}, but the bins were made "
                f"of {kinds[self.dates]}."
            )
        return np.searchsorted(self.bounds, numbers, side="right")

    def sentence(self, k: int) -> str:
        """Say what the folds are."""
        bins = f"{self.units} quantile bins of {self.label}"
        return f"{bins}, one a fold" if self.fixed else f"{bins} allocated to {k} folds"


def _numbers(frame: pd.DataFrame, name: str) -> tuple[NDArray[np.float64], bool]:
    """Return a column as floats, and whether it holds dates."""
    column = columns_of(frame, [name])[name]
    if is_truth(column):
        raise DataError(
            f"column {name!r} holds truth values, which have no quantiles; "
            f"by_value({name!r}) keeps each of the two whole."
        )
    if is_numeric(column):
        _refuse_long(column, name)
        if isinstance(column.dtype, np.dtype) and column.dtype == object:
            column = column.astype(float)
        floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(floats + 0.0), False
    if _is_date(column):
        days, codes = written(column)
        numbers = np.array(days, dtype="datetime64[D]").astype(np.int64)
        return numbers.astype(float)[codes], True
    raise DataError(
        f"column {name!r} is {column.dtype}, and only numbers and dates have "
        f"quantiles; use by_hash({name!r}) or by_value({name!r})."
    )


def _refuse_long(column: pd.Series[Any], name: str) -> None:
    """Refuse whole numbers that floats cannot tell apart."""
    if pd.api.types.infer_dtype(column) != "integer" or not len(column):
        return
    if max(int(column.max()), -int(column.min())) > EXACT:
        raise DataError(
            f"column {name!r} holds whole numbers above 2**53, which have no exact "
            "quantiles and look like identifiers; "
            f"by_hash({name!r}) or by_value({name!r}) keeps equal ones together."
        )


def is_numeric(column: pd.Series[Any]) -> bool:
    """Whether a column holds numbers, also as objects; truth values are none."""
    if column.dtype == object:
        numbers = ("integer", "floating", "mixed-integer-float", "decimal")
        return pd.api.types.infer_dtype(column) in numbers
    types = pd.api.types
    return (
        types.is_numeric_dtype(column)
        and not types.is_bool_dtype(column)
        and not types.is_complex_dtype(column)
    )


def _is_date(column: pd.Series[Any]) -> bool:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return False
    dates = ("date", "datetime", "datetime64")
    return column.dtype.kind == "M" or pd.api.types.infer_dtype(column) in dates


def _midway(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return bounds above ``low``, and not above ``high``."""
    with np.errstate(invalid="ignore"):
        middle = low / 2 + high / 2
    return np.where(np.isfinite(middle) & (middle > low), middle, high)


def _shown(number: float, date: bool) -> str:
    return str(np.datetime64(int(number), "D")) if date else f"{number:.15g}"
