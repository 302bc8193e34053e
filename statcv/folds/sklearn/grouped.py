"""K folds in which equal groups are held out together."""

from __future__ import annotations

from typing import Any, Literal

from statcv.arguments import MAX_BINS, check_whole, one_of
from statcv.errors import ArgumentError
from statcv.folds.plan import FoldPlan
from statcv.folds.request import resolve_plan
from statcv.folds.schemes.arguments import FoldArguments
from statcv.folds.sklearn.arrays import frame_of, outcome_of, seed_of
from statcv.folds.sklearn.splitter import GroupsSplitter, Pairs, whole_between
from statcv.folds.strata.by_hash import HeldKey, KeyedBy, by_hash
from statcv.folds.strata.by_quantile import by_quantile
from statcv.folds.strata.hashing import FROM_ENVIRONMENT, Key
from statcv.folds.strata.resolve import by_value
from statcv.folds.strata.stratifier import Stratifier


class FoldStratifiedKFold(GroupsSplitter):
    """K folds in which equal values of ``groups`` are held out together.

    Classes are spread as evenly as whole values allow, unless the value alone
    determines the fold.

    Parameters
    ----------
    n_splits : int, default 5
        Number of folds.
    by : {"value", "hash", "quantile"}
        How values are allocated to folds, as by :func:`statcv.by_value`,
        :func:`statcv.by_hash` or :func:`statcv.by_quantile`.
    key, balanced
        As in :func:`statcv.by_hash`. A splitter that was pickled takes its key from the
        environment.
    per_fold : int, default 1
        Number of quantile bins per fold; several are allocated at random.
    continuous : bool, optional
        Whether ``y`` is continuous, without classes to be spread. By default numbers
        with fractions are continuous.
    random_state : int, RandomState, Generator or None
        Seed for the allocation of values to folds.

    Notes
    -----
    Nested cross-validation by one key needs numbers of folds without a common
    divisor, or ``balanced=True`` inside: of 5 folds by the hash modulo 5, one is empty
    in each training set of these folds.

    Examples
    --------
    >>> import numpy as np
    >>> X, patient = np.zeros((6, 1)), np.array(["p1", "p2", "p1", "p3", "p3", "p4"])
    >>> splits = FoldStratifiedKFold(2, random_state=1).split(X, groups=patient)
    >>> [sorted(set(patient[test].tolist())) for train, test in splits]
    [['p3', 'p4'], ['p1', 'p2']]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        by: Literal["value", "hash", "quantile"] = "value",
        key: Key | None = FROM_ENVIRONMENT,
        balanced: bool = False,
        per_fold: int = 1,
        continuous: bool | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_splits = n_splits
        self.by = by
        self.key = key
        self.balanced = balanced
        self.per_fold = per_fold
        self.continuous = continuous
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Pairs:
        """Return an iterator over (training, held-out) positions.

        Parameters
        ----------
        X : array-like, shape (n, …)
            Only its length counts.
        y : array-like, shape (n,), optional
            The outcome, whose classes are spread.
        groups : array-like, shape (n,), or DataFrame
            Groups that are never split across folds; columns of a frame count together.
        """
        return super().split(X, y, groups)

    def _plan(self, n: int, y: Any, groups: Any) -> FoldPlan:
        k = whole_between("n_splits", self.n_splits, 2, n, n)
        frame = frame_of(groups)
        response = None if y is None else outcome_of(y, self.continuous)
        stratifier, given = self._stratifier(list(frame.columns)), FoldArguments(k=k)
        seed = seed_of(self.random_state)
        return resolve_plan(None, response, frame, given, stratifier, seed)

    def _stratifier(self, columns: list[str]) -> Stratifier:
        one_of(self.by, ("value", "hash", "quantile"), "by")
        check_whole(self.per_fold, "per_fold", least=1, most=MAX_BINS)
        for name, given, where in (
            ("key", self.key is not FROM_ENVIRONMENT, "hash"),
            ("balanced", self.balanced is not False, "hash"),
            ("per_fold", self.per_fold != 1, "quantile"),
        ):
            if given and self.by != where:
                raise ArgumentError(
                    f"{name} means nothing for by={self.by!r}, only for by={where!r}."
                )
        if self.by == "value":
            return by_value(columns)
        if self.by == "hash":
            return by_hash(columns, self.key, self.balanced)
        if len(columns) > 1:
            raise ArgumentError(
                f"by='quantile' takes one column of groups, not {len(columns)}."
            )
        return by_quantile(columns[0], self.per_fold)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return ``n_splits``."""
        return self.n_splits

    @property
    def key(self) -> Key | None:
        """The secret of ``by="hash"``, as given."""
        return self._key.reveal()

    @key.setter
    def key(self, key: Key | None) -> None:
        origin: KeyedBy = "nothing" if key is None else "key"
        self._key = HeldKey("environment" if key is FROM_ENVIRONMENT else origin, key)

    def _shown(self) -> dict[str, Any]:
        return {**self.get_params(), "key": self._key}
