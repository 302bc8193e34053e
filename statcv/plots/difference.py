"""Two results of the same records: where one is better, and by how much."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ArgumentError
from statcv.metrics import Metric, roc_difference
from statcv.plots.base import COLOURS, CURVE, GREY, new_axes, no_band, shade, written
from statcv.plots.compared import Compared
from statcv.plots.pairing import Pair, change, of_comparison, of_results
from statcv.readable import Readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
MOST_POINTS = 200  # records; more are drawn as a line
TINY = 1e-12  # a difference in loss that is rounding
SHORT = 24  # letters of names that share a line
LINE = 56  # letters of a line of the title


def plot_difference(
    first: Compared | Readable,
    second: Readable | None = None,
    ax: Axes | None = None,
    *,
    metric: str | Metric | None = None,
    pair: tuple[str, str] | None = None,
    level: float = 0.95,
    n_boot: int | None = None,
) -> Axes:
    """Draw the paired difference of two results, second less first.

    For auROC: the difference in sensitivity along the false positive rate, with a
    pointwise bootstrap band that draws records (or whole clusters) for both curves;
    the area between line and zero is the difference in auROC, which the title gives
    with its test. For a mean over records, such as the Brier score: each record's
    difference, in order, with their mean and its interval as a band across. Where a
    comparison tests other estimates than those of the pooled predictions drawn, per
    fold or paired, the title has both differences and says which is tested.

    Predictions are averaged over repeats, so that each record counts once.

    Parameters
    ----------
    first : Comparison or CVResult
        A comparison, whose metric, test and level are taken; or a result.
    second : CVResult, optional
        The other result, of the same records.
    ax : matplotlib.axes.Axes, optional
    metric : str, optional
        Of two results: ``"auroc"`` for two classes, ``"accuracy"`` for more,
        ``"mse"`` for numbers where not given.
    pair : tuple of str, optional
        Which two of a comparison, as its ``differences`` has them; the first row.
    level : float, default 0.95
        Of two results.
    n_boot : int, optional
        Bootstrap samples of the band; 2000 by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ComparisonError
        If the results are not of the same records and outcomes.
    MetricError
        If the metric is neither auROC nor a mean over records.
    ArgumentError, ArgumentTypeError
        If there is no such pair, or only one result.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> a = scv.cv("GRADE ~ GPA", df, seed=1)
    >>> b = a.update(formula=". ~ . + PSI")
    >>> compared = scv.compare(small=a, large=b, test="delong")
    >>> ax = scv.plot_difference(compared)
    >>> ax.get_title().splitlines()[0]
    'large less small: difference in auROC 0.035'
    """
    if second is None:
        found = of_comparison(first, pair, metric)
    elif pair is not None:
        raise ArgumentError(f"pair={pair!r} means nothing for two results.")
    else:
        found = of_results(first, second, metric, level)
    ax = new_axes(ax)
    if found.metric.name == "auroc":
        _draw_curve(ax, found, n_boot)
    elif n_boot is not None:
        raise ArgumentError(
            f"n_boot={n_boot!r} means nothing for {found.metric.label}, whose interval "
            "is not from a bootstrap."
        )
    else:
        _draw_records(ax, found)
    ax.set_title(_title(found), fontsize="medium")
    return ax


def _draw_curve(ax: Axes, found: Pair, n_boot: int | None) -> None:
    """Draw the difference of two ROC curves."""
    first, second = found.read
    band = roc_difference(
        found.y,
        second,
        first,
        level=found.level,
        clusters=found.clusters,
        n_boot=n_boot,
        seed=found.seed,
    )
    ax.axhline(0, color=GREY, linewidth=0.8, linestyle=":")
    (line,) = ax.plot(band.at, band.estimate, color=COLOURS[0], linewidth=1.8)
    line.set_gid(CURVE)
    if band.reason:
        ax.plot([], [], " ", label=no_band(band.reason))
    else:
        named = f"{100 * band.level:g}% band, pointwise"
        shade(ax, band.at, band.lower, band.upper, COLOURS[0], named)
    ax.legend(loc="lower right", frameon=False, fontsize="small")
    _even_about_zero(ax)
    ax.set(xlabel="1 − specificity", ylabel="difference in sensitivity")
    ax.set_xlim(-0.02, 1.02)


def _draw_records(ax: Axes, found: Pair) -> None:
    """Draw the records' differences in order, their mean and its interval."""
    each = change(found.metric, found.y, found.read)
    ordered = np.sort(each[np.isfinite(each)])
    ax.axhline(0, color=GREY, linewidth=0.8, linestyle=":")
    test, named = found.test, f"mean ({found.tested})" if found.tested else "mean"
    if not np.isnan([test.lower, test.upper]).any():
        ax.axhspan(test.lower, test.upper, color=COLOURS[1], alpha=0.2, linewidth=0)
        named += f", {100 * found.level:g}% interval"
    if not np.isnan(test.difference):
        ax.axhline(test.difference, color=COLOURS[1], linewidth=1.4, label=named)
    places = np.arange(1, len(ordered) + 1)
    mark = "o" if len(ordered) <= MOST_POINTS else "-"
    (records,) = ax.plot(places, ordered, mark, color=COLOURS[0], markersize=3.5)
    records.set(gid=CURVE, label=_counted(ordered, found))
    _even_about_zero(ax)
    ax.set(
        xlabel="records, in order",
        ylabel=f"difference in {found.metric.label} of a record",
    )
    ax.legend(loc="upper left", frameon=False, fontsize="small")


def _even_about_zero(ax: Axes) -> None:
    """Give as much room below zero as above."""
    half = 1.25 * max(map(abs, ax.get_ylim()))
    ax.set_ylim(-half, half)


def _counted(each: Floats, found: Pair) -> str:
    """Say in how many records the second result is better, and worse."""
    gain = each if found.metric.greater_is_better else -each
    better, worse = int((gain > TINY).sum()), int((gain < -TINY).sum())
    name = found.names[1] if len(found.names[1]) <= SHORT else "second"
    said = f"{name} better in {better}, worse in {worse}"
    same = len(each) - better - worse
    return f"{said}, equal in {same}" if same else said


def _title(found: Pair) -> str:
    """Write the difference that is shown, and the test with what it is of."""
    (first, second), test = found.names, found.test
    what = f"{second} less {first}"
    what = f"{what}: " if len(what) <= SHORT else f"{fill(what, LINE)}\n"
    no_value = np.isnan(found.shown)
    value = "has no value" if no_value else written(found.shown)
    headline = f"{what}difference in {found.metric.label} {value}"
    how = fill(f"held-out predictions {found.how}", LINE)
    if found.tested:
        of_what = f"difference ({found.tested})"
        if np.isnan(test.difference):
            said = f"tested: {of_what}, which has no value"
        else:
            said = f"tested: {of_what} {written(test.difference)}, {_tested(found)}"
        return f"{headline}\nshown: {how}\n{fill(said, LINE)}"
    if no_value:
        return f"{headline}\n{how}"
    return f"{headline}\n{_tested(found)}\n{how}"


def _tested(found: Pair) -> str:
    """Write the interval and the p-value of the test."""
    test = found.test
    if np.isnan([test.lower, test.upper]).any():
        said = f"no interval, {found.method}"
    else:
        said = f"{written(test.lower)} to {written(test.upper)} by {found.method}"
    if not np.isnan(test.p_value):
        small = test.p_value < 1e-4
        said += f", p {'< 0.0001' if small else f'= {test.p_value:.2g}'}"
    return said
