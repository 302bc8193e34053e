"""Newton's method for several logistic fits at once, against single fits."""

import numpy as np
import pytest

from statcv.models import Logit, TrainingSet
from statcv.models.batched import FoldFits, Folds, refit
from statcv.numeric.logistic import expit


def drawn(n, p, strength, seed, weights=False):
    """Draw records of columns of different size, and bootstrap samples of them."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p))])
    y = (strength * X[:, 1] + rng.logistic(size=n) > 0).astype(int)
    X[:, 1:] *= 10.0 ** rng.integers(-3, 4, size=p)
    given = rng.integers(1, 4, size=n) * 0.7 if weights else None
    names = tuple(f"x{j}" for j in range(p + 1))
    records = TrainingSet(X, y, "binary", 2, names, 0, given, seed=0)
    rows = rng.integers(n, size=(40, n))
    times = np.stack([np.bincount(one, minlength=n) for one in rows])
    return records, times[(times @ y > 0) & (times @ (1 - y) > 0)]


def both_ways(model, records, folds):
    together, alone = (FoldFits.empty(len(folds), records.X.shape[1]) for _ in range(2))
    refit(together, model, records, folds)
    alone.refit(model, records, folds)
    np.testing.assert_array_equal(together.separated, alone.separated)
    np.testing.assert_array_equal(together.converged, alone.converged)
    assert together.refitted.all()
    X = records.X
    np.testing.assert_allclose(
        expit(together.coefficients @ X.T),
        expit(alone.coefficients @ X.T),
        rtol=0,
        atol=1e-8,
    )
    return together.separated


@pytest.mark.parametrize("C", [None, 1.0, 1e6])
@pytest.mark.parametrize("strength", [1.0, 8.0, 60.0])
def test_fits_together_are_single_fits(C, strength):
    records, times = drawn(30, 3, strength, seed=2, weights=strength == 8.0)
    separated = both_ways(Logit(C=C), records, Folds.of_times(times))
    if C is None:
        assert separated.any() == (strength > 1)
    else:
        assert not separated.any()


def test_dependent_and_empty_columns_have_the_shortest_solution():
    records, times = drawn(40, 4, 1.0, seed=3)
    records.X[:, 2] = records.X[:, 1] + 1
    records.X[:, 3] = np.arange(40) == 0
    separated = both_ways(Logit(), records, Folds.of_times(times))
    # the record of its own column separates wherever it is drawn
    assert separated[times[:, 0] > 0].all()
    assert not separated[times[:, 0] == 0].any()


def test_only_fits_that_have_not_converged_are_made():
    records, times = drawn(30, 2, 1.0, seed=4)
    folds = Folds.of_times(times)
    fits = FoldFits.empty(len(folds), 3)
    fits.converged[::2] = True
    refit(fits, Logit(), records, folds)
    assert (fits.coefficients[::2] == 0).all()
    assert (fits.coefficients[1::2, 0] != 0).all()
    np.testing.assert_array_equal(fits.refitted, np.arange(len(folds)) % 2 == 1)


def test_tables_of_times_are_lists_of_records():
    times = np.array([[2, 0, 1, 1], [1, 1, 1, 1], [0, 4, 0, 0]])
    folds = Folds.of_times(times)
    for fit, own in enumerate(times):
        np.testing.assert_array_equal(folds.train(fit, 4), np.repeat(range(4), own))
    lists = Folds(folds.out, folds.copied)
    for given, other in zip(folds.blocks(4, 2), lists.blocks(4, 2), strict=True):
        np.testing.assert_array_equal(given.fits, other.fits)
        counts = np.ones((2, len(given), 4))
        given.multiply(counts[0])
        other.multiply(counts[1])
        np.testing.assert_array_equal(counts[0], counts[1])
    np.testing.assert_array_equal(folds.chosen(np.array([2])).train(0, 4), [1] * 4)
