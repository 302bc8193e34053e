"""What is said of times to an event: report, sentences, stability and audit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from report_page import Page, check_numbers

import statcv as scv
from statcv.errors import ArgumentError, OutcomeError
from statcv.formula import Outcome
from statcv.metrics import survival_metrics
from statcv.numeric.survival import median_follow_up
from statcv.results.result import CVResult

Report = tuple[Any, str]
Write = Callable[..., str]


@pytest.fixture(scope="module")
def result(timed: Report) -> CVResult:
    made: CVResult = timed[0]
    return made


@pytest.fixture(scope="module")
def endless(result: CVResult) -> CVResult:
    return result.update(horizon=None)


# ---- the report ----


def test_every_number_of_a_report_comes_from_the_result(timed: Report) -> None:
    made, text = timed
    read = check_numbers(text, made)
    rows = {
        row[0]: row[1] for _, cap, own in read.tables for row in own if "flow" in cap
    }
    y = made.design.y
    assert int(rows["records with the event"]) == (y > 0).sum()
    assert int(rows["events by 500"]) == ((y > 0) & (y <= 500)).sum()
    assert int(rows["censored by 200"]) == ((y < 0) & (y >= -200)).sum()
    follow_up = float(rows["median follow-up, by reverse Kaplan-Meier"])
    assert follow_up == pytest.approx(median_follow_up(y), abs=0.5)
    for said in (
        "linear predictor and risk of the event by 200 and 500",
        "inverse probability of censoring",
        "time-dependent areas",
        f"{(y > 0).sum()} events",
        "events spread evenly over folds",
    ):
        assert said in read.text
    assert "Intercept" not in read.text
    for title in ("ROC curve", "Calibration", "Decision curve", "Survival by risk"):
        assert any(one.startswith(title) for one in read.captions)


@pytest.mark.parametrize("style", ["tripod+ai", "probast+ai"])
def test_reports_without_a_horizon_or_of_a_comparison(
    result: CVResult, endless: CVResult, quiet: Write, style: str
) -> None:
    check_numbers(quiet(endless, style=style), endless)
    text = quiet(result, style=style)
    if style == "probast+ai":
        events, columns = (result.design.y > 0).sum(), 2
        assert f"{events / columns:.1f}" in Page(text).text
        assert "events per column" in Page(text).text
        return
    both = scv.compare(full=result, less=result.update(". ~ . - z"))
    read = check_numbers(quiet(both, style=style), both)
    assert sum(one.startswith(("ROC", "Decision")) for one in read.captions) == 2


# ---- sentences ----


def test_sentences_speak_of_events(result: CVResult) -> None:
    events = int((result.design.y > 0).sum())
    one = result.estimate()
    assert result.sentence() == (
        f"Harrell's C of the model (Cox regression, unpenalised) was {one.value:.2f} "
        f"(95% confidence interval {one.lower:.2f} to {one.upper:.2f}) in 80 records "
        f"with {events} events, by 5-fold cross-validation, with events spread evenly "
        "over folds."
    )
    assert "with events spread evenly" in repr(result)
    said = f"{result.summary(notes=True)}"
    assert "class" not in said
    assert "Hand–Till" not in said


def test_the_outcome_tells_the_follow_up() -> None:
    y = np.array([2.0, -3, 4, -5, -6])
    described = Outcome("Surv(a, b)", "survival", y, horizons=(2.5,)).describe()
    assert described == (
        "2 events in 5 records, median follow-up 5 (reverse Kaplan–Meier), longest 6; "
        "risk by 2.5"
    )
    whole = Outcome("Surv(a, b)", "survival", np.abs(y)).describe()
    assert whole == "5 events in 5 records, longest 6"


def test_the_audit_speaks_of_statuses(result: CVResult, endless: CVResult) -> None:
    said = f"{result.plan.audit()}".replace("\n  ", " ")
    codes = {
        "at risk after 500": np.abs(result.design.y) > 500,
        "with the event by 200": (result.design.y > 0) & (result.design.y <= 200),
    }
    for name, own in codes.items():
        total = own.sum()
        low, high = total - -(-total // 5), total - total // 5
        span = f"{low}" if low == high else f"{low} to {high}"
        assert f"{span} {name}" in said
    for audit in (said, f"{endless.plan.audit()}"):
        assert "class" not in audit
        assert "training mean as prediction" not in audit
    even = result.update(scheme="rloocv", k=None, repeats=2, horizon=200)
    assert "with the event by 200" in f"{even.plan.audit()}".replace("\n  ", " ")
    assert "same numbers of events" in f"{even.summary()}".replace("\n", " ")


# ---- stability ----


def test_stability_is_that_of_the_risk_at_the_horizon(result: CVResult) -> None:
    lung: Any = result.call.data
    found = result.stability(n_boot=20, at=500)
    table = found.table
    own = result.model.predict(lung)
    assert_allclose(table["predicted"], np.asarray(own)[:, 2])
    each = found.predicted[..., 2]
    assert_allclose(table["mape"], np.abs(each - np.asarray(own)[:, 2]).mean(axis=0))
    earlier = result.stability(n_boot=20, at=200)
    assert earlier.predicted is found.predicted
    assert (earlier.table["predicted"] <= table["predicted"]).all()
    assert "by 500 over 20 bootstrap models" in f"{found.overall}".replace("\n", " ")
    cut = [0.2, 0.4]
    metric = survival_metrics((500.0,))["net_benefit@500"]
    drawn = found.curves("decision", at=cut)
    for cutoff, height in zip(cut, drawn["final"], strict=True):
        value = metric(result.design.y, table["predicted"], threshold=cutoff)
        assert height == pytest.approx(value, abs=1e-12)
    assert drawn["model 1"][0] != drawn["model 2"][0]
    assert not found.curves("calibration")["final"].isna().all()
    new = found.predict(lung.head(2))
    assert_allclose(new[["predicted", "mape"]], table[["predicted", "mape"]].head(2))
    treated = result.stability(n_boot=20, at=500, threshold=0.3).table
    assert treated["treating"].between(0, 20).all()
    for kind in ("prediction", "decision", "calibration"):
        assert found.plot(kind).get_title().startswith(kind.capitalize())


def test_stability_names_the_horizons(result: CVResult, endless: CVResult) -> None:
    with pytest.raises(ArgumentError, match="give at=200 or at=500"):
        result.stability(n_boot=20)
    with pytest.raises(OutcomeError, match="horizon="):
        endless.stability(n_boot=20)
    binary = scv.cv("GRADE ~ GPA", scv.load_data("spector"), k=4, seed=1)
    with pytest.raises(ArgumentError, match="at=3 is for times"):
        binary.stability(n_boot=20, at=3)


def test_table_1_names_what_to_group_by(result: CVResult) -> None:
    with pytest.raises(ArgumentError, match="is a time to an event; name the column"):
        scv.table1(result, by="outcome")
    assert "0" in f"{scv.table1(result, by='died')}"


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_a_model_without_covariates_is_drawn_and_reported(
    result: CVResult, quiet: Write
) -> None:
    bare = result.update("Surv(days, died) ~ 1", horizon=300)
    assert "Coefficients" not in bare.summary().tables
    check_numbers(quiet(bare, style="tripod+ai"), bare)
    assert bare.plot()[1, 1].get_title().startswith("Survival by risk group")
