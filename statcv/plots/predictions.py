"""Observed outcomes against held-out predictions, and the errors of predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.errors import OutcomeError
from statcv.inference import Readable
from statcv.plots import base
from statcv.plots.drawn import Drawn, how_averaged, one_result
from statcv.plots.fit import draw_legend, fitting

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
        ends = [min(observed.min(), predicted.min())]
        ends.append(max(observed.max(), predicted.max()))
        base.draw_diagonal(ax, ends)
        _draw_points(ax, predicted, observed, base.COLOURS[0])
    else:
        draw_classes(ax, result, predicted, observed)
    across = base.prediction_label(result.scores, "prediction")
    ax.set(xlabel=across, ylabel=f"observed {outcome.name}")
    ax.set_title(base.titled("Observed against predicted", how_averaged(result.scores)))
    return ax


def draw_classes(ax: Axes, result: Readable, values: base.Floats, codes: Any) -> None:
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
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    fitting(ax).names = tuple(names)


def _draw_points(ax: Axes, x: base.Floats, y: base.Floats, colour: str) -> None:
    size = 4 if len(x) <= MANY else 1.5
    ax.plot(x, y, "o", color=colour, markersize=size, alpha=0.6, markeredgewidth=0)


def _read(result: Readable) -> tuple[base.Floats, Any]:
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
    mean = [y[part].mean() for part in parts]
    reach = [
        t.isf((1 - level) / 2, len(part) - 1) * y[part].std(ddof=1) / len(part) ** 0.5
        for part in parts
    ]
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
    ax.set(xlabel=across, ylabel=f"observed {result.design.outcome.name}")
    ax.set_title(f"Calibration in {len(parts)} groups")
    draw_legend(ax)


def draw_errors(result: Readable, ax: Axes) -> None:
    """Draw observed minus predicted against the prediction."""
    predicted, y = _read(result)
    base.draw_level(ax, 0)
    _draw_points(ax, predicted, y - predicted, base.COLOURS[0])
    across = base.prediction_label(result.scores, "prediction")
    ax.set(xlabel=across, ylabel="observed minus predicted")
    ax.set_title("Errors by prediction")


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
    ax.set(xlabel="observed minus predicted", ylabel="records", title="Errors")
    draw_legend(ax)
