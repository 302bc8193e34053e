"""The calibration slope of pairs, checked by statsmodels and by its definition."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from statsmodels.discrete.conditional_models import ConditionalLogit

from statcv.errors import MetricError
from statcv.metrics import calibration_slope, slope_of_pairs
from statcv.metrics.probabilities import log_odds_difference, no_slope, slope_influence

differences = st.lists(
    st.floats(-50, 50).filter(lambda d: abs(d) > 1e-3), min_size=2, max_size=30
)


@given(differences, st.floats(1e-9, 1e9))
def test_the_slope_is_where_the_score_is_zero(drawn, unit):
    d = np.array([*drawn, 0.5, -0.5]) * unit
    slope = slope_of_pairs(d)
    score, scale = d * expit(-slope * d), np.abs(d).max()
    assert abs(score.sum()) <= 1e-9 * scale * len(d)
    assert slope * unit == pytest.approx(slope_of_pairs(d / unit), rel=1e-9, abs=1e-9)
    assert slope_of_pairs(-d) == pytest.approx(-slope, rel=1e-9, abs=1e-9 / unit)


def test_it_is_a_conditional_logistic_regression():
    rng = np.random.default_rng(3)
    first, second = rng.normal(1.0, 2.0, 40), rng.normal(0.0, 2.0, 40)
    slope = slope_of_pairs(first - second)
    y, x = np.repeat([1, 0], 40), np.concatenate([first, second])
    pair = np.tile(np.arange(40), 2)
    fitted = ConditionalLogit(y, x[:, None], groups=pair).fit(disp=False)
    assert slope == pytest.approx(fitted.params[0], rel=1e-5)
    d = first - second
    origin = sm.Logit(np.ones(40), d[:, None])  # a constant outcome, no intercept
    assert origin.score(np.array([slope]))[0] == pytest.approx(0, abs=1e-9)
    information = -origin.hessian(np.array([slope]))[0, 0]
    moved = slope_influence(d, slope)
    np.testing.assert_allclose(moved * information, d * expit(-slope * d))
    assert moved.sum() == pytest.approx(0, abs=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_influence_is_the_derivative_by_the_weight_of_a_pair(seed):
    rng = np.random.default_rng(seed)
    d = np.append(rng.normal(0.4, 1, 12), [1.0, -1.0])
    times = 100_000
    slope = slope_of_pairs(d)
    more = _weighted(d, np.where(np.arange(14) == 3, 1 + 1 / times, 1.0), slope)
    moved = times * (more - slope)
    assert moved == pytest.approx(slope_influence(d, slope)[3], rel=1e-3, abs=1e-4)


def _weighted(d, weights, slope):
    for _ in range(50):
        left = expit(-slope * d)
        step = (weights * d * left).sum() / (weights * d**2 * left * (1 - left)).sum()
        slope += step
    return slope


def test_with_a_common_intercept_it_is_near_the_slope_of_all_records():
    rng = np.random.default_rng(5)
    log_odds = rng.normal(0.0, 1.5, 4000)
    y = rng.random(4000) < expit(0.6 * log_odds - 0.3)
    pairs = np.array([rng.permutation(log_odds[y == one])[:1500] for one in (1, 0)])
    slope = slope_of_pairs(pairs[0] - pairs[1])
    assert slope == pytest.approx(calibration_slope(y, expit(log_odds)), abs=0.08)


@pytest.mark.parametrize(
    ("d", "reason"),
    [
        ([], "no fit held out records of both classes"),
        ([0.5, 1.0], "the slope is infinite"),
        ([-0.5, -1.0, 0.0], "the slope is infinite"),
        ([0.0, 0.0], "equal predictions"),
        ([1.0, np.inf, -1.0], "a prediction is 0, 1 or not"),
        ([1.0, np.nan, -1.0], "not a probability"),
    ],
)
def test_an_undefined_slope_has_a_reason(d, reason):
    assert reason in no_slope(np.array(d))
    assert np.isnan(slope_of_pairs(d))
    assert no_slope(np.array([1.0, -2.0])) == ""


def test_extreme_pairs_have_a_finite_slope():
    nearly = slope_of_pairs([1.0, -1e-12])
    assert 20 < nearly < 40  # about log(1e12)
    assert slope_of_pairs([3.0, -3.0]) == 0
    assert slope_of_pairs(np.append(np.full(10**6, 700.0), -700.0)) == pytest.approx(
        np.log(10**6) / 700, rel=1e-9
    )


def test_differences_due_to_rounding_are_zero():
    p = np.array([0.3, 0.9, 1e-9])
    nearly = p * (1 + 1e-15)
    assert not log_odds_difference(p, nearly).any()
    np.testing.assert_allclose(
        log_odds_difference(expit(np.array([1.0, -2.0])), expit(np.array([0.5, 3.0]))),
        [0.5, -5.0],
    )
    assert np.isnan(log_odds_difference(np.array([1.0]), np.array([1.0]))).all()


def test_a_prediction_without_a_finite_logit_is_not_a_tie():
    found = log_odds_difference(
        np.array([0.0, 0.5, 0.0, 1.0, 1.2]), np.array([0.5, 1.0, 0.0, 0.0, 0.5])
    )
    assert not np.isfinite(found).any()
    assert found[0] == found[1] == -np.inf
    assert np.isnan(slope_of_pairs([*found[:1], 1.0, -1.0]))


def test_an_array_that_is_not_a_vector_raises_an_error():
    with pytest.raises(MetricError, match="difference has shape"):
        slope_of_pairs([[1.0, -1.0]])
