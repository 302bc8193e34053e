import functools
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    KFold,
    TunedThresholdClassifierCV,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier, XGBRegressor

from statcv import cv, load_data
from statcv.errors import (
    ConvergenceWarning,
    MissingDataWarning,
    ModelError,
    PrecisionWarning,
)
from statcv.models import Sklearn, TrainingSet, XGBoost

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning"
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    frame["y"] = (frame["a"] + rng.logistic(size=60) > 0).astype(int)
    frame["z"] = frame["b"] + rng.normal(size=60)
    frame["group"] = rng.choice(["p", "q", "r"], 60)
    frame["w"] = rng.integers(1, 5, 60)
    return frame


def loop(result, estimator, X, y, columns=1, **fit):
    """Fit a copy in every fold of the result's plan by hand."""
    predicted = []
    for train, test in result.plan.split():
        own = {name: values[train] for name, values in fit.items()}
        estimator.fit(X[train], y[train], **own)
        predicted.append(estimator.predict_proba(X[test])[:, columns])
    return np.concatenate(predicted)


def test_columns_come_in_the_formula_s_order_without_the_intercept(data):
    seen = {}

    class Spy(Ridge):
        def fit(self, X, y, sample_weight=None):
            seen["X"] = X
            return super().fit(X, y)

    cv("z ~ c + a:b + a", data, model=Spy(), k=2, seed=1)
    plan = cv("z ~ c + a:b + a", data, model="mean", k=2, seed=1).plan
    part = data.iloc[plan.train(1)]
    expected = np.column_stack([part["c"], part["a"], part["a"] * part["b"]])
    assert seen["X"].shape == expected.shape
    for column in expected.T:
        assert (np.abs(seen["X"].T - column).max(axis=1) == 0).sum() == 1


def test_probabilities_are_those_of_a_loop_by_hand(data):
    model = make_pipeline(StandardScaler(), LogisticRegression())
    result = cv("y ~ a + b + c", data, model=model, seed=3)
    X, y = data[["a", "b", "c"]].to_numpy(), data["y"].to_numpy()
    np.testing.assert_array_equal(
        result.predictions["predicted"], loop(result, model, X, y)
    )


def test_weights_go_to_the_last_step_of_a_pipeline(data):
    model = make_pipeline(StandardScaler(), LogisticRegression())
    result = cv("y ~ a + b", data, model=model, weights="w", seed=3)
    X, y = data[["a", "b"]].to_numpy(), data["y"].to_numpy()
    weights = data["w"].to_numpy(dtype=float)
    expected = loop(result, model, X, y, logisticregression__sample_weight=weights)
    np.testing.assert_array_equal(result.predictions["predicted"], expected)
    plain = cv("y ~ a + b", data, model=model, seed=3).predictions["predicted"]
    assert np.abs(plain - expected).max() > 1e-3


def test_weights_for_an_estimator_that_takes_none_are_refused(data):
    for model in (KNeighborsClassifier(), make_pipeline(KNeighborsClassifier())):
        with pytest.raises(ModelError, match="KNeighborsClassifier takes no weights"):
            cv("y ~ a", data, model=model, weights="w")


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5),
        make_pipeline(StandardScaler(), RandomForestClassifier(5)),
        make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss")),
        GridSearchCV(
            RandomForestClassifier(3), {"max_depth": [1, 2]}, cv=KFold(3, shuffle=True)
        ),
        XGBClassifier(n_estimators=5, subsample=0.5),
        XGBoost(n_estimators=5, subsample=0.5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_random_models_repeat_with_the_seed_whatever_n_jobs(data, model):
    run = functools.partial(cv, "y ~ a + b + c", data, model=model, k=3, seed=5)
    first = run(n_jobs=1)
    np.testing.assert_array_equal(
        first.predictions["predicted"], run(n_jobs=2).predictions["predicted"]
    )
    other = run(seed=6, scheme=first.plan, k=None).predictions["predicted"]
    assert (first.predictions["predicted"] != other).any()


def test_each_fold_has_its_own_stream_and_a_given_state_stays(data):
    seeds = []

    class Spy(RandomForestClassifier):
        def fit(self, X, y, sample_weight=None):
            seeds.append(self.random_state)
            return super().fit(X, y)

    cv("y ~ a", data, model=Spy(2), k=4, repeats=3, seed=1)
    assert len(set(seeds)) == 12
    seeds.clear()
    cv("y ~ a", data, model=Spy(2, random_state=9), k=4, seed=1)
    assert seeds == [9] * 4


def test_the_estimator_given_is_left_as_it_was(data):
    inner = KFold(3, shuffle=True)
    model = GridSearchCV(RandomForestClassifier(2), {"max_depth": [1]}, cv=inner)
    cv("y ~ a", data, model=model, k=2, seed=1)
    assert inner.random_state is None
    assert model.estimator.random_state is None
    assert not hasattr(model, "best_estimator_")


def test_later_changes_of_the_estimator_given_have_no_effect(data):
    model = LogisticRegression(C=0.5)
    result = cv("y ~ a + b", data, model=model, k=2, seed=1)
    model.set_params(C=100.0)
    assert result.learner.label == "LogisticRegression(C=0.5)"
    assert result.learner.estimator.C == 0.5


class Counting(LogisticRegression):
    """A classifier with state that is not a parameter and cannot be copied."""

    def __init__(self, C=1.0):
        super().__init__(C=C)
        self.lock = threading.Lock()


class Unclonable(LogisticRegression):
    def __init__(self, C=1.0):
        super().__init__(C=2 * C)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), Ridge()),
        make_pipeline(StandardScaler(), Counting()),
        GridSearchCV(Ridge(), {"alpha": [1]}, cv=KFold(2)),
        RandomForestClassifier(2),
    ],
)
def test_a_copy_has_the_parameters_of_a_clone(model):
    wrapped = Sklearn(model)
    expected = clone(model).get_params()
    for seed in (3, 4):
        found = wrapped._copied(seed).get_params()
        assert list(found) == list(expected)
        for name, value in found.items():
            if name.split("__")[-1] == "random_state":
                assert value == seed
            elif isinstance(value, (int, float, str)):
                assert repr(value) == repr(expected[name])
    assert repr(wrapped.estimator) == repr(model)


def test_an_estimator_that_cannot_be_cloned_is_refused(data):
    with pytest.raises(ModelError, match="Unclonable cannot be cloned"):
        cv("y ~ a", data, model=Unclonable(), k=2, seed=1)


def test_a_frozen_estimator_is_shared_by_all_folds(data):
    frozen = pytest.importorskip("sklearn.frozen")  # since version 1.6
    fitted = StandardScaler().fit(data[["a", "b"]].to_numpy() * 7)
    model = make_pipeline(frozen.FrozenEstimator(fitted), LogisticRegression())
    result = cv("y ~ a + b", data, model=model, k=3, seed=1)
    X, y = data[["a", "b"]].to_numpy(), data["y"].to_numpy()
    expected = loop(result, model, X, y)
    np.testing.assert_allclose(result.predictions["predicted"], expected, atol=1e-12)


def test_a_classifier_without_probabilities_gives_its_decision_function(data):
    result = cv("y ~ a + b", data, model=LinearSVC(), metrics="auroc", seed=1)
    expected = []
    for train, test in result.plan.split():
        X = data[["a", "b"]].to_numpy()
        state = {"random_state": 0}  # the dual problem has one solution
        fit = LinearSVC(**state).fit(X[train], data["y"].iloc[train])
        expected.append(fit.decision_function(X[test]))
    np.testing.assert_allclose(
        result.predictions["predicted"], np.concatenate(expected), atol=1e-3
    )
    with pytest.raises(ModelError, match="LinearSVC gives no probabilities"):
        cv("group ~ a", data, model=LinearSVC(), seed=1)


def test_columns_of_more_classes_are_those_of_their_levels(data):
    model = KNeighborsClassifier(7)
    result = cv("group ~ a + b", data, model=model, seed=1)
    X, labels = data[["a", "b"]].to_numpy(), data["group"].to_numpy()
    expected = loop(result, model, X, labels, columns=slice(None))  # sorted p, q, r
    found = result.predictions[["predicted_p", "predicted_q", "predicted_r"]]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_class_missing_from_what_was_fitted_has_probability_zero():
    X = np.arange(12.0).reshape(-1, 1)
    training = TrainingSet(
        X, np.array([0, 2] * 6), "multiclass", 3, ("x",), None, None, 0
    )
    fit = Sklearn(KNeighborsClassifier(2)).fit(training)
    predicted = fit.predict(X)
    assert predicted.shape == (12, 3)
    assert (predicted[:, 1] == 0).all()
    np.testing.assert_allclose(predicted.sum(axis=1), 1)


def test_regressors_predict_numbers_and_classes_as_numbers(data):
    model = RandomForestRegressor(3, random_state=0)
    result = cv("z ~ a + b", data, model=model, seed=1)
    X = data[["a", "b"]].to_numpy()
    train, test = next(result.plan.split())
    expected = model.fit(X[train], data["z"].iloc[train]).predict(X[test])
    first = result.predictions.query("fold == 1")["predicted"]
    np.testing.assert_array_equal(first, expected)
    assert cv("y ~ a", data, model=Ridge(), metrics="auroc", seed=1).plan.n == 60


@pytest.mark.parametrize(
    ("formula", "model", "message"),
    [
        ("z ~ a", LogisticRegression(), "does not fit a continuous outcome"),
        ("group ~ a", Ridge(), "does not fit a multiclass outcome"),
        ("y ~ a", OneClassSVM(), "neither a classifier nor a regressor"),
        ("y ~ a", StandardScaler(), "neither a classifier nor a regressor"),
        ("y ~ a", LogisticRegression, r"make an object of it: LogisticRegression\(\)"),
        ("y ~ 1", LogisticRegression(), "needs at least one predictor"),
    ],
)
def test_estimators_that_do_not_fit_are_refused(data, formula, model, message):
    with pytest.raises(ModelError, match=message):
        cv(formula, data, model=model)


def test_folds_that_do_not_converge_are_counted_and_other_warnings_pass(data):
    with pytest.warns(ConvergenceWarning, match="did not converge in 10 of 10") as all_:
        result = cv("y ~ a + b", data, model=LogisticRegression(max_iter=1), seed=1)
    assert not result.folds["converged"].any()
    assert len(all_) == 1  # scikit-learn's own are taken up in it

    class Noisy(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            import warnings

            warnings.warn("mind this", UserWarning, stacklevel=2)
            return super().fit(X, y)

    with pytest.warns(UserWarning, match="mind this"):
        result = cv("y ~ a + b", data, model=Noisy(), seed=1)
    assert result.folds["converged"].all()


def test_imputation_inside_each_fold_sees_its_training_rows_only(data):
    holes = data.assign(a=data["a"].where(data.index % 5 > 0))
    model = make_pipeline(SimpleImputer(), LogisticRegression())
    result = cv("y ~ a + b", holes, model=model, na_action="pass", seed=1)
    X, y = holes[["a", "b"]].to_numpy(), data["y"].to_numpy()
    np.testing.assert_array_equal(
        result.predictions["predicted"], loop(result, model, X, y)
    )
    with pytest.warns(MissingDataWarning, match="12 of 60"):
        some = cv("y ~ a + b", holes, model=model, na_action="drop", seed=1)
    assert some.plan.n == 48


def test_coefficients_are_those_of_the_linear_models(data):
    result = cv("z ~ b + c", data, model=Ridge(alpha=2.0), seed=1)
    train = result.plan.train(3)
    peer = Ridge(alpha=2.0).fit(
        data[["b", "c"]].to_numpy()[train], data["z"].iloc[train]
    )
    found = result.coefficients.loc[3, ["Intercept", "b", "c"]]
    np.testing.assert_allclose(found, [peer.intercept_, *peer.coef_], atol=1e-12)
    with pytest.raises(AttributeError, match="has no coefficients"):
        _ = cv("y ~ b", data, model=KNeighborsClassifier(), seed=1).coefficients


def test_labels_are_short_and_hold_no_address():
    assert Sklearn(XGBClassifier(max_depth=3)).label == "XGBClassifier(max_depth=3)"
    assert Sklearn(Ridge(alpha=2.0)).label == "Ridge(alpha=2.0)"
    assert "0x" not in Sklearn(FunctionTransformer(lambda X: X)).label
    assert XGBoost(max_depth=2).label == repr(XGBoost(max_depth=2))


def test_xgboost_is_the_library_s_own(data):
    parameters = {"n_estimators": 7, "max_depth": 2, "n_jobs": 1}
    X = data[["a", "b"]].to_numpy()
    classes = cv("y ~ a + b", data, model=XGBoost(**parameters), k=3, seed=1)
    train, test = next(classes.plan.split())
    peer = XGBClassifier(**parameters).fit(X[train], data["y"].iloc[train])
    np.testing.assert_array_equal(
        classes.predictions.query("fold == 1")["predicted"],
        peer.predict_proba(X[test])[:, 1].astype(float),
    )
    numbers = cv("z ~ a + b", data, model=XGBoost(**parameters), k=3, seed=1)
    train, test = next(numbers.plan.split())
    peer = XGBRegressor(**parameters).fit(X[train], data["z"].iloc[train])
    np.testing.assert_array_equal(
        numbers.predictions.query("fold == 1")["predicted"], peer.predict(X[test])
    )
    assert cv("group ~ a", data, model="xgboost", k=3, seed=1).held.predicted.shape == (
        60,
        3,
    )


# ---- classes are those of the estimator's predict ----


class Cautious(ClassifierMixin, BaseEstimator):
    """Predict the last class from a low probability on, by a rule of its own."""

    def __init__(self, shift=0.0, answer=None):
        self.shift = shift
        self.answer = answer

    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        made = self.model_.predict_proba(X)
        made[0] += self.shift
        return made

    def predict(self, X):
        if self.answer is not None:
            return np.full(len(X), self.answer)
        p = self.model_.predict_proba(X)
        last = p[:, -1] > 0.2
        return last if p.shape[1] == 2 else np.where(last, 2, p.argmax(axis=1))


LOW = FixedThresholdClassifier(LogisticRegression(), threshold=0.3)
DECIDING = {
    "fixed": LOW,
    "tuned": TunedThresholdClassifierCV(LogisticRegression(), cv=3),
    "pipeline": make_pipeline(StandardScaler(), clone(LOW).set_params(threshold=0.8)),
    "search": GridSearchCV(LOW, {"estimator__C": [0.1, 1]}, cv=3),
    "decision function": SVC(probability=True, random_state=0),
    "scores alone": LinearSVC(),
    "ties": DecisionTreeClassifier(min_samples_leaf=4, random_state=0),
    "own class": Cautious(),
}


def by_hand(result, estimator, X, y):
    """Return the classes that clones of an estimator predict for held-out records."""
    found = np.full(len(y), -1)
    for fit in range(result.plan.n_fits):
        train, test = result.plan.train(fit), result.plan.fits.held_out_by(fit)
        found[test] = clone(estimator).fit(X[train], y[train]).predict(X[test])
    return found


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    ("name", "labels"),
    [
        *((name, ["no", "yes"]) for name in DECIDING),
        *((name, [False, True]) for name in ("pipeline", "ties", "own class")),
    ],
)
def test_two_classes_are_those_of_predict(data, name, labels):
    frame = data.assign(y=np.array(labels)[data["y"]])
    wanted = ["sensitivity", "accuracy"]
    res = cv("y ~ a + b", frame, model=DECIDING[name], k=4, seed=1, metrics=wanted)
    X, y = data[["a", "b"]].to_numpy(), data["y"].to_numpy()
    found = by_hand(res, DECIDING[name], X, y)
    assert float(res.estimate("sensitivity")) == found[y == 1].mean()
    assert float(res.estimate("accuracy")) == pytest.approx((found == y).mean())


@pytest.mark.parametrize("name", ["own class", "decision function", "ties"])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_several_classes_are_those_of_predict(data, name):
    codes = np.digitize(data["a"], [-0.5, 0.5])
    frame = data.assign(y=np.array(["x", "y", "z"])[codes])
    res = cv("y ~ b + c", frame, model=DECIDING[name], k=4, seed=1, metrics="accuracy")
    found = by_hand(res, DECIDING[name], data[["b", "c"]].to_numpy(), codes)
    assert float(res.estimate()) == pytest.approx((found == codes).mean())


def test_decisions_of_predict_hold_for_refits_and_are_told(data, tmp_path):
    given = {"k": 4, "seed": 1, "metrics": ["sensitivity", "accuracy", "net_benefit"]}
    own = cv("y ~ a", data, model=LOW, checkpoint=str(tmp_path / "run"), **given)
    cut = cv("y ~ a", data, model=LogisticRegression(), threshold=0.3, **given)
    again = cv("y ~ a", data, model=LOW, checkpoint=str(tmp_path / "run"), **given)
    for metric in ("sensitivity", "accuracy"):
        assert float(own.estimate(metric)) == float(cut.estimate(metric))
        assert float(own.estimate(metric)) == float(again.estimate(metric))
        assert own.apparent[metric] == cut.apparent[metric]
        corrected = (
            res.optimism_corrected(metric, n_boot=5, seed=1) for res in (own, cut)
        )
        assert len({float(one) for one in corrected}) == 1
        drawn = (res.null_distribution(metric, times=5, seed=1) for res in (own, cut))
        np.testing.assert_equal(*(np.asarray(one) for one in drawn))
    half = cv("y ~ a", data, model=LogisticRegression(), **given)
    assert float(own.estimate("net_benefit")) == float(half.estimate("net_benefit"))
    said = " ".join(str(own.summary(notes=True)).split())
    assert "Classes are those of the model's predict" in said
    assert "the model's predict" not in str(half.summary(notes=True))
    given_back = cv("y ~ a", data, model=LOW, threshold=0.5, **given)
    assert float(given_back.estimate()) == float(half.estimate())


def test_most_fits_decide_about_a_record(data):
    given = {"scheme": "rloocv", "repeats": 3, "seed": 1, "metrics": "accuracy"}
    own = cv("y ~ a", data, model=LOW, **given)
    cut = cv("y ~ a", data, model=LogisticRegression(), threshold=0.3, **given)
    assert float(own.estimate()) == pytest.approx(float(cut.estimate()), abs=0.02)


def test_predictions_that_are_no_classes_or_probabilities_are_refused(data):
    with pytest.raises(ModelError, match=r"the predict of Cautious returned 'sick'"):
        cv("y ~ a", data, model=Cautious(answer="sick"), k=4, seed=1)
    with pytest.raises(ModelError, match=r"predict_proba of Cautious returned \["):
        cv("y ~ a", data, model=Cautious(shift=0.5), k=4, seed=1)


@pytest.mark.parametrize("more", [{}, {"n_jobs": 2}, {"tune": {"shift": [1e-4, 2e-4]}}])
def test_probabilities_off_by_rounding_are_warned_of_once(data, more, tmp_path):
    model = Cautious(shift=2e-4)
    given = {"formula": "y ~ a", "model": model, "k": 4, "seed": 1, **more}
    said = r"rounding in 4 of 4 folds \(fold 1, fold 2, fold 3, …\), and were corrected"
    for _ in range(2):  # the second time from the checkpoint
        with pytest.warns(PrecisionWarning, match=said) as caught:
            res = cv(data=data, checkpoint=tmp_path, **given)
        assert len([w for w in caught if w.category is PrecisionWarning]) == 1
        assert sum("by rounding" in text for text in res.warnings) == 1
        assert np.isfinite(float(res.estimate("brier")))


def test_decision_scores_have_no_metrics_of_probabilities():
    data = load_data("spector")
    result = cv("GRADE ~ GPA + PSI", data, model=LinearSVC(), k=4, seed=1)
    assert result.metrics()["metric"].tolist() == ["auroc", "auprc"]
    assert result.metrics()["estimate"].notna().all()
    assert "metrics of\n  probabilities are omitted" in str(result.summary())


# ---- what needs more than the design and the outcome ----


@pytest.mark.parametrize("columns", [["a", "b"], "a", make_column_selector("a")])
def test_a_column_transformer_by_name_is_refused_with_a_way_to_keep_it(data, columns):
    choose = ColumnTransformer([("scale", StandardScaler(), columns)])
    pipeline = make_pipeline(choose, LogisticRegression())
    for model in (pipeline, GridSearchCV(pipeline, {"logisticregression__C": [1]})):
        with pytest.raises(ModelError, match=r"array without names.*from_predictions"):
            cv("y ~ a + b", data, model=model, k=3, seed=1)


def test_a_column_transformer_by_position_is_fitted(data):
    choose = ColumnTransformer([("scale", StandardScaler(), [1])])
    model = make_pipeline(choose, LogisticRegression())
    found = cv("y ~ a + b", data, model=model, k=3, seed=1).predictions["predicted"]
    alone = make_pipeline(StandardScaler(), LogisticRegression())
    expected = cv("y ~ b", data, model=alone, k=3, seed=1).predictions["predicted"]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_early_stopping_by_other_records_names_the_model_that_has_them(data):
    stopped = XGBClassifier(n_estimators=9, early_stopping_rounds=2)
    for model in (stopped, make_pipeline(StandardScaler(), stopped)):
        with pytest.raises(ModelError, match=r"models\.XGBoost\(early_stopping_rounds"):
            cv("y ~ a + b", data, model=model, k=3, seed=1)
