import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from statcv.errors import ArgumentTypeError, MetricError
from statcv.metrics import pr_band, pr_curve, roc_band, roc_curve

REFERENCE = Path(__file__).parents[1] / "reference"


def noisy(n=60, seed=3, digits=8):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    return y, np.round(y + rng.normal(size=n), digits)


@st.composite
def tied_samples(draw):
    n = draw(st.integers(2, 30))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    y[:2] = [0, 1]
    score = draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))
    return np.array(y), np.array(score)


# --- the curve ----------------------------------------------------------------


@given(tied_samples())
def test_the_estimate_passes_through_the_points_of_the_roc_curve(sample):
    curve = roc_curve(*sample)
    rates = np.unique(curve.fpr)
    highest = [curve.tpr[curve.fpr == rate].max() for rate in rates]
    band = roc_band(*sample, at=rates, n_boot=1, seed=0)
    np.testing.assert_allclose(band.estimate, highest, atol=1e-9)
    between = np.diff(rates) / 3 + rates[:-1]
    expected = [
        np.interp(x, [curve.fpr[k], curve.fpr[k + 1]], [curve.tpr[k], curve.tpr[k + 1]])
        for x in between
        for k in [np.flatnonzero(curve.fpr < x).max()]
    ]
    found = roc_band(*sample, at=between, n_boot=1, seed=0).estimate
    np.testing.assert_allclose(found, expected, atol=1e-8)


@given(tied_samples())
def test_the_estimate_passes_through_the_points_of_the_precision_curve(sample):
    curve = pr_curve(*sample)
    recalls = np.unique(curve.recall[1:])
    recalls = recalls[recalls > 0]
    first = [curve.precision[curve.recall == recall][0] for recall in recalls]
    band = pr_band(*sample, at=recalls, n_boot=1, seed=0)
    np.testing.assert_allclose(band.estimate, first, atol=1e-9)


def test_precision_between_points_and_at_its_limit():
    y, score = [1, 0, 1, 1, 0, 0], [3, 3, 2, 2, 2, 1]
    recall = np.array([0, 1 / 6, 1 / 3, 2 / 3, 1])
    tp, fp = 3 * recall, [0, 0.5, 1, 1.5, 2]
    expected = [0.5, *(tp[1:] / (tp[1:] + fp[1:]))]
    found = pr_band(y, score, at=recall, n_boot=1, seed=0).estimate
    np.testing.assert_allclose(found, expected)
    found = pr_band([0, 1, 1, 0], [4, 3, 2, 1], at=[0, 0.25, 0.5], n_boot=1, seed=0)
    np.testing.assert_allclose(found.estimate, [0, 1 / 3, 0.5])


def test_rates_at_integer_counts_are_exact_despite_rounding():
    y = np.repeat([0, 1], [30, 2])
    score = np.append(np.arange(30), [26.5, 27.5])
    found = roc_band(y, score, at=[0.1, 0.1 + 1e-13, 3 / 30], n_boot=1, seed=0)
    assert found.estimate.tolist() == [1, 1, 1]


# --- the bootstrap ------------------------------------------------------------


def slow_limits(y, score, at, level, draws, seed):
    """Limits from curves of bootstrap samples of the records of each class."""
    rng = np.random.default_rng(seed)
    ones, zeros = score[y == 1], score[y == 0]
    heights = []
    for _ in range(draws):
        x, z = rng.choice(ones, ones.size), rng.choice(zeros, zeros.size)
        curve = roc_curve(np.repeat([1, 0], [x.size, z.size]), np.append(x, z))
        k = np.searchsorted(curve.fpr, at + 1e-9, side="right") - 1
        after = np.minimum(k + 1, curve.fpr.size - 1)
        width = np.where(after > k, curve.fpr[after] - curve.fpr[k], 1)
        share = (at - curve.fpr[k]) / width
        heights.append(curve.tpr[k] + share * (curve.tpr[after] - curve.tpr[k]))
    return np.quantile(heights, [(1 - level) / 2, (1 + level) / 2], axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("digits", [8, 0])
def test_limits_are_those_of_resampled_curves(digits):
    y, score = noisy(60, 3, digits)
    at = np.array([0.05, 0.2, 0.5, 0.8])
    band = roc_band(y, score, at=at, level=0.8, n_boot=3000, seed=1)
    lower, upper = slow_limits(y, score, at, 0.8, 3000, 2)
    np.testing.assert_allclose(band.lower, lower, atol=0.035)
    np.testing.assert_allclose(band.upper, upper, atol=0.035)


def read_rows(name):
    with open(REFERENCE / name, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
@pytest.mark.parametrize("case", sorted({r["case"] for r in read_rows("bands_r.csv")}))
def test_values_equal_those_of_proc(case):
    records = [row for row in read_rows("delong_cases.csv") if row["case"] == case]
    y, a = ([float(row[name]) for row in records] for name in ("y", "a"))
    rows = [row for row in read_rows("bands_r.csv") if row["case"] == case]
    at = [1 - float(row["specificity"]) for row in rows]
    band = roc_band(y, a, at=at, level=0.9, n_boot=4000, seed=6)
    expected = {
        name: [float(row[name]) for row in rows]
        for name in ("lower", "estimate", "upper")
    }
    np.testing.assert_allclose(band.estimate, expected["estimate"], atol=1e-12)
    np.testing.assert_allclose(band.lower, expected["lower"], atol=0.025)
    np.testing.assert_allclose(band.upper, expected["upper"], atol=0.025)


@pytest.mark.parametrize("make", [roc_band, pr_band])
def test_the_same_seed_gives_the_same_band(make):
    y, score = noisy()
    one = make(y, score, n_boot=50, seed=5)
    for other in (
        make(y, score, n_boot=50, seed=5),
        make(y, np.exp(score), n_boot=50, seed=5),
        make(y[::-1], score[::-1], n_boot=50, seed=5),
        make(y, score, n_boot=50, seed=5, clusters=np.argsort(np.argsort(-score))),
    ):
        np.testing.assert_array_equal(one.lower, other.lower)
        np.testing.assert_array_equal(one.upper, other.upper)
    different = make(y, score, n_boot=50, seed=6)
    assert (one.lower != different.lower).any()
    generator = np.random.default_rng(5)
    assert np.isfinite(make(y, score, n_boot=5, seed=generator).lower).all()


@pytest.mark.parametrize("make", [roc_band, pr_band])
def test_the_default_grid_and_the_fields_of_a_band(make):
    band = make(*noisy(), seed=1, n_boot=200, level=0.9)
    assert (band.level, band.method, band.reason) == (0.9, "pointwise", "")
    assert band.at.size == (101 if make is roc_band else 100)
    assert (band.lower <= band.upper).all()
    assert (band.lower >= 0).all()
    assert (band.upper <= 1).all()
    wider = make(*noisy(), seed=1, n_boot=200, level=0.99)
    assert (wider.lower <= band.lower).all()
    assert (wider.upper >= band.upper).all()


@pytest.mark.slow
def test_pointwise_coverage():
    rng = np.random.default_rng(10)
    y = np.repeat([0, 1], 50)
    at, covered = np.array([0.2, 0.5]), np.zeros(2)
    truth = stats.norm.sf(stats.norm.isf(at) - 1)
    for k in range(120):
        band = roc_band(y, y + rng.normal(size=100), at=at, n_boot=150, seed=k)
        covered += (band.lower <= truth) & (truth <= band.upper)
    assert (np.abs(covered / 120 - 0.95) < 0.06).all()


def test_precision_at_full_recall_when_a_positive_ranks_last():
    y, score = np.repeat([0, 1], [20, 10]), np.append(np.arange(20), np.full(10, -1))
    band = pr_band(y, score, at=[1.0], n_boot=100, seed=0)
    assert (band.lower, band.estimate, band.upper) == (1 / 3, 1 / 3, 1 / 3)
    assert "the curve is the same in all" in band.reason


# --- clusters -----------------------------------------------------------------


@pytest.mark.parametrize("make", [roc_band, pr_band])
def test_duplicates_of_records_add_no_information(make):
    y, score = noisy(40)
    who = np.repeat(np.arange(40), 4)
    more = {"n_boot": 1500, "seed": 2, "at": [0.2, 0.5, 0.8]}
    plain = make(y, score, **more)
    copied = make(y[who], score[who], clusters=who, **more)
    np.testing.assert_allclose(copied.estimate, plain.estimate, atol=1e-12)
    np.testing.assert_allclose(copied.lower, plain.lower, atol=0.06)
    np.testing.assert_allclose(copied.upper, plain.upper, atol=0.06)
    naive = make(y[who], score[who], **more)
    width, narrow = plain.upper - plain.lower, naive.upper - naive.lower
    assert narrow.sum() < 0.8 * width.sum()


@given(tied_samples(), st.integers(1, 6), st.integers(0, 99))
def test_samples_of_clusters_keep_both_classes(sample, groups, seed):
    y, score = sample
    clusters = np.arange(len(y)) % groups
    for make in (roc_band, pr_band):
        band = make(y, score, clusters=clusters, n_boot=5, seed=seed, at=[0.3, 1])
        few = min(len(set(clusters[y == k])) for k in (0, 1)) < 2
        assert np.isnan(band.lower).all() == few
        assert np.isfinite(band.estimate).all()


# --- simultaneous -------------------------------------------------------------


def test_kolmogorov_region_by_hand():
    y = np.repeat([0, 1], 10)
    score = np.append(np.arange(10), np.arange(10) + 4.5)
    band = roc_band(y, score, level=0.95**2, method="simultaneous", at=[0, 0.3, 0.8, 1])
    d = 0.40925  # the 5 % point of the two-sided statistic of 10 records, as tabulated
    curve = roc_curve(y, score)
    highest = [curve.tpr[curve.fpr <= rate + d].max() for rate in band.at]
    lowest = [curve.tpr[curve.fpr >= rate - d].min() for rate in band.at]
    assert (highest, lowest) == ([0.9, 1, 1, 1], [0, 0, 0.8, 1])
    np.testing.assert_allclose(band.upper, np.ones(4), atol=1e-5)
    expected = np.maximum(0, np.array(lowest) - d)
    np.testing.assert_allclose(band.lower, expected, atol=1e-5)
    assert (band.method, band.reason) == ("simultaneous", "")


@pytest.mark.parametrize("digits", [8, 0])
def test_the_simultaneous_band_contains_the_whole_curve_at_its_level(digits):
    rng = np.random.default_rng(11)
    y = np.repeat([0, 1], [25, 15])
    cuts = np.arange(-30, 31) / 10 if digits else np.arange(-3, 5) - 0.5
    fpr, tpr = stats.norm.sf(cuts), stats.norm.sf(cuts - 1)
    inside = 0
    for _ in range(400):
        score = np.round(y + rng.normal(size=40), digits)
        band = roc_band(y, score, method="simultaneous", at=fpr, level=0.8)
        inside += ((band.lower <= tpr) & (tpr <= band.upper)).all()
    assert 0.78 < inside / 400 <= 1


def test_the_simultaneous_band_narrows_to_the_curve():
    rng = np.random.default_rng(12)
    y = np.arange(200_000) % 2
    band = roc_band(y, y + rng.normal(size=y.size), method="simultaneous")
    assert np.max(band.upper - band.lower) < 0.07
    assert ((band.lower <= band.estimate) & (band.estimate <= band.upper)).all()


# --- undefined values, and invalid arguments ----------------------------------


@pytest.mark.parametrize("make", [roc_band, pr_band])
@pytest.mark.parametrize(
    ("y", "reason"),
    [
        ([0, 0, 0, 1], "one positive record"),
        ([1, 1, 0, 1], "one negative record"),
        ([0, 0, 0, 0], "no positive record"),
        ([1, 1, 1, 1], "no negative record"),
        ([], "no positive record"),
    ],
)
def test_with_too_few_records_the_values_are_nan_with_a_reason(make, y, reason):
    band = make(y, np.arange(len(y)), at=[0.5, 1], seed=0)
    assert np.isnan([band.lower, band.upper]).all()
    assert reason in band.reason
    if len(set(y)) == 2:
        assert np.isfinite(band.estimate).all()
    if not sum(y):
        assert np.isnan(band.estimate).all()


def test_the_simultaneous_band_without_a_class():
    for y, name in (([0, 0], "positive"), ([1, 1], "negative"), ([], "positive")):
        band = roc_band(y, np.arange(len(y)), method="simultaneous", at=[0.5])
        assert np.isnan([band.lower, band.estimate, band.upper]).all()
        assert band.reason == f"no {name} record"
    one = roc_band([0, 1], [1, 2], method="simultaneous", at=[0.5])
    assert one.lower < 0.02
    assert one.upper == 1


def test_a_perfect_ranking_has_a_band_without_width_and_a_reason():
    y = np.repeat([0, 1], 9)
    band = roc_band(y, y, n_boot=50, seed=0)
    assert (band.lower == 1).all()
    assert "the curve is the same in all" in band.reason


def test_invalid_input_raises_an_error_that_explains():
    y, score = noisy(10)
    for make in (roc_band, pr_band):
        with pytest.raises(MetricError, match="1 of 2 scores are NaN"):
            make([0, 1], [1, np.nan])
        with pytest.raises(MetricError, match="at must hold numbers from 0 to 1"):
            make(y, score, at=[0.5, 1.5])
        with pytest.raises(MetricError, match="at must hold numbers from 0 to 1"):
            make(y, score, at=[np.nan])
        with pytest.raises(MetricError, match="level must lie between 0 and 1"):
            make(y, score, level=95)
        for n_boot in (0, 2.5, True):
            with pytest.raises(MetricError, match="n_boot must be"):
                make(y, score, n_boot=n_boot)
        with pytest.raises(MetricError, match="y has 10 records and clusters has 2"):
            make(y, score, clusters=[1, 2])
        with pytest.raises(ArgumentTypeError, match="seed must be"):
            make(y, score, seed="one")
    with pytest.raises(MetricError, match="clusters and n_boot mean nothing"):
        roc_band(y, score, method="simultaneous", n_boot=10)
    with pytest.raises(MetricError, match="clusters and n_boot mean nothing"):
        roc_band(y, score, method="simultaneous", clusters=np.arange(10))
    with pytest.raises(MetricError, match="method must be 'pointwise'"):
        roc_band(y, score, method="logit")
