"""The variance of each estimate from sums of squared influences over all sites.

Influences through the fits are of first order, and half of what they add to the
variance is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.sites.fits import symmetric_matrix
from statcv.sites.plan import SitesPlan

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Variation:
    """The variance of one estimate.

    Attributes
    ----------
    given_fits : float
        Variance with the fits as given.
    total : float
        Variance with half of what the fits add; with trees it is corrected for fits
        that share training records.
    df : float
        Degrees of freedom.
    area : float
        Area that the influences belong to; NaN for other metrics.
    """

    given_fits: float
    total: float
    df: float
    area: float = math.nan


def variations(
    plan: SitesPlan,
    by_class: Floats,
    totals: Mapping[str, Floats],
    shared: float = 0.0,
) -> dict[str, Variation]:
    """Return the variance of each metric from the sums over all sites.

    Parameters
    ----------
    plan : SitesPlan
    by_class : numpy.ndarray, shape (k, 2)
        Numbers of held-out records of each fold and class.
    totals : dict of numpy.ndarray
        As :func:`variation_sums` returns them.
    shared : float
        Share by which persons at several sites raise variances.
    """
    made, sizes = {}, by_class.sum(axis=0)
    every, *own = totals["units"].tolist()
    for number, metric in enumerate(plan.metrics):
        ranked = metric == "auroc"
        ways = [
            variance_of_sum(first, second, sizes, every, own if ranked else None)
            for first, second in zip(
                totals["first"][number], totals["second"][number], strict=True
            )
        ]
        given, with_fits = ways[0], ways[-1]
        total = given + max(with_fits - given, 0.0) / 2
        df, area = every - 1, math.nan
        if ranked:
            area = float(totals["shares"][0, 1] / sizes[1])
            total += _interaction(area, by_class, totals["shares"])
            df = min(df, 2 * (min(own) - 1))
        if plan.grown:  # fits share training records (Nadeau & Bengio 2003)
            total *= 2 - 1 / plan.k
        made[metric] = Variation(given, total * (1 + shared), df, area)
    return made


def variance_of_sum(
    first: Floats,
    second: Floats,
    sizes: Floats,
    every: float,
    own: list[float] | None = None,
) -> float:
    """Return the variance of a sum of influences, as Obuchowski (1997) has it.

    It is the sum of squares over clusters of their sums about the mean of each class,
    or of all records if ``own`` is None.
    """
    matrix = symmetric_matrix(second)
    if own is None:
        mean = first.sum() / sizes.sum()
        about = np.array([1.0, 1.0, -mean, -mean])
        return float(every / (every - 1) * about @ matrix @ about)
    means = first / sizes
    about = np.array([1.0, 1.0, *-means])
    total = every / (every - 1) * float(about @ matrix @ about)
    for code, units in enumerate(own):
        alone = np.zeros(4)
        alone[[code, code + 2]] = 1.0, -means[code]
        more = (every - units) / ((units - 1) * (every - 1))
        total += more * float(alone @ matrix @ alone)
    return total


def _interaction(area: float, by_class: Floats, shares: Floats) -> float:
    """Return the variance that comparing records of one fold only adds."""
    sizes = by_class.sum(axis=0)
    own = shares[1, 1] / sizes[1] + shares[1, 0] / sizes[0]
    each = max(area - own + area**2, 0.0)
    pairs = by_class.prod(axis=1)
    concentration = (1 / pairs).sum() / len(pairs) ** 2 - 1 / sizes.prod()
    return float(each * max(concentration, 0.0))
