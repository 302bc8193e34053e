"""Intervals of metrics of decisions, which vary with the fits near the threshold."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.inference.estimates.influences import influences
from statcv.metrics import METRICS


def drawn(rng, n):
    X = rng.normal(size=(n, 3))
    y = (0.6 * X[:, 0] - 1.2 + rng.logistic(size=n) > 0).astype(int)
    return pd.DataFrame(X, columns=list("abc")).assign(y=y)


def result_of(threshold, seed, n=150):
    data = drawn(np.random.default_rng(seed), n)
    metrics = ["accuracy", "brier"]
    return scv.cv("y ~ a + b + c", data, threshold=threshold, metrics=metrics, seed=1)


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_decisions_near_the_threshold_vary_most_with_the_fits(seed):
    """About a quarter of the records are positive."""
    near, far = result_of(0.25, seed), result_of(0.6, seed)
    ratios = []
    for res in (near, far):
        se = res.estimate("accuracy").se
        given = res.estimate("accuracy", interval="records").se
        assert se >= 0.99 * given
        ratios.append(se / given)
    assert ratios[0] > 1.15
    assert ratios[1] < 1.1
    assert near.estimate("brier").se == far.estimate("brier").se


def test_a_marker_by_which_hardly_any_record_is_negative_may_find_all_positives():
    """The fit to all records may decide all alike, which a share of 1 must allow."""
    rng, reached = np.random.default_rng(2), 0
    for seed in range(8):
        y = np.arange(60) < 33
        data = pd.DataFrame({"a": rng.normal(size=60), "y": y.astype(int)})
        found = scv.cv("y ~ a", data, seed=seed).estimate("sensitivity")
        assert 0 <= found.lower <= found.value <= found.upper <= 1
        reached += 0.7 < found.value < 1 and found.upper == 1
    assert reached


@pytest.mark.parametrize("threshold", [None, 0.4, "youden"])
def test_fits_that_decide_all_records_alike_vary_from_others(threshold):
    """A lasso chooses no term in some training sets."""
    data = drawn(np.random.default_rng(8), 60)
    data["y"] = (data["a"] + np.random.default_rng(9).normal(size=60) > 0).astype(int)
    lasso = scv.models.Logit(C=0.0625, l1_ratio=1.0, standardize=True)
    res = scv.cv("y ~ a + b + c", data, model=lasso, threshold=threshold, seed=2)
    beta = res.coefficients[["Intercept", "a", "b", "c"]].to_numpy()
    chosen = (beta[:, 1:] != 0).any(axis=1)
    assert 1 < chosen.sum() < 9
    X = np.column_stack([np.ones(60), data[["a", "b", "c"]]])
    p = 1 / (1 + np.exp(-X @ beta.T))
    cuts = res.scores.threshold
    cut = 0.5 if cuts is None else cuts[res.scores.starts[:-1]]
    for metric, label in (("sensitivity", 1), ("specificity", 0)):
        shares = ((p >= cut) == label)[data["y"] == label].mean(axis=0)
        made = res.estimate(metric).interval
        assert min(made.constant) >= (1 - 1e-9) * shares.var(ddof=1) * 1.1


def test_several_classes_and_comparisons_vary_with_the_fits():
    data = drawn(np.random.default_rng(1), 180)
    data["three"] = pd.qcut(data["a"] + np.random.default_rng(2).normal(size=180), 3)
    res = scv.cv("three ~ a + b", data.drop(columns="y"), seed=1)
    assert influences(res.scores, METRICS["accuracy"]).draws.excess > 0
    both = scv.compare(more=res, less=res.update("three ~ a"), metric="accuracy")
    assert both.method.name == "infinitesimal_jackknife"
    assert both.differences["se"].item() > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "threshold"),
    [("accuracy", 0.25), ("sensitivity", 0.25), ("specificity", 0.25)],
)
@pytest.mark.filterwarnings(  # training means equal the threshold exactly
    "ignore::statcv.errors.DistributionalBiasWarning"
)
def test_intervals_are_neither_too_wide_nor_too_narrow(metric, threshold):
    error, said, covers = [], [], []
    for seed in range(150):
        rng = np.random.default_rng([seed, 20261125])
        data, fresh = drawn(rng, 200), drawn(rng, 20_000)
        res = scv.cv(
            "y ~ a + b + c", data, threshold=threshold, metrics=[metric], seed=seed
        )
        truth = METRICS[metric].function(
            fresh["y"].to_numpy(), res.predict(fresh).to_numpy(), threshold=threshold
        )
        one = res.estimate(metric)
        error.append(one.value - truth)
        said.append(one.se)
        covers.append(one.lower <= truth <= one.upper)
    assert 0.9 < np.mean(said) / np.std(error) < 1.2
    assert 0.91 < np.mean(covers) < 0.995
