"""Random effects, against R's metafor and the textbook."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from statcv.errors import ArgumentError, DataError
from statcv.inference import random_effects

REFERENCE = Path(__file__).parents[1] / "reference"
CASES = pd.read_csv(REFERENCE / "meta_cases.csv")
METAFOR = pd.read_csv(REFERENCE / "meta_r.csv")
NUMBERS = list(METAFOR.columns[3:])


@pytest.mark.parametrize("row", [*METAFOR.itertuples()], ids=lambda r: f"{r[1:4]}")
def test_metafor(row):
    case = CASES[CASES["case"] == row.case]
    found = random_effects(
        case["estimate"],
        case["se"],
        method=row.method,
        hartung_knapp=row.test == "knha",
    )
    for name in NUMBERS:
        expected = getattr(row, name)
        assert getattr(found, name) == pytest.approx(expected, rel=1e-10, abs=1e-12)
    assert found.n == len(case)
    assert found.reason == ""


def test_without_heterogeneity_it_is_the_weighted_mean():
    y, se = np.array([0.5, 0.52, 0.49]), np.array([0.1, 0.2, 0.1])
    found = random_effects(y, se, hartung_knapp=False)
    weights = 1 / se**2
    assert found.tau2 == found.i2 == 0
    assert found.estimate == pytest.approx(np.average(y, weights=weights))
    assert found.se == pytest.approx(weights.sum() ** -0.5)
    assert found.prediction_lower == found.lower


def test_reml_is_the_best_of_a_fine_grid():
    rng = np.random.default_rng(5)
    for _ in range(20):
        k = int(rng.integers(2, 8))
        se = rng.uniform(0.01, 0.5, k)
        y = rng.normal(0, 0.3, k)

        def minus(tau2, y=y, se=se):
            v = se**2 + tau2
            mean = np.average(y, weights=1 / v)
            rest = ((y - mean) ** 2 / v).sum()
            return np.log(v).sum() + np.log((1 / v).sum()) + rest

        found = random_effects(y, se).tau2
        assert minus(found) <= min(map(minus, np.linspace(0, 2, 2001))) + 1e-12


def test_what_has_no_number_is_left_out_and_counted():
    whole = random_effects([0.1, 0.3, 0.4], [0.1, 0.1, 0.2])
    more = random_effects([0.1, np.nan, 0.3, 0.4, 0.9], [0.1, 0.1, 0.1, 0.2, 0.0])
    assert more.estimate == whole.estimate
    assert more.n == 3
    assert more.reason.startswith("2 of 5 data sets are left out")


@pytest.mark.parametrize(("y", "estimate"), [([0.3], 0.3), ([], np.nan)])
def test_too_few(y, estimate):
    found = random_effects(y, [0.1] * len(y))
    assert np.array_equal(found.estimate, estimate, equal_nan=True)
    assert np.isnan([found.lower, found.tau2, found.p_heterogeneity]).all()
    assert "two" in found.reason


def test_equal_estimates_measure_no_spread():
    found = random_effects([0.2, 0.2], [0.1, 0.3])
    assert (found.estimate, found.tau2, found.q) == (0.2, 0, 0)
    assert np.isnan([found.se, found.lower, found.prediction_upper]).all()
    assert "all estimates are the same" in found.reason


def test_refusals():
    with pytest.raises(DataError, match="as long as each other"):
        random_effects([0.1, 0.2], [0.1])
    with pytest.raises(DataError, match=r"negative: -0\.1"):
        random_effects([0.1, 0.2], [0.1, -0.1])
    with pytest.raises(ArgumentError, match="'ML'"):
        random_effects([0.1, 0.2], [0.1, 0.1], method="ML")
    with pytest.raises(ArgumentError, match="level"):
        random_effects([0.1, 0.2], [0.1, 0.1], 95)
