"""Combined p-values of several data sets, compared with scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import combine_pvalues, norm

from statcv.errors import ArgumentError, DataError
from statcv.inference.meta.effects import fisher, one_sided, stouffer

PUBLISHED = [0.38976, 0.12437, 0.04829, 0.03233]
shares = st.floats(1e-12, 1 - 1e-12)


def test_published_p_values():
    assert round(fisher(PUBLISHED).p_value, 5) == 0.01498
    assert fisher(PUBLISHED).df == 8


@given(st.lists(shares, min_size=1, max_size=8))
def test_agreement_with_scipy(p):
    expected = combine_pvalues(p, method="fisher")
    found = fisher(p)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)


@given(st.lists(st.tuples(shares, st.floats(0.1, 9)), min_size=1, max_size=8))
def test_agreement_with_scipy_with_weights(pairs):
    p, weights = zip(*pairs, strict=True)
    expected = combine_pvalues(p, method="stouffer", weights=weights)
    found = stouffer(p, weights=weights)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)


@given(st.lists(st.floats(-30, 30), min_size=2, max_size=6))
def test_signed_deviates_add_up(z):
    two_sided = 2 * norm.sf(np.abs(z))
    assert one_sided(two_sided, z, "greater") == pytest.approx(norm.sf(z))
    assert one_sided(two_sided, z, "less") == pytest.approx(norm.cdf(z))
    total = sum(z) / len(z) ** 0.5
    tails = {"greater": norm.sf, "less": norm.cdf}
    tails["two-sided"] = lambda x: 2 * norm.sf(abs(x))
    for side, tail in tails.items():
        found = stouffer(two_sided, direction=z, alternative=side)
        assert found.statistic == pytest.approx(total, abs=1e-9)
        assert found.p_value == pytest.approx(tail(total), rel=1e-6)


def test_a_single_p_value_is_unchanged():
    assert fisher([0.03]).p_value == pytest.approx(0.03)
    assert stouffer([0.03]).p_value == pytest.approx(0.03)


def test_far_tails_keep_their_digits():
    """Fisher's p-value of two is x (1 - log x) for their product x."""
    expected = 1e-180 * (1 + 180 * np.log(10))
    assert fisher([1e-100, 1e-80]).p_value == pytest.approx(expected, rel=1e-10, abs=0)


def test_a_p_value_of_zero_decides_with_a_reason():
    for combined in (fisher([0.0, 0.5]), stouffer([0.0, 0.5])):
        assert combined.p_value == 0
        assert "1 of 2 p-values are 0" in combined.reason
    both = stouffer([0.0, 1.0])
    assert np.isnan(both.p_value)
    assert "contradict" in both.reason


def test_missing_p_values_are_omitted():
    for combined in (fisher([0.1, np.nan]), stouffer([0.1, np.nan])):
        assert np.isnan(combined.p_value)
        assert combined.reason.startswith("1 of 2 data sets have no p-value")


def test_a_weight_of_zero_omits_a_data_set():
    assert stouffer([0.1, 0.9], weights=[2, 0]).p_value == pytest.approx(0.1)


def test_invalid_arguments_raise_an_error():
    with pytest.raises(DataError, match=r"1\.5 is not a p-value"):
        fisher([0.1, 1.5])
    with pytest.raises(DataError, match="one or more"):
        stouffer([])
    with pytest.raises(ArgumentError, match="2 numbers"):
        stouffer([0.1, 0.2], weights=[1])
    with pytest.raises(ArgumentError, match="some above 0"):
        stouffer([0.1, 0.2], weights=[0, 0])
