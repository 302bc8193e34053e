from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import comb, inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.errors import ArgumentError
from statcv.folds import make_plan, theory
from statcv.folds.audit import mean_model_auroc, training_means
from statcv.folds.ragged import Ragged
from statcv.folds.user_folds import assemble

pytestmark = pytest.mark.filterwarnings("ignore::statcv.errors.FoldWarning")
COUNTS = st.lists(st.integers(1, 40), min_size=1, max_size=5)


def labels(ones, zeros):
    return np.repeat([1, 0], [ones, zeros])


def all_outcomes(ones, n):
    """Return all placements of the ones, which for fixed folds are all allocations."""
    for places in combinations(range(n), ones):
        y = np.zeros(n, dtype=int)
        y[list(places)] = 1
        yield y


def dealt(n, k):
    return np.arange(n) % k


def standard_errors_off(values, expected):
    return abs(np.mean(values) - expected) / (np.std(values) / len(values) ** 0.5)


def spread_of_squares(values):
    return (values - values.mean()) ** 2


# no positive in a random fold


def test_no_positive_is_the_ratio_of_binomials():
    for n in range(1, 12):
        for positives in range(n + 1):
            for size in range(n + 1):
                exact = Fraction(comb(n - positives, size), comb(n, size))
                found = theory.no_positive_probability(n, positives, size)
                assert found == pytest.approx(float(exact), rel=1e-13, abs=0)


def test_no_positive_in_the_chapters_example():
    exact = float(Fraction(comb(19_800, 2_000), comb(20_000, 2_000)))
    found = theory.no_positive_probability(20_000, 200, 2_000)
    assert found == pytest.approx(exact, rel=1e-12)
    assert f"{found:.1e}" == "6.3e-10"


def test_no_positive_happens_as_often_as_it_should():
    plan = make_plan("kfold", labels(5, 35), "binary", k=8, repeats=3000, seed=1)
    empty = plan.counts(labels(5, 35), 2)[1][:, 1] == 0
    per_repeat = empty.reshape(3000, 8).mean(axis=1)
    expected = theory.no_positive_probability(40, 5, 5)
    assert standard_errors_off(per_repeat, expected) < 4


@given(st.integers(1, 900), st.data())
def test_no_positive_is_a_probability_that_falls_with_either_count(n, data):
    positives = data.draw(st.integers(0, n))
    size = data.draw(st.integers(0, n))
    found = theory.no_positive_probability(n, positives, size)
    assert 0 <= found <= 1
    assert found == theory.no_positive_probability(n, size, positives)
    if size < n:
        after = theory.no_positive_probability(n, positives, size + 1)
        assert after <= found * (1 + 1e-12)
    assert (found == 0) == (positives + size > n)


# the share of a class in a fold


def test_share_variances_of_the_chapters_example():
    exact, binomial, stratified = (
        theory.class_share_variance(1200, 324, 8, allocation)
        for allocation in ("random", "binomial", "stratified")
    )
    assert round(binomial, 6) == 0.001314
    assert round(exact, 6) == 0.001151
    assert f"{stratified:.1e}" == "1.1e-05"
    assert round(stratified / binomial, 4) == 0.0085
    assert round(stratified / exact, 4) == 0.0097
    assert exact / binomial == pytest.approx((1200 - 150) / 1199)


@pytest.mark.parametrize(("n", "ones", "k"), [(8, 3, 2), (9, 4, 3), (7, 3, 3)])
def test_share_variance_agrees_with_every_allocation(n, ones, k):
    fold = dealt(n, k)
    shares = [
        np.bincount(fold, y, k) / np.bincount(fold, minlength=k)
        for y in all_outcomes(ones, n)
    ]
    found = theory.class_share_variance(n, ones, k)
    assert found == pytest.approx(np.var(shares))


@pytest.mark.parametrize("k", [8, 7])
def test_share_variance_of_random_folds(k):
    y = labels(65, 175)
    plan = make_plan("kfold", y, "binary", k=k, repeats=2000, seed=2)
    held = plan.counts(y, 2)[1]
    shares = (held[:, 1] / held.sum(axis=1)).reshape(2000, k)
    per_repeat = ((shares - 65 / 240) ** 2).mean(axis=1)
    expected = theory.class_share_variance(240, 65, k)
    assert standard_errors_off(per_repeat, expected) < 4


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_share_variance_of_stratified_folds_is_that_of_the_counts(ones, zeros, data):
    n = ones + zeros
    k = data.draw(st.integers(2, n))
    quota = theory.stratified_quotas([ones, zeros], k)[:, 0]
    found = theory.class_share_variance(n, ones, k, "stratified")
    assert found == pytest.approx(np.var(quota / (n / k)), abs=1e-15)
    if n % k == 0:
        y = labels(ones, zeros)
        held = make_plan("stratified_kfold", y, "binary", k=k).counts(y, 2)[1]
        assert found == pytest.approx(np.var(held[:, 1] / (n // k)), abs=1e-15)
        random = theory.class_share_variance(n, ones, k)
        assert 0 <= found <= random * (1 + 1e-12)
    assert theory.class_share_variance(n, n, k) == 0


# quotas, and the rule for k


def test_quotas_of_the_chapters_example():
    quotas = theory.stratified_quotas((23, 7, 3), 3)
    assert quotas.tolist() == [[8, 2, 1], [8, 2, 1], [7, 3, 1]]
    assert set(quotas.sum(axis=1)) == {11}
    sizes = theory.stratified_quotas((23, 7, 3), 10).sum(axis=1)
    assert set(sizes) == {3, 4}  # "either 3 or 4"


@given(COUNTS, st.data())
def test_quotas_are_even_and_agree_with_plans(counts, data):
    n = sum(counts)
    if n < 2:
        return
    k = data.draw(st.integers(2, n))
    quotas = theory.stratified_quotas(counts, k)
    assert quotas.shape == (k, len(counts))
    assert quotas.sum(axis=0).tolist() == counts
    assert (np.ptp(quotas, axis=0) <= 1).all()
    assert np.ptp(quotas.sum(axis=1)) <= 1
    codes = np.repeat(np.arange(len(counts)), counts)
    plan = make_plan("stratified_kfold", codes, "multiclass", k=k, seed=3)
    held = plan.counts(codes, len(counts))[1]
    assert sorted(held.tolist()) == sorted(quotas.tolist())


@given(COUNTS)
def test_beyond_the_largest_k_some_fold_lacks_a_class(counts):
    k = theory.largest_k(counts)
    if k >= 2:
        assert theory.stratified_quotas(counts, k).min() >= 1
    if k < sum(counts):
        assert theory.stratified_quotas(counts, k + 1).min() == 0


def can_be_merged(common, rare, k):
    """Return whether blocks, each with one rare record, can form the fewer folds."""
    quotas = theory.stratified_quotas([common, rare], k)
    full, lacking = quotas[quotas[:, 1] > 0], quotas[quotas[:, 1] == 0]
    fewer = sorted(theory.stratified_quotas([common, rare], rare).tolist())
    for blocks in product(range(rare), repeat=len(lacking)):
        merged = full.copy()
        np.add.at(merged, list(blocks), lacking)
        if sorted(merged.tolist()) == fewer:
            return True
    return False


@pytest.mark.parametrize(
    ("k", "rare"), [(4, 2), (6, 2), (6, 3), (3, 2), (4, 3), (5, 2), (6, 4), (7, 3)]
)
def test_merged_folds_are_the_fewer_where_the_rare_count_divides_k(k, rare):
    enough = k * (k // rare + 2)  # blocks of unlike sizes then differ by two or more
    for common in range(enough, enough + k):
        assert can_be_merged(common, rare, k) == (k % rare == 0)
    if k % rare == 0:
        assert all(can_be_merged(c, rare, k) for c in range(k, enough))


# balanced error


@given(st.integers(2, 30), st.integers(1, 40), st.floats(0, 1), st.floats(0, 1))
def test_balanced_error_bias_is_that_of_stratified_folds(k, rare, error_0, error_1):
    quotas = theory.stratified_quotas([rare + 40, rare], k)
    both = (error_0 + error_1) / 2
    folds = [both if held else error_0 for held in quotas[:, 1]]
    bias = theory.balanced_error_bias(k, rare, error_0, error_1)
    assert bias == pytest.approx(np.mean(folds) - both, abs=1e-12)
    assert abs(bias) <= 0.5
    if k <= rare or error_0 == error_1:
        assert bias == 0


@pytest.mark.slow
def test_balanced_error_bias_of_classifiers_that_err_at_random():
    rng = np.random.default_rng(4)
    y = labels(6, 60)
    fold = make_plan("stratified_kfold", y, "binary", k=10, seed=4).held_out[0]
    means = []
    for _ in range(4000):
        wrong = rng.random(66) < np.where(y == 1, 0.4, 0.1)
        rates = [
            np.mean([wrong[(fold == f) & (y == c)].mean() for c in set(y[fold == f])])
            for f in range(10)
        ]
        means.append(np.mean(rates))
    expected = 0.25 + theory.balanced_error_bias(10, 6, 0.1, 0.4)
    assert expected == pytest.approx(0.19)
    assert standard_errors_off(means, expected) < 4


# the mean over folds


@pytest.mark.parametrize("rho", [-0.2, 0.0, 0.3, 0.9])
def test_variance_of_the_mean_of_correlated_estimates(rho):
    k, rng = 5, np.random.default_rng(5)
    root = np.linalg.cholesky(0.04 * ((1 - rho) * np.eye(k) + rho))
    means = (rng.standard_normal((20_000, k)) @ root.T).mean(axis=1)
    expected = theory.cv_mean_variance(0.04, k, rho)
    assert standard_errors_off(spread_of_squares(means), expected) < 4


def test_variance_of_the_mean_at_its_limits():
    assert theory.cv_mean_variance(2.0, 10, 0) == pytest.approx(0.2)
    assert theory.cv_mean_variance(2.0, 10, 1) == pytest.approx(2)
    assert theory.cv_mean_variance(0, 10, 0.4) == 0
    for k in range(2, 30):
        assert theory.cv_mean_variance(2.0, k, -1 / (k - 1)) < 1e-15


def test_shares_of_folds_of_one_size_correlate_so_that_their_mean_is_fixed():
    shares = [np.bincount(dealt(9, 3), y, 3) / 3 for y in all_outcomes(4, 9)]
    correlation = np.corrcoef(np.array(shares), rowvar=False)
    assert correlation[0, 1] == pytest.approx(-1 / 2)
    variance = theory.class_share_variance(9, 4, 3)
    assert theory.cv_mean_variance(variance, 3, -1 / 2) == 0


def test_stratification_raises_the_correlation_and_lowers_the_whole():
    """The chapter's claim holds for Brier scores of the training mean in fresh data.

    The chapter's reason does not hold here: the covariance is not "largely unaffected"
    but increases, since the folds of one data set then have the same share.
    """
    n, k, rng = 60, 5, np.random.default_rng(10)
    random = (rng.random((20_000, n)) < 0.3).astype(float)  # the order does not matter
    found = {}
    for name, y in (("random", random), ("stratified", np.sort(random, axis=1))):
        held = y.reshape(-1, n // k, k).mean(axis=1)  # record i in fold i mod k
        train = (k * y.mean(axis=1, keepdims=True) - held) / (k - 1)
        brier = held * (1 - train) ** 2 + (1 - held) * train**2
        covariance = np.cov(brier, rowvar=False)
        variance = np.trace(covariance) / k
        between = (covariance.sum() - k * variance) / (k * (k - 1))
        whole = theory.cv_mean_variance(variance, k, between / variance)
        assert whole == pytest.approx(brier.mean(axis=1).var(ddof=1))
        found[name] = variance, between, between / variance, whole
    plain, even = found["random"], found["stratified"]
    assert even[0] < 0.3 * plain[0]
    assert even[1] > 10 * plain[1]
    assert plain[2] < 0.05
    assert even[2] > 0.7
    assert even[3] < 0.95 * plain[3]


# the other majority


def test_majority_flip_is_the_count_of_training_sets():
    for n in range(2, 9):
        for ones in (m for m in range(n + 1) if 2 * m != n):
            outcomes = np.array(list(all_outcomes(ones, n)))
            outcomes = outcomes if 2 * ones < n else 1 - outcomes  # 1 is the smaller
            for size in range(1, n + 1):
                lead = 2 * outcomes[:, :size].sum(axis=1) - size
                for ties in (0, 0.5, 1):
                    found = theory.majority_flip_probability(n, ones, size, ties)
                    expected = np.mean((lead > 0) + ties * (lead == 0))
                    assert found == pytest.approx(expected, abs=1e-14)


def test_random_folds_flip_the_majority_and_stratified_ones_cannot():
    y = labels(102, 98)
    plan = make_plan("kfold", y, "binary", k=4, repeats=3000, seed=6)
    flipped = np.diff(plan.counts(y, 2)[0], axis=1)[:, 0] < 0
    expected = theory.majority_flip_probability(200, 102, 150)
    assert expected > 0.1
    per_repeat = flipped.reshape(3000, 4).mean(axis=1)
    assert standard_errors_off(per_repeat, expected) < 4


def error_of_majority_rule(plan, y):
    train, held = plan.counts(y, 2)
    wrong = np.where(train[:, 1] > train[:, 0], held[:, 0], held[:, 1])
    return (wrong / held.sum(axis=1)).reshape(plan.repeats, -1).mean(axis=1)


def test_stratified_folds_take_all_variance_from_the_majority_rule():
    y = labels(104, 96)
    variances = {
        scheme: error_of_majority_rule(
            make_plan(scheme, y, "binary", k=8, repeats=200, seed=7), y
        ).var()
        for scheme in ("kfold", "stratified_kfold")
    }
    assert variances["kfold"] > 1e-4
    assert variances["stratified_kfold"] < 1e-30


@given(st.integers(1, 80), st.integers(1, 80), st.data())
def test_training_sets_of_stratified_folds_never_flip(ones, zeros, data):
    k = data.draw(st.integers(2, ones + zeros))
    lead = (ones - zeros) - theory.stratified_quotas([ones, zeros], k) @ [1, -1]
    if ones != zeros:
        assert (np.sign(lead) * np.sign(ones - zeros) >= 0).all()


def test_training_sets_of_stratified_folds_can_tie():
    lead = 2 - theory.stratified_quotas([51, 49], 10) @ [1, -1]
    assert (lead == 0).sum() == 1  # 45 of each


@given(st.integers(1, 3000), st.data())
def test_majority_flip_is_a_probability(n, data):
    ones = data.draw(st.integers(0, n).filter(lambda m: 2 * m != n))
    size = data.draw(st.integers(1, n))
    found = theory.majority_flip_probability(n, ones, size)
    assert 0 <= found <= theory.majority_flip_probability(n, ones, size, 1) <= 1
    other = theory.majority_flip_probability(n, n - ones, size)
    assert found == pytest.approx(other, rel=1e-9, abs=1e-300)
    assert theory.majority_flip_probability(n, ones, n, 1) == 0


# the negative mean


@pytest.mark.parametrize(
    ("ones", "printed", "to_four"), [(10, 0.88, 0.8801), (50, 0.76, 0.7640)]
)
def test_negative_mean_of_the_paper(ones, printed, to_four):
    """Fig. S2b, N = 100, P = 4; by symmetry .9 gives the same value as .1."""
    found = theory.negative_mean_auroc(100, ones, 4)
    assert round(found, 4) == to_four
    assert round(found, 2) == printed
    other = theory.negative_mean_auroc(100, 100 - ones, 4)
    assert other == pytest.approx(found, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("ones", "sd"), [(10, 0.030), (50, 0.039), (90, 0.030)])
def test_negative_mean_under_random_folds(ones, sd):
    y = labels(ones, 100 - ones)
    found = [
        1 - mean_model_auroc(make_plan("kfold", y, "binary", k=25, seed=seed), y)
        for seed in range(600)
    ]
    assert np.std(found) == pytest.approx(sd, abs=0.004)
    expected = theory.negative_mean_auroc(100, ones, 4)
    assert standard_errors_off(found, expected) < 4


def test_negative_mean_under_large_folds():
    """Fig. 1c at P = 100 (300 records): .5376 at balance ½."""
    assert round(theory.negative_mean_auroc(300, 150, 100), 4) == 0.5376


@pytest.mark.parametrize(
    ("n", "ones", "p"), [(8, 3, 2), (9, 4, 3), (7, 3, 2), (8, 5, 3), (9, 2, 4)]
)
def test_negative_mean_is_the_mean_over_every_allocation(n, ones, p):
    """Folds are of one size, or of two sizes if p does not divide n."""
    plan = assemble("kfold", "", [dealt(n, n // p)])
    found = [1 - mean_model_auroc(plan, y) for y in all_outcomes(ones, n)]
    expected = theory.negative_mean_auroc(n, ones, p)
    assert expected == pytest.approx(np.mean(found), abs=1e-13)


@given(st.integers(1, 30), st.integers(2, 12), st.data())
def test_negative_mean_agrees_with_the_conditional_form(p, folds, data):
    """The conditional form: i in a fold of K + 1, j in one of L | K positives."""
    n = p * folds
    ones = data.draw(st.integers(1, n - 1))

    def hypergeometric(x, total, good, draws):
        return Fraction(comb(good, x) * comb(total - good, draws - x), total_ways)

    expected = Fraction(p - 1, 2 * (n - 1))
    for mine in range(max(0, ones - 1 - (n - 1 - p)), min(p, ones)):
        total_ways = comb(n - 2, p - 1)
        first = hypergeometric(mine, n - 2, ones - 1, p - 1)
        total_ways = comb(n - 1 - p, p - 1)
        for theirs in range(min(p - 1, ones - 1 - mine) + 1):
            if n - 1 - p - (ones - 1 - mine) < p - 1 - theirs or not first:
                continue
            second = hypergeometric(theirs, n - 1 - p, ones - 1 - mine, p - 1)
            half_wins = (mine + 1 > theirs) + (mine + 1 >= theirs)
            expected += Fraction(n - p, n - 1) * first * second * half_wins / 2
    found = theory.negative_mean_auroc(n, ones, p)
    assert found == pytest.approx(float(expected), abs=1e-11)


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_negative_mean_under_stratified_folds_is_the_same_in_every_plan(a, b, data):
    p = data.draw(st.integers(1, (a + b) // 2))
    y = labels(a, b)
    plan = make_plan("stratified_kfold", y, "binary", k=(a + b) // p, repeats=2)
    found = theory.negative_mean_auroc(a + b, a, p, "stratified_lpocv")
    assert found == pytest.approx(1 - mean_model_auroc(plan, y), abs=1e-12)


@given(st.integers(1, 200), st.integers(1, 200))
def test_negative_mean_is_perfect_under_leave_one_out(ones, zeros):
    n = ones + zeros
    random = theory.negative_mean_auroc(n, ones, 1)
    assert random == pytest.approx(1, abs=1e-10)
    assert theory.negative_mean_auroc(n, ones, 1, "stratified_lpocv") == 1
    plan = make_plan("loocv", labels(ones, zeros), "binary")
    assert mean_model_auroc(plan, labels(ones, zeros)) == 0


@given(st.integers(1, 300), st.integers(1, 300), st.data())
def test_negative_mean_lies_between_chance_and_certainty(ones, zeros, data):
    p = data.draw(st.integers(1, (ones + zeros) // 2))
    for scheme in ("lpocv", "stratified_lpocv"):
        found = theory.negative_mean_auroc(ones + zeros, ones, p, scheme)
        assert 0.5 - 1e-10 <= found <= 1


def test_negative_mean_of_folds_that_all_hold_the_same():
    for p in (4, 10, 20, 50):
        found = theory.negative_mean_auroc(100, 50, p, "stratified_lpocv")
        assert found == 0.5


# rebalanced leave-p-out


def test_training_counts_of_the_paper():
    """Supplementary Note 1."""
    assert theory.rlpocv_training_counts([50, 50], 5) == (47, 47)
    assert theory.rlpocv_training_counts([10, 1000], 2) == (9, 998)
    assert theory.rlpocv_training_counts([7, 9, 4], 1) == (6, 8, 3)


def test_training_counts_are_the_papers_wherever_p_divides_n():
    for n in range(4, 60):
        for p in (p for p in range(1, n // 2 + 1) if n % p == 0):
            for t in range(2, n - 1):
                f, groups = n - t, n // p
                paper = t - p + f // groups, f - p + t // groups
                if min(paper) > 0:
                    assert theory.rlpocv_training_counts([t, f], p) == paper


def test_the_papers_counts_are_too_many_where_p_does_not_divide_n():
    t, f, p = 4, 4, 3
    groups = (t + f) // p
    assert (t - p + f // groups, f - p + t // groups) == (3, 3)
    assert theory.rlpocv_training_counts([t, f], p) == (2, 2)  # what two folds leave


@pytest.mark.parametrize(("ones", "n", "p"), [(3, 8, 2), (4, 9, 3), (3, 7, 2)])
def test_no_allocation_leaves_larger_equal_training_sets(ones, n, p):
    fold, k = dealt(n, n // p), n // p
    left = [
        (ones - held.max(), n - ones - (np.bincount(fold) - held).max())
        for held in (np.bincount(fold, y, k).astype(int) for y in all_outcomes(ones, n))
    ]
    best = theory.rlpocv_training_counts([ones, n - ones], p)
    assert best in left
    assert (np.array(left) <= best).all()


@given(st.integers(2, 40), st.integers(2, 40), st.data())
def test_training_sets_of_those_counts_reveal_nothing(ones, zeros, data):
    n, y = ones + zeros, labels(ones, zeros)
    p = data.draw(st.integers(1, n // 2))
    try:
        counts = theory.rlpocv_training_counts([ones, zeros], p)
    except ArgumentError:
        with pytest.raises(ArgumentError, match="to train"):
            theory.negative_mean_auroc(n, ones, p, "rlpocv")
        return
    plan = make_plan("stratified_kfold", y, "binary", k=n // p, seed=8)
    drops = [
        np.concatenate(
            [rows[y[rows] == c][keep:] for c, keep in ((1, counts[0]), (0, counts[1]))]
        )
        for rows in map(plan.train, range(plan.n_splits))
    ]
    rebalanced = replace(plan, dropped=Ragged.of(drops).rising(), rebalance="subsample")
    assert (rebalanced.counts(y, 2)[0] == counts[::-1]).all()
    assert mean_model_auroc(rebalanced, y) == 0.5
    assert theory.negative_mean_auroc(n, ones, p, "rlpocv") == 0.5


# training mean against held-out outcome


def correlations(plan, y):
    means = training_means(plan, y).reshape(plan.repeats, -1)
    return [
        (
            np.corrcoef(y, mean[fold])[0, 1],
            np.corrcoef(np.bincount(fold, y) / np.bincount(fold), mean)[0, 1],
        )
        for fold, mean in zip(plan.held_out, means, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("p", [1, 2, 5, 20])
def test_correlation_of_training_mean_and_held_out_outcome(p):
    y = np.random.default_rng(9).gamma(2.0, size=40)
    plan = make_plan("kfold", y, "continuous", k=40 // p, repeats=1500, seed=9)
    single, mean = np.array(correlations(plan, y)).T
    expected = theory.training_mean_correlation(40, p)
    if p == 1:
        assert expected == -1
        np.testing.assert_allclose(single, -1)
    else:
        assert standard_errors_off(single**2, expected**2) < 4
    np.testing.assert_allclose(mean, -1)


def test_mean_squared_correlation_over_every_allocation():
    fold = dealt(8, 4)
    squares = []
    for y in all_outcomes(3, 8):
        training = (3 - np.bincount(fold, y)) / 6
        squares.append(np.corrcoef(y, training[fold])[0, 1] ** 2)
    assert np.mean(squares) == pytest.approx(
        theory.training_mean_correlation(8, 2) ** 2
    )


@given(st.integers(1, 50), st.integers(2, 50))
def test_correlation_by_the_number_of_folds(p, k):
    found = theory.training_mean_correlation(p * k, p)
    assert found == pytest.approx(-(((k - 1) / (p * k - 1)) ** 0.5))
    assert -1 <= found < 0


# what cannot be


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("no_positive_probability", (0, 0, 0), "n=0 is out of range"),
        ("no_positive_probability", (10, 11, 2), "positives=11 is out of range"),
        ("no_positive_probability", (10, 2, -1), "fold_size=-1 is out of range"),
        ("no_positive_probability", (10.0, 2, 1), "n must be an integer"),
        ("no_positive_probability", (10, True, 1), "positives must be an integer"),
        ("class_share_variance", (10, 3, 1), "k=1 is out of range"),
        ("class_share_variance", (10, 3, 11), "k=11 is out of range"),
        ("class_share_variance", (10, 11, 2), "class_count=11 is out of range"),
        ("class_share_variance", (1, 1, 2), "n=1 is out of range"),
        ("class_share_variance", (9, 3, 2, "Random"), "Did you mean 'random'"),
        ("stratified_quotas", ([3, 0], 2), "not counts from 1 on"),
        ("stratified_quotas", ([3, 2.5], 2), "not counts from 1 on"),
        ("stratified_quotas", ([[3, 2]], 2), "not counts from 1 on"),
        ("stratified_quotas", ([3, 2], 6), "k=6 is out of range"),
        ("largest_k", ([],), "not counts from 1 on"),
        ("largest_k", (np.empty(0, int),), "not counts from 1 on"),
        ("largest_k", (7,), "not counts from 1 on"),
        ("balanced_error_bias", (1, 1, 0.1, 0.1), "k=1 is out of range"),
        ("balanced_error_bias", (5, 0, 0.1, 0.1), "minority=0 is out of range"),
        ("balanced_error_bias", (5, 2, 1.1, 0.1), "error_0=1.1 is out of range"),
        ("balanced_error_bias", (5, 2, 0.1, nan), "error_1=nan is out of range"),
        ("cv_mean_variance", (-1, 5, 0), "fold_variance=-1 is out of range"),
        ("cv_mean_variance", (inf, 5, 0), "fold_variance=inf is out of range"),
        ("cv_mean_variance", ("1", 5, 0), "fold_variance='1' is out of range"),
        ("cv_mean_variance", (1, 1, 0), "k=1 is out of range"),
        ("cv_mean_variance", (1, 5, -0.3), "rho=-0.3 is out of range: -0.25 to 1"),
        ("majority_flip_probability", (10, 5, 3), "neither class is larger"),
        ("majority_flip_probability", (10, 4, 11), "train_size=11 is out of range"),
        ("majority_flip_probability", (10, 4, 3, 2), "ties=2 is out of range"),
        ("negative_mean_auroc", (10, 0, 2), "positives=0 is out of range"),
        ("negative_mean_auroc", (10, 10, 2), "positives=10 is out of range"),
        ("negative_mean_auroc", (10, 4, 6), "p=6 is out of range"),
        ("negative_mean_auroc", (10, 4, 2, "rlpcv"), "Did you mean 'rlpocv'"),
        ("negative_mean_auroc", (10, 1, 2, "rlpocv"), "leaves none of a class of 1"),
        ("rlpocv_training_counts", ([5, 5], 6), "p=6 is out of range"),
        ("rlpocv_training_counts", ([1, 5], 2), "leaves none of a class of 1"),
        ("training_mean_correlation", (10, 6), "p=6 is out of range"),
        ("training_mean_correlation", (10, 3), "does not divide"),
    ],
)
def test_impossible_arguments_raise_an_error(function, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        getattr(theory, function)(*arguments)


def test_numpy_integers_do_not_overflow():
    n, ones, p = np.int32(200_000), np.int32(70_000), np.int32(2)
    for scheme in ("lpocv", "stratified_lpocv"):
        plain = theory.negative_mean_auroc(200_000, 70_000, 2, scheme)
        assert theory.negative_mean_auroc(n, ones, p, scheme) == plain
    for allocation in ("random", "binomial", "stratified"):
        plain = theory.class_share_variance(200_000, 70_000, 7, allocation)
        assert theory.class_share_variance(n, ones, np.int8(7), allocation) == plain
    for k in (np.int8(100), 100):
        assert theory.balanced_error_bias(k, 10, 0.5, 0.1) == pytest.approx(0.18)
        assert theory.cv_mean_variance(1.0, k, 0.5) == pytest.approx(0.505)
    flip = theory.majority_flip_probability(200, 99, 100)
    small = np.uint8(200), np.uint8(99), np.uint8(100)
    assert theory.majority_flip_probability(*small) == flip
    assert theory.no_positive_probability(np.int8(120), np.int8(90), np.int8(90)) == 0
    assert theory.training_mean_correlation(np.int32(200_000), np.int32(50_000)) < 0
    small = np.array([100, 120], dtype=np.uint8)
    assert theory.rlpocv_training_counts(small, 2) == (99, 118)
    assert theory.training_mean_correlation(n, p) == pytest.approx(
        -(0.5**0.5), abs=1e-5
    )
