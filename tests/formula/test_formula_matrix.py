"""The matrix of a formula, compared with patsy; its order, with R; and ``.``."""

import pickle

import numpy as np
import pandas as pd
import patsy
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from statcv import cv
from statcv.errors import DataError, FormulaError
from statcv.formula import make_design

N = 24
LEAVES = ("a", "b", "c", "Q('odd name')")
MIXED = (*LEAVES[:2], "f", "g", "t", "C(k)", "np.exp(a)", "C(f, Sum)")


@pytest.fixture(scope="module")
def data():
    return make_data()


def make_data():
    rng = np.random.default_rng(3)
    numbers = {name: rng.normal(size=N) for name in ("a", "b", "c", "odd name")}
    return pd.DataFrame(
        {
            "y": np.arange(N) % 2,
            **numbers,
            "f": np.tile(["u", "v", "w"], N // 3),
            "g": np.repeat(["p", "q"], N // 2),
            "t": np.arange(N) % 4 < 2,
            "k": np.tile([3, 1, 2, 1], N // 4),
        }
    )


def formulas(leaves):
    def grow(inner):
        pair = st.tuples(inner, inner)
        return st.one_of(
            pair.map(" + ".join),
            pair.map(lambda p: f"({p[0]}):({p[1]})"),
            pair.map(lambda p: f"({p[0]})*({p[1]})"),
            pair.map(lambda p: f"({p[0]})/({p[1]})"),
            inner.map("({})**2".format),
            st.tuples(inner, st.sampled_from(leaves)).map(" - ".join),
        )

    body = st.recursive(st.sampled_from(leaves), grow, max_leaves=5)
    ends = st.sampled_from(["{}", "{} - 1", "0 + {}", "{} + 0", "1 + {}", "-1 + {}"])
    return st.tuples(ends, body).map(lambda parts: parts[0].format(parts[1]))


def terms_of(right):
    """Return patsy's terms in R's order: by degree, then by appearance."""
    terms = patsy.ModelDesc.from_formula(right).rhs_termlist
    return sorted(terms, key=lambda term: len(term.factors))


@settings(max_examples=2 * settings.default.max_examples)
@given(formulas(LEAVES))
def test_numeric_formulas_have_the_matrix_and_names_of_patsy(right):
    terms = terms_of(right)
    assume(terms)
    data = make_data()
    design = make_design(f"y ~ {right}", data, scope={})
    expected = patsy.dmatrix(right, data, return_type="dataframe")
    assert design.terms.is_plain
    assert design.names == tuple(term.name() for term in terms)
    assert sorted(design.names) == sorted(expected.columns)
    ours = expected[list(design.names)].to_numpy()
    np.testing.assert_allclose(design.matrix, ours, rtol=1e-14)


@settings(max_examples=2 * settings.default.max_examples)
@given(formulas(MIXED))
def test_mixed_formulas_have_the_columns_of_patsy(right):
    terms = terms_of(right)
    assume(terms)
    assume(len(terms) < 40)
    data = make_data()
    design = make_design(f"y ~ {right}", data, scope={"np": np})
    expected = patsy.dmatrix(right, data, return_type="dataframe")
    assert sorted(design.names) == sorted(expected.columns)
    ours = expected[list(design.names)].to_numpy()
    np.testing.assert_allclose(design.matrix, ours, rtol=1e-14, atol=0)


def test_columns_come_in_the_order_of_r(data):
    # colnames(model.matrix(~ a*f + g + b)) of R 4.2: a, fv, fw, gq, b, a:fv, a:fw
    design = make_design("y ~ a*f + g + b", data, scope={})
    assert design.names == (
        "Intercept", "a", "f[T.v]", "f[T.w]", "g[T.q]", "b", "a:f[T.v]", "a:f[T.w]",
    )  # fmt: skip
    # patsy itself keeps a:b before c, and puts factors first
    plain = make_design("y ~ a*b + c", data, scope={})
    assert plain.names == ("Intercept", "a", "b", "c", "a:b")
    three = make_design("y ~ a*b*c", data, scope={})
    assert three.names[1:] == ("a", "b", "c", "a:b", "a:c", "b:c", "a:b:c")
    assert make_design("y ~ a:b + c + a", data, scope={}).names[1:] == ("c", "a", "a:b")


@pytest.mark.parametrize(
    ("right", "names"),
    [  # attr(terms(...), "intercept") and "term.labels" of R 4.2
        ("a + -1", ["a"]),
        ("a + (0 + b)", ["a", "b"]),
        ("a + (b - 1)", ["a", "b"]),
        ("0 + a + 1", ["Intercept", "a"]),
        ("(a - 1)*b", ["a", "b", "a:b"]),
        ("(a - 1):b", ["a:b"]),
        ("b/(a - 1)", ["b", "b:a"]),
        ("(a + b - 1)**2", ["a", "b", "a:b"]),
        ("(a - 1)*b + 1", ["Intercept", "a", "b", "a:b"]),
        ("a - (b - 1)", ["Intercept", "a"]),
        ("a - a", ["Intercept"]),
        ("(a + b)/c", ["Intercept", "a", "b", "a:b:c"]),
        ("(a + b)**3 + c", ["Intercept", "a", "b", "c", "a:b"]),
        ("a*b - a", ["Intercept", "b", "a:b"]),
        ("+a", ["Intercept", "a"]),
        ("1", ["Intercept"]),
    ],
)
def test_the_intercept_and_removals_as_in_r(data, right, names):
    design = make_design(f"y ~ {right}", data, scope={})
    assert design.names == tuple(names)
    assert design.intercept == (0 if "Intercept" in names else None)


def test_both_kinds_of_quotes_name_the_same_column(data):
    single = make_design("y ~ a + Q('odd name')", data, scope={})
    double = make_design('y ~ a + Q("odd name") + Q("a")', data, scope={})
    as_in_r = make_design("`y` ~ `a` + `odd name`", data, scope={})
    names = ("Intercept", "a", "Q('odd name')")
    assert single.names == double.names == as_in_r.names == names
    np.testing.assert_array_equal(single.matrix, double.matrix)


@pytest.mark.parametrize(
    "name",
    ["a b", "it's", 'say "x"', "a.b", "a~b", "y + x", "class", "True", "0", "größe",
     "ﬁ", "()", "{}", "%", "tab\there", "a\\b", "ꓸ", "f(x", "日本"],
)  # fmt: skip
def test_odd_names_by_dot_and_by_quoting(name):
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"y": [0, 1] * 5, "x": rng.normal(size=10)})
    data[name] = rng.normal(size=10)
    dot = make_design("y ~ .", data, scope={})
    assert dot.formula.products == ((), ("x",), (name,))
    np.testing.assert_array_equal(dot.matrix[:, 2], data[name])
    if name != "ꓸ":  # the sign that marks a dot while the formula is read
        written = make_design(f"y ~ x + Q({name!r})", data, scope={})
        assert written.names == dot.names
        assert make_design(f"y ~ . - Q({name!r})", data, scope={}).names[1:] == ("x",)
    # this one goes by way of patsy
    mixed = make_design("y ~ . + I(x**2)", data, scope={})
    np.testing.assert_array_equal(mixed.matrix[:, 2], data[name])


def test_a_column_named_as_the_intercept(data):
    given = data.assign(Intercept=data["a"])
    with pytest.raises(FormulaError, match=r"two columns .* called 'Intercept'"):
        make_design("y ~ b + Intercept", given, scope={})
    design = make_design("y ~ b + Intercept - 1", given, scope={})
    assert (design.names, design.intercept) == (("b", "Intercept"), None)


# ---- the dot ----


def test_dot_is_every_column_except_the_outcome(data):
    small = data[["y", "a", "b", "odd name"]].assign(w=1.0)
    dot = make_design("y ~ .", small, scope={})
    assert dot.names == ("Intercept", "a", "b", "Q('odd name')", "w")
    assert make_design("np.exp(y) ~ .", small, scope={"np": np}).names == dot.names
    less = make_design("y ~ .", small, scope={}, not_in_dot=["w"])
    assert less.names == dot.names[:-1]
    named = make_design("y ~ . + w", small, scope={}, not_in_dot=["w"])
    assert named.names == dot.names


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        (". - a", "b + c"),
        (". - a - b", "c"),
        (". - 1", "0 + a + b + c"),
        (". * c", "(a + b + c) * c"),
        (".:c", "(a + b + c):c"),
        (".**2", "(a + b + c)**2"),
        ("(. - a)**2", "(b + c)**2"),
        ("np.exp(a) + .", "np.exp(a) + a + b + c"),
        ("a + .", "a + b + c"),
        (". + I(a*.5)", "a + b + c + I(a*.5)"),
        ("c + . - c", "a + b"),
    ],
)
def test_dot_is_the_sum_of_columns(data, right, expected):
    small = data[["y", "a", "b", "c"]]
    dot = make_design(f"y ~ {right}", small, scope={"np": np})
    written = make_design(f"y ~ {expected}", small, scope={"np": np})
    assert dot.names == written.names
    np.testing.assert_array_equal(dot.matrix, written.matrix)


def test_dot_minus_an_odd_name(data):
    small = data[["y", "a", "odd name", "b"]]
    for quote in ("'", '"'):
        design = make_design(f"y ~ . - Q({quote}odd name{quote})", small, scope={})
        assert design.names == ("Intercept", "a", "b")


def test_dot_leaves_out_weights_and_the_fold_column(data):
    given = data[["y", "a", "b"]].assign(
        w=np.linspace(1, 2, N), part=np.arange(N) // 2 % 3
    )
    result = cv("y ~ .", given, scheme="part", weights="w", metrics="brier", seed=1)
    assert result.design.names == ("Intercept", "a", "b")
    whole = cv("y ~ .", given, scheme="part", metrics="brier", seed=1)
    assert whole.design.names == ("Intercept", "a", "b", "w")


@pytest.mark.parametrize("right", ["I(.)", "np.log(.)", "a + .b"])
def test_a_dot_inside_an_expression_raises_an_error(data, right):
    with pytest.raises(FormulaError, match="term by itself"):
        make_design(f"y ~ {right}", data, scope={"np": np})


def test_a_dot_that_stands_for_nothing(data):
    with pytest.raises(FormulaError, match="no column"):
        make_design("y ~ .", data[["y"]], scope={})
    with pytest.raises(FormulaError, match="left of '~'"):
        make_design(". ~ a", data, scope={})


# ---- many columns ----


@pytest.mark.slow
@pytest.mark.parametrize("written", [False, True])
def test_wide_frames_have_all_columns(written):
    """patsy's own expansion fails at about 300 columns."""
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 5000)))
    wide = wide.add_prefix("x").assign(y=np.arange(20) % 2)
    right = " + ".join(wide.columns[:-1]) if written else "."
    design = make_design(f"y ~ {right} - x7", wide, scope={})
    assert design.matrix.shape == (20, 5000)
    assert design.names[7:9] == ("x6", "x8")
    np.testing.assert_array_equal(design.matrix[:, 8], wide["x8"])


@pytest.mark.slow
def test_wide_frames_with_a_factor():
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 1500)))
    wide = wide.add_prefix("x").assign(y=np.arange(20) % 2, f=list("abcd") * 5)
    design = make_design("y ~ .", wide, scope={})
    assert design.names[-3:] == ("f[T.b]", "f[T.c]", "f[T.d]")


# ---- many columns are read together ----

KINDS = {
    "floats": lambda column, j: column,
    "floats and integers": lambda column, j: column if j % 3 else np.round(9 * column),
    "short floats": lambda column, j: column.astype(np.float32 if j % 2 else float),
    "nullable": lambda column, j: pd.array(column) if j == 70 else column,
}


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("outcome", ["number", "text"])
def test_many_columns_are_read_as_one_by_one(apart, kind, missing, outcome):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 90))
    made = {f"x{j}": KINDS[kind](X[:, j], j) for j in range(90)}
    made["x8"] = np.arange(40)
    if missing:
        made["x5"] = np.where(np.arange(40) % 7 == 2, np.nan, X[:, 5])
    y = pd.Series(rng.permutation(np.arange(40) % 2))
    made["y"] = y if outcome == "number" else y.map({0: "a", 1: "b"})
    names = [*list(made)[:50], "y", *list(made)[50:90]]
    data = pd.DataFrame(made, copy=False)[names]
    data = data if apart else data.copy()
    design = make_design("y ~ . - x3", data, scope={})
    whole = data.drop(columns=["y", "x3"]).astype(float)
    kept = whole.notna().all(axis=1).to_numpy()
    assert design.n == kept.sum() == (34 if missing else 40)
    assert design.names == ("Intercept", *whole.columns)
    expected = np.column_stack([np.ones(40), whole.to_numpy()])[kept]
    np.testing.assert_array_equal(design.matrix, expected)
    np.testing.assert_array_equal(design.terms.whole_matrix(), expected)
    again = pickle.loads(pickle.dumps(design))
    np.testing.assert_array_equal(again.terms.whole_matrix(), expected)
    assert list(again.terms.columns) == list(whole.columns)
    pd.testing.assert_series_equal(
        design.terms.columns["x9"], whole["x9"][kept], check_dtype=False
    )


def test_later_changes_of_the_data_do_not_change_the_design():
    data = pd.DataFrame(
        np.random.default_rng(2).normal(size=(30, 4)), columns=[*"abcd"]
    )
    design = make_design("a ~ b + c", data, scope={})
    before = design.matrix.copy()
    data["b"] = 0.0
    np.testing.assert_array_equal(design.terms.whole_matrix(), before)


def test_many_columns_that_are_not_finite_are_named():
    X = np.random.default_rng(3).normal(size=(30, 80))
    data = pd.DataFrame(X, columns=[f"x{j}" for j in range(80)])
    data.loc[4, "x70"] = np.inf
    with pytest.raises(DataError, match="column 'x70' has 1 infinite value "):
        make_design("x0 ~ .", data, scope={})


def wide(layout, p=60, times=1):
    """Return a frame of many numeric columns, as they may lie in memory."""
    values = np.random.default_rng(3).normal(size=(7 * times, p)).round(3)
    frame = pd.DataFrame(values, columns=[f"x{j}" for j in range(p)])
    if layout == "separate":
        frame = pd.DataFrame({name: frame[name].to_numpy() for name in frame})
        frame["x7"] = frame["x7"].to_numpy().copy()
    if layout == "several dtypes":
        frame = frame.astype({f"x{j}": "float32" for j in range(0, p, 3)})
        frame["x4"] = np.arange(7 * times)
    if layout == "beside text":
        frame.insert(20, "note", list("abcdefg") * times)
    if layout == "backwards":
        frame = frame.iloc[:, ::-1]
    outcome = pd.Series([0, 1, 1, 0, 1, 0, 1] * times, name="y")
    return pd.concat([frame.iloc[:, :11], outcome, frame.iloc[:, 11:]], axis=1)


@pytest.mark.parametrize(
    "layout", ["together", "separate", "several dtypes", "beside text", "backwards"]
)
@pytest.mark.parametrize("formula", ["y ~ .", "y ~ . - x3 - x58", "y ~ x50 + . - 1"])
@pytest.mark.parametrize("times", [1, 2000])
def test_many_columns_are_those_of_the_frame_however_they_lie(layout, formula, times):
    frame = wide(layout, times=times)
    text = " - note" if layout == "beside text" else ""
    design = make_design(formula + text, frame, scope={})
    names = [name for name in frame if name not in ("y", "note")]
    if "x3" in formula:
        names = [name for name in names if name not in ("x3", "x58")]
    if "x50" in formula:
        names = ["x50", *(name for name in names if name != "x50")]
    expected = frame[names].to_numpy(dtype=float)
    if "- 1" not in formula:
        names = ["Intercept", *names]
        expected = np.column_stack([np.ones(7 * times), expected])
    assert design.names == tuple(names)
    np.testing.assert_array_equal(design.matrix, expected)
    assert design.formula.columns == tuple(n for n in names if n != "Intercept")
