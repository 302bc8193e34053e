"""Metrics of censored times, beside R's survival, riskRegression and mets.

The numbers of R are those of tests/reference/survival_metrics.R.
"""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from statcv.errors import MetricError
from statcv.metrics import (
    METRICS,
    concordance,
    harrell_c,
    integrated_brier,
    integrated_brier_metric,
    survival_metrics,
    uno_c,
)
from statcv.numeric.survival import kaplan_meier, signed_times

HERE = Path(__file__).parents[1] / "reference"
CASES = pd.read_csv(HERE / "survival_metrics_cases.csv")
KNOWN = pd.read_csv(HERE / "survival_metrics_r.csv")
HORIZON = 0.6
ALL = [*survival_metrics((HORIZON,)).values(), integrated_brier_metric((0.2, HORIZON))]
OF_CURVES = ("ici", "e50", "e90", "emax")
each_metric = pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
each_row = pytest.mark.parametrize(
    "row", KNOWN.to_dict("records"), ids=KNOWN["case"] + KNOWN["column"].astype(str)
)


def base(metric):
    return metric.name.split("@")[0]


def data(n=40, tied=False, seed=1, sets=3, censored=True):
    """Return signed times, and sets of risks and of linear predictors."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    time, end = rng.exponential(np.exp(-x)), rng.exponential(2, n)
    if not censored:
        end = np.full(n, np.inf)
    event, time = time <= end, np.minimum(time, end)
    linear = 0.9 * x + 0.5 * rng.normal(size=(sets, n))
    if tied:
        time, linear = np.ceil(time * 5) / 5, np.round(linear, 1)
    return signed_times(time, event), 1 - np.exp(-0.6 * np.exp(linear))


def read(metric, risk):
    """Return the predictions in the shape that a metric reads."""
    if base(metric) == "integrated_brier":
        return np.stack([risk / 2, risk], axis=-1)
    return risk


def case_of(row):
    """Return the signed times, predictions and horizons of a case."""
    one = CASES[CASES["case"] == row["case"]]
    y = signed_times(one["time"], one["status"] == 1)
    risk = one[["risk1", "risk2"]].to_numpy()
    return y, one["lp"].to_numpy(), risk, (one["t1"].iloc[0], one["t2"].iloc[0])


# ---- beside R ----


@each_row
def test_concordances_are_those_of_survival(row):
    y, linear, _, _ = case_of(row)
    assert harrell_c(y, linear) == pytest.approx(row["harrell"], abs=1e-12)
    assert uno_c(y, linear) == pytest.approx(row["uno"], abs=1e-12)
    weight = survival_metrics()["harrell_c"].derive(y, linear).weight
    assert np.sqrt(weight @ weight) == pytest.approx(row["harrell_se"], rel=1e-10)


@each_row
def test_metrics_at_a_horizon_are_those_of_r(row):
    y, _, risk, horizons = case_of(row)
    metrics, p = survival_metrics(horizons), risk[:, row["column"] - 1]
    for name in ("auroc", "brier", "brier_skill", "oe_ratio"):
        assert metrics[f"{name}@{row['t']}"](y, p) == pytest.approx(
            row[name], abs=1e-10
        )
    for name in ("calibration_slope", "calibration_intercept"):
        metric = metrics[f"{name}@{row['t']}"]
        assert metric(y, p) == pytest.approx(row[name], abs=1e-9)
        weight = metric.derive(y, p).weight
        # mets differentiates the estimate of G to first order in its hazard
        assert np.sqrt(weight @ weight) == pytest.approx(row[f"{name}_se"], rel=2e-4)
    integral = integrated_brier(y, risk, horizons)
    assert integral == pytest.approx(row["integrated_brier"], abs=1e-12)


@each_row
def test_standard_errors_are_those_of_riskregression(row):
    y, _, risk, horizons = case_of(row)
    n, p = len(y), risk[:, row["column"] - 1]
    # its derivative is not exact where events and censorings tie, as all of gbsg do
    tolerance = 0.025 if row["case"] == "gbsg" else 1e-3
    for name in ("auroc", "brier"):
        weight = survival_metrics(horizons)[f"{name}@{row['t']}"].derive(y, p).weight
        found = np.sqrt(weight @ weight * n / (n - 1))
        assert found == pytest.approx(row[f"{name}_se"], rel=tolerance)


@each_row
def test_the_ici_is_that_of_a_weighted_loess(row):
    y, _, risk, horizons = case_of(row)
    p = risk[:, row["column"] - 1]
    found = survival_metrics(horizons)[f"ici@{row['t']}"](y, p)
    values = len(np.unique(p))
    if row["case"] == "lung":  # too few values nearby for a local quadratic
        assert np.isnan(found)
    else:  # with more than 51 values the curve is interpolated
        tolerance = 1e-10 if values <= 51 else 1e-3
        assert found == pytest.approx(row["ici"], abs=tolerance)


@each_row
def test_the_observed_risk_is_that_of_kaplan_and_meier(row):
    y, _, _, _ = case_of(row)
    found = 1 - kaplan_meier(y).at(row["t"])
    assert found == pytest.approx(row["observed"], abs=1e-12)


# ---- other ways to compute the same ----


@given(st.integers(0, 10**6), st.booleans())
def test_being_at_risk_is_to_have_had_no_event_and_no_censoring(seed, tied):
    y, _ = data(tied=tied, seed=seed)
    weights = np.random.default_rng(seed).exponential(size=(2, len(y)))
    events, ends = kaplan_meier(y, weights), kaplan_meier(y, weights, censoring=True)
    for time in np.unique(np.abs(y))[:-1]:
        share = weights @ (np.abs(y) > time) / weights.sum(axis=1)
        np.testing.assert_allclose(events.at(time) * ends.at(time), share, rtol=1e-10)


@given(st.integers(0, 10**6), st.booleans())
def test_concordance_and_area_are_shares_of_pairs(seed, tied):
    y, risk = data(25, tied, seed)
    x, time, rng = risk[0], np.abs(y), np.random.default_rng(seed)
    weights = rng.exponential(size=(1, len(y)))
    left = kaplan_meier(y, weights, censoring=True).before(time)[0]
    later = (time[:, None] < time) | ((time[:, None] == time) & (y < 0))
    right = (x[:, None] > x) + (x[:, None] == x) / 2
    pair = weights.T * weights
    metrics = survival_metrics((HORIZON,))
    ranked = {
        "harrell_c": pair * later * (y > 0)[:, None],
        "uno_c": pair * later * ((y > 0) / left**2)[:, None],
        f"auroc@{HORIZON}": pair
        * (((y > 0) & (y <= HORIZON)) / left)[:, None]
        * (time > HORIZON),
    }
    for name, each in ranked.items():
        found = metrics[name].weighted(y, risk[:1], weights)[0]
        with np.errstate(invalid="ignore"):
            expected = (each * right).sum() / each.sum()
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("tied", [False, True], ids=["", "tied"])
def test_without_censoring_they_are_those_of_two_classes(tied):
    y, risk = data(60, tied, censored=False)
    high, p = (y <= HORIZON).astype(int), risk[0]
    for metric in ALL:
        if base(metric) in METRICS and base(metric) not in OF_CURVES:
            expected = METRICS[base(metric)](high, p, baseline=None)
            assert metric(y, p) == pytest.approx(expected, rel=1e-9), metric.name
    assert harrell_c(y, p) == pytest.approx(concordance(-y, p))
    assert uno_c(y, p) == pytest.approx(concordance(-y, p))
    values = np.round(p, 1)
    if tied:  # at 51 values or fewer the curve is not interpolated
        for name in OF_CURVES:
            found = survival_metrics((HORIZON,))[f"{name}@{HORIZON}"](y, values)
            assert found == pytest.approx(METRICS[name](high, values), nan_ok=True)


@pytest.mark.parametrize(
    "metric",
    [one for one in ALL if base(one) not in OF_CURVES],
    ids=lambda one: one.name,
)
def test_a_weight_is_a_number_of_copies(metric):
    y, risk = data(tied=True)
    copies = np.random.default_rng(0).integers(0, 3, size=risk.shape)
    found = metric.weighted(y, read(metric, risk), copies.astype(float))
    for value, own, times in zip(found, read(metric, risk), copies, strict=True):
        expected = metric.function(y.repeat(times), own.repeat(times, axis=0))
        assert value == pytest.approx(expected, rel=1e-9)


@each_metric
def test_many_sets_are_those_one_by_one(metric):
    y, risk = data()
    x, weights = read(metric, risk), np.random.default_rng(1).exponential(size=(3, 40))
    for own, mass in ((x, weights), (x[:1], weights), (x, weights[:1])):
        found = metric.weighted(y, own, mass)
        pairs = zip([*own] * (3 // len(own)), [*mass] * (3 // len(mass)), strict=True)
        one = [metric.weighted(y, a[None], b[None])[0] for a, b in pairs]
        np.testing.assert_allclose(found, one, rtol=1e-9)


# ---- derivatives ----


@each_metric
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
@example(8189, True, True)
def test_the_derivative_is_that_of_the_weighted_metric(metric, seed, tied, elsewhere):
    y, risk = data(40, tied and base(metric) not in OF_CURVES, seed, sets=1)
    named = {"censoring": data(30, tied, seed + 1)[0] * 0.7} if elsewhere else {}
    x, step = read(metric, risk), 1e-5 * np.eye(len(y))
    found = metric.derive(y, x[0], **named)
    here = metric.weighted(y, x, np.ones((1, len(y))), **named)[0]
    if np.isnan(here):
        assert np.isnan(found.weight).all()
        return
    up, down = (metric.weighted(y, x, 1 + s * step, **named) for s in (1, -1))
    expected = (up - down) / 2e-5
    scale = np.abs(expected).max()
    # a distance has no derivative where its curve crosses the diagonal at a record, or
    # two records change places in the order of distances
    smooth = np.abs(up - here - (here - down)) <= 1e-8 * scale
    assert smooth.all() or (base(metric) in OF_CURVES and smooth.mean() > 0.8)
    found_here, expected = found.weight[smooth], expected[smooth]
    np.testing.assert_allclose(found_here, expected, atol=1e-5 * scale + 1e-9)
    assert found.weight.sum() == pytest.approx(0, abs=1e-10 * (1 + len(y) * scale))
    if found.value is not None:
        assert found.value == pytest.approx(metric.function(y, x[0], **named))


def test_the_placements_of_an_area_have_it_as_their_weighted_mean():
    y, risk = data(60, tied=True)
    metric = survival_metrics((HORIZON,))[f"auroc@{HORIZON}"]
    placed = metric.derive(y, risk[0]).placed
    assert placed.area == pytest.approx(metric(y, risk[0]))
    left = kaplan_meier(y, censoring=True).before(np.abs(y))[0]
    high = ((y > 0) & (y <= HORIZON)) / left
    low = np.abs(y) > HORIZON
    assert placed.share @ high / high.sum() == pytest.approx(placed.area)
    assert placed.share @ low / low.sum() == pytest.approx(placed.area)


# ---- where there is no value ----


def assert_values_or_nan(number):
    """Check all metrics on a random pattern of censoring."""
    rng = np.random.default_rng(number)
    n = int(rng.integers(1, 9))
    time = rng.integers(1, 6, n) / (1 if rng.random() < 0.5 else 5)
    y = signed_times(time, rng.random(n) < rng.choice([0, 0.3, 0.8, 1]))
    x = rng.choice([0, 0.2, 0.4, 1], n) if rng.random() < 0.5 else rng.random(n)
    horizon = float(rng.choice([0.1, 0.6, 1, 3, 9]))
    train = signed_times(rng.integers(1, 4, 5) / 3, rng.random(5) < 0.5)
    named = {"censoring": train} if rng.random() < 0.5 else {}
    both = ((y > 0) & (y <= horizon)).any() and (np.abs(y) > horizon).any()
    for metric in survival_metrics((horizon,)).values():
        found = metric.derive(y, x, **named)
        assert not np.isinf(found.value)
        assert np.isnan(found.weight).all() == np.isnan(found.value)
        assert both or metric.horizon is None or np.isnan(found.value)


def test_random_patterns_have_a_value_or_nan():
    for number in range(500):
        assert_values_or_nan(number)


@pytest.mark.slow
def test_many_random_patterns_have_a_value_or_nan():
    for number in range(10_000):
        assert_values_or_nan(number)


@each_metric
def test_without_records_there_is_no_value(metric):
    assert np.isnan(metric.function([], read(metric, np.empty(0))))


@pytest.mark.parametrize("n", [40, 2500])
@each_metric
def test_a_missing_prediction_is_not_ranked_or_averaged(metric, n):
    y, risk = data(n)
    risk[1, 3] = np.nan
    found = metric.weighted(y, read(metric, risk), np.ones((1, n)))
    np.testing.assert_array_equal(np.isnan(found), [False, True, False])


@each_metric
def test_weights_of_no_case_have_no_value(metric):
    y, risk = data()
    weights = np.array([np.ones(40), np.zeros(40), (y < 0).astype(float)])
    found = metric.weighted(y, read(metric, risk[:1]), weights)
    np.testing.assert_array_equal(np.isnan(found), [False, True, True])


def test_infinite_linear_predictors_are_ranked():
    y = [3, 3, -4, 5, 6]
    assert harrell_c(y, [np.inf, np.inf, 0, 1, -np.inf]) == harrell_c(
        y, [9, 9, 0, 1, -9]
    )


def test_small_linear_predictors_are_not_rounded_as_probabilities_are():
    small = np.array([3e-13, 5e-13])
    assert (survival_metrics()["harrell_c"].readable(small) == small).all()


def test_a_risk_outside_of_0_and_1_is_none():
    y, risk = data()
    for metric in ALL[2:-1]:
        assert np.isnan(metric(y, risk[0] * 2)) == (metric.reads == "probabilities")


def test_equal_predictions_have_no_skill():
    y, _ = data()
    metrics = survival_metrics((HORIZON,))
    risk = np.full(40, 1 - kaplan_meier(y).at(HORIZON)[0])
    for metric in metrics.values():
        if metric.no_skill is not None:
            assert metric(y, risk) == pytest.approx(metric.no_skill, abs=1e-12)
    assert metrics[f"oe_ratio@{HORIZON}"](y, risk) == pytest.approx(1)
    assert metrics[f"calibration_intercept@{HORIZON}"](y, risk) == pytest.approx(0)
    assert np.isnan(metrics[f"calibration_slope@{HORIZON}"](y, risk))
    assert metrics[f"ici@{HORIZON}"](y, risk) == pytest.approx(0, abs=1e-12)


# ---- censoring of other records ----


def test_a_time_beyond_all_training_times_is_counted():
    y, risk = data()
    short = np.where(y > 0, 1, -1) * np.minimum(np.abs(y), HORIZON / 2)
    ends = kaplan_meier(short, censoring=True)
    assert ends.at(99.0) == ends.values[0].min() > 0
    for metric in ALL:
        value = metric.function(y, read(metric, risk)[0], censoring=short)
        assert np.isfinite(value)


def test_censoring_from_the_same_records_is_the_default():
    y, risk = data(tied=True)
    for metric in ALL:
        x = read(metric, risk)[0]
        assert metric.function(y, x, censoring=y) == pytest.approx(
            metric.function(y, x), rel=1e-12
        )


def test_events_after_tau_do_not_count():
    y, risk = data()
    found = uno_c(y, risk[0], tau=HORIZON)
    ended = np.where((y > HORIZON), -y, y)
    assert found == pytest.approx(uno_c(ended, risk[0], censoring=y))


# ---- as metrics ----


@each_metric
def test_a_metric_survives_pickling(metric):
    again = pickle.loads(pickle.dumps(metric))
    y, risk = data()
    assert again == metric
    assert again.function(y, read(metric, risk)[0]) == metric.function(
        y, read(metric, risk)[0]
    )


def test_metrics_are_named_by_their_horizon():
    metrics = survival_metrics((365, 1825.5))
    assert list(metrics)[:3] == ["harrell_c", "uno_c", "auroc@365"]
    assert metrics["auroc@1825.5"].label == "auROC at 1825.5"
    for name, metric in metrics.items():
        assert metric.name == name
        assert metric.outcomes == {"survival"}
        at = name.partition("@")[2]
        assert metric.horizon == (float(at) if at else None)


@pytest.mark.parametrize("horizons", [(0,), (-1.0,), (np.inf,), ("a",), 365])
def test_a_horizon_is_a_time(horizons):
    with pytest.raises(MetricError, match="horizon"):
        survival_metrics(horizons)


def test_integrated_horizons_rise():
    with pytest.raises(MetricError, match="rising order"):
        integrated_brier([1, -2], [[0.1, 0.2], [0.1, 0.2]], (2, 1))


@pytest.mark.parametrize("y", [[1, 0], [1, np.nan], [1, np.inf]])
def test_a_time_of_neither_sign_is_refused(y):
    with pytest.raises(MetricError, match=r"1 of 2 values are neither"):
        harrell_c(y, [0.1, 0.2])


def test_predictions_have_one_column():
    with pytest.raises(MetricError, match=r"shape \(2, 1\); it must be \(n,\)"):
        uno_c([1, -2], [[0.1], [0.2]])
    with pytest.raises(MetricError, match=r"it must be \(n, 2\)"):
        integrated_brier([1, -2], [0.1, 0.2], (1, 2))


def test_many_records_are_ranked_without_all_pairs():
    y, risk = data(50_000, sets=1, censored=False)
    assert harrell_c(y, risk[0]) == pytest.approx(concordance(-y, risk[0]), rel=1e-10)
    metric = survival_metrics((HORIZON,))[f"auroc@{HORIZON}"]
    exact = metric(y, risk[0])
    # sets of many records are ranked in bins
    binned = metric.weighted(y, risk.repeat(2, axis=0), np.ones((1, len(y))))
    np.testing.assert_allclose(binned, exact, atol=1e-4)
