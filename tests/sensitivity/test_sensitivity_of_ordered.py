"""How proportional-odds regressions move with the weights of their records."""

from dataclasses import replace

import numpy as np
import pytest

from statcv.models import ProportionalOdds, TrainingSet
from statcv.models.batched import Folds
from statcv.models.likelihood import CumulativeLogit
from statcv.sensitivity.reference import Training, ordered_reference

N, STEP = 36, 1e-5
LEVERAGE = "statcv.sensitivity.reference.MAX_LEVERAGE"


def records(seed=0, given=None):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(N), rng.normal(size=(N, 2))])
    y = np.digitize(X[:, 1] + rng.logistic(size=N), [-0.6, 0.9])
    return TrainingSet(X, y, "multiclass", 3, tuple("iab"), 0, given, 0)


def reference_of(model, data, folds):
    given = np.ones(N) if data.weights is None else data.weights
    penalty = model.ridge(data)[1:]
    return ordered_reference(data.X[:, 1:], data.y, penalty, Training(given, folds))


def refitted(model, data, folds, change):
    """Return the linear predictors of all records, by refits."""
    given = np.ones(N) if data.weights is None else data.weights
    data = replace(data, weights=given * (1 + change))
    return CumulativeLogit().link(model.fit_folds(data, folds).predict_all(N))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", [ProportionalOdds(), ProportionalOdds(C=0.3)])
def test_weights_move_the_fit_to_all_records_as_refits_show(
    model, weighted, monkeypatch
):
    # to first order, without the lengthening of a step that leaves a record out
    monkeypatch.setattr(LEVERAGE, 0.0)
    given = np.random.default_rng(3).uniform(0.3, 2.0, N) if weighted else None
    data, folds = records(given=given), Folds.leaving_out([[]])
    reference = reference_of(model, data, folds)
    plain = refitted(model, data, folds, np.zeros(N))[0]
    np.testing.assert_allclose(reference.eta, plain, atol=1e-8)
    found = reference.predictors(np.eye(N)) - reference.eta
    for record in range(0, N, 3):
        step = STEP * np.eye(N)[record]
        ends = [refitted(model, data, folds, sign * step)[0] for sign in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * STEP)
        np.testing.assert_allclose(found[record], slope, atol=1e-6)


def test_a_longer_step_is_nearer_to_a_deletion(monkeypatch):
    data, folds, model = records(1), Folds.leaving_out([[]]), ProportionalOdds()
    plain = refitted(model, data, folds, np.zeros(N))[0]
    exact = [refitted(model, data, folds, -one)[0] - plain for one in np.eye(N)]
    errors = []
    for most in (0.8, 0.0):
        monkeypatch.setattr(LEVERAGE, most)
        found = reference_of(model, data, folds).predictors(-np.eye(N)) - plain
        errors.append(np.linalg.norm(found - exact) / np.linalg.norm(exact))
    assert errors[0] < 0.1
    assert errors[0] < 0.6 * errors[1]


@pytest.mark.parametrize("k", [6, N])
def test_held_out_predictions_move_as_refits_show(k):
    data, model = records(2), ProportionalOdds(C=2.0)
    folds = Folds.leaving_out(np.arange(N).reshape(k, -1))
    reference = reference_of(model, data, folds)
    fit, row = np.repeat(np.arange(k), N // k), np.arange(N)
    plain = refitted(model, data, folds, np.zeros(N))[fit, row]
    for seed in range(5):
        change = 0.05 * (np.random.default_rng(seed).exponential(size=N) - 1)
        moved = (refitted(model, data, folds, change)[fit, row] - plain).ravel()
        found = reference.shifts(change[None], fit, row)[0].ravel()
        least = 0.97 if k == N else 0.9
        assert np.corrcoef(found, moved)[0, 1] > least
        assert 0.6 < (found @ moved) / (moved @ moved) < 1.7
