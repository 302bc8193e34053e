"""Records that are never split across folds, and the folds of other records."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import check_whole
from statcv.errors import DataError, FoldWarning, FrameError, SchemeError, warn
from statcv.folds.strata.by_quantile import ALIKE, ByQuantile, cut_at
from statcv.folds.strata.stratifier import ByValue, Cut
from statcv.folds.strata.thresholds import Thresholds, as_number, between, intervals
from statcv.numeric.arrays import Array, Numbers
from statcv.tables import Printed
from statcv.words import plural, stored_sections


@dataclass(frozen=True, eq=False, repr=False)
class Strata(Printed):
    """Which records are equal, and where their values are cut into folds.

    Attributes
    ----------
    label : str
        The stratifier's columns.
    codes : numpy.ndarray of int, shape (n,)
        The stratum of each record; equal values have equal codes.
    count : int
        The number of strata.
    cuts : tuple of Cut
        For each repeat, the unit in which a value falls; empty if the folds do not
        depend on the stratifier.
    folds : tuple of numpy.ndarray
        For each repeat, the fold of each unit.
    identifies : bool
        Whether records with equal values are one cluster, such as a person's; not
        where a covariate that many share was cut into bins.
    made_by : str
        The function that made the stratifier, such as ``"by_hash"``; empty without one.
    labels : tuple of sequences
        For each repeat, the names of all k folds, also of those without a record.
    bins : numpy.ndarray of int, shape (n,), or None
        The unit of each record, if units are bins between thresholds.
    by_site : bool
        Whether equal values at different sites are counted as different, since plans
        were joined that do not hold the values.
    """

    label: str
    codes: Numbers
    count: int
    cuts: tuple[Cut, ...] = ()
    folds: tuple[Numbers, ...] = ()
    identifies: bool = True
    made_by: str = ""
    labels: tuple[Sequence[Any], ...] = ()
    bins: Numbers | None = None
    by_site: bool = False

    @property
    def sentence(self) -> str:
        """The grouping in words, with the number of groups."""
        noun = "group" if self.identifies else "value"
        return f"{self.kept} ({plural(self.count, noun)})"

    @property
    def kept(self) -> str:
        """The grouping in words."""
        if self.identifies:
            return f"grouped by {self.label}"
        return f"equal {self.label} kept together"

    @property
    def thresholds(self) -> Array | None:
        """The cut of the values in the first repeat."""
        return self.cuts[0].thresholds if self.cuts else None

    @property
    def stratifier(self) -> ByQuantile:
        """The stratifier that cuts and allocates other records in the same way."""
        first = self._cuts[0]
        if not isinstance(first.at, Thresholds):
            name = self.made_by or "its stratifier"
            raise SchemeError(
                f"the folds were made by {name} of {self.label}, and only bins of "
                f"by_quantile can be passed on; say stratify={name}(…) again."
            )
        per_fold = 1 if first.fixed else max(2, first.units // len(self.labels[0]))
        allocation = tuple(tuple(fold.tolist()) for fold in self.folds)
        return ByQuantile(first.stratifier.columns, per_fold, first.at, allocation)

    @property
    def coarse(self) -> bool:
        """Whether k folds hold so few values or bins that they differ in them."""
        binned = bool(self.cuts) and isinstance(self.cuts[0].at, Thresholds)
        units = self.cuts[0].units if binned else self.count
        return bool(self.cuts and self.labels) and units < ALIKE * len(self.labels[0])

    @property
    def finer_per_fold(self) -> int:
        """The number of narrower bins per fold that make folds alike; 0 for none."""
        if not self.coarse or self.made_by != ByQuantile.made_by:
            return 0
        k = len(self.labels[0])
        per_fold = min(ALIKE, self.count // k)
        return per_fold if per_fold * k > self.cuts[0].units else 0

    @property
    def finer(self) -> str:
        """The stratifier by narrower bins, as it is written; empty without one."""
        per_fold = self.finer_per_fold
        return f"by_quantile({self.label!r}, per_fold={per_fold})" if per_fold else ""

    @property
    def _cuts(self) -> tuple[Cut, ...]:
        if self.cuts:
            return self.cuts
        raise SchemeError(
            "only k folds say where other records fall; here whole strata of these "
            "records are held out."
        )

    def assign(self, frame: Any, repeat: int) -> pd.Series[Any]:
        """Return the fold of each row of another frame."""
        cuts = self._cuts
        if not isinstance(frame, pd.DataFrame):
            raise FrameError(
                f"assign() takes a pandas frame, not {type(frame).__name__}."
            )
        check_whole(repeat, "repeat", least=1, most=len(cuts))
        units = cuts[repeat - 1].of(frame)
        fold = self.folds[repeat - 1][units]
        names = np.asarray(self.labels[repeat - 1])[fold]
        assigned = pd.Series(names, index=frame.index, name="fold")
        unknown = int((units < 0).sum())
        if unknown:
            warn(
                f"{unknown} of {len(frame)} rows have a value of {self.label} that the "
                "plan has not met, and no fold; by_hash() gives every value one.",
                FoldWarning,
            )
            assigned = assigned.astype("Int64").mask(units < 0)
        return assigned


# ---- the strata of plans from elsewhere: read from a table, or joined over sites ----


QUANTILE, HASH, VALUE = "by_quantile", "by_hash", "by_value"
_STRATIFIER = re.compile(rf"({QUANTILE}|{HASH}|{VALUE})\((.*)\)", re.DOTALL)
SAID = partial(stored_sections, "statcv.folds.strata", "clusters.ini")


def read_strata(
    table: pd.DataFrame, cells: pd.DataFrame, position: Array, n: int
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
    stratifier = table["stratifier"].iloc[0]
    found = _STRATIFIER.fullmatch(str(stratifier))
    if found is None or table["stratifier"].nunique(dropna=False) > 1:
        raise DataError(
            "column 'stratifier' must be the same in all rows, such as "
            f"'by_quantile(age)', not {stratifier!r}."
        )
    made_by, label = found.groups()
    how: dict[str, Any] = {"identifies": made_by != QUANTILE, "made_by": made_by}
    strata = Strata(label, codes, count, **how)
    if "bin" in table:
        return _with_bins(strata, table, cells, position)
    if made_by == QUANTILE:
        return strata
    return replace(strata, cuts=(unknown_cut(strata),) * cells["repeat"].nunique())


def unknown_cut(strata: Strata, digests: NDArray[np.uint64] | None = None) -> Cut:
    """Return units of which only the records of the plan are known, not the values.

    Folds may be intervals of digests, between the least of each but the first.
    """
    why = SAID()["unknown"][strata.made_by].format(label=strata.label)
    codes = np.empty(0, np.intp)
    values = ByValue((strata.label,))
    return Cut(values, strata.count, False, codes, "", digests, unknown=why)


def _with_bins(
    strata: Strata, table: pd.DataFrame, cells: pd.DataFrame, position: Array
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
        twice = pairs.loc[pairs["bin"].duplicated(), "bin"].tolist()
        if twice:
            raise DataError(f"bin {twice[0]} lies in two folds of repeat {repeat}.")
        by_bin = pairs.set_index("bin")["fold"].reindex(names)
        if lost := names[by_bin.isna()].tolist():
            raise DataError(f"bin {lost[0]} lies in no fold of repeat {repeat}.")
        label, fold = np.unique(by_bin.to_numpy(), return_inverse=True)
        folds.append(fold.astype(np.intp))
        labels.append(label.tolist())
    if strata.made_by != QUANTILE:
        digests = np.array([int(text) for text in texts], dtype=np.uint64)
        cuts = [unknown_cut(strata, digests)] * len(folds)
    else:
        at, none = Thresholds.of(map(as_number, texts)), np.empty(0, np.intp)
        of_bins, order = ByQuantile((strata.label,)), np.arange(units)
        cuts = [
            cut_at(of_bins, at, len(names), none, np.array_equal(fold, order))
            for fold, names in zip(folds, labels, strict=True)
        ]
    return replace(
        strata, cuts=tuple(cuts), folds=tuple(folds), labels=tuple(labels), bins=bins
    )


def joined_strata(parts: Mapping[str, Strata]) -> Strata:
    """Join the strata, which never hold records of different sites.

    Parameters
    ----------
    parts : mapping of str to Strata
        The strata of each site, all of one stratifier.

    Raises
    ------
    SchemeError
        If keys, thresholds or the allocation of bins to folds differ.
    """
    _check_bins(parts)
    strata = list(parts.values())
    known = [part for part in strata if part.cuts and part.cuts[0].trace is not None]
    if len({part.cuts[0].trace for part in known}) > 1:
        raise SchemeError(
            f"plans that are joined must have the same key: by_hash({known[0].label}) "
            "was made with different ones, so that equal identifiers lie in different "
            "folds."
        )
    first, several = (known or strata)[0], len(strata) > 1
    offsets = np.cumsum([0, *(part.count for part in strata)])
    shifted = [part.codes + at for part, at in zip(strata, offsets, strict=False)]
    own = [part.bins for part in strata if part.bins is not None]
    bins = np.concatenate(own) if len(own) == len(strata) else None
    codes, count = np.concatenate(shifted), int(offsets[-1])
    joined = replace(first, codes=codes, count=count, bins=bins, by_site=several)
    if first.made_by == VALUE and first.cuts:
        return replace(joined, cuts=(unknown_cut(joined),) * len(first.cuts), folds=())
    return joined


def _check_bins(parts: Mapping[str, Strata]) -> None:
    """Refuse sites that cut at other thresholds, or allocate bins otherwise."""
    (first, reference), *others = (
        (site, _fold_of_bin(part)) for site, part in parts.items()
    )
    for site, own in others:
        for key in dict.fromkeys([*reference, *own]):
            repeat, text = key
            if key in own and key in reference:
                if own[key] == reference[key]:
                    continue
                what = (
                    f"the bin {text} of {parts[site].label} lies in fold "
                    f"{reference[key]} at site {first!r} and in fold {own[key]} at "
                    f"{site!r} (repeat {repeat})"
                )
            else:
                here = first if key in reference else site
                what = f"the bin {text} of {parts[site].label} is only at site {here!r}"
            advice = SAID()["joining"]
            raise SchemeError(
                f"plans that are joined must have the same thresholds and folds: {what}"
                f"; {advice.get(parts[site].made_by, advice[QUANTILE])}."
            )


def _fold_of_bin(strata: Strata) -> dict[tuple[int, str], Any]:
    """Return the name of the fold of each repeat and bin; nothing without bins."""
    if strata.bins is None:
        return {}
    texts = strata.cuts[0].bins
    return {
        (at + 1, text): strata.labels[at][fold]
        for at, folds in enumerate(strata.folds)
        for text, fold in zip(texts, folds.tolist(), strict=True)
    }
