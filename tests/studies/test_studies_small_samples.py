"""Small simulations of small samples, and facts of the methods."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.models import Logit
from studies import geroldinger2023, smith2014
from studies.small_samples import (
    Method,
    compare_errors,
    measure_sample,
    sample,
    summarise,
)


def test_the_classes_have_their_sizes_and_the_true_model_its_concordance():
    data = sample(np.random.default_rng(1), (3_000, 1_000), 0.8, 5)
    assert data["y"].sum() == 1_000
    score = data.drop(columns="y").sum(axis=1)
    assert scv.metrics.auroc(data["y"], score) == pytest.approx(0.8, abs=0.02)


def test_leave_one_out_is_below_the_truth_on_noise_and_pairs_are_not():
    methods = {
        "LOO": Method({"scheme": "loocv"}, {"auroc": "pooled"}),
        "paired": Method({"scheme": "rloocv", "repeats": 2}, {"auroc": "paired"}),
    }
    tables = [
        measure_sample(
            np.random.default_rng(seed),
            sizes=(24, 16),
            c=0.5,
            covariates=5,
            models={"ridge": {"model": Logit(C=0.01)}},
            methods=methods,
            metrics=("auroc",),
        )
        for seed in range(6)
    ]
    table = summarise(pd.concat(tables), ["method"]).set_index("method")
    assert table.loc["LOO", "bias"] < -0.3
    assert abs(table.loc["paired", "bias"]) < 0.15
    stored = geroldinger2023.stored("stratification").set_index("method")
    apart = table.loc["LOO", "bias"] - stored.loc["LOO", "bias"]
    error = np.hypot(table.loc["LOO", "bias_se"], stored.loc["LOO", "bias_se"])
    assert abs(apart) < 4 * error


def test_a_summary_counts_bias_error_and_coverage():
    table = pd.DataFrame(
        {
            "method": ["a", "a"],
            "estimate": [0.5, 0.9],
            "low": [0.4, 0.8],
            "high": [0.7, 1.0],
            "truth": [0.6, 0.6],
        }
    )
    row = summarise(table, ["method"]).iloc[0]
    assert row["bias"] == pytest.approx(0.1)
    assert row["rmse"] == pytest.approx(0.05**0.5)
    assert row["coverage"] == 0.5


def test_the_statements_of_smith_and_others_hold():
    table = smith2014.stored("optimism").set_index(["epv", "c", "method"]).sort_index()
    few, many = table.loc[(3, 0.65)], table.loc[(10, 0.65)]
    for method in ("10-fold, once", "LOO"):
        assert few.loc[method, "bias"] < -2 * few.loc[method, "bias_se"]
    alike = ["10-fold, 10 times", "LPO", "RLOOCV"]
    assert (few.loc[alike, "bias"].abs() < 2 * few.loc[alike, "bias_se"]).all()
    assert few.loc["optimism", "bias"] > 2 * few.loc["optimism", "bias_se"]
    assert (few.loc[alike, "rmse"] > few.loc["optimism", "rmse"]).all()
    assert (many.loc[[*alike, "optimism"], "bias"].abs() < 0.02).all()
    assert few.loc["apparent", "bias"] > many.loc["apparent", "bias"] > 0


def test_errors_are_compared_two_by_two():
    table = pd.DataFrame(
        {
            "c": 0.8,
            "number": [1, 1, 2, 2, 3, 3],
            "method": ["a", "b"] * 3,
            "estimate": [0.9, 0.7, 0.5, 0.9, 0.6, 0.8],
            "truth": 0.8,
        }
    )
    (row,) = compare_errors(table, ["c"], ["a", "b"], seed=1).itertuples()
    assert (row.row, row.column, row.n) == ("b", "a", 3)
    assert row.median == pytest.approx(0.2)  # median of 0, 0.2 and 0.2
    assert row.first_quartile == pytest.approx(0.1)


def test_the_errors_that_smith_and_others_published_have_the_same_signs_here():
    published, ours = smith2014.published_errors(), smith2014.stored("absolute_errors")
    medians = ours.pivot(index=["row", "column"], columns="c", values="median")
    known = published[published["stars"] > 0].set_index(["row", "column"])["median"]
    alike = medians.loc[known.index].mul(known, axis=0) > 0
    assert len(published) == 30
    assert len(known) == 18
    assert alike.all(axis=1).sum() >= 17
    worse = ours[(ours["row"] == "LOO") & (ours["column"] == "LPO")]
    assert (worse["median"] < -0.009).all()
    assert (worse["p_value"] < 0.001).all()
    paired = ours[(ours["row"] == "RLOOCV") & (ours["column"] == "LPO")]
    assert (paired["median"].abs() < 2.5 * paired["median_se"]).all()


@pytest.mark.slow
def test_a_run_of_absolute_errors_is_near_those_that_ship():
    found = smith2014.absolute_errors(60, seed=2).set_index(["c", "row", "column"])
    known = smith2014.stored("absolute_errors").set_index(["c", "row", "column"])
    apart = found["median"] - known["median"]
    error = np.hypot(found["median_se"], known["median_se"])
    assert (apart.abs() < 4 * error + 0.002).mean() > 0.95


def test_the_statements_of_geroldinger_and_others_hold():
    table = geroldinger2023.stored("performance")
    of = ["metric", "events", "c", "model", "method"]
    table = table.set_index(of).sort_index()
    noise, signal = (table.loc[("auroc", 12, c)] for c in (0.5, 0.75))
    for model in ("ML", "Firth", "FLIC", "ridge"):
        assert noise.loc[(model, "LOO"), "bias"] < -0.05
        assert signal.loc[(model, "LOO"), "bias"] < 0
        for method in ("LPO", "5-fold", "RLOOCV"):
            one = noise.loc[(model, method)]
            assert abs(one["bias"]) < 3 * one["bias_se"]
    assert noise.loc[("ridge", "LOO"), "bias"] < noise.loc[("ML", "LOO"), "bias"] - 0.1
    assert signal.loc[("ridge", "LOO"), "bias"] < signal.loc[("ML", "LOO"), "bias"]
    slopes = table.loc[("discrimination_slope", 12, 0.75)]
    assert slopes.loc[("ridge", "LOO"), "bias"] < 0
    brier = table.xs("LOO", level="method").loc["brier"]
    assert (brier["bias"].abs() < 0.02).all()


def test_pooled_folds_of_noise_are_ranked_the_wrong_way_round():
    found = geroldinger2023.stored("stratification").set_index("method")
    assert found.loc["LOO", "mean"] < found.loc["10-fold, pooled", "mean"] < 0.3
    right = found.loc[["stratified 10-fold, per fold", "RLOOCV, paired"]]
    assert (right["bias"].abs() < 3 * right["bias_se"]).all()
