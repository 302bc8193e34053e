"""Formulas updated by other formulas, as in R's update()."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.formula import parse_formula, updated_formula

REFERENCE = Path(__file__).parents[1] / "reference" / "update_r.csv"
COLUMNS = ["y", "a", "b", "x", "z", "a~b", "a . b"]


def cases():
    with REFERENCE.open(newline="") as file:
        return [
            pytest.param(row, id=f"{row['old']}, {row['new']}")
            for row in csv.DictReader(file)
        ]


def read(text):
    found = parse_formula(text.replace("^", "**"), COLUMNS, {"np": np})
    labels = [set(term) for term in found.terms if term]
    return found.outcome, labels, () in found.terms


@pytest.mark.parametrize("case", cases())
def test_terms_are_those_of_r(case):
    def in_python(text):
        return text.replace("log(", "np.log(").replace("^", "**")

    outcome, labels, intercept = read(
        updated_formula(in_python(case["old"]), in_python(case["new"]))
    )
    assert outcome == in_python(case["outcome"])
    expected = [set(in_python(term).split(":")) for term in case["terms"].split()]
    assert labels == expected
    assert intercept == (case["intercept"] == "1")


@pytest.mark.parametrize(
    ("old", "new", "made"),
    [
        ("y ~ a", ". ~ . + x", "y ~ a + x"),
        ("y~a*b", ". ~ . + x", "y ~ a*b + x"),
        ("y ~ a + np.log(b)", ". ~ . - np.log( b )", "y ~ a"),
        ("y ~ a", ". ~ . - a", "y ~ 1"),
        ("y ~ a + b", ". ~ .:x", "y ~ (a + b):x"),
        ("y ~ a", ". ~ .:x", "y ~ a:x"),
        ("y ~ -1 + a", ". ~ . + b", "y ~ -1 + a + b"),
        ("y ~ a - 1", ". ~ . + 1", "y ~ a"),
        ("y ~\n a +\n b", ". ~ . + x", "y ~ a + b + x"),
    ],
)
def test_the_formula_is_simplified(old, new, made):
    assert updated_formula(old, new) == made


@pytest.mark.parametrize(
    ("old", "new", "made"),
    [
        ("y ~ a + a*b", ". ~ . - a", "y ~ a + a*b - a"),  # a is in a*b, too
        ("y ~ a*b", ". ~ . - a:b", "y ~ a*b - a:b"),
        ("y ~ a - b", ". ~ b + .", "y ~ b + (a - b)"),  # b + a - b is a alone
    ],
)
def test_the_formula_is_not_simplified_if_its_meaning_would_change(old, new, made):
    assert updated_formula(old, new) == made


def test_a_dot_for_all_other_columns_is_kept():
    assert updated_formula("y ~ .", ". ~ . - x") == "y ~ . - x"
    assert updated_formula("y ~ .", "z ~ .", ["y"]) == "z ~ . - y"
    assert updated_formula("y ~ .", "log(y) ~ .", ["y"]) == "log(y) ~ ."
    assert updated_formula("y ~ a", "z ~ a + b") == "z ~ a + b"


def test_a_dot_beside_an_outcome_stands_for_the_old_terms():
    df = scv.load_data("spector")
    res = scv.cv("GRADE ~ GPA", df, k=3, seed=1)
    assert res.update("GRADE ~ . + PSI").design.formula.text == "GRADE ~ GPA + PSI"
    assert res.update("PSI ~ .").design.formula.text == "PSI ~ GPA"
    whole = scv.cv("GRADE ~ .", df, k=3, seed=1).update("PSI ~ .")
    assert whole.design.names == ("Intercept", "GPA", "TUCE")  # not the old outcome
    with pytest.raises(scv.StatcvError, match="for all columns"):
        res.update("GRADE ~ .")
    both = scv.compare(one="GRADE ~ GPA", every="GRADE ~ .", data=df, k=3, seed=1)
    assert both.results["every"].design.names == ("Intercept", "GPA", "TUCE", "PSI")


def test_signs_in_quotes_are_names():
    made = updated_formula("Q('a~b') ~ x", ". ~ . + Q('a . b')")
    assert made == "Q('a~b') ~ x + Q('a . b')"
    assert made == updated_formula("`a~b` ~ x", ". ~ . + `a . b`")
    assert updated_formula("`a~b` ~ x + `it's`", ". ~ . - `it's`") == "Q('a~b') ~ x"
    assert read(made)[0] == "Q('a~b')"


def test_a_syntax_error_is_reported_with_its_position():
    df = scv.load_data("spector")
    res = scv.cv("GRADE ~ GPA", df, k=3, seed=1)
    with pytest.raises(scv.StatcvError, match="cannot read the formula"):
        res.update(formula=". ~ . + (PSI")
    with pytest.raises(scv.StatcvError, match="no column 'PSY'"):
        res.update(formula=". ~ . - PSY")


def test_results_and_comparisons_print_the_updated_formula():
    df = scv.load_data("spector")
    base = scv.cv("GRADE ~ GPA", df, k=3, seed=1)
    full = base.update(formula=". ~ . + PSI")
    assert str(full).endswith(
        "Logistic regression (unpenalised) of GRADE on GPA and PSI"
    )
    less = full.update(formula="~ . - GPA")
    assert less.design.formula.text == "GRADE ~ PSI"
    compared = scv.compare(
        base="GRADE ~ GPA", full=". ~ . + PSI", data=df, k=3, seed=1, test="delong"
    )
    assert compared.results["full"].design.formula.text == "GRADE ~ GPA + PSI"
    pd.testing.assert_frame_equal(
        compared.results["full"].predictions, full.predictions
    )
