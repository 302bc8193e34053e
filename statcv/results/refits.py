"""What a result fits again: all rows, all but one record, and permuted outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine import Setup, fit_all
from statcv.inference.refits.jackknife import Kept
from statcv.inference.tests.permutation import Permuted, warn_of_undefined
from statcv.metrics import Metric
from statcv.models import Fit
from statcv.models.thresholds import Thresholded, ThresholdedFit

Floats = NDArray[np.float64]
Wanted = tuple[Metric, str]  # a metric, and how it is stated


@dataclass(frozen=True, eq=False)
class Refits:
    """The refits of a result, each made when it is first needed and then kept.

    Attributes
    ----------
    setup : Setup
        Design, plan, model, seed and weights of the result.
    threshold : float or None
        The threshold of the predictions, if it is fixed.
    """

    setup: Setup
    threshold: float | None

    def __getstate__(self) -> dict[str, Any]:
        """Keep jackknives and permutations; the fit on all rows can be made again."""
        return {
            k: v for k, v in self.__dict__.items() if k not in ("all_rows", "fitted")
        }

    @property
    def possible(self) -> bool:
        """Whether there is a model that can be fitted again."""
        return self.setup.model.capabilities.refits

    def setup_for(self, metric: Metric) -> Setup:
        """Return what to fit for a metric, which may have no use for thresholds."""
        if isinstance(self.setup.model, Thresholded) and not metric.cuts:
            return replace(self.setup, model=self.setup.model.model)
        return self.setup

    # ---- all rows ----

    @cached_property
    def all_rows(self) -> Fit:
        """The fit on all rows."""
        strata = self.setup.plan.strata
        return fit_all(
            self.setup.design,
            self.setup.model,
            seed=self.setup.seed,
            weights=self.setup.weights,
            strata=None if strata is None else strata.codes,
        )

    @cached_property
    def fitted(self) -> Floats:
        """The predictions of that fit for all rows."""
        return self.all_rows.predict(self.setup.design.matrix)

    @property
    def full_threshold(self) -> float | None:
        """The threshold that belongs to these predictions."""
        if isinstance(self.all_rows, ThresholdedFit):
            return self.all_rows.threshold
        return self.threshold

    # ---- what is kept ----

    @cached_property
    def jackknives(self) -> Kept:
        """The jackknives that were made, by metric and way."""
        return {}

    @cached_property
    def permutations(self) -> Permutations:
        """The metrics under permuted outcomes that were computed."""
        return Permutations()


class Permutations:
    """Metrics under permuted outcomes, by metric, way and seed.

    More permutations of the same seed go on from those that were made.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[Metric, str, int], tuple[Floats, str]] = {}

    def available(self, wanted: Sequence[Wanted], times: int, seed: int) -> int:
        """Return for how many permutations all of these values are known."""
        kept = [self._kept.get((*each, seed)) for each in wanted]
        return min(times, *(0 if one is None else len(one[0]) for one in kept))

    def values(
        self,
        wanted: Sequence[Wanted],
        times: int,
        seed: int,
        make: Callable[[Sequence[Wanted], int], Permuted],
    ) -> list[Floats]:
        """Return the values of metrics that are all read from the same fits.

        Parameters
        ----------
        wanted : sequence of (Metric, str)
        times, seed : int
            Number of permutations, and their seed.
        make : callable
            Makes the values of some of ``wanted``, from a given permutation on.
        """
        short = [one for one in wanted if self.available([one], times, seed) < times]
        if short:
            first = self.available(short, times, seed)
            made = make(short, first)
            for each, values in zip(short, made.values, strict=True):
                before, why = self._kept.get((*each, seed), (np.empty(0), ""))
                joined = np.concatenate([before[:first], values])
                self._kept[(*each, seed)] = joined, why or made.why
        found = [self._kept[(*each, seed)][0][:times] for each in wanted]
        for (metric, how), values in zip(wanted, found, strict=True):
            if not metric.is_of_random_order:
                why = self._kept[metric, how, seed][1]
                warn_of_undefined(values, metric, how, why)
        return found
