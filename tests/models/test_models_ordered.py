"""Proportional-odds regressions of all folds, against R's and statsmodels'."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.errors import (
    EquationError,
    ModelError,
    OutcomeError,
    SeparationWarning,
    StatcvWarning,
)
from statcv.models import Logit, ProportionalOdds, TrainingSet

REFERENCE = Path(__file__).parent.parent / "reference"
CASES = pd.read_csv(REFERENCE / "ordered_cases.csv")
OF_R = pd.read_csv(REFERENCE / "ordered_r.csv")
MODEL = "proportional_odds"


def simulated(n, seed=0, slope=1.0):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    y = np.digitize(slope * x + rng.logistic(size=n), [-1, 0.5])
    stage = pd.Categorical.from_codes(y, ["mild", "moderate", "severe"], ordered=True)
    return pd.DataFrame({"stage": stage, "y": y, "x": x, "z": z})


def of_r(formula, weighted, outcome):
    known = OF_R.query("formula == @formula and weighted == @weighted")
    known = known.query("outcome == @outcome and fold >= 0")
    return known.replace({"name": {"g=": "g"}}, regex=True)


@pytest.mark.parametrize("weighted", [0, 1])
@pytest.mark.parametrize("formula", ["x", "x + z + g", "z"])
def test_fits_of_all_folds_equal_those_of_polr_and_orm(formula, weighted):
    res = scv.cv(
        f"stage ~ {formula}",
        CASES,
        model=MODEL,
        scheme=CASES["fold"],
        weights="weight" if weighted else None,
        metrics="log_loss",
        seed=1,
    )
    assert res.held.converged.all()
    assert not res.held.separated.any()
    found = res.held.coefficients.rename(
        columns=lambda name: re.sub(r".*\[(>=.)\]|\[T\.(.)\]", r"\1\2", name)
    )
    held = res.predictions.groupby("fold")
    found["p"] = held["predicted_1"].mean()
    found["q"] = held["predicted_4"].apply(lambda p: (p**2).sum())
    for row in of_r(formula, weighted, "stage").itertuples():
        value = found.loc[row.fold, row.name]
        assert value == pytest.approx(row.value, rel=1e-6, abs=1e-6), row


def test_a_training_set_without_a_middle_class_is_fitted_as_without_that_class():
    train = CASES.query("fold != 0")
    X = np.column_stack([np.ones(len(train)), train["x"]])
    data = TrainingSet(
        X, train["rare"].to_numpy() - 1, "multiclass", 4, ("one", "x"), 0, None, 0
    )
    fit = ProportionalOdds().fit(data)
    assert fit.converged
    assert fit.separated
    found = {name[-4:].strip("[]"): value for name, value in fit.coefficients.items()}
    known = of_r("x", 0, "rare").query("fold == 0").set_index("name")["value"]
    assert found["x"] == pytest.approx(known["x"].iloc[0], rel=1e-6)
    assert found[">=3"] == pytest.approx(known[">=4"].iloc[0], rel=1e-6)
    p = fit.predict(X)
    assert (p[:, 1] == 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)


def test_standard_errors_and_likelihood_ratios_are_those_of_r():
    res = scv.cv("stage ~ x + z + g", CASES, model=MODEL, k=5, seed=1)
    known = OF_R.query("fold == -1")
    ses = known.query("by == 'se' and formula == 'x + z + g'")["value"]
    np.testing.assert_allclose(res.tidy()["std.error"], ses, rtol=1e-6)
    of_both = known.query("name == 'logLik'").set_index("formula")["value"]
    table = res.drop1("rps").table.set_index("term")
    expected = 2 * (of_both["x + z + g"] - of_both["x + g"])
    assert table.loc["z", "lr"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("scheme", ["loocv", "kfold", "bootstrap", "rloocv"])
@pytest.mark.parametrize("formula", ["stage ~ x + z", "stage ~ scale(x) + z"])
def test_folds_together_equal_separate_fits(formula, scheme):
    repeats = None if scheme in ("loocv", "kfold") else 3
    named = {"scheme": scheme, "repeats": repeats, "seed": 1, "metrics": "log_loss"}
    res = scv.cv(formula, simulated(60), model=MODEL, **named)
    assert res.held.converged.all()
    for fit in range(0, res.plan.n_fits, 7):
        training = res.refits.setup.folds.training_set(res.refits.setup.records, fit)
        alone = ProportionalOdds().fit(training)
        np.testing.assert_allclose(
            res.held.coefficients.iloc[fit],
            list(alone.coefficients.values()),
            rtol=1e-8,
        )


def test_a_ridge_minimises_the_penalised_likelihood():
    from scipy.optimize import minimize

    data, C = simulated(50), 0.2
    X = np.column_stack([np.ones(50), data[["x", "z"]]])
    names = ("one", "x", "z")
    fit = ProportionalOdds(C=C).fit(
        TrainingSet(X, data["y"].to_numpy(), "multiclass", 3, names, 0, None, 0)
    )

    def loss(theta):
        odds = theta[:2] + (X[:, 1:] @ theta[2:])[:, None]
        above = np.column_stack([np.ones(50), 1 / (1 + np.exp(-odds)), np.zeros(50)])
        p = (above[:, :-1] - above[:, 1:])[np.arange(50), data["y"]]
        return -np.log(p).sum() + (theta[2:] ** 2).sum() / (2 * C)

    known = minimize(loss, [1, -1, 0, 0], tol=1e-12).x
    np.testing.assert_allclose(list(fit.coefficients.values()), known, atol=1e-5)


def test_one_linear_predictor_of_far_columns_is_fitted_as_of_near_ones():
    data = simulated(60).assign(
        year=lambda d: 2000 + d["x"], huge=lambda d: d["z"] * 1e6
    )
    near = scv.cv("stage ~ x + z", data, model=MODEL, seed=1)
    far = scv.cv("stage ~ year + huge", data, model=MODEL, seed=1)
    columns = [f"predicted_{level}" for level in ("mild", "moderate", "severe")]
    np.testing.assert_allclose(
        near.predictions[columns], far.predictions[columns], atol=1e-7
    )


def test_separation_is_found_in_each_fold():
    data = simulated(50).assign(w=lambda d: d["y"] + 0.1 * d["z"].abs().clip(upper=2))
    with pytest.warns(SeparationWarning, match="10 of 10"):
        res = scv.cv("stage ~ w", data, model=MODEL, seed=1)
    assert res.held.separated.all()
    assert res.estimate("accuracy").value == 1
    # all of the highest class where b = 1, and no other separation
    data["b"] = (data["y"] == 2) & (data["z"] > 0)
    with pytest.warns(SeparationWarning, match="10 of 10"):
        scv.cv("stage ~ b + x", data, model=MODEL, seed=1)


def test_integers_are_ordered_as_numbers_and_categories_as_declared():
    data = simulated(60)
    declared, numbers = (
        scv.cv(f"{name} ~ x", data, model=MODEL, seed=1) for name in ("stage", "y")
    )
    text = data.assign(t=data["stage"].astype(str))
    by_formula = scv.cv(
        "C(t, levels=['mild', 'moderate', 'severe']) ~ x", text, model=MODEL, seed=1
    )
    for other in (numbers, by_formula):
        assert other.estimate().value == declared.estimate().value
        assert other.design.outcome.ordered
    said = " ".join(str(declared.summary()).split())
    assert "(stage: mild 14 < moderate 19 < severe 27)" in said
    assert "of 3 ordered classes" in str(declared)
    assert "ordered classes: mild (14) < moderate" in str(declared.design.outcome)
    assert list(declared.coefficients)[:4] == [
        *("repeat", "fold", "Intercept[>=moderate]", "Intercept[>=severe]")
    ]


def test_an_enum_of_polars_is_ordered():
    polars = pytest.importorskip("polars")
    levels = ["zero", "one", "two"]
    data = simulated(50)
    kind = polars.Enum(levels)
    codes = polars.Series([levels[code] for code in data["y"]], dtype=kind)
    frame = polars.DataFrame({"x": data["x"].to_numpy()}).with_columns(stage=codes)
    res = scv.cv("stage ~ x", frame, model=MODEL, seed=1)
    assert res.design.outcome.levels == tuple(levels)
    assert res.design.outcome.ordered


def test_other_models_keep_their_fits_and_are_measured_by_order_too():
    data = simulated(60)
    ordered = scv.cv("stage ~ x", data, seed=1)
    plain = scv.cv("stage ~ x", data.assign(stage=data["stage"].astype(str)), seed=1)
    assert isinstance(ordered.learner, Logit)
    columns = ordered.predictions.filter(like="predicted_")
    np.testing.assert_array_equal(columns, plain.predictions.filter(like="predicted_"))
    assert ordered.chosen_metrics[0].name == "ordinal_c"
    assert plain.chosen_metrics[0].name == "accuracy"


def test_permuted_outcomes_have_no_skill():
    data = simulated(60, slope=0.0)
    res = scv.cv("stage ~ x", data, model=MODEL, k=5, seed=1)
    values = res.test("rps", n_permutations=39).replicates
    assert np.mean(values) == pytest.approx(res.no_skill["no_skill"][1], rel=0.1)
    skilled = scv.cv("stage ~ x", simulated(90, slope=3.0), model=MODEL, seed=1)
    assert skilled.test("ordinal_c", n_permutations=39).p_value == 1 / 40


def test_clusters_and_new_levels_are_predicted():
    data = simulated(60).assign(
        site=np.repeat(np.arange(15), 4), g=np.where(np.arange(60) < 4, "rare", "no")
    )
    with pytest.warns(StatcvWarning, match="level"):
        res = scv.cv(
            "stage ~ x + g",
            data,
            model=MODEL,
            stratify="site",
            k=5,
            metrics="rps",
            seed=1,
        )
    assert np.isfinite(res.predictions.filter(like="predicted_").to_numpy()).all()
    assert res.estimate("rps").interval.se > 0


def test_records_of_a_class_without_weight_are_no_records():
    data = simulated(60).assign(w=lambda d: (d["y"] != 1) * 1.0)
    with pytest.raises(ModelError, match="there are two"):
        scv.cv("stage ~ x", data, model=MODEL, weights="w", seed=1)


@pytest.mark.parametrize("name", ["rps", "ordinal_c", "log_loss"])
def test_the_default_interval_is_near_that_of_the_jackknife(name):
    res = scv.cv("stage ~ x + z", simulated(150), model=MODEL, k=10, seed=1)
    usual = res.estimate(name, how="pooled").interval
    values = res.jackknife(name, how="pooled").values
    se = np.sqrt((len(values) - 1) * np.var(values))
    assert usual.se == pytest.approx(se, rel=0.15)


def test_a_model_is_validated_in_other_records_in_the_same_order():
    res = scv.cv("stage ~ x", simulated(80), model=MODEL, seed=1)
    new = simulated(50, seed=3).assign(stage=lambda d: d["stage"].astype(str))
    found = res.final.validate(new)
    assert found.design.outcome.levels == ("mild", "moderate", "severe")
    assert found.chosen_metrics[0].name == "ordinal_c"
    made = res.final.predict(new).assign(stage=pd.Categorical(new["stage"]))
    made["stage"] = made["stage"].cat.set_categories(
        ["mild", "moderate", "severe"], ordered=True
    )
    columns = {level: level for level in ("severe", "moderate", "mild")}
    other = scv.from_predictions(made, observed="stage", predicted=columns)
    assert other.estimate("rps").value == found.estimate("rps").value
    with pytest.raises(scv.errors.StatcvError, match="has the value 'none'"):
        res.final.validate(new.assign(stage="none"))


def test_the_equation_has_the_slopes_of_polr_and_minus_its_cut_points(tmp_path):
    res = scv.cv("stage ~ x + z + g", CASES, model=MODEL, scheme="fold", seed=1)
    equation = res.final.equation()
    constants = [parts[0].coefficient for parts in equation.parts]
    slopes = [part.coefficient for part in equation.parts[0][1:]]
    np.testing.assert_allclose(
        [*constants, *slopes], res.final.coefficients, atol=1e-12
    )
    said = str(equation)
    assert "logit P(stage >= 2) =" in said
    assert "R's polr()" in said
    assert said.count("+ score") == 3
    assert said.count("[g = ") == len(slopes) - 2
    predicted = res.final.predict(CASES)
    res.final.save(tmp_path / "model.json")
    read = scv.load_model(tmp_path / "model.json")
    np.testing.assert_allclose(read.predict(CASES), predicted, atol=1e-12)
    code = {}
    exec(equation.to_python(), code)
    record = code["predict"](CASES.iloc[3].to_dict())
    np.testing.assert_allclose(list(record.values()), predicted.iloc[3], atol=1e-12)
    validated = read.validate(CASES).metrics()["estimate"]
    np.testing.assert_allclose(
        validated, res.final.validate(CASES).metrics()["estimate"]
    )
    for refused in (res.final.nomogram, lambda: res.final.update(CASES)):
        with pytest.raises(
            scv.errors.StatcvError, match=r"two classes|several classes"
        ):
            refused()


def test_columns_of_a_spline_are_not_named_after_classes():
    res = scv.cv("stage ~ poly(x, 2)", simulated(80), model=MODEL, seed=1)
    assert res.coefficients.columns[-4:].tolist() == [
        "Intercept[>=moderate]",
        "Intercept[>=severe]",
        "poly(x, 2)[0]",
        "poly(x, 2)[1]",
    ]
    predicted = res.final.predict(simulated(80))
    np.testing.assert_allclose(
        res.final.equation().predict(simulated(80)), predicted, atol=1e-12
    )


def test_other_ordered_models_have_no_equation():
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    res = scv.cv("stage ~ x", simulated(80), model=OrderedModel, k=3, seed=1)
    with pytest.raises(EquationError, match="no coefficients that make an equation"):
        res.final.equation()


BAD = {
    "text": (
        lambda d: d.assign(stage=d["stage"].astype(str)),
        OutcomeError,
        "no order",
    ),
    "two": (lambda d: d.assign(stage=d["y"] > 0), ModelError, "model='logit'"),
    "one": (lambda d: d.assign(stage=1), OutcomeError, "one class only"),
    "numbers": (lambda d: d.assign(stage=d["x"]), OutcomeError, "has 50 classes"),
}


@pytest.mark.parametrize("name", BAD)
def test_outcomes_without_ordered_classes_are_refused(name):
    change, kind, said = BAD[name]
    with pytest.raises(kind, match=said):
        scv.cv("stage ~ x", change(simulated(50)), model=MODEL)


@pytest.mark.parametrize(
    ("formula", "more", "kind", "said"),
    [
        ("stage ~ x - 1", {}, ModelError, "leave out '- 1'"),
        ("y ~ x", {"model": "polr"}, ModelError, "Did you mean 'proportional_odds'"),
        (
            "stage ~ x",
            {"select": "backward", "model": ProportionalOdds(C=1)},
            ModelError,
            "not for ridge proportional-odds .* tune=",
        ),
        ("stage ~ x", {"model": ProportionalOdds(C=1)}, None, ""),
    ],
)
def test_what_the_model_does_not_do_is_said(formula, more, kind, said):
    call = {"model": MODEL, "seed": 1, **more}
    if kind is None:
        assert "C = 1" in scv.cv(formula, simulated(50), **call).learner.label
        return
    with pytest.raises(kind, match=said):
        scv.cv(formula, simulated(50), **call)


def test_a_class_that_no_record_has_is_named():
    data = simulated(50)
    data["stage"] = data["stage"].where(data["stage"] != "moderate", "mild")
    data["stage"] = data["stage"].cat.add_categories("dead")
    data.loc[:4, "stage"] = "dead"
    with pytest.warns(StatcvWarning, match="no record has stage = moderate: that"):
        res = scv.cv("stage ~ x", data, model=MODEL, k=4, seed=1)
    assert res.design.outcome.levels == ("mild", "severe", "dead")
    with pytest.raises(ModelError, match="C must be a positive number"):
        ProportionalOdds(C=0)
