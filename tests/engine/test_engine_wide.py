"""Changes of fits to many columns, beside those by the inverse of the information."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.engine.information import inverted
from statcv.engine.wide import Wide
from statcv.models.batched import information_of

N, FITS, M = 12, 3, 2


def wide(p, free=1, middle=0.0, alike=True, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(middle, 1.0, (N, p))
    X[:, :free] = np.vander(np.arange(N) / N, max(free, 1), increasing=True)[:, :free]
    ridge = rng.uniform(0.5, 2.0, (FITS, p))
    ridge[:, :free], ridge[:, -1] = 0.0, np.inf
    if alike:
        ridge[:] = ridge[0]
    weights = rng.uniform(0.0, 0.25, (FITS, N))
    weights[range(FITS), range(FITS)] = 0.0
    return Wide(X, ridge, weights)


@pytest.mark.parametrize("free", [0, 1, 3])
@pytest.mark.parametrize("p", [7, 30])
@pytest.mark.parametrize("alike", [True, False])
def test_changes_and_leverages_are_those_of_the_inverse(p, free, alike):
    found = wide(p, free, alike=alike)
    X, inverse = found.X, information_of(found.X, found.weights)
    inverse = inverted(inverse, found.ridge)
    targets = np.random.default_rng(2).normal(size=(M, FITS, p))
    along = np.einsum("np,fpq,mfq->mfn", X, inverse, targets)
    size = np.abs(along).max()
    np.testing.assert_allclose(found.along(targets), along, atol=1e-9 * size)
    leverage = found.weights * np.einsum("np,fpq,nq->fn", X, inverse, X)
    np.testing.assert_allclose(found.leverage, leverage, rtol=1e-8, atol=1e-10)
    assert (found.leverage[range(FITS), range(FITS)] == 0).all()


def test_columns_far_from_0_cost_no_digits():
    """With an intercept a shift of the other columns changes nothing."""
    near, far = wide(30), wide(30, middle=1e6)
    np.testing.assert_allclose(far.leverage, near.leverage, rtol=1e-7, atol=1e-9)
    v = np.random.default_rng(3).normal(size=(M, FITS, N))
    one, other = (of.along(v @ of.X) for of in (near, far))
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


def test_it_serves_fits_to_many_columns_with_strong_ridges():
    X = np.random.default_rng(3).normal(10.0, 1.0, (200, 120))
    penalty = np.ones((2, 120))
    penalty[:, 0] = 0.0
    assert Wide.suits(X[:100], penalty, 0.25)
    assert not Wide.suits(X, penalty, 0.25)
    assert not Wide.suits(X[:40, :50], penalty[:, :50], 0.25)
    assert Wide.suits(X[:100], penalty * [[1.0], [2.0]], 0.25)
    assert not Wide.suits(X[:100], np.zeros((2, 120)), 0.25)
    assert not Wide.suits(X[:100], penalty * 1e-3, 0.25)
    assert not Wide.suits(X[:100], penalty, 250.0)
    for other in (0.0, np.inf):
        unlike = penalty.copy()
        unlike[1, 5] = other
        assert not Wide.suits(X[:100], unlike, 0.25)


@pytest.mark.parametrize("middle", [0.0, 100.0])
def test_digits_suffice_where_it_serves(middle):
    """The truth comes from orthogonal decompositions."""
    rng = np.random.default_rng(4)
    for n, p in ((100, 150), (150, 110)):
        X = np.column_stack([np.ones(n), rng.normal(middle, 1.0, (n, p - 1))])
        weights = rng.uniform(0.001, 0.25, n)
        ridge = np.append(0.0, np.full(p - 1, 0.006))
        assert Wide.suits(X, ridge[None], 0.25)
        centred = X - np.average(X, axis=0, weights=weights)
        centred[:, 0] = 1.0
        root = np.sqrt(weights)[:, None]
        tall = np.concatenate([root * centred, np.diag(np.sqrt(ridge))])
        truth = (np.linalg.qr(tall)[0][:n] ** 2).sum(axis=1)
        found = Wide(X, ridge[None], weights[None]).leverage[0]
        np.testing.assert_allclose(found, truth, atol=1e-9)


def many_columns():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(105, 110))
    outcome = (X[:, 0] + rng.logistic(size=105) > 0).astype(int)
    data = pd.DataFrame(X, columns=[f"x{j}" for j in range(110)])
    return data.assign(y=outcome, w=rng.uniform(0.5, 2.0, 105))


def terms(term):
    return "y ~ " + " + ".join(term.format(f"x{j}") for j in range(110))


def test_blocks_of_fits_have_room_for_the_matrices_that_they_hold():
    """Those of records serve plain columns only."""
    sizes = {"{}": 105**2, "scale({})": 111**2}
    for term, size in sizes.items():
        model = scv.models.Logit(C=0.5)
        res = scv.cv(terms(term), many_columns(), model=model, k=3, seed=1)
        assert res.scores.sensitivity._width == size


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
@pytest.mark.parametrize(
    ("scheme", "weighted", "standardize"),
    [
        ("loocv", False, False),
        ("loocv", True, True),
        ("kfold", True, False),
        ("kfold", False, True),
        ("rloocv", False, False),
    ],
)
def test_intervals_are_the_same_in_both_ways(
    scheme, weighted, standardize, monkeypatch
):
    data = many_columns()
    model = scv.models.Logit(C=0.5, standardize=standardize)
    weights = "w" if weighted else None

    def limits():
        plan = {"scheme": scheme, "weights": weights, "seed": 1}
        res = scv.cv(terms("{}"), data, model=model, **plan)
        each = [res.estimate(metric) for metric in ("auroc", "brier", "accuracy")]
        return np.array([[one.lower, one.upper] for one in each])

    used = []
    suits = Wide.suits

    def watched(*given):
        used.append(suits(*given))
        return used[-1]

    monkeypatch.setattr(Wide, "suits", watched)
    by_records = limits()
    assert any(used)
    monkeypatch.setattr(Wide, "suits", lambda *_: False)
    np.testing.assert_allclose(by_records, limits(), rtol=1e-8)
