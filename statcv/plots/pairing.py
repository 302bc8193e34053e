"""A pair of compared results, as a picture of their difference reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.comparison_checks import is_result, name_results
from statcv.comparison_contrasts import chosen_metric, contrast
from statcv.errors import ArgumentError, ArgumentTypeError, MetricError
from statcv.inference.paired_tests import PairedTest
from statcv.metrics import Metric
from statcv.plots.compared import Compared
from statcv.plots.records import how_averaged

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two results of a comparison, with the test of their difference.

    Attributes
    ----------
    names : tuple of str
    metric : Metric
    stated : str
        The metric and the way in which it is stated and tested.
    weighs_folds : bool
        Whether it is the mean over folds.
    y : numpy.ndarray, shape (n,)
    read : tuple of numpy.ndarray
        What the metric reads of each record's mean prediction by either result.
    changes : numpy.ndarray, shape (n,)
        What each record adds to the difference of a mean over records; else empty.
    clusters : numpy.ndarray of int, shape (n,), or None
    test : PairedTest
    method : str
        The test in words.
    how : str
        What became of a record's predictions, in words.
    level : float
    seed : int
    """

    names: tuple[str, str]
    metric: Metric
    stated: str
    weighs_folds: bool
    y: NDArray[Any]
    read: tuple[Floats, Floats]
    changes: Floats
    clusters: NDArray[np.intp] | None
    test: PairedTest
    method: str
    how: str
    level: float
    seed: int

    @property
    def drawn(self) -> float:
        """The difference of what is drawn, second minus first."""
        if len(self.changes):
            return float(self.changes.mean())
        return self.metric(self.y, self.read[1]) - self.metric(self.y, self.read[0])


def read_pair(comparison: Compared, pair: tuple[str, str] | None) -> Pair:
    """Read a pair of a comparison, with the test that it made.

    Raises
    ------
    ArgumentError
        If there is no such pair.
    MetricError
        If the metric is neither auROC nor a mean over records.
    """
    table = comparison.differences
    known = list(zip(table["first"], table["second"], strict=True))
    chosen = known[0] if pair is None else tuple(pair)
    if chosen not in known:
        listed = ", ".join(f"({one!r}, {two!r})" for one, two in known)
        raise ArgumentError(f"pair={pair!r} is not compared; there is {listed}.")
    row = table.iloc[known.index(chosen)]
    metric, records = comparison.metric, comparison.records
    check_drawable(metric)
    results = [comparison.results[name] for name in chosen]
    by_record = metric.casewise is not None
    hows = dict.fromkeys(how_averaged(one.scores) for one in results)
    return Pair(
        names=chosen,
        metric=metric,
        stated=comparison.stated,
        weighs_folds=comparison.how == "per_fold",
        y=records.y,
        read=(records.predictions[chosen[0]], records.predictions[chosen[1]]),
        changes=comparison.changes(*chosen) if by_record else np.empty(0),
        clusters=comparison.clusters(*chosen),
        test=PairedTest(
            difference=row["difference"],
            se=row["se"],
            lower=row["lower"],
            upper=row["upper"],
            statistic=row["statistic"],
            p_value=row["p"],
        ),
        method=comparison.method.title,
        how=" and ".join(hows),
        level=comparison.level,
        seed=results[0].seed,
    )


def compared_pair(
    first: Any, second: Any, metric: str | Metric | None, level: float
) -> Pair:
    """Compare two results as `compare` does, and read them.

    Raises
    ------
    ArgumentTypeError
        If either is not a result.
    MetricError
        If the metric is neither auROC nor a mean over records.
    """
    for one in (first, second):
        if not is_result(one):
            raise ArgumentTypeError(
                "plot_difference() draws a comparison, or two results, not a "
                f"{type(one).__name__}."
            )
    check_drawable(chosen_metric(first, metric))
    return read_pair(contrast(name_results([first, second]), metric, level), None)


def check_drawable(metric: Metric) -> None:
    """Refuse a metric whose difference is neither a line nor a sum over records.

    Raises
    ------
    MetricError
    """
    if metric.name != "auroc" and metric.casewise is None:
        raise MetricError(
            f"{metric.label} is neither auROC nor a mean over records, so that its "
            "difference is no line and no sum over records; plot_forest(comparison) "
            "shows it with its interval."
        )
