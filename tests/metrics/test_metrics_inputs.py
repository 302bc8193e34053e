"""The inputs that all metrics accept, and the errors for invalid ones."""

import numpy as np
import pandas as pd
import pytest

from statcv import metrics
from statcv.errors import MetricError

Y = np.array([0, 1, 0, 1, 1, 0, 0, 1, 1, 0])
SCORE = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.35, 0.8, 0.65, 0.15])


def test_masked_values_are_missing():
    masked = np.ma.array(SCORE, mask=SCORE == 0.8)
    assert np.isnan(metrics.auroc(Y, masked))
    assert metrics.delong(Y, masked).reason.startswith("1 of the scores")
    ranks = np.ma.array(np.arange(10), mask=Y * 0)
    assert metrics.auroc(Y, ranks) == metrics.auroc(Y, np.arange(10))
    with pytest.raises(MetricError, match="such as nan"):
        metrics.auroc(np.ma.array(Y, mask=Y == 1), SCORE)


def test_integers_too_large_for_a_double_raise_an_error():
    assert metrics.auroc(Y, [10**30] * 10) == 0.5
    with pytest.raises(MetricError, match="score holds a number too large"):
        metrics.auroc(Y, [10**400] * 10)


def test_the_elements_of_a_list_are_the_cluster_labels():
    """As text, NaN would be a cluster of its own, and 1 would equal "1"."""
    with pytest.raises(MetricError, match="5 of 10 records have no cluster"):
        metrics.delong(Y, SCORE, clusters=[float("nan"), "a"] * 5)
    found = metrics.delong(Y, SCORE, clusters=[1, 1, "1", "1", "b"] * 2)
    assert found.n_clusters == 3


@pytest.mark.parametrize("label", [str, float, lambda k: f"id {k}"])
def test_cluster_labels_only_matter_for_equality(label):
    codes = [0, 1, 2, 3, 4] * 2
    named = [label(code) for code in codes]
    for clusters in (named, np.array(named), pd.Series(named, index=range(9, -1, -1))):
        assert metrics.delong(Y, SCORE, clusters=clusters) == metrics.delong(
            Y, SCORE, clusters=codes
        )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: metrics.auroc(Y, SCORE, tie_tol="small"), "tie_tol must be a number"),
        (lambda: metrics.auroc(Y, SCORE, tie_tol=None), "tie_tol must be a number"),
        (lambda: metrics.net_benefit(Y, SCORE, "0.3"), "threshold must hold numbers"),
        (lambda: metrics.net_benefit_at(Y, SCORE, "x"), "threshold must hold numbers"),
        (
            lambda: metrics.net_benefit(Y, SCORE, 0.3, prevalence="a"),
            "prevalence must be a number",
        ),
        (lambda: metrics.calibration_curve(Y, SCORE, knots=3.0), "knots=3.0 must be"),
        (lambda: metrics.ranked_higher([1], [2, 3]), "must have the same"),
        (
            lambda: metrics.auroc_by_group(Y, SCORE, Y[:5], 2),
            "group has 5; pass one value per",
        ),
        (lambda: metrics.auroc_by_group(Y, SCORE, Y + 1, 2), "integers from 0 to 1"),
        (lambda: metrics.auroc_by_group(Y, SCORE, SCORE, 2), "integers from 0 to 1"),
        (lambda: metrics.auroc_by_weight(Y, SCORE, SCORE), "must be \\(m, "),
        (lambda: metrics.auroc_by_weight(Y, [SCORE], SCORE), "that of score"),
    ],
)
def test_invalid_arguments_raise_an_error_that_explains(call, words):
    with pytest.raises(MetricError, match=words):
        call()


def test_groups_may_be_a_list():
    first = metrics.auroc(Y[:5], SCORE[:5])
    second = metrics.auroc(Y[5:], SCORE[5:])
    found = metrics.auroc_by_group(Y, SCORE, [0] * 5 + [1] * 5, 2)
    assert found.tolist() == [first, second]


@pytest.mark.parametrize("metric", [metrics.mse, metrics.rmse, metrics.mae])
def test_errors_too_large_for_a_double_are_infinite_without_a_warning(metric):
    assert metric([0, 0], [1.7e308, -1.7e308]) == np.inf
    assert metric([-1.7e308], [1.7e308]) == np.inf


def test_all_values_of_a_calibration_are_floats():
    found = vars(metrics.calibration(Y, SCORE))
    assert {type(found[name]) for name in found if name.startswith("obs")} == {float}


def test_a_loess_band_without_width_has_a_reason():
    p = np.linspace(0.1, 0.6, 6)
    found = metrics.calibration_curve(p > 0.35, p, smooth="loess", at=[0.2, 0.5])
    np.testing.assert_allclose(found.lower, found.upper, atol=1e-6)
    assert "its band has no width" in found.reason
    assert not metrics.calibration_curve(Y, SCORE, smooth="loess").reason
