"""Choices between ways to make the fits of a few large folds."""

from __future__ import annotations

from statcv.models.batched.blocks import few
from statcv.models.batched.folds import Folds
from statcv.models.batched.passes.sums import Passes

MAX_FITS = 40  # fits up to which passes are quicker if records are not small
# values of all records above which passes may be quicker for any number of fits
MIN_CELLS_OF_MANY = 2**18
# values that a fit leaves out above which its optimum is far from that of all records
MAX_CELLS_CHANGED = 3500
MIN_RECORDS_NEAR = 3  # records for each coefficient of folds that are near each other
MAX_CELLS_SMALL = 2**15  # values of all records up to which other ways are as quick


def are_few_and_large(folds: Folds, shape: tuple[int, ...], classes: int = 0) -> bool:
    """Return whether passes are quicker, as each fold changes many records.

    That is said of folds with the same outcome only. Fits of a continuous outcome, of
    no classes, are not far from each other, as their Hessians are the same everywhere.
    """
    n, p = shape
    least = int(folds.changed[0].sizes.min(initial=n))
    if folds.outcome is not None or not p or few(least, 1):
        return False
    size = n * p * (classes**2 if classes > 2 else 1)
    if len(folds) > MAX_FITS:
        far = least * p * (classes - 1) > MAX_CELLS_CHANGED
        return far or (size > MIN_CELLS_OF_MANY and not few(least, p))
    return size > MAX_CELLS_SMALL


def are_far(passes: Passes, folds: Folds) -> bool:
    """Return whether the optimum of all records is of no use to the folds.

    Chance alone separates two classes of fewer than two records for each coefficient
    (Cover 1965), so that little else than the ridge bounds the coefficients. With a few
    more they still depend much on single records, and the way from 0 is as short.
    """
    left = len(passes.X) - int(folds.changed[0].sizes.max(initial=0))
    return not passes.family.quadratic and left < MIN_RECORDS_NEAR * passes.size
