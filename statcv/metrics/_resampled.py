"""Bootstrap samples of scored records, as the counts that curves are made of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from statcv.metrics._inputs import Bools, Floats, Ints, cluster_codes
from statcv.metrics.ranking import round_significant


def resampled_counts(
    positive: Bools,
    score: Floats,
    unit: Ints | None,
    tie_tol: float,
    draws: int,
    seed: int,
) -> Iterator[tuple[Floats, Floats]]:
    """Yield true and false positives by falling threshold, from 0, in samples.

    A unit is a record, or the cluster `unit` tells of. Units are drawn among those
    that hold records of the same classes, as often as there are such.
    """
    values = -round_significant(score, tie_tol)
    order = np.argsort(values, kind="stable")
    values, ones = values[order], positive[order]
    ends = np.append(np.flatnonzero(values[1:] != values[:-1]), values.size - 1)
    if unit is not None:  # numbered by score, so that the order of records is nothing
        unit = cluster_codes(unit[order], order.size)
    else:
        unit = np.arange(order.size)
    holds = np.bincount(unit, ones) > 0, np.bincount(unit, ~ones) > 0
    kinds = (holds[0] & ~holds[1], ~holds[0] & holds[1], holds[0] & holds[1])
    strata = [np.flatnonzero(kind) for kind in kinds]
    generator = np.random.default_rng(seed)
    times = np.zeros(unit.size)
    for _ in range(draws):
        for members in strata:
            size = len(members)
            drawn = generator.integers(size, size=size) if size else members
            times[members] = np.bincount(drawn, minlength=size)
        own = times[unit]
        counts = (np.cumsum(own * of_class)[ends] for of_class in (ones, ~ones))
        true, false = (np.concatenate([[0.0], count]) for count in counts)
        yield true, false
