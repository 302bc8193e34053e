"""Designs and results pickle, before and after use."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy

import statcv as scv
from statcv.formula import make_design

N = 40


def halved(values):
    return values / 2


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "x": rng.normal(size=N),
            "z": rng.uniform(1, 2, N),
            "log": rng.normal(size=N),
            "g": rng.choice(list("abc"), N),
            "odd name": rng.normal(size=N),
            "y": rng.integers(0, 2, N),
        }
    )


FORMULAS = [
    "y ~ x * z + Q('odd name')",
    "y ~ x + g",
    "y ~ np.log(z) + x",
    "y ~ bs(x, df=4) + center(z) * g",
    "y ~ poly(x, 2) + C(g, Sum) + halved(z)",
    "y ~ np.log(z) + log + scale(log) + sp.special.expit(z)",
    "np.exp(x) ~ z + np.abs(log)",
    "I(x > 0) ~ .",
]
SCOPE = {"np": np, "sp": scipy, "halved": halved}


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("used", [False, True])
def test_designs_pickle(data, formula, used):
    design = make_design(formula, data, scope=SCOPE)
    training, others = np.arange(25), np.arange(25, N)
    if used:
        _ = design.fold(training, others), design.terms.levels, design.names
        _ = design.new_matrix(data)
    again = pickle.loads(pickle.dumps(design))
    assert again.names == design.names
    assert again.formula == design.formula
    assert again.outcome.levels == design.outcome.levels
    np.testing.assert_array_equal(again.y, design.y)
    np.testing.assert_array_equal(again.matrix, design.matrix)
    for ours, theirs in zip(
        again.fold(training, others), design.fold(training, others), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    new = data.sample(7, random_state=2)
    np.testing.assert_array_equal(again.new_matrix(new)[0], design.new_matrix(new)[0])
    assert again.terms.levels.keys() == design.terms.levels.keys()
    for factor, (codes, labels) in design.terms.levels.items():
        np.testing.assert_array_equal(again.terms.levels[factor][0], codes)
        assert again.terms.levels[factor][1] == labels


@pytest.mark.parametrize("formula", ["y ~ np.log(z) + x", "y ~ bs(x, df=4) + g"])
@pytest.mark.parametrize("used", [False, True])
def test_results_pickle(data, formula, used):
    result = scv.cv(formula, data, k=4, seed=3)
    new = data.sample(9, random_state=1)
    if used:
        _ = result.predict(new), result.summary(), result.apparent
        _ = result.predictions, result.folds
    again = pickle.loads(pickle.dumps(result))
    pd.testing.assert_frame_equal(again.predictions, result.predictions)
    pd.testing.assert_series_equal(again.predict(new), result.predict(new))
    assert float(again.estimate("auroc")) == float(result.estimate("auroc"))
    assert repr(again) == repr(result)
    anew = again.update(k=5)
    pd.testing.assert_frame_equal(anew.predictions, result.update(k=5).predictions)


def test_nothing_of_patsy_is_pickled(data):
    design = make_design("y ~ bs(x, df=4) + g", data, scope={})
    design.fold(np.arange(20), np.arange(20, N))
    assert b"patsy" not in pickle.dumps(design)
