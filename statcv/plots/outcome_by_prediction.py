"""Held-out predictions: against the outcome, their errors, and risk in each class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.arguments import check_whole
from statcv.errors import OutcomeError
from statcv.inference import Readable
from statcv.numeric.arrays import Floats
from statcv.plots import base
from statcv.plots.drawn import Drawn, how_averaged, one_result, records_of
from statcv.plots.fit import name_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MANY = 200  # number of records above which points are small
JITTER = 0.3  # width over which the points of a class are spread
GROUPS = 10  # groups of the predictions whose mean outcomes are drawn


def plot_predicted(*results: Drawn, ax: Axes | None = None) -> Axes:
    """Draw the observed class, or continuous outcome, against held-out predictions.

    Each record is one point. Its predictions are averaged over repeats. The points of a
    class are spread at random, always in the same way for the same result.

    Parameters
    ----------
    *results : CVResult
        One result for a binary or continuous outcome.
    ax : matplotlib.axes.Axes, optional

    Raises
    ------
    OutcomeError
        If the outcome has more than two classes, or is a time to an event.
    ArgumentError
        If several results are given.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> scv.plots.plot_predicted(res).get_ylabel()
    'observed GRADE'
    """
    instead = "plot_forest(a, b) shows the estimates of several results"
    result = one_result(results, "plot_predicted", instead)
    outcome = result.design.outcome
    if outcome.kind in ("multiclass", "survival"):
        other = "; plot_survival() is for times to an event"
        raise OutcomeError(
            "plot_predicted() needs an outcome of two classes, or a continuous outcome"
            f"{other * (outcome.kind == 'survival')}."
        )
    ax = base.new_axes(ax)
    predicted, observed = _read(result)
    if outcome.kind == "continuous":
        both = np.concatenate([observed, predicted])
        base.draw_diagonal(ax, [both.min(), both.max()])
        _draw_points(ax, predicted, observed, base.COLOURS[0])
    else:
        draw_classes(ax, result, predicted, observed)
    across = base.prediction_label(result.scores, "prediction")
    title = base.titled("Observed against predicted", how_averaged(result.scores))
    return base.finish(ax, across, f"observed {outcome.name}", title)


def draw_classes(ax: Axes, result: Readable, values: Floats, codes: Any) -> None:
    """Draw one value of each record by its class: points, and a box of each class."""
    outcome = result.design.outcome
    rng, names = np.random.default_rng(result.seed), []
    line = {"color": base.ink()}
    look: dict[str, Any] = {"orientation": "horizontal", "widths": 0.5}
    look |= {"showfliers": False, "medianprops": {**line, "linewidth": 1.5}}
    look |= dict.fromkeys(("boxprops", "whiskerprops", "capprops"), line)
    for code, level in enumerate(outcome.levels):
        own = values[codes == code]
        names.append(f"{level} (n = {len(own)})")
        spread = code + JITTER * (rng.random(len(own)) - 0.5)
        _draw_points(ax, own, spread, base.COLOURS[code % len(base.COLOURS)])
        ax.boxplot([own], positions=[code], **look)
    name_rows(ax, names, ())
    ax.set_ylim(len(names) - 0.5, -0.5)


def _draw_points(ax: Axes, x: Floats, y: Floats, colour: str) -> None:
    size = 4 if len(x) <= MANY else 1.5
    ax.plot(x, y, "o", color=colour, markersize=size, alpha=0.6, markeredgewidth=0)


def _read(result: Readable) -> tuple[Floats, Any]:
    """Return the mean prediction of each record, and its outcome."""
    rows, predicted = result.scores.mean_prediction()
    return predicted, result.design.outcome.y[rows]


# ---- errors of a continuous outcome ----


def draw_group_means(result: Readable, ax: Axes, level: float) -> None:
    """Draw the mean outcome in groups of the predictions: calibration in the large."""
    from scipy.stats import t

    predicted, y = _read(result)
    parts = np.array_split(np.argsort(predicted), min(GROUPS, max(len(y) // 5, 1)))
    at = [predicted[part].mean() for part in parts]
    mean, size = [y[part].mean() for part in parts], np.array([*map(len, parts)])
    spread = np.array([y[part].std(ddof=1) for part in parts])
    reach = t.isf((1 - level) / 2, size - 1) * spread / size**0.5
    base.draw_diagonal(ax, [min([*at, *mean]), max([*at, *mean])])
    named = f"mean, {100 * level:g}% interval"
    mark: dict[str, Any] = {"fmt": "o", "markersize": 4, "elinewidth": 0.8}
    ax.errorbar(at, mean, yerr=reach, color=base.COLOURS[2], label=named, **mark)
    slope, intercept = np.polyfit(predicted, y, 1)
    ends = np.array([predicted.min(), predicted.max()])
    fitted = f"least squares, slope {base.written(slope, 2)}"
    look: dict[str, Any] = {"color": base.COLOURS[2], "lw": 1, "label": fitted}
    ax.plot(ends, intercept + slope * ends, "--", **look)
    across = base.prediction_label(result.scores, "prediction")
    named, title = result.design.outcome.name, f"Calibration in {len(parts)} groups"
    base.finish(ax, across, f"observed {named}", title)


def draw_errors(result: Readable, ax: Axes) -> None:
    """Draw observed minus predicted against the prediction."""
    predicted, y = _read(result)
    base.draw_level(ax, 0)
    _draw_points(ax, predicted, y - predicted, base.COLOURS[0])
    across = base.prediction_label(result.scores, "prediction")
    base.finish(ax, across, "observed minus predicted", "Errors by prediction")


def draw_error_distribution(result: Readable, ax: Axes) -> None:
    """Draw the distribution of observed minus predicted, with its quartiles."""
    predicted, y = _read(result)
    errors = y - predicted
    bins = int(np.clip(np.sqrt(len(errors)), 8, 40))
    counts, edges = np.histogram(errors, bins)
    base.draw_bars(ax, edges, counts, base.COLOURS[5])
    low, middle, high = np.quantile(errors, [0.25, 0.5, 0.75])
    digits = int(np.clip(2 - np.floor(np.log10(max(np.ptp(errors), 1e-9))), 0, 5))
    said = f"{base.written(low, digits)} to {base.written(high, digits)}"
    for value, label in ((low, f"quartiles {said}"), (high, "")):
        ax.axvline(value, color=base.ink(), linewidth=0.8, linestyle="--", label=label)
    median = f"median {base.written(middle, digits)}"
    ax.axvline(middle, color=base.ink(), linewidth=1.2, label=median)
    base.finish(ax, "observed minus predicted", "records", "Errors")


# ---- the distribution of predicted risk in each class ----


MOST_BINS = 40
# range of predictions, as a share of the largest, below which they are equal
SAME = 1e-9


MAX_BARS = 1000  # bars of one class


def plot_risk(*results: Drawn, ax: Axes | None = None, bins: int | None = None) -> Axes:
    """Draw the distribution of predicted risk in each class, back to back.

    Bars upwards show the positive records, and bars downwards the negative records,
    each as a share of its own class. Predictions are averaged over repeats. The dashed
    line is the threshold from which on class 1 is predicted, unless decisions are those
    of the model's ``predict``. If thresholds were chosen in each training set, it is
    their median, and their range is shaded.

    Parameters
    ----------
    *results : CVResult
        One result for a binary outcome. Scores that are not probabilities are drawn
        unchanged.
    ax : matplotlib.axes.Axes, optional
    bins : int, optional
        Number of bars per class; by default about the square root of the number of
        records, between 10 and 40.

    Raises
    ------
    OutcomeError
        If the outcome does not have two classes.
    ArgumentError
        If several results are given.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> scv.plots.plot_risk(res).get_title()
    'Risk by outcome, held-out predictions pooled'
    """
    instead = "plot_roc(a, b) and plot_decision(a, b) compare several results"
    result = one_result(results, "plot_risk", instead)
    if bins is not None:
        check_whole(bins, "bins", least=1, most=MAX_BARS)
    records = records_of(result, "risk by outcome")
    ax, scores, outcome = base.new_axes(ax), result.scores, result.design.outcome
    finite = np.isfinite(records.predicted)
    y, predicted = records.y[finite], records.predicted[finite]
    risks = scores.probabilities and bool(((predicted >= 0) & (predicted <= 1)).all())
    edges = _edges(predicted, risks, bins)
    ax.axhline(0, color=base.ink(), linewidth=0.8)
    tallest = [0.0, 0.0]
    for code, side in ((1, 1), (0, -1)):
        own = predicted[y == code]
        share = np.histogram(own, edges)[0] / max(len(own), 1)
        tallest[code] = float(share.max())
        label = f"{outcome.name} = {outcome.levels[code]} (n = {len(own)})"
        base.draw_bars(ax, edges, side * share, base.COLOURS[code], label)
    if not scores.decided:
        _draw_threshold(ax, scores.threshold, 0.5 if scores.probabilities else 0.0)
    room = 0.05 * sum(tallest)
    ax.set_ylim(-tallest[0] - room, tallest[1] + room)
    ax.yaxis.set_major_formatter(lambda height, _: f"{abs(height):g}")
    title = base.titled("Risk by outcome", records.how)
    if not finite.all():
        title += f", {int((~finite).sum())} without a finite prediction omitted"
    what = "predicted risk" if risks else "score"
    across = base.prediction_label(scores, what)
    ax.set(xlabel=across, ylabel="share of the class", title=title)
    handles, labels = ax.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda k: "threshold" in labels[k])
    base.draw_legend(ax, None, [handles[k] for k in order])
    return ax


def _edges(predicted: Floats, risks: bool, bins: int | None) -> Floats:
    """Return the edges of the bars, which span 0 to 1 for risks."""
    count = bins or int(np.clip(np.sqrt(len(predicted)), 10, MOST_BINS))
    if risks:
        return np.linspace(0, 1, count + 1)
    if not len(predicted):
        return np.linspace(-1, 1, count + 1)
    if np.ptp(predicted) <= SAME * np.abs(predicted).max():  # within one bar
        around: Floats = (np.arange(count + 1) - count // 2 - 0.5) / count
        return around + float(predicted.mean())
    return np.histogram_bin_edges(predicted, count)


def _draw_threshold(ax: Axes, chosen: Floats | None, default: float) -> None:
    """Draw a line at the threshold, and shade the range of several thresholds."""
    cuts = np.array([default]) if chosen is None else chosen
    middle, low, high = np.median(cuts), cuts.min(), cuts.max()
    label = f"threshold {middle:.3g}"
    if low < high:
        ax.axvspan(low, high, color=base.GREY, alpha=0.15, linewidth=0)
        label += f" ({low:.3g} to {high:.3g})"
    ax.axvline(middle, color=base.ink(), linewidth=1, linestyle="--", label=label)
