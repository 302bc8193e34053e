"""Fits that leave out few of few records at right angles, against fits alone."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import statcv as scv
from statcv.models import Logit, TrainingSet
from statcv.models.batched.folds import Folds, permuted_folds
from statcv.models.batched.logit import left_out
from statcv.models.batched.logit.left_out import fit_left_out
from statcv.models.batched.logit.wide import fit_wide


def sample(seed, n, p, *, intercept=True, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = (2 * X[:, -1] + rng.logistic(size=n) > 0).astype(int)
    y[:12] = [0, 1] * 6
    if intercept:
        X[:, 0] = 1.0
    weights = rng.uniform(0.3, 3.0, n) if weighted else None
    names = tuple(f"x{j}" for j in range(p))
    place = 0 if intercept else None
    return TrainingSet(X, y, "binary", 2, names, place, weights, seed=0)


@given(
    st.integers(0, 10_000),
    st.integers(16, 40),
    st.integers(15, 60),
    st.sampled_from([1e-3, 1.0, 100.0]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_they_are_those_of_each_training_set(seed, n, times, C, intercept, weighted):
    records = sample(seed, n, times * n, intercept=intercept, weighted=weighted)
    rng = np.random.default_rng(seed)
    lists = [rng.choice(n, size, replace=False).tolist() for size in (1, 2, 0, 3, 1)]
    folds, ridge = Folds.leaving_out(lists), Logit(C=C).ridge(records)
    for fit in (fit_left_out, fit_wide):
        made = fit(records, folds, ridge)
        assert made is not None
        beta, converged = made
        assert converged.all()
        for number in range(len(folds)):
            alone = Logit(C=C).fit(folds.training_set(records, number))
            expected = records.X @ list(alone.coefficients.values())
            eta = records.X @ beta[number]
            np.testing.assert_allclose(eta, expected, atol=1e-8, rtol=1e-8)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_leave_one_out_is_that_of_scikit_learn(C):
    """Its precise solver is given coordinates in the space of the training rows."""
    records = sample(1, 40, 1000)
    folds = Folds.leaving_out([[row] for row in range(40)])
    made = fit_left_out(records, folds, Logit(C=C).ridge(records))
    assert made is not None
    assert made[1].all()
    for row in range(0, 40, 8):
        train = folds.train(row, 40)
        X = records.X[:, 1:] @ np.linalg.qr(records.X[train, 1:].T)[0]
        peer = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12)
        expected = peer.fit(X[train], records.y[train]).predict_proba(X)[:, 1]
        probability = 1 / (1 + np.exp(-records.X @ made[0][row]))
        np.testing.assert_allclose(probability, expected, atol=1e-8)


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_a_call_predicts_what_fits_alone_predict():
    records = sample(2, 24, 400)
    data = pd.DataFrame(records.X[:, 1:]).add_prefix("gene").assign(y=records.y)
    held = scv.cv("y ~ .", data, model=Logit(C=1.0), scheme="loocv").predictions
    for row in range(0, 24, 5):
        kept = np.delete(np.arange(24), row)
        alone = Logit(C=1.0).fit(replace(records, X=records.X[kept], y=records.y[kept]))
        eta = records.X[row] @ list(alone.coefficients.values())
        found = held.loc[held["row"] == row, "predicted"].item()
        assert found == pytest.approx(1 / (1 + np.exp(-eta)), abs=1e-9)


def test_other_fits_are_left_to_other_ways():
    records = sample(3, 20, 400)
    ridge = Logit(C=1.0).ridge(records)
    alone = Folds.leaving_out([[row] for row in range(20)])
    assert fit_left_out(records, alone, ridge) is not None
    many = Folds.leaving_out([range(5), range(5, 10)])
    assert fit_left_out(records, many, ridge) is None
    twice = Folds.of_times(np.array([[2] * 20, [0] + [1] * 19], dtype=np.int32))
    assert fit_left_out(records, twice, ridge) is None
    outcomes = replace(records, y=np.stack([records.y, 1 - records.y]))
    assert fit_left_out(outcomes, permuted_folds(alone, 2), ridge) is None
    assert fit_left_out(records, alone, np.zeros(400)) is None
    nothing = replace(records, weights=np.repeat([0.0, 1.0], [1, 19]))
    assert fit_left_out(nothing, alone, ridge) is None
    narrow = replace(records, X=records.X[:, :10])
    assert fit_left_out(narrow, alone, ridge[:10]) is None
    alike = replace(records, X=records.X + 5.0)
    assert fit_left_out(alike, alone, ridge) is None
    one_class = replace(records, y=np.zeros(20, dtype=int))
    assert fit_left_out(one_class, alone, ridge) is None


def test_slow_steps_are_accelerated(monkeypatch):
    steps, step = [0], left_out.Held.step

    def counted(held, *given):
        steps[0] += 1
        return step(held, *given)

    monkeypatch.setattr(left_out.Held, "step", counted)
    records, folds = sample(4, 16, 160), Folds.leaving_out([[row] for row in range(16)])
    ridge = Logit(C=100.0).ridge(records)
    made = fit_left_out(records, folds, ridge)
    assert made is not None
    assert made[1].all()
    assert steps[0] < 20
    monkeypatch.setattr(left_out, "SLOW", np.inf)
    _, converged = fit_left_out(records, folds, ridge)
    assert not converged.all()
    assert steps[0] > 40
