"""Penalties of all strengths in all folds against refits by textbook Newton steps."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from statcv.errors import ModelError
from statcv.folds.ragged import Ragged
from statcv.models import Logit, TrainingSet
from statcv.models.batched import Folds, fit_class_folds, inverted
from statcv.models.batched import folds as together

DEFAULT = np.logspace(-4, 4, 20)


def sample(seed, n, p, signal=1.0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p))])
    y = (X[:, 1] * signal + rng.logistic(size=n) > 0).astype(int)
    y[:6] = [0, 1, 0, 1, 0, 1]
    return records_of(X, y)


def records_of(X, y, weights=None, intercept=0):
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    return TrainingSet(X, y, "binary", 2, names, intercept, weights, seed=0)


def nested(seed, n, k, outer):
    """Leave out one record, and a k-th of the others."""
    rng = np.random.default_rng(seed)
    lists = []
    for held in range(outer):
        rest = rng.permutation(np.delete(np.arange(n), held))
        lists += [np.sort(np.append(part, held)) for part in np.array_split(rest, k)]
    return Folds.leaving_out(lists)


def fits_of(Cs, records, folds):
    return [fit_class_folds(Logit(float(C)), records, folds) for C in Cs]


def expit(eta):
    return 1 / (1 + np.exp(-np.clip(eta, -700, 700)))


def optimum(training, C):
    """Maximise the penalised likelihood by Newton steps, halved where they lose."""
    X, sign = training.X, np.where(training.y == 1, 1.0, -1.0)
    weights = np.ones(len(X)) if training.weights is None else training.weights
    ridge = np.full(X.shape[1], 1 / C)
    if training.intercept is not None:
        ridge[training.intercept] = 0.0

    def loss(beta):
        return weights @ np.logaddexp(0, -sign * (X @ beta)) + ridge @ beta**2 / 2

    beta = np.zeros(X.shape[1])
    for _ in range(200):
        against = expit(-sign * (X @ beta))
        gradient = X.T @ (weights * sign * against) - ridge * beta
        hessian = (X.T * (weights * against * (1 - against))) @ X + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        if gradient @ step < 1e-22:
            return beta + step
        while loss(beta + step) > loss(beta) * (1 + 1e-14):
            step = step / 2
        beta = beta + step
    raise AssertionError("no optimum")


def assert_optima(fits, Cs, records, folds, atol=1e-10):
    assert len(fits) == len(Cs)
    for C, made in zip(Cs, fits, strict=True):
        assert made.converged.all()
        assert not made.separated.any()
        for number, beta in enumerate(made.coefficients):
            expected = optimum(folds.training_set(records, number), C)
            np.testing.assert_allclose(
                expit(records.X @ beta), expit(records.X @ expected), atol=atol
            )


@st.composite
def plans(draw):
    """Draw records and folds: few or many left out, repeats, weights of either kind."""
    seed, n = draw(st.integers(0, 10**6)), draw(st.integers(14, 40))
    records = sample(seed, n, draw(st.integers(1, 6)), draw(st.sampled_from([0, 1, 8])))
    rng = np.random.default_rng(seed)
    out = Ragged.of(
        [
            6 + rng.permutation(n - 6)[: draw(st.sampled_from([0, 1, 2, (n - 6) // 2]))]
            for _ in range(draw(st.integers(1, 8)))
        ]
    ).rising()
    copied = Ragged.empty(len(out))
    if draw(st.booleans()):
        copied = Ragged.of([rng.integers(0, n, 3) for _ in range(len(out))])
    if draw(st.booleans()):
        records = replace(records, weights=rng.integers(1, 5, n) / 2)
    table = rng.uniform(0.2, 3, (len(out), n))
    weights = draw(st.sampled_from([None, lambda fits: table[fits]]))
    outcome = None
    if draw(st.booleans()):
        several = np.stack([rng.permutation(records.y) for _ in range(3)])
        several[:, :2] = [0, 1]
        records, outcome = replace(records, y=several), rng.integers(0, 3, len(out))
    return records, Folds(out, copied, weights, outcome)


@given(
    drawn=plans(),
    Cs=st.lists(
        st.sampled_from([1e-6, 1e-3, 0.1, 0.5, 1.0, 3.0, 50.0, 1e3]), max_size=5
    ),
)
def test_fits_with_each_penalty_are_the_optima(drawn, Cs):
    records, folds = drawn
    assert_optima(fits_of(Cs, records, folds), Cs, records, folds)


@given(drawn=plans(), C=st.sampled_from([1e-3, 1.0, 100.0]))
@settings(max_examples=2 * settings.default.max_examples)
def test_outcomes_weights_and_copies_differ_from_fold_to_fold(drawn, C):
    records, folds = drawn
    assert_optima([fit_class_folds(Logit(C), records, folds)], [C], records, folds)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), p=st.integers(1, 30))
@example(seed=0, p=30)
@settings(max_examples=10)
def test_folds_that_a_plane_separates_are_fitted_with_weak_penalties(seed, p):
    records, folds = sample(seed, 60, p, 2.0), nested(seed, 60, 5, outer=2)
    fits = fits_of(DEFAULT, records, folds)
    assert_optima(fits, DEFAULT, records, folds)


def test_hardly_a_fold_needs_a_fit_of_its_own():
    records, folds = sample(1, 100, 30, 2.0), nested(1, 100, 5, outer=20)
    fits = fits_of(DEFAULT, records, folds)
    assert sum(made.refitted.sum() for made in fits) <= 2
    assert not any(made.refitted.any() for made in fits[:14])


@pytest.mark.parametrize("held", [1, 10])
def test_a_fold_does_not_depend_on_its_block(monkeypatch, held):
    records = sample(5, 50, 4)
    folds = Folds.leaving_out(np.arange(50).reshape(-1, held))
    large = fits_of(DEFAULT[::4], records, folds)
    monkeypatch.setattr(together, "CELLS", 1)
    small = fits_of(DEFAULT[::4], records, folds)
    for one, other in zip(small, large, strict=True):
        np.testing.assert_allclose(one.coefficients, other.coefficients, atol=1e-10)


@pytest.mark.parametrize("signal", [1.0, 50.0])
def test_fits_may_have_no_penalty(signal):
    records = sample(6, 60, 2, signal)
    folds = Folds.leaving_out([[i] for i in range(60)])
    penalised, free = fits_of([100.0, np.inf], records, folds)
    assert_optima([penalised], [100.0], records, folds)
    for number in range(60):
        alone = Logit().fit(folds.training_set(records, number))
        assert free.separated[number] == alone.separated
        assert free.converged[number] == alone.converged
        if not alone.separated:
            predicted = expit(records.X @ free.coefficients[number])
            np.testing.assert_allclose(predicted, alone.predict(records.X), atol=1e-9)


def test_there_may_be_more_columns_than_records():
    records, folds = sample(7, 24, 30), nested(7, 24, 4, outer=2)
    assert_optima(fits_of(DEFAULT, records, folds), DEFAULT, records, folds)


def test_columns_may_be_dependent_or_empty_in_a_training_set():
    records = sample(8, 40, 2)
    level = np.zeros(40)
    level[:2] = 1
    X = np.column_stack([records.X, level, records.X[:, 1] - records.X[:, 2]])
    records = records_of(X, records.y)
    folds = Folds.leaving_out([[0, 1], [0], [], np.arange(2, 20)])
    fits = fits_of([0.1, 1.0, 100.0], records, folds)
    assert_optima(fits, [0.1, 1.0, 100.0], records, folds)
    assert all(made.coefficients[0, 3] == 0 for made in fits)


@pytest.mark.parametrize("intercept", [0, None])
def test_only_an_intercept_is_free_of_the_penalties(intercept):
    records = replace(sample(9, 40, 3), intercept=intercept)
    folds = nested(9, 40, 4, outer=3)
    Cs = [0.001, 0.1, 10.0]
    assert_optima(fits_of(Cs, records, folds), Cs, records, folds)


@pytest.mark.parametrize("q", [1, 2, 23, 24, 43, 60, 99, 100, 210])
def test_positive_definite_matrices_are_inverted(q):
    rows = np.random.default_rng(q).normal(size=(5, q + 3, q))
    grams = np.matmul(rows.transpose(0, 2, 1), rows)
    made = np.matmul(inverted(grams), grams)
    np.testing.assert_allclose(made, np.tile(np.eye(q), (5, 1, 1)), atol=1e-8)


@pytest.mark.parametrize("q", [60, 99, 150, 210])
def test_inverses_keep_their_digits_where_columns_have_a_factor_in_common(q):
    rng = np.random.default_rng(q)
    rows = rng.normal(size=(3, 2 * q, q)) + 5 * rng.normal(size=(3, 2 * q, 1))
    grams = np.matmul(rows.transpose(0, 2, 1), rows)
    made = np.matmul(inverted(grams), grams)
    np.testing.assert_allclose(made, np.tile(np.eye(q), (3, 1, 1)), atol=1e-9)


@pytest.mark.parametrize("q", [30, 210])
def test_a_singular_matrix_among_others_has_no_inverse(q):
    grams = np.tile(np.eye(q), (3, 1, 1))
    grams[1, 2, 2] = 0.0
    made = inverted(grams)
    assert not np.isfinite(made[1]).all()
    np.testing.assert_array_equal(made[[0, 2]], grams[[0, 2]])


def test_missing_covariates_are_refused():
    records = sample(10, 20, 2)
    records.X[3, 1] = np.nan
    with pytest.raises(ModelError, match="missing covariates"):
        Logit(1.0).fit_folds(records, Folds.leaving_out([[0]]))
