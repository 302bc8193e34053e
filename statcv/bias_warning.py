"""A warning where held-out labels can be told from the training mean."""

from __future__ import annotations

from typing import Any

from statcv.errors import DistributionalBiasWarning, warn
from statcv.folds.audit import LEANS
from statcv.folds.plan import PAIRS
from statcv.inference.mean_model import mean_model_concordance
from statcv.metrics import Metric
from statcv.models import Neighbors
from statcv.result import CVResult

NEAR = {"KNeighborsMixin", "RadiusNeighborsMixin"}  # of scikit-learn
PASSED_ON = {"weight": "weights", "all": "every subsample"}


def warn_of_bias(result: CVResult) -> None:
    """Warn where the headline pools ranks over folds that give labels away."""
    headlines = [
        metric
        for metric in result.chosen_metrics
        if metric.rank and result.scores.headline(metric) == "pooled"
    ]
    if headlines and result.design.outcome.kind == "continuous":
        _of_numbers(result, headlines[0])
        return
    if headlines and result.plan.rebalance in PASSED_ON and _of_neighbours(result):
        warn(
            "distributional bias: training sets that are evened out by "
            f"{PASSED_ON[result.plan.rebalance]} show a model somewhat more of each "
            "record of the held-out class. Nearest neighbours pass this on, so that "
            f"{headlines[0].label} pooled is too high (about 0.6 on noise, not 0.5); "
            "scheme='rloocv' compares pairs that one fit left out.",
            DistributionalBiasWarning,
        )
    leaning = result.mean_model_auroc
    if headlines and abs(leaning - 0.5) > LEANS:
        named = " and ".join(metric.label for metric in headlines)
        one = result.plan.scheme in ("loocv", *PAIRS)
        remedy = "scheme='rloocv'" if one else "rebalance='subsample'"
        advice = f"; {remedy} evens out every training set"
        several = result.design.outcome.kind == "multiclass"
        means = "shares of the classes" if several else "means"
        mean = "shares" if several else "mean"
        area = "Hand–Till auROC" if several else "auROC"
        warn(
            f"distributional bias: {named} pooled over folds whose training {means} "
            "give the held-out labels away. With its predictors taken out the same "
            f"model, which then predicts the training {mean}, has {area} {leaning:.3f} "
            f"under these folds, not 0.5{'' if result.plan.rebalanced else advice}.",
            DistributionalBiasWarning,
        )


def _of_numbers(result: CVResult, metric: Metric) -> None:
    """Warn where training means alone order held-out numbers, as they fall behind.

    The record that is dropped restores the mean only nearly.
    """
    if result.weights is not None:
        return
    leaning = mean_model_concordance(result.scores)
    if abs(leaning - 0.5) > LEANS:
        warn(
            f"distributional bias: {metric.label} pooled over folds whose training "
            "means give the held-out values away. The training mean alone, without any "
            f"predictor, has concordance {leaning:.3f} under these folds, not 0.5; "
            "scheme='leave_pair_out' compares records of one fit only.",
            DistributionalBiasWarning,
        )


def _of_neighbours(result: CVResult) -> bool:
    """Tell whether the model looks at near records only, ours or scikit-learn's."""
    learner: Any = result.learner
    while not isinstance(learner, Neighbors) and hasattr(learner, "model"):
        learner = learner.model
    estimator: Any = getattr(learner, "estimator", None)
    while hasattr(estimator, "steps"):  # a pipeline, of which the last step predicts
        estimator = estimator.steps[-1][1]
    kinds = {kind.__name__ for kind in type(estimator).__mro__}
    return isinstance(learner, Neighbors) or bool(kinds & NEAR)
