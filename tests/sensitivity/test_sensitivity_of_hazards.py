"""How Cox regressions change with the weights of records, beside refits."""

from dataclasses import replace

import numpy as np
import pytest

from statcv.models import Cox, TrainingSet
from statcv.models.batched import Folds, strata_shares
from statcv.models.likelihood import Hazards
from statcv.numeric.survival import signed_times
from statcv.sensitivity.hazards import cox_reference
from statcv.sensitivity.reference import Training

N, HORIZON, STEP = 60, 3.0, 1e-4


def records(seed=0, given=None, strata=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3)) + 2
    time = rng.exponential(4 * np.exp(2 - X[:, 0]))
    censored = rng.exponential(6, N)
    y = signed_times(np.ceil(np.minimum(time, censored)), time <= censored)
    X, names = np.column_stack([np.ones(N), X]), tuple("iabc")
    if strata:
        levels = np.arange(N)[:, None] % 3 == [1, 2]
        X = np.column_stack([X, levels.astype(float)])
        names = (*names, "strata(g)[T.1]", "strata(g)[T.2]")
    return TrainingSet(X, y, "survival", 0, names, 0, given, 0, horizons=(HORIZON,))


def reference_of(model, data, folds, horizon=HORIZON):
    given = np.ones(N) if data.weights is None else data.weights
    likelihood = Hazards(model.ties == "efron")
    return cox_reference(
        data.X - data.X.mean(axis=0),
        data.y,
        model.ridge(data),
        Training(given, folds),
        likelihood,
        [horizon],
        strata_shares(data.X, data.names),
        np.zeros(N),
    )


def refitted(model, data, folds, change, column):
    """Return predictions of all records, as linear in the parameters, by refits."""
    given = np.ones(N) if data.weights is None else data.weights
    data = replace(data, weights=given * (1 + change))
    return Hazards().link(model.fit_folds(data, folds).predict_all(N))[:, :, column]


@pytest.mark.parametrize("strata", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "model", [Cox(), Cox(ties="breslow"), Cox(C=0.3), Cox(C=0.3, ties="breslow")]
)
def test_weights_move_the_fit_to_all_records_as_refits_show(
    model, weighted, strata, monkeypatch
):
    # to first order, without the lengthening of a step that leaves a record out
    monkeypatch.setattr("statcv.sensitivity.reference.MAX_LEVERAGE", 0.0)
    given = np.random.default_rng(3).uniform(0.3, 2.0, N) if weighted else None
    data, folds = records(given=given, strata=strata), Folds.leaving_out([[]])
    reference = reference_of(model, data, folds)
    for column in (0, 1):
        plain = refitted(model, data, folds, np.zeros(N), column)[0]
        np.testing.assert_allclose(reference.eta[:, column], plain, atol=1e-8)
        found = (reference.predictors(np.eye(N)) - reference.eta)[:, :, column]
        for record in range(0, N, 3):
            step = np.zeros(N)
            step[record] = STEP
            more = refitted(model, data, folds, step, column)[0]
            less = refitted(model, data, folds, -step, column)[0]
            slope = (more - less) / (2 * STEP)
            np.testing.assert_allclose(found[record], slope, atol=1e-6)


@pytest.mark.parametrize("column", [0, 1])
def test_a_longer_step_is_nearer_to_a_deletion(column, monkeypatch):
    data, folds, model = records(1), Folds.leaving_out([[]]), Cox()
    plain = refitted(model, data, folds, np.zeros(N), column)[0]
    exact = [refitted(model, data, folds, -one, column)[0] - plain for one in np.eye(N)]
    errors = []
    for most in (0.8, 0.0):
        monkeypatch.setattr("statcv.sensitivity.reference.MAX_LEVERAGE", most)
        reference = reference_of(model, data, folds)
        found = reference.predictors(-np.eye(N))[:, :, column] - plain
        errors.append(np.linalg.norm(found - exact) / np.linalg.norm(exact))
    assert errors[0] < 0.1
    assert errors[0] < 0.6 * errors[1]


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("k", [6, N])
def test_held_out_predictions_move_as_refits_show(column, k):
    data, model = records(2), Cox(C=2.0)
    folds = Folds.leaving_out(np.arange(N).reshape(k, -1))
    reference = reference_of(model, data, folds)
    fit, row = np.repeat(np.arange(k), N // k), np.arange(N)
    plain = refitted(model, data, folds, np.zeros(N), column)[fit, row]
    for seed in range(5):
        change = 0.05 * (np.random.default_rng(seed).exponential(size=N) - 1)
        moved = refitted(model, data, folds, change, column)[fit, row] - plain
        found = reference.shifts(change[None], fit, row)[0, :, column]
        # ratios of information stand for the information of each training set
        least, low, high = (0.97, 0.85, 1.2) if k == N else (0.9, 0.6, 1.7)
        assert np.corrcoef(found, moved)[0, 1] > least
        assert low < (found @ moved) / (moved @ moved) < high


def test_a_class_whose_total_is_fixed_moves_nothing_as_a_whole():
    data, folds = records(), Folds.leaving_out([[0]])
    classes, given = (data.y > 0).astype(int), np.ones(N)
    rows, penalty = data.X - data.X.mean(axis=0), np.array([np.inf, 0, 0, 0])
    training, alone = Training(given, folds, classes), (np.ones((N, 1)), np.zeros(N))
    reference = cox_reference(
        rows, data.y, penalty, training, Hazards(), [HORIZON], *alone
    )
    moved = reference.predictors(classes[None] * 1.0)
    assert np.abs(moved - reference.eta).max() < 1e-9


def test_a_risk_of_0_does_not_move():
    data, likelihood = records(), Hazards()
    reference = reference_of(Cox(), data, Folds.leaving_out([[]]), 0.5)
    moved = likelihood.mean(reference.predictors(np.eye(N)))
    assert (moved[..., 1] == 0).all()
    sure = np.array([[0.3, 0.0, 1.0]])
    assert (likelihood.mean(likelihood.link(sure)) == sure).all()


def test_clusters_share_their_leverage():
    data, folds, clusters = records(), Folds.leaving_out([[]]), np.arange(N) // 2
    rows, penalty = data.X - data.X.mean(axis=0), np.array([np.inf, 0, 0, 0])
    twice, half = np.repeat(np.arange(N // 2), 2), N // 2
    alone = cox_reference(
        rows[:half],
        data.y[:half],
        penalty,
        Training(np.ones(half), folds),
        Hazards(efron=False),
        [],
        np.ones((half, 1)),
        np.zeros(half),
    )
    found = cox_reference(
        rows[twice],
        data.y[twice],
        penalty,
        Training(np.full(N, 0.5), folds, clusters=clusters),
        Hazards(efron=False),
        [],
        np.ones((N, 1)),
        np.zeros(N),
    )
    both = found.influence[:, 0, :-1].reshape(N // 2, 2, -1).sum(axis=1)
    np.testing.assert_allclose(both, alone.influence[:, 0, :-1], rtol=1e-6)
