"""Comparison of two auROCs with refits, checked by a loop over deleted records."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import statcv as scv
from statcv.inference.paired.tests import PairedTest, paired_jackknife
from statcv.inference.refits import Jackknife


def data(seed=3, n=24, ones=10):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], [n - ones, ones]))
    x = rng.normal(size=(n, 3)) + y[:, None] * [0.9, 0.3, 0.0]
    return pd.DataFrame(x, columns=list("abc")).assign(y=y)


def pair(df, **more):
    model = scv.models.Logit(C=1.0)
    first = scv.cv("y ~ a", df, model=model, seed=1, **more)
    return first, first.update(
        formula="y ~ b + c", scheme=first.plan, k=None, repeats=None
    )


def test_the_variance_is_that_of_differences_without_each_record():
    df = data()
    first, second = pair(df, scheme="stratified_kfold", k=4)
    folds = first.predictions.set_index("row")["fold"].sort_index()
    moved = {0: [], 1: []}
    for row in df.index:
        rest = df.drop(index=row).assign(fold=folds.drop(index=row))
        model = scv.models.Logit(C=1.0)
        one, two = (
            scv.cv(f, rest, model=model, scheme="fold", metrics="auroc")
            for f in ("y ~ a", "y ~ b + c")
        )
        change = float(two.estimate(how="pooled")) - float(one.estimate(how="pooled"))
        moved[df["y"][row]].append(change)
    whole = sum((len(v) - 1) ** 2 / len(v) * np.var(v, ddof=1) for v in moved.values())
    pooled = scv.compare(a=first, b=second, test="delong", how="pooled")
    given = pooled.differences.iloc[0]
    difference = float(second.estimate("auroc", "pooled")) - float(
        first.estimate("auroc", "pooled")
    )
    deleted = [r.jackknife("auroc", "pooled") for r in (first, second)]
    delong = PairedTest(difference, given["se"], 0, 0, 0, 0)
    found = paired_jackknife(*deleted, difference, delong, 0.95)
    se = np.sqrt(max((whole + given["se"] ** 2) / 2, given["se"] ** 2))
    assert found.se == pytest.approx(se, rel=1e-8)
    df_of = Jackknife(
        deleted[1].values - deleted[0].values, deleted[0].group, "record", 0
    ).df
    assert found.p_value == pytest.approx(
        2 * stats.t.sf(abs(difference) / se, df_of), rel=1e-8
    )
    half = stats.t.ppf(0.975, df_of) * se
    assert found.upper - found.lower == pytest.approx(2 * half, rel=1e-8)


def test_it_tests_the_headline_of_both_results():
    first, second = pair(data(), scheme="rloocv", repeats=2)
    named = {"test": "corrected_jackknife"}
    compared = scv.compare(first=first, second=second, **named)
    row = compared.differences.iloc[0]
    assert compared.method.name == "corrected_jackknife"
    estimates = compared.table["estimate"]
    assert row["difference"] == pytest.approx(estimates["second"] - estimates["first"])
    assert compared.table["how"].tolist() == ["paired", "paired"]
    said = " ".join(str(compared.summary(notes=True)).split())
    assert "The auROC (over pairs of records that one fit predicts) is" in said
    mirrored = scv.compare(second=second, first=first, **named).differences.iloc[0]
    assert mirrored["difference"] == pytest.approx(-row["difference"])
    assert mirrored["p"] == pytest.approx(row["p"])


@pytest.mark.parametrize("test", [None, "corrected_jackknife"])
def test_a_result_against_itself_does_not_differ(test):
    first, _ = pair(data(), scheme="rloocv", repeats=1)
    row = scv.compare(one=first, two=first.update(), test=test).differences.iloc[0]
    assert (row["difference"], row["p"]) == (0, 1)


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_a_perfect_model_is_compared_though_no_deletion_moves_it():
    df = data()
    df["perfect"], df["also"] = 8.0 * df["y"] + df["c"] / 10, 9.0 * df["y"]
    model = scv.models.Logit(C=1.0)
    best = scv.cv("y ~ perfect", df, model=model, scheme="loocv")
    some = best.update(formula="y ~ a")
    compared = scv.compare(best=best, some=some, test="corrected_jackknife")
    row = compared.differences.iloc[0]
    assert compared.method.name == "corrected_jackknife"
    moved = some.jackknife("auroc", "pooled")
    assert best.jackknife("auroc", "pooled").variance == 0
    delong = scv.compare(best=best, some=some, test="delong").differences["se"][0]
    spread = max((moved.variance + delong**2) / 2, delong**2)
    assert row["se"] == pytest.approx(np.sqrt(spread))
    assert row["p"] == pytest.approx(
        2 * stats.t.sf(abs(row["difference"]) / row["se"], moved.df)
    )
    other = best.update(formula="y ~ also")
    for test in ("corrected_jackknife", None):
        row = scv.compare(best=best, other=other, test=test).differences.iloc[0]
        assert (row["difference"], row["statistic"], row["p"]) == (0, 0, 1)
        if test is not None:
            assert "no record influences the difference" in row["caveat"]


def test_a_model_does_not_differ_from_itself():
    one = scv.cv("y ~ a + b", data(), seed=1)  # compares pairs within folds
    same = scv.compare(one=one, same=one.update("y ~ I(2 * a) + b"))
    row = same.differences.iloc[0]
    assert (row["difference"], row["se"], row["p"]) == (0, 0, 1)
    assert "difference in auROC 0.00 (95% CI 0.00 to 0.00)" in str(same)


def test_models_fitted_one_by_one_are_compared_without_refits_by_default():
    from sklearn.linear_model import LogisticRegression

    df = data()
    one = scv.cv("y ~ a", df, model=LogisticRegression(), k=3, seed=1)
    two = one.update(formula="y ~ b")
    usual = scv.compare(one=one, two=two)
    assert usual.method.name == "infinitesimal_jackknife"
    assert 0 < usual.differences["p"].iloc[0] <= 1
    assert not one.refits.jackknives
    refitted = scv.compare(one=one, two=two, test="corrected_jackknife")
    assert 0 < refitted.differences["p"].iloc[0] <= 1


def test_predictions_of_other_software_have_no_refits():
    first, second = pair(data(), scheme="stratified_kfold", k=4)
    read = scv.from_predictions(
        second.predictions,
        observed="observed",
        predicted="predicted",
        fold="fold",
        row="row",
    )
    assert scv.compare(here=first, there=read).method.name == "corrected_influence"
    pooled = scv.compare(here=first, there=read, how="pooled")
    assert pooled.method.name == "corrected_influence"
    asked = scv.compare(here=first, there=read, test="corrected_jackknife")
    row = asked.differences.iloc[0]
    assert np.isnan(row["p"])
    assert "from other software" in row["caveat"]
