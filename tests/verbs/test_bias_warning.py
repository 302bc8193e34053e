"""Weights mend the training mean, and mislead nearest neighbours; so does `all`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from statcv import cv
from statcv.errors import DistributionalBiasWarning
from statcv.models import Neighbors


def noise(seed: int, n: int = 50) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.uniform(size=(n, 2)), columns=["a", "b"])
    return frame.assign(y=rng.permutation(np.arange(n) % 2))


@pytest.mark.parametrize("tune", [None, {"k": [3, 5]}])
@pytest.mark.parametrize("how", ["weight", "all"])
def test_neighbours_are_warned_of(how: str, tune: Any) -> None:
    with pytest.warns(DistributionalBiasWarning, match="held-out class"):
        cv("y ~ a + b", noise(1, 30), model=Neighbors(5), tune=tune, scheme="loocv",
           rebalance=how, seed=1)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        KNeighborsClassifier(5),
        make_pipeline(StandardScaler(), KNeighborsClassifier(5)),
    ],
)
def test_those_of_scikit_learn_as_well(model: Any) -> None:
    with pytest.warns(DistributionalBiasWarning, match="held-out class"):
        cv("y ~ a + b", noise(1, 20), model=model, scheme="loocv", rebalance="all",
           seed=1)  # fmt: skip


@pytest.mark.parametrize(
    ("model", "how"),
    [("logit", "weight"), ("logit", "bag"), ("neighbors", "subsample")],
)
def test_others_are_not(model: str, how: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DistributionalBiasWarning)
        cv("y ~ a + b", noise(1), model=model, scheme="loocv", rebalance=how, seed=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_the_warning_is_true() -> None:
    found: dict[str, list[float]] = {"weight": [], "all": [], "subsample": []}
    for seed in range(40):
        for how, values in found.items():
            result = cv("y ~ a + b", noise(seed), model=Neighbors(5), scheme="loocv",
                        rebalance=how, seed=seed)  # fmt: skip
            values.append(float(result.estimate("auroc", how="pooled")))
    pairs = np.array(found.pop("subsample"))
    for how, values in found.items():
        above = np.array(values) - pairs
        assert above.mean() > 4 * above.std(ddof=1) / 40**0.5, how
    assert np.mean(found["weight"]) > 0.53


@pytest.mark.parametrize("scheme", ["loocv", "rloocv"])
def test_numbers_are_warned_of_where_means_still_tell(scheme: str) -> None:
    """The record that is dropped brings the mean back only nearly."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.uniform(size=40), "y": rng.normal(size=40)})
    said = "concordance 0.* training means of these folds reveal the held-out values"
    with pytest.warns(DistributionalBiasWarning, match=said):
        cv("y ~ a", frame, model="mean", scheme=scheme, metrics="concordance", seed=1)
