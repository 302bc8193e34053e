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
from functools import cached_property, partial
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import check_types
from statcv.errors import MissingDataWarning, SiteError, warn
from statcv.folds import ByHash, FoldPlan, Strata, make_plan
from statcv.folds.strata import TEST_VECTORS, count_missing, keyed_digest
from statcv.formula import as_frame, is_missing, make_design
from statcv.numeric.arrays import Bools, Floats, Numbers
from statcv.sites.agreement import SCOPE, columns_of, made_up
from statcv.sites.plan import SitesPlan
from statcv.tables import Table
from statcv.words import plural

Made = TypeVar("Made")

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)  # odd, so that products are all different
MAX_LEVELS_SHOWN: Final = 6  # largest number of levels of a plan that a sentence names


@dataclass(frozen=True, eq=False)
class SiteRecords:
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
    digest : numpy.ndarray of uint64, shape (n,), or None
        Keyed digest of each record's identifier, if folds are made by hash; it never
        leaves the site.
    frame : pandas.DataFrame
        The rows, with agreed levels as categories.
    labels : pandas.Index
        Labels of the rows in the data.
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
    digest: NDArray[np.uint64] | None
    frame: pd.DataFrame
    labels: pd.Index[Any]
    checksum: str
    secret: bytes

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.y)

    @cached_property
    def dropped(self) -> Bools:
        """Whether each fold's training set drops a record for balance, shape (k, n).

        The last in the order of a hash are dropped.
        """
        dropped = np.zeros((self.plan.k, self.n), dtype=bool)
        if not self.plan.rebalance:
            return dropped
        digest = self.digest
        if digest is None:
            rng = np.random.default_rng(site_seed(self.plan, self.site, "drops"))
            digest = rng.permutation(self.n).astype(np.uint64)
        for number in range(self.plan.k):
            order = digest * _MIX * np.uint64(2 * number + 1)
            trained = self.fold != number
            members = [np.flatnonzero(trained & (self.y == code)) for code in (0, 1)]
            least = min(map(len, members))
            for own in members:
                last = np.argsort(order[own], kind="stable")[least:]
                dropped[number, own[last]] = True
        return dropped

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


def read_records(plan: SitesPlan, data: Any, site: str) -> SiteRecords:
    """Read the data of a site as the plan asks.

    Raises
    ------
    SiteError
        If a column is missing or coded otherwise, or the folds cannot be made; the
        sentence names site and column, and no value.

    Warns
    -----
    MissingDataWarning
        If rows are omitted, with their number. It stays at the site.
    """
    frame = as_frame(data)
    used = columns_of(plan.formula)
    check_present(frame, columns_read(plan), site)
    coded = _coded(plan, frame, used, site)
    for name in used:
        numeric = pd.api.types.is_numeric_dtype(coded[name].dtype)
        if name not in plan.levels and not numeric:
            raise SiteError(
                f"site {site}: column {name!r} is of type {coded[name].dtype}, and the "
                "plan reads numbers; recode the column, or agree on its levels. cv() "
                "on the data of this site alone shows which values are not numbers."
            )
    X, y, kept = _design(plan, coded, site)
    if len(kept) < len(frame):
        warn(
            f"site {site}: {len(frame) - len(kept)} of {len(frame)} rows were "
            "omitted, since a value of the formula's columns is missing.",
            MissingDataWarning,
        )
    rows = frame.iloc[kept].reset_index(drop=True)
    fold, strata = folds_of_records(plan, rows, y, site)
    unit = np.arange(len(y)) if strata is None else strata.codes
    stratifier, digest = plan.stratifier, None
    if isinstance(stratifier, ByHash):
        identifiers = rows[list(stratifier.columns)]
        digest = keyed_digest(identifiers, stratifier.key.reveal())
    return SiteRecords(
        plan=plan,
        site=site,
        X=X,
        y=y,
        fold=fold,
        unit=np.unique(unit, return_inverse=True)[1].astype(np.intp),
        digest=digest,
        frame=coded.iloc[kept].reset_index(drop=True),
        labels=frame.index[kept],
        checksum=_digest(plan, coded, site, "checksum").hex()[:32],
        secret=_digest(plan, coded, site, "secret"),
    )


def columns_read(plan: SitesPlan) -> list[str]:
    """Return the columns of the data that a site reads: formula, then stratifier."""
    stratified = plan.stratify.get("columns", [])
    return list(dict.fromkeys([*columns_of(plan.formula), *stratified]))


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

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> data = scv.load_data("ehr")
    >>> at = {name: data.iloc[i::3] for i, name in enumerate("ABC")}
    >>> plan = sites.agree("y ~ x1 + x2", k=5)
    >>> folds = sites.site_folds(plan, at["A"], "A")
    >>> folds.n, folds.n_splits
    (667, 5)
    """
    check_types(site_folds, locals())
    records = read_records(plan, data, site)
    held = records.fold, np.arange(records.n)
    roles = {"held out": held, "dropped": np.nonzero(records.dropped)}
    parts = (
        pd.DataFrame({"fold": fold + 1, "position": position, "role": role})
        for role, (fold, position) in roles.items()
    )
    table = pd.concat(parts).sort_values("fold", kind="stable", ignore_index=True)
    row = records.labels[table["position"]]
    table = table.assign(repeat=1, row=row, scheme="kfold")
    return FoldPlan.from_frame(table, n=records.n)


def new_matrix(plan: SitesPlan, data: Any) -> tuple[Floats, pd.Index[Any]]:
    """Return the design matrix of rows without an outcome, and their labels.

    Rows with a missing value are NaN.
    """
    frame, names = as_frame(data), columns_of(plan.formula)[1:]
    check_present(frame, names, "here")
    coded = _coded(plan, frame, names, "here")
    outcome = plan.levels.get(plan.outcome, (0.0,))[0]
    rows, _, kept = _design(plan, coded.assign(**{plan.outcome: outcome}), "here")
    X = np.full((len(coded), plan.n_columns), np.nan)
    X[kept] = rows
    return X, coded.index


def _design(
    plan: SitesPlan, coded: pd.DataFrame, site: str
) -> tuple[Floats, Floats, Numbers]:
    """Return matrix and outcome of the complete rows, and which rows these are.

    Made-up rows come first, so that columns do not depend on the levels that a site
    has; they are dropped again.
    """
    first = made_up(columns_of(plan.formula), plan.levels, plan.binary)
    whole = pd.concat([first, coded[list(first)]], ignore_index=True)
    for name in plan.levels:
        if name in whole:
            whole[name] = pd.Categorical(whole[name], categories=plan.levels[name])
    positive = plan.levels[plan.outcome][1] if plan.binary else None
    make = partial(make_design, plan.formula, whole, scope=SCOPE, positive=positive)
    what = f"the formula {plan.formula!r} cannot be evaluated"
    design = quietly(make, site, what)
    if design.names != plan.columns:
        raise SiteError(
            f"site {site}: the design has other columns than the plan; all sites need "
            "the same version of statcv."
        )
    own = design.kept >= len(first)
    X = np.ascontiguousarray(design.matrix[own], dtype=np.float64)
    return X, np.asarray(design.y[own], dtype=np.float64), design.kept[own] - len(first)


# ---- columns ----


def check_present(frame: pd.DataFrame, names: Iterable[str], site: str) -> None:
    """Check that a site has columns under the agreed names."""
    if missing := [name for name in names if name not in frame.columns]:
        raise SiteError(
            f"site {site}: column {missing[0]!r} is missing; the plan needs it under "
            "that name."
        )


def check_whole_columns(frame: pd.DataFrame, names: Iterable[str], site: str) -> None:
    """Check that a site has columns, and that no value of them is missing."""
    check_present(frame, names, site)
    for name in names:
        if missing := count_missing(frame[name]):
            raise SiteError(
                f"site {site}: {missing} of {len(frame)} values of {name!r} are "
                "missing; leave these records out."
            )


def quietly(make: Callable[[], Made], site: str, what: str) -> Made:
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


def _coded(
    plan: SitesPlan, frame: pd.DataFrame, names: Iterable[str], site: str
) -> pd.DataFrame:
    """Return columns of a site, those with agreed levels with these as categories."""
    coded = frame[[*names]].copy()
    for name, levels in plan.levels.items():
        if name not in coded:
            continue
        column = coded[name]
        if other := int((~column.isin(list(levels)) & ~is_missing(column)).sum()):
            shown = [*map(repr, levels[:MAX_LEVELS_SHOWN])]
            listed = ", ".join(shown + ["…"] * (len(levels) > MAX_LEVELS_SHOWN))
            raise SiteError(
                f"site {site}: {plural(other, 'row')} of column {name!r} "
                f"{'has' if other == 1 else 'have'} a level that the plan does not "
                f"list; it lists {listed}. Recode the column, agree on others by "
                f"levels={{{name!r}: […]}}, or, if it is a continuous outcome, agree "
                "on model='linear'."
            )
        coded[name] = pd.Categorical(column, categories=list(levels))
    return coded


# ---- who is held out, and who is dropped for balance ----


def folds_of_records(
    plan: SitesPlan, frame: pd.DataFrame, y: Floats, site: str
) -> tuple[Numbers, Strata | None]:
    """Return the fold of each record, from 0, and its clusters."""
    if len(frame) < plan.k:
        raise SiteError(
            f"site {site} has fewer records than the {plan.k} folds, each of which "
            "leaves a site a training set; join its records with those of another "
            "site, or agree on a smaller k."
        )
    stratifier = plan.stratifier
    if stratifier is None:
        classes = ("stratified_kfold", y, "binary")
        given = classes if plan.binary else ("kfold", y, "continuous")
        made = make_plan(*given, k=plan.k, seed=site_seed(plan, site))
    else:
        if isinstance(stratifier, ByHash):
            key, no_key = stratifier.key, "there is no key in the environment variable"
            trace = quietly(lambda: key.trace, site, f"{no_key} STATCV_KEY")
            if trace != plan.key_name:
                raise SiteError(
                    f"site {site}: the key is not the one of the plan, whose name is "
                    f"{plan.key_name}; set STATCV_KEY to the key that the sites agreed "
                    "on."
                )
        what = f"{plural(plan.k, 'fold')} cannot be made of {plan.stratify['sentence']}"
        make = partial(make_plan, "kfold", y, "continuous", k=plan.k, seed=plan.seed)
        made = quietly(partial(make, stratify=stratifier, data=frame), site, what)
    return made.held_out[0].astype(np.intp), made.strata


def site_seed(plan: SitesPlan, site: str, purpose: str = "folds") -> int:
    """Return a seed that differs between sites and purposes."""
    text = f"{plan.seed} {purpose} {site}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big")


def test_vectors() -> pd.DataFrame:
    """Return values whose written form, hash and fold any software must reproduce.

    Returns
    -------
    pandas.DataFrame
        One row per value: ``key`` in hexadecimal digits, ``value`` as Python has it,
        its ``written`` form, which is hashed as UTF-8, its ``hmac`` by SHA-256 in
        hexadecimal digits, and its ``fold``, which is the first 14 digits of that
        modulo 5, from 0. The first three are those of RFC 4231.

    Examples
    --------
    >>> from statcv import sites
    >>> sites.test_vectors()[["written", "fold"]].iloc[[4, 5]]
      written  fold
    4     007     1
    5       7     3
    """
    rows = [(key.hex(), repr(value), *others) for key, value, *others in TEST_VECTORS]
    table = pd.DataFrame(rows, columns=["key", "value", "written", "hmac", "fold"])
    what = "Values with their written form and fold, which any software must reproduce"
    return Table(table, what, ["value", "written", "fold"])


# ---- the snapshot ----


def _digest(plan: SitesPlan, frame: pd.DataFrame, site: str, purpose: str) -> bytes:
    """Return a digest of the used columns under the key, or under the plan."""
    stratifier, key = plan.stratifier, plan.fingerprint.encode()
    if isinstance(stratifier, ByHash) and stratifier.key.keyed_by != "nothing":
        key = f"{keyed_digest([purpose], stratifier.key.reveal())[0]}".encode()
    rows = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    told = f"{purpose} {site} ".encode() + rows.astype("<u8").tobytes()
    return hmac.new(key, told, hashlib.sha256).digest()
