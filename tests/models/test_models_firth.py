"""Firth's penalised likelihood against R, a slow maximiser, and repeated records."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from statcv import cv
from statcv.errors import ModelError
from statcv.folds import make_plan
from statcv.models import Logit, TrainingSet
from statcv.models.batched import Folds
from statcv.models.firth import fit_firth_folds

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning"
)


REFERENCE = Path(__file__).parent.parent / "reference"
FIRTH = Logit(firth=True)


def records_of(X, y, weights=None, kind="binary"):
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    classes = int(np.max(y)) + 1
    return TrainingSet(X, y, kind, classes, names, 0, weights, seed=0)


def sample(seed, n, p, signal=1.0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p))])
    y = (signal * X[:, 1:] @ rng.normal(size=p) + rng.logistic(size=n) > 0).astype(int)
    y[:6] = [0, 1, 0, 1, 0, 1]
    return records_of(X, y)


def coefficients(fit):
    return np.array(list(fit.coefficients.values()))


def objective(beta, training):
    """Return the negative log-likelihood, minus half the information's log det."""
    eta = training.X @ beta
    weights = np.ones(len(eta)) if training.weights is None else training.weights
    variance = weights / (2 + np.exp(eta) + np.exp(-eta))
    loss = weights @ np.logaddexp(0, np.where(training.y == 1, -eta, eta))
    return loss - np.linalg.slogdet((training.X.T * variance) @ training.X)[1] / 2


def slope(beta, training):
    """Return the gradient of the objective, by differences."""
    steps = 1e-5 * np.eye(len(beta))
    ends = [[objective(beta + sign * h, training) for sign in (1, -1)] for h in steps]
    return np.subtract(*np.transpose(ends)) / 2e-5


def read(name):
    with (REFERENCE / name).open() as lines:
        return list(csv.DictReader(lines))


@pytest.mark.parametrize("case", ["overlap", "separated", "complete", "weighted"])
def test_it_is_that_of_r(case):
    rows = [row for row in read("firth_cases.csv") if row["case"] == case]
    expected = [
        float(row["value"]) for row in read("firth_r.csv") if row["case"] == case
    ]
    X = np.array([[1.0, *(float(row[x]) for x in "abg")] for row in rows])
    y = np.array([int(row["y"]) for row in rows])
    weights = np.array([float(row["weight"]) for row in rows])
    fit = FIRTH.fit(records_of(X, y, weights))
    assert fit.converged
    np.testing.assert_allclose(coefficients(fit), expected[:4], atol=1e-7)
    np.testing.assert_allclose(fit.predict(X), expected[4:], atol=1e-8)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(10, 40),
    p=st.integers(1, 3),
    signal=st.sampled_from([0.0, 1.0, 50.0]),
    weighted=st.booleans(),
)
def test_no_slow_maximiser_finds_more(seed, n, p, signal, weighted):
    training = sample(seed, n, p, signal)
    if weighted:
        weights = np.random.default_rng(seed).exponential(size=n) + 0.01
        training = replace(training, weights=weights)
    fit = FIRTH.fit(training)
    assert fit.converged
    assert not fit.separated
    start = np.zeros(p + 1)
    slow = minimize(objective, start, args=(training,), options={"gtol": 1e-7})
    assert objective(coefficients(fit), training) < slow.fun + 1e-9
    np.testing.assert_allclose(
        fit.predict(training.X), expit(training, slow), atol=1e-4
    )


def expit(training, slow):
    return 1 / (1 + np.exp(-training.X @ slow.x))


def test_two_by_two_tables_are_those_with_a_half_in_every_cell():
    """Saturated, the penalty is Haldane's correction, which a table shows."""
    x = np.repeat([0.0, 0, 1, 1], [7, 3, 5, 0])
    y = np.repeat([0, 1, 0, 1], [7, 3, 5, 0])
    fit = FIRTH.fit(records_of(np.column_stack([np.ones(15), x]), y))
    expected = [np.log(3.5 / 7.5), np.log(0.5 / 5.5) - np.log(3.5 / 7.5)]
    np.testing.assert_allclose(coefficients(fit), expected, atol=1e-10)


def test_a_step_that_only_mirrors_the_last_is_not_taken_for_ever():
    """Fisher's scoring steps to and fro where the penalty doubles the curvature."""
    group = np.repeat([0, 1, 2], [10, 1, 1])
    y = np.array([1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    X = np.column_stack([np.ones(12), group == 1, group == 2]).astype(float)
    fit = FIRTH.fit(records_of(X, y))
    assert fit.converged
    logits = np.log([3.5 / 7.5, 0.5 / 1.5, 1.5 / 0.5])
    expected = [logits[0], *(logits[1:] - logits[0])]
    np.testing.assert_allclose(coefficients(fit), expected, atol=1e-10)


def test_an_information_without_an_inverse_is_left_to_a_fit_of_its_own():
    y = np.array([0, 1, 0, 1, 1, 0])
    records = replace(records_of(np.eye(6)[:, :1], y), intercept=None)
    folds = Folds.leaving_out([[0], [1]])
    fits = fit_firth_folds(FIRTH, records, folds)
    assert fits.refitted.tolist() == [True, False]
    assert fits.coefficients[0] == 0


def test_case_weights_are_copies():
    training = sample(3, 30, 3)
    times = np.random.default_rng(0).integers(0, 4, 30)
    times[:6] = 1
    weighted = FIRTH.fit(replace(training, weights=times.astype(float)))
    copied = FIRTH.fit(
        records_of(training.X.repeat(times, 0), training.y.repeat(times))
    )
    np.testing.assert_allclose(coefficients(weighted), coefficients(copied), atol=1e-9)


def test_the_estimate_does_not_depend_on_coordinates():
    training = sample(4, 30, 3)
    turn = np.array([[1, 5e5, 0, 2], [0, 1e6, 0, 0], [0, 0, 1e-6, 3], [0, 0, 0, 1.0]])
    turned = FIRTH.fit(replace(training, X=training.X @ turn))
    plain = FIRTH.fit(training)
    expected = plain.predict(training.X)
    np.testing.assert_allclose(turned.predict(training.X @ turn), expected, atol=1e-8)
    more = np.column_stack([training.X, training.X.sum(axis=1), np.zeros(30)])
    dependent = FIRTH.fit(records_of(more, training.y))
    np.testing.assert_allclose(dependent.predict(more), expected, atol=1e-9)
    assert coefficients(dependent)[-1] == 0


@pytest.mark.slow
@example(876, "rloocv", 14, 4, 0.0, True)
@given(
    seed=st.integers(0, 10**6),
    scheme=st.sampled_from(["loocv", "rloocv", "weighted", "kfold", "bootstrap"]),
    n=st.integers(14, 36),
    p=st.integers(1, 4),
    signal=st.sampled_from([0.0, 1.0, 50.0]),
    weighted=st.booleans(),
)
@pytest.mark.filterwarnings("ignore::statcv.errors.FoldWarning")
def test_all_folds_are_fitted_as_each(seed, scheme, n, p, signal, weighted):
    """Few records can have several optima: then each fit is at one of them."""
    records = sample(seed, n, p, signal)
    if weighted:
        weights = np.random.default_rng(seed).integers(0, 4, n) / 2
        weights[:6] = 1
        records = replace(records, weights=weights)
    arguments = {
        "rloocv": {"scheme": "rloocv", "repeats": 2},
        "weighted": {"scheme": "rloocv", "rebalance": "weight"},
        "kfold": {"scheme": "stratified_kfold", "k": 3},
        "bootstrap": {"scheme": "bootstrap", "repeats": 6},
    }.get(scheme, {"scheme": scheme})
    plan = make_plan(y=records.y, kind="binary", seed=seed, **arguments)
    folds = Folds.of(plan)
    fits = fit_firth_folds(FIRTH, records, folds)
    assert not fits.separated.any()
    for number in range(len(folds)):
        training = folds.training_set(records, number)
        alone = FIRTH.fit(training)
        assert fits.converged[number] == alone.converged
        together = 1 / (1 + np.exp(-records.X @ fits.coefficients[number]))
        expected = alone.predict(records.X)
        weights = training.weights
        used = len(training.X) if weights is None else np.count_nonzero(weights)
        if used < 3 * (p + 1) and np.abs(together - expected).max() > 0.01:
            for found in (fits.coefficients[number], coefficients(alone)):
                assert np.abs(slope(found, training)).max() < 1e-6
            continue
        np.testing.assert_allclose(together, expected, atol=1e-10)


@pytest.mark.parametrize("signal", [1.0, 100.0])
def test_ordinary_folds_need_no_fit_of_their_own(signal):
    records = sample(1, 60, 4, signal)
    folds = Folds.leaving_out([[i] for i in range(60)])
    fits = fit_firth_folds(FIRTH, records, folds)
    assert not fits.refitted.any()
    assert fits.converged.all()


def test_each_fit_may_have_an_outcome_of_its_own():
    records = sample(10, 30, 2)
    rng = np.random.default_rng(0)
    outcomes = np.stack([rng.permutation(records.y) for _ in range(4)])
    single = Folds.leaving_out([[i] for i in range(30)])
    folds = replace(
        Folds.leaving_out([[i] for _ in range(4) for i in range(30)]),
        outcome=np.repeat(np.arange(4), 30),
    )
    fits = fit_firth_folds(FIRTH, replace(records, y=outcomes), folds)
    for number, y in enumerate(outcomes):
        alone = fit_firth_folds(FIRTH, replace(records, y=y), single)
        some = slice(30 * number, 30 * number + 30)
        np.testing.assert_allclose(
            fits.coefficients[some], alone.coefficients, atol=1e-9
        )


def test_a_column_that_no_training_row_has_is_none():
    records = sample(5, 24, 2)
    level = np.zeros(24)
    level[3] = 1
    records = records_of(np.column_stack([records.X, level]), records.y)
    folds = Folds.leaving_out([[3], [4]])
    fitted = FIRTH.fit_folds(records, folds)
    np.testing.assert_array_equal(
        np.isnan(np.asarray(fitted.coefficients)[:, 3]), [True, False]
    )
    assert np.isfinite(fitted.predict(np.array([3]), np.array([0]))).all()


def test_cv_has_finite_coefficients_where_the_classes_are_separated():
    data = pd.DataFrame({"x": np.arange(12.0), "y": [0] * 6 + [1] * 6})
    result = cv("y ~ x", data, model=FIRTH, scheme="loocv", metrics="accuracy")
    assert "Firth's penalty" in str(result)
    assert not result.folds["separated"].any()
    assert np.abs(result.coefficients.to_numpy(float)[:, -2:]).max() < 100


def test_what_it_cannot_do_is_refused():
    with pytest.raises(ModelError, match="two penalties"):
        Logit(C=1.0, firth=True)
    with pytest.raises(ModelError, match="firth must be True or False, not 'flic'"):
        Logit(firth="flic")
    with pytest.raises(ModelError, match="two classes only"):
        FIRTH.check("multiclass")
    training = sample(0, 20, 1)
    training.X[3, 1] = np.nan
    with pytest.raises(ModelError, match="missing covariates"):
        FIRTH.fit(training)
    with pytest.raises(ModelError, match="missing covariates"):
        FIRTH.fit_folds(training, Folds.leaving_out([[0]]))
