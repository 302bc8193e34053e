"""What a site grows trees from, and the trees.

Each site replaces its values by the numbers of their bins between agreed cuts, and
XGBoost grows the same trees at all sites from sums of gradients by node and bin. These
sums go over XGBoost's own federated server and not over the messages of this package,
so that whatever grows the trees is given to a site by its transport.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine import installed
from statcv.errors import SiteError
from statcv.sites.plan import SitesPlan, learner_of
from statcv.sites.records import SiteRecords
from statcv.tables import Printed
from statcv.words import plural

Floats = NDArray[np.float64]
Bins = NDArray[np.uint8]


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
    columns = [
        np.searchsorted(cuts, X[:, place], side="right")
        for place, cuts in cuts_of(plan)
    ]
    return np.column_stack(columns).astype(np.uint8)


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
    def arrays(self) -> tuple[NDArray[Any], ...]:
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
        whole = hashlib.sha256()
        for one in self.raw:
            whole.update(hashlib.sha256(one).digest())
        return whole.hexdigest()

    @cached_property
    def _boosters(self) -> list[Any]:
        import xgboost

        made = []
        for one in self.raw:
            booster = xgboost.Booster({"nthread": 1})
            booster.load_model(bytearray(one))
            made.append(booster)
        return made

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


def check_trees(plan: SitesPlan, raw: Sequence[bytes]) -> Forests:
    """Return the trees of a site, if there are as many fits as the plan has.

    Raises
    ------
    SiteError
        If there are more or fewer.
    """
    if len(raw) != plan.k + 1:
        raise SiteError(
            f"there are trees of {plural(len(raw), 'fit')}, and the plan has "
            f"{plan.k + 1}."
        )
    return Forests(plan, tuple(bytes(one) for one in raw))
