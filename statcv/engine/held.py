"""What all fits predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.engine.part import (
    Curves,
    Floats,
    Part,
    chosen_table,
    joined_coefficients,
    listed,
)
from statcv.folds import FoldPlan
from statcv.formula import Design


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
    names : tuple of str
        What coefficients are called.
    learnt : numpy.ndarray, shape (n_fits, names), or None
        The coefficients.
    absent : dict
        (factor, level) → the fits whose training set lacks it.
    chosen : pandas.DataFrame or None
        Hyperparameters chosen inside each training set: a row a fit.
    curves : list of dict, or None
        For each fit a metric's values after every round, shape (rounds, 2): at
        training and at held-out records.
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
    names: tuple[str, ...]
    learnt: Floats | None
    absent: Mapping[tuple[str, Any], list[int]]
    chosen: pd.DataFrame | None = None
    curves: list[Curves] | None = None

    @classmethod
    def joined(cls, parts: Sequence[Part], design: Design, plan: FoldPlan) -> Held:
        """Put the parts, in order, beside the records of the plan."""
        tests, partner = plan.tests_by_fit, np.flatnonzero(plan.apart)
        names, learnt = joined_coefficients(parts)
        chosen = listed(part.chosen for part in parts)
        return cls(
            fit=tests.owners,
            row=tests.values.astype(np.intp),
            predicted=_joined([part.predicted for part in parts]),
            partner_fit=plan.dropped.owners[partner],
            partner_row=plan.dropped.values[partner].astype(np.intp),
            partner_predicted=_joined([part.partner_predicted for part in parts]),
            converged=_joined([part.converged for part in parts]),
            separated=_joined([part.separated for part in parts]),
            seconds=_joined([part.seconds for part in parts]),
            probabilities=all(part.probabilities for part in parts),
            names=names,
            learnt=learnt,
            absent=absent_levels(design, plan),
            chosen=None if chosen is None else chosen_table(chosen),
            curves=listed(part.curves for part in parts),
        )

    @cached_property
    def coefficients(self) -> pd.DataFrame | None:
        """A row a fit, a column a term; None where the model has none."""
        if self.learnt is None:
            return None
        return pd.DataFrame(self.learnt, columns=list(self.names))

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


def _joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def absent_levels(design: Design, plan: FoldPlan) -> dict[tuple[str, Any], list[int]]:
    """Return which levels of factors are absent from which training sets."""
    absent: dict[tuple[str, Any], list[int]] = {}
    for factor, (codes, labels) in design.terms.levels.items():
        training, _ = plan.counts(codes + 1, len(labels) + 1)  # -1: missing
        for fit, level in np.argwhere(training[:, 1:] == 0).tolist():
            absent.setdefault((factor, labels[level]), []).append(fit)
    return absent
