"""What was found of stratifiers, as words read it."""

from __future__ import annotations

from typing import Protocol

import pandas as pd

from statcv.folds import FoldPlan
from statcv.inference import MonteCarlo
from statcv.stratifiers.setting import Setting


class Found(Protocol):
    """What is read of :class:`statcv.stratifiers.StratifierBias`."""

    @property
    def ranking(self) -> pd.DataFrame:
        """A row a candidate, before any fit on its folds."""

    @property
    def measured(self) -> pd.DataFrame | None:
        """A row a candidate, fitted on its folds."""

    @property
    def unbiased(self) -> float:
        """The unbiased estimate."""

    @property
    def chance(self) -> MonteCarlo:
        """How far it moves with the folds."""

    @property
    def plans(self) -> dict[str, FoldPlan]:
        """The folds by name."""

    @property
    def skipped(self) -> dict[str, str]:
        """Columns that can make no folds."""

    @property
    def importance(self) -> str:
        """What importance is."""

    @property
    def how(self) -> str:
        """In which way the metric is stated."""

    @property
    def level(self) -> float:
        """Of intervals."""

    @property
    def failed(self) -> int:
        """Fits that did not converge or were separated."""

    @property
    def fits(self) -> int:
        """All fits."""

    @property
    def least(self) -> str:
        """The candidate that costs least."""

    @property
    def unit(self) -> str:
        """Of losses and bias."""

    @property
    def setting(self) -> Setting:
        """What is fitted."""
