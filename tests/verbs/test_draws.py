"""`rloocv` averages over twenty draws of the dropped records."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.folds import SCHEMES

FORMULA = "GRADE ~ GPA + TUCE + PSI"


@pytest.fixture(scope="module")
def spector():
    return scv.load_data("spector")


@pytest.fixture(scope="module")
def usual(spector):
    return scv.cv(FORMULA, spector, scheme="rloocv", seed=1)


def test_twenty_draws_are_the_default_and_one_is_the_papers(spector, usual):
    assert usual.plan.repeats == 20
    once = usual.update(repeats=1)
    assert once.plan.n_splits == len(spector)
    first = usual.plan.dropped.part(0, len(spector))
    assert np.array_equal(first.values, once.plan.dropped.values)
    assert usual.plan.fingerprint == usual.update(repeats=20).plan.fingerprint


def test_the_estimate_is_the_mean_of_the_draws_with_its_monte_carlo_error(usual):
    pairs = usual.pairs
    higher = np.where(pairs["observed"] == 1, 1, -1)
    right = higher * (pairs["predicted"] - pairs["predicted_partner"]) > 0
    by_draw = right.groupby(pairs["repeat"]).mean()
    assert float(usual.estimate()) == pytest.approx(by_draw.mean(), abs=1e-12)
    chance = usual.monte_carlo("auroc")
    assert chance.se == pytest.approx(by_draw.std(ddof=1) / np.sqrt(20))
    notes = " ".join(usual.summary(notes=True).notes)
    assert f"Monte Carlo standard error {chance.se:.2g}" in notes


def test_other_seeds_move_it_less_and_it_is_near_leave_pair_out(spector):
    one, twenty = [], []
    for seed in range(1, 9):
        call = {"scheme": "rloocv", "metrics": "auroc", "seed": seed}
        twenty.append(float(scv.cv(FORMULA, spector, **call).estimate()))
        one.append(float(scv.cv(FORMULA, spector, repeats=1, **call).estimate()))
    assert np.std(twenty) < np.std(one) / 2
    every = float(scv.cv(FORMULA, spector, scheme="leave_pair_out").estimate())
    assert abs(np.mean(twenty) - every) < 0.02


def test_what_draws_nothing_is_not_repeated(spector):
    plans = {
        "all": scv.fold_plan("GRADE", spector, scheme="rloocv", rebalance="all"),
        "weight": scv.fold_plan("GRADE", spector, scheme="rloocv", rebalance="weight"),
        "loocv": scv.fold_plan("GRADE", spector, scheme="loocv"),
        "numbers": scv.fold_plan("GPA", spector, scheme="rloocv"),
    }
    for name, plan in plans.items():
        assert plan.repeats == 1, name
    again = scv.fold_plan("GRADE", spector, scheme="loocv", rebalance="subsample")
    assert again.repeats == 20
    assert SCHEMES["rkfold"].draws == SCHEMES["montecarlo"].draws == 1


def test_clusters_are_held_out_by_themselves_in_each_draw():
    rng = np.random.default_rng(2)
    data = pd.DataFrame(
        {"y": rng.permutation(np.arange(60) % 2), "x": rng.normal(size=60)}
    )
    data["who"] = np.arange(60) // 3
    plan = scv.fold_plan("y", data, scheme="rloocv", stratify="who", seed=1)
    assert plan.n_splits == 20 * 20
    assert (plan.tests.sizes == 3).all()
