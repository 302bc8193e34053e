"""Swaps of the predictions of two models, compared with swaps made one by one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test, rankdata

import statcv as scv
from statcv.inference.paired.tests import auroc_terms, flip_signs, swap
from statcv.metrics import auroc, casewise_brier

RNG = np.random.default_rng


def swapped_by_hand(y, a, b, units, value):
    """Return the difference of a metric under every pattern of swaps."""
    groups = np.unique(units)
    found = []
    for pattern in product([False, True], repeat=len(groups)):
        turned = np.isin(units, groups[list(pattern)])
        one, other = np.where(turned, b, a), np.where(turned, a, b)
        found.append(value(y, other) - value(y, one))
    return np.array(found)


def case(seed, n, digits, clusters=None):
    rng = RNG(seed)
    y = np.array([0, 1] * n)[:n]
    common = rng.normal(size=n) + y
    a, b = (np.round(common + rng.normal(size=n), digits) for _ in range(2))
    units = np.arange(n) if clusters is None else rng.integers(0, clusters, n)
    return y, a, b, units


@given(st.integers(0, 10**6), st.integers(2, 9), st.sampled_from([0, 1, 3]))
def test_auroc_under_every_swap_of_ranks(seed, n, digits):
    y, a, b, units = case(seed, n, digits, clusters=5)
    found = flip_signs(auroc_terms(y, a, b), units, 99, RNG(1))
    by_hand = swapped_by_hand(y, rankdata(a), rankdata(b), units, auroc)
    observed = auroc(y, b) - auroc(y, a)
    assert found.p_value == pytest.approx(
        np.mean(np.abs(by_hand) >= abs(observed) - 1e-12)
    )
    assert found.sd == pytest.approx(np.sqrt(np.mean(by_hand**2)))
    assert found.exact


@given(st.integers(0, 10**6))
def test_terms_add_up_to_the_difference(seed):
    y, a, b, _ = case(seed, 40, 1)
    assert auroc_terms(y, a, b).sum() == pytest.approx(auroc(y, b) - auroc(y, a))


def test_only_the_order_matters():
    y, a, b, _ = case(4, 30, 6)
    terms = auroc_terms(y, a, b)
    assert np.array_equal(terms, auroc_terms(y, np.exp(a), 7 * b - 3))


def test_every_sign_agrees_with_scipy():
    rng = RNG(2)
    losses = rng.normal(0.4, 1, (2, 11))
    expected = permutation_test(
        tuple(losses),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    found = flip_signs(losses[1] - losses[0], None, 99, RNG(1))
    assert found.exact
    assert found.p_value == pytest.approx(expected.pvalue)


def test_random_signs_approximate_every_sign():
    terms = RNG(6).normal(0.5, 1, 16)
    exact = flip_signs(terms, None, 1, RNG(1))
    many = flip_signs(np.repeat(terms / 2, 2), np.repeat(np.arange(16), 2), 1, RNG(1))
    assert many.p_value == exact.p_value
    drawn = flip_signs(np.append(terms, 1e-9), None, 20_000, RNG(1))
    assert not drawn.exact
    error = np.sqrt(exact.p_value * (1 - exact.p_value) / 20_000)
    assert abs(drawn.p_value - exact.p_value) < 4 * error


def test_p_is_never_zero():
    drawn = flip_signs(np.ones(200), None, 99, RNG(1))
    assert drawn.p_value == 1 / 100


def test_no_difference_at_all():
    same = flip_signs(np.zeros(50), None, 99, RNG(1))
    assert (same.p_value, same.sd) == (1, 0)


def test_the_size_of_the_test_for_exchangeable_predictions():
    """The scores are exchangeable, so p is uniform apart from its discreteness."""
    rng, p = RNG(12), []
    y = np.repeat([0, 1], 15)
    for _ in range(400):
        common = rng.normal(size=30) + 0.8 * y
        a, b = common + rng.normal(size=(2, 30))
        p.append(flip_signs(auroc_terms(y, a, b), None, 199, rng).p_value)
    rejected = np.mean(np.array(p) <= 0.05)
    assert abs(rejected - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize("clusters", [None, 6])
def test_any_metric_by_swapping(clusters):
    """For a mean over records, swaps are equivalent to sign flips."""
    rng = RNG(9)
    y, units = rng.integers(0, 2, 12), rng.integers(0, clusters or 1, 12)
    a, b = rng.uniform(size=(2, 12))
    used = units if clusters else None
    terms = (casewise_brier(y, b) - casewise_brier(y, a)) / 12
    by_flips = flip_signs(terms, used, 99, RNG(1))
    by_swaps = swap(lambda p: casewise_brier(y, p).mean(), a, b, used, 99, RNG(1))
    assert by_swaps.p_value == pytest.approx(by_flips.p_value)
    assert by_swaps.sd == pytest.approx(by_flips.sd)
    assert (by_swaps.times, by_swaps.exact) == (by_flips.times, True)


def test_swaps_without_a_value_count_as_extreme():
    a, b = np.arange(3.0), np.arange(3.0)[::-1]

    def value(p):
        return float("nan") if p[0] == p[2] else float(p[0])

    found = swap(value, a, b, None, 99, RNG(1))
    assert (found.times, found.undefined) == (4, 2)
    assert found.p_value == 1


def test_a_model_without_a_value_is_shown_beside_the_other():
    plan = {"k": 4, "repeats": 2, "seed": 1}
    mean = scv.cv("GRADE ~ GPA", scv.load_data("spector"), model="mean", **plan)
    adversary = mean.update(model="negmean")  # its predictions are not probabilities
    asked = {"metric": "brier", "test": "permutation", "seed": 1}
    made = scv.compare(mean=mean, other=adversary, **asked)
    assert "other –" in str(made)
    assert made.summary().shown["Estimates"].iloc[1, 0] == "–"
