"""The variance of each estimate from sums of squared influences over all sites.

Influences through the fits are of first order, and half of what they add to the
variance is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from statcv.sites.fits import symmetric_matrix
from statcv.sites.plan import SitesPlan
from statcv.sites.records import SiteRecords

Floats = NDArray[np.float64]


PER_BUCKET: Final = 9  # average number of a site's records in a bucket
BUCKETS: Final = (8, 256)  # least and largest number of buckets
MIX: Final = np.uint64(0xD6E8FEB86659FD93)  # odd, so that products are all different
QUANTILE: Final = 1.645  # 95 % quantile of the normal distribution


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
    plan: SitesPlan, by_class: Floats, totals: Mapping[str, Floats], shared: float = 0.0
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


# ---- persons at several sites ----


def n_buckets(n: float, n_sites: int) -> int:
    """Return the number of buckets of identifiers, about nine records each at a site.

    >>> n_buckets(12_000, 5), n_buckets(1_200, 3)
    (256, 32)
    """
    number = max(n / n_sites / PER_BUCKET, 1.0)
    return int(np.clip(2 ** math.floor(math.log2(number)), *BUCKETS))


def bucket_sums(
    records: SiteRecords, influence: Floats, n: float, n_sites: int
) -> NDArray[np.float32]:
    """Return sums of influences over buckets of identifiers, with random signs.

    A second hash of the keyed digest gives the bucket and the sign, which are the same
    for a person at every site. The product of two sites' sums is then on average the
    sum over shared persons, and 0 without any (the count sketch of Charikar, Chen
    & Farach-Colton 2004, Theor. Comput. Sci. 312:3). A bucket with fewer records than
    the least cell is sent as 0.

    Parameters
    ----------
    records : SiteRecords
    influence : numpy.ndarray, shape (n,)
        Influence of each record of the site.
    n, n_sites : int
        Numbers of records at all sites, and of sites.
    """
    assert records.digest is not None
    number = n_buckets(n, n_sites)
    mixed = records.digest * MIX
    mixed = (mixed ^ (mixed >> np.uint64(29))) * MIX
    bucket = (mixed >> np.uint64(40)).astype(np.intp) % number
    sign = np.where((mixed >> np.uint64(32)) & np.uint64(1), 1.0, -1.0)
    sums = np.bincount(bucket, sign * (influence - influence.mean()), number)
    sums[np.bincount(bucket, minlength=number) < records.plan.cell] = 0.0
    return sums.astype("<f4")


def shared_share(buckets: Floats) -> float:
    """Return by which share persons at several sites raise a variance.

    It is 0 unless it is larger than chance explains, at the 5 % level.

    Parameters
    ----------
    buckets : numpy.ndarray, shape (sites, buckets)
    """
    squares = (buckets**2).sum(axis=1)
    total = float(squares.sum())
    across = float((buckets.sum(axis=0) ** 2).sum()) - total
    pairs = float(squares.sum() ** 2 - (squares**2).sum())
    chance = math.sqrt(2 * pairs / buckets.shape[1])
    return across / total if across > QUANTILE * chance else 0.0
