"""The stratifier of a plan read from a table, as far as the table describes it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import DataError, SchemeError
from statcv.folds.strata.clusters import Strata
from statcv.folds.strata.resolve import QuantileCut
from statcv.folds.strata.stratifier import Codes, Cut
from statcv.folds.strata.thresholds import Thresholds, as_number, between, intervals

QUANTILE, HASH, VALUE = "by_quantile", "by_hash", "by_value"
_STRATIFIER = re.compile(rf"({QUANTILE}|{HASH}|{VALUE})\((.*)\)", re.DOTALL)
_WHY = {
    HASH: "the folds are a keyed hash of {label}, and a table holds no key: other "
    "records find their fold with by_hash(…), where the key is.",
    VALUE: "the folds hold whole values of {label}, and the plan knows which records "
    "are equal, but not their values: it says nothing of other records.",
}


@dataclass(frozen=True, eq=False)
class UnknownCut(Cut):
    """Units of which only the records of the plan are known, not the values.

    Attributes
    ----------
    why : str
        Why other records have no unit.
    bounds : numpy.ndarray of uint64, or None
        The least digest of each fold but the first, if folds are intervals of them.
    """

    why: str
    bounds: NDArray[Any] | None = None

    @property
    def thresholds(self) -> NDArray[Any] | None:
        """The least digest of each fold but the first, if it has one."""
        return self.bounds

    def of(self, frame: pd.DataFrame) -> Codes:
        """Raise, since the unit of other records is not known."""
        raise SchemeError(self.why)

    def sentence(self, k: int) -> str:
        """Say what the folds are."""
        return f"{k} folds of whole values of {self.label}"


def read_strata(
    table: pd.DataFrame, cells: pd.DataFrame, position: NDArray[Any], n: int
) -> Strata | None:
    """Return the strata that a table describes.

    Parameters
    ----------
    table : pandas.DataFrame
        The rows of records.
    cells : pandas.DataFrame
        Rows of held-out records, and of bins without records.
    position : numpy.ndarray of int
        The record of each row of ``table``.
    n : int
        The number of records.

    Raises
    ------
    DataError
        If the stratifier cannot be read, or bins do not adjoin or lie in two folds.
    """
    if "stratum" not in table:
        return None
    codes = np.full(n, -1, dtype=np.intp)
    codes[position] = table["stratum"].to_numpy()
    if (codes < 0).any():
        return None
    count = int(codes.max()) + 1
    if "stratifier" not in table:
        return Strata("stratum", codes, count)
    found = _STRATIFIER.fullmatch(str(table["stratifier"].iloc[0]))
    if found is None or table["stratifier"].nunique(dropna=False) > 1:
        raise DataError(
            "column 'stratifier' must be the same in all rows, such as "
            f"'by_quantile(age)', not {table['stratifier'].iloc[0]!r}."
        )
    made_by, label = found.groups()
    strata = Strata(
        label, codes, count, identifies=made_by != QUANTILE, made_by=made_by
    )
    if "bin" in table:
        return _with_bins(strata, table, cells, position)
    if made_by == QUANTILE:
        return strata
    return replace(strata, cuts=(unknown_cut(strata),) * cells["repeat"].nunique())


def unknown_cut(strata: Strata, bounds: NDArray[Any] | None = None) -> UnknownCut:
    """Return a cut that says why the values of these strata are not known."""
    why, codes = _WHY[strata.made_by].format(label=strata.label), np.empty(0, np.intp)
    return UnknownCut((strata.label,), strata.count, False, codes, why, bounds)


def _with_bins(
    strata: Strata, table: pd.DataFrame, cells: pd.DataFrame, position: NDArray[Any]
) -> Strata:
    """Find the thresholds, the bin of each record and the fold of each bin."""
    texts = between(cells["bin"].unique())
    units = len(texts) + 1
    names = pd.Index(intervals(texts))
    bins = np.zeros(len(strata.codes), dtype=np.intp)
    bins[position] = names.get_indexer(pd.Index(table["bin"]))
    folds, labels = [], []
    for repeat, own in cells.groupby("repeat", sort=True):
        pairs = own[["bin", "fold"]].drop_duplicates()
        if pairs["bin"].duplicated().any():
            twice = pairs.loc[pairs["bin"].duplicated(), "bin"].iloc[0]
            raise DataError(f"bin {twice} lies in two folds of repeat {repeat}.")
        by_bin = pairs.set_index("bin")["fold"].reindex(names)
        if by_bin.isna().any():
            lost = names[by_bin.isna()][0]
            raise DataError(f"bin {lost} lies in no fold of repeat {repeat}.")
        label, fold = np.unique(by_bin.to_numpy(), return_inverse=True)
        folds.append(fold.astype(np.intp))
        labels.append(label.tolist())
    if strata.made_by != QUANTILE:
        digests = np.array([int(text) for text in texts], dtype=np.uint64)
        cuts: list[Cut] = [unknown_cut(strata, digests)] * len(folds)
    else:
        at, none = Thresholds.of(map(as_number, texts)), np.empty(0, np.intp)
        own_order = np.arange(units)
        cuts = [
            QuantileCut((strata.label,), units, np.array_equal(f, own_order), none, at)
            for f in folds
        ]
    return replace(
        strata, cuts=tuple(cuts), folds=tuple(folds), labels=tuple(labels), bins=bins
    )
