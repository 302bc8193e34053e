import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from statcv.errors import MetricError
from statcv.metrics import (
    accuracy,
    balanced_accuracy,
    ber,
    casewise_accuracy,
    f1,
    matthews,
    npv,
    precision,
    sensitivity,
    specificity,
)

REFERENCE = Path(__file__).parents[1] / "reference"
TWO = [sensitivity, specificity, precision, npv, f1]
BOTH = [accuracy, balanced_accuracy, ber, matthews]
seeds = st.integers(0, 10_000)


def two_classes(seed, least=1):
    rng = np.random.default_rng(seed)
    n = rng.integers(least, 12)
    return rng.integers(0, 2, n), rng.integers(0, 11, n) / 10


def several_classes(seed, classes=4):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 25)
    return rng.integers(0, classes, n), rng.dirichlet(np.ones(classes), n)


def counted(y, p, threshold):
    """Return the counts [[TN, FP], [FN, TP]], by a loop."""
    counts = [[0, 0], [0, 0]]
    for observed, score, cut in zip(y, p, threshold, strict=True):
        counts[observed][int(score >= cut)] += 1
    return counts


def ratio(part, whole):
    return part / whole if whole else np.nan


@given(seeds)
def test_two_classes_are_shares_of_counts_with_one_threshold_per_record(seed):
    y, p = two_classes(seed)
    threshold = np.random.default_rng(seed + 1).integers(0, 10, y.size) / 10 + 0.05
    (tn, fp), (fn, tp) = counted(y, p, threshold)
    expected = {
        sensitivity: ratio(tp, tp + fn),
        specificity: ratio(tn, tn + fp),
        precision: ratio(tp, tp + fp),
        npv: ratio(tn, tn + fn),
        f1: ratio(2 * tp, 2 * tp + fp + fn),
        accuracy: (tp + tn) / y.size,
        balanced_accuracy: (ratio(tp, tp + fn) + ratio(tn, tn + fp)) / 2,
    }
    for metric, value in expected.items():
        assert metric(y, p, threshold) == pytest.approx(value, nan_ok=True)
        assert metric(y, p, threshold.tolist()) == pytest.approx(value, nan_ok=True)
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    expected = ratio(tp * tn - fp * fn, np.sqrt(margins))
    assert matthews(y, p, threshold) == pytest.approx(expected, nan_ok=True)


@given(seeds)
def test_one_threshold_is_the_same_for_every_record(seed):
    y, p = two_classes(seed)
    for metric in TWO + BOTH:
        each = metric(y, p, np.full(y.size, 0.3))
        np.testing.assert_equal(metric(y, p, 0.3), each)
        np.testing.assert_equal(metric(y, p, 0.5), metric(y, p))


@given(seeds)
def test_two_classes_agree_with_scikit_learn(seed):
    y, p = two_classes(seed, least=2)
    y[:2] = [0, 1]
    chosen = (p >= 0.5).astype(int)
    assert sensitivity(y, p) == sk.recall_score(y, chosen)
    assert specificity(y, p) == sk.recall_score(y, chosen, pos_label=0)
    assert f1(y, p) == pytest.approx(sk.f1_score(y, chosen))
    for average in (None, "macro", "micro"):
        expected = sk.f1_score(y, chosen, average=average)
        assert f1(y, p, average=average) == pytest.approx(expected)
    if 0 < chosen.sum() < y.size:
        assert precision(y, p) == sk.precision_score(y, chosen)
        assert npv(y, p) == sk.precision_score(y, chosen, pos_label=0)
        assert matthews(y, p) == pytest.approx(sk.matthews_corrcoef(y, chosen))


@given(seeds)
def test_several_classes_agree_with_scikit_learn(seed):
    y, p = several_classes(seed)
    chosen, labels = p.argmax(axis=1), np.arange(4)
    nan = {"labels": labels, "zero_division": np.nan}
    each = sk.f1_score(y, chosen, average=None, **nan)
    np.testing.assert_allclose(f1(y, p, average=None), each)
    np.testing.assert_allclose(f1(y, p, average="macro"), np.mean(each))
    assert f1(y, p, average="micro") == pytest.approx(accuracy(y, p))
    varied = len(set(y)) > 1 and len(set(chosen)) > 1
    expected = sk.matthews_corrcoef(y, chosen) if varied else np.nan
    assert matthews(y, p) == pytest.approx(expected, nan_ok=True, abs=1e-15)
    np.testing.assert_equal(ber(y, p), 1 - balanced_accuracy(y, p))


@given(seeds)
def test_matthews_is_a_correlation_of_indicators(seed):
    y, p = several_classes(seed, classes=3)
    X, Y = np.eye(3)[y], np.eye(3)[p.argmax(axis=1)]
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    spread = np.sqrt((X**2).sum() * (Y**2).sum())
    expected = (X * Y).sum() / spread if spread > 1e-9 else np.nan
    assert matthews(y, p) == pytest.approx(expected, nan_ok=True, abs=1e-12)


@given(seeds)
def test_swapping_the_classes_swaps_the_metrics(seed):
    y, p = two_classes(seed)
    p = p + 0.03  # no score equals the threshold, which would give class 0
    for metric, other in ((sensitivity, specificity), (precision, npv)):
        np.testing.assert_equal(metric(y, p), other(1 - y, 1 - p))
    np.testing.assert_equal(matthews(y, p), matthews(1 - y, 1 - p))
    np.testing.assert_equal(
        f1(y, p, average=None), f1(1 - y, 1 - p, average=None)[::-1]
    )


@given(seeds)
def test_two_columns_give_the_same_value_as_one(seed):
    y, p = two_classes(seed)
    columns = np.column_stack([1 - p, p])
    for metric in TWO + BOTH:
        np.testing.assert_equal(metric(y, columns), metric(y, p))


def test_undefined_shares_are_nan_and_the_worst_are_zero():
    none, all_ = [0.1, 0.2], [0.8, 0.9]
    assert np.isnan(precision([0, 1], none))
    assert precision([0, 0], all_) == 0
    assert np.isnan(npv([0, 1], all_))
    assert npv([1, 1], none) == 0
    assert np.isnan(sensitivity([0, 0], all_))
    assert np.isnan(specificity([1, 1], all_))
    assert f1([0, 1], none) == 0
    assert f1([0, 0], all_) == 0
    assert np.isnan(f1([0, 0], none))
    np.testing.assert_array_equal(f1([0, 0], none, average=None), [1, np.nan])
    assert np.isnan(f1([0, 0], none, average="macro"))
    assert f1([0, 0], none, average="micro") == 1
    for y, p in (([0, 1], none), ([0, 1], all_), ([0, 0], [0.1, 0.9])):
        assert np.isnan(matthews(y, p))
    assert np.isnan(ber([0, 0], none))


def test_matthews_reaches_exactly_one_and_minus_one():
    for n in (3, 7, 10, 49, 1000):
        y = np.arange(n) % 2
        assert matthews(y, y) == 1
        assert matthews(y, 1 - y) == -1
        y = np.arange(n) % 3
        assert matthews(y, np.eye(3)[y]) == 1


def test_a_class_without_records_keeps_its_place():
    y, p = [0, 0, 1], np.array([[0.8, 0.2, 0], [0.1, 0.1, 0.8], [0, 1, 0]])
    assert f1(y, p, average=None) == pytest.approx([2 / 3, 1, 0])
    assert f1(y, p, average="macro") == pytest.approx(5 / 9)
    assert np.isnan(f1(y[::2], p[::2], average="macro"))
    assert matthews(y, p) == pytest.approx(sk.matthews_corrcoef(y, [0, 2, 1]))


def test_nan_in_a_prediction_or_a_threshold_is_nan():
    y, p = [0, 1, 1, 0], [0.2, 0.9, 0.4, 0.7]
    for metric in TWO + BOTH:
        assert np.isfinite(metric(y, p))
        assert np.isnan(metric(y, [0.2, np.nan, 0.4, 0.7]))
        assert np.isnan(metric(y, p, [0.5, 0.5, np.nan, 0.5]))
        assert np.isnan(metric(y, p, np.nan))
    assert np.isnan(f1(y, p, np.nan, average=None)).all()
    hits = casewise_accuracy(y, p, [0.5, 0.5, np.nan, 0.9])
    np.testing.assert_array_equal(hits, [1, 1, np.nan, 1])


def test_a_score_that_equals_the_threshold_is_positive():
    rng = np.random.default_rng(3)
    p = rng.uniform(size=500)
    assert sensitivity(np.ones(500), p, p) == 1
    assert sensitivity(np.ones(500), p, p - 1e-17) == 1
    assert sensitivity(np.ones(500), p, p * (1 + 1e-16)) == 1
    assert sensitivity(np.ones(500), p, p * (1 + 1e-10)) == 0
    assert sensitivity([1, 1], [0.0, 1.0], [-np.inf, np.inf]) == 0.5


@pytest.mark.parametrize("metric", TWO + BOTH)
def test_without_records_the_value_is_nan_without_a_warning(metric):
    assert np.isnan(metric([], []))
    assert np.isnan(metric([], [], []))


def test_a_million_records_are_counted_exactly():
    y = np.repeat([0, 1], [999_990, 10])
    p = np.zeros(y.size)
    p[:30], p[-9:] = 1, 1
    assert sensitivity(y, p) == 0.9
    assert precision(y, p) == 9 / 39
    expected = (9 * 999_960 - 30) / np.sqrt(39 * 10 * 999_990 * 999_961)
    assert matthews(y, p) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("metric", TWO + BOTH)
@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        ([0.5, 0.5], "y has 3 records and threshold has 2"),
        ([[0.5, 0.5, 0.5]], r"threshold has shape \(1, 3\)"),
        ("high", "threshold must hold numbers, not values such as 'high'"),
    ],
)
def test_invalid_thresholds_raise_an_error_that_explains(metric, threshold, message):
    with pytest.raises(MetricError, match=message):
        metric([0, 1, 1], [0.2, 0.3, 0.9], threshold)


@pytest.mark.parametrize("metric", TWO)
def test_metrics_of_two_classes_raise_an_error_for_three(metric):
    with pytest.raises(MetricError, match="is for two classes, but p has 3 columns"):
        metric([0, 1, 2], np.eye(3))


def test_a_meaningless_threshold_or_average_raises_an_error():
    with pytest.raises(MetricError, match="threshold=an array means nothing for 3"):
        matthews([0, 1, 2], np.eye(3), [0.5, 0.5, 0.5])
    with pytest.raises(MetricError, match="Did you mean 'macro'"):
        f1([0, 1], [0.2, 0.9], average="makro")


# ---- R ----


def read(name):
    with open(REFERENCE / name, newline="") as file:
        return list(csv.DictReader(file))


def cases():
    found = {}
    for row in read("classes_cases.csv"):
        p = [float(row[f"p{k}"]) for k in range(4) if row[f"p{k}"] != "NA"]
        y, columns = found.setdefault(row["case"], ([], []))
        y.append(int(row["y"]))
        columns.append(p)
    return {case: (np.array(y), np.array(p)) for case, (y, p) in found.items()}


CASES = cases()
OF_CLASSES = {metric.__name__: metric for metric in TWO + BOTH}
R = [row for row in read("classes_r.csv") if row["metric"] in OF_CLASSES]


def test_the_reference_covers_every_case():
    assert {row["case"] for row in R} == set(CASES)
    assert {row["metric"] for row in R} == set(OF_CLASSES) - {"ber"}


@pytest.mark.parametrize("row", R, ids=lambda row: "-".join(list(row.values())[:3]))
def test_agrees_with_r(row):
    y, p = CASES[row["case"]]
    if p.shape[1] == 2:
        p = p[:, 1] - 1e-9  # in a tie, R predicts the first class
    if row["which"]:
        value = f1(y, p, average=None)[int(row["which"])]
    else:
        value = OF_CLASSES[row["metric"]](y, p)
    assert value == pytest.approx(float(row["value"]), abs=1e-12)
