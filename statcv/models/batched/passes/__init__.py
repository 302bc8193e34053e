"""The fits of a few large folds, by passes over records that stay where they are.

A pass reads some rows at a time, which stay in the cache of the processor, and sums the
gradients of all fits from them. The fit to all records comes first, roughly; the mean
Hessian of the folds near its optimum, with quasi-Newton updates, leads all of them to
their own in few passes. The first of these read a copy of the records in single
precision. Folds of few records for each coefficient have little in common, and are
fitted from 0.
"""

from statcv.models.batched.passes.few_fits import (
    are_few_and_large,
    fit_by_passes,
    fit_few,
)
from statcv.models.batched.passes.sums import Passes

__all__ = ["Passes", "are_few_and_large", "fit_by_passes", "fit_few"]
