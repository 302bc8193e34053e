import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from statcv import by_hash, cv, from_predictions
from statcv.folds import make_plan
from statcv.inference import (
    corrected_t_interval,
    delong_interval,
    mean_interval,
    pairs_interval,
)
from statcv.metrics import delong


@st.composite
def pairs(draw):
    """Draw pairs of one of several positives and one of several negatives."""
    size = draw(st.integers(2, 25))
    first = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    second = draw(st.lists(st.integers(10, 14), min_size=size, max_size=size))
    won = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=size, max_size=size))
    first[:2], second[:2] = [0, 1], [10, 11]
    return np.array(first), np.array(second), np.array(won)


@given(pairs(), st.floats(0.5, 0.99))
def test_the_interval_of_pairs_agrees_with_a_double_loop(drawn, level):
    first, second, won = drawn
    mean, total = won.mean(), 0.0
    for i in range(len(won)):
        for j in range(len(won)):
            if first[i] == first[j] or second[i] == second[j]:
                total += (won[i] - mean) * (won[j] - mean)
    found = pairs_interval(first, second, won, level)
    if total <= 1e-9:
        assert found.method == "none"
        return
    se = np.sqrt(total) / len(won)
    assert found.se == pytest.approx(se, abs=1e-7)
    half = stats.norm.isf((1 - level) / 2) * se
    assert found.lower == pytest.approx(mean - half, abs=1e-6)
    assert found.upper == pytest.approx(mean + half, abs=1e-6)


@given(pairs(), st.lists(st.integers(0, 6), min_size=15, max_size=15))
def test_the_interval_of_pairs_with_clusters_agrees_with_a_double_loop(drawn, source):
    """Pairs that share a cluster are dependent, on either side."""
    first, second, won = drawn
    source = np.array(source)
    mean, total = won.mean(), 0.0
    for i in range(len(won)):
        for j in range(len(won)):
            mine, theirs = (
                {*source[[first[i], second[i]]]},
                {*source[[first[j], second[j]]]},
            )
            if mine & theirs:
                total += (won[i] - mean) * (won[j] - mean)
    found = pairs_interval(first, second, won, 0.95, source)
    if found.method == "none":
        few = min(len(np.unique(source[side])) for side in (first, second)) < 2
        assert few or total <= 1e-8 or np.ptp(won) == 0
    else:
        assert found.se == pytest.approx(np.sqrt(total) / len(won), abs=1e-7)
        assert found.method == "pairs, cluster-robust"


def test_the_interval_of_all_pairs_is_near_that_of_delong():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.8, 1, 80), rng.normal(0, 1, 120)
    i, j = np.divmod(np.arange(80 * 120), 120)
    won = (a[i] > b[j]).astype(float)
    found = pairs_interval(i, 80 + j, won, 0.95)
    peer = delong(np.repeat([1, 0], [80, 120]), np.concatenate([a, b]))
    assert won.mean() == pytest.approx(peer.auc)
    assert found.se == pytest.approx(peer.se, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [1, 4])
def test_the_interval_of_pairs_of_fixed_predictions_has_its_nominal_level(repeats):
    """Without fits only the records vary, and the coverage is 95%."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], [120, 80])
    true = stats.norm.cdf(0.7 / np.sqrt(2))
    covered, runs = 0, 600
    for _ in range(runs):
        score = rng.normal(0.7 * y, 1)
        seed = int(rng.integers(2**32))
        plan = make_plan("rloocv", y, "binary", repeats=repeats, seed=seed)
        own, other = plan.tests.values, plan.dropped.values
        positive = y[own] == 1
        first, second = np.where(positive, own, other), np.where(positive, other, own)
        won = (score[first] > score[second]).astype(float)
        interval = pairs_interval(first, second, won, 0.95)
        covered += interval.lower <= true <= interval.upper
    margin = 3 * np.sqrt(0.95 * 0.05 / runs)
    assert abs(covered / runs - 0.95) < margin + 0.005


def test_an_unavailable_interval_of_pairs_has_a_reason():
    one = pairs_interval(np.zeros(3, int), np.arange(1, 4), np.ones(3), 0.95)
    assert (one.method, one.assumes) == ("none", "one class has a single record")
    assert np.isnan([one.lower, one.upper, one.se]).all()
    won = np.array([1.0, np.nan])
    gap = pairs_interval(np.array([0, 1]), np.array([2, 3]), won, 0.95)
    assert gap.assumes == "a prediction is missing"


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=30),
    st.integers(2, 50),
    st.floats(0.5, 0.99),
)
def test_corrected_t_is_that_of_nadeau_and_bengio(values, n_test, level):
    values = np.array([*values, 0.25, 0.75])
    n_train = np.full(len(values), 3.0 * n_test)
    found = corrected_t_interval(values, n_train, np.full(len(values), n_test), level)
    mean = sum(values) / len(values)
    s2 = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    se = ((1 / len(values) + 1 / 3) * s2) ** 0.5
    half = stats.t(len(values) - 1).isf((1 - level) / 2) * se
    assert found.se == pytest.approx(se, abs=1e-12)
    assert found.lower == pytest.approx(mean - half, abs=1e-9)
    assert found.upper == pytest.approx(mean + half, abs=1e-9)


def test_corrected_t_of_ten_folds_in_numbers():
    values = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.5, 0.6, 0.7, 0.8, 0.9])
    found = corrected_t_interval(values, np.full(10, 90.0), np.full(10, 10), 0.95)
    se = np.sqrt((0.1 + 1 / 9) * (0.2 / 9))  # squared deviations sum to 0.2
    assert found.se == pytest.approx(se, abs=1e-15)
    assert found.upper - 0.7 == pytest.approx(2.262157162740992 * se)  # table of t, 9


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=30))
def test_mean_interval_is_that_of_a_mean(losses):
    losses = np.array([*losses, 0.0, 1.0])
    found = mean_interval(losses, 0.9)
    se = stats.sem(losses)
    assert found.se == pytest.approx(se, abs=1e-12)
    half = 1.6448536269514722 * se
    assert found.lower == pytest.approx(losses.mean() - half, abs=1e-9)
    assert found.upper == pytest.approx(losses.mean() + half, abs=1e-9)


@pytest.mark.parametrize(
    ("interval", "why"),
    [
        (mean_interval(np.array([1.0]), 0.95), "there is only one record"),
        (mean_interval(np.array([1.0, np.inf]), 0.95), "a record has an infinite loss"),
        (
            corrected_t_interval(np.array([1.0]), np.ones(1), np.ones(1), 0.95),
            "fewer than two folds have a value",
        ),
        (
            corrected_t_interval(np.array([1, np.inf]), np.ones(2), np.ones(2), 0.95),
            "a fold has an infinite value",
        ),
        (
            corrected_t_interval(np.array([1, 1e200]), np.ones(2), np.ones(2), 0.95),
            "the values of the folds vary without limit",
        ),
        (
            corrected_t_interval(np.full(4, 0.1), np.ones(4), np.ones(4), 0.95),
            "all folds have the same value, which measures no variation",
        ),
        (
            mean_interval(np.full(7, 0.1), 0.95),
            "all records have the same value, which measures no variation",
        ),
        (
            pairs_interval(np.arange(4), np.arange(4), np.ones(4), 0.95),
            "all pairs are ranked alike, which measures no variation",
        ),
    ],
)
def test_without_an_interval_there_is_a_reason(interval, why):
    assert interval.method == "none"
    assert interval.assumes == why
    assert np.isnan([interval.lower, interval.upper, interval.se]).all()


def test_delong_of_several_repeats_uses_the_mean_variance():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [30, 20])
    scores = [rng.normal(y) for _ in range(3)]
    one = delong_interval([y], scores[:1], 0.9)
    peer = delong(y, scores[0], level=0.9)
    assert (one.lower, one.upper, one.se) == pytest.approx(
        (peer.lower, peer.upper, peer.se), abs=1e-14
    )
    three = delong_interval([y] * 3, scores, 0.9)
    peers = [delong(y, score) for score in scores]
    assert three.se**2 == pytest.approx(np.mean([p.se**2 for p in peers]))
    centre = (three.lower + three.upper) / 2
    assert centre == pytest.approx(np.mean([p.auc for p in peers]))


def test_clusters_of_one_record_change_no_interval():
    rng = np.random.default_rng(3)
    y, score, own = np.repeat([0, 1], [30, 20]), rng.normal(size=50), np.arange(50)
    one, other = (
        delong_interval([y], [score], 0.9, interval=scale, clusters=[own])
        for scale in ("wald", "logit")
    )
    plain = delong_interval([y], [score], 0.9)
    assert one.se == pytest.approx(plain.se) == pytest.approx(other.se)
    losses = rng.exponential(size=50)
    assert mean_interval(losses, 0.9, own).se == pytest.approx(
        mean_interval(losses, 0.9).se
    )
    first, second = rng.integers(0, 25, 40), rng.integers(25, 50, 40)
    won = rng.integers(0, 2, 40).astype(float)
    assert pairs_interval(first, second, won, 0.9, own).se == pytest.approx(
        pairs_interval(first, second, won, 0.9).se
    )


def test_clusters_without_variation_have_a_reason():
    losses = np.array([1.0, 3.0, 1.0, 3.0])
    assert mean_interval(losses, 0.9, np.zeros(4, int)).assumes == (
        "all records are in one cluster"
    )
    alike = mean_interval(losses, 0.9, np.array([0, 0, 1, 1]))
    assert alike.assumes == (
        "all clusters have the same mean, which measures no variation"
    )
    one = pairs_interval(
        np.array([0, 1]), np.array([2, 3]), np.array([0.0, 1.0]), 0.9, np.zeros(4, int)
    )
    assert one.assumes == "one class has a single cluster"


def test_delong_of_a_single_positive_has_a_reason():
    found = delong_interval([np.array([0, 0, 1])], [np.array([0.1, 0.2, 0.3])], 0.95)
    assert found.method == "none"
    assert found.assumes
    assert np.isnan(found.se)


def test_the_corrected_t_says_that_it_ignores_clusters():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"y": np.tile([0, 1], 20), "fold": np.arange(40) // 10})
    table["p"] = expit(rng.normal(size=40) + table["y"])
    table["apart"] = np.arange(40) // 2  # two records of each in a fold
    table["across"] = np.arange(40) % 30  # ten of them come again, 30 records on
    for cluster, count in (("apart", 0), ("across", 10)):
        res = from_predictions(
            table, observed="y", predicted="p", fold="fold", cluster=cluster
        )
        assert res.scores.split_clusters == count
        found = res.estimate("auroc", "per_fold", interval="corrected_t")
        said = f"the correlation within {count} clusters with records in several folds"
        assert (said in found.assumes) == (count > 0)
        assert found.lower < found.value
    whole = cv("y ~ p", table, k=4, stratify=by_hash("across", key=b"k" * 32), seed=1)
    assert whole.scores.clusters is not None
    assert whole.scores.split_clusters == 0
