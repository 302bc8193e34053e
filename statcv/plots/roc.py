"""ROC curves of held-out predictions, with bands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.arguments import check_level, check_types
from statcv.errors import ArgumentError
from statcv.inference import Readable
from statcv.inference.estimates.pairs import ConcordantPairs
from statcv.metrics import paired_roc, paired_roc_band, roc_band, roc_curve
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
    draw_kind,
    draw_lines,
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

    There is one line per repeat, of the pooled predictions of that repeat; with a band
    there is one curve of the predictions averaged over repeats. The legend gives the
    headline estimate, as ``print(result)`` does, and its interval if there is one
    result. If the headline is a mean over folds, or is from pairs that one fit
    predicts, the area under the pooled curve may differ slightly.

    Under ``"leave_pair_out"`` only records held out by the same fit are compared, and a
    record has no score of its own. The curve is then the distribution function of the
    placement values (``statcv.metrics.paired_roc``), where the placement value of
    a positive record is the share of its pairs in which the negative record ranks
    higher. Under
    ``"tournament_leave_pair_out"`` the score of a record is the share of all its pairs
    that it won (Montoya Perez et al. 2019).

    Parameters
    ----------
    *results : CVResult, mapping of str to CVResult, or Comparison
        One result for a binary outcome, or several, which are named by their
        differences; or a mapping of names to results.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on, to which further calls add curves; those of a new figure by
        default.
    label : str, optional
        Name of a single curve in the legend.
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
        Confidence level of the band and the interval.

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
    ['four folds: auROC 0.83', '95% band, pointwise']
    """
    check_types(plot_roc, locals())
    check_level(level)
    for name, result in named_results(results, "plot_roc", label, by).items():
        ax = _add_roc(result, ax, name, band, level)
    assert ax is not None  # there is at least one result
    return ax


def _add_roc(
    result: Readable, ax: Axes | None, name: str, band: Band, level: float
) -> Axes:
    """Add the ROC curve of a result."""
    records = records_of(result, "a ROC curve", rank=True)
    method, pairs = band_method(band), placed_pairs(result.scores)
    why = ""
    if records.clusters is not None:
        why = "takes the records as independent, but some belong to one cluster"
    elif pairs is not None:
        why = "is not known for records that are compared in pairs"
    if method == "simultaneous" and why:
        raise ArgumentError(f"a simultaneous band {why}; use band='pointwise'.")
    ax = new_axes(ax)
    if not has_curves(ax):
        draw_diagonal(ax)
    legend, how = curve_label(result, "auroc", name, level), how_drawn(result, method)
    drawn: dict[str, Any] = {"level": level, "clusters": records.clusters}
    drawn["seed"] = result.seed
    if pairs is not None:
        _draw_pairs(ax, pairs, legend, None if method is None else drawn)
        repeats = len(result.scores.by_repeat)
        how = "by repeat" if method is None else f"over {repeats} repeats"
        how = f"compared in pairs {how if repeats > 1 else ''}".strip()
    else:
        if method == "simultaneous":
            drawn |= {"clusters": None, "seed": None}
        given = records.y, records.predicted
        shaded = method and roc_band(*given, method=method, **drawn)
        draw_kind(result, ax, _points, shaded or None, legend)
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


def _points(y: Floats, score: Floats) -> Line:
    curve = roc_curve(y, score)
    return curve.fpr, curve.tpr


def _draw_pairs(
    ax: Axes, pairs: ConcordantPairs, legend: str, drawn: dict[str, Any] | None
) -> None:
    """Draw the curve of pairs, one per repeat, or one of all repeats with its band."""
    every = pairs.first, pairs.second, pairs.won
    if drawn is not None:
        whole = paired_roc(*every)
        shaded = paired_roc_band(*every, **drawn)
        draw_band(ax, shaded, draw_curve(ax, whole.fpr, whole.tpr, legend))
        return
    repeats = [pairs.repeat == number for number in np.unique(pairs.repeat)]
    curves = [paired_roc(*(side[one] for side in every)) for one in repeats]
    draw_lines(ax, [(curve.fpr, curve.tpr) for curve in curves], legend)
