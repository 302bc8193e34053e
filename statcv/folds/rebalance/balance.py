"""A plan with equal class totals in its training sets, made from one without."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from statcv.arguments import MAX_REPEATS, PLAN, check_whole
from statcv.errors import ArgumentError, SchemeError, suggestion
from statcv.folds.plan import FoldPlan
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance import subsample as draw
from statcv.folds.rebalance import weighting
from statcv.folds.response import Response
from statcv.tables import Constructed

HOWS = ("subsample", "weight", "upsample", "all", "bag")


@dataclass(frozen=True, repr=False)
class Bags(Constructed):
    """``rebalance=Bags(50)``: predictions averaged over that many balanced bags.

    Within each class a bag draws with replacement as many records as the smallest
    training set has of it (Breiman 1996; Austin, Pe'er & Korem 2024, Discussion).

    Parameters
    ----------
    count : int, default 10
        Number of bags.

    Raises
    ------
    ArgumentError
        If it is not a positive integer.

    Examples
    --------
    >>> Bags(3)
    Bags(count=3)
    """

    count: int = 10

    def __post_init__(self) -> None:
        """Check the count."""
        check_whole(self.count, "count", least=1, most=MAX_REPEATS)


def rebalancing(how: Any) -> str | Bags | None:
    """Return a way of rebalancing, or raise with those that are known."""
    if how is None or isinstance(how, Bags):
        return how
    if not isinstance(how, str) or how not in HOWS:
        raise ArgumentError(
            f"rebalance must be one of {', '.join(HOWS)}, or Bags(n), not {how!r}."
            + suggestion(how, HOWS)
        )
    return Bags() if how == "bag" else how


def draws_at_random(how: str | Bags | None, response: Response | None) -> bool:
    """Return whether a way of rebalancing draws records."""
    by_class = response is not None and response.by_class
    return by_class and (isinstance(how, Bags) or how in ("subsample", "upsample"))


def balance(plan: FoldPlan, how: str | Bags, seed: int) -> FoldPlan:
    """Return the plan with training sets of equal class totals.

    The totals of a class are equal over every split of every repeat; those of different
    classes need not be equal.

    Parameters
    ----------
    plan : FoldPlan
        Plan with its ``response``.
    how : {"subsample", "weight", "upsample", "all"} or Bags
        Drop the fewest records; weight each class to a constant total; draw records
        again up to the largest total; average the predictions over every possible
        subsample, or over bags. For a continuous outcome ``"subsample"`` drops the
        record whose removal brings the training mean closest to the mean of all, and
        ``"weight"`` restores that mean exactly.
    seed : int
        Seed from which each repeat draws its own stream.

    Raises
    ------
    SchemeError
        If it does not apply to this plan or outcome.

    References
    ----------
    Austin, Pe'er & Korem (2024), Fig. 3a, Discussion and Supplementary Note 1.
    """
    name = "bag" if isinstance(how, Bags) else how
    response = _admitted(plan, name)
    if not response.by_class:
        return _by_mean(plan, response, name)
    if how == "weight":
        return _weighted(plan, response)
    every = draw.UnequalSets(
        response.codes, response.classes, plan.tests, plan.kept_out, response.levels
    )
    if how == "all":
        dropped, fits = draw.all_subsamples(every)
        return _with_fits(plan, name, dropped, Ragged.empty(len(dropped)), fits)
    counts, strata = every.counts, None if plan.strata is None else plan.strata.codes
    totals = counts.max(axis=0) if how == "upsample" else counts.min(axis=0)
    drops, copies = [], []
    for repeat, (first, last) in enumerate(pairwise(plan.fits.first_split)):
        stream = np.random.SeedSequence(seed, spawn_key=(PLAN, repeat, 1))
        rng, none = np.random.default_rng(stream), Ragged.empty(last - first)
        tests, out = plan.tests.part(first, last), plan.kept_out.part(first, last)
        sets = replace(every, tests=tests, out=out, totals=totals)
        dropped, copied = none, none
        if how == "subsample":
            dropped = draw.subsample(sets, rng, strata)
        elif how == "upsample":
            copied = draw.upsample(sets, rng)
        elif isinstance(how, Bags):
            dropped, copied = draw.bags(sets, rng, how.count)
        drops.append(dropped)
        copies.append(copied)
    each = how.count if isinstance(how, Bags) else 1
    fits = np.full(plan.n_splits, each)
    return _with_fits(plan, name, Ragged.joined(drops), Ragged.joined(copies), fits)


def _admitted(plan: FoldPlan, how: str) -> Response:
    """Return the outcome, or raise if rebalancing does not apply."""
    if plan.response is None:
        raise SchemeError(
            f"rebalance={how!r} needs the outcome, and the plan has none."
        )
    if plan.rebalance is not None:
        raise SchemeError(
            f"the plan is rebalanced already, by rebalance={plan.rebalance!r}."
        )
    if plan.copied.sizes.any() and not (how == "weight" and plan.response.by_class):
        raise SchemeError(
            f"rebalance={how!r} means nothing for bootstrap samples, which repeat "
            "records; only 'weight' balances them, and classes only."
        )
    if plan.fits.holds_out_pairs:
        raise SchemeError(
            f"rebalance={how!r} means nothing for scheme={plan.scheme!r}: only records "
            "held out by the same fit are compared."
        )
    if not plan.response.by_class and how not in ("subsample", "weight"):
        raise SchemeError(
            f"rebalance={how!r} needs an outcome of classes, and this one is "
            "continuous; use 'weight', or 'subsample' for one dropped record."
        )
    return plan.response


def _by_mean(plan: FoldPlan, response: Response, how: str) -> FoldPlan:
    given: Any = response.values, plan.tests, plan.kept_out
    if how == "weight":
        made = replace(plan, weighting=weighting.tilting(*given))
        said = (
            "training records weighted until each training mean is the mean of all "
            "(exponential tilting)"
        )
    else:
        made = replace(plan, dropped=weighting.nearest_mean(*given))
        said = (
            "and the record dropped whose removal brings the training mean closest to "
            "the mean of all"
        )
    return replace(made, rebalance=how, sentence=f"{plan.sentence}, {said}")


def _weighted(plan: FoldPlan, response: Response) -> FoldPlan:
    training, _ = plan.counts(response.codes, response.classes)
    totals = training.max(axis=0)
    if plan.copied.sizes.any():  # samples as large as the data weigh what these do
        totals = response.counts
        weights = weighting.ClassWeights(response.codes, totals / training)
    else:
        weights = weighting.class_weights(response.codes, training, response.levels)
    each = f"classes weighted; training sets that weigh {_written(totals)} each"
    said = f"{plan.sentence}, {each}"
    return replace(plan, weighting=weights, rebalance="weight", sentence=said)


def _with_fits(
    plan: FoldPlan, how: str, dropped: Ragged, copied: Ragged, fits: Any
) -> FoldPlan:
    response, first = plan.response, np.append(0, np.cumsum(fits, dtype=np.int64))
    assert response is not None
    kept_out = plan.kept_out.chosen(np.repeat(np.arange(plan.n_splits), fits))
    if how == "bag":  # records that a bag did not draw are not dropped for balance
        kept_out, dropped = kept_out.beside(dropped), Ragged.empty(len(dropped))
    lists: dict[str, Any] = {"dropped": dropped, "kept_out": kept_out, "copied": copied}
    made = replace(plan, **lists, first_fit=first, rebalance=how)
    totals = np.bincount(response.codes[made.train(0)], minlength=response.classes)
    scheme = plan.made_by
    alone = scheme is not None and scheme.leaves_one_out and plan.strata is None
    other = "the other" if response.classes == 2 else "each other"
    said = {
        "subsample": f"a random record of {other} {response.noun} dropped"
        if alone
        else "the fewest records dropped that make all training sets alike",
        "upsample": "records drawn again until all training sets are alike",
        "all": f"predictions averaged over every possible subsample ({made.n_fits:,} "
        "fits)",
        "bag": f"predictions averaged over {fits[0]} bags",
    }[how]
    each = f"training sets of {_written(totals)} each"
    return replace(made, sentence=f"{plan.sentence}, {said}; {each}")


def _written(totals: Any) -> str:
    """Return class totals, the positive class first if there are two."""
    ordered = totals[::-1] if len(totals) == 2 else totals
    return "/".join(f"{total:g}" for total in ordered)
