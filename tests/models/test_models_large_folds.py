"""Fits of a few large folds, against the model's fit of each training set."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import softmax

from statcv.errors import FoldWarning
from statcv.folds import make_plan
from statcv.models import Linear, Logit, TrainingSet
from statcv.models.batched import Block, Folds, Problem, Until, climb, large_folds
from statcv.models.batched import problem as problem_module
from statcv.models.batched.large_folds import (
    are_few_and_large,
    fit_few,
    fit_large_folds,
)
from statcv.models.families import Numeric, family_of
from statcv.models.linear import fit_linear_folds

SCHEMES = {
    "fifths": {"scheme": "kfold", "k": 5},
    "tenths twice": {"scheme": "stratified_kfold", "k": 10, "repeats": 2},
    "tenths six times": {"scheme": "stratified_kfold", "k": 10, "repeats": 6},
    "thirds": {"scheme": "rkfold", "k": 3},
    "fifths weighted": {"scheme": "stratified_kfold", "k": 5, "rebalance": "weight"},
    "fifths upsampled": {"scheme": "rkfold", "k": 5, "rebalance": "upsample"},
    "montecarlo": {"scheme": "montecarlo", "repeats": 5},
    "bootstrap": {"scheme": "bootstrap", "repeats": 4},
}


@pytest.fixture(autouse=True, scope="module")
def _small_folds_too():
    """Take small folds for large ones, so that tests take little time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_folds, "MAX_CELLS_SMALL", 2**11)
        yield


FEW = [name for name in SCHEMES if name != "tenths six times"]
KINDS = ["binary", "multiclass", "continuous"]


def sample(seed, n, p, kind="binary", signal=0.7, weighted=False):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p)) * rng.uniform(0.1, 9, p)])
    mean = X[:, 1:] @ (rng.normal(size=p) * signal / np.sqrt(p)) / 3
    y = mean + rng.normal(size=n)
    if kind == "binary":
        y = (mean + rng.logistic(size=n) > 0).astype(int)
    elif kind == "multiclass":
        y = np.digitize(mean + rng.logistic(size=n), [-0.9, 0.7])
    return TrainingSet(
        X=X,
        y=y,
        kind=kind,
        n_classes=0 if kind == "continuous" else int(y.max()) + 1,
        names=tuple(f"x{j}" for j in range(p + 1)),
        intercept=0,
        weights=rng.exponential(size=n) if weighted else None,
        seed=0,
    )


def folds_of(name, records, seed=0):
    given = SCHEMES[name]
    if records.kind == "continuous":
        given = {k: v for k, v in given.items() if k != "rebalance"}
        given["scheme"] = given["scheme"].replace("rkfold", "kfold")
        given["scheme"] = given["scheme"].replace("stratified_", "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldWarning)
        plan = make_plan(y=records.y, kind=records.kind, seed=seed, **given)
    return Folds.of(plan)


def problem_of(records, model, often):
    """Return the problem of fits that train on records so often, (m, n)."""
    family = family_of(records, model.ridge(records))
    block = Block.of_counts(np.atleast_2d(often).astype(float))
    return Problem(records.X, None, family, block, records.weights, None)


def hessian_of(problem, theta):
    return problem.hessian(problem.family.variances(problem.linear(theta)))


def largest_difference(made, model, records, folds):
    """Return the largest difference of linear predictors from refits."""
    gaps = []
    for fit in range(len(folds)):
        alone = model.fit(folds.training_set(records, fit)).linear.coefficients[0]
        eta = records.X @ (made[fit].T if made.ndim == 3 else made[fit])
        exact = records.X @ alone
        if records.kind == "multiclass":  # all may be shifted alike
            eta = eta - eta[:, :1]
            exact = exact - exact[:, :1]
        gaps.append(np.abs(eta - exact).max())
    return max(gaps)


@pytest.mark.parametrize("C", [None, 1.0, 100.0])
@pytest.mark.parametrize("kind", ["binary", "multiclass"])
@given(
    seed=st.integers(0, 10**6),
    scheme=st.sampled_from(FEW),
    p=st.integers(1, 9),
    weighted=st.booleans(),
)
@example(seed=23, scheme="tenths twice", p=5, weighted=True)
def test_large_folds_are_fitted_as_each(kind, C, seed, scheme, p, weighted):
    records = sample(seed, 400, p, kind, weighted=weighted)
    folds, model = folds_of(scheme, records, seed), Logit(C=C)
    ridge = model.ridge(records)
    made, sure = fit_few(records, family_of(records, ridge), folds, ridge)
    assert sure.all()
    made = made[:, 0] if kind == "binary" else made
    assert largest_difference(made, model, records, folds) < 1e-9


@given(
    seed=st.integers(0, 10**6),
    scheme=st.sampled_from(["fifths", "tenths twice", "montecarlo", "bootstrap"]),
    size=st.sampled_from([1e-6, 1.0, 1e6]),
    weighted=st.booleans(),
)
def test_least_squares_of_large_folds(seed, scheme, size, weighted):
    records = sample(seed, 600, 6, "continuous", weighted=weighted)
    records = replace(records, y=records.y * size)
    folds = folds_of(scheme, records, seed)
    fits = fit_linear_folds(Linear(), records, folds)
    assert not fits.refitted.any()
    gap = largest_difference(fits.coefficients, Linear(), records, folds)
    assert gap < 1e-9 * size


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_rows_change_nothing(monkeypatch, kind):
    records = sample(3, 1500, 4, kind)
    folds = folds_of("fifths", records)

    def fitted():
        if kind == "continuous":
            return fit_linear_folds(Linear(), records, folds).coefficients
        return fit_large_folds(records, folds, Logit(C=1.0).ridge(records))[0]

    whole = fitted()
    monkeypatch.setattr(problem_module, "CACHED", 1)
    np.testing.assert_allclose(fitted(), whole, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("C", [1.0, 1e4])
@pytest.mark.parametrize("n", [600, 1500])
def test_folds_far_from_the_optimum_of_all_records_are_fitted_as_each(n, C):
    """Fewer than two records for each coefficient are separated by chance."""
    records = sample(6, n, 400)
    folds, model = folds_of("fifths", records), Logit(C=C)
    made, sure = fit_large_folds(records, folds, model.ridge(records))
    assert sure.all()
    assert largest_difference(made[:, 0], model, records, folds) < 1e-8


@pytest.mark.parametrize("kind", KINDS)
def test_columns_with_a_common_factor_take_no_fits_of_their_own(kind):
    """Their Hessians cost digits."""
    records = sample(9, 3000, 60, kind)
    X = records.X.copy()
    X[:, 1:] = 0.03 * X[:, 1:] / X[:, 1:].std(axis=0) + X[:, 1:2] / X[:, 1].std()
    records = replace(records, X=X)
    folds = folds_of("fifths", records)
    family = family_of if kind != "continuous" else lambda r, _: Numeric(r.y)
    none = np.zeros(61)
    made, sure = fit_few(records, family(records, none), folds, none)
    assert sure.all()
    model = Linear() if kind == "continuous" else Logit()
    made = made if kind == "multiclass" else made[:, 0]
    assert largest_difference(made, model, records, folds) < 1e-8


def test_columns_of_very_different_size_and_offset():
    records = sample(8, 1000, 5)
    X = records.X.copy()
    X[:, 1] = 2000 + X[:, 1]
    X[:, 2] *= 1e6
    X[:, 3] *= 1e-6
    records = replace(records, X=X)
    folds = folds_of("fifths", records)
    made, sure = fit_large_folds(records, folds, np.zeros(6))
    assert sure.all()
    assert largest_difference(made[:, 0], Logit(), records, folds) < 1e-8


def test_a_fold_that_is_separated_is_left_to_a_fit_of_its_own():
    rng = np.random.default_rng(1)
    x = rng.normal(size=1000)
    y = (x > 0).astype(int)
    odd = np.arange(0, 1000, 3)
    y[odd] = rng.integers(0, 2, len(odd))
    records = replace(sample(0, 1000, 2), X=np.column_stack([np.ones(1000), x, x**2]))
    records = replace(records, y=y)
    folds = Folds.leaving_out([odd, np.arange(300, 500)])
    _, sure = fit_large_folds(records, folds, np.zeros(3))
    assert sure.tolist() == [False, True]


def test_dependent_columns_are_left_to_other_ways():
    records = sample(2, 1000, 3)
    X = np.column_stack([records.X, records.X[:, 1]])
    records = replace(records, X=X)
    assert fit_large_folds(records, folds_of("fifths", records), np.zeros(5)) is None


def test_hessians_count_records_as_often_as_fits_do():
    records = sample(4, 1000, 3, "multiclass", weighted=True)
    rng, model = np.random.default_rng(1), Logit(C=1.0)
    theta = np.tile(rng.normal(size=(1, 8)), (3, 1))
    often = rng.integers(0, 4, (3, 1000)).astype(float)
    found = hessian_of(problem_of(records, model, often), theta)
    for fit in range(3):
        alone = replace(records, weights=records.weights * often[fit])
        one = problem_of(alone, model, np.ones(1000))
        np.testing.assert_allclose(
            found[fit], hessian_of(one, theta[:1])[0], rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_by_blocks_are_sums(monkeypatch, kind):
    records = sample(4, 1000, 3, kind, weighted=True)
    rng = np.random.default_rng(1)
    often = rng.integers(0, 4, (3, 1000)).astype(float)
    problem = problem_of(records, Logit(C=1.0), often)
    turn = rng.uniform(0.01, 0.1, problem.family.basis.shape[1] * 4)
    problem = replace(problem, turn=turn, ridge=rng.uniform(size=(3, 1, len(turn))))
    theta = rng.normal(size=(3, len(turn)))
    whole = problem.gradient_of(problem.linear(theta), theta)
    monkeypatch.setattr(problem_module, "CACHED", 1)
    np.testing.assert_allclose(problem.gradient(theta), whole, rtol=1e-9)


@pytest.mark.parametrize("C", [None, 2.0])
def test_hessians_of_several_classes_are_sums_over_records(C):
    records = sample(6, 600, 2, "multiclass", weighted=True)
    problem = problem_of(records, Logit(C=C), np.ones(600))
    rng, basis = np.random.default_rng(0), problem.family.basis
    turn = rng.uniform(0.1, 1, basis.shape[1] * 3)
    problem = replace(problem, turn=turn)
    theta = rng.normal(size=(1, len(turn))) * 0.3
    beta = basis @ (theta * turn).reshape(basis.shape[1], -1)
    chance = softmax(records.X @ beta.T, axis=1)
    both = chance[:, :, None] * (np.eye(3) - chance[:, None])
    inner = np.einsum("ka,ikl,lb,i->iab", basis, both, basis, records.weights)
    exact = np.einsum("ip,iab,iq->apbq", records.X, inner, records.X)
    exact = exact.reshape(len(turn), -1) * np.outer(turn, turn)
    found = hessian_of(problem, theta)[0]
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-9)


def test_small_or_many_folds_are_left_to_other_ways():
    records = sample(2, 1000, 3)
    few = Folds.leaving_out([[0], [1], [2]])
    assert fit_large_folds(records, few, np.zeros(4)) is None
    many = Folds.leaving_out([range(i, i + 400) for i in range(100)])
    assert fit_large_folds(records, many, np.zeros(4)) is None


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_with_ridges_of_their_own_are_fitted_as_each(kind, weighted):
    records = sample(7, 400, 90, kind, weighted=weighted)
    model = Logit(C=0.1, standardize=True)
    for scheme in ("fifths", "tenths six times", "fifths upsampled"):
        folds = folds_of(scheme, records)
        own = model.own_ridges(records, folds)
        made, sure = fit_large_folds(records, folds, model.ridge(records), own)
        assert sure.all()
        some = np.array([0, 4])
        beta = made[some, 0] if kind == "binary" else made[some]
        gap = largest_difference(beta, model, records, folds.chosen(some))
        assert gap < 1e-8


@pytest.mark.parametrize(
    ("kind", "n", "p"), [("binary", 250, 150), ("multiclass", 200, 100)]
)
def test_many_folds_far_from_the_optimum_of_all_records(kind, n, p):
    records = sample(5, n, p, kind)
    folds, model = folds_of("tenths six times", records), Logit(C=1.0)
    assert are_few_and_large(folds, records.X.shape, records.n_classes)
    assert not are_few_and_large(folds, records.X.shape)  # as for least squares
    made, sure = fit_large_folds(records, folds, model.ridge(records))
    assert sure.all()
    some = np.array([3, 41, 59])
    chosen = folds.chosen(some)
    beta = made[some, 0] if kind == "binary" else made[some]
    assert largest_difference(beta, model, records, chosen) < 1e-8
    narrow = replace(records, X=records.X[:, :21], names=records.names[:21])
    assert fit_large_folds(narrow, folds, model.ridge(narrow)) is None


class Quadratics:
    """Concave quadratic functions with known optima."""

    def __init__(self, matrices, optima):
        self.matrices, self.optima = matrices, optima

    def gradient(self, theta):
        return np.einsum("mpq,mq->mp", self.matrices, self.optima - theta)

    def part(self, chosen):
        return Quadratics(self.matrices[chosen], self.optima[chosen])

    def times(self, vectors):
        return vectors

    @property
    def itself(self):
        return self


@given(seed=st.integers(0, 10**6), q=st.integers(1, 8))
def test_climbing_quadratics_reaches_their_optima(seed, q):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(3, 40 * q, q))
    matrices = np.einsum("mnp,mnq->mpq", rows, rows) / (40 * q)
    problem = Quadratics(matrices, rng.normal(size=(3, q)))
    start = np.zeros((3, q))
    found, done = climb(problem, start, problem, Until(1e-9, noise=1e-14))
    assert done.all()
    np.testing.assert_allclose(found, problem.optima, atol=1e-7)


FEW_RECORDS = {  # seed, records, covariates, signal
    "six for each coefficient": (100, 600, 100, 4.0),
    "four for each coefficient": (160, 600, 160, 4.0),
    "three for each coefficient": (200, 600, 200, 4.0),
    "one for each coefficient": (400, 400, 390, 0.7),
    "fewer than coefficients": (300, 300, 500, 0.7),
}


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("name", FEW_RECORDS)
def test_folds_of_few_records_for_each_coefficient_are_fitted_as_each(name, C):
    seed, n, p, signal = FEW_RECORDS[name]
    records = sample(seed, n, p, signal=signal)
    folds, model = folds_of("fifths", records), Logit(C=C)
    made, sure = fit_large_folds(records, folds, model.ridge(records))
    assert sure.all()
    for fit in range(len(folds)):
        alone = model.fit(folds.training_set(records, fit)).linear.coefficients[0]
        eta, exact = records.X @ made[fit, 0], records.X @ alone
        np.testing.assert_allclose(eta, exact, atol=1e-8, rtol=1e-8)
