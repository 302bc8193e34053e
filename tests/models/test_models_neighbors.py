"""Nearest neighbours against scikit-learn and a version that takes the long way."""

import math
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from statcv import cv
from statcv.errors import DistributionalBiasWarning, FoldWarning, ModelError
from statcv.folds import make_plan
from statcv.folds.ragged import Ragged
from statcv.models import Neighbors, TrainingSet
from statcv.models.batched import Folds
from statcv.models.batched.neighbors import fits as neighbors_folds
from statcv.models.batched.neighbors import search as neighbors_search
from statcv.models.batched.neighbors.search import nearby
from statcv.numeric import threads

SCHEMES = {
    "loocv": {},
    "rloocv": {"repeats": 2},
    "rloocv weighted": {"scheme": "rloocv", "rebalance": "weight"},
    "rloocv upsampled": {"scheme": "rloocv", "rebalance": "upsample"},
    "halves": {"scheme": "stratified_kfold", "k": 2},
    "rkfold": {"k": 3},
    "tenths": {"scheme": "kfold", "k": 10},
    "montecarlo": {"repeats": 4},
    "bootstrap": {"repeats": 6},
}
KINDS = {"binary": 2, "multiclass": 3, "continuous": 0}
MODELS = [
    Neighbors(),
    Neighbors(3, weights="distance"),
    Neighbors(4, scale=True),
    Neighbors(4, weights="distance", scale=True),
]


def sample(seed, n, p, kind="binary", whole=False, weights=None):
    """Draw a design with intercept; of integers, many are equally near."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, p)) if whole else rng.normal(size=(n, p))
    classes = KINDS[kind]
    y = rng.normal(size=n) if kind == "continuous" else rng.integers(0, classes, n)
    if kind != "continuous":
        first = min(n, 6 * classes)  # enough of each class for a weighted fold
        y[:first] = np.arange(first) % classes
    names = ("one", *(f"x{j}" for j in range(p)))
    X = np.column_stack([np.ones(n), X.astype(float)])
    return TrainingSet(X, y, kind, classes, names, 0, weights, seed=0)


def plan_of(name, records, seed=0):
    arguments = {"scheme": name} | SCHEMES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldWarning)
        return make_plan(y=records.y, kind=records.kind, seed=seed, **arguments)


def held_out(plan):
    return plan.fits.tests_by_fit.values.astype(int), plan.fits.tests_by_fit.owners


def the_long_way(model, training, x):
    """Predict one record by sorting all distances; no arrays."""
    rows = training.X[:, 1:]
    weights = np.ones(len(rows)) if training.weights is None else training.weights
    alive = np.flatnonzero(weights > 0)
    units = np.ones(rows.shape[1])
    if model.scale:
        for j in range(rows.shape[1]):
            values = rows[alive, j]
            mean = np.average(values, weights=weights[alive])
            sd = math.sqrt(np.average((values - mean) ** 2, weights=weights[alive]))
            units[j] = 0 if values.max() == values.min() else 1 / sd
    far = [(math.dist(rows[i] * units, x[1:] * units), i) for i in alive.tolist()]
    last = sorted(far)[model.k - 1][0]
    inside = [pair for pair in far if pair[0] < last * (1 - 1e-10)]
    tied = [pair for pair in far if abs(pair[0] - last) <= last * 1e-10]
    part = (model.k - len(inside)) / len(tied)
    voters = [(*pair, 1.0) for pair in inside] + [(*pair, part) for pair in tied]
    if model.weights == "distance":
        same = [voter for voter in voters if voter[0] == 0]
        voters = same or [(d, i, share / d) for d, i, share in voters]
    total = sum(share * weights[i] for _, i, share in voters)
    classes = range(training.n_classes)
    if training.kind == "continuous":
        return sum(share * weights[i] * training.y[i] for _, i, share in voters) / total
    shares = [
        sum(share * weights[i] for _, i, share in voters if training.y[i] == c) / total
        for c in classes
    ]
    return shares if training.kind == "multiclass" else shares[1]


def assert_the_same(model, records, folds, rows, fits, atol=1e-10):
    found = model.fit_folds(records, folds).predict(rows, fits)
    for fit in np.unique(fits)[:: 1 + len(np.unique(fits)) // 20]:
        training = folds.training_set(records, fit)
        points = records.X[rows[fits == fit]]
        alone = model.fit(training).predict(points)
        np.testing.assert_allclose(found[fits == fit], alone, atol=atol)
        slowly = the_long_way(model, training, points[0])
        np.testing.assert_allclose(alone[0], slowly, atol=atol)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "kind"),
    [(name, kind) for name in SCHEMES for kind in ("binary", "multiclass")]
    + [(name, "continuous") for name in ("loocv", "tenths", "bootstrap")],
)
def test_all_folds_are_like_one_by_one_and_like_the_long_way(monkeypatch, scheme, kind):
    # a tree is used where p is low
    monkeypatch.setattr(neighbors_search, "MIN_TREE_RECORDS", 0)
    for number, model in enumerate(MODELS):
        for whole, p in ((False, 3), (True, 3), (False, 9), (True, 8)):
            records = sample(number, 50, p, kind, whole)
            plan = plan_of(scheme, records, number)
            assert_the_same(model, records, Folds.of(plan), *held_out(plan))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scheme", ["loocv", "rloocv weighted", "bootstrap"])
def test_weights_multiply_votes_and_records_without_any_are_none(scheme, model):
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, 60).astype(float)
    for whole in (False, True):
        records = sample(2, 60, 4, whole=whole, weights=weights)
        plan = plan_of(scheme, records)
        assert_the_same(model, records, Folds.of(plan), *held_out(plan))
    training = sample(2, 60, 4, weights=weights)
    some = weights > 0
    less = replace(training, X=training.X[some], y=training.y[some])
    less = replace(less, weights=weights[some])
    np.testing.assert_allclose(
        model.fit(training).predict(training.X),
        model.fit(less).predict(training.X),
        atol=1e-12,
    )


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("p", [2, 12])
def test_without_ties_it_is_scikit_learn_s(p, weights):
    classes = sample(3, 90, p, "multiclass")
    every, X = np.arange(90), classes.X[:, 1:]
    folds = Folds.leaving_out(every[:, None])
    peer = KNeighborsClassifier(7, weights=weights)
    expected = cross_val_predict(
        peer, X, classes.y, cv=LeaveOneOut(), method="predict_proba"
    )
    model = Neighbors(7, weights)
    found = model.fit_folds(classes, folds).predict(every, every)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    numbers = sample(3, 90, p, "continuous")
    scaled = make_pipeline(StandardScaler(), KNeighborsRegressor(7, weights=weights))
    expected = cross_val_predict(scaled, X, numbers.y, cv=LeaveOneOut())
    fitted = replace(model, scale=True).fit_folds(numbers, folds)
    np.testing.assert_allclose(fitted.predict(every, every), expected, atol=1e-10)


@given(seed=st.integers(0, 10**6), k=st.integers(1, 9), p=st.sampled_from([1, 2, 7]))
def test_predictions_do_not_depend_on_the_order_of_records(seed, k, p):
    training = sample(seed, 30, p, "multiclass", whole=True)
    order = np.random.default_rng(seed).permutation(30)
    turned = replace(training, X=training.X[order], y=training.y[order])
    points = sample(seed + 1, 10, p, whole=True).X if seed % 2 else training.X
    np.testing.assert_allclose(
        Neighbors(k).fit(training).predict(points),
        Neighbors(k).fit(turned).predict(points),
        atol=1e-12,
    )


def test_those_tied_for_the_last_place_share_it():
    X = np.array([[0.0], [1], [-1], [5]])
    training = TrainingSet(
        X, np.array([0, 1, 0, 1]), "binary", 2, ("x",), None, None, 0
    )
    origin = np.zeros((1, 1))
    assert Neighbors(1).fit(training).predict(origin) == 0
    assert Neighbors(2).fit(training).predict(origin) == 0.25
    assert Neighbors(3).fit(training).predict(origin) == pytest.approx(1 / 3)
    assert Neighbors(4).fit(training).predict(origin) == 0.5


def test_a_tie_on_paper_is_one_whatever_the_unit():
    steps = np.arange(1, 40)[:, None] / 10  # 0.3 - 0.2 is not 0.2 - 0.1
    y = np.arange(39) % 3
    training = TrainingSet(steps, y, "multiclass", 3, ("x",), None, None, 0)
    tenths = replace(training, X=np.arange(1.0, 40)[:, None])
    np.testing.assert_allclose(
        Neighbors(2).fit(training).predict(steps),
        Neighbors(2).fit(tenths).predict(tenths.X),
        atol=1e-12,
    )


def test_a_copy_is_one_more_neighbour():
    X, y = np.arange(5.0)[:, None], np.array([9.0, 1, 2, 4, 8])
    records = TrainingSet(X, y, "continuous", 0, ("x",), None, None, 0)
    folds = Folds(Ragged.of([[0]]), Ragged.of([[1, 1, 3]]))
    for k, expected in ((3, 1), (4, 5 / 4), (5, 9 / 5), (7, 21 / 7)):
        fitted = Neighbors(k).fit_folds(records, folds)
        found = fitted.predict(np.array([0]), np.array([0]))
        assert found[0] == pytest.approx(expected)
    assert Neighbors(8).fit_folds(records, folds) is None


@pytest.mark.parametrize("scale", [False, True])
def test_each_fit_may_have_an_outcome_of_its_own(scale):
    for kind in KINDS:
        records = sample(5, 24, 2, kind)
        rng = np.random.default_rng(0)
        several = replace(records, y=np.stack([rng.permutation(records.y)] * 3))
        several.y[1] = rng.permutation(records.y)
        rows = np.tile(np.arange(24), 3)
        folds = Folds(
            Ragged.of(rows[:, None]),
            Ragged.empty(72),
            outcome=np.repeat(np.arange(3), 24),
        )
        model = Neighbors(3, scale=scale)
        assert_the_same(model, several, folds, rows, np.arange(72))


@pytest.mark.parametrize("whole", [False, True])
def test_whole_clusters_may_be_held_out(whole):
    """The neighbours of a record are all in its own fold: longer lists are needed."""
    records = sample(6, 90, 7, "continuous", whole)
    cluster = np.arange(90) % 3
    records.X[:, 1] += 1000 * cluster
    folds = Folds.leaving_out([np.flatnonzero(cluster == c) for c in range(3)])
    for model in MODELS:
        assert_the_same(model, records, folds, np.arange(90), cluster)


def test_a_column_that_is_constant_in_a_fold_is_left_out_of_its_scale():
    records = sample(7, 40, 3)
    records.X[:, 2] = 0
    records.X[9, 2] = 50
    folds = Folds.leaving_out([[9], [3], [9, 3]])
    rows, fits = np.array([9, 3, 9, 3]), np.array([0, 1, 2, 2])
    for weights in ("uniform", "distance"):
        model = Neighbors(4, weights, scale=True)
        assert_the_same(model, records, folds, rows, fits)
    without = replace(records, X=np.delete(records.X, 2, axis=1))
    without = replace(without, names=records.names[:-1])
    fitted = [
        Neighbors(4, "distance", scale=True).fit(folds.training_set(one, 0))
        for one in (records, without)
    ]
    np.testing.assert_allclose(
        fitted[0].predict(records.X), fitted[1].predict(without.X), atol=1e-12
    )


def test_a_constant_column_far_from_0_has_no_spread_by_rounding():
    records = sample(7, 40, 3)
    records.X[:, 2] = 1e6 + 0.1
    records.X[9, 2] += 1e-3
    folds = Folds.leaving_out(np.arange(40)[:, None])
    every = np.arange(40)
    assert_the_same(Neighbors(4, scale=True), records, folds, every, every, atol=1e-7)


@pytest.mark.parametrize("scheme", ["loocv", "rloocv weighted", "halves", "bootstrap"])
@pytest.mark.parametrize("p", [2, 9])
def test_predictions_do_not_depend_on_blocks(monkeypatch, scheme, p):
    monkeypatch.setattr(neighbors_search, "MIN_TREE_RECORDS", 0)
    records = sample(8, 60, p, "multiclass", whole=True)
    plan = plan_of(scheme, records)
    folds, (rows, fits) = Folds.of(plan), held_out(plan)
    models = [Neighbors(), Neighbors(weights="distance", scale=True)]
    large = [one.fit_folds(records, folds).predict(rows, fits) for one in models]
    for module in (neighbors_folds, neighbors_search):
        monkeypatch.setattr(module, "CELLS", 1)
    small = [one.fit_folds(records, folds).predict(rows, fits) for one in models]
    np.testing.assert_allclose(small, large, atol=1e-12)
    one_by_one = [
        models[0].fit_folds(records, folds).predict(rows[i : i + 1], fits[i : i + 1])[0]
        for i in range(0, len(rows), 7)
    ]
    np.testing.assert_allclose(one_by_one, large[0][::7], atol=1e-12)


@pytest.mark.parametrize("scheme", ["loocv", "rloocv weighted", "halves", "tenths"])
@pytest.mark.parametrize("p", [2, 9])
def test_predictions_do_not_depend_on_threads(monkeypatch, scheme, p):
    monkeypatch.setattr(neighbors_search, "MIN_TREE_RECORDS", 0)
    monkeypatch.setattr(neighbors_search, "CELLS", 2**9)  # several blocks
    monkeypatch.setattr(threads, "WORTH", 1.0)
    records = sample(3, 90, p, "binary", whole=True)
    plan = plan_of(scheme, records)
    folds, (rows, fits) = Folds.of(plan), held_out(plan)
    made = []
    for number in (1, 2, 5):
        with threads.allow_threads(number):
            fitted = Neighbors().fit_folds(records, folds)
            made.append(fitted.predict(rows, fits))
    assert (made[0] == made[1]).all()
    assert (made[0] == made[2]).all()


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", [Neighbors(), Neighbors(3, weights="distance")])
def test_large_scaled_folds_are_searched_by_a_tree(
    monkeypatch, kind, whole, weighted, model
):
    monkeypatch.setattr(neighbors_search, "MIN_TREE_RECORDS", 0)
    model = replace(model, scale=True)
    weights = np.arange(60) % 4 / 2 if weighted else None
    records = sample(3, 60, 7, kind, whole, weights)
    plan = plan_of("halves" if kind != "continuous" else "tenths", records)
    folds, (rows, fits) = Folds.of(plan), held_out(plan)
    assert_the_same(model, records, folds, rows, fits)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 120),
    p=st.sampled_from([1, 3, 7, 20]),
    least=st.integers(1, 30),
    spread=st.sampled_from([1e-8, 1.0, 1e4, 1e9]),
    kind=st.sampled_from(["normal", "clusters", "outlier", "whole", "heavy", "one"]),
)
@settings(max_examples=5 * settings.default.max_examples)
def test_lists_hold_everyone_within_reach_and_enough(seed, n, p, least, spread, kind):
    rng = np.random.default_rng(seed)
    records, points = rng.normal(size=(n, p)), rng.normal(size=(7, p))
    if kind == "clusters":
        records[:, 0] += spread * rng.integers(0, 2, n)
        points[:, 0] += spread * rng.integers(0, 2, 7)
    elif kind == "outlier":
        records[0], points[0] = spread * 10, spread * 10
    elif kind == "whole":
        records, points = np.round(records), np.round(points)
    elif kind == "heavy":
        records, points = np.sinh(4 * records), np.sinh(4 * points)
    elif kind == "one":
        records[:] = points[0]
    records, points = records * spread, points * spread
    with pytest.MonkeyPatch.context() as patch:
        # a tree or products are used
        patch.setattr(neighbors_search, "MIN_TREE_RECORDS", seed % 100)
        lists = list(nearby(records, points, min(least, n)))
    assert sum(len(near.reach) for near in lists) == 7
    for near in lists:
        for place, reach in enumerate(near.reach):
            point = points[near.first + place]
            exact = np.sqrt(((records - point) ** 2).sum(axis=1))
            listed = near.lists[place]
            assert len(listed) >= min(least, n)
            assert len(set(listed.tolist())) == len(listed)
            assert set(np.flatnonzero(exact < reach * (1 - 1e-9))) <= set(listed)
            own = near.distances[near.lists.starts[place] :][: len(listed)]
            np.testing.assert_allclose(own, exact[listed], rtol=1e-9, atol=1e-300)
            assert (np.diff(own) >= 0).all()


def test_lists_are_short_where_records_are_far_from_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8))
    X[:, 0] += 1e6 * rng.integers(0, 2, 2000)
    longest = max(near.lists.sizes.max() for near in nearby(X, X[:50], least=8))
    assert longest < 100


def test_a_frame_by_the_verb():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(50, 3)), columns=["a", "b", "c"])
    data["y"] = np.where(data["a"] + rng.normal(size=50) > 0, "yes", "no")
    with pytest.warns(DistributionalBiasWarning):
        result = cv("y ~ a + b + c", data, model="neighbors", scheme="loocv")
    assert "5 nearest neighbours" in str(result)
    expected = cross_val_predict(
        KNeighborsClassifier(5),
        data[["a", "b", "c"]].to_numpy(),
        data["y"],
        cv=LeaveOneOut(),
        method="predict_proba",
    )
    found = result.predictions.sort_values("row")["predicted"]
    np.testing.assert_allclose(found, expected[:, 1], atol=1e-12)
    assert result.model.predict(data).shape == (50,)


def test_a_fit_can_be_pickled_and_says_nothing_of_what_is_missing():
    fit = pickle.loads(pickle.dumps(Neighbors(3, scale=True).fit(sample(1, 30, 2))))
    X = sample(2, 5, 2).X
    whole = fit.predict(X)
    X[1, 2] = np.nan
    holes = fit.predict(X)
    assert np.isnan(holes[1])
    np.testing.assert_array_equal(np.delete(holes, 1), np.delete(whole, 1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k must be 1 or more, not 0"),
        ({"k": 2.5}, r"not 2\.5"),
        ({"k": True}, "not True"),
        ({"weights": "distanc"}, r"Did you mean 'distance'\?"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    with pytest.raises(ModelError, match=message):
        Neighbors(**arguments)


def test_more_neighbours_than_records_are_refused_by_fold():
    records = sample(1, 20, 2)
    folds = Folds.leaving_out([[0], np.arange(12)])
    assert Neighbors(9).fit_folds(records, folds) is None
    with pytest.raises(ModelError, match=r"k=9 .* records: 8; use a smaller k"):
        Neighbors(9).fit(folds.training_set(records, 1))
    data = pd.DataFrame({"y": [0, 1] * 6, "x": np.arange(12.0)})
    with pytest.raises(ModelError, match=r"in fold 1: k=7"):
        cv("y ~ x", data, model=Neighbors(7), k=2, seed=1)
    with pytest.raises(ModelError, match="at least one predictor"):
        cv("y ~ 1", data, model=Neighbors(3), k=2, seed=1)


def test_missing_covariates_are_refused():
    records = sample(1, 20, 2)
    records.X[3, 1] = np.nan
    with pytest.raises(ModelError, match="missing covariates"):
        Neighbors().fit_folds(records, Folds.leaving_out([[0]]))


@pytest.mark.parametrize(
    ("model", "label"),
    [
        (Neighbors(1), "1 nearest neighbour"),
        (Neighbors(7, "distance"), "7 nearest neighbours, weighted by distance"),
        (Neighbors(scale=True), "5 nearest neighbours, scaled columns"),
    ],
)
def test_labels_say_what_was_chosen(model, label):
    assert model.label == label
