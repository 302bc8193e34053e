"""The ROC curve of records that are compared in pairs."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statcv as scv
from statcv.errors import MetricError
from statcv.metrics import (
    paired_roc,
    paired_roc_band,
    ranked_higher,
    roc_band,
    roc_curve,
)


@st.composite
def tied_scores(draw):
    size = st.integers(1, 8)
    score = st.integers(-3, 3)
    ones = draw(st.lists(score, min_size=1, max_size=draw(size)))
    zeros = draw(st.lists(score, min_size=1, max_size=draw(size)))
    return np.array(ones), np.array(zeros)


def every_pair(ones, zeros):
    i, j = (side.ravel() for side in np.indices((len(ones), len(zeros))))
    return i, len(ones) + j, ranked_higher(ones[i], zeros[j])


@st.composite
def any_pairs(draw):
    """Draw some of the pairs, some of them twice, won in ways that no score implies."""
    one = st.tuples(
        st.integers(0, 4), st.integers(5, 9), st.sampled_from([0.0, 0.5, 1.0])
    )
    pairs = draw(st.lists(one, min_size=1, max_size=30))
    return tuple(np.array(side) for side in zip(*pairs, strict=True))


@given(tied_scores())
def test_every_pair_of_one_score_gives_the_roc_curve(scores):
    ones, zeros = scores
    found = paired_roc(*every_pair(ones, zeros))
    y = np.repeat([1, 0], [len(ones), len(zeros)])
    usual = roc_curve(y, np.concatenate([ones, zeros]))
    rates = np.unique(np.concatenate([found.fpr, usual.fpr]))
    for rate in (*rates, *(rates[1:] + rates[:-1]) / 2):
        heights = [
            [np.interp(rate, one.fpr, one.tpr), one.tpr[one.fpr <= rate + 1e-12].max()]
            for one in (found, usual)
        ]
        assert max(heights[0]) == pytest.approx(max(heights[1]))


@given(any_pairs())
def test_the_area_is_the_share_of_pairs_ranked_correctly(pairs):
    curve = paired_roc(*pairs)
    assert curve.area == pytest.approx(pairs[2].mean())
    below = (np.diff(curve.fpr) * (curve.tpr[1:] + curve.tpr[:-1]) / 2).sum()
    assert below == pytest.approx(curve.area)
    assert (curve.fpr[0], curve.tpr[0]) == (0, 0)
    assert (curve.fpr[-1], curve.tpr[-1]) == (1, pytest.approx(1))
    assert (np.diff(curve.fpr) >= 0).all()
    assert (np.diff(curve.tpr) >= -1e-12).all()


@given(any_pairs())
def test_the_height_is_the_share_of_placement_values_below(pairs):
    table = pd.DataFrame(dict(zip(("i", "j", "won"), pairs, strict=True)))
    own = table.groupby("i")["won"]
    lost, tied = (
        own.apply(lambda w: (w == 0).mean()),
        own.apply(lambda w: (w == 0.5).mean()),
    )
    weight = own.size() / len(table)
    at = np.array([0.13, 0.37, 0.71])
    band = paired_roc_band(*pairs, at=at, n_boot=1, seed=1)
    for rate, found in zip(at, band.estimate, strict=True):
        uniform = ((rate - lost) / tied.where(tied > 0)).clip(0, 1)
        part = uniform.where(tied > 0, (lost <= rate).astype(float))
        assert found == pytest.approx((part * weight).sum())


def test_the_band_of_one_score_agrees_with_that_of_records():
    rng = np.random.default_rng(4)
    ones, zeros = rng.normal(1, size=25), rng.normal(size=30)
    at = [0.1, 0.3, 0.6]
    paired = paired_roc_band(*every_pair(ones, zeros), at=at, seed=1)
    y = np.repeat([1, 0], [25, 30])
    usual = roc_band(y, np.concatenate([ones, zeros]), at=at, seed=2)
    np.testing.assert_allclose(paired.estimate, usual.estimate, atol=1e-9)
    for end in ("lower", "upper"):
        found, expected = getattr(paired, end), getattr(usual, end)
        np.testing.assert_allclose(found, expected, atol=0.05)


def test_the_bootstrap_draws_whole_clusters():
    rng = np.random.default_rng(5)
    ones, zeros = np.repeat(rng.normal(1, size=6), 5), np.repeat(rng.normal(size=6), 5)
    pairs = every_pair(ones, zeros)
    own = np.arange(60) // 5
    at = [0.2, 0.5]
    by_record = paired_roc_band(*pairs, at=at, seed=1)
    by_source = paired_roc_band(*pairs, at=at, clusters=own, seed=1)
    width = [(b.upper - b.lower).mean() for b in (by_record, by_source)]
    assert width[1] > 1.2 * width[0]
    single = np.repeat([0, 1], [30, 30])
    lone = paired_roc_band(*pairs, at=at, clusters=single, seed=1)
    assert "belong to one cluster" in lone.reason
    assert np.isnan(lone.lower).all()


def test_a_perfect_ranking_has_no_band():
    band = paired_roc_band(*every_pair(np.array([3, 4]), np.array([1, 2])), seed=1)
    assert "the curve is the same in all" in band.reason


@pytest.mark.slow
def test_on_noise_the_curve_of_leave_pair_out_is_the_diagonal():
    """This does not hold for predictions that are averaged over fits."""
    n, sets = 20, 150
    y = np.repeat([1, 0], n // 2)
    heights, pooled = [], []
    at = np.linspace(0.05, 0.95, 10)  # between the steps of ten pairs each
    for seed in range(sets):
        x = np.random.default_rng(seed).uniform(size=n)
        result = scv.cv(
            "y ~ x",
            pd.DataFrame({"y": y, "x": x}),
            model=scv.models.Logit(C=1.0),
            scheme="leave_pair_out",
            metrics="auroc",
            seed=1,
        )
        pairs = result.pairs
        won = ranked_higher(pairs["predicted"], pairs["predicted_partner"])
        first = pairs["observed"] == 1
        i, j = (
            np.where(first, pairs["row"], pairs["partner"]),
            np.where(first, pairs["partner"], pairs["row"]),
        )
        right = np.where(first, won, 1 - won)
        heights.append(paired_roc_band(i, j, right, at=at, n_boot=1, seed=1).estimate)
        pooled.append(float(result.estimate("auroc", "pooled")))
    mean, error = np.mean(heights, axis=0), np.std(heights, axis=0) / sets**0.5
    expected = (np.floor(at * n / 2) + 1) / (n / 2 + 1)  # expected for uniform ranks
    assert (np.abs(mean - expected) < 3.5 * error).all()
    assert np.mean(pooled) < 0.5 - 3 * np.std(pooled) / sets**0.5


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (([], [], []), "there are no pairs"),
        (([1], [2], [0.3]), "won must hold 0, 0.5 or 1, not 0.3"),
        (([1], [2], [np.nan]), "won must hold 0, 0.5 or 1, not nan"),
        (([1, 2], [2], [1.0]), "must have one shape"),
    ],
)
def test_invalid_pairs_raise_an_error(given, match):
    with pytest.raises(MetricError, match=match):
        paired_roc(*given)
