"""Time of the bare matrix products in the iterations of all folds.

An iteration computes the linear predictors of a block of folds and then their
gradients, which are two products. Their shapes are recorded during a call, and the
products are then repeated alone.
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

from statcv.models.batched import Problem

Shape = tuple[int, int, int]  # fits, records, columns


def products(case: Case, runs: int) -> dict[str, Any]:
    """Return the time of the whole call relative to that of its products."""
    with one_thread(case):
        shapes = recorded(case.ours)
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


def recorded(call: Callable[[], Any]) -> Counter[Shape]:
    """Return the number of iterations of each shape in a call."""
    shapes: Counter[Shape] = Counter()
    kept = {name: getattr(Problem, name) for name in ("gradient", "own_hessian")}

    def recording(method: Any) -> Any:
        def recorder(self: Problem, theta: Any) -> Any:
            shapes[len(theta), self.block.n, theta.shape[1]] += 1
            return method(self, theta)

        return recorder

    try:
        for name, method in kept.items():
            setattr(Problem, name, recording(method))
        call()
    finally:
        for name, method in kept.items():
            setattr(Problem, name, method)
    return shapes


def time_of(shapes: Counter[Shape]) -> float:
    """Return the time in seconds of the products of these iterations."""
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
