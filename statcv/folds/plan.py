"""The fold plan: who is held out, and who is dropped from each training set."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.errors import SchemeError

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class FoldPlan:
    """Repeated partitions of n records, in memory O(n × repeats + dropped).

    A *split* is one fold of one repeat; splits are numbered through, repeat by
    repeat. A training set is every record but those held out and those dropped.

    Attributes
    ----------
    scheme : str
        The name of the scheme that made it.
    sentence : str
        What it does, in one sentence for print, summary and titles.
    held_out : numpy.ndarray of int, shape (repeats, n)
        The fold in which each record is held out, from 0; -1 for never.
    labels : tuple of tuple
        The folds' names in each repeat, as the tables show them.
    dropped : numpy.ndarray of int
        The records dropped from training, split after split.
    dropped_start : numpy.ndarray of int, shape (n_splits + 1,)
        Where the records of each split begin in ``dropped``.
    rebalanced : bool
        Whether records were dropped to give every training set the same class
        totals; they are predicted too, by the fit that left them out.
    seed : int or None
        The seed that made it; None where nothing was random.

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> import numpy as np
    >>> plan = make_plan("kfold", np.array([0, 1, 0, 1]), "binary", k=2, seed=1)
    >>> [len(test) for train, test in plan.split()]
    [2, 2]
    """

    scheme: str
    sentence: str
    held_out: NDArray[np.int32]
    labels: tuple[tuple[Any, ...], ...]
    dropped: NDArray[np.int32]
    dropped_start: NDArray[np.int64]
    rebalanced: bool = False
    seed: int | None = None

    @property
    def n(self) -> int:
        """The number of records."""
        return int(self.held_out.shape[1])

    @property
    def repeats(self) -> int:
        """How often the records are partitioned."""
        return int(self.held_out.shape[0])

    @cached_property
    def n_splits(self) -> int:
        """Folds of all repeats together."""
        return sum(len(labels) for labels in self.labels)

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        """The number of the first split of each repeat, and one beyond."""
        return np.cumsum([0, *map(len, self.labels)])

    @cached_property
    def _sorted(self) -> tuple[Rows, NDArray[np.int64]]:
        """Held-out records, split after split, and where each split begins."""
        rows, sizes = [], []
        for repeat, labels in enumerate(self.labels):
            fold = self.held_out[repeat]
            order = np.argsort(fold, kind="stable")
            order = order[np.searchsorted(fold[order], 0) :]
            sizes.append(np.bincount(fold[order], minlength=len(labels)))
            rows.append(order)
        return np.concatenate(rows), _starts(np.concatenate(sizes))

    def name(self, split: int) -> tuple[int, Any]:
        """Return (repeat from 1, the fold's name) of a split."""
        repeat = int(np.searchsorted(self._first, split, side="right")) - 1
        return repeat + 1, self.labels[repeat][split - self._first[repeat]]

    def test(self, split: int) -> Rows:
        """Return the records held out in a split."""
        rows, starts = self._sorted
        return rows[starts[split] : starts[split + 1]]

    def left_out(self, split: int) -> Rows:
        """Return the records dropped from the training set of a split."""
        start, stop = self.dropped_start[split], self.dropped_start[split + 1]
        return self.dropped[start:stop].astype(np.intp)

    def train(self, split: int) -> Rows:
        """Return the records on which a split is trained."""
        stays = np.ones(self.n, dtype=bool)
        stays[self.test(split)] = False
        stays[self.left_out(split)] = False
        return np.flatnonzero(stays)

    def split(
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[Rows, Rows]]:
        """Yield (training, held-out) positions, as scikit-learn's splitters do."""
        if X is not None and _length(X) != self.n:
            raise SchemeError(
                f"the plan is for {self.n} records, but there are {_length(X)}."
            )
        for split in range(self.n_splits):
            yield self.train(split), self.test(split)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits, as scikit-learn asks for it."""
        return self.n_splits

    def counts(
        self, codes: NDArray[Any], classes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return class counts of training and held-out sets, (n_splits, classes)."""
        rows, starts = self._sorted
        held = _count_by_split(codes[rows], starts, classes)
        lost = _count_by_split(codes[self.dropped], self.dropped_start, classes)
        return np.bincount(codes, minlength=classes) - held - lost, held

    def training_sums(
        self, values: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the sum of values over, and the size of, each training set."""
        rows, starts = self._sorted
        out = np.zeros(self.n_splits)
        for members, begin in ((rows, starts), (self.dropped, self.dropped_start)):
            owner = np.repeat(np.arange(self.n_splits), np.diff(begin))
            out += np.bincount(owner, values[members], self.n_splits)
        sizes = self.n - np.diff(starts) - np.diff(self.dropped_start)
        return values.sum() - out, sizes

    @cached_property
    def fingerprint(self) -> str:
        """12 hex digits of what is held out and dropped."""
        digest = hashlib.sha256(repr(self.held_out.shape).encode())
        for part in (self.held_out, self.dropped, self.dropped_start):
            digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        return digest.hexdigest()[:12]

    def __repr__(self) -> str:
        return (
            f"<FoldPlan {self.scheme}: {self.n_splits} splits of {self.n} records, "
            f"{self.fingerprint}>"
        )


def _starts(sizes: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)  # sparse has no len


def _count_by_split(
    codes: NDArray[Any], starts: NDArray[np.int64], classes: int
) -> NDArray[np.int64]:
    splits = len(starts) - 1
    owner = np.repeat(np.arange(splits), np.diff(starts))
    table = np.bincount(owner * classes + codes, minlength=splits * classes)
    return table.reshape(splits, classes)


def assemble(
    scheme: str,
    sentence: str,
    held_out: Sequence[NDArray[Any]],
    dropped: Sequence[Rows] = (),
    *,
    labels: Sequence[Sequence[Any]] | None = None,
    rebalanced: bool = False,
    seed: int | None = None,
) -> FoldPlan:
    """Make a plan of one fold array a repeat and one array of drops a split."""
    folds = np.asarray(held_out, dtype=np.int32)
    if labels is None:
        labels = [range(1, fold.max() + 2) for fold in folds]
    n_splits = sum(map(len, labels))
    sizes = (
        np.fromiter(map(len, dropped), np.int64)
        if len(dropped)
        else np.zeros(n_splits, np.int64)
    )
    return FoldPlan(
        scheme=scheme,
        sentence=sentence,
        held_out=folds,
        labels=tuple(tuple(names) for names in labels),
        dropped=np.concatenate([np.empty(0, np.int32), *dropped]).astype(np.int32),
        dropped_start=_starts(sizes),
        rebalanced=rebalanced,
        seed=seed,
    )
