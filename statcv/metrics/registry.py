"""The metrics by name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike

from statcv.arguments import check_types, one_of
from statcv.errors import MetricError
from statcv.metrics import numeric
from statcv.metrics.classification import classwise, confusion, decision
from statcv.metrics.discrimination import curves, ranking
from statcv.metrics.influence import table
from statcv.metrics.metric import Metric
from statcv.metrics.probabilities import brier_terms, calibration_measures, distances
from statcv.words import stored_rows

Function = Callable[..., float]


@dataclass(frozen=True)
class _BySpline:
    """The distance of a spline, in place of a loess, from the probabilities."""

    function: Function

    def __call__(self, y: ArrayLike, p: ArrayLike) -> float:
        return self.function(y, p, smooth="spline")


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
    return float(confusion.f1(y, p, threshold, average="macro"))


def f1_micro(y: ArrayLike, p: ArrayLike, threshold: ArrayLike = 0.5) -> float:
    """F1 score of the records of all classes together, which is the accuracy."""
    return float(confusion.f1(y, p, threshold, average="micro"))


# where functions are found by the names of their metrics, or what is found instead
_HOMES = (
    *(ranking, curves, classwise, confusion, brier_terms),
    *(calibration_measures, distances, numeric, sys.modules[__name__]),
)
_FUNCTIONS: dict[str, Function] = {
    **{
        f"{name}_spline": _BySpline(getattr(distances, name))
        for name in ("ici", "e50", "e90", "emax")
    },
    "net_benefit": decision.net_benefit_at,
    "r2_training": numeric.r2,
}
# what the table cannot say, such as functions of the number of classes
_MORE: dict[str, dict[str, Any]] = {
    "brier": {"limits": _of_brier},
    "balanced_accuracy": {"no_skill": _one_of},
    "ber": {"no_skill": _all_but_one_of},
    "f1_micro": {"casewise": classwise.casewise_accuracy},
    "rmse": table.influence_on_mean(numeric.casewise_mse, root=True),
    "concordance": {"by_group": _concordance_by_group},
}


def _value(text: str) -> bool | float | str:
    """Return what a property of the table is."""
    if text == "yes":
        return True
    try:
        return float(text)
    except ValueError:
        return text


def _listed(
    name: str, label: str, outcomes: str, reads: str, *properties: str
) -> Metric:
    """Describe a metric by a row of the table.

    Its losses of single records, its form for many groups and its mean over random
    orders are functions of the module of its own, and have its name.
    """
    pairs = (one.split("=") for one in properties)
    more: dict[str, Any] = {key: _value(text) for key, text in pairs}
    if "least" in more:
        more["limits"] = more.pop("least"), more.pop("most")
    homes = (getattr(home, name) for home in _HOMES if hasattr(home, name))
    function = _FUNCTIONS.get(name) or next(homes)
    home = vars(sys.modules[function.__module__])
    own = getattr(function, "__name__", name)
    more |= {
        "casewise": home.get(f"casewise_{name}"),
        "by_group": home.get(f"{own}_by_group"),
        "in_random_order": home.get(f"{own}_in_random_order"),
        **_MORE.get(name, {}),
    }
    if reads == "classes":
        known = {"f1_micro": "accuracy"}.get(name, name)
        of_table = getattr(confusion, f"{known}_of")
        more |= table.influence_on_table(of_table)
        if of_table is not confusion.accuracy_of:  # the mean of a loss of each record
            more["by_group"] = confusion.MetricOfTables(of_table)
    elif "derive" not in more:
        mean = more["casewise"]
        more |= table.influence_on_mean(mean) if mean else table.listed_influence(name)
    higher = more.pop("greater", False)
    kinds = frozenset(outcomes.split())
    return Metric(name, label, function, higher, kinds, reads, **more)


# rows of name, label, kinds of outcome, what is read, and further properties
METRICS: dict[str, Metric] = {
    row[0]: _listed(*row) for row in stored_rows("statcv.metrics", "metrics.txt")
}
METRICS["rmse"] = replace(METRICS["rmse"], root_of=METRICS["mse"])


def is_listed(metric: Metric) -> bool:
    """Return whether a metric is one of :data:`METRICS`, as it is there.

    >>> is_listed(METRICS["brier"])
    True
    """
    check_types(is_listed, locals(), MetricError)
    return METRICS.get(metric.name) == metric


# ---- which of them are usual ----


# the names of the usual metrics by kind of outcome
USUAL = {
    kind: tuple(names.split())
    for kind, names in stored_rows("statcv.metrics", "usual.txt")
}


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
    kinds = ("binary", "multiclass", "continuous")
    one_of(kind, kinds, "kind", MetricError)
    one_of(threshold, (True, False), "threshold", MetricError)
    more = USUAL["binary at a threshold"] if threshold and kind == "binary" else ()
    return (*USUAL[kind], *more)
