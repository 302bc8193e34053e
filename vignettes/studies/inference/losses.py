"""Intervals for accuracy, Brier score and log-loss."""

from __future__ import annotations

from collections.abc import Callable

from statcv.inference.refits import REPEATS, nested_fits
from statcv.results import CVResult
from studies.inference.draws import FOLDS, LEVEL, SCHEMES, Answer, Draw, Method

TARGETS = ("accuracy", "brier", "log_loss")
RESAMPLED = ("bootstrap", "bca")
NOT_ASKED = ("repeated_rloocv", "leave_pair_out", "bootstrap")
DELETING = {"accuracy": ("jackknife", "jackknife_logit"), "brier": ("jackknife",)}


def read(draw: Draw) -> tuple[CVResult, tuple[float, float, float]]:
    """Cross-validate a data set; also the true losses of the fit to all of it."""
    population = draw.population
    result = draw.cross_validate(population.names)
    fit = draw.fitted(result)
    return result, (
        population.true_accuracy(*fit),
        population.true_brier(*fit),
        population.true_log_loss(*fit),
    )


def methods_of(scheme: str) -> tuple[Method, ...]:
    """Return what is measured of a scheme.

    Parameters
    ----------
    scheme : str
        A name in `SCHEMES`.

    Examples
    --------
    >>> [m.name for m in methods_of("loocv") if m.metric == "brier" and not m.slow]
    ['records', 'corrected_t']
    """
    if scheme in NOT_ASKED:
        return ()
    return tuple(method for metric in TARGETS for method in _of_metric(scheme, metric))


def _of_metric(scheme: str, metric: str) -> list[Method]:
    made = [
        _method(metric, "pooled", "records"),
        _method(metric, "per_fold", "corrected_t"),
    ]
    if metric == "log_loss" or SCHEMES[scheme].repeated:
        return made
    made += [_method(metric, "pooled", name, slow=True) for name in RESAMPLED]
    made += [
        _method(metric, "pooled", name, slow=True, fits=_deleted)
        for name in DELETING[metric]
    ]
    if scheme == "stratified_kfold":
        made.append(_method(metric, "pooled", "nested_cv", slow=True, fits=_nested))
    return made


def _deleted(n: int, permutations: int) -> int:
    return n


def _nested(n: int, permutations: int) -> int:
    return nested_fits(FOLDS, REPEATS) // FOLDS


def _method(
    metric: str,
    how: str,
    name: str,
    slow: bool = False,
    fits: Callable[[int, int], int] = lambda n, permutations: 0,
) -> Method:
    def of(result: CVResult) -> Answer:
        found = result.estimate(metric, how, level=LEVEL, interval=name)
        return Answer(found.value, found.lower, found.upper)

    return Method(metric, how, name, "interval", of, slow, fits)
