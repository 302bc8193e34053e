"""The outcome without its design: class codes, or values of a continuous outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from statcv.formula import Outcome, status_by
from statcv.numeric.arrays import Array, Bools, Numbers
from statcv.tables import Printed

Levels = Sequence[object]  # names of classes


@dataclass(frozen=True, eq=False, repr=False)
class Response(Printed):
    """An outcome without its design.

    Attributes
    ----------
    values : numpy.ndarray, shape (n,)
        Class codes from 0, or the values of a continuous outcome.
    kind : {"binary", "multiclass", "continuous"}
    levels : tuple
        Names of the classes; empty for a continuous outcome.
    name : str
    of_times : bool
        Whether the classes are statuses of times to an event.

    Examples
    --------
    >>> Response.of([0, 1, 1], "binary").counts
    array([1, 2])
    """

    values: Array
    kind: str
    levels: tuple[object, ...]
    name: str = "the outcome"
    of_times: bool = False

    @classmethod
    def of(
        cls, values: Any, kind: str, levels: Levels = (), name: str = "the outcome"
    ) -> Response:
        """Make one, with numbers as names where classes have none."""
        if kind == "continuous":
            return cls(np.asarray(values).astype(float), kind, (), name)
        codes = np.asarray(values).astype(np.intp)
        numbers = range(int(codes.max(initial=-1)) + 1)
        return cls(codes, kind, tuple(levels) or tuple(numbers), name)

    @classmethod
    def of_classes(
        cls, codes: Array, levels: Levels, name: str = "the outcome"
    ) -> Response:
        """Make one of two classes or several."""
        kind = "binary" if len(levels) == 2 else "multiclass"
        return cls.of(codes, kind, levels, name)

    @classmethod
    def of_outcome(cls, outcome: Outcome) -> Response:
        """Return the classes or the values of an outcome.

        Times to an event have the classes that are known at their horizons, or events
        and censored records; they are numbers if every record has an event. A single
        record that is censored by a horizon counts with those at risk after all.
        """
        if outcome.kind != "survival":
            return cls.of(outcome.y, outcome.kind, outcome.levels, outcome.name)
        codes, levels = status_by(outcome.y, outcome.horizons)
        if outcome.horizons:  # a single record cannot be in all training sets
            few = (np.bincount(codes) < 2) & ["censored" in level for level in levels]
            known, codes = np.unique(
                np.where(few[codes], 0, codes), return_inverse=True
            )
            levels = [levels[code] for code in known]
        if len(levels) == 1:
            return cls.of(outcome.y, "continuous", (), outcome.name)
        return replace(cls.of_classes(codes, levels, outcome.name), of_times=True)

    @property
    def noun(self) -> str:
        """What a class is called."""
        return "status" if self.of_times else "class"

    @property
    def evaluated(self) -> Bools:
        """Whether rank metrics of a fold need the class; those censored they do not."""
        names = map(str, self.levels if self.of_times else [""] * self.classes)
        return np.array([not name.startswith("censored") for name in names])

    @property
    def by_class(self) -> bool:
        """Whether the outcome has classes."""
        return self.kind != "continuous"

    @property
    def codes(self) -> Numbers:
        """Class codes; one class for a continuous outcome."""
        if self.by_class:
            return self.values
        return np.zeros(len(self.values), dtype=np.intp)

    @property
    def classes(self) -> int:
        """The number of classes; one for a continuous outcome."""
        return max(len(self.levels), 1)

    @property
    def counts(self) -> Numbers:
        """Records of each class."""
        return np.bincount(self.codes, minlength=self.classes)
