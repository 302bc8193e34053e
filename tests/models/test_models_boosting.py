"""XGBoost in the folds against its own estimators, and what is watched on the way."""

import inspect
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import Parallel, delayed
from xgboost import XGBClassifier, XGBRegressor

from statcv import cv
from statcv.errors import ModelError, UndefinedMetricWarning
from statcv.models import TrainingSet, XGBoost
from statcv.models.other_libraries.boosting import set_aside

KINDS = {"binary": 2, "multiclass": 3, "continuous": 0}
METRICS = {"binary": "logloss", "multiclass": "mlogloss", "continuous": "rmse"}


def sample(kind, n=70, p=4, seed=0, weights=False, holes=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    score = X[:, 0] - X[:, 1] + rng.logistic(size=n)
    y = score
    if kind != "continuous":
        y = np.digitize(score, np.quantile(score, [0.5, 0.8])[: KINDS[kind] - 1])
    if holes:
        X[rng.random(X.shape) < 0.2] = np.nan
    weight = rng.uniform(0.2, 3, n) if weights else None
    names = ("one", *(f"x{j}" for j in range(p)))
    X = np.column_stack([np.ones(n), X])
    return TrainingSet(X, y, kind, KINDS[kind], names, 0, weight, seed=11)


def rows(training, some):
    weights = None if training.weights is None else training.weights[some]
    return replace(training, X=training.X[some], y=training.y[some], weights=weights)


def peer(training, points, **parameters):
    """Predict by the library's own estimator."""
    classes = training.kind != "continuous"
    family = XGBClassifier if classes else XGBRegressor
    parameters = {"n_jobs": 1, "random_state": training.seed} | parameters
    estimator = family(**parameters)
    estimator.fit(training.X[:, 1:], training.y, sample_weight=training.weights)
    if not classes:
        return estimator.predict(points[:, 1:]).astype(float)
    shares = estimator.predict_proba(points[:, 1:]).astype(float)
    return shares[:, 1] if training.kind == "binary" else shares


@pytest.mark.filterwarnings("ignore:.*is deprecated")  # dart by that name, in 3.4
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"tree_method": "exact", "base_score": 0.5},
        {"tree_method": "approx", "max_bin": 8},
        {"tree_method": "hist", "max_bin": 16, "subsample": 0.7},
        {"eta": 0.7, "lambda": 3.0, "min_split_loss": 0.1, "n_estimators": 9},
        {"learning_rate": 0.7, "reg_lambda": 3.0, "gamma": 0.1, "max_depth": 2},
        {"booster": "dart", "rate_drop": 0.3, "colsample_bytree": 0.5},
        {"feature_types": ["q", "q", "c", "q"], "enable_categorical": True},
        {
            "grow_policy": "lossguide",
            "max_leaves": 4,
            "monotone_constraints": "(1,0,0,0)",
        },
    ],
    ids=lambda parameters: ", ".join(parameters) or "defaults",
)
def test_predictions_are_the_estimators_bit_by_bit(kind, parameters):
    parameters = {"n_estimators": 12} | parameters
    for weights, holes in ((False, False), (True, True)):
        training = sample(kind, weights=weights, holes=holes)
        points = sample(kind, seed=1, holes=holes).X
        if "feature_types" in parameters:
            for X in (training.X, points):
                X[:, 3] = np.clip(np.round(np.nan_to_num(X[:, 3])), -1, 1) + 1
        found = XGBoost(**parameters).fit(training).predict(points)
        np.testing.assert_array_equal(found, peer(training, points, **parameters))


@pytest.mark.parametrize("objective", ["reg:absoluteerror", "count:poisson"])
def test_other_objectives_for_numbers(objective):
    training = sample("continuous")
    training = replace(training, y=np.abs(training.y))
    parameters = {"objective": objective, "n_estimators": 5}
    found = XGBoost(**parameters).fit(training)
    assert found.probabilities
    np.testing.assert_array_equal(
        found.predict(training.X), peer(training, training.X, **parameters)
    )


@pytest.mark.parametrize("objective", ["binary:logitraw", "binary:hinge"])
def test_objectives_without_probabilities_say_so(objective):
    training = sample("binary")
    fit = XGBoost(objective=objective, n_estimators=5).fit(training)
    assert not fit.probabilities
    expected = peer(training, training.X, objective=objective, n_estimators=5)
    np.testing.assert_array_equal(fit.predict(training.X), expected)


def test_softmax_gives_shares_too():
    training = sample("multiclass")
    parameters = {"objective": "multi:softmax", "n_estimators": 5}
    found = XGBoost(**parameters).fit(training).predict(training.X)
    np.testing.assert_allclose(
        found, peer(training, training.X, **parameters), atol=1e-6
    )


def test_a_missing_value_may_have_another_sign():
    training = sample("binary", holes=True)
    marked = replace(training, X=np.nan_to_num(training.X, nan=-99.0))
    found = XGBoost(missing=-99.0, n_estimators=5).fit(marked).predict(marked.X)
    expected = XGBoost(n_estimators=5).fit(training).predict(training.X)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore:.*is deprecated")  # from XGBoost 3.4 on
def test_a_linear_booster_has_coefficients():
    training = sample("continuous")
    parameters = {"booster": "gblinear", "updater": "coord_descent", "n_estimators": 9}
    fit = XGBoost(**parameters).fit(training)
    estimator = XGBRegressor(n_jobs=1, random_state=11, **parameters)
    estimator.fit(training.X[:, 1:], training.y)
    np.testing.assert_array_equal(
        fit.predict(training.X), estimator.predict(training.X[:, 1:])
    )
    assert list(fit.coefficients) == ["Intercept", "x0", "x1", "x2", "x3"]
    values = list(fit.coefficients.values())
    np.testing.assert_allclose(
        values, [*estimator.intercept_, *estimator.coef_], rtol=1e-6
    )
    assert XGBoost(n_estimators=2).fit(training).coefficients is None


def test_threads_give_the_same_bits_and_fits_can_be_pickled():
    training = sample("binary", n=200)
    model = XGBoost(n_estimators=20, subsample=0.5)
    parts = [rows(training, np.arange(200) % 8 != part) for part in range(8)]

    def predict(part):
        return model.fit(part).predict(training.X)

    alone = [predict(part) for part in parts]
    threads = Parallel(n_jobs=4, backend="threading")(
        delayed(predict)(p) for p in parts
    )
    np.testing.assert_array_equal(threads, alone)
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(model)).fit(parts[0])))
    np.testing.assert_array_equal(again.predict(training.X), alone[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tree_method", ["hist", "exact"])
def test_curves_are_metrics_after_every_round_and_change_nothing(kind, tree_method):
    every = sample(kind, n=90, weights=True)
    training, held = rows(every, np.arange(90) < 60), rows(every, np.arange(90) >= 60)
    parameters = {"n_estimators": 8, "subsample": 0.8, "tree_method": tree_method}
    model = XGBoost(curves=True, **parameters)
    assert model.capabilities.follows_held_out
    assert not XGBoost().capabilities.follows_held_out
    fit = model.fit_following(training, held)
    assert list(fit.curves) == [METRICS[kind]]
    curve = fit.curves[METRICS[kind]]
    assert curve.shape == (8, 2)
    plain = XGBoost(**parameters).fit(training)
    assert plain.curves is None
    np.testing.assert_array_equal(fit.predict(every.X), plain.predict(every.X))
    for rounds in (1, 4, 8):
        shorter = XGBoost(**(parameters | {"n_estimators": rounds})).fit(training)
        for column, part in enumerate((training, held)):
            loss = metric(part, shorter.predict(part.X))
            assert curve[rounds - 1, column] == pytest.approx(loss, rel=1e-4)


def metric(part, predicted):
    if part.kind == "continuous":
        return np.sqrt(np.average((part.y - predicted) ** 2, weights=part.weights))
    own = (
        predicted
        if part.kind == "multiclass"
        else np.stack([1 - predicted, predicted], 1)
    )
    return np.average(
        -np.log(own[np.arange(len(part.y)), part.y]), weights=part.weights
    )


def test_held_out_outcomes_change_the_curve_alone():
    every = sample("binary", n=90)
    training, held = rows(every, np.arange(90) < 60), rows(every, np.arange(90) >= 60)
    turned = replace(held, y=1 - held.y)
    for parameters in ({}, {"early_stopping_rounds": 2}, {"refit": False}):
        if "refit" in parameters:
            parameters = {"early_stopping_rounds": 2, **parameters}
        model = XGBoost(n_estimators=30, curves=True, **parameters)
        fits = [model.fit_following(training, one) for one in (held, turned)]
        assert fits[0].chosen == fits[1].chosen
        np.testing.assert_array_equal(*(fit.predict(held.X) for fit in fits))
        inside, outside = (fits[0].curves["logloss"] != fits[1].curves["logloss"]).T
        assert not inside.any()
        assert outside.all()


def test_metrics_are_those_that_were_named():
    every = sample("binary", n=90)
    model = XGBoost(n_estimators=3, curves=True, eval_metric=["auc", "error"])
    fit = model.fit_following(rows(every, np.arange(90) < 60), every)
    assert {name: curve.shape for name, curve in fit.curves.items()} == {
        "auc": (3, 2),
        "error": (3, 2),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tree_method", ["hist", "exact"])
def test_early_stopping_is_the_library_s_on_a_part_of_the_training_set(
    kind, tree_method
):
    training = sample(kind, n=120, weights=True)
    parameters = {"n_estimators": 60, "learning_rate": 0.5, "tree_method": tree_method}
    stopping = {"early_stopping_rounds": 4, **parameters}
    aside = set_aside(training, 0.3)
    part, rest = rows(training, ~aside), rows(training, aside)
    family = XGBRegressor if kind == "continuous" else XGBClassifier
    estimator = family(n_jobs=1, random_state=training.seed, **stopping)
    estimator.fit(
        part.X[:, 1:],
        part.y,
        sample_weight=part.weights,
        eval_set=[(rest.X[:, 1:], rest.y)],
        sample_weight_eval_set=[rest.weights],
        verbose=False,
    )
    best = estimator.best_iteration + 1
    assert best < 60
    first = XGBoost(validation=0.3, refit=False, **stopping).fit(training)
    assert first.chosen == {"rounds": best}
    found = first.predict(training.X)
    if kind == "continuous":
        expected = estimator.predict(training.X[:, 1:])
    else:
        shares = estimator.predict_proba(training.X[:, 1:])
        expected = shares[:, 1] if kind == "binary" else shares
    np.testing.assert_array_equal(found, expected)
    again = XGBoost(validation=0.3, **stopping).fit(training)
    assert again.chosen == {"rounds": best}
    expected = peer(training, training.X, **(parameters | {"n_estimators": best}))
    np.testing.assert_array_equal(again.predict(training.X), expected)


def test_curves_of_early_stopping_are_those_of_the_fit_that_predicts():
    every = sample("binary", n=120)
    training, held = rows(every, np.arange(120) < 90), rows(every, np.arange(120) >= 90)
    stopping = {"early_stopping_rounds": 3, "n_estimators": 80, "curves": True}
    fit = XGBoost(**stopping).fit_following(training, held)
    rounds = fit.chosen["rounds"]
    whole = XGBoost(n_estimators=rounds, curves=True).fit_following(training, held)
    np.testing.assert_array_equal(fit.curves["logloss"], whole.curves["logloss"])
    first = XGBoost(refit=False, **stopping).fit_following(training, held)
    aside = set_aside(training, 0.2)
    curve = first.curves["logloss"]
    assert len(curve) == rounds + 3
    part = rows(training, ~aside)
    for column, own in enumerate((part, held)):
        loss = metric(own, first.predict(own.X))
        assert curve[rounds - 1, column] == pytest.approx(loss, rel=1e-4)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(10, 200),
    share=st.floats(0.05, 0.9),
    kind=st.sampled_from(list(KINDS)),
    groups=st.sampled_from([None, 1, 7]),
)
@settings(max_examples=2 * settings.default.max_examples)
def test_what_is_set_aside(seed, n, share, kind, groups):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, KINDS[kind] or 50, n)
    weights = (rng.random(n) > 0.1).astype(float)
    weights[:2] = 1
    strata = None if groups is None else rng.integers(0, max(n // groups, 2), n)
    training = TrainingSet(
        rng.normal(size=(n, 1)),
        y,
        kind,
        KINDS[kind],
        ("x",),
        None,
        weights,
        seed,
        strata,
    )
    live = weights > 0
    try:
        aside = set_aside(training, share)
    except ModelError:  # one stratum is all there is, or the nearest number is 0
        assert (
            strata is not None
            or share * np.bincount(y[live]).max() <= 0.5
            or (kind == "continuous" and share * live.sum() <= 0.5)
        )
        return
    assert not aside[~live].any()
    assert (~aside[live]).any()
    np.testing.assert_array_equal(aside, set_aside(training, share))
    if strata is not None:
        assert not set(strata[aside & live]) & set(strata[~aside & live])
    else:
        for own in [y == c for c in range(KINDS[kind])] or [np.ones(n, dtype=bool)]:
            total = (own & live).sum()
            allowed = 0.5 if share * total <= total - 0.5 else 1
            assert abs((own & aside).sum() - share * total) <= allowed + 1e-9


def test_another_seed_sets_others_aside():
    training = sample("binary", n=100)
    first = set_aside(training, 0.2)
    assert (first != set_aside(replace(training, seed=12), 0.2)).any()
    with pytest.raises(ModelError, match=r"validation=0\.01 of 100 .* none aside"):
        set_aside(training, 0.001 + 0.009)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_dept": 3}, r"no parameter 'max_dept'\. Did you mean 'max_depth'\?"),
        ({"n_estimator": 3}, "Did you mean 'n_estimators'"),
        ({"callbacks": []}, "takes no callbacks here"),
        ({"num_class": 3}, "the outcome says how many"),
        ({"num_boost_round": 3}, "is called n_estimators"),
        ({"objective": lambda y, p: (p - y, p * 0 + 1)}, "objective= must be a name"),
        ({"eval_metric": ["auc", max]}, r"use model=xgboost\.XGBClassifier"),
        ({"n_estimators": 0}, "n_estimators must be 1 or more, not 0"),
        ({"early_stopping_rounds": 2.5}, "early_stopping_rounds must be an integer"),
        ({"random_state": np.random.default_rng(0)}, "random_state must be an integer"),
        ({"validation": 20}, "a share between 0 and 1, not 20"),
        ({"curves": "auc"}, "curves must be True or False"),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters, message):
    with pytest.raises(ModelError, match=message):
        XGBoost(**parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"validation": 0.3}, "validation= means nothing without early stopping"),
        ({"refit": False}, "refit= means nothing without early stopping"),
        ({"eval_metric": "auc"}, "eval_metric= means nothing where nothing is watched"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(parameters, message):
    data = pd.DataFrame({"y": [0, 1] * 10, "x": np.arange(20.0)})
    with pytest.raises(ModelError, match=message):
        cv("y ~ x", data, model=XGBoost(**parameters), k=2, seed=1)


def test_every_parameter_of_the_estimators_is_known():
    """Those that this version of the library has, and what is said of the others."""
    given_ = inspect.signature(xgboost.XGBModel.__init__).parameters
    names = [name for name in given_ if name not in ("self", "kwargs")]
    refused = []
    for name in names:
        try:
            XGBoost(**{name: 0.5 if name != "n_estimators" else 5})
        except ModelError as error:
            refused.append((name, str(error)))
    assert not [name for name, error in refused if "has no parameter" in error]


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_a_metric_of_two_classes_is_no_number_where_one_is_held_out():
    training = sample("binary", n=12)
    frame = pd.DataFrame(training.X[:, 1:3], columns=["a", "b"])
    frame["y"] = training.y
    model = XGBoost(n_estimators=3, curves=True, eval_metric=["auc", "logloss"])
    counted = "learning curve of auc is not a number .* of 12 of 12 folds"
    with pytest.warns(UndefinedMetricWarning, match=counted):
        result = cv("y ~ a + b", frame, model=model, scheme="loocv")
    curves = result.learning_curves
    held = curves.groupby("metric")["held_out"]
    assert held.count().to_dict() == {"auc": 0, "logloss": 36}
    assert curves["training"].notna().all()


def test_rounds_are_not_stopped_by_what_is_no_number():
    training = replace(sample("binary", n=12), y=(np.arange(12) == 0).astype(int))
    model = XGBoost(early_stopping_rounds=2, eval_metric="auc")
    with pytest.raises(ModelError, match=r"auc has nothing to go by.* larger val"):
        model.fit(training)
    unweighted = replace(training, weights=np.ones(12))
    assert XGBoost(early_stopping_rounds=2).fit(unweighted).chosen


def test_what_the_library_refuses_is_told_without_its_whereabouts():
    model = XGBoost(curves=True, eval_metric="acu")
    training = sample("binary")
    with pytest.raises(ModelError, match=r"^XGBoost: Unknown metric function acu$"):
        model.fit_following(training, training)


def test_a_whole_call_stops_inside_every_training_set():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    data["y"] = (data["a"] + rng.logistic(size=60) > 0).astype(int)
    model = XGBoost(early_stopping_rounds=3, learning_rate=0.5, curves=True)
    result = cv("y ~ a + b + c", data, model=model, k=3, seed=1)
    assert "early_stopping_rounds=3" in str(result)
    assert result.predictions["predicted"].between(0, 1).all()
    with pytest.raises(ModelError, match="at least one predictor"):
        cv("y ~ 1", data, model=XGBoost(), k=2, seed=1)
