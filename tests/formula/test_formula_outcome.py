"""Outcomes of every kind: the positive class, and notes on what was assumed."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from statcv import cv
from statcv.errors import DataError, FormulaError, MissingDataWarning, OutcomeError
from statcv.formula import make_design

N = 12
CODES = np.array([0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0])
X = np.random.default_rng(2).normal(size=N)


def outcome(values, left="y", **keywords):
    data = pd.DataFrame({"x": X}).assign(y=values)
    return make_design(f"{left} ~ x", data, scope={"np": np}, **keywords).outcome


WORDS = np.where(CODES == 1, "yes", "no")
BINARY = {
    "int": (CODES, (0, 1)),
    "int8": (CODES.astype("int8"), (0, 1)),
    "float": (CODES.astype(float), (0, 1)),
    "bool": (CODES == 1, (False, True)),
    "object bool": ((CODES == 1).astype(object), (False, True)),
    "boolean": (pd.array(CODES == 1, dtype="boolean"), (False, True)),
    "Int64": (pd.array(CODES, dtype="Int64"), (0, 1)),
    "Float64": (pd.array(CODES, dtype="Float64"), (0, 1)),
    "bool[pyarrow]": (pd.array(CODES == 1, dtype="bool[pyarrow]"), (False, True)),
    "int64[pyarrow]": (pd.array(CODES, dtype="int64[pyarrow]"), (0, 1)),
    "double[pyarrow]": (pd.array(CODES, dtype="double[pyarrow]"), (0, 1)),
    "object text": (WORDS.astype(object), ("no", "yes")),
    "string": (pd.array(WORDS, dtype="string"), ("no", "yes")),
    "string[pyarrow]": (pd.array(WORDS, dtype="string[pyarrow]"), ("no", "yes")),
    "arrow string": (pd.array(WORDS, dtype=pd.ArrowDtype(pa.string())), ("no", "yes")),
    "arrow dictionary": (
        pd.Series(WORDS).astype(pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
        ("no", "yes"),
    ),
    "category": (pd.Categorical(WORDS), ("no", "yes")),
    "ordered": (
        pd.Categorical(WORDS, categories=["no", "yes", "maybe"], ordered=True),
        ("no", "yes"),
    ),
    "two numbers": (np.where(CODES == 1, 7.5, 2), (2, 7.5)),
    "category of numbers": (pd.Categorical(CODES + 1), (1, 2)),
}


@pytest.mark.parametrize("kind", BINARY)
def test_the_second_level_is_positive(kind):
    values, levels = BINARY[kind]
    found = outcome(values)
    assert (found.kind, found.levels, found.positive) == ("binary", levels, levels[1])
    assert [type(level) for level in found.levels] == [type(level) for level in levels]
    np.testing.assert_array_equal(found.y, CODES)
    assert found.counts == {levels[0]: 7, levels[1]: 5}
    assert found.describe() == f"{levels[1]} (5) against {levels[0]} (7); " + (
        f"{levels[1]} is positive"
    )


def test_the_order_of_a_category_is_kept():
    backwards = pd.Categorical(WORDS, categories=["yes", "no"])
    found = outcome(backwards)
    assert found.levels == ("yes", "no")
    np.testing.assert_array_equal(found.y, 1 - CODES)


@pytest.mark.parametrize(
    ("values", "positive"),
    [
        (CODES, 0),
        (CODES, "0"),
        (CODES, False),
        (CODES, 0.0),
        (CODES, np.int64(0)),
        (CODES.astype(float), 0),
        (CODES == 1, False),
        (CODES == 1, np.bool_(False)),
        (CODES == 1, 0),
        (CODES == 1, "False"),
        (CODES.astype(str), "0"),
        (CODES.astype(str), 0),
        (WORDS, "no"),
        (pd.Categorical(WORDS), np.str_("no")),
        (np.where(CODES == 1, 7.5, 2), 2),
        (np.where(CODES == 1, 7.5, 2), "2"),
    ],
)
def test_positive_can_make_the_first_level_positive(values, positive):
    found = outcome(values, positive=positive)
    np.testing.assert_array_equal(found.y, 1 - CODES)
    assert found.positive == outcome(values).levels[0]


@pytest.mark.parametrize("positive", [1, "1", True, 1.0])
def test_positive_may_repeat_the_default(positive):
    np.testing.assert_array_equal(outcome(CODES, positive=positive).y, CODES)


@pytest.mark.parametrize(
    "positive", ["yess", 3, "2", [1], np.array([0, 1]), pd.NA, np.nan, ""]
)
def test_positive_must_be_a_level(positive):
    with pytest.raises(
        OutcomeError, match=r"is not a level of 'y', which has 'no' and"
    ):
        outcome(WORDS, positive=positive)
    with pytest.raises(ValueError, match=r"is not a level of 'y', which has 0 and 1"):
        outcome(CODES, positive=positive)


def test_a_misspelt_level_is_suggested():
    with pytest.raises(OutcomeError, match="Did you mean 'yes'"):
        outcome(WORDS, positive="yess")


# ---- more classes, and numbers ----


def test_three_levels():
    found = outcome(np.tile(["b", "c", "a"], 4))
    assert (found.kind, found.levels) == ("multiclass", ("a", "b", "c"))
    np.testing.assert_array_equal(found.y, np.tile([1, 2, 0], 4))
    assert found.positive is None
    assert found.describe() == "3 classes: a (4), b (4), c (4)"
    with pytest.raises(OutcomeError, match="two classes, but 'y' has 3: a, b, c"):
        outcome(np.tile(["b", "c", "a"], 4), positive="a")


def test_continuous_outcomes():
    found = outcome(X)
    assert (found.kind, found.levels, found.notes) == ("continuous", (), ())
    np.testing.assert_array_equal(found.y, X)
    with pytest.raises(OutcomeError, match=r"12 values; write I\(y == 3\) ~"):
        outcome(X, positive=3)


def test_what_was_assumed_is_noted():
    few = outcome(np.tile([1, 2, 3], 4))
    assert few.kind == "continuous"
    assert few.notes == ("y was taken as numbers; write C(y) for 3 classes",)
    two = outcome(np.tile([1, 2], 6))
    assert two.notes == ("y has two values and was taken as two classes",)
    assert outcome(CODES).notes == outcome(np.tile([0.5, 1, 2], 4)).notes == ()
    many = outcome(np.arange(12))
    assert (many.kind, many.notes) == ("continuous", ())


def test_notes_reach_the_summary():
    data = pd.DataFrame({"x": X, "y": np.tile([1, 2, 3], 4)})
    text = str(cv("y ~ x", data, k=3, seed=1).summary())
    assert "y was taken as numbers; write C(y) for 3 classes" in text


# ---- expressions ----


def test_expressions_on_the_left():
    numbers = np.tile([3, 1, 2], 4)
    found = outcome(numbers, "C(y)")
    assert (found.kind, found.levels) == ("multiclass", (1, 2, 3))
    found = outcome(numbers, "C(y, levels=[2, 3, 1])")
    assert found.levels == (2, 3, 1)
    np.testing.assert_array_equal(found.y, np.tile([1, 2, 0], 4))
    found = outcome(WORDS, "C(y, levels=['yes', 'no'])")
    assert found.positive == "no"
    found = outcome(numbers, "I(y > 1)")
    assert (found.kind, found.levels) == ("binary", (False, True))
    np.testing.assert_array_equal(found.y, numbers > 1)
    found = outcome(numbers, "y > 1")
    np.testing.assert_array_equal(found.y, numbers > 1)
    found = outcome(np.exp(X), "np.log(y)")
    np.testing.assert_allclose(found.y, X)
    assert (found.kind, found.name) == ("continuous", "np.log(y)")
    found = outcome(WORDS, "np.where(y == 'yes', 'case', 'control')")
    assert found.levels == ("case", "control")
    np.testing.assert_array_equal(outcome(CODES, "I(1 - y)").y, 1 - CODES)


@pytest.mark.parametrize("left", ["Q('odd outcome')", 'Q("odd outcome")'])
def test_an_outcome_with_an_odd_name(left):
    data = pd.DataFrame({"x": X, "odd outcome": WORDS, "z": X**2})
    found = make_design(f"{left} ~ .", data, scope={})
    assert found.outcome.levels == ("no", "yes")
    assert found.names == ("Intercept", "x", "z")
    np.testing.assert_array_equal(found.y, CODES)
    deeper = make_design(f"I({left} == 'no') ~ .", data, scope={})
    np.testing.assert_array_equal(deeper.y, 1 - CODES)


def test_an_outcome_of_two_columns():
    data = pd.DataFrame({"x": X, "a": X**2, "b": CODES + 1.0, "w": 1.0})
    found = make_design("I(a / b) ~ .", data, scope={})
    assert found.names == ("Intercept", "x", "w")
    np.testing.assert_array_equal(found.y, X**2 / (CODES + 1))


def test_a_function_named_as_the_outcome():
    data = pd.DataFrame({"x": X, "log": np.exp(X)})
    found = make_design("log(log) ~ x", data, scope={"log": np.log})
    np.testing.assert_allclose(found.y, X)


# ---- what cannot be an outcome ----


@pytest.mark.parametrize(
    ("values", "error", "match"),
    [
        (np.ones(N), OutcomeError, r"'y' has one class only \(1\)"),
        (["a"] * N, OutcomeError, r"'y' has one class only \('a'\)"),
        ([True] * N, OutcomeError, "one class only"),
        (np.full(N, 5.5), OutcomeError, "'y' is constant: always 5.5"),
        (pd.date_range("2024", periods=N), OutcomeError, "is a date"),
        (pd.date_range("2024", periods=N, tz="UTC"), OutcomeError, "is a date"),
        (pd.to_timedelta(np.arange(N), "D"), DataError, "time differences"),
        ([f"id {i}" for i in range(N)], OutcomeError, "12 classes in 12 rows"),
        (np.where(CODES, np.inf, X), DataError, "'y' has 5 infinite values"),
        ([1j] * N, DataError, "complex"),
        (["a", 1] * 6, DataError, "'y' mixes values of several types"),
    ],
)
def test_invalid_outcomes_raise_an_error(values, error, match):
    with pytest.raises(error, match=match):
        outcome(values)


@pytest.mark.parametrize(
    ("left", "error", "match"),
    [
        ("np.log(y)", DataError, r"'np\.log\(y\)' is not a number in \d rows"),
        ("np.log(y * 0)", DataError, r"infinite"),
        ("C(k, levels=[0])", DataError, r"not one of the levels in 5 rows"),
        ("y + k", FormulaError, "one outcome on the left of '~', not 2 terms"),
        ("y:k", FormulaError, "one outcome on the left"),
        ("y - 1", FormulaError, "one outcome on the left"),
        ("0", FormulaError, "one outcome on the left"),
        ("sum(y)", FormulaError, r"there is no sum\(\) in formulas"),
        ("scale(y)", FormulaError, "learns from all rows"),
        ("np.nothing(y)", FormulaError, r"there is no np\.nothing"),
    ],
)
def test_invalid_expressions_raise_an_error(left, error, match):
    data = pd.DataFrame({"x": X, "y": X - 0.5, "k": CODES})
    with pytest.raises(error, match=match):
        make_design(f"{left} ~ x", data, scope={"np": np})


# ---- missing ones ----


@pytest.mark.parametrize(
    "values",
    [
        np.where(CODES == 0, np.nan, X),
        pd.array(np.where(CODES == 0, None, X), dtype="Float64"),
        pd.array(np.where(CODES == 0, None, X), dtype="double[pyarrow]"),
        np.where(CODES == 0, None, X),
    ],
)
@pytest.mark.parametrize("na_action", ["drop", "pass"])
def test_missing_outcomes_are_dropped_and_counted(values, na_action):
    data = pd.DataFrame({"x": X}).assign(y=values)
    design = make_design("y ~ x", data, scope={}, na_action=na_action)
    assert (design.n, design.n_given) == (5, 12)
    assert design.missing == {"y": 7}
    np.testing.assert_array_equal(design.kept, np.flatnonzero(CODES))
    np.testing.assert_allclose(design.y, X[CODES == 1])


@pytest.mark.parametrize(
    "values",
    [
        pd.array([None, *(CODES[1:] == 1)], dtype="boolean"),
        pd.array([None, *CODES[1:]], dtype="Int64"),
        pd.array([None, *CODES[1:]], dtype="int64[pyarrow]"),
        pd.array([None, *WORDS[1:]], dtype="string"),
        [None, *WORDS[1:]],
        [None, *(CODES[1:] == 1)],
        [np.nan, *CODES[1:]],
        pd.Categorical([None, *WORDS[1:]]),
    ],
)
def test_missing_classes_are_dropped_and_counted(values):
    data = pd.DataFrame({"x": X}).assign(y=values)
    said = r"1 of 12 rows were omitted: missing y 1\.$"  # outcomes are not imputed
    with pytest.warns(MissingDataWarning, match=said):
        result = cv("y ~ x", data, k=3, metrics="brier", seed=1)
    np.testing.assert_array_equal(result.design.y, CODES[1:])
    assert result.rows == "n = 11 of 12, 1 incomplete"
    assert result.design.outcome.kind == "binary"
