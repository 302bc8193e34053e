"""The exact bound from disjoint pairs, checked by SciPy and by exhaustive search."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from statcv.metrics import auroc, delong
from statcv.metrics.areas import disjoint_pairs, limits_at_end, p_at_end, pick_disjoint


def most_disjoint(pairs):
    """Return the largest number of disjoint pairs, by exhaustive search."""
    if not pairs:
        return 0
    (a, b), *rest = pairs
    without = most_disjoint(rest)
    if a == b:
        return without
    apart = [pair for pair in rest if not {a, b} & set(pair)]
    return max(without, 1 + most_disjoint(apart))


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
@pytest.mark.parametrize("pairs", [2, 7, 5000])
def test_limits_are_those_of_clopper_and_pearson(pairs, level):
    for area in (0.0, 1.0):
        peer = stats.binomtest(int(area * pairs), pairs).proportion_ci(level, "exact")
        found = limits_at_end(area, pairs, level)
        np.testing.assert_allclose(found, peer, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize("area", [0.0, 1.0])
def test_p_equals_that_of_the_sign_test(area, alternative):
    for pairs in (2, 9):
        right = int(area * pairs)
        peer = stats.binomtest(right, pairs, 0.5, alternative).pvalue
        assert p_at_end(area, pairs, 0.5, alternative) == pytest.approx(peer)


@given(st.floats(0.01, 0.99), st.integers(2, 60), st.sampled_from([0.0, 1.0]))
def test_limits_and_p_agree(null, pairs, area):
    lower, upper = limits_at_end(area, pairs, 0.9)
    p = p_at_end(area, pairs, null, "two-sided")
    if abs(p - 0.1) > 1e-9:
        assert (p > 0.1) == (lower < null < upper)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=8))
def test_the_number_of_disjoint_pairs_agrees_with_exhaustive_search(records):
    positive = np.array([one for one, _ in records])
    codes = np.array([code for _, code in records])
    ones, zeros = set(codes[positive]), set(codes[~positive])
    every = {tuple(sorted(pair)) for pair in itertools.product(ones, zeros)}
    assert disjoint_pairs(positive, codes) == most_disjoint(sorted(every))
    own = np.arange(len(positive))
    assert disjoint_pairs(positive, own) == disjoint_pairs(positive)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)
)
def test_the_greedy_search_finds_at_least_half_of_the_disjoint_pairs(pairs):
    first, second = np.array(pairs).T
    most = most_disjoint(sorted({tuple(sorted(pair)) for pair in pairs}))
    assert most / 2 <= pick_disjoint(first, second) <= most


@pytest.mark.parametrize(("ones", "zeros"), [(1, 5), (4, 4), (7, 3)])
def test_among_all_pairs_the_search_finds_the_size_of_the_smaller_class(ones, zeros):
    first, second = map(np.ravel, np.indices((ones, zeros)))
    assert pick_disjoint(first, ones + second) == min(ones, zeros)


def test_a_chain_of_pairs_is_searched_from_its_ends():
    found = pick_disjoint(np.array([1, 0, 2]), np.array([2, 1, 3]))
    assert found == 2
    assert isinstance(found, int)  # a reason names this number


@pytest.mark.parametrize(
    ("ones", "zeros", "level"), [(2, 2, 0.95), (3, 20, 0.9), (50, 8, 0.95)]
)
def test_an_area_of_one_or_zero_has_an_interval_on_the_logit_scale(ones, zeros, level):
    y = np.repeat([1, 0], [ones, zeros])
    lower = ((1 - level) / 2) ** (1 / min(ones, zeros))
    right = delong(y, y, interval="logit", level=level)
    wrong = delong(y, -y, interval="logit", level=level)
    assert (right.auc, right.se, right.upper) == (1, 0, 1)
    assert right.lower == pytest.approx(lower, rel=1e-12)
    assert (wrong.auc, wrong.se, wrong.lower) == (0, 0, 0)
    assert wrong.upper == pytest.approx(1 - lower, rel=1e-12)
    assert f"exact bound on {min(ones, zeros)} pairs that share no record" in (
        right.reason
    )
    point = delong(y, y, level=level)
    assert (point.lower, point.upper) == (1, 1)


def test_with_clusters_the_pairs_share_no_cluster():
    y = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0])
    visits = np.array(list("aabcadeff"))  # a, b, c and a, d, e, f: three pairs
    found = delong(y, y, interval="logit", clusters=visits)
    assert found.lower == pytest.approx(0.025 ** (1 / 3))
    assert "3 pairs that share no cluster" in found.reason
    two = delong([1, 1, 0, 0], [1, 1, 0, 0], interval="logit", clusters=[0, 1, 0, 1])
    assert np.isnan([two.lower, two.upper]).all()
    assert "too few for an interval" in two.reason


def test_scores_that_all_tie_have_a_point_interval():
    tied = delong([0, 0, 1, 1], [1, 1, 1, 1], interval="logit")
    assert (tied.lower, tied.upper) == (0.5, 0.5)
    assert "do not vary" in tied.reason


@pytest.mark.slow
@pytest.mark.parametrize("digits", [None, 0])
def test_an_area_of_one_is_at_most_as_likely_as_the_bound(digits):
    rng = np.random.default_rng(3)
    y, times = np.repeat([1, 0], [3, 5]), 4000
    drawn = rng.normal(size=(times, 8)) + 0.4 * y
    scores = drawn if digits is None else drawn.round(digits)
    areas = np.array([auroc(y, score) for score in scores])
    truth = areas.mean()  # unbiased, from 4000 samples
    perfect = scores[areas == 1]
    assert 0 < len(perfect) / times < truth**3
    found = [delong(y, score, interval="logit", level=0.5) for score in perfect]
    missed = sum(d.lower > truth for d in found)
    assert 0 < missed / times < 0.25  # the nominal error of a lower limit at this level
