import csv
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from statcv.errors import MetricError
from statcv.metrics import (
    auprc,
    auroc,
    auroc_by_group,
    auroc_by_weight,
    midrank,
    pr_curve,
    ranked_higher,
    roc_curve,
    round_significant,
)

REFERENCE = Path(__file__).parents[1] / "reference"


@st.composite
def tied_samples(draw):
    """Draw both classes, and scores on a coarse grid with many ties."""
    n = draw(st.integers(2, 40))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    score = draw(st.lists(st.integers(-8, 8), min_size=n, max_size=n))
    y[:2] = [0, 1]
    return np.array(y), np.array(score) / 4


def count_pairs(y, score):
    won = [
        1.0 if p > q else 0.5 if p == q else 0.0
        for p in score[y == 1]
        for q in score[y == 0]
    ]
    return sum(won) / len(won)


@given(tied_samples())
def test_auroc_is_the_share_of_pairs_ranked_correctly(sample):
    assert auroc(*sample) == pytest.approx(count_pairs(*sample), abs=1e-15)


@given(st.lists(tied_samples(), min_size=1, max_size=6), st.randoms(), st.booleans())
def test_each_group_has_its_own_auroc(samples, random, unknown):
    y, score = (np.concatenate(parts) for parts in zip(*samples, strict=True))
    group = np.repeat(np.arange(len(samples)), [len(one) for one, _ in samples])
    shuffled = np.array(random.sample(range(len(y)), len(y)))
    y, score, group = y[shuffled], score[shuffled] + 0.1, group[shuffled]
    if unknown:
        score[0] = np.nan
    areas = auroc_by_group(y, score, group, len(samples) + 1)
    each = [auroc(y[group == g], score[group == g]) for g in range(len(samples))]
    np.testing.assert_array_equal(areas, [*each, np.nan])


@given(tied_samples(), st.integers(0, 10**6), st.booleans())
def test_weights_are_repeats_of_a_record(sample, seed, unknown):
    y, score = sample
    rng = np.random.default_rng(seed)
    scores = np.stack([score, rng.permutation(score), rng.normal(size=len(y))])
    weights = rng.integers(0, 3, size=(2, 3, len(y)))
    if unknown:
        scores[1, 0] = np.nan
    areas = auroc_by_weight(y, scores, weights)
    for table, own in zip(weights, areas, strict=True):
        np.testing.assert_array_equal(auroc_by_weight(y, scores, table), own)
        each = [np.repeat(np.arange(len(y)), times) for times in table]
        expected = [auroc(y[r], s[r]) for r, s in zip(each, scores, strict=True)]
        np.testing.assert_array_equal(own, expected)


@given(tied_samples())
def test_auroc_is_the_mean_over_pairs_of_who_is_ranked_higher(sample):
    y, score = sample
    ones, zeros = np.repeat(score[y == 1], (y == 0).sum()), score[y == 0]
    won = ranked_higher(ones, np.tile(zeros, (y == 1).sum()))
    assert won.mean() == pytest.approx(auroc(y, score), abs=1e-15)


def test_ranked_higher_in_extreme_cases():
    one = [np.inf, np.inf, -np.inf, np.nan, 1.0]
    other = [np.inf, 1.0, 1.0, 1.0, np.nan]
    expected = [0.5, 1.0, 0.0, np.nan, np.nan]
    np.testing.assert_array_equal(ranked_higher(one, other), expected)


@given(tied_samples())
def test_auroc_is_complemented_by_negation_and_by_swapping_classes(sample):
    y, score = sample
    assert auroc(y, -score) == pytest.approx(1 - auroc(y, score), abs=1e-15)
    assert auroc(1 - y, score) == pytest.approx(1 - auroc(y, score), abs=1e-15)


@given(tied_samples())
def test_strictly_monotone_maps_change_nothing(sample):
    y, score = sample
    for mapped in (np.exp(score), score**3, 3 * score - 7, np.arctan(score)):
        assert auroc(y, mapped) == auroc(y, score)
        for method in ("average_precision", "trapezoid", "interpolated"):
            assert auprc(y, mapped, method=method) == auprc(y, score, method=method)


@pytest.mark.parametrize("method", ["average_precision", "trapezoid", "interpolated"])
@given(tied_samples())
def test_precision_of_several_scores_is_that_of_each(method, sample):
    y, score = sample
    rows = np.stack([score, -score, np.round(score / 2), np.full(len(y), np.nan)])
    expected = [auprc(y, row, method=method) for row in rows]
    found = auprc(y, rows, method=method)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@given(tied_samples())
def test_order_of_records_does_not_matter(sample):
    y, score = sample
    assert auroc(y[::-1], score[::-1]) == auroc(y, score)
    assert auprc(y[::-1], score[::-1], method="trapezoid") == pytest.approx(
        auprc(y, score, method="trapezoid"), abs=1e-15
    )


@given(tied_samples())
def test_areas_agree_with_scikit_learn(sample):
    y, score = sample
    assert auroc(y, score) == pytest.approx(sk.roc_auc_score(y, score), abs=1e-14)
    expected = sk.average_precision_score(y, score)
    assert auprc(y, score) == pytest.approx(expected, abs=1e-14)
    precision, recall, _ = sk.precision_recall_curve(y, score)
    trapezoid = auprc(y, score, method="trapezoid")
    assert trapezoid == pytest.approx(sk.auc(recall, precision), abs=1e-14)


@given(tied_samples())
def test_curves_agree_with_scikit_learn(sample):
    y, score = sample
    fpr, tpr, thresholds = sk.roc_curve(y, score, drop_intermediate=False)
    roc = roc_curve(y, score)
    np.testing.assert_allclose(roc.fpr, fpr, atol=1e-15)
    np.testing.assert_allclose(roc.tpr, tpr, atol=1e-15)
    np.testing.assert_array_equal(roc.thresholds, thresholds)
    precision, recall, thresholds = sk.precision_recall_curve(y, score)
    pr = pr_curve(y, score)
    np.testing.assert_allclose(pr.recall[::-1], recall, atol=1e-15)
    np.testing.assert_allclose(pr.precision[::-1], precision, atol=1e-15)
    np.testing.assert_array_equal(pr.thresholds[:0:-1], thresholds)


@given(tied_samples())
def test_area_under_the_drawn_curve_is_auroc(sample):
    curve = roc_curve(*sample)
    area = np.sum(np.diff(curve.fpr) * (curve.tpr[1:] + curve.tpr[:-1]) / 2)
    assert area == pytest.approx(auroc(*sample), abs=1e-14)


# --- many scores at once ------------------------------------------------------


@given(tied_samples(), st.integers(0, 5), st.booleans())
def test_each_row_of_scores_has_its_own_area(sample, m, unknown):
    y, score = sample
    rows = np.stack([np.roll(score, k) for k in range(m)] or [score])[:m]
    if unknown and m:
        rows[0, 0] = np.nan
    areas = auroc(y, rows)
    assert areas.shape == (m,)
    np.testing.assert_array_equal(areas, [auroc(y, row) for row in rows])


def test_ranking_rows_in_chunks_does_not_change_the_areas():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 900)
    rows = rng.integers(0, 50, (2400, 900))  # more than are ranked in one chunk
    areas = auroc(y, rows)
    picked = [0, 1163, 1164, 1165, 1166, 2399]
    assert areas[picked].tolist() == [auroc(y, rows[k]) for k in picked]
    ones = rows[:, y == 1].sum(axis=1, dtype=float)
    assert np.corrcoef(areas, ones)[0, 1] > 0.5


def test_rows_of_any_numeric_type():
    y = [0, 1, 1]
    assert auroc(y, [[True, False, True]]).tolist() == [0.25]
    assert auroc(y, np.float32([[0.1, 0.3, 0.2]])).tolist() == [1.0]
    assert auroc(y, [[-np.inf, np.inf, 0]]).tolist() == [1.0]
    assert np.isnan(auroc([1, 1], [[1, 2], [2, 1]])).all()
    assert isinstance(auroc(y, [1, 2, 3]), float)
    assert auroc([], np.empty((2, 0))).shape == (2,)


# --- interpolated precision ---------------------------------------------------


def davis_goadrich(y, score):
    """Compute the paper's interpolation at each integer number of true positives."""
    positives, area, tp, fp = (y == 1).sum(), 0.0, 0, 0
    for threshold in np.unique(score)[::-1]:
        tp_next = ((y == 1) & (score >= threshold)).sum()
        fp_next = ((y == 0) & (score >= threshold)).sum()
        gained = tp_next - tp
        steps = range(gained + 1) if gained else ()
        path = [(tp + x, fp + x * (fp_next - fp) / gained) for x in steps]
        start = tp_next / (tp_next + fp_next)
        height = [t / (t + f) if t + f else start for t, f in path]
        area += sum(left + right for left, right in pairwise(height)) / 2 / positives
        tp, fp = tp_next, fp_next
    return area


@given(tied_samples())
def test_interpolated_area_agrees_with_the_steps_of_the_paper(sample):
    found = auprc(*sample, method="interpolated")
    assert found == pytest.approx(davis_goadrich(*sample), abs=1e-14)


@given(st.permutations(range(12)), st.integers(1, 11))
def test_interpolated_area_without_ties_is_the_trapezoid(score, positives):
    y = np.arange(12) < positives
    found = auprc(y, score, method="interpolated")
    assert found == pytest.approx(auprc(y, score, method="trapezoid"), abs=1e-14)


def test_interpolated_area_of_known_rankings():
    y = np.repeat([0, 1], 5000)
    assert auprc(y, y, method="interpolated") == 1
    worst = auprc(y, -y, method="interpolated")
    assert worst == pytest.approx(1 - np.log(2), abs=1e-6)
    loocv_mean = (y.sum() - y) / (y.size - 1)
    assert auprc(y, loocv_mean, method="interpolated") == worst
    assert auprc([0, 0, 0, 1], [1, 1, 1, 1], method="interpolated") == 0.25
    assert auprc([0, 1], [0.6, 0.4], method="interpolated") == 0.25
    assert auprc([1, 1], [1, 2], method="interpolated") == 1
    assert np.isnan(auprc([0, 0], [1, 2], method="interpolated"))


def test_interpolated_area_of_noise_is_the_share_of_positives():
    y = np.random.default_rng(8).permutation(np.repeat([0, 1], [80_000, 20_000]))
    found = auprc(y, np.arange(y.size), method="interpolated")
    assert found == pytest.approx(0.2, abs=0.01)


def read_rows(name):
    with open(REFERENCE / name, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("expected", read_rows("pr_r.csv"), ids=lambda row: row["case"])
def test_interpolated_values_equal_those_of_the_r_script(expected):
    rows = [r for r in read_rows("delong_cases.csv") if r["case"] == expected["case"]]
    y = [int(row["y"]) for row in rows]
    for score in "ab":
        found = auprc(y, [float(row[score]) for row in rows], method="interpolated")
        assert found == pytest.approx(float(expected[score]), rel=1e-12)


def test_interpolated_value_equals_that_of_the_authors_program():
    rows = read_rows("pr_uniform.csv")
    y, score = ([float(row[name]) for row in rows] for name in ("y", "score"))
    found = auprc(y, score, method="interpolated")
    assert found == pytest.approx(0.9018680216532841, abs=1e-14)


# --- ties -------------------------------------------------------------------


def test_predictions_equal_in_exact_arithmetic_tie():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    score = 0.5 + 5.6e-17 * rng.integers(-3, 4, 40)
    assert np.unique(score).size > 1
    assert auroc(y, score) == 0.5
    assert auroc(y, score, tie_tol=0) != 0.5
    assert roc_curve(y, score).fpr.size == 2


def test_mean_predictor_under_rloocv_is_at_chance():
    y = np.repeat([0.0, 1.0], [13, 17])
    rng = np.random.default_rng(1)
    prediction = np.empty(y.size)
    for i in range(y.size):
        partner = rng.choice(np.flatnonzero(y != y[i]))
        kept = rng.permutation(np.setdiff1d(np.arange(y.size), [i, partner]))
        weight = rng.dirichlet(np.ones(3))  # different computations of the same mean
        prediction[i] = sum(w * y[kept].mean() for w in weight)
    assert np.unique(prediction).size > 1
    assert auroc(y, prediction) == 0.5


def test_mean_predictor_under_loocv_at_one_half():
    y = np.repeat([0, 1], 25)
    prediction = (y.sum() - y) / (y.size - 1)
    assert auroc(y, prediction) == 0
    assert auroc(y, -prediction) == 1
    assert auprc(y, prediction, method="trapezoid") == 0.25
    assert auprc(y, prediction) == 0.5
    assert auprc(y, -prediction) == auprc(y, -prediction, method="trapezoid") == 1


# --- rounding ---------------------------------------------------------------

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite)
def test_rounding_is_close_idempotent_and_odd(x):
    (rounded,) = round_significant([x])
    if abs(x) > 1e-290:
        assert rounded == pytest.approx(x, rel=6e-12, abs=0)
    assert round_significant([rounded])[0] == pytest.approx(rounded, rel=4e-16, abs=0)
    assert round_significant([-x])[0] == -rounded


@given(st.floats(1e-280, 1e280))
def test_rounding_agrees_with_decimal_formatting(x):
    expected = float(f"{x:.11e}")
    assert round_significant([x])[0] == pytest.approx(expected, rel=1.1e-11, abs=0)


@given(st.lists(finite, min_size=2, max_size=20))
def test_rounding_keeps_the_order(values):
    rounded = round_significant(np.sort(values))
    assert (rounded[1:] >= rounded[:-1]).all()


@pytest.mark.parametrize("exponent", [-300, -30, -5, 0, 5, 30, 300])
def test_numbers_on_either_side_of_a_power_of_ten_tie(exponent):
    power = float(f"1e{exponent}")
    below, above = np.nextafter(power, 0), np.nextafter(power, np.inf)
    assert np.unique(round_significant([below, power, above])).size == 1


def test_tiny_scores_keep_their_order():
    score = [3e-310, 2e-308, 1e-305, 2e-305, 1e-250]
    assert (np.diff(round_significant(score)) > 0).all()
    assert auroc([0, 0, 1, 1, 1], score) == 1


def test_special_values_are_unchanged():
    values = [0.0, -0.0, np.inf, -np.inf, np.nan]
    np.testing.assert_array_equal(round_significant(values), values)
    assert round_significant(np.float64(1 / 3), 1e-2).shape == ()
    assert round_significant([[1 / 3]], 1e-2).tolist() == [[0.33]]


def test_rounding_can_be_disabled_and_the_input_is_unchanged():
    score = np.array([1 / 3, 2 / 3])
    assert (round_significant(score, 0) == score).all()
    assert (round_significant(score, 1e-20) == score).all()
    round_significant(score, 1e-2)[0] = 9
    assert score.tolist() == [1 / 3, 2 / 3]


@pytest.mark.parametrize("tie_tol", [-1e-12, 1.0, np.nan, np.inf])
def test_a_meaningless_tolerance_raises_an_error(tie_tol):
    with pytest.raises(MetricError, match="tie_tol must be"):
        round_significant([1.0], tie_tol)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30))
def test_midranks_share_the_mean(values):
    x = np.array(values)
    expected = [(x < v).sum() + ((x == v).sum() + 1) / 2 for v in x]
    assert midrank(values).tolist() == expected


def test_midranks_of_infinite_and_missing_values():
    assert midrank([np.inf, 0, -np.inf, np.inf]).tolist() == [3.5, 2, 1, 3.5]
    assert np.isnan(midrank([1, np.nan])).all()
    assert midrank([]).size == 0


# --- undefined values, and invalid arguments ----------------------------------


def test_undefined_areas_are_nan_without_a_warning():
    for y in ([0, 0], [1, 1], []):
        assert np.isnan(auroc(y, np.arange(len(y))))
    assert np.isnan(auprc([0, 0], [1, 2]))
    assert np.isnan(auprc([0, 0], [1, 2], method="trapezoid"))
    assert np.isnan(auroc([0, 1], [1, np.nan]))
    assert np.isnan(auprc([0, 1], [1, np.nan]))
    assert auprc([1, 1], [1, 2]) == 1


def test_infinite_scores_are_ranked():
    score = [-np.inf, 0, 0, np.inf]
    assert auroc([0, 0, 1, 1], score) == 0.875
    assert auprc([0, 0, 1, 1], score) == auprc([0, 0, 1, 1], [-9, 0, 0, 9])


def test_bools_lists_and_objects_are_valid_outcomes():
    score = [0.1, 0.4, 0.35, 0.8]
    assert auroc([False, False, True, True], score) == 0.75
    assert auroc(np.array([0, 0, 1, 1], dtype=object), score) == 0.75
    assert auroc(np.array([0.0, 0.0, 1.0, 1.0]), np.float32(score)) == 0.75


@pytest.mark.parametrize(
    ("y", "score", "message"),
    [
        ([0, 1], [1, 2, 3], "y has 2 records and score has 3"),
        ([0, 2], [1, 2], "only 0 and 1.*differ, such as 2"),
        ([0, np.nan], [1, 2], "only 0 and 1.*differ, such as nan"),
        (["no", "yes"], [1, 2], "y must hold numbers.*'no'"),
        ([0, 1], ["a", "b"], "score must hold numbers.*'a'"),
        (np.array([0, None], dtype=object), [1, 2], "numbers.*None"),
        ([0, 1], [[1], [2]], r"score has shape \(2, 1\)"),
        ([0, 1], [[1], [2, 3]], "rows differ in length"),
        ([0, 1], [1j, 2], "score must hold numbers"),
    ],
)
@pytest.mark.parametrize("metric", [auroc, auprc, roc_curve, pr_curve])
def test_invalid_input_raises_an_error_that_explains(metric, y, score, message):
    with pytest.raises(MetricError, match=message):
        metric(y, score)


def test_an_unknown_method_raises_an_error_that_suggests_the_nearest():
    with pytest.raises(MetricError, match="Did you mean 'trapezoid'"):
        auprc([0, 1], [0, 1], method="trapezoidal")


def test_curves_raise_for_missing_scores_and_are_nan_for_a_missing_class():
    with pytest.raises(MetricError, match="1 of 2 scores are NaN"):
        roc_curve([0, 1], [1, np.nan])
    curve = roc_curve([1, 1], [1, 2])
    assert np.isnan(curve.fpr).all()
    assert curve.tpr.tolist() == [0, 0.5, 1]
    assert np.isnan(pr_curve([0, 0], [1, 2]).recall).all()
