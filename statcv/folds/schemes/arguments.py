"""The arguments that define the folds, and whether scheme and outcome admit them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import MAX_REPEATS, check_whole, is_whole
from statcv.errors import ArgumentError, FoldWarning, SchemeError, warn
from statcv.folds.response import Response
from statcv.folds.schemes.table import CLASSES, Scheme

DEFAULT_K = 10
DEFAULT_SHARE = 0.25

HOLDS_OUT = {
    "folds": "k folds",
    "groups": "groups of p records",
    "units": "one record at a time",
    "pairs": "pairs of records",
    "shares": "a random share p of the records",
    "samples": "what a bootstrap sample left",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class FoldArguments:
    """The arguments of a call that define the held-out and training records.

    Attributes
    ----------
    scheme, k, p, pairs, repeats, stratify, rebalance
        As :func:`statcv.cv` takes them.
    """

    scheme: Any = None
    k: int | None = None
    p: float | None = None
    pairs: int | None = None
    repeats: int | None = None
    stratify: Any = None
    rebalance: Any = None


def check_sizes(
    scheme: Scheme, given: FoldArguments, n: int, agreed: int | None
) -> tuple[Any, Any]:
    """Return the number of folds and the p of a scheme; None where it has none.

    On ``agreed`` folds several sites agree, so that a site may have fewer records.
    """
    k, p, pairs = given.k, given.p, given.pairs
    if n < (2 if agreed is None else 1):
        raise SchemeError(
            f"{n} record{'s' * (n != 1)} cannot be held out and trained on as well."
        )
    taken = (
        ("k", k, scheme.has_k, "'kfold'"),
        ("p", p, scheme.has_p, "'lpocv'"),
        ("pairs", pairs, scheme.has_pairs, "'leave_pair_out'"),
    )
    for name, value, has, other in taken:
        if value is not None and not has:
            raise ArgumentError(
                f"{name}={value!r} means nothing for scheme={scheme.name!r}, which "
                f"holds out {HOLDS_OUT[scheme.splits]}; leave {name} out, or use "
                f"{other}."
            )
    if pairs is not None and whole("pairs", pairs) < 1:
        raise ArgumentError(f"pairs={pairs} is out of range: 1 or more.")
    if scheme.splits == "folds":
        k = agreed or min(DEFAULT_K, n) if k is None else whole("k", k)
        if not 2 <= k <= n and agreed is None:
            raise ArgumentError(
                f"k={k} is out of range: {n} records make from 2 to {n} folds."
            )
        return k, None
    if scheme.splits == "groups":
        if p is None:
            raise ArgumentError(
                f"scheme={scheme.name!r} needs p, the number of records held out at "
                "a time."
            )
        if not 1 <= whole("p", p) <= n // 2:
            raise ArgumentError(
                f"p={p} is out of range: of {n} records from 1 to {n // 2} can be held "
                "out at a time."
            )
        return n // int(p), int(p)
    if scheme.splits == "shares":
        share = DEFAULT_SHARE if p is None else p
        number = isinstance(share, (float, np.floating))
        if not number or not 0 < share < 1:
            raise ArgumentError(
                f"p={p!r} is out of range: scheme={scheme.name!r} holds out a share "
                "between 0 and 1, such as p=0.25."
            )
        return None, float(share)
    return None, None


def check_repeats(scheme: Scheme, repeats: Any, random: bool, drops_only: bool) -> int:
    """Return how many times records are held out, or drawn to be dropped."""
    if repeats is None:
        return scheme.draws if drops_only else scheme.repeats
    check_whole(repeats, "repeats", least=1, most=MAX_REPEATS)
    if not random and repeats > 1:
        sample = ", or hold out a sample by pairs=" * scheme.has_pairs
        raise ArgumentError(
            f"repeats={repeats} means nothing for scheme={scheme.name!r}, which has "
            f"no randomness here; leave repeats out{sample}."
        )
    return int(repeats)


def whole(name: str, value: Any) -> int:
    """Return an integer, or raise."""
    if not is_whole(value):
        raise ArgumentError(f"{name} must be an integer, not {value!r}.")
    return int(value)


def check_outcome(scheme: Scheme, response: Response | None) -> None:
    """Refuse a scheme that the outcome does not admit."""
    named = scheme.name
    if response is None:
        if scheme.outcomes == CLASSES or scheme.rebalance or scheme.has_pairs:
            raise SchemeError(
                f"scheme={named!r} needs the outcome: fold_plan('y', data=…)."
            )
        return
    if response.kind not in scheme.outcomes:
        if response.kind == "continuous":
            raise SchemeError(
                f"scheme={named!r} needs an outcome of classes, and this one is "
                "continuous; use 'kfold', 'loocv' or 'rloocv'."
            )
        raise SchemeError(
            f"scheme={named!r} needs an outcome of two classes, and this one has "
            f"{response.classes}; use 'leave_pair_out'."
        )


def check_classes(
    scheme: Scheme, response: Response, rebalance: Any, folds: int | None
) -> None:
    """Refuse a class that would be absent from training; warn of a rare one.

    No fold needs censored records.
    """
    counts, noun = response.counts, response.noun
    rarest = int(counts.argmin())
    name = str(response.levels[rarest])
    if (rebalance is not None or scheme.splits == "pairs") and counts[rarest] < 2:
        raise SchemeError(
            f"scheme={scheme.name!r} needs at least two records of each {noun}, but "
            f"{noun} {name!r} has {counts[rarest]}: without it a training set would "
            "have none."
        )
    if response.of_times:
        named = [f"{level}".startswith("censored") for level in response.levels]
        rarest = int(np.where(named, counts.max() + 1, counts).argmin())
        name = str(response.levels[rarest])
    if folds and scheme.spreads and rebalance is None and counts[rarest] < folds:
        few = counts[rarest]
        warn(
            f"{noun} {name!r} has fewer records ({few}) than there are folds "
            f"({folds}): in {folds - few} of them it is not held out.",
            FoldWarning,
        )


def check_groups(sizes: NDArray[np.intp], groups: int, label: str) -> None:
    """Refuse fewer strata than groups, and warn of one that is larger than a group."""
    if len(sizes) < groups:
        raise SchemeError(
            f"{label} has {len(sizes)} distinct values, too few for {groups} groups of "
            "whole strata; use a larger p."
        )
    share = -(-int(sizes.sum()) // groups)
    if sizes.max() > share:
        warn(
            f"the largest stratum of {label} holds {sizes.max()} records, more than a "
            f"group of {share}: groups differ in size.",
            FoldWarning,
        )
