"""The candidate stratifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from statcv import errors, folds
from statcv.folds import FoldPlan, Stratifier
from statcv.folds.strata import Key, check_key, count_missing, is_numeric
from statcv.formula import is_number, plain_column
from statcv.numeric.arrays import Floats
from statcv.results.stratifier_bias.setting import Setting

DAY = np.timedelta64(1, "D")
UNBIASED = "unbiased"  # the folds with which all candidates are compared


@dataclass(frozen=True, eq=False)
class CandidateStratifier:
    """A stratifier with the name that is shown in tables.

    Attributes
    ----------
    name : str
    stratifier : Stratifier

    Raises
    ------
    ArgumentError
        If the name is that of the unbiased folds.
    """

    name: str
    stratifier: Stratifier

    def __post_init__(self) -> None:
        if self.name == UNBIASED:
            raise errors.ArgumentError(
                f"a candidate cannot be called {UNBIASED!r}, which is the name of the "
                "folds with which it is compared; rename the column."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose equal values are never split across folds."""
        return self.stratifier.columns

    @property
    def one_bin(self) -> bool:
        """Whether each fold is one quantile bin."""
        own = self.stratifier
        return isinstance(own, folds.ByQuantile) and own.per_fold == 1

    @property
    def folds(self) -> str:
        """The way in which it defines folds, in a few words."""
        own = self.stratifier
        if isinstance(own, folds.ByQuantile):
            bins = "bins" if own.per_fold > 1 else "bin"
            return f"quantiles, {own.per_fold} {bins} per fold"
        return "hash" if isinstance(own, folds.ByHash) else "whole values"


def read_candidates(
    given: Any, table: pd.DataFrame, per_fold: Sequence[int], key: Key | None
) -> list[CandidateStratifier]:
    """Return the candidates that a caller names.

    Parameters
    ----------
    given : str, Stratifier, or a list of those and of lists of names
    table : pandas.DataFrame
    per_fold : sequence of int
        Numbers of bins per fold that are tried for a numeric column.
    key : bytes or str, optional
        Key of the hash.

    Raises
    ------
    ColumnError
        If a named column is not in the data.
    ArgumentError, ArgumentTypeError
        If a candidate is given twice, or is not a column, list or stratifier.
    """
    if isinstance(given, (str, Stratifier)):
        given = [given]
    if not isinstance(given, (list, tuple)):
        raise errors.ArgumentTypeError(
            "candidates must be names of columns or stratifiers, not "
            f"{type(given).__name__}."
        )
    if not given:
        raise errors.ArgumentError("candidates is empty; omit it to try every column.")
    found = [one for item in given for one in _read(item, table, per_fold, key)]
    return _each_once(found)


def every_candidate(
    table: pd.DataFrame,
    per_fold: Sequence[int],
    key: Key | None,
    identifier: Sequence[str] = (),
) -> tuple[list[CandidateStratifier], dict[str, str]]:
    """Return a candidate for each column, and the reasons why some have none.

    The columns that jointly identify duplicates are one candidate, by value or by hash;
    a single column that identifies duplicates is not also used in another way.
    """
    if key is not None:
        check_key(key)
    found: list[CandidateStratifier] = []
    skipped = {}
    if identifier:
        found += _read(list(identifier), table, per_fold, key)
    for name in table.columns:
        if [name] == list(identifier):
            continue
        try:
            found += _read(name, table, per_fold, key)
        except errors.StatcvError as error:
            skipped[name] = str(error)
    return _each_once(found), skipped


def _each_once(candidates: list[CandidateStratifier]) -> list[CandidateStratifier]:
    names = pd.Series([candidate.name for candidate in candidates])
    for name in names[names.duplicated(keep=False)]:
        raise errors.ArgumentError(f"the candidate {name!r} is given twice.")
    return candidates


def _read(
    item: Any, table: pd.DataFrame, per_fold: Sequence[int], key: Key | None
) -> list[CandidateStratifier]:
    columns = item.columns if isinstance(item, Stratifier) else item
    named = [columns] if isinstance(columns, str) else columns
    listed = isinstance(named, (list, tuple))
    if not (listed and all(isinstance(name, str) for name in named)):
        raise errors.ArgumentTypeError(
            "a candidate must be the name of a column, a list of names, or a "
            f"stratifier, not {item!r}."
        )
    for name in named:
        if name not in table.columns:
            raise errors.ColumnError(
                f"the candidate {name!r} is not a column of the data."
                + errors.suggestion(name, table.columns)
            )
    if isinstance(item, Stratifier):
        return [CandidateStratifier(_name(item), item)]
    if isinstance(item, str) and is_numeric(table[item].dropna()):
        made = [folds.by_quantile(item, bins) for bins in per_fold]
        return [CandidateStratifier(_name(one), one) for one in made]
    whole = folds.by_value(item) if key is None else folds.by_hash(item, key=key)
    return [CandidateStratifier(whole.label, whole)]


def _name(stratifier: Stratifier) -> str:
    """Return the name of a stratifier that the caller gave explicitly."""
    label = stratifier.label
    if isinstance(stratifier, folds.ByQuantile):
        several = stratifier.per_fold > 1
        return f"{label} × {stratifier.per_fold}" if several else label
    if isinstance(stratifier, folds.ByValue):
        return f"values of {label}"
    return f"hash of {label}" if isinstance(stratifier, folds.ByHash) else label


def not_in_dot(
    candidates: Sequence[CandidateStratifier], table: pd.DataFrame, k: int
) -> list[str]:
    """Return the columns that identify records, to be excluded from ``y ~ .``.

    A factor with fewer levels than there are folds cannot define folds, and remains a
    predictor.
    """
    own = [
        one.columns
        for one in candidates
        if one.stratifier.identifies and not _few_levels(table, one.columns, k)
    ]
    return list(dict.fromkeys(name for columns in own for name in columns))


def _few_levels(table: pd.DataFrame, columns: Sequence[str], k: int) -> bool:
    if len(columns) > 1:
        return False
    try:
        column = plain_column(table[columns[0]], columns[0])
    except errors.StatcvError:  # values of several types
        return False
    factor = isinstance(column.dtype, pd.CategoricalDtype) or column.dtype.kind == "b"
    return factor and 1 < column.nunique() < k


def first_plan(candidate: CandidateStratifier, setting: Setting) -> FoldPlan:
    """Return one repeat of the folds of a candidate.

    Raises
    ------
    ArgumentError
        If the candidate is the outcome.
    DataError
        If it is constant, or missing in some of the records.
    SchemeError
        If it has fewer distinct values than there are folds.
    """
    kept, label = setting.kept, candidate.stratifier.label
    for name in candidate.columns:
        if name in setting.design.formula.outcome_columns:
            raise errors.ArgumentError(
                f"the candidate {name!r} is the outcome, in which its folds would "
                "differ as much as possible."
            )
        if count := count_missing(kept[name]):
            raise errors.DataError(
                f"the candidate {name!r} is missing in {count} of {len(kept)} records, "
                "and all candidates must be compared on the same records; remove those "
                f"rows (data.dropna(subset=[{name!r}])), or the candidate."
            )
    if (candidate.stratifier.values(kept) == 0).all():
        raise errors.DataError(
            f"the candidate {label!r} is constant, so that it cannot define more than "
            "one fold."
        )
    return setting.plan(candidate.stratifier)


def usable_plans(
    candidates: Sequence[CandidateStratifier], setting: Setting
) -> tuple[dict[str, FoldPlan], dict[str, str]]:
    """Return the folds of candidates, and the reasons why some cannot define any."""
    found, skipped = {}, {}
    for candidate in candidates:
        if set(candidate.columns) & set(setting.design.formula.outcome_columns):
            continue
        try:
            found[candidate.name] = first_plan(candidate, setting)
        except errors.StatcvError as error:
            skipped[candidate.name] = str(error)
    if not found:
        raise errors.ArgumentError(
            "no column of the data can define folds: "
            + " ".join(skipped.values() or ["the outcome is the only column."])
        )
    return found, skipped


def numbers_of(column: pd.Series[Any]) -> Floats | None:
    """Return a column as numbers, with dates as days; None if values have no order.

    Examples
    --------
    >>> numbers_of(pd.Series([True, False]))
    array([1., 0.])
    >>> numbers_of(pd.Series(["b", "a"])) is None
    True
    """
    try:
        plain = plain_column(column, str(column.name))
    except errors.StatcvError:  # values of several types, which can be hashed
        return None
    if is_number(plain.dtype) or plain.dtype.kind == "b":
        return plain.to_numpy(dtype=float)
    if plain.dtype.kind == "M":
        naive = plain.dt.tz_localize(None).to_numpy(dtype="datetime64[ns]")
        return np.asarray((naive - naive.min()) / DAY)
    return None
