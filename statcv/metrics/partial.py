"""Area under a part of the ROC curve."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import MetricError
from statcv.metrics._inputs import Floats, binary_scores, one_of
from statcv.metrics.curves import roc_curve


def partial_auroc(
    y: ArrayLike,
    score: ArrayLike,
    *,
    range: tuple[float, float],
    focus: Literal["specificity", "sensitivity"] = "specificity",
    corrected: bool = False,
    tie_tol: float = 1e-12,
) -> float:
    """Area under the ROC curve between two specificities or two sensitivities.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,)
        Any increasing function of the probability of 1; infinite is allowed.
    range : tuple of two float
        Different numbers between 0 and 1, in either order: (0.9, 1) with the
        default focus is the part of the curve with at most 10 % false positives.
    focus : {"specificity", "sensitivity"}
        Of what `range` is one. The area is that of the other over this one.
    corrected : bool, default False
        Rescale the area so that 0.5 is chance and 1 the most that is possible
        (McClish 1989). Otherwise it is at most the width of the range.
    tie_tol : float, default 1e-12
        See `round_significant`.

    Returns
    -------
    float
        The area; NaN when a class has no record or a score is NaN, and, corrected,
        when the area is below that of chance, where the correction has no meaning.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the lengths differ, or an argument is
        out of range.

    References
    ----------
    McClish (1989), Medical Decision Making 9:190. The numbers are those of
    ``auc(partial.auc = )`` of R's pROC (Robin et al. 2011, BMC Bioinformatics
    12:77).

    Examples
    --------
    >>> y, score = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 6, 4, 5, 7, 8]
    >>> partial_auroc(y, score, range=(0.5, 1))
    0.375
    >>> round(partial_auroc(y, score, range=(0.5, 1), corrected=True), 4)
    0.8333
    """
    one_of(focus, ("specificity", "sensitivity"), "focus")
    low, high = _ends(range)
    positive, values = binary_scores(y, score)
    if positive.all() or not positive.any() or np.isnan(values).any():
        return float("nan")
    curve = roc_curve(positive, values, tie_tol=tie_tol)
    specificity = 1 - curve.fpr
    if focus == "specificity":
        area = _area_between(specificity[::-1], curve.tpr[::-1], low, high)
    else:
        area = _area_between(curve.tpr, specificity, low, high)
    if not corrected:
        return area
    width = high - low
    chance = width * (1 - (low + high) / 2)
    above = (area - chance) / (width - chance)
    return float("nan") if above < -1e-12 else (1 + max(above, 0.0)) / 2


def _area_between(x: Floats, height: Floats, low: float, high: float) -> float:
    """Area under a line through points of increasing x, between two values of x."""
    begin, end = (np.clip(side, low, high) for side in (x[:-1], x[1:]))
    width = x[1:] - x[:-1]
    wide = width > 0
    slope = np.diff(height)[wide] / width[wide]
    middle = (begin + end)[wide] / 2
    mean = height[:-1][wide] + slope * (middle - x[:-1][wide])
    return float(((end - begin)[wide] * mean).sum())


def _ends(ends: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = sorted(float(end) for end in ends)
    except (TypeError, ValueError):
        low = high = np.nan
    if not 0 <= low < high <= 1:
        raise MetricError(
            f"range must be two different numbers from 0 to 1, such as (0.9, 1), not "
            f"{ends!r}."
        )
    return low, high
