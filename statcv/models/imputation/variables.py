"""The columns that impute each other, as numbers and as codes of levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import DataError
from statcv.formula import Design
from statcv.models.base import Matrix

Numbers = NDArray[np.intp]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Variables:
    """Columns of a design, before the formula is applied.

    Attributes
    ----------
    columns : mapping of str to pandas.Series
        With provisional values where one is missing.
    labels : tuple of numpy.ndarray, or None
        The values that codes stand for: the levels of a factor, or two numbers.
    absent : numpy.ndarray of bool, shape (n, columns)
    """

    columns: Mapping[str, pd.Series[Any]]
    labels: tuple[NDArray[Any] | None, ...]
    absent: Bools

    @classmethod
    def of(cls, design: Design) -> Variables:
        """Take the columns of a design."""
        columns, labels = design.terms.columns, list[NDArray[Any] | None]()
        absent = np.zeros((design.n, len(columns)), dtype=bool)
        for j, (name, column) in enumerate(columns.items()):
            absent[:, j] = design.absent.get(name, False)
            if isinstance(column.dtype, pd.CategoricalDtype):
                labels.append(np.asarray(column.cat.categories))
            elif column.dtype.kind == "M":
                raise DataError(f"impute= has no model for the dates of {name!r}.")
            else:
                distinct = np.unique(column[~absent[:, j]].to_numpy(float))
                labels.append(distinct if len(distinct) == 2 else None)
        return cls(columns, tuple(labels), absent)

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns)

    @cached_property
    def incomplete(self) -> list[int]:
        """The columns in which values are missing."""
        return np.flatnonzero(self.absent.any(axis=0)).tolist()

    @cached_property
    def rows(self) -> Numbers:
        """The records that lack a value."""
        return np.flatnonzero(self.absent.any(axis=1))

    @cached_property
    def place(self) -> Numbers:
        """The place of each record among the incomplete ones, or -1."""
        lacks = self.absent.any(axis=1)
        return np.where(lacks, np.cumsum(lacks) - 1, -1)

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where the columns are among those of an imputation model, after 1."""
        widths = [1 if own is None else len(own) - 1 for own in self.labels]
        ends = np.cumsum([1, *widths])
        return tuple(map(slice, ends[:-1].tolist(), ends[1:].tolist()))

    @cached_property
    def values(self) -> Matrix:
        """The numbers and codes of all records."""
        return self.read(self.columns)

    def read(self, columns: Mapping[str, Any] | pd.DataFrame) -> Matrix:
        """Return the numbers and codes of columns, shape (rows, columns)."""
        made = []
        for own, (name, learnt) in zip(self.labels, self.columns.items(), strict=True):
            if isinstance(learnt.dtype, pd.CategoricalDtype):
                made.append(columns[name].cat.codes.to_numpy(float))
                continue
            given = columns[name].to_numpy(float, na_value=np.nan)
            made.append(given if own is None else (given >= own[1]).astype(float))
        return np.column_stack(made)

    def frame(self, values: Matrix, index: pd.Index[Any]) -> pd.DataFrame:
        """Return rows of numbers and codes as the columns that the formula reads."""
        made: dict[str, Any] = {}
        for j, (name, column) in enumerate(self.columns.items()):
            own, given = self.labels[j], values[:, j]
            made[name] = given if own is None else own[given.astype(np.intp)]
            if isinstance(column.dtype, pd.CategoricalDtype):
                made[name] = pd.Categorical(made[name], dtype=column.dtype)
            elif column.dtype.kind == "b":
                made[name] = made[name].astype(bool)
        return pd.DataFrame(made, index=index)
