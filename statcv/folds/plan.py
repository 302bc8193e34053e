"""The fold plan: who is held out, and on whom each fit trains."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import check_types
from statcv.errors import SchemeError
from statcv.folds.response import Response
from statcv.folds.schemes.pairs import count_unlike
from statcv.folds.splits import Rows, Splits
from statcv.folds.strata.clusters import Strata
from statcv.tables import Values, wrapped
from statcv.words import plural

if TYPE_CHECKING:
    from statcv.folds.audit.audit import Audit
    from statcv.folds.strata.resolve import ByQuantile


@dataclass(frozen=True, eq=False, kw_only=True)
class FoldPlan(Splits):
    """Who is held out, and on whom each fit trains, in memory O(n + dropped).

    A *split* is one fold of one repeat; splits are numbered through, repeat by repeat.
    A split has one *fit*, or several whose predictions are averaged
    (``rebalance="all"`` and ``"bag"``). A fit trains on every record except those its
    split holds out and those dropped; records may be repeated, or weighted.

    Attributes
    ----------
    scheme : str
        Name of the scheme that made the plan.
    sentence : str
        What the scheme does, in one sentence for print, summary and titles.
    n : int
        The number of records.
    tests : Ragged
        The records held out in each split.
    labels : tuple of sequences
        The folds' names in each repeat, as the tables show them.
    dropped, kept_out : Ragged
        Records kept from the training of each fit: for balance (each fit may predict
        those as well), and for another reason.
    copied : Ragged
        Records that are repeated in training, once for each time they are listed.
    first_fit : numpy.ndarray of int, shape (n_splits + 1,)
        Where the fits of each split begin.
    weighting : Weighting or None
        Weights of the training records.
    rebalance : str or None
        How the training sets were given equal class totals.
    strata : Strata or None
        Records that are never split across folds.
    response : Response or None
        The outcome that the plan was made for.
    rows : pandas.Index or None
        The records' labels in the data.
    seed : int or None
        The seed of the plan; None if nothing was random.

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> import numpy as np
    >>> plan = make_plan("kfold", np.array([0, 1, 0, 1]), "binary", k=2, seed=1)
    >>> [len(test) for train, test in plan.split()]
    [2, 2]
    """

    sentence: str
    response: Response | None = None
    rows: pd.Index[Any] | None = None
    seed: int | None = None

    def split(
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[Rows, Rows]]:
        """Yield (training, held-out) positions, as scikit-learn's splitters do.

        Raises
        ------
        SchemeError
            If X has another number of records, or the plan gives weights, which
            scikit-learn's ``cv=`` cannot pass on.

        Examples
        --------
        >>> import statcv as scv
        >>> data = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", data, k=4, seed=1)
        >>> train, test = next(iter(plan.split()))
        >>> len(train), len(test)
        (24, 8)
        """
        if X is not None and _length(X) != self.n:
            raise SchemeError(
                f"the plan is for {self.n} records, but there are {_length(X)}."
            )
        if self.weighting is not None:
            raise SchemeError(
                "the plan weights its training records, and pairs of positions carry "
                "no weights; use statcv.cv(), or another rebalance."
            )
        for fit, split in enumerate(self.fits.split_of.tolist()):
            yield self.train(fit), self.test(split)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of (training, held-out) pairs that ``split`` yields."""
        return self.n_fits

    # ---- new records ----

    @property
    def thresholds(self) -> NDArray[Any] | None:
        """The thresholds of the stratifier, in rising order: numbers, days or digests.

        None if it is not cut.
        """
        return None if self.strata is None else self.strata.thresholds

    def assign(self, frame: Any, repeat: int = 1) -> pd.Series[Any]:
        """Return the fold into which each row of another frame falls.

        The records of a second hospital, or of next month, thus fall in the same
        folds. This needs a plan of k folds with a stratifier.

        Parameters
        ----------
        frame : pandas.DataFrame
            The records, with the stratifier's columns.
        repeat : int, default 1

        Returns
        -------
        pandas.Series
            Names of folds, with the frame's index; missing, with a warning that
            counts them, for values that ``by_value`` has not met.

        Raises
        ------
        SchemeError
            If no stratifier made the folds, or the plan was read from a table and they
            were not made by ``by_quantile``.

        Examples
        --------
        >>> import statcv as scv
        >>> data = scv.load_data("spector")
        >>> grades = scv.by_quantile("GPA")
        >>> bins = scv.fold_plan("GRADE", data, k=4, stratify=grades)
        >>> bins.assign(data.head(3)).tolist()
        [1, 2, 3]
        """
        found = self._made_from().assign(frame, repeat)
        return Values(found, f"Fold of each row, by {self.scheme}")

    @property
    def stratifier(self) -> ByQuantile:
        """The bins of ``by_quantile`` and their folds, for the records of others.

        ``fold_plan(…, stratify=plan.stratifier)`` makes the plan of other records that
        fall in the same folds, whatever the seed.

        Raises
        ------
        SchemeError
            If the folds were not made by ``by_quantile``.
        """
        return self._made_from().stratifier

    def _made_from(self) -> Strata:
        if self.strata is None:
            raise SchemeError(
                f"the folds of {self.scheme} were not made from a stratifier, so they "
                "say nothing of other records; use stratify=."
            )
        return self.strata

    def audit(self, y: Any = None, **checks: Any) -> Audit:
        """Report what the plan leaks, in numbers and sentences.

        See :func:`statcv.folds.audit.audit.audit_plan`, which takes the same arguments.

        Examples
        --------
        >>> import statcv as scv
        >>> data = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", data, k=4, seed=1)
        >>> plan.audit(data=data, duplicates=["GPA", "TUCE"])["duplicates"].value
        0.0
        """
        from statcv.folds.audit.audit import audit_plan

        return audit_plan(self, y, **checks)

    # ---- as a table ----

    def to_frame(self, training: bool = False) -> pd.DataFrame:
        """Return the plan as a tidy table; see :func:`statcv.folds.frame.to_frame`.

        Examples
        --------
        >>> import statcv as scv
        >>> data = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", data, k=4, seed=1)
        >>> plan.to_frame().head(2)
           repeat  fold  position  row      role            scheme
        0       1     4         0    0  held out  stratified_kfold
        1       1     4         1    1  held out  stratified_kfold
        """
        check_types(FoldPlan.to_frame, locals())
        from statcv.folds.frame import to_frame

        return to_frame(self, training)

    @classmethod
    def from_frame(cls, frame: Any, n: int | None = None) -> FoldPlan:
        """Make a plan of such a table; see :func:`statcv.folds.from_table.from_frame`.

        Examples
        --------
        >>> import statcv as scv
        >>> data = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", data, k=4, seed=1)
        >>> again = scv.folds.FoldPlan.from_frame(plan.to_frame())
        >>> again.fingerprint == plan.fingerprint
        True
        """
        from statcv.folds.from_table import from_frame

        return from_frame(frame, n)

    @classmethod
    def concat(cls, plans: Mapping[str, FoldPlan]) -> FoldPlan:
        """Join the plans of several sites; see :func:`statcv.folds.joined.concat`."""
        from statcv.folds.joined import concat

        return concat(plans)

    @cached_property
    def fingerprint(self) -> str:
        """12 hex digits that identify the held-out, training and compared records.

        Examples
        --------
        >>> import statcv as scv
        >>> data = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", data, k=4, seed=1)
        >>> plan.fingerprint == scv.fold_plan("GRADE", data, k=4, seed=1).fingerprint
        True
        """
        how = f"{self.n} {self.fits.compares_pairs} {self.fits.tournament}"
        digest = hashlib.sha256(how.encode())
        lists = (self.tests, self.dropped, self.kept_out, self.copied)
        parts: list[Any] = [self.fits.first_split, self.first_fit]
        for one in lists:
            parts += [one.starts, one.values]
        for part in parts:
            digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        if self.weighting is not None:
            for part in self.weighting.arrays:
                digest.update(np.round(part, 9).astype("<f8").tobytes())
        return digest.hexdigest()[:12]

    def __str__(self) -> str:
        fits = f" and {self.n_fits} fits" if self.n_fits > self.n_splits else ""
        sizes = f"{plural(self.n, 'record')}, {plural(self.n_splits, 'split')}{fits}"
        lines = wrapped(f"{self.scheme}: {self.sentence}")
        return "\n".join([*lines, f"{sizes}; folds {self.fingerprint}"])

    def __repr__(self) -> str:
        return str(self)


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)  # sparse has no len


def is_sample(plan: FoldPlan) -> bool:
    """Return whether a plan holds out a sample of the pairs that differ in outcome."""
    if plan.scheme != "leave_pair_out" or plan.response is None:
        return False
    drawn = int(np.diff(plan.fits.first_split).min())
    return drawn < count_unlike(plan.response.values)
