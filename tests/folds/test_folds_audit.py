from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import comb
from scipy.stats import chi2_contingency, f_oneway, gamma
from sklearn.metrics import (
    auc,
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
)
from sklearn.model_selection import LeavePOut, ShuffleSplit, TimeSeriesSplit

from statcv import by_quantile, by_value, cv
from statcv.errors import ArgumentError, DataError, FrameError
from statcv.folds import Bags, FoldPlan, balance, make_plan
from statcv.folds.audit.likeness import between_folds, unlike_classes
from statcv.folds.audit.training import (
    fit_means,
    label_correlation,
    mean_model_auroc,
    training_means,
)
from statcv.folds.response import Response
from statcv.folds.user_folds import assemble, plan_from_splitter
from statcv.metrics import auroc

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning",
    "ignore::statcv.errors.FoldWarning",
)
BALANCES = [(2, 30), (5, 20), (16, 16), (21, 9), (40, 3)]


def outcome(ones, zeros, seed=0):
    return np.random.default_rng(seed).permutation(np.repeat([1, 0], [ones, zeros]))


def pooled(y, scheme, model, **keywords):
    data = pd.DataFrame({"y": y})
    return cv("y ~ 1", data, model=model, scheme=scheme, seed=1, **keywords)


@pytest.mark.parametrize(("ones", "zeros"), BALANCES)
def test_leave_one_out_reveals_the_outcome(ones, zeros):
    y = outcome(ones, zeros)
    adversary = pooled(y, "loocv", "negmean")
    assert float(adversary.estimate("auroc", "pooled")) == 1
    assert float(adversary.estimate("auprc", "pooled")) == 1
    mean = pooled(y, "loocv", "mean")
    assert float(mean.estimate("auroc", "pooled")) == 0
    # average precision of all positives tied last is their share,
    share = ones / (ones + zeros)
    assert float(mean.estimate("auprc", "pooled")) == pytest.approx(share)
    # The paper's trapezoid is half of this share (Austin et al. 2024, Fig. S2d).
    table = mean.predictions
    precision, recall, _ = precision_recall_curve(table["observed"], table["predicted"])
    assert auc(recall, precision) == pytest.approx(share / 2)


@pytest.mark.parametrize(("ones", "zeros"), BALANCES)
@pytest.mark.parametrize("model", ["mean", "negmean"])
def test_rebalanced_leave_one_out_reveals_nothing(ones, zeros, model):
    result = pooled(outcome(ones, zeros), "rloocv", model, repeats=3)
    assert float(result.estimate("auroc", "pooled")) == 0.5
    assert float(result.estimate("auroc", "paired")) == 0.5
    assert mean_model_auroc(result.plan, result.design.y) == 0.5


@settings(max_examples=25)
@given(
    st.integers(2, 12),
    st.integers(2, 12),
    st.sampled_from(["kfold", "stratified_kfold", "loocv", "rloocv"]),
    st.integers(0, 999),
    st.integers(1, 3),
)
def test_the_audit_agrees_with_fits_of_the_mean(ones, zeros, scheme, seed, repeats):
    y = outcome(ones, zeros, seed)
    keywords = {"k": 3} if "kfold" in scheme else {}
    keywords |= {"repeats": repeats} if scheme != "loocv" else {}
    plan = make_plan(scheme, y, "binary", seed=seed, **keywords)
    if (plan.counts(y, 2)[0] == 0).any():
        return  # a training set of one class cannot be fitted
    result = pooled(y, plan, "mean")
    expected = float(result.estimate("auroc", "pooled"))
    assert mean_model_auroc(plan, y) == pytest.approx(expected, abs=1e-15)
    by_hand = [y[plan.train(split)].mean() for split in range(plan.n_splits)]
    np.testing.assert_allclose(training_means(plan, y), by_hand, atol=1e-15)


def test_random_folds_follow_the_closed_form():
    """Austin et al. 2024: .764 for random folds of 4 of 100 records, half positive."""
    n, ones, size = 100, 50, 4

    def hypergeometric(k, total, good, draws):
        return comb(good, k) * comb(total - good, draws - k) / comb(total, draws)

    expected = 0.5 * (size - 1) / (n - 1)
    for mine in range(size):
        for theirs in range(size + 1):
            both = hypergeometric(mine, n - 2, ones - 1, size - 1) * hypergeometric(
                theirs, n - 1 - size, ones - 1 - mine, size - 1
            )
            win = 1.0 if mine + 1 > theirs else 0.5 if mine + 1 == theirs else 0.0
            expected += (1 - (size - 1) / (n - 1)) * both * win
    assert expected == pytest.approx(0.7640, abs=5e-5)
    y = outcome(ones, n - ones)
    found = [
        1 - mean_model_auroc(make_plan("kfold", y, "binary", k=25, seed=seed), y)
        for seed in range(400)
    ]
    assert np.std(found) == pytest.approx(0.039, abs=0.005)
    assert abs(np.mean(found) - expected) < 3 * np.std(found) / 20


def test_the_audit_of_given_splits_omits_repeats_of_one_class():
    y = outcome(6, 8)
    plan = plan_from_splitter(LeavePOut(2), y, seed=1)
    assert mean_model_auroc(plan, y) == 0.5  # the two share their training set
    plan = plan_from_splitter(ShuffleSplit(5, test_size=1, random_state=1), y, seed=1)
    assert np.isnan(mean_model_auroc(plan, y))


def test_the_audit_counts_only_records_that_are_held_out():
    y = outcome(10, 14)
    splits = [(np.arange(8, 24), np.arange(4)), (np.arange(8, 24), np.arange(4, 8))]

    class Part:
        def split(self, X, y):
            return splits

    plan = plan_from_splitter(Part(), y, seed=1)
    assert mean_model_auroc(plan, y) == auroc(y[:8], np.zeros(8)) == 0.5


# ---- the audit as a whole, beside slow versions of each number ----

PLANS = [
    ("kfold", {"k": 4}),
    ("kfold", {"k": 3, "repeats": 3, "rebalance": "weight"}),
    ("stratified_kfold", {"k": 3, "rebalance": "upsample"}),
    ("rkfold", {"k": 4, "repeats": 2}),
    ("kfold", {"k": 3, "rebalance": Bags(3)}),
    ("loocv", {}),
    ("loocv", {"rebalance": "all"}),
    ("rloocv", {"repeats": 2}),
    ("lpocv", {"p": 3}),
    ("leave_pair_out", {}),
    ("montecarlo", {"repeats": 6}),
    ("bootstrap", {"repeats": 6}),
]


def each_fit(plan):
    """Yield repeat, split, training positions, weights, held-out positions."""
    for fit, split in enumerate(plan.fits.split_of):
        train = plan.train(fit)
        weights = plan.weights(fit, train)
        weights = np.ones(len(train)) if weights is None else weights
        yield plan.fits.repeat_of[split], split, train, weights, plan.test(split)


def slow_correlation(plan, values):
    of_split = {}
    for _, split, train, weights, _ in each_fit(plan):
        mean = np.average(values[train], weights=weights)
        of_split.setdefault(split, []).append(mean)
    found = []
    for repeat in range(plan.repeats):
        splits = np.flatnonzero(plan.fits.repeat_of == repeat)
        means = [np.mean(of_split[s]) for s in splits for _ in plan.test(s)]
        held = np.concatenate([values[plan.test(s)] for s in splits])
        if np.ptp(means) > 1e-12 and np.ptp(held):
            found.append(np.corrcoef(means, held)[0, 1])
    return np.mean(found) if found else np.nan


@pytest.mark.parametrize(("scheme", "keywords"), PLANS)
def test_the_correlation_is_that_of_held_out_labels_and_training_means(
    scheme, keywords
):
    y = outcome(7, 13, seed=3)
    plan = make_plan(scheme, y, "binary", seed=5, **keywords)
    expected = slow_correlation(plan, y)
    np.testing.assert_allclose(label_correlation(plan, y), expected, atol=1e-9)
    finding = plan.audit()["label_correlation"]
    np.testing.assert_allclose(finding.value, expected, atol=1e-9)
    if plan.rebalanced:
        assert np.isnan(finding.value)
        assert "same share of class 1" in finding.sentence


@pytest.mark.parametrize("kind", ["binary", "continuous"])
def test_in_equal_folds_the_correlation_is_the_root_of_the_between_share(kind):
    rng = np.random.default_rng(8)
    y = outcome(12, 18) if kind == "binary" else rng.gamma(2, size=30)
    plan = make_plan("kfold", y, kind, k=6, seed=2)
    share, _, _ = between_folds(y.astype(float), plan.held_out[0])
    assert label_correlation(plan, y) == pytest.approx(-np.sqrt(share))
    assert label_correlation(make_plan("loocv", y, kind), y) == pytest.approx(-1)


@pytest.mark.parametrize(("scheme", "keywords"), PLANS)
def test_the_negative_mean_scores_as_in_scikit_learn(scheme, keywords):
    y = outcome(7, 13, seed=3)
    plan = make_plan(scheme, y, "binary", seed=5, **keywords)
    means, areas = -training_means(plan, y).round(12), []
    for repeat in range(plan.repeats):
        splits = np.flatnonzero(plan.fits.repeat_of == repeat)
        held = np.concatenate([y[plan.test(s)] for s in splits])
        score = np.concatenate([[means[s]] * len(plan.test(s)) for s in splits])
        if 0 < held.sum() < len(held):
            precision, recall, _ = precision_recall_curve(held, score)
            areas.append(
                [
                    roc_auc_score(held, score),
                    average_precision_score(held, score),
                    auc(recall, precision),
                ]
            )
    audit = plan.audit()
    checks = ("auroc", "auprc", "auprc_trapezoid")
    found = [audit[f"negative_mean_{check}"].value for check in checks]
    np.testing.assert_allclose(found, np.mean(areas, axis=0), atol=1e-12)
    assert audit["negative_mean_auroc"].concern == (abs(found[0] - 0.5) > 0.05)


@pytest.mark.parametrize(("scheme", "keywords"), PLANS)
def test_class_totals_losses_and_duplicates_are_those_of_the_training_sets(
    scheme, keywords
):
    y = np.random.default_rng(1).choice(3, 24, p=[0.5, 0.3, 0.2])
    plan = make_plan(scheme, y, "multiclass", seed=4, levels=tuple("abc"), **keywords)
    totals, lost, again = [], [], []
    for _, _, train, weights, test in each_fit(plan):
        totals.append(np.bincount(y[train], weights, 3))
        lost.append(plan.n - len(np.union1d(train, test)))
        again.append(len(train) - len(np.unique(train)))
    audit = plan.audit()
    table = audit.rows("training_counts")
    assert table["class"].tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(table["least"], np.min(totals, axis=0))
    np.testing.assert_allclose(table["most"], np.max(totals, axis=0))
    ranges = np.ptp(totals, axis=0)
    assert audit["training_counts"].value == pytest.approx(ranges.max(), abs=1e-12)
    assert audit["records_lost"].value == pytest.approx(np.mean(lost))
    numbers = audit.rows("records_lost")[["least", "mean", "most"]].iloc[0]
    np.testing.assert_allclose(numbers, [min(lost), np.mean(lost), max(lost)])
    checks = audit.to_frame()["check"].tolist()
    assert ("copies" in checks) == (max(again) > 0)
    if max(again):
        assert audit["copies"].value == pytest.approx(np.mean(again))
    said = " ".join(str(audit).split())
    assert ("rebalanced, and equal" in said) == plan.rebalanced


def test_a_plan_that_claims_to_be_rebalanced_but_is_not_is_reported():
    y = outcome(4, 8)
    plan = make_plan("loocv", y, "binary")
    assert not plan.audit()["training_counts"].concern
    finding = replace(plan, rebalance="subsample").audit()["training_counts"]
    assert finding.concern
    assert "though rebalanced" in finding.sentence


def test_weights_of_one_outcome_are_counted_for_another():
    y = outcome(5, 9)
    other = outcome(6, 8, seed=9)
    plan = make_plan("kfold", y, "binary", k=3, rebalance="weight")
    totals = [np.bincount(other[t], w, 2) for _, _, t, w, _ in each_fit(plan)]
    table = plan.audit(other).rows("training_counts")
    np.testing.assert_allclose(table["least"], np.min(totals, axis=0))
    np.testing.assert_allclose(table["most"], np.max(totals, axis=0))


def test_balance_that_costs_many_records_is_reported():
    y, folds = np.repeat([0, 1], [20, 20]), np.repeat(np.arange(4), 10)
    y[:10], y[10:20] = np.tile([0, 1], 5), np.tile([0, 0, 0, 0, 1], 2)
    plan = replace(assemble("given", "", [folds]), response=Response.of(y, "binary"))
    finding = balance(plan, "subsample", 1).audit()["records_lost"]
    table = np.array([np.bincount(y[folds != fold], minlength=2) for fold in range(4)])
    assert finding.value == (table - table.min(axis=0)).sum() / 4
    assert finding.concern
    finding = balance(plan, "weight", 1).audit()["records_lost"]
    assert finding.value == 0
    assert not finding.concern


def test_records_excluded_before_are_not_reported_as_lost_to_balance():
    y = outcome(8, 12)
    splitter = ShuffleSplit(5, test_size=0.2, train_size=0.5, random_state=0)
    plan = replace(
        plan_from_splitter(splitter, y, 1), response=Response.of(y, "binary")
    )
    finding = plan.audit()["records_lost"]
    assert finding.sentence.startswith("Fits drop 6 records, 30% of 20")
    for how in ("weight", "upsample"):
        assert balance(plan, how, 1).audit()["records_lost"].value == 6
    even = balance(plan, "subsample", 1)
    finding = even.audit()["records_lost"]
    assert finding.sentence.startswith("To be balanced, fits drop")
    assert finding.value == pytest.approx(even.dropped.sizes.mean())
    assert finding.value < 6 == even.kept_out.sizes.min()


def test_one_duplicate_is_singular():
    y = outcome(5, 5)
    one = make_plan("loocv", y, "binary", rebalance="upsample").audit()
    assert one["copies"].value == 1
    assert one["copies"].sentence == "Fits train on 1 copy of records besides."
    several = make_plan("bootstrap", y, "binary", repeats=9, seed=1).audit()
    assert several["copies"].sentence.endswith(" copies of records besides.")


# ---- folds and classes ----


def test_folds_and_training_sets_without_a_class_are_named():
    y = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    folds = np.array([0, 1, 2, 0, 0, 1, 2, 2])
    plan = assemble("given", "", [folds], labels=[["A", "B", "C"]])
    audit = plan.audit(pd.Categorical.from_codes(y, ["x", "y", "z"]))
    assert audit["class_not_held_out"].value == 3
    assert audit["class_not_held_out"].concern
    expected = {("A", "z"), ("B", "y"), ("C", "y")}
    table = audit.rows("class_not_held_out")
    assert set(zip(table["fold"], table["class"], strict=True)) == expected
    assert "fold A (class z)" in audit["class_not_held_out"].sentence
    assert audit["class_not_trained"].value == 1
    table = audit.rows("class_not_trained")
    assert table.to_numpy().tolist() == [[1, "A", "y"]]


@pytest.mark.parametrize("scheme", ["loocv", "leave_pair_out"])
def test_folds_too_small_for_all_classes_are_not_reported(scheme):
    audit = make_plan(scheme, outcome(4, 6), "binary").audit()
    frame = audit.to_frame().set_index("check")
    assert "class_not_held_out" not in frame.index[frame["concern"]]


def test_records_that_are_never_held_out_are_returned():
    y = np.arange(12.0)
    plan = plan_from_splitter(TimeSeriesSplit(3), y, seed=1)
    finding = plan.audit(y)["never_held_out"]
    assert finding.value == 3
    assert finding.concern
    assert finding.table["position"].tolist() == [0, 1, 2]
    plan = make_plan("montecarlo", y, "continuous", repeats=2, p=0.25, seed=1)
    plan = replace(plan, rows=pd.Index(list("abcdefghijkl")))
    held = np.unique(plan.tests.values)
    never = plan.audit().rows("never_held_out")
    assert never["row"].tolist() == plan.rows.delete(held).tolist()
    sentence = make_plan("leave_pair_out", [0, 0, 0, 1, 1], "binary").audit()
    assert "held out 2 to 3 times" in sentence["never_held_out"].sentence


def test_fold_sizes_and_the_largest_stratum():
    plan = assemble("given", "", [np.repeat([0, 1, 2], [4, 5, 21])])
    finding = plan.audit()["fold_sizes"]
    assert finding.value == 17
    assert finding.concern
    site = np.repeat(list("abcdef"), [1, 2, 2, 2, 2, 9])
    data = pd.DataFrame({"site": site})
    plan = make_plan(
        "kfold", outcome(9, 9), "binary", k=3, stratify=by_value("site"), data=data
    )
    finding = plan.audit()["largest_stratum"]
    assert finding.value == 9 / 6
    assert finding.concern
    plan = make_plan("loocv", outcome(9, 9), "binary", stratify="site", data=data)
    assert "largest_stratum" not in set(plan.audit().to_frame()["check"])


# ---- equal records ----


def slow_copies(plan, codes):
    """Return held-out records of which an equal was in a training set."""
    found = {}
    for repeat, split, train, _, test in each_fit(plan):
        for row in test:
            if (codes[train] == codes[row]).any():
                found.setdefault(row, set()).add((repeat, split))
    return found


@given(st.sampled_from(PLANS), st.integers(0, 999), st.integers(2, 16))
def test_equal_records_are_searched_for_in_each_training_set(case, seed, groups):
    scheme, keywords = case
    y = outcome(6, 9, seed)
    codes = np.random.default_rng(seed).integers(0, groups, 15)
    plan = make_plan(scheme, y, "binary", seed=seed, **keywords)
    slow = slow_copies(plan, codes)
    audit = plan.audit(data=pd.DataFrame({"id": codes}), duplicates="id")
    finding, table = audit["duplicates"], audit.rows("duplicates")
    assert finding.value == len(slow) == len(table)
    assert finding.concern == (len(slow) > 0)
    for row in table.itertuples():
        assert row.splits == len(slow[row.position])
    numbered = dict(zip(table["position"], table["group"], strict=True))
    for a in numbered:
        for b in numbered:
            assert (numbered[a] == numbered[b]) == (codes[a] == codes[b])


@given(
    st.sampled_from(["kfold", "loocv", "rloocv", "leave_pair_out", "montecarlo"]),
    st.integers(0, 999),
)
def test_equal_strata_are_never_in_training_and_held_out(scheme, seed):
    y, rng = outcome(8, 10, seed), np.random.default_rng(seed)
    data = pd.DataFrame({"dob": rng.integers(0, 7, 18)})
    keywords = {"k": 3} if scheme == "kfold" else {}
    plan = make_plan(
        scheme, y, "binary", stratify=by_value("dob"), data=data, seed=seed, **keywords
    )
    assert (
        plan.audit()["strata"].value == 0 == len(slow_copies(plan, plan.strata.codes))
    )
    split = replace(make_plan("loocv", y, "binary"), strata=plan.strata)
    slow = slow_copies(split, plan.strata.codes)
    assert split.audit()["strata"].value == len(slow) > 0


def test_an_equal_that_was_dropped_or_is_held_out_too_is_not_counted():
    data = pd.DataFrame({"id": [1, 1, 2, 2, 3, 4]})
    folds = np.array([0, 0, 1, 2, 2, 1])
    split = assemble("given", "", [folds])
    assert split.audit(data=data, duplicates=["id"])["duplicates"].value == 2
    dropped = assemble("given", "", [folds], [[], [3], [2]])
    finding = dropped.audit(data=data, duplicates="id")["duplicates"]
    assert finding.value == 0
    assert not finding.concern
    half = assemble("given", "", [folds], [[], [3], []])
    found = half.audit(data=data, duplicates="id")
    assert found.rows("duplicates")["position"].tolist() == [3]


@given(st.integers(0, 999), st.sampled_from([None, "subsample", "all", Bags(2)]))
def test_an_equal_kept_out_for_any_reason_is_not_counted(seed, how):
    y, rng = outcome(6, 8, seed), np.random.default_rng(seed)
    splitter = ShuffleSplit(4, test_size=2, train_size=10, random_state=seed)
    plan = replace(
        plan_from_splitter(splitter, y, 1), response=Response.of(y, "binary")
    )
    if how is not None:
        plan = balance(plan, how, seed)
    codes = rng.integers(0, 8, 14)
    audit = plan.audit(data=pd.DataFrame({"id": codes}), duplicates="id")
    slow = slow_copies(plan, codes)
    assert audit["duplicates"].value == len(slow)
    for row in audit.rows("duplicates").itertuples():
        assert row.splits == len(slow[row.position])


def test_near_duplicates_and_all_columns():
    data = pd.DataFrame({"sex": list("ffmm"), "weight": [61.2, 61.3, 61.2, 80.0]})
    plan = make_plan("loocv", [0, 1, 0, 1], "binary", data=data)
    exact = plan.audit(data=data, duplicates=True)["duplicates"]
    assert exact.value == 0
    assert exact.sentence == "No two records are equal in all columns."
    near = plan.audit(data=data, duplicates=["sex", "weight"], tolerance=0.1)
    assert near.rows("duplicates")["position"].tolist() == [0, 1]
    assert "nearly equal in sex, weight" in near["duplicates"].sentence


# ---- a continuous outcome ----


@pytest.mark.parametrize("rebalance", [None, "subsample", "weight"])
def test_the_spread_of_training_means_and_what_balance_restored(rebalance):
    y = np.random.default_rng(6).gamma(2, 40, size=25)
    plan = make_plan("loocv", y, "continuous", rebalance=rebalance)
    audit = plan.audit()
    means = [np.average(y[t], weights=w) for _, _, t, w, _ in each_fit(plan)]
    spread = np.std(means) / y.std()
    assert audit["training_means"].value == pytest.approx(spread, abs=1e-12)
    before = 1 / 24  # sd of leave-one-out means over that of the values
    if rebalance is None:
        assert spread == pytest.approx(before)
        assert audit["label_correlation"].value == pytest.approx(-1)
        assert audit["label_correlation"].concern
    else:
        restored = audit["mean_restored"].value
        assert restored == pytest.approx(1 - spread / before)
        assert restored > 0.7
        assert not audit["mean_restored"].concern
    if rebalance == "weight":
        assert restored == 1
        assert np.isnan(audit["label_correlation"].value)


def test_of_many_weighted_fits_some_are_looked_at(monkeypatch):
    y = np.random.default_rng(6).normal(size=40)
    plan = make_plan("loocv", y, "continuous", rebalance="weight")
    whole = fit_means(plan, y)
    monkeypatch.setattr("statcv.folds.audit.training.VISITS", 40 * 7)
    part = fit_means(plan, y)
    known = np.isfinite(part)
    assert known.sum() == 7
    np.testing.assert_array_equal(part[known], whole[known])
    audit = plan.audit()
    assert "(7 fits looked at)" in audit["training_means"].sentence
    assert audit["mean_restored"].value == 1


# ---- folds that are unlike ----


@pytest.mark.parametrize(
    ("codes", "sizes"),
    [([0, 0, 0, 1, 1, 1, 1], [2, 2, 3]), ([0, 0, 1, 1, 2, 2], [2, 4])],
)
def test_the_p_value_has_the_moments_of_all_permutations(codes, sizes):
    fold = np.repeat(np.arange(len(sizes)), sizes)

    def table(labels):
        crossed = np.zeros((len(sizes), max(codes) + 1), int)
        np.add.at(crossed, (fold, list(labels)), 1)
        return crossed

    values = [
        chi2_contingency(table(one), correction=False)[0]
        for one in sorted(set(permutations(codes)))
    ]
    mean, variance = np.mean(values), np.var(values)
    for x in sorted(set(np.round(values, 9)))[:4]:
        at = sorted(set(permutations(codes)))
        crossed = next(t for t, v in zip(at, values, strict=True) if abs(v - x) < 1e-8)
        found, freedom, p = unlike_classes(table(crossed))
        assert found == pytest.approx(x)
        assert freedom == (len(sizes) - 1) * max(codes)
        expected = gamma.sf(found, mean**2 / variance, scale=variance / mean)
        assert p == pytest.approx(expected)


def test_false_alarms_of_unlike_folds_are_rare_where_a_class_is_rare():
    y = np.repeat([0, 1], [285, 15])
    rng, found = np.random.default_rng(7), []
    for _ in range(1000):
        crossed = np.stack([rng.permutation(y).reshape(60, 5).sum(axis=1)] * 2, axis=1)
        crossed[:, 0] = 5 - crossed[:, 1]
        found.append(unlike_classes(crossed)[2])
    assert np.mean(np.array(found) < 0.05) < 0.09
    assert np.mean(np.array(found) < 0.01) < 0.03
    alike = make_plan("stratified_kfold", y, "binary", k=5).audit()
    assert alike["outcome_over_folds"].value > 0.99
    sorted_ = assemble("given", "", [np.arange(300) // 60]).audit(y)
    assert sorted_["outcome_over_folds"].concern


def test_the_share_between_folds_is_that_of_an_analysis_of_variance():
    rng = np.random.default_rng(2)
    values, fold = rng.normal(size=40), rng.integers(0, 5, 40)
    share, f, p = between_folds(values, fold)
    expected = f_oneway(*(values[fold == one] for one in range(5)))
    assert (f, p) == pytest.approx(tuple(expected))
    means = np.array([values[fold == one].mean() for one in range(5)])
    assert share == pytest.approx(means[fold].var() / values.var())
    assert np.isnan(between_folds(np.ones(6), np.arange(6) // 2)).all()
    shares = [between_folds(rng.permutation(values), fold)[0] for _ in range(2000)]
    assert np.mean(shares) == pytest.approx(4 / 39, abs=4 * np.std(shares) / 2000**0.5)


def test_the_column_in_which_folds_differ_most_is_named():
    rng = np.random.default_rng(4)
    data = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    data["y"] = y = rng.normal(size=60)
    data["text"], data["flag"] = "t", rng.random(60) < 0.5
    data["whole"] = pd.array(rng.integers(0, 9, 60), dtype="Int64")
    data.loc[3, "whole"] = pd.NA
    data.loc[:9, "d"] = np.nan
    plan = make_plan(
        "kfold", y, "continuous", k=3, stratify=by_quantile("c"), data=data
    )
    plan = replace(plan, response=replace(plan.response, name="y"))
    finding = plan.audit(data=data)["columns_over_folds"]
    table = finding.table.set_index("column")
    assert set(table.index) == {"a", "b", "c", "d", "flag", "whole"}
    assert table.index[0] == "c"
    assert finding.concern
    assert "c differs most" in finding.sentence
    assert table.loc["c", "at_random"] == pytest.approx(2 / 59)
    assert table.loc["d", "at_random"] == pytest.approx(2 / 49)
    known = data["d"].notna().to_numpy()
    share, _, p = between_folds(data["d"][known].to_numpy(), plan.held_out[0][known])
    assert table.loc["d", "share"] == pytest.approx(share)
    assert table.loc["d", "p"] == pytest.approx(min(6 * p, 1))
    random = make_plan("kfold", y, "continuous", k=3, data=data, seed=3)
    assert not random.audit(data=data)["columns_over_folds"].concern


# ---- what is handed in, and what comes out ----


def test_data_are_matched_by_their_labels():
    rng = np.random.default_rng(5)
    data = pd.DataFrame(
        {"x": rng.normal(size=30), "id": rng.integers(0, 9, 30)},
        index=[f"r{i}" for i in range(30)],
    )
    y = pd.Series(outcome(12, 18), index=data.index)
    plan = make_plan("kfold", y[5:].to_numpy(), "binary", k=4, data=data[5:])
    expected = plan.audit(data=data[5:], duplicates="id")
    shuffled = data.sample(frac=1, random_state=1)
    found = plan.audit(y.sample(frac=1, random_state=2), data=shuffled, duplicates="id")
    shown = found.to_frame(), expected.to_frame()
    pd.testing.assert_frame_equal(*shown)
    assert found.rows("duplicates")["row"].str.startswith("r").all()
    for wrong, message in (
        (data[6:], "lacks 1 of the 25 rows of the plan, the first being 'r5'"),
        (pd.concat([data, data]), "labels occur twice"),
    ):
        with pytest.raises(DataError, match=message):
            plan.audit(data=wrong)
    with pytest.raises(FrameError, match="not dict"):
        plan.audit(data={"x": [1]})
    with pytest.raises(DataError, match=r"shape \(24,\)"):
        plan.audit(y.to_numpy()[6:])
    plain = make_plan("kfold", y.to_numpy(), "binary", k=4)
    with pytest.raises(DataError, match="29 rows, but the plan is for 30"):
        plain.audit(data=data[1:])


def test_meaningless_arguments_raise_an_error():
    plan = make_plan("loocv", [0, 1, 0, 1], "binary")
    with pytest.raises(ArgumentError, match="needs data="):
        plan.audit(duplicates="id")
    with pytest.raises(ArgumentError, match="tolerance= is for duplicates"):
        plan.audit(data=pd.DataFrame({"a": range(4)}), tolerance=1)
    with pytest.raises(DataError, match="missing in 1 of 4"):
        plan.audit([0, 1, None, 1])
    with pytest.raises(ArgumentError, match="Did you mean 'fold_sizes'"):
        plan.audit()["fold_size"]
    continuous = assemble("given", "", [np.array([0, 0, 1, 1])])
    with pytest.raises(DataError, match="infinite"):
        continuous.audit([0.5, 1, np.inf, 2])


def test_an_outcome_may_be_given_as_an_array():
    y = outcome(8, 12)
    plan = make_plan("kfold", y, "binary", k=4, levels=("no", "yes"))
    bare = FoldPlan.from_frame(plan.to_frame())
    said = str(plan.audit())
    assert str(bare.audit(np.where(y, "yes", "no"))) == said
    named = pd.Categorical(np.where(y, "yes", "no"), ["no", "yes", "never"])
    assert str(bare.audit(named)) == said
    checks = set(bare.audit().to_frame()["check"])
    assert checks == {"never_held_out", "fold_sizes", "records_lost"}
    assert "training_means" in set(
        bare.audit(y * 1.5 + np.arange(20)).to_frame()["check"]
    )
    three = make_plan("kfold", np.arange(20) % 3, "multiclass", k=4)
    assert str(three.audit(np.arange(20) % 3)) == str(three.audit())


def test_of_several_classes_the_most_revealed_is_named():
    y = np.repeat([0, 1, 2], [10, 10, 10])
    folds = np.concatenate([np.arange(10) % 2, np.arange(10) % 2, np.zeros(10, int)])
    finding = assemble("given", "", [folds]).audit(list(y.astype(str)))
    expected = {
        c: slow_correlation(assemble("", "", [folds]), (y == c) * 1) for c in range(3)
    }
    assert finding["label_correlation"].value == pytest.approx(min(expected.values()))
    assert finding["label_correlation"].sentence.startswith("Held-out class 2 ")
    assert finding["label_correlation"].concern


def test_an_audit_has_one_line_and_one_row_per_finding():
    audit = make_plan("loocv", [0, 1, 1, 0, 1], "binary").audit()
    frame = audit.to_frame()
    assert frame.columns.tolist() == ["check", "value", "concern", "sentence"]
    assert frame["check"].is_unique
    marks = frame["concern"].map({True: "! ", False: ""})
    assert " ".join(str(audit).split()) == " ".join(marks + frame["sentence"])
    assert audit.concerns == tuple(frame.loc[frame["concern"], "sentence"])
    assert len(audit.concerns) == 2
    assert "give" in audit.concerns[0]
    assert repr(audit) == str(audit)
    assert audit._repr_html_().count("<strong>") == 2
    quiet = make_plan("rloocv", [0, 1, 1, 0, 1] * 3, "binary").audit()
    assert quiet.concerns == ()
