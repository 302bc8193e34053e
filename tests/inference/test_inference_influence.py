"""Influence of each record on a cross-validated auROC, and intervals by clusters."""

import csv
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.inference import LeftOut, Scores, make_estimate
from statcv.inference.estimates.values import values_by_repeat
from statcv.inference.intervals.influence import influence_interval, record_influence
from statcv.metrics import METRICS, delong
from statcv.metrics.areas import normal_quantile

REFERENCE = Path(__file__).parents[1] / "reference"
AUROC = METRICS["auroc"]


def make_scores(y, fold, predicted, clusters=None):
    """Make scores of several repeats: fold and predicted have one row per repeat."""
    fold, predicted = np.atleast_2d(fold), np.atleast_2d(predicted).astype(float)
    split, row, value, repeat = [], [], [], []
    for r, (folds, values) in enumerate(zip(fold, predicted, strict=True)):
        order = np.argsort(folds, kind="stable")
        split.append(np.unique(folds, return_inverse=True)[1][order] + len(repeat))
        row.append(order)
        value.append(values[order])
        repeat += [r] * len(np.unique(folds))
    held = tuple(map(np.concatenate, (split, row, value)))
    none = (np.empty(0, int), np.empty(0, int), np.empty(0))
    return Scores(
        y=np.asarray(y),
        split=held[0],
        row=held[1],
        predicted=held[2],
        repeat=np.array(repeat),
        n_train=np.full(len(repeat), 10.0),
        baseline=np.full(len(repeat), 0.5),
        left=LeftOut.joined(held, none, np.array(repeat)),
        clusters=None if clusters is None else np.asarray(clusters),
    )


def read(name):
    with open(REFERENCE / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def reference_cases():
    cases = defaultdict(list)
    for row in read("influence_cases"):
        cases[row["case"]].append(row)
    for row in read("influence_r"):
        data = cases[row["case"]]
        numbers = {name: float(v) for name, v in row.items() if name != "case"}
        columns = [
            np.array([float(record[name]) for record in data])
            for name in ("y", "fold", "score", "source")
        ]
        yield pytest.param(*columns, numbers, id=row["case"])


@pytest.mark.parametrize(
    ("y", "fold", "score", "source", "expected"), list(reference_cases())
)
def test_standard_errors_are_those_of_the_paper_s_equations(
    y, fold, score, source, expected
):
    source = source.astype(int)
    plain = make_scores(y.astype(int), fold, score)
    clustered = replace(plain, clusters=source)
    for how in ("per_fold", "pooled"):
        for scores, kind in ((plain, ""), (clustered, "_source")):
            found = make_estimate(scores, AUROC, how, 0.9, "influence")
            se = expected[f"se_{how}{kind}"]
            assert found.value == pytest.approx(expected[how], abs=1e-12)
            assert found.se == pytest.approx(se, abs=1e-10)
            half = 1.6448536269514722 * se
            assert found.upper == pytest.approx(min(1, found.value + half), abs=1e-10)
    sizes = np.unique(fold, return_counts=True)[1]
    if len(set(sizes)) == 1:
        found = influence_interval(plain, "per_fold", 0.95)
        assert found.se == pytest.approx(expected["se_paper"], abs=1e-10)


@pytest.mark.parametrize(
    ("y", "fold", "score", "source", "expected"), list(reference_cases())
)
def test_a_mean_over_clusters_agrees_with_sandwich(y, fold, score, source, expected):
    chance = 1 / (1 + np.exp(-score))
    scores = make_scores(y.astype(int), fold, chance, source.astype(int))
    found = make_estimate(scores, METRICS["brier"], "pooled", interval="records")
    assert found.value == pytest.approx(expected["loss"], abs=1e-12)
    assert found.se == pytest.approx(expected["se_loss_source"], abs=1e-10)
    assert "cluster" in found.method


def weighted_estimate(scores, how, weights):
    """Estimate with weighted records, by a loop over pairs; ties count one half."""
    cells = defaultdict(lambda: [0.0, 0.0])
    m = len(scores.row)
    for a in range(m):
        for b in range(m):
            i, j = scores.row[a], scores.row[b]
            group = scores.split if how != "pooled" else scores.repeat[scores.split]
            if scores.y[i] != 1 or scores.y[j] != 0 or group[a] != group[b]:
                continue
            cell = (
                scores.split[a] if how == "per_fold" else scores.repeat[scores.split[a]]
            )
            lead = scores.predicted[a] - scores.predicted[b]
            weight = weights[i] * weights[j]
            cells[cell][0] += weight * (0.5 + 0.5 * np.sign(lead))
            cells[cell][1] += weight
    return np.mean([won / pairs for won, pairs in cells.values()])


@st.composite
def cross_validated(draw):
    """Draw records with ties in folds of two repeats."""
    n, repeats = draw(st.integers(6, 12)), draw(st.integers(1, 2))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    y[:4] = 0, 1, 0, 1
    folds = st.integers(0, 2)
    fold = [
        [0, 0, 0, 0, *draw(st.lists(folds, min_size=n - 4, max_size=n - 4))]
        for _ in range(repeats)
    ]
    predicted = [
        draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)) for _ in fold
    ]
    return make_scores(y, fold, np.array(predicted) / 4)


@given(cross_validated(), st.sampled_from(["pooled", "per_fold", "paired"]))
def test_influence_is_the_derivative_by_the_record_s_weight(scores, how):
    moved = record_influence(scores, how)
    n, step = len(scores.y), 1e-5
    for i in range(n):
        up, down = np.ones(n), np.ones(n)
        up[i], down[i] = 1 + step, 1 - step
        slope = weighted_estimate(scores, how, up) - weighted_estimate(
            scores, how, down
        )
        assert moved[i] == pytest.approx(slope / (2 * step), abs=1e-7)
    assert moved.sum() == pytest.approx(0, abs=1e-12)


@given(st.integers(0, 10**6))
def test_influence_on_pairs_of_one_fit_is_that_of_a_loop(seed):
    """Partners that a fit dropped are compared only with held-out records."""
    rng = np.random.default_rng(seed)
    n = 10
    y = np.arange(n) % 2
    predicted = rng.integers(0, 4, n) / 4
    partner = rng.integers(0, n, (n, 2))
    dropped = (
        np.repeat(np.arange(n), 2),
        partner.ravel(),
        rng.integers(0, 4, 2 * n) / 4,
    )
    plain = make_scores(y, np.arange(n), predicted)
    left = LeftOut.joined(
        (np.arange(n), np.arange(n), predicted), dropped, np.zeros(n, dtype=int)
    )
    scores = replace(plain, left=left, pairwise=True)
    expected, pairs, total = np.zeros(n), [], 0.0
    for own, other, theirs in zip(*dropped, strict=True):
        if y[own] != y[other]:
            lead = (predicted[own] - theirs) * (1 if y[own] else -1)
            pairs.append((own, other, 0.5 + 0.5 * np.sign(lead)))
            total += pairs[-1][2]
    if not pairs:
        return
    for i, j, won in pairs:
        expected[[i, j]] += (won - total / len(pairs)) / len(pairs)
    np.testing.assert_allclose(record_influence(scores, "paired"), expected, atol=1e-12)


def test_pooled_influence_agrees_with_delong_up_to_degrees_of_freedom():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [4000, 3000])
    score = rng.normal(y)
    found = influence_interval(make_scores(y, np.zeros(7000), score), "pooled", 0.95)
    assert found.se == pytest.approx(delong(y, score).se, rel=2e-4)


def test_repeats_of_the_same_predictions_add_nothing():
    rng = np.random.default_rng(1)
    y, fold = np.arange(40) % 2, rng.permutation(40) % 4
    score = rng.normal(y)
    once = make_scores(y, fold, score)
    twice = make_scores(y, [fold, fold], [score, score])
    for how in ("pooled", "per_fold", "paired"):
        assert influence_interval(twice, how, 0.95).se == pytest.approx(
            influence_interval(once, how, 0.95).se, abs=1e-14
        )


def test_duplicates_of_every_record_add_nothing_in_one_cluster():
    rng = np.random.default_rng(2)
    y, fold = np.arange(60) % 2, rng.permutation(60) % 3
    score = rng.normal(y)
    once = make_scores(y, fold, score)
    copied = make_scores(*(np.tile(part, 3) for part in (y, fold, score)))
    source = np.tile(np.arange(60), 3)
    for how, name in (
        ("pooled", "influence"),
        ("per_fold", "influence"),
        ("pooled", "delong"),
        ("pooled", "logit"),
    ):
        of_one = make_estimate(once, AUROC, how, 0.95, name)
        of_three = make_estimate(
            replace(copied, clusters=source), AUROC, how, 0.95, name
        )
        naive = make_estimate(copied, AUROC, how, 0.95, name)
        assert of_three.se == pytest.approx(of_one.se, rel=0.02)
        assert naive.se == pytest.approx(of_one.se / np.sqrt(3), rel=0.02)
        assert "cluster" in of_three.method


def test_without_variation_there_is_no_interval():
    y = np.array([0, 1] * 6)
    perfect = make_scores(y, np.repeat(np.arange(3), 4), y)
    assert "no records move" in influence_interval(perfect, "per_fold", 0.95).assumes
    one = make_scores(np.r_[1, np.zeros(9, int)], np.zeros(10), np.arange(10.0))
    assert influence_interval(one, "pooled", 0.95).assumes == (
        "one class has a single record"
    )
    alone = make_scores(y, np.repeat(np.arange(6), 2), np.arange(12.0))
    assert influence_interval(alone, "per_fold", 0.95).assumes == (
        "no fold holds two records of each class"
    )
    none = make_scores(y, np.arange(12), np.arange(12.0))
    for how in ("per_fold", "paired"):
        assert "both classes" in influence_interval(none, how, 0.95).assumes
    missing = np.where(np.arange(12) == 3, np.nan, np.arange(12.0))
    scores = make_scores(y, np.repeat(np.arange(3), 4), missing)
    assert record_influence(scores, "per_fold")[:4].tolist() == [0.0] * 4
    pooled = make_estimate(scores, AUROC, "pooled", 0.95, "influence")
    assert pooled.method == "none"
    one_source = replace(
        make_scores(y, np.zeros(12), [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]),
        clusters=np.zeros(12, dtype=int),
    )
    assert influence_interval(one_source, "pooled", 0.95).method == "none"


def test_folds_with_a_single_record_of_a_class_are_counted():
    y = np.array([0, 0, 1, 1, 0, 0, 0, 1])
    scores = make_scores(y, [0, 0, 0, 0, 1, 1, 1, 1], [1, 4, 2, 5, 1, 2, 3, 2.5])
    found = influence_interval(scores, "per_fold", 0.95)
    assert "1 of 2 folds hold a single record of a class" in found.assumes


@pytest.mark.slow
def test_at_large_n_the_interval_keeps_its_level():
    """For fixed scores the coverage is 95%, with and without clusters."""
    rng = np.random.default_rng(3)
    covered, runs, n = np.zeros(4), 300, 600
    source = np.arange(n) // 3
    y, fold = rng.integers(0, 2, (2, n))
    fold = source % 5
    z = normal_quantile(0.95)
    for _ in range(runs):
        shared = rng.normal(size=n)[source] * np.sqrt(0.5)
        score = 0.9 * y + shared + rng.normal(size=n) * np.sqrt(0.5)
        plain = make_scores(y, fold, score)
        for k, scores in enumerate((plain, replace(plain, clusters=source))):
            for j, how in enumerate(("pooled", "per_fold")):
                se = influence_interval(scores, how, 0.95).se
                value = values_by_repeat(scores, AUROC, how)[0]
                covered[2 * k + j] += abs(value - 0.7377) < z * se
    share = covered / runs
    margin = 3 * np.sqrt(0.95 * 0.05 / runs)
    assert (abs(share[2:] - 0.95) < margin).all()
