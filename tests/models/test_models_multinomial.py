"""More than two classes: optima, separation, and all folds against each alone."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.datasets import load_iris

from statcv import cv
from statcv.errors import FoldWarning, ModelError
from statcv.folds import make_plan
from statcv.models import Logit, TrainingSet
from statcv.models.batched import (
    Folds,
    by_linear_predictor,
    find_centre,
    fit_class_folds,
)
from statcv.numeric.logistic import softmax

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning"
)


SCHEMES = {
    "loocv": {},
    "rloocv": {"repeats": 2},
    "rloocv weighted": {"scheme": "rloocv", "rebalance": "weight"},
    "rloocv upsampled": {"scheme": "rloocv", "rebalance": "upsample"},
    "thirds": {"scheme": "rkfold", "k": 3},
    "fifths weighted": {"scheme": "stratified_kfold", "k": 5, "rebalance": "weight"},
    "montecarlo": {"repeats": 5},
    "bootstrap": {"repeats": 6},
}


def records_of(X, y, weights=None, intercept=0):
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    classes = int(y.max()) + 1
    return TrainingSet(X, y, "multiclass", classes, names, intercept, weights, seed=0)


def sample(seed, n, p, classes=3, signal=1.0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p))])
    utility = X[:, 1:] @ rng.normal(size=(p, classes)) * signal
    y = (utility + rng.gumbel(size=(n, classes))).argmax(axis=1)
    y[: 3 * classes] = np.arange(3 * classes) % classes
    return records_of(X, y)


def plan_of(name, records, seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldWarning)
        arguments = {"scheme": name} | SCHEMES[name]
        return make_plan(y=records.y, kind="multiclass", seed=seed, **arguments)


def used(training):
    return slice(None) if training.weights is None else training.weights > 0


def has_all(records, folds):
    sets = (folds.training_set(records, fit) for fit in range(len(folds)))
    return all(len(np.unique(one.y[used(one)])) == records.n_classes for one in sets)


def decrement(training, C, beta):
    """Return what Newton's next step would gain, in the objective's unit, twice.

    By an orthogonal decomposition of all rows, in coordinates of classes that sum to
    zero, where directions that the data do not know are left out.
    """
    rows, classes = used(training), training.n_classes
    X, y = training.X[rows], training.y[rows]
    weights = np.ones(len(X)) if training.weights is None else training.weights[rows]
    ridge = np.full(X.shape[1], 0.0 if C is None else 1 / C)
    ridge[0] = 0
    eta = X @ beta
    raised = np.exp(eta - eta.max(axis=1, keepdims=True))
    share = raised / raised.sum(axis=1, keepdims=True)
    rest = share @ (1 - np.eye(classes))
    observed = np.eye(classes)[y]
    residual = (observed * rest - (1 - observed) * share) * weights[:, None]
    gradient = residual.T @ X - ridge * beta.T
    basis = np.linalg.qr(np.vander(np.arange(classes), increasing=True))[0][:, 1:]
    apart = -np.repeat(share[:, None, :], classes, axis=1)
    apart[:, np.arange(classes), np.arange(classes)] = rest
    apart = (np.sqrt(weights[:, None] * share)[:, :, None] * apart) @ basis
    rows = (apart[:, :, :, None] * X[:, None, None, :]).reshape(
        -1, (classes - 1) * X.shape[1]
    )
    rows = np.vstack([rows, np.diag(np.sqrt(np.tile(ridge, classes - 1)))])
    scale = np.sqrt((rows**2).sum(axis=0))
    scale[scale == 0] = 1
    _, size, turn = np.linalg.svd(np.linalg.qr(rows / scale, mode="r"))
    along = turn @ ((basis.T @ gradient).ravel() / scale)
    return ((along / size)[size > 1e-8 * size[0]] ** 2).sum()


def matrix(training, fit):
    """Return coefficients as columns by classes."""
    beta = np.array(list(fit.coefficients.values())).reshape(-1, training.X.shape[1]).T
    absent = training.n_classes - beta.shape[1]
    return np.column_stack([np.zeros((len(beta), absent)), beta])


def separable(training):
    """Say by a linear programme whether some direction separates the classes.

    Albert & Anderson 1984: one that nowhere raises another class above the observed
    one, and somewhere lowers one.
    """
    X, y, classes = training.X, training.y, training.n_classes
    sides = []
    for k in range(classes):
        some = np.flatnonzero(y != k)
        made = np.zeros((len(some), classes, X.shape[1]))
        made[np.arange(len(some)), y[some]] = X[some]
        made[:, k] -= X[some]
        sides.append(made.reshape(len(some), -1))
    side = np.vstack(sides)
    side /= np.abs(side).max(axis=1, keepdims=True)
    bounds = [(-1, 1)] * side.shape[1]
    best = linprog(
        -side.sum(axis=0), A_ub=-side, b_ub=np.zeros(len(side)), bounds=bounds
    )
    return -best.fun > 1e-6


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(15, 40),
    C=st.sampled_from([None, 1.0, 1e4]),
    signal=st.sampled_from([1.0, 4.0]),
    long_tailed=st.booleans(),
)
def test_optima_are_such_and_separation_is_found(seed, n, C, signal, long_tailed):
    training = sample(seed, n, 2, signal=signal)
    if long_tailed:
        training.X[:, 1:] = np.exp(training.X[:, 1:])
        weights = np.random.default_rng(seed).exponential(size=n) ** 2 + 0.01
        training = replace(training, weights=weights)
    fit = Logit(C).fit(training)
    if C is None:
        assert fit.separated == separable(training)
    else:
        assert fit.converged
        assert not fit.separated
    if not fit.separated and fit.converged:
        assert decrement(training, C, matrix(training, fit)) < 1e-14


def test_coefficients_sum_to_zero_under_a_penalty_and_class_0_has_none_without():
    training = sample(0, 60, 3, classes=4)
    beta = matrix(training, Logit(2.0).fit(training))
    np.testing.assert_allclose(beta.sum(axis=1), 0, atol=1e-12)
    fit = Logit().fit(training)
    assert list(fit.coefficients)[:4] == ["x0[1]", "x1[1]", "x2[1]", "x3[1]"]
    fitted = Logit().fit_folds(training, Folds.leaving_out([[0]]))
    assert fitted.names == tuple(fit.coefficients)
    fitted = Logit(2.0).fit_folds(training, Folds.leaving_out([[0]]))
    assert fitted.names[:4] == ("x0[0]", "x1[0]", "x2[0]", "x3[0]")


def assert_like_refits(model, records, folds, atol=1e-10):
    fits = fit_class_folds(model, records, folds)
    fitted = by_linear_predictor(fits, records, folds, softmax, model.ridge(records))
    every = np.arange(len(records.X))
    for number in range(len(folds)):
        training = folds.training_set(records, number)
        alone = model.fit(training)
        assert fits.converged[number] == alone.converged
        assert fits.separated[number] == alone.separated
        if alone.separated or not alone.converged:
            continue
        predicted = fitted.predict(every, np.full(len(every), number))
        np.testing.assert_allclose(predicted, alone.predict(records.X), atol=atol)
    return fits


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    scheme=st.sampled_from(list(SCHEMES)),
    n=st.integers(20, 45),
    p=st.integers(1, 4),
    classes=st.sampled_from([3, 4]),
    C=st.sampled_from([None, 1.0, 0.01, 1e4]),
    signal=st.sampled_from([0.0, 1.0, 3.0]),
    weighted=st.booleans(),
    intercept=st.sampled_from([0, None]),
)
def test_all_folds_are_fitted_as_each(
    seed, scheme, n, p, classes, C, signal, weighted, intercept
):
    records = replace(sample(seed, n, p, classes, signal), intercept=intercept)
    if weighted:
        weights = np.random.default_rng(seed).integers(0, 4, n) / 2
        weights[: 3 * classes] = 1
        records = replace(records, weights=weights)
    folds = Folds.of(plan_of(scheme, records, seed))
    if has_all(records, folds):
        assert_like_refits(Logit(C), records, folds)


@pytest.mark.parametrize("C", [None, 1.0, 1e3])
@pytest.mark.parametrize("scheme", ["loocv", "thirds", "bootstrap"])
def test_ordinary_folds_need_no_fit_of_their_own(C, scheme):
    records = sample(1, 120, 3)
    folds = Folds.of(plan_of(scheme, records))
    assert not fit_class_folds(Logit(C), records, folds).refitted.any()


@pytest.mark.parametrize("C", [None, 10.0])
def test_columns_may_differ_in_scale_or_be_dependent(C):
    records = sample(3, 50, 3)
    folds = Folds.leaving_out([[i] for i in range(0, 50, 5)])
    scaled = replace(records, X=records.X * [1, 1e-6, 1e3, 1e9])
    assert not assert_like_refits(Logit(C), scaled, folds).refitted.any()
    more = np.column_stack([records.X, 2 * records.X[:, 1], np.zeros(50)])
    assert_like_refits(Logit(C), records_of(more, records.y), folds)


@pytest.mark.parametrize("C", [None, 1.0])
def test_a_level_may_be_absent_from_a_training_set(C):
    records = sample(4, 50, 2)
    level = (np.arange(50) < 2).astype(float)
    records = records_of(np.column_stack([records.X, level]), records.y)
    folds = Folds.leaving_out([[0, 1], [0], [5], []])
    assert_like_refits(Logit(C), records, folds)
    fitted = Logit(C).fit_folds(records, folds)
    nothing = [name.startswith("x3[") for name in fitted.names]
    learnt = np.asarray(fitted.coefficients)
    np.testing.assert_array_equal(np.isnan(learnt[0]), nothing)
    assert np.isfinite(learnt[1:]).all()


@pytest.mark.parametrize("C", [None, 1e3, 1e7])
def test_one_class_may_stand_apart(C):
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 12)
    x = y + 6.0 * (y == 2) + rng.uniform(-1, 1, 36)
    X = np.column_stack([np.ones(36), x, rng.normal(size=36)])
    folds = Folds.leaving_out([[i] for i in range(0, 36, 3)])
    fits = assert_like_refits(Logit(C), records_of(X, y), folds, atol=1e-9)
    assert fits.separated.all() == (C is None)
    if C == 1e3:
        assert not fits.refitted.any()


def test_a_weak_penalty_on_nearly_separated_classes_needs_no_fit_of_its_own():
    X, y = load_iris(return_X_y=True)
    records = records_of(np.column_stack([np.ones(150), X]), y)
    folds = Folds.leaving_out([[i] for i in range(0, 150, 10)])
    for C in (1e2, 1e4, 1e5):
        assert not assert_like_refits(Logit(C), records, folds).refitted.any()


@pytest.mark.slow
@pytest.mark.parametrize("C", [None, 1.0])
@pytest.mark.parametrize("held", [1, 10])
def test_each_fit_may_have_an_outcome_of_its_own(C, held):
    records = sample(10, 40, 2)
    rng = np.random.default_rng(0)
    outcomes = np.stack([rng.permutation(records.y) for _ in range(3)])
    out = np.arange(40).reshape(-1, held).tolist()
    folds = replace(
        Folds.leaving_out(out * 3), outcome=np.repeat(np.arange(3), len(out))
    )
    several = replace(records, y=outcomes)
    assert not assert_like_refits(Logit(C), several, folds).refitted.any()


@pytest.mark.parametrize("C", [None, 1.0])
def test_hessians_of_folds_are_those_of_their_records(C):
    records = sample(5, 40, 3)
    model = Logit(C)
    centre = find_centre(records, model.ridge(records))
    (block,) = Folds.leaving_out([[3], [17], []]).blocks(40, 4)
    problem = centre.problem(block)
    theta = np.tile(centre.theta, (3, 1))
    own = problem.own_hessian(theta)[1].matrices
    vectors = np.random.default_rng(0).normal(size=theta.shape)
    expected = np.einsum("bij,bj->bi", own, vectors)
    made = centre.few_hessian(block).times(vectors)
    np.testing.assert_allclose(made, expected, rtol=1e-6, atol=1e-8)
    everyone = block.fits.tolist().index(2)
    np.testing.assert_allclose(own[everyone], np.eye(len(centre.theta)), atol=1e-8)
    np.testing.assert_allclose(problem.gradient(theta)[everyone], 0, atol=1e-3)
    for place in range(3):
        slope = slopes(problem, theta, place)
        np.testing.assert_allclose(slope, -np.linalg.inv(own[place]), atol=1e-6)


def slopes(problem, theta, place):
    """Return derivatives of a fit's gradient by central differences."""
    step = 1e-5 * np.eye(theta.shape[1])
    return np.stack(
        [
            (problem.gradient(theta + one) - problem.gradient(theta - one))[place]
            for one in step
        ]
    ) / (2e-5)


def test_cv_is_that_of_refits_one_by_one():
    records = sample(6, 45, 2)
    data = pd.DataFrame(records.X[:, 1:], columns=["a", "b"])
    levels = np.array(["low", "mid", "top"])
    data["y"] = levels[records.y]
    result = cv("y ~ a + b", data, scheme="loocv", metrics="accuracy")
    found = result.predictions[[f"predicted_{level}" for level in levels]]
    for row in range(0, 45, 9):
        kept = np.arange(45) != row
        alone = Logit().fit(records_of(records.X[kept], records.y[kept]))
        expected = alone.predict(records.X[row : row + 1])[0]
        np.testing.assert_allclose(found.iloc[row], expected, atol=1e-10)


def test_missing_covariates_are_refused():
    records = sample(7, 20, 1)
    records.X[3, 1] = np.nan
    with pytest.raises(ModelError, match="missing covariates"):
        Logit(1.0).fit_folds(records, Folds.leaving_out([[0]]))
