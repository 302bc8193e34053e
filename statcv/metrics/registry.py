"""The metrics by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from statcv.arguments import check_types, one_of
from statcv.errors import MetricError
from statcv.metrics.classification import confusion
from statcv.metrics.classification.classwise import (
    accuracy,
    brier,
    casewise_accuracy,
    casewise_brier,
    casewise_log_loss,
    log_loss,
)
from statcv.metrics.classification.decision import casewise_net_benefit, net_benefit_at
from statcv.metrics.discrimination import precision_recall
from statcv.metrics.discrimination.ranking import (
    auroc,
    auroc_by_group,
    auroc_hand_till,
    auroc_ovr,
    concordance,
    concordance_by_group,
)
from statcv.metrics.influence.table import (
    influence_on_mean,
    influence_on_table,
    listed_influence,
)
from statcv.metrics.inputs import Floats
from statcv.metrics.metric import Metric
from statcv.metrics.numeric import (
    casewise_mae,
    casewise_mse,
    mae,
    mse,
    r2,
    r2_by_group,
    rmse,
)
from statcv.metrics.probabilities.brier_terms import brier_skill, brier_skill_by_group
from statcv.metrics.probabilities.calibration_measures import (
    calibration_intercept,
    calibration_slope,
    discrimination_slope,
    discrimination_slope_by_group,
    oe_ratio,
    oe_ratio_by_group,
)
from statcv.metrics.probabilities.distances import e50, e90, emax, ici

Function = Callable[..., float]
_CLASSES = ("binary", "multiclass")
_REAL = (-math.inf, math.inf)
_DISTANCE: dict[str, Any] = {"target": 0.0, "limits": (0.0, math.inf)}
_RATIO = {**_DISTANCE, "target": 1.0}


def _metric(
    function: Function, label: str, *outcomes: str, name: str = "", **more: Any
) -> Metric:
    """Describe a metric, whose name is that of its function unless another is given."""
    name = name or function.__name__
    higher = more.pop("higher", False)
    if "derive" not in more:
        mean = more.get("casewise")
        more |= influence_on_mean(mean) if mean else listed_influence(name)
    return Metric(name, label, function, higher, frozenset(outcomes), **more)


def _ranks(function: Function, label: str, kind: str = "binary", **more: Any) -> Metric:
    more = {"higher": True, "reads": "order", "perfect": 1.0, **more}
    return _metric(function, label, kind, **more)


def _of_classes(
    function: Function,
    label: str,
    of_table: Callable[[Floats], float],
    *outcomes: str,
    **more: Any,
) -> Metric:
    more = {"higher": True, "reads": "classes", **influence_on_table(of_table), **more}
    if "casewise" not in more:
        more["by_group"] = confusion.MetricOfTables(of_table)
    return _metric(function, label, *(outcomes or _CLASSES), **more)


def _of_risks(function: Function, label: str, **more: Any) -> Metric:
    return _metric(function, label, "binary", reads="probabilities", **more)


def _explained(function: Function, label: str, kind: str, **more: Any) -> Metric:
    more |= {"higher": True, "against_mean": True, "no_skill": 0.0, "perfect": 1.0}
    return _metric(function, label, kind, **more)


def _concordance_by_group(*records: Any) -> Any:
    return concordance_by_group(*records)[0]


def _one_of(classes: int) -> float:
    return 1 / classes


def _all_but_one_of(classes: int) -> float:
    return 1 - 1 / classes


def _of_brier(classes: int) -> tuple[float, float]:
    return 0.0, 1.0 if classes == 2 else 2.0


def f1_macro(y: ArrayLike, p: ArrayLike, threshold: ArrayLike = 0.5) -> float:
    """Mean over classes of the F1 score of each."""
    return confusion.f1(y, p, threshold, average="macro")


def f1_micro(y: ArrayLike, p: ArrayLike, threshold: ArrayLike = 0.5) -> float:
    """F1 score of the records of all classes together, which is the accuracy."""
    return confusion.f1(y, p, threshold, average="micro")


_LOSS: dict[str, Any] = {"reads": "probabilities", "perfect": 0.0}
_MSE = _metric(mse, "MSE", "continuous", casewise=casewise_mse, perfect=0.0)
_ALL = (
    _ranks(auroc, "auROC", pairs="classes", no_skill=0.5, by_group=auroc_by_group),
    _ranks(
        precision_recall.auprc,
        "auPR",
        in_random_order=precision_recall.auprc_in_random_order,
        by_group=precision_recall.auprc_by_group,
    ),
    _ranks(
        precision_recall.auprc_trapezoid,
        "auPR (trapezoid)",
        in_random_order=precision_recall.auprc_trapezoid_in_random_order,
    ),
    _ranks(
        precision_recall.auprc_interpolated,
        "auPR (interpolated)",
        in_random_order=precision_recall.auprc_interpolated_in_random_order,
    ),
    _metric(
        brier,
        "Brier score",
        *_CLASSES,
        casewise=casewise_brier,
        limits=_of_brier,
        **_LOSS,
    ),
    _metric(log_loss, "log-loss", *_CLASSES, casewise=casewise_log_loss, **_LOSS),
    _explained(
        brier_skill,
        "scaled Brier score",
        "binary",
        reads="probabilities",
        uses_baseline=True,
        by_group=brier_skill_by_group,
    ),
    _of_risks(
        discrimination_slope,
        "discrimination slope",
        higher=True,
        limits=(-1.0, 1.0),
        no_skill=0.0,
        perfect=1.0,
        by_group=discrimination_slope_by_group,
    ),
    _of_risks(
        calibration_slope, "calibration slope", target=1.0, limits=_REAL, pairs="slope"
    ),
    _of_risks(calibration_intercept, "calibration intercept", target=0.0, limits=_REAL),
    _of_risks(oe_ratio, "O:E", **_RATIO, by_group=oe_ratio_by_group),
    _of_risks(ici, "ICI", **_DISTANCE),
    _of_risks(e50, "E50", **_DISTANCE),
    _of_risks(e90, "E90", **_DISTANCE),
    _of_risks(emax, "Emax", **_DISTANCE),
    _of_risks(
        net_benefit_at,
        "net benefit",
        name="net_benefit",
        higher=True,
        casewise=casewise_net_benefit,
        takes_threshold=True,
        limits=(-math.inf, 1.0),
    ),
    _of_classes(
        accuracy,
        "accuracy",
        confusion.accuracy_of,
        casewise=casewise_accuracy,
        perfect=1.0,
    ),
    _of_classes(
        confusion.balanced_accuracy,
        "balanced accuracy",
        confusion.balanced_accuracy_of,
        no_skill=_one_of,
        perfect=1.0,
    ),
    _of_classes(
        confusion.ber,
        "balanced error rate",
        confusion.ber_of,
        higher=False,
        limits=(0.0, 1.0),
        no_skill=_all_but_one_of,
    ),
    _of_classes(
        confusion.sensitivity, "sensitivity", confusion.sensitivity_of, "binary"
    ),
    _of_classes(
        confusion.specificity, "specificity", confusion.specificity_of, "binary"
    ),
    _of_classes(confusion.precision, "precision", confusion.precision_of, "binary"),
    _of_classes(confusion.npv, "NPV", confusion.npv_of, "binary"),
    _of_classes(confusion.f1, "F1", confusion.f1_of, "binary"),
    _of_classes(f1_macro, "macro F1", confusion.f1_macro_of),
    _of_classes(
        f1_micro, "micro F1", confusion.accuracy_of, casewise=casewise_accuracy
    ),
    _of_classes(
        confusion.matthews,
        "Matthews correlation",
        confusion.matthews_of,
        limits=(-1.0, 1.0),
        no_skill=0.0,
    ),
    _ranks(auroc_ovr, "one-vs-rest auROC", "multiclass", no_skill=0.5),
    _ranks(
        auroc_hand_till,
        "Hand–Till auROC",
        "multiclass",
        pairs="each two classes",
        no_skill=0.5,
    ),
    _metric(
        rmse,
        "RMSE",
        "continuous",
        root_of=_MSE,
        perfect=0.0,
        **influence_on_mean(casewise_mse, root=True),
    ),
    _metric(mae, "MAE", "continuous", casewise=casewise_mae, perfect=0.0),
    _MSE,
    _explained(r2, "R²", "continuous", limits=(-math.inf, 1.0), by_group=r2_by_group),
    _explained(
        r2,
        "R² about training means",
        "continuous",
        name="r2_training",
        uses_baseline=True,
        by_group=r2_by_group,
    ),
    _ranks(
        concordance,
        "concordance",
        "continuous",
        pairs="numbers",
        no_skill=0.5,
        by_group=_concordance_by_group,
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}


def is_listed(metric: Metric) -> bool:
    """Return whether a metric is one of :data:`METRICS`, as it is there.

    >>> is_listed(METRICS["brier"])
    True
    """
    check_types(is_listed, locals(), MetricError)
    return METRICS.get(metric.name) == metric


# ---- which of them are usual ----


_DEFAULTS = {
    "binary": (
        "auroc",
        "auprc",
        "calibration_slope",
        "calibration_intercept",
        "oe_ratio",
        "brier",
        "brier_skill",
        "log_loss",
    ),
    "multiclass": (
        "accuracy",
        "balanced_accuracy",
        "auroc_hand_till",
        "log_loss",
        "brier",
    ),
    "continuous": ("rmse", "mae", "r2"),
}


_AT_A_THRESHOLD = (
    "net_benefit",
    "sensitivity",
    "specificity",
    "accuracy",
    "balanced_accuracy",
)


def default_metrics(kind: str, threshold: bool = False) -> tuple[str, ...]:
    """Return the names of the default metrics for a kind of outcome.

    For two classes these measure discrimination, calibration and overall performance,
    and need no threshold. If a threshold is given, net benefit and metrics of predicted
    classes are added (Van Calster et al. 2025).

    Parameters
    ----------
    kind : {"binary", "multiclass", "continuous"}
        The kind of outcome.
    threshold : bool, default False
        Whether there is a threshold of the predictions.

    Returns
    -------
    tuple of str
        Names in `METRICS`.

    Raises
    ------
    MetricError
        If the kind is unknown.

    References
    ----------
    Van Calster, Collins, Vickers, …, Steyerberg (2025), Lancet Digital Health,
    arXiv:2412.10288.

    Examples
    --------
    >>> default_metrics("continuous")
    ('rmse', 'mae', 'r2')
    """
    one_of(kind, _DEFAULTS, "kind", MetricError)
    one_of(threshold, (True, False), "threshold", MetricError)
    more = _AT_A_THRESHOLD if threshold and kind == "binary" else ()
    return (*_DEFAULTS[kind], *more)
