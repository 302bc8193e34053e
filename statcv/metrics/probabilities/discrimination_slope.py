"""The discrimination slope: the distance of two mean probabilities."""

from __future__ import annotations

from numpy.typing import ArrayLike

from statcv.metrics.records import binary_probabilities, improper


def discrimination_slope(y: ArrayLike, p: ArrayLike) -> float:
    """Mean probability of positive records minus that of negative records.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.

    Returns
    -------
    float
        The slope: 1 if the classes are separated with certainty, 0 if the means are
        equal, and NaN if a class has no record or `p` is not a probability.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or the lengths differ.

    References
    ----------
    Yates (1982); Tjur (2009), The American Statistician 63:366.

    Examples
    --------
    >>> discrimination_slope([0, 1, 0, 1], [0.25, 0.75, 0.25, 0.5])
    0.375
    """
    positive, read = binary_probabilities(y, p)
    if improper(read) or positive.all() or not positive.any():
        return float("nan")
    return float(read[positive].mean() - read[~positive].mean())
