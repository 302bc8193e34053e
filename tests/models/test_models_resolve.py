import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given
from hypothesis import strategies as st

from statcv.errors import ModelError
from statcv.folds import make_plan
from statcv.models import (
    MODELS,
    Linear,
    Logit,
    Mean,
    NegMean,
    Sklearn,
    Statsmodels,
    TrainingSet,
    XGBoost,
    resolve_model,
)


def training(y, kind, weights=None):
    classes = 0 if kind == "continuous" else int(y.max()) + 1
    X = np.ones((len(y), 1))
    return TrainingSet(X, y, kind, classes, ("Intercept",), 0, weights, 0)


@given(st.integers(2, 400), st.integers(2, 400), st.integers(0, 99))
def test_mean_ties_exactly_where_class_totals_are_equal(zeros, ones, seed):
    y = np.random.default_rng(seed).permutation(np.repeat([0, 1], [zeros, ones]))
    plan = make_plan("rloocv", y, "binary", seed=seed, repeats=2)
    for model, sign in ((Mean(), 1), (NegMean(), -1)):
        found = {
            float(
                model.fit(training(y[plan.train(split)], "binary")).predict(
                    y[:1, None]
                )[0]
            )
            for split in range(0, plan.n, 1 + plan.n // 10)
        }
        assert found == {sign * (ones - 1) / (zeros + ones - 2)}


def test_mean_is_the_weighted_share_or_mean():
    rng = np.random.default_rng(0)
    y, weights = rng.integers(0, 3, 50), rng.uniform(0.1, 2, 50)
    X = np.zeros((4, 1))
    shares = [np.average(y == k, weights=weights) for k in range(3)]
    found = Mean().fit(training(y, "multiclass", weights)).predict(X)
    np.testing.assert_allclose(found, [shares] * 4, atol=1e-15)
    numbers = y + 0.25
    found = Mean().fit(training(numbers, "continuous", weights)).predict(X)
    np.testing.assert_allclose(found, np.average(numbers, weights=weights), atol=1e-14)
    found = NegMean().fit(training(numbers, "continuous")).predict(X)
    np.testing.assert_array_equal(found, [-numbers.sum() / 50] * 4)


@pytest.mark.parametrize(
    ("given_", "kind", "family"),
    [
        (None, "binary", Logit),
        (None, "multiclass", Logit),
        (None, "continuous", Linear),
        ("logit", "binary", Logit),
        ("linear", "continuous", Linear),
        ("xgboost", "multiclass", XGBoost),
        ("mean", "continuous", Mean),
        ("negmean", "binary", NegMean),
        (smf.logit, "binary", Statsmodels),
    ],
)
def test_names_stand_for_models(given_, kind, family):
    assert isinstance(resolve_model(given_, kind), family)


def test_objects_are_taken_as_they_are():
    model = Logit(2.0)
    assert resolve_model(model, "binary") is model
    from sklearn.linear_model import Ridge

    assert isinstance(resolve_model(Ridge(), "continuous"), Sklearn)


@pytest.mark.parametrize(
    ("model", "kind", "message"),
    [
        ("logitt", "binary", r"there are logit, .* Did you mean 'logit'\?"),
        ("Linear", "continuous", r"Did you mean 'linear'\?"),
        (3, "binary", "neither a name nor"),
        (pd.DataFrame, "binary", "is a class"),
        ("logit", "continuous", "does not fit a continuous outcome"),
        ("linear", "multiclass", "does not fit a multiclass outcome"),
        (smf.logit, "continuous", "Logit needs an outcome of two classes"),
        (smf.ols, "multiclass", "MNLogit does"),
        (smf.mnlogit, "continuous", "MNLogit needs an outcome of classes"),
    ],
)
def test_what_is_no_model_for_the_outcome_is_refused(model, kind, message):
    with pytest.raises(ModelError, match=message) as caught:
        resolve_model(model, kind)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name", MODELS)
def test_every_named_model_has_a_label_and_its_own_repr(name):
    model = MODELS[name]()
    assert model.label
    assert "0x" not in repr(model)
