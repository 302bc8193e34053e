"""The expected pooled auROC for noise, checked by loops and by simulation."""

from __future__ import annotations

import warnings
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from statcv import cv
from statcv.errors import ArgumentError, StatcvWarning
from statcv.folds.theory import LEAVING_ONE, pooled_null_auroc
from statcv.models import Logit

Floats = NDArray[np.float64]


def pair_by_pair(X: Floats, positives: int, C: float, scheme: str) -> float:
    """Sum the published formula over pairs, with an inverse for each pair."""
    n, p = X.shape
    share = positives / n
    w = share * (1 - share)
    x = X - X.mean(axis=0)
    z = np.column_stack([np.ones(n), X])
    penalty = np.diag([0.0, *[1 / C] * p])
    sigma = x.T @ x / n
    A0 = np.linalg.inv(n * w * sigma + np.eye(p) / C)
    found = []
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            rest = np.delete(z, [i, j], axis=0)
            B = w * rest.T @ rest
            A = np.linalg.inv(B + penalty)
            pull = z[i] @ A @ z[j]
            if scheme != "loocv":
                pull = z[i] @ A @ (z[j] - rest.mean(axis=0))
            gap = z[i] - z[j]
            variance = gap @ A @ B @ A @ gap
            if scheme == "rloocv":
                of_i, of_j = (r @ A0 @ sigma @ A0 @ r for r in (x[i], x[j]))
                # i is positive or j is: both as often
                variance += (of_i + of_j) * (share**2 + (1 - share) ** 2) / 2
            found.append(NormalDist().cdf(-pull / variance**0.5))
    return float(np.mean(found))


@given(
    st.integers(8, 15),
    st.integers(1, 3),
    st.sampled_from(LEAVING_ONE),
    st.sampled_from([0.01, 1.0, np.inf]),
    st.integers(0, 1000),
)
def test_the_sum_is_that_of_all_pairs(
    n: int, p: int, scheme: str, C: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X, positives = rng.normal(size=(n, p)), int(rng.integers(1, n))
    found = pooled_null_auroc(X, positives, C=C, scheme=scheme)
    assert np.isclose(found, pair_by_pair(X, positives, C, scheme), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", LEAVING_ONE)
@pytest.mark.parametrize(("p", "C"), [(1, 1.0), (3, 0.05), (3, 1e6)])
def test_it_is_what_permuted_labels_give(scheme: str, p: int, C: float) -> None:
    rng, n, positives = np.random.default_rng(1), 60, 20
    X = rng.uniform(size=(n, p))
    held = {"scheme": scheme} if scheme != "weight" else {"scheme": "loocv"}
    held |= {"repeats": 1} if scheme == "rloocv" else {}
    more = {"rebalance": "weight"} if scheme == "weight" else {}
    found = []
    for seed in range(120):
        frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(p)])
        frame["y"] = rng.permutation(np.arange(n) < positives)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatcvWarning)
            result = cv("y ~ .", frame, model=Logit(C=C), seed=seed, **held, **more)
        found.append(float(result.estimate("auroc", how="pooled")))
    error = float(np.std(found, ddof=1)) / len(found) ** 0.5
    expected = pooled_null_auroc(X, positives, C=C, scheme=scheme)
    assert abs(np.mean(found) - expected) < 3.5 * error + 0.01


def test_blocks_of_pairs_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(1).normal(size=(37, 2))
    whole = pooled_null_auroc(X, 10)
    monkeypatch.setattr("statcv.folds.theory.BLOCK", 100)
    assert np.isclose(pooled_null_auroc(X, 10), whole, atol=1e-14)


def test_without_a_penalty_it_does_not_depend_on_units() -> None:
    X = np.random.default_rng(1).normal(size=(40, 3))
    scaled = 5 + X * [1, 100, 0.01]
    for scheme in LEAVING_ONE:
        one, other = (pooled_null_auroc(x, 20, scheme=scheme) for x in (X, scaled))
        assert np.isclose(one, other)


def test_far_from_few_covariates_it_is_a_root() -> None:
    """It is ½ minus 1 / sqrt(4 pi n p) for equal classes and normal covariates."""
    n, p = 1500, 15
    X = np.random.default_rng(1).normal(size=(n, p))
    lean = 0.5 - pooled_null_auroc(X, n // 2, scheme="weight")
    assert np.isclose(lean, 1 / np.sqrt(4 * np.pi * n * p), rtol=0.1)


def test_equal_records_are_ties_or_lost() -> None:
    X = np.ones((10, 1))
    assert pooled_null_auroc(X, 5, C=1.0, scheme="weight") == 0.5
    assert pooled_null_auroc(X, 5, C=1.0, scheme="loocv") == 0.0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"positives": 0}, "from 1 to 9"),
        ({"positives": 10}, "from 1 to 9"),
        ({"C": 0.0}, "C must be above 0"),
        ({"scheme": "rlooc"}, "'rloocv'"),
        ({"X": np.full((10, 2), np.nan)}, "finite"),
        ({"X": np.ones(10)}, "matrix"),
    ],
)
def test_invalid_arguments_raise_an_error(wrong: dict[str, object], said: str) -> None:
    given = {"X": np.ones((10, 2)), "positives": 5, **wrong}
    with pytest.raises(ArgumentError, match=said):
        pooled_null_auroc(given.pop("X"), **given)  # type: ignore[arg-type]
