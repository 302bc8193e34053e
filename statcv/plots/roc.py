"""ROC curves of held-out predictions, with bands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.arguments import check_level, check_types
from statcv.errors import ArgumentError
from statcv.inference import Readable
from statcv.inference.estimates.pairs import ConcordantPairs
from statcv.metrics import auroc, paired_roc, paired_roc_band, roc_band, roc_curve
from statcv.plots.base import (
    draw_band,
    draw_curve,
    draw_diagonal,
    draw_legend,
    has_curves,
    new_axes,
)
from statcv.plots.curves import (
    Band,
    Floats,
    Line,
    band_method,
    curve_label,
    curve_title,
    draw_lines,
    draw_repeats,
    how_drawn,
)
from statcv.plots.protocol import Drawn, named_results, placed_pairs, records_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_roc(
    *results: Drawn,
    ax: Axes | None = None,
    label: str | None = None,
    by: Any = None,
    band: Band = False,
    level: float = 0.95,
) -> Axes:
    """Draw the ROC curve of the held-out predictions, of one or several results.

    There is one line per repeat, of the pooled predictions of that repeat. The legend
    gives the area under the curve (with several repeats, the mean area), which is the
    pooled auROC, and also the headline estimate if that is a different one.

    With a band there is one curve of the predictions averaged over repeats, and the
    legend gives its area.

    Under ``"leave_pair_out"`` only records held out by the same fit are compared, and a
    record has no score of its own. The curve is then the distribution function of the
    placement values (``statcv.metrics.paired_roc``), where the placement value of
    a positive record is the share of its pairs in which the negative record ranks
    higher; the area under the curve is the headline. Under
    ``"tournament_leave_pair_out"`` the score of a record is the share of all its pairs
    that it won (Montoya Perez et al. 2019); the area is pooled, and somewhat too low
    for noise.

    Parameters
    ----------
    *results : CVResult, mapping of str to CVResult, or Comparison
        One result for a binary outcome, or several, which are named by their
        differences; or a mapping of names to results.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; those of a new figure by default. Further calls with the same
        Axes add curves.
    label : str, optional
        Name of a single curve in the legend; the scheme by default.
    by : str or array-like, optional
        Grouping of the records of one result, with one curve per group: a column of the
        data, or one value per row of it.
    band : bool or {"pointwise", "simultaneous"}, default False
        Confidence band to shade. With ``True`` or ``"pointwise"`` the level holds at
        each false positive rate separately (stratified bootstrap of records, or of
        whole clusters). With ``"simultaneous"`` it holds for the whole curve (from
        Kolmogorov-Smirnov bands of both classes), and the band is wide. Both take the
        fits as given.
    level : float, default 0.95
        Confidence level of the band.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.

    Raises
    ------
    OutcomeError
        If the outcome does not have two classes.
    ArgumentError
        If ``band`` is not one of these values, or is simultaneous and records come in
        clusters or are compared in pairs.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> ax = scv.plots.plot_roc(res, band=True, label="four folds")
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['four folds: auROC 0.835 (per fold 0.833)', '95% band, pointwise']
    """
    check_types(plot_roc, locals())
    check_level(level)
    named = named_results(results, "plot_roc", label, by)
    for name, result in named.items():
        ax = _add_roc(result, ax, name, band, level)
    assert ax is not None  # there is at least one result
    return ax


def _add_roc(
    result: Readable, ax: Axes | None, label: str, band: Band, level: float
) -> Axes:
    """Add the ROC curve of a result."""
    records = records_of(result, "a ROC curve", rank=True)
    method = band_method(band)
    if method == "simultaneous" and records.clusters is not None:
        raise ArgumentError(
            "a simultaneous band takes the records as independent, but some belong to "
            "one cluster; use band='pointwise', which draws whole clusters."
        )
    pairs = placed_pairs(result.scores)
    if method == "simultaneous" and pairs is not None:
        raise ArgumentError(
            "no simultaneous band is known for records that are compared in pairs; use "
            "band='pointwise'."
        )
    ax = new_axes(ax)
    if not has_curves(ax):
        draw_diagonal(ax)
    if pairs is not None:
        _draw_pairs(result, ax, pairs, label, None if method is None else level)
        return _finished_roc(ax, _how_paired(result, method))

    def points(y: Floats, score: Floats) -> Line:
        curve = roc_curve(y, score)
        return curve.fpr, curve.tpr

    if method is None:
        draw_repeats(result, ax, points, curve_label(result, "auroc", label))
    else:
        clusters = None if method == "simultaneous" else records.clusters
        seed = None if method == "simultaneous" else result.seed
        shaded = roc_band(
            records.y,
            records.predicted,
            level=level,
            method=method,
            clusters=clusters,
            seed=seed,
        )
        area = auroc(records.y, records.predicted)
        named = curve_label(result, "auroc", label, area)
        line = points(records.y.astype(float), records.predicted)
        draw_band(ax, shaded, draw_curve(ax, *line, named))
    return _finished_roc(ax, how_drawn(result, method))


def _finished_roc(ax: Axes, how: str) -> Axes:
    """Add the labels, the title and the legend."""
    ax.set(
        xlabel="1 − specificity",
        ylabel="sensitivity",
        title=curve_title(ax, "ROC", how),
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        aspect="equal",
    )
    draw_legend(ax, "lower right")
    return ax


def _how_paired(result: Readable, method: str | None) -> str:
    repeats = len(result.scores.by_repeat)
    if repeats == 1:
        return "compared in pairs"
    over = "by repeat" if method is None else f"over {repeats} repeats"
    return f"compared in pairs {over}"


def _draw_pairs(
    result: Readable,
    ax: Axes,
    pairs: ConcordantPairs,
    label: str,
    level: float | None,
) -> None:
    """Draw the curve of pairs, one per repeat, or one of all repeats with its band."""
    every = pairs.first, pairs.second, pairs.won
    if level is None:
        curves = [
            paired_roc(*(side[pairs.repeat == number] for side in every))
            for number in np.unique(pairs.repeat)
        ]
        area = float(np.mean([curve.area for curve in curves]))
        lines = [(curve.fpr, curve.tpr) for curve in curves]
        draw_lines(ax, lines, curve_label(result, "auroc", label, area, "paired"))
        return
    clusters = result.scores.clusters
    band = paired_roc_band(*every, level=level, clusters=clusters, seed=result.seed)
    curve = paired_roc(*every)
    legend = curve_label(result, "auroc", label, curve.area, "paired")
    draw_band(ax, band, draw_curve(ax, curve.fpr, curve.tpr, legend))
