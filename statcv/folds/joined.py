"""The fold plans of several sites, joined into the plan of their stacked records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import ArgumentError, ArgumentTypeError, SchemeError
from statcv.folds.frame import label_names
from statcv.folds.plan import LISTS, FoldPlan
from statcv.folds.ragged import Ragged
from statcv.folds.response import Response
from statcv.folds.schemes.table import SCHEMES
from statcv.folds.strata.clusters import Strata, joined_strata
from statcv.numeric.arrays import Ints, Numbers
from statcv.words import plural

ALONE = ("units", "groups", "pairs")  # splits that sites do not share


def concat(plans: Mapping[str, FoldPlan]) -> FoldPlan:
    """Join the plans of several sites, as :meth:`statcv.folds.FoldPlan.concat` says.

    Folds are matched by name. A plan knows which of its own records are equal, but not
    their values. So records of different sites are not in one cluster: with ``by_hash``
    and ``by_quantile`` they share a fold all the same, with ``by_value`` they may not.

    Examples
    --------
    >>> import pandas as pd
    >>> import statcv as scv
    >>> sites = {
    ...     "A": pd.DataFrame({"age": [25, 41, 60, 33]}),
    ...     "B": pd.DataFrame({"age": [38, 70, 19]}),
    ... }
    >>> agreed = scv.by_quantile("age", thresholds=[35.5, 56])
    >>> plans = {
    ...     site: scv.fold_plan(data=records, stratify=agreed)
    ...     for site, records in sites.items()
    ... }
    >>> joined = FoldPlan.concat(plans)
    >>> print(joined)
    kfold: 3 bins of age at given thresholds, one a fold; 2 sites joined (A, B)
    7 records, 3 splits; folds 0998684cbdf9
    >>> joined.to_frame()[["fold", "site", "row"]].head(2)
       fold site  row
    0     1    A    0
    1     2    A    1
    """
    named = _checked(plans)
    parts = list(named.values())
    own = {site: p.strata for site, p in named.items() if p.strata is not None}
    strata = joined_strata(own) if own else None
    labels, orders = _match_folds(named)
    offsets = np.cumsum([0, *(plan.n for plan in parts)])
    fits = _fits(named, orders)
    first_fit = np.concatenate([[0], np.cumsum(fits)])
    owner = np.repeat(np.arange(len(fits)), fits)
    draw = np.arange(len(owner)) - first_fit[owner]

    def joined(name: str) -> Ragged:
        """Join list j of each site, the records of each site after those of the last.

        A site that has no record in a fold has an empty list.
        """
        owners, values = [], []
        for plan, split, offset in zip(parts, orders, offsets, strict=False):
            number, here = split, getattr(plan, name)
            if name != "tests":
                number = plan.first_fit[split[owner]] + draw
                number[split[owner] < 0] = -1
            padded = Ragged.joined([here, Ragged.empty(1)])
            chosen = padded.chosen(np.where(number < 0, len(here), number))
            owners.append(chosen.owners)
            values.append(chosen.values + offset)
        both = np.concatenate(owners), np.concatenate(values)
        return Ragged.of_owners(*both, len(chosen))

    lists: dict[str, Any] = {name: joined(name) for name in LISTS}
    seeds = {plan.seed for plan in parts}
    return FoldPlan(
        scheme=parts[0].scheme,
        sentence=_sentence(named, strata, len(_all_labels(parts[0], 0))),
        n=int(offsets[-1]),
        **lists,
        labels=labels,
        first_fit=first_fit,
        rebalance=parts[0].rebalance,
        strata=strata,
        response=_response(parts),
        rows=_rows(named),
        seed=seeds.pop() if len(seeds) == 1 else None,
    )


def _checked(plans: Any) -> dict[str, FoldPlan]:
    """Return the plans by site, or raise if they cannot be joined."""
    if not isinstance(plans, Mapping):
        raise ArgumentTypeError(
            "concat() takes a mapping of sites to plans, such as {'A': plan_a, 'B': "
            f"plan_b}}, not {type(plans).__name__}."
        )
    if not plans:
        raise ArgumentError("concat() needs the plan of at least one site.")
    for site, plan in plans.items():
        if not isinstance(plan, FoldPlan):
            raise ArgumentTypeError(
                f"the plan of site {site!r} is a {type(plan).__name__}, not a FoldPlan;"
                " FoldPlan.from_frame() makes one of a table."
            )
        if plan.weighting is not None:
            raise SchemeError(
                f"the plan of site {site!r} weights its training records for the "
                "outcomes of that site alone, and cannot be joined."
            )
        known = SCHEMES.get(plan.scheme)
        if known is not None and known.splits in ALONE:
            raise SchemeError(
                f"{plan.scheme} (site {site!r}) has no folds that sites share; join "
                "plans of k folds."
            )
    (first, made), *others = ((site, _made(plan)) for site, plan in plans.items())
    for site, own in others:
        for what, reference in made.items():
            if own[what] != reference:
                raise SchemeError(
                    f"plans that are joined must have the same {what}: that of site "
                    f"{first!r} has {reference}, that of {site!r} has {own[what]}."
                )
    return dict(plans)


def _made(plan: FoldPlan) -> dict[str, Any]:
    """Return in what ways of being made joined plans must agree."""
    strata = plan.strata
    return {
        "scheme": plan.scheme,
        "number of repeats": plan.repeats,
        "rebalancing": plan.rebalance,
        "stratifier": "none" if strata is None else f"{strata.made_by}({strata.label})",
    }


def _match_folds(
    plans: Mapping[str, FoldPlan],
) -> tuple[tuple[tuple[Any, ...], ...], list[Numbers]]:
    """Return the names of all folds, and which split of each plan is which of them.

    The number of a split is -1 where no record of the site falls in the fold.
    """
    labels: list[tuple[Any, ...]] = []
    orders: list[list[int]] = [[] for _ in plans]
    for repeat in range(next(iter(plans.values())).repeats):
        full = {site: _all_labels(plan, repeat) for site, plan in plans.items()}
        (first, names), *others = full.items()
        for site, own in others:
            odd = [name for name in (*own, *names) if (name in own) != (name in names)]
            if odd:
                raise SchemeError(
                    f"plans that are joined must have the same folds: in repeat "
                    f"{repeat + 1} fold {odd[0]} is one of only one of the sites "
                    f"{first!r} and {site!r}."
                )
        filled = [plan.labels[repeat] for plan in plans.values()]
        there = [name for name in names if any(name in own for own in filled)]
        labels.append(tuple(there))
        for order, plan in zip(orders, plans.values(), strict=True):
            start = int(plan.fits.first_split[repeat])
            place = {name: start + i for i, name in enumerate(plan.labels[repeat])}
            order += [place.get(name, -1) for name in there]
    return tuple(labels), [np.array(order, dtype=np.intp) for order in orders]


def _all_labels(plan: FoldPlan, repeat: int) -> list[Any]:
    """Return the names of a plan's folds, also of those without a record."""
    known = plan.strata.labels if plan.strata is not None else ()
    return list(known[repeat] if known else plan.labels[repeat])


def _fits(plans: Mapping[str, FoldPlan], orders: list[Numbers]) -> Ints:
    """Return the number of fits of each split, in which sites must agree."""
    fits = np.zeros(len(orders[0]), dtype=np.int64)
    for (site, plan), order in zip(plans.items(), orders, strict=True):
        lacking = int((order < 0).sum())
        if plan.rebalanced and lacking:
            raise SchemeError(
                f"site {site!r} has no record in {plural(lacking, 'fold')}, so its "
                "plan cannot give all training sets equal class totals; join plans "
                "without rebalance=, and give rebalance= with the joined plan."
            )
        own = np.where(order < 0, 0, np.diff(plan.first_fit)[order])
        differ = (own > 0) & (fits > 0) & (own != fits)
        if differ.any():
            split = int(np.flatnonzero(differ)[0])
            raise SchemeError(
                f"rebalance={plan.rebalance!r} gives a fold {fits[split]} fits at one "
                f"site and {own[split]} at {site!r}, so they cannot be joined; use "
                "'subsample', or rebalance the joined records."
            )
        fits = np.maximum(fits, own)
    return fits


def _response(parts: list[FoldPlan]) -> Response | None:
    """Join the outcomes, if all sites have one and code its classes alike."""
    known = [plan.response for plan in parts if plan.response is not None]
    if len(known) < len(parts) or len({(r.kind, r.levels, r.name) for r in known}) > 1:
        return None
    return replace(known[0], values=np.concatenate([r.values for r in known]))


def _rows(plans: Mapping[str, FoldPlan]) -> pd.MultiIndex:
    """Return the labels (site, row) that ``pd.concat`` of the frames gives."""
    labels = {site: plan.fits.row_labels for site, plan in plans.items()}
    levels = {site: rows.nlevels for site, rows in labels.items()}
    if len(set(levels.values())) > 1:
        raise SchemeError(
            "plans that are joined must have labels of as many levels: "
            + ", ".join(f"{site!r} has {count}" for site, count in levels.items())
            + "."
        )
    stacked = pd.concat({site: pd.Series(0, rows) for site, rows in labels.items()})
    rows = stacked.index
    values = [rows.get_level_values(i) for i in range(rows.nlevels)]
    return pd.MultiIndex.from_arrays(values, names=label_names(len(values), True))


def _sentence(plans: Mapping[str, FoldPlan], strata: Strata | None, k: int) -> str:
    """Say what the folds are, and of which sites."""
    folds, *others = {plan.sentence for plan in plans.values()}
    if strata is not None and strata.cuts and not strata.cuts[0].unknown:
        folds = strata.cuts[0].sentence
    elif others:
        folds = plural(k, "fold")
    how = next(iter(plans.values())).rebalance
    evened = f", rebalanced at each site ({how})" if how else ""
    names = [*map(str, plans)]
    listed = ", ".join(names[:5]) + ", …" * (len(names) > 5)
    return f"{folds}{evened}; {plural(len(names), 'site')} joined ({listed})"
