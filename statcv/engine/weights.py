"""Weights of training records: the caller's and the plan's together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.errors import OutcomeError
from statcv.folds import FoldPlan

Floats = NDArray[np.float64]


def training_weights(
    plan: FoldPlan, fit: int, rows: NDArray[np.intp], given: Floats | None
) -> Floats | None:
    """Return the weights of the training records of a fit.

    Where the plan gives all training sets equal class totals, and the caller weights
    records, weights are scaled class by class so that a class weighs the same in
    every training set: its records, as the plan counts them, times their mean weight.

    Parameters
    ----------
    plan : FoldPlan
    fit : int
    rows : numpy.ndarray of int
        Its training records.
    given : numpy.ndarray, shape (n,), or None
        The caller's weights of all records.

    Raises
    ------
    OutcomeError
        If the training records of a class have no weight.
    """
    planned = plan.weights(fit, rows)
    if given is None:
        return planned
    counted = np.ones(len(rows)) if planned is None else planned
    weights: Floats = given[rows] * counted
    response = plan.response
    if plan.rebalance is None or response is None or not response.by_class:
        return weights
    codes = response.codes
    for code, level in enumerate(response.levels):
        own = codes[rows] == code
        total = weights[own].sum()
        if not total > 0:
            raise OutcomeError(
                f"the training records of class {level!r} have no weight; give some "
                "of them a weight above 0, or use fewer folds."
            )
        weights[own] *= counted[own].sum() * given[codes == code].mean() / total
    return weights
