"""Measure how far predicted losses of stratifiers agree with measured ones.

    python benchmarks/stratifier_losses.py 8

simulates so many data sets for each of two sizes and three kinds of risk, with five
covariates each, and prints the correlation of the predicted and the measured loss of
each covariate as a stratifier, by model and metric, and by kind of risk.
"""

import sys
import warnings

import numpy as np
import pandas as pd

import statcv as scv
from statcv.results.stratifier_bias.ranking import predicted_drop

MODELS = {
    "logit": None,
    "15 neighbours": scv.models.Neighbors(15),
    "XGBoost": scv.models.XGBoost(max_depth=3, n_estimators=40, learning_rate=0.3),
}
RISKS = ("linear", "U-shaped", "interaction")
METRICS = ("accuracy", "auroc", "brier")
NAMES = list("abcde")


def simulated(risk: str, n: int, seed: int) -> pd.DataFrame:
    """Return five normal covariates, about a third without effect, and an outcome."""
    rng = np.random.default_rng([seed, n, 1 + RISKS.index(risk)])
    X = rng.normal(size=(n, 5))
    beta = rng.uniform(0.2, 1.5, 5) * rng.choice([0, 1, 1], 5)
    if risk == "linear":
        eta = X @ beta
    elif risk == "U-shaped":
        eta = (X[:, :2] ** 2 - 1) @ (1.2 * beta[:2] + 0.3) + X[:, 2:] @ beta[2:]
    else:
        eta = 1.5 * X[:, 0] * X[:, 1] + 2 * beta[2] * X[:, 2] * (X[:, 3] > 0)
        eta += beta[4] * X[:, 4]
    y = rng.uniform(size=n) < 1 / (1 + np.exp(-eta))
    return pd.DataFrame(X, columns=NAMES).assign(y=y.astype(int))


def losses(data: pd.DataFrame, model: object, metric: str, seed: int) -> pd.DataFrame:
    """Return the predicted and the measured loss of each covariate."""
    found = scv.stratifier_bias(
        "y ~ .", data, NAMES, model=model, metric=metric, seed=seed, repeats=3
    )
    table = found.ranking.merge(found.measured[["candidate", "bias"]], on="candidate")
    predicted = table["clamp"].clip(lower=0)
    if metric == "accuracy":
        predicted = predicted_drop(table["clamp"], table["permutation"])
    loss = table["bias"] if metric == "brier" else -table["bias"]
    return pd.DataFrame({"predicted": predicted, "measured": loss})


def main(sets: int) -> None:
    """Print the correlations."""
    warnings.simplefilter("ignore")
    parts = [
        losses(simulated(risk, n, seed), model, metric, seed).assign(
            risk=risk, model=name, metric=metric
        )
        for n in (600, 2000)
        for risk in RISKS
        for seed in range(sets)
        for name, model in MODELS.items()
        for metric in METRICS
    ]
    every = pd.concat(parts)
    for by in (["model"], ["risk", "model"]):
        cells = every.groupby([*by, "metric"])[["predicted", "measured"]]
        r = cells.apply(lambda own: own["predicted"].corr(own["measured"]))
        print(r.unstack("metric").round(2).to_string(), end="\n\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
