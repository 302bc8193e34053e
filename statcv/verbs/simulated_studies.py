"""Simulated data sets of one size, cross-validated as a study will be."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from statcv.engine import progress_bar, returns_as_they_end
from statcv.errors import StatcvError, StatcvWarning
from statcv.metrics import METRICS
from statcv.numeric.arrays import Floats
from statcv.results.permutations import permuted
from statcv.results.refits import Running
from statcv.results.result import CVResult
from statcv.verbs.cv import cv

LARGE = 5_000  # records of the sample that has the true value of a fitted model
PERMUTED = 10  # permuted outcomes of each data set, which data sets share
RESAMPLES = 200  # bootstrap samples for the Monte Carlo error of the power


@dataclass(frozen=True)
class Study:
    """A study of n records, which is simulated many times.

    The predictors are independent and normal with variance 1. The mean of the first
    differs between the classes, so that the log-odds are linear in it.
    """

    n: int
    p: int
    prevalence: float
    c: float
    schemes: Sequence[str]
    options: Mapping[str, Any]
    n_sim: int
    seed: int
    n_jobs: int | None
    progress: bool | None

    def draw(
        self, rng: np.random.Generator, n: int, events: int | None = None
    ) -> tuple[pd.DataFrame, Floats]:
        """Draw records, and return them with their true risks."""
        from scipy.special import expit, logit, ndtri

        x, drawn = rng.normal(size=(n, self.p)), rng.random(n) < self.prevalence
        y = (drawn if events is None else np.arange(n) < events).astype(int)
        shift = math.sqrt(2) * float(ndtri(self.c))
        x[:, 0] += shift * y
        true = expit(logit(self.prevalence) + shift * (x[:, 0] - shift / 2))
        names = [f"x{j}" for j in range(1, self.p + 1)]
        return pd.DataFrame(x, columns=names).assign(y=y), true

    def controls(self, y: Floats, true: Floats) -> list[float]:
        """Return statistics of the true model whose expected values are 0.

        Regressing the estimates on them saves as much as four times the data sets.
        """
        error, log_odds = y - true, np.log(true / (1 - true))
        brier = error**2 - true * (1 - true)
        each = y - self.prevalence, error, error * log_odds, brier
        return [METRICS["auroc"](y, true) - self.c, *(one.mean() for one in each)]

    def typical(self) -> list[CVResult]:
        """Cross-validate a data set with the expected number of events.

        Its errors reach the user, since they do not come from chance.
        """
        rng, events = np.random.default_rng(self.seed), round(self.n * self.prevalence)
        data, _ = self.draw(rng, self.n, events)
        return [self._result(data, scheme, 0) for scheme in self.schemes]

    def _result(self, data: pd.DataFrame, scheme: str, seed: int) -> CVResult:
        quiet: dict[str, Any] = {"n_jobs": 1, "progress": False}
        return cv("y ~ .", data, scheme=scheme, seed=seed, **quiet, **self.options)

    def run(self, metrics: int, times: int = PERMUTED) -> Simulated:
        """Simulate data sets, which are the same for any number of processes."""
        from joblib import Parallel, delayed

        kind = "generator" if returns_as_they_end() else "list"
        shape, parts = (len(self.schemes), metrics, 6 + times), []
        tasks = (delayed(self.one)(number, shape) for number in range(self.n_sim))
        with progress_bar(self.n_sim, self.progress, "data set") as bar:
            for part in Parallel(self.n_jobs, return_as=kind)(tasks):
                parts.append(part)
                bar.update()
        return Simulated(*map(np.array, zip(*parts, strict=True)))

    def one(
        self, number: int, shape: tuple[int, int, int]
    ) -> tuple[Floats, list[float], float]:
        """Return what is found in the data set of this number; see `Simulated`."""
        rng = np.random.default_rng([self.seed, number])
        (data, true), (large, known) = self.draw(rng, self.n), self.draw(rng, LARGE)
        y, y_large = data["y"].to_numpy(), large["y"].to_numpy()
        values, mean = np.full(shape, np.nan), np.full(LARGE, y.mean())
        seed = int(rng.integers(2**32))
        for rows, scheme in zip(values, self.schemes, strict=True):
            # an error comes from chance, since the typical data set had none
            with warnings.catch_warnings(), suppress(StatcvError):
                warnings.simplefilter("ignore", StatcvWarning)
                result = self._result(data, scheme, seed)
                predicted = np.asarray(result.predict(large), dtype=float)
                rows[:, 5] = result.held.failed > 0
                wanted = []
                for row, metric in zip(rows, result.chosen_metrics, strict=True):
                    one = result.estimate(metric)
                    row[:3] = one.value, one.lower, one.upper
                    row[3] = metric(y_large, metric.readable(predicted), mean)
                    row[4] = metric(y_large, metric.readable(known), mean)
                    wanted.append((metric, one.how))
                if times := shape[-1] - 6:
                    running = Running(seed, 1, False)
                    rows[:, 6:] = permuted(result, wanted, times, running)
        return values, self.controls(y, true), float(y.mean())


@dataclass(frozen=True)
class Simulated:
    """What was found in every data set, by scheme and metric.

    Attributes
    ----------
    values : numpy.ndarray, shape (data sets, schemes, metrics, 6 + permutations)
        The estimate with its limits; the metric of the fitted and of the true model in
        a large sample; whether a fit failed; and the metric under permuted outcomes.
    controls : numpy.ndarray, shape (data sets, controls)
        See :meth:`Study.controls`.
    share : numpy.ndarray, shape (data sets,)
        The share of events.
    """

    values: Floats
    controls: Floats
    share: Floats

    def row(self, scheme: int, metric: int, side: str) -> dict[str, float]:
        """Return what is expected of a metric by a scheme, with Monte Carlo errors."""
        every = self.values[:, scheme, metric]
        estimate, lower, upper, truth, best, failed = every[:, :6].T
        # the error of each large sample is removed by that of the true model in it
        truth = truth - np.nan_to_num(best - _mean(best)[0])
        known = np.isfinite(truth + lower + upper)
        mse, mse_se = _mean((estimate - truth) ** 2)
        found = {
            "truth": _mean(truth, self.controls),
            "estimate": _mean(estimate, self.controls),
            "bias": _mean(estimate - truth, self.controls),
            "rmse": (math.sqrt(mse), mse_se / (2 * math.sqrt(mse) or np.nan)),
            "width": _mean(upper - lower, self.controls),
            "coverage": _mean(((lower <= truth) & (truth <= upper))[known] * 1.0),
            "power": self._power(scheme, metric, side),
        }
        errors = {f"{name}_se": error for name, (_, error) in found.items()}
        shares = {"missing": 1 - known.mean(), "failed": _mean(failed)[0]}
        return {name: value for name, (value, _) in found.items()} | errors | shares

    def _power(self, scheme: int, metric: int, side: str) -> tuple[float, float]:
        """Return the share of estimates beyond the quantiles of permuted values.

        Permutations are few in each data set. Centre and spread of their values are
        functions of the share of events, and what remains is alike in all data sets.
        """
        values, null = np.split(self.values[:, scheme, metric], [1, 6], axis=1)[::2]
        null = np.where(np.isfinite(null), null, np.nan)
        known = np.isfinite(values[:, 0]) & np.isfinite(null).any(axis=1)
        values, null = values[known], null[known]
        if not known.any():
            return np.nan, np.nan
        share = self.share[known]
        X = np.vander(share * (1 - share) - np.mean(share * (1 - share)), 3)

        def fitted(y: Floats, X: Floats) -> Any:
            middle = np.nanmedian(y, axis=1, keepdims=True)
            return X @ np.linalg.lstsq(X, middle, rcond=None)[0]

        # medians, since slopes have heavy tails without signal
        centre = fitted(null, X)
        sizes = np.abs(null - centre)
        spread = np.maximum(fitted(sizes, X[:, 1:]), np.nanmedian(sizes) / 4 or 1.0)
        values, null = (values - centre) / spread, (null - centre) / spread
        tail = 0.025 if side == "two-sided" else 0.05

        def rejected(chosen: Any) -> float:
            low, high = np.nanquantile(null[chosen], [tail, 1 - tail])
            less, greater = values[chosen] < low, values[chosen] > high
            both = {"less": less, "greater": greater}
            return float(both.get(side, less | greater).mean())

        rng, many = np.random.default_rng(0), len(values)
        drawn = [rejected(rng.integers(many, size=many)) for _ in range(RESAMPLES)]
        return rejected(slice(None)), float(np.std(drawn))


def _mean(values: Floats, controls: Floats | None = None) -> tuple[float, float]:
    """Return a mean with its error, after regression on controls if there are any."""
    X = np.ones((len(values), 1))
    if controls is not None:
        X = np.column_stack([X, controls])
    known = np.isfinite(values) & np.isfinite(X).all(axis=1)
    if known.mean() < 0.9 or known.sum() < 10 * X.shape[1]:
        # few values, or a selection of them
        X, known = X[:, :1], np.isfinite(values)
    X, values = X[known], values[known]
    if len(X) < 2:
        return np.nan, np.nan
    inverse = np.linalg.pinv(X.T @ X)
    coefficients = inverse @ (X.T @ values)
    left = values - X @ coefficients
    variance = left @ left / (len(X) - X.shape[1]) * inverse[0, 0]
    return float(coefficients[0]), math.sqrt(variance)
