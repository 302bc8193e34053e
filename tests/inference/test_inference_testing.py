"""Tests of one estimate against a value, compared with SciPy and with counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import statcv as scv
from statcv.errors import ArgumentError
from statcv.inference import Estimate, permutation_test, wald_test
from statcv.inference.intervals.interval import Interval, symmetric
from statcv.inference.tests.no_skill import permutation_p

SIDES = ("two-sided", "greater", "less")


def estimate(value, se=0.1, df=np.nan):
    made = Interval(value - 0.2, value + 0.2, se, "DeLong", "that", df)
    return Estimate(
        metric="auroc",
        label="auROC",
        how="pooled",
        value=value,
        level=0.95,
        n_undefined=0,
        n_values=1,
        sd=np.nan,
        make=lambda: made,
    )


@given(
    st.floats(0, 1), st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1)
)
def test_p_of_a_permutation_test_counts_the_outcome_itself(value, permuted):
    values = np.array(permuted)
    near = 1e-12 * max(value, *permuted, 0)
    above = (1 + sum(v >= value - near for v in permuted)) / (1 + len(permuted))
    below = (1 + sum(v <= value + near for v in permuted)) / (1 + len(permuted))
    assert permutation_p(value, values, "greater") == above
    assert permutation_p(value, values, "less") == below
    both = permutation_p(value, values, "two-sided")
    assert both == min(1, 2 * min(above, below))
    assert min(above, below) > 0


def test_a_permutation_test_states_the_centre_of_its_distribution():
    test = permutation_test(
        estimate(0.4), [0.1, 0.3, np.nan, 0.2], alternative="greater"
    )
    assert test.null == pytest.approx(0.2)
    assert test.p_value == 1 / 4
    assert "1 permutation gave no value" in str(test)
    assert "mean is 0.200" in str(test)


@pytest.mark.parametrize("side", SIDES)
def test_wald_tests_are_normal_or_t(side):
    found = wald_test(estimate(0.7), 0.5, alternative=side)
    assert found.statistic == pytest.approx(2)
    tails = {"greater": stats.norm.sf(2), "less": stats.norm.cdf(2)}
    assert found.p_value == pytest.approx(tails.get(side, 2 * stats.norm.sf(2)))
    by_t = estimate(0.7, df=4.0)
    found = wald_test(by_t, 0.5, alternative=side)
    tails = {"greater": stats.t.sf(2, 4), "less": stats.t.cdf(2, 4)}
    assert found.df == 4
    assert found.p_value == pytest.approx(tails.get(side, 2 * stats.t.sf(2, 4)))


def test_a_wald_test_rejects_where_the_interval_excludes():
    for value in np.linspace(0.55, 0.95, 9):
        for scale, df in (("identity", np.nan), ("logit", 7.0), ("logit", np.nan)):
            made = symmetric(value, 0.11, 0.95, "a", "b", df=df, scale=scale)
            bare = estimate(value).with_interval(lambda made=made: made)
            found = wald_test(bare, 0.5, alternative="two-sided")
            assert (found.p_value < 0.05) == (made.lower > 0.5)


def test_tiny_p_values_are_not_rounded_to_zero():
    found = wald_test(estimate(0.9, se=0.02), 0.5, alternative="greater")
    assert found.p_value == pytest.approx(stats.norm.sf(20), rel=1e-10)
    assert found.p_value > 0
    assert "p < 0.0001" in str(found)


def test_an_unavailable_test_has_a_reason():
    nothing = estimate(0.7, se=np.nan)
    found = wald_test(nothing, 0.5, alternative="greater")
    assert np.isnan(found.p_value)
    assert "No test: that" in str(found)
    found = permutation_test(nothing, [], alternative="greater", reason="no reason")
    assert np.isnan(found.p_value)
    assert found.reason == "no reason"
    assert np.isnan(scv.t_test([0.4]).p_value)


@pytest.mark.parametrize("side", SIDES)
def test_tests_of_replicates_agree_with_scipy(side):
    values = np.random.default_rng(1).normal(0.52, 0.1, 12)
    ours = scv.t_test([*values, np.nan], 0.5, alternative=side)
    theirs = stats.ttest_1samp(values, 0.5, alternative=side)
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.df == 11
    interval = stats.ttest_1samp(values, 0.5).confidence_interval()
    assert (ours.lower, ours.upper) == pytest.approx((interval.low, interval.high))
    assert "The mean excludes 1 missing value" in str(ours)


def test_replicates_that_do_not_vary():
    assert scv.t_test([0.5, 0.5]).p_value == 1
    found = scv.t_test([0.6, 0.6])
    assert found.p_value == 0
    assert "no variation can be estimated" in found.reason


def test_unknown_alternatives_raise_an_error():
    with pytest.raises(ArgumentError, match="Did you mean 'greater'"):
        scv.t_test([0.1, 0.2], alternative="greatr")


def test_a_null_value_without_a_logit_has_no_test_on_that_scale():
    made = symmetric(0.7, 0.1, 0.95, "logit", "that", scale="logit")
    found = wald_test(
        estimate(0.7).with_interval(lambda: made), 0.0, alternative="greater"
    )
    assert np.isnan(found.p_value)
    assert "logit of the null value 0" in str(found)


def test_an_interval_that_excludes_its_estimate_says_so():
    beside = estimate(0.7).with_interval(
        lambda: Interval(0.8, 0.9, 0.02, "percentile", "that")
    )
    assert "the estimate itself lies outside" in beside.assumes
    assert "outside" not in estimate(0.7).assumes
