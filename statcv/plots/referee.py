"""The four recommended plots: ROC, calibration, net benefit and risk."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.inference import Readable
from statcv.plots.base import require_result
from statcv.plots.calibration import plot_calibration
from statcv.plots.decision import plot_decision
from statcv.plots.protocol import records_of
from statcv.plots.risk import plot_risk
from statcv.plots.roc import plot_roc

if TYPE_CHECKING:
    from numpy.typing import NDArray

LINE = 100  # characters of a line of the title


def plot_referee(result: Readable, level: float = 0.95) -> NDArray[Any]:
    """Draw ROC curve with band, calibration, decision curve and risk by outcome.

    These are the four plots that the STRATOS initiative recommends as essential for a
    prediction model of a binary outcome: discrimination, calibration, net benefit and
    the distribution of risk by outcome. The title of the figure describes what was held
    out. Each record counts once. Its predictions are averaged over repeats, as the
    titles of the four plots say.

    Parameters
    ----------
    result : CVResult
        Result for a binary outcome, with predictions that are probabilities.
    level : float, default 0.95
        Confidence level of the bands and intervals.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes, shape (2, 2)
        The Axes of the four plots.

    Raises
    ------
    OutcomeError
        If the outcome does not have two classes.
    MetricError
        If the predictions are not probabilities; :func:`statcv.plots.plot_panel` draws
        plots that do not need them.

    References
    ----------
    Van Calster, Collins, Vickers, …, Steyerberg (2025), Lancet Digital Health,
    arXiv:2412.10288.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> res = scv.cv("GRADE ~ GPA + PSI", df, scheme="rloocv", seed=1)
    >>> scv.plots.plot_referee(res).shape
    (2, 2)
    """
    require_result(result, "plot_referee", level)
    import matplotlib.pyplot as plt

    records_of(result, "the figure for a referee", probabilities=True)
    figure, axes = plt.subplots(2, 2, figsize=(10.5, 11), layout="constrained")
    plot_roc(result, ax=axes[0, 0], band=True, level=level)
    plot_calibration(result, ax=axes[0, 1], level=level)
    plot_decision(result, ax=axes[1, 0], level=level)
    plot_risk(result, ax=axes[1, 1])
    said = f"{result.design.formula.text}: {result.learner.label}; {result.rows}"
    lines = (fill(text, LINE) for text in (said, result.plan.sentence))
    for ax in axes.ravel():
        ax.set_box_aspect(1)
    figure.suptitle("\n".join(lines))
    return np.asarray(axes)
