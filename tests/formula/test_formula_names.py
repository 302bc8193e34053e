"""Names are columns of the data; the caller's scope offers functions, not data."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy import log

from statcv import cv
from statcv.errors import ColumnError, FormulaError, StatcvWarning
from statcv.formula import make_design

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning"
)


N = 30
age = np.arange(N)  # a variable of the script, not a column


@pytest.fixture
def data():
    rng = np.random.default_rng(8)
    names = ["x", "scale", "C", "np", "log", "sum", "center", "Q", "weight_kg"]
    frame = pd.DataFrame({name: rng.uniform(1, 3, N) for name in names})
    return frame.assign(y=np.arange(N) % 2, g=np.tile(["a", "b", "c"], N // 3))


SCOPE = {"np": np, "log": log, "age": age, "degree": 3}


@pytest.mark.parametrize("formula", ["y ~ .", "y ~ . + x", "y ~ Intercept + x"])
def test_a_column_called_as_the_intercept_is_refused(formula):
    data = pd.DataFrame({"Intercept": [1.0, 2, 4], "x": [3.0, 1, 2], "y": [0, 1, 0]})
    with pytest.raises(FormulaError, match="two columns of the matrix are called"):
        make_design(formula, data, scope={})
    alone = make_design("y ~ . - 1", data, scope={})
    assert alone.names == ("Intercept", "x")


def test_terms_rise_by_degree_with_the_intercept_first(data):
    formula = make_design("y ~ x:Q + scale + C:x:Q + x", data, scope=SCOPE).formula
    assert formula.intercept
    assert formula.terms == ((), ("scale",), ("x",), ("x", "Q"), ("C", "x", "Q"))


# ---- what is missing ----


def test_a_variable_of_the_script_is_not_a_column(data):
    with pytest.raises(ColumnError, match=r"no column 'age'.*variable of that name in"):
        cv("y ~ x + age", data, seed=1)
    local = data["x"].to_numpy()
    assert len(local) == N
    with pytest.raises(ColumnError, match=r"no column 'local'.*not used"):
        cv("y ~ np.log(local)", data, seed=1)
    with pytest.raises(KeyError, match="no column 'local'"):
        cv("local ~ x", data, seed=1)


@pytest.mark.parametrize("term", ["I(x * age)", "bs(x, df=degree)", "x:age"])
def test_a_variable_of_the_script_inside_a_term_is_not_a_column(data, term):
    with pytest.raises(ColumnError, match="variable of that name in your script"):
        make_design(f"y ~ {term}", data, scope=SCOPE)


@pytest.mark.parametrize(
    ("formula", "near"),
    [
        ("y ~ wieght_kg", "weight_kg"),
        ("y ~ x + Weight_KG", "weight_kg"),
        ("y ~ Q('weight kg')", "weight_kg"),
        ("y ~ np.log(scal)", "scale"),
        ("yy ~ x", "y"),
    ],
)
def test_the_nearest_column_is_suggested(data, formula, near):
    with pytest.raises(ColumnError) as error:
        make_design(formula, data, scope=SCOPE)
    assert "there is no column" in str(error.value)
    assert f"Did you mean {near!r}?" in str(error.value)
    assert isinstance(error.value, KeyError)


@pytest.mark.parametrize(
    ("term", "near"),
    [("scael(x)", "scale"), ("exp2(x)", "np.exp2"), ("cbrt(x)", "np.cbrt")],
)
def test_an_unknown_function_is_named(data, term, near):
    with pytest.raises(FormulaError, match="not a known function") as error:
        make_design(f"y ~ {term}", data, scope={"np": np})
    assert f"Did you mean {near!r}?" in str(error.value)


@pytest.mark.parametrize(
    ("term", "same"),
    [
        *(("log(x)", "np.log(x)"), ("sqrt(x)", "np.sqrt(x)"), ("exp(x)", "np.exp(x)")),
        *(("log2(x)", "np.log2(x)"), ("log10(x)", "np.log10(x)")),
        *(("log1p(x)", "np.log1p(x)"), ("abs(x - 3)", "np.abs(x - 3)")),
        *(("ceiling(x)", "np.ceil(x)"), ("atan(x)", "np.arctan(x)")),
        *(("round(x, 1)", "np.round(x, 1)"), ("log(x, 2)", "np.log2(x)")),
        *(("I(x^2)", "I(x**2)"), ("I(1 + x^2)", "I(1 + x**2)")),
        *(("I(-x^2)", "I(-(x**2))"), ("log(x)^2", "np.log(x)")),
        *(("(x + z)^2", "(x + z)**2"), ("I(log(x)^2)", "I(np.log(x)**2)")),
    ],
)
def test_functions_and_powers_mean_what_they_mean_in_r(term, same):
    given = pd.DataFrame({"x": np.linspace(0.5, 9, N), "z": np.arange(N) % 3})
    given["y"] = np.arange(N) % 2
    found = make_design(f"y ~ {term}", given, scope={})
    expected = make_design(f"y ~ {same}", given, scope={"np": np})
    np.testing.assert_allclose(found.matrix, expected.matrix, rtol=1e-14)


def test_a_function_of_the_script_comes_before_that_of_r(data):
    def log(x):
        return x + 1

    scopes = {"own": {"log": log}, "math": {"log": math.log}}
    found = {
        name: make_design("y ~ log(abs(x) + 1)", data, scope=scope).matrix[:, 1]
        for name, scope in scopes.items()
    }
    x = np.abs(data["x"].to_numpy(float))
    np.testing.assert_allclose(found["own"], x + 2)
    np.testing.assert_allclose(found["math"], np.log(x + 1))


def test_a_column_may_have_the_name_of_a_function(data):
    design = make_design(
        "y ~ log(log) + log", data.assign(log=data["x"] ** 2 + 1), scope={}
    )
    np.testing.assert_allclose(design.matrix[:, 1], np.log(design.matrix[:, 2]))


@pytest.mark.parametrize("outcome", ["x^2", "x**2", "x - z", "x / z", "-x", "2 * x"])
def test_the_left_side_is_computed_as_in_r(data, outcome):
    given = data.assign(x=data["x"].astype(float), z=1.0 + np.arange(len(data)) % 3)
    design = make_design(f"{outcome} ~ w", given.assign(w=given["z"]), scope={})
    expected = eval(outcome.replace("^", "**"), {"x": given["x"], "z": given["z"]})
    np.testing.assert_allclose(design.y, expected)


@pytest.mark.parametrize("word", ["class", "in", "lambda", "from", "None", "is"])
@pytest.mark.parametrize("term", ["{}", "x + {}", "log({})"])
def test_words_of_python_are_written_in_backticks(data, word, term):
    given = data.assign(**{word: np.arange(len(data)) + 1.0})
    if word != "None" or "log" not in term:
        with pytest.raises(FormulaError, match=f"backticks, `{word}`"):
            make_design(f"y ~ {term.format(word)}", given, scope={})
    design = make_design(f"y ~ {term.format(f'`{word}`')}", given, scope={})
    assert word in design.formula.columns


@pytest.mark.parametrize("term", ["{}", "x + {}", "log({})", "{}:x"])
def test_names_with_dots_are_written_in_backticks(data, term):
    given = data.assign(**{"x.years": np.arange(len(data)) + 1.0})
    with pytest.raises(ColumnError, match=r"in backticks, `x\.years`"):
        make_design(f"y ~ {term.format('x.years')}", given, scope={})
    design = make_design(f"y ~ {term.format('`x.years`')}", given, scope={})
    assert "x.years" in design.formula.columns


@pytest.mark.parametrize("name", ["pd", "len", "Treatment", "print"])
def test_a_function_or_module_by_itself_is_not_a_term(data, name):
    with pytest.raises(ColumnError, match=f"no column {name!r}"):
        make_design(f"y ~ x + {name}", data, scope={"pd": pd})


def test_data_in_scope_never_replace_a_column(data):
    wrong = {"x": np.zeros(N), "y": np.zeros(N), **SCOPE}
    ours = make_design("y ~ x + np.log(x)", data.drop(columns="np"), scope=wrong)
    np.testing.assert_array_equal(ours.matrix[:, 1], data["x"])
    np.testing.assert_array_equal(ours.matrix[:, 2], np.log(data["x"]))


# ---- columns that share their name with a function ----


def column(data, term, which=-1, scope=SCOPE):
    return make_design(f"y ~ {term}", data, scope=scope).matrix[:, which]


@pytest.mark.parametrize("name", ["scale", "C", "np", "log", "sum", "center", "Q"])
def test_as_columns(data, name):
    for term in (name, f"Q({name!r})", f"x + {name}", f"I({name})"):
        np.testing.assert_array_equal(column(data, term), data[name])


def test_as_functions_and_as_both(data):
    d = data
    np.testing.assert_allclose(column(d, "log(x)"), np.log(d["x"]))
    np.testing.assert_allclose(column(d, "log(log)"), np.log(d["log"]))
    np.testing.assert_allclose(column(d, "log(x) + log", 1), np.log(d["x"]))
    np.testing.assert_allclose(column(d, "log(x) + log", 2), d["log"])
    np.testing.assert_allclose(column(d, "np.log(x)"), np.log(d["x"]))
    np.testing.assert_allclose(column(d, "np.log(np)"), np.log(d["np"]))
    np.testing.assert_allclose(column(d, "I(np.exp(x) * np)"), np.exp(d["x"]) * d["np"])
    np.testing.assert_allclose(column(d, "Q('np').abs()"), d["np"])
    np.testing.assert_allclose(column(d, "C(g) + C"), d["C"])
    assert make_design("y ~ C(g) + C", d, scope=SCOPE).names == (
        "Intercept", "C(g)[T.b]", "C(g)[T.c]", "C",
    )  # fmt: skip
    np.testing.assert_allclose(column(d, "I(Q('x') + Q)"), d["x"] + d["Q"])


def test_names_in_stateful_terms(data):
    training, others = np.arange(20), np.arange(20, N)
    for name in ("scale", "center"):
        design = make_design(f"y ~ {name}({name}) + {name}", data, scope=SCOPE)
        other = data.rename(columns={name: "column"})
        plain = make_design(f"y ~ {name}(column) + column", other, scope=SCOPE)
        assert design.terms.stateful
        assert design.names == ("Intercept", f"{name}({name})", name)
        for ours, theirs in zip(
            design.fold(training, others), plain.fold(training, others), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)


def test_the_whole_frame_by_dot(data):
    design = make_design("y ~ . + scale(x) + log(x)", data, scope=SCOPE)
    assert design.names[1:10] == tuple(data.columns[:9])
    np.testing.assert_array_equal(design.matrix[:, 1:10], data.iloc[:, :9])


def test_an_ambiguous_name_raises_an_error(data):
    with pytest.raises(FormulaError, match=r"np\.abs .* Q\('np'\)\.abs"):
        make_design("y ~ np.abs(x)", data, scope=SCOPE)
    ours = data.rename(columns={"np": "other"})
    np.testing.assert_array_equal(column(ours, "np.abs(x)"), data["x"].abs())
    # no module of that name: the column's own method
    np.testing.assert_array_equal(column(data, "np.abs()", scope={}), data["np"])


def test_a_column_named_as_a_module_without_the_attribute(data):
    import time

    data = data.assign(time=pd.date_range("2024-01-01", periods=N))
    found = column(data, "time.dt.day", scope={"time": time})
    np.testing.assert_array_equal(found, data["time"].dt.day)


def test_update_in_another_scope_finds_the_functions_of_the_first_call(data):
    def call():
        def half(values):
            return values / 2

        return cv("x ~ half(weight_kg)", data, k=3, seed=1)

    again = call().update(k=4)
    np.testing.assert_array_equal(again.design.matrix[:, 1], data["weight_kg"] / 2)


def test_q_takes_a_name_in_quotes(data):
    for term in ("I(Q(x))", "Q(x)", "I(Q('x', 'y'))"):
        with pytest.raises(FormulaError, match="name of a column in quotes"):
            make_design(f"y ~ {term}", data, scope=SCOPE)


@pytest.mark.parametrize("kind", ["object", "str", "category"])
def test_levels_that_differ_only_in_case_or_spaces_are_named(kind):
    rng = np.random.default_rng(4)
    words = np.array(["m", "f"])[np.arange(60) % 2].astype(object)
    words[[0, 2]], words[4] = "M", "m "
    given = pd.DataFrame({"x": rng.normal(size=60), "sex": words})
    given = given.assign(y=rng.permutation(60) % 2, sex=given["sex"].astype(kind))
    said = r"levels of 'sex' differ only in case or spaces: 'm' \(27\), 'M' \(2\) and"
    with pytest.warns(StatcvWarning, match=said):
        make_design("y ~ x + sex", given, scope={})
    with pytest.warns(StatcvWarning, match=said):
        make_design("sex ~ x", given, scope={})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_design("y ~ x + C(sex)", given, scope={})  # as they are
        repaired = given["sex"].str.strip().str.lower()
        make_design("y ~ x + sex", given.assign(sex=repaired), scope={})
