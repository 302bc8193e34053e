"""Thresholds from two rounds of counts, against the ranks of the pooled values."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv import sites
from statcv.errors import ArgumentError, ArgumentTypeError, MessageError, SiteError
from statcv.sites.cells import unpacked
from statcv.sites.messages import Message
from statcv.sites.quantiles import bin_edges


def simulate(n, seed=1, decimals=None):
    rng = np.random.default_rng(seed)
    made = {
        site: rng.normal(mean, 15, n).clip(0, 99)
        for site, mean in {"A": 45, "B": 55, "C": 60}.items()
    }
    if decimals is not None:
        made = {site: ages.round(decimals) for site, ages in made.items()}
    return {site: pd.DataFrame({"age": ages}) for site, ages in made.items()}


def shares_below(data, found, column="age"):
    values = pd.concat(data)[column].to_numpy()
    return np.array([(values < np.array(one, values.dtype)).mean() for one in found])


def test_rank_error_is_small_for_few_bytes():
    data = simulate(20_000)
    found = sites.thresholds(data, "age", low=0, high=120, k=5)
    share = shares_below(data, found)
    assert np.abs(share - np.arange(1, 5) / 5).max() <= 0.0005
    assert max(found.bytes_sent.values()) <= 4096


def test_many_thresholds():
    data = simulate(30_000)
    found = sites.thresholds(data, "age", low=0, high=120, k=5, per_fold=20)
    share = shares_below(data, found)
    assert np.abs(share - np.arange(1, 100) / 100).max() <= 0.001
    assert max(found.bytes_sent.values()) <= 4096
    plan = scv.fold_plan(
        data=data["A"], stratify=scv.by_quantile("age", 20, thresholds=found)
    )
    assert plan.n_splits == 5


@pytest.mark.parametrize("n", [60, 300, 1000, 4000])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_joining_of_small_bins_costs(n, seed):
    """The bounds hold, and the error is that of about half an interval of a site."""
    data = simulate(n, seed)
    found = sites.thresholds(data, "age", low=0, high=120, k=5)
    share = shares_below(data, found)
    table = found.table
    assert (table["least"] - 1e-12 <= share).all()
    assert (share <= table["most"] + 1e-12).all()
    assert found.error <= 3 * 10 / (3 * n)  # three intervals of fewer than ten records
    assert np.abs(share - table["wanted"]).max() <= 0.0005 + 2.5 * 5 / (3 * n)


@pytest.mark.parametrize("n", [300, 5000])
def test_equal_values_are_cut_as_well_as_they_can_be(n):
    data = simulate(n, decimals=0)
    found = sites.thresholds(data, "age", low=0, high=120, k=4)
    values = np.sort(pd.concat(data)["age"])
    possible = np.searchsorted(values, np.arange(121)) / len(values)
    best = np.abs(possible - np.array([[0.25], [0.5], [0.75]])).min(axis=1)
    error = np.abs(shares_below(data, found) - [0.25, 0.5, 0.75])
    assert (error <= best + 0.0005 + 5 / (3 * n)).all()


def test_dates_have_dates_as_thresholds():
    rng = np.random.default_rng(1)
    data = {
        site: pd.DataFrame(
            {"born": pd.Timestamp("1930-01-01") + pd.to_timedelta(days, "D")}
        )
        for site, days in zip("ABC", rng.integers(0, 27_000, (3, 8000)), strict=True)
    }
    found = sites.thresholds(data, "born", low="1900-01-01", high="2026-01-01", k=5)
    assert np.abs(shares_below(data, found, "born") - np.arange(1, 5) / 5).max() < 0.001
    agreed = scv.by_quantile("born", thresholds=found)
    assert agreed.agreed.dates
    plan = scv.fold_plan(data=data["A"], stratify=agreed)
    assert plan.n_splits == 5
    signed = sites.agree("ill ~ age", k=5, stratify=agreed)
    assert signed.stratify["thresholds"][0] == str(found.values[0])


def test_no_count_is_small_even_by_subtraction():
    """Intervals of the second round divide those of the first."""
    data = simulate(400)
    first = sites.ask_counts("age", low=0, high=120, k=5, cell=6)
    replies = [sites.count_values(first, one, site) for site, one in data.items()]
    second = sites.next_ranges(first, replies)
    more = [sites.count_values(second, one, site) for site, one in data.items()]
    ends = []
    for message, reply in ((first, replies[0]), (second, more[0])):
        edges = bin_edges(Message.of(message).header)
        cells = unpacked(Message.of(reply).arrays, 1, len(edges) + 1)[0]
        assert not ((cells.counts > 0) & (cells.counts < 6)).any()
        found = np.append(edges[cells.cuts], np.inf)
        ages = data["A"]["age"].to_numpy()
        assert np.cumsum(cells.counts).tolist() == [(ages < e).sum() for e in found]
        ends.append(set(found))
    assert ends[0] < ends[1]
    assert tuple(sites.thresholds_of(second, more)) == tuple(
        sites.thresholds(data, "age", low=0, high=120, k=5, cell=6)
    )


def test_values_outside_the_range_are_counted_in_its_ends():
    data = simulate(4000)
    found = sites.thresholds(data, "age", low=40, high=70, k=3)
    share = shares_below(data, found)
    assert np.abs(share - [1 / 3, 2 / 3]).max() < 0.001


def test_refusals_name_no_value():
    data = simulate(100)
    ask = sites.ask_counts("age", low=0, high=120, k=5)
    with pytest.raises(SiteError, match="site A: column 'age' is missing"):
        sites.count_values(ask, pd.DataFrame({"b": [1]}), "A")
    with pytest.raises(SiteError, match="1 of 100 values of 'age' are missing"):
        sites.count_values(ask, data["A"].where(data["A"]["age"].rank() > 1), "A")
    with pytest.raises(SiteError, match=r"of type .*, and the range is one of numbers"):
        sites.count_values(ask, pd.DataFrame({"age": ["12345"] * 9}), "A")
    with pytest.raises(SiteError, match="fewer than 5 records"):
        sites.count_values(ask, data["A"].iloc[:4], "A")
    with pytest.raises(MessageError, match="does not ask"):
        sites.count_values(bytes(Message("fit")), data["A"], "A")
    with pytest.raises(SiteError, match="too many records have equal values of age"):
        sites.thresholds(simulate(500, decimals=-1), "age", low=0, high=120, k=12)
    with pytest.raises(ArgumentError, match="low must be less"):
        sites.ask_counts("age", low=9, high=3)
    with pytest.raises(ArgumentTypeError, match="two numbers or two dates"):
        sites.ask_counts("age", low=9, high="2020-01-01")
    with pytest.raises(ArgumentTypeError, match="mapping of sites"):
        sites.thresholds([data["A"]], "age", low=0, high=120)
