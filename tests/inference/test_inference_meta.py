"""Random effects, compared with R's metafor and the textbook."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from statcv.errors import ArgumentError, DataError
from statcv.inference import random_effects

REFERENCE = Path(__file__).parents[1] / "reference"
CASES = pd.read_csv(REFERENCE / "meta_cases.csv")
METAFOR = pd.read_csv(REFERENCE / "meta_r.csv")
NUMBERS = list(METAFOR.columns[3:])


@pytest.mark.parametrize("row", [*METAFOR.itertuples()], ids=lambda r: f"{r[1:4]}")
def test_agreement_with_metafor(row):
    case = CASES[CASES["case"] == row.case]
    k = len(case)
    found = random_effects(
        case["estimate"],
        case["se"],
        method=row.method,
        hartung_knapp=row.test == "knha",
    )
    expected = {name: getattr(row, name) for name in NUMBERS}
    quantile = (
        stats.t.ppf(0.975, k - 1) if row.test == "knha" else stats.norm.ppf(0.975)
    )
    plain = METAFOR[(METAFOR[["case", "method"]] == [row.case, row.method]).all(axis=1)]
    plain_se = float(plain.loc[plain["test"] == "z", "se"].iloc[0])
    below = row.se < plain_se * (1 - 1e-9)
    assert ("modified" in found.method) == below
    if below:  # R keeps a factor below 1, which is raised to 1 here
        half = quantile * plain_se
        expected |= {"se": plain_se}
        expected |= {"lower": row.estimate - half, "upper": row.estimate + half}
    # R takes the quantile of the mean for the prediction as well
    sd = np.sqrt(expected["se"] ** 2 + row.tau2)
    half = (stats.t.ppf(0.975, k - 2) if k > 2 else np.nan) * sd
    if not below:
        assert row.prediction_upper == pytest.approx(row.estimate + quantile * sd)
    expected |= {"prediction_lower": row.estimate - half}
    expected |= {"prediction_upper": row.estimate + half}
    for name, value in expected.items():
        near = pytest.approx(value, rel=1e-10, abs=1e-12, nan_ok=True)
        assert getattr(found, name) == near, name
    assert found.n == k
    assert bool(found.reason) == (k == 2)


@pytest.mark.parametrize("method", ["REML", "DL"])
def test_very_similar_estimates_are_not_more_precise_than_a_fixed_effect(method):
    y, se = np.array([0.700, 0.701, 0.702]), np.full(3, 0.05)
    found = random_effects(y, se, method=method)
    assert found.tau2 == 0
    assert found.se == pytest.approx(0.05 / np.sqrt(3))
    half = stats.t.ppf(0.975, 2) * 0.05 / np.sqrt(3)
    assert found.upper - 0.701 == pytest.approx(half)
    assert found.upper - 0.701 > stats.norm.ppf(0.975) * 0.05 / np.sqrt(3)
    spread = ((y - 0.701) ** 2).sum() / 0.05**2 / 2
    assert f"modified (factor 1 instead of {spread:.2g})" in found.method
    alike = random_effects([0.2, 0.2], [0.1, 0.3])
    assert (alike.estimate, alike.tau2, alike.q) == (0.2, 0, 0)
    assert alike.se == pytest.approx((100 + 1 / 0.09) ** -0.5)
    coarse = random_effects([20.0, 21.0, 22.0], [30.0, 30.0, 40.0])  # in other units
    assert coarse.tau2 == 0
    assert coarse.se == pytest.approx((2 / 900 + 1 / 1600) ** -0.5)


def test_a_prediction_interval_takes_three_data_sets():
    found = random_effects([0.1, 0.5], [0.1, 0.1])
    assert np.isnan([found.prediction_lower, found.prediction_upper]).all()
    assert found.lower < found.upper
    assert "needs three data sets" in found.reason


def test_without_heterogeneity_it_is_the_weighted_mean():
    y, se = np.array([0.5, 0.52, 0.49]), np.array([0.1, 0.2, 0.1])
    found = random_effects(y, se, hartung_knapp=False)
    weights = 1 / se**2
    assert found.tau2 == found.i2 == 0
    assert found.estimate == pytest.approx(np.average(y, weights=weights))
    assert found.se == pytest.approx(weights.sum() ** -0.5)
    half = stats.t.ppf(0.975, 1) * found.se
    assert found.prediction_lower == pytest.approx(found.estimate - half)


def _minus_likelihood(tau2, y, se):
    v = se**2 + tau2
    mean = np.average(y, weights=1 / v)
    return np.log(v).sum() + np.log((1 / v).sum()) + ((y - mean) ** 2 / v).sum()


@pytest.mark.parametrize(
    ("y", "se", "inside"),
    [
        # without the logarithm of the sum of weights the other peak is the higher
        ([-0.52, 3.46, -0.61], [0.01, 0.946, 0.194], True),
        ([-1.2, 0.71, 0.77], [0.454, 0.007, 0.063], True),
        # The other peak is also the higher without the logarithm of the weights.
        ([-0.33, 1.27, 0.45, -0.33, -0.66], [0.026, 0.555, 0.821, 0.023, 0.257], False),
    ],
)
def test_reml_takes_the_higher_of_two_peaks(y, se, inside):
    y, se = np.array(y), np.array(se)
    grid = np.concatenate([[0], np.geomspace(1e-9, 20, 4001)])
    values = np.array([_minus_likelihood(tau2, y, se) for tau2 in grid])
    dips = (values[1:-1] < values[:-2]) & (values[1:-1] < values[2:])
    assert dips.sum() + (values[0] < values[1]) == 2
    found = random_effects(y, se).tau2
    assert (found > 1e-6) == inside
    assert _minus_likelihood(found, y, se) <= values.min() + 1e-12


@pytest.mark.slow
def test_reml_is_the_best_of_a_fine_grid():
    rng = np.random.default_rng(5)
    for _ in range(20):
        k = int(rng.integers(2, 8))
        se = rng.uniform(0.01, 0.5, k)
        y = rng.normal(0, 0.3, k)

        found = _minus_likelihood(random_effects(y, se).tau2, y, se)
        grid = np.linspace(0, 2, 2001)
        assert found <= min(_minus_likelihood(t, y, se) for t in grid) + 1e-12


def test_data_sets_without_an_estimate_are_omitted_and_counted():
    whole = random_effects([0.1, 0.3, 0.4], [0.1, 0.1, 0.2])
    more = random_effects([0.1, np.nan, 0.3, 0.4, 0.9], [0.1, 0.1, 0.1, 0.2, 0.0])
    assert more.estimate == whole.estimate
    assert more.n == 3
    assert more.reason.startswith("2 of 5 data sets are excluded")


@pytest.mark.parametrize(("y", "estimate"), [([0.3], 0.3), ([], np.nan)])
def test_too_few_data_sets(y, estimate):
    found = random_effects(y, [0.1] * len(y))
    assert np.array_equal(found.estimate, estimate, equal_nan=True)
    assert np.isnan([found.lower, found.tau2, found.p_heterogeneity]).all()
    assert "two" in found.reason


def test_invalid_arguments_raise_an_error():
    with pytest.raises(DataError, match="the same length"):
        random_effects([0.1, 0.2], [0.1])
    with pytest.raises(DataError, match=r"negative: -0\.1"):
        random_effects([0.1, 0.2], [0.1, -0.1])
    with pytest.raises(ArgumentError, match="'ML'"):
        random_effects([0.1, 0.2], [0.1, 0.1], method="ML")
    with pytest.raises(ArgumentError, match="level"):
        random_effects([0.1, 0.2], [0.1, 0.1], 95)
