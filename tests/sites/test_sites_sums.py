"""Sums made by queries in databases, against the same numbers from the records."""

import contextlib
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import statcv as scv
from statcv import sites
from statcv.errors import ArgumentError, MetricError, SiteError
from statcv.sites.by_query import agreed_edges

NAME = "held \"out\" `50%` 'x'"


def ask(frame, dialect, **given):
    """Return the table that a database makes of a site's records."""
    arguments = {"outcome": "ill", "predicted": "risk", "fold": "fold", **given}
    query = sites.sql_sums(NAME, dialect=dialect, **arguments)
    if dialect == "duckdb":
        with contextlib.closing(duckdb.connect(":memory:")) as connection:
            connection.register("given", frame)
            quoted = '"' + NAME.replace('"', '""') + '"'
            connection.execute(f"CREATE TABLE {quoted} AS SELECT * FROM given")
            return connection.execute(query).df()
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        frame.to_sql(NAME, connection, index=False)
        return pd.read_sql(query, connection)


def simulate(n, seed, mean=-1.0, slope=1.0):
    rng = np.random.default_rng(seed)
    eta = rng.normal(mean, 1.2, n)
    return pd.DataFrame(
        {
            "site": rng.choice(list("ABC"), n),
            "fold": rng.integers(1, 6, n),
            "ill": (rng.random(n) < expit(slope * eta)).astype(int),
            "risk": expit(eta),
        }
    )


def tables_of(data, dialect="sqlite", **given):
    return {site: ask(own, dialect, **given) for site, own in data.groupby("site")}


@pytest.fixture(scope="module")
def data():
    return simulate(9000, 1)


@pytest.fixture(scope="module")
def over(data):
    return sites.from_sums(tables_of(data))


@pytest.fixture(scope="module")
def pooled(data):
    return scv.from_predictions(data, observed="ill", predicted="risk", fold="fold")


@pytest.mark.parametrize(
    ("metric", "interval"),
    [("brier", "records"), ("log_loss", "records"), ("oe_ratio", "influence")],
)
def test_means_and_their_intervals_are_those_of_the_records(
    over, pooled, metric, interval
):
    ours, theirs = over.estimate(metric), pooled.estimate(metric, interval=interval)
    for name in ("value", "se", "lower", "upper"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=1e-12)
    by_fold = pooled.estimate(metric, how="per_fold").value
    assert over.estimate(metric, "per_fold").value == pytest.approx(by_fold, abs=1e-12)


@pytest.mark.parametrize("how", ["pooled", "per_fold"])
def test_area_lies_within_its_bound_and_near_that_of_the_records(over, pooled, how):
    interval = "delong" if how == "pooled" else "influence"
    ours = over.estimate("auroc", how)
    theirs = pooled.estimate("auroc", how=how, interval=interval)
    error = abs(ours.value - theirs.value)
    assert error <= over.bound(how) < 0.04
    assert error < 0.25 * theirs.se
    assert ours.se == pytest.approx(theirs.se, rel=0.03)


@pytest.mark.parametrize(("n", "slope"), [(900, 1.0), (900, 0.3), (3000, 1.0)])
def test_bound_holds_where_cells_are_small(n, slope):
    data = simulate(n, n, slope=slope)
    over = sites.from_sums(tables_of(data))
    truth = scv.from_predictions(data, observed="ill", predicted="risk", fold="fold")
    for how in ("pooled", "per_fold"):
        error = over.estimate("auroc", how).value - float(truth.estimate(how=how))
        assert abs(error) <= over.bound(how)


def test_databases_agree(data):
    one, other = (ask(data.iloc[:1500], dialect) for dialect in ("sqlite", "duckdb"))
    order = ["what", "fold", "class", "last_bin"]
    one, other = (
        t.astype(dict.fromkeys(t.columns[1:], float)).sort_values(order)
        for t in (one, other)
    )
    np.testing.assert_array_equal(one[order[1:]], other[order[1:]])
    np.testing.assert_allclose(one["value"], other["value"], rtol=1e-12)
    assert one["what"].tolist() == other["what"].tolist()


def test_no_count_is_small_and_intervals_hold_the_records_between_their_edges(data):
    own = data.iloc[:800]
    edges = agreed_edges(None, [0.1, 0.5])
    table = ask(own, "sqlite", decisions=[0.1, 0.5], cell=7)
    counts = table[table["what"] == "count"]
    assert not counts["value"].between(0, 7, inclusive="neither").any()
    for (fold, code), some in counts.groupby(["fold", "class"]):
        place = np.searchsorted(
            edges, own[(own["fold"] == fold) & (own["ill"] == code)]["risk"], "right"
        )
        ends = np.sort(some["last_bin"].to_numpy())
        upto = [(place <= end).sum() for end in ends]
        found = some.sort_values("last_bin")["value"].cumsum()
        assert upto == found.tolist()
        assert ends[-1] == len(edges)


def test_net_benefit_lies_within_its_bounds(over, data):
    check_net_benefit(over.net_benefit, data)
    curve = over.net_benefit
    assert (curve["lower"] == curve["upper"]).sum() >= 4


def test_net_benefit_is_exact_where_edges_can_be_kept(data):
    tables = tables_of(data, decisions=[0.2, 0.5])
    curve = sites.from_sums(tables, decisions=[0.2, 0.5]).net_benefit
    assert (curve["lower"] == curve["upper"]).all()
    check_net_benefit(curve, data)


def check_net_benefit(curve, data):
    for _, row in curve.iterrows():
        above, odds = data["risk"] >= row["threshold"], row["threshold"]
        odds = odds / (1 - odds)
        ill = data["ill"][above]
        benefit = ((ill == 1).sum() - odds * (ill == 0).sum()) / len(data)
        assert row["lower"] - 1e-12 <= benefit <= row["upper"] + 1e-12
        if row["lower"] == row["upper"]:
            assert row["net_benefit"] == pytest.approx(benefit, abs=1e-12)


def test_calibration_follows_the_records(over, data):
    table = over.calibration
    assert table["n"].sum() == pytest.approx(len(data))
    assert np.abs(table["observed"] - table["predicted"]).max() < 0.05
    assert np.average(table["predicted"], weights=table["n"]) == pytest.approx(
        data["risk"].mean(), abs=1e-3
    )


def test_without_folds_the_bound_is_closer():
    data = simulate(1500, 3)
    alone = sites.from_sums(tables_of(data, fold=None))
    folds = sites.from_sums(tables_of(data))
    truth = scv.metrics.auroc(data["ill"], data["risk"])
    assert abs(alone.estimate("auroc", "pooled").value - truth) <= alone.bound("pooled")
    assert alone.bound("pooled") < 0.6 * folds.bound("pooled")
    assert float(alone.estimate("brier")) == pytest.approx(
        float(folds.estimate("brier")), abs=1e-14
    )


def test_rows_that_are_incomplete_are_left_out_and_counted():
    data = simulate(600, 4)
    data.loc[:7, "risk"] = np.nan
    data["ill"] = data["ill"].astype(float)
    data.loc[8:9, "ill"] = np.nan
    for dialect in ("sqlite", "duckdb"):
        table = ask(data, dialect).set_index("what")
        assert table.loc["left_out", "value"] == 10
        assert table.loc["n", "value"].sum() == 590
        table = ask(data.iloc[6:], dialect).set_index("what")
        assert pd.isna(table.loc["left_out", "value"])  # four, which is few


def test_a_fold_with_few_of_a_class_is_withheld_with_its_sums():
    data = simulate(600, 5)
    data = data[(data["fold"] != 2) | (data["ill"] == 0) | (data.index < 40)]
    table = ask(data, "duckdb")
    assert (table.loc[table["fold"] == 2, "what"] == "withheld").all()
    with pytest.raises(SiteError, match=r"site A: fewer than 5 .* fold 2; agree"):
        sites.from_sums({"A": table})


def test_tables_of_other_queries_or_damaged_are_refused(data):
    table = ask(data.iloc[:900], "sqlite")
    with pytest.raises(SiteError, match="other edges, decisions or least"):
        sites.from_sums({"A": table}, decisions=[0.2])
    count = table.index[(table["what"] == "count") & (table["value"] > 5)][0]
    for change, words in (
        (lambda t: t.drop(index=count), "add up|missing"),
        (lambda t: t.assign(value=t["value"].mask(t.index == count, 3.0)), "smaller"),
        (lambda t: t[t["what"] != "brier"], "rows are missing"),
        (lambda t: t.drop(columns="fold"), "column 'fold' is missing"),
    ):
        with pytest.raises(SiteError, match=words):
            sites.from_sums({"A": change(table)})
    with pytest.raises(ArgumentError, match="between 0 and 1"):
        sites.sql_sums("t", outcome="y", predicted="p", dialect="sqlite", edges=[1.5])
    with pytest.raises(MetricError, match="Did you mean 'brier'"):
        sites.from_sums({"A": table}).estimate("brie")


def test_the_result_reads_as_others_do(over):
    text = str(over.summary())
    for words in ("auROC", "Brier score", "O:E", "by site", "DeLong", "at most"):
        assert words in text
    assert over.summary().to_markdown()
    assert list(over.by_site().index) == ["A", "B", "C"]
    assert over.metrics()["interval"].str.contains("fits as given").all()
    assert "3 sites" in repr(over)
    assert over.roc[["fpr", "tpr"]].diff().iloc[1:].le(1e-12).all().all()
