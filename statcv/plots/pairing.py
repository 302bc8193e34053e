"""Two results' predictions of the same records, with the test of their difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ArgumentError, ArgumentTypeError, ComparisonError, MetricError
from statcv.inference.paired_methods import METHODS, default_method
from statcv.inference.paired_tests import (
    PairedTest,
    joined_clusters,
    paired_delong,
    paired_t,
)
from statcv.metrics import Metric, get_metric
from statcv.plots.base import short_scheme
from statcv.plots.records import how_averaged
from statcv.readable import Readable

Floats = NDArray[np.float64]
DEFAULTS = {"binary": "auroc", "multiclass": "accuracy", "continuous": "mse"}


@dataclass(frozen=True, eq=False)
class Pair:
    """Two results' predictions of the same records, and the test of them.

    Attributes
    ----------
    names : tuple of str
    metric : Metric
    y : numpy.ndarray, shape (n,)
    read : tuple of numpy.ndarray
        What the metric reads of either result.
    clusters : numpy.ndarray of int, shape (n,), or None
    test : PairedTest
    method, how : str
        Of the test, and what became of a record's predictions, in words.
    level : float
    seed : int
    """

    names: tuple[str, str]
    metric: Metric
    y: NDArray[Any]
    read: tuple[Floats, Floats]
    clusters: NDArray[np.intp] | None
    test: PairedTest
    method: str
    how: str
    level: float
    seed: int


def of_comparison(
    comparison: Any, pair: tuple[str, str] | None, metric: str | Metric | None
) -> Pair:
    """Read a pair of a comparison, with the test that it made."""
    if not hasattr(comparison, "differences"):
        raise ArgumentTypeError(
            "plot_difference() draws a comparison, or two results; there is one "
            f"{type(comparison).__name__}."
        )
    if metric is not None:
        raise ArgumentError(
            f"metric={metric!r} means nothing for a comparison, which has its own; "
            "give it to compare()."
        )
    table = comparison.differences
    known = list(zip(table["first"], table["second"], strict=True))
    chosen = known[0] if pair is None else tuple(pair)
    if chosen not in known:
        listed = ", ".join(f"({one!r}, {two!r})" for one, two in known)
        raise ArgumentError(f"pair={pair!r} is not compared; there is {listed}.")
    row = table.iloc[known.index(chosen)]
    test = PairedTest(
        difference=row["difference"],
        se=row["se"],
        lower=row["lower"],
        upper=row["upper"],
        statistic=row["statistic"],
        p_value=row["p"],
    )
    results = [comparison.results[name] for name in chosen]
    method = comparison.method.title
    return _joined(chosen, results, comparison.metric, comparison.level, test, method)


def of_results(
    first: Any, second: Any, metric: str | Metric | None, level: float
) -> Pair:
    """Read two results, and test them by the default test of the metric."""
    for one in (first, second):
        if not hasattr(one, "scores") or not hasattr(one, "design"):
            raise ArgumentTypeError(
                "plot_difference() draws a comparison, or two results, not a "
                f"{type(one).__name__}."
            )
    outcome = first.design.outcome
    chosen = get_metric(DEFAULTS[outcome.kind] if metric is None else metric)
    chosen.check_outcome(outcome.kind, outcome.name)
    names = (short_scheme(first.plan), short_scheme(second.plan))
    if first.design.formula.text != second.design.formula.text:
        names = (first.design.formula.text, second.design.formula.text)
    elif names[0] == names[1]:
        names = ("first", "second")
    return _joined(names, [first, second], chosen, level, None, "")


def _joined(
    names: tuple[str, str],
    results: list[Readable],
    metric: Metric,
    level: float,
    test: PairedTest | None,
    method: str,
) -> Pair:
    """Put two results' records in one order, and test them where that is not done."""
    if metric.name != "auroc" and metric.casewise is None:
        raise MetricError(
            f"{metric.label} is neither auROC nor a mean over records, so that its "
            "difference is no line and no sum over records; plot_forest(comparison) "
            "shows it with its interval."
        )
    first, second = results
    rows = [result.scores.mean_prediction()[0] for result in results]
    labels = [
        result.design.labels[row] for result, row in zip(results, rows, strict=True)
    ]
    place = labels[1].get_indexer(labels[0])
    same = len(labels[0]) == len(labels[1]) and bool((place >= 0).all())
    if same:
        y, other = (
            result.design.y[row] for result, row in zip(results, rows, strict=True)
        )
        kinds = {result.design.outcome.kind for result in results}
        same = len(kinds) == 1 and np.array_equal(y, other[place])
    if not same:
        raise ComparisonError(
            f"{names[0]!r} and {names[1]!r} are not of the same records and outcomes, "
            "so that there is no paired difference; fit both on the rows complete for "
            "both."
        )
    codes = [
        None if result.scores.clusters is None else result.scores.clusters[row]
        for result, row in zip(results, rows, strict=True)
    ]
    codes[1] = None if codes[1] is None else codes[1][place]
    clusters = joined_clusters(codes[0], codes[1])
    read = (_read(first, metric), _read(second, metric)[place])
    if test is None:
        method = METHODS[default_method(metric)].title
        if metric.name == "auroc":
            test = paired_delong(y, *read, clusters, level)
        else:
            assert metric.casewise is not None
            change = metric.casewise(y, read[1]) - metric.casewise(y, read[0])
            test = paired_t(change, clusters, level)
    hows = dict.fromkeys(how_averaged(result.scores) for result in results)
    how = " and ".join(hows)
    return Pair(names, metric, y, read, clusters, test, method, how, level, first.seed)


def _read(result: Readable, metric: Metric) -> Floats:
    """Return what the metric reads of each record's mean prediction."""
    scores = result.scores
    predicted, cuts = scores.mean_prediction()[1], scores.mean_threshold
    if cuts is not None and metric.reads == "classes":
        return (predicted > cuts).astype(float)
    return metric.readable(predicted, scores.probabilities)
