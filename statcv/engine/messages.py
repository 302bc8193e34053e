"""What is said of fits: where they are in the plan, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from statcv.errors import (
    ConvergenceWarning,
    SeparationWarning,
    UndefinedMetricWarning,
    UnseenLevelWarning,
    plural,
    warn,
)
from statcv.folds import FoldPlan
from statcv.models import Model

if TYPE_CHECKING:
    from statcv.engine.held import Held


def where(plan: FoldPlan, fit: int) -> str:
    """Return how messages call a fit: its draw, fold and repeat."""
    split = int(plan.split_of[fit])
    repeat, fold = plan.name(split)
    named = f"fold {fold} of repeat {repeat}" if plan.repeats > 1 else f"fold {fold}"
    if len(plan.labels[repeat - 1]) == 1:
        named = f"repeat {repeat}"
    several = plan.first_fit[split + 1] - plan.first_fit[split] > 1
    return f"draw {fit - plan.first_fit[split] + 1} of {named}" if several else named


def warn_of_fits(held: Held, plan: FoldPlan, model: Model) -> None:
    """Warn of fits that did not converge, are separated, or lack a level."""
    plain = plan.n_fits == plan.n_splits and plan.n_splits > plan.repeats
    fits_of = f"of {plan.n_fits} {'folds' if plain else 'fits'}"
    failed = np.flatnonzero(~held.converged)
    if len(failed):
        warn(
            f"{model.label} did not converge in {len(failed)} {fits_of} "
            f"({_listed(plan, failed)}).",
            ConvergenceWarning,
        )
    apart = np.flatnonzero(held.separated)
    if len(apart):
        warn(
            f"fitted probabilities of 0 or 1 in {len(apart)} {fits_of} "
            f"({_listed(plan, apart)}): the classes are separated there and "
            f"coefficients have no finite value; consider {_remedy(plan)}.",
            SeparationWarning,
        )
    unpredicted = np.isnan(held.predicted.reshape(len(held.row), -1)).any(axis=1)
    if unpredicted.any():
        silent = np.unique(held.fit[unpredicted])
        warn(
            f"{model.label} predicts NaN for {int(unpredicted.sum())} of "
            f"{plural(len(held.row), 'held-out record')}, in {len(silent)} {fits_of} "
            f"({_listed(plan, silent)}): metrics that need them are NaN.",
            UndefinedMetricWarning,
        )
    for metric, unknown in _unknown_curves(held).items():
        warn(
            f"the learning curve of {metric} is not a number on the held-out records "
            f"of {unknown} {fits_of}: they do not admit that metric.",
            UndefinedMetricWarning,
        )
    for (factor, level), fits in held.absent.items():
        sets = plural(len(fits), "training set")
        warn(
            f"level {level!r} of {factor} is absent from {sets} "
            f"({_listed(plan, fits)}): nothing was learnt of it there.",
            UnseenLevelWarning,
        )


def _unknown_curves(held: Held) -> dict[str, int]:
    """Return, by metric, in how many fits the held-out curve has no value."""
    unknown: dict[str, int] = {}
    for curves in held.curves or []:
        for metric, values in curves.items():
            if np.isnan(values[:, 1]).all():
                unknown[metric] = unknown.get(metric, 0) + 1
    return unknown


def _remedy(plan: FoldPlan) -> str:
    """Name what stays finite where classes are separated."""
    binary = plan.response is not None and plan.response.kind == "binary"
    firth = "Firth's penalty, Logit(firth=True), or " if binary else ""
    return f"{firth}a ridge, Logit(C=1.0)"


def _listed(plan: FoldPlan, fits: Iterable[int]) -> str:
    chosen = [int(fit) for fit in fits]
    shown = ", ".join(where(plan, fit) for fit in chosen[:3])
    return shown + (", …" if len(chosen) > 3 else "")
