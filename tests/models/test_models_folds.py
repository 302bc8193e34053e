"""Fits of all folds together against the models' own fit of every training set."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LinearRegression

from statcv.errors import FoldWarning, ModelError, StatcvError
from statcv.folds import make_plan
from statcv.folds.ragged import Ragged
from statcv.models import Linear, Logit, Mean, TrainingSet
from statcv.models.batched import (
    Folds,
    by_counts,
    by_lists,
    find_centre,
    fit_class_folds,
    not_separated,
    sure_fits,
)
from statcv.models.batched import folds as together
from statcv.models.linear import fit_linear_folds, fold_means

SCHEMES = {
    "loocv": {},
    "rloocv": {"repeats": 2},
    "rloocv weighted": {"scheme": "rloocv", "rebalance": "weight"},
    "rloocv upsampled": {"scheme": "rloocv", "rebalance": "upsample"},
    "halves": {"scheme": "stratified_kfold", "k": 2},
    "thirds": {"scheme": "rkfold", "k": 3},
    "fifths weighted": {"scheme": "stratified_kfold", "k": 5, "rebalance": "weight"},
    "tenths": {"scheme": "kfold", "k": 10},
    "montecarlo": {"repeats": 5},
    "bootstrap": {"repeats": 8},
}


def sample(seed, n, p, signal=1.0, kind="binary"):
    """Draw a design with intercept and an outcome that depends on it."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p))])
    mean = X[:, 1:] @ rng.normal(size=p) * signal
    if kind == "continuous":
        return records_of(X, mean + rng.normal(size=n), kind)
    y = (mean + rng.logistic(size=n) > 0).astype(int)
    y[:6] = [0, 1, 0, 1, 0, 1]
    return records_of(X, y, kind)


def records_of(X, y, kind="binary", weights=None, intercept=0):
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


def plan_of(name, records, seed=0):
    arguments = {"scheme": name} | SCHEMES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldWarning)  # few records, rare classes
        return make_plan(y=records.y, kind=records.kind, seed=seed, **arguments)


def has_both(records, folds):
    sets = (folds.training_set(records, fit) for fit in range(len(folds)))
    return all(len(np.unique(one.y[used(one)])) == 2 for one in sets)


def used(training):
    return slice(None) if training.weights is None else training.weights > 0


def expit(eta):
    return 1 / (1 + np.exp(-np.clip(eta, -700, 700)))


def assert_like_refits(fits, model, records, folds, atol=1e-10):
    """Compare with fits of the training sets, which are independent of each other.

    Where fitted probabilities come near 0 or 1 the fit alone has few digits; there
    the objective is asked whether it can be lowered.
    """
    for number in range(len(folds)):
        training = folds.training_set(records, number)
        alone = model.fit(training)
        beta = fits.coefficients[number]
        logit = isinstance(model, Logit)
        if logit and not fits.refitted[number] and extreme(training, beta):
            assert decrement(training, model.C, beta) < 1e-18
            continue
        assert fits.converged[number] == alone.converged
        assert fits.separated[number] == alone.separated
        if alone.separated or not alone.converged:
            continue
        predicted = expit(records.X @ beta) if logit else records.X @ beta
        np.testing.assert_allclose(predicted, alone.predict(records.X), atol=atol)


def extreme(training, beta):
    return np.abs(training.X[used(training)] @ beta).max(initial=0) > 12


def decrement(training, C, beta):
    """Return what Newton's next step would gain, in the objective's unit, twice."""
    rows = used(training)
    X, sign = training.X[rows], np.where(training.y[rows] == 1, 1.0, -1.0)
    weights = np.ones(len(X)) if training.weights is None else training.weights[rows]
    ridge = np.full(X.shape[1], 0.0 if C is None else 1 / C)
    if training.intercept is not None:
        ridge[training.intercept] = 0.0
    against = expit(-sign * (X @ beta))  # the probability of the other class
    gradient = X.T @ (weights * sign * against) - ridge * beta
    variance = against * expit(sign * (X @ beta))
    hessian = (X.T * (weights * variance)) @ X + np.diag(ridge)
    scale = np.sqrt(hessian.diagonal())
    values, vectors = np.linalg.eigh(hessian / np.outer(scale, scale))
    assert values[0] > 1e-14  # an optimum that is one point
    return ((vectors.T @ (gradient / scale)) ** 2 / values).sum()


@given(
    seed=st.integers(0, 10**6),
    scheme=st.sampled_from(list(SCHEMES)),
    n=st.integers(12, 40),
    p=st.integers(1, 6),
    C=st.sampled_from([None, 1.0, 0.01, 1e4]),
    signal=st.sampled_from([0.0, 1.0, 4.0]),
    weighted=st.booleans(),
)
@settings(max_examples=3 * settings.default.max_examples)
def test_logit_of_all_folds_is_that_of_each(seed, scheme, n, p, C, signal, weighted):
    records = sample(seed, n, p, signal)
    if weighted:
        weights = np.random.default_rng(seed).integers(0, 4, n) / 2
        weights[:6] = 1
        records = replace(records, weights=weights)
    folds = Folds.of(plan_of(scheme, records, seed))
    if not has_both(records, folds):
        return
    fits = fit_class_folds(Logit(C), records, folds)
    assert_like_refits(fits, Logit(C), records, folds)


def awkward(seed):
    """Draw outliers, ties, rare levels, uneven weights, weak penalties, separation."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(12, 50)), int(rng.integers(1, 8))
    records = sample(seed, n, p, rng.choice([0.0, 1.0, 3.0, 6.0, 20.0]))
    odd = rng.random(4) < [0.3, 0.4, 0.3, 0.3]
    if odd[0]:
        records.X[:, 1:] = np.exp(2 * records.X[:, 1:])
    if odd[1]:
        records.X[:, 1:] = np.round(records.X[:, 1:])
    if odd[2]:
        records.X[:, 1] = np.arange(n) < rng.integers(1, 4)
    if odd[3]:
        records = replace(records, weights=rng.exponential(size=n) ** 2)
    C = [None, 1.0, 1e4, 1e8][rng.integers(4)]
    folds = Folds.of(plan_of(str(rng.choice(list(SCHEMES))), records, seed))
    return records, Logit(C), folds


@pytest.mark.slow
@given(seed=st.integers(0, 10**9))
@example(seed=29)  # repeated rows of a rare level
@example(seed=6913)  # separated: whether steps still gain is a matter of rounding
@example(seed=17839)
@settings(max_examples=3 * settings.default.max_examples)
def test_awkward_folds_are_fitted_as_each(seed):
    records, model, folds = awkward(seed)
    if not has_both(records, folds):
        return
    fits = fit_class_folds(model, records, folds)
    assert_like_refits(fits, model, records, folds, atol=1e-8)


@given(
    seed=st.integers(0, 10**6),
    scheme=st.sampled_from(list(SCHEMES)),
    kind=st.sampled_from(["binary", "continuous"]),
    n=st.integers(12, 40),
    p=st.integers(1, 12),
    weighted=st.booleans(),
)
@settings(max_examples=3 * settings.default.max_examples)
def test_linear_of_all_folds_is_that_of_each(seed, scheme, kind, n, p, weighted):
    records = sample(seed, n, p, kind=kind)
    if weighted:
        weights = np.random.default_rng(seed).integers(0, 4, n) / 2
        records = replace(records, weights=weights)
    try:
        folds = Folds.of(plan_of(scheme, records, seed))
    except StatcvError:  # not every scheme is one for a continuous outcome
        return
    fits = fit_linear_folds(Linear(), records, folds)
    assert fits.converged.all()
    assert_like_refits(fits, Linear(), records, folds, atol=1e-9)


@given(
    seed=st.integers(0, 10**6),
    scheme=st.sampled_from(list(SCHEMES)),
    classes=st.sampled_from([0, 2, 3]),
    n=st.integers(12, 40),
    weighted=st.booleans(),
)
@settings(max_examples=2 * settings.default.max_examples)
def test_means_of_all_folds_are_those_of_each(seed, scheme, classes, n, weighted):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n) if classes == 0 else rng.integers(0, classes, n)
    y[:9] = y[:9] if classes == 0 else np.arange(9) % classes
    kind = {0: "continuous", 2: "binary", 3: "multiclass"}[classes]
    weights = rng.integers(1, 4, n) / 2 if weighted else None
    records = records_of(np.ones((n, 1)), y, kind, weights)
    try:
        folds = Folds.of(plan_of(scheme, records, seed))
    except StatcvError:
        return
    means = fold_means(records, folds)
    for number in range(len(folds)):
        alone = Mean().fit(folds.training_set(records, number))
        np.testing.assert_allclose(
            means[number], alone.predict(records.X[:1])[0], rtol=1e-12, atol=1e-14
        )
        if kind != "continuous" and folds.weights is None and not weighted:
            assert (means[number] == alone.predict(records.X[:1])[0]).all()


@pytest.mark.parametrize("scheme", ["loocv", "tenths", "bootstrap"])
@pytest.mark.parametrize("C", [None, 1.0])
def test_ordinary_folds_need_no_fit_of_their_own(scheme, C):
    records = sample(1, 120, 4)
    folds = Folds.of(plan_of(scheme, records))
    assert not fit_class_folds(Logit(C), records, folds).refitted.any()
    assert not fit_linear_folds(Linear(), records, folds).refitted.any()


def test_weights_are_those_of_the_plan_in_each_fit():
    records = sample(2, 60, 3)
    rng = np.random.default_rng(0)
    table = rng.uniform(0.2, 9.0, size=(60, 60))  # far from 1, unlike any plan's
    lists = Ragged.of([[i] for i in range(60)])
    folds = Folds(lists, Ragged.empty(60), weights=lambda fits: table[fits])
    fits = fit_class_folds(Logit(1.0), records, folds)
    assert_like_refits(fits, Logit(1.0), records, folds)
    linear = fit_linear_folds(Linear(), records, folds)
    assert_like_refits(linear, Linear(), records, folds)
    for number in (0, 7):
        alone = replace(records, weights=np.where(lists[number] < 0, 0, table[number]))
        alone.weights[number] = 0
        expected = Logit(1.0).fit(alone).predict(records.X)
        predicted = expit(records.X @ fits.coefficients[number])
        np.testing.assert_allclose(predicted, expected, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("signal", [8.0, 30.0, 100.0])
@pytest.mark.parametrize("C", [None, 1e6, 1e10])
@pytest.mark.parametrize("seed", range(6))
def test_separation_is_told_fold_by_fold(seed, signal, C):
    records = sample(seed, 40, 2, signal)
    folds = Folds.of(plan_of("loocv", records))
    fits = fit_class_folds(Logit(C), records, folds)
    assert_like_refits(fits, Logit(C), records, folds, atol=1e-9)


@pytest.mark.parametrize("scheme", ["loocv", "bootstrap"])
def test_a_weak_ridge_bounds_separated_folds_which_are_fitted_together(scheme):
    records = sample(0, 30, 20)
    folds = Folds.of(plan_of(scheme, records))
    fits = fit_class_folds(Logit(1e6), records, folds)
    assert np.abs(records.X @ fits.coefficients.T).max(axis=0).min() > 15
    assert not fits.refitted.any()
    assert_like_refits(fits, Logit(1e6), records, folds, atol=1e-9)


def test_one_record_stands_between_the_classes():
    x = np.array([-3.0, -2.0, -1.5, -1.0, 1.0, 1.5, 2.0, 3.0, 2.5])
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1, 0])
    records = records_of(np.column_stack([np.ones(9), x]), y)
    folds = Folds.leaving_out([[i] for i in range(9)])
    fits = fit_class_folds(Logit(), records, folds)
    np.testing.assert_array_equal(np.flatnonzero(fits.separated), [8])
    assert fits.converged.all()
    assert_like_refits(fits, Logit(), records, folds)


@pytest.mark.parametrize("C", [None, 1.0])
def test_an_outlier_is_not_taken_for_separation(C):
    records = sample(5, 80, 2)
    records.X[7, 1] = 60.0 * np.sign(records.y[7] - 0.5)
    folds = Folds.of(plan_of("loocv", records))
    fits = fit_class_folds(Logit(C), records, folds)
    if C == 1.0:
        assert np.abs(records.X @ fits.coefficients.T).max() > 21
        assert not fits.refitted.any()
    assert_like_refits(fits, Logit(C), records, folds)


@pytest.mark.slow
@pytest.mark.parametrize("C", [None, 1.0, 1e4])
@pytest.mark.parametrize("scheme", ["loocv", "rloocv", "tenths"])
def test_columns_may_differ_in_scale(scheme, C):
    records = sample(3, 60, 4)
    records.X[:, 1:] *= [1e-9, 1e-3, 1e6, 1e12]
    records.X[:, 3] += 5e6
    folds = Folds.of(plan_of(scheme, records))
    fits = fit_class_folds(Logit(C), records, folds)
    assert not fits.refitted.any()
    assert_like_refits(fits, Logit(C), records, folds)
    linear = fit_linear_folds(Linear(), records, folds)
    assert_like_refits(linear, Linear(), records, folds, atol=1e-9)


def with_column(records, column):
    X = np.column_stack([records.X, column])
    return records_of(X, records.y, records.kind, records.weights)


def test_an_update_led_astray_is_no_convergence():
    """A step far too long, and back, leaves the secant far too steep."""
    records = sample(191, 12, 5, 2.0)
    records.X[:, 1:] = np.round(records.X[:, 1:])
    records.X[:, 3] = 0.0
    records.X[7, 3] = 3.0  # one record, and next to no penalty
    out = [[i] for i in range(12)] + [[0, 1], [2, 3], [4, 5]]
    folds = Folds.leaving_out(out)
    fits = fit_class_folds(Logit(1e8), records, folds)
    assert_like_refits(fits, Logit(1e8), records, folds)


@pytest.mark.parametrize("tied", [0.0, 1e-3, 1e-5])
def test_the_hessian_at_the_centre_is_the_identity(tied):
    records = sample(5, 80, 5)
    X = records.X
    X[:, 2] = X[:, 3] + tied * X[:, 2] if tied else X[:, 2]
    centre = find_centre(records, np.full(6, 1e-7))
    (block,) = Folds.leaving_out([[]]).blocks(80, 6)
    hessian = centre.problem(block).hessian(centre.variances.copy())[0]
    np.testing.assert_allclose(hessian, np.eye(6), atol=1e-9)


@pytest.mark.parametrize("far", [25.0, 30.0, 35.0])
def test_large_linear_predictors_are_doubted_where_no_record_holds_them(far):
    x = np.array([-3.0, -2.0, -1.5, -1.0, 1.0, 1.5, 2.0, 3.0, 2.5])
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1, 0])
    records = records_of(np.column_stack([np.ones(9), x]), y)
    centre = find_centre(records, np.zeros(2))
    (block,) = Folds.leaving_out([[8], [0]]).blocks(9, 2)
    problem = centre.problem(block)
    beta = np.linalg.solve(centre.back[:, 0].T, [0.0, far])
    assert (records.X @ (beta @ centre.back[:, 0])).max() == pytest.approx(3 * far)
    theta = np.stack([beta if 8 in rows else centre.theta for rows in block.rows])
    expected = [8 not in rows for rows in block.rows]
    np.testing.assert_array_equal(not_separated(problem, theta), expected)


@given(
    cells=arrays(bool, (8, 3)),
    out=st.lists(st.integers(0, 7), unique=True),
    copied=st.lists(st.integers(0, 7), max_size=3),
    weightless=st.lists(st.integers(0, 7), max_size=3),
)
def test_empty_columns_are_those_without_a_training_row(cells, out, copied, weightless):
    weights = np.ones(8)
    weights[weightless] = 0
    folds = Folds(Ragged.of([out, [], [2]]), Ragged.of([copied, [1], []]))
    found = folds.empty_columns(cells * 2.5, weights)
    if found is None:
        found = np.zeros((3, 3), dtype=bool)
    for fit in range(3):
        rows = folds.train(fit, 8)
        used = cells[rows[weights[rows] > 0]]
        np.testing.assert_array_equal(found[fit], ~used.any(axis=0))


@pytest.mark.parametrize("C", [None, 1.0, 1e8])
@pytest.mark.parametrize("positive", [[0, 1], [1], []])
def test_a_level_may_be_absent_from_a_training_set(positive, C):
    records = sample(4, 50, 2)
    level = np.zeros(50)
    level[:2] = 1
    records.y[:2] = [int(i in positive) for i in range(2)]
    records = with_column(records, level)
    folds = Folds.leaving_out([[0, 1], [0], [1], [5], []])
    fits = fit_class_folds(Logit(C), records, folds)
    assert_like_refits(fits, Logit(C), records, folds)
    assert fits.coefficients[0, 3] == pytest.approx(0, abs=1e-12 if C is None else 0)
    linear = fit_linear_folds(Linear(), records, folds)
    assert_like_refits(linear, Linear(), records, folds)
    assert linear.coefficients[0, 3] == pytest.approx(0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["twice", "zero", "constant", "sum"])
@pytest.mark.parametrize("C", [None, 1.0])
def test_columns_may_be_dependent(column, C):
    records = sample(6, 40, 3)
    made = {
        "twice": 2 * records.X[:, 1],
        "zero": np.zeros(40),
        "constant": np.full(40, 3.0),
        "sum": records.X.sum(axis=1),
    }
    records = with_column(records, made[column])
    folds = Folds.of(plan_of("loocv", records))
    fits = fit_class_folds(Logit(C), records, folds)
    linear = fit_linear_folds(Linear(), records, folds)
    assert_like_refits(fits, Logit(C), records, folds)
    assert_like_refits(linear, Linear(), records, folds)
    for number in range(len(folds)):
        training = folds.training_set(records, number)
        for model, made in ((Logit(C), fits), (Linear(), linear)):
            alone = np.array(list(model.fit(training).coefficients.values()))
            np.testing.assert_allclose(made.coefficients[number], alone, atol=1e-9)


@pytest.mark.parametrize("n", [4, 6, 8])
def test_there_may_be_more_columns_than_records(n):
    records = sample(7, 40, 10)
    records = replace(records, X=records.X[:n], y=records.y[:n])
    folds = Folds.leaving_out([[i] for i in range(n)])
    ridge = fit_class_folds(Logit(1.0), records, folds)
    assert_like_refits(ridge, Logit(1.0), records, folds)
    linear = fit_linear_folds(Linear(), records, folds)
    assert_like_refits(linear, Linear(), records, folds)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("scheme", ["halves", "fifths weighted", "bootstrap", "loocv"])
def test_least_squares_of_many_columns_are_those_of_sklearn(scheme, intercept, twice):
    rng = np.random.default_rng(3)
    X = 5 + rng.normal(size=(40, 300)) * rng.exponential(size=300)
    y = 100 + X[:, 0] + rng.normal(size=40)
    if twice:  # dependent records
        X[1] = X[0]
    if intercept:
        X = np.column_stack([np.ones(40), X])
    weights = rng.integers(0, 3, size=40).astype(float)
    place = 0 if intercept else None
    records = records_of(X, y, "continuous", weights, intercept=place)
    classes = replace(records, y=(y > 105).astype(int), kind="binary", n_classes=2)
    folds = Folds.of(plan_of(scheme, classes))
    made = fit_linear_folds(Linear(), records, folds)
    assert made.converged.all()
    assert not made.refitted.any()
    for fit in range(0, len(folds), 7):
        training = folds.training_set(records, fit)
        theirs = LinearRegression(fit_intercept=intercept)
        theirs.fit(training.X[:, intercept:], training.y, training.weights)
        expected = theirs.predict(X[:, intercept:])
        np.testing.assert_allclose(X @ made.coefficients[fit], expected, rtol=1e-8)


@pytest.mark.parametrize("intercept", [0, None])
def test_only_an_intercept_is_free_of_the_penalty(intercept):
    records = replace(sample(8, 50, 3), intercept=intercept)
    folds = Folds.of(plan_of("loocv", records))
    fits = fit_class_folds(Logit(0.1), records, folds)
    assert_like_refits(fits, Logit(0.1), records, folds)


def test_an_intercept_alone_predicts_the_share():
    records = sample(9, 30, 1)
    records = replace(records, X=np.ones((30, 1)), names=("one",))
    folds = Folds.of(plan_of("rloocv", records))
    fits = fit_class_folds(Logit(), records, folds)
    predicted = expit(fits.coefficients[:, 0])
    np.testing.assert_allclose(predicted, fold_means(records, folds), atol=1e-12)
    assert np.unique(np.round(predicted, 12)).size == 1


@pytest.mark.parametrize("model", [Logit(1.0), Logit(), Linear()])
def test_no_columns_are_no_coefficients(model):
    records = replace(sample(9, 12, 1), X=np.ones((12, 0)), names=(), intercept=None)
    folds = Folds.of(plan_of("loocv", records))
    fit_folds = fit_linear_folds if isinstance(model, Linear) else fit_class_folds
    assert fit_folds(model, records, folds).coefficients.shape == (12, 0)


@pytest.mark.parametrize("C", [None, 1.0])
@pytest.mark.parametrize("held", [1, 6])
def test_each_fit_may_have_an_outcome_of_its_own(C, held):
    records = sample(10, 36, 2)
    rng = np.random.default_rng(0)
    outcomes = np.stack([rng.permutation(records.y) for _ in range(5)])
    out = np.arange(36).reshape(-1, held)
    lists = Ragged.of([rows for _ in outcomes for rows in out])
    folds = Folds(
        lists, Ragged.empty(len(lists)), outcome=np.repeat(np.arange(5), len(out))
    )
    several = replace(records, y=outcomes)
    fits = fit_class_folds(Logit(C), several, folds)
    assert_like_refits(fits, Logit(C), several, folds)
    assert not fits.refitted.any()
    linear = fit_linear_folds(Linear(), several, folds)
    assert_like_refits(linear, Linear(), several, folds)
    means = fold_means(several, folds)
    for number in range(len(folds)):
        training = folds.training_set(several, number)
        assert means[number] == pytest.approx(training.y.mean(), abs=1e-14)


def test_a_strong_ridge_does_not_bound_fits_to_one_class():
    records = sample(3, 30, 40)
    y = np.zeros(30, dtype=int)
    y[4] = 1
    alone = Folds.leaving_out([[i] for i in range(30)])
    fits = sure_fits(replace(records, y=y), alone, Logit(1e-3).ridge(records))
    assert np.flatnonzero(~fits.converged).tolist() == [4]
    y[5] = 2
    several = replace(records, y=y, kind="multiclass", n_classes=3)
    fits = sure_fits(several, alone, Logit(1e-3).ridge(records))
    assert np.flatnonzero(~fits.converged).tolist() == [4, 5]


@pytest.mark.parametrize("scheme", ["loocv", "rloocv weighted", "tenths", "bootstrap"])
def test_a_fold_does_not_depend_on_its_block(monkeypatch, scheme):
    records = sample(11, 60, 5)
    folds = Folds.of(plan_of(scheme, records))
    large = fit_class_folds(Logit(1.0), records, folds)
    linear = fit_linear_folds(Linear(), records, folds)
    monkeypatch.setattr(together, "CELLS", 1)
    small = fit_class_folds(Logit(1.0), records, folds)
    one = fit_linear_folds(Linear(), records, folds)
    np.testing.assert_allclose(small.coefficients, large.coefficients, atol=1e-12)
    np.testing.assert_allclose(one.coefficients, linear.coefficients, atol=1e-12)


@given(
    cells=st.integers(1, 5000),
    each=st.integers(40, 400),
    scheme=st.sampled_from(list(SCHEMES)),
)
def test_blocks_hold_every_fit_once_and_no_more_than_fits_in(cells, each, scheme):
    records = sample(12, 40, 3)
    folds = Folds.of(plan_of(scheme, records))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(together, "CELLS", cells)
        blocks = list(folds.blocks(40, 4, each=each))
    fits = np.concatenate([block.fits for block in blocks])
    np.testing.assert_array_equal(np.sort(fits), np.arange(len(folds)))
    assert all(len(block) * each <= max(cells, each) for block in blocks)
    for block in blocks:
        counts = np.ones((len(block), 40))
        block.multiply(counts)
        for place, fit in enumerate(block.fits.tolist()):
            weights = 1 if folds.weights is None else folds.weights(np.array([fit]))[0]
            times = np.bincount(folds.train(fit, 40), minlength=40)
            np.testing.assert_allclose(counts[place], times * weights)


@given(
    scheme=st.sampled_from(list(SCHEMES)),
    y=arrays(int, (2, 40), elements=st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2])),
    several=st.booleans(),
)
def test_blocks_know_which_training_sets_have_all_classes(scheme, y, several):
    folds = Folds.of(plan_of(scheme, sample(12, 40, 3)))
    weights, outcome = (np.arange(40) > 2) / 3, np.arange(len(folds)) % 2
    if several:
        folds = replace(folds, outcome=outcome)
    for block in folds.blocks(40, 4):
        found = block.has_classes(y if several else y[0], weights, range(3))
        counts = np.ones((len(block), 40))
        block.multiply(counts)
        for place, fit in enumerate(block.fits.tolist()):
            own = y[outcome[fit] if several else 0]
            used = counts[place] * weights > 0
            assert found[place] == (len(np.unique(own[used])) == 3)


@given(
    Z=arrays(float, (12, 3), elements=st.floats(-1, 1)),
    out=st.lists(st.integers(0, 11), unique=True, max_size=4),
    copied=st.lists(st.integers(0, 11), max_size=4),
)
def test_inverses_of_changed_gram_matrices(Z, out, copied):
    Z = np.linalg.qr(Z + np.eye(12, 3) * 3)[0]
    folds = Folds(Ragged.of([out, []]), Ragged.of([copied, []]))
    (block,) = folds.blocks(12, 3)
    place = block.fits.tolist().index(0)
    rows = Z[folds.train(0, 12)]
    gram = rows.T @ rows
    if np.linalg.cond(gram) > 1e6:
        return
    vector = np.array([1.0, -2.0, 0.5])
    expected = np.linalg.solve(gram, vector)
    vectors = np.tile(vector, (2, 1))
    inverses = [by_counts(Z, block)]
    if block.few(3):
        inverses.append(by_lists(Z, block))
    for inverse in inverses:
        made = inverse.times(vectors)
        np.testing.assert_allclose(made[place], expected, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(made[1 - place], vector, atol=1e-12)
        assert inverse.norm[place] >= 0.999 / np.linalg.eigvalsh(gram)[0]


def test_no_inverse_is_an_infinite_norm():
    Z = np.eye(3)
    (block,) = Folds.leaving_out([[0], [0, 1]]).blocks(3, 3)
    assert np.isinf(by_counts(Z, block).norm).all()
    with np.errstate(divide="ignore", invalid="ignore"):
        assert np.isinf(by_lists(Z, block).norm).all()


@pytest.mark.parametrize("model", [Logit(1.0), Linear()])
def test_missing_covariates_are_refused(model):
    records = sample(13, 20, 2)
    records.X[3, 1] = np.nan
    with pytest.raises(ModelError, match="missing covariates"):
        model.fit_folds(records, Folds.leaving_out([[0]]))
