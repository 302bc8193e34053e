"""The inner fits of several training sets, as fits of one set of records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import fit_seeds
from statcv.folds import FoldPlan, Ragged
from statcv.models import TrainingSet
from statcv.models.batched.folds import Folds
from statcv.models.tuning.inner import InnerScheme
from statcv.models.weights import with_given_weights
from statcv.numeric.arrays import Bools, Floats, Numbers


@dataclass(frozen=True, eq=False)
class Nested:
    """Inner fits, and the records that each is to predict.

    Attributes
    ----------
    folds : Folds
        The inner fits of all training sets, one set after the other.
    first : numpy.ndarray of int, shape (sets + 1,)
        The first inner fit of each training set.
    repeat, baseline : numpy.ndarray, shape (inner fits,)
        The repeat of each inner fit, and its mean outcome.
    fit, row : numpy.ndarray of int, shape (m,)
        The inner fit, and the record that it predicts; sorted by fit, held-out
        records before those dropped for balance.
    place : numpy.ndarray of int, shape (m,)
        The position of that record in its training set.
    held : numpy.ndarray of bool, shape (m,)
        Whether it was held out; the others were dropped.
    y : numpy.ndarray, shape (m,)
    """

    folds: Folds
    first: Numbers
    repeat: Numbers
    baseline: Floats
    fit: Numbers
    row: Numbers
    place: Numbers
    held: Bools
    y: NDArray[Any]

    @property
    def sets(self) -> int:
        """The number of training sets."""
        return len(self.first) - 1

    @cached_property
    def owner(self) -> Numbers:
        """The training set of each record that is predicted."""
        return np.searchsorted(self.first, self.fit, side="right") - 1

    def of_set(self, number: int) -> Numbers:
        """Return the positions of what is predicted in one training set."""
        ends = self.first[number : number + 2]
        return np.arange(*np.searchsorted(self.fit, ends))


def nest(
    scheme: InnerScheme, records: TrainingSet, folds: Folds, dropped: bool
) -> Nested:
    """Divide the training set of every fold.

    Each inner plan is drawn from the seed of its training set alone. Inner fits have
    the matrix of their training set, in all of which terms are learnt.

    Parameters
    ----------
    scheme : InnerScheme
    records : TrainingSet
        All records.
    folds : Folds
        Folds that define the training sets.
    dropped : bool
        Whether records dropped for balance are predicted as well.
    """
    bare = replace(records, X=records.X[:, :0])  # no plan uses covariates
    outer = replace(folds, matrices=None)
    sets = [outer.training_set(bare, fit) for fit in range(len(folds))]
    rows = [folds.train(fit, len(records.X)) for fit in range(len(folds))]
    plans = [scheme.plan(training) for training in sets]
    first = np.cumsum([0, *(plan.n_fits for plan in plans)])
    owner = np.repeat(np.arange(len(plans)), np.diff(first))
    lists = [_lists(plan, dropped) for plan in plans]
    fit = np.concatenate(
        [one[0] + start for one, start in zip(lists, first[:-1], strict=True)]
    )
    place = np.concatenate([one[1] for one in lists])
    held = np.concatenate([one[2] for one in lists])
    row = np.concatenate([r[one[1]] for r, one in zip(rows, lists, strict=True)])
    y = np.concatenate([t.y[one[1]] for t, one in zip(sets, lists, strict=True)])
    out, copied = _joined(plans, rows, len(records.X))
    inner = Folds(
        out=out,
        copied=copied,
        weights=_weights(sets, rows, plans, first, owner, records, folds),
        outcome=None if folds.outcome is None else folds.outcome[owner],
        seeds=_seeds(sets, first, owner),
        matrices=None if folds.matrices is None else folds.matrices.chosen(owner),
    )
    baseline = [
        p.training_means(t.y.astype(float)) for p, t in zip(plans, sets, strict=True)
    ]
    return Nested(
        folds=inner,
        first=first,
        repeat=np.concatenate([plan.fits.repeat_of for plan in plans]),
        baseline=np.concatenate(baseline),
        fit=fit,
        row=row,
        place=place,
        held=held,
        y=y,
    )


def _lists(plan: FoldPlan, dropped: bool) -> tuple[Numbers, Numbers, Bools]:
    """Return fit and record of all predictions, and whether it is held out."""
    fit, place = plan.tests.owners, plan.tests.values
    held = np.ones(len(fit), dtype=bool)
    if dropped and len(plan.dropped.values):
        apart = plan.fits.unseen
        fit = np.concatenate([fit, plan.dropped.owners[apart]])
        place = np.concatenate([place, plan.dropped.values[apart]])
        held = np.arange(len(fit)) < len(held)
        order = np.argsort(fit, kind="stable")
        fit, place, held = fit[order], place[order], held[order]
    return fit, place.astype(np.intp), held


def _joined(
    plans: list[FoldPlan], rows: list[Numbers], n: int
) -> tuple[Ragged, Ragged]:
    """Return the records left out of each inner fit, and those repeated."""
    out, copied = [], []
    for plan, own in zip(plans, rows, strict=True):
        for fit in range(plan.n_fits):
            # repeats of the outer and of the inner training set multiply
            times = np.bincount(own[plan.train(fit)], minlength=n)
            again = np.flatnonzero(times > 1)
            out.append(Ragged.of([np.flatnonzero(times == 0)]))
            copied.append(Ragged.of([np.repeat(again, times[again] - 1)]))
    return Ragged.joined(out), Ragged.joined(copied)


def _seeds(
    sets: list[TrainingSet], first: Numbers, owner: Numbers
) -> Callable[[Numbers], NDArray[np.int64]]:
    def seeds(fits: Numbers) -> NDArray[np.int64]:
        within = fits - first[owner[fits]]
        streams = [sets[one].seed for one in owner[fits].tolist()]
        return np.array(
            [fit_seeds(seed, within[i : i + 1])[0] for i, seed in enumerate(streams)],
            dtype=np.int64,
        )

    return seeds


def _weights(
    sets: list[TrainingSet],
    rows: list[Numbers],
    plans: list[FoldPlan],
    first: Numbers,
    owner: Numbers,
    records: TrainingSet,
    folds: Folds,
) -> Callable[[Numbers], Floats] | None:
    """Return the weights of inner fits besides those of the records, if any."""
    scaled = records.weights is not None and plans[0].rebalance is not None
    if folds.weights is None and plans[0].weighting is None and not scaled:
        return None
    inner = [
        with_given_weights(Folds.of(plan), plan, training.weights)
        for plan, training in zip(plans, sets, strict=True)
    ]
    outer, n = folds.weights, len(records.X)

    def weights(fits: Numbers) -> Floats:
        ones = np.ones((len(fits), n))
        made = ones if outer is None else np.array(outer(owner[fits]))
        for place, fit in enumerate(fits.tolist()):
            one = int(owner[fit])
            within = inner[one].weights
            if within is not None:
                made[place, rows[one]] *= within(np.array([fit - first[one]]))[0]
        return made

    return weights
