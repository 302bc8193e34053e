import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.errors import DistributionalBiasWarning
from statcv.folds.deletion import choose_splits
from statcv.inference import make_estimate
from statcv.inference.estimates import pairs as paired_values
from statcv.inference.estimates.pairs import concordant_pairs
from statcv.metrics import METRICS, auroc_hand_till, concordance

HAND_TILL = METRICS["auroc_hand_till"]
pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning",
    "ignore::statcv.errors.FoldWarning",
    "ignore::statcv.errors.UndefinedMetricWarning",
)


def frame(n=26, seed=1):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    data["z"] = (data["a"] + rng.normal(size=n)).round(1)
    data["g"] = rng.permutation(np.resize(list("ppqqr"), n))
    data["person"] = (np.arange(n) // 2).astype(str)
    return data


def left_out(res):
    """Yield the held-out records of each fit, and their predictions by record."""
    left, held = res.scores.left, res.plan
    for fit in range(held.n_fits):
        own = left.fit == fit
        yield left.row[own], left.predicted[own], left.held[own]


def loop_hand_till(res, y):
    """Compare pairs of one fit by both columns, for each two classes."""
    classes = res.scores.n_classes
    won, pairs = np.zeros((2, classes, classes))
    for rows, p, held in left_out(res):
        for u, v in itertools.permutations(range(len(rows)), 2):
            i, j = y[rows[u]], y[rows[v]]
            if i != j and (held[u] or held[v]):  # A(i|j): class i higher by its score
                won[i, j] += (p[u, i] > p[v, i]) + 0.5 * (p[u, i] == p[v, i])
                pairs[i, j] += 1
    apart = ~np.eye(classes, dtype=bool)
    return (won[apart] / pairs[apart]).mean()


# ---- several classes ----


@pytest.mark.parametrize(
    "call",
    [
        {"scheme": "leave_pair_out"},
        {"scheme": "leave_pair_out", "pairs": 60},
        {"scheme": "rloocv", "repeats": 1},
        {"scheme": "rkfold", "k": 4},
        {"scheme": "leave_pair_out", "stratify": "person"},
    ],
)
def test_hand_and_till_of_one_fit_agrees_with_a_loop(call):
    data = frame()
    res = scv.cv("g ~ a + b", data, seed=1, **call)
    expected = loop_hand_till(res, res.design.y)
    assert float(res.estimate("auroc_hand_till", "paired")) == pytest.approx(expected)
    assert res.scores.headline(HAND_TILL) == "paired"
    unlisted = paired_values.concordance(res.scores, HAND_TILL)[0]
    np.testing.assert_allclose(unlisted, expected)
    if call["scheme"] == "leave_pair_out":
        assert res.metric_names[0] == "auroc_hand_till"
        assert res.estimate().how == "paired"


def test_within_folds_it_is_weighted_by_pairs():
    res = scv.cv("g ~ a + b", frame(60), scheme="stratified_kfold", k=3, seed=1)
    y, p = res.design.y, res.scores
    areas = np.zeros((3, 3))
    for i, j in itertools.permutations(range(3), 2):
        won = pairs = 0
        for split in range(3):
            rows = p.row[p.split == split]
            own = p.predicted[p.split == split, i]
            for u, v in itertools.product(range(len(rows)), repeat=2):
                if (y[rows[u]], y[rows[v]]) == (i, j):
                    pairs += 1
                    won += own[u] > own[v]
        areas[i, j] = won / pairs
    expected = areas[~np.eye(3, dtype=bool)].mean()
    found = res.estimate("auroc_hand_till", "paired")
    assert float(found) == pytest.approx(expected)
    assert found.interval.name == "infinitesimal_jackknife"
    assert found.lower < found.value < found.upper
    given = make_estimate(replace(p, sensitivity=None), HAND_TILL, "paired")
    assert given.interval.name == "corrected_influence"
    assert given.se == pytest.approx(found.se, rel=0.6)
    one = scv.cv("g ~ a + b", frame(60), scheme="montecarlo", p=0.5, repeats=1, seed=1)
    rows = one.scores.row
    whole = auroc_hand_till(one.design.y[rows], one.scores.predicted)
    paired = float(one.estimate("auroc_hand_till", "paired"))
    assert paired == pytest.approx(whole)


def test_two_classes_that_are_never_together_have_no_value():
    data = frame(12).assign(g=list("pppppqqqqrrr"))
    plan = scv.fold_plan("g", data, scheme="leave_pair_out")
    y = np.unique(data["g"], return_inverse=True)[1]
    some = [s for s in range(plan.n_splits) if set(y[plan.test(s)]) != {0, 2}]
    res = scv.cv("g ~ a", data, scheme=choose_splits(plan, np.array(some)), seed=1)
    found = res.estimate("auroc_hand_till", "paired")
    assert np.isnan(float(found))
    assert "for some two classes, no fit held out records of both" in found.assumes


def test_the_interval_of_hand_and_till_sums_the_influence_of_records():
    res = scv.cv("g ~ a + b", frame(), scheme="leave_pair_out", seed=1)
    pairs = concordant_pairs(res.scores, HAND_TILL)
    total = 0.0
    for s, t in itertools.product(range(len(pairs.won)), repeat=2):
        shared = {pairs.first[s], pairs.second[s]} & {pairs.first[t], pairs.second[t]}
        total += pairs.moved[s] * pairs.moved[t] * bool(shared)
    found = res.estimate(interval="pairs")
    assert found.se == pytest.approx(np.sqrt(total))
    assert pairs.moved.sum() == pytest.approx(0, abs=1e-12)


# ---- numbers ----


@pytest.mark.parametrize(
    "call", [{}, {"pairs": 90}, {"stratify": "person"}, {"pairs": 90, "repeats": 2}]
)
def test_concordance_of_pairs_is_that_of_independent_refits(call):
    data = frame()
    res = scv.cv("z ~ a + b", data, scheme="leave_pair_out", seed=1, **call)
    z, plan, won = data["z"].to_numpy(), res.plan, []
    X = np.column_stack([np.ones(len(data)), data[["a", "b"]]])
    for split in range(plan.n_splits):
        i, j = plan.test(split)
        train = plan.train(split)
        if "stratify" in call:
            apart = ~data["person"].isin(data["person"].iloc[[i, j]])
            assert train.tolist() == np.flatnonzero(apart).tolist()
        beta = np.linalg.lstsq(X[train], z[train], rcond=None)[0]
        won.append((z[i] > z[j]) == (X[i] @ beta > X[j] @ beta))
    found = res.estimate()
    assert (found.metric, found.how) == ("concordance", "paired")
    assert float(found) == pytest.approx(np.mean(won))
    if not call:
        differ = [z[i] != z[j] for i, j in itertools.combinations(range(len(z)), 2)]
        assert plan.n_fits == sum(differ)
        assert found.method == "infinitesimal jackknife"
        given = res.estimate(interval="pairs")
        assert given.method == "pairs clustered by record"
        assert res.estimate(interval="jackknife").se > 0
    table = res.pairs
    right = (table["predicted"] > table["predicted_partner"]).to_numpy()
    first = z[table["row"]] > z[table["partner"]]
    assert (right == first).mean() == pytest.approx(np.mean(won))


def test_within_folds_it_is_the_share_of_their_pairs():
    data = frame(40)
    res = scv.cv("z ~ a", data, scheme="kfold", k=4, metrics="concordance", seed=1)
    scores, z = res.scores, data["z"].to_numpy()
    parts = [scores.split == split for split in range(4)]
    each = [concordance(z[scores.row[own]], scores.predicted[own]) for own in parts]
    sizes = [
        sum(z[i] != z[j] for i, j in itertools.combinations(scores.row[own], 2))
        for own in parts
    ]
    assert res.estimate().how == "per_fold"
    assert float(res.estimate()) == pytest.approx(np.mean(each))
    paired = float(res.estimate(how="paired"))
    assert paired == pytest.approx(np.average(each, weights=sizes))
    pooled = float(res.estimate(how="pooled"))
    mean = concordance(z[scores.row], scores.predicted)
    assert pooled == pytest.approx(mean)


def test_a_dropped_mirror_image_is_not_a_pair():
    res = scv.cv(
        "z ~ a", frame(), scheme="rloocv", repeats=1, metrics="concordance", seed=1
    )
    assert res.estimate().how == "pooled"
    found = res.estimate(how="paired")
    assert np.isnan(float(found))
    assert "on the other side" in found.assumes


@pytest.mark.parametrize("seed", range(8))
def test_without_a_list_of_pairs_concordance_is_the_same(seed):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"z": rng.permutation(np.resize([0.5, 1, 2, 2.5], 11))})
    res = scv.cv("z ~ 1", data, scheme="leave_pair_out", model="mean")
    few = rng.integers(0, 4, len(res.scores.left.row)).astype(float)
    scores = replace(res.scores, left=replace(res.scores.left, predicted=few))
    metric = METRICS["concordance"]
    listed = concordant_pairs(scores, metric).shares
    np.testing.assert_allclose(paired_values.concordance(scores, metric)[0], listed)


# ---- on noise ----


def noise(n, seed):
    rng = np.random.default_rng([11, seed])
    data = pd.DataFrame(rng.uniform(size=(n, 2)), columns=["a", "b"])
    return data.assign(z=rng.normal(size=n))


@pytest.mark.slow
def test_pooled_leave_one_out_orders_noise_backwards_and_pairs_do_not():
    values = {"loocv": [], "leave_pair_out": []}
    for seed in range(150):
        data = noise(20, seed)
        for scheme, found in values.items():
            how = "pooled" if scheme == "loocv" else "paired"
            res = scv.cv("z ~ a + b", data, scheme=scheme, metrics="concordance")
            found.append(float(res.estimate(how=how).value))
    mean = {name: np.mean(found) for name, found in values.items()}
    error = {name: np.std(found) / np.sqrt(150) for name, found in values.items()}
    assert mean["loocv"] < 0.5 - 4 * error["loocv"]
    assert abs(mean["leave_pair_out"] - 0.5) < 3 * error["leave_pair_out"]
    assert error["leave_pair_out"] < 0.02


def test_pooling_numbers_over_single_records_raises_a_warning():
    said = r"concordance 0\.000 where no skill is 0\.500 \(0\.500 too low\)"
    with pytest.warns(DistributionalBiasWarning, match=said):
        scv.cv("z ~ a", noise(15, 1), scheme="loocv", metrics="concordance")


def test_a_model_without_skill_orders_half_of_the_pairs_correctly():
    res = scv.cv("z ~ a", noise(15, 1), model="mean", scheme="leave_pair_out")
    assert float(res.estimate()) == 0.5
    test = res.update(model="linear").test(n_permutations=49)
    assert test.label == "concordance (paired)"
