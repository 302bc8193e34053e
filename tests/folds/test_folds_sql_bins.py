"""Thresholds as SQL, by which databases give the folds of the plan."""

import contextlib
import sqlite3
from datetime import date

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statcv import by_quantile, fold_plan
from statcv.errors import ArgumentError
from statcv.folds.strata import sql_bins

pytestmark = pytest.mark.filterwarnings("ignore::statcv.errors.FoldWarning")
NAME = """a "b" `c` 50% 'd'"""
DIALECTS = ["duckdb", "sqlite"]


def folds(dialect, kind, values, expression):
    """Return the fold of each value by the database."""
    values = list(enumerate(values))
    connect = duckdb.connect if dialect == "duckdb" else sqlite3.connect
    quote = '"' if dialect == "duckdb" else "`"
    name = quote + NAME.replace(quote, 2 * quote) + quote
    with contextlib.closing(connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t (i INTEGER, {name} {kind})")
        connection.executemany("INSERT INTO t VALUES (?, ?)", values)
        found = connection.execute(f"SELECT {expression} FROM t ORDER BY i").fetchall()
    return [fold for (fold,) in found]


def near(value):
    return [np.nextafter(value, -np.inf), value, np.nextafter(value, np.inf)]


NUMBERS = st.floats(-1e300, 1e300, allow_subnormal=False)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=25)
@given(st.lists(NUMBERS, min_size=1, max_size=9, unique=True))
def test_databases_use_the_thresholds_of_the_plan(dialect, bounds):
    bounds = sorted(bounds)
    values = [float(x) + 0.0 for bound in bounds for x in near(bound)]
    frame = pd.DataFrame({NAME: [x for x in values if np.isfinite(x)]})
    plan = fold_plan(data=frame, stratify=by_quantile(NAME, thresholds=bounds))
    expression = sql_bins(NAME, plan.thresholds, dialect)
    found = folds(dialect, "DOUBLE", frame[NAME].tolist(), expression)
    assert found == plan.assign(frame).tolist()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_integers_and_the_allocation_of_a_plan(dialect):
    frame = pd.DataFrame({NAME: np.arange(40)})
    plan = fold_plan(data=frame, k=4, stratify=by_quantile(NAME, 3), seed=2)
    of_bins = (plan.strata.folds[0] + 1).tolist()
    expression = sql_bins(NAME, plan.thresholds, dialect, of_bins)
    found = folds(dialect, "INTEGER", range(40), expression)
    assert found == plan.assign(frame).tolist()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dates_and_times(dialect):
    days = pd.to_datetime(["1989-12-31 23:59:59", "1990-01-01 00:00:00"] * 2)
    days = days.append(pd.date_range("1990-01-30 12:00", periods=5))
    frame = pd.DataFrame({NAME: days})
    agreed = by_quantile(NAME, thresholds=[date(1990, 1, 1), date(1990, 2, 1)])
    plan = fold_plan(data=frame, stratify=agreed)
    expression = sql_bins(NAME, plan.thresholds, dialect)
    kinds = {"duckdb": ["TIMESTAMP", "VARCHAR"], "sqlite": ["TEXT"]}[dialect]
    for kind in kinds:
        found = folds(dialect, kind, [*map(str, days), None], expression)
        assert found == [*plan.assign(frame), None]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_missing_values_have_no_fold(dialect):
    found = folds(dialect, "DOUBLE", [None, 1, np.nan], sql_bins(NAME, [2], dialect))
    assert found == [None, 1, None]
    if dialect == "sqlite":  # SQLite compares text with numbers without an error
        assert folds(dialect, "ANY", ["old", 5], sql_bins(NAME, [2], dialect)) == [
            None,
            2,
        ]


def test_postgresql():
    # run in PostgreSQL 15 when it was written; the text is what must not change
    assert sql_bins("a%", [0.1, 56], "postgresql", [2, 1, 2]).split("\n") == [
        'CASE WHEN CAST("a%%" AS double precision) IS NULL OR CAST("a%%" AS double '
        "precision) = CAST('NaN' AS double precision) THEN NULL",
        """  WHEN CAST("a%%" AS double precision) < CAST('0.1' AS double precision) """
        "THEN 2",
        """  WHEN CAST("a%%" AS double precision) < CAST('56.0' AS double precision) """
        "THEN 1",
        "  ELSE 2 END",
    ]
    dates = sql_bins("seen", ["1990-01-01"], "postgresql").split("\n")
    assert dates[1] == """  WHEN CAST("seen" AS date) < DATE '1990-01-01' THEN 1"""


def test_invalid_arguments_raise_an_error():
    with pytest.raises(
        ArgumentError, match=r"no dialect 'sqlit'.*Did you mean 'sqlite'"
    ):
        sql_bins("x", [1], "sqlit")
    with pytest.raises(ArgumentError, match="1 thresholds make 2 bins, but 3 folds"):
        sql_bins("x", [1], "sqlite", [1, 2, 3])
    with pytest.raises(ArgumentError, match="must rise"):
        sql_bins("x", [1, 1], "sqlite")
