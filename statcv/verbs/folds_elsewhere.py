"""The folds of predictions that other software made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import DataError
from statcv.folds import FoldPlan, Ragged, Response
from statcv.formula import Design
from statcv.words import plural


def numbered(values: Any) -> tuple[NDArray[np.intp], Any]:
    """Return codes of the distinct values, sorted if they can be, and the values."""
    try:
        codes, distinct = pd.factorize(values, sort=True)
    except TypeError:  # values of several types, which have no order
        codes, distinct = pd.factorize(values)
    return codes.astype(np.intp), distinct


@dataclass(frozen=True, eq=False)
class FoldsElsewhere:
    """The fold, record and repeat of each row.

    Attributes
    ----------
    split, place, repeat : numpy.ndarray of int, shape (rows,)
        The fold of each row, numbered consecutively over all repeats, its record and
        its repeat.
    labels : list of sequence
        The names of the folds of each repeat.
    order : numpy.ndarray of int, shape (rows,)
        The rows sorted by fold, and within a fold by record.
    """

    split: NDArray[np.intp]
    place: NDArray[np.intp]
    repeat: NDArray[np.intp]
    labels: list[Sequence[Any]]
    order: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        fold: str | None,
        places: NDArray[np.intp],
        repeats: NDArray[np.intp],
    ) -> FoldsElsewhere:
        """Return the folds that a column names, or a single one."""
        split = np.zeros(len(frame), dtype=np.intp)
        labels: list[Sequence[Any]] = []
        for number in range(int(repeats.max()) + 1):
            where = repeats == number
            codes, names = np.zeros(where.sum(), dtype=np.intp), ["all"]
            if fold is not None:
                codes, found = numbered(frame[fold].to_numpy()[where])
                names = list(found)
            split[where] = sum(map(len, labels)) + codes
            labels.append(names)
        return cls(split, places, repeats, labels, np.lexsort((places, split)))

    @property
    def tests(self) -> list[NDArray[np.intp]]:
        """The records of each fold."""
        sizes = np.bincount(self.split)
        return np.split(self.place[self.order], np.cumsum(sizes)[:-1])

    def again(self, within: NDArray[np.intp]) -> int:
        """Return the number of rows whose record occurred before."""
        cells = within * (self.place.max() + 1) + self.place
        cells.sort()  # quicker than a table of all different ones
        return int(np.count_nonzero(cells[1:] == cells[:-1]))


def plan_of(folds: FoldsElsewhere, fold: str | None, design: Design) -> FoldPlan:
    """Return the plan of the folds; without a column of them, no record trains."""
    n, y, tests = len(design.y), design.y, folds.tests
    twice = folds.again(folds.repeat)
    in_pairs = not folds.again(folds.split) and all(
        len(test) == 2 and y[test[0]] != y[test[1]] for test in tests
    )
    if twice and not in_pairs:
        raise DataError(
            f"{plural(twice, 'record')} occur more than once in a repeat; identify "
            "repeats with repeat= and records with row=. (Records may occur more than "
            "once in leave-pair-out, where each fold holds out two records with "
            "different outcomes.)"
        )
    counts = {len(names) for names in folds.labels}
    said = plural(counts.pop(), "fold") if len(counts) == 1 else "folds"
    scheme, sentence = "given", f"{said} by {fold}, from other software"
    if fold is None:
        scheme, sentence = "external", "predictions by a model fitted to other records"
    elif twice:
        scheme, sentence = (
            "leave_pair_out",
            f"leave-pair-out, {said} by {fold}, from other software",
        )
    none = Ragged.empty(len(tests))
    plan = FoldPlan(
        scheme=scheme,
        sentence=sentence,
        n=n,
        tests=Ragged.of(tests),
        labels=tuple(map(tuple, folds.labels)),
        dropped=none,
        kept_out=none,
        copied=none,
        first_fit=np.arange(len(tests) + 1),
    )
    if fold is None:
        others = [np.bincount(test, minlength=n) == 0 for test in tests]
        everything = [np.flatnonzero(other) for other in others]
        return replace(plan, kept_out=Ragged.of(everything))
    if twice:
        outcome = design.outcome
        made_for = Response.of(y, outcome.kind, outcome.levels, outcome.name)
        return replace(plan, response=made_for)
    return plan
