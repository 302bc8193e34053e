"""Intervals and tests for an auROC of exactly 1 or 0, checked by counting pairs."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import statcv as scv
from statcv.errors import MetricError
from statcv.inference import delong_interval, make_estimate
from statcv.inference.intervals.at_boundary import compared_disjoint
from statcv.metrics import METRICS
from statcv.models import Logit, Neighbors

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning"
)
AUROC = METRICS["auroc"]


def separated(ones=8, zeros=16, sign=1):
    rng = np.random.default_rng(1)
    y = rng.permutation(np.repeat([1, 0], [ones, zeros]))
    x = 6 * sign * y + 0.5 * rng.normal(size=len(y))
    return pd.DataFrame({"y": y, "x": x, "g": np.arange(len(y)) // 2})


def result(data=None, **more):
    data = separated() if data is None else data
    given = {"model": Logit(C=1.0), "seed": 1, **more}
    return scv.cv("y ~ x", data, **given)


SCHEMES = [
    ({"scheme": "stratified_kfold", "k": 4}, ("pooled", "per_fold", "paired")),
    ({"scheme": "stratified_kfold", "k": 4, "repeats": 3}, ("pooled", "per_fold")),
    ({"scheme": "loocv"}, ("pooled",)),
    ({"scheme": "leave_pair_out"}, ("pooled", "paired")),
]


@pytest.mark.parametrize(("scheme", "hows"), SCHEMES)
def test_a_perfect_auroc_has_the_bound_of_the_smaller_class(scheme, hows):
    res = result(**scheme)
    for how in hows:
        for interval in (None, "jackknife_logit", "corrected_jackknife"):
            found = res.estimate("auroc", how, 0.9, interval=interval)
            assert (found.value, found.upper) == (1, 1)
            assert found.lower == pytest.approx(0.05 ** (1 / 8))
            assert "exact bound on 8 disjoint pairs" in found.method
            assert "takes the fits as given; all of 8 pairs" in found.assumes
    named = res.estimate("auroc", "pooled", interval="logit")
    assert named.lower == pytest.approx(0.025 ** (1 / 8))
    assert np.isnan(named.se)


def test_nothing_is_refitted_for_an_infinite_logit():
    res = result(scheme="rloocv", repeats=1)
    assert res.estimate().lower > 0.5
    assert res.estimate(interval="jackknife_logit").lower > 0.5
    assert not res.refits.jackknives


def test_pairs_held_out_by_one_fit_are_counted():
    res = result(scheme="rloocv", repeats=1)
    pairs = res.pairs[["row", "partner"]].to_numpy()
    most = res.estimate().interval.pairs
    taken = set()
    for row, partner in pairs:  # any order finds half of the most at least
        if not taken & {row, partner}:
            taken |= {row, partner}
    assert len(taken) // 2 <= most <= min(8, len(taken))
    bound = res.estimate("auroc", interval="pairs")
    assert bound.lower == pytest.approx(0.025 ** (1 / most))
    again = result(scheme="rloocv", repeats=4)
    assert again.estimate().interval.pairs >= most


def mirrored(scores):
    left = scores.left
    turned = replace(left, predicted=1 - left.predicted)
    return replace(scores, predicted=1 - scores.predicted, left=turned)


def test_a_zero_that_training_means_also_have_has_no_bound():
    res = result(scheme="loocv", model="mean")
    found = res.estimate()
    assert found.value == 0
    assert np.isnan([found.lower, found.upper]).all()
    assert "training means alone rank all pairs wrong" in found.assumes
    test = res.test(method="delong")
    assert np.isnan(test.p_value)
    assert not test.notes  # nothing was measured of a test that is not there
    turned = make_estimate(mirrored(result(scheme="loocv").scores), AUROC)
    assert (turned.value, turned.method) == (0, "none")


@pytest.mark.parametrize("interval", [None, "logit", "bootstrap", "jackknife"])
@pytest.mark.parametrize(("model", "value"), [("mean", 0), ("negmean", 1)])
def test_training_means_have_neither_an_interval_nor_a_test(model, value, interval):
    data = separated(9, 21)
    res = result(data, scheme="loocv", model=model, metrics=["auroc"])
    found = res.estimate("auroc", interval=interval)
    assert found.value == value
    assert np.isnan([found.lower, found.upper, found.se]).all()
    assert f"an auROC of {value} says nothing about the model" in found.assumes
    test = res.test(method=interval or "delong")
    assert np.isnan([test.p_value, test.lower, test.upper]).all()
    assert "nothing about the model" in str(test)
    assert "says nothing about the model" in str(res.summary())


def test_a_model_that_learns_and_predicts_zero_or_one_keeps_its_bound():
    res = result(separated(9, 21), scheme="loocv", model=Neighbors(k=1))
    assert set(res.predictions["predicted"]) == {0.0, 1.0}
    assert res.estimate("auroc").lower == pytest.approx(0.025 ** (1 / 9))


@pytest.mark.parametrize("scheme", ["stratified_kfold", "rloocv"])
def test_an_auroc_of_zero_mirrors_one(scheme):
    k = {"k": 4} if scheme == "stratified_kfold" else {}
    scores = result(scheme=scheme, **k).scores
    best = make_estimate(scores, AUROC)
    worst = make_estimate(mirrored(scores), AUROC)
    assert (worst.value, worst.lower) == (0, 0)
    assert worst.upper == pytest.approx(1 - best.lower)
    assert "ranked wrong" in worst.assumes


def test_clusters_are_paired_with_other_clusters():
    rng = np.random.default_rng(2)
    y = np.tile([1, 0], 12)
    data = pd.DataFrame({"y": y, "x": 6 * y + 0.3 * rng.normal(size=24)})
    data["who"] = [f"p{i}" for i in np.arange(24) // 2]  # a record of either class
    res = result(data, scheme="kfold", k=3, stratify="who")
    assert res.estimate("auroc", "pooled").interval.pairs == 6
    folds = res.predictions.merge(data[["who"]], left_on="row", right_index=True)
    by_fold = folds.groupby("fold")["who"].nunique() // 2
    found = res.estimate("auroc", "per_fold")
    assert found.interval.pairs == by_fold.sum()
    assert "share no cluster" in found.assumes


def test_clusters_in_several_folds_count_once():
    y = np.tile([1, 0], 12)
    table = pd.DataFrame({"y": y, "p": np.where(y == 1, 0.8, 0.1)})
    table["fold"] = np.arange(24) // 8
    table["who"] = np.arange(24) % 8 // 2  # the same four in each fold
    res = scv.from_predictions(
        table, observed="y", predicted="p", fold="fold", cluster="who"
    )
    assert compared_disjoint(res.scores, "per_fold") == 2
    apart = scv.from_predictions(table, observed="y", predicted="p", fold="fold")
    assert compared_disjoint(apart.scores, "per_fold") == 12


def test_an_external_model_does_not_vary():
    y = np.repeat([0, 1], 5)
    table = pd.DataFrame({"y": y, "p": 0.2 + 0.5 * y})
    found = scv.from_predictions(table, observed="y", predicted="p").estimate("auroc")
    assert found.lower == pytest.approx(0.025 ** (1 / 5))
    assert "fitted to other records" in found.assumes


def test_one_record_of_a_class_has_no_bound():
    table = pd.DataFrame({"y": [1, 0, 0, 0], "p": [0.9, 0.1, 0.2, 0.3]})
    res = scv.from_predictions(table, observed="y", predicted="p")
    alone = res.estimate("auroc")
    assert alone.value == 1
    assert np.isnan([alone.lower, alone.upper]).all()
    assert "one class has a single record" in alone.assumes
    positive = res.estimate("sensitivity")
    assert positive.value == 1
    assert np.isnan([positive.lower, positive.upper]).all()


@pytest.mark.parametrize("interval", [None, "records", "jackknife_logit"])
def test_a_share_of_one_has_the_bound_of_its_records(interval):
    res = result(scheme="stratified_kfold", k=4)
    sizes = {"accuracy": 24}
    if interval != "records":
        sizes |= {"sensitivity": 8, "specificity": 16}
    for name, size in sizes.items():
        found = res.estimate(name, interval=interval)
        assert (found.value, found.upper) == (1, 1)
        assert found.lower == pytest.approx(stats.beta.ppf(0.025, size, 1))
        assert found.method == f"exact bound on {size} records"
        assert found.assumes.endswith(f"all of {size} records are decided right")


def test_folds_that_are_all_decided_alike_bound_their_mean():
    res = result(scheme="montecarlo", repeats=8)
    found = res.estimate("accuracy", "per_fold")
    held = res.predictions["row"].nunique()
    assert (found.value, found.upper) == (1, 1)
    assert found.lower == pytest.approx(0.025 ** (1 / held))


@pytest.mark.parametrize("scheme", [{"k": 5}, {"scheme": "rloocv"}])
def test_records_that_are_all_decided_alike_bound_both_shares(scheme):
    """A useless binary marker often leaves the odds of every record on one side."""
    data = pd.DataFrame({"x": np.arange(60) % 3 == 0, "y": np.arange(60) % 10 < 3})
    res = scv.cv("y ~ x", data.astype(int), seed=1, **scheme)
    none, every = (res.estimate(m) for m in ("sensitivity", "specificity"))
    assert (none.value, none.lower, every.value, every.upper) == (0, 0, 1, 1)
    # weights at random, but not in many draws, move the odds to the other side
    assert 1 - 0.025 ** (1 / 18) <= none.upper < 0.4
    assert 0.6 < every.lower <= 0.025 ** (1 / 42)
    test = res.test("sensitivity", method="infinitesimal_jackknife", null=0.5)
    assert 0.99 < test.p_value < 1  # that it is higher


def test_clusters_bound_a_share_and_an_external_model_does_not_vary():
    y = np.repeat([0, 1], 6)
    table = pd.DataFrame({"y": y, "p": 0.2 + 0.5 * y, "who": np.arange(12) // 2})
    res = scv.from_predictions(table, observed="y", predicted="p", cluster="who")
    for name, units in (("accuracy", 6), ("sensitivity", 3)):
        found = res.estimate(name)
        assert found.lower == pytest.approx(0.025 ** (1 / units))
        assert found.method == f"exact bound on {units} clusters"
        assert "fitted to other records" in found.assumes


def test_a_repeat_with_area_one_does_not_invalidate_the_others():
    y = np.repeat([0, 1], 4)
    best, next_best = np.arange(8.0), np.array([0.0, 1, 2, 4, 3, 5, 6, 7])
    one = delong_interval([y], [next_best], 0.95)
    both = delong_interval([y, y], [best, next_best], 0.95)
    assert both.se == pytest.approx(one.se / np.sqrt(2))
    assert "do not vary" in delong_interval([y, y], [best, best], 0.95).assumes


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_a_test_of_a_perfect_auroc_is_the_sign_test_of_its_pairs(alternative):
    res = result(scheme="leave_pair_out")
    test = res.test(method="corrected_jackknife", alternative=alternative)
    assert (test.statistic, test.estimate) == (8, 1)
    peer = stats.binomtest(8, 8, 0.5, alternative).pvalue
    assert test.p_value == pytest.approx(peer)
    assert not test.reason
    assert "pairs ranked right = 8" in str(test)
    higher = res.test(method="pairs", null=0.7, alternative=alternative)
    sides = {"greater": 0.7**8, "less": 1.0, "two-sided": 2 * 0.7**8}
    assert higher.p_value == pytest.approx(sides[alternative])


def test_the_coverage_of_other_intervals_is_not_quoted():
    res = result(separated(9, 21), scheme="loocv")
    assert not any("easured" in note for note in res.summary(notes=True).notes)
    assert not res.test(method="delong").notes
    told = result(separated(9, 21, sign=0.1), scheme="loocv")
    assert 0 < float(told.estimate()) < 1
    assert told.test(method="delong").notes


def test_no_interval_is_not_called_a_point():
    table = pd.DataFrame({"y": [0, 0, 1, 1], "p": 0.3})
    tied = scv.from_predictions(table, observed="y", predicted="p").estimate("auroc")
    assert np.isnan(tied.lower)
    assert tied.assumes == "no record moves the estimate, which measures no variation"


def test_invalid_requests_still_raise_an_error():
    said = "interval='delong' is not available for auROC"
    with pytest.raises(MetricError, match=said):
        result(scheme="rloocv", repeats=1).estimate(interval="delong")
