"""Fits that leave out one fold or two, and the losses of the records they hold out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from statcv.engine import Setup
from statcv.folds import FoldPlan, Ragged, make_plan

Floats = NDArray[np.float64]


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
    """

    within: Floats
    outside: Floats
    spread: Floats
    mean: float
    squares: float
    count: float
    cv: float


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


def nested_losses(tests: Ragged, losses: Floats, k: int) -> NestedLosses:
    """Summarise the losses of the records of :func:`nested_tests`, in its order."""
    first, second = np.triu_indices(k, 1)
    sizes = tests.sizes[:k]
    sums = np.bincount(tests.owners, losses, len(tests))
    # the mean loss of each fold, by the fit that left out this fold alone
    outside = sums[:k] / sizes
    centred = losses - np.append(outside, np.zeros(len(first)))[tests.owners]
    spread = np.bincount(tests.owners, centred**2, len(tests))[:k]
    half = np.repeat(  # the fold of a pair to which a record belongs
        np.column_stack([first, second]).ravel(),
        np.column_stack([sizes[first], sizes[second]]).ravel(),
    )
    other = np.repeat(first + second, (sizes[first] + sizes[second])) - half
    inner = losses[tests.starts[k] :]
    with np.errstate(invalid="ignore", divide="ignore"):
        return NestedLosses(
            # the loss without a fold, by fits that never met its records
            within=np.bincount(other, inner, k) / (sizes.sum() - sizes),
            outside=outside,
            spread=spread / (sizes - 1) / sizes,
            mean=float(inner.mean()),
            squares=float(((inner - inner.mean()) ** 2).sum()),
            count=float(len(inner)),
            cv=float(losses[: tests.starts[k]].mean()),
        )
