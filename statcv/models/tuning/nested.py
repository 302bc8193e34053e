"""The inner fits of several training sets, as fits of one set of records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from statcv.arguments import fit_seeds
from statcv.folds import FoldPlan, Ragged
from statcv.models import TrainingSet
from statcv.models.batched.folds import Folds
from statcv.models.tuning.inner import InnerScheme
from statcv.models.weights import with_given_weights
from statcv.numeric.arrays import Array, Bools, Floats, Ints, Numbers


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
    y: Array

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
    each, baseline = [], []
    for training, own, plan, start in zip(sets, rows, plans, first[:-1], strict=True):
        fit, place, held = _lists(plan, dropped)
        each.append((fit + start, own[place], place, held, training.y[place]))
        baseline.append(plan.training_means(training.y.astype(float)))

    def seeds(fits: Numbers) -> Ints:
        every = zip(owner[fits].tolist(), fits - first[owner[fits]], strict=True)
        found = [fit_seeds(sets[one].seed, np.array([at]))[0] for one, at in every]
        return np.array(found, dtype=np.int64)

    out, copied = _joined(plans, rows, len(records.X))
    inner = Folds(
        out,
        copied,
        weights=_weights(sets, rows, plans, first, records, folds),
        outcome=None if folds.outcome is None else folds.outcome[owner],
        seeds=seeds,
        matrices=None if folds.matrices is None else folds.matrices.chosen(owner),
    )
    repeat = np.concatenate([plan.fits.repeat_of for plan in plans])
    columns = (np.concatenate(one) for one in zip(*each, strict=True))
    return Nested(inner, first, repeat, np.concatenate(baseline), *columns)


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


def _weights(
    sets: list[TrainingSet],
    rows: list[Numbers],
    plans: list[FoldPlan],
    first: Numbers,
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
        owner = np.searchsorted(first, fits, side="right") - 1
        made = np.ones((len(fits), n)) if outer is None else np.array(outer(owner))
        for place, one in enumerate(owner.tolist()):
            if (within := inner[one].weights) is not None:
                made[place, rows[one]] *= within(fits[[place]] - first[one])[0]
        return made

    return weights
