"""Held-out predictions as arrays: pairs of records, and scores of each record."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.inference import LeftOut, Scores, make_estimate
from statcv.inference.estimates import pairs as paired_values
from statcv.metrics import METRICS, auroc


def make_scores(y, split, row, predicted, repeat=None, left=None, **flags):
    splits = int(max(split)) + 1
    held = (np.asarray(split), np.asarray(row), np.asarray(predicted, dtype=float))
    repeat = np.zeros(splits, dtype=np.intp) if repeat is None else np.asarray(repeat)
    none = (np.empty(0, int), np.empty(0, int), held[2][:0])
    return Scores(
        y=np.asarray(y),
        split=held[0],
        row=held[1],
        predicted=held[2],
        repeat=repeat,
        n_train=np.full(splits, 10.0),
        baseline=np.full(splits, 0.5),
        left=LeftOut.joined(held, none, repeat) if left is None else left,
        **flags,
    )


def all_pairs(n):
    """Return splits and rows of a scheme that holds out every pair of n records."""
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    return np.repeat(np.arange(len(pairs)), 2), pairs.ravel()


@st.composite
def left_out(draw):
    """Draw (fit, row, predicted) of held-out and dropped records in random order."""
    n, fits = draw(st.integers(3, 9)), draw(st.integers(1, 4))
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    cells = [(fit, row) for fit in range(fits) for row in range(n)]
    role = draw(
        st.lists(st.sampled_from("-hd"), min_size=len(cells), max_size=len(cells))
    )
    order = draw(st.permutations(range(len(cells))))
    parts = []
    for kind in "hd":
        chosen = [cells[i] for i in order if role[i] == kind]
        fit, row = np.array(chosen, dtype=np.intp).reshape(-1, 2).T
        place = np.argsort(fit, kind="stable") if kind == "h" else slice(None)
        parts.append((fit[place], row[place], (10.0 * fit + row)[place]))
    return y, fits, *parts


@given(left_out())
def test_joined_puts_held_out_records_before_dropped_records(drawn):
    _, fits, held, dropped = drawn
    left = LeftOut.joined(held, dropped, np.zeros(fits, dtype=np.intp))
    assert (np.diff(left.fit) >= 0).all()
    for fit in range(fits):
        mine = slice(left.starts[fit], left.starts[fit + 1])
        assert (left.fit[mine] == fit).all()
        assert (np.diff(left.held[mine].astype(int)) <= 0).all()
        for part, flag in ((held, True), (dropped, False)):
            rows = left.row[mine][left.held[mine] == flag]
            assert sorted(rows) == sorted(part[1][part[0] == fit])
    assert (left.predicted == 10.0 * left.fit + left.row).all()


@given(left_out())
def test_pairs_are_from_one_fit_and_of_different_classes(drawn):
    y, fits, held, dropped = drawn
    left = LeftOut.joined(held, dropped, np.zeros(fits, dtype=np.intp))
    expected = []
    for fit in range(fits):
        out = [(row, True) for row in held[1][held[0] == fit]]
        out += [(row, False) for row in dropped[1][dropped[0] == fit]]
        for (i, own), (j, other) in itertools.combinations(out, 2):
            if (own or other) and y[i] != y[j]:
                expected.append((fit, *sorted((int(i), int(j)))))
    one, two = left.pairs(y)
    assert left.held[one].all()
    assert (left.fit[one] == left.fit[two]).all()
    found = [
        (int(fit), *sorted((int(i), int(j))))
        for fit, i, j in zip(left.fit[one], left.row[one], left.row[two], strict=True)
    ]
    assert sorted(found) == sorted(expected)
    assert left.most_pairs >= len(expected)


def test_a_record_twice_in_a_repeat_overlaps_and_twice_in_two_does_not():
    y = [0, 1, 0, 1]
    assert make_scores(y, [0, 0, 1, 1], [0, 1, 1, 2], np.zeros(4)).overlapping
    folds = ([0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 2, 3, 0, 2, 1, 3])
    two = make_scores(y, *folds, np.zeros(8), repeat=[0, 0, 1, 1])
    assert not two.overlapping
    assert make_scores(y, *folds, np.zeros(8)).overlapping


@given(st.integers(0, 10**6), st.integers(3, 8), st.booleans())
def test_a_record_held_out_often_counts_once(seed, n, several):
    rng = np.random.default_rng(seed)
    split, row = all_pairs(n)
    shape = (len(row), 3) if several else len(row)
    predicted = rng.random(shape)
    scores = make_scores(np.arange(n) % 2, split, row, predicted)
    rows, mean = scores.by_record(np.arange(len(row)), rank=False)
    assert rows.tolist() == list(range(n))
    for i in range(n):
        np.testing.assert_allclose(mean[i], predicted[row == i].mean(axis=0))


def test_a_part_is_averaged_over_that_part_only():
    scores = make_scores(
        [0, 1, 1],
        [0, 0, 1, 1, 2, 2],
        [0, 1, 0, 2, 0, 1],
        [0.1, 0.2, 0.3, 0.4, 0.9, 0.9],
        repeat=[0, 0, 1],
    )
    assert scores.overlapping
    rows, mean = scores.by_record(scores.by_repeat[0], rank=False)
    assert rows.tolist() == [0, 1, 2]
    np.testing.assert_allclose(mean, [0.2, 0.2, 0.4])


@given(st.integers(0, 10**6), st.integers(4, 9))
def test_a_tournament_counts_wins(seed, n):
    rng = np.random.default_rng(seed)
    split, row = all_pairs(n)
    y = rng.permutation(np.arange(n) % 2)
    predicted = rng.integers(1, 5, len(row)) / 5 + rng.choice([0, 1e-17], len(row))
    scores = make_scores(y, split, row, predicted, pairwise=True, tournament=True)
    wins = np.zeros(n)
    for place in range(0, len(row), 2):
        i, j = row[place], row[place + 1]
        lead = round(predicted[place] - predicted[place + 1], 9)
        wins[i] += 0.5 + 0.5 * np.sign(lead)
        wins[j] += 0.5 - 0.5 * np.sign(lead)
    _, share = scores.by_record(np.arange(len(row)), rank=True)
    np.testing.assert_allclose(share, wins / (n - 1))
    pooled = make_estimate(scores, METRICS["auroc"], "pooled")
    assert float(pooled) == pytest.approx(auroc(y, wins))
    averaged = scores.by_record(np.arange(len(row)), rank=False)[1]
    for i in range(n):  # probabilities are averaged all the same
        assert averaged[i] == pytest.approx(predicted[row == i].mean())


@given(st.integers(0, 10**6))
def test_a_tournament_without_cycles_ranks_as_its_scores_do(seed):
    """If one score ranks all records, the pooled auROC is the share of pairs."""
    rng = np.random.default_rng(seed)
    n = 9
    split, row = all_pairs(n)
    y, strength = rng.permutation(np.arange(n) % 2), rng.permutation(n) / n
    scores = make_scores(y, split, row, strength[row], pairwise=True, tournament=True)
    expected = auroc(y, strength)
    for how in ("pooled", "paired"):
        found = make_estimate(scores, METRICS["auroc"], how)
        assert float(found) == pytest.approx(expected)


# ---- paired, without a list of the pairs ----


@given(left_out(), st.integers(0, 10**6))
def test_fits_weighted_by_their_pairs_are_the_share_of_pairs(drawn, seed):
    y, fits, held, dropped = drawn
    if not len(held[0]):
        return
    rng = np.random.default_rng(seed)
    y, repeat = y % 2, np.arange(fits) * 2 // fits
    repeat -= repeat.min()
    held = (*held[:2], rng.integers(0, 5, len(held[0])) / 4)
    dropped = (*dropped[:2], rng.integers(0, 5, len(dropped[0])) / 4)
    left = LeftOut.joined(held, dropped, repeat)
    scores = make_scores(
        y, held[0], held[1], held[2], repeat[: held[0].max() + 1], left, pairwise=True
    )
    listed = make_estimate(scores, METRICS["auroc"], "paired")
    before, paired_values.MOST_PAIRS = paired_values.MOST_PAIRS, -1
    try:
        weighed = make_estimate(scores, METRICS["auroc"], "paired")
    finally:
        paired_values.MOST_PAIRS = before
    if len(left.pairs(y)[0]):
        assert float(weighed) == pytest.approx(float(listed), nan_ok=True)
        assert weighed.n_undefined == listed.n_undefined
    else:
        assert np.isnan([float(weighed), float(listed)]).all()


def test_several_fits_of_a_split_are_averaged_before_its_pairs_are_ranked():
    """Two bags rank one pair each, and their mean ranks both as the first bag does."""
    y = [0, 1]
    bags = (np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 1, 0.6, 0.5]))
    none = (np.empty(0, int), np.empty(0, int), np.empty(0))
    left = LeftOut.joined(bags, none, np.zeros(2, dtype=np.intp))
    scores = make_scores(y, [0, 0], [0, 1], [0.3, 0.75], left=left)
    assert float(make_estimate(scores, METRICS["auroc"], "paired")) == 1.0


# ---- the headline ----

TWO_FOLDS = ([0, 0, 1, 1], [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("split", "row", "repeat", "flags", "expected"),
    [
        (*TWO_FOLDS, None, {}, ("per_fold", "pooled", "pooled")),
        (*TWO_FOLDS, None, {"pairwise": True}, ("paired", "pooled", "pooled")),
        ([0, 0, 1, 1], [0, 2, 1, 3], None, {}, ("pooled", "pooled", "pooled")),
        (*TWO_FOLDS, [0, 1], {}, ("per_fold", "pooled", "per_fold")),
        ([0] * 4, range(4), None, {}, ("pooled", "pooled", "pooled")),
        (*all_pairs(4), None, {"pairwise": True}, ("paired", "pooled", "pooled")),
    ],
    ids=["folds", "drops", "one class", "random shares", "one split", "pairs"],
)
def test_headlines(split, row, repeat, flags, expected):
    scores = make_scores([0, 1, 0, 1], split, row, np.zeros(len(row)), repeat, **flags)
    found = tuple(scores.headline(METRICS[m]) for m in ("auroc", "auprc", "brier"))
    assert found == expected


def test_disjoint_splits_have_no_interval_of_pooled_records():
    rng = np.random.default_rng(1)
    row = np.concatenate([rng.choice(20, 8, replace=False) for _ in range(5)])
    split = np.repeat(np.arange(5), 8)
    y = np.arange(20) % 2
    scores = make_scores(y, split, row, rng.random(40), repeat=np.arange(5))
    assert scores.apart
    for name in ("auroc", "brier"):
        pooled = make_estimate(scores, METRICS[name], "pooled")
        by_fold = make_estimate(scores, METRICS[name], "per_fold")
        assert float(pooled) == pytest.approx(float(by_fold))
        assert (pooled.method, by_fold.method) == ("none", "corrected t over folds")
        assert "how='per_fold'" in pooled.assumes
