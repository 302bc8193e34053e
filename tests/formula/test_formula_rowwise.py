"""No term learns from held-out rows; terms that would do so raise an error."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv import cv
from statcv.errors import FormulaError
from statcv.formula import make_design

N = 40


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "y": np.arange(N) % 2,
            "x": rng.normal(size=N),
            "z": rng.uniform(1, 2, N),
            "k": rng.integers(0, 4, N),
            "g": rng.choice(list("abc"), N),
            "tiny": 1e-12 * rng.normal(size=N),
            "t": rng.random(N) < 0.5,
            "day": pd.date_range("2024-01-01", periods=N),
        }
    )


def twice(values):
    return 2 * values


def standardised(values):
    return (values - values.mean()) / values.std()


SCOPE = {
    "np": np,
    "pd": pd,
    "twice": twice,
    "standardised": standardised,
    "shifted": lambda v: v + 1,
    "first": lambda v: v.iloc[::-1].to_numpy(),
    "root": np.vectorize(math.sqrt),
}


@pytest.mark.parametrize(
    "term",
    [
        "I(x - x.mean())",
        "I(x / x.std())",
        "I(x / x.max())",
        "I(k / k.max())",
        "I(k - k.min())",
        "I(k == k.max())",
        "I(tiny - tiny.mean())",
        "I(center(x) - x.mean())",
        "x.rank()",
        "x.shift(1)",
        "x.cumsum()",
        "x.diff()",
        "x.clip(upper=x.quantile(0.9))",
        "k.isin(k.mode())",
        "pd.qcut(x, 3)",
        "pd.cut(x, 3)",
        "g.map(g.value_counts())",
        "x.groupby(g, observed=True).transform('mean')",
        "y.groupby(g, observed=True).transform('mean')",
        "standardised(x)",
        "k.nunique()",
        "x.fillna(x.mean())",
        "first(x)",
        "x.iloc[::-1].to_numpy()",
        "np.sort(x)",
        "I(day - day.min()).dt.days",
    ],
)
def test_terms_that_learn_from_the_rows_raise_an_error(data, term):
    data = data.rename(columns={"y": "out"}).assign(y=data["y"])
    with pytest.raises(FormulaError) as error:
        make_design(f"out ~ z + {term}", data, scope=SCOPE)
    assert term in str(error.value).replace('"', "'")
    assert "it learns from the data" in str(error.value)
    assert "center, scale, bs" in str(error.value)


@pytest.mark.parametrize(
    ("term", "by_hand"),
    [
        ("np.log(z)", lambda d: np.log(d.z)),
        ("I(x**2)", lambda d: d.x**2),
        ("I(x + z / 2)", lambda d: d.x + d.z / 2),
        ("I(-x)", lambda d: -d.x),
        ("twice(x)", lambda d: 2 * d.x),
        ("shifted(x)", lambda d: d.x + 1),
        ("root(z)", lambda d: np.sqrt(d.z)),
        ("np.where(x > 0, x, 0)", lambda d: d.x.clip(lower=0)),
        ("x.clip(-1, 1)", lambda d: d.x.clip(-1, 1)),
        ("np.maximum(x, z)", lambda d: np.maximum(d.x, d.z)),
        ("np.abs(x)", lambda d: d.x.abs()),
        ("x.abs()", lambda d: d.x.abs()),
        ("I(x**3)", lambda d: d.x**3),
        ("x.fillna(0.0)", lambda d: d.x),  # nothing is missing here
        ("I(np.pi * x)", lambda d: np.pi * d.x),
        (
            "g.map({'a': 1, 'b': 2, 'c': 3}).astype('float')",
            lambda d: d.g.map(ord) - 96,
        ),
        ("day.dt.day_of_week", lambda d: d.day.dt.day_of_week),
        ("day.dt.month", lambda d: d.day.dt.month),
        ("I(t * 2)", lambda d: d.t * 2),
        ("g.str.len()", lambda d: d.g.str.len()),
    ],
)
def test_terms_computed_row_by_row_are_accepted(data, term, by_hand):
    design = make_design(f"y ~ {term}", data, scope=SCOPE)
    assert not design.terms.stateful
    np.testing.assert_allclose(design.matrix[:, 1], by_hand(data), rtol=1e-14)


@pytest.mark.parametrize(
    ("term", "columns"),
    [
        ("C(k)", 3),
        ("C(g)", 2),
        ("C(g, Sum)", 2),
        ("C(g, Treatment('b'))", 2),
        ("C(g, levels=['c', 'b', 'a'])", 2),
        ("g.str.upper()", 2),
        ("np.where(x > 0, 'high', 'low')", 1),
        ("x > 0", 1),
        ("pd.cut(x, [-9, 0, 9])", 1),
        ("t", 1),
        ("g.cat.codes", 1),
    ],
)
def test_factors_computed_row_by_row_are_accepted(data, term, columns):
    design = make_design(f"y ~ {term}", data, scope=SCOPE)
    assert design.matrix.shape[1] == 1 + columns
    assert not design.terms.stateful


def test_the_functions_of_the_caller_are_found(data):
    def thrice(values):
        return 3 * values

    plus = lambda v: v + 1  # noqa: E731
    result = cv("x ~ thrice(z) + plus(k)", data, scheme="kfold", k=4, seed=1)
    matrix = result.design.matrix
    np.testing.assert_array_equal(matrix[:, 1], thrice(data["z"]))
    np.testing.assert_array_equal(matrix[:, 2], plus(data["k"]))
    again = result.update(k=5)
    np.testing.assert_array_equal(again.design.matrix, matrix)


@pytest.mark.parametrize("term", ["I((lambda v: v)(x))", "I([v for v in x])"])
def test_a_lambda_inside_the_formula_raises_an_error(data, term):
    with pytest.raises(FormulaError, match="give it a name in your script"):
        make_design(f"y ~ {term}", data, scope={})


@pytest.mark.parametrize("term", ["I(2)", "'x'", "total(x)", "x[:3]"])
def test_a_term_has_one_value_per_row(data, term):
    with pytest.raises(FormulaError, match=r"values? for 40 rows"):
        make_design(f"y ~ {term}", data, scope={"total": lambda v: v.sum()})


@pytest.mark.parametrize("term", ["twice(g)", "np.log(g)", "x.nothing()", "x(z)"])
def test_the_error_of_a_term_is_reported(data, term):
    with pytest.raises(FormulaError, match=r"failed|calls|uses"):
        make_design(f"y ~ {term} + I(g**2)", data, scope=SCOPE)


@given(
    st.lists(st.integers(-3, 3), min_size=6, max_size=30).filter(
        lambda values: len(set(values)) > 1
    ),
    st.sampled_from(["k.max()", "k.min()", "k.mean()", "k.sum()"]),
)
def test_extremes_shared_by_many_rows_are_detected(values, statistic):
    """With ties at the maximum, the part with every other row contains it."""
    frame = pd.DataFrame({"k": values, "y": np.arange(len(values)) % 2})
    with pytest.raises(FormulaError, match="learns from the data"):
        make_design(f"y ~ I(k - {statistic})", frame, scope={})


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.floats(-5, 5))
def test_no_valid_term_raises_an_error(values, constant):
    frame = pd.DataFrame({"x": values, "y": np.arange(len(values)) % 2})
    right = f"np.sin(x) + np.exp(-np.abs(x)) + I(x * ({constant})) + np.cbrt(x) + x"
    assert make_design(f"y ~ {right}", frame, scope={"np": np}).n == len(values)


# ---- the outcome ----


@pytest.mark.parametrize(
    "left", ["I(x - x.mean())", "x.rank()", "I(k > k.median())", "pd.qcut(x, 2)"]
)
def test_an_outcome_that_learns_raises_an_error(data, left):
    with pytest.raises(FormulaError, match=r"'.*'.* it learns from the data"):
        make_design(f"{left} ~ z", data, scope=SCOPE)


def test_a_stateful_outcome_raises_an_error(data):
    with pytest.raises(FormulaError, match="learns from all rows"):
        make_design("scale(x) ~ z", data, scope=SCOPE)
