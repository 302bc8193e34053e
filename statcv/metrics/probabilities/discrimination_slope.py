"""The discrimination slope: the distance of two mean probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from statcv.metrics.groups import in_one_group, sums_by_group
from statcv.metrics.inputs import Bools, Floats
from statcv.metrics.records import binary_probabilities, improper_groups, share_of_sums


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
    return in_one_group(discrimination_slope_by_group, y, p)


def discrimination_slope_by_group(
    y: ArrayLike, p: ArrayLike, group: ArrayLike, groups: int
) -> Floats:
    """Difference of the mean probabilities of the two classes in each group.

    Parameters
    ----------
    y, p, group, groups
        As in `oe_ratio_by_group`.

    Returns
    -------
    ndarray of shape (groups,)
        The value in each group; NaN where it does not exist.

    Raises
    ------
    MetricError
        As in `oe_ratio_by_group`.

    Examples
    --------
    >>> y, p = [0, 1, 0, 1], [0.25, 0.75, 0.25, 0.5]
    >>> discrimination_slope_by_group(y, p, [0, 0, 1, 1], 3)
    array([0.5 , 0.25,  nan])
    """
    positive, read = binary_probabilities(y, p)
    own = np.asarray(group)
    odd = improper_groups(read, own, groups)

    def mean(side: Bools) -> Floats:
        total = sums_by_group(own, side * read, groups)
        return share_of_sums(total, sums_by_group(own, side, groups), odd)

    return np.asarray(mean(positive) - mean(~positive))
