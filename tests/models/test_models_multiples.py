"""Large ridge fits of many columns by multiples, against fits of each training set."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statcv as scv
from statcv.errors import FoldWarning
from statcv.folds import make_plan
from statcv.models import Logit, TrainingSet
from statcv.models.batched.folds import Folds
from statcv.models.batched.logit import multiples
from statcv.models.batched.logit.by_records import ByRecords
from statcv.models.batched.logit.multiples import fit_by_multiples
from statcv.models.batched.logit.span import Span
from statcv.models.logit import expit
from statcv.threads import allow_threads

SCHEMES = {
    "fifths": {"scheme": "stratified_kfold", "k": 5},
    "halves thrice": {"scheme": "stratified_kfold", "k": 2, "repeats": 3},
    "fifths upsampled": {"scheme": "rkfold", "k": 5, "rebalance": "upsample"},
    "fifths weighted": {"scheme": "stratified_kfold", "k": 5, "rebalance": "weight"},
    "bootstrap": {"scheme": "bootstrap", "repeats": 4},
}
KINDS = ["alike", "different sizes", "far from 0", "counts", "few factors"]


def sample(seed, n=150, p=200, kind="alike", intercept=True, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    if kind == "different sizes":
        X *= np.exp(rng.normal(size=p))
    elif kind == "far from 0":
        X += 10 * rng.normal(size=p)
    elif kind == "counts":
        X = rng.poisson(np.exp(rng.normal(size=p)), size=(n, p)).astype(float)
    elif kind == "few factors":
        X = X / 2 + rng.normal(size=(n, 4)) @ rng.normal(size=(4, p))
    centred = (X - X.mean(axis=0)) / X.std(axis=0).clip(min=0.1)
    y = (centred[:, 0] + rng.logistic(size=n) > 0).astype(int)
    return TrainingSet(
        X=np.column_stack([np.ones(n), X]) if intercept else X,
        y=y,
        kind="binary",
        n_classes=2,
        names=tuple(f"x{j}" for j in range(p + intercept)),
        intercept=0 if intercept else None,
        weights=rng.exponential(size=n) if weighted else None,
        seed=0,
    )


def folds_of(scheme, records, seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldWarning)
        plan = make_plan(y=records.y, kind="binary", seed=seed, **SCHEMES[scheme])
    return Folds.of(plan)


def fitted(records, folds, ridge):
    """Take this way where another one would be quicker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multiples, "are_few_and_small", lambda *_: False)
        patch.setattr(multiples, "are_few_and_large", lambda *_: True)
        return fit_by_multiples(records, folds, ridge, expit)


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 10**6),
    scheme=st.sampled_from(list(SCHEMES)),
    wide=st.sampled_from([0.9, 1.0, 1.3, 3.0]),
    C=st.sampled_from([0.01, 1.0, 10.0]),
    intercept=st.booleans(),
    weighted=st.booleans(),
    standardize=st.booleans(),
)
def test_fits_are_those_of_each_training_set(
    kind, seed, scheme, wide, C, intercept, weighted, standardize
):
    records = sample(seed, 100, int(100 * wide), kind, intercept, weighted)
    folds, ridge = folds_of(scheme, records, seed), Logit(C=C).ridge(records)
    if standardize:  # penalties differ
        ridge *= records.X.var(axis=0).clip(min=0.1)
    made = fitted(records, folds, ridge)
    if made is None:  # where rounding would cost digits
        with np.errstate(over="ignore"):
            assert Span.of(records, ridge) is None or records.X.shape[1] < 100
        return
    assert made.converged.all()
    for fit in range(2):
        beta = np.asarray(made.linear.coefficients)[fit]
        training = folds.training_set(records, fit)
        weights = np.ones(len(training.y))
        if training.weights is not None:
            weights = training.weights
        chance = expit(training.X @ beta)
        gradient = training.X.T @ (weights * (training.y - chance)) - ridge * beta
        variance = weights * chance * (1 - chance)
        hessian = (training.X.T * variance) @ training.X + np.diag(ridge)
        lacking = records.X @ np.linalg.solve(hessian, gradient)
        assert np.abs(lacking).max() < 1e-8


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("p", [90, 260])
def test_inverses_by_records_are_those_of_hessians(p, intercept):
    records = sample(p, 100, p, "different sizes", intercept)
    ridge = Logit(C=1.0).ridge(records)
    span, rng = Span.of(records, ridge), np.random.default_rng(p)
    variances = rng.uniform(0.05, 0.25, size=(3, 100))
    for fit in range(3):
        variances[fit, fit::5] = 0.0
    inverses = ByRecords.of(span, variances)
    gradients = rng.normal(size=(3, span.size)) * 0.1
    gradients[:, :100] *= variances > 0
    steps = span.coefficients(inverses.times(gradients))
    for fit in range(3):
        hessian = (records.X.T * variances[fit]) @ records.X + np.diag(ridge)
        centred = records.X - span.middle
        along = gradients[fit, :100] @ centred
        if intercept:  # by one of the centred columns
            along[0] = gradients[fit, 100] / span.unit
            along[1:] += span.middle[1:] * along[0]
        exact = np.linalg.solve(hessian, along)
        np.testing.assert_allclose(steps[fit], exact, atol=1e-4 * np.abs(exact).max())
    some = inverses.part(np.array([2, 0])).times(gradients[[2, 0]])
    np.testing.assert_allclose(span.coefficients(some), steps[[2, 0]], rtol=1e-6)


@pytest.mark.parametrize("kind", ["alike", "far from 0"])
@pytest.mark.parametrize("intercept", [False, True])
def test_fits_in_the_row_space_are_the_same(kind, intercept):
    records = sample(3, 80, 150, kind, intercept)
    ridge = Logit(C=0.2).ridge(records)
    made = fitted(records, folds_of("fifths", records), ridge)
    linear, smallest = made.linear, made.linear.smallest
    assert smallest.coefficients.shape[1] <= 80 + intercept
    np.testing.assert_allclose(
        smallest.rows @ smallest.coefficients.T,
        records.X @ linear.coefficients.T,
        atol=1e-9,
    )
    inside = np.sum(smallest.penalty * smallest.coefficients**2, axis=1)
    np.testing.assert_allclose(
        inside, np.sum(linear.penalty * linear.coefficients**2, axis=1), rtol=1e-8
    )
    again = pickle.loads(pickle.dumps(linear))
    np.testing.assert_array_equal(again.coefficients, smallest.coefficients)
    np.testing.assert_array_equal(
        linear.chosen(np.array([2])).coefficients, smallest.coefficients[[2]]
    )


def test_other_ways_are_taken_where_they_are_better():
    records = sample(1, 330, 400)
    folds, ridge = folds_of("fifths", records), Logit(C=1.0).ridge(records)
    assert fit_by_multiples(records, folds, ridge, expit) is not None
    free = ridge.copy()
    free[3] = 0.0
    assert fit_by_multiples(records, folds, free, expit) is None
    assert fit_by_multiples(records, folds, ridge * 1e-7, expit) is None
    each = Folds.leaving_out([[one] for one in range(330)])
    assert fit_by_multiples(records, each, ridge, expit) is None
    small, narrow = sample(1, 100, 200), sample(1, 330, 150)
    for other in (small, narrow):
        folds, ridge = folds_of("fifths", other), Logit(C=1.0).ridge(other)
        assert fit_by_multiples(other, folds, ridge, expit) is None


def test_one_class_is_left_to_other_ways():
    records = sample(2, 100, 150)
    alike = replace(records, y=np.ones(100, dtype=int))
    ridge = Logit(C=1.0).ridge(alike)
    assert fitted(alike, folds_of("fifths", records), ridge) is None


def test_numbers_do_not_depend_on_threads():
    records = sample(5, 260, 300)
    folds, made = folds_of("fifths", records), []
    for number in (1, 2):
        with allow_threads(number):
            fits = fitted(records, folds, Logit(C=1.0).ridge(records))
        made.append(fits.linear.coefficients)
    np.testing.assert_array_equal(*made)


def test_results_are_those_of_other_ways(monkeypatch):
    records = sample(8, 330, 400)
    frame = pd.DataFrame(records.X[:, 1:]).add_prefix("x").assign(y=records.y)
    calls = []

    def watched(*given):
        calls.append(fit_by_multiples(*given))
        return calls[-1]

    monkeypatch.setattr("statcv.models.logit.fit_by_multiples", watched)
    call = {"data": frame, "model": Logit(C=1.0), "k": 5, "seed": 3, "progress": False}
    here = scv.cv("y ~ .", scheme="stratified_kfold", **call)
    assert calls[0] is not None
    monkeypatch.setattr("statcv.models.logit.fit_by_multiples", lambda *_: None)
    there = scv.cv("y ~ .", scheme="stratified_kfold", **call)
    gap = here.predictions["predicted"] - there.predictions["predicted"]
    assert gap.abs().max() < 1e-9
    mine, theirs = here.metrics(), there.metrics()
    for column in ("estimate", "lower", "upper"):
        np.testing.assert_allclose(mine[column], theirs[column], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("p", [1, 50, 9001])
@pytest.mark.parametrize("intercept", [False, True])
def test_products_are_those_of_centred_and_scaled_columns(intercept, p):
    records = sample(4, 30, p, "far from 0", intercept)
    ridge = np.linspace(1e3, 2e3, p + intercept)
    if intercept:
        ridge[0] = 0.0
    span = Span.of(records, ridge)
    columns = records.X[:, intercept:]
    if intercept:
        columns = columns - columns.mean(axis=0)
    exact = (columns / ridge[intercept:]) @ columns.T * span.strength
    gap = np.abs(span.products - exact).max()
    assert gap < 1e-5 * np.abs(exact).max()
