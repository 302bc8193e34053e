"""Large ridge fits of many columns by multiples, against fits of each training set."""

import pickle
import warnings
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

import statcv as scv
from statcv.errors import FoldWarning
from statcv.folds import make_plan
from statcv.models import Logit, TrainingSet
from statcv.models.batched import Folds
from statcv.models.batched.multiples import by_records
from statcv.models.batched.multiples import fits as multiples
from statcv.models.batched.multiples.by_records import ByRecords
from statcv.models.batched.multiples.fits import fit_by_multiples
from statcv.models.batched.multiples.span import Span
from statcv.numeric.threads import allow_threads

SCHEMES = {
    "fifths": {"scheme": "stratified_kfold", "k": 5},
    "halves thrice": {"scheme": "stratified_kfold", "k": 2, "repeats": 3},
    "fifths upsampled": {"scheme": "rkfold", "k": 5, "rebalance": "upsample"},
    "fifths weighted": {"scheme": "stratified_kfold", "k": 5, "rebalance": "weight"},
    "bootstrap": {"scheme": "bootstrap", "repeats": 4},
}
KINDS = ["alike", "different sizes", "far from 0", "counts", "few factors"]


def sample(seed, n=150, p=200, kind="alike", intercept=True, weighted=False, classes=2):
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
    score = centred[:, 0] + rng.logistic(size=n)
    y = np.digitize(score, np.arange(classes - 1) - (classes - 2) / 2)
    return TrainingSet(
        X=np.column_stack([np.ones(n), X]) if intercept else X,
        y=y,
        kind="binary" if classes == 2 else "multiclass",
        n_classes=classes,
        names=tuple(f"x{j}" for j in range(p + intercept)),
        intercept=0 if intercept else None,
        weights=rng.exponential(size=n) if weighted else None,
        seed=0,
    )


def folds_of(scheme, records, seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldWarning)
        plan = make_plan(y=records.y, kind=records.kind, seed=seed, **SCHEMES[scheme])
    return Folds.of(plan)


@contextmanager
def taken():
    """Take this way where another one would be quicker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multiples, "are_few_and_large", lambda *_: True)
        yield


def fitted(records, folds, ridge):
    with taken():
        return fit_by_multiples(records, folds, ridge)


def by_class(fits, records, fit):
    """Return the coefficients of each class, of which 0 has none if there are two."""
    beta = fits.coefficients[fit].reshape(-1, records.X.shape[1])
    return np.vstack([0 * beta, beta]) if len(beta) == 1 else beta


def distance(training, ridge, beta):
    """Return by how much coefficients of classes differ from the optimum."""
    X, classes = training.X, len(beta)
    weights = np.ones(len(X)) if training.weights is None else training.weights
    chance = softmax(X @ beta.T, axis=1)
    apart = (np.eye(classes)[training.y] - chance) * weights[:, None]
    if classes == 2:  # class 0 has no coefficients
        variance = weights * chance[:, 1] * chance[:, 0]
        hessian = (X.T * variance) @ X + np.diag(ridge)
        return np.linalg.solve(hessian, apart[:, 1] @ X - ridge * beta[1])[None]
    gradient = apart.T @ X - ridge * beta
    hessian = np.zeros((classes, len(ridge), classes, len(ridge)))
    for a, b in np.ndindex(classes, classes):
        covariance = weights * chance[:, a] * ((a == b) - chance[:, b])
        hessian[a, :, b] = (X.T * covariance) @ X + (a == b) * np.diag(ridge)
        hessian[a, :, b] += np.diag(ridge == 0)  # so that these add up to 0
    flat = hessian.reshape(gradient.size, -1)
    return np.linalg.solve(flat, gradient.ravel()).reshape(beta.shape)


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 10**6),
    scheme=st.sampled_from(list(SCHEMES)),
    wide=st.sampled_from([0.9, 1.0, 1.3, 3.0]),
    C=st.sampled_from([0.01, 1.0, 10.0]),
    intercept=st.booleans(),
    weighted=st.booleans(),
    standardize=st.booleans(),
    classes=st.sampled_from([2, 2, 3, 4]),
    tied=st.booleans(),
)
def test_fits_are_those_of_each_training_set(
    kind, seed, scheme, wide, C, intercept, weighted, standardize, classes, tied
):
    n = 100 if classes == 2 else 60
    records = sample(seed, n, int(n * wide), kind, intercept, weighted, classes)
    folds, ridge = folds_of(scheme, records, seed), Logit(C=C).ridge(records)
    if standardize:  # penalties differ
        ridge *= records.X.var(axis=0).clip(min=0.1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multiples, "MIN_STEPS_SAVED", np.inf if tied else -np.inf)
        made = fitted(records, folds, ridge)
    if made is None:  # where rounding would cost digits
        with np.errstate(over="ignore"):
            narrow = records.X.shape[1] < n
            lacking = lacks_a_class(records, folds)
            assert narrow or lacking or Span.of(records, ridge) is None
        return
    assert made.converged.all()
    for fit in range(2):
        training = folds.training_set(records, fit)
        lacking = distance(training, ridge, by_class(made, records, fit))
        assert np.abs(records.X @ lacking.T).max() < 1e-8


def lacks_a_class(records, folds):
    sets = [folds.training_set(records, fit) for fit in range(len(folds))]
    return any(len(np.unique(one.y)) < records.n_classes for one in sets)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("p", [90, 260])
@pytest.mark.parametrize("free", [1, 2, 3])
def test_inverses_by_records_are_those_of_hessians(free, p, intercept, monkeypatch):
    records = sample(p, 100, p, "different sizes", intercept)
    ridge = Logit(C=1.0).ridge(records)
    span, rng = Span.of(records, ridge), np.random.default_rng(p)
    n, q = 100, span.size
    roots = rng.uniform(-0.5, 0.5, size=(3, n, free, free))
    whole = roots @ roots.swapaxes(2, 3) / free + 0.05 * np.eye(free)
    for fit in range(3):
        whole[fit, fit::5] = 0.0
    pairs = np.triu_indices(free)
    curved, trained = whole[:, :, pairs[0], pairs[1]], whole[:, :, 0, 0] > 0
    monkeypatch.setattr(by_records, "UNLIKE", np.inf if free == 2 else 10.0)
    inverses = ByRecords.of(span, curved.swapaxes(1, 2), trained)
    assert inverses.direct == (free != 2)
    least = by_records.SHARE * span.strength
    whole += least * np.eye(free) * trained[:, :, None, None]
    gradients = rng.normal(size=(3, free, q)) * 0.1
    gradients[:, :, :n] *= trained[:, None]
    flat = gradients.reshape(3, -1)
    places = inverses.times(flat)
    steps = span.coefficients(places)
    along = span.along(places) * trained[:, None]
    gap = np.abs(along - span.predictors(places) * trained[:, None]).max()
    assert gap < 1e-4 * np.abs(along).max()
    for fit in range(3):
        hessian = np.einsum("ij,iab,ik->ajbk", records.X, whole[fit], records.X)
        for own in range(free):
            hessian[own, :, own] += np.diag(ridge)
        along = gradients[fit, :, :n] @ (records.X - span.middle)
        if intercept:  # the intercept is one of the centred columns
            along[:, 0] = gradients[fit, :, n] / span.unit
            along[:, 1:] += span.middle[1:] * along[:, [0]]
        exact = np.linalg.solve(hessian.reshape(along.size, -1), along.ravel())
        gap = np.abs(steps[fit].ravel() - exact).max()
        assert gap < 1e-4 * np.abs(exact).max()
    some = inverses.part(np.array([2, 0])).times(flat[[2, 0]])
    np.testing.assert_allclose(span.coefficients(some), steps[[2, 0]], rtol=1e-6)


def farthest(made, model, records, folds, fits):
    """Return by how much predictors of some fits differ from their own optima."""
    own, gaps = model.own_ridges(records, folds), []
    assert np.ptp(own, axis=0).max() > 0
    for fit in fits:
        beta = made.linear.coefficients[fit].T
        beta = np.vstack([0 * beta, beta]) if records.n_classes == 2 else beta
        lacking = distance(folds.training_set(records, fit), own[fit], beta)
        gaps.append(np.abs(records.X @ lacking.T).max())
    return np.max(gaps)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("n", [60, 300])
def test_ridges_of_their_own_are_those_of_each_training_set(n, classes):
    records = sample(n, n, n + 40, "different sizes", classes=classes, weighted=True)
    folds, model = folds_of("fifths", records), Logit(C=1.0, standardize=True)
    made = model.fit_folds(records, folds)
    assert farthest(made, model, records, folds, range(len(folds))) < 1e-8


@pytest.mark.parametrize("classes", [2, 3])
def test_many_ridges_of_their_own_are_fitted_in_blocks(monkeypatch, classes):
    records = sample(4, 80, 100, "different sizes", classes=classes)
    each = Folds.leaving_out([[one] for one in range(80)])
    model = Logit(C=0.5, standardize=True)
    monkeypatch.setattr(multiples, "LARGER", 1)
    blocks, settle = [], multiples._settle

    def watched(problem):
        blocks.append(len(problem.often))
        return settle(problem)

    monkeypatch.setattr(multiples, "_settle", watched)
    made = model.fit_folds(records, each)
    assert sum(blocks) == 80
    assert len(blocks) > 1
    assert farthest(made, model, records, each, (0, 20, 79)) < 1e-8


def test_folds_in_doubt_are_fitted_by_themselves(monkeypatch):
    records = sample(7, 50, 60, classes=3)
    folds, model = folds_of("fifths", records), Logit(C=1.0, standardize=True)
    known = model.fit_folds(records, folds).linear.coefficients
    settle, sure = multiples._settle, np.array([False, True, False, True, True])

    def sometimes(problem):
        place, done = settle(problem)
        return place * sure[:, None], done & sure

    monkeypatch.setattr(multiples, "_settle", sometimes)
    ridge = Logit(C=1.0).ridge(records)
    own = model.own_ridges(records, folds)
    np.testing.assert_array_equal(
        fit_by_multiples(records, folds, ridge, own).converged, sure
    )
    assert fitted(records, folds, ridge) is None  # other ways fit these folds together
    again = model.fit_folds(records, folds)
    assert again.converged.all()
    np.testing.assert_allclose(again.linear.coefficients, known, atol=1e-9)


def of_classes(linear):
    return linear.coefficients.reshape(*linear.penalty.shape, -1)


@pytest.mark.parametrize("kind", ["alike", "far from 0"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_fits_in_the_row_space_are_the_same(classes, kind, intercept):
    records = sample(3, 80, 150, kind, intercept, classes=classes)
    with taken():
        made = Logit(C=0.2).fit_folds(records, folds_of("fifths", records))
    linear, smallest = made.linear, made.linear.smallest
    assert smallest is not linear
    assert smallest.coefficients.shape[1] <= 80 + intercept
    np.testing.assert_allclose(
        np.tensordot(smallest.coefficients, smallest.rows, (1, 1)),
        np.tensordot(linear.coefficients, records.X, (1, 1)),
        atol=1e-9,
    )
    inside, given = (
        np.einsum("fp,fpk->f", one.penalty, of_classes(one) ** 2)
        for one in (smallest, linear)
    )
    np.testing.assert_allclose(inside, given, rtol=1e-8)
    again = pickle.loads(pickle.dumps(linear))
    np.testing.assert_array_equal(again.coefficients, smallest.coefficients)
    np.testing.assert_array_equal(
        linear.chosen(np.array([2])).coefficients, smallest.coefficients[[2]]
    )


def test_other_ways_are_taken_where_they_are_better():
    records = sample(1, 330, 400)
    folds, ridge = folds_of("fifths", records), Logit(C=1.0).ridge(records)
    assert fit_by_multiples(records, folds, ridge) is not None
    free = ridge.copy()
    free[3] = 0.0
    assert fit_by_multiples(records, folds, free) is None
    assert fit_by_multiples(records, folds, ridge * 1e-7) is None
    each = Folds.leaving_out([[one] for one in range(330)])
    assert fit_by_multiples(records, each, ridge) is None
    small, narrow = sample(1, 100, 200), sample(1, 330, 150)
    for other in (small, narrow):
        folds, ridge = folds_of("fifths", other), Logit(C=1.0).ridge(other)
        assert fit_by_multiples(other, folds, ridge) is None


def test_one_class_is_left_to_other_ways():
    records = sample(2, 100, 150)
    alike = replace(records, y=np.ones(100, dtype=int))
    ridge = Logit(C=1.0).ridge(alike)
    assert fitted(alike, folds_of("fifths", records), ridge) is None


@pytest.mark.parametrize("classes", [2, 3])
def test_numbers_do_not_depend_on_threads(classes):
    records = sample(5, 260, 300, classes=classes)
    folds, made = folds_of("fifths", records), []
    for number in (1, 2):
        with allow_threads(number):
            fits = fitted(records, folds, Logit(C=1.0).ridge(records))
        made.append(fits.coefficients)
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize("classes", [2, 3])
def test_results_are_those_of_other_ways(monkeypatch, classes):
    records = sample(8, 330, 400, classes=classes)
    y = records.y if classes == 2 else pd.Categorical(records.y)
    frame = pd.DataFrame(records.X[:, 1:]).add_prefix("x").assign(y=y)
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
    assert np.abs(here.held.predicted - there.held.predicted).max() < 1e-9
    assert list(here.coefficients.columns) == list(there.coefficients.columns)
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
    (products,) = span.products
    gap = np.abs(products - exact).max()
    assert gap < 1e-5 * np.abs(exact).max()
