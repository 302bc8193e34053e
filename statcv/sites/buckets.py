"""Persons at several sites, from influences summed over buckets of identifiers."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from statcv.sites.records import Records

Floats = NDArray[np.float64]

PER_BUCKET: Final = 9  # average number of a site's records in a bucket
BUCKETS: Final = (8, 256)  # least and largest number of buckets
MIX: Final = np.uint64(0xD6E8FEB86659FD93)  # odd, so that products are all different
QUANTILE: Final = 1.645  # 95 % quantile of the normal distribution


def n_buckets(n: float, n_sites: int) -> int:
    """Return the number of buckets of identifiers, about nine records each at a site.

    >>> n_buckets(12_000, 5), n_buckets(1_200, 3)
    (256, 32)
    """
    number = max(n / n_sites / PER_BUCKET, 1.0)
    return int(np.clip(2 ** math.floor(math.log2(number)), *BUCKETS))


def bucket_sums(
    records: Records, influence: Floats, n: float, n_sites: int
) -> NDArray[np.float32]:
    """Return sums of influences over buckets of identifiers, with random signs.

    A second hash of the keyed digest gives the bucket and the sign, which are the same
    for a person at every site. The product of two sites' sums is then on average the
    sum over shared persons, and 0 without any (the count sketch of Charikar, Chen
    & Farach-Colton 2004, Theor. Comput. Sci. 312:3). A bucket with fewer records than
    the least cell is sent as 0.

    Parameters
    ----------
    records : Records
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
