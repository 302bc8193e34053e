"""A comparison tests what it shows: one metric, stated in one way."""

import re
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

import statcv as scv
from statcv.errors import ArgumentError, ComparisonError, MetricError
from statcv.plots.difference import compared_pair, read_pair

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning"
)

SCHEMES = {
    "kfold": {"scheme": "kfold", "k": 4},
    "stratified_kfold": {"k": 4},
    "repeated": {"k": 4, "repeats": 3},
    "rkfold": {"scheme": "rkfold", "k": 4, "repeats": 2},
    "loocv": {"scheme": "loocv"},
    "rloocv": {"scheme": "rloocv", "repeats": 1},
    "rloocv x 3": {"scheme": "rloocv", "repeats": 3},
    "lpocv": {"scheme": "lpocv", "p": 3},
    "leave_pair_out": {"scheme": "leave_pair_out"},
    "tournament": {"scheme": "tournament_leave_pair_out"},
    "montecarlo": {"scheme": "montecarlo", "repeats": 6},
    "bootstrap": {"scheme": "bootstrap", "repeats": 12},
    "clusters": {"k": 4, "repeats": 2, "stratify": scv.by_value("site")},
}
METRICS = ("auroc", "brier", "accuracy")


def data(seed=5, n=48, ones=20):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], [n - ones, ones]))
    x = rng.normal(size=(n, 3)) + y[:, None] * [0.9, 0.3, 0.0]
    frame = pd.DataFrame(x, columns=list("abc")).assign(y=y)
    return frame.assign(site=rng.integers(0, n // 2, n))


def pair(df=None, **more):
    model = scv.models.Logit(C=1.0)
    first = scv.cv("y ~ a", data() if df is None else df, model=model, seed=1, **more)
    return {"small": first, "large": first.update(formula="y ~ a + b + c")}


@pytest.fixture(scope="module", params=SCHEMES)
def results(request):
    return pair(**SCHEMES[request.param])


def check(comparison):
    """Differences are those of the estimates, and printed numbers subtract."""
    estimates = comparison.table["estimate"]
    shown, pairs = comparison.summary().shown.values()
    for i, row in comparison.differences.iterrows():
        change = estimates[row["second"]] - estimates[row["first"]]
        assert row["difference"] == pytest.approx(change, abs=1e-12)
        if np.isfinite(row["lower"]):
            middle = (row["lower"] + row["upper"]) / 2
            inside = row["lower"] > -1 and row["upper"] < 1
            even = row["statistic"] == pytest.approx(change / row["se"])
            assert even or row["lower"] < change < row["upper"]
            assert not (inside and even) or middle == pytest.approx(change, abs=1e-9)
        cells = (shown.iloc[:, 0][[row["first"], row["second"]]], pairs.iloc[[i], 0])
        *printed, between = pd.concat(cells).str.partition(" (")[0]
        digits = {len(text.partition(".")[2]) for text in (*printed, between)}
        assert len(digits) == 1
        rest = round(float(printed[1]) - float(printed[0]), digits.pop())
        assert float(between) == rest
    assert set(comparison.table["how"]) == {comparison.how}


@pytest.mark.parametrize("metric", METRICS)
def test_by_default_the_headline_is_tested(results, metric):
    comparison = scv.compare(**results, metric=metric)
    check(comparison)
    for name, result in results.items():
        headline = result.estimate(metric)
        row = comparison.table.loc[name]
        assert (row["estimate"], row["how"]) == (headline.value, headline.how)
        assert row["lower"] == pytest.approx(headline.lower, nan_ok=True)
    row = comparison.differences.iloc[0]
    assert np.isfinite([row["se"], row["p"]]).all()


@pytest.mark.parametrize("metric", METRICS)
def test_every_test_is_of_the_estimates_beside_it(results, metric):
    tests = ["permutation", "delong" if metric == "auroc" else "t"]
    plan = results["small"].plan
    if plan.scheme not in ("loocv", "rloocv"):
        tests.append("corrected_t")
    for test in tests:
        few = plan.scheme in ("lpocv", "tournament_leave_pair_out")
        if test == "corrected_t" and metric == "auroc" and few:
            continue  # many folds lack a class
        check(scv.compare(**results, metric=metric, test=test, n_permutations=None))


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_both_pictures_are_of_the_same_test(results, metric):
    first, second = results.values()
    comparison = scv.compare(first, second, metric=metric)
    one = compared_pair(first, second, metric, 0.95)
    other = read_pair(comparison.contrasts, None)
    assert one.row.equals(other.row)
    assert one.row.equals(comparison.differences.iloc[0])
    assert one.names == other.names
    more = {"n_boot": 20} if metric == "auroc" else {}
    titles = [
        scv.plots.plot_difference(*of, **how, **more).get_title()
        for of, how in (((first, second), {"metric": metric}), ((comparison,), {}))
    ]
    plt.close("all")
    assert titles[0] == titles[1]
    assert f"difference in {comparison.metric.label}" in titles[0]


# ---- which way ----


def test_headlines_that_differ_are_stated_as_both_can_be():
    rloocv = pair(scheme="rloocv", repeats=1)["large"]
    comparison = scv.compare(loocv=rloocv.update(scheme="loocv"), rloocv=rloocv)
    check(comparison)
    assert comparison.how == "pooled"
    (told,) = comparison.differences["caveat"]
    assert "compared pooled, while the headline is paired for rloocv" in told
    assert "tests the schemes, not the models" in told


def test_another_way_is_asked_for():
    results = pair(k=4)
    comparison = scv.compare(**results, how="pooled")
    check(comparison)
    assert comparison.how == "pooled"
    (told,) = comparison.differences["caveat"]
    assert "the headline is per fold for small and large" in told
    assert scv.compare(**results).differences["caveat"].tolist() == [""]
    with pytest.raises(MetricError, match="Did you mean 'pooled'"):
        scv.compare(**results, how="poold")
    with pytest.raises(MetricError, match="Brier score is not available with"):
        scv.compare(**results, metric="brier", how="paired")
    with pytest.raises(ArgumentError, match="how='pooled' is not available with test"):
        scv.compare(**results, how="pooled", test="corrected_t")


def test_a_permutation_test_says_that_it_averages():
    repeated = scv.compare(**pair(k=4, repeats=3), test="permutation")
    assert repeated.how == "pooled, averaged"
    y, p = (
        repeated.results["large"]
        .predictions.groupby("row")[["observed", "predicted"]]
        .mean()
        .to_numpy()
        .T
    )
    assert repeated.table["estimate"]["large"] == pytest.approx(scv.metrics.auroc(y, p))
    assert scv.compare(**pair(k=4), test="permutation").how == "pooled"


# ---- losses ----


def test_losses_are_averaged_over_repeats():
    results = pair(k=4, repeats=5)
    row = scv.compare(**results, metric="brier", test="t").differences.iloc[0]
    losses = [
        r.predictions.assign(loss=lambda t: (t["observed"] - t["predicted"]) ** 2)
        .groupby("row")["loss"]
        .mean()
        for r in results.values()
    ]
    expected = ttest_1samp(losses[1] - losses[0], 0)
    assert row["p"] == pytest.approx(expected.pvalue)
    change = [float(r.estimate("brier")) for r in results.values()]
    assert row["difference"] == pytest.approx(change[1] - change[0], abs=1e-12)


def test_losses_of_random_splits_are_the_mean_over_splits():
    """By a loop over records, each a little heavier: a derivative by hand."""
    results = pair(scheme="montecarlo", repeats=5)
    row = scv.compare(**results, metric="brier").differences.iloc[0]
    tables = [
        r.predictions.assign(loss=lambda t: (t["observed"] - t["predicted"]) ** 2)
        for r in results.values()
    ]

    def change(weights):
        means = []
        for table in tables:
            weight = weights[table["row"]]
            by = table["repeat"]
            total = (table["loss"] * weight).groupby(by).sum()
            means.append((total / pd.Series(weight).groupby(by).sum()).mean())
        return means[1] - means[0]

    held, step = np.unique(tables[0]["row"]), 1e-5
    moved = [
        (change(1 + step * up) - change(1 - step * up)) / (2 * step)
        for up in np.eye(48)[held]
    ]
    g = len(held)
    se = np.sqrt(g / (g - 1) * np.sum(np.square(moved)))
    assert row["difference"] == pytest.approx(change(np.ones(48)), abs=1e-12)
    assert row["se"] == pytest.approx(se, rel=1e-6)


@pytest.mark.slow
def test_a_jackknife_of_the_predictions_agrees():
    """Without each record in turn, the fits as they are; alike to first order."""
    for more, how in (({"k": 4, "repeats": 3}, "per_fold"), ({"k": 4}, "pooled")):
        results = pair(data(n=100, ones=45), **more)
        comparison = scv.compare(**results, test="delong", how=how)
        tables = [r.predictions for r in results.values()]
        cell = ["repeat", "fold"] if how == "per_fold" else ["repeat"]

        def change(without, tables=tables, cell=cell):
            areas = []
            for table in tables:
                kept = table[table["row"] != without]
                parts = kept.groupby(cell)[["observed", "predicted"]]
                areas.append(
                    np.mean([scv.metrics.auroc(*t.to_numpy().T) for _, t in parts])
                )
            return areas[1] - areas[0]

        values = np.array([change(row) for row in range(100)])
        jackknife = np.sqrt(99 / 100 * np.sum((values - values.mean()) ** 2))
        se = comparison.differences["se"][0]
        assert se == pytest.approx(jackknife, rel=0.05)


# ---- caveats ----


def test_no_note_warns_of_a_pair_beside_the_column():
    loocv = pair(scheme="loocv")["large"]
    against = scv.compare(large=loocv, reference="null")
    (told,) = against.differences["caveat"]
    assert "is a test of skill" in told
    assert "training mean alone has auROC 0.000" in told
    text = " ".join(str(against.summary()).split())
    assert text.count("is a test of skill") == 1
    assert f"Caveat: {told}." in text


def test_folds_without_a_value_are_a_caveat():
    plan = [1] * 6 + [2] * 21 + [3] * 21
    df = data().sort_values("y").reset_index(drop=True)
    order = np.r_[0:6, 6:17, 28:38, 17:28, 38:48]
    first = scv.cv("y ~ a", df.iloc[order], scheme=plan, seed=1)
    second = first.update(formula="y ~ a + b")
    comparison = scv.compare(a=first, b=second, how="per_fold", test="delong")
    with pytest.warns(
        scv.errors.UndefinedMetricWarning, match="no value in 1 of 3 folds"
    ):
        check(comparison)
    (told,) = comparison.differences["caveat"]
    assert "auROC has no value in 1 of 3 folds for a" in told


# ---- rounding ----


def test_printed_numbers_subtract_for_every_pair():
    first = pair(k=4, repeats=2)["small"]
    terms = ("a + b", "c", "b + c", "a + c")
    several = {"a": first} | {t: first.update(formula=f"y ~ {t}") for t in terms}
    comparison = scv.compare(several, metric="brier")
    assert len(comparison.differences) == len(list(combinations(range(5), 2)))
    check(comparison)
    assert not re.search(r"-0\.0+\b", str(comparison.summary()))


# ---- lists and mappings ----


def test_lists_and_mappings():
    results = pair(k=4)
    a, b = results.values()
    listed, given = scv.compare([a, b]), scv.compare(a, b)
    assert listed.differences.equals(given.differences)
    assert list(listed.results) == list(given.results)
    named = scv.compare({"old": a, "new": b}, metric="brier").differences
    assert named.equals(scv.compare(old=a, new=b, metric="brier").differences)
    odd = scv.compare({"y ~ a": a, "the rest of it": b})
    assert list(odd.results) == ["y ~ a", "the rest of it"]
    formulas = {"old": "y ~ a", "new": ". ~ . + b"}
    for given in (formulas, [*formulas.values()]):
        fitted = scv.compare(given, data=data(), k=4, seed=1)
        by_hand = scv.compare(old="y ~ a", new=". ~ . + b", data=data(), k=4, seed=1)
        assert fitted.differences["p"][0] == by_hand.differences["p"][0]
    assert list(scv.compare(formulas, data=data(), k=4, seed=1).results) == [*formulas]


def test_lists_and_mappings_that_are_refused():
    a, b = pair(k=4).values()
    for empty, kind in (([], "list"), ({}, "mapping")):
        with pytest.raises(ComparisonError, match=f"the {kind} is empty"):
            scv.compare(empty)
    for more, named in (((a,), {}), (([a],), {}), ((), {"c": a})):
        with pytest.raises(TypeError, match="a list of results must be given alone"):
            scv.compare([a, b], *more, **named)
    with pytest.raises(TypeError, match="a mapping of results must be given alone"):
        scv.compare({"a": a, "b": b}, c=a)
    with pytest.raises(ComparisonError, match="must be a string, not 1"):
        scv.compare({1: a, 2: b})
    with pytest.raises(ComparisonError, match="needs at least two results, not 1"):
        scv.compare([a])
    with pytest.raises(ArgumentError, match="test= is an argument of compare"):
        scv.compare({"test": a, "b": b})
    with pytest.raises(ComparisonError, match="is a int, not a result"):
        scv.compare([a, 3])
