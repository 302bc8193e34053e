import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import comb
from sklearn.metrics import auc, precision_recall_curve
from sklearn.model_selection import LeavePOut, ShuffleSplit

from statcv import cv
from statcv.folds import make_plan
from statcv.folds.audit import mean_model_auroc, training_means
from statcv.folds.given import plan_from_splitter
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
def test_leave_one_out_gives_the_label_away(ones, zeros):
    y = outcome(ones, zeros)
    adversary = pooled(y, "loocv", "negmean")
    assert float(adversary.estimate("auroc", "pooled")) == 1
    assert float(adversary.estimate("auprc", "pooled")) == 1
    mean = pooled(y, "loocv", "mean")
    assert float(mean.estimate("auroc", "pooled")) == 0
    # average precision of all positives tied last is their share,
    share = ones / (ones + zeros)
    assert float(mean.estimate("auprc", "pooled")) == pytest.approx(share)
    # and the trapezoid of the paper half of it (Austin et al. 2024, Fig. S2d)
    table = mean.predictions
    precision, recall, _ = precision_recall_curve(table["observed"], table["predicted"])
    assert auc(recall, precision) == pytest.approx(share / 2)


@pytest.mark.parametrize(("ones", "zeros"), BALANCES)
@pytest.mark.parametrize("model", ["mean", "negmean"])
def test_rebalanced_leave_one_out_gives_nothing_away(ones, zeros, model):
    result = pooled(outcome(ones, zeros), "rloocv", model, repeats=3)
    assert float(result.estimate("auroc", "pooled")) == 0.5
    assert float(result.estimate("auroc", "paired")) == 0.5
    assert mean_model_auroc(result.plan, result.design.y) == 0.5


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 12),
    st.integers(2, 12),
    st.sampled_from(["kfold", "stratified_kfold", "loocv", "rloocv"]),
    st.integers(0, 999),
    st.integers(1, 3),
)
def test_the_audit_is_what_running_the_mean_gives(ones, zeros, scheme, seed, repeats):
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
    """Austin et al. 2024: .764 for random folds of 4 of 100, half positive."""
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


def test_the_audit_of_given_splits_leaves_out_repeats_of_one_class():
    y = outcome(6, 8)
    plan = plan_from_splitter(LeavePOut(2), y, seed=1)
    assert mean_model_auroc(plan, y) == 0.5  # the two share their training set
    plan = plan_from_splitter(ShuffleSplit(5, test_size=1, random_state=1), y, seed=1)
    assert np.isnan(mean_model_auroc(plan, y))


def test_the_audit_of_a_part_of_the_records_is_of_those_held_out():
    y = outcome(10, 14)
    splits = [(np.arange(8, 24), np.arange(4)), (np.arange(8, 24), np.arange(4, 8))]

    class Part:
        def split(self, X, y):
            return splits

    plan = plan_from_splitter(Part(), y, seed=1)
    assert mean_model_auroc(plan, y) == auroc(y[:8], np.zeros(8)) == 0.5
