"""Wilcoxon's signed-rank test, compared with R and with all patterns of signs."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, wilcoxon

from statcv.errors import ArgumentError
from statcv.inference.tests import signed_rank

REFERENCE = Path(__file__).parents[1] / "reference"
CASES = pd.read_csv(REFERENCE / "signed_rank_cases.csv")
R = pd.read_csv(REFERENCE / "signed_rank_r.csv")


@pytest.mark.parametrize("row", [*R.itertuples()], ids=lambda r: f"{r[1:3]}")
def test_agreement_with_r(row):
    case = CASES.loc[CASES["case"] == row.case, "difference"]
    found = signed_rank(case, alternative=row.alternative.replace(".", "-"))
    for name in ("statistic", "p_value", "median", "lower", "upper"):
        assert getattr(found, name) == pytest.approx(getattr(row, name), rel=1e-10)
    assert found.exact


def test_thirteen_of_thirteen():
    assert signed_rank(np.arange(1, 14)).p_value == 2 / 2**13


def counted(values, zeros):
    """Return p-values from every pattern of signs, as in the textbook."""
    values = np.asarray(values, dtype=float)
    if zeros == "wilcox":
        values = values[values != 0]
    rank = rankdata(np.abs(values))[values != 0]
    observed = rank[values[values != 0] > 0].sum()
    sums = np.array([rank @ signs for signs in product([0, 1], repeat=len(rank))])
    greater, less = np.mean(sums >= observed), np.mean(sums <= observed)
    return greater, less, min(1, 2 * min(greater, less))


@given(
    st.lists(st.integers(-4, 4), min_size=1, max_size=9),
    st.sampled_from(["pratt", "wilcox"]),
)
def test_exact_with_ties_and_zeros(values, zeros):
    sides = ("greater", "less", "two-sided")
    found = [signed_rank(values, alternative=s, zeros=zeros).p_value for s in sides]
    assert found == pytest.approx(counted(values, zeros))


def test_many_differences_by_the_normal_distribution():
    rng = np.random.default_rng(3)
    values = rng.normal(0.1, 1, 300)
    found = signed_rank(values)
    expected = wilcoxon(values, method="approx", correction=True).pvalue
    assert not found.exact
    assert found.p_value == pytest.approx(expected)
    assert found.lower < found.median < found.upper


@pytest.mark.parametrize("zeros", ["pratt", "wilcox"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_many_differences_with_ties_and_zeros(alternative, zeros):
    rng = np.random.default_rng(4)
    for n, exact in ((200, True), (201, False), (400, False)):
        values = np.round(rng.normal(0.15, 2, n))
        assert (values == 0).sum() > 20
        found = signed_rank(values, alternative=alternative, zeros=zeros)
        peer = wilcoxon(
            values,
            zero_method=zeros,
            correction=True,
            alternative=alternative,
            method="approx",
        )
        assert found.exact == exact
        assert found.p_value == pytest.approx(peer.pvalue, rel=0.02 if exact else 1e-9)
        kept = values if zeros == "pratt" else values[values != 0]
        assert found.statistic == rankdata(np.abs(kept))[kept > 0].sum()


@pytest.mark.parametrize("n", [201, 202, 203, 204, 250, 301])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_interval_of_many_differences_inverts_the_test(n, level):
    values = np.random.default_rng(n).normal(0.2, 1, n)
    found = signed_rank(values, level=level)
    for bound, inward in ((found.lower, 1e-9), (found.upper, -1e-9)):
        inside, outside = (
            wilcoxon(values - bound - side * inward, correction=True, method="approx")
            for side in (1, -1)
        )
        assert inside.pvalue > 1 - level >= outside.pvalue


def test_the_interval_inverts_the_test():
    rng = np.random.default_rng(8)
    values = rng.normal(0.5, 1, 12)
    found = signed_rank(values)
    for bound, inward in ((found.lower, 1e-9), (found.upper, -1e-9)):
        assert signed_rank(values - bound - inward).p_value > 0.05
        assert signed_rank(values - bound + inward).p_value <= 0.05


def test_data_without_information():
    zero = signed_rank([0.0, 0.0, 0.0])
    assert (zero.p_value, zero.n_zero) == (1, 3)
    assert zero.reason == "every difference is 0"
    few = signed_rank([1.0, 2.0, 3.0])
    assert np.isnan(few.lower)
    assert "too few" in few.reason
    missing = signed_rank([1.0, np.nan])
    assert np.isnan([missing.statistic, missing.p_value, missing.median]).all()
    assert np.isnan([missing.lower, missing.upper]).all()
    assert (missing.n, missing.n_zero, missing.exact) == (2, 0, True)
    assert missing.reason.startswith("1 of 2")
    assert signed_rank([]).reason == "no pairs"


@pytest.mark.parametrize("n", [200, 201])
@pytest.mark.parametrize("zeros", ["pratt", "wilcox"])
def test_no_difference_however_many(n, zeros):
    found = signed_rank(np.zeros(n), zeros=zeros)
    assert (found.statistic, found.p_value, found.n_zero) == (0, 1, n)
    assert found.exact == (n == 200)
    assert found.reason == "every difference is 0"


@pytest.mark.parametrize("n", [80, 98, 100])  # where probabilities sum to 1 + 2e-16
def test_no_p_value_is_above_one(n):
    rank = np.arange(1, n + 1)
    assert signed_rank(-rank, alternative="greater").p_value == 1
    assert signed_rank(rank, alternative="less").p_value == 1


def test_differences_equal_up_to_rounding_tie():
    assert signed_rank([0.1 + 0.2, -0.3, 1]).statistic == 1.5 + 3


def test_invalid_arguments_raise_an_error():
    with pytest.raises(ArgumentError, match="zeros"):
        signed_rank([1, 2], zeros="zsplit")
    with pytest.raises(ArgumentError, match="alternative"):
        signed_rank([1, 2], alternative="both")
    with pytest.raises(ArgumentError, match="level"):
        signed_rank([1, 2], level=95)
