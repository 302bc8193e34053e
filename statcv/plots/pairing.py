"""Two results' predictions of the same records, with the test of their difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ArgumentError, ArgumentTypeError, ComparisonError, MetricError
from statcv.inference.common_threshold import at_common_threshold
from statcv.inference.paired_methods import METHODS, PairedMethod, default_method
from statcv.inference.paired_tests import (
    PairedTest,
    joined_clusters,
    paired_delong,
    paired_t,
)
from statcv.inference.record_reading import read_by_record
from statcv.metrics import Metric, get_metric
from statcv.plots.base import told_apart
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
    shown : float
        The difference of what is read, second less first.
    test : PairedTest
    method, tested : str
        The test in words, and of which estimates it is where these are not of what is
        read: per fold, paired, …
    how : str
        What became of a record's predictions, in words.
    level : float
    seed : int
    """

    names: tuple[str, str]
    metric: Metric
    y: NDArray[Any]
    read: tuple[Floats, Floats]
    clusters: NDArray[np.intp] | None
    shown: float
    test: PairedTest
    method: str
    tested: str
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
    own, records = comparison.metric, comparison.records
    _check_drawable(own)
    results = [comparison.results[name] for name in chosen]
    read = (records.predictions[chosen[0]], records.predictions[chosen[1]])
    return Pair(
        names=chosen,
        metric=own,
        y=records.y,
        read=read,
        clusters=records.clusters(*chosen),
        shown=_difference(own, records.y, read),
        test=test,
        method=comparison.method.title,
        tested=_tested(results, own, comparison.method),
        how=_how(results),
        level=comparison.level,
        seed=results[0].seed,
    )


def _tested(results: list[Readable], metric: Metric, method: PairedMethod) -> str:
    """Say of which estimates a test is, if not of the pooled predictions."""
    if method.pools:
        return ""
    if method.name == "corrected_t":
        return "per fold"
    hows = {result.scores.headline(metric) for result in results}
    how = hows.pop() if len(hows) == 1 else "pooled"
    if how != "pooled":
        return how.replace("_", " ")
    once = all(len(result.scores.by_repeat) == 1 for result in results)
    return "" if once else "pooled in each repeat"


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
    names = told_apart([first, second])
    _check_drawable(chosen)
    chosen = at_common_threshold(chosen, [first.scores, second.scores])
    y, read, clusters = _joined(names, first, second, chosen)
    if chosen.name == "auroc":
        test = paired_delong(y, *read, clusters, level)
    else:
        test = paired_t(change(chosen, y, read), clusters, level)
    return Pair(
        names=(names[0], names[1]),
        metric=chosen,
        y=y,
        read=read,
        clusters=clusters,
        shown=_difference(chosen, y, read),
        test=test,
        method=METHODS[default_method(chosen)].title,
        tested="",
        how=_how([first, second]),
        level=level,
        seed=first.seed,
    )


def change(metric: Metric, y: NDArray[Any], read: tuple[Floats, Floats]) -> Floats:
    """Return each record's value by the second result less that by the first."""
    assert metric.casewise is not None  # else the records have none
    return metric.casewise(y, read[1]) - metric.casewise(y, read[0])


def _difference(metric: Metric, y: NDArray[Any], read: tuple[Floats, Floats]) -> float:
    if metric.casewise is None:
        return metric(y, read[1]) - metric(y, read[0])
    each = change(metric, y, read)
    return float(each.mean()) if np.isfinite(each).all() else np.nan


def _check_drawable(metric: Metric) -> None:
    if metric.name != "auroc" and metric.casewise is None:
        raise MetricError(
            f"{metric.label} is neither auROC nor a mean over records, so that its "
            "difference is no line and no sum over records; plot_forest(comparison) "
            "shows it with its interval."
        )


def _how(results: list[Readable]) -> str:
    """Say what became of the predictions of a record."""
    return " and ".join(dict.fromkeys(how_averaged(one.scores) for one in results))


def _joined(
    names: list[str], first: Readable, second: Readable, metric: Metric
) -> tuple[NDArray[Any], tuple[Floats, Floats], NDArray[np.intp] | None]:
    """Put two results' records in one order: outcomes, what is read, and clusters."""
    results = (first, second)
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
    read = (
        read_by_record(first.scores, metric),
        read_by_record(second.scores, metric)[place],
    )
    return y, read, joined_clusters(codes[0], codes[1])
