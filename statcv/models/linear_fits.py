"""The linear predictors of one or several fits, from which inference goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from statcv.numeric.arrays import Bools, Floats, Numbers

ARRAYS = (
    *("coefficients", "penalty", "constant", "filled"),
    *("class_weights", "balanced", "baseline", "basis", "dispersion"),
)

__all__ = ["ARRAYS", "LinearFits", "joined_fits"]


@dataclass(frozen=True, eq=False)
class LinearFits:
    """The linear predictors of one or several fits.

    Attributes
    ----------
    coefficients : numpy.ndarray, shape (fits, p), or (fits, p, classes)
        Coefficients of the columns of the design matrix.
    penalty : numpy.ndarray, shape (fits, p)
        Strength of the ridge on each column; infinite for a column that is not used.
    constant : numpy.ndarray, shape (fits,), or (fits, classes), or None
        An intercept that the design does not have, if the model adds one.
    filled : numpy.ndarray, shape (fits, p), or None
        The value that stands for a missing one in each column.
    class_weights : numpy.ndarray, shape (fits, classes), or None
        The factor by which the model multiplies the weights of the records of a class.
    balanced : numpy.ndarray of bool, shape (fits,), or None
        Whether that factor is inversely proportional to the total weight of the class
        in the training set, so that it depends on the weight of each record.
    baseline : numpy.ndarray, shape (fits, strata, horizons), or None
        The logarithm of the cumulative hazard at a linear predictor of 0.
    basis : numpy.ndarray, shape (fits, p, r), or None
        What the rows of the design matrix are multiplied by before the r coefficients
        of a fit, if that changes them.
    dispersion : numpy.ndarray, shape (fits,), or None
        That of counts, if each fit estimates its own.
    rows : numpy.ndarray, shape (n, p), or None
        The rows that the coefficients multiply, if not those of the design matrix.
    smaller : callable or None
        Function that returns the same fits by fewer columns, where columns are more
        than records: that takes time, and only inference needs it.
    """

    coefficients: Floats
    penalty: Floats
    constant: Floats | None = None
    filled: Floats | None = None
    class_weights: Floats | None = None
    balanced: Bools | None = None
    baseline: Floats | None = None
    basis: Floats | None = None
    dispersion: Floats | None = None
    rows: Floats | None = None
    smaller: Callable[[], LinearFits] | None = None

    @classmethod
    def of_one(cls, coefficients: Floats, penalty: Floats) -> LinearFits:
        """Return a single fit, from arrays of shapes (p,) or (p, classes), and (p,)."""
        return cls(coefficients[None], penalty[None])

    def __len__(self) -> int:
        return len(self.coefficients)

    def __reduce__(self) -> tuple[Any, ...]:
        fits = self.smallest
        kept = tuple(getattr(fits, name) for name in ARRAYS)
        return LinearFits, (*kept, fits.rows)

    @property
    def smallest(self) -> LinearFits:
        """The same fits by as few columns as there can be."""
        return self if self.smaller is None else self.smaller()

    def chosen(self, fits: Numbers) -> LinearFits:
        """Return some of the fits."""
        given, kept = self.smallest, dict[str, Any]()
        for name in ARRAYS:
            every = getattr(given, name)
            kept[name] = None if every is None else every[fits]
        return LinearFits(**kept, rows=given.rows)


# what changes nothing in a fit: no fill of missing values, class weights of 1
NEUTRAL = {"filled": np.nan, "class_weights": 1.0, "balanced": False}


def joined_fits(parts: Sequence[LinearFits | None]) -> LinearFits | None:
    """Concatenate the fits of several parts; None unless all have the same form.

    Parts may differ in what hyperparameters change: in filling in missing values, and
    in weighting classes.
    """
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    if len(known) == 1:
        return known[0]
    known = [part.smallest for part in known]
    rows = known[0].rows
    if any((part.rows is None) != (rows is None) for part in known):
        return None
    joined: dict[str, Any] = {}
    for name in ARRAYS:
        values = [getattr(part, name) for part in known]
        given = [value for value in values if value is not None]
        if not given:
            joined[name] = None
            continue
        if len(given) < len(values):
            if name not in NEUTRAL:
                return None
            values = [
                np.full((len(part), *given[0].shape[1:]), NEUTRAL[name])
                if value is None
                else value
                for part, value in zip(known, values, strict=True)
            ]
        if len({value.shape[1:] for value in values}) > 1:
            return None
        joined[name] = np.concatenate(values)
    return LinearFits(**joined, rows=rows)
