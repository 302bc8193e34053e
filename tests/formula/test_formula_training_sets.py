"""Sums and order statistics of many training sets, beside those of each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.formula.by_fold.training_sets import TrainingSets


def sets_of(times):
    owner, row = np.nonzero(times != 1)
    return TrainingSets(times.shape[1], len(times), owner, row, times[owner, row])


@st.composite
def drawn(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    fits, n = draw(st.integers(1, 5)), draw(st.integers(3, 25))
    times = rng.integers(0, 3, (fits, n))
    if draw(st.booleans()):
        times = np.where(rng.random((fits, n)) < 0.8, 1, times)
    times[:, 0] = 1
    return times, np.round(rng.normal(size=n), draw(st.integers(0, 3)))


@given(drawn())
def test_order_statistics_are_those_of_each_training_set(case):
    times, x = case
    sets = sets_of(times)
    values = [np.repeat(x, one) for one in times]
    assert [sets.rows(fit).tolist() for fit in range(len(times))] == [
        np.repeat(np.arange(len(x)), one).tolist() for one in times
    ]
    np.testing.assert_array_equal(sets.counts(np.arange(len(times))), times)
    np.testing.assert_array_equal(sets.sizes, times.sum(axis=1))
    shares = [0, 0.25, 1 / 3, 0.5, 0.9, 1]
    for distinct in (False, True):
        expected = [
            np.percentile(np.unique(one) if distinct else one, np.multiply(100, shares))
            for one in values
        ]
        found = sets.quantiles(x, shares, distinct)
        np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize("outlier", [0.0, 1e3, 1e6])
def test_roots_are_cholesky_factors_without_an_outlier_too(outlier):
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(20), rng.normal(size=(20, 2))])
    X[4, 1] += outlier
    Q = np.linalg.qr(X)[0]
    times = np.ones((3, 20), dtype=int)
    times[0, 4], times[1, :5], times[2] = 0, 0, rng.multinomial(20, np.full(20, 0.05))
    for times_of, root in zip(times, sets_of(times).roots(Q), strict=True):
        rows = np.repeat(Q, times_of, axis=0)
        expected = np.abs(np.linalg.qr(rows, mode="r")).T
        np.testing.assert_allclose(np.abs(root), expected, rtol=1e-9, atol=1e-11)
        assert (root.diagonal() > 0).all()


def test_a_root_that_does_not_exist_is_nan():
    times = np.array([[0, 0, 1, 1]])
    Q = np.linalg.qr(np.array([[1.0, 0], [1, 1], [1, 5], [1, 5]]))[0]
    root = sets_of(times).roots(Q)
    assert not root[0, 1, 1] > 1e-12
