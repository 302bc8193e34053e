"""The records of one site as the plan reads them: matrix, outcome, folds, clusters.

Whatever is wrong with the data is said in terms of columns and counts, and never with a
value, since the sentence may leave the site.
"""

from __future__ import annotations

import hashlib
import hmac
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import SiteError, plural
from statcv.folds import ByHash, FoldPlan, Strata, make_plan
from statcv.folds.strata import keyed_digest
from statcv.formula import as_frame, is_missing, make_design
from statcv.sites.agreement import SCOPE, columns_of
from statcv.sites.plan import SitesPlan

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
Made = TypeVar("Made")

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)  # odd, so that products are all different


@dataclass(frozen=True, eq=False)
class Records:
    """The records of one site that are used.

    Attributes
    ----------
    plan : SitesPlan
    site : str
    X : numpy.ndarray, shape (n, q)
        Design matrix.
    y : numpy.ndarray, shape (n,)
        Outcome, 0 or 1 for two classes.
    fold : numpy.ndarray of int, shape (n,)
        Fold that holds a record out, from 0.
    unit : numpy.ndarray of int, shape (n,)
        Cluster of each record: its own number, or that of its stratifying values.
    dropped : numpy.ndarray of bool, shape (k, n)
        Whether a record is dropped from the training set of a fold for balance.
    frame : pandas.DataFrame
        The rows, with agreed levels as categories.
    n_given : int
        Number of rows of the data, including incomplete ones.
    checksum : str
        Keyed digest of the data, which is sent.
    secret : bytes
        Another, which stays at the site and seeds what nobody else may know.
    """

    plan: SitesPlan
    site: str
    X: Floats
    y: Floats
    fold: Numbers
    unit: Numbers
    dropped: NDArray[np.bool_]
    frame: pd.DataFrame
    n_given: int
    checksum: str
    secret: bytes

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.y)

    @cached_property
    def training(self) -> Floats:
        """Whether each record trains the fits, shape (k + 1, n); the last has all."""
        held = np.arange(self.plan.k)[:, None] == self.fold
        of_folds = ~(held | self.dropped)
        return np.vstack([of_folds, np.ones((1, self.n))]).astype(np.float64)

    @cached_property
    def code(self) -> Numbers:
        """Class of each record; 0 for a continuous outcome."""
        if not self.plan.binary:
            return np.zeros(self.n, dtype=np.intp)
        return self.y.astype(np.intp)

    @property
    def by_class(self) -> Numbers:
        """Number of records of each fold and class, shape (k, 2)."""
        codes = 2 * self.fold + self.code
        return np.bincount(codes, minlength=2 * self.plan.k).reshape(-1, 2)

    @property
    def by_fold(self) -> Numbers:
        """Number of records of each fold."""
        return np.bincount(self.fold, minlength=self.plan.k)


def read_records(plan: SitesPlan, data: Any, site: str) -> Records:
    """Read the data of a site as the plan asks.

    Raises
    ------
    SiteError
        If a column is missing or coded otherwise, or the folds cannot be made; the
        sentence names site and column, and no value.
    """
    frame = as_frame(data)
    used = columns_of(plan.formula)
    stratified = list(plan.stratify.get("columns", []))
    _check_present(frame, [*used, *stratified], site)
    coded = pd.DataFrame({name: frame[name] for name in used})
    for name, levels in plan.levels.items():
        if name in coded:
            coded[name] = _as_levels(coded[name], name, levels, site)
    for name in used:
        if name not in plan.levels:
            _check_number(coded[name], name, site)
    design = _quietly(
        lambda: make_design(
            plan.formula,
            coded,
            scope=SCOPE,
            positive=plan.levels[plan.outcome][1] if plan.binary else None,
        ),
        site,
        f"the formula {plan.formula!r} cannot be evaluated",
    )
    if design.names != plan.columns:
        raise SiteError(
            f"site {site}: the design has other columns than the plan; check the "
            f"levels of {', '.join(plan.levels)}."
        )
    kept = frame.iloc[design.kept].reset_index(drop=True)
    y = np.asarray(design.y, dtype=np.float64)
    fold, strata = _folds(plan, kept, y, site)
    unit = np.arange(len(y)) if strata is None else strata.codes
    return Records(
        plan=plan,
        site=site,
        X=np.ascontiguousarray(design.matrix, dtype=np.float64),
        y=y,
        fold=fold,
        unit=np.unique(unit, return_inverse=True)[1].astype(np.intp),
        dropped=_dropped(plan, kept, y, fold, site),
        frame=coded.iloc[design.kept].reset_index(drop=True),
        n_given=len(frame),
        checksum=_digest(plan, coded, site, "checksum").hex()[:32],
        secret=_digest(plan, coded, site, "secret"),
    )


def site_folds(plan: SitesPlan, data: Any, site: str) -> FoldPlan:
    """Return the fold plan of one site's records, for :func:`statcv.cv` on its own.

    ``FoldPlan.concat`` joins those of several sites into that of the pooled records.

    Parameters
    ----------
    plan : SitesPlan
    data : data frame
        Data of the site.
    site : str
        Name of the site.
    """
    records = read_records(plan, data, site)
    rows = {
        "repeat": 1,
        "fold": records.fold + 1,
        "position": np.arange(records.n),
        "row": np.arange(records.n),
        "role": "held out",
        "scheme": "kfold",
    }
    parts = [pd.DataFrame(rows)]
    for number, dropped in enumerate(records.dropped, 1):
        some = np.flatnonzero(dropped)
        parts.append(
            pd.DataFrame(
                {**rows, "fold": number, "position": some, "row": some}
            ).assign(role="dropped")
            if len(some)
            else parts[0].iloc[:0]
        )
    return FoldPlan.from_frame(pd.concat(parts, ignore_index=True), n=records.n)


def new_matrix(plan: SitesPlan, data: Any) -> tuple[Floats, pd.Index[Any]]:
    """Return the design matrix of rows without an outcome, and their labels."""
    frame = as_frame(data)
    names = [name for name in columns_of(plan.formula) if name != plan.outcome]
    _check_present(frame, names, "here")
    coded = pd.DataFrame({name: frame[name] for name in names})
    for name in names:
        if name in plan.levels:
            coded[name] = _as_levels(coded[name], name, plan.levels[name], "here")
    coded[plan.outcome] = np.arange(len(coded)) % 2
    known = coded.dropna()
    X = np.full((len(coded), plan.n_columns), np.nan)
    if len(known):
        design = make_design(f"{plan.formula}", _with_classes(known, plan), scope=SCOPE)
        X[np.flatnonzero(coded.notna().all(axis=1))] = design.matrix[: len(known)]
    return X, coded.index


def _with_classes(frame: pd.DataFrame, plan: SitesPlan) -> pd.DataFrame:
    """Return the rows, with one more so that an outcome always has two classes."""
    twice = pd.concat([frame, frame.iloc[:1]], ignore_index=True)
    twice[plan.outcome] = np.arange(len(twice)) % 2
    return twice


# ---- columns ----


def _check_present(frame: pd.DataFrame, names: Iterable[str], site: str) -> None:
    missing = [name for name in dict.fromkeys(names) if name not in frame.columns]
    if missing:
        raise SiteError(
            f"site {site}: column {missing[0]!r} is missing; the plan needs it under "
            "that name."
        )


def _as_levels(
    column: pd.Series[Any], name: str, levels: tuple[Any, ...], site: str
) -> pd.Series[Any]:
    """Return a column with the agreed levels as categories."""
    known = column.isin(list(levels))
    other = ~known & ~is_missing(column)
    if other.any():
        raise SiteError(
            f"site {site}: {plural(int(other.sum()), 'row')} of column {name!r} "
            f"{'has' if other.sum() == 1 else 'have'} a level that the plan does not "
            f"list; it lists {len(levels)}. Recode the column, or agree on more levels."
        )
    return pd.Series(pd.Categorical(column, categories=list(levels)), column.index)


def _check_number(column: pd.Series[Any], name: str, site: str) -> None:
    if not pd.api.types.is_numeric_dtype(column.dtype):
        raise SiteError(
            f"site {site}: column {name!r} is of type {column.dtype}, and the plan "
            "reads numbers; recode the column, or agree on its levels."
        )


def _quietly(make: Callable[[], Made], site: str, what: str) -> Made:
    """Return what is made, or raise an error without any value of the data."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make()
    except SiteError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise SiteError(
            f"site {site}: {what} ({kind}); cv() on the data of this site alone shows "
            "the whole error there."
        ) from None


# ---- folds ----


def _folds(
    plan: SitesPlan, frame: pd.DataFrame, y: Floats, site: str
) -> tuple[Numbers, Strata | None]:
    """Return the fold of each record, from 0, and its clusters."""
    stratifier = plan.stratifier
    if stratifier is None:
        kind = "binary" if plan.binary else "continuous"
        made = make_plan(
            "stratified_kfold" if plan.binary else "kfold",
            y.astype(np.intp) if plan.binary else y,
            kind,
            k=plan.k,
            seed=site_seed(plan, site),
        )
    else:
        check_key(plan, site)
        made = _quietly(
            lambda: make_plan(
                "kfold",
                y,
                "continuous",
                k=plan.k,
                stratify=stratifier,
                data=frame,
                seed=plan.seed,
            ),
            site,
            f"{plural(plan.k, 'fold')} cannot be made of {plan.stratify['sentence']}",
        )
    fold = np.empty(len(frame), dtype=np.intp)
    for number in range(plan.k):
        fold[made.test(number)] = number
    return fold, made.strata


def check_key(plan: SitesPlan, site: str) -> None:
    """Check that the key of a site is that of the plan, if its folds need one."""
    stratifier = plan.stratifier
    if not isinstance(stratifier, ByHash):
        return
    trace = _quietly(
        lambda: stratifier.key.trace,
        site,
        "there is no key in the environment variable STATCV_KEY",
    )
    if trace != plan.key_name:
        raise SiteError(
            f"site {site}: the key is not the one of the plan, whose name is "
            f"{plan.key_name}; set STATCV_KEY to the key that the sites agreed on."
        )


def site_seed(plan: SitesPlan, site: str, purpose: str = "folds") -> int:
    """Return a seed that differs between sites and purposes."""
    text = f"{plan.seed} {purpose} {site}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big")


def _dropped(
    plan: SitesPlan, frame: pd.DataFrame, y: Floats, fold: Numbers, site: str
) -> NDArray[np.bool_]:
    """Return who is dropped from each training set: the last in the order of a hash."""
    dropped = np.zeros((plan.k, len(y)), dtype=bool)
    if not plan.rebalance:
        return dropped
    stratifier = plan.stratifier
    if isinstance(stratifier, ByHash):
        identifiers = frame[list(stratifier.columns)]
        digest = keyed_digest(identifiers, stratifier.key.reveal())
    else:
        rng = np.random.default_rng(site_seed(plan, site, "drops"))
        digest = rng.permutation(len(y)).astype(np.uint64)
    for number in range(plan.k):
        order = digest * _MIX * np.uint64(2 * number + 1)
        trained = fold != number
        members = [np.flatnonzero(trained & (y == code)) for code in (0, 1)]
        least = min(map(len, members))
        for own in members:
            last = np.argsort(order[own], kind="stable")[least:]
            dropped[number, own[last]] = True
    return dropped


# ---- the snapshot ----


def _digest(plan: SitesPlan, frame: pd.DataFrame, site: str, purpose: str) -> bytes:
    """Return a digest of the used columns under the key, or under the plan."""
    stratifier, key = plan.stratifier, plan.fingerprint.encode()
    if isinstance(stratifier, ByHash) and stratifier.key.keyed_by != "nothing":
        key = f"{keyed_digest([purpose], stratifier.key.reveal())[0]}".encode()
    rows = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    told = f"{purpose} {site} ".encode() + rows.astype("<u8").tobytes()
    return hmac.new(key, told, hashlib.sha256).digest()
