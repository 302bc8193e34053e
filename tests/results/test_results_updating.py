"""A model updated for other records, or several stacked there."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import f

import statcv as scv
from statcv.errors import (
    ArgumentError,
    CollinearityWarning,
    ColumnError,
    DataError,
    EquationError,
    MissingDataWarning,
    ModelError,
    OutcomeError,
    SeparationWarning,
    StatcvWarning,
)

REFERENCE = Path(__file__).parents[1] / "reference"
R = (
    pd.read_csv(REFERENCE / "updating_r.csv")
    .set_index(["hospital", "what", "name"])
    .sort_index()
)
CASES = pd.read_csv(REFERENCE / "updating_cases.csv")
HOSPITALS = CASES.hospital.unique()
OLD = {"(Intercept)": -1.0, "a": 0.8, "b": -0.5, "c": 0.6}
SEVERAL = {
    "one": OLD,
    "two": {"(Intercept)": -0.5, "a": 0.3, "c": 1.2},
    "three": {"(Intercept)": 0.2, "b": 0.7},
}


def old(coefficients=OLD):
    return scv.published_model(coefficients, outcome="died")


def at(hospital):
    return CASES[CASES.hospital == hospital]


def in_r(hospital, what):
    return R.xs((hospital, what))["value"].to_dict()


def coefficients(model):
    return {part.name: part.coefficient for part in model.equation().parts[0]}


@pytest.mark.filterwarnings("ignore:the slope of the old model")
@pytest.mark.parametrize("hospital", HOSPITALS)
@pytest.mark.parametrize("method", ["intercept", "slope", "refit"])
def test_updates_are_those_of_predrupdate(hospital, method):
    own = coefficients(old().update(at(hospital), method))
    assert own == pytest.approx(in_r(hospital, method), abs=1e-6)


@pytest.mark.parametrize("hospital", HOSPITALS)
def test_shrinkage_is_a_ridge_on_the_differences(hospital):
    own = coefficients(old().update(at(hospital), "shrink", strength=30))
    assert own == pytest.approx(in_r(hospital, "shrink"), abs=1e-8)


@pytest.mark.filterwarnings("ignore:the slope of the old model")
@pytest.mark.parametrize("hospital", HOSPITALS)
def test_closed_testing_chooses_each_of_the_four(hospital):
    upd = old().update(at(hospital))
    assert upd.method == hospital
    tests = upd.tests.set_index("against")
    assert tests["statistic"].to_dict() == pytest.approx(in_r(hospital, "statistic"))
    assert tests["p"].to_dict() == pytest.approx(in_r(hospital, "p"))
    assert tests["df"].tolist() == [4, 3, 2]
    assert "Refitting, tested against simpler updates" in str(upd)


@pytest.mark.parametrize("hospital", HOSPITALS)
def test_models_are_stacked_as_by_r(hospital):
    models = {name: old(one) for name, one in SEVERAL.items()}
    both = scv.stack(models, at(hospital))
    weights = both.weights.set_index("model")["weight"]
    assert weights.to_dict() == pytest.approx(in_r(hospital, "stack"), abs=1e-5)
    # optim() of predRupdate stops earlier, and its weights are at least 1e-8
    assert weights.to_dict() == pytest.approx(in_r(hospital, "optim"), abs=1e-3)
    found = both.equation().linear(at(hospital))[:, 0]
    each = [one.equation().linear(at(hospital))[:, 0] for one in models.values()]
    assert found == pytest.approx(weights.iloc[0] + weights.to_numpy()[1:] @ each)
    # weights above 0 are at the optimum, and others would rise at a loss
    slopes = np.array(each) @ (at(hospital).died - expit(found))
    assert np.abs(slopes[weights[1:] > 0]).max() < 1e-6
    assert (slopes[weights[1:] == 0] < 0).all()


def test_a_continuous_outcome_is_updated_and_tested_by_f():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    frame["y"] = 1 + 0.5 * frame.a + rng.normal(size=60)
    known = {"(Intercept)": 0.0, "a": 1.0, "b": 0.2}
    model = scv.published_model(known, outcome="y", kind="continuous")
    X = np.column_stack([np.ones(60), frame[["a", "b"]]])
    lp = X @ [0, 1, 0.2]
    upd, line = model.update(frame), np.polynomial.polynomial.polyfit(lp, frame.y, 1)
    rss = [
        ((frame.y - lp) ** 2).sum(),
        ((frame.y - lp - (frame.y - lp).mean()) ** 2).sum(),
        ((frame.y - line[0] - line[1] * lp) ** 2).sum(),
    ]
    full = float(np.linalg.lstsq(X, frame.y)[1][0])
    statistics = [
        (one - full) / df / (full / 57) for one, df in zip(rss, (3, 2, 1), strict=True)
    ]
    assert upd.tests["statistic"].to_numpy() == pytest.approx(np.array(statistics))
    p = [f.sf(one, df, 57) for one, df in zip(statistics, (3, 2, 1), strict=True)]
    assert upd.tests["p"].to_numpy() == pytest.approx(np.array(p))
    slope = coefficients(model.update(frame, "slope"))
    assert slope["a"] == pytest.approx(line[1])
    assert slope["Intercept"] == pytest.approx(line[0])
    both = scv.stack({"m": model, "n": model.update(frame, "refit")}, frame)
    assert both.weights["weight"].to_numpy() == pytest.approx([0, 0, 1], abs=1e-6)
    assert float(both.validate(seed=1, k=5).estimate("mse")) < rss[0] / 60


def test_the_strength_has_the_least_aic():
    new = at("slope")
    X = np.column_stack([np.ones(400), new[["a", "b", "c"]]])
    spread, before = X.var(axis=0), np.array([*OLD.values()])

    def aic(strength):
        def loss(beta):
            eta = X @ beta
            change = strength * spread @ (beta - before) ** 2 / 2
            return np.sum(np.logaddexp(0, eta) - new.died * eta) + change

        beta = minimize(loss, before, method="BFGS", options={"gtol": 1e-6}).x
        mean = expit(X @ beta)
        information = (X.T * mean * (1 - mean)) @ X
        df = np.trace(
            np.linalg.solve(information + np.diag(strength * spread), information)
        )
        own = np.sum(np.logaddexp(0, X @ beta) - new.died * (X @ beta))
        return 2 * own + 2 * df

    model = scv.models.Updating(
        {"Intercept": -1.0, **dict(list(OLD.items())[1:])}, "shrink"
    )
    res = scv.cv("died ~ a + b + c", new, model=model, k=2, seed=1)
    strength = res.final.chosen["strength"]
    step = 10 ** (6 / 24)  # between neighbouring strengths
    assert aic(strength) < min(aic(strength * step), aic(strength / step))


def test_the_whole_updating_is_cross_validated():
    new = at("slope")
    upd = old().update(new)
    val = upd.validate(k=5, seed=3)
    assert val.plan.scheme == "kfold"
    assert set(val.tuned["method"]) == {"slope"}
    rows = val.predictions
    for fold in range(1, 6):
        held = rows.loc[rows.fold == fold, "row"]
        here = old().update(new.drop(index=held), "slope")
        own = rows.loc[rows.fold == fold, "predicted"].to_numpy()
        assert own == pytest.approx(here.predict(new.loc[held]).to_numpy(), abs=1e-9)
    both = scv.compare(old=old().validate(new), updated=val, metric="log_loss")
    assert both.differences["upper"].iloc[0] < 0
    external = upd.validate(at("none"))
    assert "slope updated" in external.learner.label


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:distributional bias")
def test_the_interval_of_the_gain_counts_the_variation_of_the_update():
    rng, model = np.random.default_rng(2), old()

    def records(n):  # the slope of the old model is one half at this hospital
        made = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
        eta = -0.5 + 0.4 * made.a - 0.25 * made.b + 0.3 * made.c
        return made.assign(died=rng.binomial(1, expit(eta)))

    def loss(model, data):
        return scv.metrics.log_loss(data.died, model.predict(data))

    later, rows = records(20_000), []
    for _ in range(60):
        new = records(150)
        upd = model.update(new, "slope")
        both = scv.compare(
            old=model.validate(new), updated=upd.validate(seed=1), metric="log_loss"
        )
        difference, se = both.differences.loc[0, ["difference", "se"]]
        rows.append((difference - loss(upd, later) + loss(model, later), se))
    errors, ses = np.array(rows, dtype=float).T
    assert both.method.name == "infinitesimal_jackknife"
    assert ses.mean() == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.25)


def test_what_the_interval_of_an_update_takes_as_given_is_said():
    closed, slope = (old().update(at("slope"), m) for m in ("closed_test", "slope"))
    given = [
        one.validate(seed=1).estimate("brier").interval.assumes
        for one in (closed, slope)
    ]
    assert ["tuning parameters as given" in one for one in given] == [True, False]


def test_the_same_predictions_are_compared_without_a_difference():
    new = at("none")
    val = old().update(new, "none").validate(seed=1)
    for metric in ("brier", "log_loss", "auroc", "calibration_slope"):
        both = scv.compare(old=old().validate(new), updated=val, metric=metric)
        assert abs(both.differences["difference"].iloc[0]) < 1e-12
        assert both.differences["p"].iloc[0] == 1


@pytest.mark.filterwarnings("ignore:distributional bias")
def test_schemes_and_clusters_pass_through():
    new = at("slope").assign(ward=np.arange(400) // 8)
    val = old().update(new).validate(k=4, stratify="ward", seed=1)
    rows = val.predictions.assign(ward=new.ward.loc[val.predictions["row"]].to_numpy())
    assert (rows.groupby("ward")["fold"].nunique() == 1).all()
    for scheme, extra in [
        ("bootstrap", {"repeats": 3}),
        ("montecarlo", {"repeats": 3}),
    ]:
        made = old().update(new).validate(scheme=scheme, seed=1, **extra)
        assert np.isfinite(float(made.estimate("brier")))
    few = new.iloc[:25]
    single = old().update(few, "slope").validate(scheme="loocv")
    assert len(single.predictions) == 25
    with pytest.raises(ArgumentError, match="no argument model="):
        old().update(few, "slope").validate(model="logit")


def test_a_fitted_model_is_updated_column_by_column(tmp_path):
    people = pd.read_csv(REFERENCE / "equations_cases.csv")
    first, second = people[:120], people[120:]
    final = scv.cv("died ~ bs(age, df=4) + sex*crp", first, k=4, seed=1).final
    upd = final.update(second, "refit")
    # the splines have the knots of the first records
    design, y = final._design.new_matrix(second)[0], second.died.to_numpy()

    predicted = upd.predict(second).to_numpy()
    slopes = design.T @ (y - predicted)
    assert np.abs(slopes).max() < 1e-5
    upd.save(tmp_path / "upd.json")
    read = scv.load_model(tmp_path / "upd.json")
    assert read.predict(second).to_numpy() == pytest.approx(predicted, abs=1e-9)
    twice = read.update(second, "slope")
    assert twice.predict(second).to_numpy() == pytest.approx(predicted, abs=1e-6)
    shrunk = final.shrunk(0.8).update(second, "intercept")
    assert shrunk.predict(second).mean() == pytest.approx(y.mean())


def test_one_covariate_and_none():
    new = at("slope")
    upd = old({"(Intercept)": -1.0, "a": 0.8}).update(new)
    assert upd.tests["df"].tolist() == [2, 1, 0]
    assert upd.tests["p"].iloc[2] == 1.0
    none = old({"(Intercept)": -1.0})
    assert none.update(new).tests["df"].tolist() == [1, 0, 0]
    share = new.died.mean()
    assert none.update(new, "slope").predict(new).mean() == pytest.approx(share)
    assert none.update(new).validate(seed=1).design.n == 400


def test_rows_with_missing_values_are_left_out_as_in_validation():
    new = at("slope").copy()
    new.loc[new.index[:5], "a"] = np.nan
    new.loc[new.index[5:7], "died"] = np.nan
    with pytest.warns(MissingDataWarning, match="7 rows of 400"):
        upd = old().update(new)
    with pytest.warns(MissingDataWarning, match="7 rows of 400"):
        val = old().validate(new)
    both = scv.compare(old=val, updated=upd.validate(seed=1), metric="brier")
    assert len(both.results["old"].predictions) == 393


def test_bad_input_is_named():
    new, model = at("refit"), old()
    for method in ("none", "refit", "closed_test"):
        with pytest.raises(DataError, match=r"'died' is always 1 in the 3 complete"):
            model.update(new[new.died == 1].head(3), method)
    with pytest.raises(DataError, match="no row of the new data"):
        model.update(new.assign(a=np.nan))
    with pytest.raises(ColumnError, match="lack 'b'"):
        model.update(new.drop(columns="b"))
    with pytest.raises(ColumnError, match="lack the column 'dead'"):
        model.update(new, outcome="dead")
    with pytest.raises(OutcomeError, match="positive=1 is not a level"):
        model.update(new.assign(died=np.where(new.died, "yes", "no")))
    with pytest.raises(OutcomeError, match="needs an outcome of two classes"):
        model.update(new.assign(died=np.arange(400) / 7))
    line = scv.published_model({"a": 1.0}, outcome="died", kind="continuous")
    with pytest.raises(DataError, match="is binary in the new data, and continuous"):
        line.update(new)
    with pytest.raises(ArgumentError, match="method must be"):
        model.update(new, "slopes")
    with pytest.raises(ModelError, match="strength= is for method='shrink'"):
        model.update(new, strength=2)
    with pytest.raises(ModelError, match="strength must be above 0"):
        model.update(new, "shrink", strength=-1)
    with pytest.raises(ModelError, match="level must lie between"):
        model.update(new, level=5)
    with pytest.raises(ArgumentError, match="two or more"):
        scv.stack({"one": model}, new)
    with pytest.raises(ArgumentError, match="'b' is a str, not a model"):
        scv.stack({"one": model, "b": "model.json"}, new)
    sex = scv.published_model(
        {"(Intercept)": 0.1, "sex[m]": 1}, outcome="died", reference={"sex": "f"}
    )
    with pytest.raises(DataError, match="level 'x'"):
        sex.update(new.assign(sex=["m", "f", "x", "f"] * 100))
    people = pd.read_csv(REFERENCE / "equations_cases.csv")
    stages = scv.cv("stage ~ age", people, k=4, seed=1).final
    with pytest.raises(ArgumentError, match="not several classes"):
        stages.update(people)
    forest = scv.cv("died ~ age", people, k=4, seed=1, model="neighbors").final
    with pytest.raises(EquationError, match="no coefficients"):
        forest.update(people)


def test_doubtful_updates_are_warned_of():
    new = at("refit")
    with pytest.warns(StatcvWarning, match=r"slope .* is -0\.52 in the new data"):
        old().update(new, "slope")
    some = pd.concat([new[new.died == 1][9:12], new[new.died == 0].head(50)])
    with pytest.warns(StatcvWarning, match=r"3 records .* method='intercept' or"):
        old().update(some, "refit")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        old().update(some, "intercept")
    with pytest.warns(CollinearityWarning, match="keep their old coefficients: c"):
        fixed = old().update(at("slope").query("c == 1"), "refit")
    assert coefficients(fixed)["c"] == 0.6
    apart = at("slope").assign(a=lambda d: d.died + d.a / 100)
    with pytest.warns(SeparationWarning, match="separates the classes"):
        old().update(apart, "refit")
    assert abs(coefficients(old().update(apart, "shrink", strength=1))["a"]) < 50


def test_stacking_of_models_without_a_value_is_warned_of():
    wrong = {
        "one": old({"(Intercept)": -1.0, "b": -1.0}),
        "two": old({"1": 0, "b": -2.0}),
    }
    with pytest.warns(StatcvWarning, match="no model has a weight above 0"):
        stacked = scv.stack(wrong, at("refit"))
    share = at("refit").died.mean()
    assert stacked.predict(at("refit")).to_numpy() == pytest.approx(share)


def test_a_procedure_is_a_model_of_cv():
    new = at("slope")
    model = scv.models.Updating({"Intercept": -1, "a": 0.8, "b": -0.5}, "shrink")
    res = scv.cv("died ~ a + b", new, model=model, seed=1)
    assert (res.tuned["strength"] > 0).all()
    equation = res.final.equation()
    predicted = res.final.predict(new).to_numpy()
    assert equation.predict(new) == pytest.approx(predicted, abs=1e-12)
    weighted = scv.cv("died ~ a + b", new, model=model, seed=1, weights=np.ones(400))
    assert weighted.predictions.equals(res.predictions)
    with pytest.raises(ModelError, match="one old coefficient of each column"):
        scv.cv("died ~ a + c", new, model=model, seed=1)


# ---- times to an event ----


def arms():
    data = scv.load_data("veteran")
    standard = data.treatment == "standard"
    return data[standard], data[~standard]


def cox_of(data, **options):
    call = {"horizon": [90, 180], "k": 5, "seed": 1} | options
    return scv.cv("Surv(time, status) ~ karno + age + celltype", data, **call).final


def test_a_cox_regression_is_updated_as_by_r():
    r = pd.read_csv(REFERENCE / "cox_updating_r.csv").set_index(["what", "name"]).value
    old, new = arms()
    final = cox_of(old)
    closed = final.update(new)
    assert closed.method == "refit"
    statistics = closed.tests.set_index("against")["statistic"]
    assert statistics.to_dict() == pytest.approx(r["statistic"].to_dict(), rel=1e-7)
    assert closed.tests["df"].tolist() == [5, 4]
    found = coefficients(closed)
    for name, value in r["refit"].items():
        own = name.replace("celltype", "celltype[T.") + "]" * ("cell" in name)
        assert found[own] == pytest.approx(value, rel=1e-7)
    slope = coefficients(final.update(new, "slope"))["karno"]
    assert slope / final.coefficients["karno"] == pytest.approx(r["slope", "lp"])
    for method in ("intercept", "slope", "refit"):
        risks = final.update(new, method).predict(new.head(3))
        for name, value in r[f"risk of {method}"].items():
            row, _, horizon = name.split()
            assert risks[f"risk_{horizon}"].iloc[int(row)] == pytest.approx(value)


def test_an_unchanged_or_a_shrunk_cox_regression():
    old, new = arms()
    final = cox_of(old)
    same = final.update(new, "none").predict(new)
    np.testing.assert_allclose(same, final.predict(new), rtol=1e-10)
    near = coefficients(final.update(new, "shrink", strength=1e7))["karno"]
    assert near == pytest.approx(final.coefficients["karno"], rel=1e-3)
    far = coefficients(final.update(new, "shrink", strength=1e-6))["karno"]
    refit = coefficients(final.update(new, "refit"))["karno"]
    assert far == pytest.approx(refit, rel=1e-4)
    between = coefficients(final.update(new, "shrink"))["karno"]
    assert refit < between < final.coefficients["karno"]


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_the_updating_of_a_cox_regression_is_cross_validated(tmp_path):
    old, new = arms()
    final = cox_of(old)
    upd = final.update(new)
    inside = upd.validate(k=5, seed=1)
    assert inside.design.outcome.horizons == (90.0, 180.0)
    held = inside.predictions.iloc[0]
    outside = new.drop(index=inside.predictions["row"][inside.predictions.fold == 1])
    again = final.update(outside).predict(new.loc[[held["row"]]])
    assert held["risk_90"] == pytest.approx(again["risk_90"].iloc[0], rel=1e-8)
    both = scv.compare(old=final.validate(new), updated=inside, metric="brier@90")
    assert np.isfinite(both.differences["difference"].iloc[0])
    upd.save(tmp_path / "cox.json")
    read = scv.load_model(tmp_path / "cox.json").update(new, "intercept")
    np.testing.assert_allclose(read.predict(new), upd.predict(new), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:columns that do not vary", "ignore:the refit sep")
def test_what_a_cox_regression_cannot_be_updated_on():
    old, new = arms()
    final = cox_of(old)
    few = new.sort_values("time").iloc[[0, 20, 40, -1]]
    with pytest.warns(StatcvWarning, match="4 records with the event, and refitting"):
        final.update(few, "refit")
    with pytest.raises(ColumnError, match="'status'"):
        final.update(new.drop(columns="status"))
    with pytest.raises(OutcomeError):
        final.update(new.assign(status=0))
