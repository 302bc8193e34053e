"""What scikit-learn passes to a splitter: outcomes, groups and random states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from statcv import errors
from statcv.arguments import one_of, resolve_seed
from statcv.folds.response import Response
from statcv.folds.strata.identifiers import count_missing


def seed_of(random_state: Any) -> int:
    """Return a seed: the number itself, or one drawn from a generator.

    None draws from NumPy's global state, which ``numpy.random.seed`` sets.

    Examples
    --------
    >>> seed_of(7), seed_of(np.random.RandomState(7))
    (7, 327741615)
    """
    if isinstance(random_state, np.random.Generator):
        return resolve_seed(random_state)
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        if not isinstance(random_state, bool):
            return int(random_state)
    elif random_state is None or hasattr(random_state, "randint"):
        source = np.random if random_state is None else random_state
        return int(source.randint(2**32, dtype=np.int64))
    raise errors.ArgumentTypeError(
        "random_state must be an integer of 0 or more, a numpy RandomState or "
        f"Generator, or None, not {random_state!r}."
    )


def length(**arrays: Any) -> int:
    """Return the number of records of any array-like.

    Examples
    --------
    >>> length(X=np.zeros((3, 2)), y=["a", "b", "a"], groups=None)
    3
    """
    sizes = {
        name: int(array.shape[0]) if hasattr(array, "shape") else len(array)
        for name, array in arrays.items()
        if array is not None
    }
    if not sizes:
        raise errors.ArgumentError(f"no records are given: pass {' or '.join(arrays)}.")
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise errors.DataError(f"the numbers of records differ: {said}.")
    n = next(iter(sizes.values()))
    if not n:
        raise errors.DataError("there are no records.")
    return n


def column_of(values: Any, name: str) -> pd.Series[Any]:
    """Return a column without missing values from any array-like."""
    if isinstance(values, pd.DataFrame) and values.shape[1] == 1:
        values = values.iloc[:, 0]
    if not isinstance(values, (pd.Series, pd.Index, pd.Categorical)):
        values = np.asarray(values)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values.ravel()
    if values.ndim != 1:
        raise errors.DataError(f"{name} must have one dimension, not {values.ndim}.")
    column = pd.Series(values).reset_index(drop=True).infer_objects()
    if missing := count_missing(column):
        raise errors.DataError(
            f"{name} is missing in {missing} of {len(column)} records; leave them out."
        )
    return column


def outcome_of(y: Any, continuous: bool | None = None) -> Response:
    """Return the outcome: numbers with fractions are continuous, all else classes.

    Examples
    --------
    >>> outcome_of(["no", "yes", "no"]).kind, outcome_of([1.5, 2.0, 2.5]).kind
    ('binary', 'continuous')
    """
    if y is None:
        raise errors.ArgumentError("y is needed, the outcome of each record.")
    one_of(continuous, (None, True, False), "continuous")
    column, types = column_of(y, "y"), pd.api.types
    if types.is_numeric_dtype(column) and not types.is_bool_dtype(column):
        numbers = column.to_numpy(dtype=float)
        if infinite := int(np.isinf(numbers).sum()):
            raise errors.DataError(
                f"y is infinite in {infinite} of {len(numbers)} records."
            )
        if continuous is None:
            continuous = bool((numbers != np.round(numbers)).any())
        if continuous:
            return Response.of(numbers, "continuous")
    elif continuous:
        raise errors.DataError(
            f"continuous=True, but y holds no numbers ({column.dtype})."
        )
    codes, levels = pd.factorize(column, sort=True)
    if len(levels) < 2:
        raise errors.SchemeError(f"y has one class only: {levels.tolist()[0]!r}.")
    return Response.of_classes(codes, levels.tolist())


def classes_of(y: Any) -> Response:
    """Return the outcome, which must have classes."""
    response = outcome_of(y)
    if not response.by_class:
        raise errors.SchemeError(
            "y holds numbers with fractions, and classes are needed here; for numbers "
            "there is RebalancedLeaveOneOut."
        )
    return response


def frame_of(groups: Any) -> pd.DataFrame:
    """Return the columns whose equal values are never split across folds."""
    if groups is None:
        raise errors.ArgumentError(
            "groups is needed, whose equal values are never split; pass it to split, "
            "or to what calls it."
        )
    if isinstance(groups, pd.DataFrame) and groups.shape[1] > 1:
        columns = {str(name): column_of(groups[name], str(name)) for name in groups}
    else:
        columns = {"groups": column_of(groups, "groups")}
    return pd.DataFrame(columns)
