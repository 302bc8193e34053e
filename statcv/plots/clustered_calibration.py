"""The mean calibration curve of several groups, with limits for a further group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.arguments import described
from statcv.errors import ArgumentTypeError
from statcv.plots.base import (
    COLOURS,
    GREY,
    draw_curve,
    draw_diagonal,
    draw_legend,
    new_axes,
    shade,
)
from statcv.words import percent, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from statcv.inference.meta.clustered_calibration import ClusteredCalibration


def plot_clustered_calibration(
    curve: ClusteredCalibration, ax: Axes | None = None
) -> Axes:
    """Draw the mean calibration curve over groups, and the curve of each.

    The band is that of the mean, and the dashed lines are limits for the curve of a
    further group. On the dotted diagonal the probabilities are correct.

    Parameters
    ----------
    curve : ClusteredCalibration
        What :meth:`statcv.results.result.CVResult.clustered_calibration` returns.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; those of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.

    Raises
    ------
    ArgumentTypeError
        If ``curve`` is not such a curve.

    Examples
    --------
    >>> import statcv as scv
    >>> ehr = scv.load_data("ehr")
    >>> large = scv.cv("y ~ x1 + x3", ehr, k=5, seed=1)
    >>> curve = large.clustered_calibration(by="site")
    >>> scv.plots.plot_clustered_calibration(curve).get_title()
    'Calibration by site'
    """
    if not hasattr(curve, "prediction_lower") or not hasattr(curve, "curves"):
        raise ArgumentTypeError(
            "plot_clustered_calibration() draws what "
            f"result.clustered_calibration() returns, not {described(curve)}."
        )
    ax = new_axes(ax)
    draw_diagonal(ax)
    at, colour, share = curve.predicted, COLOURS[2], percent(curve.level)
    ax.plot(at, curve.curves.T, color=GREY, linewidth=0.6)
    size = plural(len(curve.groups), "group")
    ax.plot([], [], color=GREY, linewidth=0.6, label=f"{size} of {curve.by}")
    if np.isfinite(curve.prediction_lower).all():
        look: dict[str, Any] = {"color": colour, "linewidth": 1, "linestyle": "--"}
        ax.plot(at, curve.prediction_lower, **look)
        label = f"{share} limits of a new group"
        ax.plot(at, curve.prediction_upper, **look, label=label)
    shade(ax, at, curve.lower, curve.upper, colour, f"mean with its {share} band")
    draw_curve(ax, at, curve.observed, "", colour)
    ax.set(
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        xlabel="predicted probability",
        ylabel=f"share with {curve.outcome}",
        title=f"Calibration by {curve.by}",
    )
    draw_legend(ax)
    return ax
