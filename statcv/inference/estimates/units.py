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
        if self._plain:
            return self._of_records(moved)
        known = self.counted | (moved != 0)
        parts = [known & (self.sample == code) for code in self._samples]
        centred = np.zeros(len(moved))
        for members in parts:
            centred[members] = moved[members] - moved[members].mean()
        every = self._every
        total = every / (every - 1) * self._squares(centred, known)
        for members, own in zip(parts, self._sizes, strict=True):
            more = (every - own) / ((own - 1) * (every - 1))
            total += more * self._squares(centred, members)
        return float(total)

    def _of_records(self, moved: Floats) -> float:
        """Return the variance if every record is a unit and was held out."""
        total = 0.0
        for own in self._by_sample(moved):
            away = own - own.mean()
            total += float(away @ away) * len(own) / (len(own) - 1)
        return total

    def centred(self, values: Floats, some: Numbers) -> Floats:
        """Return values of some records, less their mean in each sample."""
        centred, sample = values.copy(), self.sample[some]
        for code in self._samples:
            members = np.flatnonzero(sample == code)
            if len(members):
                centred[members] -= values[members].mean()
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
    def _plain(self) -> bool:
        """Whether every record is a unit by itself, and was held out."""
        return self._are_records and self._all_counted

    @cached_property
    def _are_records(self) -> bool:
        if (self.unit[1:] > self.unit[:-1]).all():  # all differ
            return True
        counts = np.bincount(self.unit[self.counted])
        return bool(counts.max(initial=0) <= 1)

    @cached_property
    def _all_counted(self) -> bool:
        return bool(self.counted.all())

    @cached_property
    def _samples(self) -> Numbers:
        """The codes of the samples."""
        if self._all_counted:
            return np.flatnonzero(np.bincount(self.sample))
        return np.flatnonzero(np.bincount(self.sample[self.counted]))

    @cached_property
    def _members(self) -> list[Bools]:
        """The records of each sample that were held out."""
        if self._all_counted:
            return [self.sample == code for code in self._samples]
        return [self.counted & (self.sample == code) for code in self._samples]

    def _by_sample(self, values: Floats) -> list[Floats]:
        """Return the values of the records of each sample."""
        if len(self._samples) == 1:
            return [values]
        return [values[places] for places in self._places]

    @cached_property
    def _places(self) -> list[Numbers]:
        """The positions of the records of each sample that were held out."""
        return list(map(np.flatnonzero, self._members))

    @cached_property
    def _sizes(self) -> list[int]:
        """The number of units of each sample."""
        return list(map(self._number, self._members))

    @cached_property
    def _every(self) -> int:
        """The number of units."""
        return self._number(self.counted)

    def _number(self, members: Bools) -> int:
        """Return the number of units of some records."""
        if self._are_records:
            return int(np.count_nonzero(members))
        return int((np.bincount(self.unit, members) > 0).sum())

    def _squares(self, moved: Floats, members: Bools) -> float:
        """Return the sum over units of the squares of their influences."""
        if self._are_records and not (members & ~self.counted).any():
            return float(moved[members] @ moved[members])
        return float((np.bincount(self.unit[members], moved[members]) ** 2).sum())
