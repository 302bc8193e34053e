"""The bias of estimates without skill, compared with loops that permute y."""

import warnings
from itertools import combinations, permutations

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

import statcv as scv
from statcv.errors import StatcvError
from statcv.inference.estimates.values import values_by_repeat
from statcv.inference.tests.null_bias import make_null_bias
from statcv.metrics import METRICS, auprc
from statcv.metrics.discrimination import auprc_in_random_order

RIDGE = scv.models.Logit(C=1.0)
pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning",
    "ignore::statcv.errors.UndefinedMetricWarning",
)


def noise(seed=1, n=50, p=2):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.uniform(size=(n, p)), columns=list("abcdef"[:p]))
    return data.assign(y=np.repeat([0, 1], n // 2))


@pytest.fixture(scope="module")
def rloocv():
    return scv.cv("y ~ a + b", noise(), model=RIDGE, scheme="rloocv", repeats=1, seed=1)


# ---- known biases ----


@pytest.mark.parametrize(
    ("model", "scheme", "bias"),
    [
        ("mean", "loocv", -0.5),
        ("negmean", "loocv", 0.5),
        ("mean", "rloocv", 0.0),
        ("negmean", "rloocv", 0.0),
    ],
)
def test_models_without_predictors_have_the_same_bias_each_time(model, scheme, bias):
    res = scv.cv("y ~ a", noise(), model=model, scheme=scheme, seed=1)
    found = res.null_bias("auroc", "pooled", n_permutations=30)
    assert (found.bias, found.se, found.no_skill) == (bias, 0.0, 0.5)
    assert found.clear == (bias != 0)
    assert f"{0.5 + bias:.3f} in each of 30 permutations" in found.sentence
    assert ("there is no bias" in found.sentence) == (bias == 0)


@pytest.mark.slow
def test_the_bias_is_large_for_leave_one_out_and_zero_for_pairs(rloocv):
    loocv = rloocv.update(scheme="loocv")
    far = loocv.null_bias("auroc", n_permutations=1000)
    little = rloocv.null_bias("auroc", "pooled", n_permutations=1000)
    pairs = rloocv.null_bias("auroc", n_permutations=1000)
    assert -0.22 < far.bias < -0.14
    assert -0.06 < little.bias < -0.02
    assert pairs.how == "paired"
    assert not pairs.clear
    assert "within two Monte Carlo standard errors of 0.5" in str(pairs)
    assert f"{-little.bias:.3f} below 0.5" in little.sentence
    assert "which is not their bias when there is skill" in little.sentence


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["loocv", "stratified_kfold"])
def test_bias_is_that_of_a_loop_that_permutes_y_and_calls_cv(scheme):
    data, rng = noise(seed=3, n=30), np.random.default_rng(4)
    res = scv.cv("y ~ a + b", data, model=RIDGE, scheme=scheme, seed=1)
    found = res.null_bias("auroc", "pooled", n_permutations=400)
    values = []
    for seed in range(100):
        permuted = data.assign(y=rng.permutation(data["y"]))
        again = scv.cv("y ~ a + b", permuted, model=RIDGE, scheme=scheme, seed=seed)
        values.append(
            scv.metrics.auroc(again.scores.y[again.scores.row], again.scores.predicted)
        )
    off = np.mean(values) - 0.5
    se = np.hypot(np.std(values, ddof=1) / np.sqrt(100), found.se)
    assert abs(found.bias - off) < 3.5 * se
    assert found.clear


def test_numbers_are_those_of_the_permutations(rloocv):
    null = rloocv.null_distribution("auroc", "pooled", times=40, seed=8)
    found = rloocv.null_bias("auroc", "pooled", n_permutations=40, seed=8)
    assert found.mean == pytest.approx(null.mean())
    assert float(found) == found.bias == pytest.approx(null.mean() - 0.5)
    assert found.se == pytest.approx(null.std() / np.sqrt(40))
    assert (found.n_permutations, found.n_undefined, found.seed) == (40, 0, 8)
    assert rloocv.plan.sentence in " ".join(str(found).split())


# ---- average precision ----


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=5)
)
def test_average_precision_in_random_order_is_the_mean_over_all_orders(records):
    y, score = (np.array(column) for column in zip(*records, strict=True))
    found = auprc_in_random_order(y, score)
    if not y.any():
        assert np.isnan(found)
        return
    orders = [
        average_precision_score(np.isin(np.arange(len(y)), ones), score)
        for ones in combinations(range(len(y)), int(y.sum()))
    ]
    assert found == pytest.approx(np.mean(orders), abs=1e-12)


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), min_size=2, max_size=6),
    st.sampled_from(["trapezoid", "interpolated"]),
)
def test_joined_points_in_random_order_are_the_mean_over_all_orders(records, method):
    y, score = (np.array(column) for column in zip(*records, strict=True))
    if not y.any():
        return
    for tied in (score, np.zeros(len(y)), np.arange(len(y))):
        orders = [
            auprc(np.isin(np.arange(len(y)), ones), tied, method=method)
            for ones in combinations(range(len(y)), int(y.sum()))
        ]
        first_order = method == "interpolated" and tied is score
        found = auprc_in_random_order(y, tied, method=method)
        assert found == pytest.approx(
            np.mean(orders), abs=0.1 if first_order else 1e-12
        )


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=5),
    st.sampled_from(["average_precision", "trapezoid", "interpolated"]),
)
def test_ties_in_random_order_have_the_mean_over_all_their_orders(records, method):
    y, score = (np.array(column) for column in zip(*records, strict=True))
    if not y.any():
        return
    orders = [score + 0.1 * np.array(one) for one in permutations(range(len(y)))]
    found = auprc_in_random_order(y, score, method=method, of_ties=True)
    values = auprc(y, np.array(orders) / 2, method=method)
    assert found == pytest.approx(np.mean(values), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["pooled", "per_fold"])
def test_the_bias_of_average_precision_is_relative_to_chance(how):
    """Random scores without a plan have no bias, although all are above 0.5."""
    rng = np.random.default_rng(5)
    data = noise(n=40).assign(score=0.0, fold=np.tile(np.arange(4), 10))
    found, chance = [], []
    order = METRICS["auprc"].of_random_order()
    for _ in range(150):
        data["score"] = rng.normal(size=40)
        res = scv.from_predictions(data, observed="y", predicted="score", fold="fold")
        found.append(float(res.estimate("auprc", how)))
        values = values_by_repeat(res.scores, order, how)
        chance.append(values[0])
    made = make_null_bias(
        METRICS["auprc"], how, np.array(found), np.array(chance), seed=1, about=""
    )
    assert made.no_skill > 0.53
    assert abs(made.bias) < 3 * made.se
    assert "the value of a random order" in made.sentence


def test_average_precision_of_equal_scores_is_the_share_of_positives():
    data = noise().assign(y=(np.arange(50) < 10).astype(int))
    res = scv.cv("y ~ a", data, model="mean", scheme="rloocv", repeats=1, seed=1)
    found = res.null_bias("auprc", n_permutations=5)
    assert (found.mean, found.no_skill) == pytest.approx((0.2, 0.2))
    assert found.bias == pytest.approx(0, abs=1e-12)
    assert not found.clear


# ---- permutations are made once ----


@pytest.fixture
def counted(monkeypatch):
    """Count the permutations for which models are fitted."""
    from statcv.inference.tests import permutation

    made, run = [], permutation.run_permuted

    def counting(setup, permutations, n_jobs=None):
        made.append(len(permutations))
        return run(setup, permutations, n_jobs)

    monkeypatch.setattr(permutation, "run_permuted", counting)
    return made


def test_permutations_of_a_test_are_reused(rloocv, counted):
    res = rloocv.update()
    test = res.test(n_permutations=30)
    assert sum(counted) == 30
    found = res.null_bias(n_permutations=30)
    assert sum(counted) == 30
    assert found.mean == test.null
    more = res.null_bias(n_permutations=50)
    assert sum(counted) == 50  # the first 30 are there
    fresh = rloocv.update().null_bias(n_permutations=50)
    assert more.bias == pytest.approx(fresh.bias, abs=1e-12)
    assert res.null_bias(n_permutations=30) == found
    res.null_bias(n_permutations=30, seed=9)
    assert sum(counted) == 130


def test_a_summary_reads_all_its_metrics_from_the_same_fits(rloocv, counted):
    res = rloocv.update()
    notes = res.summary(null_bias=25, notes=True).notes
    assert sum(counted) == 25
    ways = [("auroc", None), ("auroc", "pooled"), ("auprc", "pooled")]
    for way in ways:
        assert res.null_bias(*way, n_permutations=25).sentence in notes
    assert sum(counted) == 25


def test_numbers_do_not_depend_on_the_number_of_processes():
    from sklearn.linear_model import LogisticRegression

    data = noise(n=12)
    res = scv.cv(
        "y ~ a", data, model=LogisticRegression(), scheme="rloocv", repeats=1, seed=1
    )
    alone = res.null_bias("auroc", "pooled", n_permutations=2)
    with joblib.parallel_config("threading"):
        again = res.update().null_bias("auroc", "pooled", n_permutations=2, n_jobs=2)
    assert again == alone
    together = res.update(model=RIDGE).null_bias("auroc", "pooled", n_permutations=2)
    assert together.bias == pytest.approx(alone.bias, abs=1e-6)


# ---- errors and messages ----


def test_the_summary_names_the_call_if_it_is_possible(rloocv):
    names = "summary(null_bias=200)"
    assert any(names in note for note in rloocv.summary(notes=True).notes)
    assert not any(
        names in note for note in rloocv.summary(null_bias=5, notes=True).notes
    )
    brier = rloocv.update(metrics="brier")
    assert not any(names in note for note in brier.summary(notes=True).notes)
    with pytest.raises(StatcvError, match="rank metrics with a value of no skill"):
        brier.summary(null_bias=5)
    bins = rloocv.update(scheme="rkfold", k=3, stratify=scv.by_quantile("a"))
    assert not any(names in note for note in bins.summary(notes=True).notes)
    with pytest.raises(StatcvError, match="outcomes cannot be permuted"):
        bins.null_bias(n_permutations=5)
    table = rloocv.predictions
    read = scv.from_predictions(
        table, observed="observed", predicted="predicted", fold="fold"
    )
    assert not any(names in note for note in read.summary(notes=True).notes)
    with pytest.raises(StatcvError, match="no model that can be fitted"):
        read.null_bias()


@pytest.mark.parametrize(
    ("metric", "match"),
    [
        ("brier", "no value of Brier score stands for no skill"),
        ("brier_skill", "rightly below 0"),
        ("aurocs", "Did you mean 'auroc'"),
    ],
)
def test_metrics_without_a_value_of_no_skill_raise_an_error(rloocv, metric, match):
    with pytest.raises(StatcvError, match=match):
        rloocv.null_bias(metric)


def test_the_r2_of_noise_is_not_a_bias():
    res = scv.cv("z ~ a", noise().assign(z=lambda d: d["b"]), scheme="loocv", seed=1)
    for metric in ("r2", "r2_training"):
        with pytest.raises(StatcvError, match="rightly below 0"):
            res.null_bias(metric)


@pytest.mark.parametrize("times", [0, True, 2.5, "10"])
def test_the_number_of_permutations_is_an_integer(rloocv, times):
    with pytest.raises(StatcvError, match="must be"):
        rloocv.null_bias(n_permutations=times)
    with pytest.raises(StatcvError, match="must be"):
        rloocv.summary(null_bias=times)


def test_several_classes_and_separated_classes():
    data = noise(n=45 * 2).assign(y=np.tile(["p", "q", "r"], 30))
    res = scv.cv("y ~ a + b", data, model="mean", scheme="loocv", seed=1)
    assert res.null_bias("auroc_hand_till", n_permutations=5).bias == -0.5
    assert res.null_bias("balanced_accuracy", n_permutations=5).no_skill == 1 / 3


def test_permutations_without_a_value_are_counted_and_one_has_no_error():
    values = np.array([0.4, np.nan, 0.6])
    found = make_null_bias(
        METRICS["auroc"], "pooled", values, 0.5, seed=1, about="y ~ x"
    )
    assert (found.mean, found.n_undefined) == (0.5, 1)
    assert "1 of 3 permutations gave no value" in found.sentence
    one = make_null_bias(METRICS["auroc"], "pooled", values[:2], 0.5, seed=1, about="")
    assert np.isnan(one.se)
    assert not one.clear
    assert "gives no Monte Carlo error" in one.sentence
    none = make_null_bias(
        METRICS["auroc"], "pooled", values[1:2], 0.5, seed=1, about=""
    )
    assert np.isnan(float(none))
    assert "no value in any of 1 permutation" in none.sentence


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_few_distinct_permutations_of_clusters_are_reported():
    data = noise(n=12).assign(who=np.repeat(np.arange(4), 3))
    data["y"] = np.array([0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1])
    res = scv.cv("y ~ a", data, scheme="kfold", k=2, stratify=scv.by_value("who"))
    found = res.null_bias("auroc", "pooled", n_permutations=4, seed=1)
    assert "among the clusters in only 24 distinct ways" in found.sentence


def test_a_fixed_threshold_holds_for_permuted_outcomes_too():
    data = noise().assign(y=(np.arange(50) < 20).astype(int))
    call = {"model": "mean", "scheme": "stratified_kfold", "k": 10, "seed": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low = scv.cv("y ~ a", data, threshold=0.3, metrics="accuracy", **call)
        half = scv.cv("y ~ a", data, metrics="accuracy", **call)
        assert low.null_distribution(times=3).tolist() == [0.4] * 3
        assert half.null_distribution(times=3).tolist() == [0.6] * 3
