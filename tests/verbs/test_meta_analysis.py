"""Comparisons of several data sets as one, and two ways over settings."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import combine_pvalues, norm

import statcv as scv
from statcv.errors import ArgumentError, ComparisonError
from statcv.inference import random_effects

PUBLISHED = {"ptb": 0.38976, "xgboost": 0.12437, "boosting": 0.04829, "irae": 0.03233}


def simulated(seed, n):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    y = (x.sum(axis=1) + rng.normal(size=n) > 0).astype(int)
    return pd.DataFrame(x, columns=["a", "b"]).assign(y=y)


@pytest.fixture(scope="module")
def compared():
    return {
        f"set {i}": scv.compare(
            small="y ~ a",
            large="y ~ a + b",
            data=simulated(i, 50 + 10 * i),
            seed=1,
            test="delong",
        )
        for i in range(4)
    }


# ---- combine ----


def test_published_p_values():
    found = scv.meta_analysis(**PUBLISHED)
    assert round(found.combined.loc["Fisher", "p"], 5) == 0.01498
    expected = combine_pvalues([*PUBLISHED.values()], method="stouffer").pvalue
    assert found.combined.loc["Stouffer", "p"] == pytest.approx(expected)
    assert found.pooled is None
    assert "no known direction" in str(found)


def test_comparisons(compared):
    found = scv.meta_analysis(**compared)
    rows = pd.concat([c.differences for c in compared.values()], ignore_index=True)
    columns = ["difference", "se", "lower", "upper", "statistic", "p"]
    assert found.table[columns].to_numpy() == pytest.approx(rows[columns].to_numpy())
    assert found.table["n"].tolist() == [50, 60, 70, 80]
    fisher = combine_pvalues(rows["p"], method="fisher").pvalue
    assert found.combined.loc["Fisher", "p"] == pytest.approx(fisher)
    z = rows["statistic"].sum() / 2
    assert found.combined.loc["Stouffer", "statistic"] == pytest.approx(z)
    assert found.combined.loc["Stouffer", "p"] == pytest.approx(2 * norm.sf(abs(z)))
    assert found.pooled == random_effects(rows["difference"], rows["se"])
    assert "without regard to direction" in " ".join(str(found).split())


def test_one_side(compared):
    greater = scv.meta_analysis(**compared, alternative="greater", weights="sqrt_n")
    z = greater.table["statistic"]
    assert greater.table["p_combined"].to_numpy() == pytest.approx(norm.sf(z))
    weights = np.sqrt([50, 60, 70, 80])
    expected = combine_pvalues(norm.sf(z), method="stouffer", weights=weights).pvalue
    assert greater.combined.loc["Stouffer", "p"] == pytest.approx(expected)
    less = scv.meta_analysis(**compared, alternative="less", weights="sqrt_n")
    both = greater.combined["p"] + less.combined["p"]
    assert both["Stouffer"] == pytest.approx(1)


def test_tests_of_one_result():
    tests = [
        scv.cv("y ~ a", simulated(i, 60), seed=1).test(n_permutations=39)
        for i in range(2)
    ]
    found = scv.meta_analysis(*tests)
    p = [test.p_value for test in tests]
    assert found.table["p_combined"].tolist() == p
    assert found.alternative == "greater"
    assert found.combined.loc["Fisher", "p"] == pytest.approx(
        combine_pvalues(p, method="fisher").pvalue
    )
    with pytest.raises(ArgumentError, match="these tests are greater"):
        scv.meta_analysis(*tests, alternative="less")


def test_shared_records_are_a_caveat(compared):
    first, second, *_ = compared.values()
    assert "not independent" in " ".join(
        str(scv.meta_analysis(x=first, y=first, z=second)).split()
    )
    assert "Caveat" not in str(scv.meta_analysis(x=first, z=second))


def test_a_pair_among_several():
    sets = []
    for i in range(2):
        a = scv.cv("y ~ a", simulated(i, 50), seed=1)
        b, c = a.update(formula="y ~ b"), a.update(formula="y ~ a + b")
        sets.append(scv.compare(a=a, b=b, c=c))
    with pytest.raises(ComparisonError, match=r"several pairs.*'b', 'c'"):
        scv.meta_analysis(*sets)
    found = scv.meta_analysis(*sets, pair=("a", "c"))
    expected = [one.differences["p"][1] for one in sets]
    assert found.table["p"].tolist() == expected
    with pytest.raises(ComparisonError, match="in that order"):
        scv.meta_analysis(*sets, pair=("c", "a"))
    with pytest.raises(ComparisonError, match="no result 'd'"):
        scv.meta_analysis(*sets, pair=("a", "d"))


def test_a_missing_p_value():
    found = scv.meta_analysis(a=0.1, b=float("nan"))
    assert found.combined["p"].isna().all()
    assert "1 of 2 data sets have no p-value" in " ".join(str(found).split())


def test_formats(compared):
    found = scv.meta_analysis(**compared)
    assert "<table" in found._repr_html_()
    assert "tabular" in found.summary().to_latex()
    assert "| Fisher |" in found.summary().to_markdown()


def test_refusals(compared):
    first = compared["set 0"]
    with pytest.raises(ComparisonError, match="at least two data sets, not 1"):
        scv.meta_analysis(first)
    with pytest.raises(ComparisonError, match="one kind"):
        scv.meta_analysis(first, 0.05)
    with pytest.raises(ComparisonError, match="neither a comparison"):
        scv.meta_analysis(first, "0.05")
    with pytest.raises(ArgumentError, match="bare p-values have no side"):
        scv.meta_analysis(0.1, 0.2, alternative="greater")
    with pytest.raises(ArgumentError, match="sqrt_n"):
        scv.meta_analysis(0.1, 0.2, weights="sqrt_n")
    with pytest.raises(ArgumentError, match="comparisons only"):
        scv.meta_analysis(0.1, 0.2, pair=("a", "b"))
    turned = scv.compare(**dict(reversed(first.results.items())))
    with pytest.raises(ComparisonError, match="do not have the same quantity"):
        scv.meta_analysis(x=first, y=turned)


# ---- compare_settings ----


def test_thirteen_settings_all_one_way():
    loocv = {c: 0.5 + c / 100 for c in range(13)}
    rloocv = {c: v + (1 + c) / 1000 for c, v in reversed(loocv.items())}
    over = scv.compare_settings(loocv=loocv, rloocv=rloocv)
    assert over.test.p_value == 2 / 2**13
    assert over.table.columns.tolist() == ["loocv", "rloocv", "difference"]
    assert over.table["difference"].to_numpy() == pytest.approx(
        (1 + np.arange(13)) / 1000
    )
    assert "0.00024" in str(over)
    assert "<table" in over._repr_html_()
    less = scv.compare_settings(loocv=loocv, rloocv=rloocv, alternative="less")
    assert less.test.p_value == 1


def test_results_over_settings():
    results = [
        [scv.cv(f"y ~ {x}", simulated(i, 50), k=5, seed=1) for i in range(3)]
        for x in ("a", "b")
    ]
    over = scv.compare_settings(*results, metric="brier", how="pooled")
    for column, side in zip(("first", "second"), results, strict=True):
        expected = [float(r.estimate("brier", "pooled")) for r in side]
        assert over.table[column].tolist() == pytest.approx(expected)
    assert str(over).startswith("Comparison of Brier score over 3 settings")
    assert "too few for an interval" in str(over)


def test_zeros_are_told():
    over = scv.compare_settings([0.5, 0.6, 0.7], [0.5, 0.7, 0.9])
    assert "1 of 3 differences are 0" in str(over)
    assert over.test.p_value == 0.5
    assert over.table.index.tolist() == [1, 2, 3]


def test_series_are_matched_by_label():
    a = pd.Series([0.5, 0.6], index=["x", "y"])
    over = scv.compare_settings(a=a, b=a.iloc[::-1] + 0.1)
    assert over.table["difference"].tolist() == pytest.approx([0.1, 0.1])


def test_what_cannot_be_compared_over():
    with pytest.raises(ComparisonError, match="two methods, not 1"):
        scv.compare_settings({1: 0.5})
    with pytest.raises(ComparisonError, match="2 occurs in only one"):
        scv.compare_settings({1: 0.5, 2: 0.6}, {1: 0.5})
    with pytest.raises(ComparisonError, match="'b' is a float"):
        scv.compare_settings(a=[0.5], b=0.6)
    with pytest.raises(ComparisonError, match="neither a number nor a result"):
        scv.compare_settings(["high"], [0.6])
    with pytest.raises(ArgumentError, match="metric= and how= are for results"):
        scv.compare_settings([0.5], [0.6], metric="auroc")
    missing = scv.compare_settings([0.5, 0.6], [0.5, np.nan])
    assert np.isnan(missing.test.p_value)
    assert "1 of 2 differences" in str(missing)
