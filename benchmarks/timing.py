"""Alternating runs of statcv and its peers, and the ratios of their times."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cases import Case, Peer
from threadpoolctl import threadpool_limits

AGREE = 1e-8
SHORT = 0.05  # seconds; a call that takes less is repeated


def agree(name: str, case: Case) -> float:
    """Return the largest difference from an exact peer, which must be below 1e-8."""
    with one_thread(case):
        gap = case.gap()
    if not gap < AGREE:
        raise AssertionError(f"{name}: differs from an exact peer by {gap:.2g}")
    return gap


def ratios(case: Case, runs: int) -> Iterator[dict[str, Any]]:
    """Time both sides, and yield one row per peer.

    The ratio is that of the medians. The lowest and highest ratios are those of single
    rounds, each of which consists of one run of statcv and one run of each peer.
    """
    ours: list[float] = []
    theirs: list[list[float]] = [[] for _ in case.peers]
    with one_thread(case):
        seconds(case.ours)  # triggers late imports, and starts workers
        for turn in range(runs):
            ours.append(seconds(case.ours))
            for peer, times in zip(case.peers, theirs, strict=True):
                if turn < peer.runs:
                    times.append(seconds_of(peer))
    for peer, times in zip(case.peers, theirs, strict=True):
        beside = ours[: len(times)]
        single = [b / a for a, b in zip(beside, times, strict=True)]
        mine, median = statistics.median(beside), statistics.median(times)
        ratio = median / mine
        yield {
            "work": case.work,
            "size": case.size,
            "against": peer.name,
            "ratio": ratio,
            "lowest": min(single),
            "highest": max(single),
            "target": peer.target,
            "met": None if peer.target is None else ratio >= peer.target,
            "statcv_s": mine,
            "peer_s": median,
            "runs": len(times),
            "peer_share": peer.share,
        }


def seconds_of(peer: Peer) -> float:
    """Return the time in seconds that a peer takes for the whole work."""
    if peer.own_clock:
        return float(peer.call()) / peer.share
    return seconds(peer.call) / peer.share


def seconds(call: Callable[[], Any]) -> float:
    """Return the time of a call in seconds, averaged over repetitions if short."""
    gc.collect()
    times, started = 0, time.perf_counter()
    while True:
        call()
        times += 1
        taken = time.perf_counter() - started
        if taken >= SHORT:
            return taken / times


@contextmanager
def one_thread(case: Case) -> Iterator[None]:
    """Limit the case to one thread; with several cores, only its linear algebra."""
    with threadpool_limits(1, user_api="blas" if case.cores > 1 else None):
        yield
