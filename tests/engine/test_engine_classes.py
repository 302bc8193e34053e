"""What the information of multinomial fits makes of derivatives, in two ways."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.engine import classes as module
from statcv.engine.classes import InformationOfClasses
from statcv.engine.rows import Rows

N, P, K, M = 40, 7, 4, 3


def information(fits, own=False, ridge=0.5, seed=1):
    """Fits to random rows; the first column has no ridge, and the last is left out."""
    rng = np.random.default_rng(seed)
    basis = np.column_stack([np.ones(N), rng.normal(2.0, 1.0, (N, P - 1))])
    shares = rng.dirichlet(np.ones(K), (fits, N)).swapaxes(1, 2)
    penalty = np.full((fits, P), ridge)
    penalty[:, 0], penalty[:, -1] = 0.0, np.inf
    turned = np.eye(P) + rng.normal(0, 0.1, (fits, P, P))
    counts = rng.integers(0, 3, (fits, N)).astype(float)
    rows = Rows(basis, turned if own else None)
    return InformationOfClasses(rows, np.ascontiguousarray(shares), counts, penalty)


def targets_of(found, seed=2):
    """Targets as of functions of probabilities, which a shift of all classes leaves."""
    rng = np.random.default_rng(seed)
    fits = len(found.counts)
    weights = rng.normal(size=(M, fits, K, N))
    weights -= weights.mean(axis=2, keepdims=True)
    each = [found.rows.matrix(fit) for fit in range(fits)]
    return np.stack([weights[:, f] @ each[f] for f in range(fits)], axis=1)


def apart(solved, found):
    """The linear predictors of the solution, about their mean over the classes."""
    each = [found.rows.matrix(fit) for fit in range(len(found.counts))]
    eta = np.stack([solved[:, f] @ each[f].T for f in range(len(each))], axis=1)
    return eta - eta.mean(axis=2, keepdims=True)


CASES = {"few": (3, False), "alike": (module.ALIKE + 1, False), "learnt": (9, True)}


@pytest.mark.parametrize("case", CASES)
def test_products_are_those_with_the_matrices(case):
    found = information(*CASES[case])
    vectors = np.random.default_rng(3).normal(size=(M, len(found.counts), K, P))
    vectors[..., -1] = 0.0
    flat = vectors.reshape(M, len(found.counts), K * P)
    expected = np.einsum("fpq,mfq->mfp", found._matrices, flat).reshape(vectors.shape)
    ridge = np.where(np.isfinite(found.penalty), found.penalty, 0.0)
    expected += ridge[:, None] * vectors
    np.testing.assert_allclose(found.times(vectors), expected, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_matrices_are_those_of_each_pair_of_classes(case, monkeypatch):
    found = information(*CASES[case])
    monkeypatch.setattr(module, "PIECE", 7)
    for made, pair in zip(found._of_all_pairs(), found._pairs, strict=True):
        np.testing.assert_allclose(made, found._of_pair(*pair), rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("ridge", [0.0, 0.5, 100.0])
def test_steps_lead_to_what_decompositions_give(case, ridge, monkeypatch):
    found = information(*CASES[case], ridge=ridge)
    targets, rough = targets_of(found), np.array([False, True, False])
    monkeypatch.setattr(InformationOfClasses, "_steps_pay", lambda *_: False)
    exact = apart(found.solve(targets, rough), found)
    monkeypatch.setattr(InformationOfClasses, "_steps_pay", lambda *_: True)
    near = apart(found.solve(targets, rough), found)
    size = np.abs(exact).max()
    np.testing.assert_allclose(near[~rough], exact[~rough], atol=1e-8 * size)
    assert 1e-9 < np.abs(near - exact)[rough].max() / size < 2e-3


def test_functions_that_change_nothing_have_no_solution_but_zero():
    found = information(3)
    targets = targets_of(found)
    targets[1] = 0.0
    targets[2, 1] = 0.0
    solved = found._by_steps(targets, np.zeros(M, dtype=bool))
    assert not solved[1].any()
    assert not solved[2, 1].any()
    assert solved[2, 0].any()


def test_steps_that_do_not_end_give_way_to_decompositions(monkeypatch):
    found = information(3)
    targets, rough = targets_of(found), np.zeros(M, dtype=bool)
    monkeypatch.setattr(InformationOfClasses, "_steps_pay", lambda *_: False)
    exact = found.solve(targets, rough)
    monkeypatch.setattr(InformationOfClasses, "_steps_pay", lambda *_: True)
    monkeypatch.setattr(module, "MOST", 2)
    assert found._by_steps(targets, rough) is None
    np.testing.assert_array_equal(found.solve(targets, rough), exact)


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
@pytest.mark.parametrize("scheme", ["kfold", "loocv"])
def test_intervals_are_the_same_in_both_ways(scheme, monkeypatch):
    """With many columns steps are taken, which do not change the interval."""
    rng = np.random.default_rng(4)
    X, scores = rng.normal(size=(90, 60)), rng.gumbel(size=(90, 5))
    scores[:, 0] += X[:, 0]
    outcome = scores.argmax(axis=1).astype(str)
    data = pd.DataFrame(X, columns=[f"x{j}" for j in range(60)]).assign(y=outcome)
    model = scv.models.Logit(C=0.5)

    def interval():
        res = scv.cv("y ~ .", data, model=model, scheme=scheme, seed=1)
        estimate = res.estimate("log_loss")
        return estimate.lower, estimate.upper

    used = []
    steps = InformationOfClasses._by_steps

    def watched(self, *given):
        used.append(1)
        return steps(self, *given)

    monkeypatch.setattr(InformationOfClasses, "_by_steps", watched)
    monkeypatch.setattr(InformationOfClasses, "_steps_pay", lambda *_: True)
    by_steps = interval()
    assert used
    monkeypatch.setattr(InformationOfClasses, "_steps_pay", lambda *_: False)
    assert by_steps == pytest.approx(interval(), rel=1e-9)


def test_steps_are_taken_where_they_save_time_and_memory_allows(monkeypatch):
    rough = np.zeros(M, dtype=bool)
    rng = np.random.default_rng(5)
    shares = rng.dirichlet(np.ones(8), (1, 60)).swapaxes(1, 2)
    basis, counts = rng.normal(size=(60, 120)), np.ones((1, 60))
    wide = InformationOfClasses(Rows(basis), shares, counts, np.ones((1, 120)))
    assert wide._steps_pay(rough)
    assert not information(3)._steps_pay(rough)
    assert wide._matrices.shape == (1, 960, 960)  # which are kept from now on
    assert wide._steps_pay(rough)
    assert not wide._steps_pay(np.zeros(1000, dtype=bool))
    monkeypatch.setattr(module, "ROOM", 400)
    assert not wide._steps_pay(rough)
