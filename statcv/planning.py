"""What a call says of holding out, and the plan that comes of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import SchemeError
from statcv.folds import SCHEMES, FoldPlan
from statcv.folds.resolve import resolve_plan
from statcv.folds.response import Response
from statcv.folds.strata import Stratifier, resolve_stratifier
from statcv.formula import Outcome
from statcv.formula.columns import row_values


@dataclass(frozen=True, eq=False)
class Holdout:
    """The arguments of a call that say who is held out, and on whom fits train.

    Attributes
    ----------
    arguments : mapping
        ``scheme``, ``k``, ``p``, ``pairs``, ``repeats``, ``rebalance``, as given.
    table : pandas.DataFrame
        All rows of the data.
    stratifier : Stratifier or None
    """

    arguments: Mapping[str, Any]
    table: pd.DataFrame
    stratifier: Stratifier | None

    @classmethod
    def read(cls, arguments: Mapping[str, Any], table: pd.DataFrame) -> Holdout:
        """Find the stratifier among the columns of the data."""
        stratify = arguments["stratify"]
        if stratify is None:
            return cls(arguments, table, None)
        names = getattr(stratify, "columns", stratify)
        named = [names] if isinstance(names, str) else names
        known = isinstance(named, (list, tuple)) and all(
            isinstance(name, str) and name in table.columns for name in named
        )
        there = table.dropna(subset=list(named)) if known else table
        found = resolve_stratifier(stratify, there if len(there) else table)
        return cls(arguments, table, found)

    @property
    def fold_column(self) -> list[str]:
        """The column of fold numbers that ``scheme`` names, if it does."""
        scheme = self.arguments["scheme"]
        named = isinstance(scheme, str) and scheme not in SCHEMES
        return [scheme] if named and scheme in self.table.columns else []

    @property
    def not_in_dot(self) -> list[str]:
        """Columns that are no predictors: fold numbers and identifiers."""
        found = self.stratifier
        identifiers = found.columns if found and found.identifies else ()
        return [*self.fold_column, *identifiers]

    def warn(self, kept: NDArray[np.intp]) -> None:
        """Warn of signs that the stratifier's columns were meant otherwise."""
        if self.stratifier is not None:
            named = not isinstance(self.arguments["stratify"], Stratifier)
            self.stratifier.warn(self.table.iloc[kept], named)

    def plan(
        self,
        kept: NDArray[np.intp],
        outcome: Outcome | None,
        outcome_columns: Collection[str],
        seed: int,
    ) -> FoldPlan:
        """Make the plan of the kept rows."""
        given, found = self.arguments, self.stratifier
        for column in self.fold_column:
            if column in outcome_columns:
                raise SchemeError(
                    f"scheme={column!r} is the outcome: it makes no folds."
                )
        for column in found.columns if found else ():
            if column in outcome_columns:
                raise SchemeError(
                    f"stratify={column!r} is the outcome. Here equal values of the "
                    "stratifier never part, so that folds would differ in the outcome "
                    "as much as they can; to spread its classes evenly use "
                    "scheme='stratified_kfold'."
                )
        response = None
        if outcome is not None:
            response = Response.of(
                outcome.y, outcome.kind, outcome.levels, outcome.name
            )
        return resolve_plan(
            self._scheme(kept),
            response,
            self.table.iloc[kept],
            k=given["k"],
            p=given["p"],
            pairs=given["pairs"],
            repeats=given["repeats"],
            rebalance=given["rebalance"],
            stratifier=found,
            seed=seed,
            columns=self.table.columns,
        )

    def _scheme(self, kept: NDArray[np.intp]) -> Any:
        """Turn a column's name or an array of fold numbers into a series of rows."""
        scheme = self.arguments["scheme"]
        if isinstance(scheme, (int, np.integer)):
            raise SchemeError(f"scheme={scheme} is a number; for {scheme} folds say k.")
        if isinstance(scheme, Iterator):
            raise SchemeError(
                "scheme= can be read once only; give the splitter itself, or a list "
                "of (training, held-out) pairs."
            )
        pairs = isinstance(scheme, list) and all(isinstance(s, tuple) for s in scheme)
        known = scheme is None or pairs or isinstance(scheme, (str, type))
        if not self.fold_column and (known or hasattr(scheme, "split")):
            return scheme
        return row_values(scheme, self.table, "scheme").iloc[kept]
