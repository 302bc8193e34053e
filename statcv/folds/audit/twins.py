"""Records with the same predictors as a training record, and another outcome."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.folds.audit.findings import Finding
from statcv.folds.plan import FoldPlan
from statcv.words import listed, plural

BY_CHANCE = 1e-3  # probability below which disagreement is not due to chance
SHARP = 2.0**40  # steps that tell sums of predictors apart, which rounding does not
MOST = 20  # records of equal predictors that are examined together
FIRST_FITS = 2000  # fits that are examined
FIRST_VALUES = 200  # values of a predictor that are compared first
Rows = NDArray[np.intp]


def opposite_twins(
    plan: FoldPlan, X: NDArray[np.float64], y: NDArray[np.intp]
) -> list[Finding]:
    """Find records equal to a training record in all predictors but not the outcome.

    A model that recognises a record predicts the outcome of its twin. Where twins
    differ in the outcome more often than two records do by chance, it is wrong on
    them, and pooled ranks fall below no skill.

    Parameters
    ----------
    plan : FoldPlan
    X : numpy.ndarray, shape (n, p)
        The predictors.
    y : numpy.ndarray of int, shape (n,)
        Class codes.

    Returns
    -------
    list of Finding
        One, ``opposite_twins``, if twins differ more often than by chance; its value
        is the share of held-out records with twins whose twins all differ.

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> X, y = np.repeat(np.arange(12.0), 2)[:, None], np.tile([0, 1], 12)
    >>> found = opposite_twins(make_plan("loocv", y, "binary"), X, y)
    >>> found[0].sentence[:57]
    '24 records have the same predictors as a training record '
    """
    twins = _twins(X)
    if twins is None:
        return []
    held = plan.tests.owners[plan.tests.owners < FIRST_FITS]
    rows = plan.tests.values[: len(held)]
    agree = np.zeros(plan.n, dtype=np.intp)
    differ = np.zeros(plan.n, dtype=np.intp)
    first = plan.first_fit
    has_twins = np.zeros(plan.n, dtype=bool)
    has_twins[twins.rows] = True
    for split in np.unique(held[has_twins[rows]]):
        trained = np.zeros(plan.n, dtype=bool)
        trained[plan.train(int(first[split]))] = True
        tests = plan.test(int(split))
        for row in tests[has_twins[tests]]:
            others = twins.members(int(row))
            others = others[trained[others] & (X[others] == X[row]).all(axis=1)]
            agree[row] += int((y[others] == y[row]).sum())
            differ[row] += int((y[others] != y[row]).sum())
    wrong = np.flatnonzero((differ > 0) & (agree == 0))
    known = int(((agree + differ) > 0).sum())
    shares = np.bincount(y) / len(y)
    chance = float(1 - (shares**2).sum())
    if len(wrong) < 4 or _tail(known // 2, -(-len(wrong) // 2), chance) > BY_CHANCE:
        return []
    names = wrong if plan.rows is None else plan.rows[wrong]
    said = (
        f"{plural(len(wrong), 'record')} have the same predictors as a training record "
        f"of another outcome ({listed([f'row {name}' for name in names])}): a model "
        f"that recognises them is wrong on {len(wrong) / known:.0%} of the {known} "
        f"records with such twins, where {chance:.0%} would be by chance, so that "
        "estimates are biased downwards."
    )
    table = pd.DataFrame({"row": names, "outcome": y[wrong]})
    return [Finding("opposite_twins", len(wrong) / known, said, True, table)]


class _Twins:
    """Groups of records with equal predictors.

    Parameters
    ----------
    rows : numpy.ndarray of int, shape (m,)
        The records that have equals, in rising order.
    code : numpy.ndarray of int, shape (m,)
        The group of each of them, from 0.
    """

    def __init__(self, rows: Rows, code: Rows) -> None:
        self.rows, self._code = rows, code
        sizes = np.bincount(code)
        self.largest = int(sizes.max())
        self._members = rows[np.argsort(code, kind="stable")]
        self._stops = np.cumsum(sizes)

    def members(self, row: int) -> Rows:
        """Return the other records of the row's group."""
        code = self._code[np.searchsorted(self.rows, row)]
        start = self._stops[code - 1] if code else 0
        own = self._members[start : self._stops[code]]
        return np.asarray(own[own != row])


def _twins(X: NDArray[np.float64]) -> _Twins | None:
    """Return which records are equal; None if predictors do not distinguish any."""
    if X.shape[1] == 0 or _all_differ(X[:, -1]):
        return None
    sums = X @ _direction(X.shape[1])
    largest = float(np.abs(sums).max(initial=0.0))
    if not 0 < largest < np.inf:  # a predictor is missing, or all are 0
        return None
    sums *= SHARP / largest
    np.rint(sums, out=sums)
    rising = np.sort(sums)
    again = rising[1:] == rising[:-1]
    if not again.any():
        return None
    shared = np.unique(rising[1:][again])
    place = np.minimum(np.searchsorted(shared, sums), len(shared) - 1)
    rows = np.flatnonzero(shared[place] == sums)
    twins = _Twins(rows, place[rows])
    if twins.largest > MOST:
        return None
    # sums of different records may be equal by chance
    alike = np.ascontiguousarray(X[rows] + 0.0).view(f"V{X.itemsize * X.shape[1]}")
    _, code, times = np.unique(alike, return_inverse=True, return_counts=True)
    code = code.reshape(-1)
    rows, code = rows[times[code] > 1], code[times[code] > 1]
    if not len(rows):
        return None
    return _Twins(rows, np.unique(code, return_inverse=True)[1])


def _all_differ(values: NDArray[np.float64]) -> bool:
    """Return whether no two values are equal, judged by the first of them at first."""
    for some in (values[:FIRST_VALUES], values):
        rising = np.sort(some)
        if (rising[1:] == rising[:-1]).any():
            return False
    return True


@lru_cache(maxsize=1)
def _direction(p: int) -> NDArray[np.float64]:
    return np.random.default_rng(0).normal(size=p)


def _tail(n: int, at_least: int, share: float) -> float:
    """Return the probability of at least that many successes among n."""
    from scipy.special import bdtrc

    return float(bdtrc(at_least - 1, n, share))
