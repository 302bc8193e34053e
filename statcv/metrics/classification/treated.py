"""Records that are treated from a threshold, with means and their standard errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.metrics.discrimination.rounding import round_significant
from statcv.metrics.inputs import Bools, Floats, Ints
from statcv.metrics.records import sum_of_squares

_NOTHING = 1e-14  # a standard error below this share of the values is rounding


@dataclass(frozen=True, eq=False)
class Treated:
    """Records, or, without clusters, the distinct kinds of records with their counts.

    `weights` are the weights of a single record in the mean, and sum to 1 over all
    records.
    """

    positive: Bools
    p: Floats
    count: Ints
    weights: Floats
    strata: list[Bools]
    codes: Ints | None

    @classmethod
    def of(
        cls,
        positive: Bools,
        p: Floats,
        cuts: Floats,
        prevalence: float | None,
        codes: Ints | None,
    ) -> Treated:
        """Group the records by class and by the thresholds that they reach."""
        n, ones = positive.size, int(positive.sum())
        p, count = round_significant(p), np.ones(n, dtype=np.intp)
        if codes is None:
            passed = np.searchsorted(np.sort(round_significant(cuts)), p, side="right")
            _, kinds, count = np.unique(
                2 * passed + positive, return_index=True, return_counts=True
            )
            positive, p = positive[kinds], p[kinds]
        if prevalence is None:
            weights, strata = np.full(p.size, 1 / n), [np.ones(p.size, dtype=bool)]
        else:
            each = prevalence / ones, (1 - prevalence) / (n - ones)
            weights, strata = np.where(positive, *each), [positive, ~positive]
        return cls(positive, p, count, weights, strata, codes)

    def mean_and_se(self, values: Floats) -> tuple[float, float]:
        """Return the mean and its standard error, which is NaN if nothing varies.

        Strata are independent samples. A stratum of a single record has no variance.
        """
        mean = float((self.count * self.weights) @ values) + 0.0
        parts, variance = np.empty_like(values), 0.0
        still = True
        for members in self.strata:
            own, count = values[members], self.count[members]
            n = int(count.sum())
            if n < 2:
                return mean, np.nan
            still = still and bool(np.ptp(own) == 0)
            parts[members] = self.weights[members] * (own - (count @ own) / n)
            variance += n / (n - 1) * float(count @ parts[members] ** 2)
        if still:
            return mean, np.nan
        if self.codes is None:
            return mean, float(np.sqrt(variance))
        se = float(np.sqrt(sum_of_squares(parts[:, None], self.codes)[0, 0]))
        return mean, se if se > _NOTHING * np.abs(values).max() else np.nan
