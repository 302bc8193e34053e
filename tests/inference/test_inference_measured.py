"""What is said of intervals and tests is what the stored study holds."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.inference.measured import measured_coverage, measured_size, study


def plan(n=60, ones=18, **more):
    df = pd.DataFrame({"y": np.repeat([0, 1], [n - ones, ones])})
    return scv.fold_plan("y", df, seed=1, **{"scheme": "rloocv", **more})


def cell(scheme, how, method, n, balance):
    table = study()
    return table[
        (table["scheme"] == scheme)
        & (table["how"] == how)
        & (table["method"] == method)
        & (table["n"] == n)
        & (table["balance"] == balance)
    ]


def test_coverage_is_that_of_the_nearest_cells():
    rows = cell("rloocv", "paired", "pairs", 30, 0.3)
    said = measured_coverage(plan(n=34, ones=11), "paired", "pairs", 11 / 34)
    low, high = (f"{100 * rows['covers'].agg(end):.0f}" for end in ("min", "max"))
    assert "n = 30 with 30% positive" in said
    assert f"{low if low == high else f'{low} to {high}'}% of data sets" in said


def test_size_is_that_without_signal():
    rows = cell("repeated_rloocv", "pooled", "delong", 30, 0.1)
    noise = rows[rows["auroc"] == 0.5]["rejects"].iloc[0]
    said = measured_size(plan(n=31, ones=28, repeats=3), "pooled", "delong", 28 / 31)
    assert f"rejected in {noise:.1%}" in said


def test_what_was_not_measured_is_not_said():
    given = plan(scheme="montecarlo")
    assert measured_coverage(given, "pooled", "delong", 0.3) is None
    assert measured_coverage(plan(), "paired", "nothing", 0.3) is None
    assert measured_size(plan(), "paired", "bootstrap", 0.3) is None


@pytest.mark.parametrize(
    ("arguments", "how"),
    [
        ({"scheme": "kfold", "k": 10}, "pooled"),
        ({"scheme": "stratified_kfold", "rebalance": "subsample"}, "pooled"),
        ({"rebalance": "upsample"}, "paired"),
        ({"n": 5000, "ones": 1500}, "paired"),
    ],
)
def test_other_folds_than_those_of_the_study_are_not_spoken_of(arguments, how):
    assert measured_coverage(plan(**arguments), how, "influence", 0.3) is None
    assert measured_size(plan(**arguments), how, "influence", 0.3) is None


def test_of_sources_of_several_records_nothing_is_said():
    df = pd.DataFrame({"y": np.repeat([0, 1], 15), "who": np.arange(30) // 2})
    once = scv.fold_plan("y", df, scheme="rloocv", seed=1)
    whole = scv.fold_plan(
        "y", df, scheme="rloocv", stratify=scv.by_value("who"), seed=1
    )
    assert measured_size(once, "paired", "influence", 0.5) is not None
    assert measured_size(whole, "paired", "influence", 0.5) is None


@pytest.mark.parametrize("scheme", ["loocv", "rloocv", "leave_pair_out"])
def test_the_usual_interval_covers_where_that_of_the_records_alone_does_not(scheme):
    table = study()
    of_scheme = table[(table["scheme"] == scheme) & (table["n"] == 30)]
    usual = of_scheme[of_scheme["method"] == "corrected_jackknife"]
    alone = of_scheme[of_scheme["method"].isin(["delong", "pairs"])]
    assert (usual["covers"] + 2 * usual["covers_se"] >= 0.95).all()
    assert usual["covers"].mean() >= 0.95
    assert (alone["covers"] + 2 * alone["covers_se"] < 0.95).mean() > 0.8


def test_a_summary_says_what_was_measured():
    res = scv.cv(
        "GRADE ~ GPA",
        scv.load_data("spector"),
        scheme="rloocv",
        seed=1,
        model=scv.models.Logit(C=1.0),
    )
    assert "Measured in simulations of ridge logistic regression at n = 30" in " ".join(
        res.summary().notes
    )
    assert "rejected in" in str(res.test(n_permutations=9))
