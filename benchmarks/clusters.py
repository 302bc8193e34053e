"""Coverage and size of tests with clusters, by the dtype of their identifiers.

    python benchmarks/clusters.py [DATA_SETS]

Every data set has 60 patients with 8 records each. The outcome and the predictor vary
between patients and are independent of each other. A method that takes records and not
patients as independent excludes the value without skill far too often.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd

import statcv as scv

PATIENTS, RECORDS, SEED = 60, 8, 20261122
WRITTEN = {
    "int64": lambda who: who,
    "text": lambda who: np.array([f"p{w}" for w in who], dtype=object),
    "float": lambda who: who.astype(float),
    "category": lambda who: pd.Categorical(who),
}


def records(rng: np.random.Generator, effect: float) -> pd.DataFrame:
    """Return records of patients, with an effect of the predictor between patients."""
    who = np.repeat(np.arange(PATIENTS), RECORDS)
    own, other = rng.normal(size=(2, PATIENTS))
    logit = (effect * own + other)[who] + 0.3 * rng.normal(size=len(who))
    y = (logit + 0.3 * rng.logistic(size=len(who)) > 0).astype(int)
    x = own[who] + 0.3 * rng.normal(size=len(who))
    return pd.DataFrame({"y": y, "x": x, "who": who})


def main(data_sets: int = 200) -> None:
    """Print one row per dtype."""
    warnings.simplefilter("ignore", scv.errors.StatcvWarning)
    rows = {name: [] for name in WRITTEN}
    for number in range(data_sets):
        data = records(np.random.default_rng([SEED, number]), effect=0.0)
        for name, written in WRITTEN.items():
            given = data.assign(who=written(data["who"].to_numpy()))
            res = scv.cv("y ~ x", given, stratify="who", metrics="auroc", seed=number)
            found = res.estimate()
            p = res.test(n_permutations=199, seed=number).p_value
            rows[name].append([found.lower > 0.5 or found.upper < 0.5, p <= 0.05])
    table = pd.DataFrame(
        {name: np.mean(values, axis=0) for name, values in rows.items()},
        index=["interval excludes 0.5", "test rejects at 5%"],
    ).T
    print(f"{data_sets} data sets of noise, {PATIENTS} patients × {RECORDS} records")
    print((100 * table).round(1).to_string())
    error = 100 * np.sqrt(0.05 * 0.95 / data_sets)
    print(f"in percent; Monte Carlo error at 5%: {error:.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
