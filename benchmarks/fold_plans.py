"""Time and memory of fold plans, compared with peers that do the same work.

    python benchmarks/fold_plans.py [--quick] [--out table.csv]

Times are medians of alternating runs in one process, and only their ratios matter.
Memory is the peak in addition to the records, measured by tracemalloc in a separate
run. RebalancedCV is included if it is installed (pip install RebalancedCV).
"""

from __future__ import annotations

import argparse
import hmac
import statistics
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedGroupKFold

from statcv.folds import FoldPlan, make_plan
from statcv.folds.strata.by_hash import by_hash
from statcv.folds.strata.hashing import keyed_fold
from statcv.folds.strata.stratifier import by_value

try:
    from rebalancedcv import RebalancedLeaveOneOut
except ImportError:
    RebalancedLeaveOneOut = None

KEY = b"the key of the benchmark"
K = 10


@dataclass
class Table:
    """Table of measurements, with one row per comparison."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        what: str,
        n: int,
        ours: float,
        peer: str = "",
        theirs: float = np.nan,
        megabytes: float = np.nan,
    ) -> None:
        """Add one row, and print it."""
        row = {
            "what": what,
            "n": n,
            "seconds": ours,
            "MB": megabytes,
            "peer": peer,
            "peer seconds": theirs,
            "ratio": ours / theirs,
        }
        self.rows.append(row)
        beside = f", {peer} {theirs:.3f} s, ratio {ours / theirs:.3f}" if peer else ""
        memory = "" if np.isnan(megabytes) else f", {megabytes:.0f} MB"
        print(f"{what}, n = {n:,}: {ours:.3f} s{memory}{beside}", flush=True)


def seconds(*works: Callable[[], object], runs: int) -> list[float]:
    """Return the median time of each function, in alternating runs."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(runs):
        for work, times in zip(works, taken, strict=True):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in taken]


def megabytes(work: Callable[[], object]) -> float:
    """Return the peak memory of a function, in megabytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def classes(n: int, share: float = 0.3) -> np.ndarray[Any, Any]:
    """Return random class codes with the given share of positives."""
    return (np.random.default_rng(1).random(n) < share).astype(np.intp)


# ---- rebalanced leave-one-out ----


def rloocv(table: Table, n: int, runs: int) -> None:
    """Make and audit a plan of n records, compared with an argsort of n floats."""
    y, floats = classes(n), np.random.default_rng(2).random(n)

    def make() -> FoldPlan:
        return make_plan("rloocv", y, "binary", repeats=1, seed=1)

    ours, sort = seconds(make, lambda: np.argsort(floats), runs=runs)
    table.add("RLOOCV plan", n, ours, "one argsort", sort, megabytes(make))
    plan = make()
    ours, sort = seconds(plan.audit, lambda: np.argsort(floats), runs=runs)
    table.add("audit of it", n, ours, "one argsort", sort, megabytes(plan.audit))


def splitting(table: Table, n: int, few: int, runs: int) -> None:
    """Yield the splits of rebalanced leave-one-out, compared with RebalancedCV.

    Both make an array of n training positions for every split, so only the first few
    splits are timed.
    """
    y, X = classes(n), np.zeros((n, 1))

    def ours() -> None:
        for _ in islice(
            make_plan("rloocv", y, "binary", repeats=1, seed=1).split(X, y), few
        ):
            pass

    def theirs() -> None:
        for _ in islice(peer(X, y), few):
            pass

    peer, name = record_by_record, "a loop over records"
    if RebalancedLeaveOneOut is not None:
        peer, name = RebalancedLeaveOneOut().split, "RebalancedCV"
    mine, other = seconds(ours, theirs, runs=runs)
    table.add(f"plan and its first {few:,} splits", n, mine, name, other)


def record_by_record(X: Any, y: np.ndarray[Any, Any]) -> Any:
    """Hold out each record, and drop a random one of the other class."""
    rng, rows = np.random.default_rng(1), np.arange(len(y))
    for row in rows:
        train = rows[rows != row]
        other = train[y[train] != y[row]]
        yield train[train != rng.choice(other)], rows[row : row + 1]


# ---- hashed folds ----


def hashed(table: Table, n: int, runs: int) -> None:
    """Hash n identifiers into folds, compared with a bare loop of hmac.digest."""
    texts = [f"19{i % 100:02}-{i:08}" for i in range(n)]
    encoded = [text.encode() for text in texts]
    series = pd.Series(texts, name="id")

    def bare() -> None:
        for text in encoded:
            hmac.digest(KEY, text, "sha256")

    def listed() -> object:
        return keyed_fold(texts, K, KEY)

    def column() -> object:
        return keyed_fold(series, K, KEY)

    loop = "a bare loop of hmac.digest"
    of_list, of_column, theirs = seconds(listed, column, bare, runs=runs)
    table.add("hashed folds of a list", n, of_list, loop, theirs, megabytes(listed))
    table.add("hashed folds of a column", n, of_column, loop, theirs)
    frame, y = series.to_frame(), classes(n)

    def plan() -> object:
        by = by_hash("id", key=KEY)
        return make_plan("kfold", y, "binary", k=K, stratify=by, data=frame)

    ours, theirs = seconds(plan, bare, runs=runs)
    table.add("plan by hash", n, ours, loop, theirs, megabytes(plan))


# ---- whole groups, with classes spread evenly ----


def grouped(table: Table, n: int, peer_n: int, runs: int) -> None:
    """Spread classes evenly over folds of groups of 1 to 5, as scikit-learn does."""
    for size in (peer_n, n):
        groups, y = groups_and_classes(size)
        frame = pd.DataFrame({"group": groups})
        made: dict[str, Sequence[Any]] = {}

        def ours(y: Any = y, frame: Any = frame, made: Any = made) -> None:
            by = by_value("group")
            plan = make_plan(
                "stratified_kfold", y, "binary", k=K, stratify=by, data=frame, seed=1
            )
            made["statcv"] = [plan.test(split) for split in range(K)]

        def theirs(y: Any = y, groups: Any = groups, made: Any = made) -> None:
            peer = StratifiedGroupKFold(K, shuffle=True, random_state=1)
            made["scikit-learn"] = [test for _, test in peer.split(y, y, groups)]

        name = "stratified folds of whole groups"
        if size == peer_n:
            mine, other = seconds(ours, theirs, runs=min(runs, 3))
            table.add(name, size, mine, "StratifiedGroupKFold", other, megabytes(ours))
        else:
            (mine,) = seconds(ours, runs=min(runs, 3))
            table.add(name, size, mine, megabytes=megabytes(ours))
        for library, tests in made.items():
            counts = np.array([np.bincount(y[test], minlength=2) for test in tests])
            print(
                f"    {library}: fold sizes differ by {np.ptp(counts.sum(axis=1))}, "
                f"class counts by at most {np.ptp(counts, axis=0).max()}"
            )


def groups_and_classes(n: int) -> tuple[Any, Any]:
    """Return groups of 1 to 5 records in random order, and correlated classes."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(n), rng.integers(1, 6, n))[:n]
    risk = rng.beta(1, 2, n)
    y = (rng.random(n) < risk[groups]).astype(np.intp)
    order = rng.permutation(n)
    return groups[order], y[order]


def main() -> None:
    """Run all measurements, and print each result as it is made."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a hundredth of the work")
    parser.add_argument("--out", help="file for the table, as CSV")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    million, runs, table = 10**4 if given.quick else 10**6, given.runs, Table()
    make_plan("rloocv", classes(1000), "binary").audit()  # triggers the late imports
    rloocv(table, million, runs)
    rloocv(table, 10 * million, 1)
    splitting(table, million // 50, 2000, min(runs, 3))
    hashed(table, million, runs)
    hashed(table, 10 * million, 1)
    grouped(table, million, million // 5, runs)
    if given.out:
        pd.DataFrame(table.rows).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
