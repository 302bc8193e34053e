import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from statcv.errors import MetricError
from statcv.metrics import (
    accuracy,
    balanced_accuracy,
    brier,
    casewise_accuracy,
    casewise_brier,
    casewise_log_loss,
    log_loss,
)

METRICS = [accuracy, balanced_accuracy, brier, log_loss]
CASEWISE = [
    (accuracy, casewise_accuracy),
    (brier, casewise_brier),
    (log_loss, casewise_log_loss),
]
seeds = st.integers(0, 10_000)


def two_classes(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 40)
    y = rng.integers(0, 2, n)
    y[:2] = [0, 1]
    return y, rng.integers(0, 11, n) / 10


def several_classes(seed, n_classes=4):
    rng = np.random.default_rng(seed)
    n = rng.integers(n_classes, 40)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    return y, rng.dirichlet(np.ones(n_classes), n)


def indicator(y, n_classes):
    return np.eye(n_classes)[y]


@given(seeds)
def test_two_classes_agree_with_scikit_learn(seed):
    y, p = two_classes(seed)
    assert accuracy(y, p) == pytest.approx(sk.accuracy_score(y, p >= 0.5))
    expected = sk.balanced_accuracy_score(y, p >= 0.5)
    assert balanced_accuracy(y, p) == pytest.approx(expected)
    assert brier(y, p) == pytest.approx(sk.brier_score_loss(y, p), abs=1e-15)
    assert log_loss(y, p) == pytest.approx(sk.log_loss(y, p), rel=1e-12)


@given(seeds)
def test_several_classes_agree_with_scikit_learn(seed):
    y, p = several_classes(seed)
    chosen = p.argmax(axis=1)
    assert accuracy(y, p) == pytest.approx(sk.accuracy_score(y, chosen))
    expected = sk.balanced_accuracy_score(y, chosen)
    assert balanced_accuracy(y, p) == pytest.approx(expected)
    expected = np.mean(np.sum((p - indicator(y, 4)) ** 2, axis=1))
    assert brier(y, p) == pytest.approx(expected, abs=1e-15)
    assert log_loss(y, p) == pytest.approx(sk.log_loss(y, p), rel=1e-12)


@given(seeds)
def test_two_columns_give_the_same_value_as_one(seed):
    y, p = two_classes(seed)
    columns = np.column_stack([1 - p, p])
    assert accuracy(y, columns) == accuracy(y, p)
    assert balanced_accuracy(y, columns) == balanced_accuracy(y, p)
    assert log_loss(y, columns) == pytest.approx(log_loss(y, p))
    assert brier(y, columns) == pytest.approx(2 * brier(y, p), abs=1e-15)


@pytest.mark.parametrize(("metric", "casewise"), CASEWISE)
@pytest.mark.parametrize("sample", [two_classes, several_classes])
def test_the_metric_is_the_mean_of_its_casewise_values(metric, casewise, sample):
    y, p = sample(1)
    assert casewise(y, p).shape == y.shape
    assert casewise(y, p).mean() == metric(y, p)
    each = [metric(y[i : i + 1], p[i : i + 1]) for i in range(y.size)]
    assert casewise(y, p).tolist() == each


def test_class_1_is_predicted_from_the_threshold_on():
    p = np.array([0.3, 0.5, 0.7])
    assert casewise_accuracy([0, 1, 1], p).tolist() == [1, 1, 1]
    assert casewise_accuracy([1, 1, 1], p, 0.3).tolist() == [1, 1, 1]
    assert accuracy([1, 1, 1], p, threshold=0.2) == 1
    assert balanced_accuracy([0, 0, 1], p, threshold=0.4) == 0.75


def test_rounding_noise_has_no_effect():
    rng = np.random.default_rng(0)
    p = 0.5 + 1e-16 * rng.integers(-3, 4, 50)
    y = np.arange(50) % 2
    assert (p < 0.5).any()
    assert accuracy(y, p) == 0.5
    assert casewise_accuracy(y, p).tolist() == (y == 1).tolist()
    columns = np.column_stack([1 - p, p])
    assert casewise_accuracy(y, columns).tolist() == (y == 1).tolist()


def test_a_certain_but_wrong_prediction_has_a_finite_loss_by_precision():
    for dtype in (np.float32, np.float64):
        wrong = log_loss([1, 0], np.array([0, 1], dtype=dtype))
        assert wrong == pytest.approx(-np.log(float(np.finfo(dtype).eps)), rel=1e-9)
        columns = np.array([[1, 0], [0, 1]], dtype=dtype)
        assert log_loss([1, 0], columns) == pytest.approx(wrong)
        expected = sk.log_loss([1, 0], np.array([0, 1], dtype=dtype))
        assert wrong == pytest.approx(expected, rel=1e-6)
    assert log_loss([1, 0], [1, 0]) == pytest.approx(0, abs=1e-15)
    assert log_loss([1, 0], np.array([0, 1])) > 36


def test_balanced_accuracy_needs_every_class():
    assert np.isnan(balanced_accuracy([1, 1], [0.2, 0.9]))
    assert np.isnan(balanced_accuracy([0, 1], np.full((2, 3), 1 / 3)))


def test_only_records_without_a_probability_are_nan():
    p = [0.5, -0.1, 1.1, np.nan, np.inf, 1.0]
    for casewise in (casewise_brier, casewise_log_loss):
        values = casewise([1] * 6, p)
        assert np.isnan(values).tolist() == [False, True, True, True, True, False]
    assert np.isnan([brier([1] * 6, p), log_loss([1] * 6, p)]).all()
    rows = [[0.5, 0.5], [0.6, 0.6], [np.nan, 1.0], [1.5, -0.5], [np.inf, 0]]
    for casewise in (casewise_brier, casewise_log_loss):
        values = casewise([0] * 5, rows)
        assert np.isnan(values).tolist() == [False, True, True, True, True]


def test_single_precision_rows_count_as_summing_to_one():
    y, p = several_classes(2)
    assert brier(y, p.astype(np.float32)) == pytest.approx(brier(y, p), abs=1e-6)
    assert log_loss(y, p.astype(np.float32)) == pytest.approx(log_loss(y, p), abs=1e-5)


def test_classes_can_be_predicted_from_scores_but_not_from_nan():
    assert accuracy([0, 1], [-3, 7], threshold=0) == 1
    assert accuracy([0, 1], [-np.inf, np.inf]) == 1
    hits = casewise_accuracy([0, 1], [np.nan, 0.9])
    np.testing.assert_array_equal(hits, [np.nan, 1])
    hits = casewise_accuracy([0, 1], [[np.nan, 0.9], [0.1, 0.9]])
    np.testing.assert_array_equal(hits, [np.nan, 1])
    assert np.isnan(balanced_accuracy([0, 1], [np.nan, 0.9]))


@pytest.mark.parametrize("metric", METRICS)
def test_without_records_the_value_is_nan_without_a_warning(metric):
    assert np.isnan(metric([], []))
    assert np.isnan(metric([], np.empty((0, 3))))


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([0, 1], [0.5], "y has 2 records and p has 1"),
        ([0, 2], [0.5, 0.5], "only 0 and 1.*differ, such as 2"),
        ([0, 2], [[0.5, 0.5], [0.5, 0.5]], "codes 0 to 1.* such as 2"),
        ([0, 0.5], [[0.5, 0.5], [0.5, 0.5]], "codes 0 to 1.* such as 0.5"),
        ([0, np.nan], [[0.5, 0.5], [0.5, 0.5]], "such as nan"),
        ([0], [[0.5, 0.5], [0.5, 0.5]], "y has 1 records and p has 2"),
        ([0, 1], [[0.5], [0.5]], r"p has shape \(2, 1\)"),
        ([0], [[[0.5, 0.5]]], r"p has shape \(1, 1, 2\)"),
        ([0, 1], ["a", "b"], "p must hold numbers"),
    ],
)
@pytest.mark.parametrize("metric", METRICS)
def test_invalid_input_raises_an_error_that_explains(metric, y, p, message):
    with pytest.raises(MetricError, match=message):
        metric(y, p)


@pytest.mark.parametrize("metric", [accuracy, balanced_accuracy])
def test_a_threshold_means_nothing_for_several_columns(metric):
    with pytest.raises(MetricError, match=r"threshold=0\.3 means nothing"):
        metric([0, 1], [[0.5, 0.5], [0.5, 0.5]], threshold=0.3)
