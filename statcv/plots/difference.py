"""The difference between two results for the same records, in detail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from statcv.arguments import check_level, check_types, is_list, refuse_given
from statcv.errors import ArgumentError, ArgumentTypeError, MetricError
from statcv.inference import Readable
from statcv.inference.paired.choices import chosen_metric, contrast
from statcv.inference.paired.contrasts import Contrasts
from statcv.inference.paired.records import is_result, name_results
from statcv.metrics import Metric, roc_difference
from statcv.numeric.arrays import Floats
from statcv.plots import base
from statcv.plots.drawn import ComparedResults, how_averaged
from statcv.plots.fit import CURVE
from statcv.words import p_in_words, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class DrawnPair:
    """Two results of a comparison, whose difference is drawn.

    Attributes
    ----------
    compared : Contrasts
        The comparison.
    names : tuple of str
        Names of the first and the second result.
    row : pandas.Series
        The row of the pair in the table of differences, with its test.
    """

    compared: Contrasts
    names: tuple[str, str]
    row: pd.Series[Any]


DRAWS = "plot_difference() draws a comparison or two results"


def read_pair(comparison: Contrasts, pair: tuple[str, str] | None) -> DrawnPair:
    """Return a pair of a comparison, the first unless another one is named.

    Raises
    ------
    ArgumentError
        If there is no such pair.
    MetricError
        If the difference is neither a curve nor a sum over records.
    """
    table = comparison.differences
    known = list(zip(table["first"], table["second"], strict=True))
    chosen = known[0] if pair is None else tuple(pair) if is_list(pair) else pair
    if chosen not in known:
        pairs = ", ".join(f"({one!r}, {two!r})" for one, two in known)
        raise ArgumentError(
            f"pair={pair!r} is not in the comparison; the pairs are {pairs}."
        )
    check_drawable(comparison.metric)
    return DrawnPair(comparison, chosen, table.iloc[known.index(chosen)])


def compared_pair(
    first: Any, second: Any, metric: str | Metric | None, level: float
) -> DrawnPair:
    """Compare two results in the same way as `compare`, and return the pair.

    Raises
    ------
    ArgumentTypeError
        If either is not a result.
    MetricError
        If the metric is neither auROC nor a mean over records.
    """
    for one in (first, second):
        if not is_result(one):
            raise ArgumentTypeError(f"{DRAWS}, not a {type(one).__name__}.")
    check_drawable(chosen_metric(first, metric))
    return read_pair(contrast(name_results([first, second]), metric, level), None)


def check_drawable(metric: Metric) -> None:
    """Check that the difference in a metric is a curve or a sum over records.

    Raises
    ------
    MetricError
        If it is neither.
    """
    if metric.name != "auroc" and metric.casewise is None:
        raise MetricError(
            f"{metric.label} is neither auROC nor a mean over records, so its "
            "difference is neither a curve nor a sum over records; "
            "plot_forest(comparison) shows it with its interval."
        )


# ---- the plot ----

MOST_POINTS = 200  # largest number of records that are drawn as points, not as a line
TINY = 1e-12  # difference in loss below which it is due to rounding
SHORT = 24  # longest names, in characters, that share a line


def plot_difference(
    first: ComparedResults | Readable,
    second: Readable | None = None,
    ax: Axes | None = None,
    *,
    metric: str | Metric | None = None,
    pair: tuple[str, str] | None = None,
    level: float = 0.95,
    n_boot: int | None = None,
) -> Axes:
    """Draw the paired difference of two results, second minus first.

    The title gives the difference and its test by :func:`statcv.compare`. For auROC the
    plot shows the difference in sensitivity at each false positive rate, with a
    pointwise band from a bootstrap that draws the same records (or whole clusters) for
    both curves; the curves are of the mean prediction of each record. For a mean over
    records, such as the Brier score, the plot shows the contributions of the records to
    the difference, in increasing order, and their mean with its interval.

    Parameters
    ----------
    first : Comparison or CVResult
        A comparison, whose metric, test and level are used; or a result.
    second : CVResult, optional
        The other result, for the same records.
    ax : matplotlib.axes.Axes, optional
    metric : str, optional
        The metric by which two results are compared; the default of
        :func:`statcv.compare` unless given.
    pair : tuple of str, optional
        The two names of a pair in the ``differences`` of a comparison; the first pair
        by default.
    level : float, default 0.95
        Confidence level of the interval of two results.
    n_boot : int, optional
        Number of bootstrap samples of the band; 2000 by default.

    Raises
    ------
    ComparisonError
        If the results are not for the same records and outcomes.
    MetricError
        If the metric is neither auROC nor a mean over records.
    ArgumentError, ArgumentTypeError
        If there is no such pair, or only one result.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> both = scv.compare(full=res, less=res.update(". ~ . - PSI"))
    >>> print(scv.plots.plot_difference(both).get_title().splitlines()[0])
    less minus full: difference in auROC −0.07 (−0.37 to 0.24)
    """
    check_types(plot_difference, locals())
    check_level(level)
    if second is not None:
        refuse_given("two results", pair=pair)
        found = compared_pair(first, second, metric, level)
    elif not hasattr(first, "differences"):
        raise ArgumentTypeError(f"{DRAWS}, not one {type(first).__name__}.")
    else:
        own = "a comparison, which has its own; pass it to compare()"
        refuse_given(own, metric=metric)
        found = read_pair(cast("ComparedResults", first).contrasts, pair)
    ax = base.new_axes(ax)
    if (of := found.compared.metric).is_auroc:
        across, above = _draw_curve(ax, found, n_boot)
    else:
        what = f"{of.label}, whose interval is not from a bootstrap"
        refuse_given(what, n_boot=n_boot)
        across, above = _draw_records(ax, found)
    base.finish(ax, across, above, _title(found))
    half = 1.05 * max(map(abs, ax.get_ylim()))
    ax.set_ylim(-half, half)
    ax.title.set_fontsize("medium")
    return ax


def _draw_curve(ax: Axes, found: DrawnPair, n_boot: int | None) -> tuple[str, str]:
    """Draw the difference of two ROC curves, and return the labels of the axes."""
    compared = found.compared
    first, second = (compared.records.predictions[one] for one in found.names)
    drawn: dict[str, Any] = {"seed": compared.results[found.names[0]].seed}
    drawn |= {"clusters": compared.clusters(*found.names), "n_boot": n_boot}
    y, level = compared.records.y, compared.level
    band = roc_difference(y, second, first, level=level, **drawn)
    base.draw_level(ax, 0)
    colour = base.draw_curve(ax, band.at, band.estimate, None, base.COLOURS[0])
    base.draw_band(ax, band, colour)
    ax.set_xlim(base.UNIT)
    return "1 − specificity", "difference in sensitivity"


def _draw_records(ax: Axes, found: DrawnPair) -> tuple[str, str]:
    """Draw the differences of records in order, their mean and its interval."""
    compared, row = found.compared, found.row
    changes = compared.changes(*found.names)
    ordered = np.sort(changes[np.isfinite(changes)])
    base.draw_level(ax, 0)
    named = "mean over folds" if compared.how == "per_fold" else "mean"
    colour = base.COLOURS[1]
    if row[["lower", "upper"]].notna().all():
        ax.axhspan(row["lower"], row["upper"], color=colour, alpha=0.2, linewidth=0)
        named += f", {percent(compared.level)} interval"
    if not np.isnan(row["difference"]):
        ax.axhline(row["difference"], color=colour, linewidth=1.4, label=named)
    places = np.arange(1, len(ordered) + 1)
    mark = "o" if len(ordered) <= MOST_POINTS else "-"
    (records,) = ax.plot(places, ordered, mark, color=base.COLOURS[0], markersize=3.5)
    records.set(gid=CURVE, label=_counted(ordered, found))
    return "records, in order", f"difference in {compared.metric.label} of a record"


def _counted(each: Floats, found: DrawnPair) -> str:
    """Return the numbers of records in which the second result is better or worse."""
    gain = each if found.compared.metric.greater_is_better else -each
    better, worse = int((gain > TINY).sum()), int((gain < -TINY).sum())
    name = found.names[1] if len(found.names[1]) <= SHORT else "second"
    said = f"{name} better in {better}, worse in {worse}"
    same = len(each) - better - worse
    return f"{said}, equal in {same}" if same else said


def _title(found: DrawnPair) -> str:
    """Return the title: the difference with its test, and what is drawn."""
    (first, second), compared, row = found.names, found.compared, found.row
    what = f"{second} minus {first}"
    what = f"{what}: " if len(what) <= SHORT else f"{what}\n"
    what += f"difference in {compared.metric.label}"
    results = [compared.results[name] for name in found.names]
    drawn = base.predictions_said(*(how_averaged(one.scores) for one in results))
    if compared.how != "pooled":
        drawn = f"drawn: {drawn}"
    if np.isnan(row["difference"]):
        return f"{what} has no value\n{drawn}"
    ends = (row["lower"], row["upper"])
    said = "no interval, " if np.isnan(ends).any() else "by "
    said += compared.method.title
    if not np.isnan(row["p"]):
        said += f", {p_in_words(row['p'], '.2g')}"
    return f"{what} {base.with_ends(row['difference'], ends)}\n{said}\n{drawn}"
