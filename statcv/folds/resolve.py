"""Strings name schemes; plans, splitters and fold numbers are accepted as well."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ArgumentError, SchemeError, suggestion
from statcv.folds.given import GivenSplits, plan_from_column, plan_from_splitter
from statcv.folds.plan import FoldPlan
from statcv.folds.schemes import SCHEMES, make_plan


def resolve_plan(
    scheme: Any,
    y: NDArray[np.generic],
    kind: str,
    *,
    k: int | None = None,
    repeats: int | None = None,
    seed: int = 0,
    levels: tuple[object, ...] = (),
    columns: Collection[str] = (),
) -> FoldPlan:
    """Return the plan that a name or an object stands for.

    Parameters
    ----------
    scheme : str, FoldPlan, scikit-learn splitter, pandas.Series, list or None
        A series holds the fold number of each record, a list (training, held-out)
        pairs of positions. None is class-stratified k-fold for classes, k-fold for
        numbers.
    y, kind, k, repeats, seed, levels
        As :func:`make_plan` takes them.
    columns : collection of str
        Columns of the data, which a misspelt name may have meant.

    Raises
    ------
    SchemeError
        If it is unknown or does not fit the records.
    ArgumentError
        If ``k`` or ``repeats`` means nothing for it.
    """
    if scheme is None:
        scheme = "kfold" if kind == "continuous" else "stratified_kfold"
    if isinstance(scheme, str):
        if scheme not in SCHEMES:
            raise SchemeError(
                f"there is no scheme {scheme!r}; there are {', '.join(SCHEMES)}, any "
                "scikit-learn splitter, and the data's columns of fold numbers."
                + suggestion(scheme, [*SCHEMES, *columns])
            )
        return make_plan(
            scheme, y, kind, k=k, repeats=repeats, seed=seed, levels=levels
        )
    for name, value in (("k", k), ("repeats", repeats)):
        if value is not None:
            raise ArgumentError(
                f"{name}={value!r} means nothing where the folds are given."
            )
    if isinstance(scheme, pd.Series):
        return plan_from_column(scheme, str(scheme.name))
    if isinstance(scheme, FoldPlan):
        if scheme.n != len(y):
            raise SchemeError(
                f"the plan is for {scheme.n} records, but {len(y)} rows are complete."
            )
        return scheme
    if isinstance(scheme, type):
        raise SchemeError(f"scheme={scheme.__name__} is a class; make an object of it.")
    if isinstance(scheme, list):
        scheme = GivenSplits(scheme)
    return plan_from_splitter(scheme, y, seed)
