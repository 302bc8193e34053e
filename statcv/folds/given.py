"""Folds made elsewhere: a column of fold numbers, or a scikit-learn splitter."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import SchemeError
from statcv.folds.plan import FoldPlan, Rows, assemble


def plan_from_column(folds: Any, name: str) -> FoldPlan:
    """Make a plan of the fold number of each record, as given.

    Parameters
    ----------
    folds : array-like of int, shape (n,)
    name : str
        How to call it in messages.

    Examples
    --------
    >>> plan_from_column([1, 2, 1, 2], "site").n_splits
    2
    """
    column = pd.Series(np.asarray(folds).ravel() if not _is_series(folds) else folds)
    if column.isna().any():
        raise SchemeError(
            f"the folds {name!r} are missing in {int(column.isna().sum())} rows; "
            "give every row a fold, or leave those rows out of the data."
        )
    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        raise SchemeError(
            f"the folds {name!r} must be whole numbers, not {column.dtype}; "
            "for text use data[...].astype('category').cat.codes."
        )
    values = column.to_numpy(dtype=float)
    if (values != np.round(values)).any():
        raise SchemeError(f"the folds {name!r} must be whole numbers.")
    labels, fold = np.unique(values.astype(np.int64), return_inverse=True)
    if len(labels) < 2:
        raise SchemeError(f"the folds {name!r} hold one value only: {labels[0]}.")
    sentence = f"{len(labels)} folds as given by {name}"
    return assemble("given", sentence, [fold], labels=[labels.tolist()])


def _is_series(folds: Any) -> bool:
    return isinstance(folds, (pd.Series, pd.Index))


def plan_from_splitter(splitter: Any, y: NDArray[Any], seed: int) -> FoldPlan:
    """Make a plan of what a scikit-learn splitter yields.

    A splitter without ``random_state`` gets one from ``seed``. Splits that cover
    every record in turn are repeats of a partition (``RepeatedKFold``); where a
    record is held out more often otherwise (``ShuffleSplit``), each split is a
    repeat by itself. Records in neither set count as dropped from training.
    """
    name = type(splitter).__name__
    random = getattr(splitter, "random_state", 0) is None
    if random:
        splitter = copy.copy(splitter)
        splitter.random_state = int(np.random.SeedSequence(seed).generate_state(1)[0])
    try:
        pairs = list(splitter.split(np.zeros((len(y), 1)), y))
    except (TypeError, ValueError) as error:
        raise SchemeError(
            f"the splitter {name} could not split these data: {error}"
        ) from error
    splits = [(np.asarray(train), np.asarray(test)) for train, test in pairs]
    for number, (train, test) in enumerate(splits, start=1):
        _check_split(train, test, name, number)
    held_out = _repeats([test for _, test in splits], len(y))
    dropped = [_neither(train, test, len(y)) for train, test in splits]
    sentence = f"{len(splits)} splits by {name}"
    return assemble(name, sentence, held_out, dropped, seed=seed if random else None)


def _check_split(train: Rows, test: Rows, name: str, number: int) -> None:
    if len(np.intersect1d(train, test)):
        raise SchemeError(f"split {number} of {name} trains on held-out records.")
    if len(np.unique(train)) < len(train) or len(np.unique(test)) < len(test):
        raise SchemeError(
            f"split {number} of {name} holds a record twice; give weights instead."
        )
    if not len(test) or not len(train):
        raise SchemeError(f"split {number} of {name} is empty on one side.")


def _repeats(tests: list[Rows], n: int) -> list[NDArray[np.intp]]:
    """Group splits into partitions where they are such, else one split a repeat."""
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


def _neither(train: Rows, test: Rows, n: int) -> Rows:
    used = np.zeros(n, dtype=bool)
    used[train] = used[test] = True
    return np.flatnonzero(~used)
