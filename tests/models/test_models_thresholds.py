"""Thresholds chosen on training sets, against a search through every cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.errors import ArgumentError, ModelError
from statcv.folds.ragged import Ragged
from statcv.metrics import accuracy
from statcv.models import Logit, Mean, Sklearn, TrainingSet
from statcv.models.batched import Folds
from statcv.models.thresholds import RULES, Thresholded, best_thresholds, with_threshold

SCORES = {
    "youden": lambda tp, fp, ones, zeros: tp / ones - fp / zeros,
    "f1": lambda tp, fp, ones, zeros: 2 * tp / (tp + fp + ones),
    "accuracy": lambda tp, fp, ones, zeros: (tp + zeros - fp) / (ones + zeros),
}


def attained(rule, y, p, weights, cut):
    above = p >= cut
    tp, fp = weights[above & (y == 1)].sum(), weights[above & (y == 0)].sum()
    ones, zeros = weights[y == 1].sum(), weights[y == 0].sum()
    return SCORES[rule](tp, fp, ones, zeros)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 1),
            st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 1.0]),
            st.sampled_from([0.0, 1.0, 2.0]),
        ),
        min_size=2,
        max_size=12,
    ),
    st.sampled_from(sorted(SCORES)),
)
def test_the_threshold_attains_the_best_of_all_cuts(records, rule):
    y, p, weights = (np.array(column) for column in zip(*records, strict=True))
    found = best_thresholds(RULES[rule], y[None], p[None], weights[None])[0]
    if not (weights[y == 1].sum() and weights[y == 0].sum()):
        assert np.isnan(found)
        return
    cuts = [0.0, 0.05, 0.2, 0.4, 0.7, 0.95, 1.5]
    best = max(attained(rule, y, p, weights, cut) for cut in cuts)
    assert attained(rule, y, p, weights, found) == pytest.approx(best, abs=1e-12)
    assert 0 <= found <= 1 or (p[weights > 0].max() == 1 and found == 1.5)


def test_neighbours_of_the_twelfth_digit_are_told_apart():
    y, p = np.array([[0, 1, 0]]), np.array([[0.300000000001, 0.300000000002, 0.1]])
    found = best_thresholds(RULES["youden"], y, p, np.ones((1, 3)))[0]
    assert accuracy(y[0], p[0], found) == 1


def test_the_share_of_positives_is_weighted():
    y = np.array([[0, 1, 1, 0]])
    weights = np.array([[1.0, 2.0, 1.0, 0.0]])
    found = best_thresholds(RULES["prevalence"], y, y * 1.0, weights)
    assert found == pytest.approx([0.75])


def records_of(seed, n=30):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    y = (X[:, 1] + rng.normal(size=n) > 0.3).astype(int)
    weights = rng.uniform(0.5, 2, n)
    return TrainingSet(X, y, "binary", 2, ("one", "a", "b"), 0, weights, 0)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_all_folds_together_choose_as_each_by_itself(rule):
    records = records_of(1)
    model = Thresholded(Logit(C=1.0), rule)
    folds = Folds(
        Ragged.of([[0, 1], [5], list(range(10, 20))]), Ragged.of([[3], [], [4, 4]])
    )
    together = model.fit_folds(records, folds)
    rows = np.arange(30)
    for fit in range(3):
        alone = model.fit(folds.training_set(records, fit))
        assert alone.threshold == pytest.approx(together.chosen["threshold"][fit])
        np.testing.assert_allclose(
            alone.predict(records.X), together.predict(rows, np.full(30, fit))
        )


def test_a_model_of_another_library_is_not_fitted_together():
    from sklearn.linear_model import LogisticRegression

    model = Thresholded(Sklearn(LogisticRegression()), "youden")
    folds = Folds.leaving_out([[0]])
    assert model.fit_folds(records_of(2), folds) is None
    fit = model.fit(records_of(2))
    assert 0 < fit.chosen["threshold"] < 1


def test_constant_predictions_have_a_threshold_nevertheless():
    records = records_of(3)
    fit = Thresholded(Mean(), "youden").fit(records)
    assert 0 <= fit.threshold <= 1


def test_wrong_rules_and_outcomes_are_refused():
    with pytest.raises(ArgumentError, match="Did you mean 'youden'"):
        with_threshold(Mean(), "yuden", "binary")
    with pytest.raises(ModelError, match="two classes"):
        Thresholded(Mean(), "f1").check("continuous")
