"""Quantile bins of a number, of about equal count, on thresholds that can be reused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import numpy as np
import pandas as pd

from statcv.arguments import MAX_BINS, check_types, check_whole
from statcv.errors import ArgumentError, DataError, FoldWarning, warn
from statcv.folds.strata import stratifier as base
from statcv.folds.strata.hashing import check_k, keyed_digest
from statcv.folds.strata.identifiers import written
from statcv.folds.strata.meant_otherwise import warn_of_identifier
from statcv.folds.strata.thresholds import EXACT, Thresholds, as_text, even_cuts
from statcv.formula import why_text
from statcv.numeric.arrays import Floats, Numbers
from statcv.words import plural

DATES: Final = ("date", "datetime", "datetime64")  # as pandas infers them
ALIKE: Final = 20  # bins or values per fold that make folds nearly alike


def by_quantile(column: str, per_fold: int = 1, thresholds: Any = None) -> ByQuantile:
    """Cut a number, or a date, into bins of about equal count, or at thresholds.

    Parameters
    ----------
    column : str
        A column of numbers or dates (which count by day).
    per_fold : int
        Number of bins per fold. With 1, each of k bins is a fold: a fold then tests
        values that its training set lacks, and the estimate is pessimistic if the
        outcome depends on them. With more, ``per_fold * k`` narrow bins are allocated
        to the folds at random, which removes nearly all of that bias.
    thresholds : array-like of numbers or dates, optional
        Rising thresholds on which several sites agree, such as ``plan.thresholds`` of
        one of them; a value equal to a threshold lies in the bin above. ``k - 1`` make
        ``k`` folds, ``per_fold * k - 1`` as many with ``per_fold`` bins each, which are
        allocated by the seed alone. ``plan.stratifier`` follows a plan that was made
        without thresholds.

    Examples
    --------
    >>> by_quantile("age", per_fold=20)
    ByQuantile(columns=('age',), per_fold=20)
    """
    check_types(by_quantile, locals())
    check_whole(per_fold, "per_fold", least=1, most=MAX_BINS)
    agreed = None if thresholds is None else Thresholds.of(thresholds)
    bins = 2 * per_fold if agreed is None else len(agreed) + 1
    if bins % per_fold or bins < 2 * per_fold:
        raise ArgumentError(
            f"{plural(bins - 1, 'threshold')} of {column} "
            f"{'makes' if bins == 2 else 'make'} {bins} bins, from which no two or "
            f"more folds of per_fold={per_fold} bins each can be made; k folds need "
            "per_fold * k - 1 thresholds."
        )
    return ByQuantile((column,), int(per_fold), agreed)


@dataclass(frozen=True, repr=False)
class ByQuantile(base.Stratifier):
    """Bins of about equal count, or at thresholds; see :func:`by_quantile`.

    Attributes
    ----------
    per_fold : int
    agreed : Thresholds or None
        The thresholds that were given.
    allocation : tuple of tuples of int, optional
        The fold of each bin in each repeat, from 0, as taken from a plan.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [30, 30, 41, 50, 62, 62]})
    >>> cut = by_quantile("age").cut(frame, k=3)
    >>> cut.codes, cut.thresholds
    (array([0, 0, 1, 1, 2, 2]), array([35.5, 56. ]))
    >>> cut.sentence
    '3 quantile bins of age, one a fold'
    """

    per_fold: int = 1
    agreed: Thresholds | None = None
    allocation: tuple[tuple[int, ...], ...] = ()
    identifies: ClassVar[bool] = False
    made_by: ClassVar[str] = "by_quantile"

    @property
    def random(self) -> bool:
        """Whether the allocation of bins depends on seed and repeat."""
        return len(self.allocation) > 1 if self.allocation else self.per_fold > 1

    @property
    def only_for_folds(self) -> str:
        """The number of bins per fold, or the thresholds, if they were given."""
        if self.agreed is not None:
            return f"thresholds={self.agreed.listed}"
        return f"per_fold={self.per_fold}" if self.per_fold > 1 else ""

    @property
    def fixes_folds(self) -> bool:
        """Whether the folds do not depend on the outcomes of the records."""
        return self.per_fold == 1 or self.agreed is not None

    @property
    def n_folds(self) -> int | None:
        """The number of folds that the thresholds make."""
        if self.allocation:
            return 1 + max(map(max, self.allocation))
        return None if self.agreed is None else (len(self.agreed) + 1) // self.per_fold

    def __repr__(self) -> str:
        parts = f"columns={self.columns!r}, per_fold={self.per_fold}"
        if self.agreed is not None:
            parts += f", thresholds={self.agreed.listed}"
        return f"ByQuantile({parts})"

    def values(self, frame: pd.DataFrame) -> Numbers:
        """Return codes of equal numbers, rising with them."""
        numbers, _ = as_floats(frame, self.columns[0])
        return np.unique(numbers, return_inverse=True)[1].astype(np.intp)

    def warn(self, frame: pd.DataFrame, named: bool = False) -> None:
        """Warn of a column that looks like an identifier."""
        warn_of_identifier(frame, self.columns[0])

    def cut(
        self, frame: pd.DataFrame, k: int, seed: int = 0, repeat: int = 0
    ) -> base.Cut:
        """Cut the values into ``per_fold * k`` bins."""
        k = check_k(k)
        if self.agreed is not None:
            return self._cut_at(self.agreed, frame, k, seed, repeat)
        numbers, dates = as_floats(frame, self.columns[0])
        distinct, counts = np.unique(numbers, return_counts=True)
        base.check_units(counts, k, self.label, lambda i: _shown(distinct[i], dates))
        bins = min(self.per_fold * k, len(distinct))
        if bins < self.per_fold * k:
            warn(
                f"{self.label} has {len(distinct)} distinct values, so there are "
                f"{bins} bins, not {self.per_fold * k} (per_fold={self.per_fold}).",
                FoldWarning,
            )
        cuts = even_cuts(counts, bins)
        low, high = distinct[cuts - 1], distinct[cuts]
        with np.errstate(invalid="ignore"):
            middle = low / 2 + high / 2
        bounds = np.where(np.isfinite(middle) & (middle > low), middle, high)
        if dates:
            bounds = np.ceil(bounds)
        codes = np.searchsorted(bounds, numbers, side="right")
        at = Thresholds(tuple(bounds.tolist()), dates)
        return cut_at(self, at, k, codes, fixed=self.per_fold == 1)

    def units_of(self, frame: pd.DataFrame, cut: base.Cut) -> Numbers:
        """Return the bin of each record."""
        at, (numbers, dates) = cut.at, as_floats(frame, self.columns[0])
        assert isinstance(at, Thresholds)
        if dates != at.dates:
            own, made = ("dates", "numbers") if dates else ("numbers", "dates")
            raise DataError(
                f"column {self.label!r} holds {own}, but the bins were made of {made}."
            )
        return np.searchsorted(at.bounds, numbers, side="right")

    def fold_of_bins(self, seed: int = 0, repeat: int = 0) -> Numbers:
        """Return the fold, from 0, of each bin between the thresholds given.

        Examples
        --------
        >>> by_quantile("age", thresholds=[35.5, 56]).fold_of_bins()
        array([0, 1, 2])
        """
        bins = 1 if self.agreed is None else len(self.agreed) + 1
        if not self.allocation:
            if self.per_fold == 1:
                return np.arange(bins)
            # the order of a hash is the same with every version of NumPy
            key = f"statcv seed {seed} repeat {repeat}"
            fold = np.empty(bins, dtype=np.intp)
            order = np.argsort(keyed_digest(range(bins), key), kind="stable")
            fold[order] = np.arange(bins) % (bins // self.per_fold)
            return fold
        if repeat < len(self.allocation):
            return np.array(self.allocation[repeat], dtype=np.intp)
        raise ArgumentError(
            f"the plan allocates the bins of {self.label} to folds in "
            f"{plural(len(self.allocation), 'repeat')}; ask for no more."
        )

    def _cut_at(
        self, at: Thresholds, frame: pd.DataFrame, k: int, seed: int, repeat: int
    ) -> base.Cut:
        """Cut the values at given thresholds, and allocate the bins to folds."""
        bins, folds = len(at) + 1, self.n_folds
        if k != folds:
            each = self.per_fold if bins == self.per_fold * (folds or 0) else 1
            with_bins = f" of {each} bins" if each > 1 else ""
            raise ArgumentError(
                f"{plural(len(at), 'threshold')} of {self.label} "
                f"{'makes' if bins == 2 else 'make'} {folds} folds{with_bins}, not "
                f"k={k}; leave k out, or give other thresholds."
            )
        fold = self.fold_of_bins(seed, repeat)
        fixed = bool((fold == np.arange(bins)).all())
        cut = cut_at(self, at, k, np.empty(0, np.intp), fixed, fold)
        cut = replace(cut, codes=cut.of(frame))
        _warn_of_empty(np.bincount(fold[cut.codes], minlength=k), self.label)
        return cut


def _warn_of_empty(sizes: Numbers, label: str) -> None:
    """Warn, with the count, of folds in which no record falls."""
    empty, filled = np.flatnonzero(sizes == 0) + 1, np.flatnonzero(sizes) + 1
    if not len(empty):
        return
    listed = ", ".join(map(str, empty[:10])) + ", …" * (len(empty) > 10)
    said = (
        f"{len(empty)} of {len(sizes)} folds at the thresholds of {label} hold out no "
        f"record: {listed}. The other folds keep their numbers."
    )
    alone = " Fold {} holds out every record, and leaves none to train on here."
    warn(said + (alone.format(filled[0]) if len(filled) == 1 else ""), FoldWarning)


def cut_at(
    stratifier: ByQuantile,
    at: Thresholds,
    k: int,
    codes: Numbers,
    fixed: bool,
    allocated: Numbers | None = None,
) -> base.Cut:
    """Return the cut at thresholds, whose bins are folds or are allocated to k folds.

    Thresholds are midway between two values unless given; each lies in the bin above.
    """
    units, label = len(at) + 1, stratifier.label
    said, then = f"{units} quantile bins of {label}", ""
    if allocated is not None:
        said, then = f"{units} bins of {label} at given thresholds", ","
    said += ", one a fold" if fixed else f"{then} allocated to {k} folds"
    return base.Cut(stratifier, units, fixed, codes, said, at, allocated)


def _shown(number: float, date: bool) -> str:
    return as_text(number, True) if date else f"{number:.15g}"


def as_floats(frame: pd.DataFrame, name: str) -> tuple[Floats, bool]:
    """Return a column as floats, and whether it holds dates."""
    column = base.columns_of(frame, [name])[name]
    if base.is_truth(column):
        raise DataError(
            f"column {name!r} holds truth values, which have no quantiles; "
            f"by_value({name!r}) keeps each of the two whole."
        )
    if is_numeric(column):
        whole = pd.api.types.infer_dtype(column) == "integer" and len(column)
        if whole and max(int(column.max()), -int(column.min())) > EXACT:
            raise DataError(
                f"column {name!r} holds integers above 2**53, which have no exact "
                "quantiles and look like identifiers; "
                f"by_hash({name!r}) or by_value({name!r}) keeps equal ones together."
            )
        if isinstance(column.dtype, np.dtype) and column.dtype == object:
            column = column.astype(float)
        floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(floats + 0.0), False
    dates = column.dtype.kind == "M" or pd.api.types.infer_dtype(column) in DATES
    if dates and not isinstance(column.dtype, pd.CategoricalDtype):
        days, codes = written(column)
        numbers = np.array(days, dtype="datetime64[D]").astype(np.int64)
        return numbers.astype(float)[codes], True
    raise DataError(
        f"column {name!r} is {column.dtype}, and only numbers and dates have "
        f"quantiles; use by_hash({name!r}) or by_value({name!r})."
        + why_text(column, name)
    )


def is_numeric(column: pd.Series[Any]) -> bool:
    """Whether a column holds numbers, also as objects, but not truth values."""
    types = pd.api.types
    if column.dtype == object:
        numbers = ("integer", "floating", "mixed-integer-float", "decimal")
        return types.infer_dtype(column) in numbers
    other = types.is_bool_dtype(column) or types.is_complex_dtype(column)
    return types.is_numeric_dtype(column) and not other
