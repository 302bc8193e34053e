"""Populations of times to an event, and what Cox regression and its tests make of them.

The truth is that of the fit to all records in a large sample, whose times are censored
at the end of follow-up only. Harrell's C depends on the distribution of censoring, and
has the truth of a large sample with the same censoring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv import compare
from statcv.errors import StatcvError
from statcv.metrics import survival_metrics
from statcv.results import CVResult
from studies.inference.shapes import LEAST, OWN

Floats = NDArray[np.float64]

HORIZON = 1.0  # the time at which risks are predicted
LARGE = 8_000  # fewest records of the sample that stands for the population
TIMES_LARGER = 20  # the records of that sample over those of a data set, at least
PERMUTATIONS = 199
METRICS = (
    "harrell_c",
    "auroc",
    "uno_c",
    "brier",
    "brier_skill",
    "calibration_slope",
    "oe_ratio",
)
FEW = METRICS[:2]  # those of tests, and of schemes other than k folds


@dataclass(frozen=True)
class Times:
    """A population of times to an event.

    Attributes
    ----------
    n : int
        Records of a sample.
    draw : callable
        ``draw(rng, n)`` → covariates, shape (n, p).
    slopes : tuple of float
        Log hazard ratios of the first covariates.
    rate : float
        Rate of exponential censoring.
    end : float
        Time at which follow-up ends.
    lognormal : bool
        Whether log times have normal errors, so that hazards are not proportional.
    decimals : int or None
        Decimals to which times are rounded up, so that they tie.

    Examples
    --------
    >>> data = TIMES["times, rounded"].sample(np.random.default_rng(1))
    >>> len(data), bool(data["time"].is_unique), list(data)[-2:]
    (100, False, ['time', 'status'])
    """

    n: int
    draw: Callable[[np.random.Generator, int], Floats]
    slopes: tuple[float, ...]
    rate: float
    end: float = 2.5
    lognormal: bool = False
    decimals: int | None = None
    continuous: bool = False
    clustered: bool = False

    def records(self, rng: np.random.Generator, n: int) -> pd.DataFrame:
        """Draw records with the time and status at the end of follow-up too."""
        X = self.draw(rng, n)
        eta = X[:, : len(self.slopes)] @ np.array(self.slopes)
        error = np.log(rng.standard_exponential(n))
        if self.lognormal:
            error = rng.standard_normal(n)
        event = np.exp((error - eta) / 1.3)
        censored = rng.exponential(1 / self.rate, n) if self.rate else np.inf
        if self.decimals is not None:
            unit = 10.0**-self.decimals
            event, censored = (unit * np.ceil(t / unit) for t in (event, censored))
        last = np.minimum(censored, self.end)
        frame = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(X.shape[1])])
        return frame.assign(
            time=np.minimum(event, last),
            status=(event <= last).astype(int),
            full_time=np.minimum(event, self.end),
            full_status=event <= self.end,
        )

    def sample(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw a sample with a few records of each status that is known by then."""
        while True:
            made = self.records(rng, self.n)
            early, event = made["time"] <= HORIZON, made["status"] == 1
            known = min((early & event).sum(), (~early).sum())
            if known >= LEAST and (early & ~event).sum() not in range(1, LEAST):
                return made.drop(columns=["full_time", "full_status"])

    @property
    def covariates(self) -> tuple[str, ...]:
        """The names of the covariates."""
        width = self.draw(np.random.default_rng(0), 1).shape[1]
        return tuple(f"x{j + 1}" for j in range(width))


@cache
def large_sample(shape: Times) -> pd.DataFrame:
    """Return the sample that stands for a population."""
    n = max(LARGE, TIMES_LARGER * shape.n)
    return shape.records(np.random.default_rng(OWN), n)


# ---- the populations ----


def _normal(p: int) -> Callable[[np.random.Generator, int], Floats]:
    return lambda rng, n: rng.standard_normal((n, p))


def _binary(rng: np.random.Generator, n: int) -> Floats:
    return (rng.random((n, 4)) < 0.35).astype(float)


def _skewed(rng: np.random.Generator, n: int) -> Floats:
    return rng.chisquare(2, (n, 5)) / 2 - 1


def _correlated(rng: np.random.Generator, n: int) -> Floats:
    shared = rng.standard_normal((n, 1))
    return np.asarray(
        np.sqrt(0.5) * shared + np.sqrt(0.5) * rng.standard_normal((n, 20))
    )


TIMES = {
    "times, noise": Times(40, _normal(2), (0.0,), 0.3),
    "times, one marker": Times(40, _normal(1), (0.5,), 0.5),
    "times, binary": Times(60, _binary, (0.9, 0.6), 0.4),
    "times, skewed": Times(80, _skewed, (0.5, -0.4), 0.8),
    "times, rounded": Times(100, _normal(3), (0.8, 0.4), 0.5, decimals=1),
    "times, log-normal": Times(120, _normal(4), (0.9, 0.5), 0.3, lognormal=True),
    "times, correlated": Times(150, _correlated, (0.2,) * 5, 0.5),
    "times, few events": Times(200, _normal(5), (0.5, 0.4), 1.3),
    "times, no dropout": Times(400, _normal(6), (0.5, 0.4, 0.3), 0.0, end=1.1),
    "times, large": Times(1000, _normal(8), (0.4, 0.3, 0.3), 0.2),
}
"""The populations of intervals by name, with 20 to 60 % of the records censored."""

COMPARED_TIMES = {
    "times, alike": Times(80, _normal(4), (0.5,) * 4, 0.4),
    "times, alike, large": Times(300, _normal(4), (0.35,) * 4, 0.4),
    "times, useless": Times(80, _normal(4), (0.0,) * 4, 0.4),
    "times, useless half": Times(80, _normal(4), (0.6, 0.5), 0.4),
    "times, useless half, large": Times(300, _normal(4), (0.6, 0.5), 0.4),
}
"""The populations of comparisons; covariates of the first three are exchangeable."""

UNRELATED = {"times, unrelated": Times(60, _normal(2), (0.0,), 0.4)}
"""The population in which tests by permutation are tried."""


# ---- what a data set is asked ----


def _truths(
    result: CVResult, shape: Times, asked: Sequence[str] = FEW
) -> dict[str, float]:
    """Return some metrics of the fit to all records in the large sample."""
    large = large_sample(shape)
    predicted = np.asarray(result.predict(large), dtype=float)
    full, seen = (  # signed times, negative if censored
        np.where(large[f"{at}status"], large[f"{at}time"], -large[f"{at}time"])
        for at in ("full_", "")
    )
    found = {}
    for name, metric in survival_metrics((HORIZON,)).items():
        short = name.partition("@")[0]
        if short in asked:
            y = seen if name == "harrell_c" else full
            column = 0 if metric.horizon is None else 1
            found[short] = float(metric.function(y, predicted[:, column]))
    return found


def _named(short: str) -> tuple[str, str]:
    """Return the name of a metric in a result, and in the table for any horizon."""
    if short in ("harrell_c", "uno_c"):
        return short, short
    return f"{short}@{HORIZON:g}", f"{short}@t"


def intervals_of_times(
    result: CVResult, shape: Times, scheme: str
) -> list[dict[str, Any]]:
    """Return the default intervals of a result, with the truth of each metric."""
    asked = METRICS if scheme == "stratified_kfold" else FEW
    truths, rows = _truths(result, shape, asked), []
    table = result.metrics().set_index("metric")
    for short in asked:
        name, stored = _named(short)
        about = {"metric": stored, "method": "default", "truth": truths[short]}
        rows.append(
            about | dict(table.loc[name, ["how", "estimate", "lower", "upper"]])
        )
    return rows


def differences_of_times(
    first: CVResult, second: CVResult, shape: Times
) -> list[dict[str, Any]]:
    """Return the default tests of two results, with the true difference."""
    truths, rows = [_truths(one, shape) for one in (first, second)], []
    for short in ("harrell_c", "auroc"):
        name, stored = _named(short)
        found = compare(first=first, second=second, metric=name)
        row = found.differences.iloc[0]
        rows.append(
            {
                "metric": stored,
                "how": str(found.table["how"].iloc[0]),
                "method": "default",
                "truth": truths[1][short] - truths[0][short],
                "estimate": row["difference"],
            }
            | {key: row[key] for key in ("lower", "upper", "p")}
        )
    return rows


def permuted_times(result: CVResult, scheme: str, number: int) -> list[dict[str, Any]]:
    """Return the p-value of pairs of time and status that are permuted."""
    named = _named("harrell_c" if scheme == "stratified_kfold" else "auroc")
    return permuted(*named, result, PERMUTATIONS, number)


def permuted(
    name: str, stored: str, result: CVResult, times: int, number: int
) -> list[dict[str, Any]]:
    """Return the p-value of a metric, by its name in the result and in the table."""
    about = {"metric": stored, "how": result.estimate(name).how, "truth": 0.5}
    about |= {"method": "permutation", "lower": np.nan, "upper": np.nan}
    try:
        test = result.test(
            name, n_permutations=times, alternative="greater", seed=number
        )
    except StatcvError:
        return [{**about, "estimate": np.nan, "p": np.nan}]
    return [{**about, "estimate": float(result.estimate(name)), "p": test.p_value}]
