"""The external validation of a model: by group, reported, and of doubtful data."""

import re
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from report_page import check_numbers

import statcv as scv
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnError,
    DataError,
    MetricError,
    MissingDataWarning,
    ModelError,
    OutcomeError,
    SeparationWarning,
    StatcvWarning,
    UndefinedMetricWarning,
)
from statcv.inference import random_effects
from statcv.models import Logit

PEOPLE = pd.read_csv(Path(__file__).parents[1] / "reference" / "equations_cases.csv")
OLD, NEW = PEOPLE[:120], PEOPLE[120:]
VISITS = scv.load_data("ehr")


@pytest.fixture(scope="module")
def final():
    return scv.cv("died ~ age + sex + log(crp)", OLD, k=5, seed=1).final


@pytest.fixture(scope="module")
def published():
    return scv.published_model(
        {"(Intercept)": -2.7, "age": 0.03, "sex[m]": 0.8},
        outcome="died",
        reference={"sex": "f"},
    )


@pytest.fixture(scope="module")
def visits():
    """The model of one hospital, validated in four others with some values missing."""
    old, new = VISITS[VISITS.site == "A"], VISITS[VISITS.site != "A"].copy()
    new.loc[new.index[:3], "x1"] = np.nan
    model = scv.cv("y ~ x1 + x3", old, k=5, seed=1).final
    with pytest.warns(MissingDataWarning, match="3 rows of 1604"):
        return model.validate(new, by="site", stratify="patient_id")


# ---- by group ----


def test_the_grouping_is_kept(visits, final):
    pd.testing.assert_frame_equal(visits.metrics(by=True), visits.metrics(by="site"))
    kept, named = (
        visits.heterogeneity("brier"),
        visits.heterogeneity("brier", by="site"),
    )
    assert kept == named
    pd.testing.assert_frame_equal(
        visits.compare_groups("auroc"), visits.compare_groups("auroc", by="site")
    )
    title = scv.plots.plot_groups(visits)[0].get_title()
    plt.close("all")
    assert title.startswith("auROC by site")
    with pytest.raises(ArgumentError, match="by= is needed"):
        final.validate(NEW).heterogeneity()


def test_the_summary_states_each_group_and_a_new_one(visits):
    summary = visits.summary()
    caption = "By site; mean and prediction interval by random effects"
    table = summary.shown[caption]
    assert [*table.index] == ["B", "C", "D", "E", "mean", "new site"]
    assert [*table] == ["auROC", "calibration slope", "O:E"]
    found = visits.heterogeneity("auroc")
    low, high = found.prediction_lower, found.prediction_upper
    assert table["auROC"].iloc[-1] == f"– ({low:.2f} to {high:.2f})"
    assert max(map(len, str(summary).splitlines())) <= 80
    assert len(str(summary).splitlines()) <= 40


def test_the_ratio_of_a_new_group_is_positive():
    site, risk = np.repeat([*"abcde"], 100), np.tile([0.4, 0.6], 250)
    events = np.repeat([2, 30, 50, 70, 98], 100) > np.tile(np.arange(100), 5)
    data = pd.DataFrame({"y": events.astype(int), "p": risk, "site": site})
    val = scv.from_predictions(data, observed="y", predicted="p")
    found = val.heterogeneity("oe_ratio", by="site")
    rows = val.metrics(by="site").query("metric == 'oe_ratio'")
    mean = random_effects(np.log(rows["estimate"]), rows["se"] / rows["estimate"])
    assert found.estimate == pytest.approx(np.exp(mean.estimate))
    assert found.prediction_lower == pytest.approx(np.exp(mean.prediction_lower))
    assert found.method.endswith("on the log scale")


def test_an_argument_of_cv_is_none_of_validate(final):
    with pytest.raises(ArgumentTypeError, match=r"no argument 'scheme'\."):
        final.validate(NEW).update(scheme="loocv")


def test_many_groups_are_stated_by_their_mean_alone(final):
    val = final.validate(NEW, by=np.arange(len(NEW)) // 5, metrics="brier")
    table = next(reversed(val.summary().shown.values()))
    assert [*table.index] == ["mean", "new group"]


def test_groups_given_as_an_array_belong_to_the_rows_of_the_data(final):
    holes, groups = NEW.assign(age=[np.nan, *NEW.age[1:]]), np.arange(len(NEW)) % 2
    with pytest.warns(MissingDataWarning, match="1 row of 80"):
        val = final.validate(holes, by=groups, metrics="brier")
    counts = val.metrics(by=True).set_index("group")["n"]
    assert counts.to_dict() == {0: 39, 1: 40}
    assert val.design.missing == {"age": 1}
    assert val.augment()["age"].notna().all()


def test_a_group_with_one_class_is_counted(final):
    one = NEW.assign(site=np.where(NEW.died == 1, "a", "b"))
    one.loc[one.index[:40], "site"] = "c"
    val = final.validate(one, by="site")
    with pytest.warns(UndefinedMetricWarning, match="have no value.*: a, b"):
        table = val.metrics(by=True).set_index(["metric", "site"])["estimate"]
    assert table["auroc"].isna().tolist() == [True, True, False]


# ---- in words ----


def test_three_lines_say_what_was_validated_and_what_the_interval_counts(visits):
    assert str(visits).splitlines() == [
        "auROC 0.74 (95% CI 0.71 to 0.76) in 1,601 complete records, 701 with y = 1",
        "External validation; the interval counts these records alone",
        "Logistic regression, unpenalised, y ~ x1 + x3, fitted to all 396 rows",
    ]
    methods = visits.summary().methods
    assert "fitted to all 396 rows, validated in 1,601 of 1,604 records" in methods
    assert "3 left out as incomplete (missing: x1 3)" in methods
    notes = " ".join(visits.summary(notes=True).notes)
    assert "where the model was fitted it was 0.429" in notes
    assert "not known" not in notes


def test_the_report_is_that_of_an_external_validation(visits, tmp_path):
    path = visits.report(tmp_path / "out.html", style="tripod+ai")
    html = path.read_text()
    check_numbers(html, visits)
    text = " ".join(re.sub(r"<[^>]+>", "", html).split())
    assert "This is an external validation of a model" in text
    assert "0.811371 x3" in text  # its equation
    assert "prediction interval for a new cluster" in text
    assert "res = model.validate(" in text
    assert "metrics=" not in text
    body = text[text.index("Call and data") :]
    assert not re.search(r"cross-validat|held-out|other software|training set", body)
    for words in ("26 of 52 items", "0.438 in these records, and 0.429"):
        assert words in text


def test_a_published_model_is_reported_with_its_equation(published, tmp_path):
    val = published.validate(PEOPLE, stratify="race")
    html = val.report(tmp_path / "out.html", style="tripod+ai").read_text()
    check_numbers(html, val)
    assert "a published model" in html
    assert "[sex = m]" in html
    rows = [name for _, name, _ in scv.table1(val).body]
    assert rows[:2] == ["died = 1, n (%)", "age, mean (SD)"]


# ---- what results have ----


def test_every_plot_of_results_draws_a_validation(visits):
    drawn = 0
    for name in sorted({*scv.plots.__all__} - {"style"}):
        try:
            getattr(scv.plots, name)(visits)
        except (scv.StatcvError, TypeError) as error:
            said = str(error)
            reasons = ("needs", "draws", "no ", "not available")
            assert any(reason in said for reason in reasons), (name, said)
        else:
            drawn += 1
        plt.close("all")
    assert drawn >= 9
    assert visits.plot().shape == (2, 2)
    plt.close("all")


def test_two_models_are_compared_on_the_same_records(final, published):
    both = scv.compare(own=final.validate(NEW), published=published.validate(NEW))
    one = both.differences.iloc[0]
    expected = float(published.validate(NEW).estimate())
    expected -= float(final.validate(NEW).estimate())
    assert one["difference"] == pytest.approx(expected)


@pytest.mark.parametrize(
    "refitting",
    [
        lambda val: val.final,
        lambda val: val.apparent,
        lambda val: val.jackknife(),
        lambda val: val.null_distribution(),
        lambda val: val.drop1(),
        lambda val: val.optimism_corrected(),
        lambda val: val.estimate(interval="nested_cv"),
    ],
)
def test_nothing_can_be_fitted_again(final, refitting):
    with pytest.raises((ModelError, MetricError)) as error:
        refitting(final.validate(NEW))
    assert re.search(r"nothing is fitted|no model|an earlier fit", str(error.value))


def test_a_validation_can_be_updated(final):
    val = final.validate(NEW, by="sex")
    assert "net_benefit" in val.update(threshold=0.3).metric_names
    assert val.update(data=PEOPLE).design.n == 200
    assert val.update(stratify="race").plan.strata.label == "race"
    with pytest.raises(ArgumentTypeError, match="no argument 'k'"):
        val.update(k=5)


# ---- doubtful data ----


@pytest.mark.parametrize("name", ["final", "published"])
def test_the_outcome_is_coded_as_in_the_fit(name, request):
    model = request.getfixturevalue(name)
    own = float(model.validate(NEW).estimate())
    for same in (bool, float):
        assert float(model.validate(NEW.astype({"died": same})).estimate()) == own
    for other in (np.where(NEW.died == 1, "yes", "no"), NEW.died.astype(str)):
        with pytest.raises(DataError, match=r"the model knows 0 and 1; recode it.*map"):
            model.validate(NEW.assign(died=other))
    with pytest.raises(OutcomeError, match="one class only"):
        model.validate(NEW[NEW.died == 1])
    with pytest.raises(DataError, match=r"'age'.*text"):
        model.validate(NEW.astype({"age": str}))
    with pytest.raises(ColumnError, match="lack the column 'clinic'"):
        model.validate(NEW, by="clinic")
    with pytest.raises(ArgumentError, match="by='site' is missing in 40 rows"):
        model.validate(NEW.assign(site=np.where(NEW.index % 2, "a", None)), by="site")


def test_a_model_that_ranks_the_wrong_way_round_is_called_that(final):
    with pytest.warns(StatcvWarning, match=r"slope is below 0.*wrong way round"):
        val = final.validate(NEW.assign(died=1 - NEW.died))
    assert float(val.estimate("calibration_slope")) < 0
    assert any("wrong way round" in text for text in val.warnings)
    assert "positive=" not in " ".join(val.summary(notes=True).notes)


def test_another_unit_is_suspected(final):
    with pytest.warns(StatcvWarning, match="'age' has mean 18343.*the same unit"):
        final.validate(NEW.assign(age=365.25 * NEW.age))


def test_equal_predictions_have_no_slope():
    model = scv.published_model({"(Intercept)": -1, "age": 0}, outcome="died")
    val = model.validate(NEW)
    assert float(val.estimate("auroc")) == 0.5
    assert float(val.estimate("oe_ratio")) > 1
    assert np.isnan(
        val.metrics().set_index("metric").loc["calibration_slope", "estimate"]
    )


def test_few_events_are_told(final):
    (note, *_) = final.validate(NEW).summary().notes
    assert note.startswith("Few events: 31 records with died = 0; validation needs 100")


def test_more_parameters_than_events_name_what_still_works():
    rng = np.random.default_rng(2)
    data = pd.DataFrame(rng.normal(size=(400, 12)))
    data.columns = [f"x{k}" for k in range(12)]
    data["y"] = 0
    data.loc[rng.choice(400, 11, replace=False), "y"] = 1
    with pytest.warns(SeparationWarning) as told:
        res = scv.cv("y ~ .", data, k=2, seed=1)
    assert not res.held.separated.any()
    (few,) = [str(one.message) for one in told]
    assert "13 parameters, more than the 11 records" in few
    assert "Logit(C=1.0), or Firth's penalty, Logit(firth=True), still works" in few
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparationWarning)
        scv.cv("y ~ .", data, model=Logit(C=1.0), k=2, seed=1)
