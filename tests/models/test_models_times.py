"""Models of times to an event by other libraries: what they receive and predict."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy.stats import gumbel_l, logistic, norm
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from statcv import cv
from statcv.errors import ModelError, UndefinedMetricWarning
from statcv.models import TrainingSet, XGBoost
from statcv.models.cox import ProportionalHazards
from statcv.numeric.survival import events_of, times_of

# few records are censored by the first horizon, and not in every fold
pytestmark = pytest.mark.filterwarnings("ignore::statcv.errors.FoldWarning")

FORMULA, HORIZONS = "Surv(time, status) ~ x + g", [1.0, 3.0]


def data(n=60, seed=1, holes=0.0):
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=n), rng.choice(["low", "high"], n)
    time = rng.exponential(5 * np.exp(-x - (g == "high"))).round(1) + 0.1
    censored = rng.exponential(8, n).round(1) + 0.1
    status = (time <= censored).astype(int)
    x[rng.random(n) < holes] = np.nan
    return pd.DataFrame(
        {"x": x, "g": g, "time": np.minimum(time, censored), "status": status}
    )


def by_fold(result):
    """Yield the training rows of each fold, its held-out rows and their predictions."""
    frame, columns = result.predictions, list(result.design.outcome.columns)
    for fold, own in frame.groupby("fold"):
        held = own["row"].to_numpy()
        rest = np.setdiff1d(np.arange(result.plan.n), held)
        yield fold, rest, held, own[list(columns)].to_numpy()


class Exponential(BaseEstimator):
    """A constant hazard on each side of a cut of the first column."""

    def __init__(self, cut=0.0, random_state=None):
        self.cut, self.random_state = cut, random_state

    def fit(self, X, y):
        above = X[:, 0] > self.cut
        self.hazard_ = np.array(
            [y["event"][g].sum() / y["time"][g].sum() for g in (~above, above)]
        )
        return self

    def score(self, X, y):
        return -self.cut

    def predict(self, X):
        return np.log(self.hazard_[(X[:, 0] > self.cut).astype(int)])

    def predict_survival_function(self, X):
        return [lambda t, h=h: np.exp(-t * h) for h in np.exp(self.predict(X))]


class Steps(Exponential):
    """One step, as the step functions of scikit-survival have them."""

    def predict_survival_function(self, X):
        curve = type("Curve", (), {"x": np.array([2.0]), "y": np.array([0.4])})
        return np.array([curve for _ in X])


class Wrong(Exponential):
    def predict_survival_function(self, X):
        return [lambda t: 1.5 for _ in X]


class Bare(Exponential):
    def predict_survival_function(self, X):
        return np.full((len(X), 4), 0.5)


class Ranks(BaseEstimator):
    """Of scikit-survival by its module; it predicts a time, and no risk."""

    __module__ = "sksurv.svm"
    _predict_risk_score = False

    def fit(self, X, y):
        return self

    def predict(self, X):
        return -X[:, 0]


# ---- estimators in the manner of scikit-survival ----


@pytest.mark.parametrize("wrap", ["alone", "pipeline", "search"])
def test_an_estimator_receives_events_and_times_and_predicts_a_risk(wrap):
    frame, model = data(30), Exponential()
    if wrap == "pipeline":
        model = make_pipeline(StandardScaler(with_std=False), Exponential(0.2))
    elif wrap == "search":
        model = GridSearchCV(Exponential(), {"cut": [0.0, 0.5]}, cv=2)
    result = cv(FORMULA, frame, model=model, horizon=HORIZONS, k=5, seed=2)
    x, time, event = (frame[name].to_numpy() for name in ("x", "time", "status"))
    for _, rest, held, found in by_fold(result):
        cut = x[rest].mean() + 0.2 if wrap == "pipeline" else 0.0
        above = x[rest] > cut
        hazard = [event[rest][g].sum() / time[rest][g].sum() for g in (~above, above)]
        own = np.where(x[held] > cut, hazard[1], hazard[0])
        risks = [1 - np.exp(-own * t) for t in HORIZONS]
        np.testing.assert_allclose(found, np.column_stack([np.log(own), *risks]))
    assert 0.5 < float(result.estimate("harrell_c")) < 1


def test_a_survival_function_is_1_before_its_first_step_and_keeps_its_last_value():
    result = cv(FORMULA, data(), model=Steps(), horizon=[1.0, 2.0, 9.0], k=3, seed=1)
    for _, _, _, found in by_fold(result):
        np.testing.assert_allclose(found[:, 1:], np.tile([0.0, 0.6, 0.6], (20, 1)))


def test_an_estimator_that_predicts_times_ranks_by_their_negative():
    frame = data()
    result = cv(FORMULA, frame, model=Ranks(), k=3, seed=1)
    for _, _, held, found in by_fold(result):
        np.testing.assert_array_equal(found[:, 0], frame["x"].to_numpy()[held])
    assert {m.name for m in result.chosen_metrics} <= {"harrell_c", "uno_c"}


@pytest.mark.parametrize(
    ("model", "more", "message"),
    [
        (Ranks(), {}, "Ranks predicts ranks and no risk by a time: leave horizon= out"),
        (Wrong(), {}, "of Wrong returned 1.5, which is not a probability"),
        (Bare(), {}, "of Bare must return one function of time for each record"),
        (Exponential(), {"weights": "w"}, "Exponential takes no weights"),
        (
            RandomForestRegressor(),
            {},
            "model='xgboost', or .* sksurv.ensemble.RandomSurvivalForest",
        ),
        (xgboost.XGBRegressor(), {}, "XGBRegressor does not fit a time-to-event"),
        (XGBoost(objective="reg:squarederror"), {}, "must be 'survival:cox' or"),
    ],
)
def test_what_does_not_work_is_said_in_one_sentence(model, more, message):
    frame = data().assign(w=1.0)
    with pytest.raises(ModelError, match=message):
        cv(FORMULA, frame, model=model, horizon=HORIZONS, k=3, seed=1, **more)


@pytest.mark.parametrize(
    "model",
    [
        Exponential(),
        XGBoost(objective="survival:aft"),
        xgboost.XGBRegressor(objective="survival:cox"),
    ],
)
def test_a_model_of_times_refuses_other_outcomes(model):
    with pytest.raises(ModelError, match=r"time-to-event|Surv\(time, status\)"):
        cv("x ~ g", data(), model=model, k=3, seed=1)


@pytest.mark.parametrize("wrap", [False, True])
def test_a_forest_of_scikit_survival_predicts_as_in_its_own_fits(wrap):
    ensemble = pytest.importorskip("sksurv.ensemble")
    frame = data(50)
    forest = ensemble.RandomSurvivalForest(n_estimators=8, random_state=3)
    model = make_pipeline(StandardScaler(), forest) if wrap else forest
    result = cv(FORMULA, frame, model=model, horizon=HORIZONS, k=4, seed=1)
    X, y = result.design.matrix[:, 1:], result.design.y
    outcome = np.rec.fromarrays([events_of(y), times_of(y)], names="event, time")
    for _, rest, held, found in by_fold(result):
        model.fit(X[rest], outcome[rest])
        curves = model.predict_survival_function(X[held])
        risks = [[1 - curve(time) for time in HORIZONS] for curve in curves]
        np.testing.assert_array_equal(
            found, np.column_stack([model.predict(X[held]), risks])
        )


def test_estimators_of_scikit_survival_draw_by_the_seed_and_rank_by_risk():
    ensemble = pytest.importorskip("sksurv.ensemble")
    linear = pytest.importorskip("sksurv.linear_model")
    frame = data(50)
    forest = ensemble.RandomSurvivalForest(n_estimators=5)
    first, again = (cv(FORMULA, frame, model=forest, k=4, seed=7) for _ in range(2))
    assert first.predictions.equals(again.predictions)
    for model in (linear.IPCRidge(), linear.CoxPHSurvivalAnalysis()):
        result = cv(FORMULA, frame, model=model, k=4, seed=1)
        assert float(result.estimate("harrell_c")) > 0.6


# ---- lifelines ----


class RegressionFitter:
    """A regression of lifelines by its module: a constant hazard for each sign of x."""

    __module__ = "lifelines.fitters"

    def fit(self, df, duration_col, event_col, weights_col=None):
        w = df[weights_col] if weights_col else np.ones(len(df))
        events, time = w * df[event_col], w * df[duration_col]
        above = df["x0"] > 0
        self.hazard = [events[g].sum() / time[g].sum() for g in (~above, above)]

    def predict_log_partial_hazard(self, df):
        return pd.Series(np.log(np.where(df["x0"] > 0, *self.hazard[::-1])))

    def predict_survival_function(self, df, times):
        hazard = np.exp(self.predict_log_partial_hazard(df).to_numpy())
        return pd.DataFrame(np.exp(-np.outer(times, hazard)), index=times)


class Medians(RegressionFitter):
    """One of accelerated times; its median is never reached where x > 0."""

    predict_log_partial_hazard = property()

    def predict_median(self, df):
        return pd.Series(np.where(df["x0"] > 0, np.inf, 2.0))


@pytest.mark.parametrize("weights", [None, "w"])
def test_a_regression_of_lifelines_is_copied_and_fitted_in_every_fold(weights):
    frame, model = data(40).assign(w=np.tile([1.0, 3.0], 20)), RegressionFitter()
    result = cv(
        FORMULA, frame, model=model, horizon=HORIZONS, weights=weights, k=4, seed=1
    )
    assert not hasattr(model, "hazard")
    w = frame["w"].to_numpy() if weights else np.ones(40)
    x, time, event = (frame[name].to_numpy() for name in ("x", "time", "status"))
    for _, rest, held, found in by_fold(result):
        low, high = (
            (w * event)[rest][g].sum() / (w * time)[rest][g].sum()
            for g in (x[rest] <= 0, x[rest] > 0)
        )
        own = np.where(x[held] > 0, high, low)
        risks = [1 - np.exp(-own * t) for t in HORIZONS]
        np.testing.assert_allclose(found, np.column_stack([np.log(own / low), *risks]))


def test_a_median_that_is_not_reached_has_no_score():
    frame = data(40)
    with pytest.warns(UndefinedMetricWarning, match="predicts NaN for"):
        result = cv(FORMULA, frame, model=Medians(), k=4, seed=1)
    for _, _, held, found in by_fold(result):
        unknown = frame["x"].to_numpy()[held] > 0
        np.testing.assert_array_equal(np.isnan(found[:, 0]), unknown)
        np.testing.assert_allclose(found[~unknown, 0], -np.log(2))


@pytest.mark.filterwarnings("ignore:Starting with pandas version 4.0")
def test_the_cox_regression_of_lifelines_ranks_as_that_of_this_package():
    lifelines = pytest.importorskip("lifelines")
    frame = data(50)
    there, here = (
        cv(FORMULA, frame, model=model, horizon=HORIZONS, k=4, seed=1)
        for model in (lifelines.CoxPHFitter(), "cox")
    )
    for one, other in zip(by_fold(there), by_fold(here), strict=True):
        away = one[3][:, 0] - other[3][:, 0]  # a constant: the predictor of the mean
        np.testing.assert_allclose(away, away[0], atol=1e-3)
        np.testing.assert_allclose(one[3][:, 1:], other[3][:, 1:], atol=0.05)


# ---- XGBoost ----


def cumulative(y, eta, horizon):
    """Breslow's cumulative baseline hazard, one event after the other."""
    times = times_of(y)
    ends = times[events_of(y) & (times <= horizon)]
    return sum(1 / np.exp(eta[times >= end]).sum() for end in ends)


@pytest.mark.filterwarnings("ignore:.*booster=gblinear:UserWarning")
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("booster", ["gbtree", "gblinear"])
def test_boosted_hazards_have_the_baseline_of_their_training_set(own, booster):
    frame = data(50)
    given = {"booster": booster, "n_estimators": 12, "random_state": 5, "n_jobs": 1}
    peer = xgboost.XGBRegressor(objective="survival:cox", **given)
    model = XGBoost(**given) if own else peer
    result = cv(FORMULA, frame, model=model, horizon=HORIZONS, k=4, seed=1)
    X, y = result.design.matrix[:, 1:], result.design.y
    for _, rest, held, found in by_fold(result):
        peer.fit(X[rest], y[rest])
        inside, outside = (
            peer.predict(X[rows], output_margin=True).astype(float)
            for rows in (rest, held)
        )
        np.testing.assert_allclose(found[:, 0], outside, rtol=1e-5, atol=1e-6)
        for place, horizon in enumerate(HORIZONS, 1):
            hazard = cumulative(y[rest], inside, horizon) * np.exp(outside)
            np.testing.assert_allclose(found[:, place], 1 - np.exp(-hazard), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "law"), [("normal", norm), ("logistic", logistic), ("extreme", gumbel_l)]
)
def test_accelerated_times_have_the_risks_of_their_distribution(name, law):
    given = {"objective": "survival:aft", "aft_loss_distribution": name}
    given |= {"aft_loss_distribution_scale": 0.7, "max_depth": 2}
    result = cv(
        FORMULA, data(50), model=XGBoost(**given), horizon=HORIZONS, k=4, seed=1
    )
    X, y = result.design.matrix[:, 1:], result.design.y
    for _, rest, held, found in by_fold(result):
        upper = np.where(events_of(y), times_of(y), np.inf)[rest]
        bounds = {"label_lower_bound": times_of(y)[rest], "label_upper_bound": upper}
        booster = xgboost.train(given, xgboost.QuantileDMatrix(X[rest], **bounds), 100)
        mean = booster.inplace_predict(X[held], predict_type="margin").astype(float)
        np.testing.assert_allclose(found[:, 0], -mean, rtol=1e-5)
        for place, horizon in enumerate(HORIZONS, 1):
            risk = law.cdf((np.log(horizon) - mean) / 0.7)
            np.testing.assert_allclose(found[:, place], risk, rtol=1e-4, atol=1e-12)


def test_boosted_hazards_take_weights_missing_values_curves_and_early_stopping():
    frame = data(80, holes=0.1).assign(w=np.tile([1.0, 2.0], 40))
    more = {"horizon": HORIZONS, "k": 4, "seed": 1, "na_action": "pass"}
    plain = cv(FORMULA, frame, model="xgboost", **more)
    for _, _, _, found in by_fold(plain):
        assert np.isfinite(found).all()
    weighted = cv(FORMULA, frame, model="xgboost", weights="w", **more)
    assert not weighted.predictions.equals(plain.predictions)
    model = XGBoost(curves=True, early_stopping_rounds=4, max_depth=2)
    followed = cv(FORMULA, frame, model=model, **more)
    assert set(followed.learning_curves["metric"]) == {"cox-nloglik"}


def test_a_weight_of_2_counts_in_the_baseline_as_two_records():
    rng = np.random.default_rng(4)
    y, eta = rng.exponential(size=30) * rng.choice([1, -1, 1], 30), rng.normal(size=30)
    w = rng.choice([1.0, 2.0], 30)
    training = TrainingSet(
        np.ones((30, 1)), y, "survival", 0, ("one",), 0, w, 0, horizons=(0.5, 2.0)
    )
    many = np.repeat(np.arange(30), w.astype(int))
    twice = replace(training, X=np.ones((len(many), 1)), y=y[many], weights=None)
    np.testing.assert_allclose(
        ProportionalHazards.of(training, eta).baseline,
        ProportionalHazards.of(twice, eta[many]).baseline,
    )
