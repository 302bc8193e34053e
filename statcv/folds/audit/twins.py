"""Records with the same predictors and another outcome, on both sides of a fold."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import listed, plural
from statcv.folds.audit.findings import Finding
from statcv.folds.plan import FoldPlan

BY_CHANCE = 1e-3  # probability below which disagreement is not due to chance
MOST = 20  # records of equal predictors that are examined together
FIRST_FITS = 2000  # fits that are examined

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
    for split in np.unique(held[np.isin(rows, np.flatnonzero(twins.size > 1))]):
        trained = np.zeros(plan.n, dtype=bool)
        trained[plan.train(int(first[split]))] = True
        for row in plan.test(int(split)):
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
    """Groups of records with equal predictors."""

    def __init__(self, code: Rows) -> None:
        self._order = np.argsort(code, kind="stable")
        self._stops = np.cumsum(np.bincount(code))
        self._code = code
        self.size = np.bincount(code)[code]

    def members(self, row: int) -> Rows:
        """Return the other records of the row's group."""
        code = self._code[row]
        start = self._stops[code - 1] if code else 0
        own = self._order[start : self._stops[code]]
        return np.asarray(own[own != row])


def _twins(X: NDArray[np.float64]) -> _Twins | None:
    """Return which records are equal; None if predictors do not distinguish any."""
    if X.shape[1] == 0 or np.isnan(X).any():
        return None
    sums = np.round(X @ np.random.default_rng(0).normal(size=X.shape[1]), 9)
    rising = np.sort(sums)
    if not (rising[1:] == rising[:-1]).any():
        return None
    code = np.searchsorted(np.unique(rising), sums)
    twins = _Twins(code.astype(np.intp))
    return None if twins.size.max() > MOST else twins


def _tail(n: int, at_least: int, share: float) -> float:
    """Return the probability of at least that many successes among n."""
    from scipy.stats import binom

    return float(binom.sf(at_least - 1, n, share))
