"""Folds given by a column of fold numbers, or by a scikit-learn splitter."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import FoldWarning, SchemeError, warn
from statcv.folds.plan import FoldPlan, Rows
from statcv.folds.ragged import Ragged
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
    sentence = f"{len(labels)} folds as given{by}"
    return assemble("given", sentence, [fold], labels=[labels.tolist()])


def plan_from_splitter(splitter: Any, y: NDArray[Any], seed: int) -> FoldPlan:
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
    name = type(splitter).__name__
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
        pairs = list(splitter.split(np.zeros((len(y), 1)), y))
    except (TypeError, ValueError) as error:
        raise SchemeError(
            f"the splitter {name} could not split these data: {error}"
        ) from error
    if not pairs:
        raise SchemeError(f"the splitter {name} yields no split.")
    splits = [_split(pair, name, number) for number, pair in enumerate(pairs, start=1)]
    for number, (train, test) in enumerate(splits, start=1):
        _check_split(train, test, len(y), name, number)
    tests = [test for _, test in splits]
    by_chance = _is_a(splitter, "ShuffleSplit")  # disjoint ones would be so by chance
    held_out = _alone(tests, len(y)) if by_chance else _repeats(tests, len(y))
    every = np.arange(len(y))
    kept_out = [np.setdiff1d(every, np.concatenate(split)) for split in splits]
    copied = [_again(train, len(y)) for train, _ in splits]
    unused = int((np.bincount(np.concatenate(kept_out)) == len(splits)).sum())
    if unused:
        warn(
            f"{unused} of {len(y)} records are in no split of {name}, neither held "
            "out nor trained on.",
            FoldWarning,
        )
    given = isinstance(splitter, GivenSplits)
    sentence = f"{plural(len(splits), 'split')} {'as given' if given else f'by {name}'}"
    name = "given" if given else name
    plan = assemble(name, sentence, held_out, kept_out, seed=seed if random else None)
    return replace(plan, copied=Ragged.of(copied))


def _is_a(splitter: Any, kind: str) -> bool:
    """Recognise scikit-learn's families by name, without an import of scikit-learn."""
    return any(kind in base.__name__ for base in type(splitter).__mro__)


def _split(pair: Any, name: str, number: int) -> tuple[Rows, Rows]:
    """Return the positions of a split, training before held-out."""
    sides = pair if isinstance(pair, (tuple, list)) else ()
    found = [_positions(side) for side in sides]
    if len(found) != 2 or any(side.ndim != 1 for side in found):
        raise SchemeError(
            f"split {number} of {name} is {_short(pair)}, not a pair (training, "
            "held-out) of arrays of positions, such as ([0, 1, 2], [3, 4])."
        )
    for side in found:
        if len(side) and not np.issubdtype(side.dtype, np.integer):
            raise SchemeError(
                f"split {number} of {name} must hold positions, which are integers "
                f"from 0, not {_short(side[0])}."
            )
    return found[0], found[1]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _positions(rows: Any) -> Rows:
    try:
        array = np.asarray(rows)
    except ValueError:  # rows of different lengths
        return np.empty((0, 0), dtype=np.intp)
    return np.flatnonzero(array) if array.dtype == bool and array.ndim == 1 else array


def _check_split(train: Rows, test: Rows, n: int, name: str, number: int) -> None:
    if not len(test) or not len(train):
        raise SchemeError(f"split {number} of {name} is empty on one side.")
    both = np.concatenate([train, test])
    if both.min() < 0 or both.max() >= n:
        raise SchemeError(
            f"split {number} of {name} is not of these {n} records: it names the "
            f"positions {both.min()} to {both.max()}."
        )
    if len(np.intersect1d(train, test)):
        raise SchemeError(f"split {number} of {name} trains on held-out records.")
    if len(np.unique(test)) < len(test):
        raise SchemeError(f"split {number} of {name} holds a record out twice.")


def _repeats(tests: list[Rows], n: int) -> list[NDArray[np.intp]]:
    """Group splits into partitions if they form any, else one split per repeat."""
    repeats: list[NDArray[np.intp]] = []
    fold, number = np.full(n, -1), 0
    for test in tests:
        if (fold[test] >= 0).any():
            return _alone(tests, n)
        fold[test] = number
        number += 1
        if (fold >= 0).all():
            repeats.append(fold)
            fold, number = np.full(n, -1), 0
    if number and repeats:
        return _alone(tests, n)
    return repeats or [fold]


def _alone(tests: list[Rows], n: int) -> list[NDArray[np.intp]]:
    repeats = []
    for test in tests:
        fold = np.full(n, -1)
        fold[test] = 0
        repeats.append(fold)
    return repeats


def _again(train: Rows, n: int) -> Rows:
    """Return each repeated training record, once for every repetition."""
    times = np.bincount(train, minlength=n)
    return np.repeat(np.arange(n), np.maximum(times - 1, 0))


class GivenSplits:
    """A list of (training, held-out) pairs that acts as a splitter."""

    def __init__(self, pairs: list[Any]) -> None:
        self.pairs = pairs

    def split(self, X: Any, y: Any) -> list[Any]:
        """Return the pairs."""
        return self.pairs


def assemble(
    scheme: str,
    sentence: str,
    held_out: Sequence[NDArray[Any]],
    kept_out: Sequence[Rows] = (),
    *,
    labels: Sequence[Sequence[Any]] | None = None,
    seed: int | None = None,
) -> FoldPlan:
    """Make a plan from a fold array per repeat, and who is kept out of each fit."""
    folds = [np.asarray(fold) for fold in held_out]
    if labels is None:
        labels = [range(1, int(fold.max()) + 2) for fold in folds]
    tests = Ragged.joined(
        Ragged.grouped(fold, len(names))
        for fold, names in zip(folds, labels, strict=True)
    )
    none = Ragged.empty(len(tests))
    return FoldPlan(
        scheme=scheme,
        sentence=sentence,
        n=len(folds[0]),
        tests=tests,
        labels=tuple(
            names if isinstance(names, range) else tuple(names) for names in labels
        ),
        dropped=none,
        kept_out=Ragged.of(kept_out).rising() if len(kept_out) else none,
        copied=none,
        first_fit=np.arange(len(tests) + 1),
        seed=seed,
    )
