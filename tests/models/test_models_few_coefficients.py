"""Newton's method for several fits of few coefficients, against each fit by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.models import Logit, TrainingSet
from statcv.models.batched.folds import Folds
from statcv.models.batched.logit import few_coefficients
from statcv.models.batched.logit.few_coefficients import climb, is_small
from statcv.models.batched.logit.fits import fit_logit_folds
from statcv.models.batched.logit.problem import Problem, find_centre


def sample(seed, n, p, strength=1.0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p))])
    y = (strength * X[:, 1] + rng.logistic(size=n) > 0).astype(int)
    y[:2] = 0, 1
    names = tuple(f"x{j}" for j in range(p + 1))
    return TrainingSet(X, y, "binary", 2, names, 0, None, seed=0)


def folds_of(n, k):
    fold = np.arange(n) % k
    return Folds.leaving_out([np.flatnonzero(fold == one) for one in range(k)])


def climbed(records, folds, C, enough=1e-11):
    centre = find_centre(Logit(C=C), records)
    (block,) = folds.blocks(*centre.X.shape)
    problem = Problem.of(centre, block)
    assert is_small(problem)
    theta, gradient = problem.start()
    inverse = problem.common_hessian()
    with np.errstate(invalid="ignore", over="ignore"):
        step = inverse.times(gradient)
        return block.fits, centre, climb(problem, theta, step, inverse, enough)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(25, 90),
    p=st.integers(1, 4),
    loocv=st.booleans(),
    C=st.sampled_from([None, 1.0, 0.1]),
)
def test_fits_that_are_done_are_at_their_optima(seed, n, p, loocv, C):
    records = sample(seed, n, p)
    centre = find_centre(Logit(C=C), records)
    if centre is None:  # separated
        return
    folds = folds_of(n, n if loocv else 4)
    fits, centre, (theta, done, at, bound) = climbed(records, folds, C)
    ridge = Logit(C=C).ridge(records)
    for place in np.flatnonzero(done).tolist():
        beta = theta[place] @ centre.back
        rows = folds.train(int(fits[place]), n)
        X, y = records.X[rows], records.y[rows]
        p_hat = 1 / (1 + np.exp(-X @ beta))
        gradient = X.T @ (y - p_hat) - ridge * beta
        hessian = (X.T * (p_hat * (1 - p_hat))) @ X + np.diag(ridge)
        assert np.abs(records.X @ np.linalg.solve(hessian, gradient)).max() < 1e-9
    assert np.isfinite(bound[done]).all()
    assert (np.abs((theta - at)[done] @ centre.across) < 1).all()


def test_ordinary_fits_are_all_done():
    for k in (5, 70):
        done = climbed(sample(1, 70, 3), folds_of(70, k), 1.0)[2][1]
        assert done.all()


def test_fits_without_an_optimum_are_not_done():
    """One record stands between the classes: without it they are separated."""
    x = np.array([*np.linspace(-3, -1, 12), 0.5, *np.linspace(1, 3, 12), -0.5])
    y = np.array([*[0] * 13, *[1] * 13])
    X = np.column_stack([np.ones(26), x])
    records = TrainingSet(X, y, "binary", 2, ("one", "x"), 0, None, seed=0)
    folds = Folds.leaving_out([[0], [12], [25], [12, 25]])
    fits, _, (_, done, *_) = climbed(records, folds, None)
    assert done[np.flatnonzero(fits == 0)].all()
    assert not done[np.flatnonzero(fits == 3)].any()
    made = fit_logit_folds(Logit(), records, folds)
    for fit in range(4):
        alone = Logit().fit(folds.training_set(records, fit))
        assert made.separated[fit] == alone.separated
        found = 1 / (1 + np.exp(-X @ made.coefficients[fit]))
        np.testing.assert_allclose(found, alone.predict(X), atol=1e-8)


@pytest.mark.parametrize("C", [None, 1.0])
@pytest.mark.parametrize("k", [5, 60])
def test_it_is_what_fixed_matrices_lead_to(monkeypatch, C, k):
    records, folds = sample(2, 60, 3, strength=2.0), folds_of(60, k)
    own = fit_logit_folds(Logit(C=C), records, folds).coefficients
    monkeypatch.setattr(few_coefficients, "SMALL", 0)
    fixed = fit_logit_folds(Logit(C=C), records, folds).coefficients
    np.testing.assert_allclose(own, fixed, atol=1e-9)
