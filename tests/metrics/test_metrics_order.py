"""Numbers in rising order, and areas of records that are counted by their score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.metrics import auprc
from statcv.metrics.discrimination.curves import auprc_of_counts
from statcv.metrics.discrimination.order import distinct_values, rising_order

SHAPES = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "ties": lambda rng, n: rng.integers(0, 50, n) / 7,
    "rising": lambda rng, n: np.sort(rng.standard_normal(n)),
    "falling": lambda rng, n: -np.sort(rng.standard_normal(n)),
    "equal": lambda rng, n: np.full(n, 0.1),
    "infinite": lambda rng, n: np.append(rng.standard_normal(n - 2), [np.inf, -np.inf]),
    "close": lambda rng, n: 1 + 1e-15 * rng.integers(0, 100, n),
    "huge": lambda rng, n: 1e308 * rng.uniform(-1, 1, n),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 5, 20_000])
def test_numbers_are_put_in_order_as_by_a_stable_sort(shape, n):
    values = SHAPES[shape](np.random.default_rng(n), max(n, 2))
    assert np.array_equal(rising_order(values), np.argsort(values, kind="stable"))
    distinct, place = distinct_values(values)
    expected = np.unique(values, return_inverse=True)
    assert np.array_equal(distinct, expected[0])
    assert np.array_equal(place, expected[1])


@pytest.mark.parametrize("n", [5, 20_000])
def test_missing_numbers_come_last(n):
    values = np.random.default_rng(1).standard_normal(n)
    values[[0, n // 2]] = np.nan
    assert np.array_equal(rising_order(values), np.argsort(values, kind="stable"))
    assert np.isnan(distinct_values(values)[0][-1])


@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.integers(0, 4), st.integers(0, 4)), min_size=1
    ),
    st.sampled_from(["average_precision", "trapezoid", "interpolated"]),
)
def test_areas_of_counted_records_are_those_of_the_records(rows, method):
    score, positive, negative = np.array(rows, dtype=float).T
    y, score_of = [], []
    for value, ones, zeros in rows:
        y += [1] * ones + [0] * zeros
        score_of += [value] * (ones + zeros)
    found = auprc_of_counts(score, positive, negative, method)
    if not positive.any():
        assert np.isnan(found)
        return
    expected = auprc(np.array(y), np.array(score_of, dtype=float), method=method)
    assert found == pytest.approx(expected, rel=1e-12)
