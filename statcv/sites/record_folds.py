"""Who is held out where at one site, and who is dropped for balance.

Whatever is wrong with the data is said in terms of columns and counts, and never with a
value, since the sentence may leave the site.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import SiteError
from statcv.folds import ByHash, Strata, make_plan
from statcv.folds.strata import TEST_VECTORS, count_missing, keyed_digest
from statcv.sites.plan import SitesPlan
from statcv.tables import Table
from statcv.words import plural

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
Made = TypeVar("Made")

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)  # odd, so that products are all different


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
        made = quietly(
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
    trace = quietly(
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


def identifiers_of(plan: SitesPlan, frame: pd.DataFrame) -> NDArray[np.uint64] | None:
    """Return the keyed digest of each identifier; None if folds are not by hash."""
    stratifier = plan.stratifier
    if not isinstance(stratifier, ByHash):
        return None
    return keyed_digest(frame[list(stratifier.columns)], stratifier.key.reveal())


def dropped_for_balance(
    plan: SitesPlan,
    digest: NDArray[np.uint64] | None,
    y: Floats,
    fold: Numbers,
    site: str,
) -> NDArray[np.bool_]:
    """Return who is dropped from each training set: the last in the order of a hash."""
    dropped = np.zeros((plan.k, len(y)), dtype=bool)
    if not plan.rebalance:
        return dropped
    if digest is None:
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
    table = pd.DataFrame(
        [
            (key.hex(), repr(value), text, digest, fold)
            for key, value, text, digest, fold in TEST_VECTORS
        ],
        columns=["key", "value", "written", "hmac", "fold"],
    )
    return Table(
        table,
        "Values with their written form and fold, which any software must reproduce",
        ["value", "written", "fold"],
    )
