"""The stability of a result, whose models are fitted once and kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from statcv.arguments import MAX_RESAMPLES, check_level, check_whole, is_number
from statcv.errors import ArgumentError, MetricError, ModelError, OutcomeError
from statcv.inference.estimates.groups import groups_of
from statcv.inference.refits.other_samples import (
    bootstrap_predictions,
    fold_predictions,
)
from statcv.metrics import METRICS
from statcv.results.cost import warn_of_fits
from statcv.results.refits import Running
from statcv.results.refittable import Refittable
from statcv.results.stability import Stability

N_BOOT, LEAST_BOOT = 200, 20  # usual and least number of bootstrap models


def stability(
    result: Refittable,
    n_boot: int | None,
    from_folds: bool,
    threshold: float | None,
    level: float,
    by: Any,
    running: Running,
) -> Stability:
    """Return the stability of the predictions of a result.

    The arguments are those of :meth:`~statcv.results.result.CVResult.stability`.
    """
    outcome, refits = result.design.outcome, result.refits
    check_level(level)
    if not refits.possible:
        raise ModelError(
            "stability() fits the model to other samples, and these predictions come "
            "from other software."
        )
    if outcome.kind == "multiclass":
        raise OutcomeError(
            f"stability() needs an outcome of two classes or a number, and "
            f"{outcome.name!r} has {len(outcome.levels)} classes; compare one class "
            "with the others."
        )
    if threshold is None:
        threshold = result.threshold
    elif outcome.kind != "binary":
        raise OutcomeError(
            f"threshold= is a risk, and {outcome.name!r} is {outcome.kind}; omit it."
        )
    elif not (is_number(threshold) and 0 < threshold < 1):
        raise ArgumentError(
            f"threshold must be a risk between 0 and 1, not {threshold!r}."
        )
    else:
        threshold = float(threshold)
    if by is not None:
        groups_of(result, by)  # refuses what is not a grouping, before fits are made
    if not refits.all_rows.probabilities:
        raise MetricError(
            f"stability() needs probabilities, and {result.learner.label} predicts "
            "scores; calibrate it, for example with CalibratedClassifierCV."
        )
    if from_folds and n_boot is not None:
        raise ArgumentError(
            f"n_boot={n_boot} means nothing with from_folds=True, which takes the fits "
            "of the folds."
        )
    if not from_folds:
        n_boot = N_BOOT if n_boot is None else n_boot
        check_whole(n_boot, "n_boot", least=LEAST_BOOT, most=MAX_RESAMPLES)
    key, kept = (n_boot, n_boot and running.seed), refits.stabilities
    if key not in kept:
        # the same models without thresholds of their own, which are not needed
        setup, processes = refits.setup_for(METRICS["brier"]), running.processes
        if n_boot is None:
            instead = f"n_boot={N_BOOT} needs {N_BOOT}"
            warn_of_fits(result, "from_folds=True", result.plan.n_fits, instead)
            predicted, failed = fold_predictions(setup, **processes)
        else:
            instead = f"from_folds=True needs {result.plan.n_fits}"
            warn_of_fits(result, f"n_boot={n_boot}", n_boot, instead)
            seed = running.seed
            predicted, failed = bootstrap_predictions(setup, n_boot, seed, **processes)
        kept[key] = Stability(result, predicted, n_boot, running, failed)
    kept[key] = replace(kept[key], threshold=threshold, level=float(level), by=by)
    return kept[key]
