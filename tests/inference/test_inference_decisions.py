"""Intervals of metrics of decisions, which vary with the fits near the threshold."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.inference.estimates.influences import influences
from statcv.metrics import METRICS
from statcv.metrics.influence.table import ADDED, with_added


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


# ---- metrics that count few records ----


@pytest.mark.parametrize("name", ["precision", "npv", "f1", "f1_macro", "matthews"])
def test_two_records_are_added_where_few_may_be_counted(name):
    """A precision of 1 among three records is not known without error."""
    y, p = np.repeat([0, 1], [20, 10]), np.full(30, 0.2)
    p[-3:] = 0.9
    data = pd.DataFrame({"y": y, "p": p})
    res = scv.from_predictions(data, observed="y", predicted="p", threshold=0.5)
    metric = with_added(METRICS[name])
    table = np.array([[20.0, 0.0], [7.0, 3.0]]) + ADDED / 4
    found = influences(res.scores, METRICS[name])
    assert found.value == pytest.approx(metric.derive.of_table(table))
    assert found.unseen > 0
    # the mean of each cell's records is moved as the cell is
    one = metric.weighted(y, p[None], np.ones((1, 30)))
    assert one == pytest.approx(found.value)
    if name == "precision":  # 3.5 of 4 records vary as a share of four does
        assert found.given_fits == pytest.approx(3.5 * 0.5 / 4**3, rel=0.1)
    made = res.estimate(name)
    assert METRICS[name].bounds[0] <= made.lower < made.value <= made.upper <= 1
    assert made.se > 0


def test_other_metrics_have_no_records_added():
    for name in ("sensitivity", "specificity", "accuracy", "balanced_accuracy"):
        assert with_added(METRICS[name]) is METRICS[name]


def test_draws_have_a_value_where_no_record_is_found_positive():
    """The fits of some draws decide all records alike."""
    rng = np.random.default_rng(4)
    y = (np.arange(60) < 27).astype(int)
    data = pd.DataFrame({"a": rng.normal(size=60), "y": y})
    res = scv.cv("y ~ a", data, seed=1)
    for name in ("precision", "matthews"):
        draws = influences(res.scores, METRICS[name]).draws
        assert draws is not None
        assert draws.excess > 0


# ---- what fits gain by finding more records positive ----


@pytest.mark.parametrize(
    "metric", ["sensitivity", "specificity", "f1", "balanced_accuracy", "matthews"]
)
@pytest.mark.parametrize("model", [None, scv.models.Neighbors(10)])
def test_p_and_the_limit_next_to_0_count_that_fits_find_more_positive(metric, model):
    rng, wider = np.random.default_rng(3), 0
    more = {} if model is None else {"model": model}
    for seed in range(4):
        X = rng.normal(size=(60, 2))
        y = (rng.random(60) < 0.5).astype(int)
        data = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
        one = scv.cv("y ~ a", data, seed=seed, **more)
        other = scv.cv("y ~ b", data, scheme=one.plan, **more)
        (row,) = scv.compare(one, other, metric=metric).differences.itertuples()
        assert abs(row.statistic) * row.se <= abs(row.difference) * (1 + 1e-9)
        assert (row.p < 0.05) == (row.lower > 0 or row.upper < 0)
        wider += abs(row.statistic) * row.se < 0.95 * abs(row.difference)
    assert wider > 1


def test_decisions_that_no_record_influences_have_no_variation():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    data["y"] = rng.integers(0, 2, 40)
    one = scv.cv("y ~ a", data, threshold=1e-6, seed=1)
    other = scv.cv("y ~ b", data, threshold=1 - 1e-6, seed=1)
    (row,) = scv.compare(one, other, metric="sensitivity").differences.itertuples()
    assert row.difference == -1
    assert row.se == 0
    assert "influences" in row.caveat


# ---- areas that are biased because they are pooled ----


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_a_pooled_area_varies_more_on_the_side_opposite_to_its_bias():
    rng = np.random.default_rng(6)
    level = np.array(list("abc"))[rng.choice(3, 60, p=[0.4, 0.35, 0.25])]
    y = (rng.random(60) < np.where(level == "b", 0.75, 0.4)).astype(int)
    res = scv.cv("y ~ g", pd.DataFrame({"g": level, "y": y}), scheme="loocv")
    found = influences(res.scores, METRICS["auroc"])
    assert found.draws.bias < -0.03
    made = res.estimate("auroc")
    turned = made.value * (1 - made.value) / (found.value * (1 - found.value))
    above = found.given_fits + found.draws.sides[1] + found.draws.bias**2
    assert made.interval.sides[1] == pytest.approx(np.sqrt(above * turned))
    below = found.given_fits + found.draws.sides[0]
    assert made.interval.sides[0] == pytest.approx(np.sqrt(below * turned))
