"""The distribution of predicted risk in each class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from statcv.arguments import check_whole
from statcv.plots import base
from statcv.plots.drawn import Drawn, one_result, records_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def _edges(predicted: base.Floats, risks: bool, bins: int | None) -> base.Floats:
    """Return the edges of the bars, which span 0 to 1 for risks."""
    count = bins or int(np.clip(np.sqrt(len(predicted)), 10, MOST_BINS))
    if risks:
        return np.linspace(0, 1, count + 1)
    if not len(predicted):
        return np.linspace(-1, 1, count + 1)
    if np.ptp(predicted) <= SAME * np.abs(predicted).max():  # within one bar
        around: base.Floats = (np.arange(count + 1) - count // 2 - 0.5) / count
        return around + float(predicted.mean())
    return np.histogram_bin_edges(predicted, count)


def _draw_threshold(ax: Axes, chosen: base.Floats | None, default: float) -> None:
    """Draw a line at the threshold, and shade the range of several thresholds."""
    cuts = np.array([default]) if chosen is None else chosen
    middle, low, high = np.median(cuts), cuts.min(), cuts.max()
    label = f"threshold {middle:.3g}"
    if low < high:
        ax.axvspan(low, high, color=base.GREY, alpha=0.15, linewidth=0)
        label += f" ({low:.3g} to {high:.3g})"
    ax.axvline(middle, color=base.ink(), linewidth=1, linestyle="--", label=label)
