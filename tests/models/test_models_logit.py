import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression

from statcv import cv
from statcv.errors import ModelError, SeparationWarning, UnseenLevelWarning
from statcv.models import Linear, Logit, TrainingSet

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning"
)


def training(X, y, kind="binary", weights=None, intercept=0):
    return TrainingSet(
        X=X,
        y=y,
        kind=kind,
        n_classes=0 if kind == "continuous" else int(y.max()) + 1,
        names=tuple(f"x{j}" for j in range(X.shape[1])),
        intercept=intercept,
        weights=weights,
        seed=0,
    )


def sample(n=120, p=4, classes=2, seed=0):
    """Draw a design with intercept, an outcome that depends on it, and weights."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p))])
    utility = X @ rng.normal(size=(p + 1, classes)) + rng.gumbel(size=(n, classes))
    return X, utility.argmax(axis=1), rng.integers(1, 6, n).astype(float)


def glm(X, y, **keywords):
    model = sm.GLM(y, X, family=sm.families.Binomial(), **keywords)
    return model.fit(tol=1e-12, maxiter=200)


@given(seed=st.integers(0, 10**6))
@example(seed=247)  # the classes are separated
@settings(max_examples=20)
def test_weights_are_frequencies(seed):
    X, y, weights = sample(seed=seed)
    fit = Logit().fit(training(X, y, weights=weights))
    if fit.separated:
        return  # there is no maximum
    expected = glm(X, y, freq_weights=weights).predict(X)
    np.testing.assert_allclose(fit.predict(X), expected, atol=1e-8)
    times = weights.astype(int)
    repeated = Logit().fit(training(X.repeat(times, axis=0), y.repeat(times)))
    np.testing.assert_allclose(fit.predict(X), repeated.predict(X), atol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
def test_weight_zero_leaves_a_row_out(classes):
    X, y, weights = sample(classes=classes)
    kind = "binary" if classes == 2 else "multiclass"
    weights[::3] = 0
    used = weights > 0
    fit = Logit().fit(training(X, y, kind, weights))
    left = Logit().fit(training(X[used], y[used], kind, weights[used]))
    np.testing.assert_allclose(fit.predict(X), left.predict(X), atol=1e-12)
    assert fit.converged
    assert not fit.separated


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [0, None])
@pytest.mark.parametrize("C", [1e-3, 0.5, 30.0])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_ridge_is_that_of_scikit_learn(classes, C, intercept, weighted):
    X, y, weights = sample(n=150, classes=classes, seed=3)
    weights = weights if weighted else None
    # newton-cholesky fits one class against the rest before scikit-learn 1.6
    solver = "newton-cholesky" if classes == 2 else "newton-cg"
    peer = LogisticRegression(
        C=C, tol=1e-12, solver=solver, max_iter=1000, fit_intercept=False
    )
    columns = X
    if intercept == 0:
        peer.set_params(fit_intercept=True)
        columns = X[:, 1:]
    peer.fit(columns, y, sample_weight=weights)
    kind = "binary" if classes == 2 else "multiclass"
    fit = Logit(C).fit(training(X, y, kind, weights, intercept))
    expected = peer.predict_proba(columns)
    expected = expected[:, 1] if classes == 2 else expected
    np.testing.assert_allclose(fit.predict(X), expected, atol=1e-7)
    assert fit.converged
    if classes == 2:
        found = np.array(list(fit.coefficients.values()))
        if intercept == 0:
            assert found[0] == pytest.approx(peer.intercept_[0], abs=1e-6)
            found = found[1:]
        np.testing.assert_allclose(found, peer.coef_[0], atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_multinomial_is_that_of_statsmodels(seed):
    X, y, _ = sample(n=200, classes=4, seed=seed)
    fit = Logit().fit(training(X, y, "multiclass"))
    peer = sm.MNLogit(y, X).fit(disp=0, method="newton", maxiter=100, tol=1e-12)
    np.testing.assert_allclose(fit.predict(X), peer.predict(X), atol=1e-8)
    np.testing.assert_allclose(
        list(fit.coefficients.values()), np.ravel(peer.params, order="F"), atol=1e-6
    )


def test_two_classes_as_multinomial_are_the_binary_fit():
    X, y, weights = sample()
    binary = Logit().fit(training(X, y, weights=weights)).predict(X)
    both = Logit().fit(training(X, y, "multiclass", weights)).predict(X)
    np.testing.assert_allclose(both[:, 1], binary, atol=1e-10)
    np.testing.assert_allclose(both.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("n", [60, 2000])
def test_badly_scaled_columns_agree_with_glm_on_well_scaled_ones(n):
    X, y, _ = sample(n=n, p=4)
    factor = np.array([1, 1e6, 1e-6, 1e6, 1e-3])
    expected = glm(X, y).predict(X)
    found = Logit().fit(training(X * factor, y)).predict(X * factor)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    line = Linear().fit(training(X * factor, X.sum(axis=1) + y, "continuous"))
    expected = sm.OLS(X.sum(axis=1) + y, X).fit().predict(X)
    np.testing.assert_allclose(line.predict(X * factor), expected, atol=1e-8)
    many = Logit().fit(training(X * factor, y, "multiclass")).predict(X * factor)
    np.testing.assert_allclose(many[:, 1], found, atol=1e-8)


def test_far_from_zero_columns_agree_with_glm_on_centred_ones():
    X, y, _ = sample(n=80)
    far = X.copy()
    far[:, 1] += 1e5
    expected = glm(X, y).predict(X)
    found = Logit().fit(training(far, y)).predict(far)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_rounding_of_large_columns_is_not_taken_for_no_convergence(seed):
    rng = np.random.default_rng(seed)
    far = np.array([1e4, -3e4, 1e5]) + rng.normal(size=(30, 3))
    y = (far[:, 0] - 1e4 + rng.logistic(size=30) > 0).astype(int)
    names = ("one", "a", "b", "c")
    X = np.column_stack([np.ones(30), far])
    training = TrainingSet(X, y, "binary", 2, names, 0, None, seed=0)
    assert Logit().fit(training).converged


def separable(X, y):
    """Say by a linear programme whether some direction separates the classes.

    Albert & Anderson 1984: the estimate does not exist if and only if a direction
    is nowhere on the wrong side, and somewhere on the right one.
    """
    side = X * np.where(y == 1, 1, -1)[:, None]
    best = linprog(
        -side.sum(axis=0),
        A_ub=-side,
        b_ub=np.zeros(len(side)),
        bounds=[(-1, 1)] * X.shape[1],
    )
    return -best.fun > 1e-6


@given(st.integers(0, 10**6), st.integers(12, 40), st.integers(1, 4), st.booleans())
@settings(max_examples=3 * settings.default.max_examples)
def test_separation_is_found_where_a_linear_programme_finds_it(seed, n, p, coarse):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p))])
    X = np.round(X) if coarse else X
    y = (X @ rng.normal(size=p + 1) * 2 + rng.logistic(size=n) > 0).astype(int)
    y[:2] = 0, 1
    fit = Logit().fit(training(X, y))
    assert fit.separated == separable(X, y)
    assert fit.converged
    assert np.isfinite(fit.predict(100 * X)).all()


def long_tailed(seed, n, tail=2.0):
    """Draw far outlying covariates and weights that differ by orders of magnitude.

    Records of little weight end far on the wrong side.
    """
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), np.exp(tail * rng.normal(size=(n, 3)))])
    y = (X[:, 1:] @ rng.normal(size=3) + rng.logistic(size=n) > 0).astype(int)
    weights = np.round(rng.exponential(size=n) ** 2, 3)
    used = weights > 0
    return training(X[used], y[used], weights=weights[used])


def decrement(records, C, beta):
    """Return what Newton's next step would gain, in the objective's unit, twice.

    The probability of the class that was not observed has all its digits, and so
    have sums of it.
    """
    sign = np.where(records.y == 1, 1.0, -1.0)
    ridge = np.full(records.X.shape[1], 0.0 if C is None else 1 / C)
    ridge[0] = 0.0
    against, observed = (
        np.exp(-np.logaddexp(0, side * sign * (records.X @ beta))) for side in (1, -1)
    )
    gradient = records.X.T @ (records.weights * sign * against) - ridge * beta
    root = np.sqrt(records.weights * against * observed)
    rows = np.vstack([records.X * root[:, None], np.diag(np.sqrt(ridge))])
    scale = np.sqrt((rows**2).sum(axis=0))
    R = np.linalg.qr(rows / scale, mode="r")
    return (np.linalg.solve(R.T, gradient / scale) ** 2).sum()


@pytest.mark.parametrize("C", [None, 1e8, 1e4, 1.0])
@pytest.mark.parametrize(
    ("n", "seeds"),
    [(20, [27, 285, 370, 575, 909, 966]), (40, [322, 490, 691, 799, 994])],
)
def test_records_far_on_the_wrong_side_do_not_stop_it(n, seeds, C):
    for seed in seeds:
        records = long_tailed(seed, n)
        fit = Logit(C).fit(records)
        assert fit.converged
        assert not fit.separated
        assert decrement(records, C, np.array(list(fit.coefficients.values()))) < 1e-15


def test_a_penalty_ends_what_separation_does_not():
    records = long_tailed(260, 20)
    assert Logit().fit(records).separated
    fit = Logit(1.0).fit(records)
    assert fit.converged
    assert not fit.separated
    assert decrement(records, 1.0, np.array(list(fit.coefficients.values()))) < 1e-15


@given(st.integers(0, 10**6), st.integers(15, 50), st.sampled_from([None, 1e8, 1.0]))
@settings(max_examples=2 * settings.default.max_examples)
def test_what_is_called_an_optimum_is_one(seed, n, C):
    records = long_tailed(seed, n, tail=1.5)
    if len(np.unique(records.y)) < 2:
        return
    fit = Logit(C).fit(records)
    beta = np.array(list(fit.coefficients.values()))
    scaled = records.X / np.abs(records.X).max(axis=0)
    if C is None:
        assert fit.separated == separable(scaled, records.y)
    if fit.converged and not fit.separated:
        assert decrement(records, C, beta) < 1e-14


def test_an_outlier_on_the_right_side_is_not_separation():
    X, y, _ = sample()
    X[0, 1:] = 60 * X[np.argmax(y), 1:]
    y[0] = 1
    fit = Logit().fit(training(X, y))
    assert np.abs(np.log(fit.predict(X)[0])) < 1e-9  # a fitted probability of 1
    assert not fit.separated


def test_more_classes_can_be_separated_too():
    rng = np.random.default_rng(1)
    x = np.repeat([0.0, 1.0, 2.0], 20) + rng.uniform(-0.7, 0.7, 60)
    y = np.repeat([0, 1, 2], 20)
    X = np.column_stack([np.ones(60), x])
    assert not Logit().fit(training(X, y, "multiclass")).separated
    X[:, 1] += 10 * (y == 2)
    assert Logit().fit(training(X, y, "multiclass")).separated
    assert not Logit(1.0).fit(training(X, y, "multiclass")).separated


def test_cv_names_the_folds_that_separate():
    rng = np.random.default_rng(2)
    n = 24
    data = pd.DataFrame({"x": np.arange(n) + rng.normal(0, 0.1, n)})
    data["y"] = (data["x"] > 11.5).astype(int)
    data.loc[[11, 12], "y"] = 1, 0  # without either of the two, all is separated
    folds = np.where(data.index == 11, 1, np.where(data.index == 12, 2, 3))
    data["fold"] = np.where(data.index < 8, 4, folds)
    with pytest.warns(SeparationWarning, match=r"2 of 4 folds \(fold 1, fold 2\)"):
        result = cv("y ~ x", data, scheme="fold", metrics="accuracy")
    assert result.folds["separated"].tolist() == [True, True, False, False]
    assert np.isfinite(result.predictions["predicted"]).all()


@pytest.mark.parametrize("kind", ["binary", "multiclass", "continuous"])
def test_dependent_columns_do_not_change_the_predictions(kind):
    X, y, weights = sample(classes=2 if kind == "binary" else 3)
    y = y + 0.5 if kind == "continuous" else y
    more = np.column_stack([X, X[:, 1] + X[:, 2], np.zeros(len(X)), 2 * X[:, 3]])
    model = Linear() if kind == "continuous" else Logit()
    full = model.fit(training(more, y, kind, weights))
    plain = model.fit(training(X, y, kind, weights))
    np.testing.assert_allclose(full.predict(more), plain.predict(X), atol=1e-9)


def test_a_level_absent_from_a_training_set_does_not_crash():
    data = pd.DataFrame({"g": list("aabbcc") * 5 + ["d"], "y": [0, 1] * 15 + [1]})
    with pytest.warns(UnseenLevelWarning, match=r"'d' of g is absent from 1 .*31\)"):
        result = cv(
            "y ~ g", data, scheme=np.arange(1, 32), model="linear", metrics="accuracy"
        )
    assert np.isfinite(result.predictions["predicted"]).all()


@pytest.mark.parametrize("C", [0, -1.0, "1", np.nan])
def test_a_strength_that_is_none_is_refused(C):
    with pytest.raises(ModelError, match="C must be a positive number"):
        Logit(C)


@pytest.mark.parametrize("C", [None, np.inf])
def test_no_strength_is_no_penalty(C):
    X, y, _ = sample()
    assert Logit(C).label == "logistic regression, unpenalised"
    fit = Logit(C).fit(training(X, y))
    np.testing.assert_allclose(fit.predict(X), glm(X, y).predict(X), atol=1e-8)


@pytest.mark.parametrize("model", [Logit(), Linear()])
def test_missing_covariates_are_refused(model):
    X, y, _ = sample()
    X[3, 1] = np.nan
    with pytest.raises(ModelError, match="cannot take missing covariates"):
        model.fit(training(X, y))


def test_weighted_least_squares_is_that_of_statsmodels():
    X, y, weights = sample()
    z = X.sum(axis=1) + y
    weights[:5] = 0
    fit = Linear().fit(training(X, z, "continuous", weights))
    expected = sm.WLS(z, X, weights=weights).fit().params
    np.testing.assert_allclose(list(fit.coefficients.values()), expected, atol=1e-10)
