"""What `tune=` accepts, refuses, chooses and says."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LassoCV, LogisticRegression, LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import statcv as scv
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    MetricError,
    ModelError,
    NotTunedError,
    SchemeError,
)
from statcv.models import Logit, TrainingSet

CS = (0.01, 0.1, 1.0, 10.0)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + 0.5 * X[:, 1] + rng.logistic(size=60) > 0.3
    named = pd.DataFrame(X, columns=["a", "b", "c"])
    return named.assign(y=y.astype(int), z=X @ [1, 2, 0] + rng.normal(size=60))


def tuned(frame, tune, formula="y ~ a + b + c", **call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scv.errors.TuningWarning)
        return scv.cv(formula, frame, tune=tune, **{"k": 3, "seed": 1, **call})


def inner_predictions(res, model):
    """Return y, prediction and fold of an inner plan of all rows."""
    design = res.design
    stream = np.random.SeedSequence(res.seed, spawn_key=(2,))
    records = TrainingSet(
        design.matrix,
        design.y,
        design.outcome.kind,
        len(design.outcome.levels),
        design.names,
        design.intercept,
        None,
        int(stream.generate_state(1)[0] // 2),
    )
    plan = res.learner.inner.plan(records)
    predicted = np.empty((plan.repeats, plan.n))
    fold = np.empty((plan.repeats, plan.n), dtype=int)
    for number, (train, test) in enumerate(plan.split()):
        part = TrainingSet(
            records.X[train], records.y[train], records.kind, records.n_classes,
            records.names, records.intercept, None, 0,
        )  # fmt: skip
        repeat = plan.fits.repeat_of[number]
        predicted[repeat, test] = model.fit(part).predict(records.X[test])
        fold[repeat, test] = number
    return design.y, predicted, fold


# ---- scores ----


def test_scores_are_means_over_records_with_their_standard_error(frame):
    res = tuned(frame, scv.Tuning({"C": CS}, metric="brier", repeats=3))
    for row in res.tuning_path.itertuples():
        y, p, _ = inner_predictions(res, Logit(C=row.C))
        losses = ((p - y) ** 2).mean(axis=0)
        assert np.isclose(row.score, losses.mean(), rtol=1e-9)
        assert np.isclose(row.se, stats.sem(losses), rtol=1e-9)


def test_scores_of_rank_metrics_are_means_over_inner_folds(frame):
    res = tuned(frame, scv.Tuning({"C": CS}, metric="auroc", repeats=2))
    for row in res.tuning_path.itertuples():
        y, p, fold = inner_predictions(res, Logit(C=row.C))
        values = [
            roc_auc_score(y[own], p[repeat, own])
            for repeat in range(2)
            for own in (fold[repeat] == f for f in np.unique(fold[repeat]))
        ]
        assert np.isclose(row.score, np.mean(values), rtol=1e-12)
        assert np.isclose(row.se, stats.sem(values), rtol=1e-9)
    assert len(values) == 10


def test_scores_of_pairs_are_shares_ranked_right(frame):
    few = frame.iloc[:24]
    tuning = scv.Tuning({"C": CS}, metric="auroc", scheme="leave_pair_out")
    res = tuned(few, tuning)
    design = res.design
    ones, zeros = (np.flatnonzero(design.y == c) for c in (1, 0))
    for row in res.tuning_path.itertuples():
        right = []
        for one in ones:
            for zero in zeros:
                rest = np.setdiff1d(np.arange(24), [one, zero])
                part = TrainingSet(
                    design.matrix[rest], design.y[rest], "binary", 2,
                    design.names, 0, None, 0,
                )  # fmt: skip
                p = Logit(C=row.C).fit(part).predict(design.matrix[[one, zero]])
                right.append(p[0] > p[1])
        assert np.isclose(row.score, np.mean(right))


def test_pooled_scores_of_other_metrics(frame):
    grid = {"C": CS}
    res = tuned(frame, scv.Tuning(grid, metric="balanced_accuracy"))
    for row in res.tuning_path.itertuples():
        y, p, _ = inner_predictions(res, Logit(C=row.C))
        hit = (p[0] > 0.5) == y
        assert np.isclose(row.score, (hit[y == 1].mean() + hit[y == 0].mean()) / 2)
    greatest = res.tuning_path["score"].max()
    for row in res.tuned.itertuples():
        assert row.score <= 1
    chosen = res.tuning_path.loc[res.tuning_path["score"] == greatest, "C"].iloc[0]
    again = tuned(frame, None, model=Logit(C=chosen))
    assert np.allclose(res.model.coefficients, again.model.coefficients, atol=1e-9)


# ---- rules and order ----


def test_one_standard_error_rule_takes_the_simplest_near_the_best(frame):
    best = tuned(frame, {"C": CS})
    res = tuned(frame, scv.Tuning({"C": CS}, rule="one_se"))
    path = res.tuning_path
    least = path.loc[path["score"].idxmin()]
    near = path.loc[path["score"] <= least["score"] + least["se"], "C"].min()
    again = tuned(frame, None, model=Logit(C=near))
    assert np.allclose(res.model.coefficients, again.model.coefficients, atol=1e-9)
    assert (res.tuned["C"] <= best.tuned["C"]).all()
    assert (res.tuned["C"] < best.tuned["C"]).any()


def test_the_simplest_of_equal_values_is_chosen(frame):
    """All trees are one leaf, so that depth and order alone decide."""
    tree = DecisionTreeClassifier(min_samples_leaf=50)
    res = tuned(frame, {"max_depth": [5, 1, 3]}, model=tree)
    assert set(res.tuned["max_depth"]) == {1}
    named = {"criterion": ["entropy", "gini"], "max_depth": [2, 1, 3]}
    res = tuned(frame, named, model=tree)
    assert set(res.tuned["criterion"]) == {"entropy"}
    assert len(res.tuning_path) == 6
    assert res.tuning_path["score"].nunique() == 1


def test_larger_alpha_is_simpler_and_no_limit_is_least_simple(frame):
    assert scv.Tuning({"C": [None, 1, 0.1]}).grid == {"C": (0.1, 1, None)}
    assert scv.Tuning({"clf__alpha": [0.1, 10]}).grid == {"clf__alpha": (10, 0.1)}
    assert scv.Tuning({"k": np.array([1, 9])}).grid == {"k": (9, 1)}
    assert scv.Tuning({"gamma": [3, 1]}).grid == {"gamma": (3, 1)}


def test_none_is_reported_as_it_was_written(frame, tmp_path):
    path = tuned(frame, {"C": [None, 1]}).tuning_path
    assert path["C"].tolist() == [1, None]
    res = tuned(frame, {"C": [None]})
    assert res.tuned["C"].tolist() == [None] * 3
    assert res.model.chosen["C"] is None
    assert "C = None in 3 of 3 fits" in str(res.summary())
    kept = {"checkpoint": tmp_path / "kept", "k": 3}
    mixed = tuned(frame, {"C": [1e-4, None]}, **kept)
    assert set(mixed.tuned["C"]) <= {1e-4, None}
    for shown in (mixed.summary(), mixed.model, mixed.tuned, mixed.tuning_path):
        assert not re.search(r"\binf\b", str(shown))
    again = tuned(frame, {"C": [1e-4, None]}, **kept)
    assert again.tuned["C"].tolist() == mixed.tuned["C"].tolist()
    plain = tuned(frame, None)
    assert np.abs(res.held.predicted - plain.held.predicted).max() < 1e-10


# ---- inner plans ----


def test_default_inner_plans_follow_the_outer(frame):
    def inner(**call):
        return tuned(frame, {"C": CS}, **call).learner.inner

    assert (inner().name, inner().k, inner().rebalance) == ("stratified_kfold", 5, None)
    assert inner(scheme="rkfold").rebalance == "subsample"
    assert inner(rebalance="weight").rebalance == "weight"
    assert inner(rebalance="upsample").rebalance == "upsample"
    assert inner(rebalance="bag").rebalance == "subsample"


def test_a_rare_class_takes_fewer_inner_folds_and_says_so_once(frame):
    rare = frame.assign(y=np.repeat([0, 1], [54, 6]))
    with pytest.warns(scv.errors.FoldWarning) as caught:
        res = tuned(rare, {"C": CS}, formula="y ~ a")
    assert len(caught) == 1
    assert "as few as 4 records in a training set" in str(caught[0].message)
    assert "in 4 folds, not 5" in str(caught[0].message)
    assert len(res.tuned) == 3


# ---- models ----


def test_pipelines_are_tuned_by_the_names_of_their_steps(frame):
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    res = tuned(frame, {"logisticregression__C": CS}, model=pipeline)
    assert set(res.tuned["logisticregression__C"]) <= set(CS)
    assert pipeline.get_params()["logisticregression__C"] == 1.0


def test_decision_scores_are_tuned_by_rank_or_class(frame):
    svc = LinearSVC()
    with pytest.raises(MetricError, match="metric='auroc'"):
        tuned(frame, {"C": CS}, model=svc)
    for metric in ("auroc", "accuracy"):
        res = tuned(frame, scv.Tuning({"C": CS}, metric=metric), model=svc)
        assert not res.held.probabilities


def test_boosted_trees_are_tuned(frame):
    model = scv.models.XGBoost(n_estimators=5)
    res = tuned(frame, {"max_depth": [1, 2]}, model=model)
    assert set(res.tuned["max_depth"]) <= {1, 2}
    assert "XGBoost (n_estimators=5), max_depth of 1, 2 chosen" in res.learner.label
    with pytest.raises(ModelError, match="'maxdepth'"):
        tuned(frame, {"maxdepth": [1, 2]}, model=model)


def test_rounds_chosen_by_early_stopping_stand_beside_what_is_tuned(frame):
    model = scv.models.XGBoost(n_estimators=8, early_stopping_rounds=2)
    res = tuned(frame, {"max_depth": [1, 2]}, model=model)
    assert list(res.tuned.columns[2:]) == ["max_depth", "rounds", "score"]
    assert res.tuned["rounds"].between(1, 8).all()


def test_terms_that_learn_are_learnt_in_every_training_set(frame):
    """The matrix is another one in each."""
    res = tuned(frame, {"C": CS}, formula="y ~ scale(a) + b")
    plain = tuned(frame, {"C": CS}, formula="y ~ a + b")
    assert res.tuned["score"].ne(plain.tuned["score"]).any()
    assert set(res.tuned["C"]) <= set(CS)


# ---- searches ----


@pytest.mark.slow
def test_a_search_gets_inner_splits_of_its_own(frame):
    estimator = LogisticRegression(solver="newton-cholesky", tol=1e-12)
    scoring = {"scoring": "neg_log_loss"}
    res = tuned(frame, GridSearchCV(estimator, {"C": CS}, cv=5, **scoring))
    ours = tuned(frame, {"C": CS})
    assert res.tuned["C"].tolist() == ours.tuned["C"].tolist()
    assert np.abs(res.held.predicted - ours.held.predicted).max() < 1e-8
    assert res.tuning_path["C"].tolist() == list(CS)
    drawn = RandomizedSearchCV(estimator, {"C": stats.loguniform(0.01, 10)}, n_iter=3)
    one, two = tuned(frame, drawn), tuned(frame, drawn)
    assert one.tuned.equals(two.tuned)


def test_a_search_keeps_a_splitter_of_its_own(frame):
    estimator = LogisticRegression()
    splitter = StratifiedKFold(3, shuffle=True, random_state=4)
    res = tuned(frame, GridSearchCV(estimator, {"C": CS}, cv=splitter))
    assert res.learner.inner is None
    train = res.plan.train(0)
    X, y = frame[["a", "b", "c"]].to_numpy()[train], frame["y"].to_numpy()[train]
    search = GridSearchCV(estimator, {"C": CS}, cv=splitter).fit(X, y)
    assert res.tuned["C"][0] == search.best_params_["C"]
    assert np.isclose(res.tuned["score"][0], search.best_score_)


@pytest.mark.filterwarnings("ignore:.*l1_ratio:FutureWarning")
@pytest.mark.filterwarnings("ignore:.*legacy:FutureWarning")
def test_estimators_that_search_by_themselves(frame):
    res = tuned(frame, LogisticRegressionCV(Cs=list(CS), scoring="neg_log_loss"))
    assert set(res.tuned["C"]) <= set(CS)
    numbers = tuned(frame, LassoCV(), formula="z ~ a + b + c")
    assert (numbers.tuned["alpha"] > 0).all()
    assert numbers.learner.inner.name == "kfold"


def test_an_estimator_that_chooses_nothing_is_no_search(frame):
    stack = StackingClassifier([("logit", LogisticRegression())])
    with pytest.raises(ModelError, match="give it as model="):
        tuned(frame, stack)


def test_a_search_in_balanced_training_sets(frame):
    search = GridSearchCV(
        LinearDiscriminantAnalysis(solver="eigen"), {"shrinkage": [0.1, 0.9]}
    )
    res = tuned(frame, search, scheme="rkfold")
    assert res.learner.inner.rebalance == "subsample"
    weighted = GridSearchCV(LogisticRegression(), {"C": CS})
    res = tuned(frame, weighted, rebalance="weight")
    assert res.learner.inner.rebalance is None


# ---- result ----


def test_tables_words_and_update(frame):
    res = tuned(frame, {"C": CS})
    assert list(res.tuned.columns) == ["repeat", "fold", "C", "score"]
    assert res.learner.label == (
        "ridge logistic regression, C of 4 from 0.01 to 10 chosen by log-loss in "
        "stratified 5-fold inside every training set"
    )
    assert "Chosen inside the training sets: C = " in str(res.summary())
    again = pickle.loads(pickle.dumps(res))
    assert again.tuned.equals(res.tuned)
    plain = res.update(tune=None, model=Logit(C=1.0))
    with pytest.raises(NotTunedError, match="nothing was tuned"):
        _ = plain.tuned
    with pytest.raises(AttributeError, match="nothing was tuned"):
        _ = plain.tuning_path
    table = scv.compare(tuned=res, fixed=plain).differences
    assert table["second"].tolist() == ["fixed"]


def test_a_choice_at_the_edge_is_told_once(frame):
    with pytest.warns(scv.errors.TuningWarning) as caught:
        scv.cv("y ~ a", frame, tune={"C": [1e-8, 1e-7, 1e-6]}, k=4, seed=1)
    assert len(caught) == 1
    assert str(caught[0].message) == (
        "C = 1e-06, the largest of the grid, was chosen in 4 of 4 fits: extend the "
        "grid there."
    )
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("error")
def test_no_edge_where_the_simplest_may_be_one_of_equals(frame):
    """The order of predictions by one covariate is the same under every penalty."""
    tuning = scv.Tuning({"C": [1e-8, 1e-7, 1e-6]}, metric="auroc")
    res = scv.cv("y ~ a", frame, tune=tuning, k=4, seed=1)
    assert (res.tuned["C"] == 1e-8).all()


@pytest.mark.filterwarnings("error")
def test_no_edge_where_there_is_nothing_beyond(frame):
    tree = DecisionTreeClassifier(min_samples_leaf=50)
    res = scv.cv("y ~ a", frame, model=tree, tune={"max_depth": [1, 2, 3]}, k=3, seed=1)
    assert set(res.tuned["max_depth"]) <= {1, 2, 3}
    res = scv.cv("y ~ a", frame, tune={"C": [1.0]}, k=3, seed=1)
    assert (res.tuned["C"] == 1.0).all()


# ---- refusals ----


@pytest.mark.parametrize(
    ("tune", "call", "error", "said"),
    [
        ({"c": [1]}, {}, ArgumentError, "no hyperparameter 'c'.* Did you mean 'C'"),
        ({"C": [1]}, {"model": "mean"}, ArgumentError, "has no hyperparameters"),
        ({"C": [1]}, {"model": LinearSVC()}, MetricError, "no value"),
        ({"C": []}, {}, ArgumentError, "no values"),
        ({}, {}, ArgumentError, "empty"),
        ({"C": 1.0}, {}, ArgumentTypeError, r"\{'C': \[1.0, …\]\}"),
        ({"C": "all"}, {}, ArgumentTypeError, "not a list of values"),
        ({"C": {1, 2}}, {}, ArgumentTypeError, "a list, whose order stays, not a set"),
        ({"C": iter(CS)}, {}, ArgumentTypeError, "not a tuple_iterator"),
        ({"C": [1, 1]}, {}, ArgumentError, "twice"),
        ({"C": [-1]}, {}, ModelError, "positive"),
        ({1: [1]}, {}, ArgumentTypeError, "grid names"),
        ("C", {}, ArgumentTypeError, "tune must be a grid"),
        (GridSearchCV, {}, ArgumentTypeError, "is a class"),
        (LogisticRegression(), {}, ArgumentTypeError, "search object"),
        (
            GridSearchCV(LogisticRegression(), {"C": CS}),
            {"model": "logit"},
            ArgumentTypeError,
            "leave model out",
        ),
        (
            GridSearchCV(LogisticRegression(), {"C": CS}, refit=False),
            {},
            ModelError,
            "refit",
        ),
        (
            GridSearchCV(LogisticRegression(), {"C": CS}, cv=1),
            {},
            ArgumentError,
            r"\(cv=1\) is out of range: 2 or more",
        ),
        ({"C": [1]}, {"formula": "z ~ a"}, ArgumentError, "has no hyperparameters"),
    ],
)
def test_wrong_calls_are_refused(frame, tune, call, error, said):
    with pytest.raises(error, match=said):
        tuned(frame, tune, **call)


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"rule": "one_sd"}, ArgumentError, "Did you mean 'one_se'"),
        ({"metric": "auc"}, MetricError, "auroc|auprc"),
        ({"metric": "mse"}, MetricError, "but 'y' is binary"),
        ({"scheme": "bootstrap"}, SchemeError, "no inner scheme"),
        ({"scheme": "loocv", "k": 3}, ArgumentError, "k=3 means nothing"),
        ({"scheme": "loocv", "repeats": 3}, ArgumentError, "repeats=3 means nothing"),
        ({"scheme": "loocv", "metric": "auroc"}, MetricError, "different fits"),
        ({"scheme": "rloocv", "metric": "auprc"}, MetricError, "different fits"),
        ({"scheme": "rkfold", "rebalance": "weight"}, ArgumentError, "means nothing"),
        ({"rebalance": "all"}, ArgumentError, "rebalance must be"),
        ({"k": 1}, ArgumentError, "2 or more"),
        ({"k": 2.5}, ArgumentTypeError, "integer"),
        ({"repeats": 0}, ArgumentError, "1 or more"),
    ],
)
def test_wrong_tunings_are_refused(frame, arguments, error, said):
    with pytest.raises(error, match=said):
        tuned(frame, scv.Tuning({"C": CS}, **arguments))


def test_an_inner_failure_says_where(frame):
    lda = LinearDiscriminantAnalysis()
    with pytest.raises(
        scv.StatcvError, match=r"shrinkage = 0\.5, in inner fold 1: NotImpl"
    ):
        tuned(frame, {"shrinkage": [None, 0.5]}, model=lda)


def test_a_number_of_inner_folds_above_the_records_is_refused(frame):
    tuning = scv.Tuning({"C": CS}, scheme="kfold", k=50)
    with pytest.raises(ArgumentError, match="too many for a training set of 40"):
        tuned(frame, tuning)


def test_splitters_of_outer_folds_go_with_tuning(frame):
    outer = KFold(3, shuffle=True, random_state=1)
    res = tuned(frame, {"C": CS}, scheme=outer, k=None)
    assert len(res.tuned) == 3
