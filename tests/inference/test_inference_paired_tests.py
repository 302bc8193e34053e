"""Tests that compare two models on the same records."""

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import ttest_1samp

from statcv.errors import ComparisonError
from statcv.inference.paired.methods import METHODS, default_method, paired_method
from statcv.inference.paired.tests import (
    paired_corrected_t,
    paired_permutation,
    paired_t,
)
from statcv.inference.scores import joined_clusters
from statcv.metrics import METRICS, auprc

RNG = np.random.default_rng


def test_t():
    change = RNG(1).normal(0.2, 1, 30)
    found, expected = paired_t(change, None, 0.9), ttest_1samp(change, 0)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval(0.9)
    assert (found.lower, found.upper) == pytest.approx((interval.low, interval.high))


def test_clustered_t():
    """The test equals a regression on a constant with clustered covariance."""
    rng = RNG(2)
    clusters = rng.integers(0, 9, 60)
    change = rng.normal(0.3, 1, 60) + rng.normal(size=9)[clusters]
    fit = sm.OLS(change, np.ones(60)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}
    )
    found = paired_t(change, clusters, 0.95)
    assert found.se == pytest.approx(fit.bse[0] * np.sqrt(9 / 8))
    assert found.se != pytest.approx(paired_t(change, None, 0.95).se)


def test_clusters_of_one_record_change_nothing():
    change = RNG(3).normal(size=20)
    alone = paired_t(change, RNG(4).permutation(20), 0.95)
    assert alone.se == pytest.approx(paired_t(change, None, 0.95).se)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ([0.1, np.inf, 0.2], "1 of 3 records"),
        ([np.nan, np.inf, 0.2], "2 of 3 records"),
        ([0.1], "only one record"),
    ],
)
def test_an_undefined_t_test_has_a_reason(change, reason):
    found = paired_t(np.array(change), None, 0.95)
    assert np.isnan([found.se, found.lower, found.statistic, found.p_value]).all()
    assert reason in found.reason


def test_one_cluster_only():
    found = paired_t(np.array([0.1, 0.3]), np.array([0, 0]), 0.95)
    assert found.difference == pytest.approx(0.2)
    assert np.isnan(found.p_value)
    assert found.reason == "there is only one cluster"


def test_equal_differences_of_all_records_give_no_interval():
    alike = paired_t(np.zeros(6), None, 0.95)
    assert (alike.statistic, alike.p_value) == (0, 1)
    assert np.isnan([alike.lower, alike.upper]).all()
    assert "every record has the same difference" in alike.reason


def test_a_mean_due_to_rounding_is_not_a_difference():
    """Three clusters, or folds, have a sum that is 0 except for the last bit."""
    change, clusters = np.tile([0.1, 0.7, -0.8], 3), np.repeat([0, 1, 2], 3)
    assert change.mean() != 0
    found = paired_t(change, clusters, 0.95)
    assert (found.difference, found.statistic, found.p_value) == (0, 0, 1)
    folds, ones = np.array([0.1 + 0.2, 0.3, 0.3]), np.ones(3)
    assert np.ptp(folds) > 0
    apart = paired_corrected_t(folds, 9 * ones, ones, 0.95)
    assert (apart.statistic, apart.p_value) == (np.inf, 0)
    assert "every fold has the same difference" in apart.reason


def test_corrected_t_is_that_of_nadeau_and_bengio():
    change = RNG(5).normal(0.1, 0.2, 20)
    n_train, n_test = np.full(20, 80.0), np.full(20, 20.0)
    found = paired_corrected_t(change, n_train, n_test, 0.95)
    se = np.sqrt((1 / 20 + 20 / 80) * change.var(ddof=1))
    assert found.se == pytest.approx(se)
    plain = ttest_1samp(change, 0)
    ratio = np.sqrt((1 / 20) / (1 / 20 + 1 / 4))
    assert found.statistic == pytest.approx(plain.statistic * ratio)
    assert found.p_value > plain.pvalue


def test_corrected_t_of_equal_folds():
    ones = np.ones(4)
    same = paired_corrected_t(0 * ones, ones, ones, 0.95)
    assert (same.statistic, same.p_value) == (0, 1)
    apart = paired_corrected_t(0.5 * ones, ones, ones, 0.95)
    assert (apart.statistic, apart.p_value) == (np.inf, 0)
    assert np.isnan([same.lower, apart.upper]).all()
    assert "every fold has the same difference" in apart.reason


def test_permutation_of_another_metric_ranks_first():
    """The scores of the two models may have different scales."""
    rng = RNG(6)
    y = rng.integers(0, 2, 25)
    a, b = y + rng.normal(size=(2, 25))

    def permuted(first, second):
        return paired_permutation(
            METRICS["auprc"], lambda p: auprc(y, p), y, first, second, None, 199, RNG(1)
        )

    found = permuted(a, b)
    assert repr(found) == repr(permuted(100 * a + 50, np.exp(b)))  # nan is not nan
    assert found.difference == pytest.approx(auprc(y, b) - auprc(y, a))
    assert np.isnan(found.lower)
    assert (found.p_value * 200) % 1 == pytest.approx(0, abs=1e-9)


def test_few_swaps_are_counted():
    y = np.array([0, 0, 1, 1])
    a, b = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.1, 0.2, 0.6, 0.4])
    metric = METRICS["brier"]
    found = paired_permutation(
        metric, lambda p: metric(y, p), y, a, b, None, 99, RNG(1)
    )
    assert found.p_value == 1
    assert "2 distinct swaps" in found.reason


def test_clusters_that_either_result_links():
    first, second = np.array([7, 7, 3, 3, 9]), np.array([1, 2, 2, 4, 5])
    joined = joined_clusters(first, second)
    assert joined.tolist() == [0, 0, 0, 0, 1]
    assert joined_clusters(first, None) is first
    assert joined_clusters(None, None) is None


def test_every_method_says_what_it_assumes():
    assert all(len(method.assumes) > 40 for method in METHODS.values())


def test_which_test_for_which_metric():
    for name in ("permutation", "corrected_t"):
        assert paired_method(name, METRICS["auprc"]).name == name
    refused = [
        (None, "rmse", "test=None is unknown"),
        ("corrected_jackknife", "brier", "for auROC, not for Brier"),
        ("delong", "brier", "for auROC, not for Brier"),
        ("t", "auprc", "is not a mean over records"),
        ("delog", "auroc", "Did you mean 'delong'"),
        ("wilcoxon", "auroc", "compare_settings"),
    ]
    for test, metric, words in refused:
        with pytest.raises(ComparisonError, match=words):
            paired_method(test, METRICS[metric])


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_default_test(name):
    metric = METRICS[name]
    expected = "t" if metric.casewise is not None else "influence"
    expected = "delong" if metric.is_auroc else expected
    assert default_method(metric) == expected
    assert default_method(metric, by_fold=True) == "corrected_t"
    for by_fold in (False, True):
        found = default_method(metric, varying=True, by_fold=by_fold)
        assert found == "infinitesimal_jackknife"
    for test in (default_method(metric), "corrected_t", "infinitesimal_jackknife"):
        assert paired_method(test, metric).name == test


def test_a_metric_without_derivatives_has_no_default_test():
    unknown = replace(METRICS["rmse"], derive=None)
    with pytest.raises(ComparisonError, match="RMSE has no default paired test"):
        default_method(unknown)
    for test in ("influence", "infinitesimal_jackknife"):
        with pytest.raises(ComparisonError, match="needs the derivatives"):
            paired_method(test, unknown)
    assert default_method(unknown, by_fold=True) == "corrected_t"


def test_clusters_that_do_not_vary_are_not_evidence():
    change = np.array([0.1, 0.3, 0.3, 0.1, 0.25, 0.15])  # means equal but for rounding
    found = paired_t(change, np.repeat([0, 1, 2], 2), 0.95)
    assert found.se == 0
    assert "every cluster" in found.reason
