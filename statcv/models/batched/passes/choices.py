"""Choices between ways to make the fits of a few large folds."""

from __future__ import annotations

import numpy as np

from statcv.models.batched.blocks import few
from statcv.models.batched.folds import Folds
from statcv.models.batched.passes.problem import FewFits
from statcv.models.batched.passes.sums import Passes

MAX_FITS = 40  # fits up to which passes are quicker if records are not small
# values of all records above which passes may be quicker for any number of fits
MIN_CELLS_OF_MANY = 2**18
# values that a fit leaves out above which its optimum is far from that of all records
MAX_CELLS_CHANGED = 3500
MAX_CELLS_SMALL = 2**15  # values of all records up to which other ways are as quick
# operations of Hessians that take as long as one of a pass, whose matrices are narrow
DENSE = 4
RESIDUAL = 45  # operations of a pass that take as long as the residual of a record
# records for each coefficient below which folds may have little in common
ALONE = 3.2
# the share of the information from which a ridge gives folds enough in common
STRONG = 0.05
SAMPLE_ROWS = 250  # records from which the information is estimated
# additional steps without what ties classes, about, with PLENTY of records
STEPS_IF_PLENTY = 15
# additional steps without what ties classes, about, with fewer records than PLENTY
STEPS_IF_FEWER = 45
PLENTY = 1.5  # records for each coefficient that are plenty


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
    (Cover 1965), so that little else than the ridge bounds the coefficients. With a
    few more they depend much on single records, unless the ridge is strong; the way
    from 0 is shorter then if gradients may be of single precision.
    """
    left = len(passes.X) - int(folds.changed[0].sizes.max(initial=0))
    if passes.family.quadratic or left >= ALONE * passes.size:
        return False
    # Cover (1965): chance separates fewer than two records a coefficient
    if left < 2 * passes.size:
        return True
    if passes.rounded is passes:
        return False
    rows = passes.X[:: max(1, len(passes.X) // SAMPLE_ROWS)]
    # that of a record is at most a quarter of its squares
    information = np.einsum("ij,ij->j", rows, rows) / 4 * (len(passes.X) / len(rows))
    return float(np.mean(passes.ridge < STRONG * information)) > 0.5


def are_apart(problem: FewFits) -> bool:
    """Return whether it saves time to leave out of Hessians what ties classes."""
    enough = PLENTY * problem.passes.size * len(problem)
    more = (
        STEPS_IF_PLENTY if np.count_nonzero(problem.often) >= enough else STEPS_IF_FEWER
    )
    return cost_of_hessians(problem) - cost_of_hessians(problem, apart=True) > more


def cost_of_hessians(problem: FewFits, apart: bool = False) -> float:
    """Return how many passes take about as long as a Hessian for each fit.

    Operations are counted. Products of the columns for two different classes take twice
    as many as those of one; without the former each class has a matrix of its own.
    """
    (n, p), fits = problem.passes.X.shape, len(problem)
    width, free = problem.passes.family.basis.shape
    products, matrices, q = (width, width, p) if apart else (free**2, 1, free * p)
    trained = float(np.count_nonzero(problem.often))
    # multiplications of the Gram matrices, and of their Cholesky factors
    hessians = trained * products * p**2 + fits * matrices * q**3 / 2
    return float(hessians / DENSE / (n * fits * width * (4 * p + RESIDUAL)))
