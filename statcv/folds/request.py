"""The arguments of a call that define the folds: scheme, plan, splitter, stratifier."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import ArgumentError, FoldWarning, SchemeError, suggestion, warn
from statcv.folds.audit import trained_on_equal
from statcv.folds.plan import FoldPlan
from statcv.folds.rebalance.balance import balance, rebalancing
from statcv.folds.response import Response
from statcv.folds.schemes.build import FoldArguments, PlanRequest
from statcv.folds.schemes.table import SCHEMES
from statcv.folds.strata.clusters import Strata
from statcv.folds.strata.stratifier import ByValue, Stratifier, resolve_stratifier
from statcv.folds.user_folds import plan_from_column, plan_from_splitter
from statcv.formula import Outcome, row_values
from statcv.numeric.arrays import Numbers
from statcv.words import plural

__all__ = ["FoldArguments", "Holdout"]

Names = Collection[str]  # names of columns
EVEN = 1e-9  # shares of classes in training that differ by less are the same


def resolve_plan(
    scheme: Any,
    response: Response | None,
    frame: pd.DataFrame,
    given: FoldArguments,
    stratifier: Stratifier | None,
    seed: int,
    columns: Names = (),
) -> FoldPlan:
    """Return the plan that a name or an object stands for.

    Parameters
    ----------
    scheme : str, FoldPlan, scikit-learn splitter, pandas.Series, list or None
        A series holds the fold number of each record, a list holds (training, held-out)
        pairs of positions. None means class-stratified k-fold for classes, and k-fold
        for a continuous outcome or if a stratifier makes the folds.
    response : Response or None
    frame : pandas.DataFrame
        The records, with the columns of the stratifier.
    given : FoldArguments
        The arguments besides the scheme and the stratifier.
    stratifier : Stratifier or None
    seed : int
    columns : collection of str
        Columns of the data, suggested for a misspelt name.

    Raises
    ------
    SchemeError
        If it is unknown or does not fit the records.
    ArgumentError
        If an argument does not apply to it.
    """
    if scheme is None:
        by_class = response is not None and response.by_class
        free = stratifier is None or not stratifier.fixes_folds
        scheme = "stratified_kfold" if by_class and free else "kfold"
    if isinstance(scheme, str):
        if scheme not in SCHEMES:
            raise SchemeError(
                f"there is no scheme {scheme!r}; there are {', '.join(SCHEMES)}, any "
                "scikit-learn splitter, and the data's columns of fold numbers."
                + suggestion(scheme, [*SCHEMES, *columns])
            )
        request = SCHEMES[scheme], response, len(frame), given, stratifier, frame, seed
        return PlanRequest(*request).plan()
    for name in ("k", "p", "pairs", "repeats"):
        value = getattr(given, name)
        if value is not None:
            raise ArgumentError(
                f"{name}={value!r} means nothing where the folds are given."
            )
    plan = _given(scheme, response, frame, seed)
    if stratifier is not None:
        plan = _clustered(plan, stratifier, frame)
    elif plan.strata is not None and plan.strata.by_site and plan.strata.identifies:
        label = plan.strata.label
        warn(
            "the joined plan cannot tell whether records of different sites have the "
            f"same {label}; intervals count them as different, and are too narrow if "
            f"some are the same. Give stratify={label!r} to count them once.",
            FoldWarning,
        )
    how = rebalancing(given.rebalance)
    return plan if how is None else balance(plan, how, seed)


def _given(
    scheme: Any, response: Response | None, frame: pd.DataFrame, seed: int
) -> FoldPlan:
    """Return the plan of folds from other software."""
    n = len(frame)
    if isinstance(scheme, FoldPlan):
        if scheme.n != n:
            raise SchemeError(
                f"the plan is for {scheme.n} records, but {n} rows are used: "
                "those that are complete, or kept by na_action='pass', and have a "
                "weight above 0."
            )
        if scheme.rows is not None and not scheme.rows.equals(frame.index):
            raise SchemeError(
                "the plan is for rows of other labels, or in another order; make it "
                "of these data."
            )
        _check_balance(scheme, response)
        return replace(scheme, response=response or scheme.response)
    if isinstance(scheme, type):
        raise SchemeError(f"scheme={scheme.__name__} is a class; make an object of it.")
    if isinstance(scheme, pd.Series):
        plan = plan_from_column(scheme, str(scheme.name))
    else:
        y = frame.iloc[:, 0].to_numpy() if response is None else response.values
        plan = plan_from_splitter(scheme, y, seed)
    return replace(plan, response=response, rows=frame.index)


def _clustered(plan: FoldPlan, stratifier: Stratifier, frame: pd.DataFrame) -> FoldPlan:
    """Return given folds with clusters, which they must not divide."""
    label = stratifier.label
    if not isinstance(stratifier, ByValue):
        raise ArgumentError(
            f"{stratifier.made_by}({label!r}) makes folds, and means nothing where "
            f"they are given; stratify={label!r} says which records are one cluster."
        )
    codes = stratifier.values(frame)
    if plan.strata is not None and not _holds(plan.strata, codes):
        raise ArgumentError(
            f"stratify={label!r}: the plan keeps {plan.strata.label} together already."
        )
    seen, tests = trained_on_equal(plan, codes), plan.tests
    if seen.any():
        values = pd.Series(codes[tests.values[seen]])
        divided = values.groupby(tests.owners[seen]).nunique()
        lost = plural(len(divided), "fit")
        raise SchemeError(
            f"the given folds divide {label}: in {lost} of {plan.n_splits}, up to "
            f"{divided.max()} of its values are both held out and trained on. Give "
            "folds that keep them together, such as those of GroupKFold, or let "
            "stratify= make the folds, without scheme=."
        )
    strata = Strata(label, codes, int(codes.max()) + 1, made_by=stratifier.made_by)
    said = f"{plan.sentence}; {strata.sentence}"
    return replace(plan, strata=strata, sentence=said)


def _holds(strata: Strata, codes: Numbers) -> bool:
    """Return whether strata of a joined plan are parts of larger ones."""
    pairs = np.unique(np.stack([strata.codes, codes]), axis=1)
    return strata.by_site and pairs.shape[1] == strata.count


def _check_balance(plan: FoldPlan, response: Response | None) -> None:
    """Refuse a plan whose training sets were made alike for another outcome."""
    if plan.rebalance is None or response is None:
        return
    made = plan.response
    if made is not None and not (made.by_class and response.by_class):
        same = np.array_equal(made.values, response.values)
        if made.kind != response.kind or not same:
            raise SchemeError(
                f"the plan is rebalanced for {made.name}, not for {response.name}; "
                "make the plan of this outcome."
            )
    spread = 0.0
    for code in range(response.classes * response.by_class):
        means = plan.training_means((response.codes == code).astype(float))
        spread = max(spread, float(np.ptp(means)))
    if spread > EVEN:
        raise SchemeError(
            f"the plan is rebalanced for another outcome than {response.name}: shares "
            f"of its classes in training differ by up to {spread:.3f}; make the plan "
            "of this outcome."
        )


# ---- the arguments of a call that define the folds, and the plan they make ----


@dataclass(frozen=True, eq=False)
class Holdout:
    """The arguments that define the folds, with the data that they refer to.

    Attributes
    ----------
    arguments : FoldArguments
    table : pandas.DataFrame
        All rows of the data.
    stratifier : Stratifier or None
    """

    arguments: FoldArguments
    table: pd.DataFrame
    stratifier: Stratifier | None

    @classmethod
    def read(cls, arguments: FoldArguments, table: pd.DataFrame) -> Holdout:
        """Find the stratifier among the columns of the data."""
        stratify, there = arguments.stratify, table
        if stratify is None:
            return cls(arguments, table, None)
        names = getattr(stratify, "columns", stratify)
        named = [names] if isinstance(names, str) else names
        if isinstance(named, (list, tuple)) and all(
            isinstance(name, str) and name in table.columns for name in named
        ):
            there = table.dropna(subset=list(named))
        found = resolve_stratifier(stratify, there if len(there) else table)
        return cls(arguments, table, found)

    @property
    def fold_column(self) -> list[str]:
        """The column of fold numbers that ``scheme`` names, if it does."""
        scheme = self.arguments.scheme
        named = isinstance(scheme, str) and scheme not in SCHEMES
        return [scheme] if named and scheme in self.table.columns else []

    @property
    def not_in_dot(self) -> list[str]:
        """Columns that are not predictors: fold numbers and identifiers."""
        found = self.stratifier
        identifiers = found.columns if found and found.identifies else ()
        return [*self.fold_column, *identifiers]

    def warn(self, kept: Numbers) -> None:
        """Warn of signs that the stratifier's columns were meant otherwise."""
        if self.stratifier is not None:
            named = not isinstance(self.arguments.stratify, Stratifier)
            self.stratifier.warn(self.table.iloc[kept], named)

    def plan(
        self, kept: Numbers, outcome: Outcome | None, outcome_columns: Names, seed: int
    ) -> FoldPlan:
        """Make the plan of the kept rows."""
        found = self.stratifier
        for column in self.fold_column:
            if column in outcome_columns:
                raise SchemeError(
                    f"scheme={column!r} is the outcome: it makes no folds."
                )
        for column in found.columns if found else ():
            if column in outcome_columns:
                raise SchemeError(
                    f"stratify={column!r} is the outcome. Equal values of a stratifier "
                    "are never split, so that folds would differ in the outcome as "
                    "much as they can; to spread its classes evenly use "
                    "scheme='stratified_kfold'."
                )
        return resolve_plan(
            self._scheme(kept),
            None if outcome is None else Response.of_outcome(outcome),
            self.table if len(kept) == len(self.table) else self.table.iloc[kept],
            self.arguments,
            found,
            seed,
            self.table.columns,
        )

    def _scheme(self, kept: Numbers) -> Any:
        """Turn a column's name or an array of fold numbers into a series of rows."""
        scheme = self.arguments.scheme
        if isinstance(scheme, (int, np.integer)):
            raise SchemeError(f"scheme={scheme} is a number; for {scheme} folds say k.")
        if isinstance(scheme, Iterator):
            raise SchemeError(
                "scheme= can be read once only; give the splitter itself, or a list "
                "of (training, held-out) pairs."
            )
        pairs = isinstance(scheme, list) and all(isinstance(s, tuple) for s in scheme)
        predefined = hasattr(scheme, "test_fold")  # as of a PredefinedSplit
        if (pairs or predefined) and len(kept) < len(self.table):
            raise SchemeError(
                f"only {len(kept)} of {len(self.table)} rows are used, so that "
                "positions in scheme= may mean other rows; drop the others before "
                "making the splits, or give a column of folds."
            )
        known = scheme is None or pairs or isinstance(scheme, (str, type))
        if not self.fold_column and (known or hasattr(scheme, "split")):
            return scheme
        return row_values(scheme, self.table, "scheme").iloc[kept]
