"""Bad input: a StatcvError that is also the builtin error, and says what is wrong."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import statcv as scv
from statcv import compare, cv, fold_plan
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnError,
    ComparisonError,
    DataError,
    FoldWarning,
    FormulaError,
    FrameError,
    MetricError,
    MissingDataWarning,
    ModelError,
    OutcomeError,
    SchemeError,
    StatcvError,
    StatcvWarning,
)
from statcv.folds import make_plan
from statcv.formula.text_numbers import warn_of_codes

N = 40
ROWS = np.arange(N)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "y": ROWS % 2,
            "amount": rng.normal(size=N),
            "age": rng.normal(size=N),
            "positive": rng.uniform(1, 2, N),
            "g": rng.choice(list("abc"), N),
        }
    )
    return frame.assign(y=rng.permutation(frame["y"]))


def refused(error, words, function, *arguments, **keywords):
    """Check type, builtin base and words of what a call raises; return the text."""
    with pytest.raises(error) as caught:
        function(*arguments, **keywords)
    assert issubclass(error, StatcvError)
    bases = (ValueError, TypeError, KeyError, ImportError, OSError, RuntimeError)
    assert issubclass(error, bases)
    text = str(caught.value)
    for word in [words] if isinstance(words, str) else words:
        assert word in text, text
    return text


def test_every_error_is_a_builtin_one_too():
    kinds = {
        FrameError: TypeError, DataError: ValueError, ColumnError: KeyError,
        FormulaError: ValueError, OutcomeError: ValueError, SchemeError: ValueError,
        ModelError: ValueError, MetricError: ValueError, ArgumentError: ValueError,
        ArgumentTypeError: TypeError, ComparisonError: ValueError,
    }  # fmt: skip
    for error, builtin in kinds.items():
        assert issubclass(error, builtin)
        assert issubclass(error, StatcvError)
        assert str(error("a message")) == "a message"  # KeyError alone adds quotes


# ---- data ----


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"y": [0, 1]}, "dict; wrap it in pandas.DataFrame"),
        ([[0, 1]], "list; wrap it in pandas.DataFrame"),
        (np.eye(3), "ndarray; wrap it in pandas.DataFrame"),
        ("trial.csv", "not str; statcv.read_table(path) reads a file"),
        (3, "not int"),
        (pd.Series([1.0]), "not Series"),
        (pl.Series([1.0]), "not Series"),
    ],
)
def test_data_that_are_no_frame(wrong, kind):
    text = refused(FrameError, kind, cv, "y ~ x", wrong)
    assert text.startswith("data must be a data frame")


def test_no_data_at_all(data):
    text = refused(ArgumentTypeError, "cv() needs data", cv, "y ~ x")
    assert text == refused(ArgumentTypeError, "", cv, "y ~ x", None)
    result = cv("y ~ age", data, seed=1)
    assert text == refused(ArgumentTypeError, "", result.update, data=None)
    refused(FrameError, "not str", cv, data, "y ~ age")


def test_an_empty_frame(data):
    text = refused(DataError, "empty: it has no rows", cv, "y ~ age", data.iloc[:0])
    polars = pl.from_pandas(data).head(0)
    assert text == refused(DataError, "", cv, "y ~ age", polars)
    refused(DataError, "empty: it has no columns", cv, "y ~ age", data[[]])


def test_row_labels_twice(data):
    twice = pd.concat([data, data.head(3)])
    text = refused(DataError, ["3 row labels", "(first: 0)"], cv, "y ~ age", twice)
    assert "data.reset_index(drop=True)" in text
    named = data.set_axis(["p1", "p1", *map(str, ROWS[2:])])
    assert "'p1'" in refused(DataError, "1 row labels", cv, "y ~ age", named)


def test_column_names_twice_or_no_text(data):
    twice = data.set_axis(["y", "age", "age", "b", "g"], axis=1)
    text = refused(DataError, "column 'age' occurs", cv, "y ~ b", twice)
    assert "more than once" in text
    numbered = data.set_axis(["y", 7, "age", "b", "g"], axis=1)
    refused(DataError, ["must be text", "7 is not"], cv, "y ~ age", numbered)
    levels = pd.MultiIndex.from_product([["a"], list("yxzbg")])
    refused(DataError, "('a', 'y')", cv, "y ~ x", data.set_axis(levels, axis=1))


def test_infinite_values(data):
    odd = data.assign(age=data["age"].where(ROWS != 3, np.inf))
    words = ["column 'age' has 1 infinite value", "first in row 3"]
    text = refused(DataError, words, cv, "y ~ age", odd)
    assert text == refused(DataError, "", cv, "y ~ center(age)", odd)
    assert text == refused(DataError, "", cv, "y ~ age", odd, na_action="pass")
    nullable = odd.astype({"age": "Float64"})
    assert text == refused(DataError, "", cv, "y ~ age", nullable)
    refused(DataError, "'age' has 1 infinite value", cv, "age ~ amount", odd)
    minus = data.assign(age=-np.inf)
    refused(DataError, "outcome 'age' has 40 infinite", cv, "age ~ amount", minus)


@pytest.mark.parametrize(
    ("formula", "named"),
    [
        ("y ~ age + amount", "the term 'amount'"),
        ("y ~ age + I(positive * 1e100):I(positive * 1e50)", "I(positive * 1e50)'"),
        ("y ~ scale(amount)", "column 'amount'"),
        ("y ~ bs(amount, df=4)", "column 'amount'"),
        ("age ~ amount", "the term 'amount'"),
    ],
)
def test_predictors_whose_powers_overflow(data, formula, named):
    """Numpy's own warnings, which name no column, are errors in these tests."""
    big = data.assign(amount=np.where(ROWS == 3, 1e300, data["positive"]))
    refused(DataError, [f"{named} has values up to ", "power of ten"],
            cv, formula, big, k=5, seed=1)  # fmt: skip
    fitted = cv("y ~ np.log(amount)", big, k=5, seed=1)
    assert np.isfinite(fitted.predictions["predicted"]).all()


@pytest.mark.parametrize("unit", [1e-4, 1e-9])
def test_an_outcome_may_have_any_unit(data, unit):
    of, rows = (
        cv("age ~ amount", one, k=5, seed=1, metrics=["rmse", "mse", "r2"])
        for one in (data.assign(age=unit * data["age"]), data)
    )
    limits = ["estimate", "lower", "upper"]
    scale = np.array([[unit], [unit**2], [1.0]])
    assert np.allclose(of.metrics()[limits] / scale, rows.metrics()[limits], 1e-6)
    p = [r.test("mse", n_permutations=19, seed=1).p_value for r in (of, rows)]
    assert p[0] == p[1]


def test_logarithms_of_what_has_none(data):
    few = data.assign(k=ROWS % 4)
    negative = int((data["age"] < 0).sum())
    words = [f"'np.log(age)' is nan in {negative} rows", "first: "]
    refused(DataError, words, cv, "y ~ np.log(age)", data)
    refused(DataError, words[0], cv, "y ~ np.log(age)", data, na_action="pass")
    refused(DataError, "'np.log(k)' is -inf in 10 rows (first: 0)", cv,
            "y ~ np.log(k)", few)  # fmt: skip
    refused(DataError, f"'np.log(age)' is not a number in {negative} rows", cv,
            "np.log(age) ~ amount", data)  # fmt: skip
    refused(DataError, "'np.log(k)' has 10 infinite values", cv, "np.log(k) ~ age", few)


def test_nothing_complete(data):
    words = ["column 'age' has no value at all", "(- age)"]
    refused(DataError, words, cv, "y ~ age", data.assign(age=np.nan))
    halves = data.assign(age=data["age"].where(ROWS > 9), amount=data["age"][:10])
    words = ["no row is complete", "amount 30", "na_action='pass'"]
    refused(DataError, words, cv, "y ~ age + amount", halves)
    words = ["2 of 40 rows", "age 2", "na_action='raise'"]
    gaps = data.assign(age=data["age"].where(ROWS > 1))
    refused(DataError, words, cv, "y ~ age", gaps, na_action="raise")


@pytest.mark.parametrize("code", [-99, 999, 9999.0])
def test_a_number_that_seems_to_mean_missing_is_named(data, code):
    odd = data.assign(age=(60 + 10 * data["age"]).where(ROWS > 1, code))
    said = f"column 'age' has {code:g} in 2 rows, far from all other values"
    for formula in ("y ~ age", "y ~ bs(age, df=4)", "age ~ amount"):
        with pytest.warns(MissingDataWarning, match=said):
            cv(formula, odd, k=2, seed=1)
    # a value among others, and a code that occurs once
    for usual in (odd.assign(age=odd["age"].where(ROWS > 0, 60.0)), 10 * odd[["age"]]):
        assert not codes_named(usual["age"])


def codes_named(values):
    """Return what is said of codes in a column."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warn_of_codes({"age": values})
    return said


@pytest.mark.parametrize("code", [-9, 9, 99])
def test_a_code_beside_0_and_1_in_the_outcome_is_named_once(data, code):
    odd = data.assign(y=data["y"].where(ROWS > 1, code))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        cv("y ~ age", odd, k=2, seed=1)
    about = [str(one.message) for one in said if f" {code}" in str(one.message)]
    assert [f"2 rows, where it is {code}" in one for one in about] == [True]


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_three_numbers_of_which_one_is_a_code_are_not_called_0_or_1(data):
    odd = data.assign(y=np.array([10, 50, 99])[ROWS % 3])
    with pytest.warns(MissingDataWarning, match="'y' has 99 in 13 rows") as said:
        cv("y ~ age", odd, k=2, seed=1)
    assert not [one for one in said if "0 or 1" in str(one.message)]


@pytest.mark.parametrize("word", [".", "NA", " ", "n/a", "NULL"])
def test_a_level_that_seems_to_mean_missing_is_named(data, word):
    odd = data.assign(g=data["g"].where(ROWS > 3, word))
    said = f"column 'g' has the level {word!r} in 4 rows"
    with pytest.warns(MissingDataWarning, match=re.escape(said)):
        cv("y ~ g", odd, k=2, model=scv.models.Logit(C=1.0), seed=1)


def test_a_null_genotype_is_a_level_like_others(data):
    genotypes = data.assign(g=np.where(ROWS % 3 > 0, "null", "present"))
    cv("y ~ g", genotypes, k=2, seed=1)
    known = pd.Series(ROWS // 2).astype(str).where(ROWS > 2, "null")
    fold_plan("y", data.assign(who=known), stratify="who", seed=1)


def test_a_negative_number_beside_none_seems_to_mean_missing(data):
    odd = data.assign(age=(60 + 10 * data["age"]).abs().where(ROWS > 1, -9))
    spread = odd["age"].where(ROWS > 2, 300.0).where(ROWS > 1, -9)
    with pytest.warns(MissingDataWarning, match="has -9 in 2 rows, below 0, unlike"):
        cv("y ~ age", odd.assign(age=spread), k=2, seed=1)
    assert not codes_named(spread.where(ROWS != 5, -3))


@pytest.mark.filterwarnings("ignore::statcv.errors.UnseenLevelWarning")
def test_text_of_numbers_is_named(data):
    odd = data.assign(age=(60 + data["age"]).map("{:.1f}".format))
    words = ["the term 'log(age)' failed: column 'age' is text, such as", "to_numeric"]
    refused(FormulaError, words, cv, "y ~ log(age)", odd)
    few = odd.assign(age=[f"{row % 12}.5" for row in ROWS])
    with pytest.warns(MissingDataWarning, match=r"'age' is text of numbers, .*to_num"):
        cv("y ~ age", few, k=2, model=scv.models.Logit(C=1.0), seed=1)


def test_text_of_dates_is_named(data):
    for dates in (pd.date_range("2020-01-01", periods=3).strftime(form)
                  for form in ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y")):  # fmt: skip
        odd = data.assign(seen=dates[ROWS % 3])
        with pytest.warns(MissingDataWarning, match="'seen' is text of dates, such as"):
            cv("y ~ seen", odd, k=2, seed=1)


@pytest.mark.parametrize(
    ("formula", "made", "model"),
    [
        ("y ~ age", {}, None),
        ("Surv(positive, y) ~ age", {"horizon": 1.5}, None),
        ("y ~ age", {}, DecisionTreeClassifier(max_depth=1)),
    ],
)
def test_a_threshold_of_probabilities_lies_between_0_and_1(data, formula, made, model):
    with pytest.raises(ArgumentError, match=r"20% is threshold=0\.2"):
        cv(formula, data, model=model, threshold=20, k=2, seed=1, **made)
    cv("y ~ age", data, model=LinearSVC(), threshold=1.5, k=2, seed=1)


# ---- the formula ----


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("y ~ aeg", ["no column 'aeg'", "Did you mean 'age'?"]),
        ("y ~ age + Amount", ["no column 'Amount'", "Did you mean 'amount'?"]),
        ("y ~ age * Q('ammount')", ["no column 'ammount'", "'amount'?"]),
        ("y ~ center(ages)", ["no column 'ages'", "'age'?"]),
        ("outcome ~ age", ["no column 'outcome' in the data."]),
        ("y ~ . - aeg", ["no column 'aeg'", "'age'?"]),
        ("y ~ (. - g - aeg)**2", ["no column 'aeg'", "'age'?"]),
    ],
)
def test_an_unknown_column(data, formula, words):
    refused(ColumnError, words, cv, formula, data)


@pytest.mark.parametrize("name", ["CRP %", "mean age", "mean-age", "Hb (g/l)", "1st"])
def test_an_odd_name_without_backticks(data, name):
    odd = data.rename(columns={"age": name})
    words = f"Write the column {name!r} in backticks: `{name}`."
    with pytest.raises((ColumnError, FormulaError)) as caught:
        cv(f"y ~ g + {name}", odd)
    assert words in str(caught.value)


def test_a_number_is_not_taken_for_a_name_without_backticks(data):
    numbered = data.rename(columns={"amount": "1"})
    words = refused(
        ColumnError, "no column 'zzz'", cv, "y ~ poly(age, 1) + zzz", numbered
    )
    assert "backticks" not in words


def test_the_columns_of_the_data_are_named(data):
    refused(ColumnError, "The columns are y, amount, age", cv, "zzz ~ age", data)
    one = pd.DataFrame({"y;age": ["0;1.5"] * 9})
    words = ["The only column is 'y;age'; read", "with the separator ';'."]
    refused(ColumnError, words, cv, "y ~ age", one)


def test_several_rows_of_names(data):
    merged = data.set_axis(pd.MultiIndex.from_product([["lab"], data]), axis=1)
    words = refused(DataError, "data.columns.map('_'.join)", cv, "y ~ age", merged)
    assert "('lab', 'y') is not" in words
    merged.columns = merged.columns.map("_".join)
    assert cv("lab_y ~ lab_age", merged, k=2, seed=1).design.n == N


def test_row_numbers_among_all_columns_are_named(data):
    numbered = data[["y", "age"]].reset_index()
    with pytest.warns(StatcvWarning, match=r"'index' numbers the rows.*\(- index\)"):
        cv("y ~ .", numbered, k=2, seed=1)
    for formula in ("y ~ . - index", "y ~ age + index"):
        cv(formula, numbered, k=2, seed=1)
    named = numbered.rename(columns={"y": "covid", "index": "id"})
    named["id"] += 1
    with pytest.warns(StatcvWarning, match="'id' numbers the rows"):
        cv("covid ~ .", named, k=2, seed=1)
    years = data[["y", "age"]].assign(year=1961 + ROWS)
    cv("y ~ .", years, k=2, seed=1)


def test_an_outcome_whose_first_level_is_what_is_predicted(data):
    told = data.assign(y=np.where(data["y"] == 1, "ja", "nein"))
    with pytest.warns(StatcvWarning, match="'nein' is the positive class.*'ja' pred"):
        cv("y ~ age", told, k=2, seed=1)
    assert (
        cv("y ~ age", told, positive="ja", k=2, seed=1).design.outcome.positive == "ja"
    )
    for first, second in (("nein", "yes"), ("fall", "spring")):
        cv("y ~ age", data.assign(y=np.where(ROWS % 2, first, second)), k=2, seed=1)


def test_weights_of_0_leave_rows_out_as_in_r(data):
    weighted = data.assign(w=np.where(ROWS < 8, 0.0, 2.0))
    with pytest.warns(
        MissingDataWarning, match="8 of 40 rows were omitted: 8 of weight 0"
    ):
        found = cv("y ~ age", weighted, weights="w", k=4, seed=1)
    alone = cv("y ~ age", weighted[ROWS >= 8], weights="w", k=4, seed=1)
    pd.testing.assert_frame_equal(found.predictions, alone.predictions)
    assert str(found.metrics()) == str(alone.metrics())
    gaps = weighted.assign(age=data["age"].where(ROWS < 37))
    with pytest.warns(
        MissingDataWarning, match="omitted: 8 of weight 0, missing age 3"
    ):
        found = cv("y ~ age", gaps, weights="w", k=4, seed=1)
    assert found.rows == "n = 29 of 40, 8 of weight 0, 3 incomplete"
    said = " ".join(str(found.summary()).split())
    assert "3 left out as incomplete (missing: age 3); 8 of weight 0 left out." in said
    assert dict(found.design.missing) == {"age": 3}


def test_a_variable_of_the_script_is_no_column(data):
    weight = data["age"] * 2
    assert len(weight) == N
    words = ["no column 'weight'", "variable of that name in your script", "not used"]
    refused(ColumnError, words, lambda: weight is cv("y ~ age + weight", data))


@pytest.mark.parametrize("formula", ["~ age", "age", "", "   ", "y age"])
def test_no_left_hand_side(data, formula):
    text = refused(FormulaError, "has no outcome on the left: write 'y ~ …'", cv,
                   formula, data)  # fmt: skip
    assert "'='" not in text


@pytest.mark.parametrize("formula", ["y = age", "y == age + amount", "y=age"])
def test_an_equals_sign(data, formula):
    refused(FormulaError, "the outcome is set off by '~', not '='", cv, formula, data)


def test_no_right_hand_side(data):
    refused(FormulaError, "nothing on the right of '~'", cv, "y ~ ", data)
    for formula in ("y ~ 0", "y ~ -1", "y ~ age - age - 1"):
        refused(FormulaError, "leaves no column to fit", cv, formula, data)


@pytest.mark.parametrize(
    ("formula", "place"),
    [
        ("y ~ age +", "+"),
        ("y ~ age + * amount", "*"),
        ("y ~ (age + amount", "("),
        ("y ~ age) + amount", ")"),
        ("y ~ np.log(age", "np.log(age"),
        ("y ~ . + (age", "("),
        ("y ~ age ~ amount", "y ~ age"),
        ("y ~ 2 * age", "2"),
        ("y ~ age - 3", "3"),
        ("y ~ -age", "-age"),
        ("y ~ (1 + age):g", "(1 + age)"),
        ("y ~ (age + g)**age", "age"),
        ("y ~ . + np.log(.)", "np.log(.)"),
        ("y ~ age + amount[0", "amount[0"),
    ],
)
def test_a_formula_that_cannot_be_read(data, formula, place):
    """The message ends in the formula and a line of carets below the place."""
    text = refused(FormulaError, "cannot read the formula", cv, formula, data)
    written, carets = text.splitlines()[-2:]
    assert written == "    " + formula
    assert set(carets.strip()) == {"^"}
    start = carets.index("^")
    assert written[start : start + carets.count("^")] == place


def test_a_term_that_cannot_be_read(data):
    text = refused(FormulaError, "cannot read the term 'age amount'", cv,
                   "y ~ g + age amount", data)  # fmt: skip
    written, carets = text.splitlines()[-2:]
    assert written[carets.index("^") :].startswith("amount")


def test_operators_of_other_languages(data):
    words = ["'1 | g'", "'|'", "random effects"]
    refused(FormulaError, words, cv, "y ~ age + (1 | g)", data)
    refused(FormulaError, "'|'", cv, "y ~ age | g", data)
    refused(FormulaError, "cannot read the term", cv, "y ~ age %in% g", data)


@pytest.mark.parametrize("formula", [None, 3, ["y ~ x"], pd.Series([1.0])])
def test_a_formula_that_is_no_text(data, formula):
    refused(FormulaError, "the formula must be text", cv, formula, data)


def test_the_outcome_on_both_sides(data):
    words = "'age' stands on both sides"
    refused(FormulaError, words, cv, "age ~ amount + np.exp(age)", data)
    refused(FormulaError, words, cv, "np.exp(age) ~ age", data)
    refused(FormulaError, "one outcome on the left", cv, "y + age ~ amount", data)


def test_a_term_that_learns_from_held_out_rows(data):
    words = ["'I(age - age.mean())'", "learns from the data", "center"]
    refused(FormulaError, words, cv, "y ~ I(age - age.mean())", data)


def test_an_unknown_function(data):
    words = ["calls 'cetner'", "Did you mean 'center'?"]
    refused(FormulaError, words, cv, "y ~ cetner(age)", data)
    refused(FormulaError, "'np.cbrt'?", cv, "y ~ cbrt(age)", data)


def test_dates_and_identifiers(data):
    dated = data.assign(seen=pd.date_range("2024-01-01", periods=N))
    words = ["'seen' is a date", "- seen"]
    refused(FormulaError, words, cv, "y ~ seen", dated)
    refused(FormulaError, words, cv, "y ~ .", dated)
    zoned = dated.assign(seen=dated["seen"].dt.tz_localize("UTC"))
    refused(FormulaError, words, cv, "y ~ seen", zoned)
    refused(FormulaError, words, cv, "y ~ seen", dated.assign(
        seen=dated["seen"].dt.date))  # fmt: skip
    assert cv("y ~ seen.dt.day", dated, seed=1).design.names[1] == "seen.dt.day"
    named = data.assign(**{"patient id": [f"p{i}" for i in ROWS]})
    words = ["'patient id' is text with 40 levels in 40 rows", "- Q('patient id')"]
    refused(FormulaError, words, cv, "y ~ .", named)
    many = pd.concat([data] * 10, ignore_index=True)
    many["street"] = [f"street {i % 101}" for i in range(400)]
    refused(FormulaError, "101 levels in 400 rows", cv, "y ~ street", many)
    assert cv("y ~ age", named, seed=1).design.n == N


# ---- the outcome ----


def test_one_class_or_one_value(data):
    refused(OutcomeError, "'y' has one class only (1)", cv, "y ~ age", data.assign(y=1))
    text = data.assign(y="sick")
    refused(OutcomeError, "one class only ('sick')", cv, "y ~ age", text)
    constant = data.assign(y=2.5)
    refused(OutcomeError, "'y' is constant: always 2.5", cv, "y ~ age", constant)
    # one class is left once incomplete rows are gone
    gaps = data.assign(age=data["age"].where(data["y"] == 1))
    refused(OutcomeError, "one class only (1)", cv, "y ~ age", gaps)


def test_a_training_set_without_a_class(data):
    rare = data.assign(y=(ROWS < 3).astype(int), fold=ROWS // 10)
    words = ["training set of fold 0", "no record of class 1", "1 of 4 training sets"]
    refused(OutcomeError, words, cv, "y ~ age", rare, scheme="fold")
    alone = data.assign(y=np.where(ROWS == 5, "yes", "no"))
    words = [
        "training set of fold 6",
        "class 'yes'",
        "1 of 40",
        "; the data have only one record of it",
    ]
    refused(OutcomeError, words, cv, "y ~ age", alone, scheme="loocv")
    three = data.assign(y=np.where(ROWS == 5, "c", np.where(ROWS % 2, "a", "b")))
    refused(OutcomeError, "class 'c'", cv, "y ~ age", three, scheme="loocv")


@pytest.mark.parametrize("word", ["", "NA", "unknown"])
def test_a_word_for_missing_identifiers_is_named(data, word):
    known = pd.Series(ROWS // 2).astype(str)
    said = f"3 records have {word!r} in who, and count as one cluster"
    with pytest.warns(FoldWarning, match=said):
        fold_plan("y", data.assign(who=known.where(ROWS > 2, word)), stratify="who")
    fold_plan("y", data.assign(who=known.where(ROWS > 0, word)), stratify="who")


def test_unpenalised_regressions_of_more_columns_than_records(data):
    many = pd.DataFrame(np.random.default_rng(1).normal(size=(N, 50))).add_prefix("x")
    wide = data[["y", "positive"]].join(many)
    words = ["50 columns", "order any times", "Cox(C=1.0)"]
    refused(ModelError, words, cv, "Surv(positive, y) ~ .", wide, k=4, seed=1)
    words = ["51 columns", "separate any two classes", "Logit(C=1.0)"]
    refused(ModelError, words, cv, "y ~ . - positive", wide, k=4, seed=1)


def test_classes_without_an_order_are_told_how_to_have_one(data):
    refused(OutcomeError, "as C(g, levels=[…]) ~", cv, "C(g) ~ age", data,
            model="proportional_odds")  # fmt: skip


def test_bootstrap_samples_that_are_drawn_again_are_counted_once(data):
    rare = data.assign(y=(ROWS < 2).astype(int))
    with pytest.warns(FoldWarning, match=r"^\d+ bootstrap samples lacked") as said:
        fold_plan("y", rare, scheme="bootstrap", repeats=50, seed=1)
    assert len(said) == 1


def test_a_training_set_with_a_constant_outcome(data):
    flat = data.assign(v=np.where(ROWS < 10, ROWS + 0.5, 7.0), fold=ROWS // 10)
    words = ["outcome is constant (7)", "training set of fold 0"]
    refused(OutcomeError, words, cv, "v ~ age", flat, scheme="fold")


def test_all_outcomes_missing(data):
    for nothing in (np.nan, None, pd.NaT, pd.NA):
        words = "all values of the outcome 'y' are missing"
        refused(OutcomeError, words, cv, "y ~ age", data.assign(y=nothing))


def test_outcomes_of_no_kind(data):
    dated = data.assign(y=pd.date_range("2024-01-01", periods=N))
    refused(OutcomeError, "'y' is a date", cv, "y ~ age", dated)
    words = ["'y' has 40 classes in 40 rows", "text that should be a number"]
    refused(OutcomeError, words, cv, "y ~ age", data.assign(y=[f"{i}," for i in ROWS]))


def test_positive_that_is_no_level(data):
    text = data.assign(y=np.where(data["y"] == 1, "yes", "no"))
    words = ["positive='yess'", "'no' and 'yes'", "Did you mean 'yes'?"]
    refused(OutcomeError, words, cv, "y ~ age", text, positive="yess")
    refused(OutcomeError, "'g' has 3: a, b, c", cv, "g ~ age", data, positive="a")
    refused(OutcomeError, "40 values", cv, "age ~ amount", data, positive=1)


# ---- schemes ----


@pytest.mark.parametrize(
    ("k", "words"),
    [
        (1, "k=1 is out of range: 40 records make from 2 to 40 folds"),
        (0, "k=0 is out of range"),
        (-3, "k=-3 is out of range"),
        (41, "k=41 is out of range"),
        (2.5, "k must be an integer, not 2.5"),
        ("5", "k must be an integer, not '5'"),
        (True, "k must be an integer, not True"),
    ],
)
def test_k_out_of_range(data, k, words):
    for scheme in (None, "kfold", "stratified_kfold"):
        refused(ArgumentError, words, cv, "y ~ age", data, k=k, scheme=scheme)


@pytest.mark.parametrize("repeats", [0, -1, 1.5, "2", True])
def test_repeats_out_of_range(data, repeats):
    refused(ArgumentError, "repeats", cv, "y ~ age", data, repeats=repeats)


def test_arguments_that_mean_nothing_for_the_scheme(data):
    call = ("y ~ age", data)
    words = ["k=5 means nothing for scheme='loocv'", "leave k out"]
    refused(ArgumentError, words, cv, *call, scheme="loocv", k=5)
    refused(ArgumentError, "k=5", cv, *call, scheme="rloocv", k=5)
    words = ["repeats=3 means nothing for scheme='loocv'", "no randomness"]
    refused(ArgumentError, words, cv, *call, scheme="loocv", repeats=3)
    for name in ("k", "repeats"):
        words = f"{name}=3 means nothing where the folds are given"
        refused(ArgumentError, words, cv, *call, scheme=KFold(3), **{name: 3})
        refused(ArgumentError, words, cv, *call, scheme=ROWS % 3, **{name: 3})


@pytest.mark.parametrize(
    ("scheme", "near"),
    [("rlooc", "rloocv"), ("kfolds", "kfold"), ("LOOCV", "loocv"),
     ("stratified_kfolds", "stratified_kfold"), ("agee", "age")],
)  # fmt: skip
def test_a_misspelt_scheme(data, scheme, near):
    words = [f"no scheme {scheme!r}", f"Did you mean {near!r}?", "kfold, stratified"]
    refused(SchemeError, words, cv, "y ~ amount", data, scheme=scheme)


def test_schemes_for_other_outcomes(data):
    for scheme in ("stratified_kfold", "rkfold", "tournament_leave_pair_out"):
        words = [f"scheme={scheme!r} needs an outcome of classes", "continuous"]
        refused(SchemeError, words, cv, "age ~ amount", data, scheme=scheme)


def test_a_single_record(data):
    words = "1 record cannot be held out and trained on as well."
    alone = data.head(1)
    for scheme in ("kfold", "loocv", "montecarlo", "bootstrap"):
        refused(SchemeError, words, fold_plan, data=alone, scheme=scheme)
    refused(SchemeError, words, fold_plan, data=alone, scheme="lpocv", p=1)
    refused(SchemeError, words, make_plan, "rloocv", [0], "binary")
    refused(SchemeError, "0 records cannot be", make_plan, "loocv", [], "continuous")
    assert fold_plan(data=data.head(2), scheme="loocv").n_splits == 2


def test_pairs_of_a_class_with_one_record(data):
    alone = data.assign(y=(ROWS == 5).astype(int))
    for scheme in ("leave_pair_out", "tournament_leave_pair_out"):
        words = [f"{scheme!r} needs at least two records", "class '1' has 1"]
        refused(SchemeError, words, fold_plan, "y", alone, scheme=scheme)
    two = data.assign(y=(ROWS < 2).astype(int))
    assert fold_plan("y", two, scheme="leave_pair_out").n_splits == 2 * (N - 2)


def test_an_r_scheme_with_a_single_positive(data):
    alone = data.assign(y=(ROWS == 5).astype(int))
    words = ["'rloocv' needs at least two records of each class", "class '1' has 1"]
    refused(SchemeError, words, cv, "y ~ age", alone, scheme="rloocv")
    named = data.assign(y=np.where(ROWS == 5, "ill", "well"))
    refused(SchemeError, "class 'ill' has 1", cv, "y ~ age", named, scheme="rloocv")


@pytest.mark.parametrize(
    ("folds", "words"),
    [
        (np.where(ROWS % 2, "a", "b"), "must be integers"),
        (np.where(ROWS == 3, np.nan, ROWS % 4), "missing in 1 rows"),
        (ROWS % 4 + 0.5, "must be integers"),
        (np.ones(N), "one value only: 1"),
        (ROWS % 2 == 0, "must be integers, not bool"),
        (pd.date_range("2024", periods=N), "must be integers"),
    ],
)
def test_a_column_of_no_folds(data, folds, words):
    given = data.assign(part=folds)
    refused(SchemeError, ["'part'", words], cv, "y ~ age", given, scheme="part")
    refused(SchemeError, words, cv, "y ~ age", data, scheme=given["part"])


def test_folds_of_other_rows(data):
    words = ["scheme=", "each of the 40 rows", "(5,)"]
    refused(DataError, words, cv, "y ~ age", data, scheme=ROWS[:5])
    other = pd.Series(ROWS % 3, index=ROWS + 7)
    refused(DataError, "labels", cv, "y ~ age", data, scheme=other)
    plan = cv("y ~ age", data.head(30), k=3, seed=1).plan
    words = "the plan is for 30 records, but 40 rows are used"
    refused(SchemeError, words, cv, "y ~ age", data, scheme=plan)
    refused(SchemeError, "KFold is a class", cv, "y ~ age", data, scheme=KFold)
    refused(SchemeError, "could not split", cv, "y ~ age", data, scheme=KFold(50))


# ---- models, metrics, na_action, seeds ----


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("logitt", ["no model 'logitt'", "Did you mean 'logit'?", "xgboost"]),
        ("XGBost", ["no model 'XGBost'", "'xgboost'?"]),
        ("forest", ["no model 'forest'", "any scikit-learn"]),
        (LogisticRegression, "LogisticRegression is a class; make an object of it"),
        (3, "model=3 is neither a name nor"),
        (object(), "model=a value of type object is neither a name nor"),
        (sm.GLM([0, 1], [1, 1]), "a fitted result of statsmodels"),
    ],
)
def test_what_is_no_model(data, model, words):
    refused(ModelError, words, cv, "y ~ age", data, model=model)


def test_models_for_other_outcomes(data):
    words = ["LogisticRegression does not fit a continuous outcome", "binary"]
    refused(ModelError, words, cv, "age ~ amount", data, model=LogisticRegression())
    words = ["LinearRegression does not fit a multiclass outcome", "continuous"]
    refused(ModelError, words, cv, "g ~ age", data, model=LinearRegression())
    refused(ModelError, "logistic regression does not fit a continuous outcome", cv,
            "age ~ amount", data, model="logit")  # fmt: skip
    refused(ModelError, "linear regression does not fit a multiclass", cv, "g ~ age",
            data, model="linear")  # fmt: skip
    refused(ModelError, "Logit needs an outcome of two classes", cv, "age ~ amount",
            data, model=sm.Logit)  # fmt: skip
    refused(ModelError, "LinearSVC gives no probabilities", cv, "g ~ age", data,
            model=LinearSVC(), k=3, seed=1)  # fmt: skip


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ("auroq", ["no metric 'auroq'", "Did you mean 'auroc'?"]),
        (["auroc", "brierr"], ["no metric 'brierr'", "'brier'?"]),
        ("zzz", ["no metric 'zzz'", "auroc, auprc, auprc_trapezoid"]),
        ([], "metrics is empty"),
        ("rmse", "needs a continuous outcome, but 'y' is binary"),
    ],
)
def test_a_misspelt_metric(data, metrics, words):
    refused(MetricError, words, cv, "y ~ age", data, metrics=metrics)


def test_a_rank_metric_of_an_outcome_that_is_not_binary(data):
    words = ["auROC needs a binary outcome", "'age' is continuous"]
    refused(MetricError, words, cv, "age ~ amount", data, metrics="auroc")
    words = ["auROC needs a binary outcome", "'g' is multiclass"]
    refused(MetricError, words, cv, "g ~ age", data, metrics="auroc")
    result = cv("age ~ amount", data, k=4, seed=1)
    refused(MetricError, "'age' is continuous", result.estimate, "auroc")
    refused(MetricError, ["no metric 'rmsee'", "'rmse'"], result.estimate, "rmsee")


@pytest.mark.parametrize(
    ("na_action", "words"),
    [("dorp", ["'dorp'", "Did you mean 'drop'?", "'drop' or 'raise' or 'pass'"]),
     ("raises", "Did you mean 'raise'?"), ("na.omit", "'na.omit'"),
     (True, "True")],
)  # fmt: skip
def test_a_misspelt_na_action(data, na_action, words):
    refused(ArgumentError, words, cv, "y ~ age", data, na_action=na_action)


@pytest.mark.parametrize("seed", ["1", 1.0, True, [1], np.float64(2)])
def test_a_seed_that_is_no_seed(data, seed):
    words = ["seed must be an integer", type(seed).__name__]
    refused(ArgumentTypeError, words, cv, "y ~ age", data, seed=seed)


def test_a_negative_seed(data):
    refused(ArgumentError, "0 or more, not -1", cv, "y ~ age", data, seed=-1)


# ---- weights ----


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.where(ROWS == 2, -1.0, 1.0), "must be 0 or more"),
        (np.where(ROWS == 2, np.nan, 1.0), "missing or infinite in 1 row;"),
        (np.where(ROWS < 2, np.inf, 1.0), "missing or infinite in 2 rows"),
        (np.zeros(N), "some above 0"),
        (np.ones(5), "one value for each of the 40 rows"),
        (np.ones((N, 2)), "(40, 2)"),
        (2.0, "one value for each"),
        (np.full(N, "a"), "must be numbers"),
        (pd.Series(1.0, index=ROWS + 1), "labels are not those of the data"),
    ],
)
def test_weights_that_are_none(data, weights, words):
    refused(DataError, words, cv, "y ~ age", data, weights=weights)
    if np.shape(weights) == (N,) and not isinstance(weights, pd.Series):
        given = data.assign(w=weights)
        refused(DataError, words, cv, "y ~ age", given, weights="w")


def test_models_that_take_no_weights(data):
    from sklearn.neighbors import KNeighborsClassifier

    refused(ModelError, "KNeighborsClassifier takes no weights", cv, "y ~ age", data,
            model=KNeighborsClassifier(3), weights=np.ones(N), seed=1)  # fmt: skip


# ---- compare, update, predict ----


@pytest.fixture(scope="module")
def result(data):
    return cv("y ~ age", data, seed=1)


def test_comparing_too_little(result):
    words = "compare() needs at least two results, not "
    refused(ComparisonError, words + "1", compare, result)
    refused(ComparisonError, words + "0", compare)
    refused(ComparisonError, words + "1", compare, only=result)


def test_comparing_what_is_no_result(result, data):
    refused(ComparisonError, "'b' is a DataFrame, not a result", compare, a=result,
            b=data)  # fmt: skip
    refused(ComparisonError, "is a str, not a result", compare, result, "y ~ age")
    alone = "a list of results must be given alone, but there is 1 more"
    refused(ArgumentTypeError, alone, compare, [result, result], result)
    for formulas in (["y ~ age", "y ~ sex"],), ("y ~ age", "y ~ sex"):
        refused(ArgumentTypeError, "are given by name", compare, *formulas, data)


def test_comparing_other_rows_or_outcomes(result, data):
    fewer = cv("y ~ age", data.head(30), seed=1)
    words = ["not have the same records: 40 and 30 rows, of which 10 occur in only one"]
    refused(ComparisonError, words, compare, whole=result, part=fewer)
    moved = cv("y ~ age", data.set_axis(ROWS + 1), seed=1)
    refused(ComparisonError, "of which 2 occur in only one", compare, a=result, b=moved)
    turned = cv("y ~ age", data, seed=1, positive=0)
    refused(ComparisonError, "not have the same outcome", compare, a=result, b=turned)
    number = cv("amount ~ age", data, seed=1)
    refused(ComparisonError, "y and amount differ", compare, a=result, b=number)


def test_comparing_by_what_cannot_be_compared(result):
    other = result.update(formula="y ~ amount")
    refused(MetricError, ["no metric 'aurok'", "'auroc'"], compare, result, other,
            metric="aurok")  # fmt: skip
    unknown = replace(scv.metrics.METRICS["auprc"], derive=None)
    refused(ComparisonError, ["auPR has no default paired test", "'permutation'"],
            compare, result, other, metric=unknown, how="pooled")  # fmt: skip
    refused(ComparisonError, "needs the derivatives", compare, result, other,
            metric=unknown, test="influence")  # fmt: skip
    tree = result.update(model=DecisionTreeClassifier())
    refused(ComparisonError, "the influence of a record on auROC (per fold) is not "
            "known for DecisionTreeClassifier", compare, tree=tree, other=other,
            test="infinitesimal_jackknife")  # fmt: skip
    refused(MetricError, "'y' is binary", compare, result, other, metric="rmse")
    refused(ComparisonError, "between 0 and 1", compare, result, other, level=95)


def test_update_with_an_unknown_argument(result):
    words = ["no argument 'schem'", "Did you mean 'scheme'?"]
    refused(ArgumentTypeError, words, result.update, schem="loocv")
    refused(ColumnError, "'aeg'", result.update, formula="y ~ aeg")


def test_predicting_from_other_data(result, data):
    refused(FrameError, "not dict", result.predict, {"age": [1.0]})
    refused(ColumnError, ["lack the column 'age'", "'agee'"][:1], result.predict,
            data.rename(columns={"age": "agee"}))  # fmt: skip


def test_messages_show_plain_values(data):
    """No ``np.int64(3)`` in a message."""
    for call in (
        lambda: cv("y ~ age", pd.concat([data, data])),
        lambda: cv("y ~ age", data.assign(age=np.inf)),
        lambda: cv("y ~ np.log(age)", data),
        lambda: cv("y ~ age", data.assign(y=np.int64(1))),
        lambda: cv("y ~ age", data, k=np.int64(1)),
    ):
        with pytest.raises(StatcvError) as caught:
            call()
        assert not re.search(r"np\.\w+\d+\(", str(caught.value))


def test_warnings_name_the_line_of_the_caller(data):
    gaps = data.assign(age=data["age"].where(ROWS > 1))
    with pytest.warns(scv.errors.MissingDataWarning, match="2 of 40 rows") as caught:
        cv("y ~ age", gaps, seed=1)
    assert caught[0].filename == __file__


def test_data_whose_rows_occur_twice_are_named():
    rng = np.random.default_rng(3)
    once = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    once["y"], once["who"] = np.arange(40) % 2, [f"p{i}" for i in range(40)]
    twice = pd.concat([once, once], ignore_index=True)
    with pytest.warns(FoldWarning, match="80 of 80 records equal another.*stratify="):
        cv("y ~ a + b", twice, seed=1)
    upsampled = pd.concat([once, once[once["y"] == 1]], ignore_index=True)
    with pytest.warns(FoldWarning, match="40 of 60 records equal another"):
        cv("y ~ a + b", upsampled, seed=1)  # positive records were duplicated
    with warnings.catch_warnings():
        warnings.simplefilter("error", FoldWarning)
        cv("y ~ a + b", once, seed=1)
        cv("y ~ a + b", twice, stratify="who", seed=1)
        cv("y ~ a + b", twice, scheme=np.tile(np.arange(40) % 5, 2), seed=1)
        # equal by chance: a score of ten values, and a factor
        cv("y ~ a", twice.assign(a=np.arange(80) % 10, b=1), seed=1)
        # eight animals of each dose and lot, of which some respond
        doses = once.loc[np.repeat(np.arange(40), 8), ["a", "b"]].reset_index(drop=True)
        cv("y ~ a + b", doses.assign(y=rng.integers(0, 2, 320)), seed=1)


@pytest.mark.parametrize(
    ("term", "said"),
    [
        ("bs(age, df=amount)", "has the column 'amount' where bs() needs a setting"),
        ("bs(age, knots=amount)", "has the column 'amount' where bs() needs a setting"),
        ("poly(age, amount)", "has the column 'amount' where poly() needs a setting"),
        (
            "scale(age, center=amount)",
            "has the column 'amount' where scale() needs a setting",
        ),
        (
            "te(cr(age, df=amount), cr(amount, df=3))",
            "has the column 'amount' where cr() needs a",
        ),
        ("bs(g, df=4)", "column 'g' is text, such as"),
        ("bs(day, df=4) + center(day)", "column 'day' is of type datetime64"),
        ("bs(there, df=4)", "column 'there' is of type bool"),
    ],
)
def test_arguments_of_terms_that_learn(data, term, said):
    more = {"there": data["age"] > 0}
    more["day"] = pd.date_range("2020", periods=len(data)).to_series(data.index)
    refused(FormulaError, said, cv, f"y ~ {term}", data.assign(**more))


def test_groups_by_several_columns(data):
    res = cv("y ~ age", data, k=5, seed=1)
    refused(DataError, "or be the name of one column, but", res.metrics, by=["g", "y"])
