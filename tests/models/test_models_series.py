"""The power series of gradients against the gradients, and fits made by it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statcv.folds.ragged import Ragged
from statcv.models import Logit, TrainingSet
from statcv.models.batched import Folds, find_centre, fit_class_folds
from statcv.models.batched.series import NearCentre, Series


def sample(seed, n, p, weighted=False):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.uniform(-1.5, 1.5, size=(n, p))])
    y = (X[:, 1] - 1 + rng.logistic(size=n) > 0).astype(int)
    weights = rng.integers(1, 5, n) / 2 if weighted else None
    names = tuple(f"x{j}" for j in range(p + 1))
    return TrainingSet(X, y, "binary", 2, names, 0, weights, seed=0)


def changed_folds(n, seed):
    """Leave one or two records out, and take some twice."""
    rng = np.random.default_rng(seed)
    out = Ragged.of([rng.permutation(n)[: 1 + i % 2] for i in range(60)]).rising()
    return Folds(out, Ragged.of([[i] if i % 3 == 0 else [] for i in range(60)]))


def series_of(records, folds, C=None):
    return Series.around(find_centre(records, Logit(C=C).ridge(records)), folds)


@given(
    seed=st.integers(0, 10**6),
    p=st.integers(1, 4),
    C=st.sampled_from([None, 1.0, 0.01]),
    length=st.floats(1e-3, 1.0),
    weighted=st.booleans(),
)
@settings(max_examples=2 * settings.default.max_examples)
def test_a_gradient_is_its_series_within_the_bound(seed, p, C, length, weighted):
    records, folds = sample(seed, 1500, p, weighted), changed_folds(1500, seed)
    series = series_of(records, folds, C)
    assert series is not None
    for block in folds.blocks(1500, p + 1, each=300):
        problem = series.centre.problem(block)
        move = np.random.default_rng(seed).normal(size=(len(block), p + 1))
        move *= length / np.linalg.norm(move, axis=1)[:, None]
        theta = series.centre.theta + move
        gap = NearCentre(series, problem).gradient(theta) - problem.gradient(theta)
        assert (np.linalg.norm(gap, axis=1) <= series.error(move) + 1e-11).all()


def optimum(training, C):
    """Take plain Newton steps until they vanish."""
    X, sign = training.X, np.where(training.y == 1, 1.0, -1.0)
    weights = np.ones(len(X)) if training.weights is None else training.weights
    ridge = np.full(X.shape[1], 0.0 if C is None else 1 / C)
    ridge[0] = 0.0
    beta = np.zeros(X.shape[1])
    for _ in range(12):
        against = 1 / (1 + np.exp(sign * (X @ beta)))
        gradient = X.T @ (weights * sign * against) - ridge * beta
        hessian = (X.T * (weights * against * (1 - against))) @ X + np.diag(ridge)
        beta = beta + np.linalg.solve(hessian, gradient)
    return beta


def assert_optimal(records, folds, C, numbers):
    fits = fit_class_folds(Logit(C=C), records, folds)
    assert fits.converged.all()
    for number in numbers:
        expected = optimum(folds.training_set(records, number), C)
        np.testing.assert_allclose(
            records.X @ fits.coefficients[number], records.X @ expected, atol=2e-10
        )


@pytest.mark.parametrize("n", [1500, 6000])
@pytest.mark.parametrize("C", [None, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_of_many_records_are_fitted_as_each(n, C, weighted):
    records, folds = sample(n, n, 2, weighted), changed_folds(n, seed=1)
    assert series_of(records, folds, C) is not None
    assert_optimal(records, folds, C, range(60))


def test_a_record_that_moves_the_fit_much_is_left_to_exact_gradients():
    records = sample(3, 3000, 2)
    records.X[7, 1:] = [2.5, -2.5]
    folds = Folds.leaving_out([[i] for i in range(3000)])
    assert series_of(records, folds) is not None
    assert_optimal(records, folds, None, range(20))


def test_no_series_is_made_where_records_are_few_or_one_has_much_leverage():
    folds = Folds.leaving_out([[i] for i in range(900)])
    assert series_of(sample(4, 900, 1), folds) is not None
    assert series_of(sample(4, 900, 12), folds) is None
    assert series_of(sample(4, 900, 1), Folds.leaving_out([[0], [1]])) is None
    records = sample(4, 900, 1)
    records.X[0, 1] = 50.0
    assert series_of(records, folds) is None
