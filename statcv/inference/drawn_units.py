"""What a bootstrap of held-out predictions draws as a whole, and from among which."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.inference.scores import Scores
from statcv.metrics import Metric

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
Statistic = Callable[[Floats], Floats]

MOST_DELETED = 1000  # groups of units that the jackknife leaves out


def within_folds(scores: Scores, how: str) -> bool:
    """Tell whether records are drawn inside their fold."""
    return how == "per_fold" or (how == "paired" and not scores.pairwise)


@dataclass(frozen=True, eq=False)
class Units:
    """Records, or sources of several records, and the strata they are drawn from.

    Attributes
    ----------
    unit : numpy.ndarray of int, shape (n,)
        The unit of each record; -1 for one that is never held out.
    strata : tuple of numpy.ndarray of int
        Units that are drawn from among each other.
    fold : numpy.ndarray of int, shape (strata,)
        The fold of each; 0 where folds do not matter.
    sources : bool
        Whether units are sources of several records.
    """

    unit: Numbers
    strata: tuple[Numbers, ...]
    fold: Numbers
    sources: bool

    @classmethod
    def of(cls, scores: Scores, metric: Metric, how: str) -> Units:
        """Tell what is drawn for an estimate."""
        held = np.unique(scores.row)
        first, unit = held, np.full(len(scores.y), -1)
        unit[held] = np.arange(len(held))
        if scores.clusters is not None:
            _, begin, number = np.unique(
                scores.clusters[held], return_index=True, return_inverse=True
            )
            first, unit[held] = held[begin], number
        fold = np.zeros(len(first), dtype=np.intp)
        if within_folds(scores, how):
            fold = fold_of(scores)[first]
        sort = np.zeros(len(first), dtype=np.intp)
        classes = "continuous" not in metric.outcomes or scores.y.dtype.kind in "iub"
        if scores.clusters is None and classes:
            sort = np.unique(scores.y[first], return_inverse=True)[1]
        cell = np.unique(fold * (int(sort.max()) + 1) + sort, return_inverse=True)[1]
        order = np.argsort(cell, kind="stable")
        strata = np.split(order, np.flatnonzero(np.diff(cell[order])) + 1)
        own = np.array([fold[members[0]] for members in strata])
        return cls(unit, tuple(strata), own, scores.clusters is not None)

    @property
    def count(self) -> int:
        """How many units there are."""
        return int(self.unit.max()) + 1

    def check(self) -> tuple[str, str]:
        """Say why nothing can be drawn, and what does not vary though it should."""
        single = np.array([len(members) < 2 for members in self.strata])
        if not single.any():
            return "", ""
        noun = "source" if self.sources else "record"
        if (self.fold == 0).all():
            some = "there is" if len(self.strata) == 1 else "one class has"
            return f"{some} a single {noun}", ""
        folds, few = len(np.unique(self.fold)), len(np.unique(self.fold[single]))
        of = "" if self.sources else " of a class"
        if few == folds:
            return f"every fold holds a single {noun}{of}", ""
        return "", (
            f"{few} of {folds} folds hold a single {noun}{of}, whose variation they "
            "do not show"
        )

    def drawn(self, samples: int, rng: np.random.Generator) -> Floats:
        """Return how often each record comes in each sample, shape (samples, n)."""
        times = np.empty((samples, self.count))
        for members in self.strata:
            size = len(members)
            which = rng.integers(0, size, (samples, size))
            which += size * np.arange(samples)[:, None]
            counts = np.bincount(which.ravel(), minlength=samples * size)
            times[:, members] = counts.reshape(samples, size)
        return self._of_records(times)

    def jackknife(
        self, statistic: Statistic, size: int, rng: np.random.Generator
    ) -> Iterator[Floats]:
        """Yield for each stratum how far each unit, or group of units, moves a metric.

        That is (g - 1)/g times the mean of the values without one of the g groups,
        less the value without this one. Above a thousand units they are left out by
        random groups.

        Parameters
        ----------
        statistic : callable
            Weights of shape (times, n) → values of shape (times,).
        size : int
            How many are computed at once.
        rng : numpy.random.Generator
        """
        together = -(-self.count // MOST_DELETED)
        for stratum in self.strata:
            members = rng.permutation(stratum) if together > 1 else stratum
            groups = np.arange(len(members)) // together
            g = int(groups[-1]) + 1
            if g < 2:
                continue
            values = []
            for start in range(0, g, size):
                stop = min(start + size, g)
                times = np.ones((stop - start, self.count))
                own = np.flatnonzero((groups >= start) & (groups < stop))
                times[groups[own] - start, members[own]] = 0.0
                values.append(statistic(self._of_records(times)))
            without = np.concatenate(values)
            yield (g - 1) / g * (without.mean() - without)

    def _of_records(self, times: Floats) -> Floats:
        """Return how often each record comes, where units come so often."""
        never = np.zeros((len(times), 1))
        return np.concatenate([times, never], axis=1)[:, self.unit]


def fold_of(scores: Scores) -> Numbers:
    """Return the split that holds out each record, the last where several do."""
    fold = np.zeros(len(scores.y), dtype=np.intp)
    fold[scores.row] = scores.split
    return fold
