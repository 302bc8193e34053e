import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv import fold_plan
from statcv.errors import ArgumentError, SchemeError
from statcv.folds import FoldPlan, make_plan
from statcv.folds.schemes.holdout import count_unlike, least_budget


def plan_of(y, kind, pairs, seed=1, **more):
    return make_plan("leave_pair_out", y, kind, pairs=pairs, seed=seed, **more)


def drawn(plan):
    """Return the pairs of each repeat, each as a sorted tuple."""
    every = plan.tests.values.reshape(-1, 2)
    return [
        [tuple(pair) for pair in every[start:stop].tolist()]
        for start, stop in itertools.pairwise(plan.fits.first_split)
    ]


def every_pair(y):
    return {(i, j) for i, j in itertools.combinations(range(len(y)), 2) if y[i] != y[j]}


def times(pairs, n):
    return np.bincount(np.ravel(pairs), minlength=n)


# ---- what is drawn ----


@st.composite
def classes(draw, most=2):
    sizes = draw(st.lists(st.integers(2, 9), min_size=2, max_size=most))
    y = np.repeat(np.arange(len(sizes)), sizes)
    y = np.random.default_rng(draw(st.integers(0, 99))).permutation(y)
    low, high = least_budget(np.array(sizes)), count_unlike(y)
    return y, draw(st.integers(low, high + 2)), draw(st.integers(0, 9))


@given(classes())
def test_records_of_a_class_are_in_as_many_pairs_or_one_more(case):
    y, budget, seed = case
    (pairs,) = drawn(plan_of(y, "binary", budget, seed))
    assert len(set(pairs)) == len(pairs) == min(budget, count_unlike(y))
    assert set(pairs) <= every_pair(y)
    counts = times(pairs, len(y))
    for code in (0, 1):
        assert np.ptp(counts[y == code]) <= 1
    assert counts.min() >= 1


@given(classes(most=4))
def test_the_pairs_are_even_between_every_two_classes_and_in_total(case):
    y, budget, seed = case
    kind = "binary" if y.max() == 1 else "multiclass"
    (pairs,) = drawn(plan_of(y, kind, budget, seed))
    assert len(set(pairs)) == len(pairs) == min(budget, count_unlike(y))
    counts = times(pairs, len(y))
    assert counts.min() >= 1
    sizes = []
    for a, b in itertools.combinations(range(int(y.max()) + 1), 2):
        own = [pair for pair in pairs if set(y[list(pair)]) == {a, b}]
        sizes.append((len(own), (y == a).sum() * (y == b).sum()))
        for code in (a, b):
            assert np.ptp(times(own, len(y))[y == code]) <= 1
            assert np.ptp(counts[y == code]) <= 1
    largest = max(size for size, _ in sizes)  # as many of each, or all that there are
    assert all(size >= largest - 1 or size == most for size, most in sizes)


@given(st.integers(3, 12), st.data())
def test_records_of_a_continuous_outcome_are_in_as_many_pairs_or_one_more(n, data):
    y = np.random.default_rng(n).normal(size=n)
    budget = data.draw(st.integers(-(-n // 2), n * (n - 1) // 2))
    (pairs,) = drawn(plan_of(y, "continuous", budget, data.draw(st.integers(0, 9))))
    assert len(set(pairs)) == len(pairs) == budget
    counts = times(pairs, n)
    assert np.ptp(counts) <= 1
    assert counts.min() >= 1


@given(st.lists(st.integers(0, 4), min_size=3, max_size=14), st.data())
def test_equal_numbers_do_not_form_a_pair_and_pairs_are_spread_evenly(values, data):
    y = np.array(values, dtype=float)
    every = count_unlike(y)
    if not every:
        return
    most = int(np.unique(y, return_counts=True)[1].max())
    budget = data.draw(st.integers(-(-every // (len(y) - most)), every))
    (pairs,) = drawn(plan_of(y, "continuous", budget, data.draw(st.integers(0, 9))))
    assert len(set(pairs)) == len(pairs) == budget
    assert set(pairs) <= every_pair(y)
    own = np.array([(y != value).sum() for value in y])
    assert (np.abs(times(pairs, len(y)) - budget * own / every) < 1).all()
    assert times(pairs, len(y)).min() >= 1


@pytest.mark.slow
def test_every_pair_is_drawn_equally_often():
    y = np.repeat([0, 1], [4, 6])
    for values, kind in ((y, "binary"), (np.arange(7.0), "continuous")):
        every = sorted(every_pair(values))
        many = plan_of(values, kind, 8, seed=3, repeats=500)
        cells = [pair for pairs in drawn(many) for pair in pairs]
        found = pd.Series(cells).value_counts().reindex(every, fill_value=0)
        share = 8 / len(every)
        sd = np.sqrt(500 * share * (1 - share))
        assert (np.abs(found - 500 * share) < 4.5 * sd).all()


@pytest.mark.slow
def test_equivalent_designs_are_drawn_equally_often():
    y = np.repeat([0, 1], [4, 4])  # eight pairs, two a record: 90 designs
    many = plan_of(y, "binary", 8, seed=1, repeats=900)
    found = pd.Series([tuple(sorted(pairs)) for pairs in drawn(many)]).value_counts()
    assert len(found) == 90
    assert ((found - 10) ** 2 / 10).sum() < 89 + 5 * np.sqrt(2 * 89)


# ---- the plan ----


def test_the_sentence_says_how_many_pairs_of_how_many():
    y = np.arange(250) % 2
    plan = plan_of(y, "binary", 2000)
    assert plan.sentence == (
        "leave-pair-out, 2,000 of 15,625 pairs of records of different classes held out"
    )
    assert plan.seed == 1
    assert plan.n_fits == 2000
    again = plan_of(y, "binary", 2000, repeats=3)
    assert again.sentence.endswith("held out, repeated 3 times")
    assert again.n_fits == 6000
    assert len(set(map(tuple, drawn(again)))) == 3
    numbers = plan_of(np.arange(9.0), "continuous", 20)
    assert "20 of 36 pairs of records of different outcomes" in numbers.sentence


def test_a_budget_of_all_pairs_leaves_nothing_to_chance():
    y = np.repeat([0, 1], [5, 7])
    whole = plan_of(y, "binary", None)
    for budget in (35, 10**9):
        plan = plan_of(y, "binary", budget)
        assert plan.fingerprint == whole.fingerprint
        assert plan.seed is None
        assert "all 35 pairs (so that nothing is random)" in plan.sentence
        with pytest.raises(ArgumentError, match="no randomness here"):
            plan_of(y, "binary", budget, repeats=2)


def test_the_seed_makes_the_sample_and_repeats_are_other_samples():
    y = np.arange(40) % 2
    one, same, other = (plan_of(y, "binary", 60, seed) for seed in (1, 1, 2))
    assert one.fingerprint == same.fingerprint != other.fingerprint
    two = plan_of(y, "binary", 60, 1, repeats=2)
    assert drawn(two)[0] == drawn(one)[0] != drawn(two)[1]


def test_integers_of_numpy_are_a_valid_budget():
    y = np.arange(20) % 2
    own, plain = (plan_of(y, "binary", pairs) for pairs in (np.int64(30), 30))
    assert own.equals(plain) if hasattr(own, "equals") else drawn(own) == drawn(plain)


@pytest.mark.slow
def test_ten_thousand_million_pairs_are_never_made():
    y = np.arange(200_000) % 2
    plan = plan_of(y, "binary", 100_000)
    assert plan.n_splits == 100_000
    assert "10,000,000,000 pairs" in plan.sentence
    assert (times(drawn(plan), len(y)) == 1).all()


@pytest.mark.parametrize("repeats", [None, 2])
def test_a_plan_of_sampled_pairs_survives_a_table(repeats):
    y = np.random.default_rng(1).permutation(np.repeat([0, 1], [8, 11]))
    plan = plan_of(y, "binary", 30, repeats=repeats)
    back = FoldPlan.from_frame(plan.to_frame())
    assert back.fingerprint == plan.fingerprint
    assert (back.sentence, back.seed) == (plan.sentence, plan.seed)
    bare = pd.DataFrame(plan.to_frame().to_dict("list"))  # what a CSV keeps
    assert FoldPlan.from_frame(bare).fingerprint == plan.fingerprint


@pytest.mark.parametrize("kind", ["binary", "continuous"])
def test_records_equal_to_a_sampled_pair_do_not_train(kind):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"h": rng.integers(0, 9, 30).astype(str)})
    frame["y"] = np.arange(30) % 2 if kind == "binary" else rng.normal(size=30)
    plan = plan_of(frame["y"], kind, 40, stratify=["h"], data=frame)
    assert plan.n_fits == 40
    assert "their equals in h kept out" in plan.sentence
    for fit in range(40):
        kept = ~frame["h"].isin(frame["h"][plan.test(fit)])
        assert plan.train(fit).tolist() == np.flatnonzero(kept).tolist()


# ---- invalid arguments ----


def test_too_few_pairs_leave_records_without_a_prediction():
    y = np.repeat([0, 1], [30, 70])
    with pytest.raises(ArgumentError, match="it takes 70 pairs or more of 2,100"):
        plan_of(y, "binary", 69)
    assert times(drawn(plan_of(y, "binary", 70)), 100).min() == 1
    with pytest.raises(ArgumentError, match="it takes 4 pairs or more of 21"):
        plan_of(np.arange(7.0), "continuous", 3)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=5))
def test_the_least_sample_of_classes_holds_every_record_out(sizes):
    counts, least = np.array(sizes), least_budget(np.array(sizes))
    y = np.repeat(np.arange(len(sizes)), counts)
    if counts.min() < 2:
        return
    kind = "binary" if len(sizes) == 2 else "multiclass"
    assert times(drawn(plan_of(y, kind, least)), len(y)).min() >= 1
    with pytest.raises(ArgumentError, match="without a prediction"):
        plan_of(y, kind, least - 1)


def test_pairs_mean_nothing_for_other_schemes():
    frame = pd.DataFrame({"y": np.arange(20) % 2})
    for scheme in ("kfold", "loocv", "tournament_leave_pair_out", None):
        with pytest.raises(ArgumentError, match="pairs=9 means nothing for scheme="):
            fold_plan("y", frame, scheme=scheme, pairs=9)
    plan = fold_plan("y", frame, scheme="leave_pair_out", pairs=20, seed=1)
    with pytest.raises(ArgumentError, match="pairs=9 means nothing where the folds"):
        fold_plan("y", frame, scheme=plan, pairs=9)
    for wrong, words in ((0, "out of range"), (2.5, "integer"), (True, "integer")):
        with pytest.raises(ArgumentError, match=words):
            fold_plan("y", frame, scheme="leave_pair_out", pairs=wrong)
    with pytest.raises(SchemeError, match="needs the outcome"):
        fold_plan(data=frame, scheme="leave_pair_out", pairs=20)
    with pytest.raises(SchemeError, match="rebalance='weight' means nothing"):
        fold_plan("y", frame, scheme="leave_pair_out", pairs=20, rebalance="weight")


def test_too_many_pairs_name_the_sample():
    y = np.arange(20_000) % 2
    with pytest.raises(SchemeError, match="pairs= takes a balanced sample"):
        plan_of(y, "binary", None)
    with pytest.raises(SchemeError, match=r"'leave_pair_out' with pairs="):
        make_plan("tournament_leave_pair_out", y, "binary")
    with pytest.raises(SchemeError, match="60,000,000 pairs were to be held out"):
        plan_of(y, "binary", 60_000_000)


def test_equal_outcomes_form_no_pairs():
    with pytest.raises(SchemeError, match="all 5 records have the same outcome"):
        plan_of(np.ones(5), "continuous", None)
    with pytest.raises(SchemeError, match="leaves none to train on"):
        plan_of([1.0, 2.0], "continuous", None)
