from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedGroupKFold

from statcv.folds.schemes.allocation import _exchange, allocate, kinds_of_rows


def held(table, fold, k):
    counts = np.zeros((k, table.shape[1]), dtype=int)
    np.add.at(counts, fold, table)
    return counts


def merit(counts):
    """Return the drops that rebalancing would need, and the spread of sizes."""
    return counts.max(axis=0).sum(), np.ptp(counts.sum(axis=1))


def best_of_all(table, k):
    """Return the least merit over all allocations that leave no fold empty."""
    best = (np.inf, np.inf)
    for fold in product(range(k), repeat=len(table)):
        if fold[0] == 0 and len(set(fold)) == k:
            best = min(best, merit(held(table, np.array(fold), k)))
    return best


@st.composite
def single_records(draw):
    counts = draw(st.lists(st.integers(1, 30), min_size=1, max_size=5))
    seed = draw(st.integers(0, 2**32))
    codes = np.repeat(np.arange(len(counts)), counts)
    return np.eye(len(counts), dtype=int)[
        np.random.default_rng(seed).permutation(codes)
    ]


@st.composite
def units(draw, largest=8, most=40):
    classes = draw(st.integers(1, 4))
    number = draw(st.integers(2, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = rng.integers(1, draw(st.integers(1, largest)) + 1, number)
    return rng.multinomial(sizes, rng.dirichlet(np.ones(classes)))


@given(single_records(), st.data(), st.integers(0, 2**32))
def test_single_records_are_spread_to_within_one(table, data, seed):
    k = data.draw(st.integers(1, len(table)))
    counts = held(
        table, allocate(table, k, np.random.default_rng(seed), by_class=True), k
    )
    assert np.ptp(counts, axis=0).max() <= 1
    assert np.ptp(counts.sum(axis=1)) <= 1


@given(units(), st.data(), st.booleans(), st.integers(0, 2**32))
def test_no_fold_is_empty_and_the_seed_decides(table, data, by_class, seed):
    k = data.draw(st.integers(1, len(table)))
    fold = allocate(table, k, np.random.default_rng(seed), by_class=by_class)
    np.testing.assert_array_equal(np.unique(fold), np.arange(k))
    again = allocate(table, k, np.random.default_rng(seed), by_class=by_class)
    np.testing.assert_array_equal(fold, again)


def test_allocations_are_nearly_always_the_best_of_all():
    rng = np.random.default_rng(11)
    excess = []
    for case in range(60):
        k = int(rng.integers(2, 4))
        number = int(rng.integers(k, 9 if k == 3 else 11))
        sizes = rng.integers(1, rng.integers(2, 8), number)
        table = rng.multinomial(sizes, rng.dirichlet(np.ones(rng.integers(1, 4))))
        fold = allocate(table, k, np.random.default_rng(case), by_class=True)
        ours, best = merit(held(table, fold, k)), best_of_all(table, k)
        assert ours >= best
        excess.append((ours[0] - best[0], ours != best))
    lost, other = np.array(excess).T
    assert lost.max() <= 1
    assert (lost == 0).mean() >= 0.95
    assert other.mean() <= 0.1


def test_sizes_alone_are_nearly_always_the_best_of_all():
    rng = np.random.default_rng(12)
    same = []
    for case in range(40):
        table = rng.integers(1, 8, (int(rng.integers(3, 9)), 1))
        both = np.hstack([table // 2, table - table // 2])
        fold = allocate(both, 3, np.random.default_rng(case), by_class=False)
        same.append(merit(held(table, fold, 3)) == best_of_all(table, 3))
    assert np.mean(same) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("number", "k"), [(30, 4), (60, 5), (200, 10)])
def test_classes_are_spread_better_than_by_scikit_learn(number, k):
    rng = np.random.default_rng(number)
    ours, theirs = [], []
    for case in range(8):
        table = rng.multinomial(rng.integers(1, 9, number), [0.6, 0.25, 0.15])
        unit = np.repeat(np.arange(number), table.sum(axis=1))
        y = np.concatenate([np.repeat(np.arange(3), row) for row in table])
        fold = allocate(table, k, np.random.default_rng(case), by_class=True)
        ours.append(merit(held(table, fold, k)))
        other = np.empty(number, dtype=int)
        splitter = StratifiedGroupKFold(k, shuffle=True, random_state=case)
        for number_of_fold, (_, test) in enumerate(splitter.split(y, y, unit)):
            other[unit[test]] = number_of_fold
        theirs.append(merit(held(table, other, k)))
    assert (np.mean(ours, axis=0) < np.mean(theirs, axis=0)).all()


def test_one_big_unit_leaves_the_rest_to_the_other_folds():
    table = np.array([[5], *[[1]] * 10])
    counts = held(table, allocate(table, 3, np.random.default_rng(0), by_class=True), 3)
    assert counts.ravel().tolist() == [5, 5, 5]


@pytest.mark.slow
def test_equal_units_are_exchangeable():
    table = np.array([[2, 0], [2, 0], [1, 1], [1, 1], [0, 3]])
    rng = np.random.default_rng(3)
    folds = np.array([allocate(table, 2, rng, by_class=True) for _ in range(800)])
    share = folds.mean(axis=0)  # each unit is as often in one fold as in the other
    np.testing.assert_allclose(share, 0.5, atol=4 * 0.5 / np.sqrt(800))
    for other in (2, 3):  # Like units are as often with a third unit.
        together = (folds[:, :2] == folds[:, [other]]).mean(axis=0)
        assert abs(together[0] - together[1]) < 4 * np.sqrt(0.5 / 800)


def test_single_records_are_allocated_uniformly():
    table = np.ones((6, 1), dtype=int)
    rng = np.random.default_rng(4)
    folds = np.array([allocate(table, 3, rng, by_class=False) for _ in range(3000)])
    pairs = [(folds[:, i] == folds[:, j]).mean() for i in range(6) for j in range(i)]
    np.testing.assert_allclose(pairs, 1 / 5, atol=4 * np.sqrt(0.16 / 3000))


@given(units(largest=4), st.integers(1, 10**9))
def test_kinds_are_the_distinct_rows(table, factor):
    table = table * factor  # large counts, for which a row is not a short number
    rows, kind = kinds_of_rows(table)
    np.testing.assert_array_equal(rows[kind], table)
    np.testing.assert_array_equal(rows, np.unique(table, axis=0))


@pytest.mark.parametrize("full", [0, 2])
@pytest.mark.parametrize("largest", [1, 3])
def test_folds_exchange_units_in_either_direction_until_all_are_even(full, largest):
    """From all units in one fold but a single one in each other."""
    rng = np.random.default_rng(largest)
    rows = np.array([[1, 0], [0, 1], [largest, 0], [0, largest]])
    kind = np.repeat(np.arange(4), 6)
    placed = np.full(24, full)
    placed[[0, 6]] = [fold for fold in range(3) if fold != full]
    fold, cost = _exchange(rows, kind, placed, 3, rng)
    counts = held(rows[kind], fold, 3)
    assert np.ptp(counts.sum(axis=1)) == 0
    assert np.ptp(counts, axis=0).max() <= largest - 1
    squares = 4 * (counts**2).sum() + (counts.sum(axis=1) ** 2).sum()
    assert cost == (counts.max(axis=0).sum(), squares)


def test_many_folds_of_large_units_are_improved_by_exchange():
    """With 40 folds only the pairs with an extreme fold exchange units."""
    k = 40
    rng = np.random.default_rng(11)
    table = rng.multinomial(rng.integers(1, 9, 130), [0.7, 0.3])
    groups = np.repeat(np.arange(len(table)), table.sum(axis=1))
    y = np.concatenate([np.repeat([0, 1], row) for row in table])
    fold = allocate(table, k, np.random.default_rng(1), by_class=True)
    other = np.empty(len(table), dtype=int)
    for number, (_, test) in enumerate(
        StratifiedGroupKFold(k).split(np.zeros(len(y)), y, groups)
    ):
        other[np.unique(groups[test])] = number
    assert len(np.unique(fold)) == k
    assert merit(held(table, fold, k)) < merit(held(table, other, k))
