"""Two ROC curves of the same records: how far one is above the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import MetricError
from statcv.level import check_level
from statcv.metrics._counts import shortage
from statcv.metrics._inputs import Floats, binary_scores, cluster_codes
from statcv.metrics._resampled import (
    Falling,
    drawn_times,
    number_of_draws,
    percentiles,
    shares_at,
)
from statcv.metrics.bands import CurveBand
from statcv.metrics.curves import sensitivity_at, sweep
from statcv.seeds import resolve_seed

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
    draws = number_of_draws(n_boot)
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
    order = np.lexsort((positive, second, first))
    one, other = (Falling.of(positive, x, tie_tol) for x in (first, second))
    samples = drawn_times(positive, order, own, draws, resolve_seed(seed))
    values = np.stack(
        [
            _difference(one.counts(times), other.counts(times), where)
            for times in samples
        ]
    )
    lower, upper = percentiles(values, level)
    if (lower == upper).all():
        reason = "no sample moves the difference, so the band is a line"
    return CurveBand(where, lower, estimate, upper, level, "pointwise", reason)


def _grid(at: ArrayLike | None, *false: Floats) -> Floats:
    if at is not None:
        return shares_at(at)
    most = false[0][-1]
    if not 0 < most <= _MOST_STEPS:
        return np.linspace(0, 1, _MOST_STEPS + 1)
    steps = np.unique(np.concatenate(false)) / most
    return np.sort(np.concatenate([steps, steps[1:] - 1e-4 / most]))


def _difference(
    first: tuple[Floats, Floats], second: tuple[Floats, Floats], at: Floats
) -> Floats:
    return sensitivity_at(*first, at) - sensitivity_at(*second, at)
