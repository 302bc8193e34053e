"""Columns that are constant or determined by others are named once per call."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given
from hypothesis import strategies as st

from statcv import cv
from statcv.errors import CollinearityWarning
from statcv.formula import dependent_columns, make_design
from statcv.models import Logit, Statsmodels

N = 60


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "z"])
    frame["level"] = 1e6 + 1e-12 * rng.normal(size=N)
    frame["nothing"] = 0.0
    frame["twice"] = 2 * frame["a"]
    frame["total"] = frame["a"] + frame["b"]
    frame["near"] = frame["a"] + 1e-6 * rng.normal(size=N)
    frame["year"] = 2000.0 + np.arange(N) % 9
    frame["g"] = np.tile(["p", "q", "r"], N // 3)
    return frame.assign(y=(rng.normal(size=N) + frame["a"] > 0).astype(int))


@pytest.mark.parametrize(
    ("right", "said"),
    [
        ("a + level", ["'level' is constant (1e+06)"]),
        ("a + nothing", ["'nothing' is constant (0)"]),
        ("a + twice", ["'twice' is a multiple of 'a'"]),
        ("a + b + total", ["'total' is determined by 'a', 'b'"]),
        ("a + I(a + 5)", ["'I(a + 5)' is determined by 'a'"]),
        ("a + twice + level", 2),
        ("a + b + near + year + g + a:b + I(a**2)", []),
        ("a + I(a + 5) - 1", []),
        ("level - 1", []),
        ("C(g) + a - 1", []),
        ("poly(a, 4)", []),
    ],
)
def test_messages_about_columns(data, right, said):
    found = dependent_columns(make_design(f"y ~ {right}", data, scope={}))
    assert found == said if isinstance(said, list) else len(found) == said


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(0, 3))
def test_as_many_columns_are_named_as_the_rank_lacks(seed, free, bound):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, free)) * 10.0 ** rng.integers(-6, 6, free)
    if bound:
        X = np.hstack([X, X @ rng.normal(size=(free, bound))])
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(free + bound)])
    design = make_design("y ~ .", frame.assign(y=np.arange(40) % 2), scope={})
    assert len(dependent_columns(design)) == bound


def test_a_column_that_only_few_rows_identify_is_not_named():
    n = 20_000
    a = np.sin(np.arange(n))
    frame = pd.DataFrame({"a": a, "b": 2 * a, "y": np.arange(n) % 2})
    assert dependent_columns(make_design("y ~ a + b", frame, scope={}))
    frame.loc[7, "b"] = 5.0
    assert not dependent_columns(make_design("y ~ a + b", frame, scope={}))


@pytest.mark.parametrize(
    ("formula", "model"),
    [
        ("y ~ a + twice + b", None),
        ("z ~ a + twice + b", None),
        ("y ~ a + twice + b", Statsmodels(smf.glm)),
        ("g ~ a + twice + b", "logit"),
    ],
)
def test_each_call_warns_once(data, formula, model):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cv(formula, data, model=model, k=4, seed=1)
    ours = [w for w in caught if issubclass(w.category, CollinearityWarning)]
    assert len(ours) == 1
    assert "'twice' is a multiple of 'a'" in str(ours[0].message)
    assert ours[0].filename == __file__


@pytest.mark.parametrize(
    "more", [{"model": Logit(C=1.0)}, {"model": "mean"}, {"tune": {"C": [0.1, 1.0]}}]
)
def test_penalised_models_are_not_affected(data, more):
    with warnings.catch_warnings():
        warnings.simplefilter("error", CollinearityWarning)
        warnings.filterwarnings("ignore", "C = ")
        result = cv("y ~ a + twice", data, k=4, seed=1, **more)
    assert result.predictions["predicted"].notna().all()


def test_there_is_no_warning_if_columns_outnumber_rows():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(20, 30))).rename(columns="x{}".format)
    design = make_design("y ~ .", frame.assign(y=np.arange(20) % 2), scope={})
    assert dependent_columns(design) == []


@pytest.mark.parametrize("noise", [1e-2, 1e-6, 1e-9, 1e-13, 0.0])
def test_a_dependence_is_told_from_noise(data, noise):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 4)) + 3
    X[:, 3] = X[:, 0] - X[:, 1] + noise * rng.normal(size=N)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=data["y"])
    said = dependent_columns(make_design("y ~ a + b + c + d", frame, scope={}))
    assert len(said) == (noise < 1e-10)


def test_a_factor_of_one_level_is_named():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": rng.normal(size=40), "arm": "A"})
    data["y"] = (data["x"] + rng.logistic(size=40) > 0).astype(int)
    plain = cv("y ~ x", data, k=4, seed=1)
    said = r"'arm' and 'x:arm' have one level only in the 40 records"
    with pytest.warns(CollinearityWarning, match=said):
        crossed = cv("y ~ x * arm", data, k=4, seed=1)
    np.testing.assert_array_equal(
        crossed.predictions["predicted"], plain.predictions["predicted"]
    )
    with pytest.warns(CollinearityWarning, match=r"'arm' has one level only"):
        chosen = cv("y ~ x + arm", data, k=4, select="backward", seed=1)
    assert chosen.selection["term"].tolist() == ["x"]
