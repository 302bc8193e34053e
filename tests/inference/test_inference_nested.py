"""Differences of nested models, and of models that rank worse than at random."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import statcv as scv
from statcv.inference.estimates.draws import Draws
from statcv.inference.estimates.influences import Influences, Units
from statcv.inference.paired.nested import nesting
from statcv.inference.paired.tests import paired_influence

pytestmark = pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")


def frame(slope, n=80, seed=1):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    odds = 0.9 * data["a"] + slope * data["b"]
    return data.assign(y=(rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int))


def compared(data, *formulas, **more):
    return scv.compare(
        **dict(zip(("one", "two"), formulas, strict=True)), data=data, seed=1, **more
    )


def made(held, draws):
    count = len(held)
    units = Units(np.zeros(count, dtype=int), np.arange(count), np.ones(count, bool))
    error, given = map(np.asarray, draws)
    return Influences(0.7, np.asarray(held), units, Draws(error, given, given))


@pytest.fixture
def both():
    rng = np.random.default_rng(5)
    none = made(np.zeros(60), np.zeros((2, 200)))
    held = rng.normal(0, 0.004, 60)
    fits = rng.normal(0, 0.03, 200)
    given = rng.normal(0, 0.03, 200)
    return none, made(held - held.mean(), (given + fits, given))


def test_p_and_the_limit_next_to_zero_belong_together(both):
    for difference in (0.02, 0.06, 0.08, 0.15):
        plain = paired_influence(both, difference, 0.95, (0, 1))
        test = paired_influence(both, difference, 0.95, (0, 1), at_equality=0.4)
        assert (test.se, test.upper) == (plain.se, plain.upper)
        assert plain.lower <= test.lower < difference
        assert test.p_value < plain.p_value
        assert (test.p_value < 0.05) == (test.lower > 0)
        # the mirrored difference has the mirrored limits
        turned = paired_influence(both, -difference, 0.95, (0, 1), at_equality=0.4)
        assert turned.upper == pytest.approx(-test.lower, abs=1e-12)
        assert turned.lower == pytest.approx(-test.upper, abs=1e-12)


def test_the_limit_solves_its_equation(both):
    difference, share = 0.15, 0.4
    test = paired_influence(both, difference, 0.95, (0, 1), at_equality=share)
    found = both[1]
    equal = share * (found.given_fits + found.draws.excess / 2)
    assert test.statistic == pytest.approx(difference / np.sqrt(equal))
    # the variance at the limit is between those at 0 and at the difference
    for difference in (0.02, 0.05, 0.08, 0.15):
        test = paired_influence(both, difference, 0.95, (0, 1), at_equality=share)
        grown = min(abs(test.lower) / difference, 1)
        variance = equal + (test.se**2 - equal) * grown
        away = student.ppf(0.975, test.df) * np.sqrt(variance)
        assert difference - test.lower == pytest.approx(away)


def test_a_variance_that_is_larger_at_0_moves_the_limit_that_is_next_to_it(both):
    """As for metrics that a fit gains by finding more records positive."""
    none, found = both
    more = replace(found.draws, moved=2 * found.draws.error)
    both = none, replace(found, draws=more)
    equal = 4 * found.draws.error.var()
    for difference in (0.06, 0.1, 0.15, 0.2, 0.3):
        plain = paired_influence(both, difference, 0.95, (0, 1))
        test = paired_influence(both, difference, 0.95, (0, 1), traded=True)
        assert (test.se, test.upper) == (plain.se, plain.upper)
        assert test.lower <= plain.lower + 1e-12
        assert (test.p_value < 0.05) == (test.lower > 0)
        assert test.statistic == pytest.approx(difference / np.sqrt(equal))
        if test.lower > 0:
            grown = test.lower / difference
            variance = equal + (test.se**2 - equal) * grown
            away = student.ppf(0.975, test.df) * np.sqrt(variance)
            assert difference - test.lower == pytest.approx(away)
        turned = paired_influence(both, -difference, 0.95, (0, 1), traded=True)
        assert turned.upper == pytest.approx(-test.lower, abs=1e-12)


def test_draws_that_can_only_move_away_from_an_end_vary_about_the_estimate(both):
    found = both[1]
    for difference in (0.1, -0.3):
        test = paired_influence(
            both, difference, 0.95, (0, 1), traded=True, ending=True
        )
        square = np.mean((found.draws.moved - difference) ** 2)
        equal = max(test.se, np.sqrt(square))
        assert test.statistic == pytest.approx(difference / equal)


def test_what_deletion_adds_to_a_variance_is_no_part_of_that_of_the_fits(both):
    plain = paired_influence(both, 0.2, 0.95, (0, 1))
    test = paired_influence(both, 0.2, 0.95, (0, 1), curved=1.5)
    more = 0.5 * both[1].minus(both[0]).given_fits
    assert test.se**2 == pytest.approx(plain.se**2 + more)


def test_an_estimate_below_no_skill_is_an_error_that_counts(both):
    plain = paired_influence(both, 0.2, 0.95, (0, 1))
    test = paired_influence(both, 0.2, 0.95, (0, 1), below=-0.3)
    assert plain.se < 0.1
    assert test.se == pytest.approx(0.3)
    assert paired_influence(both, 0.2, 0.95, (0, 1), below=1e-4).se == plain.se


def test_a_better_larger_model_is_tested_where_both_are_equal():
    data = frame(1.5, n=150, seed=3)
    up = compared(data, "y ~ a", "y ~ a + b").differences.iloc[0]
    assert up["statistic"] > up["difference"] / up["se"] > 0
    down = compared(data, "y ~ a + b", "y ~ a").differences.iloc[0]
    assert down["p"] == pytest.approx(up["p"], rel=1e-9)
    assert down["upper"] == pytest.approx(-up["lower"], rel=1e-9)
    loss = compared(data, "y ~ a", "y ~ a + b", metric="brier").differences.iloc[0]
    assert loss["statistic"] < loss["difference"] / loss["se"] < 0


@pytest.mark.parametrize(
    "formulas", [("y ~ a", "y ~ b"), ("y ~ a + c", "y ~ a + b"), ("y ~ b", "y ~ b + c")]
)
def test_others_are_tested_by_their_own_standard_error(formulas):
    row = compared(frame(1.2), *formulas).differences.iloc[0]
    assert row["statistic"] == pytest.approx(row["difference"] / row["se"])


def test_nesting_is_found_whatever_the_columns():
    data = frame(0.5)
    res = scv.cv("y ~ a + I(b + c)", data, seed=1)
    more = res.update("y ~ a + b + c")
    assert nesting(res, more) == (0, 1)
    assert nesting(more, res) == (1, 1)
    assert nesting(res, res.update("y ~ a + b")) is None
    assert nesting(res, res.update("y ~ I(2 * a) + I(b + c)")) is None


def test_a_sign_that_differs_between_fits_is_no_difference():
    # leaving one record out turns the sign of a marker whose coefficient is near 0
    found = []
    for seed in range(40):
        rng = np.random.default_rng([4, seed])
        data = pd.DataFrame(rng.normal(size=(60, 2)), columns=list("ab"))
        data["y"] = (rng.random(60) < 0.5).astype(int)
        both = compared(data, "y ~ a", "y ~ b", scheme="rloocv", repeats=2)
        worst = both.table["estimate"].min()
        if worst < 0.15:
            found.append(float(both.differences["p"].iloc[0]))
    assert len(found) >= 2
    assert min(found) > 0.05
