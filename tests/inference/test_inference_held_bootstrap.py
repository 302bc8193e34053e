"""The bootstrap of held-out predictions: samples, their values, and limits."""

import csv
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statcv import cv
from statcv.errors import MetricError
from statcv.inference import LeftOut, Scores, make_estimate
from statcv.inference.intervals.bootstrap import (
    DrawnUnits,
    bca_limits,
    bootstrap_interval,
    percentile_limits,
    weighted_metric,
)
from statcv.inference.intervals.request import IntervalRequest
from statcv.metrics import METRICS, delong
from statcv.models import Logit

REFERENCE = Path(__file__).parents[1] / "reference"
AUROC = METRICS["auroc"]

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning",
    "ignore::statcv.errors.FoldWarning",
)


def read(name):
    with open(REFERENCE / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def make_scores(y, fold, predicted, **more):
    """Make scores of one repeat."""
    order = np.argsort(fold, kind="stable")
    split = np.unique(fold, return_inverse=True)[1][order]
    held = (split, order, np.asarray(predicted, dtype=float)[order])
    splits = int(split.max()) + 1
    none = (np.empty(0, int), np.empty(0, int), np.empty(0))
    repeat = np.zeros(splits, dtype=np.intp)
    return Scores(
        y=np.asarray(y),
        split=split,
        row=order,
        predicted=held[2],
        repeat=repeat,
        n_train=np.full(splits, 10.0),
        baseline=np.full(splits, 0.5),
        left=LeftOut.joined(held, none, repeat),
        **more,
    )


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
    frame["y"] = (frame["a"] + rng.logistic(size=50) > 0.5).astype(int)
    frame["z"] = frame["a"] + rng.normal(size=50)
    frame["g"] = rng.choice(["p", "q", "r"], 50)
    frame["person"] = [f"p{i // 2}" for i in range(50)]
    return frame


# ---- limits ----


def limits_of_r():
    replicates = defaultdict(lambda: defaultdict(list))
    for row in read("bootstrap_replicates"):
        replicates[row["case"]][row["what"]].append(float(row["number"]))
    for row in read("bootstrap_r"):
        if row["kind"] != "pROC":
            yield row, replicates[row["case"]]


def test_limits_of_given_replicates_are_those_of_boot():
    compared = 0
    for row, of in limits_of_r():
        level, drawn = float(row["level"]), np.array(of["replicate"])
        if row["kind"] == "bca":
            found = bca_limits(drawn, of["value"][0], np.array(of["moved"]), level)
        else:
            found = percentile_limits(drawn, level)
        expected = (float(row["lower"]), float(row["upper"]))
        assert found == pytest.approx(expected, abs=1e-10), row
        compared += 1
    assert compared == 18


def test_limits_beyond_the_replicates_are_nan():
    drawn = np.arange(1.0, 100.0)
    assert np.isfinite(percentile_limits(drawn, 0.98)).all()
    assert np.isnan(percentile_limits(drawn, 0.99)).all()
    assert np.isnan(bca_limits(drawn, 200.0, np.array([1.0, -1.0]), 0.5)).all()
    assert np.isnan(bca_limits(drawn, 50.0, np.zeros(3), 0.5)).all()


def test_percentiles_of_a_pooled_auroc_are_near_those_of_proc():
    """They agree within the Monte Carlo error of 2 000 samples; pROC drew 20 000."""
    cases = defaultdict(list)
    for row in read("delong_cases"):
        cases[row["case"]].append((int(row["y"]), float(row["a"])))
    for row in read("bootstrap_r"):
        if row["kind"] != "pROC":
            continue
        y, score = map(np.array, zip(*cases[row["case"]], strict=True))
        scores = make_scores(y, np.zeros(len(y)), score)
        found = make_estimate(scores, AUROC, "pooled", 0.95, "bootstrap", seed=1)
        # about 3 standard errors of a 2.5% quantile
        near = 0.12 * delong(y, score).se * 2
        assert found.lower == pytest.approx(float(row["lower"]), abs=near)
        assert found.upper == pytest.approx(float(row["upper"]), abs=near)


# ---- samples ----


@given(st.integers(0, 10**6), st.sampled_from(["pooled", "per_fold"]))
def test_samples_keep_classes_and_per_fold_the_folds(seed, how):
    rng = np.random.default_rng(seed)
    y, fold = rng.integers(0, 2, 30), rng.integers(0, 3, 30)
    scores = make_scores(y, fold, rng.random(30))
    times = DrawnUnits.of(scores, AUROC, how).drawn(20, rng)
    assert (times >= 0).all()
    cell = y if how == "pooled" else 2 * fold + y
    for value in np.unique(cell):
        members = cell == value
        assert (times[:, members].sum(axis=1) == members.sum()).all()


def test_each_record_is_drawn_once_on_average():
    y = np.repeat([0, 1], [30, 10])
    scores = make_scores(y, np.zeros(40), np.arange(40.0))
    times = DrawnUnits.of(scores, AUROC, "pooled").drawn(
        20_000, np.random.default_rng(1)
    )
    np.testing.assert_allclose(times.mean(axis=0), 1, atol=0.04)
    expected = 1 - 1 / np.where(y == 1, 10, 30)  # the variance of a multinomial
    np.testing.assert_allclose(times.var(axis=0), expected, atol=0.06)


def test_whole_clusters_are_drawn_and_records_never_held_out_are_not():
    rng = np.random.default_rng(2)
    source = np.repeat(np.arange(10), 3)
    y = rng.integers(0, 2, 30)
    scores = make_scores(y, source % 2, rng.random(30), clusters=source)
    times = DrawnUnits.of(scores, AUROC, "pooled").drawn(50, rng)
    assert (times == times[:, (np.arange(30) // 3) * 3]).all()
    assert (times[:, ::3].sum(axis=1) == 10).all()
    some = replace(
        scores,
        row=scores.row[:20],
        split=scores.split[:20],
        predicted=scores.predicted[:20],
        clusters=None,
    )
    times = DrawnUnits.of(some, AUROC, "pooled").drawn(50, rng)
    absent = np.setdiff1d(np.arange(30), some.row)
    assert (times[:, absent] == 0).all()
    assert (times.sum(axis=1) == 20).all()


# ---- values of a sample ----

WAYS = [
    ("auroc", "pooled"),
    ("auroc", "per_fold"),
    ("auprc", "pooled"),
    ("auprc", "per_fold"),
    ("brier", "pooled"),
    ("brier", "per_fold"),
    ("balanced_accuracy", "pooled"),
    ("balanced_accuracy", "per_fold"),
]


@settings(max_examples=15)
@given(st.integers(0, 10**6))
@pytest.mark.parametrize(("name", "how"), WAYS)
def test_a_weighted_metric_is_that_of_repeated_records(name, how, seed):
    rng = np.random.default_rng(seed)
    n = 24
    y, fold = np.arange(n) % 2, np.arange(n) // 2 % 3
    predicted = rng.integers(1, 6, n) / 7
    scores = make_scores(y, fold, predicted)
    times = DrawnUnits.of(scores, METRICS[name], how).drawn(3, rng)
    found = weighted_metric(scores, METRICS[name], how)(times)
    for value, often in zip(found, times.astype(int), strict=True):
        rows = np.repeat(np.arange(n), often)
        copied = make_scores(y[rows], fold[rows], predicted[rows])
        expected = make_estimate(copied, METRICS[name], how).value
        assert value == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", ["rmse", "mae", "r2", "r2_training"])
@pytest.mark.parametrize("how", ["pooled", "per_fold"])
def test_an_unweighted_sample_is_the_estimate_itself(data, name, how):
    result = cv("z ~ a", data, k=4, repeats=3, seed=1, metrics=name)
    statistic = weighted_metric(result.scores, METRICS[name], how)
    value = float(result.estimate(name, how))
    assert statistic(np.ones((2, 50))) == pytest.approx([value, value], abs=1e-12)


@pytest.mark.parametrize("name", ["auroc", "brier", "balanced_accuracy"])
def test_pairs_and_tournaments_are_weighted_as_in_the_estimate(data, name):
    small = data.iloc[:16]
    for scheme in ("leave_pair_out", "tournament_leave_pair_out"):
        result = cv("y ~ a", small, model=Logit(1.0), scheme=scheme, metrics=name)
        for how in ("pooled", "paired")[: 1 + (name == "auroc")]:
            statistic = weighted_metric(result.scores, METRICS[name], how)
            found = make_estimate(result.scores, METRICS[name], how)
            assert statistic(np.ones((1, 16)))[0] == pytest.approx(found.value)


# ---- intervals ----


def test_the_same_seed_gives_the_same_interval(data):
    scores = cv("y ~ a", data, k=4, repeats=2, seed=1).scores
    for name in ("bootstrap", "bca"):
        one, same, other = (
            make_estimate(scores, METRICS["auroc"], "pooled", 0.9, name, seed=seed)
            for seed in (1, 1, 2)
        )
        assert (one.lower, one.upper) == (same.lower, same.upper)
        assert one.lower != other.lower
        assert 0 <= one.lower < float(one) < one.upper <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "name", "scheme"),
    [
        ("y ~ a", "auroc", "stratified_kfold"),
        ("y ~ a", "auprc", "loocv"),
        ("y ~ a", "balanced_accuracy", "rloocv"),
        ("z ~ a", "r2", "kfold"),
        ("z ~ a", "rmse", "kfold"),
        ("g ~ a", "auroc_ovr", "stratified_kfold"),
        ("g ~ a", "balanced_accuracy", "stratified_kfold"),
    ],
)
def test_any_pooled_metric_has_one(data, formula, name, scheme):
    draws = {"repeats": 2} if scheme == "rloocv" else {}
    call = {"model": None, "scheme": scheme, "seed": 1, "metrics": name, **draws}
    result = cv(formula, data, **call)
    for kind in ("bootstrap", "bca"):
        asked = IntervalRequest(result.scores, METRICS[name], "pooled", 0.9, seed=3)
        found = bootstrap_interval(asked, bca=kind == "bca", n_boot=400)
        value = make_estimate(result.scores, METRICS[name], "pooled").value
        assert found.lower < value < found.upper
        assert found.se > 0


def test_se_of_an_auroc_and_a_mean_are_near_their_closed_forms():
    rng = np.random.default_rng(4)
    n = 300
    y, source = rng.integers(0, 2, n), np.arange(n) // 3
    chance = 1 / (1 + np.exp(-(y + rng.normal(size=100)[source] + rng.normal(size=n))))
    plain = make_scores(y, source % 5, chance)
    for scores in (plain, replace(plain, clusters=source)):
        for name, closed in (("auroc", "delong"), ("brier", "records")):
            metric = METRICS[name]
            exact = make_estimate(scores, metric, "pooled", 0.95, closed)
            for kind in ("bootstrap", "bca"):
                found = make_estimate(scores, metric, "pooled", 0.95, kind, seed=5)
                assert found.se == pytest.approx(exact.se, rel=0.08)
                assert found.lower == pytest.approx(exact.lower, abs=0.3 * exact.se)
                assert found.upper == pytest.approx(exact.upper, abs=0.3 * exact.se)
    per_fold = make_estimate(plain, AUROC, "per_fold", 0.95, "influence")
    found = make_estimate(plain, AUROC, "per_fold", 0.95, "bootstrap", seed=5)
    assert found.se == pytest.approx(per_fold.se, rel=0.08)


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_the_jackknife_leaves_out_one_record_at_a_time(seed):
    rng = np.random.default_rng(seed)
    y, score = np.repeat([0, 1], [7, 5]), rng.integers(0, 8, 12) / 8
    scores = make_scores(y, np.zeros(12), score)
    units = DrawnUnits.of(scores, AUROC, "pooled")
    statistic = weighted_metric(scores, AUROC, "pooled")
    found = list(units.jackknife(statistic, 3, rng))
    for code, moved in enumerate(found):
        members = np.flatnonzero(y == code)
        without = np.array(
            [delong(np.delete(y, i), np.delete(score, i)).auc for i in members]
        )
        g = len(members)
        expected = (g - 1) / g * (without.mean() - without)
        np.testing.assert_allclose(moved, expected, atol=1e-12)


def test_above_a_thousand_records_the_acceleration_hardly_changes(monkeypatch):
    rng = np.random.default_rng(6)
    y = np.repeat([0, 1], [700, 200])
    scores = make_scores(y, np.zeros(900), rng.normal(1.5 * y))
    units = DrawnUnits.of(scores, AUROC, "pooled")
    statistic = weighted_metric(scores, AUROC, "pooled")

    def acceleration():
        moved = np.concatenate(list(units.jackknife(statistic, 500, rng)))
        return (moved**3).sum() / (6 * (moved**2).sum() ** 1.5)

    each = acceleration()
    monkeypatch.setattr("statcv.inference.intervals.bootstrap.MOST_DELETED", 300)
    assert acceleration() == pytest.approx(each, abs=0.012)


@pytest.mark.parametrize(
    ("scheme", "more", "how", "why"),
    [
        ("stratified_kfold", {"k": 5, "repeats": 2}, "per_fold", "in each repeat"),
        ("stratified_kfold", {"k": 5, "repeats": 2}, "paired", "in each repeat"),
        ("montecarlo", {"repeats": 4}, "pooled", "in each repeat"),
        ("rloocv", {}, "paired", "is compared with few"),
    ],
)
def test_predictions_that_cannot_be_resampled_raise_with_the_reason(
    data, scheme, more, how, why
):
    scores = cv("y ~ a", data, scheme=scheme, seed=1, **more).scores
    with pytest.raises(MetricError, match=f"since .*{why}.*; there .*'influence'"):
        make_estimate(scores, AUROC, how, 0.95, "bca")


def test_leave_pair_out_has_all_pairs_and_is_resampled(data):
    result = cv("y ~ a", data.iloc[:20], model=Logit(1.0), scheme="leave_pair_out")
    found = make_estimate(result.scores, AUROC, "paired", 0.95, "bootstrap")
    peer = make_estimate(result.scores, AUROC, "paired", 0.95, "pairs")
    assert found.se == pytest.approx(peer.se, rel=0.25)


def test_without_variation_there_is_no_interval():
    y = np.array([0, 1] * 6)
    perfect = make_scores(y, np.zeros(12), y)
    found = bootstrap_interval(IntervalRequest(perfect, AUROC, "pooled", 0.95, seed=1))
    assert (
        found.assumes
        == "all resamples have the same value, which measures no variation"
    )
    one = make_scores(np.r_[1, np.zeros(9, int)], np.zeros(10), np.arange(10.0))
    found = bootstrap_interval(IntervalRequest(one, AUROC, "pooled", 0.95, seed=1))
    assert found.assumes == "one class has a single record"
    alone = make_scores(y, np.arange(12), np.linspace(0, 1, 12))
    found = bootstrap_interval(
        IntervalRequest(alone, METRICS["brier"], "per_fold", 0.95, seed=1)
    )
    assert found.assumes == "every fold holds a single record of a class"
    source = np.r_[0, 0, np.arange(1, 11)]
    rare = np.r_[1, 1, np.zeros(10, int)]  # one source holds both positives
    lacking = make_scores(rare, np.zeros(12), np.arange(12.0), clusters=source)
    found = bootstrap_interval(IntervalRequest(lacking, AUROC, "pooled", 0.95, seed=1))
    assert found.method == "none"
    assert "of 2000 resamples" in found.assumes
