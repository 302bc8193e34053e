"""ROC and precision-recall curves of held-out predictions."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import check_level, check_types, one_of
from statcv.errors import ArgumentError
from statcv.inference import Readable
from statcv.inference.estimates.pairs import ConcordantPairs
from statcv.metrics import (
    CurveBand,
    auprc,
    auroc,
    paired_roc,
    paired_roc_band,
    pr_band,
    pr_curve,
    roc_band,
    roc_curve,
)
from statcv.plots.base import (
    CURVE,
    EXTERNAL,
    GREY,
    LEGEND,
    has_curves,
    new_axes,
    next_colour,
    no_band,
    shade,
    titled,
)
from statcv.plots.protocol import (
    Drawn,
    how_averaged,
    named_results,
    placed_pairs,
    records_of,
)
from statcv.plots.splits import Place, legend_clear_of_lines
from statcv.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Line = tuple[Floats, Floats]
Band = bool | Literal["pointwise", "simultaneous"]
SHORT = 28  # longest last line of a legend entry that leaves room beside it
METHODS = ("pointwise", "simultaneous")
AREAS = {"average_precision": "auprc", "trapezoid": "auprc_trapezoid"}


def plot_roc(
    *results: Drawn,
    ax: Axes | None = None,
    label: str | None = None,
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
    placement values (:func:`statcv.metrics.paired_roc`), where the placement value of
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
    named = named_results(results, "plot_roc", label)
    for name, result in named.items():
        ax = _add_roc(result, ax, name, band, level)
    assert ax is not None  # there is at least one result
    return ax


def _add_roc(
    result: Readable, ax: Axes | None, label: str, band: Band, level: float
) -> Axes:
    """Add the ROC curve of a result."""
    records = records_of(result, "a ROC curve", rank=True)
    method = _method(band)
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
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    if pairs is not None:
        _draw_pairs(result, ax, pairs, label, None if method is None else level)
        return _finished_roc(ax, _how_paired(result, method))

    def points(y: Floats, score: Floats) -> Line:
        curve = roc_curve(y, score)
        return curve.fpr, curve.tpr

    if method is None:
        _draw(result, ax, points, _legend(result, "auroc", label))
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
        named = _legend(result, "auroc", label, area)
        line = points(records.y.astype(float), records.predicted)
        _draw_band(ax, line, shaded, named)
    return _finished_roc(ax, _how(result, method))


def _finished_roc(ax: Axes, how: str) -> Axes:
    """Add the labels, the title and the legend."""
    ax.set(
        xlabel="1 − specificity",
        ylabel="sensitivity",
        title=_title(ax, "ROC", how),
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        aspect="equal",
    )
    _solid_legend(ax, _clearer_side(ax))
    return ax


def plot_pr(
    *results: Drawn,
    ax: Axes | None = None,
    label: str | None = None,
    band: bool | Literal["pointwise"] = False,
    level: float = 0.95,
    method: Literal["average_precision", "trapezoid"] = "average_precision",
) -> Axes:
    """Draw the precision-recall curve of the pooled held-out predictions.

    There is one line per repeat. With a band there is one curve of the predictions
    averaged over repeats, and the legend gives its area. The dotted line is the share
    of positives, which is the precision of a model without skill.

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
    band : bool or "pointwise", default False
        Whether to shade a confidence band, whose level holds at each recall separately.
        It is a bootstrap of the records of each class, or of whole clusters, and takes
        the fits and the share of positives as given.
    level : float, default 0.95
        Confidence level of the band.
    method : {"average_precision", "trapezoid"}
        Area in the legend, with points joined accordingly: by steps, beginning at the
        first true positive; or by straight lines, beginning at recall 0 and precision
        1.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.

    Raises
    ------
    OutcomeError
        If the outcome does not have two classes.
    ArgumentError
        If ``band`` or ``method`` is not one of these values.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> ax = scv.plots.plot_pr(res, label="four folds")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('recall (sensitivity)', 'precision')
    """
    check_types(plot_pr, locals())
    check_level(level)
    one_of(method, AREAS, "method")
    shading = _method(band)
    if shading == "simultaneous":
        raise ArgumentError(
            "no simultaneous band is known for a precision-recall curve; use "
            "band='pointwise'."
        )
    named = named_results(results, "plot_pr", label)
    for name, result in named.items():
        ax = _add_pr(result, ax, name, shading, level, method)
    assert ax is not None  # there is at least one result
    return ax


def _add_pr(
    result: Readable,
    ax: Axes | None,
    label: str,
    shading: str | None,
    level: float,
    method: Literal["average_precision", "trapezoid"],
) -> Axes:
    """Add the precision-recall curve of a result."""
    records = records_of(result, "a precision-recall curve", rank=True)
    ax = new_axes(ax)
    if not has_curves(ax):
        share = float(np.mean(records.y))
        ax.axhline(share, color=GREY, linewidth=0.8, linestyle=":")

    metric, by_steps = AREAS[method], method == "average_precision"

    def points(y: Floats, score: Floats) -> Line:
        curve = pr_curve(y, score)
        return curve.steps if by_steps else (curve.recall, curve.precision)

    style = {"drawstyle": "steps-pre"} if by_steps else {}
    if shading is None:
        _draw(result, ax, points, _legend(result, metric, label), **style)
    else:
        shaded = pr_band(
            records.y,
            records.predicted,
            level=level,
            clusters=records.clusters,
            seed=result.seed,
        )
        area = auprc(records.y, records.predicted, method=method)
        named = _legend(result, metric, label, area)
        line = points(records.y.astype(float), records.predicted)
        _draw_band(ax, line, shaded, named, **style)
    ax.set(
        xlabel="recall (sensitivity)",
        ylabel="precision",
        title=_title(ax, "Precision and recall", _how(result, shading)),
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.05),
    )
    _solid_legend(ax, _clearest(ax))
    return ax


def _title(ax: Axes, what: str, how: str) -> str:
    """Return the title of all curves, which may be of several kinds."""
    title, before = titled(what, how), ax.get_title()
    if before in ("", title):
        return title
    external = [EXTERNAL in one for one in (before, title)]
    if all(external):
        return f"{what}, {EXTERNAL}"
    return f"{what}, held-out predictions" + f"\nand {EXTERNAL}" * any(external)


def _method(band: Band) -> Literal["pointwise", "simultaneous"] | None:
    one_of(band, (True, False, *METHODS), "band")
    if isinstance(band, bool):
        return "pointwise" if band else None
    return band


def _how(result: Readable, method: str | None) -> str:
    """Return how the predictions of the curve were combined, for the title."""
    scores = result.scores
    if method is None and len(scores.by_repeat) > 1:
        return EXTERNAL + ", by repeat" if scores.external else "pooled by repeat"
    return how_averaged(scores)


def _how_paired(result: Readable, method: str | None) -> str:
    repeats = len(result.scores.by_repeat)
    if repeats == 1:
        return "compared in pairs"
    over = "by repeat" if method is None else f"over {repeats} repeats"
    return f"compared in pairs {over}"


def _draw(
    result: Readable,
    ax: Axes,
    points: Callable[[Floats, Floats], Line],
    legend: str,
    **style: Any,
) -> None:
    """Draw one line per repeat; the first is in the legend."""
    scores = result.scores
    parts = [scores.by_record(where, rank=True) for where in scores.by_repeat]
    lines = [
        points(scores.y[rows], scores.to_rank(predicted)) for rows, predicted in parts
    ]
    _draw_lines(ax, lines, legend, **style)


def _draw_lines(ax: Axes, lines: list[Line], legend: str, **style: Any) -> None:
    """Draw lines, which are thinner if there are many; the first is in the legend."""
    colour = next_colour(ax)
    style |= {"linewidth": 1.8 if len(lines) == 1 else 0.9}
    style |= {"alpha": max(0.15, 1 / np.sqrt(len(lines)))}
    for number, points in enumerate(lines):
        (line,) = ax.plot(*points, color=colour, **style)
        if number == 0:
            line.set(gid=CURVE, label=legend)


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
        _draw_lines(ax, lines, _legend(result, "auroc", label, area, "paired"))
        return
    clusters = result.scores.clusters
    band = paired_roc_band(*every, level=level, clusters=clusters, seed=result.seed)
    curve = paired_roc(*every)
    legend = _legend(result, "auroc", label, curve.area, "paired")
    _draw_band(ax, (curve.fpr, curve.tpr), band, legend)


def _draw_band(
    ax: Axes, points: Line, band: CurveBand, legend: str, **style: Any
) -> None:
    """Draw one curve, with its band if there is one."""
    colour = next_colour(ax)
    (line,) = ax.plot(*points, color=colour, linewidth=1.8, **style)
    line.set(gid=CURVE, label=legend)
    named = f"{percent(band.level)} band, {band.method}"
    if band.reason:
        ax.plot([], [], " ", label=no_band(band.reason))
        return
    known = named in ax.get_legend_handles_labels()[1]
    shade(ax, band.at, band.lower, band.upper, colour, None if known else named)


def _clearer_side(ax: Axes) -> Place:
    """Return the corner on the side of the diagonal with less of the curves."""
    above = 0.0
    for line in _curves(ax):
        x, y = (np.asarray(line.get_data()[axis], dtype=float) for axis in (0, 1))
        above += float(((y[1:] + y[:-1]) / 2 * np.diff(x)).sum()) - 0.5
    return "upper left" if above < 0 else "lower right"


def _clearest(ax: Axes) -> Place:
    """Return the corner that contains the least of the curves."""
    drawn = [np.asarray(line.get_data(), dtype=float) for line in _curves(ax)]
    curves, inner = [one for one in drawn if one.size], np.linspace(0, 1, 101)
    along = [np.stack([inner, np.interp(inner, *one)]) for one in curves]
    x, y = np.concatenate([*drawn, *along], axis=1)
    corners: dict[Place, NDArray[np.bool_]] = {
        "lower left": (x < 0.6) & (y < 0.2),
        "lower right": (x > 0.4) & (y < 0.2),
        "upper right": (x > 0.4) & (y > 0.85),
    }
    return min(corners, key=lambda corner: int(corners[corner].sum()))


def _curves(ax: Axes) -> list[Any]:
    return [line for line in ax.lines if line.get_gid() == CURVE]


def _solid_legend(ax: Axes, place: Place) -> None:
    """Show each curve by a solid line in the legend, even if its repeats are faint.

    The legend is below the axis if it would cover a curve.
    """
    legend_clear_of_lines(ax, place)
    legend = ax.get_legend()
    assert legend is not None
    for line in legend.get_lines():
        line.set(alpha=1, linewidth=1.8)


def _legend(
    result: Readable,
    metric: str,
    label: str,
    area: float | None = None,
    how: str = "pooled",
) -> str:
    """Return the legend entry: the area of the curve, and the headline if different."""
    pooled = result.estimate(metric, how="pooled")
    headline = result.estimate(metric)
    shown = pooled.value if area is None else area
    text = f"{label}: {pooled.label} {shown:.3f}"
    if len(text) > LEGEND:
        text = f"{fill(label, LEGEND)}:\n{pooled.label} {shown:.3f}"
    if headline.how != how or abs(headline.value - shown) > 5e-4:
        text += "\n" if len(text.splitlines()[-1]) > SHORT else " "
        text += f"({headline.how.replace('_', ' ')} {headline.value:.3f})"
    return text
