"""What is said of candidates without the model, against slow textbook versions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.results.stratifier_bias import (
    anova,
    chi_square,
    commonest_outside,
    fold_auroc,
    mutual_information,
    nearest_outside,
    numbers_of,
    quantile_codes,
    regression,
)

small = st.integers(0, 6)


@given(
    st.lists(small, min_size=2, max_size=30), st.lists(small, min_size=7, max_size=7)
)
def test_the_nearest_value_outside_the_own_fold(values, fold_of):
    """By comparing each record with every other one."""
    values = np.array(values, dtype=float) ** 2
    fold = np.array(fold_of)[np.sqrt(values).astype(int)]
    if len(np.unique(fold)) < 2:
        return
    moved = nearest_outside(values, fold)
    for i, j in enumerate(moved.tolist()):
        others = values[fold != fold[i]]
        assert fold[j] != fold[i]
        assert abs(values[j] - values[i]) == np.abs(others - values[i]).min()


def test_of_two_values_as_near_the_lower_is_taken():
    values = np.array([0.0, 1.0, 2.0])
    assert nearest_outside(values, np.array([0, 1, 2])).tolist() == [1, 0, 1]


def test_a_missing_value_stays():
    values = np.array([np.nan, 1.0, 2.0])
    assert nearest_outside(values, np.array([0, 0, 1])).tolist() == [0, 2, 1]


@given(st.lists(small, min_size=2, max_size=40))
def test_without_an_order_the_commonest_other_value_is_taken(codes):
    codes = np.unique(codes, return_inverse=True)[1]
    fold = codes % 3
    if len(np.unique(fold)) < 2:
        return
    counts = np.bincount(codes)
    for i, j in enumerate(commonest_outside(codes, fold).tolist()):
        assert counts[codes[j]] == max(counts[codes[fold != fold[i]]])
        assert fold[j] != fold[i]


def entropy(table, n):
    cells = [c / n for c in table if c]
    return -sum(p * np.log(p) for p in cells) + (len(cells) - 1) / (2 * n)


@given(st.lists(st.tuples(small, small), min_size=1, max_size=60))
def test_mutual_information_is_three_corrected_entropies(pairs):
    x, y = np.array(pairs).T
    table, n = pd.crosstab(x, y).to_numpy(), len(x)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    expected = entropy(rows, n) + entropy(columns, n) - entropy(table.ravel(), n)
    assert mutual_information(x, y) == pytest.approx(expected, abs=1e-12)


def test_the_correction_takes_away_the_bias_of_mutual_information():
    rng = np.random.default_rng(1)
    found = [
        mutual_information(rng.integers(10, size=400), rng.integers(2, size=400))
        for _ in range(400)
    ]
    assert abs(np.mean(found)) < 3 * np.std(found) / np.sqrt(len(found)) + 2e-4
    assert np.mean(found) < (10 - 1) / (2 * 400) / 4  # a quarter of the plug-in's bias


def test_quantile_bins_are_of_about_equal_count():
    values = np.random.default_rng(2).normal(size=1003)
    counts = np.bincount(quantile_codes(values))
    assert len(counts) == 10
    assert np.ptp(counts) <= 1
    codes = quantile_codes(values)
    assert (np.diff(codes[np.argsort(values)]) >= 0).all()


def test_ratios_of_variances_are_those_of_scipy():
    from scipy import stats

    rng = np.random.default_rng(3)
    x, groups = rng.normal(size=80), rng.integers(3, size=80)
    y = x + rng.normal(size=80)
    parts = [x[groups == g] for g in range(3)]
    assert anova(x, groups) == pytest.approx(tuple(stats.f_oneway(*parts)))
    line = stats.linregress(x, y)
    found = regression(x, y)
    assert found.p == pytest.approx(line.pvalue)
    assert found.value == pytest.approx((line.slope / line.stderr) ** 2)
    other = rng.integers(4, size=80)
    table = pd.crosstab(groups, other)
    value, p, freedom, _ = stats.chi2_contingency(table, correction=False)
    assert chi_square(groups, other) == pytest.approx((value / freedom, p))


def test_what_has_no_ratio_is_nan():
    one = np.zeros(4, dtype=int)
    assert np.isnan(anova(np.arange(4.0), one).value)
    assert np.isnan(anova(np.zeros(4), np.array([0, 0, 1, 1])).value)
    assert np.isnan(regression(np.zeros(4), np.arange(4.0)).value)
    assert np.isnan(chi_square(one, np.array([0, 1, 0, 1])).value)
    far = np.array([0.0, 1.0, 2.0, np.inf])
    assert np.isnan(anova(far, np.array([0, 0, 1, 1]))).all()
    assert np.isnan(regression(far, np.arange(4.0))).all()
    assert anova(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 1])).p == 0


def test_the_fold_is_told_as_scikit_learns_discriminants_tell_it():
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    from statcv.metrics import auroc_hand_till

    rng = np.random.default_rng(4)
    X, fold = rng.normal(size=(300, 4)), rng.integers(3, size=300)
    X[:, 0] += fold
    X[:, 3] = 7.0 * X[:, 1]  # this column adds no information
    held_out = np.arange(300) % 5
    areas = []
    for part in range(5):
        out = held_out == part
        model = LinearDiscriminantAnalysis().fit(X[~out, :3], fold[~out])
        areas.append(auroc_hand_till(fold[out], model.predict_proba(X[out, :3])))
    found = fold_auroc(X, fold, held_out)
    assert found == pytest.approx(np.mean(areas), abs=2e-3)
    assert found > 0.65


def test_folds_at_random_are_not_told():
    rng = np.random.default_rng(5)
    areas = [
        fold_auroc(
            rng.normal(size=(200, 3)), rng.permutation(200) % 4, np.arange(200) % 5
        )
        for _ in range(60)
    ]
    assert abs(np.mean(areas) - 0.5) < 4 * np.std(areas) / np.sqrt(60)


def test_there_is_nothing_to_tell_folds_by():
    fold = np.arange(20) % 2
    assert np.isnan(fold_auroc(np.empty((20, 0)), fold, fold))
    assert np.isnan(fold_auroc(np.ones((20, 2)), fold, np.arange(20) % 5))


def test_a_column_without_any_value_tells_nothing_of_folds():
    rng = np.random.default_rng(6)
    X, fold, held_out = rng.normal(size=(80, 2)), np.arange(80) % 2, np.arange(80) // 16
    more = np.column_stack([X, np.full(80, np.nan)])
    assert fold_auroc(more, fold, held_out) == fold_auroc(X, fold, held_out)


def test_numbers_of_columns():
    days = pd.Series(pd.to_datetime(["2020-01-03", "2020-01-01"]))
    assert numbers_of(days).tolist() == [2.0, 0.0]
    assert numbers_of(pd.Series([1, None], dtype="Int64"))[0] == 1
    assert numbers_of(pd.Series(["a", "b"])) is None
    assert numbers_of(pd.Series([1, 2], dtype="category")) is None
