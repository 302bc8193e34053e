"""Splitters for scikit-learn's ``cv=``, of schemes that scikit-learn lacks.

They follow its conventions: a constructor stores its arguments, ``split`` yields
positions, ``clone``, ``set_params`` and metadata routing of ``groups`` work. With
an integer as ``random_state``, every call of ``split`` yields the same splits, those
of :func:`statcv.fold_plan` with that ``seed``, scheme and records.

A :class:`statcv.folds.FoldPlan` is a ``cv=`` too, of every scheme, for one data set.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from inspect import signature
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pandas as pd
from sklearn.model_selection import BaseCrossValidator

from statcv import errors
from statcv.arguments import MAX_BINS, check_whole, is_whole, one_of, resolve_seed
from statcv.folds.plan import FoldPlan, length_of
from statcv.folds.request import resolve_plan
from statcv.folds.response import Response
from statcv.folds.schemes.build import FoldArguments, make_plan, whole
from statcv.folds.schemes.holdout import count_unlike
from statcv.folds.strata.by_hash import HeldKey, KeyedBy, by_hash
from statcv.folds.strata.by_quantile import by_quantile
from statcv.folds.strata.hashing import FROM_ENVIRONMENT, Key
from statcv.folds.strata.identifiers import count_missing
from statcv.folds.strata.stratifier import Stratifier, by_value
from statcv.numeric.arrays import Numbers

__all__ = [
    "FoldStratifiedKFold",
    "LeavePairOut",
    "RebalancedKFold",
    "RebalancedLeaveOneGroupOut",
    "RebalancedLeaveOneOut",
    "RebalancedLeavePOut",
]


def __dir__() -> list[str]:
    """Offer public names alone."""
    return sorted(__all__)


Pairs = Iterator[tuple[Numbers, Numbers]]


class PlanSplitter(BaseCrossValidator):  # type: ignore[misc]
    """A splitter that uses a fold plan."""

    scheme: ClassVar[str]
    takes_groups: ClassVar[bool] = False
    random_state: Any

    def _arguments(self, n: int, groups: Any) -> dict[str, Any]:
        """Return the arguments of the scheme for n records."""
        return {}

    def _outcome(self, y: Any) -> Response:
        """Return the outcome, which must have classes unless a splitter says more."""
        return classes_of(y)

    def _plan(self, n: int, y: Any, groups: Any) -> FoldPlan:
        """Return the plan of n records."""
        given, y = self._arguments(n, groups), self._outcome(y)
        given |= {"seed": seed_of(self.random_state), "levels": y.levels}
        return make_plan(self.scheme, y.values, y.kind, **given)

    def split(self, X: Any, y: Any, groups: Any = None) -> Pairs:
        """Return an iterator over (training, held-out) positions.

        Parameters
        ----------
        X : array-like, shape (n, …)
            Only its length counts.
        y : array-like, shape (n,)
            The outcome.
        groups : array-like, shape (n,), optional
            Groups that are never split across folds, for splitters that use them.

        Raises
        ------
        DataError
            If lengths differ, or values are missing.
        SchemeError
            If these records cannot be split in that way.
        """
        if groups is not None and not self.takes_groups:
            errors.warn(
                f"{type(self).__name__} does not look at groups: equal values may "
                "be split. FoldStratifiedKFold and RebalancedLeaveOneGroupOut keep "
                "them together.",
                errors.FoldWarning,
            )
        with self._named():
            return self._plan(length(X=X, y=y, groups=groups), y, groups).split()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the splitter in its errors, since a caller may not see which one ran."""
        try:
            yield
        except errors.StatcvError as error:
            raise type(error)(f"{type(self).__name__}: {error}") from None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep`` has no effect here."""
        names = sorted(signature(type(self)).parameters)
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> PlanSplitter:
        """Set parameters by name, and return the splitter itself."""
        known = list(signature(type(self)).parameters)
        for name in params:
            if name not in known:
                raise errors.ArgumentError(
                    f"{type(self).__name__} has no parameter {name!r}; it has "
                    f"{', '.join(known) or 'none'}." + errors.suggestion(name, known)
                )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in self._shown().items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _shown(self) -> dict[str, Any]:
        return self.get_params()


def whole_between(name: str, value: Any, least: int, most: int, n: int) -> int:
    """Return an integer parameter in a range that n records allow."""
    if not least <= whole(name, value) <= most:
        raise errors.ArgumentError(
            f"{name}={value} is out of range: for {n} records it is from {least} to "
            f"{most}."
        )
    return int(value)


class GroupsSplitter(PlanSplitter):
    """A splitter that uses groups, which metadata routing passes to it."""

    takes_groups = True
    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True}


# ---- training sets of equal class totals, and pairs of records ----


Rebalance = Literal["subsample", "upsample"]


@dataclass(eq=False, repr=False, kw_only=True)
class _Rebalanced(PlanSplitter):
    """A splitter whose training sets have equal class totals."""

    rebalance: Rebalance = "subsample"
    random_state: Any = None

    def _arguments(self, n: int, groups: Any) -> dict[str, Any]:
        known = get_args(Rebalance)
        if not isinstance(self.rebalance, str) or self.rebalance not in known:
            raise errors.ArgumentError(
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
    continuous: bool | None = field(default=None, kw_only=True)

    def _outcome(self, y: Any) -> Response:
        response = outcome_of(y, self.continuous)
        alone = response.by_class and response.counts.min() == 1
        if alone and not isinstance(response.levels[0], str):
            raise errors.SchemeError(
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

    def _sizes(self, n: int, groups: Any) -> dict[str, Any]:
        return {"p": whole_between("p", self.p, 1, n // 2, n)}

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of groups."""
        with self._named():
            n = length(X=X, y=y)
            return int(n // self._sizes(n, groups)["p"])


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

    def _sizes(self, n: int, groups: Any) -> dict[str, Any]:
        frame = frame_of(groups)
        return {"repeats": 1, "stratify": by_value(list(frame.columns)), "data": frame}

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


# ---- k folds in which equal groups are held out together ----


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
        given = FoldArguments(k=whole_between("n_splits", self.n_splits, 2, n, n))
        frame = frame_of(groups)
        response = None if y is None else outcome_of(y, self.continuous)
        stratifier = self._stratifier(list(frame.columns))
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
                raise errors.ArgumentError(
                    f"{name} means nothing for by={self.by!r}, only for by={where!r}."
                )
        if self.by == "value":
            return by_value(columns)
        if self.by == "hash":
            return by_hash(columns, self.key, self.balanced)
        if len(columns) > 1:
            raise errors.ArgumentError(
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


# ---- what scikit-learn passes to a splitter: outcomes, groups and random states ----


def seed_of(random_state: Any) -> int:
    """Return a seed: the number itself, or one drawn from a generator.

    None draws from NumPy's global state, which ``numpy.random.seed`` sets.

    Examples
    --------
    >>> seed_of(7), seed_of(np.random.RandomState(7))
    (7, 327741615)
    """
    if isinstance(random_state, np.random.Generator):
        return resolve_seed(random_state)
    if is_whole(random_state) and random_state >= 0:
        return int(random_state)
    if random_state is None or hasattr(random_state, "randint"):
        source = np.random if random_state is None else random_state
        return int(source.randint(2**32, dtype=np.int64))
    raise errors.ArgumentTypeError(
        "random_state must be an integer of 0 or more, a numpy RandomState or "
        f"Generator, or None, not {random_state!r}."
    )


def length(**arrays: Any) -> int:
    """Return the number of records of any array-like.

    Examples
    --------
    >>> length(X=np.zeros((3, 2)), y=["a", "b", "a"], groups=None)
    3
    """
    sizes = {n: length_of(one) for n, one in arrays.items() if one is not None}
    if not sizes:
        raise errors.ArgumentError(f"no records are given: pass {' or '.join(arrays)}.")
    n, *others = set(sizes.values())
    if others:
        said = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise errors.DataError(f"the numbers of records differ: {said}.")
    if not n:
        raise errors.DataError("there are no records.")
    return n


def column_of(values: Any, name: str) -> pd.Series[Any]:
    """Return a column without missing values from any array-like."""
    if isinstance(values, pd.DataFrame) and values.shape[1] == 1:
        values = values.iloc[:, 0]
    if not isinstance(values, (pd.Series, pd.Index, pd.Categorical)):
        values = np.asarray(values)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values.ravel()
    if values.ndim != 1:
        raise errors.DataError(f"{name} must have one dimension, not {values.ndim}.")
    column = pd.Series(values).reset_index(drop=True).infer_objects()
    if missing := count_missing(column):
        raise errors.DataError(
            f"{name} is missing in {missing} of {len(column)} records; leave them out."
        )
    return column


def outcome_of(y: Any, continuous: bool | None = None) -> Response:
    """Return the outcome: numbers with fractions are continuous, all else classes.

    Examples
    --------
    >>> outcome_of(["no", "yes", "no"]).kind, outcome_of([1.5, 2.0, 2.5]).kind
    ('binary', 'continuous')
    """
    if y is None:
        raise errors.ArgumentError("y is needed, the outcome of each record.")
    one_of(continuous, (None, True, False), "continuous")
    column, types = column_of(y, "y"), pd.api.types
    if types.is_numeric_dtype(column) and not types.is_bool_dtype(column):
        numbers = column.to_numpy(dtype=float)
        if infinite := int(np.isinf(numbers).sum()):
            raise errors.DataError(
                f"y is infinite in {infinite} of {len(numbers)} records."
            )
        if continuous is None:
            continuous = bool((numbers != np.round(numbers)).any())
        if continuous:
            return Response.of(numbers, "continuous")
    elif continuous:
        raise errors.DataError(
            f"continuous=True, but y holds no numbers ({column.dtype})."
        )
    codes, levels = pd.factorize(column, sort=True)
    if len(levels) < 2:
        raise errors.SchemeError(f"y has one class only: {levels.tolist()[0]!r}.")
    return Response.of_classes(codes, levels.tolist())


def classes_of(y: Any) -> Response:
    """Return the outcome, which must have classes."""
    response = outcome_of(y)
    if not response.by_class:
        raise errors.SchemeError(
            "y holds numbers with fractions, and classes are needed here; for numbers "
            "there is RebalancedLeaveOneOut."
        )
    return response


def frame_of(groups: Any) -> pd.DataFrame:
    """Return the columns whose equal values are never split across folds."""
    if groups is None:
        raise errors.ArgumentError(
            "groups is needed, whose equal values are never split; pass it to split, "
            "or to what calls it."
        )
    several = isinstance(groups, pd.DataFrame) and groups.shape[1] > 1
    columns = groups.items() if several else [("groups", groups)]
    return pd.DataFrame({f"{name}": column_of(one, f"{name}") for name, one in columns})
