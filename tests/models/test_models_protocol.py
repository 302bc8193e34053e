"""Every model of the package follows the protocol; those of users are completed."""

import inspect
import pkgutil
from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import statcv as scv
from statcv import models
from statcv.engine import Setup
from statcv.errors import ModelError
from statcv.folds import make_plan
from statcv.formula import make_design
from statcv.models import (
    MODELS,
    Backward,
    Both,
    Capabilities,
    Cox,
    Fit,
    Forward,
    Linear,
    Logit,
    Mean,
    NegativeBinomial,
    NegMean,
    Neighbors,
    Points,
    Poisson,
    ProportionalOdds,
    Screen,
    Sklearn,
    Stacking,
    Statsmodels,
    TrainingSet,
    Updating,
    XGBoost,
    resolve_model,
)
from statcv.models.base import PlainFit
from statcv.models.batched import Folds, fit_all_folds
from statcv.models.imputation import Imputed
from statcv.models.likelihood import Bernoulli
from statcv.models.other_libraries.lifelines_model import Lifelines
from statcv.models.resolve import UserModel
from statcv.models.selection import Selection, Term
from statcv.models.thresholds import Thresholded
from statcv.models.tuning import Tuned
from statcv.models.tuning.resolve import Searched
from statcv.verbs.predicted_elsewhere import OtherSoftware


def training_set(kind="binary"):
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(40), rng.normal(size=(40, 2))])
    y = (X[:, 1] + rng.normal(size=40) > 0).astype(int)
    if kind == "survival":
        y, names = np.where(y, 1.0, -1.0) * (1 + np.arange(40) % 9), ("one", "a", "b")
        return TrainingSet(X, y, kind, 0, names, 0, None, seed=3, horizons=(4.0,))
    if kind == "multiclass":
        y = y + (X[:, 2] > 0.3)
        return TrainingSet(X, y, kind, 3, ("one", "a", "b"), 0, None, seed=3)
    if kind == "continuous":
        return TrainingSet(X, y + 0.0, kind, 0, ("one", "a", "b"), 0, None, seed=3)
    return TrainingSet(X, y, "binary", 2, ("Intercept", "a", "b"), 0, None, seed=3)


def kind_of(model):
    if isinstance(model, (Poisson, NegativeBinomial)):
        return "continuous"
    if isinstance(model, ProportionalOdds):
        return "multiclass"
    return "survival" if isinstance(model, (Cox, Lifelines)) else "binary"


def tuned():
    training = training_set()
    frame = pd.DataFrame(training.X[:, 1:], columns=["a", "b"]).assign(y=training.y)
    return scv.cv("y ~ a + b", frame, k=2, seed=1, tune={"C": [0.1, 1.0]}).learner


class Half:
    """A model of a user's own, with no more than the protocol demands."""

    label = "a half"

    def check(self, kind):
        pass

    def fit(self, training):
        return HalfFit()


class HalfFit:
    coefficients = None
    converged = True
    separated = False
    probabilities = True

    def predict(self, X):
        return np.full(len(X), 0.5)


class Medians:
    """A regression as those of lifelines, by which half have the event by 5."""

    def fit(self, df, duration_col, event_col):
        pass

    def predict_median(self, df):
        return np.full(len(df), 5.0)

    def predict_survival_function(self, df, times):
        return np.full((len(times), len(df)), 0.5)


FAMILIES = {
    Cox: Cox(),
    Linear: Linear(),
    Logit: Logit(),
    Mean: Mean(),
    NegMean: NegMean(),
    NegativeBinomial: NegativeBinomial(),
    Neighbors: Neighbors(),
    Poisson: Poisson(),
    ProportionalOdds: ProportionalOdds(),
    Sklearn: Sklearn(LogisticRegression()),
    Statsmodels: Statsmodels(sm.Logit),
    XGBoost: XGBoost(n_estimators=3),
}
TERMS = tuple(Term(name, (j,), frozenset(name)) for j, name in enumerate("ab", 1))
AROUND_OTHERS = {
    Backward: Backward(terms=TERMS),
    Both: Both(terms=TERMS),
    Forward: Forward(terms=TERMS),
    Screen: Screen(screen=1, terms=TERMS),
    Selection: Selection(terms=TERMS),
    Lifelines: Lifelines(Medians()),
    Points: Points({"a": 0.5}),
    Searched: Searched(GridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=2), None),
    Stacking: Stacking(),
    Thresholded: Thresholded(Logit(), "youden"),
    Tuned: tuned(),
    Updating: Updating({"Intercept": 0.1, "a": 0.5, "b": 0.2}),
    UserModel: UserModel(Half(), Capabilities()),
}
NOT_FITTED = {OtherSoftware: OtherSoftware()}
EVERY = {**FAMILIES, **AROUND_OTHERS, **NOT_FITTED}
FITTED = {**FAMILIES, **AROUND_OTHERS}


def protocol(of):
    return {name for name in vars(of) if not name.startswith("_")}


def test_every_model_of_the_package_is_tested_here():
    names = [m.name for m in pkgutil.walk_packages(models.__path__, "statcv.models.")]
    found = {
        one
        for name in names
        for one in vars(import_module(name)).values()
        if inspect.isclass(one) and hasattr(one, "fit") and hasattr(one, "check")
    }
    protocols = {one for one in found if getattr(one, "_is_protocol", False)}
    assert found - protocols == {*FITTED, Imputed}  # imputation reads columns of data


def test_every_family_is_public_and_all_names_are_families():
    assert {one.__name__ for one in FAMILIES} <= set(models.__all__)
    assert set(MODELS.values()) <= set(FAMILIES)
    assert set(FAMILIES) - set(MODELS.values()) == {Sklearn, Statsmodels}


@pytest.mark.parametrize("model", EVERY.values(), ids=lambda m: type(m).__name__)
def test_every_model_says_what_it_can_do(model):
    assert isinstance(model.label, str)
    assert model.label
    assert isinstance(model.capabilities, Capabilities)
    model.check(kind_of(model))
    assert resolve_model(model, kind_of(model)) is model
    able = model.capabilities
    if type(model) in FAMILIES:  # what it does not do it does not define
        assert able.fits_together == hasattr(model, "fit_folds")
        assert able.refits


@pytest.mark.parametrize("model", FITTED.values(), ids=lambda m: type(m).__name__)
def test_every_fit_has_all_that_a_fit_has(model):
    training = training_set(kind_of(model))
    fit = model.fit(training)
    assert {name for name in protocol(Fit) if hasattr(fit, name)} == protocol(Fit)
    assert isinstance(fit.converged, bool)
    assert isinstance(fit.separated, bool)
    predicted = fit.predict(training.X)
    # a model of times predicts the linear predictor, and the risk at each horizon
    columns = {"survival": (2,), "multiclass": (3,)}.get(kind_of(model), ())
    assert predicted.shape == (40, *columns)
    if not model.capabilities.uses_predictors:
        assert np.ptp(predicted) == 0


@pytest.mark.parametrize("model", FITTED.values(), ids=lambda m: type(m).__name__)
def test_models_fit_folds_together_where_they_say_so(model):
    records, out = training_set(kind_of(model)), [np.arange(10), np.arange(10, 30)]
    folds = Folds.leaving_out(out)
    folds = replace(folds, seeds=lambda fits: np.full(len(fits), 3))
    fitted = fit_all_folds(model, records, folds)
    assert (fitted is not None) == model.capabilities.fits_together
    if fitted is None:
        return
    for fit, rows in enumerate(out):
        alone = model.fit(folds.training_set(records, fit))
        found = fitted.predict(rows, np.full(len(rows), fit))
        assert np.abs(found - alone.predict(records.X[rows])).max() < 1e-8


@pytest.mark.parametrize("model", NOT_FITTED.values(), ids=lambda m: type(m).__name__)
def test_what_cannot_be_fitted_says_so(model):
    assert not model.capabilities.refits
    assert not model.capabilities.fits_together
    with pytest.raises(ModelError):
        model.fit(training_set())


def test_curves_follow_the_held_out_records():
    for model in (XGBoost(curves=True), Thresholded(XGBoost(curves=True), "youden")):
        able = Capabilities(follows_held_out=True, missing=True)
        assert model.capabilities == able
        records = training_set()
        assert model.fit_following(records, records).curves["logloss"].shape[1] == 2


@pytest.mark.parametrize(
    ("model", "needed"),
    [
        (Logit(), True),
        (Logit(C=np.inf), True),
        (Logit(C=1.0), False),
        (Logit(firth=True), True),
        (Thresholded(Logit(), "youden"), True),
        (tuned(), False),
        (Neighbors(), False),
    ],
)
def test_a_penalty_does_not_need_full_rank(model, needed):
    assert model.capabilities.needs_full_rank is needed


def test_a_model_around_another_passes_on_what_that_can_do():
    inner = tuned()
    assert inner.capabilities == replace(
        Logit(C=1.0).capabilities, fits_per_training_set=inner.fits_each
    )
    assert inner.fits_each > 2
    assert Thresholded(inner, "youden").capabilities == inner.capabilities


@pytest.mark.parametrize(
    ("estimator", "able"),
    [
        (LogisticRegression(), Capabilities(likelihood=Bernoulli())),
        (KNeighborsClassifier(), Capabilities(predicts_by_neighbors=True)),
        (DummyClassifier(), Capabilities(uses_predictors=False)),
        (DummyClassifier(strategy="uniform"), Capabilities()),
        (DummyClassifier(strategy="stratified"), Capabilities()),
    ],
)
def test_estimators_of_scikit_learn_have_those_of_their_last_step(estimator, able):
    assert Sklearn(estimator).capabilities == able
    pipeline = make_pipeline(StandardScaler(), estimator)
    assert Sklearn(pipeline).capabilities == able


# ---- models of users ----


def test_an_object_without_capabilities_gets_the_defaults():
    made = resolve_model(Half(), "binary")
    assert (made.label, made.capabilities) == ("a half", Capabilities())
    fit = made.fit(training_set())
    assert (fit.chosen, fit.curves, fit.coefficients) == (None, None, None)


class Folded(Half):
    """Fits folds together, as it has a method for that."""

    def fit(self, training):
        return HalfFit()

    def fit_folds(self, records, folds):
        return Mean().fit_folds(records, folds)


class Follows(Half):
    def fit_following(self, training, held_out):
        fit = HalfFit()
        fit.curves = {"n": np.array([[len(training.y), len(held_out.y)]])}
        return fit


class Inherits(Folded):
    def fit(self, training):
        return HalfFit()


def test_an_object_without_capabilities_can_do_what_it_has_methods_for():
    together = resolve_model(Folded(), "binary")
    assert together.capabilities == Capabilities(fits_together=True)
    folds = Folds.leaving_out([[0], [1]])
    assert len(fit_all_folds(together, training_set(), folds).converged) == 2
    follows = resolve_model(Follows(), "binary")
    assert follows.capabilities == Capabilities(follows_held_out=True)
    fit = follows.fit_following(training_set(), training_set())
    assert fit.curves["n"].tolist() == [[40, 40]]
    assert resolve_model(Inherits(), "binary").capabilities == Capabilities()


def test_what_the_fit_of_a_users_model_chose_is_kept():
    class Chooses(Half):
        def fit(self, training):
            fit = HalfFit()
            fit.chosen = {"share": 0.5}
            return fit

    fit = resolve_model(Chooses(), "binary").fit(training_set())
    assert (fit.chosen, fit.curves) == ({"share": 0.5}, None)


def test_declared_capabilities_are_taken_as_they_are():
    class Threads(Half):
        capabilities = Capabilities(releases_gil=True)

    model = Threads()
    assert resolve_model(model, "binary") is model


@pytest.mark.parametrize(
    ("able", "message"),
    [
        ({"fits_together": True}, r"must be a statcv.models.Capabilities"),
        (Capabilities(fits_together=True), r"fits_together=True, but no fit_folds\("),
        (Capabilities(follows_held_out=True), r"but no fit_following\(\)"),
    ],
)
def test_a_capability_without_its_method_is_an_error(able, message):
    class Forgot(Half):
        capabilities = able

    with pytest.raises(ModelError, match=message):
        resolve_model(Forgot(), "binary")


class InItsOwnWay(Logit):
    def fit(self, training):
        return PlainFit(lambda X: np.full(len(X), 0.25))


class Declares(InItsOwnWay):
    capabilities = Capabilities()


class BothWays(Logit):
    def fit(self, training):
        return super().fit(training)

    def fit_folds(self, records, folds):
        return super().fit_folds(records, folds)


def test_a_subclass_that_fits_in_its_own_way_is_fitted_fold_by_fold():
    training = training_set()
    frame = pd.DataFrame(training.X[:, 1:], columns=["a", "b"]).assign(y=training.y)
    model = resolve_model(InItsOwnWay(C=2.0), "binary")
    able = Logit(C=2.0).capabilities
    assert model.capabilities == replace(able, fits_together=False, likelihood=None)
    assert (
        scv.cv("y ~ a", frame, model=model, k=2, seed=1).held.predicted == 0.25
    ).all()
    for other in (Declares(), Logit()):
        assert resolve_model(other, "binary") is other
    both = resolve_model(BothWays(C=2.0), "binary").capabilities
    assert both == replace(able, likelihood=None)


@pytest.mark.parametrize(
    ("model", "formula", "together"),
    [
        (Logit(), "y ~ a", True),
        (Logit(), "y ~ scale(a)", True),
        (Linear(), "y ~ bs(a, df=4)", True),
        (Thresholded(Logit(), "f1"), "y ~ scale(a)", True),
        (tuned(), "y ~ scale(a)", True),
        (Neighbors(), "y ~ scale(a)", True),
        (resolve_model(Folded(), "binary"), "y ~ a", True),
        (resolve_model(Folded(), "binary"), "y ~ scale(a)", False),
        (XGBoost(), "y ~ a", False),
        (Thresholded(Logit(), "f1"), "y ~ a", True),
    ],
)
def test_folds_are_one_problem_unless_something_forbids_it(model, formula, together):
    training = training_set()
    frame = pd.DataFrame(training.X[:, 1:], columns=["a", "b"]).assign(y=training.y)
    design = make_design(formula, frame, scope={})
    setup = Setup(design, make_plan("loocv", design.y, "binary"), model, seed=1)
    assert setup.fits_together is together
