"""The quoted properties of intervals and tests agree with the stored study."""

import re

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.inference import operating_characteristics as measured
from statcv.inference.operating_characteristics import (
    measured_comparison,
    measured_coverage,
    measured_size,
    study,
)
from statcv.models import Logit
from studies.inference import Population, run_study, study_table


def plan(n=60, ones=18, **more):
    df = pd.DataFrame({"y": np.repeat([0, 1], [n - ones, ones])})
    one_draw = {} if "scheme" in more else {"scheme": "rloocv", "repeats": 1}
    return scv.fold_plan("y", df, seed=1, **{**one_draw, **more})


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


def test_nothing_is_quoted_that_was_not_measured():
    given = plan(scheme="montecarlo")
    assert measured_coverage(given, "pooled", "delong", 0.3) is None
    assert measured_coverage(plan(), "paired", "nothing", 0.3) is None
    assert measured_size(plan(), "paired", "bootstrap", 0.3) is None


@pytest.mark.parametrize(
    ("arguments", "how"),
    [
        ({"scheme": "kfold", "k": 10}, "pooled"),
        ({"scheme": "stratified_kfold", "rebalance": "subsample"}, "pooled"),
        ({"scheme": "rloocv", "rebalance": "upsample"}, "paired"),
        ({"n": 5000, "ones": 1500}, "paired"),
    ],
)
def test_nothing_is_quoted_for_folds_outside_the_study(arguments, how):
    assert measured_coverage(plan(**arguments), how, "influence", 0.3) is None
    assert measured_size(plan(**arguments), how, "influence", 0.3) is None


def sources(*sizes):
    """Return a plan with clusters of the given sizes, each of one class."""
    who = np.repeat(np.arange(len(sizes)), sizes)
    df = pd.DataFrame({"y": who % 10 < 3, "who": who}).astype(int)
    how = {"scheme": "rloocv", "repeats": 1, "stratify": scv.by_value("who"), "seed": 1}
    return scv.fold_plan("y", df, **how)


def test_few_duplicates_are_covered_by_the_study_and_many_are_not():
    table = study(duplicates=True)
    rows = table.query("scheme == 'rloocv' and how == 'paired' and method == 'pairs'")
    noise = rows[(rows["n"] == 60) & (rows["auroc"] == 0.5)]["rejects"].item()
    said = measured_size(sources(*[2] * 10, *[1] * 40), "paired", "pairs", 0.3)
    assert "n = 60, a fifth of them duplicates, with 30% positive" in said
    assert f"rejected in {noise:.1%}" in said
    single = measured_size(sources(*[1] * 60), "paired", "pairs", 0.3)
    assert single == measured_size(plan(60, 18), "paired", "pairs", 0.3)
    assert measured_size(sources(*[2] * 30), "paired", "pairs", 0.3) is None
    binned = scv.fold_plan(
        "y",
        pd.DataFrame({"y": np.arange(60) % 2, "age": np.arange(60.0)}),
        scheme="stratified_kfold",
        k=10,
        stratify=scv.by_quantile("age"),
        seed=1,
    )
    assert measured_size(binned, "pooled", "delong", 0.5) is None


@pytest.mark.parametrize("scheme", ["loocv", "rloocv", "leave_pair_out"])
def test_the_default_interval_covers_where_that_of_the_records_does_not(scheme):
    table = study()
    of_scheme = table[(table["scheme"] == scheme) & (table["n"] == 30)]
    usual = of_scheme[of_scheme["method"] == "corrected_jackknife"]
    alone = of_scheme[of_scheme["method"].isin(["delong", "pairs"])]
    assert (usual["covers"] + 2 * usual["covers_se"] >= 0.95).all()
    assert usual["covers"].mean() >= 0.95
    assert (alone["covers"] + 2 * alone["covers_se"] < 0.95).mean() > 0.8


def test_a_summary_quotes_the_study():
    res = scv.cv(
        "GRADE ~ GPA", scv.load_data("spector"), scheme="rloocv", repeats=1, seed=1
    )
    notes = " ".join(res.summary(notes=True).notes)
    said = r"Measured on \d+ simulated populations of other shapes with n = 40 to 60:"
    assert re.search(said, notes)
    assert "Measured in simulations of ridge logistic regression at n = 30" in " ".join(
        " ".join(res.test(method="pairs").notes).split()
    ).replace("measured", "Measured")
    assert "rejected in" in str(res.test(n_permutations=9))


# ---- comparisons and losses, in a small study ----


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return a study of a few data sets: no skill, two equal models, and losses."""
    directory = tmp_path_factory.mktemp("study")
    run_study(
        directory=directory,
        n=[40],
        balances=[0.3],
        auroc=[0.5, 0.85],
        schemes=["rloocv"],
        questions=["no_skill", "equals", "losses"],
        data_sets=2,
        refits=1,
        n_permutations=9,
    )
    return study_table(directory)


@pytest.fixture
def stored(small, monkeypatch):
    """Use the small study in place of the one in the package."""
    monkeypatch.setattr(measured, "_read", lambda name: small)
    monkeypatch.setattr(measured, "LEAST", 0)
    monkeypatch.setattr(measured, "MOST", 0)
    return small


def of_equals(table, test, metric):
    return table[
        (table["question"] == "equals")
        & ~table["duplicates"]
        & (table["method"] == test)
        & (table["metric"] == metric)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "how", "metric"),
    [
        ("delong", "pooled", "auroc"),
        ("corrected_jackknife", "paired", "auroc"),
        ("t", "pooled", "brier"),
        ("corrected_t", "per_fold", "accuracy"),
    ],
)
def test_a_comparison_quotes_its_error_rate(stored, test, how, metric):
    rows = of_equals(stored, test, metric)
    assert len(rows) == 2  # noise and signal
    low, high = (f"{100 * rows['rejects'].agg(end):.0f}" for end in ("min", "max"))
    said = measured_comparison(plan(40, 12), how, test, 0.3, metric)
    assert "n = 40 with 30% positive" in said
    share = low if low == high else f"{low} to {high}"
    assert f"in {share}% of data sets with two equally good models" in said
    assert f"error {100 * rows['rejects_se'].max():.1f} points" in said


@pytest.mark.slow
def test_questions_are_not_mixed(stored):
    once = plan(40, 12)
    for question in ("no_skill", "equals", "losses"):
        for metric in ("auroc", "brier"):
            rows = study(question, metric)
            assert set(rows["question"]) <= {question}
            assert not rows["duplicates"].any()
    alone = stored[(stored["question"] == "no_skill") & ~stored["duplicates"]]
    alone = alone[(alone["method"] == "permutation") & (alone["how"] == "pooled")]
    noise = alone.loc[alone["auroc"] == 0.5, "rejects"].iloc[0]
    said = measured_size(once, "pooled", "permutation", 0.3)
    assert f"rejected in {noise:.1%}" in said
    # the permutation of paired predictions is another test of that name
    assert said != measured_comparison(once, "pooled", "permutation", 0.3)
    assert measured_comparison(once, "pooled", "influence", 0.3) is None
    assert measured_comparison(once, "pooled", "delong", 0.3, "log_loss") is None


@pytest.mark.slow
def test_intervals_of_losses_quote_their_coverage(stored):
    rows = stored[
        (stored["question"] == "losses")
        & ~stored["duplicates"]
        & (stored["method"] == "jackknife")
        & (stored["metric"] == "brier")
    ]
    low, high = (f"{100 * rows['covers'].agg(end):.0f}" for end in ("min", "max"))
    share = low if low == high else f"{low} to {high}"
    said = measured_coverage(plan(40, 12), "pooled", "jackknife", 0.3, "brier")
    assert f"contained the true Brier score in {share}% of data sets (Monte" in said


def two_models(**more):
    data = Population(40, 0.3, 0.7).sample(np.random.default_rng(2))
    a = scv.cv(
        "y ~ x1",
        data,
        seed=1,
        model=Logit(C=1.0),
        **{"scheme": "rloocv", "repeats": 1, **more},
    )
    return a, a.update(formula="y ~ x2")


def notes(comparison):
    return " ".join(comparison.summary(notes=True).notes)


def test_a_comparison_shows_the_error_rate_of_its_test(stored):
    a, b = two_models()
    for test, how in (("delong", "pooled"), ("corrected_jackknife", "paired")):
        said = measured_comparison(a.plan, how, test, 0.3)
        assert said[1:] in notes(scv.compare(a, b, test=test, how=how))
    assert "easured" not in notes(scv.compare(a, b, test="delong"))  # paired
    losses = scv.compare(a, b, metric="brier", test="t")
    assert measured_comparison(a.plan, "pooled", "t", 0.3, "brier")[1:] in notes(losses)


def test_nothing_is_quoted_for_other_comparisons(stored):
    a, b = two_models()
    other = a.update(seed=2)  # other folds
    null = scv.compare(a, reference="null", test="delong")
    for comparison in (scv.compare(a, other, test="delong"), null):
        assert "Measured" not in notes(comparison)
    a, b = two_models(scheme="stratified_kfold")  # the study did not have this scheme
    assert "Measured" not in notes(scv.compare(a, b, test="delong"))


def test_a_table_without_questions_is_about_no_skill():
    assert set(study()["question"]) == {"no_skill"}


def test_models_that_choose_terms_are_quoted_by_themselves():
    data = pd.DataFrame(np.random.default_rng(1).normal(size=(90, 3)), columns=[*"abc"])
    data["y"] = np.arange(90) % 2
    lasso = scv.models.Logit(C=0.1, l1_ratio=1.0)
    for given, named in (
        ({"select": "backward"}, "by backward selection by AIC"),
        ({"model": lasso}, "by tuned lassos"),
    ):
        res = scv.cv("y ~ a + b + c", data, k=5, seed=1, **given)
        name = res.estimate("auroc").interval.name
        about = "per_fold", name, 0.5, "auroc"
        assert name == "infinitesimal_jackknife"
        assert named in str(measured_coverage(res.plan, *about, res.learner))
        assert named not in str(measured_coverage(res.plan, *about))


def test_cells_where_most_data_sets_lack_a_value_are_not_quoted(monkeypatch):
    """Few neighbours agree, so that slopes of only some data sets are defined."""
    asked = plan(n=90, scheme="stratified_kfold"), "pooled", "corrected_influence", 0.3
    table = measured.defaults()
    slopes = table["metric"] == "calibration_slope"
    for missing, told in ((0.3, True), (0.6, False)):
        changed = table.assign(missing=table["missing"].where(~slopes, missing))
        monkeypatch.setattr(measured, "defaults", lambda table=changed: table)
        assert (measured_coverage(*asked, "calibration_slope") is not None) == told
        assert measured_coverage(*asked, "brier") is not None


@pytest.mark.parametrize("model", ["linear", "neighbors"])
def test_continuous_outcomes_quote_the_study_although_folds_are_not_stratified(model):
    data = pd.DataFrame(np.random.default_rng(1).normal(size=(90, 3)), columns=[*"abz"])
    res = scv.cv("z ~ a + b", data, model=model, seed=1)
    notes = " ".join(str(res.summary(notes=True)).split())
    assert "contained the true RMSE in" in notes
    assert re.search(r"MAE [\d to]+%, R² [\d to]+%", notes)
    assert ("by neighbours" in notes) == (model == "neighbors")
    made = plan(n=90, scheme="kfold"), "pooled", "corrected_influence", 0.3
    assert measured_coverage(*made, "brier") is None


def test_metrics_of_times_quote_what_was_measured_for_cox_regression():
    rng = np.random.default_rng(1)
    x, time = rng.normal(size=90), rng.exponential(size=90)
    data = pd.DataFrame({"x": x, "time": time, "status": rng.random(90) < 0.7})
    res = scv.cv("Surv(time, status) ~ x", data, horizon=0.5, k=5, seed=1)
    default, learner = "infinitesimal_jackknife", res.learner
    for metric, how, label in (
        ("harrell_c", "per_fold", "Harrell's C"),
        ("auroc@0.5", "per_fold", "auROC at 0.5"),
        ("brier@0.5", "pooled", "Brier score at 0.5"),
    ):
        said = measured_coverage(res.plan, how, default, np.nan, metric, learner)
        assert f"true {label} in" in said
        assert "Cox regression" in said
        assert "by" in said
    for metric in ("ici@0.5", "brier_at"):  # not measured
        asked = res.plan, "pooled", default, np.nan, metric, learner
        assert measured_coverage(*asked) is None
    notes = str(res.summary(notes=True)).replace("\n  ", " ")
    assert "the true Harrell's C in" in notes
    binary = measured_coverage(res.plan, "per_fold", default, 0.5, "auroc")
    assert "Cox" not in binary


def test_a_comparison_of_times_quotes_two_equally_good_models():
    folds = plan(80, 40, scheme="stratified_kfold", k=10)
    said = measured_comparison(
        folds, "per_fold", "infinitesimal_jackknife", 0.5, "auroc@3"
    )
    assert "Cox regression" in said
    assert "with two equally good models" in said
