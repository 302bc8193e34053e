"""DeLong's test of two auROCs, compared with placements counted one by one."""

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import statcv as scv
from statcv.metrics import delong_test

REFERENCE = Path(__file__).parents[1] / "reference"
MODEL = scv.models.Logit(C=1.0)


def data(seed=3, n=40, ones=16):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], [n - ones, ones]))
    x = rng.normal(size=(n, 3)) + y[:, None] * [0.9, 0.3, 0.0]
    frame = pd.DataFrame(x, columns=list("abc")).assign(y=y)
    return frame.assign(site=rng.integers(0, n // 3, n))


def pair(df=None, **more):
    df = data() if df is None else df
    first = scv.cv("y ~ a", df, model=MODEL, seed=1, **more)
    return {"first": first, "second": first.update(formula="y ~ a + b + c")}


def found(results, **more):
    return scv.compare(**results, test="delong", **more).differences.iloc[0]


def predictions(results):
    return [result.predictions for result in results.values()]


def won(high, low):
    return float(high > low) + 0.5 * (high == low)


def placed(table):
    """Return area and structural components of each record, counted one by one."""
    ones, zeros = (table[table["observed"] == code] for code in (1, 0))
    wins = np.array([[won(p, q) for q in zeros.predicted] for p in ones.predicted])
    area = wins.mean()
    return area, {
        **dict(zip(ones.row, wins.mean(axis=1) - area, strict=True)),
        **dict(zip(zeros.row, wins.mean(axis=0) - area, strict=True)),
    }


def components(table, cell):
    """Return the mean area over cells, and the corrected contributions of records."""
    areas, sums = [], {}
    sizes = table.groupby([*cell, "observed"]).size()
    parts = list(table.groupby(cell))
    for key, part in parts:
        area, deviations = placed(part)
        areas.append(area)
        y = part.set_index("row")["observed"]
        for row, deviation in deviations.items():
            m = sizes[(*np.atleast_1d(key), y[row])]
            value = deviation / m * np.sqrt(m / (m - 1)) / len(parts)
            sums[row] = sums.get(row, 0.0) + value
    return np.mean(areas), sums


def naive(tables, cell):
    (a, before), (b, after) = (components(table, cell) for table in tables)
    return b - a, np.sqrt(sum((after[row] - before[row]) ** 2 for row in after))


# ---- pooled ----


@pytest.mark.parametrize("site", [False, True])
def test_for_one_repeat_it_is_delongs_test(site):
    df = data()
    stratify = scv.by_value("site") if site else None
    results = pair(df, k=4, stratify=stratify)
    first, second = (r.predictions.sort_values("row") for r in results.values())
    expected = delong_test(
        first["observed"],
        second["predicted"],
        first["predicted"],
        clusters=df["site"] if site else None,
    )
    row = found(results, how="pooled")
    numbers = [row[name] for name in ("difference", "se", "lower", "upper", "p")]
    of = (expected.estimate, expected.se, expected.lower, expected.upper)
    np.testing.assert_allclose(numbers, [*of, expected.p_value], rtol=0, atol=1e-12)


def cases():
    with open(REFERENCE / "delong_r.csv", newline="") as file:
        return {row["case"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("name", cases())
def test_values_equal_those_of_proc(name):
    """The values of R's roc.test() are stored with the script that computed them."""
    table = pd.read_csv(REFERENCE / "delong_cases.csv").query("case == @name")
    a, b = (scv.from_predictions(table, observed="y", predicted=one) for one in "ab")
    row, expected = found({"b": b, "a": a}), cases()[name]
    for ours, of in (("statistic", "statistic"), ("p", "p_value"), ("lower", "lower")):
        assert row[ours] == pytest.approx(float(expected[of]), rel=1e-9, abs=1e-12)


def test_repeats_have_their_placements_averaged():
    results = pair(k=4, repeats=3)
    row = found(results, how="pooled")
    difference, se = naive(predictions(results), ["repeat"])
    assert row["difference"] == pytest.approx(difference, abs=1e-12)
    assert row["se"] == pytest.approx(se, rel=1e-12)
    assert row["p"] == pytest.approx(2 * norm.sf(abs(difference / se)), rel=1e-9)


def test_equal_repeats_add_no_information():
    columns = {"observed": "observed", "predicted": "predicted", "row": "row"}
    once, twice = pair(k=4), {}
    for name, result in once.items():
        table = result.predictions
        both = pd.concat([table, table.assign(repeat=table["repeat"] + 1)])
        twice[name] = scv.from_predictions(
            both, fold="fold", repeat="repeat", **columns
        )
    one, two = (found(results, how="pooled") for results in (once, twice))
    assert two["se"] == pytest.approx(one["se"], rel=1e-12)


# ---- per fold ----


@pytest.mark.parametrize("repeats", [1, 3])
def test_placements_within_folds(repeats):
    results = pair(k=4, repeats=repeats)
    row = found(results)
    difference, se = naive(predictions(results), ["repeat", "fold"])
    assert row["difference"] == pytest.approx(difference, abs=1e-12)
    # folds of a class of 16 are equal, so that every repeat has the same factors
    assert row["se"] == pytest.approx(se, rel=1e-12)


def test_folds_of_one_repeat_are_independent_samples():
    results = pair(k=4)
    first, second = (r.predictions.sort_values("row") for r in results.values())
    variances = []
    for fold in first["fold"].unique():
        where = (first["fold"] == fold).to_numpy()
        test = delong_test(
            first["observed"][where],
            second["predicted"].to_numpy()[where],
            first["predicted"].to_numpy()[where],
        )
        variances.append(test.se**2)
    assert len(variances) == 4
    assert found(results)["se"] == pytest.approx(np.sqrt(np.sum(variances)) / 4)


@pytest.mark.parametrize("repeats", [1, 2])
@pytest.mark.parametrize("how", ["pooled", "per_fold"])
def test_duplicates_held_out_together_add_no_information(how, repeats):
    df = pd.concat([data().assign(who=range(40))] * 2, ignore_index=True)
    results = pair(df, k=4, repeats=repeats, stratify=scv.by_value("who"))
    row = found(results, how=how)
    once = [
        table.assign(row=table["row"] % 40).drop_duplicates(["repeat", "row"])
        for table in predictions(results)
    ]
    cell = ["repeat"] if how == "pooled" else ["repeat", "fold"]
    expected = naive(once, cell)
    assert row["difference"] == pytest.approx(expected[0], abs=1e-12)
    assert row["se"] == pytest.approx(expected[1], rel=1e-9)


def test_folds_with_one_record_of_a_class_are_counted():
    df = data(n=24, ones=7)
    row = found(pair(df, k=5), how="per_fold")
    assert "3 of 5 folds hold a single record of a class" in row["caveat"]
    few = found(pair(data(n=24, ones=4), k=4), how="per_fold")
    assert np.isnan(few["se"])
    assert "no fold has two records of each class" in few["caveat"]


# ---- paired ----


@pytest.mark.parametrize("repeats", [1, 3])
def test_pairs_that_share_a_record_are_dependent(repeats):
    """The expected variance sums the products of pairs that share a record."""
    results = pair(data(n=20, ones=8), scheme="rloocv", repeats=repeats)
    moved, members = [], []
    for sign, result in zip((-1, 1), results.values(), strict=True):
        scores = result.scores
        left, y = scores.left, scores.y
        for repeat in range(repeats):
            fits = np.flatnonzero(left.repeat == repeat)
            wins, rows = [], []
            for fit in fits:
                where = np.flatnonzero(left.fit == fit)
                high, low = where[np.argsort(-y[left.row[where]])]
                wins.append(won(left.predicted[high], left.predicted[low]))
                rows.append({left.row[high], left.row[low]})
            moved += list(sign * (np.array(wins) - np.mean(wins)) / len(wins) / repeats)
            members += rows
    variance = sum(
        moved[i] * moved[j]
        for i, j in product(range(len(moved)), repeat=2)
        if members[i] & members[j]
    )
    row = found(results)
    assert scv.compare(**results).how == "paired"
    assert row["se"] == pytest.approx(np.sqrt(variance), rel=1e-9)


def test_all_pairs_of_one_score_have_delongs_error_up_to_n_minus_1():
    rng = np.random.default_rng(1)
    y = np.repeat([1, 0], [40, 60])
    frame = pd.DataFrame(rng.normal(size=(100, 2)) + y[:, None], columns=["u", "v"])
    frame = frame.assign(y=y, row=range(100))
    pairs = np.array(list(product(range(40), range(40, 100)))).ravel()
    table = frame.iloc[pairs].assign(fold=np.arange(len(pairs)) // 2)
    single, paired = (
        {
            name: scv.from_predictions(of, observed="y", predicted=name, **more)
            for name in ("u", "v")
        }
        for of, more in ((frame, {}), (table, {"fold": "fold", "row": "row"}))
    )
    one, other = found(single), found(paired)
    assert scv.compare(**paired).how == "paired"
    assert other["difference"] == pytest.approx(one["difference"], abs=1e-12)
    assert other["se"] == pytest.approx(one["se"], rel=0.05)


def test_other_plans_share_records():
    """The two results are draws of rloocv for one model, and differ only by chance."""
    first = pair(data(n=40), scheme="rloocv", repeats=5)["first"]
    other = first.update(seed=2)
    turned = found({"x": other, "y": first})
    row = found({"x": first, "y": other})
    assert row["se"] == pytest.approx(turned["se"], rel=1e-9)
    assert row["se"] < first.estimate("auroc", interval="pairs").se


# ---- no test, or no difference ----


@pytest.mark.parametrize("how", ["pooled", "per_fold", "paired"])
def test_a_model_against_itself(how):
    scheme = {"scheme": "rloocv"} if how == "paired" else {"k": 4}
    first = pair(**scheme)["first"]
    row = found({"x": first, "y": first.update()}, how=how)
    assert (row["difference"], row["se"], row["statistic"], row["p"]) == (0, 0, 0, 1)


def test_a_single_record_of_a_class_has_no_test():
    y = [1, 0, 0, 0, 0, 0]
    frame = pd.DataFrame({"y": y, "p": [3, 1, 2, 4, 5, 0], "q": [1, 2, 3, 4, 5, 6]})
    read = {
        name: scv.from_predictions(
            frame, observed="y", predicted=name, probabilities=False
        )
        for name in "pq"
    }
    row = found({"of p": read["p"], "of q": read["q"]})
    assert np.isnan([row["se"], row["p"]]).all()
    assert "there are not two records of each class" in row["caveat"]
    assert row["difference"] == pytest.approx(0.0 - 0.6)
