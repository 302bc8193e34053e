"""Splitters whose training sets have equal class totals, and pairs of records."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, get_args

from statcv.errors import ArgumentError, SchemeError
from statcv.folds.response import Response
from statcv.folds.schemes.arguments import whole
from statcv.folds.schemes.pairs import count_unlike
from statcv.folds.sklearn.arrays import classes_of, frame_of, length, outcome_of
from statcv.folds.sklearn.splitter import GroupsSplitter, PlanSplitter, whole_between
from statcv.folds.strata.resolve import by_value

Rebalance = Literal["subsample", "upsample"]


class _Rebalanced(PlanSplitter):
    """A splitter whose training sets have equal class totals."""

    rebalance: Rebalance

    def _arguments(self, n: int, groups: Any) -> dict[str, Any]:
        known = get_args(Rebalance)
        if not isinstance(self.rebalance, str) or self.rebalance not in known:
            raise ArgumentError(
                f"rebalance={self.rebalance!r} is neither 'subsample' nor 'upsample'; "
                "what needs weights or several fits a split is for statcv.cv()."
            )
        return {"rebalance": self.rebalance, **self._sizes(n, groups)}

    def _sizes(self, n: int, groups: Any) -> dict[str, Any]:
        return {"repeats": 1}


@dataclass(eq=False, repr=False)
class RebalancedLeaveOneOut(_Rebalanced):
    """Leave-one-out whose training sets have equal class totals.

    Beside the record held out, a random record of each other class is dropped, so
    that the held-out label does not move the training mean (Austin, Pe'er & Korem
    2024). For a continuous outcome the record is dropped whose removal brings the
    training mean closest to the mean of all.

    Parameters
    ----------
    rebalance : {"subsample", "upsample"}
        Whether records are dropped, or one of the held-out record's class is repeated.
    continuous : bool, optional
        Whether ``y`` is continuous. By default numbers with fractions are continuous,
        and integers are classes, as elsewhere in scikit-learn.
    random_state : int, RandomState, Generator or None
        Seed for the folds and the dropped records.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.zeros((6, 1)), np.array(["a", "a", "b", "b", "b", "b"])
    >>> train, test = next(RebalancedLeaveOneOut(random_state=1).split(X, y))
    >>> print(y[train])
    ['a' 'b' 'b' 'b']
    """

    scheme = "rloocv"
    _: KW_ONLY
    rebalance: Rebalance = "subsample"
    continuous: bool | None = None
    random_state: Any = None

    def _outcome(self, y: Any) -> Response:
        response = outcome_of(y, self.continuous)
        alone = response.by_class and response.counts.min() == 1
        if alone and not isinstance(response.levels[0], str):
            raise SchemeError(
                f"y counts as {response.classes} classes, of which "
                f"{response.levels[response.counts.argmin()]!r} has one record only; "
                "if these are numbers, say continuous=True."
            )
        return response

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of records."""
        with self._named():
            return length(X=X, y=y)


@dataclass(eq=False, repr=False)
class RebalancedKFold(_Rebalanced):
    """Random class-stratified k-fold whose training sets have equal class totals.

    Where the folds' class counts differ by one, the fewest records are dropped that
    make all training sets alike. Records are always shuffled.

    Parameters
    ----------
    n_splits : int, default 5
        Number of folds.
    rebalance : {"subsample", "upsample"}
        Whether records are dropped or repeated.
    random_state : int, RandomState, Generator or None
        Seed for the folds and the dropped records.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.zeros((14, 1)), np.array([0] * 8 + [1] * 6)
    >>> splits = RebalancedKFold(3, random_state=1).split(X, y)
    >>> [np.bincount(y[train]).tolist() for train, test in splits]
    [[5, 4], [5, 4], [5, 4]]
    """

    scheme = "rkfold"
    n_splits: int = 5
    _: KW_ONLY
    rebalance: Rebalance = "subsample"
    random_state: Any = None

    def _sizes(self, n: int, groups: Any) -> dict[str, Any]:
        return {"k": whole_between("n_splits", self.n_splits, 2, n, n)}

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return ``n_splits``."""
        return self.n_splits


@dataclass(eq=False, repr=False)
class RebalancedLeavePOut(_Rebalanced):
    """One partition in groups of p, whose training sets have equal class totals.

    Unlike scikit-learn's ``LeavePOut``, which holds out every subset of p records,
    this holds every record out once: n records make ``n // p`` groups, with each class
    spread evenly over them; the remaining records are allocated to some of them.

    Parameters
    ----------
    p : int
        Size of the groups, from 1 to half the number of records.
    rebalance : {"subsample", "upsample"}
        Whether records are dropped or repeated.
    random_state : int, RandomState, Generator or None
        Seed for the folds and the dropped records.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.zeros((100, 1)), np.arange(100) % 2
    >>> train, test = next(RebalancedLeavePOut(5, random_state=1).split(X, y))
    >>> np.bincount(y[train]).tolist(), len(test)
    ([47, 47], 5)
    """

    scheme = "rlpocv"
    p: int
    _: KW_ONLY
    rebalance: Rebalance = "subsample"
    random_state: Any = None

    def _sizes(self, n: int, groups: Any) -> dict[str, Any]:
        return {"p": whole_between("p", self.p, 1, n // 2, n)}

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of groups."""
        with self._named():
            n = length(X=X, y=y)
            return int(n // self._sizes(n, groups)["p"])


@dataclass(eq=False, repr=False)
class RebalancedLeaveOneGroupOut(GroupsSplitter, _Rebalanced):
    """Hold out one group at a time; training sets have equal class totals.

    Every training set lacks as many records of each class as the largest group holds:
    whole groups are dropped while they fit, so that few are trained on in part.

    Parameters
    ----------
    rebalance : {"subsample", "upsample"}
        Whether records are dropped or repeated.
    random_state : int, RandomState, Generator or None
        Seed for the folds and the dropped records.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.zeros((9, 1)), np.array([0, 1, 0, 0, 1, 1, 0, 1, 1])
    >>> site = list("AABBBCCCC")
    >>> splits = RebalancedLeaveOneGroupOut(random_state=1).split(X, y, site)
    >>> [np.bincount(y[train]).tolist() for train, test in splits]
    [[2, 2], [2, 2], [2, 2]]
    """

    scheme = "rloocv"
    _: KW_ONLY
    rebalance: Rebalance = "subsample"
    random_state: Any = None

    def _sizes(self, n: int, groups: Any) -> dict[str, Any]:
        frame = frame_of(groups)
        whole = by_value(list(frame.columns))
        return {"repeats": 1, "stratify": whole, "data": frame}

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of distinct groups."""
        with self._named():
            given = self._sizes(0, groups)
            return int(given["stratify"].values(given["data"]).max()) + 1


@dataclass(eq=False, repr=False)
class LeavePairOut(PlanSplitter):
    """Hold out every pair of records of different classes (Airola et al. 2011).

    The mean of ``scoring="roc_auc"`` over splits is the share of pairs ranked right, an
    estimate of the area under the curve without distributional bias. A record is held
    out in many splits, so that ``cross_val_predict`` cannot use it.

    Parameters
    ----------
    pairs : int, optional
        Number of pairs held out, a balanced sample: the numbers of pairs of two records
        of a class differ by at most one. By default all.
    random_state : int, RandomState, Generator or None
        Seed for the sample of pairs.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    >>> [test.tolist() for train, test in LeavePairOut().split(X, y)]
    [[0, 2], [0, 3], [1, 2], [1, 3]]
    """

    scheme = "leave_pair_out"
    pairs: int | None = None
    _: KW_ONLY
    random_state: Any = None

    def _arguments(self, n: int, groups: Any) -> dict[str, Any]:
        return {"pairs": self.pairs}

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of pairs, which depends on ``y``."""
        with self._named():
            every = count_unlike(classes_of(y).codes)
            if self.pairs is None:
                return every
            return min(whole("pairs", self.pairs), every)
