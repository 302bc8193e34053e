"""Precision-recall curves of held-out predictions, with bands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from statcv.arguments import check_level, check_types, one_of
from statcv.errors import ArgumentError
from statcv.inference import Readable
from statcv.metrics import pr_band, pr_curve
from statcv.plots.base import draw_legend, draw_level, has_curves, new_axes
from statcv.plots.curves import (
    Floats,
    Line,
    band_method,
    curve_label,
    curve_title,
    draw_kind,
    how_drawn,
)
from statcv.plots.protocol import Drawn, named_results, records_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


AREAS = {"average_precision": "auprc", "trapezoid": "auprc_trapezoid"}


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
        Whether to shade a confidence band, whose level holds at each recall separately.
        It is a bootstrap of the records of each class, or of whole clusters, and takes
        the fits and the share of positives as given.
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
    >>> ax = scv.plots.plot_pr(res, label="four folds")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('recall (sensitivity)', 'precision')
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
    for name, result in named_results(results, "plot_pr", label, by).items():
        ax = _add_pr(result, ax, name, shading, level, method)
    assert ax is not None  # there is at least one result
    return ax


def _add_pr(
    result: Readable,
    ax: Axes | None,
    name: str,
    shading: str | None,
    level: float,
    method: str,
) -> Axes:
    """Add the precision-recall curve of a result."""
    records = records_of(result, "a precision-recall curve", rank=True)
    ax, by_steps = new_axes(ax), method == "average_precision"
    if not has_curves(ax):
        draw_level(ax, float(np.mean(records.y)))

    def points(y: Floats, score: Floats) -> Line:
        curve = pr_curve(y, score)
        return curve.steps if by_steps else (curve.recall, curve.precision)

    given, clusters = (records.y, records.predicted), records.clusters
    shaded = None
    if shading is not None:
        shaded = pr_band(*given, level=level, clusters=clusters, seed=result.seed)
    legend = curve_label(result, AREAS[method], name, level)
    style = {"drawstyle": "steps-pre"} if by_steps else {}
    draw_kind(result, ax, points, shaded, legend, **style)
    ax.set(
        xlabel="recall (sensitivity)",
        ylabel="precision",
        title=curve_title(ax, "Precision and recall", how_drawn(result, shading)),
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.05),
    )
    draw_legend(ax, "lower left")
    return ax
