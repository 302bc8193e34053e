"""The same data in other types of frames give the same design."""

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from statcv import cv
from statcv.errors import DataError
from statcv.formula import as_frame, make_design

pytestmark = pytest.mark.filterwarnings("ignore:column 'u' has the level ''")
N = 48
FORMULA = "y ~ a * g + k + t + np.exp(a):k + center(s) + u"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(9)
    return pd.DataFrame(
        {
            "y": rng.integers(0, 2, N),
            "a": rng.normal(size=N),
            "s": rng.normal(size=N).astype("float32"),
            "k": rng.integers(-5, 5, N),
            "t": rng.random(N) < 0.4,
            "g": rng.choice(["low", "mid", "top"], N).astype(object),
            "u": rng.choice(["é", "zz", ""], N).astype(object),
        }
    )


@pytest.fixture(scope="module")
def expected(data):
    return make_design(FORMULA, data, scope={"np": np})


def arrow(data):
    types = {"y": "int64", "a": "double", "s": "float", "k": "int32", "t": "bool"}
    frame = data.astype({name: f"{kind}[pyarrow]" for name, kind in types.items()})
    texts = pd.ArrowDtype(pa.string())
    return frame.astype({"g": texts, "u": texts})


def dictionaries(data):
    kind = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    return arrow(data).assign(g=data["g"].astype("string").astype(kind))


CLOTHES = {
    "convert_dtypes": lambda d: d.convert_dtypes(),
    "nullable": lambda d: d.astype(
        {
            "y": "Int64",
            "a": "Float64",
            "s": "Float32",
            "k": "Int16",
            "t": "boolean",
            "g": "string",
            "u": "string",
        }
    ),
    "str": lambda d: d.astype({"g": "str", "u": "str"}),
    "string[pyarrow]": lambda d: d.astype({"g": "string[pyarrow]"}),
    "string[python]": lambda d: d.astype({"g": "string[python]"}),
    "category": lambda d: d.astype({"g": "category", "u": "category"}),
    "objects": lambda d: d.astype(object),
    "unsigned": lambda d: (
        d.assign(k=d["k"] + 5)
        .astype({"k": "uint8"})
        .assign(k=lambda e: e["k"].astype("int8") - 5)
    ),
    "sparse": lambda d: d.assign(a=pd.arrays.SparseArray(d["a"])),
    "arrow": arrow,
    "arrow dictionary": dictionaries,
    "polars": pl.from_pandas,
    "polars lazy": lambda d: pl.from_pandas(d).lazy(),
    "polars categories": lambda d: pl.from_pandas(d).with_columns(
        pl.col("g").cast(pl.Categorical)
    ),
    "pyarrow": lambda d: pa.Table.from_pandas(d, preserve_index=False),
    "duckdb": lambda d: duckdb.from_arrow(pa.Table.from_pandas(d)),
    "narwhals": lambda d: nw.from_native(pl.from_pandas(d)),
}


@pytest.mark.parametrize("clothes", CLOTHES)
def test_the_design_is_the_same(data, expected, clothes):
    design = make_design(FORMULA, CLOTHES[clothes](data), scope={"np": np})
    assert design.names == expected.names
    np.testing.assert_allclose(design.matrix, expected.matrix, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(design.y, expected.y)
    assert design.outcome.levels == expected.outcome.levels
    training, others = np.arange(30), np.arange(30, N)
    for ours, theirs in zip(
        design.fold(training, others), expected.fold(training, others), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("clothes", CLOTHES)
def test_plain_numbers_are_the_same(data, clothes):
    given = CLOTHES[clothes](data)
    design = make_design("y ~ a * k", given, scope={})
    assert design.terms.is_plain
    product = data["a"] * data["k"]
    np.testing.assert_array_equal(design.matrix[:, 3], product)


@pytest.mark.parametrize("clothes", ["polars lazy", "pyarrow", "duckdb", "arrow"])
def test_predictions_are_the_same(data, clothes):
    call = {"scheme": "rloocv", "seed": 3}
    ours = cv("y ~ a + g + k", CLOTHES[clothes](data), **call)
    theirs = cv("y ~ a + g + k", data, **call)
    np.testing.assert_allclose(
        ours.predictions["predicted"], theirs.predictions["predicted"], rtol=1e-9
    )
    new = CLOTHES[clothes](data.head(5))
    np.testing.assert_allclose(ours.predict(new), theirs.predict(data.head(5)))


def test_missing_values_survive_the_conversion_of_frames(data):
    gaps = data.assign(a=data["a"].where(data["k"] > -3), g=data["g"].where(data["t"]))
    expected = make_design("y ~ a + g", gaps, scope={})
    assert 0 < expected.n < N
    for clothes in ("polars", "polars lazy", "pyarrow", "duckdb", "convert_dtypes"):
        design = make_design("y ~ a + g", CLOTHES[clothes](gaps), scope={})
        assert design.missing == expected.missing
        np.testing.assert_array_equal(design.kept, expected.kept)
        np.testing.assert_allclose(design.matrix, expected.matrix)


def test_the_frame_is_unchanged(data):
    for given in (data, data.convert_dtypes(), data.astype({"g": "category"})):
        before = given.copy(deep=True)
        design = make_design("y ~ a * g + t", given, scope={})
        assert design.matrix.flags.writeable
        design.matrix[:] = 0
        pd.testing.assert_frame_equal(given, before)
        assert as_frame(given) is given


def test_categories_keep_their_own_order(data):
    order = ["top", "low", "mid", "never"]
    given = data.assign(g=pd.Categorical(data["g"], categories=order, ordered=True))
    design = make_design("y ~ g", given, scope={})
    assert design.names == ("Intercept", "g[T.low]", "g[T.mid]")
    assert design.terms.levels["g"][1] == ("top", "low", "mid")


def test_polars_enums_keep_theirs(data):
    order = pl.Enum(["top", "mid", "low"])
    given = pl.from_pandas(data).with_columns(pl.col("g").cast(order))
    assert make_design("y ~ g", given, scope={}).names[1:] == ("g[T.mid]", "g[T.low]")


# ---- labels ----


@pytest.mark.parametrize(
    "labels",
    [
        [f"patient {i}" for i in range(N)],
        pd.Index(np.arange(N) * 10 + 3, name="id"),
        pd.date_range("2024-01-01", periods=N),
        pd.MultiIndex.from_product([["a", "b", "c"], range(16)], names=["ward", "bed"]),
        pd.Index(np.arange(N)[::-1]),
    ],
    ids=["text", "numbers", "dates", "two levels", "backwards"],
)
def test_labels_are_kept_in_predictions(data, labels):
    given = data.set_axis(labels, axis=0)
    design = make_design("y ~ a + g", given, scope={})
    pd.testing.assert_index_equal(design.labels, given.index)
    result = cv("y ~ a + g", given, k=4, seed=1)
    assert set(result.predictions["row"]) == set(given.index)
    by_label = dict(zip(given.index, given["y"], strict=True))
    observed = result.predictions["row"].map(by_label)
    np.testing.assert_array_equal(result.predictions["observed"], observed)
    plain = cv("y ~ a + g", data, k=4, seed=1).predictions["predicted"]
    np.testing.assert_allclose(result.predictions["predicted"], plain)


def test_tables_of_predictions_share_no_names(data):
    first, second = (cv("y ~ a + g", data, k=4, seed=1) for _ in range(2))
    names = ["repeat", "fold", "row", "observed", "predicted"]
    assert list(first.predictions.columns) == names
    first.predictions.columns.name = "column"
    assert second.predictions.columns.name is None
    pd.testing.assert_index_equal(second.predictions.columns, pd.Index(names))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "Int64", "float16", "boolean"])
def test_small_frames_are_read_as_one_by_one(data, dtype):
    rng = np.random.default_rng(5)
    given = pd.DataFrame({"y": data["y"], "b": rng.normal(size=N).astype("float32")})
    given["c"] = pd.Series(rng.integers(0, 2, N), index=given.index).astype(dtype)
    given["d"] = rng.integers(0, 9, N)
    design = make_design("y ~ .", given, scope={})
    name = "c[T.True]" if dtype == "boolean" else "c"
    assert set(design.names) == {"Intercept", "b", name, "d"}
    for column, own in (("b", "b"), ("c", name), ("d", "d")):
        expected = given[column].to_numpy(dtype=float)
        np.testing.assert_array_equal(
            design.matrix[:, design.names.index(own)], expected
        )


def test_labels_are_kept_where_rows_are_dropped(data):
    given = data.set_axis([f"r{i}" for i in range(N)], axis=0)
    given.loc[["r3", "r9"], "a"] = np.nan
    design = make_design("y ~ a", given, scope={})
    assert list(design.labels) == [f"r{i}" for i in range(N) if i not in (3, 9)]


# ---- columns that raise an error ----


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (pd.to_timedelta(np.arange(N), "D"), "time differences"),
        (np.arange(N) * 1j, "complex"),
        (["a", 1] * 24, r"mixes values of several types \(int, str\)"),
        ([[1]] * N, "list"),
        (pd.period_range("2020-01", periods=N, freq="M"), "Period"),
        ([b"a"] * N, "bytes"),
    ],
)
def test_columns_that_cannot_be_predictors(data, values, match):
    with pytest.raises(DataError, match=match) as error:
        make_design("y ~ a + odd", data.assign(odd=values), scope={})
    assert "'odd'" in str(error.value)
    assert make_design("y ~ a", data.assign(odd=values), scope={}).n == N


def test_decimals_are_numbers(data):
    from decimal import Decimal

    money = [Decimal(int(k)) / 4 for k in data["k"]]
    design = make_design("y ~ money", data.assign(money=money), scope={})
    np.testing.assert_array_equal(design.matrix[:, 1], data["k"] / 4)
    arrow_money = pd.array(money, dtype=pd.ArrowDtype(pa.decimal128(8, 2)))
    design = make_design("y ~ money", data.assign(money=arrow_money), scope={})
    np.testing.assert_array_equal(design.matrix[:, 1], data["k"] / 4)
