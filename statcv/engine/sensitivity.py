"""How held-out predictions change with the weights of the training records.

A prediction of a fit by (penalised) maximum likelihood changes with the weight of its
training record j at the rate x'H⁻¹ x_j r_j, where x is the row that is predicted, r_j
the residual and H the penalised information. Nothing is fitted again. What terms of the
formula, scalers and imputers learnt in a training set is taken as given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine.information import TINY, inverted, solve
from statcv.engine.predictions import Held
from statcv.engine.rows import Rows
from statcv.engine.setup import Setup
from statcv.formula import Learnt
from statcv.models.batched import CELLS
from statcv.models.firth import firth_changes
from statcv.models.likelihood import Bernoulli, Likelihood, LinearFits
from statcv.models.thresholds import training_weights

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

MOST = 0.8  # leverage; with more, a Newton step goes astray
BLOCK = 64  # cells of a block of fits, in units of CELLS
KEPT = 2**24  # cells of the blocks that are kept: records times fits
AT_ONCE = 2**16  # cells of the rows whose derivatives stay in the cache


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The fits of a plan, as functions of the weights of their training records.

    Attributes
    ----------
    setup : Setup
        The data, the plan and the model.
    fits : LinearFits
        The linear predictors of the fits.
    likelihood : Likelihood
        The likelihood that they maximise.
    """

    setup: Setup
    fits: LinearFits
    likelihood: Likelihood

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
        fit, row : numpy.ndarray of int, shape (m,)
            The fit and the record of each prediction.
        slope : numpy.ndarray, shape (m,) or (m, classes)
            The derivative of the function by the linear predictor of each prediction.
        standardised : numpy.ndarray, shape (m,), optional
            The standardised linear predictors, if the derivative is by these.
        one_step : bool
            Whether changes are those of a Newton step without the record, which is
            longer than the derivative by 1/(1 - h), where h is its leverage (Pregibon
            1981); no more than five times as long, and not with several classes.

        Returns
        -------
        numpy.ndarray, shape (n,)
            The derivative by the relative weight of each record, summed over the fits.
            Where classes have the same total weight in every training set, it includes
            the change of that total, to which held-out records contribute as well.
        """
        total = np.zeros(self.setup.plan.n)
        for block, some, owner in self._blocks(fit, row):
            target = block.by_coefficients(owner, row[some], slope[some])
            if standardised is not None:
                target = block.scale.through(
                    target, owner, slope[some], standardised[some]
                )
            one_step = one_step and slope.ndim == 1
            if not self._moves_totals and block.has_one_predictor:
                block.add_changes(total, target, one_step)
                continue
            moved = block.changes(target)
            if one_step:
                moved = moved / (1 - block.leverage)
            total += self._with_totals(block, moved).sum(axis=0)
        return total

    @property
    def _moves_totals(self) -> bool:
        """Whether a record changes the weights of others, through that of its class."""
        plan = self.setup.plan
        by_class = plan.response is not None and plan.response.by_class
        return self.fits.balanced is not None or (plan.rebalanced and by_class)

    def _with_totals(self, block: Block, moved: Floats) -> Floats:
        """Add what a record changes through the weights of its class, (fits, n)."""
        plan, given, y = self.setup.plan, self.setup.weights, self.setup.records.y
        if self.fits.balanced is not None:
            every = np.zeros_like(y, dtype=np.intp)
            through = by_class(block.trained, moved, every)
            through -= by_class(block.trained, moved, y)
            moved = moved + self.fits.balanced[block.numbers][:, None] * through
        if plan.rebalance is not None and plan.response and plan.response.by_class:
            own = np.ones(plan.n) if given is None else given
            through = by_class(own[None], moved, plan.response.codes)
            through -= by_class(block.trained, moved, plan.response.codes)
            moved = moved + through
        return moved

    # ---- blocks of fits that share the rows of a basis ----

    def _blocks(
        self, fit: Numbers, row: Numbers
    ) -> Iterator[tuple[Block, Numbers, Numbers]]:
        """Yield blocks, with the positions of their predictions and the fit of each."""
        fits = np.unique(fit)
        group = self._groups[fits]
        fits = fits[np.argsort(group, kind="stable")]
        ends = np.cumsum(np.unique(group, return_counts=True)[1]).tolist()
        rank = np.zeros(len(self.fits), dtype=np.intp)
        rank[fits] = np.arange(len(fits))
        order = np.argsort(rank[fit], kind="stable")
        rising = rank[fit][order]
        width = self.setup.plan.n * int(np.prod(self.fits.coefficients.shape[2:]))
        step = max(1, BLOCK * CELLS // max(width, 1))
        for first, end in pairwise([0, *ends]):
            for start in range(first, end, step):
                stop = min(start + step, end)
                begin, after = np.searchsorted(rising, [start, stop])
                some = order[begin:after]
                block = self._block(fits[start:stop], row[some])
                yield block, some, rising[begin:after] - start

    @cached_property
    def _groups(self) -> Numbers:
        """The group of each fit, in which the fits share the rows of a basis."""
        learnt = self._learnt
        if learnt is not None:
            return learnt.group
        alone = self.setup.design.terms.stateful or self.fits.filled is not None
        return np.arange(len(self.fits)) * alone

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
        trained = training_weights(records, self.setup.folds, numbers)
        counts = trained
        if self.fits.class_weights is not None:
            counts = trained * self.fits.class_weights[numbers][:, records.y]
        rows, beta = self._rows(numbers, row), np.nan_to_num(beta)
        block = Block(
            numbers, rows, records.y, beta, penalty, trained, counts, self.likelihood
        )
        if self._learnt is not None or not self._groups.any():
            known = sum(other.trained.size for other in self._kept.values())
            if known + trained.size > KEPT:
                self._kept.clear()
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
class Block:
    """Some fits that share a basis, with what is computed from them once.

    Attributes
    ----------
    numbers : numpy.ndarray of int, shape (fits,)
        The numbers of the fits.
    rows : Rows
        The matrices of all records.
    y : numpy.ndarray, shape (n,)
        The coded outcome.
    beta : numpy.ndarray, shape (fits, p) or (fits, p, classes)
        The coefficients.
    penalty : numpy.ndarray, shape (fits, p)
        The ridge of each coefficient; infinite for one that is 0.
    trained, counts : numpy.ndarray, shape (fits, n)
        The training weights, without and with those that the model gives to classes.
    likelihood : Likelihood
        The likelihood that the fits maximise.
    """

    numbers: Numbers
    rows: Rows
    y: NDArray[Any]
    beta: Floats
    penalty: Floats
    trained: Floats
    counts: Floats
    likelihood: Likelihood

    @property
    def has_one_predictor(self) -> bool:
        """Whether each fit has one linear predictor, and no penalty of Firth."""
        return self.beta.ndim == 2 and self.likelihood != Bernoulli(firth=True)

    @cached_property
    def eta(self) -> Floats:
        """The linear predictors, shape (fits, n) or (fits, n, classes)."""
        return self.rows.along(self.beta)

    def predictors(self, owner: Numbers, row: Numbers) -> Floats:
        """Return the linear predictors of some records, of fits that have one each.

        Parameters
        ----------
        owner, row : numpy.ndarray of int, shape (m,)
            The fit, in rising order, and the record of each prediction.
        """
        found = np.empty(len(row))
        for fit, some in self._parts(owner):
            found[some] = self.rows.values(fit, row[some], self.beta[fit])
        return found

    def _parts(self, owner: Numbers) -> Iterator[tuple[int, slice]]:
        """Yield the predictions of each fit, as many at a time as stay in the cache."""
        bounds = np.searchsorted(owner, np.arange(len(self.numbers) + 1))
        step = max(1, AT_ONCE // max(self.rows.basis.shape[1], 1))
        for fit, (start, stop) in enumerate(pairwise(bounds.tolist())):
            for first in range(start, stop, step):
                yield fit, slice(first, min(first + step, stop))

    def _pieces(self) -> Iterator[slice]:
        """Yield the records, as many at a time as stay in the cache."""
        n = len(self.rows.basis)
        step = max(256, AT_ONCE // max(len(self.numbers), 1))
        for first in range(0, n, step):
            yield slice(first, min(first + step, n))

    @cached_property
    def scale(self) -> Scale:
        """The scale of the linear predictors, of fits that have one each."""
        return Scale.of(self.rows, self.beta, self.trained)

    @cached_property
    def pull(self) -> Floats:
        """The derivative of the log-likelihood by each linear predictor."""
        if self.beta.ndim == 2:
            pull = np.empty_like(self.counts)
            for some in self._pieces():
                pull[:, some] = self._pull(some)
            return pull
        counts = self.counts.reshape(*self.counts.shape, *[1] * (self.eta.ndim - 2))
        return np.asarray(counts * self.likelihood.residual(self.y[None], self.eta))

    @cached_property
    def inverse(self) -> Floats:
        """The inverse of the penalised information, shape (fits, p, p)."""
        fits, p = self.beta.shape[:2]
        total = np.zeros((fits, p, p))
        for some in self._pieces():
            total += self.rows.part(some).information(self._curvature(some))
        return inverted(total, self.penalty)

    @cached_property
    def leverage(self) -> Floats:
        """The leverage of each record, shape (fits, n)."""
        found = np.empty_like(self.counts)
        for some in self._pieces():
            found[:, some] = self._leverage(some, self._curvature(some))
        return found

    def _leverage(self, some: slice, curvature: Floats) -> Floats:
        squares = self.rows.part(some).quadratic(self.inverse)
        return np.clip(curvature * squares, 0.0, MOST)

    def _curvature(self, some: slice) -> Floats:
        """Return the weights of some records in the information, (fits, m)."""
        eta = self.rows.part(some).along(self.beta)
        curved = self.likelihood.curvature(self.y[None, some], eta)
        return np.asarray(self.counts[:, some] * curved)

    def _pull(self, some: slice) -> Floats:
        eta = self.rows.part(some).along(self.beta)
        residual = self.likelihood.residual(self.y[None, some], eta)
        return np.asarray(self.counts[:, some] * residual)

    @cached_property
    def _reach(self) -> Floats:
        """The pull, as long as a Newton step without the record."""
        reach = np.empty_like(self.counts)
        for some in self._pieces():
            left = 1 - self._leverage(some, self._curvature(some))
            np.divide(self._pull(some), left, out=reach[:, some])
        return reach

    def by_coefficients(self, owner: Numbers, row: Numbers, slope: Floats) -> Floats:
        """Return the derivative by the coefficients of a function of predictions.

        Parameters
        ----------
        owner, row : numpy.ndarray of int, shape (m,)
            The fit, in rising order, and the record of each prediction.
        slope : numpy.ndarray, shape (m,) or (m, classes)
            The derivative by its linear predictor.
        """
        target = np.zeros_like(self.beta)
        for fit, some in self._parts(owner):
            target[fit] += self.rows.some(fit, row[some], slope[some])
        return target

    def add_changes(self, total: Floats, target: Floats, one_step: bool) -> None:
        """Add, in place, the derivative by the weight of each record, over the fits.

        Parameters
        ----------
        total : numpy.ndarray, shape (n,)
        target : numpy.ndarray, shape (fits, p)
            The derivative by the coefficients.
        one_step : bool
            Whether changes are as long as a Newton step without the record.
        """
        solved = np.einsum("bpq,bq->bp", self.inverse, target)
        rate = self._reach if one_step else self.pull
        for some in self._pieces():
            moved = self.rows.part(some).along(solved)
            total[some] += np.einsum("bn,bn->n", moved, rate[:, some])

    def changes(self, target: Floats) -> Floats:
        """Return the derivative by the weight of each record in each fit, (fits, n).

        Parameters
        ----------
        target : numpy.ndarray, shape (fits, p) or (fits, p, classes)
            The derivative by the coefficients.
        """
        if self.beta.ndim == 3:
            return self._changes_of_classes(target)
        if self.likelihood == Bernoulli(firth=True):
            parts = zip(self.counts, self.beta, target, strict=True)
            changes = [
                firth_changes(self.rows.matrix(fit), self.y, *part)
                for fit, part in enumerate(parts)
            ]
            return np.stack(changes)
        solved = np.einsum("bpq,bq->bp", self.inverse, target)
        return np.asarray(self.rows.along(solved) * self.pull)

    def _changes_of_classes(self, target: Floats) -> Floats:
        shares = self.likelihood.curvature(self.y[None], self.eta)
        matrix = self.rows.information_of_classes(shares, self.counts)
        fits, _, classes = target.shape
        flat = target.transpose(0, 2, 1).reshape(fits, -1)
        solved = solve(matrix, np.tile(self.penalty, classes), flat)
        solved = solved.reshape(fits, classes, -1).transpose(0, 2, 1)
        return np.asarray((self.rows.along(solved) * self.pull).sum(axis=2))


@dataclass(frozen=True, eq=False)
class Scale:
    """The mean and the spread of linear predictors in the training sets of fits.

    Attributes
    ----------
    mean, rate : numpy.ndarray, shape (fits,)
        The mean, and one over the standard deviation, 0 if there is no spread.
    centre, along : numpy.ndarray, shape (fits, p)
        The mean of the design matrix, and its covariance with the linear predictor.
    """

    mean: Floats
    rate: Floats
    centre: Floats
    along: Floats

    @classmethod
    def of(cls, rows: Rows, beta: Floats, weights: Floats) -> Scale:
        """Return the scale of linear predictors.

        Parameters
        ----------
        rows : Rows
        beta : numpy.ndarray, shape (fits, p)
            The coefficients.
        weights : numpy.ndarray, shape (fits, n)
            The training weights.
        """
        total = weights.sum(axis=1)
        centre = rows.sums(weights) / total[:, None]
        mean = (centre * beta).sum(axis=1)
        variance, largest = np.zeros_like(mean), np.zeros_like(mean)
        along = np.zeros_like(centre)
        n, step = len(rows.basis), max(1, AT_ONCE // max(len(beta), 1))
        for start in range(0, n, step):
            some = slice(start, start + step)
            part = rows.part(some)
            eta = part.along(beta)
            largest = np.maximum(largest, np.abs(eta).max(axis=1))
            eta -= mean[:, None]
            apart = weights[:, some] * eta
            variance += np.einsum("bn,bn->b", apart, eta)
            along += part.sums(apart)
        variance, along = variance / total, along / total[:, None]
        least = (TINY * largest) ** 2
        spread = np.sqrt(np.maximum(variance, 0.0))
        rate = np.divide(1.0, spread, out=np.zeros_like(mean), where=variance > least)
        return cls(mean, rate, centre, along)

    def through(
        self, target: Floats, owner: Numbers, slope: Floats, standardised: Floats
    ) -> Floats:
        """Return derivatives by coefficients, of a function of what is standardised.

        Parameters
        ----------
        target : numpy.ndarray, shape (fits, p)
            The same, of the function of linear predictors.
        owner : numpy.ndarray of int, shape (m,)
            The fit of each prediction.
        slope, standardised : numpy.ndarray, shape (m,)
            The derivative by each standardised prediction, and its value.
        """
        fits = len(target)
        sums = np.bincount(owner, slope, fits)[:, None]
        moments = np.bincount(owner, slope * standardised, fits)[:, None]
        rate = self.rate[:, None]
        shifted = (target - sums * self.centre) * rate
        return np.asarray(shifted - moments * self.along * rate**2)


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
    member = codes[:, None] == np.arange(codes.max(initial=0) + 1)
    sums, totals = values @ member, weights @ member
    ratio = np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)
    return np.asarray(weights * ratio[:, codes])
