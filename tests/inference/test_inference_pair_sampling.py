import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import linalg

import statcv as scv
from statcv.inference.estimates.monte_carlo import monte_carlo_sd, residuals
from statcv.inference.estimates.pairs import ConcordantPairs, concordant_pairs
from statcv.metrics import METRICS
from statcv.models import Logit


def frame(n=50, seed=3):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    data["y"] = (data["a"] + 1.2 * rng.normal(size=n) > 0).astype(int)
    data["z"] = data["a"] + rng.normal(size=n)
    data["g"] = pd.cut(data["z"], [-9, -0.6, 0.6, 9], labels=list("pqr"))
    return data


def result(formula, data, seed=1, **more):
    model = Logit(1.0) if formula[0] == "y" else None
    call = {"scheme": "leave_pair_out", "model": model, "seed": seed, **more}
    return scv.cv(formula, data, **call)


# ---- the residual variance ----


@pytest.mark.parametrize("two_classes", [True, False])
def test_residuals_are_those_of_dense_least_squares(two_classes):
    rng = np.random.default_rng(5)
    for _ in range(30):
        n = int(rng.integers(3, 10))
        every = [
            (i, j)
            for i, j in itertools.combinations(range(n), 2)
            if not two_classes or (i < n // 2) != (j < n // 2)
        ]
        some = rng.permutation(every)[: rng.integers(1, len(every) + 1)]
        won = rng.normal(size=len(some))
        design = np.zeros((len(some), n))
        design[np.arange(len(some))[:, None], some] = 1
        fitted = design @ linalg.lstsq(design, won)[0]
        left, df = residuals(some[:, 0], some[:, 1], won)
        np.testing.assert_allclose(left, won - fitted, atol=1e-7)
        assert df == len(some) - np.linalg.matrix_rank(design)


def test_for_whole_rounds_it_is_the_residual_variance_of_both_effects():
    data = frame()
    data["y"] = np.arange(50) % 2
    found = result("y ~ a + b", data, pairs=100)  # four pairs of each record
    pairs = concordant_pairs(found.scores)
    design = np.zeros((100, 50))
    design[np.arange(100), pairs.first] = design[np.arange(100), pairs.second] = 1
    left = pairs.won - design @ linalg.lstsq(design, pairs.won)[0]
    df = 100 - np.linalg.matrix_rank(design)
    expected = np.sqrt((1 - 100 / 625) * (left @ left) / df / 100)
    assert found.estimate().sd == pytest.approx(expected, abs=1e-8)
    table = found.metrics().set_index("metric")
    assert table.loc["auroc", "paired_sd"] == found.estimate().sd
    chance = found.monte_carlo()
    assert (chance.se, chance.repeats) == (found.estimate().sd, 1)
    told = f"sample of 100 pairs: Monte Carlo standard error {chance.se:.2g}"
    assert told in " ".join(str(found.summary()).split())


def test_with_few_degrees_of_freedom_the_total_variance_is_used():
    data = frame()
    data["y"] = np.arange(50) % 2
    found = result("y ~ a + b", data, pairs=50)
    won = concordant_pairs(found.scores).won
    expected = np.sqrt((1 - 50 / 625) * won.var(ddof=1) / 50)
    assert found.monte_carlo().se == pytest.approx(expected)


# ---- agreement with simulation ----


def over_draws(formula, data, metric, pairs, draws=40):
    values, errors = [], []
    for seed in range(draws):
        found = result(formula, data, seed, pairs=pairs, metrics=metric)
        values.append(found.estimate(how="paired").value)
        errors.append(found.monte_carlo(how="paired").se)
    return np.array(values), np.sqrt(np.mean(np.square(errors)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "metric", "pairs"),
    [
        ("y ~ a + b", "auroc", 130),
        ("z ~ a + b", "concordance", 130),
        ("g ~ a", "auroc_hand_till", 200),
    ],
)
def test_it_is_the_sd_over_samples_about_the_value_of_all_pairs(formula, metric, pairs):
    data = frame(40)
    values, stated = over_draws(formula, data, metric, pairs)
    sd = values.std(ddof=1)
    assert 0.65 < sd / stated < 1.4  # the sd of 40 has a relative error of 11 %
    whole = float(result(formula, data, metrics=metric).estimate(how="paired"))
    assert abs(values.mean() - whole) < 4 * sd / np.sqrt(40)


def test_with_the_smallest_budget_it_is_conservative():
    data = frame(40)
    ones = int(data["y"].sum())
    least = max(ones, 40 - ones)
    values, stated = over_draws("y ~ a + b", data, "auroc", least)
    assert values.std(ddof=1) < 1.2 * stated


# ---- no error ----


def test_all_pairs_and_pooled_values_leave_no_such_error():
    data = frame(30)
    whole = result("y ~ a", data)
    assert np.isnan([whole.estimate().sd, whole.monte_carlo().se]).all()
    assert "sample of" not in str(whole.summary())
    some = result("y ~ a", data, pairs=60)
    assert np.isnan(some.monte_carlo("auroc", "pooled").se)
    assert np.isnan(some.monte_carlo("brier").se)


def test_pairs_all_ranked_correctly_have_no_monte_carlo_error():
    data = frame(30)
    data["a"] = 9.0 * data["y"] + np.arange(30) / 100
    found = result("y ~ a", data, pairs=60)
    assert float(found.estimate()) == 1
    assert np.isnan(found.monte_carlo().se)
    assert "repeats=20 shows how much it varies" in " ".join(
        str(found.summary()).split()
    )


def test_with_several_repeats_it_is_their_sd():
    found = result("y ~ a + b", frame(30), pairs=60, repeats=6)
    shares = found.pairs.assign(
        won=np.where(
            found.pairs["observed"] == 1,
            found.pairs["predicted"] > found.pairs["predicted_partner"],
            found.pairs["predicted"] < found.pairs["predicted_partner"],
        )
    ).groupby("repeat")["won"]
    assert float(found.estimate()) == pytest.approx(shares.mean().mean())
    assert found.estimate().sd == pytest.approx(shares.mean().std())


# ---- the intervals ----


def test_the_interval_of_pairs_counts_the_error_of_the_sample():
    data = frame(40)
    whole = result("y ~ a + b", data).estimate(interval="pairs")
    some = [
        result("y ~ a + b", data, seed, pairs=80).estimate(interval="pairs")
        for seed in range(30)
    ]
    assert "includes the Monte Carlo error" in some[0].assumes
    assert "Monte Carlo" not in whole.assumes
    variance = np.mean([found.se**2 for found in some])
    chance = np.mean([found.sd**2 for found in some])
    assert variance == pytest.approx(whole.se**2 + chance, rel=0.25)


def test_other_intervals_of_a_sample_say_that_they_are_conservative():
    data = frame(30)
    found = result("y ~ a", data, pairs=60)
    assert "adds to the width" in found.estimate(interval="influence").assumes
    for name in ("jackknife", "corrected_jackknife"):
        wide = found.estimate(interval=name).assumes
        assert "a sample of the pairs is used, which adds to the width" in wide
    whole = result("y ~ a", data)
    for name in ("influence", "jackknife"):
        assert "adds" not in whole.estimate(interval=name).assumes
    with pytest.raises(scv.StatcvError, match="resampled records count the variation"):
        found.estimate(interval="bootstrap")


def test_the_coverage_for_all_pairs_is_not_quoted_for_a_sample():
    data = frame(40)
    whole = result("y ~ a", data).test(method="pairs")
    assert "measured in simulations" in " ".join(whole.notes).lower()
    some = result("y ~ a", data, pairs=80).test(method="pairs")
    assert "measured" not in " ".join(some.notes).lower()


def test_a_permutation_test_uses_the_same_sample():
    data = frame(40)
    data["a"] += 2 * data["y"]
    test = result("y ~ a + b", data, pairs=60).test(n_permutations=99)
    assert test.p_value == 0.01
    assert abs(test.null - 0.5) < 0.06


def test_a_summary_says_that_averages_over_fits_compare_fits():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"y": np.arange(20) % 2, "x": rng.normal(size=20)})
    call = {"scheme": "leave_pair_out", "seed": 1}
    said = "the mean over all fits that held it out"
    for metrics, there in ((("auroc",), False), (("auroc", "auprc"), True)):
        result = scv.cv("y ~ x", data, metrics=metrics, **call)
        assert any(said in note for note in result.summary(notes=True).notes) == there


def test_infinite_and_huge_values_vary_without_limit():
    scores, ratio = result("y ~ a", frame()).scores, METRICS["oe_ratio"]
    huge, infinite = np.array([1e200, 1.0]), np.array([np.inf, 1.0])
    assert monte_carlo_sd(scores, ratio, "per_fold", huge) == np.inf
    assert np.isnan(monte_carlo_sd(scores, ratio, "per_fold", infinite))


def test_pairs_of_one_repeat_move_the_mean_over_all_repeats():
    one, nothing = np.array([0, 1, 2]), np.zeros(3, dtype=np.intp)
    places = np.stack([one, one + 3])
    won = np.array([1, 0, 0.5])
    pairs = ConcordantPairs(one, one + 3, won, nothing, 2, nothing, places)
    np.testing.assert_allclose(pairs.moved, [0.5 / 6, -0.5 / 6, 0])
