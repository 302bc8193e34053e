"""The difference of two ROC curves, checked by hand and by a slow bootstrap."""

import numpy as np
import pytest

from statcv.errors import MetricError
from statcv.metrics import auroc, roc_curve, roc_difference


def sample(n, seed, ties=False):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    y[:4] = [True, True, False, False]
    a, b = y + rng.normal(size=n), 0.5 * y + rng.normal(size=n)
    return (y, a.round(), b.round()) if ties else (y, a, b)


def height(y, score, at):
    """Return the upper end of the curve at a false positive rate, by hand."""
    curve = roc_curve(y, score)
    exact = np.isclose(curve.fpr, at, rtol=0, atol=1e-9)
    if exact.any():
        return curve.tpr[exact].max()
    return np.interp(at, curve.fpr, curve.tpr)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_estimate_is_the_difference_of_the_curves(seed, ties):
    y, a, b = sample(40, seed, ties)
    at = np.linspace(0, 1, 23)
    found = roc_difference(y, a, b, at=at, n_boot=1, seed=1).estimate
    wanted = [height(y, a, x) - height(y, b, x) for x in at]
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_the_area_under_the_difference_is_the_difference_of_the_areas(ties):
    y, a, b = sample(60, 7, ties)
    found = roc_difference(y, a, b, n_boot=1, seed=1)
    heights = (found.estimate[1:] + found.estimate[:-1]) / 2
    area = (np.diff(found.at) * heights).sum()
    assert area == pytest.approx(auroc(y, a) - auroc(y, b), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("clustered", [False, True])
def test_the_band_agrees_with_a_slow_paired_bootstrap(clustered):
    y, a, b = sample(80, 3)
    units = np.arange(80) // 2 if clustered else np.arange(80)
    at = np.array([0.1, 0.3, 0.7])
    clusters = units if clustered else None
    found = roc_difference(y, a, b, at=at, clusters=clusters, n_boot=2000, seed=1)
    rng, values = np.random.default_rng(2), []
    kinds = [tuple(np.unique(y[units == u])) for u in range(units.max() + 1)]
    strata = [
        [u for u, own in enumerate(kinds) if own == kind] for kind in sorted(set(kinds))
    ]
    for _ in range(1000):
        drawn = np.concatenate([rng.choice(s, len(s)) for s in strata])
        rows = np.concatenate([np.flatnonzero(units == u) for u in drawn])
        values.append(
            [height(y[rows], a[rows], x) - height(y[rows], b[rows], x) for x in at]
        )
    lower, upper = np.quantile(values, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(found.lower, lower, atol=0.065)
    np.testing.assert_allclose(found.upper, upper, atol=0.065)


def test_the_order_of_the_records_does_not_matter():
    y, a, b = sample(30, 4)
    units, back = np.arange(30) // 2, slice(None, None, -1)
    for clusters in (None, units):
        other = None if clusters is None else clusters[back]
        one = roc_difference(y, a, b, clusters=clusters, n_boot=50, seed=1)
        two = roc_difference(
            y[back], a[back], b[back], clusters=other, n_boot=50, seed=1
        )
        assert one.lower.tolist() == two.lower.tolist()


def test_a_score_minus_itself_is_zero_everywhere():
    y, a, _ = sample(30, 1)
    found = roc_difference(y, a, 2 * a, n_boot=50, seed=1)
    assert not np.any([found.lower, found.estimate, found.upper])
    assert "the same in all bootstrap samples" in found.reason


def test_many_records_use_an_even_grid():
    y, a, b = sample(1000, 2)
    assert roc_difference(y, a, b, n_boot=2, seed=1).at.tolist() == pytest.approx(
        np.linspace(0, 1, 201).tolist()
    )


def test_without_a_band_there_is_a_reason():
    found = roc_difference([0, 0, 1], [1, 2, 3], [3, 2, 1], seed=1)
    assert np.isnan(found.lower).all()
    assert not np.isnan(found.estimate).any()
    assert found.reason
    found = roc_difference([1, 1], [1, 2], [3, 2], seed=1)
    assert np.isnan(found.estimate).all()
    assert found.reason == "no negative record"


def test_arguments_out_of_range():
    y, a, b = sample(10, 1)
    with pytest.raises(MetricError, match="level"):
        roc_difference(y, a, b, level=95.0)
    with pytest.raises(MetricError, match="n_boot"):
        roc_difference(y, a, b, n_boot=0)
    with pytest.raises(MetricError, match="0 to 1"):
        roc_difference(y, a, b, at=[1.2])
    with pytest.raises(MetricError):
        roc_difference(y, a, b[:-1])
    with pytest.raises(MetricError, match="NaN"):
        roc_difference(y, np.where(a > 0, np.nan, a), b)
