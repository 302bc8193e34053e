"""Cross-validation over sites by each transport, against that of the pooled records.

    python benchmarks/sites.py [in_process] [directory] [nvflare] [bey] [trees]

Five sites of 20 000 records, ten covariates and five folds: seconds from nothing to the
result, rounds, bytes from and to a site, the largest difference of coefficients from
those of the pooled records, and the error of the auROC with its bound. ``bey``: five
hospitals of Bey et al. (2020), with 2 000 duplicates among 12 000 records, in folds by
hash, by thresholds of a covariate, and at random. ``trees``: boosted trees of three and
of five of the large hospitals, with the largest difference of a held-out probability.
Tables are written to ``benchmarks/results/sites.csv``, ``sites_bey.csv`` and
``sites_trees.csv``; transports that are not named keep their rows.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

import statcv as scv
from statcv import sites
from statcv.datasets import simulate_ehr

RESULTS = Path(__file__).parent / "results"
KEY = "the secret of five hospitals"
NAMES = "ABCDE"
SEED = 2020
HOWS = ("per_fold", "pooled")
COLUMNS = [f"x{j}" for j in range(1, 11)]
ALL_PAIRS = "y ~ (" + " + ".join(COLUMNS[:9]) + ") ** 2 + x10"

TRANSPORTS: dict[str, Callable[[Path], Any]] = {
    "in_process": lambda _: sites.InProcess(),
    "directory": lambda folder: sites.Directory(folder / "exchange"),
    "nvflare": lambda folder: sites.NVFlare(folder / "workspace"),
}


def hospital(n: int, seed: int) -> pd.DataFrame:
    """Draw the records of one of five large hospitals."""
    rng = np.random.default_rng([SEED, seed])
    made = pd.DataFrame(rng.normal(size=(n, len(COLUMNS))), columns=COLUMNS)
    eta = 0.8 * made["x1"] - 0.5 * made["x2"] + 0.2 * seed - 1.5
    made["y"] = (eta + rng.logistic(size=n) > 0).astype(int)
    return made.assign(person=rng.integers(0, 10**12, n))


def coefficients(result: Any) -> Any:
    """Return the coefficients of the folds as an array."""
    return result.coefficients.drop(columns=["repeat", "fold"]).to_numpy()


def large(transports: list[str]) -> pd.DataFrame:
    """Run five large hospitals by each transport."""
    data = {name: hospital(20_000, seed) for seed, name in enumerate(NAMES)}
    formula = "y ~ " + " + ".join(COLUMNS)
    by = scv.by_hash("person", key=KEY)
    plan = sites.agree(formula, k=5, stratify=by)
    pooled = pd.concat(data.values(), ignore_index=True)
    one = scv.cv(formula, pooled, scheme="kfold", k=5, stratify=by)
    rows = []
    for name in transports:
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            result = sites.run(plan, data, TRANSPORTS[name](Path(folder)))
            seconds = time.perf_counter() - started
        areas = {how: result.estimate("auroc", how).value for how in HOWS}
        rows.append(
            {
                "transport": name,
                "seconds": round(seconds, 2),
                "rounds": result.rounds,
                "bytes_up": int(result.sites["bytes_sent"].max()),
                "bytes_down": result.run.bytes_down,
                "difference": np.abs(coefficients(result) - coefficients(one)).max(),
                "auroc_error": abs(areas["per_fold"] - one.estimate("auroc").value),
                "auroc_bound": result.bound(),
                "pooled_error": abs(
                    areas["pooled"] - one.estimate("auroc", "pooled").value
                ),
                "pooled_bound": result.bound("pooled"),
            }
        )
        print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def bey(transports: list[str]) -> pd.DataFrame:
    """Run the five hospitals of Bey et al. in three kinds of folds."""
    records = simulate_ehr(10_000, 2_000, 5, seed=SEED)
    data = dict(iter(records.groupby("site")))
    agreed = sites.thresholds(data, "x1", low=-8, high=8, k=5)
    folds: dict[str, Any] = {
        "hash of patient_id": scv.by_hash("patient_id", key=KEY),
        "thresholds of x1": scv.by_quantile("x1", thresholds=agreed),
        "random": None,
    }
    rows = []
    for kind, stratify in folds.items():
        plan = sites.agree(
            ALL_PAIRS, k=5, stratify=stratify, metrics=["auroc", "brier", "log_loss"]
        )
        joined = scv.folds.FoldPlan.concat(
            {site: sites.site_folds(plan, one, site) for site, one in data.items()}
        )
        pooled = pd.concat(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one = scv.cv(ALL_PAIRS, pooled, scheme=joined, metrics=list(plan.metrics))
        found = {"pooled records": one}
        for name in transports:
            with tempfile.TemporaryDirectory() as folder:
                found[name] = sites.run(plan, data, TRANSPORTS[name](Path(folder)))
        for name, result in found.items():
            area = result.estimate("auroc")
            rows.append(
                {
                    "folds": kind,
                    "transport": name,
                    "auroc": area.value,
                    "lower": area.lower,
                    "upper": area.upper,
                    "brier": result.estimate("brier").value,
                    "log_loss": result.estimate("log_loss").value,
                    "difference": np.abs(
                        coefficients(result) - coefficients(one)
                    ).max(),
                }
            )
            print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def trees() -> pd.DataFrame:
    """Grow trees over three and over five large hospitals, in process."""
    cuts = np.round(ndtri(np.arange(1, 32) / 32), 2)  # public: covariates are normal
    model = sites.Trees(dict.fromkeys(COLUMNS, cuts), rounds=50)
    formula, by, rows = "y ~ " + " + ".join(COLUMNS), scv.by_hash("person", key=KEY), []
    for number in (3, 5):
        data = {name: hospital(20_000, i) for i, name in enumerate(NAMES[:number])}
        plan = sites.agree(formula, k=5, stratify=by, model=model)
        here = sites.InProcess()
        started = time.perf_counter()
        result = sites.run(plan, data, here)
        seconds = time.perf_counter() - started
        found = [here.sites[name].predictions()["predicted"] for name in data]
        pooled = pd.concat(data.values(), ignore_index=True)
        for name in COLUMNS:
            pooled[name] = np.searchsorted(cuts, pooled[name], side="right")
        started = time.perf_counter()
        one = scv.cv(
            formula, pooled, model=plan.learner, scheme="kfold", k=5, stratify=by
        )
        of_pooled = time.perf_counter() - started
        expected = one.predictions.sort_values("row")["predicted"].to_numpy()
        rows.append(
            {
                "sites": number,
                "seconds": round(seconds, 2),
                "seconds_pooled": round(of_pooled, 2),
                "rounds": result.rounds,
                "bytes_up": int(result.sites["bytes_sent"].max()),
                "difference": np.abs(np.concatenate(found) - expected).max(),
                "auroc": result.estimate("auroc").value,
                "auroc_error": abs(
                    result.estimate("auroc").value - one.estimate("auroc").value
                ),
                "auroc_bound": result.bound(),
            }
        )
        print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def write(table: pd.DataFrame, name: str, by: list[str]) -> None:
    """Write a table; rows that were not made again stay."""
    path = RESULTS / name
    if path.exists():
        table = pd.concat([pd.read_csv(path), table]).drop_duplicates(by, keep="last")
    table.to_csv(path, index=False, float_format="%.10g")


def main() -> None:
    """Run what the command line names; everything if it names nothing."""
    asked = sys.argv[1:] or [*TRANSPORTS, "bey", "trees"]
    transports = [name for name in TRANSPORTS if name in asked]
    if not {"bey", "trees"} & set(asked) or not sys.argv[1:]:
        write(large(transports), "sites.csv", ["transport"])
    if "bey" in asked:
        write(bey(transports), "sites_bey.csv", ["folds", "transport"])
    if "trees" in asked:
        write(trees(), "sites_trees.csv", ["sites"])


if __name__ == "__main__":
    main()
