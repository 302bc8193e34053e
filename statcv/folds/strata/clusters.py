"""Records that are never split across folds, and the folds of other records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import check_whole
from statcv.errors import FoldWarning, FrameError, SchemeError, warn
from statcv.folds.ragged import Ragged
from statcv.folds.strata.by_quantile import ALIKE, ByQuantile, QuantileCut
from statcv.folds.strata.stratifier import Cut
from statcv.tables import Printed
from statcv.words import plural


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
    codes: NDArray[np.intp]
    count: int
    cuts: tuple[Cut, ...] = ()
    folds: tuple[NDArray[np.intp], ...] = ()
    identifies: bool = True
    made_by: str = ""
    labels: tuple[Sequence[Any], ...] = ()
    bins: NDArray[np.intp] | None = None
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
    def thresholds(self) -> NDArray[Any] | None:
        """The cut of the values in the first repeat."""
        return self.cuts[0].thresholds if self.cuts else None

    @property
    def stratifier(self) -> ByQuantile:
        """The stratifier that cuts and allocates other records in the same way."""
        cuts = self._cuts
        first = cuts[0]
        if not isinstance(first, QuantileCut):
            name = self.made_by or "its stratifier"
            raise SchemeError(
                f"the folds were made by {name} of {self.label}, and only bins of "
                f"by_quantile can be passed on; say stratify={name}(…) again."
            )
        per_fold = 1 if first.fixed else max(2, first.units // len(self.labels[0]))
        allocation = tuple(tuple(fold.tolist()) for fold in self.folds)
        return ByQuantile(first.columns, per_fold, first.at, allocation)

    @property
    def coarse(self) -> bool:
        """Whether k folds hold so few values or bins that they differ in them."""
        binned = bool(self.cuts) and isinstance(self.cuts[0], QuantileCut)
        units = self.cuts[0].units if binned else self.count
        known = bool(self.cuts and self.labels)
        return known and units < ALIKE * len(self.labels[0])

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

    def wholly_out(self, dropped: Ragged, held_out: Ragged) -> NDArray[np.bool_]:
        """Return which dropped records have no equal in training.

        Aligned with ``dropped.values``; both lists have one entry per fit.
        """
        owners = np.concatenate([dropped.owners, held_out.owners])
        rows = np.concatenate([dropped.values, held_out.values])
        cells, place, out = np.unique(
            owners * self.count + self.codes[rows],
            return_inverse=True,
            return_counts=True,
        )
        sizes = np.bincount(self.codes, minlength=self.count)
        whole = out == sizes[cells % self.count]
        return np.asarray(whole[place[: len(dropped.values)]])
