"""Rows with missing values: dropped and counted, an error, or passed on."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import statcv as scv
from statcv import cv
from statcv.engine import Setup
from statcv.engine.predictions import absent_levels
from statcv.errors import (
    ComparisonError,
    DataError,
    FormulaError,
    MissingDataWarning,
    ModelError,
)
from statcv.folds.user_folds import plan_from_column
from statcv.formula import make_design
from statcv.models import Linear

N = 60
FOLDS = np.arange(N) % 4


@pytest.fixture
def data():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=N),
            "b": rng.normal(size=N),
            "g": rng.choice(list("uvw"), N),
            "t": rng.random(N) < 0.5,
        }
    )
    frame["y"] = (frame["a"] + rng.normal(size=N) > 0).astype(int)
    frame["number"] = frame["a"] - frame["b"] + rng.normal(size=N)
    return frame


def gaps(data, **where):
    """Set values to missing, where ``where`` maps columns to rows."""
    data = data.astype({name: object for name in where if name in "gt"})
    for name, rows in where.items():
        data.loc[rows, name] = None if name in "gt" else np.nan
    return data


def test_drop_counts_rows_and_columns(data):
    data = gaps(data, a=[1, 2, 3], g=[3, 4], y=[9])
    with pytest.warns(MissingDataWarning, match=r"5 of 60 .* missing a 3, g 2, y 1\."):
        result = cv("y ~ a + g", data, seed=1, k=4, metrics="brier")
    design = result.design
    assert (design.n, design.n_given) == (55, 60)
    assert design.missing == {"a": 3, "g": 2, "y": 1}
    assert not {1, 2, 3, 4, 9} & set(design.labels)
    assert result.rows == "n = 55 of 60, 5 incomplete"


def test_columns_outside_the_formula_may_lack_values(data):
    design = make_design("y ~ a", gaps(data, b=[0, 1], g=[5]), scope={})
    assert (design.n, design.missing) == (N, {})


def test_raise_names_the_columns(data):
    data = gaps(data, a=[1, 2], g=[2])
    with pytest.raises(DataError, match=r"2 of 60 rows .*\(a 2, g 1\).*'raise'"):
        make_design("y ~ a + g", data, scope={}, na_action="raise")
    assert make_design("y ~ b", data, scope={}, na_action="raise").n == N


def test_the_message_stays_short_where_many_columns_lack_values():
    wide = pd.DataFrame(np.eye(9), columns=list("abcdefghi")).assign(y=[0, 1, 0] * 3)
    wide = wide.replace({0.0: np.nan}).assign(y=[0, 1, 0] * 3)
    with pytest.raises(DataError, match=r"a 8, b 8, c 8, d 8, e 8 and 4 more columns"):
        make_design("y ~ .", wide, scope={})


@pytest.mark.parametrize(
    "values",
    [
        pd.array([None, 1.5, 2.5], dtype="Float64"),
        pd.array([None, 1, 2], dtype="Int64"),
        pd.array([None, 1, 2], dtype="int64[pyarrow]"),
        pd.array([None, 1.5, 2], dtype="double[pyarrow]"),
        [None, 1, 2],
        [np.nan, 1, 2],
        pd.array([None, True, False], dtype="boolean"),
        pd.array([None, True, False], dtype="bool[pyarrow]"),
        [None, True, False],
        [None, "u", "v"],
        [np.nan, "u", "v"],
        [pd.NA, "u", "v"],
        pd.array([None, "u", "v"], dtype="string"),
        pd.array([None, "u", "v"], dtype="string[pyarrow]"),
        pd.Categorical([None, "u", "v"]),
        [pd.NaT, pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-02")],
    ],
)
def test_every_kind_of_missing_value_is_dropped(data, values):
    column = pd.Series(values).take(np.arange(N) % 3).set_axis(data.index)
    data = data.assign(m=column)
    term = "m.dt.day" if pd.api.types.is_datetime64_any_dtype(column) else "m"
    design = make_design(f"y ~ {term}", data, scope={})
    assert design.missing == {"m": 20}
    np.testing.assert_array_equal(design.kept, np.flatnonzero(np.arange(N) % 3))
    expected = column[column.notna()]
    if term == "m.dt.day":
        expected = expected.dt.day
    elif isinstance(expected.iloc[0], (str, bool, np.bool_)):
        expected = expected.map({"u": 0, "v": 1, True: 1, False: 0})
        assert design.names[1] in ("m[T.v]", "m[T.True]")
    np.testing.assert_array_equal(design.matrix[:, 1], expected.astype(float))


@pytest.mark.parametrize("dtype", ["Float64", "double[pyarrow]"])
def test_nan_in_a_nullable_column_is_missing(data, dtype):
    """0/0 gives a NaN that pandas itself may not count as missing."""
    zeros = pd.array([0.0, 1.0, 2.0] * 20, dtype=dtype)
    design = make_design("y ~ q", data.assign(q=zeros / zeros), scope={})
    assert design.missing == {"q": 20}
    design = make_design("q ~ a", data.assign(q=zeros * (zeros / zeros)), scope={})
    assert design.missing == {"q": 20}


def test_no_complete_rows_raise_an_error(data):
    data = gaps(data, a=list(range(30)), b=list(range(30, N)))
    with pytest.raises(DataError, match=r"no row is complete.*a 30, b 30.*'pass'"):
        make_design("y ~ a + b", data, scope={})


# ---- na_action="pass" ----


def by_hand(data, pipeline, columns, outcome, method):
    predicted = np.empty(len(data))
    X, y = np.asarray(columns, dtype=float), data[outcome].to_numpy()
    for fold in range(4):
        out = FOLDS == fold  # noqa: SIM300
        fit = pipeline.fit(X[~out], y[~out])
        found = getattr(fit, method)(X[out])
        predicted[out] = found[:, 1] if found.ndim == 2 else found
    return predicted


def test_a_pipeline_imputes_inside_each_fold(data):
    data = gaps(data, a=list(range(0, 40, 3)), b=[5, 6, 7, 50])
    pipeline = make_pipeline(SimpleImputer(), LogisticRegression())
    result = cv("y ~ a + b", data, model=pipeline, scheme=FOLDS, na_action="pass",
                metrics="brier", seed=1)  # fmt: skip
    assert result.design.n == N
    expected = by_hand(data, pipeline, data[["a", "b"]], "y", "predict_proba")
    found = result.predictions.sort_values("row")["predicted"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    whole = data.fillna({"a": data["a"].mean(), "b": data["b"].mean()})
    leaking = by_hand(whole, pipeline, whole[["a", "b"]], "y", "predict_proba")
    assert np.abs(found - leaking).max() > 1e-4


def test_dummies_of_a_missing_category_are_missing(data):
    data = gaps(data, g=[0, 7, 8], t=[8, 9], b=[1])
    design = make_design("number ~ g + b + t + g:b", data, scope={}, na_action="pass")
    assert (design.n, design.missing) == (N, {})
    assert design.names == (
        "Intercept", "g[T.v]", "g[T.w]", "b", "t", "g[T.v]:b", "g[T.w]:b",
    )  # fmt: skip
    lacking = np.isnan(design.matrix)
    rows = {name: np.flatnonzero(lacking[:, j]).tolist()
            for j, name in enumerate(design.names)}  # fmt: skip
    assert rows == {
        "Intercept": [], "g[T.v]": [0, 7, 8], "g[T.w]": [0, 7, 8], "b": [1],
        "t": [8, 9], "g[T.v]:b": [0, 1, 7, 8], "g[T.w]:b": [0, 1, 7, 8],
    }  # fmt: skip
    for level in "vw":
        column = design.matrix[:, design.names.index(f"g[T.{level}]")]
        known = data["g"].notna()
        np.testing.assert_array_equal(column[known], data["g"][known] == level)


@pytest.mark.parametrize("term", ["C(g)", "C(g, Sum)", "g.str.upper()", "C(k)"])
def test_missing_values_in_factors_made_in_the_formula(data, term):
    data = gaps(data.assign(k=np.arange(N) % 3 + 1.0), g=[3], k=[3])
    design = make_design(f"y ~ {term}", data, scope={}, na_action="pass")
    assert np.isnan(design.matrix).any(axis=1).nonzero()[0].tolist() == [3]
    assert np.isnan(design.matrix[3, 1:]).all()
    assert design.matrix.shape == (N, 3)  # a missing value is not a level


def test_a_missing_category_does_not_hide_an_absent_level(data):
    data = data.assign(g=np.where(np.arange(N) < 5, "a", "b"))
    data = gaps(data, g=[10, 11])
    design = make_design("y ~ g", data, scope={}, na_action="pass")
    first, rest = np.arange(N) >= 5, np.arange(N) >= 4  # who trains in one fold
    for training, absent in ((first, {("g", "a"): [0]}), (rest, {})):
        plan = plan_from_column(training.astype(int), "fold")
        found = absent_levels(Setup(design, plan, Linear(), seed=1))
        found.pop(("g", "b"), None)  # the level of the other fold
        assert {level: fits for level, (fits, _) in found.items()} == absent


def test_indicators_of_missingness(data):
    data = gaps(data, a=[2, 3])
    right = "a.isna() + a.fillna(0) + np.where(np.isnan(a), 1, 2)"
    design = make_design(f"y ~ {right}", data, scope={"np": np}, na_action="pass")
    assert np.isfinite(design.matrix).all()
    np.testing.assert_array_equal(design.matrix[:, 1], data["a"].isna())
    np.testing.assert_array_equal(design.matrix[:, 2], data["a"].fillna(0))
    with pytest.raises(FormulaError, match="learns from the data"):
        make_design("y ~ a.fillna(a.mean())", data, scope={}, na_action="pass")


def test_a_missing_outcome_is_dropped_under_pass(data):
    data = gaps(data, a=[1], y=[2, 3])
    design = make_design("y ~ a", data, scope={}, na_action="pass")
    assert (design.n, design.missing) == (N - 2, {"y": 2})
    assert np.isnan(design.matrix).sum() == 1


def test_pass_does_not_permit_other_nans(data):
    data = gaps(data, a=[1])
    with pytest.raises(DataError, match=r"'np\.log\(b\)' is nan in \d+ rows"):
        make_design("y ~ a + np.log(b)", data, scope={"np": np}, na_action="pass")


def test_pass_with_terms_that_learn(data):
    data = gaps(data, a=[1, 2])
    with pytest.raises(FormulaError, match=r"'a' has missing values.*'pass'"):
        make_design("y ~ center(a)", data, scope={}, na_action="pass")
    design = make_design("number ~ a + center(b)", data, scope={}, na_action="pass")
    training = np.arange(30)
    fitted, _ = design.fold(training, np.arange(30, N))
    centred = data["b"][:30] - data["b"][:30].mean()
    np.testing.assert_allclose(fitted[:, 2], centred, rtol=1e-12)
    assert np.isnan(fitted[:, 1]).nonzero()[0].tolist() == [1, 2]


def test_a_category_without_any_value(data):
    data = data.assign(g=pd.Categorical([None] * N, categories=["u"]))
    with pytest.raises(DataError, match="column 'g' has no value at all"):
        make_design("y ~ g + a", data, scope={}, na_action="pass")


def test_a_model_that_does_not_accept_missing_values_says_so(data):
    with pytest.raises(ModelError, match="missing covariates"):
        cv("y ~ a", gaps(data, a=[1]), na_action="pass", k=4, seed=1)


def test_a_factor_in_a_pipeline_by_hand(data):
    data = gaps(data, g=[0, 7, 8])
    pipeline = make_pipeline(SimpleImputer(), LinearRegression())
    result = cv("number ~ a + g", data, model=pipeline, scheme=FOLDS,
                na_action="pass", seed=1)  # fmt: skip
    dummies = pd.DataFrame({k: (data["g"] == k).astype(float) for k in "vw"})
    columns = data[["a"]].join(dummies.mask(data["g"].isna()))
    expected = by_hand(data, pipeline, columns, "number", "predict")
    found = result.predictions.sort_values("row")["predicted"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


# ---- models that accept missing values ----

ACCEPTING = {
    "xgboost": (scv.models.XGBoost(n_estimators=5), True),
    "gblinear": (scv.models.XGBoost(booster="gblinear"), False),
    "logit": ("logit", False),
    "mean": ("mean", False),
    "histograms": (HistGradientBoostingClassifier(max_iter=5), True),
    "forest": (RandomForestClassifier(5), True),
    "boosting": (GradientBoostingClassifier(n_estimators=5), False),
    "regression": (LogisticRegression(), False),
    "imputing": (make_pipeline(StandardScaler(), SimpleImputer(), SVC()), True),
    "scaled": (make_pipeline(StandardScaler(), LogisticRegression()), False),
    "scaled trees": (make_pipeline(StandardScaler(), RandomForestClassifier(5)), True),
    "too late": (make_pipeline(PCA(1), SimpleImputer(), SVC()), False),
}


@pytest.mark.filterwarnings("ignore:.*omitted", "ignore:.*no skill")
@pytest.mark.filterwarnings("ignore:.*booster=gblinear:UserWarning")
@pytest.mark.parametrize("name", ACCEPTING)
def test_a_model_keeps_incomplete_records_if_it_accepts_them(data, name):
    (model, keeps), some = ACCEPTING[name], gaps(data, a=[0, 1, 2], g=[2, 3])
    res = cv("y ~ a + g", some, model=model, k=3, seed=1)
    assert res.design.n == (N if keeps else N - 4)
    said = " ".join(str(res.summary()).split())
    assert ("4 incomplete (missing: a 3, g 2)" in said) is keeps
    assert cv("y ~ a + g", some, model=model, k=3, na_action="drop").design.n == N - 4
    assert res.final.predict(some.head(1)).isna().item() is not keeps


@pytest.mark.filterwarnings("ignore:.*omitted", "ignore:.*no skill")
def test_a_term_that_learns_from_a_gap_leaves_incomplete_records_out(data):
    some = gaps(data, a=[0, 1, 2], b=[7])
    made = {"model": scv.models.XGBoost(n_estimators=5), "k": 3, "seed": 1}
    assert cv("y ~ scale(a) + b", some, **made).design.n == N - 4
    assert cv("y ~ a + scale(b)", some.fillna({"b": 0}), **made).design.n == N


@pytest.mark.filterwarnings("ignore:.*omitted", "ignore:.*no skill")
def test_results_that_keep_and_omit_records_are_not_compared(data):
    some, made = gaps(data, a=[0, 1, 2]), {"k": 3, "seed": 1}
    trees = cv("y ~ a", some, model=scv.models.XGBoost(n_estimators=5), **made)
    logit = cv("y ~ a", some, **made)
    with pytest.raises(ComparisonError, match=r"3 occur in only.*na_action='drop'"):
        scv.compare(trees, logit)
    both = scv.compare(trees.update(na_action="drop"), logit)
    assert f"{N - 3} records" in str(both)
    assert scv.compare(trees, reference="null").results["null"].design.n == N
    formulas = scv.compare(
        a="y ~ a",
        b="y ~ b",
        data=some,
        model=scv.models.XGBoost(n_estimators=5),
        **made,
    )
    assert f"{N} records, the same in every result" in str(formulas)
