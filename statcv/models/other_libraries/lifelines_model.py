"""Regressions of times to an event by lifelines."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from statcv.models.base import Capabilities, PlainFit, TrainingSet, refuse_kind
from statcv.numeric.survival import events_of, times_of

TIME, STATUS, WEIGHT = "(time)", "(status)", "(weight)"  # no names of columns


@dataclass(frozen=True, eq=False)
class Lifelines:
    """A regression of lifelines, a copy of which is fitted in every fold.

    Attributes
    ----------
    fitter : object
        Such as ``lifelines.CoxPHFitter(penalizer=0.1)`` or ``WeibullAFTFitter()``.
    """

    fitter: Any
    capabilities = Capabilities()

    @property
    def label(self) -> str:
        """How print and summary call it."""
        return f"{type(self.fitter).__name__} of lifelines"

    def check(self, kind: str) -> None:
        """Raise ModelError for an outcome that is not a time to an event."""
        refuse_kind(self.label, kind, ("survival",))

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit a copy to the training set."""
        frame, fitter = _frame(training), copy.deepcopy(self.fitter)
        frame[TIME], frame[STATUS] = times_of(training.y), events_of(training.y)
        given = {"duration_col": TIME, "event_col": STATUS}
        if training.weights is not None:
            frame[WEIGHT], given["weights_col"] = training.weights, WEIGHT
        fitter.fit(frame, **given)
        return PlainFit(partial(_predicted, fitter, training))


def is_regression(fitter: Any) -> bool:
    """Return whether an object is one of lifelines that has covariates."""
    of = "lifelines.fitters", "RegressionFitter"
    return any((kind.__module__, kind.__name__) == of for kind in type(fitter).__mro__)


def _frame(records: TrainingSet) -> pd.DataFrame:
    """Return the columns under names in which no formula reads anything."""
    return pd.DataFrame(records.without_intercept).rename(columns="x{}".format)


def _predicted(fitter: Any, records: TrainingSet, X: Any) -> Any:
    """Return log hazards, or minus the logarithms of median times, and risks."""
    frame = _frame(replace(records, X=X))
    if hasattr(fitter, "predict_log_partial_hazard"):
        # relative to covariates of 0, as each fit has a mean of its own
        every = pd.concat([frame, 0 * frame.iloc[:1]], ignore_index=True)
        eta = np.asarray(fitter.predict_log_partial_hazard(every), dtype=float)
        columns = [eta[:-1] - eta[-1]]
    else:
        median = np.asarray(fitter.predict_median(frame), dtype=float)
        columns = [-np.log(np.where(np.isfinite(median), median, np.nan))]
    if records.horizons:
        survival = fitter.predict_survival_function(frame, times=records.horizons)
        columns.extend(1 - np.asarray(survival, dtype=float))
    return np.column_stack(columns)
