"""All fits of a plan as one problem, for models that know how."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.engine.held import Floats, Held
from statcv.folds import FoldPlan
from statcv.formula import Design
from statcv.models import Model, TrainingSet
from statcv.models.all_folds import FittedFolds, fit_all_folds
from statcv.models.folds import Folds

ROWS = 2**16  # predicted at once


def fit_together(
    design: Design, plan: FoldPlan, model: Model, records: TrainingSet
) -> Held | None:
    """Return what all fits predict; None where they must be made one by one.

    That is where the caller's weights are scaled in each training set, or where the
    model does not know how to fit folds together. No term may learn from the data.
    Predictions are those of independent fits, to rounding.
    """
    scaled = records.weights is not None and plan.rebalance is not None
    if scaled:
        return None
    started = time.perf_counter()
    folds = Folds.of(plan)
    fitted = fit_all_folds(model, records, folds)
    if fitted is None:
        return None
    held = plan.tests_by_fit
    partner = np.flatnonzero(plan.apart)
    fit, row = held.owners, held.values.astype(np.intp)
    partner_fit = plan.dropped.owners[partner]
    partner_row = plan.dropped.values[partner].astype(np.intp)
    predicted = _predict(fitted, row, fit)
    partner_predicted = _predict(fitted, partner_row, partner_fit)
    seconds = (time.perf_counter() - started) / plan.n_fits
    return Held(
        fit=fit,
        row=row,
        predicted=predicted,
        partner_fit=partner_fit,
        partner_row=partner_row,
        partner_predicted=partner_predicted,
        converged=fitted.converged,
        separated=fitted.separated,
        seconds=np.full(plan.n_fits, seconds),
        probabilities=True,
        coefficients=_coefficients(fitted),
        absent=_absent(design, plan),
    )


def _predict(
    fitted: FittedFolds, rows: NDArray[np.intp], fits: NDArray[np.intp]
) -> Floats:
    parts = [
        fitted.predict(rows[i : i + ROWS], fits[i : i + ROWS])
        for i in range(0, max(len(rows), 1), ROWS)
    ]
    return np.concatenate(parts)


def _coefficients(fitted: FittedFolds) -> pd.DataFrame | None:
    if fitted.coefficients is None:
        return None
    return pd.DataFrame(fitted.coefficients, columns=list(fitted.names))


def _absent(design: Design, plan: FoldPlan) -> dict[tuple[str, Any], list[int]]:
    """Return which levels of factors are absent from which training sets."""
    absent: dict[tuple[str, Any], list[int]] = {}
    for factor, (codes, labels) in design.terms.levels.items():
        training, _ = plan.counts(codes + 1, len(labels) + 1)  # -1: missing
        for fit, level in np.argwhere(training[:, 1:] == 0).tolist():
            absent.setdefault((factor, labels[level]), []).append(fit)
    return absent
