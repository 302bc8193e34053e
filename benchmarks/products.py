"""How long the bare matrix products take that all folds' iterations are made of.

An iteration takes the linear predictors of a block of folds and then their gradients:
two products. They are noted while a call runs, and done again by themselves.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from cases import Case
from timing import one_thread, seconds

from statcv.models.batched.logit_problem import Problem

Shape = tuple[int, int, int]  # fits, records, columns


def products(case: Case, runs: int) -> dict[str, Any]:
    """Return how many times the products' time the whole call takes."""
    with one_thread(case):
        shapes = noted(case.ours)
        pairs = [(seconds(case.ours), time_of(shapes)) for _ in range(runs)]
    whole, bare = (statistics.median(times) for times in zip(*pairs, strict=True))
    fits = int(case.ours().plan.n_fits)
    flops = sum(times * 4 * m * n * q for (m, n, q), times in shapes.items())
    return {
        "work": case.work,
        "size": case.size,
        "fits": fits,
        "columns": max(q for _, _, q in shapes),
        "iterations": sum(times * m for (m, _, _), times in shapes.items()) / fits,
        "gigaflops": flops / 1e9,
        "products_s": bare,
        "statcv_s": whole,
        "times": whole / bare,
    }


def noted(call: Callable[[], Any]) -> Counter[Shape]:
    """Return how often iterations of each shape come in a call."""
    shapes: Counter[Shape] = Counter()
    kept = {name: getattr(Problem, name) for name in ("gradient", "own_hessian")}

    def noting(method: Any) -> Any:
        def noted(self: Problem, theta: Any) -> Any:
            shapes[len(theta), self.block.n, theta.shape[1]] += 1
            return method(self, theta)

        return noted

    try:
        for name, method in kept.items():
            setattr(Problem, name, noting(method))
        call()
    finally:
        for name, method in kept.items():
            setattr(Problem, name, method)
    return shapes


def time_of(shapes: Counter[Shape]) -> float:
    """Return the seconds that the products of these iterations take."""
    total = 0.0
    rng = np.random.default_rng(1)
    for (m, n, q), times in shapes.items():
        theta, X = rng.normal(size=(m, q)), rng.normal(size=(n, q))
        across, room = np.ascontiguousarray(X.T), np.empty((m, n))
        np.matmul(theta, across, out=room)
        started = time.perf_counter()
        for _ in range(times):
            np.matmul(theta, across, out=room)
            np.matmul(room, X)
        total += time.perf_counter() - started
    return total
