"""The data, model and metric that are the same for all candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from statcv.engine import Setup
from statcv.errors import DataError, MetricError, SchemeError, suggestion
from statcv.folds import ByValue, FoldPlan, Stratifier
from statcv.folds.audit import chosen_columns, equal_records
from statcv.folds.request import FoldArguments, Holdout
from statcv.folds.strata import count_missing
from statcv.formula import Design
from statcv.inference import Scores, record_influence, sums_by_cluster
from statcv.inference.estimates.values import casewise_by_record, values_by_repeat
from statcv.metrics import Metric
from statcv.models import Model
from statcv.numeric.arrays import Floats, Numbers
from statcv.tables import Printed

SCHEMES = ("kfold", "stratified_kfold")
RECORD = "whole record"  # what duplicates share if no column is named


@dataclass(frozen=True, eq=False, repr=False)
class Setting(Printed):
    """The data, model and metric with which all stratifiers are compared.

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
        The weights of the kept rows in the fits.
    duplicates : Duplicates or None
        The known duplicates.
    seed : int
    """

    table: pd.DataFrame
    design: Design
    model: Model
    metric: Metric
    scheme: str | None
    k: int
    weights: Floats | None
    duplicates: Duplicates | None
    seed: int

    @cached_property
    def kept(self) -> pd.DataFrame:
        """The kept rows of the data, with all columns."""
        return self.table.iloc[self.design.kept]

    @cached_property
    def groups(self) -> Numbers | None:
        """The group of duplicates of each kept record; None if none are known."""
        if self.duplicates is None:
            return None
        codes = pd.factorize(self.duplicates.codes[self.design.kept])[0]
        return codes.astype(np.intp)

    @property
    def distinct(self) -> int:
        """The number of kept records if duplicates are counted once."""
        return self.design.n if self.groups is None else int(self.groups.max()) + 1

    def plan(self, stratifier: Stratifier, repeats: int = 1) -> FoldPlan:
        """Return the folds of a stratifier, drawn repeatedly if they are random."""
        return self._plan(self.table, stratifier, repeats if stratifier.random else 1)

    def unbiased_plan(self, repeats: int = 1) -> FoldPlan:
        """Return random folds across which known duplicates are never split."""
        if self.duplicates is None:
            return self._plan(self.table, None, repeats)
        name = self.duplicates.label
        table = self.table.assign(**{name: self.duplicates.codes})
        return self._plan(table, ByValue((name,)), repeats)

    def _plan(
        self, table: pd.DataFrame, stratifier: Stratifier | None, repeats: int
    ) -> FoldPlan:
        asked: dict[str, Any] = {"scheme": self.scheme, "k": self.k}
        asked["repeats"] = None if repeats == 1 else repeats
        arguments = FoldArguments(**asked, stratify=stratifier)
        design, holdout = self.design, Holdout(arguments, table, stratifier)
        columns = design.formula.outcome_columns
        return holdout.plan(design.kept, design.outcome, columns, self.seed)

    def setup(self, plan: FoldPlan, numbers: Numbers | None = None) -> Setup:
        """Return the setup for the engine."""
        return Setup(self.design, plan, self.model, self.seed, self.weights, numbers)

    # ---- the metric, as a loss ----

    @property
    def points(self) -> bool:
        """Whether differences of the metric are reported in points, or hundredths."""
        return self.metric.bounds == (0.0, 1.0)

    @property
    def scale(self) -> float:
        """The factor by which differences of the metric are multiplied."""
        return 100.0 if self.points else 1.0

    @property
    def sign(self) -> float:
        """1 if larger values of the metric are better, else -1."""
        return 1.0 if self.metric.greater_is_better else -1.0

    def drop(self, before: Any, after: Any) -> Any:
        """Return how much worse the metric became, in points or its own units."""
        return self.scale * self.sign * (before - after)


@dataclass(frozen=True, eq=False, repr=False)
class Duplicates(Printed):
    """Records that are known to be duplicates.

    Attributes
    ----------
    columns : tuple of str
        The columns whose equal values identify duplicates; empty for all columns.
    codes : numpy.ndarray of int
        The group of duplicates of each row of the data.
    """

    columns: tuple[str, ...]
    codes: Numbers

    @property
    def label(self) -> str:
        """The columns that duplicates share, in words."""
        return " + ".join(self.columns) or RECORD


def read_duplicates(duplicates: Any, table: pd.DataFrame) -> Duplicates | None:
    """Return which rows are known duplicates of each other.

    Parameters
    ----------
    duplicates : str, list of str, bool or None
        Columns that identify duplicates, as in :meth:`statcv.folds.FoldPlan.audit`; if
        None or False, none are known.
    table : pandas.DataFrame

    Raises
    ------
    ColumnError
        If a named column is not in the data.
    DataError
        If an identifier is missing.
    """
    if duplicates is None or duplicates is False:
        return None
    if duplicates is True:
        return Duplicates((), equal_records(table))
    columns = chosen_columns(table, duplicates)
    for name in columns if len(columns) == 1 else ():
        if count := count_missing(table[name]):
            raise DataError(
                f"duplicates={name!r} is missing in {count} of {len(table)} records, "
                "which would all count as duplicates of one record; remove those rows, "
                "or give each of them a distinct value."
            )
    return Duplicates(tuple(map(str, columns)), equal_records(table, columns))


def check_scheme(scheme: Any) -> None:
    """Check that the scheme is a k-fold scheme in which a stratifier defines folds."""
    if scheme is not None and (not isinstance(scheme, str) or scheme not in SCHEMES):
        raise SchemeError(
            f"scheme={scheme!r}: the bias of a stratifier is measured under "
            f"{' or '.join(map(repr, SCHEMES))}." + suggestion(scheme, SCHEMES)
        )


def check_metric(metric: Metric) -> None:
    """Check that larger or smaller values of the metric are better."""
    if metric.target is not None:
        raise MetricError(
            f"neither larger nor smaller values of the {metric.label} are better, so "
            "that its bias is neither optimistic nor pessimistic; choose another "
            "metric."
        )


# ---- the metric of held-out predictions, and the influence of each record ----


def values_of(runs: Sequence[Scores], metric: Metric, how: str) -> Floats:
    """Return the metric in every repeat of every run."""
    return np.concatenate([values_by_repeat(run, metric, how) for run in runs])


def mean_value(scores: Scores, metric: Metric, how: str) -> float:
    """Return the mean over repeats; NaN if the metric is undefined in one."""
    return float(values_by_repeat(scores, metric, how).mean())


def se_of_difference(
    setting: Setting, runs: Sequence[Scores], others: Sequence[Scores], how: str
) -> float:
    """Return the standard error over records of the difference of two estimates.

    The influence of each record on the metric, averaged over runs, is computed to first
    order with the fits taken as given. Groups of duplicates count as one record. The
    standard error is NaN if the influence on the metric is not known.
    """

    def mean(scores: Sequence[Scores]) -> Floats:
        moved = [_moved(one, setting.metric, how) for one in scores]
        return np.asarray(np.mean(moved, axis=0))

    change = mean(runs) - mean(others)
    if setting.groups is not None:
        change = sums_by_cluster(change, setting.groups)[0]
    return float(np.sqrt((change**2).sum()))


def _moved(scores: Scores, metric: Metric, how: str) -> Floats:
    """Return influences that sum to 0 and whose squares sum to the variance."""
    if metric.is_auroc:
        return record_influence(scores, how)
    loss = metric.root_of or metric
    if loss.casewise is None:
        return np.full(len(scores.y), np.nan)
    rows, losses = casewise_by_record(scores, loss)
    mean = float(losses.mean())
    moved = np.zeros(len(scores.y))
    moved[rows] = (losses - mean) / len(rows)
    return moved / (2 * np.sqrt(mean)) if metric.root_of and mean > 0 else moved
