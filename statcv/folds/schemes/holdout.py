"""How records are held out: folds, groups, random shares, bootstrap samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.errors import SchemeError
from statcv.folds.ragged import Ragged
from statcv.folds.schemes.allocation import allocate
from statcv.numeric.arrays import Numbers
from statcv.tables import Printed

MOST_DRAWS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Records(Printed):
    """What a scheme may use of the records.

    Attributes
    ----------
    codes : numpy.ndarray of int, shape (n,)
        Class codes; zeros for a continuous outcome.
    classes : int
    unit : numpy.ndarray of int, shape (n,), or None
        Units, whose records are held out together. None: each record is a unit.
    allocation : numpy.ndarray of int, shape (units,), or None
        The fold of each unit, if it does not depend on the records.
    numbers : bool
        Whether codes are those of distinct numbers, where pairs of them are held out.
    """

    codes: Numbers
    classes: int
    unit: Numbers | None = None
    allocation: Numbers | None = None
    numbers: bool = False

    @property
    def n(self) -> int:
        """The number of records."""
        return len(self.codes)

    @property
    def units(self) -> int:
        """The number of units."""
        return self.n if self.unit is None else int(self.unit.max()) + 1

    @property
    def by_unit(self) -> Ragged:
        """The records of each unit."""
        if self.unit is None:
            return Ragged.split(np.arange(self.n), np.ones(self.n, dtype=np.int64))
        return Ragged.grouped(self.unit, self.units)

    def table(self) -> NDArray[np.int64]:
        """Count the classes in each unit: shape (units, classes)."""
        return self.by_unit.counts(self.codes, self.classes)


@dataclass(frozen=True, eq=False)
class Holding:
    """One repeat: the records held out in each split, and others not trained on.

    ``unit_fold`` is the fold of each unit if splits are folds, and ``redrawn`` how many
    samples could not be used.
    """

    tests: Ragged
    kept_out: Ragged
    copied: Ragged
    unit_fold: Numbers | None = None
    redrawn: int = 0

    @classmethod
    def of(cls, tests: Ragged, unit_fold: Numbers | None = None) -> Holding:
        """Hold out, and drop and repeat nothing."""
        return cls(tests, Ragged.empty(len(tests)), Ragged.empty(len(tests)), unit_fold)


Hold = Callable[[Records, Any, np.random.Generator], Holding]


def k_folds(
    records: Records, k: int, rng: np.random.Generator, by_class: bool = False
) -> Holding:
    """Allocate whole units to k random folds of even size."""
    if records.unit is None:
        order = rng.permutation(records.n)
        if by_class:
            order = order[np.argsort(records.codes[order], kind="stable")]
        fold = np.empty(records.n, dtype=np.intp)
        fold[order] = np.arange(records.n) % k
        return Holding.of(Ragged.grouped(rng.permutation(k)[fold], k))
    if records.allocation is not None:
        fold = records.allocation
    else:
        fold = allocate(records.table(), k, rng, by_class=by_class)
    return Holding.of(Ragged.grouped(fold[records.unit], k), fold)


def k_folds_by_class(records: Records, k: int, rng: np.random.Generator) -> Holding:
    """Allocate whole units to k folds, each class in turn and spread evenly.

    The remainder of a class is allocated from where that of the last class ended.
    """
    return k_folds(records, k, rng, by_class=True)


def each_unit(records: Records, k: Any, rng: np.random.Generator) -> Holding:
    """Hold out every unit by itself."""
    return Holding.of(records.by_unit)


def random_share(records: Records, share: float, rng: np.random.Generator) -> Holding:
    """Hold out a random share of the records, in whole units."""
    members, order = records.by_unit, rng.permutation(records.units)
    held = np.cumsum(members.sizes[order])
    nearest = int(np.abs(held - share * records.n).argmin()) + 1
    count = min(nearest, records.units - 1)
    if count == 0:
        raise SchemeError(
            "all records are equal in the stratifier: none can be held out alone."
        )
    return Holding.of(Ragged.of([np.sort(members.chosen(order[:count]).values)]))


def bootstrap_sample(records: Records, k: Any, rng: np.random.Generator) -> Holding:
    """Draw a bootstrap sample of the units, and hold out those not drawn.

    A sample that lacks a class, or leaves nothing out, is drawn again.
    """
    table, again = records.table(), 0
    while again < MOST_DRAWS:
        times = np.bincount(
            rng.integers(records.units, size=records.units), minlength=records.units
        )
        if (times == 0).any() and (times @ table > 0).all():
            break
        again += 1
    else:
        raise SchemeError(
            f"each of {MOST_DRAWS} bootstrap samples lacked a class or left no record "
            "out; there are too few records."
        )
    of_record = times if records.unit is None else times[records.unit]
    tests = Ragged.of([np.flatnonzero(of_record == 0)])
    copies = np.repeat(np.arange(records.n), np.maximum(of_record - 1, 0))
    return Holding(tests, Ragged.empty(1), Ragged.of([copies]), redrawn=again)
