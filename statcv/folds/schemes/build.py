"""A scheme, an outcome and perhaps a stratifier make a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import PLAN
from statcv.errors import ArgumentError, SchemeError
from statcv.folds.plan import FoldPlan
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.balance import balance, draws_at_random, rebalancing
from statcv.folds.response import Response
from statcv.folds.schemes.arguments import (
    FoldArguments,
    check_classes,
    check_groups,
    check_outcome,
    check_repeats,
    check_sizes,
)
from statcv.folds.schemes.holdout import Holding, Records
from statcv.folds.schemes.pairs import check_sample
from statcv.folds.schemes.table import Scheme, get_scheme
from statcv.folds.strata.clusters import Strata
from statcv.folds.strata.resolve import resolve_stratifier
from statcv.folds.strata.stratifier import Cut, Stratifier


def make_plan(
    scheme: str,
    y: Any,
    kind: str,
    *,
    k: int | None = None,
    p: float | None = None,
    pairs: int | None = None,
    repeats: int | None = None,
    rebalance: Any = None,
    stratify: Any = None,
    data: pd.DataFrame | None = None,
    seed: int = 0,
    levels: tuple[object, ...] = (),
) -> FoldPlan:
    """Make the fold plan of a named scheme.

    :func:`statcv.fold_plan` is the same for an outcome by name.

    Parameters
    ----------
    scheme : str
        A name in ``SCHEMES``.
    y : array-like, shape (n,)
        Class codes, or the values of a continuous outcome.
    kind : {"binary", "multiclass", "continuous"}
    k : int, optional
        Number of folds, by default 10, or n with fewer records.
    p : int or float, optional
        Records in a group of the leave-p-out schemes; share held out by
        ``montecarlo``, 0.25.
    pairs : int, optional
        Number of pairs held out by ``leave_pair_out``, a balanced sample; by default
        all.
    repeats : int, optional
        Number of times that records are held out, or drawn to be dropped; by default 20
        for ``rloocv``, 25 for ``montecarlo``, 100 for ``bootstrap``, else 1.
    rebalance : str or Bags, optional
        How training sets are balanced: ``"subsample"``, ``"weight"``,
        ``"upsample"``, ``"all"``, ``"bag"``.
    stratify : str, list of str or Stratifier, optional
        Columns of ``data`` whose equal values are never split across folds.
    data : pandas.DataFrame, optional
        The n records, needed with ``stratify``.
    seed : int
        Seed from which each repeat draws its own stream.
    levels : tuple
        Names of the classes, for messages.

    Raises
    ------
    ArgumentError
        If an argument does not apply to the scheme, or is out of range.
    SchemeError
        If the scheme does not admit the outcome, or is not possible with the records.

    Examples
    --------
    >>> y = np.array([0, 1] * 7)
    >>> make_plan("rkfold", y, "binary", k=5).counts(y, 2)[0]
    array([[5, 5],
           [5, 5],
           [5, 5],
           [5, 5],
           [5, 5]])
    """
    response = Response.of(y, kind, levels)
    stratifier = None
    if stratify is not None:
        if data is None:
            raise SchemeError("stratify= needs data, the frame that has its columns.")
        stratifier = resolve_stratifier(stratify, data)
        if not isinstance(stratify, Stratifier):
            stratifier.warn(data, named=True)
    given = FoldArguments(k=k, p=p, pairs=pairs, repeats=repeats, rebalance=rebalance)
    n = len(response.values)
    return build_plan(get_scheme(scheme), response, n, given, stratifier, data, seed)


def build_plan(
    scheme: Scheme,
    response: Response | None,
    n: int,
    given: FoldArguments,
    stratifier: Stratifier | None,
    frame: pd.DataFrame | None,
    seed: int,
) -> FoldPlan:
    """Make a plan, without an outcome for schemes that do not use it."""
    check_outcome(scheme, response)
    agreed = None if stratifier is None else stratifier.n_folds
    folds, size = check_sizes(scheme, given, n, agreed)
    how = given.rebalance
    how = rebalancing(scheme.rebalance if how is None else how)
    pairs, possible = given.pairs, 0
    if scheme.has_pairs and response is not None:
        possible = check_sample(pairs, response)
    sampled = pairs is not None and bool(pairs < possible)
    holds_at_random = sampled or _random(scheme, stratifier)
    by_chance = holds_at_random or draws_at_random(how, response)
    drops_only = how == "subsample" and by_chance and not holds_at_random
    repeats = check_repeats(scheme, given.repeats, by_chance, drops_only)
    if response is not None and response.by_class:
        check_classes(scheme, response, how, folds)
    strata = None
    if stratifier is not None and frame is not None:
        strata = _cut(scheme, stratifier, frame, folds, seed, repeats)
    parts = []
    for repeat in range(repeats):
        stream = np.random.SeedSequence(seed, spawn_key=(PLAN, repeat))
        measure = {"shares": size, "pairs": pairs}.get(scheme.splits, folds)
        records = _records(response, n, strata, repeat, scheme.has_pairs)
        parts.append(scheme.hold(records, measure, np.random.default_rng(stream)))
    strata, held = _dealt(strata, parts), [_filled(part) for part in parts]
    parts = [part for part, _ in held]
    again = f", repeated {repeats} times" if repeats > 1 else ""
    continuous = response is not None and not response.by_class
    noun = "outcome" if continuous else response.noun if response else "class"
    tests = Ragged.joined([part.tests for part in parts])
    plan = FoldPlan(
        scheme=scheme.name,
        sentence=_sentence(
            scheme,
            n,
            folds,
            size,
            strata,
            again * holds_at_random,
            pairs=_said_pairs(pairs, possible),
            noun=noun,
            unlike=f"{noun}{'e' * noun.endswith('s')}s",
        ),
        n=n,
        tests=tests,
        labels=tuple(labels for _, labels in held),
        dropped=Ragged.empty(len(tests)),
        kept_out=Ragged.joined([part.kept_out for part in parts]),
        copied=Ragged.joined([part.copied for part in parts]),
        first_fit=np.arange(len(tests) + 1),
        strata=strata,
        response=response,
        rows=None if frame is None else frame.index,
        seed=seed if by_chance else None,
    )
    if how is not None:
        plan = balance(plan, how, seed)
    if not holds_at_random:  # the draws for balance are repeated
        plan = replace(plan, sentence=plan.sentence + again)
    return plan


def _random(scheme: Scheme, stratifier: Stratifier | None) -> bool:
    """Return whether the held-out sets depend on the seed."""
    if stratifier is None or scheme.splits != "folds":
        return scheme.held_at_random
    return stratifier.random


def _cut(
    scheme: Scheme,
    stratifier: Stratifier,
    frame: pd.DataFrame,
    folds: int | None,
    seed: int,
    repeats: int,
) -> Strata:
    """Find the strata, and for k folds the units into which they are cut."""
    if scheme.splits != "folds" and stratifier.only_for_folds:
        raise ArgumentError(
            f"{stratifier.only_for_folds} means nothing for scheme={scheme.name!r}, "
            f"which holds out whole values of {stratifier.label}; leave it out, or use "
            "'kfold'."
        )
    codes = stratifier.values(frame)
    label, sizes = stratifier.label, np.bincount(codes)
    if len(sizes) < 2 and stratifier.n_folds is None:
        raise SchemeError(
            f"{label} has one value only: records that stay together cannot be divided "
            "into training and held-out ones."
        )
    if scheme.splits == "groups" and folds is not None:
        check_groups(sizes, folds, label)
    cuts: tuple[Cut, ...] = ()
    if scheme.splits == "folds" and folds is not None:
        cuts = tuple(stratifier.cut(frame, folds, seed, r) for r in range(repeats))
    identifies, made_by = stratifier.identifies, stratifier.made_by
    return Strata(
        label, codes, len(sizes), cuts, identifies=identifies, made_by=made_by
    )


def _records(
    response: Response | None,
    n: int,
    strata: Strata | None,
    repeat: int,
    in_pairs: bool = False,
) -> Records:
    """Return what the scheme may use of the records in a repeat."""
    codes = np.zeros(n, dtype=np.intp) if response is None else response.codes
    classes = 1 if response is None else response.classes
    unit = None if strata is None else strata.codes
    if in_pairs and response is not None and not response.by_class:
        distinct, codes = np.unique(response.values, return_inverse=True)
        return Records(codes, len(distinct), unit, numbers=True)
    if strata is None or not strata.cuts:
        return Records(codes, classes, unit)
    cut = strata.cuts[repeat]
    return Records(codes, classes, cut.codes, cut.allocation)


def _filled(part: Holding) -> tuple[Holding, Sequence[int]]:
    """Omit folds without records, and return the labels of the others.

    Folds on which several sites agree may be empty at one of them.
    """
    filled = np.flatnonzero(part.tests.sizes)
    if len(filled) == len(part.tests):
        return part, range(1, len(part.tests) + 1)
    return Holding.of(part.tests.chosen(filled)), tuple((filled + 1).tolist())


def _dealt(strata: Strata | None, parts: list[Holding]) -> Strata | None:
    """Keep the fold of each unit, for other records, and the bins of these."""
    if strata is None or not strata.cuts:
        return strata
    first, *others = strata.cuts
    alike = all(cut.bins == first.bins for cut in others)
    return replace(
        strata,
        cuts=tuple(replace(cut, codes=cut.codes[:0]) for cut in strata.cuts),
        folds=tuple(part.unit_fold for part in parts if part.unit_fold is not None),
        labels=tuple(range(1, len(part.tests) + 1) for part in parts),
        bins=first.codes if alike and first.bins else None,
    )


def _sizes(
    scheme: Scheme, n: int, groups: int | None, p: float | None, strata: Strata | None
) -> str:
    """Return how large the groups of a partition are, in words."""
    if scheme.splits != "groups" or groups is None:
        return ""
    if strata is not None:
        return f"about {p}"
    low, larger = divmod(n, groups)
    if not larger:
        return str(low)
    return f"{low} or {low + 1}"


def _said_pairs(pairs: int | None, possible: int) -> str:
    """Say which pairs are held out, in words."""
    if pairs is None:
        return "every pair"
    if pairs < possible:
        return f"{pairs:,} of {possible:,} pairs"
    return f"all {possible:,} pairs (so that nothing is random)"


def _sentence(
    scheme: Scheme,
    n: int,
    folds: int | None,
    size: float | None,
    strata: Strata | None,
    again: str,
    **words: str,
) -> str:
    said = scheme.sentence.format(
        k=folds,
        p=size,
        sizes=_sizes(scheme, n, folds, size, strata),
        share=f"{100 * (size or 0):.3g}%",
        **words,
    )
    if strata is None:
        return said + again
    if strata.cuts:
        said = strata.cuts[0].sentence(folds or 0)
        if scheme.spreads:
            said += (
                f", {words['unlike']} as they fall"
                if strata.cuts[0].allocation is not None
                else f", each {words['noun']} spread as evenly as they allow"
            )
    elif scheme.by_stratum:
        said = scheme.by_stratum.format(label=strata.label)
    elif scheme.splits == "pairs":
        said += f", their equals in {strata.label} kept out of training"
    return f"{said}{again}; {strata.sentence}"
