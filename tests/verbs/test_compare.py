"""Results side by side."""

import warnings

import numpy as np
import pytest

import statcv as scv
from statcv.errors import ArgumentError, ComparisonError
from statcv.metrics import delong_test

FORMULA = "GRADE ~ GPA + TUCE + PSI"


@pytest.fixture(scope="module")
def spector():
    return scv.load_data("spector")


@pytest.fixture(scope="module")
def results(spector):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scv.errors.DistributionalBiasWarning)
        rloocv = scv.cv(FORMULA, spector, scheme="rloocv", repeats=1, seed=1)
        return {"loocv": rloocv.update(scheme="loocv"), "rloocv": rloocv}


def test_the_test_is_delongs(results):
    comparison = scv.compare(**results, test="delong")
    a, b = (r.predictions.sort_values("row") for r in results.values())
    test = delong_test(a["observed"], b["predicted"], a["predicted"])
    row = comparison.differences.iloc[0]
    assert (row["first"], row["second"]) == ("loocv", "rloocv")
    assert row["difference"] == pytest.approx(test.estimate)
    assert row["p"] == row["p_holm"] == pytest.approx(test.p_value)
    assert (row["lower"], row["upper"]) == pytest.approx((test.lower, test.upper))
    assert comparison.table["how"].tolist() == ["pooled", "pooled"]


def test_a_comparison_of_schemes_says_so(results):
    comparison = scv.compare(*results.values())
    assert list(comparison.results) == ["loocv", "rloocv"]
    assert "tests the schemes, not the models" in str(comparison)


def test_biased_pooling_is_a_caveat(spector):
    a = scv.cv("GRADE ~ GPA", spector, k=5, repeats=2, seed=1)
    b = a.update(formula=". ~ . + PSI")
    pooled = scv.compare(a, b, test="delong", how="pooled")
    (told,) = pooled.differences["caveat"]
    assert "reveal the labels" in told
    assert "compared pooled, while the headline is per fold" in told
    assert "reveal the labels" not in scv.compare(a, b).differences["caveat"][0]


def test_sensitivity_that_is_gained_at_the_cost_of_specificity_is_a_caveat(spector):
    """Otherwise the test rejects in 11 % for two equal models of 40 records."""
    near = {"model": scv.models.Neighbors(5), "k": 4, "seed": 1}
    for model, metric, noted in (
        (near, "sensitivity", True),
        (near, "specificity", True),
        (near, "accuracy", False),
        ({"k": 4, "seed": 1}, "sensitivity", True),
        ({"k": 4, "seed": 1}, "matthews", True),
        ({"k": 4, "seed": 1}, "accuracy", False),
    ):
        a = scv.cv("GRADE ~ GPA", spector, **model)
        found = scv.compare(a, a.update(formula="GRADE ~ TUCE"), metric=metric)
        told = found.differences["caveat"][0]
        assert ("is more sensitive and less specific" in told) == noted


def test_other_data_are_no_other_scheme(results, spector):
    other = spector.assign(GPA=spector["GPA"].to_numpy()[::-1])
    changed = results["rloocv"].update(data=other)
    (told,) = scv.compare(a=results["loocv"], b=changed).differences["caveat"]
    assert "schemes" not in told


def test_models_on_the_same_folds(spector):
    small = scv.cv("GRADE ~ GPA", spector, scheme="rloocv", repeats=1, seed=2)
    large = small.update(formula=FORMULA)
    comparison = scv.compare(small, large)
    assert list(comparison.results) == ["GRADE ~ GPA", FORMULA]
    assert comparison.differences["caveat"].tolist() == [""]
    other = scv.compare(small, large.update(seed=3))
    assert "folds differ" in other.differences["caveat"][0]


def test_holm_over_all_pairs(spector):
    results = [
        scv.cv(f"GRADE ~ {terms}", spector, k=5, seed=1)
        for terms in ("GPA", "TUCE", "PSI", "GPA + PSI")
    ]
    table = scv.compare(*results).differences
    assert len(table) == 6
    order = table["p"].sort_values().index
    steps = table.loc[order, "p"].to_numpy() * np.arange(6, 0, -1)
    holm = np.minimum(np.maximum.accumulate(steps), 1)
    assert np.allclose(table.loc[order, "p_holm"], holm)
    assert "p (Holm)" in str(scv.compare(*results).summary())


def test_casewise_losses_by_a_paired_t_test(spector):
    from scipy.stats import ttest_rel

    a = scv.cv("GPA ~ TUCE", spector, k=4, seed=1)
    b = a.update(formula="GPA ~ TUCE + PSI")
    usual = scv.compare(a, b)
    assert usual.method.name == "infinitesimal_jackknife"
    row = scv.compare(a, b, test="t").differences.iloc[0]
    losses = [
        (r.predictions.sort_values("row")["observed"] - r.predictions["predicted"]) ** 2
        for r in (a, b)
    ]
    test = ttest_rel(losses[1], losses[0])
    assert row["p"] == pytest.approx(test.pvalue)
    interval = test.confidence_interval()
    assert (row["lower"], row["upper"]) == pytest.approx((interval.low, interval.high))
    with pytest.raises(ComparisonError, match="RMSE is not a mean over records"):
        scv.compare(a, b, metric="rmse", test="t")
    roots = scv.compare(a, b, metric="rmse")
    assert 0 < roots.differences["p"][0] < 1


def test_a_result_against_itself(results):
    row = scv.compare(a=results["rloocv"], b=results["rloocv"]).differences.iloc[0]
    assert (row["difference"], row["statistic"], row["p"]) == (0, 0, 1)


def test_formats(results):
    comparison = scv.compare(**results, test="delong")
    assert "<table" in comparison._repr_html_()
    assert list(comparison.summary().tables) == ["Estimates", "Differences"]


def test_refusals(results, spector):
    rloocv = results["rloocv"]
    with pytest.raises(ComparisonError, match="two results"):
        scv.compare(rloocv)
    with pytest.raises(ComparisonError, match="str"):
        scv.compare(rloocv, "loocv")
    fewer = rloocv.update(data=spector.iloc[:30])
    with pytest.raises(ComparisonError, match="same records: 32 and 30 rows, of"):
        scv.compare(rloocv, fewer)
    reversed_ = rloocv.update(positive=0)
    with pytest.raises(ComparisonError, match="outcome"):
        scv.compare(rloocv, reversed_)
    with pytest.raises(ArgumentError, match="named twice"):
        scv.compare(results["loocv"], rloocv, rloocv=rloocv)
