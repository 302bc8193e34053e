"""ROC and precision-recall curves of held-out predictions, with bands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from statcv import metrics
from statcv.arguments import check_level, check_types, one_of
from statcv.errors import ArgumentError
from statcv.inference import Readable, Scores
from statcv.inference.estimates.pairs import concordant_pairs
from statcv.metrics import CurveBand
from statcv.numeric.arrays import Floats
from statcv.plots import base
from statcv.plots.drawn import (
    Drawn,
    averaged,
    curve_label,
    how_drawn,
    named_results,
    of_column,
    records_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Line = tuple[Floats, Floats]
Band = bool | Literal["pointwise", "simultaneous"]
METHODS = ("pointwise", "simultaneous")
AREAS = {"average_precision": "auprc", "trapezoid": "auprc_trapezoid"}


# ---- what both share ----


def curve_title(ax: Axes, what: str, how: str) -> str:
    """Return the title of all curves, which may be of several kinds."""
    title, before = base.titled(what, how), ax.get_title().replace("\n", " ")
    if before in ("", title):
        return title
    external = [base.EXTERNAL in one for one in (before, title)]
    if all(external):
        return f"{what}, {base.EXTERNAL}"
    return f"{what}, held-out predictions" + f" and {base.EXTERNAL}" * any(external)


def band_method(band: Band) -> Literal["pointwise", "simultaneous"] | None:
    """Return the method of a band; None if no band is drawn."""
    one_of(band, (True, False, *METHODS), "band")
    if isinstance(band, bool):
        return "pointwise" if band else None
    return band


def lines_of(
    scores: Scores, points: Callable[[Floats, Floats], Line], whole: bool
) -> list[Line]:
    """Return the curve of the mean predictions, or that of each repeat."""
    if whole:
        rows, predicted = averaged(scores, rank=True)
        return [points(scores.y[rows].astype(float), predicted)]
    parts = [scores.by_record(where, rank=True) for where in scores.by_repeat]
    return [points(scores.y[rows], scores.to_rank(each)) for rows, each in parts]


def draw_lines(
    ax: Axes, lines: list[Line], shaded: CurveBand | None, legend: str, **style: Any
) -> None:
    """Draw one line with its band, or several, of which the first is in the legend.

    They are thinner if there are many.
    """
    style |= {"linewidth": base.thick() / (1 if len(lines) == 1 else 2)}
    style |= {"alpha": max(0.15, 1 / np.sqrt(len(lines)))}
    colour = base.draw_curve(ax, *lines[0], legend, **style)
    for points in lines[1:]:
        ax.plot(*points, color=colour, **style)
    if shaded is not None:
        base.draw_band(ax, shaded, colour)


# ---- ROC ----


def plot_roc(
    *results: Drawn,
    ax: Axes | None = None,
    label: str | None = None,
    by: Any = None,
    band: Band = False,
    level: float = 0.95,
    at: float | None = None,
) -> Axes:
    """Draw the ROC curve of the held-out predictions, of one or several results.

    There is one line per repeat, of the pooled predictions of that repeat; with a band
    there is one curve of the predictions averaged over repeats. The legend gives the
    headline estimate, with its interval if there is one result. If that is a mean over
    folds, or from pairs that one fit predicts, the area under the pooled curve may
    differ slightly.

    Under ``"leave_pair_out"`` a record has no score of its own, and the curve is the
    distribution function of the placement values (``statcv.metrics.paired_roc``): of a
    positive record, the share of its pairs in which the negative record ranks higher.
    Under ``"tournament_leave_pair_out"`` the score of a record is the share of all its
    pairs that it won (Montoya Perez et al. 2019).

    For times to an event, sensitivity is that of the records with the event by a
    horizon, and specificity that of those at risk after it, weighted by the inverse
    probability of censoring, which the bootstrap of the band estimates again.

    Parameters
    ----------
    *results : CVResult, mapping of str to CVResult, or Comparison
        One result for two classes, or for times to an event, or several, which are
        named by their differences; or a mapping of names to results.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on, to which further calls add curves; those of a new figure by
        default.
    label : str, optional
        Name of a single curve in the legend.
    by : str or array-like, optional
        Grouping of the records of one result, with one curve per group: a column of the
        data, or one value per row of it.
    band : bool or {"pointwise", "simultaneous"}, default False
        Confidence band to shade: pointwise (or ``True``), from a stratified bootstrap
        of records, or of whole clusters; or for the whole curve, from
        Kolmogorov-Smirnov bands of both classes, which is wide. Both take the fits as
        given.
    level : float, default 0.95
        Confidence level of the band and the interval.
    at : float, optional
        Horizon, for times to an event; needed if there are several.

    Raises
    ------
    OutcomeError
        If the outcome does not have two classes, or is a time without a horizon.
    ArgumentError
        If ``band`` is not one of these values, or is simultaneous and records come in
        clusters, are compared in pairs or are censored; or ``at`` is not a horizon.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> ax = scv.plots.plot_roc(res, band=True, label="four folds")
    >>> ax.get_legend().get_texts()[0].get_text()
    'four folds: auROC 0.83'
    """
    check_types(plot_roc, locals())
    check_level(level)
    for name, result in named_results(results, "plot_roc", label, by).items():
        ax = _add_roc(result, ax, name, band, level, at)
    assert ax is not None  # there is at least one result
    return ax


def _add_roc(
    result: Readable,
    ax: Axes | None,
    name: str,
    band: Band,
    level: float,
    at: float | None,
) -> Axes:
    """Add the ROC curve of a result."""
    records = records_of(result, "a ROC curve", rank=True, timed=True, at=at)
    risks = records.risks
    method = band_method(band)
    # records without a score of their own, unless there are too many pairs to list
    in_pairs = result.scores.overlapping and not result.scores.tournament
    pairs = concordant_pairs(result.scores) if in_pairs and not risks else None
    why = ""
    if risks is not None:
        why = "is not known for censored times"
    elif records.clusters is not None:
        why = "takes the records as independent, but some belong to one cluster"
    elif pairs is not None:
        why = "is not known for records that are compared in pairs"
    if method == "simultaneous" and why:
        raise ArgumentError(f"a simultaneous band {why}; use band='pointwise'.")
    ax = base.new_axes(ax)
    if not base.count_curves(ax):
        base.draw_diagonal(ax)
    metric = f"auroc@{risks.horizon:g}" if risks else "auroc"
    legend, how = (curve_label(result, metric, name, level), how_drawn(result, method))
    drawn: dict[str, Any] = {"level": level, "clusters": records.clusters}
    drawn["seed"] = result.seed
    shaded: CurveBand | None = None
    whole = method is not None
    if pairs is not None:
        every, number = (pairs.first, pairs.second, pairs.won), pairs.repeat
        some = [number == one for one in np.unique(number)]
        some = [np.ones(len(number), dtype=bool)] if whole else some
        each = [metrics.paired_roc(*(side[one] for side in every)) for one in some]
        lines = [(curve.fpr, curve.tpr) for curve in each]
        shaded = metrics.paired_roc_band(*every, **drawn) if whole else None
        repeats = len(result.scores.by_repeat)
        how = f"over {repeats} repeats" if whole else "by repeat"
        how = f"compared in pairs {how if repeats > 1 else ''}".strip()
    elif risks is not None:
        outcome = result.design.outcome
        scores = of_column(result.scores, 1 + outcome.horizons.index(risks.horizon))
        of_all = replace(risks, censoring=outcome.y)

        def points(y: Floats, x: Floats) -> Line:
            return replace(of_all, y=y, predicted=x).roc()

        lines = lines_of(scores, points, whole)
        shaded = risks.roc_band(level) if whole else None
    else:
        if method == "simultaneous":
            drawn |= {"clusters": None, "seed": None}
        lines = lines_of(result.scores, _roc_points, whole)
        if method is not None:
            shaded = metrics.roc_band(
                records.y, records.predicted, method=method, **drawn
            )
    draw_lines(ax, lines, shaded, legend)
    title = curve_title(ax, f"ROC{records.by_time}", how)
    ax.set(xlim=base.UNIT, ylim=base.UNIT, aspect="equal")
    return base.finish(ax, "1 − specificity", "sensitivity", title, "lower right")


def _roc_points(y: Floats, score: Floats) -> Line:
    curve = metrics.roc_curve(y, score)
    return curve.fpr, curve.tpr


# ---- precision and recall ----


def plot_pr(
    *results: Drawn,
    ax: Axes | None = None,
    label: str | None = None,
    by: Any = None,
    band: bool | Literal["pointwise"] = False,
    level: float = 0.95,
    method: Literal["average_precision", "trapezoid"] = "average_precision",
) -> Axes:
    """Draw the precision-recall curve of the pooled held-out predictions.

    There is one line per repeat; with a band there is one curve of the predictions
    averaged over repeats. The dotted line is the share of positives, which is the
    precision of a model without skill. The legend is that of :func:`plot_roc`.

    Parameters
    ----------
    *results, ax, label, by, level
        As in :func:`plot_roc`.
    band : bool or "pointwise", default False
        Whether to shade a pointwise band, from a bootstrap of the records of each
        class, or of whole clusters, with the fits and the share of positives as given.
    method : {"average_precision", "trapezoid"}
        Area in the legend, with points joined accordingly: by steps, beginning at the
        first true positive; or by straight lines, beginning at recall 0 and precision
        1.

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
    >>> scv.plots.plot_pr(res, label="four folds").get_ylabel()
    'precision'
    """
    check_types(plot_pr, locals())
    check_level(level)
    one_of(method, AREAS, "method")
    shading = band_method(band)
    if shading == "simultaneous":
        raise ArgumentError(
            "no simultaneous band is known for a precision-recall curve; use "
            "band='pointwise'."
        )
    by_steps = method == "average_precision"
    style = {"drawstyle": "steps-pre"} if by_steps else {}
    drawn: dict[str, Any] = {"level": level}

    def points(y: Floats, score: Floats) -> Line:
        curve = metrics.pr_curve(y, score)
        return curve.steps if by_steps else (curve.recall, curve.precision)

    for name, result in named_results(results, "plot_pr", label, by).items():
        records = records_of(result, "a precision-recall curve", rank=True)
        ax = base.new_axes(ax)
        if not base.count_curves(ax):
            base.draw_level(ax, float(np.mean(records.y)))
        shaded = None
        if shading is not None:
            drawn["clusters"], drawn["seed"] = records.clusters, result.seed
            shaded = metrics.pr_band(records.y, records.predicted, **drawn)
        legend = curve_label(result, AREAS[method], name, level)
        lines = lines_of(result.scores, points, shading is not None)
        draw_lines(ax, lines, shaded, legend, **style)
        title = curve_title(ax, "Precision and recall", how_drawn(result, shading))
        ax.set(xlim=base.UNIT, ylim=(-0.02, 1.05))
        base.finish(ax, "recall (sensitivity)", "precision", title, "lower left")
    assert ax is not None  # there is at least one result
    return ax
