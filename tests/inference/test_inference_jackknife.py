"""The jackknife with refits, compared with cross-validation without each record."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import statcv as scv
from statcv import by_value
from statcv.engine import Setup
from statcv.errors import SchemeError
from statcv.folds import FoldPlan
from statcv.folds.deletion import choose_splits, count_fits, delete_records
from statcv.folds.ragged import Ragged
from statcv.inference.refits import refitting
from statcv.inference.refits.jackknife import (
    Jackknife,
    jackknife_interval,
    jackknife_values,
    keep_jackknife,
)
from statcv.inference.refits.refitting import balanced_pairs
from statcv.metrics import METRICS
from statcv.models import Linear, Logit

AUROC = METRICS["auroc"]


def frame(n=14, seed=1):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    data["y"] = (data["a"] + rng.logistic(size=n) > 0).astype(int)
    data.loc[: n // 2 - 1, "y"] = np.arange(n // 2) % 2
    data["z"] = data["a"] + rng.normal(size=n)
    data["who"] = np.repeat(np.arange(n // 2), 2)
    return data


def result_of(data, formula="y ~ a + b", model=None, **arguments):
    model = Logit(C=1.0) if model is None else model
    return scv.cv(formula, data, model=model, seed=2, **arguments)


def setup_of(result):
    return Setup(
        result.design, result.plan, result.learner, result.seed, result.weights
    )


def without(plan, rows):
    """Return the plan of the data without some records, made list by list."""
    stays = np.setdiff1d(np.arange(plan.n), rows)
    number = {row: place for place, row in enumerate(stays.tolist())}

    def less(lists):
        return [[number[r] for r in one.tolist() if r in number] for one in lists]

    splits = []
    for split in range(plan.n_splits):
        test = plan.test(split)
        left = np.setdiff1d(test, rows)
        if len(left) and not (plan.fits.holds_out_pairs and len(left) < len(test)):
            splits.append(split)
    fits = [f for f in range(plan.n_fits) if plan.fits.split_of[f] in splits]
    repeats = plan.fits.repeat_of[splits]
    first = np.searchsorted(plan.fits.split_of[fits], splits)
    return replace(
        plan,
        n=len(stays),
        tests=Ragged.of(less([plan.test(s) for s in splits])),
        labels=tuple(
            range(1, int((repeats == r).sum()) + 1) for r in np.unique(repeats)
        ),
        dropped=Ragged.of(less([plan.dropped[f] for f in fits])),
        kept_out=Ragged.of(less([plan.kept_out[f] for f in fits])),
        copied=Ragged.of(less([plan.copied[f] for f in fits])),
        first_fit=np.append(first, len(fits)),
        strata=None,
        response=None,
        rows=None,
    )


SCHEMES = {
    "pairs": ({"scheme": "leave_pair_out"}, "auroc", "paired"),
    "tournament": ({"scheme": "tournament_leave_pair_out"}, "auroc", "pooled"),
    "left out alone": ({"scheme": "loocv"}, "auroc", "pooled"),
    "log loss": ({"scheme": "loocv"}, "log_loss", "pooled"),
    "folds": ({"scheme": "stratified_kfold", "k": 3, "repeats": 2}, "auroc", None),
    "per fold": ({"scheme": "kfold", "k": 3}, "brier", "per_fold"),
    "shares": ({"scheme": "montecarlo", "p": 0.4, "repeats": 5}, "brier", None),
    "samples": ({"scheme": "bootstrap", "repeats": 5}, "brier", None),
    "clusters": ({"scheme": "loocv", "stratify": by_value("who")}, "brier", "pooled"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_values_are_those_of_the_data_without_the_record(name):
    arguments, metric, how = SCHEMES[name]
    data = frame()
    result = result_of(data, **arguments)
    how = how or result.estimate(metric).how
    jack = jackknife_values(setup_of(result), METRICS[metric], how)
    sets = [[row] for row in range(len(data))]
    if "stratify" in arguments:
        sets = data.groupby("who").indices.values()
        assert jack.unit == "cluster"
    expected = []
    for rows in sets:
        plan = without(result.plan, rows)
        less = data.drop(index=list(rows)).reset_index(drop=True)
        again = scv.cv("y ~ a + b", less, model=Logit(C=1.0), scheme=plan, seed=2)
        expected.append(float(again.estimate(metric, how)))
    np.testing.assert_allclose(jack.values, expected, atol=1e-10)


def test_pairs_of_held_out_and_dropped_stay_the_same():
    data = frame(12)
    result = result_of(data, scheme="rloocv", repeats=2)
    jack = jackknife_values(setup_of(result), AUROC, "paired")
    X, y = data[["a", "b"]].to_numpy(), data["y"].to_numpy()
    ridge = LogisticRegression(C=1.0, tol=1e-12, solver="newton-cholesky")
    for row in range(len(data)):
        shares = []
        for repeat in range(2):
            won = []
            for fit in range(repeat * len(data), (repeat + 1) * len(data)):
                pair = [int(result.plan.test(fit)[0]), int(result.plan.dropped[fit][0])]
                if row not in pair:
                    train = np.setdiff1d(np.arange(len(data)), [*pair, row])
                    eta = ridge.fit(X[train], y[train]).decision_function(X[pair])
                    won.append((eta[0] > eta[1]) == (y[pair[0]] == 1))
            shares.append(np.mean(won))
        assert jack.values[row] == pytest.approx(np.mean(shares), abs=1e-12)


@pytest.mark.parametrize(
    "arguments",
    [
        {"scheme": "rloocv", "repeats": 3},
        {"scheme": "rkfold", "k": 3},
        {"scheme": "rloocv", "rebalance": "all"},
        {"scheme": "rkfold", "k": 3, "rebalance": "weight"},
    ],
)
def test_training_sets_keep_equal_class_totals(arguments):
    data = frame(18)
    plan = scv.fold_plan("y", data, seed=1, **arguments)
    y = data["y"].to_numpy()
    for row in range(len(data)):
        left = delete_records(plan, [np.array([row])], seed=1).plan
        means = left.training_means(y.astype(float))
        assert np.ptp(means) < 1e-12
        trained = [set(left.train(fit)) for fit in range(left.n_fits)]
        assert all(row not in rows for rows in trained)
        assert row not in left.tests.values
        assert row not in left.dropped.values


@given(n=st.integers(8, 20), seed=st.integers(0, 99), k=st.integers(2, 4))
def test_results_are_joined_in_any_order(n, seed, k):
    y = np.arange(n) % 2
    data = pd.DataFrame({"y": y})
    plan = scv.fold_plan("y", data, scheme="rkfold", k=k, seed=seed)
    rng = np.random.default_rng(seed)
    sets = [rng.choice(n, size, replace=False) for size in (1, 2, 1)]
    both = delete_records(plan, sets, seed)
    assert both.plan.n_fits == count_fits(plan, sets)
    start = 0
    for number, rows in enumerate(sets):
        alone = delete_records(plan, [rows], seed).plan
        fits = range(start, start + alone.n_fits)
        for own, joined in enumerate(fits):
            assert both.plan.train(joined).tolist() == alone.train(own).tolist()
            assert both.plan.test(joined).tolist() == alone.test(own).tolist()
        assert (both.of_repeat == number).sum() == alone.repeats
        start += alone.n_fits


def test_batches_and_processes_change_nothing(monkeypatch):
    result = result_of(frame(), scheme="rloocv", repeats=4)
    setup = setup_of(result)
    whole = jackknife_values(setup, AUROC, "paired").values
    monkeypatch.setattr(refitting, "PREDICTIONS", 100)
    np.testing.assert_allclose(
        jackknife_values(setup, AUROC, "paired", n_jobs=2).values, whole, atol=1e-12
    )


def test_a_random_model_has_the_same_draws_when_refitted(monkeypatch):
    forest = RandomForestClassifier(n_estimators=3, max_depth=2)
    result = result_of(frame(), scheme="stratified_kfold", k=2, model=forest)
    setup = setup_of(result)
    whole = jackknife_values(setup, METRICS["brier"], "pooled").values
    monkeypatch.setattr(refitting, "PREDICTIONS", 1)
    again = jackknife_values(setup, METRICS["brier"], "pooled").values
    np.testing.assert_array_equal(whole, again)


def test_the_jackknife_of_a_mean_is_its_standard_error():
    """For a model that does not depend on single records it equals the textbook."""
    data = frame(20)
    result = result_of(data, "z ~ 0 + a", Linear(), scheme="kfold", k=4)
    losses = (result.predictions["observed"] - result.predictions["predicted"]) ** 2
    frozen = Jackknife(
        (losses.sum() - losses.to_numpy()) / 19, np.zeros(20, int), "record", 0
    )
    assert frozen.variance == pytest.approx(losses.var(ddof=1) / 20)


def test_two_samples_each_have_their_own_mean():
    values, group = np.array([0.5, 0.7, 0.1, 0.2, 0.3]), np.array([1, 1, 0, 0, 0])
    expected = 1 / 2 * 0.02 + 2 / 3 * 0.02
    assert Jackknife(values, group, "record", 0).variance == pytest.approx(expected)
    assert np.isnan(Jackknife(values, np.array([1, 0, 0, 0, 0]), "", 0).variance)


def test_intervals_are_normal_on_their_scale():
    result = result_of(frame(24), scheme="leave_pair_out")
    setup, value = setup_of(result), float(result.estimate())
    jack = jackknife_values(setup, AUROC, "paired")
    plain = jackknife_interval(value, AUROC, 0.9, jack)
    assert plain.se == pytest.approx(np.sqrt(jack.variance))
    ones = int((setup.design.y == 1).sum())
    assert jack.n_fits == 22 * ones * (24 - ones)  # each pair minus its two records
    assert (plain.lower + plain.upper) / 2 == pytest.approx(value)
    assert (plain.upper - value) / plain.se == pytest.approx(1.6448536269514722)
    logit = jackknife_interval(value, AUROC, 0.9, jack, "logit")
    ends = np.log([p / (1 - p) for p in (logit.lower, value, logit.upper)])
    assert ends[1] - ends[0] == pytest.approx(ends[2] - ends[1])
    assert (ends[2] - ends[1]) * value * (1 - value) == pytest.approx(
        1.6448536269514722 * plain.se
    )
    assert "logit" in logit.method


def test_fewer_pairs_or_repeats_are_refitted_if_there_are_too_many():
    data = frame(20)
    setup = setup_of(result_of(data, scheme="leave_pair_out"))
    full = jackknife_values(setup, AUROC, "paired").n_fits
    few = jackknife_values(setup, AUROC, "paired", most_fits=full // 2)
    assert few.n_fits <= full // 2
    assert "pairs" in few.left_out
    again = jackknife_values(setup, AUROC, "paired", most_fits=full // 2)
    np.testing.assert_array_equal(few.values, again.values)
    result = result_of(data, scheme="rloocv", repeats=4)
    some = jackknife_values(setup_of(result), AUROC, "pooled", most_fits=1000)
    assert some.left_out == "2 of 4 repeats are refitted"
    interval = jackknife_interval(0.6, AUROC, 0.95, some)
    assert "2 of 4 repeats" in interval.assumes
    with pytest.raises(SchemeError, match="most_fits=10"):
        jackknife_values(setup_of(result), AUROC, "pooled", most_fits=10)


@given(ones=st.integers(2, 12), zeros=st.integers(2, 12), share=st.floats(0.2, 1))
def test_sampled_pairs_take_every_record_about_equally_often(ones, zeros, share):
    y = np.repeat([1, 0], [ones, zeros])
    plan = scv.fold_plan("y", pd.DataFrame({"y": y}), scheme="leave_pair_out")
    wanted = max(int(share * ones * zeros), 1)
    chosen = balanced_pairs(plan, y, wanted, seed=1)
    assert len(set(chosen.tolist())) == wanted
    times = np.bincount(choose_splits(plan, chosen).tests.values, minlength=len(y))
    assert np.ptp(times[y == 1]) <= 1
    assert np.ptp(times[y == 0]) <= 1


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_unavailable_intervals_have_a_reason():
    data = frame(12)
    rare = data.assign(y=[1, 1] + 10 * [0])
    result = result_of(rare, scheme="leave_pair_out")
    deleted = keep_jackknife(setup_of(result), result.scores, AUROC, "paired", {})
    interval = jackknife_interval(0.9, AUROC, 0.95, deleted)
    assert interval.method == "none"
    assert "no record of class" in interval.assumes
    result = result_of(data, "z ~ a", Linear(), scheme="kfold", k=3)
    rmse = METRICS["rmse"]
    setup = setup_of(result)
    jack = jackknife_values(setup, rmse, "pooled")
    assert jackknife_interval(0.9, rmse, 0.95, jack).se > 0
    logit = jackknife_interval(0.9, rmse, 0.95, jack, "logit")
    assert logit.assumes == "RMSE is not a proportion, and has no logit"
    data["perfect"] = data["y"] * 10 + data["a"] / 10
    result = result_of(data, "y ~ perfect", scheme="leave_pair_out")
    deleted = keep_jackknife(setup_of(result), result.scores, AUROC, "paired", {})
    interval = jackknife_interval(0.9, AUROC, 0.95, deleted)
    assert interval.assumes == "it is the same whichever record is deleted"


def test_a_plan_is_its_splits():
    plan = scv.fold_plan("y", frame(), scheme="rloocv", repeats=2, seed=1)
    same = choose_splits(plan, np.arange(plan.n_splits))
    assert isinstance(same, FoldPlan)
    assert same.fingerprint == plan.fingerprint
