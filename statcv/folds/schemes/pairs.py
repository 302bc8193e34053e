"""Pairs of records that are held out together: every one, or a balanced sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ArgumentError, SchemeError
from statcv.folds.ragged import Ragged
from statcv.folds.response import Response
from statcv.folds.schemes.holdout import Holding, Records
from statcv.folds.schemes.pair_sample import (
    all_pairs,
    least_budget,
    sample_of_classes,
    sample_of_numbers,
)

if TYPE_CHECKING:
    from statcv.folds.plan import FoldPlan

MOST_PAIRS = 50_000_000


def unlike_pairs(
    records: Records, budget: int | None, rng: np.random.Generator
) -> Holding:
    """Hold out every pair of records of different classes (Airola et al. 2011).

    If there are more than ``budget``, hold out a balanced sample of them. For a
    continuous outcome, the pairs are those of records with different outcomes.
    """
    possible = count_unlike(records.codes)
    if budget is None or budget >= possible:
        _check_pairs(possible, "pairs= takes a balanced sample of them")
        return _pairs(all_pairs(records.codes), records)
    _check_pairs(budget, "use fewer")
    if records.numbers:
        return _pairs(sample_of_numbers(records.codes, budget, rng), records)
    members = [np.flatnonzero(records.codes == c) for c in range(records.classes)]
    members = [rows for rows in members if len(rows)]
    return _pairs(sample_of_classes(members, budget, rng), records)


def pairs_of_records(records: Records, k: Any, rng: np.random.Generator) -> Holding:
    """Hold out every pair of records: a tournament (Montoya Perez et al. 2019)."""
    use = "scheme='leave_pair_out' with pairs= takes a balanced sample"
    _check_pairs(records.n * (records.n - 1) // 2, use)
    return _pairs(np.column_stack(np.triu_indices(records.n, 1)), records)


def count_unlike(codes: NDArray[np.integer]) -> int:
    """Return how many pairs of records differ.

    Examples
    --------
    >>> count_unlike(np.array([0, 0, 1, 1, 1]))
    6
    """
    sizes = np.unique(codes, return_counts=True)[1].astype(np.int64)
    return int(sizes.sum() ** 2 - (sizes**2).sum()) // 2


def check_sample(pairs: int | None, response: Response) -> int:
    """Return how many pairs there are; refuse zero or too few of them.

    Raises
    ------
    SchemeError
        If all outcomes are equal.
    ArgumentError
        If so few pairs leave some record without a prediction.
    """
    sizes = np.unique(response.values, return_counts=True)[1].astype(np.int64)
    n, possible = int(sizes.sum()), count_unlike(response.values)
    if not possible or n < 3:
        raise SchemeError(
            f"all {n} records have the same outcome: there are no pairs to compare."
            if not possible
            else "2 records make one pair, which leaves none to train on."
        )
    if pairs is None or pairs >= possible:
        return possible
    least = -(-possible // int(n - sizes.max()))
    if response.by_class:
        least = least_budget(sizes)
    if pairs < least:
        raise ArgumentError(
            f"pairs={pairs} leaves records without a prediction, since not every one "
            f"is held out; it takes {least:,} pairs or more of {possible:,}."
        )
    return possible


def is_sample(plan: FoldPlan) -> bool:
    """Return whether a plan holds out a sample of the pairs that differ in outcome."""
    if plan.scheme != "leave_pair_out" or plan.response is None:
        return False
    drawn = int(np.diff(plan.fits.first_split).min())
    return drawn < count_unlike(plan.response.values)


def _check_pairs(count: int, use: str) -> None:
    if count > MOST_PAIRS:
        raise SchemeError(
            f"{count:,} pairs were to be held out, and every one would be a fit, more "
            f"than {MOST_PAIRS:,}; {use}."
        )


def _pairs(pairs: NDArray[np.intp], records: Records) -> Holding:
    pairs.sort(axis=1)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    tests = Ragged.split(pairs.ravel(), np.full(len(pairs), 2))
    if records.unit is None:
        return Holding.of(tests)
    members = records.by_unit
    drops = []
    for first, second in pairs:
        units = np.unique(records.unit[[first, second]])
        equal = np.concatenate([members[unit] for unit in units])
        drops.append(np.setdiff1d(equal, (first, second)))
        if len(drops[-1]) == records.n - 2:
            raise SchemeError(
                "all other records are equals of two held-out ones in the stratifier, "
                "which leaves none to train on; scheme='loocv' holds out one stratum "
                "at a time."
            )
    return Holding(tests, Ragged.of(drops), Ragged.empty(len(tests)))
