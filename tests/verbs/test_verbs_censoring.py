"""Censoring weights from the training sets, against the metrics themselves."""

import numpy as np
import pandas as pd
import pytest

from statcv import compare, cv
from statcv.errors import ArgumentError, FoldWarning
from statcv.metrics.survival import integrated_brier, survival_metrics
from statcv.numeric.survival import signed_times

METRICS = ["uno_c", "auroc@6", "brier@6", "oe_ratio@6", "net_benefit@6"]
FORMULA = "Surv(time, status) ~ x"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    n = 120
    x = rng.normal(size=n)
    time, end = rng.exponential(10 * np.exp(-x)), rng.exponential(9, n)
    return pd.DataFrame(
        {"time": np.minimum(time, end), "status": (time <= end) * 1, "x": x}
    )


@pytest.fixture(scope="module")
def result(data):
    return cv(
        FORMULA,
        data,
        k=4,
        horizon=[3, 6, 12],
        censoring="training",
        metrics=[*METRICS, "integrated_brier"],
        seed=1,
    )


def of_folds(result):
    """The signed times held out in each fold and in its training set, with risks."""
    y = result.design.y
    for _, own in result.predictions.groupby("fold"):
        out = own["row"].to_numpy()
        yield y[out], np.delete(y, out), own


@pytest.mark.parametrize("name", METRICS)
def test_each_fold_has_the_weights_of_its_training_set(result, name):
    metric, found = survival_metrics((6.0,))[name], []
    for y, train, own in of_folds(result):
        read = own["linear" if name == "uno_c" else "risk_6"].to_numpy()
        found.append(metric.function(y, read, censoring=train))
    expected = np.mean(found)
    made = result.estimate(name, how="per_fold")
    assert made.value == pytest.approx(expected, abs=1e-12)
    other = result.update(censoring="all").estimate(name, how="per_fold")
    assert 0 < abs(made.value - other.value) < 0.02


def test_a_pooled_loss_is_the_mean_over_records_of_all_folds(result):
    metric, total, whole = survival_metrics((6.0,))["brier@6"], 0.0, 0.0
    for y, train, own in of_folds(result):
        total += len(y) * metric.function(y, own["risk_6"], censoring=train)
        risks = own[["risk_3", "risk_6", "risk_12"]].to_numpy()
        whole += len(y) * integrated_brier(y, risks, (3, 6, 12), censoring=train)
    assert float(result.estimate("brier@6")) == pytest.approx(total / 120, abs=1e-12)
    made = float(result.estimate("integrated_brier"))
    assert made == pytest.approx(whole / 120, abs=1e-12)


@pytest.mark.parametrize("name", [*METRICS, "integrated_brier"])
def test_intervals_are_as_wide_as_with_weights_from_all_records(result, name):
    one, other = result.estimate(name), result.update(censoring="all").estimate(name)
    ratio = (one.upper - one.lower) / (other.upper - other.lower)
    assert 0.9 < ratio < 1.1


def test_pairs_have_the_weight_of_the_training_sets_of_the_case(data):
    res = cv(
        FORMULA, data[:50], scheme="rloocv", horizon=6, censoring="training", seed=1
    )
    one = res.estimate("auroc@6")
    other = res.update(censoring="all").estimate("auroc@6")
    assert one.how == other.how == "paired"
    assert 0 < abs(one.value - other.value) < 0.01


def test_permutations_groups_and_comparisons_use_these_weights(data, result):
    groups = result.metrics(by=np.repeat(["a", "b"], 60))
    assert groups["estimate"].notna().all()
    test = result.test("brier@6", method="permutation", n_permutations=9, seed=1)
    assert test.p_value <= 0.2
    both = compare(x=result, null=result.update(f"{FORMULA[:-1]}1"))
    assert np.isfinite(both.differences["difference"]).all()


def test_the_summary_says_it_and_a_new_call_may_change_it(result):
    said = "Censoring weights are estimated from the training set of each fit."
    assert said in str(result.summary())
    again = result.update(k=5)
    assert said in str(again.summary())
    assert said not in str(again.update(censoring="all").summary())


def test_held_out_times_beyond_all_of_training_are_counted():
    time = np.append(np.arange(1.0, 21), [40.0, 50.0])
    data = pd.DataFrame({"time": time, "status": 1, "x": np.sin(time)})
    data.loc[[3, 8, 19], "status"] = 0
    folds = [(np.arange(20), [20, 21]), (np.arange(2, 22), [0, 1])]
    with pytest.warns(FoldWarning, match="2 held-out predictions of 4: the event"):
        res = cv(
            FORMULA,
            data,
            scheme=folds,
            horizon=10,
            censoring="training",
            metrics=["uno_c"],
        )
    y = signed_times(data["time"], data["status"] == 1)
    known = res.scores.of_training[:, 0]
    # two are censored at 4 and 9; the last, at 20, leaves the value as it is
    np.testing.assert_allclose(known[:2], 16 / 17 * 11 / 12, rtol=1e-12)
    assert (known[2:] == 1).all()
    assert len(y) == 22


def test_it_is_for_times_to_an_event(data):
    with pytest.raises(ArgumentError, match="is for times to an event"):
        cv("status ~ x", data, censoring="training")
    with pytest.raises(ArgumentError, match="censoring"):
        cv(FORMULA, data, censoring="none")
