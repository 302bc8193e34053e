"""Fits that leave out one fold or two, and the losses of the records they hold out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from statcv.engine import Setup, refuse_new_levels
from statcv.folds import FoldPlan, Ragged, make_plan

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class NestedLosses:
    """The mean losses of one division into folds.

    Attributes
    ----------
    within : numpy.ndarray, shape (k,)
        Mean loss by cross-validation of all folds but one.
    outside : numpy.ndarray, shape (k,)
        Mean loss in that fold, by the fit on all the others.
    spread : numpy.ndarray, shape (k,)
        Variance of the mean in ``outside``.
    mean, squares, count : float
        Mean, sum of squares about the mean, and number of the losses within.
    cv : float
        Mean loss by the usual cross-validation.
    n : int
        Number of the losses of the usual cross-validation.
    """

    within: Floats
    outside: Floats
    spread: Floats
    mean: float
    squares: float
    count: float
    cv: float
    n: int


def fits_each(k: int) -> int:
    """Return the number of fits of one division: one per fold and pair of folds."""
    return k * (k + 1) // 2


def new_divisions(setup: Setup, repeats: int, seed: int) -> FoldPlan:
    """Divide the records into folds at random, as the scheme does."""
    plan, outcome = setup.plan, setup.design.outcome
    return make_plan(
        plan.scheme,
        setup.design.y,
        outcome.kind,
        k=len(plan.labels[0]),
        repeats=repeats,
        seed=seed,
    )


def folds_of(divided: FoldPlan, repeat: int) -> Ragged:
    """Return the folds of one division."""
    first, last = divided.fits.first_split[repeat : repeat + 2]
    return divided.tests.part(int(first), int(last))


def nested_tests(folds: Ragged) -> Ragged:
    """List each fold, and then the two folds of each pair, one after the other."""
    # each fit of a pair leaves out two folds
    first, second = np.triu_indices(len(folds), 1)
    both = folds.chosen(np.column_stack([first, second]).ravel())
    sizes = folds.sizes[first] + folds.sizes[second]
    values = np.concatenate([folds.values, both.values])
    return Ragged.split(values, np.concatenate([folds.sizes, sizes]))


def nested_plan(plan: FoldPlan, parts: list[Ragged]) -> FoldPlan:
    """Hold out the lists of :func:`nested_tests`, with one repeat per division."""
    tests = Ragged.joined(parts)
    none = Ragged.empty(len(tests))
    return replace(
        plan,
        tests=tests,
        labels=tuple(range(1, len(part) + 1) for part in parts),
        dropped=none,
        kept_out=none,
        copied=none,
        first_fit=np.arange(len(tests) + 1),
    )


def counted_records(setup: Setup) -> Bools:
    """Return which of the held-out records count.

    Those whose level a training set lacks are treated as in the folds of the result:
    predicted at the mean of the levels seen, omitted, or refused.
    """
    tests, n = setup.plan.tests, setup.plan.n
    counted = np.ones(len(tests.values), dtype=bool)
    if setup.new_levels == "error":
        refuse_new_levels(setup)
    elif setup.new_levels == "omit" and (new := setup.folds.new_levels(setup.records)):
        rows, fits = new.pairs()
        counted = ~np.isin(tests.owners * n + tests.values, fits * n + rows)
    return counted


def nested_losses(
    tests: Ragged, losses: Floats, k: int, counted: Bools
) -> NestedLosses:
    """Summarise the losses of the records of :func:`nested_tests` that count."""
    first, second = np.triu_indices(k, 1)
    sizes, start = tests.sizes[:k], tests.starts[k]
    fold, own = tests.owners[:start][counted[:start]], losses[:start][counted[:start]]
    count = np.bincount(fold, minlength=k)
    half = np.repeat(  # the fold of a pair to which a record belongs
        np.column_stack([first, second]).ravel(),
        np.column_stack([sizes[first], sizes[second]]).ravel(),
    )
    other = np.repeat(first + second, (sizes[first] + sizes[second])) - half
    inner, other = losses[start:][counted[start:]], other[counted[start:]]
    with np.errstate(invalid="ignore", divide="ignore"):
        # the mean loss of each fold, by the fit that left out this fold alone
        outside = np.bincount(fold, own, k) / count
        spread = np.bincount(fold, (own - outside[fold]) ** 2, k)
        return NestedLosses(
            # the loss without a fold, by fits that never met its records
            within=np.bincount(other, inner, k) / np.bincount(other, minlength=k),
            outside=outside,
            spread=spread / (count - 1) / count,
            mean=float(inner.mean()),
            squares=float(((inner - inner.mean()) ** 2).sum()),
            count=float(len(inner)),
            cv=float(own.mean()),
            n=len(own),
        )
