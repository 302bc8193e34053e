"""Intervals and tests of auROC against no skill, and calibration slopes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logit

from statcv.errors import StatcvWarning
from statcv.inference import Estimate, wald_test
from statcv.metrics import calibration_slope, slope_of_pairs
from statcv.results import CVResult
from studies.inference.draws import LEVEL, SCHEMES, Answer, Draw, Method

Floats = NDArray[np.float64]

NO_SKILL = 0.5
TARGETS = ("auroc", "calibration_slope")
INTERVALS = {
    "pooled": ("delong", "logit", "influence"),
    "per_fold": ("corrected_t", "influence"),
    "paired": ("pairs", "influence"),
}
RESAMPLED = {"pooled": ("bootstrap", "bca"), "per_fold": (), "paired": ()}
DELETING = ("jackknife", "jackknife_logit", "corrected_jackknife")


class Reading:
    """A result whose intervals are each computed once.

    Attributes
    ----------
    result : CVResult
    data : pandas.DataFrame
    permutations, seed : int
    """

    def __init__(
        self, result: CVResult, data: pd.DataFrame, permutations: int, seed: int
    ) -> None:
        self.result = result
        self.data = data
        self.permutations = permutations
        self.seed = seed
        self._made: dict[tuple[str, str], Estimate] = {}

    def interval(self, how: str, name: str) -> Estimate:
        """Return the auROC with an interval."""
        if (how, name) not in self._made:
            self._made[how, name] = self.result.estimate(
                "auroc", how, level=LEVEL, interval=name
            )
        return self._made[how, name]


def read(draw: Draw) -> tuple[Reading, tuple[float, float]]:
    """Cross-validate a data set; also auROC and slope of the fit to all of it."""
    population = draw.population
    result = draw.cross_validate(population.names)
    coefficients, _ = draw.fitted(result)
    truth = population.true_auroc(coefficients), population.true_slope(coefficients)
    return Reading(result, draw.data, draw.permutations, draw.seed), truth


def methods_of(scheme: str) -> tuple[Method, ...]:
    """Return what is measured of a scheme.

    Parameters
    ----------
    scheme : str
        A name in `SCHEMES`.

    Examples
    --------
    >>> [method.name for method in methods_of("loocv") if method.kind == "test"]
    ['permutation']
    """
    if scheme == "bootstrap":
        return _of_bootstrap()
    return tuple(
        method for how in SCHEMES[scheme].hows for method in _of_estimate(scheme, how)
    )


def _of_estimate(scheme: str, how: str) -> list[Method]:
    """Return what is measured of one way to estimate."""
    cheap = [
        Method("auroc", how, name, "interval", _interval(how, name))
        for name in INTERVALS[how]
    ]
    if how == "per_fold":
        cheap.append(Method("auroc", how, "t", "test", _test(how, "t")))
    else:
        slope = pooled_slope if how == "pooled" else paired_slope
        cheap.append(_slope_method(how, "held_out", slope))
    once = not SCHEMES[scheme].repeated
    slow = [
        Method("auroc", how, name, "interval", _interval(how, name), slow=True)
        for name in RESAMPLED[how]
        if once
    ]
    slow += [
        Method("auroc", how, name, "interval", _interval(how, name), True, _deleted)
        for name in DELETING
    ]
    if once:
        test = _test(how, "permutation")
        slow.append(Method("auroc", how, "permutation", "test", test, True, _permuted))
    return cheap + slow


def _deleted(n: int, permutations: int) -> int:
    return n


def _permuted(n: int, permutations: int) -> int:
    return permutations


def _slope_method(how: str, name: str, slope: Callable[[CVResult], float]) -> Method:
    def of(reading: Reading) -> Answer:
        return Answer(slope(reading.result))

    return Method("calibration_slope", how, name, "estimate", of)


def _interval(how: str, name: str) -> Callable[[Reading], Answer]:
    def of(reading: Reading) -> Answer:
        found = reading.interval(how, name)
        p = wald_test(found, NO_SKILL, alternative="greater").p_value
        return Answer(found.value, found.lower, found.upper, p)

    return of


def _test(how: str, name: str) -> Callable[[Reading], Answer]:
    def of(reading: Reading) -> Answer:
        times = reading.permutations if name == "permutation" else None
        test = reading.result.test("auroc", how, method=name, n_permutations=times)
        return Answer(test.estimate, p=test.p_value)

    return of


def _of_bootstrap() -> tuple[Method, ...]:
    def by_rule(how: str) -> Callable[[Reading], Answer]:
        def of(reading: Reading) -> Answer:
            return Answer(float(reading.result.estimate("auroc", how)))

        return of

    def harrell(reading: Reading) -> Answer:
        return Answer(harrell_slope(reading.result, reading.data))

    return (
        Method("auroc", ".632", ".632", "estimate", by_rule(".632")),
        Method("auroc", ".632+", ".632+", "estimate", by_rule(".632+")),
        Method("calibration_slope", "harrell", "harrell", "estimate", harrell, True),
    )


def pooled_slope(result: CVResult) -> float:
    """Return the calibration slope of the pooled predictions, the mean over repeats.

    Parameters
    ----------
    result : CVResult
    """
    slopes = [
        calibration_slope(part["observed"], part["predicted"])
        for _, part in result.predictions.groupby("repeat")
    ]
    return float(np.mean(slopes))


def paired_slope(result: CVResult) -> float:
    """Return the calibration slope of the pairs of a result (`slope_of_pairs`).

    Parameters
    ----------
    result : CVResult
    """
    pairs = result.pairs
    sign = 2 * pairs["observed"].to_numpy(dtype=float) - 1
    mine, partner = pairs["predicted"].to_numpy(), pairs["predicted_partner"].to_numpy()
    return slope_of_pairs(sign * (logit(mine) - logit(partner)))


def harrell_slope(result: CVResult, data: pd.DataFrame) -> float:
    """Return the optimism-corrected calibration slope of bootstrap samples.

    The slope of the fit on all records, on those same records, minus the mean over
    samples of (slope in the sample) - (slope on all records).

    Parameters
    ----------
    result : CVResult
        Result of bootstrap samples, of a model with coefficients.
    data : pandas.DataFrame
        The data of the result.

    References
    ----------
    Harrell, Lee & Mark (1996), Statistics in Medicine 15:361.
    """
    y = data["y"].to_numpy()
    coefficients = result.coefficients
    names = [name for name in coefficients if name in data]
    scores = (
        coefficients["Intercept"].to_numpy()[:, None]
        + coefficients[names].to_numpy(dtype=float) @ data[names].to_numpy().T
    )
    optimism = []
    for (train, _), score in zip(result.plan.split(), scores, strict=True):
        p = 0.5 * (1 + np.tanh(score / 2))
        optimism.append(_slope_of(y[train], p[train]) - _slope_of(y, p))
    apparent = _slope_of(y, result.predict(data).to_numpy())
    known = [each for each in optimism if not math.isnan(each)]
    return apparent - float(np.mean(known)) if known else math.nan


def _slope_of(y: NDArray[np.generic], p: Floats) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        return calibration_slope(y, p)
