"""Intervals of metrics of decisions: what moves the truth as well is no error."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.inference.estimates import influences as module
from statcv.inference.estimates.influences import influences
from statcv.inference.estimates.pool import Pool
from statcv.metrics import METRICS


def drawn(rng, n):
    X = rng.normal(size=(n, 3))
    y = (0.6 * X[:, 0] - 1.2 + rng.logistic(size=n) > 0).astype(int)
    return pd.DataFrame(X, columns=list("abc")).assign(y=y)


def result_of(threshold, n=150, seed=3, **more):
    data = drawn(np.random.default_rng(seed), n)
    options = {"threshold": threshold, "metrics": ["accuracy", "brier"], "seed": 1}
    return scv.cv("y ~ a + b + c", data, **{**options, **more})


@pytest.mark.parametrize("more", [{}, {"scheme": "loocv"}, {"repeats": 3}], ids=str)
@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_chance_is_the_sum_over_held_out_records(monkeypatch, more):
    """Of the squares of what each of them alone would let the fits change."""
    monkeypatch.setattr(module, "SIGNS", 300)
    res = result_of(0.3, n=60, **more)
    (accuracy,) = (one for one in res.chosen_metrics if one.name == "accuracy")
    pool = Pool(res.scores, res.scores.sensitivity)
    _, slopes = module._as_held_out(pool, accuracy, "pooled")
    (moved,) = module._changes(pool, [slopes], nearly=False)
    drawn = module._changes(pool, module._with_random_signs(pool, slopes), False)
    share = module._share_of_chance(moved, drawn)
    row = pool.places[1]
    alone = [replace(slopes, values=slopes.values * (row == i)) for i in range(60)]
    squares = sum(
        one.every @ one.every for one in module._changes(pool, alone, nearly=False)
    )
    expected = min(1.0, squares / (moved.every @ moved.every))
    assert share == pytest.approx(expected, rel=0.15)
    scaled = influences(res.scores, accuracy).fits
    np.testing.assert_allclose(scaled, moved.every * np.sqrt(share))


def test_only_decisions_near_the_threshold_are_affected(monkeypatch):
    near, far = result_of(0.25), result_of(0.6)
    after = [one.estimate("accuracy").se for one in (near, far)]
    brier = near.estimate("brier").se
    monkeypatch.setattr(module, "_share_of_chance", lambda *given: 1.0)
    again = [result_of(0.25), result_of(0.6)]
    before = [one.estimate("accuracy").se for one in again]
    assert after[0] < 0.8 * before[0]
    assert after[1] == pytest.approx(before[1], rel=0.1)
    assert again[0].estimate("brier").se == brier
    given = near.estimate("accuracy", interval="records").se
    assert after[0] >= 0.99 * given


def test_several_classes_and_comparisons_have_it_too():
    data = drawn(np.random.default_rng(1), 180)
    data["three"] = pd.qcut(data["a"] + np.random.default_rng(2).normal(size=180), 3)
    res = scv.cv("three ~ a + b", data.drop(columns="y"), seed=1)
    accuracy = METRICS["accuracy"]
    fits = influences(res.scores, accuracy).fits
    assert fits is not None
    both = scv.compare(more=res, less=res.update("three ~ a"), metric="accuracy")
    assert both.method.name == "infinitesimal_jackknife"
    assert both.differences["se"].item() > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "threshold"),
    [("accuracy", 0.25), ("sensitivity", 0.25), ("specificity", 0.25)],
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
    assert 0.9 < np.mean(said) / np.std(error) < 1.35
    assert 0.91 < np.mean(covers) < 0.995
