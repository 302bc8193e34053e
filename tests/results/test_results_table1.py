"""The description of the data, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.errors import ArgumentError, ArgumentTypeError, ColumnError
from statcv.results.writing.export import INDENT, PaperTable


@pytest.fixture
def data() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [50.0, 60.0, 70.0, np.nan, 40.0, 80.0],
            "days": [1, 1, 2, 2, 3, 100],
            "stage": ["I", "II", "II", "III", None, "I"],
            "smokes": [True, False, False, True, True, True],
            "ill": ["no", "no", "no", "yes", "yes", "yes"],
        }
    )


def shown(table: PaperTable) -> dict[str, list[str]]:
    return dict(zip(table.cells.index, table.cells.to_numpy().tolist(), strict=True))


def test_against_values_worked_out_by_hand(data: pd.DataFrame) -> None:
    table = scv.table1(data, by="ill")
    assert list(table.cells) == ["All (n = 6)", "ill = no (n = 3)", "ill = yes (n = 3)"]
    rows = shown(table)
    # 60 and sqrt(1000 / 4); 60 and sqrt(200 / 2); 60 and sqrt(800 / 1)
    assert rows["age, mean (SD)"] == ["60.0 (15.8)", "60.0 (10.0)", "60.0 (28.3)"]
    # quartiles between the order statistics, as quantile() of R
    quartiles = ["2.0 (1.2 to 2.8)", "1.0 (1.0 to 1.5)", "3.0 (2.5 to 51.5)"]
    assert rows["days, median (IQR)"] == quartiles
    assert rows["stage, n (%)"] == ["", "", ""]
    assert rows[f"{INDENT}I"] == ["2 (40%)", "1 (33%)", "1 (50%)"]
    assert rows[f"{INDENT}II"] == ["2 (40%)", "2 (67%)", "0 (0%)"]
    assert rows[f"{INDENT}III"] == ["1 (20%)", "0 (0%)", "1 (50%)"]
    assert rows["smokes = True, n (%)"] == ["4 (67%)", "1 (33%)", "3 (100%)"]
    names = list(table.cells.index)
    lost = [k for k, name in enumerate(names) if name == f"{INDENT}missing"]
    assert [table.cells.iloc[k].tolist() for k in lost] == [["1", "0", "1"]] * 2
    assert [names[k - 1] for k in lost] == ["age, mean (SD)", f"{INDENT}III"]
    assert table.caption == "Characteristics of 6 records, by ill."


def test_a_column_without_values_says_so(data: pd.DataFrame) -> None:
    rows = shown(scv.table1(data.assign(crp=np.nan, drug=None), by="ill"))
    lost = ["6 (100%)", "3 (100%)", "3 (100%)"]
    assert rows["crp, missing, n (%)"] == rows["drug, missing, n (%)"] == lost


def test_mean_or_median_and_decimals_can_be_chosen(data: pd.DataFrame) -> None:
    rows = shown(scv.table1(data, columns=["age", "days"], median=["age"], digits=2))
    assert rows["age, median (IQR)"] == ["60.00 (50.00 to 70.00)"]
    assert rows["days, mean (SD)"] == [f"18.17 ({data['days'].std():.2f})"]
    rows = shown(scv.table1(data, columns=["age", "days"], median=False))
    assert {"age, mean (SD)", "days, mean (SD)"} <= set(rows)
    rows = shown(scv.table1(data, columns="days", categories=["days"]))
    assert rows[f"{INDENT}2"] == ["2 (33%)"]


def test_levels_keep_their_order(data: pd.DataFrame) -> None:
    order = ["III", "II", "I", "IV"]
    data["stage"] = pd.Categorical(data["stage"], order)
    names = list(scv.table1(data, columns="stage").cells.index)
    assert names == ["stage, n (%)", *(f"{INDENT}{one}" for one in order[:3]),
                     f"{INDENT}missing"]  # fmt: skip


@pytest.mark.parametrize("kind", ["float64", "Int64", "Float64", "category"])
def test_columns_of_any_dtype(kind: str) -> None:
    values = pd.Series([1, 2, 3, 4, None], dtype="Int64")
    values = values.astype(float) if kind != "Int64" else values
    frame = pd.DataFrame({"x": values.astype(kind)})
    rows = shown(scv.table1(frame))
    assert rows[f"{INDENT}missing"] == ["1"]
    expected = "x, n (%)" if kind == "category" else "x, mean (SD)"
    assert next(iter(rows)) == expected
    if kind == "category":
        assert rows[f"{INDENT}4"] == ["1 (25%)"]
    else:
        assert rows[expected] == ["2.5 (1.3)"]


# ---- of a result ----


def test_rows_that_were_left_out_are_described_too(data: pd.DataFrame) -> None:
    many = pd.concat([data] * 5, ignore_index=True)
    with pytest.warns(scv.errors.MissingDataWarning):
        res = scv.cv("ill ~ age + days", many, model=scv.models.Logit(C=1.0), k=3)
    table = scv.table1(res, by="outcome")
    assert str(table) == str(scv.table1(many, by="ill", columns=["age", "days"]))
    first = next(iter(scv.table1(res).cells.index))
    assert first == "ill = yes, n (%)"
    by_array = scv.table1(res, by=many["smokes"].to_numpy(), columns="age")
    assert list(by_array.cells)[1:] == [
        "group = False (n = 10)",
        "group = True (n = 20)",
    ]


def test_an_outcome_that_is_computed(data: pd.DataFrame) -> None:
    many = pd.concat([data] * 5, ignore_index=True)
    res = scv.cv("days > 2 ~ age", many.fillna({"age": 55.0}), k=3, seed=1)
    table = scv.table1(res, by="outcome")
    assert [name.partition(" (n")[2] for name in table.cells] == [
        " = 30)", " = 20)", " = 10)",
    ]  # fmt: skip
    assert list(table.cells.index) == ["age, mean (SD)"]


def test_records_without_a_group_are_counted_in_the_caption(data: pd.DataFrame) -> None:
    table = scv.table1(data, by="stage", columns="days")
    assert table.head[1] == "All (n = 5)"
    assert "1 record without stage omitted" in table.caption


def test_errors_say_what_to_do(data: pd.DataFrame) -> None:
    with pytest.raises(ColumnError, match=r"'aged' is not a column.*mean 'age'"):
        scv.table1(data, columns=["aged"])
    with pytest.raises(ColumnError, match="by='sex' is not a column"):
        scv.table1(data, by="sex")
    with pytest.raises(ArgumentTypeError, match="by='outcome' is for a result"):
        scv.table1(data, by="outcome")
    with pytest.raises(ArgumentError, match="looks like an identifier"):
        scv.table1(pd.DataFrame({"id": [f"P{k}" for k in range(60)]}))
    with pytest.raises(ArgumentError, match=r"30 different values; cut it"):
        scv.table1(pd.DataFrame({"x": range(30), "z": [0, 1] * 15}), by="x")
    res = scv.cv("GPA ~ TUCE", scv.load_data("spector"), seed=1)
    with pytest.raises(ArgumentError, match="needs classes, but GPA is continuous"):
        scv.table1(res, by="outcome")
    given = pd.DataFrame({"ill": [0, 1] * 5, "risk": np.arange(10) / 10, "age": 50})
    external = scv.from_predictions(given, observed="ill", predicted="risk")
    with pytest.raises(ArgumentError, match="name the columns of the data by columns="):
        scv.table1(external, by="outcome")
    rows = shown(scv.table1(external, by="outcome", columns="age"))
    assert rows == {"age = 50, n (%)": ["10 (100%)", "5 (100%)", "5 (100%)"]}
