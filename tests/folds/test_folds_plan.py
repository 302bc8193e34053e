import dataclasses
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_validate,
)

from statcv.errors import SchemeError
from statcv.folds import FoldPlan, make_plan
from statcv.folds.ragged import Ragged
from statcv.folds.user_folds import assemble


@st.composite
def plans(draw):
    """Draw a plan in which some records are never held out, and any are dropped."""
    n = draw(st.integers(3, 15))
    repeats = draw(st.integers(1, 3))
    held_out, dropped = [], []
    for _ in range(repeats):
        k = draw(st.integers(1, 4))
        fold = draw(st.lists(st.integers(-1, k - 1), min_size=n, max_size=n))
        fold[0], fold[1] = k - 1, -1
        held_out.append(np.array(fold))
        for number in range(k):
            rest = np.flatnonzero(held_out[-1] != number)
            dropped.append(
                np.array(
                    draw(st.lists(st.sampled_from(rest.tolist()), unique=True)), int
                )
            )
    return assemble("any", "any", held_out, dropped), held_out, dropped


@given(plans())
def test_sets_are_as_assembled(drawn):
    plan, held_out, dropped = drawn
    split = 0
    for repeat, fold in enumerate(held_out, start=1):
        for number in range(fold.max() + 1):
            expected = np.flatnonzero(fold == number)
            np.testing.assert_array_equal(plan.test(split), expected)
            np.testing.assert_array_equal(plan.left_out(split), sorted(dropped[split]))
            out = {*expected, *dropped[split]}
            assert plan.train(split).tolist() == [
                i for i in range(plan.n) if i not in out
            ]
            assert plan.name(split) == (repeat, number + 1)
            split += 1
    assert plan.n_splits == plan.get_n_splits() == split == len(list(plan.split()))


@given(plans(), st.integers(2, 4), st.integers(0, 999))
def test_counts_and_means_are_those_of_brute_force(drawn, classes, seed):
    plan, _, _ = drawn
    rng = np.random.default_rng(seed)
    codes, values = rng.integers(0, classes, plan.n), rng.normal(size=plan.n)
    training, held = plan.counts(codes, classes)
    means = plan.training_means(values)
    for split, (train, test) in enumerate(plan.split()):
        for k in range(classes):
            assert training[split, k] == (codes[train] == k).sum()
            assert held[split, k] == (codes[test] == k).sum()
        assert plan.n_train[split] == len(train)
        expected = values[train].mean() if len(train) else np.nan
        assert means[split] == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(plans(), st.data())
def test_fingerprint_changes_with_any_change(drawn, data):
    plan, held_out, dropped = drawn
    assert len(plan.fingerprint) == 12
    same = assemble("other name", "other", held_out, dropped, seed=3)
    assert same.fingerprint == plan.fingerprint
    for part in ("tests", "dropped", "copied"):
        number = data.draw(st.integers(0, len(getattr(plan, part)) - 1))
        lists = [getattr(plan, part)[i].tolist() for i in range(plan.n_splits)]
        lists[number] = [*lists[number], plan.n - 1]
        moved = dataclasses.replace(plan, **{part: Ragged.of(lists)})
        assert moved.fingerprint != plan.fingerprint


def test_fingerprint_does_not_depend_on_the_platform_s_integers():
    plan = make_plan("rloocv", np.tile([0, 1], 5), "binary", seed=1, repeats=1)
    wide = Ragged(plan.dropped.values.astype(">i8"), plan.dropped.starts)
    assert dataclasses.replace(plan, dropped=wide).fingerprint == plan.fingerprint


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] + rng.logistic(size=40) > 0).astype(int)
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["kfold", "stratified_kfold", "loocv", "rloocv"])
def test_a_plan_is_a_cv_for_scikit_learn(problem, scheme):
    X, y = problem
    plan = make_plan(scheme, y, "binary", repeats=1, seed=1)
    model = LogisticRegression()
    found = cross_val_predict(model, X, y, cv=plan, method="predict_proba")
    for split in range(plan.n_splits):
        train, test = plan.train(split), plan.test(split)
        expected = model.fit(X[train], y[train]).predict_proba(X[test])
        np.testing.assert_allclose(found[test], expected, atol=1e-12)
    scores = cross_validate(model, X, y, cv=plan, scoring="accuracy")["test_score"]
    assert len(scores) == plan.n_splits


def test_a_plan_serves_grid_search_repeats_and_sparse_matrices(problem):
    X, y = problem
    plan = make_plan("stratified_kfold", y, "binary", k=4, repeats=2, seed=1)
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=plan)
    search.fit(sparse.csr_matrix(X), y)
    assert search.n_splits_ == 8
    assert sum(key.startswith("split") for key in search.cv_results_) == 8


def test_a_plan_for_other_data_raises_an_error(problem):
    X, y = problem
    plan = make_plan("kfold", y, "binary", k=4, seed=1)
    for wrong in (X[:7], sparse.csr_matrix(X[:7]), X[:7].tolist()):
        with pytest.raises(SchemeError, match="for 40 records, but there are 7"):
            next(plan.split(wrong))
    assert len(list(plan.split(X.tolist()))) == 4


def test_stratified_folds_match_scikit_learn_s_up_to_their_order():
    y = np.repeat([0, 1, 2], [23, 7, 3])
    plan = make_plan("stratified_kfold", y, "multiclass", k=3, seed=0)
    peer = StratifiedKFold(3).split(y, y)
    expected = [np.bincount(y[test], minlength=3) for _, test in peer]
    _, held = plan.counts(y, 3)
    # both spread each class; ours keeps the sizes even as well
    assert np.ptp(held, axis=0).max() == np.ptp(expected, axis=0).max() == 1
    assert np.ptp(held.sum(axis=1)) == 0


def test_the_number_of_splits_is_singular_or_plural():
    y = np.arange(12) % 2
    one = make_plan("montecarlo", y, "binary", repeats=1, seed=1)
    assert "12 records, 1 split; folds" in str(one) == repr(one)
    several = make_plan("kfold", y, "binary", k=3, seed=1)
    assert "12 records, 3 splits; folds" in str(several) == repr(several)


def test_a_plan_shows_what_a_user_needs():
    """What only engine and inference read is in ``plan.fits``."""
    shown = {name for name in dir(FoldPlan) if not name.startswith("_")}
    about = {"scheme", "sentence", "n", "n_splits", "n_fits", "repeats", "labels"}
    about |= {"seed", "made_by", "rebalance", "rebalanced", "fingerprint"}
    who = {"tests", "dropped", "kept_out", "copied", "held_out", "partition", "name"}
    of_a_fit = {"train", "test", "left_out", "weights"}
    of_all_fits = {"counts", "n_train", "training_means", "weighting", "first_fit"}
    made_for = {"strata", "response", "rows", "stratifier", "thresholds"}
    verbs = {"assign", "audit", "concat", "from_frame", "to_frame"}
    scikit_learn = {"split", "get_n_splits"}
    fields = {field.name for field in dataclasses.fields(FoldPlan)}
    told = about | who | of_a_fit | of_all_fits | made_for | verbs | scikit_learn
    assert shown | fields == told | {"fits"}


def test_the_engines_reading_of_a_plan_does_not_keep_it_alive():
    """A plan of which many are made in a loop is released at once."""
    plan = make_plan("loocv", np.array([0, 1, 0, 1]), "binary")
    assert len(plan.n_train) == 4
    gone = weakref.ref(plan)
    del plan
    assert gone() is None


@pytest.mark.parametrize("rebalance", [None, "all"])
def test_means_by_split_are_those_of_its_fits(rebalance):
    y = np.array([0, 1, 1, 0, 1, 0, 1])
    plan = make_plan("loocv", y, "binary", rebalance=rebalance)
    values = np.random.default_rng(0).normal(size=(plan.n_fits, 2))
    found = plan.fits.mean_by_split(values)
    first = plan.first_fit
    slowly = [
        values[first[s] : first[s + 1]].mean(axis=0) for s in range(plan.n_splits)
    ]
    np.testing.assert_allclose(found, slowly)
    np.testing.assert_allclose(plan.fits.mean_by_split(values[:, 0]), found[:, 0])
