"""Bias of estimates for noise under every scheme, and whether a warning names it.

    python benchmarks/no_skill.py [DATA_SETS]

The data are noise with fixed class counts. The model is so strongly penalised that it
depends almost only on the class totals of its training set, with and without class
weights. A cell is biased if the mean estimate is more than three standard errors from
the value of the metric without skill; there must then be a warning.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict

import numpy as np
import pandas as pd
from sklearn.svm import SVC

import statcv as scv
from statcv.models import Logit

SEED, N, P = 20261123, 40, 3
SCHEMES = {
    "loocv": {},
    "rloocv": {"repeats": 2},
    "kfold": {"k": 10},
    "stratified_kfold": {"k": 10},
    "lpocv": {"p": 4},
}
METRICS = ["auroc", "auprc", "accuracy", "balanced_accuracy"]
MODELS = {
    "none": Logit(C=1e-8),
    "balanced": SVC(kernel="linear", class_weight="balanced", C=1e-8),
}


def noise(rng: np.random.Generator, positive: int) -> pd.DataFrame:
    """Return predictors that are independent of the outcome."""
    frame = pd.DataFrame(rng.normal(size=(N, P)), columns=["a", "b", "c"])
    return frame.assign(y=rng.permutation(np.arange(N) < positive).astype(int))


def summed(values: np.ndarray) -> tuple[float, float]:
    """Return the mean and its standard error."""
    if len(values) < 2:
        return np.nan, np.nan
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def main(data_sets: int = 500, positive: int = 20) -> None:
    """Print one row per cell."""
    off: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    named: dict[tuple[str, str, str], list[bool]] = defaultdict(list)
    for number in range(data_sets):
        data = noise(np.random.default_rng([SEED, number]), positive)
        for weights, model in MODELS.items():
            for scheme, more in SCHEMES.items():
                call = {"model": model, "scheme": scheme, "seed": number, **more}
                with warnings.catch_warnings(record=True) as given:
                    warnings.simplefilter("always")
                    res = scv.cv("y ~ a + b + c", data, metrics=METRICS, **call)
                said = " ".join(
                    str(one.message)
                    for one in given
                    if issubclass(one.category, scv.errors.DistributionalBiasWarning)
                )
                table = res.no_skill.set_index("metric")
                for metric in METRICS:
                    cell = (metric, scheme, weights)
                    estimate = float(res.estimate(metric))
                    off[cell].append(estimate - table.loc[metric, "no_skill"])
                    label = scv.metrics.METRICS[metric].label
                    named[cell].append(f"{label} " in said)
    rows = []
    for cell, values in off.items():
        warned = np.array(named[cell])
        silent = np.array(values)[~warned]
        rows.append([*cell, *summed(np.array(values)), warned.mean(), *summed(silent)])
    columns = ["metric", "scheme", "class weights", "bias", "se", "warned"]
    table = pd.DataFrame(rows, columns=[*columns, "bias unwarned", "se unwarned"])
    print(f"{data_sets} data sets of noise, {N} records, {positive} positive")
    print(table.round(4).to_string(index=False))
    biased = table["bias"].abs() > 3 * table["se"] + 1e-12
    silent = table["bias unwarned"].abs() > 3 * table["se unwarned"] + 1e-12
    print(f"{len(table)} cells: {biased.sum()} are biased by more than three standard")
    print(f"errors, and {silent.sum()} in the data sets without a warning")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
