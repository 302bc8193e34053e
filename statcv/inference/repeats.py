"""What random folds leave to chance, and how many repeats would make it small."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from statcv.errors import ArgumentError
from statcv.inference.pair_sampling import monte_carlo_sd
from statcv.inference.scores import Scores
from statcv.inference.values import values_by_repeat
from statcv.metrics import Metric


@dataclass(frozen=True)
class MonteCarlo:
    """How far an estimate moves with the seed of its folds, the records being given.

    Attributes
    ----------
    sd : float
        Standard deviation over repeats; of one repeat that held out a sample of pairs
        what they tell of it, else NaN.
    repeats : int
        Repeats that have a value.

    Examples
    --------
    >>> chance = MonteCarlo(sd=0.03, repeats=4)
    >>> chance.se, chance.needed(0.005)
    (0.015, 36)
    """

    sd: float
    repeats: int

    @property
    def se(self) -> float:
        """Standard error of the mean over the repeats; sampling error is no part."""
        return self.sd / math.sqrt(self.repeats) if self.repeats else math.nan

    def needed(self, size: float) -> int | None:
        """Return how many repeats bring the standard error to a size or below it.

        None where the sd is not known, as of one repeat.

        Parameters
        ----------
        size : float
            Above 0.

        Raises
        ------
        ArgumentError
            If the size is not above 0.
        """
        if not size > 0:
            raise ArgumentError(f"size must be above 0, not {size!r}.")
        if math.isnan(self.sd):
            return None
        ratio = (self.sd / size) ** 2
        return max(1, math.ceil(ratio * (1 - 1e-12)))


def monte_carlo(scores: Scores, metric: Metric, how: str) -> MonteCarlo:
    """Return the Monte Carlo error of an estimate, from its repeats.

    Repeats are independent draws of the folds (and of what is dropped) for the same
    records, so that their sd over the root of their number is the standard error of
    their mean. Per fold a repeat counts with the mean over its folds, which are not
    independent of each other. Of one repeat that held out a sample of pairs the sd is
    had from the pairs (`pair_sampling`).

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}

    Returns
    -------
    MonteCarlo
        With NaN where fewer than two repeats have a value and no sample of pairs tells,
        as under a scheme that has nothing random.
    """
    values = values_by_repeat(scores, metric, how)
    known = values[~np.isnan(values)]
    return MonteCarlo(monte_carlo_sd(scores, metric, how, values), len(known))
