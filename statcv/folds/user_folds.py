"""Folds given by a column of fold numbers, or by a scikit-learn splitter."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import FoldWarning, SchemeError, warn
from statcv.folds.plan import FoldPlan
from statcv.folds.ragged import Ragged
from statcv.numeric.arrays import Array, Numbers
from statcv.words import plural


def plan_from_column(folds: Any, name: str) -> FoldPlan:
    """Make a plan from the fold number of each record, as given.

    Parameters
    ----------
    folds : array-like of int, shape (n,)
    name : str
        Name of the folds in messages.

    Examples
    --------
    >>> plan_from_column([1, 2, 1, 2], "site").n_splits
    2
    """
    named = isinstance(folds, (pd.Series, pd.Index))
    column = pd.Series(folds if named else np.asarray(folds).ravel())
    if column.isna().any():
        raise SchemeError(
            f"the folds {name!r} are missing in {int(column.isna().sum())} rows; "
            "give every row a fold, or leave those rows out of the data."
        )
    if not pd.api.types.is_numeric_dtype(column):
        cells = column.astype(str)
        digits = cells.str.fullmatch(r"\d+").all()  # such as 01 to 10 of a file
        column = cells.astype(np.int64) if digits else column
    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        raise SchemeError(
            f"the folds {name!r} must be integers, not {column.dtype}; "
            "for text use data[...].astype('category').cat.codes."
        )
    values = column.to_numpy()
    if not pd.api.types.is_integer_dtype(column):
        values = column.to_numpy(dtype=float)
        if not np.isfinite(values).all() or (values != np.round(values)).any():
            raise SchemeError(f"the folds {name!r} must be integers.")
    labels, fold = np.unique(values.astype(np.int64), return_inverse=True)
    if len(labels) < 2:
        raise SchemeError(f"the folds {name!r} hold one value only: {labels[0]}.")
    by = "" if name == "scheme" else f" by {name}"
    said = f"{len(labels)} folds as given{by}"
    return assemble("given", said, [fold], labels=(tuple(labels.tolist()),))


def plan_from_splitter(splitter: Any, y: Array, seed: int) -> FoldPlan:
    """Make a plan from the splits of a scikit-learn splitter.

    A random splitter without ``random_state`` gets one from ``seed``. Splits that cover
    every record in turn are repeats of a partition (``RepeatedKFold``); if a record is
    held out more often otherwise (``LeavePOut``), or splits are drawn independently
    (``ShuffleSplit``), every split is a repeat. Records in neither set count as dropped
    from training, those that are in it twice as repeated.

    Raises
    ------
    SchemeError
        If it needs groups, fails, or does not yield splits of these records.
    """
    given = isinstance(splitter, list)
    name = "GivenSplits" if given else type(splitter).__name__
    if _is_a(splitter, "Groups"):
        raise SchemeError(
            f"{name} needs groups, which a scheme cannot pass to it; stratify=by_value("
            "column) keeps equal values together under every scheme."
        )
    permutations = bool(getattr(splitter, "shuffle", True))
    random = permutations and getattr(splitter, "random_state", 0) is None
    if random:
        splitter = copy.copy(splitter)
        splitter.random_state = int(np.random.SeedSequence(seed).generate_state(1)[0])
    try:
        pairs = splitter if given else list(splitter.split(np.zeros((len(y), 1)), y))
    except (TypeError, ValueError) as error:
        raise SchemeError(
            f"the splitter {name} could not split these data: {error}"
        ) from error
    if not pairs:
        raise SchemeError(f"the splitter {name} yields no split.")
    n, every = len(y), np.arange(len(y))
    splits = [_split(pair, n, name, at) for at, pair in enumerate(pairs, start=1)]
    tests = [test for _, test in splits]
    held_out = _partitions(tests, n)
    # splits that are drawn independently would be disjoint by chance
    if held_out is None or _is_a(splitter, "ShuffleSplit"):
        held_out = [np.where(np.bincount(t, minlength=n) > 0, 0, -1) for t in tests]
    kept_out = [np.setdiff1d(every, np.concatenate(split)) for split in splits]
    times = [np.bincount(train, minlength=n) for train, _ in splits]
    copied = [np.repeat(every, np.maximum(often - 1, 0)) for often in times]
    unused = int((np.bincount(np.concatenate(kept_out)) == len(splits)).sum())
    if unused:
        warn(
            f"{unused} of {n} records are in no split of {name}, neither held "
            "out nor trained on.",
            FoldWarning,
        )
    sentence = f"{plural(len(splits), 'split')} {'as given' if given else f'by {name}'}"
    name = "given" if given else name
    plan = assemble(name, sentence, held_out, kept_out, seed=seed if random else None)
    return replace(plan, copied=Ragged.of(copied))


def _is_a(splitter: Any, kind: str) -> bool:
    """Recognise scikit-learn's families by name, without an import of scikit-learn."""
    return any(kind in base.__name__ for base in type(splitter).__mro__)


def _split(pair: Any, n: int, name: str, number: int) -> tuple[Numbers, Numbers]:
    """Return the positions of a split, training before held-out, or refuse it."""
    sides = pair if isinstance(pair, (tuple, list)) else ()
    found = [_positions(side) for side in sides]
    split = f"split {number} of {name}"
    if len(found) != 2 or any(side.ndim != 1 for side in found):
        raise SchemeError(
            f"{split} is {_short(pair)}, not a pair (training, held-out) of arrays of "
            "positions, such as ([0, 1, 2], [3, 4])."
        )
    for side in found:
        if len(side) and side.dtype.kind not in "iu":
            raise SchemeError(
                f"{split} must hold positions, which are integers from 0, not "
                f"{_short(side[0])}."
            )
    train, test = found
    if not len(test) or not len(train):
        raise SchemeError(f"{split} is empty on one side.")
    both = np.concatenate(found)
    if both.min() < 0 or both.max() >= n:
        raise SchemeError(
            f"{split} is not of these {n} records: it names the positions "
            f"{both.min()} to {both.max()}."
        )
    if len(np.intersect1d(train, test)):
        raise SchemeError(f"{split} trains on held-out records.")
    if len(np.unique(test)) < len(test):
        raise SchemeError(f"{split} holds a record out twice.")
    return train, test


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _positions(rows: Any) -> Numbers:
    try:
        array = np.asarray(rows)
    except ValueError:  # rows of different lengths
        return np.empty((0, 0), dtype=np.intp)
    return np.flatnonzero(array) if array.dtype == bool and array.ndim == 1 else array


def _partitions(tests: list[Numbers], n: int) -> list[Numbers] | None:
    """Group splits into partitions; None if a record is held out more often."""
    repeats: list[Numbers] = []
    fold, number = np.full(n, -1), 0
    for test in tests:
        if (fold[test] >= 0).any():
            return None
        fold[test], number = number, number + 1
        if (fold >= 0).all():
            repeats.append(fold)
            fold, number = np.full(n, -1), 0
    return None if number and repeats else repeats or [fold]


def assemble(
    scheme: str,
    sentence: str,
    held_out: Sequence[Array],
    kept_out: Sequence[Numbers] = (),
    *,
    labels: tuple[Sequence[Any], ...] | None = None,
    seed: int | None = None,
) -> FoldPlan:
    """Make a plan from a fold array per repeat, and who is kept out of each fit."""
    folds = [np.asarray(fold) for fold in held_out]
    sizes = [int(fold.max()) + 1 for fold in folds]
    return FoldPlan(
        scheme=scheme,
        sentence=sentence,
        n=len(folds[0]),
        tests=Ragged.joined(map(Ragged.grouped, folds, sizes)),
        labels=labels or tuple(range(1, size + 1) for size in sizes),
        kept_out=Ragged.of(kept_out).rising(),
        seed=seed,
    )
