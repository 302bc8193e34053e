"""The final model applied elsewhere: validation, and shrinkage."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import statcv as scv
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnError,
    DataError,
    FrameError,
    MissingDataWarning,
    UndefinedMetricWarning,
)
from statcv.models import Linear, Logit

REFERENCE = Path(__file__).parents[1] / "reference"
PEOPLE = pd.read_csv(REFERENCE / "equations_cases.csv")
OLD, NEW = PEOPLE[:120], PEOPLE[120:]
PUBLISHED = {
    "small": {"(Intercept)": -2.7, "age": 0.03, "sex[m]": 0.8},
    "extreme": {"(Intercept)": -4.1, "age": 0.09, "log(crp)": 1.1, "sex[m]": -0.2},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_model_is_judged_as_by_r(name):
    table = pd.read_csv(REFERENCE / "validation_r.csv", dtype={"hospital": str})
    own = table[table.model == name].set_index(["hospital", "metric"])
    model = scv.published_model(PUBLISHED[name], outcome="died")
    val = model.validate(PEOPLE, by=(np.arange(len(PEOPLE)) + 1) % 3)
    for metric, row in own.loc["all"].iterrows():
        found = val.estimate(metric)
        assert float(found) == pytest.approx(row["value"], abs=1e-9)
        assert found.se == pytest.approx(row["se"], abs=1e-7)
    by = val.metrics(by=True).astype({"group": str}).set_index(["group", "metric"])
    for hospital in ("0", "1", "2"):
        wanted = own.loc[hospital]
        found = by.loc[hospital].loc[wanted.index]
        np.testing.assert_allclose(found["estimate"], wanted["value"], atol=1e-9)
        np.testing.assert_allclose(found["se"], wanted["se"], atol=1e-7)


def test_a_validation_is_that_of_the_predictions():
    res = scv.cv("died ~ age + sex + log(crp)", OLD, k=5, seed=1)
    val = res.final.validate(NEW, stratify="race", threshold=0.4)
    given = NEW.assign(risk=res.final.predict(NEW))
    other = scv.from_predictions(
        given, observed="died", predicted="risk", cluster="race", threshold=0.4
    )
    pd.testing.assert_frame_equal(val.metrics(), other.metrics())
    assert "fitted to all 120 rows" in val.learner.label
    assert scv.compare(fitted=val, same=other).results.keys() == {"fitted", "same"}


def test_the_logarithm_of_0_has_no_prediction(tmp_path):
    final = scv.cv("died ~ age + log(crp)", OLD, k=5, seed=1).final
    final.save(tmp_path / "model.json")
    for model in (final, scv.load_model(tmp_path / "model.json")):
        predicted = model.predict(OLD.head(2).assign(crp=[0, 1])).to_numpy()
        assert np.isnan(predicted).tolist() == [True, False]


def test_a_model_is_not_saved_where_there_is_no_folder(tmp_path):
    final = scv.cv("died ~ age", OLD, k=5, seed=1).final
    with pytest.raises(ArgumentError, match="cannot write"):
        final.save(tmp_path / "none" / "model.json")


def test_points_and_slopes_say_what_they_need():
    final = scv.cv("died ~ age", OLD, k=5, seed=1).final
    with pytest.raises(ArgumentTypeError, match=r"points\(\{'age': 5\}\)"):
        final.points()
    nothing = scv.cv("died ~ 1", OLD, k=5, seed=1).final
    with (
        pytest.warns(UndefinedMetricWarning),
        pytest.raises(ArgumentError, match="the slope cannot be estimated"),
    ):
        nothing.shrunk(n_boot=9, seed=1)


def test_another_kind_of_outcome_is_not_validated():
    final = scv.cv("crp ~ age", OLD, k=5, seed=1).final
    with pytest.raises(DataError, match="two values in the new data"):
        final.validate(OLD.assign(crp=OLD["died"]))


@pytest.mark.parametrize(
    ("record", "remedy"),
    [
        ({"age": 60}, r"pandas\.DataFrame\(\[…\]\)"),
        ({"age": [60]}, r"pandas\.DataFrame\(…\)"),
        (OLD.iloc[0], r"data\.iloc\[\[0\]\]"),
    ],
)
def test_one_record_is_a_frame(record, remedy):
    final = scv.cv("died ~ age", OLD, k=5, seed=1).final
    with pytest.raises(FrameError, match=remedy):
        final.predict(record)


def test_classes_and_numbers_are_validated():
    stages = scv.cv("stage ~ age + crp", OLD, k=4, seed=1, model=Logit(C=1.0))
    val = stages.final.validate(NEW)
    predicted = stages.final.predict(NEW)
    share = (predicted.idxmax(axis=1) == NEW.stage).mean()
    assert float(val.estimate("accuracy")) == pytest.approx(share)
    cost = scv.cv("cost ~ age", OLD, k=4, seed=1).final
    error = np.sqrt(((cost.predict(NEW) - NEW.cost) ** 2).mean())
    assert float(cost.validate(NEW).estimate("rmse")) == pytest.approx(error)


def test_a_saved_model_is_validated_as_the_fitted_one(tmp_path):
    final = scv.cv("died ~ bs(age, df=4) + sex", OLD, k=4, seed=1).final
    final.save(tmp_path / "model.json")
    read = scv.load_model(tmp_path / "model.json")
    pd.testing.assert_frame_equal(
        read.validate(NEW).metrics(), final.validate(NEW).metrics()
    )


def test_incomplete_rows_are_counted_and_absent_columns_named():
    final = scv.cv("died ~ age + sex", OLD, k=4, seed=1).final
    holes = NEW.assign(predicted=1, age=[np.nan, np.nan, *NEW.age[2:]])
    with pytest.warns(MissingDataWarning, match="2 rows of 80"):
        val = final.validate(holes)
    assert val.design.n == 78
    with pytest.raises(ColumnError, match="'age'"):
        final.validate(NEW.drop(columns="age"))
    with pytest.raises(ColumnError, match="'lived'"):
        final.validate(NEW, outcome="lived")
    with pytest.raises(DataError, match="level 'x'"):
        final.validate(NEW.assign(sex="x"))
    with pytest.raises(DataError, match="no row"):
        final.validate(NEW.assign(age=np.nan))


@pytest.mark.parametrize("model", [Logit(), Linear(), Logit(C=0.1)])
def test_a_shrunk_model_has_the_intercept_of_an_offset(model):
    outcome = "cost" if isinstance(model, Linear) else "died"
    formula = f"{outcome} ~ bs(age, df=4) + sex + log(crp)"
    final = scv.cv(formula, OLD, model=model, k=4, seed=1).final
    shrunk = final.shrunk(0.7)
    equation = final.equation()
    eta = 0.7 * equation.linear(OLD)[:, 0]
    family = sm.families.Gaussian() if outcome == "cost" else sm.families.Binomial()
    fit = sm.GLM(OLD[outcome], np.ones(len(OLD)), family, offset=eta).fit(tol=1e-14)
    np.testing.assert_allclose(shrunk.predict(OLD), fit.predict(), atol=1e-9)
    assert shrunk.predict(OLD).mean() == pytest.approx(OLD[outcome].mean())


def test_the_slope_is_corrected_for_optimism_unless_given():
    res = scv.cv("died ~ age + sex + bmi + crp", OLD, k=4, seed=1)
    slope = float(res.optimism_corrected("calibration_slope", n_boot=60, seed=3))
    by_default = res.final.shrunk(n_boot=60, seed=3)
    expected = res.final.shrunk(slope).predict(NEW)
    np.testing.assert_allclose(by_default.predict(NEW), expected)
    with pytest.raises(ArgumentError, match="above 0"):
        res.final.shrunk(-0.2)
    with pytest.raises(ArgumentTypeError, match="slope must be a number"):
        res.final.shrunk("0.8")
    classes = scv.cv("stage ~ age", OLD, k=4, seed=1, model=Logit(C=1.0))
    with pytest.raises(ArgumentError, match="not several classes"):
        classes.final.shrunk(0.5)
