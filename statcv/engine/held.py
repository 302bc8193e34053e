"""What all fits predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.folds import FoldPlan

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Held:
    """What all folds predicted, record by record.

    Attributes
    ----------
    fit, row : numpy.ndarray of int, shape (m,)
        The fit, and the position of the record in the design.
    predicted : numpy.ndarray, shape (m,) or (m, classes)
    partner_fit, partner_row, partner_predicted
        The same for the records dropped for balance; empty where none were.
    converged, separated : numpy.ndarray of bool, shape (n_fits,)
    seconds : numpy.ndarray, shape (n_fits,)
    probabilities : bool
        Whether predictions are probabilities or means, not decision scores.
    coefficients : pandas.DataFrame or None
        A row a fit, a column a term.
    absent : dict
        (factor, level) → the fits whose training set lacks it.
    """

    fit: NDArray[np.intp]
    row: NDArray[np.intp]
    predicted: Floats
    partner_fit: NDArray[np.intp]
    partner_row: NDArray[np.intp]
    partner_predicted: Floats
    converged: NDArray[np.bool_]
    separated: NDArray[np.bool_]
    seconds: Floats
    probabilities: bool
    coefficients: pd.DataFrame | None
    absent: dict[tuple[str, Any], list[int]]

    def averaged(self, plan: FoldPlan) -> Floats:
        """Return the mean over the fits of each split, in the order of its tests."""
        if plan.n_fits == plan.n_splits:
            return self.predicted
        first = np.searchsorted(self.fit, np.arange(plan.n_fits))
        within = np.arange(len(self.fit)) - first[self.fit]
        place = plan.tests.starts[plan.split_of[self.fit]] + within
        total = np.zeros((len(plan.tests.values), *self.predicted.shape[1:]))
        np.add.at(total, place, self.predicted)
        times = np.diff(plan.first_fit)[plan.tests.owners]
        return total / times.reshape(-1, *[1] * (total.ndim - 1))
