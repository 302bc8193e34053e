import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from statcv.errors import SchemeError
from statcv.folds import make_plan
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.weighting import Tilting, class_weights, tilting


def training(split, n, *lists):
    absent = np.concatenate([part[split] for part in lists])
    return np.setdiff1d(np.arange(n), absent)


@st.composite
def splits(draw):
    n = draw(st.integers(4, 60))
    k = draw(st.integers(2, n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    fold = rng.permutation(np.arange(n) % k)
    out = [
        rng.choice(np.flatnonzero(fold != f), draw(st.integers(0, 1)), replace=False)
        for f in range(k)
    ]
    return rng, n, Ragged.grouped(fold, k), Ragged.of(out)


@given(splits(), st.integers(1, 4))
def test_each_class_has_a_constant_total_weight(case, classes):
    rng, n, tests, out = case
    codes = rng.integers(classes, size=n)
    rows = [training(s, n, tests, out) for s in range(len(tests))]
    counts = np.array([np.bincount(codes[r], minlength=classes) for r in rows])
    if ((counts == 0) & (np.bincount(codes, minlength=classes) > 0)).any():
        with pytest.raises(SchemeError, match="without any"):
            class_weights(codes, counts)
        return
    weights = class_weights(codes, counts)
    totals = [
        np.bincount(codes[r], weights.of(s, r), classes) for s, r in enumerate(rows)
    ]
    np.testing.assert_allclose(totals, np.tile(counts.max(axis=0), (len(rows), 1)))


def test_a_missing_class_is_named():
    codes, counts = np.array([0, 0, 1]), np.array([[0, 1], [2, 0]])
    with pytest.raises(SchemeError, match="'ill' has 2 records"):
        class_weights(codes, counts, ["ill", "well"])


def draws(kind, rng, n):
    if kind == "normal":
        return rng.standard_normal(n)
    if kind == "heavy tails":
        return rng.standard_cauchy(n)
    if kind == "counts":
        return rng.poisson(3, n).astype(float)
    return 1e3 + np.exp(2 * rng.standard_normal(n))


KINDS = ("normal", "heavy tails", "counts", "skewed, far from 0")


@given(splits(), st.sampled_from(KINDS))
def test_tilted_means_are_the_mean_of_all_records(case, kind):
    rng, n, tests, out = case
    y = draws(kind, rng, n)
    rows = [training(s, n, tests, out) for s in range(len(tests))]
    z = y - y.mean()
    sided = [(z[r].min() >= 0) != (z[r].max() <= 0) for r in rows]
    if any(sided) and np.ptp(y) > 0:
        with pytest.raises(SchemeError, match="outside the range"):
            tilting(y, tests, out)
        return
    tilt = tilting(y, tests, out)
    for split, r in enumerate(rows):
        weights = tilt.of(split, r)
        assert (weights >= 0).all()
        np.testing.assert_allclose(weights.sum(), len(r), rtol=1e-12)
        assert abs(weights @ z[r]) / len(r) <= 1e-12 * y.std()


def test_a_training_set_of_records_at_the_mean_needs_no_tilt():
    y, tests = np.array([2.0, 2.0, 1.0, 3.0, 0.0, 4.0]), Ragged.of([[2, 3, 4, 5], [0]])
    weights = tilting(y, tests, Ragged.empty(2)).of(0, np.array([0, 1]))
    np.testing.assert_allclose(weights, 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_theta_is_the_root_found_without_a_series(kind):
    rng = np.random.default_rng(8)
    y = draws(kind, rng, 200)
    y[:3] = np.sort(y)[[-1, 0, 100]]
    tests, out = Ragged.grouped(np.arange(200) // 2, 100), Ragged.empty(100)
    tilt = tilting(y, tests, out)
    unit = (y - y.mean()) / np.abs(y - y.mean()).max()
    for split in range(100):
        z = unit[training(split, 200, tests, out)]

        def slope(theta, z=z):
            exponent = theta * z
            return np.sum(z * np.exp(exponent - exponent.max()))

        root = brentq(slope, -500, 500, xtol=1e-14)
        scaled = tilt.theta[split] * np.abs(y - y.mean()).max()
        np.testing.assert_allclose(scaled, root, rtol=1e-7, atol=1e-11)


def test_series_and_direct_sums_meet():
    """Folds of sorted records need tilts on both sides of the limit of the series."""
    y = np.sort(np.random.default_rng(2).standard_normal(400))
    far = []
    for fold in (np.arange(400) // 40, np.arange(400) // 100, np.arange(400) % 10):
        tests = Ragged.grouped(fold, fold.max() + 1)
        tilt = tilting(y, tests, Ragged.empty(len(tests)))
        far.extend(np.abs(tilt.theta) * np.abs(y - y.mean()).max() > 1)
        for split in range(len(tests)):
            rows = training(split, 400, tests)
            mean = np.average(y[rows], weights=tilt.of(split, rows))
            assert abs(mean - y.mean()) <= 1e-12 * y.std()
    assert 0 < sum(far) < len(far)


def test_a_constant_outcome_needs_no_tilt():
    tests = Ragged.grouped(np.arange(7), 7)
    tilt = tilting(np.full(7, 0.1), tests, Ragged.empty(7))
    np.testing.assert_array_equal(tilt.of(3, np.array([0, 1])), [1, 1])


def test_a_range_without_the_mean_raises_an_error():
    tests = Ragged.of([[0], [1], [2], [3]])
    with pytest.raises(SchemeError, match=r"1 training set .* split 4"):
        tilting(np.array([0.0, 0.0, 0.0, 1.0]), tests, Ragged.empty(4))


def test_weights_take_little_memory_and_pickle():
    n = 2000
    y = np.random.default_rng(1).standard_normal(n)
    tests, out = Ragged.grouped(np.arange(n), n), Ragged.empty(n)
    tilt = tilting(y, tests, out)
    assert len(pickle.dumps(tilt)) < 4 * 8 * n
    assert isinstance(pickle.loads(pickle.dumps(tilt)), Tilting)
    codes = (y > 0).astype(int)
    weights = class_weights(codes, np.bincount(codes) - np.eye(2, dtype=int)[codes])
    assert len(pickle.dumps(weights)) < 4 * 8 * n


@pytest.mark.parametrize("kind", ["binary", "multiclass", "continuous"])
def test_weighted_means_of_all_training_sets_are_those_of_each(kind):
    rng = np.random.default_rng(2)
    y = {
        "binary": np.arange(30) % 3 // 2,
        "multiclass": np.arange(30) % 4 // 2 + np.arange(30) % 3 // 2,
        "continuous": rng.normal(size=30),
    }[kind]
    values = rng.normal(2, 3, size=30)
    plan = make_plan("kfold", y, kind, k=5, rebalance="weight", seed=1)
    fits = [(fit, plan.train(fit)) for fit in range(plan.n_fits)]
    expected = [np.average(values[r], weights=plan.weights(f, r)) for f, r in fits]
    np.testing.assert_allclose(plan.training_means(values), expected)
