"""Boosted trees over sites: what is agreed, what a site grows them from, and the trees.

Each site replaces its values by the numbers of their bins between agreed cuts, and
XGBoost grows the same trees at all sites from sums of gradients by node and bin. These
sums go over XGBoost's own federated server and not over the messages of this package,
so that whatever grows the trees is given to a site by its transport.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import check_types, check_whole
from statcv.engine import installed
from statcv.errors import ModelError, SiteError, suggestion
from statcv.numeric.arrays import Array, Floats
from statcv.sites.plan import MAX_COLUMN_BINS, TREES, SitesPlan, learner_of
from statcv.tables import Constructed, Printed
from statcv.words import plural

if TYPE_CHECKING:
    from statcv.sites.site_records import SiteRecords

Bins = NDArray[np.uint8]

# largest size of the trees of one fit, in bytes, as part of a message
MAX_TREE_BYTES: Final = 2**21
# largest sizes of the frame of a tree and of a node, in bytes
_BYTES_PER_TREE, _BYTES_PER_NODE = 800, 40


@dataclass(frozen=True, eq=False, repr=False)
class Trees(Constructed):
    """Gradient boosted trees over sites, for two classes.

    XGBoost grows them, with its federated plugin (``pip install
    "statcv[sites-trees]"``); they are those of the pooled records, with values replaced
    by the numbers of their bins. Sums of gradients by node and bin go from each site to
    XGBoost's server: no least number of records guards them, and no log has them; see
    :func:`statcv.sites.disclosure_sheet`.

    Parameters
    ----------
    cuts : mapping of str to iterable of float
        For each column of the design that is not 0 or 1 throughout, the rising values
        at which a tree may split it, at most 255: public ones, such as decades of age,
        or those of :func:`statcv.sites.thresholds`. A value that equals a cut lies
        above it.
    rounds : int, default 100
        Number of trees of each fit.
    depth : int, default 3
        Largest depth of a tree.
    learning_rate : float, default 0.3
    leaf : int, default 20
        Least number of records of all sites in a leaf.
    ridge : float, default 1
        Ridge on the values of leaves (``lambda`` of XGBoost).

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> trees = sites.Trees({"age": [30, 50, 70], "crp": [1, 3, 10]}, rounds=50)
    >>> sheet = sites.disclosure_sheet(sites.agree("ill ~ age + crp", model=trees))
    >>> sheet.set_index("array").loc["histograms", "smallest_cell"]
    '1 record: not guarded'
    """

    cuts: Mapping[str, Iterable[float]] = field(default_factory=dict)
    rounds: int = 100
    depth: int = 3
    learning_rate: float = 0.3
    leaf: int = 20
    ridge: float = 1.0

    def __post_init__(self) -> None:
        check_types(Trees, vars(self))
        for name in ("rounds", "depth", "leaf"):
            check_whole(getattr(self, name), name, least=1)
        if not 0 < self.learning_rate <= 1:
            raise ModelError(
                f"learning_rate={self.learning_rate} is out of range: above 0, at most "
                "1."
            )
        if not 0 <= self.ridge < np.inf:
            raise ModelError(f"ridge={self.ridge} is out of range: 0 or more.")
        if (size := bytes_of(self.rounds, self.depth)) > MAX_TREE_BYTES:
            most = MAX_TREE_BYTES * self.rounds // size
            raise ModelError(
                f"{plural(self.rounds, 'tree')} of depth {self.depth} are too long for "
                f"a message; at most {most} of this depth are not."
            )

    def agreed(
        self, columns: Sequence[str], matrix: Floats, cell: int
    ) -> dict[str, Any]:
        """Return what a plan says of the trees.

        Parameters
        ----------
        columns : sequence of str
            Columns of the design.
        matrix : numpy.ndarray
            The design of made-up rows, which shows which columns are of 0 and 1.
        cell : int
            Least number of records behind a count that leaves a site.

        Raises
        ------
        ModelError
            If cuts are missing, of no column, or not rising.
        """
        if self.leaf < cell:
            raise ModelError(
                f"leaf={self.leaf} is less than cell={cell}, the least number of "
                "records behind a number that leaves a site."
            )
        cuts: dict[str, list[float]] = {}
        for name, column in zip(columns, matrix.T, strict=True):
            if name in self.cuts:
                cuts[name] = _rising(name, self.cuts[name])
            elif set(np.unique(column)) == {0.0, 1.0}:
                cuts[name] = [0.5]
            elif column.min() < column.max():
                raise ModelError(
                    f"trees need cuts= of column {name!r}, such as {{{name!r}: [1, 2, "
                    "5]}; sites.thresholds() finds them from counts."
                )
        if other := [name for name in self.cuts if name not in columns]:
            raise ModelError(
                f"cuts are given for {other[0]!r}, which is not a column of the "
                f"design; it has {', '.join(map(repr, cuts))}."
                + suggestion(other[0], columns)
            )
        if not cuts:
            raise ModelError("trees need at least one predictor.")
        sizes = {name: int(getattr(self, name)) for name in ("rounds", "depth", "leaf")}
        rates = {n: float(getattr(self, n)) for n in ("learning_rate", "ridge")}
        return {"kind": TREES, "C": None, "firth": False, "cuts": cuts} | sizes | rates


def bytes_of(rounds: int, depth: int) -> int:
    """Return how many bytes the trees of a fit have at most."""
    nodes = int(2 ** min(depth + 1, 40))
    return rounds * (_BYTES_PER_TREE + _BYTES_PER_NODE * nodes)


def _rising(name: str, given: Iterable[float]) -> list[float]:
    """Return cuts as floats, or raise if they are not some rising numbers."""
    try:
        values = [float(one) for one in given]
    except (TypeError, ValueError):
        raise ModelError(f"the cuts of {name!r} must be numbers.") from None
    if not values or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
        raise ModelError(f"the cuts of {name!r} must be rising, finite numbers.")
    if len(values) >= MAX_COLUMN_BINS:
        raise ModelError(
            f"{name!r} has {len(values)} cuts, and {MAX_COLUMN_BINS - 1} are the most."
        )
    return values


# ---- growing them, and what they predict ----


class DroppedOutError(SiteError):
    """A site is gone while trees are grown; the step can be repeated."""


def parameters_of(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of XGBoost's native interface, besides the rounds."""
    given = dict(learner_of(model).parameters)
    given.pop("n_estimators")
    return {**given, "objective": "binary:logistic", "nthread": 1, "seed": 0}


def cuts_of(plan: SitesPlan) -> list[tuple[int, Floats]]:
    """Return each column that trees can split, by its position, and its cuts."""
    cuts: Mapping[str, Sequence[float]] = plan.model["cuts"]
    return [
        (place, np.asarray(cuts[name], dtype=np.float64))
        for place, name in enumerate(plan.columns)
        if name in cuts
    ]


def numbers_of_bins(plan: SitesPlan) -> list[int]:
    """Return how many bins each column has that trees can split."""
    return [len(cuts) + 1 for _, cuts in cuts_of(plan)]


def bins_of(plan: SitesPlan, X: Floats) -> Bins:
    """Return the number of the bin of each value, from 0.

    Parameters
    ----------
    plan : SitesPlan
    X : numpy.ndarray, shape (n, q)
        A design matrix without missing values.
    """
    places = [np.searchsorted(cut, X[:, j], side="right") for j, cut in cuts_of(plan)]
    return np.column_stack(places).astype(np.uint8)


@dataclass(frozen=True, eq=False, repr=False)
class Job(Printed):
    """What a site grows trees from.

    Attributes
    ----------
    records : SiteRecords
        The records of the site.
    sites : tuple of str
        All sites, in the order in which they are numbered.
    """

    records: SiteRecords
    sites: tuple[str, ...]

    @property
    def site(self) -> str:
        """Name of the site."""
        return self.records.site

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Numbers of agreed bins, the outcome, and which records train each fit."""
        records = self.records
        return bins_of(records.plan, records.X), records.y, records.training > 0


Grow = Callable[[Job], Sequence[bytes]]
"""What grows the trees of all fits together with the other sites."""


@dataclass(frozen=True, eq=False, repr=False)
class Forests(Printed):
    """The trees of all fits, in XGBoost's binary JSON.

    Attributes
    ----------
    plan : SitesPlan
    raw : tuple of bytes
        The trees of each fold, and at the end of all records; the coordinator has only
        the last.

    Examples
    --------
    A run of boosted trees over sites has one, of which all sites publish the digest:

    >>> from types import SimpleNamespace
    >>> one, other = (Forests(SimpleNamespace(), (b"trees",)) for _ in range(2))
    >>> one.digest == other.digest
    True
    """

    plan: SitesPlan
    raw: tuple[bytes, ...]

    def __deepcopy__(self, memo: Any) -> Forests:
        return self

    @property
    def digest(self) -> str:
        """64 hex digits that are equal where all trees are."""
        each = b"".join(hashlib.sha256(one).digest() for one in self.raw)
        return hashlib.sha256(each).hexdigest()

    @cached_property
    def _boosters(self) -> list[Any]:
        import xgboost

        one_thread = {"nthread": 1}
        return [xgboost.Booster(one_thread, model_file=bytearray(r)) for r in self.raw]

    def held_out(self, records: SiteRecords) -> Floats:
        """Return the log odds of each record from the trees that it did not train."""
        bins, margin = bins_of(self.plan, records.X), np.zeros(records.n)
        for fold, booster in enumerate(self._boosters[: self.plan.k]):
            own = records.fold == fold
            margin[own] = _margin(booster, bins[own])
        return margin

    def log_odds(self, X: Floats) -> Floats:
        """Return log odds from the trees of all records; NaN for a missing value."""
        margin, whole = np.full(len(X), np.nan), ~np.isnan(X).any(axis=1)
        margin[whole] = _margin(self._boosters[-1], bins_of(self.plan, X[whole]))
        return margin


def _margin(booster: Any, bins: Bins) -> Floats:
    if not len(bins):
        return np.zeros(0)
    found = booster.inplace_predict(bins.astype(np.float32), predict_type="margin")
    return np.asarray(found, dtype=np.float64)


def version_of_xgboost() -> str:
    """Return the version of XGBoost that is installed, or an empty string."""
    return installed(["xgboost"]).get("xgboost", "")
