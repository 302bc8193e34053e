"""Weights correct the training mean, and mislead nearest neighbours; so does `all`."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import statcv as scv
from statcv import by_quantile, cv
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
    [KNeighborsClassifier(5), make_pipeline(StandardScaler(), KNeighborsClassifier(5))],
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


def u_shaped(seed: int = 0, n: int = 600) -> pd.DataFrame:
    """Return records of which the risk rises with the square of age."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["age", "bmi", "lab"])
    z = 1.5 * frame["age"] ** 2 + 0.8 * frame["bmi"] - 1.2
    risk = 1 / (1 + np.exp(-z))
    return frame.assign(
        y=(rng.uniform(size=n) < risk).astype(int), z=z + rng.normal(size=n)
    )


@pytest.mark.parametrize(
    "folds",
    [
        {"scheme": "kfold"},
        {"scheme": "rkfold"},
        {"rebalance": "weight"},
        {"model": "neighbors"},
        {"model": "xgboost"},
        {"tune": {"C": [0.1, 1.0]}},
    ],
)
def test_bins_of_a_covariate_are_warned_of_with_their_cure(folds: Any) -> None:
    with pytest.warns(DistributionalBiasWarning, match="pessimistic") as caught:
        result = cv("y ~ age + bmi + lab", u_shaped(), k=5, seed=1,
                    stratify=by_quantile("age"), **folds)  # fmt: skip
    (text,) = [str(one.message) for one in caught]
    assert "stratify=by_quantile('age', per_fold=20) removes" in text
    assert "Brier score" in text or folds.get("scheme") == "rkfold"
    assert "rebalance" not in text
    assert result.warnings == (text,)


def test_the_size_that_is_stated_is_that_of_the_cure() -> None:
    call = {"formula": "y ~ age + bmi + lab", "data": u_shaped(), "k": 5, "seed": 1}
    with pytest.warns(DistributionalBiasWarning, match="pessimistic") as caught:
        coarse = cv(**call, stratify=by_quantile("age"), scheme="kfold",
                    metrics="accuracy")  # fmt: skip
    fine = cv(**call, stratify=by_quantile("age", per_fold=20), scheme="kfold",
              metrics="accuracy")  # fmt: skip
    lost = float(fine.estimate("accuracy")) - float(coarse.estimate("accuracy"))
    assert f"accuracy {lost:.3f} too low" in str(caught[0].message)
    assert lost > 0.1


def test_the_size_is_measured_for_few_fits_one_by_one() -> None:
    """A model that is fitted fold by fold is fitted once more if that costs little."""
    forest = RandomForestClassifier(20, random_state=0)
    call: dict[str, Any] = {
        "formula": "y ~ age + bmi + lab",
        "model": make_pipeline(StandardScaler(), forest),
        "scheme": "kfold",
        "metrics": "accuracy",
        "k": 5,
        "seed": 1,
    }
    stated = (
        r"are too pessimistic, by comparison with narrower bins: accuracy (\S+) too"
    )
    with pytest.warns(DistributionalBiasWarning, match=stated) as caught:
        coarse = cv(data=u_shaped(), stratify=by_quantile("age"), **call)
    fine = cv(data=u_shaped(), stratify=by_quantile("age", per_fold=20), **call)
    lost = float(fine.estimate("accuracy")) - float(coarse.estimate("accuracy"))
    said = re.search(stated, str(caught[0].message))
    assert said is not None
    assert float(said[1]) == pytest.approx(lost, abs=0.0006)
    with pytest.warns(DistributionalBiasWarning, match="are probably too pessimistic"):
        cv(data=u_shaped(n=2600), stratify=by_quantile("age"), **call)


def test_a_continuous_outcome_is_warned_of_too() -> None:
    with pytest.warns(
        DistributionalBiasWarning, match=r"RMSE .* too high.*per_fold=20"
    ):
        cv("z ~ age + bmi", u_shaped(), k=5, stratify=by_quantile("age"), seed=1)


@pytest.mark.filterwarnings("error::statcv.errors.DistributionalBiasWarning")
@pytest.mark.parametrize(
    ("formula", "stratify"),
    [
        ("y ~ age + lab", by_quantile("lab")),  # lab has no effect on y
        ("y ~ age + bmi", by_quantile("age", per_fold=20)),
        ("y ~ age + bmi", scv.by_hash("person", key="k")),
    ],
)
def test_alike_folds_are_not_warned_of(formula: str, stratify: Any) -> None:
    data = u_shaped().assign(person=np.arange(600) // 2)
    cv(formula, data, k=5, stratify=stratify, metrics=["accuracy", "auroc"], seed=1)


def test_few_whole_values_cannot_be_cut_more_finely() -> None:
    data = u_shaped()
    data["group"] = pd.cut(data["age"], 6, labels=False)
    with (
        pytest.warns(scv.errors.FoldWarning),
        pytest.warns(DistributionalBiasWarning, match="few values .*per_fold=20") as w,
    ):
        cv("y ~ age + bmi", data, k=5, stratify="group", seed=1)
    assert not any("rebalance=" in str(one.message) for one in w)


def test_the_audit_names_the_cure() -> None:
    plan = scv.fold_plan("y", u_shaped(), k=5, stratify=by_quantile("age"))
    said = plan.audit()["outcome_over_folds"].sentence
    assert "stratify=by_quantile('age', per_fold=20)" in said
