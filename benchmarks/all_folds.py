"""Leave-one-out of regressions by `statcv.cv` against `cross_val_predict`.

    python benchmarks/all_folds.py [--runs 5] [--quick]

Predictions are compared before anything is timed, with scikit-learn's solver
"newton-cholesky" at a tolerance of 1e-12; timed is its default, lbfgs. Runs of the two
alternate, with one BLAS thread each. The whole call counts, formula included.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from threadpoolctl import threadpool_limits

import statcv as scv

SIZES = ((70, 2), (135, 42), (250, 20), (1000, 20), (1000, 100))
AGREE = 1e-8
Calls = tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]


def problem(n: int, p: int) -> pd.DataFrame:
    """Return p covariates, of which the first matters, a class and a number."""
    rng = np.random.default_rng(n + p)
    frame = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"x{j}" for j in range(p)])
    frame["z"] = frame["x0"] + rng.normal(size=n)
    frame["y"] = (frame["x0"] + rng.logistic(size=n) > 0).astype(int)
    return frame


def logit(frame: pd.DataFrame) -> Calls:
    """Return our call, the exact one and theirs, for ridge logistic regression."""
    X, y = frame.drop(columns=["y", "z"]), frame["y"]
    data = frame.drop(columns="z")
    model = scv.models.Logit(C=1.0)

    def ours() -> Any:
        return scv.cv("y ~ .", data, model=model, scheme="loocv").scores.predicted

    def peer(**solver: Any) -> Any:
        model = LogisticRegression(C=1.0, max_iter=1000, **solver)
        return cross_val_predict(
            model, X.to_numpy(), y, cv=LeaveOneOut(), method="predict_proba"
        )[:, 1]

    return ours, lambda: peer(solver="newton-cholesky", tol=1e-12), peer


def linear(frame: pd.DataFrame) -> Calls:
    """Return our call and theirs, which is exact, for least squares."""
    X, z = frame.drop(columns=["y", "z"]), frame["z"]
    data = frame.drop(columns="y")

    def ours() -> Any:
        return scv.cv("z ~ .", data, scheme="loocv").scores.predicted

    def theirs() -> Any:
        return cross_val_predict(LinearRegression(), X.to_numpy(), z, cv=LeaveOneOut())

    return ours, theirs, theirs


def measure(name: str, n: int, p: int, runs: int) -> dict[str, Any]:
    """Compare predictions, then time the two in turn."""
    ours, exact, theirs = {"logit": logit, "linear": linear}[name](problem(n, p))
    gap = float(np.abs(ours() - exact()).max())
    assert gap < AGREE, (name, n, p, gap)
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(runs):
        for key, call in (("ours", ours), ("theirs", theirs)):
            started = time.perf_counter()
            call()
            times[key].append(time.perf_counter() - started)
    ratios = [b / a for a, b in zip(times["ours"], times["theirs"], strict=True)]
    return {
        "model": name,
        "n": n,
        "p": p,
        "largest gap": gap,
        "ours, s": statistics.median(times["ours"]),
        "scikit-learn, s": statistics.median(times["theirs"]),
        "ratio": statistics.median(ratios),
        "lowest": min(ratios),
        "highest": max(ratios),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="the small sizes alone")
    options = parser.parse_args()
    warnings.simplefilter("ignore", scv.DistributionalBiasWarning)
    sizes = [size for size in SIZES if not options.quick or size[0] * size[1] < 6000]
    cases = [("logit", n, p) for n, p in sizes]
    cases += [] if options.quick else [("linear", 2000, 30)]
    with threadpool_limits(1):
        rows = [measure(name, n, p, options.runs) for name, n, p in cases]
    table = pd.DataFrame(rows)
    print(table.to_string(index=False, float_format=lambda value: f"{value:.3g}"))


if __name__ == "__main__":
    main()
