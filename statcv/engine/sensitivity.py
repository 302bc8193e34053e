"""How held-out predictions change with the weights of the training records.

A prediction of a fit by (penalised) maximum likelihood changes with the weight of its
training record j at the rate x'H⁻¹ x_j r_j, where x is the row that is predicted, r_j
the residual and H the penalised information. Nothing is fitted again. What terms of the
formula, scalers and imputers learnt in a training set is taken as given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine.block import Block
from statcv.engine.partition import MANY, Changes
from statcv.engine.predictions import Held
from statcv.engine.rows import Rows
from statcv.engine.setup import Setup
from statcv.engine.wide import Wide
from statcv.formula import Learnt
from statcv.models.batched import CELLS
from statcv.models.likelihood import Bernoulli, Gaussian, Likelihood, LinearFits
from statcv.models.thresholds import training_times

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

BLOCK = 64  # cells of a block of fits, in units of CELLS
ARRAYS = 16  # as large as a block that changes of Firth's fits need
KEPT = 2**26  # cells of the blocks that are kept


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The fits of a plan, as functions of the weights of their training records.

    Attributes
    ----------
    setup : Setup
        The data, the plan and the model.
    linear : LinearFits
        The linear predictors of the fits.
    likelihood : Likelihood
        The likelihood that they maximise.
    """

    setup: Setup
    linear: LinearFits
    likelihood: Likelihood

    @cached_property
    def fits(self) -> LinearFits:
        """The linear predictors by as few columns as there can be."""
        return self.linear.smallest

    @classmethod
    def of(cls, setup: Setup, held: Held) -> Sensitivity | None:
        """Return the sensitivity of a run; None for a model without a likelihood."""
        likelihood = setup.model.capabilities.likelihood
        if likelihood is None or held.linear is None:
            return None
        return cls(setup, held.linear, likelihood)

    def standardised(self, fit: Numbers, row: Numbers) -> Floats:
        """Return linear predictors with mean 0 and sd 1 in the training set.

        They depend on the direction of the coefficients alone, and are 0 if all
        records are predicted alike.

        Parameters
        ----------
        fit, row : numpy.ndarray of int, shape (m,)
            The fit and the record of each prediction; fits with one linear predictor.
        """
        found = np.zeros(len(fit))
        for block, some, owner in self._blocks(fit, row):
            scale = block.scale
            eta = block.predictors(owner, row[some])
            found[some] = (eta - scale.mean[owner]) * scale.rate[owner]
        return found

    def influence(
        self,
        fit: Numbers,
        row: Numbers,
        slope: Floats,
        *,
        standardised: Floats | None = None,
        one_step: bool = False,
    ) -> Floats:
        """Return the change of a function of predictions with each record's weight.

        Parameters
        ----------
        fit, row, slope, standardised, one_step
            As :meth:`influences` takes them, of one function.
        """
        asked = [Slopes(slope, standardised)]
        return self.influences(fit, row, asked, one_step=one_step)[0].every

    def influences(
        self,
        fit: Numbers,
        row: Numbers,
        slopes: Sequence[Slopes],
        *,
        one_step: bool = False,
        nearly: bool = False,
    ) -> list[Changes]:
        """Return the changes of functions of predictions with each record's weight.

        Parameters
        ----------
        fit, row : numpy.ndarray of int, shape (m,)
            The fit and the record of each prediction.
        slopes : sequence of Slopes
            The derivatives of each function by the linear predictors.
        one_step : bool
            Whether changes are those of a Newton step without the record, which is
            longer than the derivative by 1/(1 - h), where h is its leverage (Pregibon
            1981); no more than five times as long, and not with several classes.
        nearly : bool
            Whether changes may be exact for a sample of many records only.

        Returns
        -------
        list of Changes
            The derivative by the relative weight of each record, summed over the fits.
            Where classes have the same total weight in every training set, it includes
            the change of that total, to which held-out records contribute as well.
        """
        totals = np.zeros((len(slopes), self.setup.plan.n))
        near = nearly and one_step and not self._moves_totals
        found: list[list[Changes]] = []  # of partitions, and of all other blocks
        others = False
        for block, some, owner in self._blocks(fit, row):
            parts = [one.part(some) for one in slopes]
            targets = block.by_coefficients(owner, row[some], [p.values for p in parts])
            for place, part in enumerate(parts):
                if part.standardised is not None:
                    targets[place] = block.scale.through(
                        targets[place], owner, part.values, part.standardised
                    )
            if near and block.partition is not None:
                found.append(block.partition.changes(np.stack(targets)))
                continue
            others = True
            rough = [one.rough for one in slopes]
            if not self._moves_totals:
                block.add_changes(totals, targets, one_step, rough)
                continue
            each = block.changes(targets, one_step, rough)
            for total, moved in zip(totals, each, strict=True):
                total += self._summed(block, moved)
        if others or not found:
            found.append(list(map(Changes, totals)))
        return [reduce(Changes.plus, of_one) for of_one in zip(*found, strict=True)]

    @property
    def _moves_totals(self) -> bool:
        """Whether a record changes the weights of others, through that of its class."""
        plan = self.setup.plan
        by_class = plan.response is not None and plan.response.by_class
        return self.fits.balanced is not None or (plan.rebalanced and by_class)

    def _summed(self, block: Block, moved: Floats) -> Floats:
        """Sum derivatives over the fits, (n,), with the weights of the record's class.

        Parameters
        ----------
        block : Block
        moved : numpy.ndarray, shape (fits, n)
            The derivatives by the weight of each record, without those.
        """
        plan, given, y = self.setup.plan, self.setup.weights, self.setup.records.y
        if self.fits.balanced is not None:
            every = np.zeros_like(y, dtype=np.intp)
            through = by_class(block.trained, moved, every)
            through -= by_class(block.trained, moved, y)
            moved = moved + self.fits.balanced[block.numbers][:, None] * through
        total = moved.sum(axis=0)
        if plan.rebalance is not None and plan.response and plan.response.by_class:
            codes = plan.response.codes
            weights = np.ones((1, plan.n)) if given is None else given[None]
            total += by_class(weights, moved.sum(axis=0)[None], codes)[0]
            each = share_of_class(block.trained, moved, codes)
            total -= (each.T @ block.trained)[codes, np.arange(plan.n)]
        return np.asarray(total)

    # ---- blocks of fits that share the rows of a basis ----

    def _blocks(
        self, fit: Numbers, row: Numbers
    ) -> Iterator[tuple[Block, Numbers | slice, Numbers]]:
        """Yield blocks, with the positions of their predictions and the fit of each."""
        fits = np.flatnonzero(np.bincount(fit, minlength=len(self.fits)))
        group, repeat = self._groups[fits], self._repeats[fits]
        fits = fits[np.lexsort((repeat, group))]
        together = np.unique(np.stack([group, repeat]), axis=1, return_counts=True)[1]
        ends = np.cumsum(together).tolist()
        rank = np.zeros(len(self.fits), dtype=np.intp)
        rank[fits] = np.arange(len(fits))
        rising, order = rank[fit], None
        if (rising[1:] < rising[:-1]).any():
            order = np.argsort(rising, kind="stable")
            rising = rising[order]
        width = self._width
        if self.likelihood == Bernoulli(firth=True):
            cubes = min(self.fits.coefficients.shape[1] ** 3, CELLS)
            width = ARRAYS * max(width, cubes)
        step = max(1, BLOCK * CELLS // max(width, 1))
        for first, end in pairwise([0, *ends]):
            for start in range(first, end, step):
                stop = min(start + step, end)
                begin, after = np.searchsorted(rising, [start, stop])
                some = slice(begin, after) if order is None else order[begin:after]
                block = self._block(fits[start:stop], row[some])
                yield block, some, rising[begin:after] - start

    @property
    def _width(self) -> int:
        """The cells of a fit: one for each record, or for each two coefficients.

        They are those for each two records where these are read in place of columns.
        """
        _, p, *classes = self.fits.coefficients.shape
        n, several = int(self.setup.plan.n), int(np.prod(classes))
        return max(n * several, (n if self._by_records else p * several) ** 2)

    @cached_property
    def _by_records(self) -> bool:
        """Whether fits change by products of the records, as columns are many."""
        likelihood, records = self.likelihood, self.setup.records
        if not (likelihood == Bernoulli() or isinstance(likelihood, Gaussian)):
            return False
        if self.fits.coefficients.ndim > 2 or self.setup.folds.matrices is not None:
            return False
        most = 1.0 if isinstance(likelihood, Gaussian) else 0.25
        for weights in (records.weights, self.fits.class_weights):
            most *= 1.0 if weights is None else float(weights.max())
        X = records.X if self.fits.rows is None else self.fits.rows
        return Wide.suits(X, self.fits.penalty, most)

    @cached_property
    def _groups(self) -> Numbers:
        """The group of each fit, in which the fits share the rows of a basis."""
        learnt = self._learnt
        if learnt is not None:
            return learnt.group
        alone = self.setup.design.terms.stateful or self.fits.filled is not None
        return np.arange(len(self.fits)) * alone

    @cached_property
    def _repeats(self) -> Numbers:
        """The repeat of each fit, if its fits are to many records and by themselves."""
        repeat = self.setup.plan.fits.repeat_of[self.setup.plan.fits.split_of]
        many = self.setup.plan.n >= MANY and np.bincount(repeat).max() > 1
        return np.asarray(repeat if many else np.zeros_like(repeat), dtype=np.intp)

    @cached_property
    def _learnt(self) -> Learnt | None:
        """The matrices of fits whose terms were learnt together, as they are."""
        changed = self.fits.filled is not None or self.fits.constant is not None
        matrices = self.setup.folds.matrices
        return matrices if isinstance(matrices, Learnt) and not changed else None

    def _block(self, numbers: Numbers, row: Numbers) -> Block:
        """Return some fits; blocks are kept as long as they are not too large."""
        key = numbers.tobytes()
        if key in self._kept:
            return self._kept[key]
        beta, penalty = self.fits.coefficients[numbers], self.fits.penalty[numbers]
        if self.fits.constant is not None:
            own = self.fits.constant[numbers][:, None]
            beta = np.concatenate([beta, own], axis=1)
            penalty = np.column_stack([penalty, np.zeros(len(penalty))])
        records = self.setup.records
        by_class, before = self.fits.class_weights, self.fits.uncorrected
        block = Block(
            numbers=numbers,
            rows=self._rows(numbers, row),
            y=records.y,
            beta=np.nan_to_num(beta),
            penalty=penalty,
            times=training_times(records, self.setup.folds, numbers),
            given=records.weights,
            class_weights=None if by_class is None else by_class[numbers],
            likelihood=self.likelihood,
            uncorrected=None if before is None else before[numbers],
            by_records=self._by_records,
        )
        if self._learnt is not None or not self._groups.any():
            known = sum(len(other.numbers) for other in self._kept.values())
            if (known + len(numbers)) * self._width <= KEPT:
                self._kept[key] = block
        return block

    @cached_property
    def _kept(self) -> dict[bytes, Block]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again."""
        return {name: getattr(self, name) for name in ("setup", "fits", "likelihood")}

    def _rows(self, numbers: Numbers, row: Numbers) -> Rows:
        """Return the matrices of some fits.

        Rows are 0 for records that a fit by itself neither knows nor meets.
        """
        X, fit, learnt = self.setup.records.X, int(numbers[0]), self._learnt
        if self.fits.rows is not None:
            return Rows(self.fits.rows)
        if learnt is not None:
            basis = learnt.basis(int(learnt.group[fit]))
            return Rows(basis, learnt.coefficients(numbers))
        if self.setup.folds.matrices is not None:
            met = np.union1d(self.setup.plan.train(fit), row)
            X = np.zeros_like(X)
            X[met] = self.setup.folds.matrix(self.setup.records, fit, met)
        if self.fits.filled is not None:
            X = np.where(np.isnan(X), self.fits.filled[fit], X)
        if self.fits.constant is not None:
            X = np.column_stack([X, np.ones(len(X))])
        return Rows(X)


@dataclass(frozen=True, eq=False)
class Slopes:
    """The derivatives of a function of predictions.

    Attributes
    ----------
    values : numpy.ndarray, shape (m,) or (m, classes)
        The derivatives by the linear predictor of each prediction.
    standardised : numpy.ndarray, shape (m,), or None
        The standardised linear predictors, if the derivatives are by these.
    rough : bool
        Whether a few digits of what follows from them are enough.
    """

    values: Floats
    standardised: Floats | None = None
    rough: bool = False

    def part(self, some: Numbers | slice) -> Slopes:
        """Return those of some predictions."""
        own = None if self.standardised is None else self.standardised[some]
        return Slopes(self.values[some], own, self.rough)


def by_class(weights: Floats, values: Floats, codes: NDArray[np.intp]) -> Floats:
    """Return the sum of the values of a class, times each weight's share of it.

    Parameters
    ----------
    weights : numpy.ndarray, shape (m, n) or (1, n)
    values : numpy.ndarray, shape (m, n)
    codes : numpy.ndarray of int, shape (n,)

    Examples
    --------
    >>> weights, values = np.array([[1.0, 3.0, 1.0]]), np.array([[2.0, 2.0, 5.0]])
    >>> by_class(weights, values, np.array([0, 0, 1]))
    array([[1., 3., 5.]])
    """
    return np.asarray(weights * share_of_class(weights, values, codes)[:, codes])


def share_of_class(weights: Floats, values: Floats, codes: NDArray[np.intp]) -> Floats:
    """Return the sum of the values of each class over its weight, (m, classes)."""
    member = codes[:, None] == np.arange(codes.max(initial=0) + 1)
    sums, totals = values @ member, weights @ member
    found = np.zeros_like(sums)
    return np.asarray(np.divide(sums, totals, out=found, where=totals > 0))
