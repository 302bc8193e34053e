"""Tests of a difference between two models on the same records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from statcv import compare, compare_settings
from statcv.results import CVResult
from studies.inference.draws import FOLDS, LEVEL, Answer, Draw, Method
from studies.inference.population import Population

Names = tuple[str, ...]

TARGETS = ("auroc", "accuracy", "brier")
SWAPS = 999  # number of random swaps of predictions in a permutation test
# penalties C that the signed-rank test compares the models at
PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two models, cross-validated on the same folds.

    Attributes
    ----------
    draw : Draw
    names : pair of tuple of str
        The covariates of each.
    first, second : CVResult
    """

    draw: Draw
    names: tuple[Names, Names]
    first: CVResult
    second: CVResult


# ---- the models ----


def equals(population: Population) -> tuple[Names, Names]:
    """Return one half of the covariates, and the equally informative other half."""
    half = len(population.names) // 2
    return population.names[:half], population.names[half : 2 * half]


def nested(population: Population) -> tuple[Names, Names]:
    """Return one half of the covariates, and all of them."""
    return equals(population)[0], population.names


def read(
    draw: Draw, models: Callable[[Population], tuple[Names, Names]]
) -> tuple[Pair, tuple[float, ...]]:
    """Cross-validate both models; also by how much the second fit is truly better."""
    names = models(draw.population)
    first = draw.cross_validate(names[0])
    second = draw.cross_validate(names[1], plan=first.plan)
    before, after = _truth(draw, first), _truth(draw, second)
    change = tuple(b - a for a, b in zip(before, after, strict=True))
    return Pair(draw, names, first, second), change


def _truth(draw: Draw, result: CVResult) -> tuple[float, float, float]:
    population, fit = draw.population, draw.fitted(result)
    return (
        population.true_auroc(fit[0]),
        population.true_accuracy(*fit),
        population.true_brier(*fit),
    )


# ---- the tests ----


def methods_of(
    scheme: str, population: Population, signed: bool = False
) -> tuple[Method, ...]:
    """Return what is measured of a scheme.

    Parameters
    ----------
    scheme : str
        A name in `SCHEMES`.
    population : Population
    signed : bool
        Whether models are also compared over penalties, by signed ranks.

    Examples
    --------
    >>> found = methods_of("rloocv", Population(n=60, balance=0.3, auroc=0.5))
    >>> [(method.how, method.name) for method in found if method.metric == "auroc"]
    [('pooled', 'delong'), ('pooled', 'permutation'), ('paired', 'corrected_jackknife')]
    """
    if scheme in ("bootstrap", "repeated_rloocv"):
        return ()
    tests = [("auroc", "pooled", "delong"), ("auroc", "pooled", "permutation")]
    if "kfold" in scheme or scheme == "leave_pair_out":
        tests.append(("auroc", "per_fold", "corrected_t"))
    for metric in ("accuracy", "brier"):
        tests += [(metric, "pooled", name) for name in ("t", "permutation")]
        if scheme != "leave_pair_out":  # whose folds have one record of each class
            tests.append((metric, "per_fold", "corrected_t"))
    made = [Method(*test, "test", _test(*test)) for test in tests]
    own = ("auroc", _headline(scheme, population), "corrected_jackknife")
    made.append(Method(*own, "test", _test(*own), True, _deleted))
    if signed and scheme == "stratified_kfold":
        made.append(
            Method("auroc", "pooled", "signed_rank", "test", _signed, True, _settings)
        )
    return tuple(made)


def _deleted(n: int, permutations: int) -> int:
    return 2 * n


def _settings(n: int, permutations: int) -> int:
    return 2 * len(PENALTIES)


def _headline(scheme: str, population: Population) -> str:
    """Return how the auROC of a scheme is stated: per fold where all have both."""
    if "kfold" in scheme:
        rarer = min(population.positives, population.n - population.positives)
        return "per_fold" if rarer >= FOLDS else "pooled"
    return "pooled" if scheme == "loocv" else "paired"


def _test(metric: str, how: str, name: str) -> Callable[[Pair], Answer]:
    def of(pair: Pair) -> Answer:
        swaps = SWAPS if name == "permutation" else None
        asked = None if name in ("permutation", "corrected_jackknife") else how
        found = compare(
            first=pair.first,
            second=pair.second,
            metric=metric,
            how=asked,
            test=name,
            level=LEVEL,
            n_permutations=swaps,
        )
        if name == "corrected_jackknife" and set(found.table["how"]) != {how}:
            return Answer()
        row = found.differences.iloc[0]
        return Answer(row["difference"], row["lower"], row["upper"], row["p"])

    return of


def _signed(pair: Pair) -> Answer:
    """Compare the models over penalties, as if these were independent settings."""
    first, second = (
        [pair.draw.cross_validate(names, c, pair.first.plan) for c in PENALTIES]
        for names in pair.names
    )
    test = compare_settings(first, second, metric="auroc", how="pooled").test
    return Answer(test.median, p=test.p_value)
