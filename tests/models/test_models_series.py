"""The power series of gradients against the gradients, and fits made by it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statcv.folds.ragged import Ragged
from statcv.models import Logit, TrainingSet
from statcv.models.batched.folds import Folds
from statcv.models.batched.logit.fits import NearCentre, Series, fit_logit_folds
from statcv.models.batched.logit.problem import Problem, find_centre


def sample(seed, n, p, weighted=False):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.uniform(-1.5, 1.5, size=(n, p))])
    y = (X[:, 1] - 1 + rng.logistic(size=n) > 0).astype(int)
    weights = rng.integers(1, 5, n) / 2 if weighted else None
    names = tuple(f"x{j}" for j in range(p + 1))
    return TrainingSet(X, y, "binary", 2, names, 0, weights, seed=0)


def expit(eta):
    return 1 / (1 + np.exp(-eta))


def changed_folds(n, seed):
    """Leave one or two records out, and take some twice."""
    rng = np.random.default_rng(seed)
    out = Ragged.of([rng.permutation(n)[: 1 + i % 2] for i in range(60)]).rising()
    return Folds(out, Ragged.of([[i] if i % 3 == 0 else [] for i in range(60)]))


@given(
    seed=st.integers(0, 10**6),
    p=st.integers(1, 4),
    C=st.sampled_from([None, 1.0, 0.01]),
    length=st.floats(1e-3, 1.0),
    weighted=st.booleans(),
)
@settings(max_examples=2 * settings.default.max_examples)
def test_a_gradient_is_its_series_within_the_bound(seed, p, C, length, weighted):
    records = sample(seed, 300, p, weighted)
    centre = find_centre(Logit(C), records)
    series = Series.around(centre)
    for block in changed_folds(300, seed).blocks(300, p + 1, each=300):
        problem = Problem.of(centre, block)
        move = np.random.default_rng(seed).normal(size=(len(block), p + 1))
        move *= length / np.linalg.norm(move, axis=1)[:, None]
        theta = centre.theta + move
        gap = NearCentre.of(problem, series).gradient(theta) - problem.gradient(theta)
        assert (np.linalg.norm(gap, axis=1) <= series.error(move) + 1e-11).all()


def optimum(training, C):
    """Take plain Newton steps until they vanish."""
    X, sign = training.X, np.where(training.y == 1, 1.0, -1.0)
    weights = np.ones(len(X)) if training.weights is None else training.weights
    ridge = np.full(X.shape[1], 0.0 if C is None else 1 / C)
    ridge[0] = 0.0
    beta = np.zeros(X.shape[1])
    for _ in range(12):
        against = expit(-sign * (X @ beta))
        gradient = X.T @ (weights * sign * against) - ridge * beta
        hessian = (X.T * (weights * against * (1 - against))) @ X + np.diag(ridge)
        beta = beta + np.linalg.solve(hessian, gradient)
    return beta


@pytest.mark.parametrize("n", [1500, 6000])
@pytest.mark.parametrize("C", [None, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_of_many_records_are_fitted_as_each(n, C, weighted):
    records = sample(n, n, 2, weighted)
    folds = changed_folds(n, seed=1)
    assert Series.worthwhile(find_centre(Logit(C), records), folds)
    fits = fit_logit_folds(Logit(C), records, folds)
    assert fits.converged.all()
    assert not fits.refitted.any()
    for number, beta in enumerate(fits.coefficients):
        expected = optimum(folds.training_set(records, number), C)
        np.testing.assert_allclose(
            expit(records.X @ beta), expit(records.X @ expected), atol=3e-11
        )


def test_a_record_that_holds_the_fit_is_left_to_exact_gradients():
    records = sample(3, 3000, 2)
    records.X[7, 1:] = [3.0, -3.0]
    folds = Folds.leaving_out([[i] for i in range(3000)])
    assert Series.worthwhile(find_centre(Logit(), records), folds)
    fits = fit_logit_folds(Logit(), records, folds)
    for number in [*range(20), *np.argsort(fits.coefficients[:, 1])[[0, 1, -2, -1]]]:
        expected = optimum(folds.training_set(records, int(number)), None)
        predicted = expit(records.X @ fits.coefficients[number])
        np.testing.assert_allclose(predicted, expit(records.X @ expected), atol=3e-11)


def test_no_series_is_made_where_records_are_few_or_hold_the_fit():
    folds = Folds.leaving_out([[i] for i in range(900)])
    assert Series.worthwhile(find_centre(Logit(), sample(4, 900, 1)), folds)
    assert not Series.worthwhile(find_centre(Logit(), sample(4, 900, 12)), folds)
    few = Folds.leaving_out([[0], [1]])
    assert not Series.worthwhile(find_centre(Logit(), sample(4, 900, 1)), few)
    records = sample(4, 900, 1)
    records.X[0, 1] = 50.0
    assert not Series.worthwhile(find_centre(Logit(), records), folds)
