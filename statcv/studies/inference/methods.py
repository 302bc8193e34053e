"""What is measured: schemes, and the intervals, tests and slopes of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from statcv.inference import Estimate, wald_test
from statcv.result import CVResult
from statcv.studies.inference.slopes import harrell_slope, paired_slope, pooled_slope

LEVEL = 0.95
NO_SKILL = 0.5


@dataclass(frozen=True)
class Scheme:
    """A way of holding out, and the estimates that are had from it.

    Attributes
    ----------
    arguments : dict
        Of :func:`statcv.cv`.
    hows : tuple of str
        Of ``result.estimate``.
    fits : callable
        How many fits it makes of n records, n1 of them positive.
    """

    arguments: dict[str, Any]
    hows: tuple[str, ...]
    fits: Callable[[int, int], int]


SCHEMES = {
    "stratified_kfold": Scheme(
        {"scheme": "stratified_kfold"}, ("pooled", "per_fold"), lambda n, n1: 10
    ),
    "repeated_kfold": Scheme(
        {"scheme": "stratified_kfold", "repeats": 10},
        ("pooled", "per_fold"),
        lambda n, n1: 100,
    ),
    "loocv": Scheme({"scheme": "loocv"}, ("pooled",), lambda n, n1: n),
    "rloocv": Scheme({"scheme": "rloocv"}, ("pooled", "paired"), lambda n, n1: n),
    "repeated_rloocv": Scheme(
        {"scheme": "rloocv", "repeats": 4}, ("pooled", "paired"), lambda n, n1: 4 * n
    ),
    "leave_pair_out": Scheme(
        {"scheme": "leave_pair_out"}, ("paired",), lambda n, n1: n1 * (n - n1)
    ),
    "bootstrap": Scheme({"scheme": "bootstrap"}, (), lambda n, n1: 100),
}
"""The schemes of the study by name."""

INTERVALS = {
    "pooled": ("delong", "logit", "influence"),
    "per_fold": ("corrected_t", "influence"),
    "paired": ("pairs", "influence"),
}
RESAMPLED = {"pooled": ("bootstrap", "bca"), "per_fold": (), "paired": ()}
DELETING = ("jackknife", "jackknife_logit", "corrected_jackknife")


@dataclass(frozen=True)
class Answer:
    """What a method says of one data set; NaN where it says nothing."""

    estimate: float = math.nan
    lower: float = math.nan
    upper: float = math.nan
    p: float = math.nan


@dataclass(frozen=True)
class Method:
    """An interval, a test or a point estimate of a result.

    Attributes
    ----------
    metric : {"auroc", "calibration_slope"}
    how, name : str
    kind : {"interval", "test", "estimate"}
    of : callable
        `Reading` → `Answer`.
    slow : bool
        Whether it is tried on a part of the data sets only.
    fits : callable
        How often it does the fits of the plan again, for n records and a number of
        permutations.
    """

    metric: str
    how: str
    name: str
    kind: str
    of: Callable[[Reading], Answer]
    slow: bool = False
    fits: Callable[[int, int], int] = lambda n, permutations: 0

    @property
    def label(self) -> tuple[str, str, str, str]:
        """What tells it from the other methods of a scheme."""
        return self.metric, self.how, self.name, self.kind


class Reading:
    """A result whose intervals are made once each.

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
        cheap.append(_slope(how, "held_out", slope))
    once = "repeats" not in SCHEMES[scheme].arguments
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


def _slope(how: str, name: str, slope: Callable[[CVResult], float]) -> Method:
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
        test = reading.result.test(
            "auroc", how, method=name, n_permutations=reading.permutations
        )
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
