import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit

import statcv as scv
from statcv.errors import MetricError
from statcv.metrics import (
    METRICS,
    calibration,
    calibration_curve,
    calibration_groups,
    calibration_intercept,
    calibration_slope,
    spiegelhalter_test,
)

REFERENCE = Path(__file__).parents[1] / "reference"


def r_cases():
    """Return the cases that R read, and the results of R."""
    records, numbers = defaultdict(list), defaultdict(dict)
    with (REFERENCE / "calibration_cases.csv").open() as file:
        for row in csv.DictReader(file):
            one = (int(row["y"]), float(row["p"]), int(row["cluster"]))
            records[row["case"]].append(one)
    with (REFERENCE / "calibration_r.csv").open() as file:
        for row in csv.DictReader(file):
            numbers[row["case"]][row["what"]] = float(row["value"])
    return {case: (*np.array(rows).T, numbers[case]) for case, rows in records.items()}


CASES = r_cases()


def numbered(numbers, what):
    """Return the values that R stored as name1, name2, …"""
    found = []
    while f"{what}{len(found) + 1}" in numbers:
        found.append(numbers[f"{what}{len(found) + 1}"])
    return np.array(found)


@pytest.fixture(params=CASES, name="case")
def _case(request):
    return CASES[request.param]


# --- slope and intercept ------------------------------------------------------


COEFFICIENTS = ("slope", "intercept", "joint_intercept")


def test_coefficients_and_wald_intervals_agree_with_r(case):
    y, p, _, r = case
    found = calibration(y, p)
    assert found.reason == ""
    for name in COEFFICIENTS:
        for part in ("", "_se", "_lower", "_upper"):
            assert getattr(found, name + part) == pytest.approx(
                r[name + part], rel=1e-10, abs=1e-10
            )
    for part in ("", "_lower", "_upper"):
        name = "observed_expected" + part
        assert getattr(found, name) == pytest.approx(r[name], rel=1e-12)


def test_profile_intervals_agree_with_r(case):
    y, p, _, r = case
    found = calibration(y, p, interval="profile")
    for name in COEFFICIENTS:
        for side in ("lower", "upper"):
            expected = r[f"{name}_profile_{side}"]
            assert getattr(found, f"{name}_{side}") == pytest.approx(expected, abs=1e-9)


def test_standard_errors_with_clusters_agree_with_sandwich(case):
    y, p, cluster, r = case
    found = calibration(y, p, clusters=cluster)
    for name in COEFFICIENTS:
        expected = r[f"{name}_cluster_se"]
        assert getattr(found, f"{name}_se") == pytest.approx(expected, rel=1e-9)
        assert getattr(found, name) == pytest.approx(r[name], rel=1e-10, abs=1e-10)
    for side in ("lower", "upper"):
        expected = r[f"observed_expected_cluster_{side}"]
        assert getattr(found, f"observed_expected_{side}") == pytest.approx(expected)


@st.composite
def samples(draw):
    """Draw outcomes of both classes, and probabilities on a coarse grid with ties."""
    n = draw(st.integers(4, 25))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    p = draw(st.lists(st.integers(1, 19), min_size=n, max_size=n))
    y[:2] = [0, 1]
    return np.array(y), np.array(p) / 20


def overlap(y, p):
    """Return whether a likelihood of two coefficients has a maximum, by brute force."""
    pairs = [(a, b) for a in p[y == 1] for b in p[y == 0]]
    return any(a < b for a, b in pairs) and any(a > b for a, b in pairs)


@given(samples())
def test_the_slope_exists_where_classes_overlap_and_maximises_the_likelihood(sample):
    y, p = sample
    found = calibration(y, p)
    assert np.isnan(found.slope) == (not overlap(y, p))
    assert (found.slope_se > 0) == overlap(y, p)

    def loss(beta):
        eta = beta[0] + beta[1] * logit(p)
        return np.sum(np.logaddexp(0, eta) - y * eta)

    if overlap(y, p):
        best = minimize(loss, [0, 1], method="BFGS", tol=1e-10)
        assert loss([found.joint_intercept, found.slope]) <= best.fun + 1e-12
        assert calibration_slope(y, p) == found.slope
    else:
        assert np.isnan([found.joint_intercept, found.slope_upper]).all()
        assert "slope" in found.reason
        assert np.isnan(calibration_slope(y, p))


@given(samples())
def test_the_intercept_makes_the_mean_correct(sample):
    y, p = sample
    found = calibration(y, p)
    assert expit(logit(p) + found.intercept).sum() == pytest.approx(y.sum())
    assert calibration_intercept(y, p) == found.intercept
    information = (q := expit(logit(p) + found.intercept)) @ (1 - q)
    assert found.intercept_se == pytest.approx(information**-0.5)


@given(samples())
def test_clusters_of_one_record_give_the_robust_errors(sample):
    y, p = sample
    n = len(y)
    own, none = calibration(y, p, clusters=np.arange(n)), calibration(y, p)
    assert own.observed_expected_lower == none.observed_expected_lower
    if overlap(y, p):
        fit = sm.Logit(y, sm.add_constant(logit(p), has_constant="add"))
        fit = fit.fit(disp=0, method="newton", maxiter=200, cov_type="HC0", tol=1e-12)
        expected = fit.bse * np.sqrt(n / (n - 1))
        assert (own.joint_intercept_se, own.slope_se) == pytest.approx(tuple(expected))


def test_a_recalibrated_model_has_slope_one_and_intercept_zero(case):
    y, p, _, r = case
    again = expit(r["joint_intercept"] + r["slope"] * logit(p))
    found = calibration(y, again)
    expected = pytest.approx((1, 0, 0, 1), abs=1e-9)
    assert (
        found.slope,
        found.intercept,
        found.joint_intercept,
        found.observed_expected,
    ) == expected


def test_logits_far_from_zero():
    """Most weights vanish, but the steps of the fit are still bounded."""
    x = np.r_[np.linspace(-30, 30, 61), -300, 300]
    y = (x > 0).astype(int)
    y[:3], y[-3:-1] = 1, 0
    p = expit(x[:-2])
    found = calibration(y[:-2], p)
    fit = sm.Logit(y[:-2], sm.add_constant(logit(p))).fit(disp=0, tol=1e-12)
    assert found.slope == pytest.approx(fit.params[1], rel=1e-9)
    assert found.slope_se == pytest.approx(fit.bse[1], rel=1e-9)
    tiny = np.array([1e-300, 1e-300, 1e-20])
    assert calibration_intercept([1, 1, 0], tiny) > 600


@pytest.mark.parametrize(
    ("y", "p", "reason"),
    [
        ([], [], "there are no records"),
        ([0, 1, 1], [0.2, np.nan, 0.8], "1 of the 3 values of p are not probabilities"),
        ([0, 1, 1], [0.2, 1.2, -0.1], "2 of the 3 values of p are not probabilities"),
        ([0, 1, 1], [0.0, 0.5, 1.0], "2 of the 3 values of p are exactly 0 or 1"),
        ([1, 1, 1], [0.3, 0.5, 0.6], "all records are positive"),
        ([0, 0, 0], [0.3, 0.5, 0.6], "all records are negative"),
    ],
)
def test_without_slope_and_intercept_there_is_a_reason(y, p, reason):
    found = calibration(y, p)
    assert np.isnan([found.slope, found.slope_se, found.intercept]).all()
    assert np.isnan([found.intercept_upper, found.joint_intercept_lower]).all()
    assert found.reason.startswith(reason)
    assert np.isnan([calibration_slope(y, p), calibration_intercept(y, p)]).all()
    curve = calibration_curve(y, p, at=[0.3, 0.5])
    assert np.isnan([curve.ici, *curve.observed, *curve.lower]).all()
    assert curve.reason.startswith(reason)
    profile = calibration(y, p, interval="profile")
    assert np.isnan([profile.slope_lower, profile.intercept_upper]).all()


@pytest.mark.parametrize(
    ("p", "reason"),
    [
        ([0.3, 0.3, 0.3, 0.3], "all values of p are equal"),
        ([0.3, 0.1 + 0.2, 0.3, 0.3], "all values of p are equal"),
        ([0.2, 0.3, 0.4, 0.6], "p separates the classes"),
        ([0.2, 0.3, 0.3, 0.6], "p separates the classes"),
        ([0.6, 0.4, 0.3, 0.2], "p separates the classes"),
        ([0.2, 0.1 + 0.2, 0.3, 0.6], "p separates the classes"),
    ],
)
def test_the_intercept_exists_where_only_the_slope_does_not(p, reason):
    found = calibration([0, 0, 1, 1], p)
    assert np.isnan([found.slope, found.slope_se, found.joint_intercept]).all()
    assert np.isfinite([found.intercept, found.intercept_se]).all()
    assert found.reason.startswith(reason)
    profile = calibration([0, 0, 1, 1], p, interval="profile")
    assert profile.intercept_lower < found.intercept < profile.intercept_upper
    assert np.isnan(profile.slope_lower)


def test_observed_over_expected_in_extreme_cases():
    none = calibration([0, 0], [0.2, 0.4])
    assert (none.observed_expected, none.reason.count(";")) == (0, 1)
    assert np.isnan(none.observed_expected_lower)
    assert np.isnan(calibration([1, 0], [0.0, 0.0]).observed_expected)
    perfect = calibration([0, 1], [0.0, 1.0])
    assert (perfect.observed_expected, perfect.n_positive) == (1, 1)
    assert np.isnan(perfect.observed_expected_upper)
    assert "variance of observed over expected is 0" in perfect.reason


def test_too_few_clusters():
    y, p = [0, 1, 0, 1, 1, 0], [0.2, 0.3, 0.4, 0.6, 0.7, 0.8]
    one = calibration(y, p, clusters=["a"] * 6)
    assert np.isnan([one.slope_se, one.intercept_se, one.observed_expected_lower]).all()
    assert "1 clusters are too few for 1 coefficients" in one.reason
    two = calibration(y, p, clusters=["a", "b"] * 3)
    assert np.isnan(two.slope_se)
    assert two.intercept_se > 0
    assert np.isfinite(two.slope)
    pairs = calibration([0, 1] * 3, [0.4] * 6, clusters=[1, 1, 2, 2, 3, 3])
    assert np.isnan(pairs.intercept_se)
    assert "clusters do not differ" in pairs.reason


@pytest.mark.parametrize(
    "arguments",
    [
        {"level": 1},
        {"level": 95},
        {"interval": "score"},
        {"clusters": [1, 2]},
        {"clusters": [1, 2, 3], "interval": "profile"},
        {"clusters": [1, 2, None]},
    ],
)
def test_arguments_out_of_range_raise_an_error(arguments):
    with pytest.raises(MetricError):
        calibration([0, 1, 1], [0.2, 0.5, 0.6], **arguments)
    with pytest.raises(MetricError):
        calibration([0, 1, 2], [0.2, 0.5, 0.6])
    with pytest.raises(MetricError):
        calibration([0, 1], [0.2, 0.5, 0.6])


# --- the curve ----------------------------------------------------------------


@pytest.mark.parametrize("knots", [3, 4, 5])
def test_splines_agree_with_r(case, knots):
    y, p, cluster, r = case
    at = np.quantile(p, [0, 0.2, 0.5, 0.9, 1])
    found = calibration_curve(y, p, at=at, knots=knots)
    if f"spline{knots}_ici" not in r:
        assert len(found.knots) < knots
        assert f"no spline with {knots} knots" in found.reason
        return
    assert (len(found.knots), found.reason) == (knots, "")
    for part in ("ici", "e50", "e90", "emax"):
        assert getattr(found, part) == pytest.approx(r[f"spline{knots}_{part}"])
    for part, ours in (("curve", "observed"), ("lower", "lower"), ("upper", "upper")):
        expected = numbered(r, f"spline{knots}_{part}")
        np.testing.assert_allclose(getattr(found, ours), expected, rtol=0, atol=1e-9)
    grouped = calibration_curve(y, p, at=at, knots=knots, clusters=cluster)
    expected = numbered(r, f"spline{knots}_cluster_lower")
    np.testing.assert_allclose(grouped.lower, expected, rtol=0, atol=1e-9)


def test_loess_agrees_with_r(case):
    y, p, _, r = case
    at = np.quantile(p, [0, 0.2, 0.5, 0.9, 1])
    found = calibration_curve(y, p, at=at, smooth="loess")
    expected = np.clip(numbered(r, "loess_curve"), 0, 1)
    np.testing.assert_allclose(found.observed, expected, rtol=0, atol=1e-10)
    near = 5e-3 if len(np.unique(p)) > 201 else 1e-9  # interpolated or exact
    assert found.ici == pytest.approx(r["loess_ici"], rel=near)
    assert found.e50 == pytest.approx(r["loess_e50"], rel=near)


def test_the_distances_of_a_lowess_are_those_of_val_prob():
    """Those of the band's centre too: the curve is interpolated where R's is."""
    r = pd.read_csv(REFERENCE / "calibration_curves_r.csv")
    for name, d in pd.read_csv(REFERENCE / "calibration_cases.csv").groupby("case"):
        found = calibration_curve(d["y"], d["p"], smooth="lowess")
        expected = r[r["case"] == name].set_index("what")["value"]
        for part in ("ici", "e90", "emax"):
            assert getattr(found, part) == pytest.approx(expected[part], abs=1e-8)
        assert (found.lower <= found.observed).all()
        assert found.method == "lowess, span 0.67"


def test_a_lowess_of_equal_neighbours_is_their_mean():
    p, y = [0.3] * 8 + [0.4, 0.6], [0, 1, 0, 0, 1, 0, 0, 0, 1, 0]
    found = calibration_curve(y, p, smooth="lowess", at=[0.3])
    assert found.observed[0] == pytest.approx(0.25)
    assert "lowess needs 2" in calibration_curve(y, [0.3] * 10, smooth="lowess").reason


@pytest.mark.parametrize("name", ["ici", "e50", "e90", "emax"])
def test_the_metrics_are_the_distances_of_the_curve(case, name):
    y, p, _, r = case
    metric = METRICS[name]
    assert metric(y, p) == getattr(calibration_curve(y, p, smooth="loess"), name)
    if f"loess_{name}" in r and len(np.unique(p)) <= 201:  # not interpolated
        assert metric(y, p) == pytest.approx(r[f"loess_{name}"], rel=1e-9)
    for smooth in ("spline", "lowess"):
        found = metric.function(y, p, smooth=smooth)
        assert found == getattr(calibration_curve(y, p, smooth=smooth), name)
        if smooth == "spline":
            assert METRICS[f"{name}_spline"](y, p) == found


def test_distances_of_one_or_two_distinct_probabilities_are_those_of_shares():
    y = [0, 0, 1, 0, 1, 1, 1, 0, 1]
    p = np.repeat([0.2, 0.7], [4, 5])
    found = [METRICS[name](y, p) for name in ("ici", "e50", "e90", "emax")]
    assert found == pytest.approx([(4 * 0.05 + 5 * 0.1) / 9, 0.1, 0.1, 0.1])
    assert METRICS["ici"](y, [0.4] * 9) == pytest.approx(5 / 9 - 0.4)
    assert METRICS["ici"](y, np.array(y, dtype=float)) == 0
    assert np.isnan(METRICS["ici"]([1, 1, 1], [0.2, 0.4, 0.5]))
    assert np.isnan(METRICS["ici"]([0, 1], [0.2, np.nan]))
    assert np.isnan(METRICS["ici"]([0, 1, 0, 1, 1], [0.2, 0.4, 0.5, 0.6, 0.7]))


def test_the_band_of_a_loess_follows_from_its_weights():
    """The loess is linear in the outcome; its weights follow from unit outcomes."""
    rng = np.random.default_rng(3)
    p, y = rng.random(30), rng.integers(0, 2, 30)
    found = calibration_curve(y, p, at=[p[4]], smooth="loess", level=0.5)

    def local(z):
        distance = np.abs(p - p[4])
        width = np.sort(distance)[int(0.75 * 30) - 1]
        weight = (1 - np.clip(distance / width, 0, 1) ** 3) ** 3
        return sm.WLS(z, np.vander(p - p[4], 3), weights=weight).fit().params[2]

    weights = np.array([local(unit) for unit in np.eye(30)])
    assert found.observed[0] == pytest.approx(weights @ y)
    fitted = np.array(
        [calibration_curve(y, p, at=[v], smooth="loess").observed[0] for v in p]
    )
    se = np.sqrt(weights**2 @ (fitted * (1 - fitted)))
    assert found.upper[0] - found.observed[0] == pytest.approx(0.6744897501960817 * se)
    residual = weights * (y - fitted)
    pairs = np.arange(30) // 2
    se = np.sqrt((np.bincount(pairs, residual) ** 2).sum())
    found = calibration_curve(y, p, at=[p[4]], smooth="loess", clusters=pairs)
    assert found.upper[0] - found.observed[0] == pytest.approx(1.959963984540054 * se)


def test_with_two_distinct_values_the_curve_is_a_line_through_their_shares():
    y = [0, 0, 1, 0, 1, 1, 1, 0, 1]
    p = np.repeat([0.2, 0.7], [4, 5])
    found = calibration_curve(y, p, at=[0.2, 0.7, 0.9])
    assert found.method == "straight line on the logit scale"
    assert found.knots.size == 0
    assert found.reason.startswith("there is no spline with 3 knots: p has too few")
    assert found.reason.endswith("1 point outside the range of p")
    np.testing.assert_allclose(found.observed, [0.25, 0.8, np.nan])
    assert found.ici == pytest.approx((4 * 0.05 + 5 * 0.1) / 9)


def test_a_spline_that_separates_is_replaced_by_a_line():
    """With ones between zeros, a spline separates the classes and a line does not."""
    p = np.linspace(0.05, 0.95, 19)
    y = (np.abs(p - 0.5) < 0.2).astype(int)
    found = calibration_curve(y, p)
    assert found.method == "straight line on the logit scale"
    assert "separated" in found.reason
    assert np.isfinite(found.observed).all()


def test_the_number_of_knots_depends_on_the_smaller_class():
    p = np.linspace(0.05, 0.95, 120)
    y = np.arange(120) % 2
    assert len(calibration_curve(y, p).knots) == 4
    y[:30] = 0
    found = calibration_curve(y, p)
    np.testing.assert_allclose(
        logit(found.knots), np.quantile(logit(p), [0.1, 0.5, 0.9]), atol=1e-12
    )


def test_the_curve_of_a_true_model_lies_on_the_diagonal():
    rng = np.random.default_rng(20)
    p = rng.uniform(0.02, 0.98, 200_000)
    y = rng.random(p.size) < p
    for smooth in ("spline", "loess"):
        found = calibration_curve(y, p, smooth=smooth, at=np.linspace(0.05, 0.95, 7))
        assert np.abs(found.observed - found.predicted).max() < 0.01
        assert found.ici < 0.005
        assert (found.upper - found.lower < 0.025).all()


def test_loess_accepts_probabilities_of_0_and_1_and_stays_in_range():
    p = np.linspace(0, 1, 21)
    y = (p > 0.45).astype(int)
    found = calibration_curve(y, p, smooth="loess")
    assert found.predicted.size == 101
    assert np.isfinite([found.ici, *found.observed]).all()
    assert (found.lower >= 0).all()
    assert (found.upper <= 1).all()
    assert (found.knots.size, found.reason) == (0, "")


@pytest.mark.parametrize(
    ("y", "p", "reason"),
    [
        ([0, 1, 1], [0.2, 0.2, 0.4], "p has 2 distinct values"),
        ([0, 1] * 10, [0.2] * 17 + [0.4, 0.5, 0.6], "fewer than three distinct"),
        ([0, 0, 0], [0.2, 0.3, 0.4], "all records are negative"),
        ([0, 1, 0], [0.2, np.nan, 0.4], "1 of the 3 values"),
    ],
)
def test_an_undefined_loess_has_a_reason(y, p, reason):
    found = calibration_curve(y, p, smooth="loess")
    assert np.isnan([found.ici, found.e90, found.observed[0]]).all()
    assert reason in found.reason


@pytest.mark.parametrize(
    "arguments",
    [{"knots": 2}, {"knots": 3, "smooth": "loess"}, {"smooth": "linear"}, {"level": 0}],
)
def test_invalid_arguments_of_curves_raise_an_error(arguments):
    with pytest.raises(MetricError):
        calibration_curve([0, 1, 1], [0.2, 0.5, 0.6], **arguments)


# --- groups, and Spiegelhalter's test -----------------------------------------


def test_groups_agree_with_r(case):
    y, p, _, r = case
    found = calibration_groups(y, p, groups=4)
    for part in ("observed", "predicted", "lower", "upper"):
        expected = numbered(r, f"groups_{part}")
        np.testing.assert_allclose(getattr(found, part), expected, atol=1e-12)
    assert found.count.sum() == len(y)


@given(samples(), st.integers(1, 12))
def test_groups_keep_equal_values_together(sample, groups):
    y, p = sample
    found = calibration_groups(y, p, groups=groups)
    assert 1 <= len(found.count) <= min(groups, len(np.unique(p)))
    assert found.count.sum() == len(y)
    assert (np.diff(found.predicted) > 0).all()
    assert found.observed @ found.count == pytest.approx(y.sum())
    assert found.predicted @ found.count == pytest.approx(p.sum())
    assert (found.lower <= found.observed).all()
    assert (found.observed <= found.upper).all()


def test_groups_of_distinct_values_are_of_equal_size():
    p = np.random.default_rng(0).permutation(97) / 100
    count = calibration_groups(np.arange(97) % 2, p, groups=10).count
    assert (len(count), np.ptp(count)) == (10, 1)
    assert calibration_groups([], []).reason == "there are no records"
    nothing = calibration_groups([0, 1], [0.2, np.nan])
    assert nothing.count.size == 0
    assert "1 of the 2" in nothing.reason
    for groups in (0, 2.5, True, "3"):
        with pytest.raises(MetricError, match="groups must be"):
            calibration_groups([0, 1], [0.2, 0.3], groups=groups)


def test_spiegelhalter_agrees_with_r(case):
    y, p, _, r = case
    found = spiegelhalter_test(y, p)
    assert found.statistic == pytest.approx(r["spiegelhalter"], abs=1e-12)
    assert found.p_value == pytest.approx(r["spiegelhalter_p"], abs=1e-12)


def test_spiegelhalter_standardises_the_brier_score():
    """Over all outcomes with their probabilities, the mean is 0 and the variance 1."""
    p = np.array([0.1, 0.35, 0.6, 0.8])
    outcomes = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T
    chance = np.where(outcomes, p, 1 - p).prod(axis=1)
    values = np.array([spiegelhalter_test(y, p).statistic for y in outcomes])
    assert chance @ values == pytest.approx(0, abs=1e-12)
    assert chance @ values**2 == pytest.approx(1)


def test_spiegelhalter_in_extreme_cases():
    flat = spiegelhalter_test([0, 1, 1], [0.5, 0.5, 1.0])
    assert np.isnan([flat.statistic, flat.p_value]).all()
    assert "does not vary" in flat.reason
    assert "not probabilities" in spiegelhalter_test([0, 1], [0.5, 2]).reason
    assert np.isnan(spiegelhalter_test([], []).p_value)
    refuted = spiegelhalter_test([1, 0, 1], [0.0, 0.5, 0.5])
    assert (refuted.statistic, refuted.p_value) == (np.inf, 0)
    assert refuted.reason == "1 outcome of probability 0 occurred"
    assert spiegelhalter_test([0, 0, 1], [1.0, 0.1, 0.8]).p_value == 0


# ---- many records ----


@pytest.mark.parametrize("steep", [0.02, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("off", [-3.0, 0.0, 0.4])
def test_many_records_have_the_coefficients_of_a_logistic_regression(steep, off):
    rng = np.random.default_rng(7)
    eta = rng.normal(size=3000) - 1
    y = (steep * eta + off + rng.logistic(size=3000) > 0).astype(int)
    p = expit(eta)
    found = calibration(y, p)
    assert calibration_slope(y, p) == pytest.approx(found.slope, rel=1e-9)
    intercept = calibration_intercept(y, p)
    assert intercept == pytest.approx(found.intercept, rel=1e-9, abs=1e-11)
    assert expit(eta + intercept).sum() == pytest.approx(y.sum())


def test_many_records_may_have_no_slope():
    y = np.repeat([0, 1], 2000)
    assert np.isnan(calibration_slope(y, np.linspace(0.1, 0.9, 4000)))
    assert np.isnan(calibration_slope(y, np.full(4000, 0.3)))
    assert calibration_intercept(y, np.full(4000, 0.3)) == pytest.approx(-logit(0.3))
    one_wrong = np.r_[np.linspace(0.1, 0.9, 4000)[:-1], 0.1]
    assert calibration_slope(y, one_wrong) == pytest.approx(
        calibration(y, one_wrong).slope, rel=1e-9
    )


def test_a_ratio_to_next_to_nothing_is_infinite():
    ratio, y, p = METRICS["oe_ratio"], np.array([1, 0, 1]), np.array([1e-310, 0, 0.5])
    assert ratio(y[:2], p[:2]) == np.inf
    assert ratio.by_group(y, p, np.array([0, 0, 1]), 2).tolist() == [np.inf, 2.0]


@pytest.mark.parametrize("size", [1e-160, 1e-310])
def test_a_ratio_whose_change_has_no_limit_has_no_interval(size):
    table = pd.DataFrame({"y": [0, 1, 0, 1], "p": size * np.array([1, 2, 3, 4])})
    read = scv.from_predictions(table, observed="y", predicted="p", metrics="oe_ratio")
    estimate = read.estimate("oe_ratio")
    assert float(estimate) == METRICS["oe_ratio"](table["y"], table["p"])
    assert np.isnan(estimate.lower)
    assert "NaN" not in estimate.interval.assumes
