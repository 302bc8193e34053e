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
    from statcv.folds.strata.by_quantile import ByQuantile


@dataclass(frozen=True, eq=False, kw_only=True)
class FoldPlan(Splits):
    """Who is held out, and on whom each fit trains, in memory O(n + dropped).

    A *split* is one fold of one repeat, and has one *fit*, or several whose predictions
    are averaged (``rebalance="all"`` and ``"bag"``). A fit trains on every record
    except those that its split holds out and those dropped; records may be repeated or
    weighted.

    Attributes
    ----------
    scheme, sentence : str
        Name of the scheme, and what it does.
    n : int
        Number of records.
    tests, dropped, kept_out, copied : Ragged
        Records held out in each split; and of each fit, those dropped for balance
        (which it may predict too), kept out for another reason, and repeated in
        training.
    labels : tuple of sequences
        Names of the folds in each repeat.
    first_fit : numpy.ndarray of int, shape (n_splits + 1,)
        Where the fits of each split begin.
    weighting, strata, response : Weighting, Strata, Response or None
        Weights of training records, records that are never split across folds, and the
        outcome that the plan was made for.
    rebalance : str or None
        How the training sets were given equal class totals.
    rows : pandas.Index or None
        Labels of the records in the data.
    seed : int or None
        Seed of the plan; None if nothing was random.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> plan = scv.fold_plan("GRADE", df, k=4, seed=1)
    >>> plan.n, plan.n_splits
    (32, 4)
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
        >>> df = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", df, k=4, seed=1)
        >>> [len(test) for train, test in plan.split()]
        [8, 8, 8, 8]
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
        """The rising thresholds of the stratifier; None if it is not cut."""
        return None if self.strata is None else self.strata.thresholds

    def assign(self, frame: Any, repeat: int = 1) -> pd.Series[Any]:
        """Return the fold into which each row of another frame falls.

        The records of a second hospital, or of next month, thus fall in the same folds.

        Parameters
        ----------
        frame : pandas.DataFrame
            The records, with the stratifier's columns.
        repeat : int, default 1

        Returns
        -------
        pandas.Series
            Names of folds, with the frame's index; missing, with a warning that counts
            them, for values that ``by_value`` has not met.

        Raises
        ------
        SchemeError
            If no stratifier made the folds, or it is not in the table that the plan was
            read from.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> bins = scv.fold_plan("GRADE", df, k=4, stratify=scv.by_quantile("GPA"))
        >>> bins.assign(df.head(3)).tolist()
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
        """Report what the plan leaks and loses, in numbers and sentences.

        Parameters
        ----------
        y : array-like, shape (n,), optional
            The outcome; by default the one that the plan was made for.
        **checks
            ``data``, the records, whose numeric columns are compared over folds;
            ``duplicates``, its columns whose equal values mean the same record, or True
            for all; ``tolerance``, the largest difference between duplicates, also by
            column; ``predictors``, the design matrix, searched for equal rows with
            different outcomes.

        Returns
        -------
        Audit
            One sentence for each finding, such as ``fold_sizes``, ``records_lost``,
            ``training_counts``, ``label_correlation`` (between training mean and
            held-out outcome), ``negative_mean_auroc`` (of a model that predicts minus
            the training mean), ``outcome_over_folds``, ``duplicates`` and
            ``opposite_twins``.

        Raises
        ------
        ArgumentError, DataError
            If arguments do not fit together, or are not those of the plan's records.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", df, k=4, seed=1)
        >>> plan.audit(data=df, duplicates=["GPA", "TUCE"])["duplicates"].value
        0.0
        """
        from statcv.folds.audit.audit import audit_plan

        return audit_plan(self, y, **checks)

    def to_frame(self, training: bool = False) -> pd.DataFrame:
        """Return the plan as a tidy table, one row per record, fold and repeat.

        Parameters
        ----------
        training : bool, default False
            Whether to list training records too. Otherwise a record trains wherever it
            is not listed in another role.

        Returns
        -------
        pandas.DataFrame
            Columns ``repeat``, ``fold``, ``position`` (from 0), ``row`` (the label in
            the data), ``scheme`` and ``role``: ``"held out"``, ``"dropped"`` from
            training for balance, ``"kept out"`` for another reason, ``"repeated"`` or
            ``"training"``. Where they apply: ``rebalance``, ``draw``, ``stratum``,
            ``weight``, ``stratifier`` and ``bin``; a bin without records has one row of
            the role ``"empty"``.

        Raises
        ------
        SchemeError
            If the table would have more than 100 million rows, or lacks weights of the
            plan.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", df, k=4, seed=1)
        >>> plan.to_frame()[["repeat", "fold", "row", "role"]].head(1)
           repeat  fold  row      role
        0       1     4    0  held out
        """
        check_types(FoldPlan.to_frame, locals())
        from statcv.folds.frame import to_frame

        return to_frame(self, training)

    @classmethod
    def from_frame(cls, frame: Any, n: int | None = None) -> FoldPlan:
        """Make a plan from a table such as :meth:`to_frame` returns.

        The table may come from other software: it needs ``fold``, and ``position`` or
        ``row``; ``repeat`` is 1 and ``role`` is ``"held out"`` unless given. It has no
        outcome: pass that to :meth:`audit`.

        Parameters
        ----------
        frame : pandas.DataFrame
        n : int, optional
            Number of records, by default as many as the table implies.

        Raises
        ------
        ColumnError, DataError, SchemeError
            If columns are missing, do not describe a plan, or are weights.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", df, k=4, seed=1)
        >>> scv.folds.FoldPlan.from_frame(plan.to_frame()).n_splits
        4
        """
        from statcv.folds.from_table import from_frame

        return from_frame(frame, n)

    @classmethod
    def concat(cls, plans: Mapping[str, FoldPlan]) -> FoldPlan:
        """Join the fold plans of several sites into the plan of the stacked records.

        Fold j of each site is part of fold j of the whole. A fit trains on the records
        of all sites, except those that its fold holds out or a site's plan drops.
        Records of different sites are not in one cluster, even if they have one
        identifier, unless ``stratify=`` names it beside ``scheme=joined``.

        Parameters
        ----------
        plans : mapping of str to FoldPlan
            Each site's plan, in the order in which the records are stacked. Rows are
            labelled (site, row), as ``pd.concat({"A": a, "B": b})`` labels the records.

        Raises
        ------
        SchemeError
            If the plans differ in how they were made, or share no folds, as
            leave-one-out.
        """
        from statcv.folds.joined import concat

        return concat(plans)

    @cached_property
    def fingerprint(self) -> str:
        """12 hex digits that identify the held-out, training and compared records.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", df, k=4, seed=1)
        >>> len(plan.fingerprint)
        12
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
