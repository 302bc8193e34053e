"""Nomograms, against those of rms (tests/reference/nomogram.R)."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.errors import ArgumentError, ColumnError, EquationError

REFERENCE = Path(__file__).parents[1] / "reference"
IN_R = pd.read_csv(REFERENCE / "nomogram_r.csv", dtype={"value": str})
# natural splines with these knots are the space of rcs(age, c(25, 40, 60, 75))
SPLINE = "cr(age, knots=(40, 60), lower_bound=25, upper_bound=75)"
CRP = {"crp": [0.2, 0.5, 1, 2, 5, 10, 20]}
CASES = {
    "covariates": ("died ~ age + bmi + crp", {}),
    "negative": ("alive ~ age + sex", {}),
    "spline and factor": (f"died ~ {SPLINE} + sex + race", {}),
    "log and factor": ("died ~ log(crp) + C(grade) + bmi", {"values": CRP}),
    "interaction": ("died ~ age * sex + C(grade)", {}),
    "number": ("cost ~ age + race + crp", {}),
}


@pytest.fixture(scope="module")
def people():
    made = pd.read_csv(REFERENCE / "equations_cases.csv")
    return made.assign(alive=1 - made["died"])


def final(formula, people):
    return scv.cv(formula, people, k=2, seed=1).final


def said(value):
    return value if isinstance(value, str) else f"{value:g}"


@pytest.mark.filterwarnings("ignore::statcv.errors.CollinearityWarning")
@pytest.mark.parametrize("case", CASES)
def test_points_and_totals_are_those_of_rms(people, case):
    formula, asked = CASES[case]
    ours = final(formula, people).nomogram(**asked)
    theirs = IN_R[IN_R["case"] == case]
    axes = theirs[~theirs["axis"].isin(["lp", "risk"])]
    own = ours.iloc[: len(axes)]
    assert own["axis"].tolist() == axes["axis"].tolist()
    assert [*map(said, own["value"])] == axes["value"].tolist()
    np.testing.assert_allclose(own["points"], axes["points"], atol=1e-8)
    label = "Expected cost" if case == "number" else "Linear predictor"
    for axis, name in (("lp", label), ("risk", "Risk of ")):
        rows = ours[ours["axis"].str.startswith(name)]
        for value, points in theirs.loc[
            theirs["axis"] == axis, ["value", "points"]
        ].itertuples(index=False):
            x = rows["value"].astype(float)
            found = np.interp(float(value), x, rows["points"])
            assert found == pytest.approx(points, abs=1e-8)


def total_of(table, row, groups):
    """The sum of the points that are read from the axes of a record."""
    total = 0.0
    for axis, column in groups:
        own = table[table["axis"] == axis]
        if isinstance(own["value"].iloc[0], str):
            total += own.loc[own["value"] == str(row[column]), "points"].iloc[0]
        else:
            x = own["value"].astype(float)
            total += np.interp(row[column], x, own["points"])
    return total


@pytest.mark.parametrize("written", ["shrunk", "loaded", "published"])
def test_what_is_read_is_what_is_predicted(people, written, tmp_path):
    """The sum of points, on the axis of the linear predictor, is the log-odds."""
    model = final("died ~ age + sex + flag", people)
    asked = {} if written == "shrunk" else {"values": {"age": [0, 55, 110]}}
    if written == "shrunk":
        model = model.shrunk(0.8)
    if written == "loaded":
        model.save(tmp_path / "model.json")
        model = scv.load_model(tmp_path / "model.json")
    if written == "published":
        model = scv.published_model(
            {"(Intercept)": -2, "age": 0.03, "sex[m]": 0.3, "flag": -1},
            outcome="died",
            reference={"sex": "f"},
        )
        asked["values"]["flag"] = [0, 1]
    table = model.nomogram(**asked)
    linear = table[table["axis"] == "Linear predictor"]
    groups = [(name, name) for name in ("age", "sex", "flag")]
    for _, row in people.head(20).assign(age=lambda d: d.age.clip(0, 110)).iterrows():
        one = row if written != "published" else row.replace({True: 1.0, False: 0.0})
        total = total_of(table, one, groups)
        slope, start = np.polyfit(linear["points"], linear["value"].astype(float), 1)
        risk = float(model.predict(pd.DataFrame([row])).iloc[0])
        assert start + slope * total == pytest.approx(np.log(risk / (1 - risk)))


def test_the_reference_of_a_publication_may_have_no_name():
    model = scv.published_model({"1": -1, "sex[m]": 0.3})
    own = model.nomogram()
    assert own.loc[own["axis"] == "sex", "value"].tolist() == ["other", "m"]


def test_where_a_function_has_no_value_other_round_values_are_shown(people):
    table = final("died ~ log(crp) + sex", people).nomogram()
    values = table.loc[table["axis"] == "crp", "value"].tolist()
    assert values[:3] == [0.1, 0.2, 0.5]
    assert values[0] < people["crp"].min()
    assert values[-1] > people["crp"].max() > values[-2]


def test_a_column_of_few_values_shows_each(people):
    table = final("died ~ grade + age", people).nomogram(at=[0.5, 0.25])
    assert table.loc[table["axis"] == "grade", "value"].tolist() == [1.0, 2.0, 3.0]
    assert table["value"].tolist()[-2:] == [0.25, 0.5]


def test_covariates_that_interact_have_an_axis_for_each_value_that_is_given(people):
    model = final("died ~ age * bmi", people)
    with pytest.raises(EquationError, match="'age' and 'bmi' interact"):
        model.nomogram()
    names = model.nomogram(values={"bmi": [20, 30]})["axis"].unique()
    assert names[:2].tolist() == ["age (bmi = 20)", "age (bmi = 30)"]


@pytest.mark.parametrize(
    ("formula", "asked", "error", "message"),
    [
        ("stage ~ age", {}, EquationError, "two classes"),
        ("died ~ 1", {}, EquationError, "no predictor"),
        ("died ~ age", {"values": {"agee": [1, 2]}}, ColumnError, "'age'"),
        ("died ~ age", {"values": {"age": 50}}, ArgumentError, "a list for 'age'"),
        ("died ~ age", {"values": {"age": ["old"]}}, ArgumentError, "a list for"),
        ("died ~ age", {"values": {"age": []}}, ArgumentError, "a list for 'age'"),
        ("died ~ log(crp)", {"values": {"crp": [0, 1]}}, EquationError, "no value"),
        ("died ~ age + sex", {"values": {"sex": ["x"]}}, EquationError, "sex is x"),
        ("died ~ age", {"at": [0, 0.5]}, ArgumentError, "from 0."),
        ("died ~ age", {"at": [1e-9]}, ArgumentError, "from 0."),
        ("cost ~ age", {"at": [0.5]}, ArgumentError, "has none"),
    ],
)
def test_what_has_no_nomogram_is_said(people, formula, asked, error, message):
    with pytest.raises(error, match=message):
        final(formula, people).nomogram(**asked)


def test_a_loaded_model_knows_the_values_and_the_share_of_events(people, tmp_path):
    full = final("died ~ age + grade + sex", people)
    full.save(tmp_path / "model.json")
    model = scv.load_model(tmp_path / "model.json")
    assert model.nomogram().equals(full.nomogram())
    assert model.seen["grade"] == [1, 2, 3]
    assert model.share == people["died"].mean()
    whole = json.loads((tmp_path / "model.json").read_text())
    assert whole["mean"] == model.share


def test_a_published_model_needs_values():
    model = scv.published_model({"1": -1, "age": 0.03, "sex[m]": 0.3})
    with pytest.raises(EquationError, match=r"values=\{'age': \[...\]\}"):
        model.nomogram()


@pytest.mark.parametrize("start", [-7.0, 0.0, 4.0])
def test_risks_that_differ_little_are_shown_at_round_values(start):
    model = scv.published_model({"1": start, "sex[m]": 0.3}, reference={"sex": "f"})
    table = model.nomogram()
    risks = table.loc[table["axis"].str.startswith("Risk"), "value"].astype(float)
    ends = model.predict(pd.DataFrame({"sex": ["f", "m"]}))
    assert len(risks) >= 3
    assert risks.between(*ends).all()
