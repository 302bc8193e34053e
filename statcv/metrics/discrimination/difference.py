"""The difference of two ROC curves of the same records, with a confidence band."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from statcv.arguments import check_level, resolve_seed
from statcv.errors import MetricError
from statcv.metrics.areas.counts import shortage
from statcv.metrics.discrimination.bands import CurveBand, band_of_samples
from statcv.metrics.discrimination.curves import sensitivity_at, sweep
from statcv.metrics.inputs import Floats, binary_scores, cluster_codes
from statcv.metrics.records import Falling, drawn_times, number_of_draws, shares_at

_SAME = "the difference is the same in all bootstrap samples: the band has no width"


_MOST_STEPS = 200  # with at most this many negative records, every step is shown


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

    The scores are taken as given and belong to the same records; each bootstrap sample
    draws the same records for both.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    a, b : array_like of shape (n,)
        Two scores.
    level : float, default 0.95
        Confidence level of the band at each point.
    at : array_like of shape (points,), optional
        False positive rates. By default, the rates at which either curve bends or
        jumps, and a point just before each of them, so that the area under the line is
        the difference of the two areas. With more than 200 negative records, the
        default is 0, 0.005, …, 1.
    clusters : array_like of shape (n,), optional
        Cluster labels, equal for records that belong together. The bootstrap then
        draws whole clusters.
    n_boot : int, optional
        Number of bootstrap samples; 2000 by default.
    seed : int, Generator or None
        Seed for the bootstrap.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    CurveBand
        Sensitivity of `a` minus that of `b`. At a false positive rate where a curve
        jumps, the upper end of the jump is used. The band is NaN, with the reason, if a
        class has fewer than two records (or clusters).

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, a score is NaN, the lengths differ, or an
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
    order = np.lexsort((positive, second, first))
    one, other = (Falling.of(positive, x, tie_tol) for x in (first, second))
    samples = drawn_times(positive, order, own, draws, resolve_seed(seed))

    def of_sample(times: Floats) -> Floats:
        return _difference(one.counts(times), other.counts(times), where)

    return band_of_samples(where, estimate, level, samples, of_sample, reason, _SAME)


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
