"""Which models maximise a likelihood, and the linear predictors of their fits."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit, softmax
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_class_weight

from statcv.models import (
    Linear,
    Logit,
    Mean,
    Neighbors,
    Sklearn,
    Statsmodels,
    TrainingSet,
    XGBoost,
)
from statcv.models.likelihood import Bernoulli, Gaussian, Generalized
from statcv.models.linear_fits import LinearFits, joined_fits
from statcv.models.other_libraries.sklearn_traits import balanced_weights
from statcv.models.resolve import complete
from statcv.models.tuning import Tuned
from statcv.models.tuning.grid import Candidate

GLM, FAMILIES, LINKS = sm.GLM, sm.families, sm.families.links
N = 60


def training_set(kind="binary", *, intercept=True, holes=False, weighted=False):
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, N))
    a = 4 * a + 7
    lean = a / 4 - 1.5 - b + rng.logistic(size=N)
    y = {
        "binary": (lean > 0).astype(int),
        "multiclass": np.digitize(lean, [-1, 1]),
        "continuous": np.exp(lean / 4),
    }[kind]
    if holes:
        b = np.where(rng.uniform(size=N) < 0.2, np.nan, b)
    X = np.column_stack([np.ones(N), a, b] if intercept else [a, b])
    return TrainingSet(
        X,
        y,
        kind,
        {"binary": 2, "multiclass": 3, "continuous": 0}[kind],
        ("Intercept", "a", "b")[not intercept :],
        0 if intercept else None,
        rng.uniform(0.5, 2, N) if weighted else None,
        seed=1,
    )


def logistic(**more):
    return LogisticRegression(solver="newton-cholesky", tol=1e-12, **more)


def glm(family, *link):
    return Statsmodels(GLM, family=family(*link), fit={"tol": 1e-13})


# ---- which models have a likelihood ----

KNOWN = [
    (Logit(), Bernoulli()),
    (Logit(C=1.0), Bernoulli()),
    (Logit(firth=True), Bernoulli(firth=True)),
    (Linear(), Gaussian()),
    (Sklearn(LogisticRegression()), Bernoulli()),
    (Sklearn(LogisticRegression(C=np.inf)), Bernoulli()),
    (Sklearn(LogisticRegression(class_weight="balanced")), Bernoulli()),
    (Sklearn(make_pipeline(StandardScaler(), LogisticRegression())), Bernoulli()),
    (Sklearn(make_pipeline(None, "passthrough", Ridge())), Gaussian()),
    (Sklearn(make_pipeline(SimpleImputer(), LinearRegression())), Gaussian()),
    (Sklearn(Ridge(alpha=2)), Gaussian()),
    (Statsmodels(sm.Logit), Bernoulli()),
    (Statsmodels(sm.MNLogit), Bernoulli()),
    (Statsmodels(sm.OLS), Gaussian()),
    (Statsmodels(sm.WLS), Gaussian()),
    (Statsmodels(GLM), Gaussian()),
    (Statsmodels(GLM, family=None), Gaussian()),
    (glm(FAMILIES.Binomial), Bernoulli()),
    (glm(FAMILIES.Poisson), Generalized(FAMILIES.Poisson())),
    (Statsmodels(sm.Poisson), Generalized(FAMILIES.Poisson())),
    (Statsmodels(sm.Probit), Generalized(FAMILIES.Binomial(LINKS.Probit()))),
]
UNKNOWN = [
    *(Mean(), Neighbors(), XGBoost(), XGBoost(booster="gblinear")),
    *(DecisionTreeClassifier(), RandomForestClassifier(), KNeighborsClassifier()),
    *(SVC(), SVC(kernel="linear"), DummyClassifier(), RidgeClassifier(), Lasso()),
    LogisticRegression(solver="saga", penalty="elasticnet", l1_ratio=1.0),
    LogisticRegression(solver="saga", penalty="elasticnet", l1_ratio=0.5),
    LogisticRegression(solver="liblinear"),
    make_pipeline(StandardScaler(), LogisticRegression(solver="liblinear")),
    *(LinearRegression(positive=True), Ridge(alpha=[1.0, 2.0])),
    make_pipeline(PCA(2), LogisticRegression()),
    make_pipeline(PolynomialFeatures(), LogisticRegression()),
    make_pipeline(KNNImputer(), LogisticRegression()),
    make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression()),
    make_pipeline(SimpleImputer(missing_values=0), LogisticRegression()),
    make_pipeline(MinMaxScaler(clip=True), LogisticRegression()),
    make_pipeline(ColumnTransformer([]), LogisticRegression()),
    GridSearchCV(LogisticRegression(), {"C": [1, 2]}),
    Statsmodels(sm.QuantReg),
    Statsmodels(sm.RLM),
    Statsmodels(sm.GLM, family=FAMILIES.Poisson(), offset=1.0),
]


def as_model(model):
    return Sklearn(model) if hasattr(model, "get_params") else model


@pytest.mark.parametrize(("model", "likelihood"), KNOWN)
def test_a_regression_has_its_likelihood(model, likelihood):
    assert model.capabilities.likelihood == likelihood


@pytest.mark.parametrize("model", UNKNOWN)
def test_other_models_have_none(model):
    assert as_model(model).capabilities.likelihood is None


@pytest.mark.filterwarnings("ignore:.*booster=gblinear:UserWarning")
@pytest.mark.parametrize(
    "model",
    [
        *(Neighbors(), XGBoost(n_estimators=2), DecisionTreeClassifier()),
        XGBoost(booster="gblinear", n_estimators=2),
        make_pipeline(PCA(2), LogisticRegression()),
        make_pipeline(StandardScaler(), logistic(fit_intercept=False)),  # it shifts
    ],
)
def test_a_fit_without_a_linear_predictor_of_the_design_has_none(model):
    assert as_model(model).fit(training_set()).linear is None


def tuned(*models):
    candidates = [Candidate({"model": n}, as_model(m)) for n, m in enumerate(models)]
    return Tuned(candidates[0].model, {}, candidates, None, None, "best", 3)


@pytest.mark.parametrize(
    ("models", "likelihood"),
    [
        ((Logit(C=1.0), Logit(C=2.0), Logit()), Bernoulli()),
        ((Logit(), Logit(firth=True)), None),
        ((LogisticRegression(), SVC()), None),
        ((SVC(), LogisticRegression()), None),
        ((glm(FAMILIES.Poisson), glm(FAMILIES.Poisson)), KNOWN[-2][1]),
        ((glm(FAMILIES.Poisson), glm(FAMILIES.Gamma, LINKS.Log())), None),
        ((glm(FAMILIES.Binomial), glm(FAMILIES.Binomial, LINKS.Probit())), None),
    ],
)
def test_a_tuned_model_has_the_likelihood_that_its_candidates_share(models, likelihood):
    assert tuned(*models).capabilities.likelihood == likelihood


def test_families_are_equal_by_kind_link_and_parameters():
    def of(family, *link, **more):
        return Generalized(family(*link, **more))

    negative = FAMILIES.NegativeBinomial
    assert of(FAMILIES.Poisson) == of(FAMILIES.Poisson, LINKS.Log())
    assert hash(of(FAMILIES.Poisson)) == hash(of(FAMILIES.Poisson))
    assert of(FAMILIES.Poisson) != of(FAMILIES.Poisson, LINKS.Sqrt())
    assert of(FAMILIES.Poisson) != of(FAMILIES.Gamma, LINKS.Log())
    assert of(FAMILIES.Poisson) != Bernoulli()
    assert of(negative, alpha=0.5) == of(negative, alpha=0.5)
    assert of(negative, alpha=0.5) != of(negative, alpha=0.7)
    assert of(FAMILIES.Tweedie, var_power=1.2) != of(FAMILIES.Tweedie, var_power=1.5)
    assert pickle.loads(pickle.dumps(of(FAMILIES.Poisson))) == of(FAMILIES.Poisson)


# ---- the likelihoods themselves ----

LIKELIHOODS = [
    (Bernoulli(), sm.families.Binomial()),
    (Gaussian(), sm.families.Gaussian()),
    *(
        (Generalized(family), family)
        for family in (
            FAMILIES.Poisson(),
            FAMILIES.Binomial(LINKS.Probit()),
            FAMILIES.Binomial(LINKS.CLogLog()),
            FAMILIES.Gamma(LINKS.Log()),
            FAMILIES.Gaussian(LINKS.Log()),
            FAMILIES.NegativeBinomial(alpha=0.7),
        )
    ),
]


@pytest.mark.parametrize(("likelihood", "family"), LIKELIHOODS)
def test_derivatives_of_the_likelihood_are_differences(likelihood, family):
    rng = np.random.default_rng(1)
    eta = rng.uniform(-1.2, 0.8, 40)
    y = rng.integers(0, 2, 40).astype(float)
    y = y + 0.5 if isinstance(family, FAMILIES.Gamma) else y

    def log(at):
        return family.loglike_obs(y, family.link.inverse(at), scale=1.0)

    h = 1e-5
    slope = (log(eta + h) - log(eta - h)) / (2 * h)
    np.testing.assert_allclose(likelihood.residual(y, eta), slope, rtol=1e-5, atol=1e-8)
    bend = likelihood.residual(y, eta - h) - likelihood.residual(y, eta + h)
    np.testing.assert_allclose(
        likelihood.curvature(y, eta), bend / (2 * h), rtol=1e-5, atol=1e-8
    )
    mean = family.link.inverse(eta)
    np.testing.assert_allclose(likelihood.link(mean), eta, rtol=1e-9)
    found = likelihood.mean(eta[:, None])  # along the last axis there is one class
    np.testing.assert_allclose(found, mean[:, None], rtol=1e-12)


def test_derivatives_of_the_likelihood_of_several_classes_are_differences():
    rng = np.random.default_rng(1)
    eta, y = rng.normal(size=(20, 3)), rng.integers(0, 3, 20)
    own = rng.normal(size=(20, 3))
    like, h = Bernoulli(), 1e-6

    def log(at):
        return np.log(softmax(at, axis=1)[np.arange(20), y])

    along = (log(eta + h * own) - log(eta - h * own)) / (2 * h)
    found = (like.residual(y, eta) * own).sum(axis=1)
    np.testing.assert_allclose(found, along, atol=1e-8)
    p = like.curvature(y, eta)
    curved = (p * own**2).sum(axis=1) - (p * own).sum(axis=1) ** 2
    bend = like.residual(y, eta - h * own) - like.residual(y, eta + h * own)
    np.testing.assert_allclose(curved, (bend * own).sum(axis=1) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(like.mean(eta), p, rtol=1e-12)
    np.testing.assert_allclose(like.mean(like.link(p)), p, rtol=1e-12)


@pytest.mark.parametrize("shape", [(7,), (4, 7), (2, 4, 7)])
@pytest.mark.parametrize("classes", [1, 3])
def test_means_of_many_linear_predictors_have_their_shape(classes, shape):
    eta = np.random.default_rng(1).normal(size=(*shape, classes))
    mean = Bernoulli().mean(eta)
    assert mean.shape == eta.shape
    expected = softmax(eta, axis=-1) if classes > 1 else expit(eta)
    np.testing.assert_allclose(mean, expected, rtol=1e-12)
    for other in (Gaussian(), Generalized(FAMILIES.Gaussian())):
        np.testing.assert_allclose(other.mean(eta), eta)


@pytest.mark.parametrize("p", [np.array([0.0, 1.0]), np.array([[0.0, 0.0, 1.0]])])
def test_probabilities_of_0_and_1_have_finite_linear_predictors(p):
    eta = Bernoulli().link(p)
    assert np.isfinite(eta).all()
    back = Bernoulli().mean(eta if p.ndim > 1 else eta[:, None])
    np.testing.assert_allclose(back.reshape(p.shape), p, atol=1e-14)


def test_residuals_keep_their_digits_and_outcomes_may_be_shares():
    far = Bernoulli().residual(np.array([1, 0]), np.array([40.0, -40.0]))
    np.testing.assert_allclose(far, [np.exp(-40), -np.exp(-40)], rtol=1e-12)
    share = Bernoulli().residual(np.array([0.3]), np.array([0.0]))
    np.testing.assert_allclose(share, [-0.2])


# ---- the linear predictors of fits ----

FITS = {
    "logit": (Logit(), {}),
    "ridge": (Logit(C=0.3), {}),
    "classes": (Logit(), {"kind": "multiclass"}),
    "classes, ridge": (Logit(C=0.3), {"kind": "multiclass"}),
    "least squares": (Linear(), {"kind": "continuous"}),
    "sklearn": (logistic(C=0.2), {}),
    "sklearn, classes": (logistic(C=0.2), {"kind": "multiclass"}),
    "no intercept": (logistic(C=0.2, fit_intercept=False), {}),
    "an intercept of its own": (logistic(C=0.2), {"intercept": False}),
    "class weights": (logistic(class_weight={1: 4}), {}),
    "balanced": (logistic(class_weight="balanced"), {}),
    "balanced classes": (logistic(class_weight="balanced"), {"kind": "multiclass"}),
    **{
        type(scaler).__name__: (make_pipeline(scaler, logistic(C=0.2)), {})
        for scaler in (
            StandardScaler(),
            StandardScaler(with_mean=False),
            MinMaxScaler(),
            MaxAbsScaler(),
            RobustScaler(),
        )
    },
    "filled, then scaled": (
        make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), logistic()),
        {"holes": True},
    ),
    "scaled, then filled": (
        make_pipeline(RobustScaler(), SimpleImputer(), StandardScaler(), logistic()),
        {"holes": True, "intercept": False},
    ),
    "Ridge": (Ridge(alpha=3.0), {"kind": "continuous"}),
    "LinearRegression": (LinearRegression(), {"kind": "continuous"}),
    "GLM": (glm(FAMILIES.Binomial), {}),
    "gamma": (glm(FAMILIES.Gamma, LINKS.Log()), {"kind": "continuous"}),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("name", FITS)
def test_a_linear_predictor_predicts_and_solves_the_equations(name, weighted):
    """The weighted residuals, times the design, equal the pull of the ridge."""
    given, more = FITS[name]
    model, training = as_model(given), training_set(weighted=weighted, **more)
    fit, likelihood = model.fit(training), model.capabilities.likelihood
    linear = fit.linear
    assert len(linear) == 1
    X, beta, penalty = training.X, linear.coefficients[0], linear.penalty[0]
    if linear.filled is not None:
        X = np.where(np.isnan(X), linear.filled[0], X)
    if linear.constant is not None:
        X = np.column_stack([X, np.ones(N)])
        beta = np.concatenate([beta, linear.constant])
        penalty = np.append(penalty, 0.0)
    eta, predicted = X @ beta, fit.predict(training.X)
    mean = softmax(eta, axis=1) if eta.ndim == 2 else None
    mean = _inverse(likelihood, eta) if mean is None else mean
    np.testing.assert_allclose(mean, predicted, rtol=1e-9)
    weights = np.ones(N) if training.weights is None else training.weights
    if linear.class_weights is not None:
        weights = weights * linear.class_weights[0][training.y]
    shape = (-1, *[1] * (eta.ndim - 1))
    pull = weights.reshape(shape) * likelihood.residual(training.y, eta)
    used = np.isfinite(penalty)
    assert (beta[~used] == 0).all()
    left = X.T @ pull - np.where(used, penalty, 0.0).reshape(shape) * beta
    size = np.abs(X).T @ np.abs(pull)
    assert (np.abs(left[used]) <= 1e-6 * size[used]).all()


def _inverse(likelihood, eta):
    if likelihood == Bernoulli():
        return expit(eta)
    return eta if likelihood == Gaussian() else likelihood.family.link.inverse(eta)


def test_balanced_class_weights_are_those_of_scikit_learn():
    for weighted in (False, True):
        training = training_set("multiclass", weighted=weighted)
        theirs = compute_class_weight(
            "balanced",
            classes=np.arange(3),
            y=training.y,
            sample_weight=training.weights,
        )
        np.testing.assert_allclose(balanced_weights(training), theirs)


SAME = [
    ([Logit(), Statsmodels(sm.Logit), glm(FAMILIES.Binomial), logistic(C=np.inf)], {}),
    ([Logit(C=0.3), logistic(C=0.3), make_pipeline(None, logistic(C=0.3))], {}),
    ([Logit(C=0.3), logistic(C=0.3)], {"kind": "multiclass"}),
    ([Linear(), LinearRegression(), Statsmodels(sm.OLS)], {"kind": "continuous"}),
]


@pytest.mark.parametrize(("models", "more"), SAME)
def test_the_same_model_has_the_same_linear_predictor(models, more):
    training = training_set(**more)
    first, *others = [as_model(model).fit(training).linear for model in models]
    for other in others:
        np.testing.assert_allclose(other.penalty, first.penalty)
        found, expected = (one.coefficients for one in (other, first))
        if found.ndim == 3:  # an intercept without a penalty is free up to a constant
            found, expected = (one - one[..., :1] for one in (found, expected))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


# ---- several fits ----


def several(count, p=2, **more):
    made = np.arange(count * p, dtype=float).reshape(count, p)
    return LinearFits(made, np.zeros((count, p)), **more)


def test_fits_are_joined_in_order_if_all_have_the_same_form():
    joined = joined_fits([several(2), several(3)])
    assert len(joined) == 5
    np.testing.assert_array_equal(
        joined.chosen(np.array([2, 0])).coefficients[1], [0, 1]
    )
    assert joined.constant is None
    assert joined_fits([]) is None
    assert joined_fits([several(2), None]) is None
    assert joined_fits([several(2), several(2, p=3)]) is None
    assert joined_fits([several(2), several(2, constant=np.zeros(2))]) is None
    both = [several(2, balanced=np.ones(2, dtype=bool)) for _ in range(2)]
    assert joined_fits(both).balanced.tolist() == [True] * 4
    filled = several(1, filled=np.ones((1, 2)), class_weights=np.full((1, 2), 3.0))
    mixed = joined_fits([both[0], filled])
    assert mixed.balanced.tolist() == [True, True, False]
    np.testing.assert_array_equal(mixed.class_weights[1:], [[1, 1], [3, 3]])
    np.testing.assert_array_equal(mixed.filled[1:], [[np.nan] * 2, [1, 1]])


def test_a_fit_of_a_users_model_may_have_a_linear_predictor():
    class Mine:
        label = "mine"

        def check(self, kind):
            pass

        def fit(self, training):
            return Logit().fit(training)

    training = training_set()
    fit = complete(Mine()).fit(training)
    own = Logit().fit(training).linear
    np.testing.assert_array_equal(fit.linear.coefficients, own.coefficients)
    assert complete(Mine()).capabilities.likelihood is None


def test_a_subclass_that_fits_in_its_own_way_has_no_likelihood():
    class Shifted(Logit):
        def fit(self, training):
            return super().fit(replace(training, X=training.X**3))

    assert complete(Shifted()).capabilities.likelihood is None
    assert complete(Logit()).capabilities.likelihood == Bernoulli()
