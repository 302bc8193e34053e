"""The influence of many records through the fits of a partition, beside exact sums."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from statcv.engine import Changes, Sensitivity, Setup, Slopes, run
from statcv.folds import make_plan
from statcv.formula import make_design
from statcv.models import Linear, Logit

pytestmark = pytest.mark.filterwarnings("ignore::statcv.errors.FoldWarning")

N = 6000
CASES = {
    "logit": (Logit(), "y ~ a + b", False),
    "ridge": (Logit(C=0.1), "y ~ a + b", False),
    "weights": (Logit(), "y ~ a + b", True),
    "least squares": (Linear(), "z ~ a + b", True),
    "a column twice": (Linear(), "z ~ a + b + I(2 * b)", False),
}


def sensitivity_of(case, scheme="stratified_kfold", **given):
    model, formula, weighed = CASES[case]
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=(2, N))
    frame = pd.DataFrame({"a": 3 * a + 50, "b": b})
    frame["y"] = (a - b + rng.logistic(size=N) > 1).astype(int)
    frame["z"] = a - b + rng.standard_t(5, size=N)
    weights = rng.uniform(0.5, 3, size=N) if weighed else None
    design = make_design(formula, frame, scope={})
    if design.outcome.kind == "continuous":
        scheme = scheme.replace("stratified_", "")
    plan = make_plan(scheme, design.y, design.outcome.kind, seed=3, **given)
    setup = Setup(design, plan, model, 1, weights)
    held = run(design, plan, model, seed=1, weights=weights, n_jobs=1)
    return Sensitivity.of(setup, held), held


def slopes_of(held):
    rng = np.random.default_rng(2)
    return [Slopes(rng.normal(size=len(held.row))), Slopes(rng.uniform(size=N))]


@pytest.fixture
def few(monkeypatch):
    """Take some thousand records as many."""
    monkeypatch.setattr("statcv.engine.block.MANY", N)
    monkeypatch.setattr("statcv.engine.sensitivity.MANY", N)
    monkeypatch.setattr("statcv.engine.partition.PIECE", 700)
    monkeypatch.setattr("statcv.engine.partition.SAMPLE", 2000)


def both(case, monkeypatch):
    """Return the fits of a partition, and the same as any fits."""
    sensitivity, held = sensitivity_of(case)
    monkeypatch.setattr("statcv.engine.block.MANY", N + 1)
    exact, _ = sensitivity_of(case)
    (block,) = [block for block, _, _ in exact._blocks(held.fit, held.row)]
    assert block.partition is None
    monkeypatch.setattr("statcv.engine.block.MANY", N)
    (same,) = [block for block, _, _ in sensitivity._blocks(held.fit, held.row)]
    assert same.partition is not None
    return sensitivity, exact, same, block, held


@pytest.mark.parametrize("case", CASES)
def test_the_scale_of_a_partition_is_that_of_all_its_training_sets(
    case, few, monkeypatch
):
    sensitivity, exact, same, block, held = both(case, monkeypatch)
    for name in ("mean", "rate", "centre", "along"):
        found, expected = (getattr(one.scale, name) for one in (same, block))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    own = sensitivity.standardised(held.fit, held.row)
    monkeypatch.setattr("statcv.engine.block.MANY", N + 1)
    expected = exact.standardised(held.fit, held.row)
    np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_the_sample_is_exact_and_all_records_are_near(case, few, monkeypatch):
    sensitivity, _, same, _, held = both(case, monkeypatch)
    places = held.fit, held.row, slopes_of(held)
    exact = sensitivity.influences(*places, one_step=True)
    near = sensitivity.influences(*places, one_step=True, nearly=True)
    assert (np.diff(same.partition.sample) > 0).all()
    for found, one in zip(near, exact, strict=True):
        assert one.sample is None
        size = np.linalg.norm(one.every)
        assert np.linalg.norm(found.every - one.every) < 0.05 * size
        off = found.exact - one.every[found.sample]
        assert np.linalg.norm(off) < 0.01 * np.linalg.norm(found.exact)
        assert np.linalg.norm(off) <= 3 * found.error + 1e-10 * size
        if case == "a column twice":
            assert found.error == np.inf  # nothing is known of the information
        else:
            assert found.error < 0.2 * size


@pytest.mark.parametrize("case", ["ridge", "weights"])
def test_each_repeat_of_many_records_is_a_partition(case, few):
    sensitivity, held = sensitivity_of(case, k=3, repeats=2)
    blocks = [block for block, _, _ in sensitivity._blocks(held.fit, held.row)]
    assert [block.numbers.tolist() for block in blocks] == [[0, 1, 2], [3, 4, 5]]
    assert all(block.partition is not None for block in blocks)
    rng = np.random.default_rng(4)
    places = held.fit, held.row, [Slopes(rng.normal(size=len(held.row)))]
    (exact,) = sensitivity.influences(*places, one_step=True)
    (near,) = sensitivity.influences(*places, one_step=True, nearly=True)
    assert np.linalg.norm(near.every - exact.every) < 0.05 * np.linalg.norm(exact.every)
    off = np.linalg.norm(near.exact - exact.every[near.sample])
    assert off <= 3 * near.error + 1e-10 * np.linalg.norm(near.exact)


def test_changes_of_a_sample_and_of_all_records_add_up():
    every, sample = np.arange(4.0), np.array([0, 2])
    near = Changes(every + 0.5, 0.1, sample, every[sample])
    for found in (Changes(every).plus(near), near.plus(Changes(every))):
        assert found.error == near.error
        assert (found.every == 2 * every + 0.5).all()
        assert (found.exact == 2 * every[sample]).all()
    assert near.plus(near).error == 2 * near.error
    assert Changes(every).plus(Changes(every)).sample is None


def test_several_functions_have_the_influence_of_each():
    sensitivity, held = sensitivity_of("logit")
    slopes = slopes_of(held)
    own = sensitivity.standardised(held.fit, held.row)
    slopes.append(replace(slopes[0], standardised=own))
    together = sensitivity.influences(held.fit, held.row, slopes, one_step=True)
    for one, found in zip(slopes, together, strict=True):
        alone = sensitivity.influence(
            held.fit, held.row, one.values, standardised=one.standardised, one_step=True
        )
        np.testing.assert_allclose(found.every, alone, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(
    ("scheme", "given"),
    [
        ("montecarlo", {"repeats": 4}),
        ("kfold", {"k": 5, "rebalance": "subsample"}),
        ("stratified_kfold", {"k": 20}),
    ],
)
def test_other_fits_are_no_partition(scheme, given, few):
    sensitivity, held = sensitivity_of("logit", scheme, **given)
    for block, _, _ in sensitivity._blocks(held.fit, held.row):
        assert block.partition is None
    slopes = [Slopes(np.ones(len(held.row)))]
    found = sensitivity.influences(
        held.fit, held.row, slopes, one_step=True, nearly=True
    )
    assert found[0].sample is None
