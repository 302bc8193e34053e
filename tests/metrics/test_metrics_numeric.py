import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from statcv.errors import MetricError
from statcv.metrics import casewise_mae, casewise_mse, mae, mse, r2, rmse

METRICS = [mse, rmse, mae, r2]


def sample(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 30)
    y = 5 + rng.normal(size=n)
    return y, y + rng.normal(size=n)


@given(st.integers(0, 10_000))
def test_agreement_with_scikit_learn(seed):
    y, yhat = sample(seed)
    assert mse(y, yhat) == pytest.approx(sk.mean_squared_error(y, yhat))
    assert rmse(y, yhat) == pytest.approx(sk.root_mean_squared_error(y, yhat))
    assert mae(y, yhat) == pytest.approx(sk.mean_absolute_error(y, yhat))
    assert r2(y, yhat) == pytest.approx(sk.r2_score(y, yhat), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "casewise"), [(mse, casewise_mse), (mae, casewise_mae)]
)
def test_the_metric_is_the_mean_of_its_casewise_values(metric, casewise):
    y, yhat = sample(1)
    assert casewise(y, yhat).shape == y.shape
    assert casewise(y, yhat).mean() == metric(y, yhat)


def test_r2_against_a_baseline():
    y, yhat = sample(2)
    training_mean = (y.sum() - y) / (y.size - 1)
    expected = 1 - np.sum((y - yhat) ** 2) / np.sum((y - training_mean) ** 2)
    assert r2(y, yhat, training_mean) == pytest.approx(expected)
    assert r2(y, training_mean, baseline=training_mean) == 0
    assert r2(y, training_mean) < 0
    assert r2(y, yhat, y.mean()) == r2(y, yhat)
    assert r2(y, y) == 1


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1e6 + 0.1])
@pytest.mark.parametrize("n", [1, 3, 7, 1000])
def test_r2_of_a_constant_outcome_is_nan_despite_rounding(value, n):
    y = np.full(n, value)
    assert np.isnan(r2(y, y + 1))
    assert np.isnan(r2(y, y + 1, baseline=y * (1 + 2e-16)))
    assert np.isnan(r2(y, y + 1, baseline=value))


def test_a_small_spread_about_a_large_mean_is_kept():
    y = 1e6 + np.arange(5) * 1e-3
    assert r2(y, y) == 1
    assert r2(y, np.full(5, y.mean())) == 0


@pytest.mark.parametrize("metric", METRICS)
def test_undefined_values_are_nan_without_a_warning(metric):
    assert np.isnan(metric([], []))
    assert np.isnan(metric([1, 2], [1, np.nan]))
    assert np.isnan(metric([1, np.nan], [1, 2]))
    assert np.isnan(metric([1, np.inf], [1, np.inf]))


@pytest.mark.parametrize(
    ("y", "yhat", "message"),
    [
        ([1, 2], [1], "y has 2 records and yhat has 1"),
        ([1, 2], [[1], [2]], r"yhat has shape \(2, 1\)"),
        (["a", "b"], [1, 2], "y must hold numbers.*'a'"),
    ],
)
@pytest.mark.parametrize("metric", METRICS)
def test_invalid_input_raises_an_error_that_explains(metric, y, yhat, message):
    with pytest.raises(MetricError, match=message):
        metric(y, yhat)


def test_a_baseline_of_another_length_raises_an_error():
    with pytest.raises(MetricError, match="y has 2 records and baseline has 3"):
        r2([1, 2], [1, 2], baseline=[1, 2, 3])
    with pytest.raises(MetricError, match="baseline must hold numbers"):
        r2([1, 2], [1, 2], baseline="mean")
