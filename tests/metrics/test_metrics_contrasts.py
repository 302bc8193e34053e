import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from statcv.errors import DegenerateVarianceWarning, MetricError
from statcv.metrics import delong_contrast, delong_covariance, delong_test

REFERENCE = Path(__file__).parents[1] / "reference"


def several(n=60, m=4, seed=2):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    return y, np.round(y * rng.uniform(size=(m, 1)) + rng.normal(size=(m, n)), 1)


def read_rows(name):
    with open(REFERENCE / name, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    "expected", read_rows("delong_comparisons_r.csv"), ids=lambda row: row["case"]
)
def test_three_areas_agree_with_covariances_of_proc(expected):
    rows = [r for r in read_rows("delong_cases.csv") if r["case"] == expected["case"]]
    y = [int(row["y"]) for row in rows]
    a, b = ([float(row[name]) for row in rows] for name in "ab")
    test = delong_contrast(y, [a, b, b[::-1]])
    assert test.statistic == pytest.approx(float(expected["chi_square"]), rel=1e-10)
    assert test.p_value == pytest.approx(float(expected["chi_p"]), rel=1e-9)
    assert test.df == 2


def test_the_formula_of_the_paper():
    y, scores = several()
    L = np.array([[1, -1, 0, 0], [0.5, 0.5, -0.5, -0.5]])
    areas, covariance = delong_covariance(y, scores)
    test = delong_contrast(y, scores, L)
    np.testing.assert_allclose(test.estimate, L @ areas, atol=1e-15)
    np.testing.assert_allclose(test.covariance, L @ covariance @ L.T, atol=1e-15)
    chi = L @ areas @ np.linalg.inv(L @ covariance @ L.T) @ L @ areas
    assert (test.statistic, test.df) == (pytest.approx(chi), 2)
    assert test.p_value == pytest.approx(stats.chi2.sf(chi, 2))


@given(st.integers(0, 10**6))
def test_with_two_scores_the_statistic_is_the_squared_test(seed):
    y, scores = several(30, 2, seed)
    pair, test = delong_test(y, *scores), delong_contrast(y, scores)
    assert test.statistic == pytest.approx(pair.statistic**2, abs=1e-12)
    assert test.p_value == pytest.approx(pair.p_value)
    assert test.df == 1


@given(st.integers(0, 10**6), st.booleans())
def test_a_test_of_equality_does_not_depend_on_the_contrasts(seed, clustered):
    y, scores = several(40, 3, seed)
    more = {"clusters": np.arange(40) // 2} if clustered else {}
    said = [None, [[1, 0, -1], [0, 1, -1]], [[1, -0.5, -0.5], [0, 7, -7], [3, 3, -6]]]
    chi = [delong_contrast(y, scores, L, **more) for L in said]
    assert [test.df for test in chi] == [2, 2, 2]
    for test in chi[1:]:
        assert test.statistic == pytest.approx(chi[0].statistic, rel=1e-7)


def test_scores_that_rank_alike_add_no_degree_of_freedom():
    y, scores = several()
    a, b = scores[:2]
    pair = delong_contrast(y, [a, b])
    for same in ([a, b, b], [a, a, b], [a, b, 2 * a + 1, np.arctan(b)]):
        test = delong_contrast(y, same)
        assert (test.df, test.statistic) == (1, pytest.approx(pair.statistic))
        thirds = np.eye(len(same)) - 1 / len(same)
        test = delong_contrast(y, same, thirds)
        assert (test.df, test.statistic) == (1, pytest.approx(pair.statistic))
    alone = delong_contrast(y, [a, a, 2 * a], np.eye(3) - 1 / 3)
    assert (alone.statistic, alone.df, alone.p_value, alone.reason) == (0, 0, 1, "")


def test_contrasts_that_do_not_vary_and_are_not_zero():
    y = np.repeat([0, 1], 5)
    perfect, noise = np.arange(10), np.array([3, 9, 1, 7, 5, 4, 8, 2, 6, 0])
    for scores in ([perfect, -perfect], [perfect, -perfect, noise]):
        with pytest.warns(DegenerateVarianceWarning, match="areas differ"):
            test = delong_contrast(y, scores)
        assert (test.statistic, test.p_value) == (np.inf, 0)
        assert "estimated variance is 0" in test.reason
    with pytest.warns(DegenerateVarianceWarning):  # only the sum of both does not vary
        test = delong_contrast(y, [perfect, -perfect, noise], [[1, 0, -1], [0, 1, -1]])
    assert test.statistic == np.inf


def test_one_discordant_pair_among_many_counts():
    y = np.repeat([0, 1], 3000)
    score = np.arange(6000.0)
    swapped = score.copy()
    swapped[[2999, 3000]] = score[[3000, 2999]]
    test = delong_contrast(y, [score, swapped, swapped])
    pair = delong_test(y, score, swapped)
    assert test.df == 1
    assert test.statistic == pytest.approx(pair.statistic**2)


def test_size_under_equality():
    rng = np.random.default_rng(12)
    y = np.arange(120) % 2
    p = []
    for _ in range(400):
        common = y + rng.normal(size=120)
        p.append(delong_contrast(y, common + rng.normal(size=(3, 120))).p_value)
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.035)


def test_too_few_records_and_missing_scores():
    test = delong_contrast([0, 0, 1], [[1, 2, 3], [3, 2, 1]])
    assert np.isnan([test.statistic, test.p_value]).all()
    assert "one positive record" in test.reason
    y, scores = several()
    scores[1, 0] = np.nan
    assert "1 of the scores are NaN" in delong_contrast(y, scores).reason
    one = np.where(y == 1, 0, np.arange(60))
    assert "one cluster" in delong_contrast(y, scores[[0, 2]], clusters=one).reason


def test_invalid_contrasts_raise_an_error_that_explains():
    y, scores = several()
    with pytest.raises(MetricError, match="at least two rows to compare, but has 1"):
        delong_contrast(y, scores[:1])
    with pytest.raises(MetricError, match=r"contrast has shape \(1, 3\)"):
        delong_contrast(y, scores, [1, -1, 0])
    for odd in ([1, 0, 0, 0], [0, 0, 0, 0], [np.inf, -np.inf, 0, 0]):
        with pytest.raises(MetricError, match="sum to 0 and are not all 0"):
            delong_contrast(y, scores, odd)
    with pytest.raises(MetricError, match=r"scores has shape \(60,\)"):
        delong_contrast(y, scores[0])
