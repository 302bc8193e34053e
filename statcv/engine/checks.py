"""Training sets on which nothing can be learnt are refused before anything is."""

from __future__ import annotations

import numpy as np

from statcv.engine.messages import where
from statcv.errors import OutcomeError
from statcv.folds import FoldPlan
from statcv.formula import Design


def check_training_sets(design: Design, plan: FoldPlan) -> None:
    """Refuse a training set that lacks a class, or whose outcome is constant.

    Raises
    ------
    OutcomeError
        The message names the fold.
    """
    outcome = design.outcome
    if outcome.kind == "continuous":
        _check_not_constant(design, plan)
        return
    training, _ = plan.counts(outcome.y, len(outcome.levels))
    bad = np.argwhere(training == 0)
    if len(bad):
        fit, level = bad[0]
        raise OutcomeError(
            f"the training set of {where(plan, int(fit))} has no record of class "
            f"{outcome.levels[level]!r} ({len(np.unique(bad[:, 0]))} of "
            f"{plan.n_fits} training sets lack a class); use fewer folds, or a "
            "scheme that spreads the classes."
        )


def _check_not_constant(design: Design, plan: FoldPlan) -> None:
    """Only a value that nearly all rows share can fill a training set."""
    values, counts = np.unique(design.y, return_counts=True)
    common = values[counts.argmax()]
    odd = np.flatnonzero(design.y != common)
    out = plan.n - plan.n_train + plan.copied.sizes
    for fit in np.flatnonzero(out >= len(odd)).tolist():
        if (design.y[plan.train(fit)] == common).all():
            raise OutcomeError(
                f"the outcome is constant ({common:g}) in the training set of "
                f"{where(plan, fit)}; use more folds, or another model."
            )
