"""Two ROC curves of the same records: how far one is above the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import MetricError
from statcv.level import check_level
from statcv.metrics._counts import shortage
from statcv.metrics._inputs import (
    Bools,
    Floats,
    Ints,
    binary_scores,
    cluster_codes,
    vector,
)
from statcv.metrics.bands import CurveBand
from statcv.metrics.curves import sweep
from statcv.metrics.ranking import round_significant
from statcv.seeds import resolve_seed
from statcv.whole import is_whole

_N_BOOT = 2000
_MOST_STEPS = 200  # false positive rates at which curves rise, each of them shown


def roc_difference(
    y: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    *,
    level: float = 0.95,
    at: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    n_boot: int | None = None,
    seed: int | np.random.Generator | None = None,
    tie_tol: float = 1e-12,
) -> CurveBand:
    """Difference in sensitivity of two scores at equal false positive rates.

    The scores are taken as given, and are of the same records, which bootstrap
    samples draw for both of them.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    a, b : array_like of shape (n,)
        Two scores.
    level : float, default 0.95
        Of the band, at each point by itself.
    at : array_like of shape (points,), optional
        False positive rates. By default those at which either curve bends or rises,
        each just before as well, so that the area below the line is the difference of
        the two areas; or of more than 200 records negative 0, 0.005, …, 1.
    clusters : array_like of shape (n,), optional
        Equal labels for records that belong together, which are drawn together.
    n_boot : int, optional
        Bootstrap samples; 2000 by default.
    seed : int, Generator or None
        Of the bootstrap.
    tie_tol : float, default 1e-12
        See `round_significant`.

    Returns
    -------
    CurveBand
        Sensitivity of `a` less that of `b`; each curve is taken at its upper end
        where it rises at a false positive rate. With NaN for the band, and the
        reason, where a class has fewer than two records (or clusters).

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, a score is NaN, lengths differ, or an
        argument is out of range.

    References
    ----------
    Robin et al. (2011), BMC Bioinformatics 12:77, for the stratified bootstrap.

    Examples
    --------
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> a, b = [1, 2, 3, 5, 4, 6, 7, 8], [2, 1, 6, 3, 5, 4, 8, 7]
    >>> roc_difference(y, a, b, at=[0, 0.25, 0.5], seed=1).estimate.tolist()
    [0.25, 0.0, 0.0]
    """
    check_level(level, MetricError)
    draws = _N_BOOT if n_boot is None else n_boot
    if not is_whole(draws) or draws < 1:
        raise MetricError(f"n_boot must be a whole number from 1, not {n_boot!r}.")
    positive, first = binary_scores(y, a)
    _, second = binary_scores(y, b)
    curves = [sweep(positive, score, tie_tol)[1:] for score in (first, second)]
    where = _grid(at, *[false for _, false in curves])
    if not (positive.any() and not positive.all()):
        missing = np.full(where.size, np.nan)
        reason = f"no {'negative' if positive.any() else 'positive'} record"
        return CurveBand(where, missing, missing, missing, level, "pointwise", reason)
    estimate = _difference(curves[0], curves[1], where)
    own = None if clusters is None else cluster_codes(clusters, positive.size)
    reason = shortage(positive, np.stack([first, second]), own)
    if reason:
        missing = np.full(where.size, np.nan)
        return CurveBand(where, missing, estimate, missing, level, "pointwise", reason)
    order = np.lexsort((positive, second, first))  # that of the records is nothing
    unit = np.arange(order.size)
    if own is not None:
        unit = cluster_codes(own[order], order.size)
    sums = [_Sums.of(positive[order], x[order], tie_tol) for x in (first, second)]
    samples = _times(positive[order], unit, draws, resolve_seed(seed))
    values = np.stack(
        [
            _difference(sums[0].counts(times), sums[1].counts(times), where)
            for times in samples
        ]
    )
    ends = [(1 - level) / 2, (1 + level) / 2]
    lower, upper = np.quantile(values, ends, axis=0)
    if (lower == upper).all():
        reason = "no sample moves the difference, so the band is a line"
    return CurveBand(where, lower, estimate, upper, level, "pointwise", reason)


@dataclass(frozen=True, eq=False)
class _Sums:
    """What it takes to count positives by falling threshold in a sample."""

    order: Ints
    ends: Ints
    ones: Bools

    @classmethod
    def of(cls, positive: Bools, score: Floats, tie_tol: float) -> _Sums:
        values = -round_significant(score, tie_tol)
        order = np.argsort(values, kind="stable")
        values = values[order]
        ends = np.append(np.flatnonzero(values[1:] != values[:-1]), values.size - 1)
        return cls(order, ends, positive[order])

    def counts(self, times: Floats) -> tuple[Floats, Floats]:
        """Return true and false positives, from 0, of records drawn so many times."""
        drawn = times[self.order]
        true, false = (
            np.concatenate([[0.0], np.cumsum(drawn * of_class)[self.ends]])
            for of_class in (self.ones, ~self.ones)
        )
        return true, false


def _times(positive: Bools, unit: Ints, draws: int, seed: int) -> Iterator[Floats]:
    """Yield how often each record is drawn; units among those of the same classes."""
    holds = np.bincount(unit, positive) > 0, np.bincount(unit, ~positive) > 0
    kinds = (holds[0] & ~holds[1], ~holds[0] & holds[1], holds[0] & holds[1])
    strata = [np.flatnonzero(kind) for kind in kinds]
    generator = np.random.default_rng(seed)
    times = np.zeros(unit.max() + 1)
    for _ in range(draws):
        for members in strata:
            size = len(members)
            drawn = generator.integers(size, size=size) if size else members
            times[members] = np.bincount(drawn, minlength=size)
        yield times[unit]


def _grid(at: ArrayLike | None, *false: Floats) -> Floats:
    if at is not None:
        where = vector(at, "at")
        if not ((where >= 0) & (where <= 1)).all():
            raise MetricError("at must hold numbers from 0 to 1.")
        return where
    most = false[0][-1]
    if not 0 < most <= _MOST_STEPS:
        return np.linspace(0, 1, _MOST_STEPS + 1)
    steps = np.unique(np.concatenate(false)) / most
    return np.sort(np.concatenate([steps, steps[1:] - 1e-4 / most]))


def _difference(
    first: tuple[Floats, Floats], second: tuple[Floats, Floats], at: Floats
) -> Floats:
    return _sensitivity(*first, at) - _sensitivity(*second, at)


def _sensitivity(true: Floats, false: Floats, at: Floats) -> Floats:
    """Sensitivity at false positive rates, from counts by falling threshold."""
    count = np.round(at * false[-1], 9)
    last = np.searchsorted(false, count, side="right") - 1
    after = np.minimum(last + 1, false.size - 1)
    step = np.maximum(false[after] - false[last], 1)
    share = (count - false[last]) / step
    return np.asarray((true[last] + share * (true[after] - true[last])) / true[-1])
