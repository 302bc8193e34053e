import csv
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from statcv.errors import DegenerateVarianceWarning, MetricError
from statcv.metrics import delong, delong_test

REFERENCE = Path(__file__).parents[1] / "reference"


def read_cases():
    cases = defaultdict(list)
    with open(REFERENCE / "delong_cases.csv", newline="") as file:
        for row in csv.DictReader(file):
            numbers = (int(row["y"]), float(row["a"]), float(row["b"]))
            cases[row["case"]].append(numbers)
    return {name: np.array(rows).T for name, rows in cases.items()}


CASES = read_cases()
NAMES = list(CASES)


# --- two samples --------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_unpaired_values_equal_those_of_proc(name):
    with open(REFERENCE / "delong_comparisons_r.csv", newline="") as file:
        (expected,) = (row for row in csv.DictReader(file) if row["case"] == name)
    y, a, _ = CASES[name]
    y_b, _, b = CASES[NAMES[(NAMES.index(name) + 1) % len(NAMES)]]
    test = delong_test(y, a, b, paired=False, y_b=y_b)
    for key in ("statistic", "df", "p_value"):
        assert getattr(test, key) == pytest.approx(float(expected[key]), rel=1e-10)


def noisy(n, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return y, y + rng.normal(size=n)


def test_unpaired_test_by_hand():
    y, a = noisy(40, 3)
    y_b, b = noisy(24, 4)
    test = delong_test(y, a, b, paired=False, y_b=y_b, level=0.9)
    one, other = delong(y, a), delong(y_b, b)
    assert test.estimate == one.auc - other.auc == test.auc_a - test.auc_b
    v, w = one.se**2, other.se**2
    assert test.se == pytest.approx(np.hypot(one.se, other.se))
    df = (v + w) ** 2 / (v**2 / 39 + w**2 / 23)
    assert (test.df, test.level, test.reason) == (pytest.approx(df), 0.9, "")
    assert test.statistic == pytest.approx(test.estimate / test.se)
    assert test.p_value == pytest.approx(2 * stats.t.sf(abs(test.statistic), df))
    margin = stats.t.ppf(0.95, df) * test.se
    expected = (test.estimate - margin, test.estimate + margin)
    assert (test.lower, test.upper) == pytest.approx(expected)


def test_unpaired_with_the_same_outcome_adds_both_variances():
    y, a = noisy(40, 3)
    _, b = noisy(40, 4)
    test = delong_test(y, a, b, paired=False)
    assert test == delong_test(y, a, b, paired=False, y_b=y)
    assert test.se == pytest.approx(np.hypot(delong(y, a).se, delong(y, b).se))
    assert math.isinf(delong_test(y, a, b).df)


def test_unpaired_interval_and_p_value_agree():
    y, a = noisy(30, 1)
    _, b = noisy(30, 7)
    p = delong_test(y, a, b, paired=False).p_value
    edge = delong_test(y, a, b, paired=False, level=1 - p)
    assert min(abs(edge.lower), abs(edge.upper)) == pytest.approx(0, abs=1e-9)


@given(st.integers(0, 10**6))
def test_unpaired_clusters_of_one_record_change_nothing(seed):
    y, a = noisy(20, seed)
    y_b, b = noisy(12, seed + 1)
    plain = delong_test(y, a, b, paired=False, y_b=y_b)
    own = delong_test(
        y, a, b, paired=False, y_b=y_b, clusters=range(20), clusters_b=range(12)
    )
    assert own.se == pytest.approx(plain.se, rel=1e-12)
    assert own.df == pytest.approx(plain.df, rel=1e-12, nan_ok=True)


def test_unpaired_degrees_of_freedom_count_clusters():
    y, a = noisy(40, 3)
    y_b, b = noisy(24, 4)
    twice = {"clusters": np.arange(40) // 2, "clusters_b": np.arange(24) // 3}
    test = delong_test(y, a, b, paired=False, y_b=y_b, **twice)
    one = delong(y, a, clusters=twice["clusters"])
    other = delong(y_b, b, clusters=twice["clusters_b"])
    v, w = one.se**2, other.se**2
    assert (one.n_clusters, other.n_clusters) == (20, 8)
    assert test.se == pytest.approx(np.hypot(one.se, other.se))
    assert test.df == pytest.approx((v + w) ** 2 / (v**2 / 19 + w**2 / 7))


def test_unpaired_reason_names_the_sample_that_is_too_small():
    y, a = noisy(40, 3)
    test = delong_test(y, a, [1, 2, 3], paired=False, y_b=[0, 0, 1])
    assert np.isnan([test.se, test.statistic, test.p_value, test.lower, test.df]).all()
    assert test.reason.startswith("in b, one positive record")
    test = delong_test([0, 0], [1, 2], [1, 2], paired=False)
    assert "in a, no positive" in test.reason
    assert "in b, no positive" in test.reason


def test_a_second_sample_for_paired_scores_raises_an_error():
    for more in ({"y_b": [0, 1]}, {"clusters_b": [1, 2]}):
        with pytest.raises(MetricError, match="use paired=False"):
            delong_test([0, 1], [0, 1], [0, 1], **more)
    with pytest.raises(MetricError, match="clusters has 3"):
        delong_test([0, 1], [0, 1], [0], y_b=[1], paired=False, clusters=[1, 2, 3])


# --- differences that do not vary ----------------------------------------------


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_difference_that_does_not_vary_warns(sign, paired):
    y = np.repeat([0, 1], 7)
    good = sign * np.arange(14)
    with pytest.warns(DegenerateVarianceWarning, match="areas [01] and [01] differ"):
        test = delong_test(y, good, -good, paired=paired)
    assert (test.estimate, test.se) == (sign, 0)
    assert (test.statistic, test.p_value) == (sign * np.inf, 0)
    assert (test.lower, test.upper) == (sign, sign)
    assert "same for every record" in test.reason


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("score", [np.arange(14), np.zeros(14), -np.arange(14)])
def test_equal_areas_that_do_not_vary(score, paired):
    y = np.repeat([0, 1], 7)
    test = delong_test(y, score, 3 * score, paired=paired)
    assert (test.estimate, test.se, test.statistic, test.p_value) == (0, 0, 0, 1)
    assert (test.lower, test.upper) == (0, 0)


def test_equal_areas_of_different_scores_still_vary():
    y = [0, 0, 1, 1]
    test = delong_test(y, [1, 4, 2, 3], [4, 1, 3, 2])
    assert (test.estimate, test.statistic, test.p_value) == (0, 0, 1)
    assert test.se > 0


def test_a_difference_that_is_the_same_in_every_cluster_does_not_vary():
    y, clusters = np.tile([0, 0, 1, 1], 7), np.arange(28) // 4
    perfect, mixed = np.tile([1, 2, 3, 4], 7), np.tile([0, 2, 1, 3], 7)
    with pytest.warns(DegenerateVarianceWarning):
        test = delong_test(y, perfect, mixed, clusters=clusters)
    assert (test.se, test.statistic, test.p_value) == (0, np.inf, 0)
    assert 0 < delong_test(y, perfect, mixed).p_value < 1


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.tuples(
            st.lists(st.booleans(), min_size=n, max_size=n),
            st.lists(
                st.sampled_from([-np.inf, -1, 0, 2, np.inf]), min_size=n, max_size=n
            ),
            st.lists(st.sampled_from([-np.inf, 0.5, np.inf]), min_size=n, max_size=n),
        )
    ),
    st.booleans(),
)
@pytest.mark.filterwarnings("ignore::statcv.errors.DegenerateVarianceWarning")
def test_tiny_samples_never_mislead(sample, paired):
    y, a, b = sample
    test = delong_test(y, a, b, paired=paired)
    if min(sum(y), len(y) - sum(y)) < 2:
        assert math.isnan(test.p_value)
        assert test.reason
    elif test.se == 0:
        assert test.p_value == (test.estimate == 0)
        assert bool(test.reason) == (test.estimate != 0)
    else:
        assert 0 < test.p_value <= 1
        assert -1 <= test.lower <= test.estimate <= test.upper <= 1
