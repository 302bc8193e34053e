"""What is fitted, on which records, and how it is measured: the same throughout."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.engine import Setup
from statcv.errors import DataError, MetricError, SchemeError, suggestion
from statcv.folds import ByValue, FoldPlan, Stratifier
from statcv.folds.audit import chosen_columns, equal_records
from statcv.folds.request import FoldArguments, Holdout
from statcv.folds.strata import count_missing
from statcv.formula import Design
from statcv.metrics import Metric
from statcv.models import Model

Codes = NDArray[np.intp]
Floats = NDArray[np.float64]

SCHEMES = ("kfold", "stratified_kfold")
RECORD = "whole record"  # what copies share where no column is named


@dataclass(frozen=True, eq=False)
class Setting:
    """A design and a model that all stratifiers meet alike.

    Attributes
    ----------
    table : pandas.DataFrame
        All rows of the data.
    design : Design
    model : Model
    metric : Metric
    scheme : str or None
    k : int
    weights : numpy.ndarray or None
        Of the kept rows, in the fits.
    copies : Copies or None
        Which records are known to be of one source.
    seed : int
    """

    table: pd.DataFrame
    design: Design
    model: Model
    metric: Metric
    scheme: str | None
    k: int
    weights: Floats | None
    copies: Copies | None
    seed: int

    @cached_property
    def kept(self) -> pd.DataFrame:
        """The kept rows of the data, with all columns."""
        return self.table.iloc[self.design.kept]

    @cached_property
    def groups(self) -> Codes | None:
        """The group of known copies of each kept record; None where none is known."""
        if self.copies is None:
            return None
        codes = pd.factorize(self.copies.codes[self.design.kept])[0]
        return codes.astype(np.intp)

    @property
    def distinct(self) -> int:
        """How many of the kept records are left if copies are counted once."""
        return self.design.n if self.groups is None else int(self.groups.max()) + 1

    def plan(self, stratifier: Stratifier, repeats: int = 1) -> FoldPlan:
        """Return the folds of a stratifier, drawn again where they are random."""
        return self._plan(self.table, stratifier, repeats if stratifier.random else 1)

    def unbiased_plan(self, repeats: int = 1) -> FoldPlan:
        """Return random folds in which known copies never part."""
        if self.copies is None:
            return self._plan(self.table, None, repeats)
        name = self.copies.label
        table = self.table.assign(**{name: self.copies.codes})
        return self._plan(table, ByValue((name,)), repeats)

    def _plan(
        self, table: pd.DataFrame, stratifier: Stratifier | None, repeats: int
    ) -> FoldPlan:
        arguments = FoldArguments(
            scheme=self.scheme,
            k=self.k,
            repeats=None if repeats == 1 else repeats,
            stratify=stratifier,
        )
        columns = self.design.formula.outcome_columns
        return Holdout(arguments, table, stratifier).plan(
            self.design.kept, self.design.outcome, columns, self.seed
        )

    def setup(self, plan: FoldPlan, numbers: Codes | None = None) -> Setup:
        """Return what the engine fits."""
        return Setup(self.design, plan, self.model, self.seed, self.weights, numbers)

    # ---- the metric, as a loss ----

    @property
    def points(self) -> bool:
        """Whether differences of the metric are told in points, hundredths."""
        return self.metric.bounds == (0.0, 1.0)

    @property
    def scale(self) -> float:
        """By what differences of the metric are multiplied."""
        return 100.0 if self.points else 1.0

    @property
    def sign(self) -> float:
        """1 where more is better, else -1."""
        return 1.0 if self.metric.greater_is_better else -1.0

    def drop(self, before: Any, after: Any) -> Any:
        """Return how much worse the metric became, in points or its own units."""
        return self.scale * self.sign * (before - after)


@dataclass(frozen=True, eq=False)
class Copies:
    """Records that are known to be of one source.

    Attributes
    ----------
    columns : tuple of str
        What makes them so; empty for all columns.
    codes : numpy.ndarray of int
        The source of each row of the data.
    """

    columns: tuple[str, ...]
    codes: Codes

    @property
    def label(self) -> str:
        """What copies share, in words."""
        return " + ".join(self.columns) or RECORD


def read_copies(duplicates: Any, table: pd.DataFrame) -> Copies | None:
    """Return which rows are known copies of each other.

    Parameters
    ----------
    duplicates : str, list of str, bool or None
        As :meth:`statcv.folds.FoldPlan.audit` takes them; None and False: none known.
    table : pandas.DataFrame

    Raises
    ------
    ColumnError
        If there is no such column.
    DataError
        If an identifier is missing.
    """
    if duplicates is None or duplicates is False:
        return None
    if duplicates is True:
        return Copies((), equal_records(table))
    columns = chosen_columns(table, duplicates)
    for name in columns if len(columns) == 1 else ():
        if count := count_missing(table[name]):
            raise DataError(
                f"duplicates={name!r} is missing in {count} of {len(table)} records, "
                "which would all count as copies of one; leave those rows out, or "
                "give each a value of its own."
            )
    return Copies(tuple(map(str, columns)), equal_records(table, columns))


def check_scheme(scheme: Any) -> None:
    """Refuse what is no scheme of k folds that a stratifier makes by itself."""
    if scheme is not None and (not isinstance(scheme, str) or scheme not in SCHEMES):
        raise SchemeError(
            f"scheme={scheme!r}: the bias of a stratifier is measured under "
            f"{' or '.join(map(repr, SCHEMES))}." + suggestion(scheme, SCHEMES)
        )


def check_metric(metric: Metric) -> None:
    """Refuse a metric of which neither more nor less is better."""
    if metric.target is not None:
        raise MetricError(
            f"of the {metric.label} neither more nor less is better, so that it has "
            "no bias for better or worse; choose another metric."
        )
