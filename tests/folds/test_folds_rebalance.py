from itertools import chain, combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.errors import SchemeError
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance import subsample as drawing
from statcv.folds.rebalance.draw_evenly import draw_evenly
from statcv.folds.rebalance.subsample import (
    UnequalSets,
    _kind_by_kind,
    _one_by_one,
    all_subsamples,
    bags,
    subsample,
    upsample,
)
from statcv.folds.rebalance.weighting import nearest_mean
from statcv.folds.schemes.allocation import allocate


def training(split, n, *lists):
    absent = np.concatenate([part[split] for part in lists])
    return np.setdiff1d(np.arange(n), absent)


def counts_of(codes, classes, rows):
    return np.array([np.bincount(codes[r], minlength=classes) for r in rows])


def is_rising(lists, strictly=True):
    steps = (np.diff(lists[i]) for i in range(len(lists)))
    return all((step > 0).all() if strictly else (step >= 0).all() for step in steps)


@st.composite
def cases(draw, most=50, classes=4, largest=1):
    """Draw classes, strata, and folds of whole strata; some records may be omitted."""
    n = draw(st.integers(4, most))
    classes = draw(st.integers(1, classes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    codes = rng.integers(classes, size=n)
    sizes = rng.integers(1, largest + 1, n)
    strata = rng.permutation(np.repeat(np.arange(n), sizes)[:n])
    strata = np.unique(strata, return_inverse=True)[1]
    number = strata.max() + 1
    k = draw(st.integers(2, max(2, int(number))))
    fold = rng.permutation(np.arange(number) % k)[strata]
    tests = Ragged.grouped(fold, k)
    out = [
        rng.choice(np.flatnonzero(fold != f), draw(st.integers(0, 1)), replace=False)
        if (fold != f).any()
        else []
        for f in range(k)
    ]
    return rng, codes, classes, strata, tests, Ragged.of(out)


def lacks_a_class(counts, codes):
    present = np.bincount(codes, minlength=counts.shape[1]) > 0
    return bool(((counts == 0) & present).any())


@given(cases())
def test_training_counts_are_counted(case):
    _, codes, classes, _, tests, out = case
    rows = [training(s, len(codes), tests, out) for s in range(len(tests))]
    expected = counts_of(codes, classes, rows)
    found = UnequalSets(codes, classes, tests, out).counts
    np.testing.assert_array_equal(found, expected)


@given(st.one_of(cases(), cases(largest=5)), st.booleans())
def test_subsamples_have_equal_totals_and_drop_as_few_as_possible(case, stratify):
    rng, codes, classes, strata, tests, out = case
    n = len(codes)
    counts = UnequalSets(codes, classes, tests, out).counts
    strata = strata if stratify else None
    if lacks_a_class(counts, codes):
        with pytest.raises(SchemeError, match="without any"):
            subsample(UnequalSets(codes, classes, tests, out), rng, strata)
        return
    drops = subsample(UnequalSets(codes, classes, tests, out), rng, strata)
    assert is_rising(drops)
    for split in range(len(tests)):
        assert np.isin(drops[split], training(split, n, tests, out)).all()
    rows = [training(s, n, tests, out, drops) for s in range(len(tests))]
    totals = counts_of(codes, classes, rows)
    np.testing.assert_array_equal(totals, np.tile(counts.min(axis=0), (len(rows), 1)))


def subsets(rows):
    return chain.from_iterable(combinations(rows, size) for size in range(len(rows)))


def fewest_drops(codes, classes, tests):
    """Return the smallest total number of drops, by exhaustive search."""
    n = len(codes)
    reached = []
    for split in range(len(tests)):
        rows = training(split, n, tests)
        best = {}
        for dropped in subsets(rows.tolist()):
            kept = np.setdiff1d(rows, dropped)
            total = tuple(np.bincount(codes[kept], minlength=classes).tolist())
            best[total] = min(best.get(total, n), len(dropped))
        reached.append(best)
    common = set.intersection(*map(set, reached))
    return min(sum(best[total] for best in reached) for total in common)


@given(cases(most=9, classes=3))
def test_no_choice_of_drops_is_smaller(case):
    rng, codes, classes, _, tests, _ = case
    out = Ragged.empty(len(tests))
    if lacks_a_class(UnequalSets(codes, classes, tests, out).counts, codes):
        return
    drops = subsample(UnequalSets(codes, classes, tests, out), rng)
    assert len(drops.values) == fewest_drops(codes, classes, tests)


@pytest.mark.parametrize(
    ("counts", "k"), [((4, 3), 3), ((5, 2), 2), ((3, 3), 2), ((2, 2, 3), 3)]
)
def test_no_allocation_to_groups_of_these_sizes_loses_fewer(counts, k):
    codes = np.repeat(np.arange(len(counts)), counts)
    n, classes = len(codes), len(counts)

    def lost(fold):
        tests, rng = Ragged.grouped(fold, k), np.random.default_rng(0)
        out = Ragged.empty(k)
        if lacks_a_class(UnequalSets(codes, classes, tests, out).counts, codes):
            return np.inf
        return len(subsample(UnequalSets(codes, classes, tests, out), rng).values)

    table = np.eye(classes, dtype=int)[codes]
    ours = lost(allocate(table, k, np.random.default_rng(1), by_class=True))
    sizes = np.arange(n) % k
    every = {
        tuple(p) for p in product(range(k), repeat=n) if sorted(p) == sorted(sizes)
    }
    assert ours == min(lost(np.array(fold)) for fold in every)


@pytest.mark.parametrize(
    ("positives", "negatives", "p", "expected"),
    [(50, 50, 5, (47, 47)), (10, 1000, 2, (9, 998)), (30, 70, 1, (29, 69))],
)
def test_worked_examples(positives, negatives, p, expected):
    codes = np.repeat([1, 0], [positives, negatives])
    k = len(codes) // p
    for seed in range(5):
        rng = np.random.default_rng(seed)
        fold = allocate(np.eye(2, dtype=int)[codes], k, rng, by_class=True)
        tests, out = Ragged.grouped(fold, k), Ragged.empty(k)
        drops = subsample(UnequalSets(codes, 2, tests, out), rng)
        joined = Ragged.of(np.r_[tests[s], drops[s]] for s in range(k))
        left = UnequalSets(codes, 2, joined, out).counts
        assert {tuple(row) for row in left[:, ::-1].tolist()} == {expected}


@given(st.lists(st.integers(2, 40), min_size=2, max_size=4), st.integers(0, 2**32))
def test_leave_one_out_drops_partners_evenly(counts, seed):
    codes = np.repeat(np.arange(len(counts)), counts)
    n, rng = len(codes), np.random.default_rng(seed)
    tests = Ragged.grouped(np.arange(n), n)
    drops = subsample(UnequalSets(codes, len(counts), tests, Ragged.empty(n)), rng)
    for row in range(n):  # one of each other class
        others = np.setdiff1d(np.arange(len(counts)), codes[row])
        np.testing.assert_array_equal(np.sort(codes[drops[row]]), others)
    for c in range(len(counts)):
        assert np.ptp(np.bincount(drops.values, minlength=n)[codes == c]) <= 1


def test_all_partners_are_equally_likely():
    codes = np.array([0, 0, 0, 1, 1])
    tests, out = Ragged.grouped(np.arange(5), 5), Ragged.empty(5)
    rng = np.random.default_rng(6)
    times = np.zeros((5, 5))
    for _ in range(1500):
        drops = subsample(UnequalSets(codes, 2, tests, out), rng)
        np.add.at(times, (drops.owners, drops.values), 1)
    share = np.where(codes[:, None] == codes, 0, 1 / np.bincount(codes)[codes])
    np.testing.assert_allclose(times / 1500, share, atol=4 * 0.5 / np.sqrt(1500))


@given(
    st.integers(1, 400),
    st.integers(1, 30),
    st.integers(1, 6),
    st.floats(0, 0.6),
    st.integers(0, 2**32),
)
def test_draws_are_open_different_and_as_many_as_there_can_be(
    lists, size, most, share, seed
):
    rng = np.random.default_rng(seed)
    base = size + 3
    pool = rng.permutation(base)[:size]
    need = rng.integers(most + 1, size=lists)
    barred = rng.random((lists, base)) < share
    keys = np.flatnonzero(barred.ravel())
    drawn = draw_evenly(need, pool, keys, base, rng)
    owner = np.repeat(np.arange(lists), need)
    had = drawn >= 0
    assert (drawn[~had] == -1).all()
    taken = np.zeros((lists, base), dtype=int)
    np.add.at(taken, (owner[had], drawn[had]), 1)
    assert taken.max(initial=0) <= 1
    assert not taken[barred].any()
    assert not np.delete(taken, pool, axis=1).any()
    possible = np.minimum(need, (~barred[:, pool]).sum(axis=1))
    np.testing.assert_array_equal(taken.sum(axis=1), possible)


@pytest.mark.parametrize(("lists", "need"), [(40, 3), (5000, 1), (3000, 4), (6, 150)])
def test_draws_are_even(lists, need):
    rng = np.random.default_rng(lists)
    needs, pool = np.full(lists, need), np.arange(300)
    barred = np.arange(lists) * 300 + rng.integers(300, size=lists)
    for keys, spread in ((barred[:0], 1), (barred, 2)):
        drawn = draw_evenly(needs, pool, keys, 300, rng)
        assert np.ptp(np.bincount(drawn, minlength=300)) <= spread


@pytest.mark.parametrize("choose", [_one_by_one, _kind_by_kind])
@given(case=cases(most=60, largest=5))
def test_whole_strata_are_dropped_while_one_fits(choose, case):
    rng, codes, classes, strata, tests, out = case
    counts = UnequalSets(codes, classes, tests, out).counts
    need = counts - counts.min(axis=0)
    number = strata.max() + 1
    table = np.zeros((number, classes), dtype=int)
    np.add.at(table, (strata, codes), 1)
    barred = np.zeros((len(tests), number), dtype=bool)
    for absent in (tests, out):
        barred[absent.owners, strata[absent.values]] = True
    split, chosen = choose(need, table, np.flatnonzero(barred.ravel()), rng)
    taken = np.zeros((len(tests), number), dtype=int)
    np.add.at(taken, (split, chosen), 1)
    assert taken.max() <= 1
    assert not taken[barred].any()
    left = need - taken @ table
    assert (left >= 0).all()
    if choose is _one_by_one:
        fits = (table[None] <= left[:, None]).all(axis=2)
        assert not (fits & ~barred & (taken == 0)).any()


def test_twins_are_dropped_together():
    """Twins are dropped together if single records can make up the rest."""
    codes = np.r_[np.zeros(40, dtype=int), np.tile([0, 1], 20), np.ones(40, dtype=int)]
    strata = np.r_[np.arange(40), 40 + np.repeat(np.arange(20), 2), 60 + np.arange(40)]
    tests = Ragged.grouped(strata, 100)
    rng = np.random.default_rng(5)
    drops = subsample(UnequalSets(codes, 2, tests, Ragged.empty(100)), rng, strata)
    parts = 0
    for split in range(100):
        inside, sizes = np.unique(strata[drops[split]], return_counts=True)
        parts += (sizes < np.bincount(strata)[inside]).sum()
    assert len(drops.values) == 40 + 40
    assert parts == 0


@given(cases())
def test_upsampled_training_sets_have_equal_totals(case):
    rng, codes, classes, _, tests, out = case
    n = len(codes)
    counts = UnequalSets(codes, classes, tests, out).counts
    if lacks_a_class(counts, codes):
        with pytest.raises(SchemeError, match="without any"):
            upsample(UnequalSets(codes, classes, tests, out), rng)
        return
    copies = upsample(UnequalSets(codes, classes, tests, out), rng)
    assert is_rising(copies, strictly=False)
    for split in range(len(tests)):
        rows = training(split, n, tests, out)
        assert np.isin(copies[split], rows).all()
        total = np.bincount(codes[np.r_[rows, copies[split]]], minlength=classes)
        np.testing.assert_array_equal(total, counts.max(axis=0))
        times = np.bincount(copies[split], minlength=n)[rows]
        for c in np.unique(codes[rows]):
            assert np.ptp(times[codes[rows] == c]) <= 1


@given(cases(most=9, classes=3))
def test_all_subsamples_are_listed(case):
    _, codes, classes, _, tests, out = case
    counts = UnequalSets(codes, classes, tests, out).counts
    if lacks_a_class(counts, codes):
        return
    drops, fits = all_subsamples(UnequalSets(codes, classes, tests, out))
    need = counts - counts.min(axis=0)
    assert fits.sum() == len(drops)
    assert is_rising(drops)
    start = np.r_[0, np.cumsum(fits)]
    for split in range(len(tests)):
        rows = training(split, len(codes), tests, out)
        expected = {
            dropped
            for dropped in combinations(rows.tolist(), need[split].sum())
            if (
                np.bincount(codes[list(dropped)], minlength=classes) == need[split]
            ).all()
        }
        listed = [
            tuple(drops[f].tolist()) for f in range(start[split], start[split + 1])
        ]
        assert set(listed) == expected
        assert len(listed) == len(expected)
        by_class = [sorted(fit, key=lambda row: (codes[row], row)) for fit in listed]
        assert by_class == sorted(by_class, key=lambda fit: (codes[fit].tolist(), fit))


def test_too_many_subsamples_are_counted_not_made():
    codes = np.repeat([0, 1], [60, 90])
    tests = Ragged.of([np.arange(30), np.arange(30, 60), np.arange(60, 150, 2)])
    number = 2 * comb(90, 45) + comb(60, 30)
    with pytest.raises(SchemeError, match=rf"about 10\^{len(str(number)) - 1} fits"):
        all_subsamples(UnequalSets(codes, 2, tests, Ragged.empty(3)))
    loo = Ragged.grouped(np.arange(150), 150)
    of_all = UnequalSets(codes, 2, loo, Ragged.empty(150))
    with pytest.raises(SchemeError, match="makes 10800 fits, and the limit is 10799"):
        all_subsamples(of_all, limit=10_799)
    assert all_subsamples(of_all, 10_800)[1].sum() == 10_800


@given(cases(), st.integers(1, 4))
def test_bags_hold_equal_totals_of_training_records(case, n_bags):
    rng, codes, classes, _, tests, out = case
    n = len(codes)
    counts = UnequalSets(codes, classes, tests, out).counts
    if lacks_a_class(counts, codes):
        return
    drops, copies = bags(UnequalSets(codes, classes, tests, out), rng, n_bags)
    assert len(drops) == len(copies) == n_bags * len(tests)
    assert is_rising(drops)
    assert is_rising(copies, strictly=False)
    for fit in range(len(drops)):
        rows = training(fit // n_bags, n, tests, out)
        assert np.isin(drops[fit], rows).all()
        kept = np.setdiff1d(rows, drops[fit])
        assert np.isin(copies[fit], kept).all()
        total = np.bincount(codes[np.r_[kept, copies[fit]]], minlength=classes)
        np.testing.assert_array_equal(total, counts.min(axis=0))


def test_bags_omit_as_many_records_as_a_bootstrap():
    codes, tests = np.zeros(300, dtype=int), Ragged.grouped(np.arange(300) // 100, 3)
    drops, _ = bags(
        UnequalSets(codes, 1, tests, Ragged.empty(3)), np.random.default_rng(1), 100
    )
    assert abs(drops.sizes.mean() / 200 - (1 - 1 / 200) ** 200) < 0.01


def test_bags_that_exceed_the_memory_raise_before_they_are_drawn(monkeypatch):
    codes, k = np.arange(2000) % 2, 2000
    tests, rng = Ragged.grouped(np.arange(2000), k), np.random.default_rng(1)
    # a bag misses 1/e of 1999 records, and has as many others twice
    with pytest.raises(SchemeError, match=r"1000 bags of each of 2000 splits .* 2\.9e"):
        bags(UnequalSets(codes, 2, tests, Ragged.empty(k)), rng, n_bags=1000)
    codes, tests = np.arange(400) % 4 > 0, Ragged.grouped(np.arange(400) // 100, 4)
    given = codes.astype(int), 2, tests, Ragged.empty(4)
    drops, copies = bags(UnequalSets(*given), rng, n_bags=50)
    listed = len(drops.values) + len(copies.values)
    monkeypatch.setattr(drawing, "MOST", 1.3 * listed)
    assert len(bags(UnequalSets(*given), rng, n_bags=50)[0]) == 200
    monkeypatch.setattr(drawing, "MOST", listed / 1.3)
    with pytest.raises(SchemeError, match="use fewer folds or bags"):
        bags(UnequalSets(*given), rng, n_bags=50)


@pytest.mark.parametrize("make", [subsample, upsample, bags])
def test_a_class_held_out_whole_is_named(make):
    tests, out = Ragged.of([[0, 1], [2, 3]]), Ragged.empty(2)
    given, rng = (np.array([0, 0, 0, 1]), 2, tests, out), np.random.default_rng(0)
    with pytest.raises(SchemeError, match="class 'ill' has 1 record, and a split"):
        make(UnequalSets(*given, ["well", "ill"]), rng)
    with pytest.raises(SchemeError, match="class 1 has"):
        make(UnequalSets(*given), rng)


def test_lists_that_exceed_the_memory_raise_an_error():
    n, k = 70_000, 30_001
    fold = np.maximum(np.arange(n) - 40_000, -1) + 1  # one huge stratum, many single
    codes = np.arange(n) % 2
    sets = UnequalSets(codes, 2, Ragged.grouped(fold, k), Ragged.empty(k))
    with pytest.raises(SchemeError, match=r"drop 1\.2e\+09 records"):
        subsample(sets, np.random.default_rng(0))


@given(cases(), st.sampled_from(["normal", "ties", "constant"]))
def test_the_nearest_mean_is_found(case, kind):
    rng, codes, _, _, tests, out = case
    n = len(codes)
    y = {
        "normal": rng.standard_normal(n),
        "ties": rng.integers(0, 4, n).astype(float),
        "constant": np.full(n, 0.1),
    }[kind]
    rows = [training(s, n, tests, out) for s in range(len(tests))]
    if min(map(len, rows)) < 2:
        with pytest.raises(SchemeError, match="fewer than two"):
            nearest_mean(y, tests, out)
        return
    drops = nearest_mean(y, tests, out)
    assert (drops.sizes == 1).all()
    for split, r in enumerate(rows):
        off = [abs(np.delete(y[r], i).mean() - y.mean()) for i in range(len(r))]
        first = r[np.flatnonzero(np.isclose(off, min(off), rtol=0, atol=1e-11))[0]]
        assert drops[split].tolist() == [first]
