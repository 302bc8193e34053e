"""The splitters, compared with plans and slow versions, and in scikit-learn."""

import copy
import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    BaseCrossValidator,
    GridSearchCV,
    check_cv,
    cross_val_predict,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import statcv as scv
from statcv.errors import (
    ArgumentError,
    FoldWarning,
    PrivacyWarning,
    SchemeError,
    StatcvError,
)
from statcv.folds import make_plan
from statcv.folds.sklearn import (
    FoldStratifiedKFold,
    LeavePairOut,
    RebalancedKFold,
    RebalancedLeaveOneGroupOut,
    RebalancedLeaveOneOut,
    RebalancedLeavePOut,
)
from statcv.folds.strata.hashing import FROM_ENVIRONMENT, keyed_fold

WITHOUT_GROUPS = (
    RebalancedLeaveOneOut(random_state=3),
    RebalancedLeaveOneOut(rebalance="upsample", random_state=3),
    RebalancedKFold(4, random_state=3),
    RebalancedKFold(4, rebalance="upsample", random_state=3),
    RebalancedLeavePOut(3, random_state=3),
    LeavePairOut(),
)
WITH_GROUPS = (
    RebalancedLeaveOneGroupOut(random_state=3),
    FoldStratifiedKFold(3, random_state=3),
    FoldStratifiedKFold(3, by="hash", key="secret"),
    FoldStratifiedKFold(3, by="quantile", per_fold=2, random_state=3),
)
ALL = (*WITHOUT_GROUPS, *WITH_GROUPS)
RANDOM = [s for s in ALL if s.random_state is not None]


def problem(n=42, seed=0):
    """Return X, y and groups as numeric arrays."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = (X[:, 0] + rng.logistic(size=n) > 0.4).astype(int)
    return X, y, rng.integers(0, 14, n)


def splits(splitter, X, y=None, groups=None):
    groups = groups if splitter in WITH_GROUPS or splitter.takes_groups else None
    return [(a.tolist(), b.tolist()) for a, b in splitter.split(X, y, groups)]


# ---- the same as plans, and what they promise ----


@pytest.mark.parametrize(
    ("splitter", "arguments"),
    [
        (RebalancedLeaveOneOut(random_state=7), {"scheme": "rloocv", "repeats": 1}),
        (RebalancedKFold(4, random_state=7), {"scheme": "rkfold", "k": 4}),
        (
            RebalancedKFold(4, rebalance="upsample", random_state=7),
            {"scheme": "stratified_kfold", "k": 4, "rebalance": "upsample"},
        ),
        (RebalancedLeavePOut(5, random_state=7), {"scheme": "rlpocv", "p": 5}),
        (LeavePairOut(), {"scheme": "leave_pair_out"}),
        (LeavePairOut(30, random_state=7), {"scheme": "leave_pair_out", "pairs": 30}),
        (
            RebalancedLeaveOneGroupOut(random_state=7),
            {"scheme": "rloocv", "repeats": 1, "stratify": scv.by_value("g")},
        ),
        (
            FoldStratifiedKFold(3, random_state=7),
            {"k": 3, "stratify": scv.by_value("g")},
        ),
        (
            FoldStratifiedKFold(3, by="hash", key="secret"),
            {"k": 3, "stratify": scv.by_hash("g", key="secret")},
        ),
        (
            FoldStratifiedKFold(3, by="quantile", per_fold=4, random_state=7),
            {"k": 3, "stratify": scv.by_quantile("g", per_fold=4)},
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["int", "bool", "text"])
def test_splits_are_those_of_the_plan_with_that_seed(splitter, arguments, kind):
    X, y, groups = problem()
    y = {"int": y, "bool": y == 1, "text": np.where(y == 1, "yes", "no")}[kind]
    frame = pd.DataFrame({"y": y, "g": groups})
    plan = scv.fold_plan("y", data=frame, seed=7, **arguments)
    expected = [(a.tolist(), b.tolist()) for a, b in plan.split()]
    assert splits(splitter, X, y, groups) == expected
    assert splitter.get_n_splits(X, y, groups) == len(expected)


@st.composite
def outcomes(draw):
    """Draw class labels, with at least two records of each."""
    classes = draw(st.integers(2, 3))
    more = draw(st.lists(st.integers(0, classes - 1), min_size=4, max_size=16))
    y = np.array([*range(classes), *range(classes), *more])
    return y[np.random.default_rng(draw(st.integers(0, 99))).permutation(len(y))]


def class_counts(y, positions):
    return np.bincount(y[positions], minlength=y.max() + 1)


@given(outcomes(), st.sampled_from(["subsample", "upsample"]), st.data())
def test_training_sets_have_the_nearest_totals_that_all_can_have(y, rebalance, data):
    """Subsampling reduces to the smallest total, upsampling raises to the largest."""
    size = data.draw(st.integers(2, min(4, np.bincount(y).min())))
    groups = np.array([f"g{i % 5}" for i in range(len(y))])
    seed = data.draw(st.integers(0, 99))
    shared = {"rebalance": rebalance, "random_state": seed}
    for splitter in (
        RebalancedLeaveOneOut(**shared),
        RebalancedKFold(size, **shared),
        RebalancedLeavePOut(max(1, len(y) // size // 2), **shared),
        RebalancedLeaveOneGroupOut(**shared),
    ):
        g = groups if splitter.takes_groups else None
        try:
            pairs = list(splitter.split(y, y, g))
        except SchemeError:  # one group held all of a class
            assert splitter.takes_groups
            whole = [class_counts(y, groups == name) for name in set(groups)]
            assert (np.max(whole, axis=0) == np.bincount(y)).any()
            continue
        held = np.array([class_counts(y, test) for _, test in pairs])
        best = held.max(axis=0) if rebalance == "subsample" else held.min(axis=0)
        for train, test in pairs:
            assert (class_counts(y, train) == np.bincount(y) - best).all()
            assert not set(train) & set(test)
            if rebalance == "subsample":
                assert len(set(train)) == len(train)
            if splitter.takes_groups:
                assert not set(groups[train]) & set(groups[test])
        tests = np.concatenate([test for _, test in pairs])
        assert sorted(tests) == list(range(len(y)))


def test_the_sizes_of_a_partition_in_groups():
    for positives, negatives, p, expected in ((50, 50, 5, 47), (10, 1000, 2, 9)):
        y = np.repeat([1, 0], [positives, negatives])
        splitter = RebalancedLeavePOut(p, random_state=1)
        train, _ = next(splitter.split(y, y))
        assert y[train].sum() == expected
        n = positives + negatives
        assert splitter.get_n_splits(y) == len(list(splitter.split(y, y))) == n // p


def test_for_numbers_the_training_mean_is_nearest_the_overall_mean():
    y = np.random.default_rng(5).normal(size=15)
    for train, test in RebalancedLeaveOneOut().split(y, y):
        rest = np.delete(np.arange(15), test)
        means = [y[rest[rest != drop]].mean() for drop in rest]
        best = np.abs(np.array(means) - y.mean()).min()
        assert abs(y[train].mean() - y.mean()) == pytest.approx(best, abs=1e-14)
        assert len(train) == 13


def test_integers_are_classes_by_default():
    y = np.array([151.0, 75, 141, 206, 135, 97])
    with pytest.raises(
        SchemeError, match=r"6 classes, of which 75.0 .*continuous=True"
    ):
        RebalancedLeaveOneOut().split(y, y)
    numbers = splits(RebalancedLeaveOneOut(continuous=True), y, y)
    moved = y + np.where(y == 75, 1e-9, 0.0)
    assert numbers == splits(RebalancedLeaveOneOut(), moved, moved)
    twice = np.repeat([3, 5, 8], 4)
    for train, _ in RebalancedLeaveOneOut(random_state=1).split(twice, twice):
        assert np.bincount(twice[train])[[3, 5, 8]].tolist() == [3, 3, 3]


def test_numbers_are_not_spread_over_folds_as_classes():
    X, _, groups = problem()
    counts = np.arange(42) // 3 % 11
    shared = {"n_splits": 4, "random_state": 1}
    with pytest.warns(FoldWarning, match="fewer records"):
        FoldStratifiedKFold(**shared).split(X, counts, groups)
    as_numbers = splits(
        FoldStratifiedKFold(continuous=True, **shared), X, counts, groups
    )
    assert as_numbers == splits(FoldStratifiedKFold(**shared), X, counts / 7, groups)


def test_every_pair_of_different_classes_is_held_out():
    y = np.array(["b", "a", "c", "a", "b", "c"])
    found = {tuple(test) for _, test in splits(LeavePairOut(), y, y)}
    pairs = {p for p in itertools.combinations(range(6), 2) if y[p[0]] != y[p[1]]}
    assert found == pairs
    assert LeavePairOut().get_n_splits(y=y) == len(pairs) == 12
    for train, test in splits(LeavePairOut(), y, y):
        assert sorted([*train, *test]) == list(range(6))
    with pytest.raises(SchemeError, match=r"at least two .* class 'c' has 1"):
        splits(LeavePairOut(), y[:5], y[:5])


def test_a_sample_of_pairs_is_held_out():
    y = np.repeat([0, 1], [9, 6])
    some = LeavePairOut(18, random_state=1)
    found = [tuple(test) for _, test in splits(some, y, y)]
    assert len(set(found)) == some.get_n_splits(y=y) == 18
    assert np.bincount(np.ravel(found)).tolist() == [2] * 9 + [3] * 6
    assert found == [tuple(test) for _, test in splits(some, y, y)]
    assert LeavePairOut(10**6).get_n_splits(y=y) == 54
    with pytest.raises(ArgumentError, match=r"LeavePairOut: pairs=8 leaves records"):
        splits(LeavePairOut(8), y, y)
    with pytest.raises(ArgumentError, match="integer"):
        LeavePairOut(2.5).get_n_splits(y=y)


@given(st.lists(st.integers(0, 9), min_size=8, max_size=40), st.integers(0, 99))
def test_equal_values_stay_in_one_fold(values, seed):
    groups = np.array([*values, 100, 101, 102])
    y = np.random.default_rng(seed).integers(0, 2, len(groups))
    y[:2] = 0, 1
    for by in ("value", "quantile"):
        splitter = FoldStratifiedKFold(2, by=by, random_state=seed, per_fold=1)
        for outcome in (None, y + 0.5, groups + y / 3):
            tests = []
            with warnings.catch_warnings():
                # the warning is of a value's weight
                warnings.simplefilter("ignore", FoldWarning)
                pairs = list(splitter.split(groups, outcome, groups))
            for train, test in pairs:
                assert not set(groups[train]) & set(groups[test])
                assert sorted([*train, *test]) == list(range(len(groups)))
                tests.extend(test)
            assert sorted(tests) == list(range(len(groups)))


def test_hashed_folds_depend_on_the_key_and_not_on_other_records():
    ids = [f"patient {i}" for i in range(30)] * 2
    fold = keyed_fold(ids, 3, "secret")
    splitter = FoldStratifiedKFold(3, by="hash", key="secret")
    for number, (_, test) in enumerate(splitter.split(ids, groups=ids)):
        assert test.tolist() == np.flatnonzero(fold == number).tolist()
    half = splitter.split(ids[:30], groups=ids[:30])
    for number, (_, test) in enumerate(half):
        assert test.tolist() == np.flatnonzero(fold[:30] == number).tolist()
    balanced = FoldStratifiedKFold(3, by="hash", key="secret", balanced=True)
    assert [len(test) for _, test in balanced.split(ids, groups=ids)] == [20, 20, 20]


def test_columns_of_groups_count_together():
    born = ["1990-01-02", "1990-01-02", "1980-03-04", "1980-03-04"] * 3
    frame = pd.DataFrame({"born": born, "sex": list("fmfm") * 3}, index=range(50, 62))
    joined = [f"{b} {s}" for b, s in zip(frame["born"], frame["sex"], strict=True)]
    splitter = RebalancedLeaveOneGroupOut(random_state=1)
    y = [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0]
    assert splitter.get_n_splits(groups=frame) == 4
    tests = [test for _, test in splits(splitter, y, y, frame)]
    assert tests == [test for _, test in splits(splitter, y, y, joined)][:4]


FORMS = {
    "list": lambda y: y.tolist(),
    "series": lambda y: pd.Series(y, index=np.arange(len(y))[::-1] * 10),
    "same label": lambda y: pd.Series(y, index=["row"] * len(y)),
    "column": lambda y: pd.DataFrame({"y": y}),
    "2d": lambda y: y.reshape(-1, 1),
    "object": lambda y: y.astype(object),
    "float": lambda y: y.astype(float),
    "nullable": lambda y: pd.Series(y, dtype="Int64"),
    "nullable truth": lambda y: pd.Series(y == 1, dtype="boolean"),
    "text": lambda y: ["yes" if v else "no" for v in y],
    "string": lambda y: pd.Series(np.where(y == 1, "yes", "no"), dtype="string"),
    "category": lambda y: pd.Categorical.from_codes(y, ["z", "a", "never"]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("splitter", ALL, ids=repr)
def test_the_form_of_y_does_not_matter(splitter, form):
    X, y, groups = problem()
    expected = splits(splitter, X, y, groups)
    assert splits(splitter, X, FORMS[form](y), groups) == expected
    assert splits(splitter, X.tolist(), y, pd.Series(groups, dtype="Int64")) == expected


# ---- randomness ----


@pytest.mark.parametrize("splitter", RANDOM, ids=repr)
def test_random_state(splitter):
    X, y, groups = problem()

    def found(state):
        return splits(clone(splitter).set_params(random_state=state), X, y, groups)

    same = clone(splitter)
    assert splits(same, X, y, groups) == splits(same, X, y, groups)
    assert found(1) == found(np.int64(1)) != found(2)
    for make in (np.random.RandomState, np.random.default_rng):
        walking = clone(splitter)
        walking.random_state = make(4)
        first, second = (splits(walking, X, y, groups) for _ in range(2))
        assert first != second
        assert first == found(make(4))
    np.random.seed(0)  # noqa: NPY002
    first, second = found(None), found(None)
    assert first != second
    np.random.seed(0)  # noqa: NPY002
    assert found(None) == first


# ---- scikit-learn's conventions ----


@pytest.mark.parametrize("splitter", ALL, ids=repr)
def test_parameters_clone_pickle_and_repr(splitter):
    X, y, groups = problem()
    parameters = splitter.get_params()
    assert list(parameters) == sorted(parameters)
    for name, value in parameters.items():
        assert getattr(splitter, name) is value
    expected = splits(splitter, X, y, groups)
    for twin in (clone(splitter), copy.copy(splitter), copy.deepcopy(splitter)):
        assert twin is not splitter
        assert twin.get_params() == parameters
        assert splits(twin, X, y, groups) == expected
    if parameters.get("key", FROM_ENVIRONMENT) is FROM_ENVIRONMENT:
        again = pickle.loads(pickle.dumps(splitter))
        assert splits(again, X, y, groups) == expected
        text = repr(splitter).replace("key=<environment>, ", "")
        assert repr(eval(text)) == repr(splitter)
    assert isinstance(splitter, BaseCrossValidator)
    assert check_cv(splitter) is splitter
    assert splitter.set_params() is splitter
    with pytest.raises(ValueError, match="has no parameter 'shuffle'"):
        splitter.set_params(shuffle=True)


@pytest.mark.parametrize("splitter", ALL, ids=repr)
def test_groups_are_routed_to_splitters_that_use_them(splitter):
    request = splitter.get_metadata_routing()
    if splitter in WITH_GROUPS:
        assert request.split.requests == {"groups": True}
        assert hasattr(splitter, "set_split_request")
    else:
        assert not request.split.requests
        assert not hasattr(splitter, "set_split_request")


def test_a_request_outlives_a_clone():
    with sklearn.config_context(enable_metadata_routing=True):
        splitter = FoldStratifiedKFold().set_split_request(groups="site")
        requests = clone(splitter).get_metadata_routing().split.requests
    assert requests == {"groups": "site"}


@pytest.mark.parametrize("splitter", WITHOUT_GROUPS, ids=repr)
def test_unused_groups_raise_a_warning(splitter):
    X, y, groups = problem()
    with pytest.warns(UserWarning, match="does not look at groups"):
        pairs = splitter.split(X, y, groups)
    assert [(a.tolist(), b.tolist()) for a, b in pairs] == splits(splitter, X, y)


@pytest.mark.parametrize("splitter", ALL, ids=repr)
def test_get_n_splits_is_the_number_of_splits(splitter):
    X, y, groups = problem()
    expected = len(splits(splitter, X, y, groups))
    assert splitter.get_n_splits(X, y, groups) == expected


def test_y_is_needed_where_classes_are_balanced():
    X, _, groups = problem()
    for splitter in (*WITHOUT_GROUPS, WITH_GROUPS[0]):
        with pytest.raises(TypeError, match="'y'"):
            splitter.split(X)
        with pytest.raises(ValueError, match="y is needed"):
            splitter.split(X, None, groups if splitter in WITH_GROUPS else None)


# ---- a key is a secret ----


def test_a_key_is_not_shown_and_not_pickled(monkeypatch):
    X, y, groups = problem()
    splitter = FoldStratifiedKFold(3, by="hash", key="top secret")
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=splitter)
    for text in (repr(splitter), repr(search), search._repr_html_()):
        assert "top secret" not in text
    assert "key=<key>" in repr(splitter)
    written = pickle.dumps(search)
    assert b"top secret" not in written
    expected = splits(splitter, X, y, groups)
    assert splits(clone(search).cv, X, y, groups) == expected
    back = pickle.loads(written).cv
    monkeypatch.delenv("STATCV_KEY", raising=False)
    with pytest.raises(ValueError, match=r"FoldStratifiedKFold: .*STATCV_KEY"):
        back.split(X, y, groups)
    monkeypatch.setenv("STATCV_KEY", "top secret")
    assert splits(back, X, y, groups) == expected


def test_a_missing_key_raises_a_warning():
    X, y, groups = problem()
    splitter = FoldStratifiedKFold(2, by="hash", key=None)
    assert "key=<nothing>" in repr(splitter)
    with pytest.warns(PrivacyWarning, match="without a key") as caught:
        splitter.split(X, y, groups)
    assert {warning.filename for warning in caught} == {__file__}


# ---- in scikit-learn's hands ----


def by_hand(X, y, pairs):
    """Return the probabilities of fits that are made pair by pair."""
    found = np.full(len(y), np.nan)
    for train, test in pairs:
        model = LogisticRegression().fit(X[train], y[train])
        found[test] = model.predict_proba(X[test])[:, 1]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "splitter", [s for s in ALL if not isinstance(s, LeavePairOut)], ids=repr
)
def test_predictions_are_those_of_fits_by_hand(splitter):
    X, y, groups = problem()
    given_groups = groups if splitter in WITH_GROUPS else None
    expected = by_hand(X, y, splits(splitter, X, y, groups))
    shared = {"cv": splitter, "method": "predict_proba"}
    found = cross_val_predict(LogisticRegression(), X, y, groups=given_groups, **shared)
    np.testing.assert_allclose(found[:, 1], expected, atol=1e-12)
    if splitter in WITH_GROUPS:
        with sklearn.config_context(enable_metadata_routing=True):
            routed = cross_val_predict(
                LogisticRegression(), X, y, params={"groups": groups}, **shared
            )
        np.testing.assert_array_equal(routed, found)


def share_ranked_right(X, y):
    """Count the pairs ranked correctly by the fit that held both out, by a loop."""
    right = []
    for i, j in itertools.product(np.flatnonzero(y == 1), np.flatnonzero(y == 0)):
        rest = np.setdiff1d(np.arange(len(y)), [i, j])
        model = LogisticRegression().fit(X[rest], y[rest])
        high, low = model.decision_function(X[[i, j]])
        right.append(float(high > low))
    return np.mean(right)


@pytest.mark.slow
def test_the_mean_of_pairs_is_the_share_ranked_correctly():
    X, y, _ = problem(12)
    expected = share_ranked_right(X, y)
    assert 0 < expected < 1
    plan = make_plan("leave_pair_out", y, "binary")
    for cv in (LeavePairOut(), plan):
        scores = cross_validate(LogisticRegression(), X, y, cv=cv, scoring="roc_auc")
        assert scores["test_score"].mean() == pytest.approx(expected)
        with pytest.raises(ValueError, match="partition"):
            cross_val_predict(LogisticRegression(), X, y, cv=cv)


@pytest.mark.slow
@pytest.mark.parametrize("splitter", ALL, ids=repr)
def test_grid_search_of_a_pipeline(splitter):
    X, y, groups = problem(12 if isinstance(splitter, LeavePairOut) else 24)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    grid = {"logisticregression__C": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=splitter, scoring="neg_log_loss")
    if isinstance(splitter, LeavePairOut):
        search.set_params(scoring="roc_auc")
    elif splitter not in WITHOUT_GROUPS[2:4]:
        search.set_params(scoring="accuracy")
    fit_params = {"groups": groups} if splitter in WITH_GROUPS else {}
    search.fit(X, y, **fit_params)
    pairs = splits(splitter, X, y, groups)
    assert search.n_splits_ == len(pairs)
    score = cross_validate(pipeline, X, y, cv=pairs, scoring=search.scoring)
    found = search.cv_results_["mean_test_score"][1]
    assert found == pytest.approx(score["test_score"].mean(), abs=1e-12)


def test_parameters_of_a_splitter_are_those_of_the_search():
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=RebalancedKFold(5))
    assert search.get_params()["cv__n_splits"] == 5
    X, y, _ = problem()
    assert clone(search.set_params(cv__n_splits=3)).fit(X, y).n_splits_ == 3


def test_nested_search_inside_groups_held_out():
    X, y, groups = problem(60)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = FoldStratifiedKFold(3, random_state=1)
        search = GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]}, cv=inner)
        outer = FoldStratifiedKFold(4, random_state=2)
        found = cross_val_predict(search, X, y, cv=outer, params={"groups": groups})
    expected = np.empty(60, dtype=int)
    for train, test in outer.split(X, y, groups):
        pairs = list(inner.split(X[train], y[train], groups[train]))
        search = GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]}, cv=pairs)
        expected[test] = search.fit(X[train], y[train]).predict(X[test])
    np.testing.assert_array_equal(found, expected)


def test_learning_curves_grow_along_the_training_sets():
    X, y, groups = problem()
    for splitter in (RebalancedKFold(4, random_state=3), WITH_GROUPS[0]):
        given_groups = groups if splitter in WITH_GROUPS else None
        sizes, training, _ = learning_curve(
            LogisticRegression(),
            X,
            y,
            groups=given_groups,
            cv=splitter,
            train_sizes=[0.8, 1.0],
            shuffle=True,
            random_state=0,
        )
        pairs = splits(splitter, X, y, groups)
        assert sizes[-1] == len(pairs[0][0])
        assert training.shape == (2, len(pairs))


def test_numbers_in_a_regression():
    X, _, groups = problem()
    y = X[:, 0] + np.random.default_rng(1).normal(size=len(X))
    for splitter in (RebalancedLeaveOneOut(), FoldStratifiedKFold(4, random_state=1)):
        given_groups = groups if splitter.takes_groups else None
        found = cross_val_predict(Ridge(), X, y, groups=given_groups, cv=splitter)
        for train, test in splits(splitter, X, y, groups):
            expected = Ridge().fit(X[train], y[train]).predict(X[test])
            np.testing.assert_allclose(found[test], expected, atol=1e-12)


def test_a_splitter_is_a_scheme_of_statcv():
    frame = scv.load_data("spector")
    scheme = RebalancedKFold(4, random_state=3)
    plan = scv.fold_plan("GRADE", data=frame, scheme=scheme)
    named = scv.fold_plan("GRADE", data=frame, scheme="rkfold", k=4, seed=3)
    for (a, b), (c, d) in zip(plan.split(), named.split(), strict=True):
        assert a.tolist() == c.tolist()
        assert b.tolist() == d.tolist()
    unseeded = RebalancedKFold(4)
    first, second = (
        scv.fold_plan("GRADE", data=frame, scheme=unseeded, seed=5) for _ in range(2)
    )
    assert first.fingerprint == second.fingerprint
    assert unseeded.random_state is None


def test_a_search_by_an_unseeded_splitter_is_seeded_by_cv():
    frame = scv.load_data("spector")
    inner = RebalancedKFold(3)
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 10.0]}, cv=inner)
    first, second = (
        scv.cv("GRADE ~ GPA + PSI", data=frame, model=search, k=4, seed=1)
        for _ in range(2)
    )
    pd.testing.assert_frame_equal(first.predictions, second.predictions)


# ---- errors and warnings ----


@pytest.mark.parametrize(
    ("splitter", "y", "groups", "message"),
    [
        (RebalancedKFold(3), [0.5, 1, 2, 3, 4, 5], None, "fractions.*LeaveOneOut"),
        (RebalancedLeavePOut(2), [0.5, 1, 2, 3, 4, 5], None, "fractions"),
        (LeavePairOut(), [0.5, 1, 2, 3, 4, 5], None, "fractions"),
        (RebalancedLeaveOneGroupOut(), [0.5, 1, 2, 3, 4, 5], "aabbcc", "fractions"),
        (RebalancedKFold(3), "aaaaaa", None, "one class only: 'a'"),
        (RebalancedKFold(3), "aaaaab", None, "class 'b' has 1"),
        (RebalancedLeaveOneOut(), "aaaaab", None, "class 'b' has 1"),
        (RebalancedKFold(7), "aaabbb", None, "n_splits=7 .* from 2 to 6"),
        (RebalancedKFold(2.5), "aaabbb", None, "integer, not 2.5"),
        (RebalancedLeavePOut(4), "aaabbb", None, "p=4 .* from 1 to 3"),
        (RebalancedLeavePOut(0), "aaabbb", None, "p=0 "),
        (RebalancedKFold(3, rebalance="weight"), "aaabbb", None, r"statcv\.cv"),
        (
            RebalancedKFold(3),
            ["a", None, "a", "b", "b", "b"],
            None,
            "y is missing in 1",
        ),
        (RebalancedLeaveOneOut(), [1, 2, np.inf, 3, 4, 5.5], None, "infinite in 1"),
        (RebalancedLeaveOneOut(continuous=True), "aaabbb", None, "no numbers"),
        (
            RebalancedLeaveOneOut(rebalance="upsample"),
            [0.5, 1, 2, 3, 4, 5],
            None,
            "needs an outcome of classes",
        ),
        (RebalancedKFold(3), np.zeros((6, 2)), None, "one dimension, not 2"),
        (RebalancedKFold(3), "aaabb", None, "X has 6, y has 5"),
        (RebalancedLeaveOneGroupOut(), "aaabbb", None, "groups is needed"),
        (RebalancedLeaveOneGroupOut(), "aaabbb", "xxxxxx", "one value only"),
        (RebalancedLeaveOneGroupOut(), "aaabbb", "xxxyyy", "trains without any"),
        (FoldStratifiedKFold(3), "aaabbb", None, "groups is needed"),
        (FoldStratifiedKFold(3), "aaabbb", "xxxyyy", "2 distinct values"),
        (FoldStratifiedKFold(3), "ababab", [1, 1, 2, 2, None, 3], "missing in 1 of 6"),
        (FoldStratifiedKFold(3, by="hsh"), "ababab", "xyzxyz", "mean 'hash'"),
        (FoldStratifiedKFold(3, key="k"), "ababab", "xyzxyz", "only for by='hash'"),
        (FoldStratifiedKFold(3, per_fold=2), "ababab", "xyzxyz", "by='quantile'"),
        (
            FoldStratifiedKFold(3, by="quantile"),
            "ababab",
            pd.DataFrame({"a": range(6), "b": range(6)}),
            "one column of groups, not 2",
        ),
        (FoldStratifiedKFold(3, by="quantile"), "ababab", "xyzxyz", "quantiles"),
    ],
    ids=str,
)
def test_errors_name_the_splitter_and_the_reason(splitter, y, groups, message):
    y = list(y) if isinstance(y, str) else y
    groups = list(groups) if isinstance(groups, str) else groups
    name = type(splitter).__name__
    with pytest.raises(StatcvError, match=f"^{name}: .*{message}") as caught:
        splitter.split(np.zeros((6, 1)), y, groups)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("state", ["1", 1.5, True, -1])
def test_an_invalid_random_state_raises_an_error(state):
    with pytest.raises(TypeError, match="RebalancedKFold: random_state must be"):
        RebalancedKFold(3, random_state=state).split(range(6), list("ababab"))


def test_without_records_the_number_of_records_must_be_given():
    with pytest.raises(ValueError, match="there are no records"):
        RebalancedLeaveOneOut().split([], [])
    with pytest.raises(ValueError, match="pass X or y"):
        RebalancedLeaveOneOut().get_n_splits()
    with pytest.raises(ValueError, match="y is needed"):
        LeavePairOut().get_n_splits([1, 2])


# ---- plans themselves ----


def plan_of(scheme, y, groups, **arguments):
    frame = pd.DataFrame({"g": groups})
    return make_plan(scheme, y, "binary", data=frame, seed=1, **arguments)


PARTITIONS = {
    "rkfold": {"k": 4},
    "rlpocv": {"p": 3},
    "stratified_lpocv": {"p": 4},
    "kfold": {"k": 3, "stratify": scv.by_hash("g", key="secret")},
    "rloocv": {"stratify": scv.by_value("g"), "repeats": 1},
    "stratified_kfold": {"k": 4, "rebalance": "upsample"},
}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", PARTITIONS)
def test_plans_predict_and_search_as_splitters_do(scheme):
    X, y, groups = problem()
    plan = plan_of(scheme, y, groups, **PARTITIONS[scheme])
    expected = by_hand(X, y, plan.split())
    model = LogisticRegression()
    found = cross_val_predict(model, X, y, cv=plan, method="predict_proba")[:, 1]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    search = GridSearchCV(model, {"C": [0.1, 1.0]}, cv=plan, scoring="accuracy")
    search.fit(X, y)
    means = [np.mean((expected[b] > 0.5) == y[b]) for _, b in plan.split()]
    found = search.cv_results_["mean_test_score"][1]
    assert found == pytest.approx(np.mean(means))


@pytest.mark.parametrize(
    ("scheme", "arguments"),
    [
        ("montecarlo", {"repeats": 6}),
        ("bootstrap", {"repeats": 6}),
        ("rkfold", {"k": 3, "repeats": 2}),
        ("stratified_kfold", {"k": 3, "rebalance": scv.folds.Bags(2)}),
    ],
)
def test_plans_that_hold_out_again_are_scored(scheme, arguments):
    X, y, groups = problem()
    plan = plan_of(scheme, y, groups, **arguments)
    scores = cross_validate(LogisticRegression(), X, y, cv=plan, scoring="roc_auc")
    expected = [
        roc_auc_score(y[b], by_hand(X, y, [(a, b)])[b]) for a, b in plan.split()
    ]
    assert scores["test_score"] == pytest.approx(expected)
    assert len(expected) == plan.n_fits == 6
    with pytest.raises(ValueError, match="partition"):
        cross_val_predict(LogisticRegression(), X, y, cv=plan)


def test_a_plan_of_weights_says_that_positions_cannot_carry_them():
    X, y, groups = problem()
    plan = plan_of("kfold", y, groups, k=3, rebalance="weight")
    with pytest.raises(SchemeError, match="carry"):
        cross_validate(LogisticRegression(), X, y, cv=plan)
