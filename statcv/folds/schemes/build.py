"""A scheme, an outcome and perhaps a stratifier make a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import MAX_REPEATS, PLAN, check_whole, is_whole
from statcv.errors import ArgumentError, FoldWarning, SchemeError, warn
from statcv.folds.plan import FoldPlan
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.balance import balance, draws_at_random, rebalancing
from statcv.folds.response import Response
from statcv.folds.schemes.holdout import Holding, Records, check_sample, count_unlike
from statcv.folds.schemes.table import CLASSES, Scheme, get_scheme
from statcv.folds.strata.clusters import Strata
from statcv.folds.strata.stratifier import Cut, Stratifier, resolve_stratifier
from statcv.numeric.arrays import Numbers
from statcv.words import plural, stored_texts


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
    request = get_scheme(scheme), response, n, given, stratifier, data, seed
    return PlanRequest(*request).plan()


DEFAULT_K = 10
DEFAULT_SHARE = 0.25

HOLDS_OUT = stored_texts("statcv.folds.schemes", "holds_out.txt")


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


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """A scheme with all that it makes a plan of.

    Attributes
    ----------
    scheme : Scheme
    response : Response, optional
        The outcome, unless the scheme does not use it.
    n : int
        Number of records.
    given : FoldArguments
    stratifier : Stratifier, optional
    frame : pandas.DataFrame, optional
        The records, if there is a stratifier.
    seed : int
    """

    scheme: Scheme
    response: Response | None
    n: int
    given: FoldArguments
    stratifier: Stratifier | None
    frame: pd.DataFrame | None
    seed: int

    def plan(self) -> FoldPlan:
        """Make the plan."""
        scheme, response, stratifier = self.scheme, self.response, self.stratifier
        check_outcome(scheme, response)
        folds, size = self._sizes()
        how = self.given.rebalance
        how = rebalancing(scheme.rebalance if how is None else how)
        pairs, possible = self.given.pairs, 0
        if scheme.has_pairs and response is not None:
            possible = check_sample(pairs, response)
        sampled = pairs is not None and bool(pairs < possible)
        holds_at_random = sampled or scheme.held_at_random
        if stratifier is not None and scheme.splits == "folds":
            holds_at_random = stratifier.random
        by_chance = holds_at_random or draws_at_random(how, response)
        drops_only = how == "subsample" and by_chance and not holds_at_random
        repeats = check_repeats(scheme, self.given.repeats, by_chance, drops_only)
        if response is not None and response.by_class:
            check_classes(scheme, response, how, folds)
        strata, parts = self._strata(folds, repeats), []
        measure = {"shares": size, "pairs": pairs}.get(scheme.splits, folds)
        for repeat in range(repeats):
            stream = np.random.SeedSequence(self.seed, spawn_key=(PLAN, repeat))
            records, rng = self._records(strata, repeat), np.random.default_rng(stream)
            parts.append(scheme.hold(records, measure, rng))
        if redrawn := sum(part.redrawn for part in parts):
            warn(
                f"{plural(redrawn, 'bootstrap sample')} lacked a class or left no "
                "record out, and had to be drawn again.",
                FoldWarning,
            )
        strata = _dealt(strata, parts)
        held = [_filled(part) for part in parts]
        lists: dict[str, Any] = {
            name: Ragged.joined(getattr(part, name) for part, _ in held)
            for name in ("tests", "kept_out", "copied")
        }
        again = f", repeated {repeats} times" if repeats > 1 else ""
        said, of_strata = self._sentence(folds, size, strata)
        plan = FoldPlan(
            scheme=scheme.name,
            sentence=f"{said}{again * holds_at_random}{of_strata}",
            n=self.n,
            **lists,
            labels=tuple(labels for _, labels in held),
            strata=strata,
            response=response,
            rows=None if self.frame is None else self.frame.index,
            seed=self.seed if by_chance else None,
        )
        if how is not None:
            plan = balance(plan, how, self.seed)
        if not holds_at_random:  # the draws for balance are repeated
            plan = replace(plan, sentence=plan.sentence + again)
        return plan

    def _strata(self, folds: int | None, repeats: int) -> Strata | None:
        """Find the strata, and for k folds the units into which they are cut."""
        scheme, stratifier, frame = self.scheme, self.stratifier, self.frame
        if stratifier is None or frame is None:
            return None
        if scheme.splits != "folds" and stratifier.only_for_folds:
            raise ArgumentError(
                f"{stratifier.only_for_folds} means nothing for scheme={scheme.name!r},"
                f" which holds out whole values of {stratifier.label}; leave it out, or"
                " use 'kfold'."
            )
        codes = stratifier.values(frame)
        label, sizes = stratifier.label, np.bincount(codes)
        if len(sizes) < 2 and stratifier.n_folds is None:
            raise SchemeError(
                f"{label} has one value only: records that stay together cannot be "
                "divided into training and held-out ones."
            )
        if scheme.splits == "groups" and folds is not None:
            check_groups(sizes, folds, label)
        cuts: tuple[Cut, ...] = ()
        if scheme.splits == "folds" and folds is not None:
            each = range(repeats)
            cuts = tuple(stratifier.cut(frame, folds, self.seed, r) for r in each)
        how: dict[str, Any] = {"made_by": stratifier.made_by}
        how["identifies"] = stratifier.identifies
        return Strata(label, codes, len(sizes), cuts, **how)

    def _records(self, strata: Strata | None, repeat: int) -> Records:
        """Return what the scheme may use of the records in a repeat."""
        response = self.response or Response.of(np.zeros(self.n), "continuous")
        codes, classes = response.codes, response.classes
        unit = None if strata is None else strata.codes
        if self.scheme.has_pairs and not response.by_class:
            distinct, codes = np.unique(response.values, return_inverse=True)
            return Records(codes, len(distinct), unit, numbers=True)
        if strata is not None and strata.cuts:
            cut = strata.cuts[repeat]
            return Records(codes, classes, cut.codes, cut.allocation)
        return Records(codes, classes, unit)

    def _sentence(
        self, folds: int | None, size: float | None, strata: Strata | None
    ) -> tuple[str, str]:
        """Say who is held out, and which records are never split."""
        scheme, response, pairs = self.scheme, self.response, self.given.pairs
        noun = "class" if response is None else response.noun
        if response is not None and not response.by_class:
            noun = "outcome"
        unlike = f"{noun}{'e' * noun.endswith('s')}s"
        low, larger = divmod(self.n, folds or 1)
        sizes, which = f"{low} or {low + 1}" if larger else str(low), "every pair"
        if strata is not None:
            sizes = f"about {size}"
        if pairs is not None and response is not None:
            possible = count_unlike(response.values)
            which = f"{pairs:,} of {possible:,} pairs"
            if pairs >= possible:
                which = f"all {possible:,} pairs (so that nothing is random)"
        share = f"{100 * (size or 0):.3g}%"
        words = {"k": folds, "p": size, "sizes": sizes, "share": share, "pairs": which}
        said = scheme.sentence.format(**words, noun=noun, unlike=unlike)
        if strata is None:
            return said, ""
        if strata.cuts:
            said = strata.cuts[0].sentence
            if scheme.spreads and strata.cuts[0].allocation is not None:
                said += f", {unlike} as they fall"
            elif scheme.spreads:
                said += f", each {noun} spread as evenly as they allow"
        elif scheme.by_stratum:
            said = scheme.by_stratum.format(label=strata.label)
        elif scheme.splits == "pairs":
            said += f", their equals in {strata.label} kept out of training"
        return said, f"; {strata.sentence}"

    def _sizes(self) -> tuple[Any, Any]:
        """Return the number of folds and the p of a scheme; None where it has none.

        On agreed folds several sites agree, so that a site may have fewer records.
        """
        scheme, n, k, p = self.scheme, self.n, self.given.k, self.given.p
        pairs, agreed = self.given.pairs, self.stratifier and self.stratifier.n_folds
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
                what = "p, the number of records held out at a time."
                raise ArgumentError(f"scheme={scheme.name!r} needs {what}")
            if not 1 <= whole("p", p) <= n // 2:
                raise ArgumentError(
                    f"p={p} is out of range: of {n} records from 1 to {n // 2} can be "
                    "held out at a time."
                )
            return n // int(p), int(p)
        if scheme.splits == "shares":
            share = DEFAULT_SHARE if p is None else p
            if not isinstance(share, (float, np.floating)) or not 0 < share < 1:
                raise ArgumentError(
                    f"p={p!r} is out of range: scheme={scheme.name!r} holds out a "
                    "share between 0 and 1, such as p=0.25."
                )
            return None, float(share)
        return None, None


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


# ---- the arguments, and whether scheme and outcome admit them ----


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
    counts, noun, levels = response.counts, response.noun, response.levels
    few, rarest = int(counts.min()), int(counts.argmin())
    if (rebalance is not None or scheme.splits == "pairs") and few < 2:
        raise SchemeError(
            f"scheme={scheme.name!r} needs at least two records of each {noun}, but "
            f"{noun} {str(levels[rarest])!r} has {few}: without it a training set "
            "would have none."
        )
    rarest = int(np.where(response.evaluated, counts, counts.max() + 1).argmin())
    few = counts[rarest]
    if folds and scheme.spreads and rebalance is None and few < folds:
        warn(
            f"{noun} {str(levels[rarest])!r} has fewer records ({few}) than there are "
            f"folds ({folds}): in {folds - few} of them it is not held out.",
            FoldWarning,
        )


def check_groups(sizes: Numbers, groups: int, label: str) -> None:
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
