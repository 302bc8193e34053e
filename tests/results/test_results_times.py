"""Cox regressions that are handed over: standard errors, validation, and what is left.

Coefficients with their tests are those of R's coxph (tests/reference/cox_summary.R);
equations as code are in test_results_equation.py.
"""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    CoefficientError,
    ColumnError,
    DataError,
    MissingDataWarning,
    PrecisionWarning,
    StatcvWarning,
)
from statcv.metrics.survival import harrell_c, survival_metrics
from statcv.models import Cox
from statcv.numeric.survival import signed_times

REFERENCE = Path(__file__).parents[1] / "reference"
OUTCOME = "Surv(time, status)"


def people(n=240, seed=3):
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({"age": rng.normal(60, 9, n).round(), "x": rng.normal(size=n)})
    made["sex"] = rng.choice(["f", "m"], n)
    made["site"], made["patient"] = rng.choice(list("ABC"), n), rng.integers(0, 90, n)
    eta = (made.age - 60) / 15 + 0.6 * made.x + 0.4 * (made.sex == "m")
    time, last = rng.exponential(np.exp(2 - eta)), rng.uniform(2, 20, n)
    made["time"] = np.ceil(4 * np.minimum(time, last)) / 4
    return made.assign(status=time <= last)


DATA = people()
OLD, NEW = DATA[:120], DATA[120:]


@pytest.fixture(scope="module")
def final():
    return scv.cv(f"{OUTCOME} ~ age + x + sex", OLD, horizon=[3, 8], k=3, seed=1).final


# ---- standard errors ----


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_coefficients_are_tested_as_by_coxph(ties):
    cases = pd.read_csv(REFERENCE / "cox_cases.csv").astype({"b": str})
    res = scv.cv(f"{OUTCOME} ~ a + b + c", cases, model=Cox(ties=ties), k=3, seed=1)
    theirs = pd.read_csv(REFERENCE / "cox_summary_r.csv").query("ties == @ties")
    names = list(theirs.columns[2:])
    ours = res.tidy()
    assert ours["term"].tolist() == ["a", "b[T.1]", "c"]
    np.testing.assert_allclose(ours[names], theirs[names], rtol=1e-8)


def test_standard_errors_do_not_depend_on_the_origin():
    near = scv.cv(f"{OUTCOME} ~ age", OLD, k=3, seed=1).tidy()
    far = scv.cv(f"{OUTCOME} ~ I(age + 1e6)", OLD, k=3, seed=1).tidy()
    np.testing.assert_allclose(far["std.error"], near["std.error"], rtol=1e-8)


def test_a_ridge_has_no_standard_errors_and_no_covariate_no_coefficients():
    ridge = scv.cv(f"{OUTCOME} ~ age", OLD, model=Cox(C=1.0), k=3, seed=1)
    with pytest.warns(StatcvWarning, match="1 standard error.*penalised"):
        assert ridge.tidy()["std.error"].isna().all()
    with pytest.raises(CoefficientError, match="no coefficients"):
        scv.cv(f"{OUTCOME} ~ 1", OLD, k=3, seed=1).tidy()


# ---- validation ----


def test_metrics_elsewhere_have_censoring_weights_from_there(final):
    val = final.validate(NEW)
    y, predicted = signed_times(NEW.time, NEW.status), final.predict(NEW)
    assert float(val.estimate("harrell_c")) == harrell_c(y, predicted["linear"])
    for t in (3, 8):
        of_times = survival_metrics((float(t),))
        for name in ("auroc", "brier", "calibration_slope", "oe_ratio"):
            own = of_times[f"{name}@{t}"].function(y, predicted[f"risk_{t}"].to_numpy())
            found = val.estimate(f"{name}@{t}")
            assert float(found) == pytest.approx(own, rel=1e-12)
            assert found.lower < own < found.upper
    assert "External validation" in str(val)


def test_the_brier_score_elsewhere_by_hand(final):
    risk, n = final.predict(NEW)["risk_3"].to_numpy(), len(NEW)
    time, status = NEW.time.to_numpy(), NEW.status.to_numpy()

    def free(t, before):
        """Return the probability of no censoring by t, where events come first."""
        made = 1.0
        for s in np.unique(time[~status]):
            if s < t or (s == t and not before):
                left = (time > s) | ((time == s) & ~status)
                made *= 1 - ((time == s) & ~status).sum() / left.sum()
        return made

    total = 0.0
    for i in range(n):
        if time[i] > 3:
            total += risk[i] ** 2 / free(3, False)
        elif status[i]:
            total += (1 - risk[i]) ** 2 / free(time[i], True)
    found = float(final.validate(NEW).estimate("brier@3"))
    assert found == pytest.approx(total / n, rel=1e-12)


def test_groups_and_clusters_elsewhere(final):
    val = final.validate(NEW, by="site", stratify="patient", metrics="auroc")
    table = val.metrics(by=True)
    assert set(table["site"]) == set("ABC")
    y, risk = signed_times(NEW.time, NEW.status), final.predict(NEW)["risk_8"]
    auroc = survival_metrics((8.0,))["auroc@8"].function
    for site in "ABC":
        rows = (NEW.site == site).to_numpy()
        row = table[(table["site"] == site) & (table["metric"] == "auroc@8")]
        # a group keeps the censoring weights of all records
        own = auroc(y[rows], risk.to_numpy()[rows], censoring=y)
        assert float(row["estimate"].iloc[0]) == pytest.approx(own, rel=1e-12)
    wide = final.validate(NEW).estimate("auroc@8")
    assert val.estimate("auroc@8").upper != wide.upper


def test_incomplete_rows_and_horizons_beyond_follow_up_are_named(final):
    lacking = NEW.assign(time=NEW.time.mask(NEW.index % 30 == 0), age=NEW.age)
    with pytest.warns(MissingDataWarning, match="4 rows of 120"):
        assert final.validate(lacking).design.n == 116
    with pytest.warns(StatcvWarning, match="risk by 8 is not validated.*not before"):
        val = final.validate(NEW[NEW.time < 7])
    assert {name.partition("@")[2] for name in val.metric_names} == {"", "3"}
    with pytest.raises(ColumnError, match="status"):
        final.validate(NEW.drop(columns="status"))
    other = NEW.rename(columns={"time": "days", "status": "dead"})
    again = final.validate(other, outcome="Surv(days, dead)")
    assert float(again.estimate()) == float(final.validate(NEW).estimate())


def test_a_model_that_ranks_the_wrong_way_round_is_named(final):
    wrong = NEW.assign(x=-3 * NEW.x, age=120 - NEW.age)
    with pytest.warns(StatcvWarning, match="slope is below 0.*Surv"):
        found = final.validate(wrong)
    assert float(found.estimate()) < 0.5


def test_times_in_one_column_are_validated():
    pairs = [*zip(DATA.status.tolist(), DATA.time, strict=True)]
    data = DATA.assign(outcome=pairs)
    final = scv.cv("outcome ~ age", data, horizon=3, k=3, seed=1).final
    both = scv.cv(f"{OUTCOME} ~ age", data, horizon=3, k=3, seed=1).final
    ours, theirs = (one.validate(data).metrics()["estimate"] for one in (final, both))
    np.testing.assert_array_equal(ours, theirs)
    made = data.assign(risk=final.predict(data)["risk_3"])
    given = {"observed": "outcome", "predicted": {3: "risk"}}
    found = scv.from_predictions(made, **given).metrics()["estimate"]
    np.testing.assert_allclose(found, theirs)


def test_a_model_in_a_file_is_validated_as_before(final, tmp_path):
    final.save(tmp_path / "model.json")
    read = scv.load_model(tmp_path / "model.json")
    pd.testing.assert_frame_equal(read.predict(NEW), final.predict(NEW), rtol=1e-12)
    np.testing.assert_allclose(
        read.validate(NEW).metrics()["estimate"],
        final.validate(NEW).metrics()["estimate"],
    )


# ---- predictions from elsewhere ----


def test_predictions_are_named_by_their_horizon(final):
    made = NEW.join(final.predict(NEW))
    risks = {8: "risk_8", 3: "risk_3"}
    whole = scv.from_predictions(
        made, observed=OUTCOME, predicted={"linear": "linear", **risks}
    )
    expected = final.validate(NEW).metrics()["estimate"]
    np.testing.assert_allclose(whole.metrics()["estimate"], expected)
    # without it, records are ranked by the risk at the last horizon
    ranked = scv.from_predictions(made, observed=OUTCOME, predicted=risks)
    np.testing.assert_allclose(ranked.metrics()["estimate"], expected)
    assert list(ranked.predictions)[-3:] == ["linear", "risk_3", "risk_8"]
    alone = scv.from_predictions(made, observed=OUTCOME, predicted="linear")
    assert alone.metric_names == ("harrell_c", "uno_c")
    assert float(alone.estimate()) == float(whole.estimate("harrell_c"))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"predicted": ["risk_3", "risk_8"]}, ArgumentError, "365: 'column'"),
        ({"predicted": "risk_3", "horizon": 3}, ArgumentTypeError, "predicted=, with"),
        ({"predicted": {3: "age"}}, DataError, "'age' is .* in row 120"),
        ({"predicted": {300: "risk_3"}}, ArgumentError, "longest follow-up"),
        ({"predicted": {"late": "risk_3"}}, ArgumentError, "a time above 0"),
        ({"predicted": {3: "risk"}}, ColumnError, "'risk' is not a column"),
    ],
)
def test_predictions_without_a_meaning_are_refused(final, given, error, message):
    made = NEW.join(final.predict(NEW))
    with pytest.raises(error, match=message):
        scv.from_predictions(made, observed=OUTCOME, **given)


def test_a_published_model_predicts_by_its_baseline():
    model = scv.published_model(
        {"(Intercept)": -3, "age": 0.05, "sex[m]": 0.4},
        outcome=OUTCOME,
        baseline={8: 0.6, 3: 0.83},
    )
    eta = -3 + 0.05 * NEW.age + 0.4 * (NEW.sex == "m")
    made = model.predict(NEW)
    assert list(made) == ["linear", "risk_3", "risk_8"]
    np.testing.assert_allclose(made["linear"], eta, rtol=1e-12)
    np.testing.assert_allclose(made["risk_3"], 1 - 0.83 ** np.exp(eta), rtol=1e-12)
    text = str(model.equation())
    assert "risk of the event by 3 = 1 - 0.83^exp(linear predictor)" in text
    y = signed_times(NEW.time, NEW.status)
    assert float(model.validate(NEW).estimate()) == harrell_c(y, eta)
    with pytest.raises(ArgumentError, match="baseline= has 83 at 3"):
        scv.published_model({"age": 1}, outcome=OUTCOME, baseline={3: 83})
    with pytest.raises(ArgumentError, match="baseline= needs outcome="):
        scv.published_model({"age": 1}, baseline={3: 0.83})


# ---- shrinkage, nomograms, and what is refused ----


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_a_shrunk_model_has_the_baseline_beside_it(ties):
    whole = scv.cv(
        f"{OUTCOME} ~ age + x",
        OLD,
        model=Cox(ties=ties, C=1e9),
        tune={"C": [1e9]},
        horizon=[3, 8],
        k=3,
        seed=1,
    ).final
    same = whole.shrunk(1.0).predict(NEW)
    pd.testing.assert_frame_equal(same, whole.predict(NEW), rtol=1e-10)
    # shrunk to next to nothing, all have the risk of a model without covariates
    null = scv.cv(
        f"{OUTCOME} ~ 1", OLD, model=Cox(ties=ties), horizon=[3, 8], k=3, seed=1
    ).final
    least = whole.shrunk(1e-9).predict(NEW)
    np.testing.assert_allclose(least, null.predict(NEW), atol=1e-7)
    np.testing.assert_allclose(
        whole.shrunk(0.7).predict(NEW)["linear"], 0.7 * whole.predict(NEW)["linear"]
    )


def test_a_nomogram_has_an_axis_for_each_horizon(final):
    table = final.nomogram(values={"age": [40, 80], "x": [-2, 2]})
    low = pd.DataFrame({"age": [40.0], "x": [-2.0], "sex": ["f"]})
    high = pd.DataFrame({"age": [80.0], "x": [2.0], "sex": ["m"]})
    total = table[table.axis.isin(["age", "x", "sex"])].groupby("axis").points.max()
    ends = pd.concat([low, high], ignore_index=True)
    made = final.predict(ends)
    for t in (3, 8):
        rows = table[table["axis"] == f"Risk of the event by {t}"]
        risks = rows["value"].astype(float)
        # points are linear in the linear predictor
        hazard = np.log(-np.log1p(-risks))
        start, end = np.log(-np.log1p(-made[f"risk_{t}"]))
        points = (hazard - start) / (end - start) * total.sum()
        np.testing.assert_allclose(rows["points"], points, atol=1e-8)
    scv.plots.plot_nomogram(final)


def test_what_is_not_for_times_says_what_is(final, tmp_path):
    with pytest.raises(ArgumentError, match=r"stack\(\).*columns of the data"):
        scv.stack({"one": final, "two": final}, NEW)
    with pytest.raises(ArgumentError, match=r"slope of a Cox.*optimism_corrected"):
        final.shrunk()


def test_a_penalty_and_a_choice_of_terms_are_handed_over():
    for more in ({"model": Cox(firth=True)}, {"select": "backward"}):
        final = scv.cv(
            f"{OUTCOME} ~ age + x", OLD, horizon=3, k=3, seed=1, **more
        ).final
        found = final.equation().predict(NEW)
        np.testing.assert_allclose(found, final.predict(NEW), atol=1e-12)
        pd.testing.assert_frame_equal(
            final.shrunk(1.0).predict(NEW), final.predict(NEW)
        )


# ---- everyday cases ----


@pytest.mark.parametrize(
    ("right", "more"),
    [
        ("x", {"horizon": None}),
        ("sex", {"horizon": 3}),
        ("bs(age, df=4) + sex:x", {"horizon": [1, 3, 8]}),
        ("1", {"horizon": 3}),
        ("age + x", {"horizon": 3, "model": Cox(C=0.5)}),
        ("age + x", {"horizon": 3, "model": Cox(C=0.5), "tune": {"C": [0.1, 1]}}),
    ],
)
@pytest.mark.parametrize("width", [0.25, 1])
def test_everyday_models_are_handed_over(right, more, width, tmp_path):
    wide = {"time": np.ceil(DATA.time / width) * width}  # heavy ties
    data = DATA.assign(**wide)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = scv.cv(f"{OUTCOME} ~ {right}", data[:120], k=3, seed=1, **more)
        final = res.final
        final.save(tmp_path / "model.json")
        read = scv.load_model(tmp_path / "model.json")
        new = data[120:]
        found, expected = read.predict(new), final.predict(new)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        scope = {}
        exec(final.equation().to_python(), scope)
        row = scope["predict"](new.iloc[0].to_dict())
        row = list(row.values()) if isinstance(row, dict) else row
        np.testing.assert_allclose(row, expected.iloc[0].squeeze(), atol=1e-12)
        val = final.validate(new)
        assert val.summary() is not None
        assert str(val)
        assert np.isfinite(final.shrunk(0.9).predict(new).to_numpy()).all()


def test_fewer_events_than_coefficients_are_counted():
    rng = np.random.default_rng(1)
    few = pd.DataFrame(rng.normal(size=(60, 5)), columns=list("abcde"))
    few = few.assign(time=rng.exponential(size=60), status=few.index % 15 == 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        final = scv.cv(f"{OUTCOME} ~ .", few, k=2, seed=1).final
    with pytest.warns(PrecisionWarning, match=r"5 coefficients from 4 events.*Cox\("):
        final.equation()
