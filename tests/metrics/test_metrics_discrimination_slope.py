"""The discrimination slope, against what is known of it."""

import numpy as np
import pytest

from statcv.metrics import METRICS, discrimination_slope


def test_it_is_the_coefficient_of_the_outcome_in_a_regression_of_probabilities():
    rng = np.random.default_rng(1)
    y, p = rng.integers(2, size=40), rng.uniform(size=40)
    coefficient = np.polyfit(y, p, 1)[0]
    assert discrimination_slope(y, p) == pytest.approx(coefficient, rel=1e-12)


def test_it_is_nan_without_a_class():
    assert np.isnan(discrimination_slope([1, 1], [0.2, 0.4]))
    assert np.isnan(discrimination_slope([0, 0], [0.2, 0.4]))
    assert np.isnan(discrimination_slope([0, 1], [0.2, 1.4]))


def test_it_is_a_metric_of_which_more_is_better():
    metric = METRICS["discrimination_slope"]
    assert metric.greater_is_better
    assert metric.perfect == 1
    assert metric.no_skill == 0
