"""Firth's fits with corrected intercepts: against R, and fold by fold."""

import csv
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statcv as scv
from statcv.errors import ModelError
from statcv.folds import make_plan
from statcv.models import Logit, TrainingSet
from statcv.models.batched import Folds

REFERENCE = Path(__file__).parent.parent / "reference"
FLIC, FIRTH = Logit(flic=True), Logit(firth=True)


def read(name, case):
    with (REFERENCE / name).open() as lines:
        return [row for row in csv.DictReader(lines) if row["case"] == case]


def records_of(seed, n=30, p=2, signal=1.0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p))])
    y = (signal * X[:, 1:].sum(axis=1) + rng.logistic(size=n) > 0.8).astype(int)
    y[:6] = [0, 1, 0, 1, 0, 1]
    names = ("Intercept", *(f"x{j}" for j in range(p)))
    return TrainingSet(X, y, "binary", 2, names, 0, None, seed=0)


def coefficients(fit):
    return np.array(list(fit.coefficients.values()))


@pytest.mark.parametrize("case", ["overlap", "separated", "complete", "weighted"])
def test_it_is_that_of_r(case):
    rows = read("firth_cases.csv", case)
    expected = [float(row["value"]) for row in read("flic_r.csv", case)]
    X = np.array([[1.0, *(float(row[x]) for x in "abg")] for row in rows])
    y = np.array([int(row["y"]) for row in rows])
    weights = np.array([float(row["weight"]) for row in rows])
    names = ("Intercept", "a", "b", "g")
    fit = FLIC.fit(TrainingSet(X, y, "binary", 2, names, 0, weights, seed=0))
    assert coefficients(fit)[0] == pytest.approx(expected[0], abs=1e-6)
    np.testing.assert_allclose(fit.predict(X), expected[1:], atol=1e-7)


@given(
    seed=st.integers(0, 10**6),
    signal=st.sampled_from([0.0, 1.0, 50.0]),
    weighted=st.booleans(),
)
def test_probabilities_add_up_to_the_events_and_slopes_are_firths(
    seed, signal, weighted
):
    records = records_of(seed, signal=signal)
    weights = np.ones(30)
    if weighted:
        weights = np.random.default_rng(seed).exponential(size=30) + 0.01
        records = replace(records, weights=weights)
    fit = FLIC.fit(records)
    assert fit.converged
    total = weights @ fit.predict(records.X)
    assert total == pytest.approx(weights @ records.y, rel=1e-9)
    firth = coefficients(FIRTH.fit(records))
    np.testing.assert_allclose(coefficients(fit)[1:], firth[1:], atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "arguments",
    [
        {"scheme": "loocv"},
        {"scheme": "rloocv", "repeats": 2},
        {"scheme": "rloocv", "rebalance": "weight"},
        {"scheme": "stratified_kfold", "k": 3},
        {"scheme": "bootstrap", "repeats": 5},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_all_folds_are_fitted_as_each(arguments, weighted):
    records = records_of(3)
    if weighted:
        weights = np.random.default_rng(1).integers(1, 4, 30) / 2
        records = replace(records, weights=weights)
    folds = Folds.of(make_plan(y=records.y, kind="binary", seed=1, **arguments))
    fitted = FLIC.fit_folds(records, folds)
    firth = FIRTH.fit_folds(records, folds)
    slopes = np.asarray(fitted.coefficients)[:, 1:]
    np.testing.assert_array_equal(slopes, np.asarray(firth.coefficients)[:, 1:])
    for number in range(len(folds)):
        alone = FLIC.fit(folds.training_set(records, number))
        np.testing.assert_allclose(
            np.asarray(fitted.coefficients)[number], coefficients(alone), atol=1e-8
        )


def test_several_outcomes_are_fitted_together():
    records = records_of(5)
    rng = np.random.default_rng(2)
    outcomes = np.stack([records.y, rng.permutation(records.y)])
    folds = Folds.leaving_out([[0], [1], [0], [1]])
    folds = replace(folds, outcome=np.array([0, 0, 1, 1]))
    made = FLIC.fit_folds(replace(records, y=outcomes), folds)
    together = np.asarray(made.coefficients)
    single = Folds.leaving_out([[0], [1]])
    for half, y in enumerate(outcomes):
        alone = FLIC.fit_folds(replace(records, y=y), single)
        alone = np.asarray(alone.coefficients)
        np.testing.assert_allclose(together[2 * half : 2 * half + 2], alone, atol=1e-9)


@pytest.mark.parametrize("formula", ["GRADE ~ GPA + TUCE", "GRADE ~ scale(GPA)"])
def test_cv_is_calibrated_in_the_large_where_firth_is_not(formula):
    data = scv.load_data("spector").iloc[:26]  # 7 of 26
    call = {"scheme": "stratified_kfold", "k": 4, "seed": 1}
    flic = scv.cv(formula, data, model=FLIC, **call)
    firth = scv.cv(formula, data, model=FIRTH, **call)
    assert "intercept corrected" in flic.learner.label
    share = flic.design.y.mean()
    assert flic.predict().mean() == pytest.approx(share, abs=1e-9)
    assert firth.predict().mean() > share + 0.005
    again = pickle.loads(pickle.dumps(flic))
    assert again.estimate("brier").lower == flic.estimate("brier").lower


def test_what_it_cannot_do_is_refused():
    with pytest.raises(ModelError, match=r"Logit\(C=1.0, flic=True\) .* two penalties"):
        Logit(C=1.0, flic=True)
    with pytest.raises(ModelError, match="does not depend on the scale"):
        Logit(flic=True, standardize=True)
    with pytest.raises(ModelError, match="flic must be True or False, not 1"):
        Logit(flic=1)
    with pytest.raises(ModelError, match="two classes only"):
        FLIC.check("multiclass")
    with pytest.raises(ModelError, match="no intercept that flic=True could correct"):
        scv.cv("GRADE ~ 0 + GPA", scv.load_data("spector"), model=FLIC, seed=1)
    with pytest.raises(ModelError, match="not available over sites"):
        scv.sites.agree("y ~ x", model=FLIC)
