"""Numbers in rising order, and areas of records that are counted by their score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.metrics import auprc, auroc, auroc_by_group, midrank, round_significant
from statcv.metrics.discrimination import RankedRecords, auprc_of_counts, begins_value

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
def test_equal_numbers_share_the_mean_of_their_ranks(shape, n):
    values = SHAPES[shape](np.random.default_rng(n), max(n, 2))
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(times) - (times - 1) / 2
    assert np.array_equal(midrank(values), ranks[place])


@pytest.mark.parametrize("n", [5, 20_000])
def test_missing_numbers_come_last(n):
    values = np.random.default_rng(1).standard_normal(n)
    values[[0, n // 2]] = np.nan
    ranked = RankedRecords.of(values)
    assert np.isnan(values[ranked.order[-2:]]).all()
    assert np.array_equal(values[ranked.order[:-2]], np.sort(values)[:-2])


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


# ---- which rising numbers are equal once they are rounded ----


@pytest.mark.parametrize("shape", SHAPES)
def test_numbers_begin_where_their_rounded_values_change(shape):
    rising = np.sort(SHAPES[shape](np.random.default_rng(3), 3000))
    for tie_tol in (1e-12, 3.3e-9, 1e-3, 0.0):
        rounded = round_significant(rising, tie_tol)
        new = np.append(True, rounded[1:] != rounded[:-1])
        assert np.array_equal(begins_value(rising, tie_tol), new)


@given(st.lists(st.integers(-40, 40), min_size=1), st.integers(-300, 290))
def test_numbers_near_each_other_begin_where_their_rounded_values_change(steps, power):
    rising = np.sort((1 + np.array(steps) * 1e-12) * 10.0**power)
    rounded = round_significant(rising)
    new = np.append(True, rounded[1:] != rounded[:-1])
    assert np.array_equal(begins_value(rising), new)


# ---- areas of many probabilities ----


def many(tied, n=20_000):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, n)
    p = 1 / (1 + np.exp(-rng.logistic(size=n) - y))
    p[:3] = 0.0, 1.0, 1e-12
    return y, np.round(np.round(p, 2) if tied else p, 12)


@pytest.mark.parametrize("tied", [False, True])
def test_records_of_two_classes_are_counted_by_value(tied):
    y, p = many(tied)
    found = RankedRecords.of(p).classes(y == 1)
    values, place = np.unique(p, return_inverse=True)
    assert np.array_equal(found.ones, np.bincount(place, y == 1, len(values)))
    assert np.array_equal(found.zeros, np.bincount(place, y == 0, len(values)))


@pytest.mark.parametrize("tied", [False, True])
def test_areas_of_many_probabilities_are_those_of_other_scores(tied):
    """Odds have the order of probabilities, but are not multiples of 1e-12."""
    y, p = many(tied)
    with np.errstate(divide="ignore"):
        score = np.log(p / (1 - p))
    assert auroc(y, p) == pytest.approx(auroc(y, score), rel=1e-13)
    assert auprc(y, p) == pytest.approx(auprc(y, score), rel=1e-12)
    group = np.sort(np.random.default_rng(1).integers(0, 7, len(y)))
    group[group == 3] = 4  # nobody is in group 3
    y[group == 5] = 1
    found, expected = (auroc_by_group(y, one, group, 7) for one in (p, score))
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert np.isnan(found[[3, 5]]).all()
    assert np.array_equal(p, many(tied)[1])  # is not sorted in place
