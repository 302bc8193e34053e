import csv
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from statcv.errors import MetricError
from statcv.metrics import auroc, delong, delong_covariance, delong_test
from statcv.metrics.areas import symmetric_limits

REFERENCE = Path(__file__).parents[1] / "reference"
DEGENERATE = "statcv.errors.DegenerateVarianceWarning"


def textbook(y, scores):
    """Compute DeLong's structural components by a double loop, as in the paper."""

    def psi(x, z):
        return 1.0 if z < x else 0.5 if z == x else 0.0

    y, scores = np.asarray(y), np.asarray(scores, dtype=float)
    v10 = [[np.mean([psi(x, z) for z in s[y == 0]]) for x in s[y == 1]] for s in scores]
    v01 = [[np.mean([psi(x, z) for x in s[y == 1]]) for z in s[y == 0]] for s in scores]
    s10, s01 = np.cov(v10), np.cov(v01)
    return np.mean(v10, axis=1), s10 / len(v10[0]) + s01 / len(v01[0])


@st.composite
def paired_samples(draw):
    n = draw(st.integers(4, 25))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    y[:4] = [0, 1, 0, 1]
    scores = st.lists(st.integers(-5, 5), min_size=n, max_size=n)
    return np.array(y), np.array([draw(scores), draw(scores)]) / 2


@given(paired_samples())
def test_covariance_agrees_with_the_textbook(sample):
    aucs, covariance = delong_covariance(*sample)
    expected_aucs, expected = textbook(*sample)
    np.testing.assert_allclose(aucs, expected_aucs, atol=1e-14)
    np.testing.assert_allclose(covariance, expected, atol=1e-14)
    np.testing.assert_array_equal(covariance, covariance.T)


@pytest.mark.filterwarnings(f"ignore::{DEGENERATE}")
@given(paired_samples())
def test_one_score_and_the_pair_agree_with_the_covariance(sample):
    y, (a, b) = sample
    aucs, covariance = delong_covariance(y, [a, b])
    assert delong(y, a).auc == aucs[0] == pytest.approx(auroc(y, a), abs=1e-15)
    assert delong(y, a).se == pytest.approx(np.sqrt(covariance[0, 0]), abs=1e-12)
    test = delong_test(y, a, b)
    assert test.estimate == pytest.approx(aucs[0] - aucs[1], abs=1e-15)
    contrast = np.array([1, -1])
    variance = contrast @ covariance @ contrast
    assert test.se**2 == pytest.approx(variance, abs=1e-14)


@pytest.mark.filterwarnings(f"ignore::{DEGENERATE}")
@given(paired_samples())
def test_swapping_the_scores_reverses_the_sign(sample):
    y, (a, b) = sample
    one, other = delong_test(y, a, b), delong_test(y, b, a)
    assert one.estimate == -other.estimate
    assert one.statistic == pytest.approx(-other.statistic)
    assert one.p_value == pytest.approx(other.p_value)
    assert (one.lower, one.upper) == pytest.approx((-other.upper, -other.lower))


@given(paired_samples())
def test_a_score_against_itself_or_its_double(sample):
    y, (a, _) = sample
    test = delong_test(y, a, 2 * a + 1)
    assert (test.estimate, test.se, test.statistic, test.p_value) == (0, 0, 0, 1)
    assert (test.lower, test.upper, test.reason) == (0, 0, "")


# --- R ------------------------------------------------------------------------


def read_cases():
    cases = defaultdict(list)
    with open(REFERENCE / "delong_cases.csv", newline="") as file:
        for row in csv.DictReader(file):
            numbers = (int(row["y"]), float(row["a"]), float(row["b"]))
            cases[row["case"]].append(numbers)
    return {name: np.array(rows).T for name, rows in cases.items()}


def read_reference():
    with open(REFERENCE / "delong_r.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        row.pop("case"): {key: float(value) for key, value in row.items()}
        for row in rows
    }


CASES, R = read_cases(), read_reference()


@pytest.mark.parametrize("case", CASES)
def test_values_equal_those_of_proc(case):
    y, a, b = CASES[case]
    found = {}
    for letter, score in (("a", a), ("b", b)):
        result = delong(y, score)
        for r_name, value in (
            ("auc", result.auc),
            ("se", result.se),
            ("lower", result.lower),
            ("upper", result.upper),
        ):
            found[f"{r_name}_{letter}"] = value
    test = delong_test(y, a, b)
    found["covariance"] = delong_covariance(y, [a, b])[1][0, 1]
    found["statistic"], found["p_value"] = test.statistic, test.p_value
    found["lower"], found["upper"] = test.lower, test.upper
    assert found == pytest.approx(R[case], rel=1e-10, abs=1e-10)


def test_the_stored_numbers_are_complete_and_need_no_r(monkeypatch):
    assert list(R) == list(CASES)
    monkeypatch.setenv("PATH", "")  # from here on Rscript cannot be found
    assert read_reference() == R
    started = re.compile(r"\b(Rscript|rpy2)\b")
    for file in Path(__file__).parent.glob("*.py"):
        if file != Path(__file__):
            assert not started.search(file.read_text(encoding="utf-8")), file.name


# --- intervals ----------------------------------------------------------------


def noisy(n=40, seed=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return y, y + rng.normal(size=n), y / 2 + rng.normal(size=n)


def test_wald_interval_by_hand_and_its_level():
    y, a, _ = noisy()
    d = delong(y, a, level=0.9)
    z = stats.norm.ppf(0.95)
    assert (d.lower, d.upper) == pytest.approx((d.auc - z * d.se, d.auc + z * d.se))
    assert (d.level, d.n_positive, d.n_negative, d.reason) == (0.9, 20, 20, "")
    assert delong(y, a, level=0.5).upper < d.upper < delong(y, a, level=0.99).upper


def test_wald_interval_is_clipped():
    d = delong([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6])
    assert d.upper == 1
    assert delong([1, 1, 1, 0, 0, 0], [1, 2, 4, 3, 5, 6]).lower == 0


def test_limits_are_symmetric_on_the_scale_of_the_value_unless_it_is_named():
    half = stats.norm.ppf(0.95) * 0.1
    assert symmetric_limits(0.7, 0.1, 0.9) == pytest.approx((0.7 - half, 0.7 + half))
    half = stats.t.ppf(0.95, 5) * 0.1
    limits = symmetric_limits(0.7, 0.1, 0.9, df=5)
    assert limits == pytest.approx((0.7 - half, 0.7 + half))


def test_logit_interval_by_hand():
    y, a, _ = noisy()
    d = delong(y, a, interval="logit")
    margin = stats.norm.ppf(0.975) * d.se / (d.auc * (1 - d.auc))
    centre = np.log(d.auc / (1 - d.auc))
    ends = [1 / (1 + np.exp(-(centre + s * margin))) for s in (-1, 1)]
    assert (d.lower, d.upper) == pytest.approx(ends)
    tiny = delong([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6], interval="logit")
    assert 0 < tiny.lower < tiny.auc < tiny.upper < 1


@pytest.mark.parametrize("sign", [1, -1])
def test_logit_interval_next_to_a_perfect_ranking_stays_inside(sign):
    y = np.repeat([0, 1], 100_000)
    score = np.arange(y.size)
    score[[99_999, 100_000]] = score[[100_000, 99_999]]
    d = delong(y, sign * score, interval="logit")
    assert 0 < d.lower < d.auc < d.upper < 1
    wald = delong(y, sign * score)
    assert 0 <= wald.lower < wald.auc < wald.upper <= 1


@pytest.mark.parametrize(
    ("score", "auc", "interval"),
    [
        ([1, 2, 3, 4], 1, "wald"),
        ([4, 3, 2, 1], 0, "wald"),
        ([1, 1, 1, 1], 0.5, "wald"),
        ([1, 1, 1, 1], 0.5, "logit"),
    ],
)
def test_constant_placements_give_a_point_and_a_reason(score, auc, interval):
    for clusters, where in ((None, "vary,"), ([0, 1, 2, 3], "vary from cluster to")):
        d = delong([0, 0, 1, 1], score, interval=interval, clusters=clusters)
        assert (d.auc, d.se, d.lower, d.upper) == (auc, 0, auc, auc)
        assert f"do not {where}" in d.reason


# --- undefined values -----------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "reason"),
    [
        ([0, 0, 0, 1], "one positive record"),
        ([1, 1, 0, 1], "one negative record"),
        ([0, 0, 0, 0], "no positive record"),
        ([1, 1, 1, 1], "no negative record"),
    ],
)
@pytest.mark.parametrize("interval", ["wald", "logit"])
def test_with_too_few_records_the_values_are_nan_with_a_reason(y, reason, interval):
    a, b = [1, 2, 3, 4], [1, 2, 4, 3]
    d = delong(y, a, interval=interval)
    np.testing.assert_equal(d.auc, auroc(y, a))
    assert np.isnan([d.se, d.lower, d.upper]).all()
    assert reason in d.reason
    test = delong_test(y, a, b)
    assert np.isnan([test.se, test.statistic, test.p_value, test.lower]).all()
    assert reason in test.reason
    assert np.isnan(delong_covariance(y, [a, b])[1]).all()


def test_with_missing_scores_the_values_are_nan_with_a_reason():
    y, a, b = noisy()
    a[3] = np.nan
    d, test = delong(y, a), delong_test(y, b, a)
    assert np.isnan([d.auc, d.se, d.lower, test.estimate, test.p_value]).all()
    assert "1 of the scores are NaN" in d.reason
    assert "1 of the scores are NaN" in test.reason
    assert test.auc_a == auroc(y, b)
    aucs, covariance = delong_covariance(y, [b, a])
    assert np.isfinite([aucs[0], covariance[0, 0]]).all()
    assert np.isnan([aucs[1], covariance[0, 1], covariance[1, 1]]).all()


def test_rounding_noise_is_not_a_difference():
    y, a, _ = noisy()
    noise = 1 + 1e-15 * np.random.default_rng(0).normal(size=a.size)
    coarse = np.round(a, 1)
    test = delong_test(y, coarse, coarse * noise)
    assert (test.statistic, test.p_value) == (0, 1)


def test_far_tails_do_not_round_to_zero():
    rng = np.random.default_rng(5)
    y = np.arange(1000) % 2
    a, b = 3 * y + rng.normal(size=1000), rng.normal(size=1000)
    test = delong_test(y, a, b)
    assert test.statistic > 20
    assert 0 < test.p_value < 1e-100
    assert test.p_value == pytest.approx(2 * stats.norm.sf(test.statistic))


def test_many_records_are_handled():
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 100_000)
    d = delong(y, y + rng.normal(size=y.size))
    assert d.auc == pytest.approx(stats.norm.cdf(np.sqrt(0.5)), abs=4 * d.se)


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, np.nan])
def test_a_meaningless_level_raises_an_error(level):
    with pytest.raises(MetricError, match="level must lie between 0 and 1"):
        delong([0, 1], [0, 1], level=level)
    with pytest.raises(MetricError, match="level must lie between 0 and 1"):
        delong_test([0, 1], [0, 1], [0, 1], level=level)


def test_invalid_input_raises_an_error_that_explains():
    with pytest.raises(MetricError, match="interval must be 'wald' or 'logit'"):
        delong([0, 1], [0, 1], interval="profile")
    with pytest.raises(MetricError, match=r"scores has shape \(2,\)"):
        delong_covariance([0, 1], [0, 1])
    with pytest.raises(MetricError, match="each row of scores has 3"):
        delong_covariance([0, 1], [[0, 1, 2]])
    with pytest.raises(MetricError, match="y has 2 records and score has 3"):
        delong_test([0, 1], [0, 1], [0, 1, 2])


def test_the_variance_divides_by_the_size_of_the_right_class():
    y, score = np.repeat([1, 0], [2, 5]), np.array([5.0, 3, 4, 2, 1, 0, 6])
    for clusters in (None, np.arange(7), np.array([0, 1, 0, 1, 2, 2, 3])):
        found = delong(y, score, clusters=clusters)
        assert (found.n_positive, found.n_negative) == (2, 5)
    # the variance by definition: 2 means over 5 records, and 5 means over 2
    placed = np.array([4, 3]) / 5, np.array([1, 2, 2, 2, 0]) / 2
    expected = sum(np.var(own, ddof=1) / len(own) for own in placed)
    assert delong(y, score).se == pytest.approx(np.sqrt(expected))
