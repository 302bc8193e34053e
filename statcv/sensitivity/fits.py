"""How held-out predictions change with the weights of the training records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from statcv.engine import Held, Setup
from statcv.formula import Learnt
from statcv.models import likelihood as families
from statcv.models.batched import CELLS, strata_shares
from statcv.models.linear_fits import LinearFits
from statcv.models.selection import regression_of
from statcv.models.thresholds import training_times
from statcv.numeric.arrays import Floats, Numbers
from statcv.sensitivity.hazards import cox_reference
from statcv.sensitivity.reference import (
    Reference,
    Training,
    ordered_reference,
    records_reference,
)

BLOCK = 16 * CELLS  # linear predictors of some fits for all records
MOST = 0.5  # share of the fits that choose a column, from which on it is chosen
SAME = 1e-12  # sd, relative to the largest linear predictor, of those that all tie


@dataclass(frozen=True, eq=False)
class BasisRows:
    """The rows of the matrices of m fits.

    Attributes
    ----------
    basis : numpy.ndarray, shape (n, r)
        Rows that all fits share.
    own : numpy.ndarray, shape (m, r, p), or None
        What the rows of each fit are, in terms of these; None if they are the same.

    Examples
    --------
    >>> rows = BasisRows(np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([[[1.0], [3.0]]]))
    >>> rows.matrix(0)
    array([[1.],
           [7.]])
    >>> rows.along(np.array([[2.0]]))
    array([[ 2., 14.]])
    """

    basis: Floats
    own: Floats | None = None

    def matrix(self, fit: int) -> Floats:
        """Return the matrix of a fit, shape (n, p)."""
        return self.basis if self.own is None else self.basis @ self.own[fit]

    def along(self, vectors: Floats) -> Floats:
        """Return products of all rows and a vector of each fit, (m, n) of (m, p)."""
        if self.own is not None:
            # (BA)v = B(Av), so that the matrix of no fit is made
            vectors = np.einsum("mrp,mp->mr", self.own, vectors)
        return np.asarray(vectors @ self.basis.T)


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
    likelihood: families.Likelihood

    @cached_property
    def fits(self) -> LinearFits:
        """The linear predictors by as few columns as there can be."""
        return self.linear.smallest

    @classmethod
    def of(cls, setup: Setup, held: Held) -> Sensitivity | None:
        """Return the sensitivity of a run; None for a model without a likelihood.

        Where terms are chosen, the coefficients of all of them vary, chosen or not,
        since to first order alone no other term would be chosen.
        """
        likelihood = regression_of(setup.model).capabilities.likelihood
        if likelihood is None or held.linear is None:
            return None
        return cls(setup, held.linear, likelihood)

    @cached_property
    def as_chosen(self) -> Sensitivity:
        """The same fits, of which only the columns that most of them chose vary."""
        beta = self.fits.coefficients
        used = (beta.reshape(*beta.shape[:2], -1) != 0).any(axis=2)
        # an intercept is 0 where classes are balanced
        used |= np.arange(used.shape[1]) == self.setup.records.intercept
        # a column that is left out is as one whose ridge is infinite
        kept = used & (used.mean(axis=0) >= MOST)
        penalty = np.where(kept, self.fits.penalty, np.inf)
        return replace(self, linear=replace(self.fits, penalty=penalty))

    @cached_property
    def varying(self) -> float:
        """The share of the fits that have a column besides the intercept."""
        others = np.arange(self.fits.penalty.shape[1]) != self.setup.records.intercept
        return float(np.isfinite(self.fits.penalty[:, others]).any(axis=1).mean())

    def standardised(self, fit: Numbers, row: Numbers) -> Floats:
        """Return linear predictors with mean 0 and sd 1 in the training set.

        They depend on the direction of the coefficients alone, and are 0 if all
        records are predicted alike. Those of one covariate have mean 0 and sd 1 over
        all records, so that its equal values tie whatever fit predicts them.

        Parameters
        ----------
        fit, row : numpy.ndarray of int, shape (m,)
            The fit and the record of each prediction; fits with one linear predictor.
        """
        found = np.zeros(len(fit))
        given = self.setup.records.weights
        alone = self.fits.constant is not None  # a constant beside the coefficients
        single = self.fits.coefficients.shape[1] + alone <= 2
        new, fits = self.setup.folds.new_levels(self.setup.records), self.fits
        if not (fits.rows is fits.basis is fits.constant is fits.filled is None):
            new = None  # the rows are others
        for numbers, some in self._blocks(fit):
            eta = self._rows(numbers, row[some]).along(self._coefficients(numbers))
            times = training_times(self.setup.records, self.setup.folds, numbers)
            times = np.ones_like(times) if single else times
            weights = times * (1.0 if given is None else given)
            total = weights.sum(axis=1)
            mean = (weights * eta).sum(axis=1) / total
            away = eta - mean[:, None]
            spread = np.sqrt((weights * away**2).sum(axis=1) / total)
            # predictors that differ by rounding alone are equal, and stay 0
            known = spread > SAME * np.abs(eta).max(axis=1)
            rate = np.divide(1.0, spread, out=np.zeros_like(spread), where=known)
            owner = np.searchsorted(numbers, fit[some])
            found[some] = away[owner, row[some]] * rate[owner]
            if new is not None:
                own, X = new.rows(row[some], fit[some])
                eta = (X * self._coefficients(numbers)[owner[own]]).sum(axis=1)
                found[some[own]] = (eta - mean[owner[own]]) * rate[owner[own]]
        return found

    def of_all_records(self, numbers: Numbers) -> Floats:
        """Return the predictions of some fits for all records, shape (m, n).

        Parameters
        ----------
        numbers : numpy.ndarray of int, shape (m,)
            The fits, with one linear predictor each.
        """
        every = np.arange(self.setup.plan.n)
        eta = [
            self._rows(one, every).along(self._coefficients(one))
            for one in numbers[:, None]
        ]
        return self.likelihood.mean(np.concatenate(eta)[:, :, None])[:, :, 0]

    @cached_property
    def reference(self) -> Reference:
        """The fit to all records, and how it changes with each of them."""
        setup = self.setup
        # the fit with the most free coefficients, as a fit that fixes some varies less
        first = np.isinf(self.fits.penalty).sum(axis=1).argmin(keepdims=True)
        records, plan = setup.records, setup.plan
        n = len(records.y)
        given = np.ones(n) if records.weights is None else records.weights.astype(float)
        if self.fits.class_weights is not None:
            # class weights act on the likelihood as weights of the records do
            given = given * self.fits.class_weights[0][records.y]
        beta, penalty = self._coefficients(first)[0], self.fits.penalty[first[0]]
        if self.fits.constant is not None:
            penalty = np.append(penalty, 0.0)  # the model adds it without a ridge
        rows = self._rows(first, np.arange(n))
        trained = training_times(records, setup.folds, first)[0].astype(float)
        # where the total weight of a class is fixed, one record gains what others lose
        by_class, strata = None, plan.strata
        if self.fits.balanced is not None:
            by_class = records.y.astype(np.intp)
        elif plan.rebalanced and plan.response is not None and plan.response.by_class:
            by_class = plan.response.codes
        clusters = strata.codes if strata is not None and strata.identifies else None
        training = Training(given, setup.folds, by_class, clusters)
        if isinstance(self.likelihood, families.Hazards):
            X = np.asarray(rows.matrix(0))[:, :-1]  # the last is the constant's
            centre = records.centre
            X = X - (X.mean(axis=0) if centre is None else centre)
            return cox_reference(
                X,
                records.y,
                penalty[:-1],
                training,
                self.likelihood,
                records.horizons,
                shares=strata_shares(records.X, records.names),
                offset=X[:, list(records.offsets)].sum(axis=1),
            )
        if isinstance(self.likelihood, families.CumulativeLogit):
            X, others = rows.matrix(0), np.arange(len(penalty)) != records.intercept
            X = X[:, others]
            return ordered_reference(X, records.y, penalty[others], training)
        likelihood = self.likelihood
        if self.fits.dispersion is not None:
            likelihood = families.LogLinear(float(self.fits.dispersion[first[0]]))
        return records_reference(
            np.asarray(rows.matrix(0)),
            records.y,
            beta,
            penalty,
            trained,
            training,
            cast(families.OfRecords, likelihood),
        )

    def _coefficients(self, numbers: Numbers) -> Floats:
        beta = self.fits.coefficients[numbers]
        if self.fits.constant is not None:
            own = self.fits.constant[numbers][:, None]
            beta = np.concatenate([beta, own], axis=1)
        return np.nan_to_num(beta)

    # ---- the matrices of the fits ----

    def _blocks(self, fit: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
        """Yield fits that share a basis, with the positions of their predictions."""
        fits = np.flatnonzero(np.bincount(fit, minlength=len(self.fits)))
        fits = fits[np.argsort(self._groups[fits], kind="stable")]
        ends = np.flatnonzero(np.diff(self._groups[fits])) + 1
        order = np.argsort(fit, kind="stable")
        rising = fit[order]
        step = max(1, BLOCK // max(self.setup.plan.n, 1))
        for group in np.split(fits, ends):
            for start in range(0, len(group), step):
                numbers = group[start : start + step]
                begin, end = (
                    np.searchsorted(rising, numbers, side=side)
                    for side in ("left", "right")
                )
                places = [order[a:b] for a, b in zip(begin, end, strict=True)]
                yield numbers, np.concatenate(places)

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

    def __getstate__(self) -> dict[str, Any]:
        """Omit what can be computed again."""
        return {name: getattr(self, name) for name in ("setup", "fits", "likelihood")}

    def _rows(self, numbers: Numbers, row: Numbers) -> BasisRows:
        """Return the matrices of some fits.

        Rows are 0 for records that a fit by itself neither knows nor meets.
        """
        X, fit, learnt = self.setup.records.X, int(numbers[0]), self._learnt
        if self.fits.rows is not None:
            return BasisRows(self.fits.rows)
        if self.fits.basis is not None:
            return BasisRows(X, self.fits.basis[numbers])
        if learnt is not None:
            basis = learnt.basis(int(learnt.group[fit]))
            return BasisRows(basis, learnt.coefficients(numbers))
        if self.setup.folds.matrices is not None:
            met = np.union1d(self.setup.plan.train(fit), row)
            X = np.zeros_like(X)
            X[met] = self.setup.folds.matrix(self.setup.records, fit, met)
        if self.fits.filled is not None:
            X = np.where(np.isnan(X), self.fits.filled[fit], X)
        if self.fits.constant is not None:
            X = np.column_stack([X, np.ones(len(X))])
        return BasisRows(X)
