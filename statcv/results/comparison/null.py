"""The model without predictors under the same folds, as one more result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from statcv.engine import run
from statcv.errors import ComparisonError
from statcv.models import resolve_model
from statcv.results.refittable import Refittable

if TYPE_CHECKING:
    pass


def null_result(result: Refittable) -> Refittable:
    """Return the result of the model without predictors.

    It uses the same plan and the same weights. It predicts the training mean, or the
    most frequent class if the prediction is a class.

    Raises
    ------
    ComparisonError
        If the predictions come from a model that was fitted to other records.
    """
    if not (result.plan.n_train > 0).all():
        raise ComparisonError(
            "reference='null' needs the training mean of every fold, but these "
            "predictions come from a model that was fitted to other records; "
            "result.test() tests against no skill."
        )
    mean = resolve_model("mean", result.design.outcome.kind)
    held = run(
        result.design, result.plan, mean, seed=result.seed, weights=result.weights
    )
    call = result.call.with_mean_model()
    changed: dict[str, Any] = {"threshold": None, "warnings": ()}
    made: Any = result
    return cast(
        "Refittable", replace(made, learner=mean, held=held, call=call, **changed)
    )
