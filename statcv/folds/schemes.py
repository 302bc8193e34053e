"""The named schemes: what each holds out, and its one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ArgumentError, FoldWarning, SchemeError, suggestion, warn
from statcv.folds.plan import FoldPlan, Rows, assemble
from statcv.folds.rebalance import drop_partners

Codes = NDArray[np.intp]
Deal = Callable[[Codes, int, np.random.Generator], NDArray[np.intp]]
DEFAULT_K = 10


@dataclass(frozen=True)
class Scheme:
    """A named way to hold records out.

    Attributes
    ----------
    name : str
    sentence : str
        What it does; ``{k}`` stands for the number of folds, ``{totals}`` for the
        class totals of every training set.
    deal : callable
        (codes, k, rng) → the fold of each record, from 0.
    has_k, random : bool
        Whether it takes ``k=``, and whether it can be repeated.
    by_class : bool
        Whether it needs an outcome of classes.
    rebalanced : bool
        Whether records are dropped to even out the training sets.
    """

    name: str
    sentence: str
    deal: Deal
    has_k: bool
    random: bool
    by_class: bool = False
    rebalanced: bool = False


def _deal_evenly(codes: Codes, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Deal k random folds whose sizes differ by at most one."""
    fold = np.empty(len(codes), dtype=np.intp)
    fold[rng.permutation(len(codes))] = np.arange(len(codes)) % k
    return rng.permutation(k)[fold]


def _deal_by_class(codes: Codes, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Deal each class in turn, its remainder onwards from where the last ended."""
    shuffled = rng.permutation(len(codes))
    order = shuffled[np.argsort(codes[shuffled], kind="stable")]
    fold = np.empty(len(codes), dtype=np.intp)
    fold[order] = np.arange(len(codes)) % k
    return rng.permutation(k)[fold]


def _one_each(codes: Codes, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.arange(len(codes))


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("kfold", "{k} random folds", _deal_evenly, has_k=True, random=True),
        Scheme(
            "stratified_kfold",
            "{k} folds with each class spread evenly",
            _deal_by_class,
            has_k=True,
            random=True,
            by_class=True,
        ),
        Scheme(
            "loocv",
            "leave-one-out, each record held out by itself",
            _one_each,
            has_k=False,
            random=False,
        ),
        Scheme(
            "rloocv",
            "rebalanced leave-one-out: each record held out by itself, a random "
            "record of each other class dropped; training sets of {totals} each",
            _one_each,
            has_k=False,
            random=True,
            by_class=True,
            rebalanced=True,
        ),
    )
}


def get_scheme(name: str) -> Scheme:
    """Return a scheme by name, or say which name is nearest."""
    if name not in SCHEMES:
        raise SchemeError(
            f"there is no scheme {name!r}; there are {', '.join(SCHEMES)}."
            + suggestion(name, SCHEMES)
        )
    return SCHEMES[name]


def make_plan(
    scheme: str,
    y: NDArray[np.generic],
    kind: str,
    *,
    k: int | None = None,
    repeats: int | None = None,
    seed: int = 0,
    levels: tuple[object, ...] = (),
) -> FoldPlan:
    """Make the fold plan of a named scheme.

    Parameters
    ----------
    scheme : str
        A name in ``SCHEMES``.
    y : numpy.ndarray, shape (n,)
        Class codes, or the values of a continuous outcome.
    kind : {"binary", "multiclass", "continuous"}
    k : int, optional
        Number of folds; 10, or n where there are fewer records.
    repeats : int, optional
        How often to draw the folds anew; 1.
    seed : int
        Each repeat draws from its own stream of this seed.
    levels : tuple
        Names of the classes, for messages.

    Raises
    ------
    ArgumentError
        If ``k`` or ``repeats`` means nothing for the scheme, or is out of range.
    SchemeError
        If the scheme does not admit the outcome.
    """
    chosen = get_scheme(scheme)
    n = len(y)
    k = _check_k(chosen, k, n)
    repeats = _check_repeats(chosen, repeats)
    if chosen.by_class and kind == "continuous":
        raise SchemeError(
            f"scheme={scheme!r} needs an outcome of classes, and this one is "
            "continuous; use 'kfold' or 'loocv'."
        )
    codes = y.astype(np.intp) if kind != "continuous" else np.zeros(n, dtype=np.intp)
    counts = np.bincount(codes)
    names = [str(level) for level in levels] or [str(c) for c in range(len(counts))]
    if chosen.by_class:
        _check_classes(chosen, counts, k, names)
    held_out: list[NDArray[np.intp]] = []
    dropped: list[Rows] = []
    for repeat in range(repeats):
        stream = np.random.SeedSequence(seed, spawn_key=(0, repeat))
        rng = np.random.default_rng(stream)
        held_out.append(chosen.deal(codes, k, rng))
        if chosen.rebalanced:
            dropped.extend(drop_partners(codes, rng))
    totals = "/".join(str(count - 1) for count in _positive_first(counts))
    return assemble(
        scheme,
        chosen.sentence.format(k=k, totals=totals)
        + (f", repeated {repeats} times" if repeats > 1 else ""),
        held_out,
        dropped,
        rebalanced=chosen.rebalanced,
        seed=seed if chosen.random else None,
    )


def _positive_first(counts: NDArray[np.intp]) -> NDArray[np.intp]:
    return counts[::-1] if len(counts) == 2 else counts


def _check_k(scheme: Scheme, k: int | None, n: int) -> int:
    if not scheme.has_k:
        if k is not None:
            raise ArgumentError(
                f"k={k!r} means nothing for scheme={scheme.name!r}, which holds out "
                "one record at a time; leave k out, or use 'kfold'."
            )
        return n
    if k is None:
        k = min(DEFAULT_K, n)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise ArgumentError(f"k must be a whole number, not {k!r}.")
    if not 2 <= k <= n:
        raise ArgumentError(
            f"k={k} is out of range: {n} records make from 2 to {n} folds."
        )
    return int(k)


def _check_repeats(scheme: Scheme, repeats: int | None) -> int:
    if repeats is None:
        return 1
    if isinstance(repeats, bool) or not isinstance(repeats, (int, np.integer)):
        raise ArgumentError(f"repeats must be a whole number, not {repeats!r}.")
    if repeats < 1:
        raise ArgumentError(f"repeats={repeats} is out of range: 1 or more.")
    if not scheme.random:
        raise ArgumentError(
            f"repeats={repeats} means nothing for scheme={scheme.name!r}, which has "
            "no randomness; leave repeats out."
        )
    return int(repeats)


def _check_classes(
    scheme: Scheme, counts: NDArray[np.intp], k: int, names: list[str]
) -> None:
    rarest = int(counts.argmin())
    if scheme.rebalanced and counts[rarest] < 2:
        raise SchemeError(
            f"scheme={scheme.name!r} needs at least two records of each class, but "
            f"class {names[rarest]!r} has {counts[rarest]}: without it a training set "
            "would have none."
        )
    if not scheme.rebalanced and counts[rarest] < k:
        warn(
            f"class {names[rarest]!r} has fewer records ({counts[rarest]}) than there "
            f"are folds ({k}): in {k - counts[rarest]} of them it is not held out.",
            FoldWarning,
        )
