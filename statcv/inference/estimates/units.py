"""What varies: the records, or clusters of them, of each sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Numbers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Units:
    """The units that are drawn independently, each with one or more records.

    Attributes
    ----------
    sample : numpy.ndarray of int, shape (n,)
        The class of each record, if classes are separate samples; otherwise 0.
    unit : numpy.ndarray of int, shape (n,)
        The record or cluster, within which influences are summed.
    counted : numpy.ndarray of bool, shape (n,)
        Whether a record was held out.
    """

    sample: Numbers
    unit: Numbers
    counted: Bools

    def variance(self, moved: Floats) -> float:
        """Return the variance of a sum of influences of records, or clusters.

        It is the sum of squares about the mean of each sample. With I units and I₁ of
        a sample, squares of units have the factor I/(I - 1), and squares within the
        sample the excess of I₁/(I₁ - 1) over it. For records this is I₁/(I₁ - 1), and
        for clusters it is the variance of Obuchowski (1997).

        Parameters
        ----------
        moved : numpy.ndarray, shape (n,)
        """
        # Obuchowski's variance: squares of units, and more within each sample
        centred, every = self.centred(moved), self._every
        total = every / (every - 1) * self._squares(centred)
        for code, own in zip(self._samples, self._sizes, strict=True):
            more = (every - own) / ((own - 1) * (every - 1))
            total += more * self._squares(np.where(self.sample == code, centred, 0.0))
        return float(total)

    def centred(self, moved: Floats) -> Floats:
        """Return the influences of records, minus their mean in each sample."""
        centred, known = np.zeros(len(moved)), self.counted | (moved != 0)
        for code in self._samples:
            members = known & (self.sample == code)
            centred[members] = moved[members] - moved[members].mean()
        return centred

    @property
    def smallest(self) -> int:
        """The number of units of the smallest sample."""
        return min(self._sizes)

    @property
    def are_classes(self) -> bool:
        """Whether classes are separate samples."""
        return bool(self._samples[-1])

    @property
    def df(self) -> float:
        """Degrees of freedom: of two samples as large as the smaller, or of one."""
        # with two samples, at most the df of two that are as large as the smaller
        every = self._every - 1
        if len(self._samples) < 2:
            return float(every)
        return float(min(every, 2 * (self.smallest - 1)))

    @property
    def kind(self) -> str:
        """What varies: "record" or "cluster"."""
        return "record" if self._are_records else "cluster"

    def renumbered(self, number: Numbers, unit: Numbers) -> Units:
        """Return the units with other numbers for the records.

        Parameters
        ----------
        number : numpy.ndarray of int, shape (n,)
            The new number of each record.
        unit : numpy.ndarray of int, shape (m,)
            The unit of each new number.
        """
        sample, counted = np.zeros_like(unit), np.zeros(len(unit), dtype=bool)
        sample[number], counted[number] = self.sample, self.counted
        return Units(sample, unit, counted)

    def joined(self, other: Units) -> Units:
        """Return the units of two results whose records have the same numbers."""
        sample = np.maximum(self.sample, other.sample)
        return replace(self, sample=sample, counted=self.counted | other.counted)

    @cached_property
    def _are_records(self) -> bool:
        if (self.unit[1:] > self.unit[:-1]).all():  # all differ
            return True
        counts = np.bincount(self.unit[self.counted])
        return bool(counts.max(initial=0) <= 1)

    @cached_property
    def _samples(self) -> Numbers:
        """The codes of the samples."""
        return np.flatnonzero(np.bincount(self.sample[self.counted]))

    @cached_property
    def _sizes(self) -> list[int]:
        """The number of units of each sample."""
        own = (self.counted & (self.sample == code) for code in self._samples)
        return list(map(self._number, own))

    @cached_property
    def _every(self) -> int:
        """The number of units."""
        return self._number(self.counted)

    def _number(self, members: Bools) -> int:
        """Return the number of units of some records."""
        if self._are_records:
            return int(np.count_nonzero(members))
        return int((np.bincount(self.unit, members) > 0).sum())

    def _squares(self, moved: Floats) -> float:
        """Return the sum over units of the squares of their influences."""
        return float((np.bincount(self.unit, moved) ** 2).sum())
