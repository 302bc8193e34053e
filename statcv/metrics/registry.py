"""The metrics by name."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from statcv.arguments import check_types, one_of
from statcv.errors import MetricError
from statcv.metrics import numeric
from statcv.metrics.classification import classwise, confusion, decision
from statcv.metrics.discrimination import precision_recall, ranking
from statcv.metrics.influence.table import (
    influence_on_mean,
    influence_on_table,
    listed_influence,
)
from statcv.metrics.metric import Metric
from statcv.metrics.probabilities import calibration_measures, distances
from statcv.metrics.probabilities.brier_terms import brier_skill

Function = Callable[..., float]
_CLASSES = ("binary", "multiclass")
_REAL = (-math.inf, math.inf)
_DISTANCE: dict[str, Any] = {"target": 0.0, "limits": (0.0, math.inf)}
_RATIO = {**_DISTANCE, "target": 1.0}


def _metric(
    function: Function, label: str, *outcomes: str, name: str = "", **more: Any
) -> Metric:
    """Describe a metric, whose name is that of its function unless another is given.

    Its losses of single records, its form for many groups and its mean over random
    orders are functions of the same module, and have its name.
    """
    own, home = function.__name__, vars(sys.modules[function.__module__])
    name = name or own
    higher = more.pop("higher", False)
    for property, other in (
        ("casewise", f"casewise_{name}"),
        ("by_group", f"{own}_by_group"),
        ("in_random_order", f"{own}_in_random_order"),
    ):
        more.setdefault(property, home.get(other))
    if "derive" not in more:
        mean = more["casewise"]
        more |= influence_on_mean(mean) if mean else listed_influence(name)
    return Metric(name, label, function, higher, frozenset(outcomes), **more)


def _ranks(function: Function, label: str, kind: str = "binary", **more: Any) -> Metric:
    more = {"higher": True, "reads": "order", "perfect": 1.0, **more}
    return _metric(function, label, kind, **more)


def _of_classes(
    function: Function, label: str, *outcomes: str, table: str = "", **more: Any
) -> Metric:
    of_table = getattr(confusion, f"{table or function.__name__}_of")
    more = {"higher": True, "reads": "classes", **influence_on_table(of_table), **more}
    if of_table is not confusion.accuracy_of:  # the mean of a loss of each record
        more["by_group"] = confusion.MetricOfTables(of_table)
    return _metric(function, label, *(outcomes or _CLASSES), **more)


def _of_risks(function: Function, label: str, **more: Any) -> Metric:
    return _metric(function, label, "binary", reads="probabilities", **more)


@dataclass(frozen=True)
class _BySpline:
    """The distance of a spline, in place of a loess, from the probabilities."""

    function: Function

    @property
    def __name__(self) -> str:
        return f"{self.function.__name__}_spline"

    def __call__(self, y: ArrayLike, p: ArrayLike) -> float:
        return self.function(y, p, smooth="spline")


def _explained(function: Function, label: str, kind: str, **more: Any) -> Metric:
    more |= {"higher": True, "against_mean": True, "no_skill": 0.0, "perfect": 1.0}
    return _metric(function, label, kind, **more)


def _concordance_by_group(*records: Any) -> Any:
    return ranking.concordance_by_group(*records)[0]


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
_MSE = _metric(numeric.mse, "MSE", "continuous", perfect=0.0)
_ALL = (
    _ranks(ranking.auroc, "auROC", pairs="classes", no_skill=0.5),
    _ranks(precision_recall.auprc, "auPR"),
    _ranks(precision_recall.auprc_trapezoid, "auPR (trapezoid)"),
    _ranks(precision_recall.auprc_interpolated, "auPR (interpolated)"),
    _metric(classwise.brier, "Brier score", *_CLASSES, limits=_of_brier, **_LOSS),
    _metric(classwise.log_loss, "log-loss", *_CLASSES, **_LOSS),
    _explained(
        brier_skill,
        "scaled Brier score",
        "binary",
        reads="probabilities",
        uses_baseline=True,
    ),
    _of_risks(
        calibration_measures.discrimination_slope,
        "discrimination slope",
        higher=True,
        limits=(-1.0, 1.0),
        no_skill=0.0,
        perfect=1.0,
    ),
    _of_risks(
        calibration_measures.calibration_slope,
        "calibration slope",
        target=1.0,
        limits=_REAL,
        pairs="slope",
    ),
    _of_risks(
        calibration_measures.calibration_intercept,
        "calibration intercept",
        target=0.0,
        limits=_REAL,
    ),
    _of_risks(calibration_measures.oe_ratio, "O:E", **_RATIO),
    _of_risks(distances.ici, "ICI", **_DISTANCE),
    _of_risks(distances.e50, "E50", **_DISTANCE),
    _of_risks(distances.e90, "E90", **_DISTANCE),
    _of_risks(distances.emax, "Emax", **_DISTANCE),
    _of_risks(_BySpline(distances.ici), "ICI (spline)", **_DISTANCE),
    _of_risks(_BySpline(distances.e50), "E50 (spline)", **_DISTANCE),
    _of_risks(_BySpline(distances.e90), "E90 (spline)", **_DISTANCE),
    _of_risks(_BySpline(distances.emax), "Emax (spline)", **_DISTANCE),
    _of_risks(
        decision.net_benefit_at,
        "net benefit",
        name="net_benefit",
        higher=True,
        takes_threshold=True,
        limits=(-math.inf, 1.0),
    ),
    _of_classes(classwise.accuracy, "accuracy", perfect=1.0),
    _of_classes(
        confusion.balanced_accuracy, "balanced accuracy", no_skill=_one_of, perfect=1.0
    ),
    _of_classes(
        confusion.ber,
        "balanced error rate",
        higher=False,
        limits=(0.0, 1.0),
        no_skill=_all_but_one_of,
    ),
    _of_classes(confusion.sensitivity, "sensitivity", "binary"),
    _of_classes(confusion.specificity, "specificity", "binary"),
    _of_classes(confusion.precision, "precision", "binary"),
    _of_classes(confusion.npv, "NPV", "binary"),
    _of_classes(confusion.f1, "F1", "binary"),
    _of_classes(f1_macro, "macro F1"),
    _of_classes(
        f1_micro, "micro F1", table="accuracy", casewise=classwise.casewise_accuracy
    ),
    _of_classes(
        confusion.matthews, "Matthews correlation", limits=(-1.0, 1.0), no_skill=0.0
    ),
    _ranks(ranking.auroc_ovr, "one-vs-rest auROC", "multiclass", no_skill=0.5),
    _ranks(
        ranking.auroc_hand_till,
        "Hand–Till auROC",
        "multiclass",
        pairs="each two classes",
        no_skill=0.5,
    ),
    _metric(
        numeric.rmse,
        "RMSE",
        "continuous",
        root_of=_MSE,
        perfect=0.0,
        **influence_on_mean(numeric.casewise_mse, root=True),
    ),
    _metric(numeric.mae, "MAE", "continuous", perfect=0.0),
    _MSE,
    _explained(numeric.r2, "R²", "continuous", limits=(-math.inf, 1.0)),
    _explained(
        numeric.r2,
        "R² about training means",
        "continuous",
        name="r2_training",
        uses_baseline=True,
    ),
    _ranks(
        ranking.concordance,
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
        *("auroc", "auprc", "calibration_slope", "calibration_intercept", "oe_ratio"),
        *("brier", "brier_skill", "log_loss"),
    ),
    "multiclass": (
        *("accuracy", "balanced_accuracy", "auroc_hand_till", "log_loss", "brier"),
    ),
    "continuous": ("rmse", "mae", "r2"),
}
_AT_A_THRESHOLD = (
    *("net_benefit", "sensitivity", "specificity", "accuracy", "balanced_accuracy"),
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
