"""Cost by number of records, of columns and of folds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

from cases import Problem
from peers import probabilities, ridge
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits
from timing import seconds

import statcv as scv

Point = tuple[str, int, int, int]  # what varies, records, columns, folds

MOST = 5000  # largest number of folds for a peer
LONG = 2.0  # seconds; a call that takes longer is run once


def points(quick: bool) -> Iterator[Point]:
    """Yield the sizes to measure, with leave-one-out unless the folds vary."""
    if quick:
        yield from (("n", 60, 3, 60), ("p", 60, 5, 60), ("folds", 60, 3, 5))
        return
    for n in (70, 150, 250, 500, 1000, 2000, 5000, 10_000, 20_000):
        yield "n", n, 20, n
    for p in (2, 5, 10, 20, 50, 100, 200):
        yield "p", 1000, p, 1000
    for folds in (5, 10, 20, 50, 100, 200, 500, 1000):
        yield "folds", 1000, 20, folds


def costs(quick: bool, runs: int) -> Iterator[dict[str, Any]]:
    """Yield one row per size and library, for ridge logistic regression."""
    for varies, n, p, folds in points(quick):
        problem = Problem.of(n, p)
        for library, call in sides(problem, folds):
            with threadpool_limits(1):
                first = seconds(call)
                times = [first]
                if first < LONG:
                    times = [seconds(call) for _ in range(runs)]
            yield {
                "varies": varies,
                "n": n,
                "p": p,
                "folds": folds,
                "library": library,
                "seconds": statistics.median(times),
                "runs": len(times),
            }


def sides(problem: Problem, folds: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield each library that can do the work in reasonable time, and its call."""
    X, y = problem.X, problem.y
    model = scv.models.Logit(C=1.0)
    yield "statcv", lambda: problem.cv(model=model, scheme="kfold", k=folds)
    if folds <= MOST:
        kept = KFold(folds)
        yield "scikit-learn, lbfgs", lambda: probabilities(ridge(), X, y, kept)
        newton = ridge(solver="newton-cholesky")
        yield (
            "scikit-learn, newton-cholesky",
            lambda: probabilities(newton, X, y, kept),
        )
