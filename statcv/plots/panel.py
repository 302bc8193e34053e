"""The standard panel of a result, as R's ``plot`` of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.errors import OutcomeError
from statcv.plots.balance import plot_balance
from statcv.plots.base import require_result
from statcv.plots.curves import plot_pr, plot_roc
from statcv.plots.predicted import plot_predicted
from statcv.readable import Readable

if TYPE_CHECKING:
    from numpy.typing import NDArray


def plot_panel(result: Readable) -> NDArray[Any]:
    """Draw ROC, precision-recall, predictions by class and fold balance.

    For a continuous outcome: predictions against observations, and fold balance.

    Parameters
    ----------
    result : CVResult

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes

    Raises
    ------
    OutcomeError
        If the outcome has more than two classes.
    """
    require_result(result, "plot_panel")
    import matplotlib.pyplot as plt

    kind = result.design.outcome.kind
    if kind == "multiclass":
        raise OutcomeError("the panel is for outcomes of two classes, or numbers.")
    pictures = [plot_predicted, plot_balance]
    if kind == "binary":
        pictures = [plot_roc, plot_pr, *pictures]
    rows = len(pictures) // 2
    figure, axes = plt.subplots(
        rows, 2, figsize=(9.5, 4.6 * rows), layout="constrained", squeeze=False
    )
    for picture, ax in zip(pictures, axes.flat, strict=True):
        picture(result, ax=ax)
    figure.suptitle(f"{result.design.formula.text}: {result.plan.sentence}", wrap=True)
    return np.asarray(axes if rows > 1 else axes[0])
