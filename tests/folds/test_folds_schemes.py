import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statcv.errors import ArgumentError, FoldWarning, SchemeError
from statcv.folds import SCHEMES, make_plan

pytestmark = pytest.mark.filterwarnings("ignore::statcv.errors.FoldWarning")


@st.composite
def outcomes(draw, least=2):
    """Draw class codes: 2 to 5 classes of 2 to 30 records in any order."""
    counts = draw(st.lists(st.integers(least, 30), min_size=2, max_size=5))
    order = np.random.default_rng(draw(st.integers(0, 10**6)))
    return order.permutation(np.repeat(np.arange(len(counts)), counts))


def kind(y):
    return "binary" if y.max() == 1 else "multiclass"


def spread(counts):
    return (counts.max(axis=0) - counts.min(axis=0)).max()


@given(
    st.sampled_from(["kfold", "stratified_kfold"]),
    outcomes(least=1),
    st.data(),
    st.integers(1, 4),
    st.integers(0, 2**64),
)
def test_folds_are_even_partitions(scheme, y, data, repeats, seed):
    n = len(y)
    k = data.draw(st.integers(2, n))
    plan = make_plan(scheme, y, kind(y), k=k, repeats=repeats, seed=seed)
    assert (plan.n, plan.repeats, plan.n_splits) == (n, repeats, k * repeats)
    times = np.zeros((repeats, n), dtype=int)
    for split, (train, test) in enumerate(plan.split()):
        repeat, _ = plan.name(split)
        times[repeat - 1, test] += 1
        together = np.concatenate([train, test])
        np.testing.assert_array_equal(np.sort(together), np.arange(n))
    assert (times == 1).all()
    _, held = plan.counts(y, y.max() + 1)
    for repeat in range(repeats):
        counts = held[repeat * k : (repeat + 1) * k]
        assert spread(counts.sum(axis=1)) <= 1
        if scheme == "stratified_kfold":
            assert spread(counts) <= 1


def test_remainders_are_allocated_to_successive_folds():
    y = np.repeat([0, 1, 2], [23, 7, 3])
    for seed in range(50):
        plan = make_plan("stratified_kfold", y, "multiclass", k=3, seed=seed)
        _, held = plan.counts(y, 3)
        assert sorted(map(tuple, held.tolist())) == [(7, 3, 1), (8, 2, 1), (8, 2, 1)]


@given(outcomes(), st.integers(1, 4), st.integers(0, 10**6))
def test_rebalanced_training_sets_have_equal_class_totals(y, repeats, seed):
    n, classes = len(y), y.max() + 1
    plan = make_plan("rloocv", y, kind(y), repeats=repeats, seed=seed)
    totals = np.bincount(y) - 1
    times = np.zeros((repeats, n), dtype=int)
    dropped = np.zeros((repeats, n), dtype=int)
    for split in range(plan.n_splits):
        train, test, out = plan.train(split), plan.test(split), plan.left_out(split)
        repeat = split // n
        assert len(test) == 1
        times[repeat, test] += 1
        others = np.setdiff1d(np.arange(classes), y[test])
        np.testing.assert_array_equal(np.sort(y[out]), others)
        np.testing.assert_array_equal(np.bincount(y[train]), totals)
        together = np.sort(np.concatenate([train, test, out]))
        np.testing.assert_array_equal(together, np.arange(n))
        dropped[repeat, out] += 1
    assert (times == 1).all()
    for repeat in range(repeats):
        for own in range(classes):
            dealt = dropped[repeat, y == own]
            assert dealt.max() - dealt.min() <= 1
            assert dealt.sum() == (y != own).sum()


@given(st.sampled_from(["kfold", "stratified_kfold", "rloocv"]), outcomes())
def test_the_seed_determines_the_plan(scheme, y):
    def make(seed, repeats=1):
        return make_plan(scheme, y, kind(y), seed=seed, repeats=repeats)

    first = make(1)
    assert make(1).fingerprint == first.fingerprint
    np.testing.assert_array_equal(make(1).dropped.values, first.dropped.values)
    assert first.seed == 1
    again = make(1, repeats=3)  # the first repeat is the same, whatever follows
    np.testing.assert_array_equal(again.held_out[0], first.held_out[0])
    np.testing.assert_array_equal(
        again.dropped.values[: len(first.dropped.values)], first.dropped.values
    )


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["kfold", "stratified_kfold", "rloocv"])
def test_repeats_and_seeds_differ(scheme):
    y = np.repeat([0, 1], [20, 15])
    fingerprints = {
        make_plan(scheme, y, "binary", seed=seed).fingerprint for seed in range(20)
    }
    assert len(fingerprints) == 20
    plan = make_plan(scheme, y, "binary", seed=1, repeats=20)
    drawn = {
        (
            plan.held_out[r].tobytes(),
            plan.dropped.values[r * 35 : r * 35 + 35].tobytes(),
        )
        for r in range(20)
    }
    assert len(drawn) == 20


def test_which_fold_is_large_is_random():
    y = np.repeat([0, 1], [6, 5])
    sizes = [
        len(make_plan("stratified_kfold", y, "binary", k=2, seed=s).test(0))
        for s in range(200)
    ]
    assert 60 < sum(size == 6 for size in sizes) < 140


def test_all_records_are_equally_likely_partners():
    y = np.repeat([0, 1], [4, 12])  # the four are dropped three times each,
    plan = make_plan("rloocv", y, "binary", seed=3, repeats=500)
    partners = np.bincount(plan.dropped.values, minlength=16)
    np.testing.assert_array_equal(partners[:4], 1500)
    expected = 4 * 500 / 12  # a third of the twelve is dropped once
    assert np.abs(partners[4:] - expected).max() < 5 * np.sqrt(expected * 2 / 3)


def test_loocv_holds_out_each_record_by_itself():
    plan = make_plan("loocv", np.zeros(7), "continuous")
    assert [test.tolist() for _, test in plan.split()] == [[i] for i in range(7)]
    assert plan.seed is None
    assert len(plan.dropped.values) == 0
    assert plan.sentence == "leave-one-out, each record held out by itself"


def test_a_large_rebalanced_plan_is_small():
    n = 200_000
    y = (np.random.default_rng(0).random(n) < 0.3).astype(int)
    tracemalloc.start()
    plan = make_plan("rloocv", y, "binary", seed=1, repeats=1)
    training, held = plan.counts(y, 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1000 * n  # n × n bits would be 25 000 a record
    assert len(np.unique(training, axis=0)) == 1
    assert (held.sum(axis=1) == 1).all()
    lists = (plan.tests, plan.dropped, plan.copied)
    stored = sum(one.values.nbytes + one.starts.nbytes for one in lists)
    assert stored + plan.first_fit.nbytes <= 40 * (n + 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 1}, "k=1 is out of range: 20 records make from 2 to 20 folds"),
        ({"k": -3}, "out of range"),
        ({"k": 21}, "out of range"),
        ({"k": 2.5}, "k must be an integer"),
        ({"k": True}, "k must be an integer"),
        ({"repeats": 0}, "repeats must be 1 or more"),
        ({"repeats": "2"}, "repeats must be an integer"),
        ({"scheme": "loocv", "k": 5}, "k=5 means nothing for scheme='loocv'"),
        ({"scheme": "rloocv", "k": 5}, "k=5 means nothing for scheme='rloocv'"),
        ({"scheme": "loocv", "repeats": 2}, "has no randomness"),
    ],
)
def test_meaningless_arguments_raise_an_error(arguments, message):
    arguments = {"scheme": "kfold", **arguments}
    with pytest.raises(ArgumentError, match=message):
        make_plan(y=np.tile([0, 1], 10), kind="binary", **arguments)


def test_schemes_that_do_not_apply_to_the_outcome_raise_an_error():
    with pytest.raises(SchemeError, match=r"no scheme 'rlooc'.*Did you mean 'rloocv'"):
        make_plan("rlooc", np.tile([0, 1], 10), "binary")
    for name in ("stratified_kfold", "rkfold", "rlpocv"):
        with pytest.raises(SchemeError, match="needs an outcome of classes"):
            make_plan(name, np.arange(10.0), "continuous")
    levels = ("ill", "well")
    with pytest.raises(SchemeError, match="class 'well' has 1"):
        make_plan("rloocv", np.array([0, 0, 0, 1]), "binary", levels=levels, repeats=1)


def test_a_class_rarer_than_k_is_warned_of_with_its_count():
    y = np.repeat([0, 1], [20, 3])
    with pytest.warns(FoldWarning, match=r"class '1' .*\(3\).*\(10\): in 7"):
        make_plan("stratified_kfold", y, "binary")


def test_k_is_ten_or_n():
    assert make_plan("kfold", np.zeros(30), "continuous").n_splits == 10
    assert make_plan("kfold", np.zeros(6), "continuous").n_splits == 6
    assert make_plan("kfold", np.zeros(30), "continuous", k=np.int64(4)).n_splits == 4


@pytest.mark.parametrize("name", SCHEMES)
def test_sentences_say_what_was_done(name):
    y = np.repeat([0, 1], [20, 11])
    repeats = 3 if SCHEMES[name].random else None
    p = 3 if SCHEMES[name].splits == "groups" else None
    plan = make_plan(name, y, "binary", repeats=repeats, p=p)
    assert "{" not in plan.sentence
    assert ("repeated 3 times" in plan.sentence) == SCHEMES[name].random
    assert ("training sets of 10/19 each" in plan.sentence) == (name == "rloocv")
    assert plan.scheme == name
    assert f"31 records, {plan.n_splits} splits" in repr(plan)


@settings(max_examples=20)
@given(st.sampled_from(sorted(SCHEMES)), outcomes())
def test_plans_pickle(name, y):
    if kind(y) not in SCHEMES[name].outcomes:
        y = (y > 0).astype(int)
    p = 2 if SCHEMES[name].splits == "groups" else None
    plan = make_plan(name, y, kind(y), seed=1, p=p)
    before = pickle.loads(pickle.dumps(plan))
    _ = plan.fingerprint, plan.test(0)
    for copy in (before, pickle.loads(pickle.dumps(plan))):
        assert copy.fingerprint == plan.fingerprint
        assert copy.labels == plan.labels
        assert copy.sentence == plan.sentence
        for split in range(0, plan.n_splits, 7):
            np.testing.assert_array_equal(copy.train(split), plan.train(split))
