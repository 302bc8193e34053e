"""Few ridge fits by one number for each record, against scikit-learn and fits alone."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from statcv.models import Logit, TrainingSet
from statcv.models.batched.folds import Folds, permuted_folds
from statcv.models.batched.logit import wide
from statcv.models.batched.logit.wide import fit_wide


def sample(seed, n, p, *, intercept=True, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * rng.lognormal(size=p)
    y = (X[:, -1] + rng.logistic(size=n) > 0).astype(int)
    y[:2] = 0, 1
    if intercept:
        X[:, 0] = 1.0
    weights = rng.uniform(0.5, 2.0, n) if weighted else None
    names = tuple(f"x{j}" for j in range(p))
    place = 0 if intercept else None
    return TrainingSet(X, y, "binary", 2, names, place, weights, seed=0)


def fitted(records, folds, C):
    made = fit_wide(records, folds, Logit(C=C).ridge(records))
    assert made is not None
    return made


@pytest.fixture
def steps(monkeypatch):
    """List the steps that are taken."""
    found, step = [], wide.Wide._step

    def noted(problem, *at):
        found.append(at)
        return step(problem, *at)

    monkeypatch.setattr(wide.Wide, "_step", noted)
    return found


@given(
    st.integers(0, 10_000),
    st.integers(12, 40),
    st.sampled_from([0.5, 1.0, 3.0]),
    st.sampled_from([1e-3, 1.0, 100.0, 1e4]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_they_are_those_of_each_training_set(seed, n, wider, C, intercept, weighted):
    records = sample(
        seed, n, int(wider * n) + 2, intercept=intercept, weighted=weighted
    )
    times = np.random.default_rng(seed).integers(0, 3, size=(4, n))
    times[:, :2] = 1  # each class is there
    times[0] = 1
    folds = Folds.of_times(times.astype(np.int32))
    beta, converged = fitted(records, folds, C)
    for fit in np.flatnonzero(converged):
        training = folds.training_set(records, fit)
        alone = Logit(C=C).fit(training)
        if alone.separated:
            continue
        eta = records.X @ beta[fit]
        expected = records.X @ list(alone.coefficients.values())
        np.testing.assert_allclose(eta, expected, atol=1e-8, rtol=1e-8)
    assert converged.all() or C > 1


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_they_are_those_of_scikit_learn(C):
    records = sample(1, 60, 80)
    folds = Folds.leaving_out(np.arange(60).reshape(5, 12).tolist())
    beta, converged = fitted(records, folds, C)
    assert converged.all()
    for fit in range(5):
        train = folds.train(fit, 60)
        peer = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a last step that rounding stopped
            peer.fit(records.X[train, 1:], records.y[train])
        eta = peer.decision_function(records.X[:, 1:])
        np.testing.assert_allclose(records.X @ beta[fit], eta, atol=1e-7)


@pytest.mark.parametrize("enough", [1.0, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e3])
def test_what_is_left_of_the_way_is_no_more_than_is_said(C, enough, monkeypatch):
    records = sample(2, 50, 60, weighted=True)
    folds = Folds.leaving_out([[0, 1], [10, 20, 30], []])
    exact, _ = fitted(records, folds, C)
    monkeypatch.setattr(wide, "ACCURACY", enough)
    monkeypatch.setattr(wide, "CLOSE", np.inf)
    early, _ = fitted(records, folds, C)
    for fit in range(3):
        trained = records.X[folds.train(fit, 50)]
        assert np.abs(trained @ (early - exact)[fit]).max() <= enough


def test_nearly_separated_records_take_few_steps(steps):
    records = sample(3, 80, 200)
    folds = Folds.leaving_out(np.arange(80).reshape(5, 16).tolist())
    _, converged = fitted(records, folds, 1e4)
    assert converged.all()
    assert len(steps) < 15


@pytest.mark.parametrize("p", [600, 6000])
@pytest.mark.parametrize("C", [1.0, 1e3])
def test_records_at_right_angles_take_half_the_steps(p, C, steps, monkeypatch):
    records = sample(7, 60, p)
    records.X[:, 1:] /= records.X[:, 1:].std(axis=0)
    folds = Folds.leaving_out(np.arange(60).reshape(5, 12).tolist())
    beta, converged = fitted(records, folds, C)
    assert converged.all()
    few = len(steps)
    monkeypatch.setattr(wide, "APART", 0.0)
    others, _ = fitted(records, folds, C)
    assert few < 0.75 * (len(steps) - few)
    X = records.X
    np.testing.assert_allclose(X @ beta.T, X @ others.T, atol=1e-8, rtol=1e-9)


def test_steps_out_of_range_are_followed_by_others(monkeypatch):
    inside, outside = wide.Wide.are_inside, []

    def noted(problem, multiples):
        found = inside(problem, multiples)
        outside.append(not found[problem.weights > 0].all())
        return found

    monkeypatch.setattr(wide.Wide, "are_inside", noted)
    monkeypatch.setattr(wide, "APART", np.inf)
    records = sample(8, 60, 70)
    folds = Folds.leaving_out(np.arange(60).reshape(5, 12).tolist())
    beta, converged = fitted(records, folds, 100.0)
    assert any(outside)
    assert converged.all()
    alone = Logit(C=100.0).fit(folds.training_set(records, 2))
    expected = records.X @ list(alone.coefficients.values())
    np.testing.assert_allclose(records.X @ beta[2], expected, atol=1e-8, rtol=1e-8)


def test_a_column_without_training_rows_has_a_coefficient_of_0():
    records = sample(4, 30, 40)
    records.X[5:, 7] = 0
    folds = Folds.leaving_out([range(5), [10]])
    beta, _ = fitted(records, folds, 1.0)
    assert beta[0, 7] == 0
    assert beta[1, 7] != 0


def test_other_fits_are_left_to_other_ways():
    records = sample(5, 30, 40)
    folds = Folds.leaving_out([[i] for i in range(30)])
    ridge = Logit(C=1.0).ridge(records)
    few = folds.chosen(np.arange(3))
    assert fit_wide(records, few, ridge) is not None
    assert fit_wide(records, folds, ridge) is None  # many fits
    assert fit_wide(records, few, np.zeros(40)) is None  # without a penalty
    assert fit_wide(records, few, np.where(np.arange(40) < 2, 0.0, 1.0)) is None
    narrow = replace(records, X=records.X[:, :3])
    assert fit_wide(narrow, few, ridge[:3]) is None  # many records for each column
    twice = permuted_folds(few, 2)
    outcomes = replace(records, y=np.stack([records.y, 1 - records.y]))
    assert fit_wide(outcomes, twice, ridge) is None  # outcomes of their own


def test_one_class_alone_is_not_called_an_optimum():
    records = sample(6, 20, 30)
    zeros = np.flatnonzero(records.y == 0).tolist()
    _, converged = fitted(records, Folds.leaving_out([zeros, [3]]), 1.0)
    assert converged.tolist() == [False, True]


@pytest.mark.parametrize("C", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("seed", range(8))
def test_records_there_twice_cost_no_digits(C, seed):
    records = sample(seed, 12, 40)
    twice = np.repeat(np.arange(12), 2)
    y = records.y[twice]
    y[::5] = 1 - y[::5]  # some of them with the other outcome
    records = replace(records, X=records.X[twice], y=y)
    folds = Folds.leaving_out([[0, 1], [5, 8], [20]])
    beta, converged = fitted(records, folds, C)
    assert converged.all() or C > 1  # or products of records cancel out
    for fit in np.flatnonzero(converged):
        alone = Logit(C=C).fit(folds.training_set(records, fit))
        expected = records.X @ list(alone.coefficients.values())
        np.testing.assert_allclose(records.X @ beta[fit], expected, atol=1e-8)


@pytest.mark.filterwarnings("error")
def test_an_intercept_alone_is_the_mean_of_the_training_records():
    y = np.array([0, 1, 1, 0, 1])
    records = TrainingSet(np.ones((5, 1)), y, "binary", 2, ("one",), 0, None, seed=0)
    folds = Folds.leaving_out([[0], [1, 3], [2]])
    coefficients, converged = fitted(records, folds, C=1.0)
    assert converged.all()
    share = np.array([3 / 4, 2 / 3, 1 / 2])
    logit = np.log(share / (1 - share))
    np.testing.assert_allclose(coefficients[:, 0], logit, atol=1e-12)
