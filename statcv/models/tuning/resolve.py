"""The tuned model for an argument ``tune=``, a model and a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from statcv.arguments import is_whole
from statcv.errors import ArgumentError, ArgumentTypeError, FoldWarning, warn
from statcv.folds import SCHEMES, FoldPlan
from statcv.formula import Outcome
from statcv.models import Model
from statcv.models.tuning.inner import InnerScheme
from statcv.models.tuning.search import Searched, is_search, read_search
from statcv.models.tuning.tuned import Tuned
from statcv.models.tuning.tuning import Tuning


def model_to_tune(tune: Any, model: Any) -> Any:
    """Return the model to tune: the search itself if ``tune`` is one.

    Raises
    ------
    ArgumentTypeError
        If ``tune`` has the wrong type, or holds a model besides ``model``.
    """
    if tune is None or isinstance(tune, (Mapping, Tuning)):
        return model
    if isinstance(tune, type):
        raise ArgumentTypeError(
            f"tune={tune.__name__} is a class; make an object of it."
        )
    if not is_search(tune):
        raise ArgumentTypeError(
            "tune must be a grid, such as {'C': [0.1, 1, 10]}, a Tuning, or a search "
            f"object of scikit-learn, not {type(tune).__name__}."
        )
    if model is not None:
        raise ArgumentTypeError(
            f"tune={type(tune).__name__}(…) already holds its model; leave model out."
        )
    return tune


def tuned_model(
    tune: Any, learner: Model, outcome: Outcome, plan: FoldPlan
) -> Tuned | Searched:
    """Return the model that is tuned in every training set of a plan.

    Parameters
    ----------
    tune : mapping, Tuning or scikit-learn search
    learner : Model
        The result of :func:`model_to_tune`, resolved.
    outcome : Outcome
    plan : FoldPlan

    Warns
    -----
    FoldWarning
        If a training set has too few records of a class for the inner folds.
    """
    kind = outcome.kind
    made: Tuned | Searched
    if is_search(tune):
        k = tune.get_params(deep=False)["cv"]
        folds = None if k is None else int(k) if is_whole(k) else None
        if folds is not None and folds < 2:
            raise ArgumentError(
                f"{type(tune).__name__}(cv={folds}) is out of range: 2 or more."
            )
        weighted = plan.rebalance == "weight"  # splits do not show it
        name = None if not weighted else "stratified_kfold"
        if weighted and kind == "continuous":
            name = "kfold"
        inner = InnerScheme.of(name, folds, 1, None, kind=kind, outer=plan)
        made = read_search(tune, kind, inner)
    else:
        tuning = tune if isinstance(tune, Tuning) else Tuning(tune)
        made = tuning.tuned(learner, outcome, plan)
    if made.inner is not None:
        _warn_of_few(made.inner, outcome, plan)
    return made


def _warn_of_few(inner: InnerScheme, outcome: Outcome, plan: FoldPlan) -> None:
    """Warn once if training sets have fewer inner folds than asked for."""
    if inner.k is None:
        return
    if not SCHEMES[inner.name].spreads:
        fewest = int(plan.n_train.min())
        if fewest < inner.k:
            raise ArgumentError(
                f"k={inner.k} inner folds are too many for a training set of {fewest} "
                "records."
            )
        return
    training, _ = plan.counts(outcome.y, len(outcome.levels))
    fewest = training.min(axis=0)
    if plan.strata is not None:  # strata are then allocated to inner folds
        for code in range(len(fewest)):
            units = len(np.unique(plan.strata.codes[outcome.y == code]))
            fewest[code] = min(fewest[code], units)
    rarest = int(fewest.argmin())
    if fewest[rarest] < inner.k:
        warn(
            f"class {outcome.levels[rarest]!r} has as few as {fewest[rarest]} records "
            f"{'that may part ' if plan.strata is not None else ''}in a training set: "
            f"hyperparameters are chosen there in {max(int(fewest[rarest]), 2)} folds, "
            f"not {inner.k}.",
            FoldWarning,
        )
