"""The updates of one linear predictor in several training sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, PlainFit, TrainingSet
from statcv.models.batched.partial_likelihood import partial_likelihood
from statcv.models.linear_fits import LinearFits
from statcv.models.one_predictor import (
    fit_with,
    fitted_values,
    intercept_beside,
    loss_of,
    mean_of,
)
from statcv.models.spread import variances
from statcv.numeric.newton import minimise

STRENGTHS = np.logspace(3, -3, 25)
MAX_STEPS = 100
TINY = 1e-9  # ridge of a constant column, whose coefficient is then 0


@dataclass(frozen=True, eq=False)
class Updates:
    """All updates of a model on a training set.

    Attributes
    ----------
    training : TrainingSet
    old : numpy.ndarray, shape (p,)
        The old coefficients.
    baseline : tuple of float
        The old probabilities of no event by each horizon, of times to an event.
    """

    training: TrainingSet
    old: Matrix
    baseline: tuple[float, ...] = ()

    @cached_property
    def slope(self) -> float:
        """The calibration slope of the old model; NaN if it predicts a constant."""
        return float(self._recalibrated[1]) if self.is_varying else np.nan

    @cached_property
    def linear(self) -> Matrix:
        """The linear predictor of the old model."""
        return self.training.X @ self.old

    @property
    def is_varying(self) -> bool:
        """Whether the predictions of the old model differ."""
        size = max(1.0, float(np.abs(self.linear).max()))
        return bool(np.ptp(self.linear) > 1e-10 * size)

    @cached_property
    def varying(self) -> NDArray[np.bool_]:
        """Which columns vary, so that a refit can change their coefficients."""
        found = np.ptp(self.training.X, axis=0) > 0
        found[self.training.intercept] = True
        return np.asarray(found)

    def made(self, method: str, strength: float | None = None) -> PlainFit:
        """Return the fit by one of the methods other than closed testing."""
        if method == "none":
            return self.fit_of(method, self.old)
        if method == "refit":
            return self._refit
        if method == "shrink":
            return self._shrunk(strength)
        place = self.training.intercept
        if method == "intercept" or not self.is_varying:
            shift, by = self._intercept, 1.0
        else:
            shift, by = map(float, self._recalibrated)
        made = by * self.old
        made[place] += shift
        return self.fit_of(method, made)

    def tests(self) -> list[RefitTest]:
        """Return the tests of refitting against simpler updates, simplest first.

        They are likelihood-ratio tests, and F tests of a continuous outcome.
        """
        # scipy.stats takes longer to import than all that is fitted here
        from scipy.stats import chi2, f

        X = self.training.X
        full = int(np.linalg.matrix_rank(X / np.maximum(np.abs(X).max(axis=0), 1e-300)))
        best = self._loss(self._refit)
        found = []
        simpler = ("none", 0), ("intercept", 1), ("slope", 1 + self.is_varying)
        # the partial likelihood does not depend on the baseline hazard
        for against, used in simpler[self.training.kind == "survival" :]:
            df = full - used
            gain = max(0.0, self._loss(self.made(against)) - best)
            if df == 0:  # the same model
                found.append(RefitTest(against, 0.0, 0, 1.0))
            elif self.training.kind != "continuous":
                statistic = 2 * gain
                p = float(chi2.sf(statistic, df))
                found.append(RefitTest(against, statistic, df, p))
            else:
                rest = len(X) - full
                statistic = gain / df / (best / rest) if rest * best > 0 else np.nan
                p = float(f.sf(statistic, df, rest))
                found.append(RefitTest(against, statistic, df, p))
        return found

    def fit_of(
        self, method: str, beta: Matrix, separated: bool = False, **more: float
    ) -> PlainFit:
        """Return coefficients as a fit."""
        times, chosen = self.training.kind == "survival", {"method": method, **more}
        if times and method in ("refit", "shrink"):
            # a linear predictor of 0 is that of the mean, as in a Cox regression
            X, centre = self.training.X, self.training.centre
            beta, place = beta.copy(), self.training.intercept
            beta[place] -= beta @ (X.mean(axis=0) if centre is None else centre)
        old = self.baseline if method == "none" else None
        fit = fit_with(self.training, beta, separated, chosen, old)
        linear = None if times else self._linear_fit(method, beta, **more)
        return replace(fit, linear=linear)

    def _linear_fit(
        self, method: str, beta: Matrix, strength: float = 0.0
    ) -> LinearFits:
        """Return coefficients of the columns and of the old linear predictor.

        Those that the method does not change have an infinite penalty.
        """
        place, change = self.training.intercept, beta - self.old
        slope = np.array([1.0])
        penalty = np.full(len(beta) + 1, np.inf)
        if method in ("intercept", "slope"):
            penalty[place] = 0.0
        if method == "slope" and self.is_varying:
            penalty[-1] = 0.0
            slope = self._recalibrated[1:]
            change = beta - slope * self.old
        if method in ("refit", "shrink"):
            ridge = strength * self._spread
            penalty[:-1] = np.where(self.varying, ridge, np.inf)
        return LinearFits(
            np.append(change, slope)[None],
            penalty[None],
            basis=np.column_stack([np.eye(len(beta)), self.old])[None],
        )

    @property
    def _weights(self) -> Matrix:
        given = self.training.weights
        return np.ones(len(self.training.y)) if given is None else given

    def _loss(self, fit: PlainFit) -> float:
        assert fit.coefficients is not None
        beta = np.array([*fit.coefficients.values()])
        return loss_of(self.training, self.training.X @ beta, self._weights)

    @cached_property
    def _intercept(self) -> float:
        kind, y = self.training.kind, self.training.y
        return intercept_beside(kind, y, self.linear, self._weights)

    @cached_property
    def _recalibrated(self) -> Matrix:
        X = np.column_stack([np.ones(len(self.linear)), self.linear])
        own = replace(self.training, X=X, names=("Intercept", "slope"), centre=None)
        return fitted_values(replace(own, intercept=0))[0]

    @cached_property
    def _refit(self) -> PlainFit:
        """The fit by maximum likelihood, with old coefficients of constant columns."""
        some, X = self.varying, self.training.X
        names = tuple(np.array(self.training.names, dtype=object)[some])
        place = names.index(self.training.names[self.training.intercept or 0])
        own = replace(self.training, X=X[:, some], names=names, centre=None)
        own = replace(own, intercept=place)
        made = self.old.copy()
        made[some], separated = fitted_values(own)
        made[self.training.intercept] -= X[0, ~some] @ self.old[~some]
        return self.fit_of("refit", made, separated)

    @cached_property
    def _spread(self) -> Matrix:
        """The variance of each column; 0 for the intercept, which is not shrunk."""
        made = variances(self.training.X, self.training.weights)
        made[self.training.intercept] = 0.0
        return made

    def _shrunk(self, strength: float | None) -> PlainFit:
        """Return the ridge on differences.

        Effective degrees of freedom are those of le Cessie & van Houwelingen (1992).
        """
        training, w = self.training, self._weights
        start = np.zeros(len(self.old))
        start[training.intercept] = self._intercept
        if strength is None:
            each: Any = 1.0
            if training.kind == "survival":
                each = training.y > 0
            elif training.kind == "binary":
                mean = mean_of(training.kind, self.linear + self._intercept)
                each = mean * (1 - mean)
            tried = STRENGTHS * float(np.sum(w * each))
        else:
            tried = np.array([strength])
        best = np.inf
        for one in tried:
            start, df = self._towards(start, one * self._spread)
            loss = loss_of(training, self.linear + training.X @ start, w)
            if training.kind == "continuous":
                loss = np.sum(w) / 2 * np.log(max(loss, 1e-300))
            if 2 * loss + 2 * df < best:
                best, chosen = 2 * loss + 2 * df, (start, float(one))
        return self.fit_of("shrink", self.old + chosen[0], strength=chosen[1])

    def _towards(self, start: Matrix, ridge: Matrix) -> tuple[Matrix, float]:
        """Return penalised differences from the old coefficients, and their df."""
        some, training = self.varying, self.training
        X, w, ridge = training.X[:, some], self._weights, ridge[some]
        here = start[some]
        made = np.zeros(len(start))
        if training.kind == "survival":
            about, offset = X - X.mean(axis=0), self.linear - self.linear.mean()
            free = partial_likelihood(about, training.y, True, w, offset=offset)
            problem = replace(free, ridge=np.maximum(ridge, TINY)[None])
            made[some] = best = minimise(problem).beta[0]
            hessian = problem.hessian(eta := problem.linear(best[None]))[0]
            df = np.trace(np.linalg.lstsq(hessian, free.hessian(eta)[0], rcond=None)[0])
            return made, float(df)

        def objective(change: Matrix) -> float:
            loss = loss_of(training, self.linear + X @ change, w)
            return loss + float(ridge @ change**2) / 2

        for _ in range(MAX_STEPS):
            mean = mean_of(training.kind, self.linear + X @ here)
            each = w * (mean * (1 - mean) if training.kind == "binary" else 1.0)
            information = (X.T * each) @ X
            gradient = X.T @ (w * (training.y - mean)) - ridge * here
            hessian = information + np.diag(ridge)
            step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
            now = objective(here)
            while objective(here + step) > now and np.abs(step).max() > 0:
                step = step / 2
            here = here + step
            if np.abs(X @ step).max() < 1e-9:
                break
        df = np.trace(np.linalg.lstsq(hessian, information, rcond=None)[0])
        made[some] = here
        return made, float(df)


class RefitTest(NamedTuple):
    """The test of refitting all coefficients against a simpler update."""

    against: str
    statistic: float
    df: int
    p_value: float
