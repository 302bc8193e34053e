"""Updating and stacking of models that were fitted elsewhere, to be cross-validated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from statcv.arguments import is_number, one_of
from statcv.errors import ModelError
from statcv.models import base
from statcv.models.base import Capabilities, PlainFit, TrainingSet
from statcv.models.batched.blocks import Block
from statcv.models.batched.partial_likelihood import partial_likelihood
from statcv.models.batched.problem import Problem
from statcv.models.batched.separate import Penalised
from statcv.models.cox import Cox, ProportionalHazards, baseline_beside
from statcv.models.families import family_of
from statcv.models.firth import intercept_shifts
from statcv.models.likelihood import Bernoulli, Gaussian, Likelihood
from statcv.models.linear import Linear
from statcv.models.linear_fits import LinearFits
from statcv.models.logit import Logit
from statcv.models.spread import variances
from statcv.numeric.arrays import Bools, Floats
from statcv.numeric.logistic import expit
from statcv.numeric.newton import minimise
from statcv.words import listed

UPDATE_METHODS = {
    "none": "left as it is",
    "intercept": "intercept updated",
    "slope": "intercept and slope updated",
    "refit": "all coefficients refitted",
    "shrink": "refitted with shrinkage towards the old coefficients",
    "closed_test": "updated by closed testing",
}
LIKELIHOODS: Mapping[str, Likelihood] = {
    "binary": Bernoulli(),
    "continuous": Gaussian(),
}
KINDS = (*LIKELIHOODS, "survival")
# strengths to choose from, as multiples of the information of a standardised column
STRENGTHS = np.logspace(3, -3, 25)
TINY = 1e-9  # ridge of a constant column, whose coefficient is then 0


def said_update(method: str, kind: str | None) -> str:
    """Return what a method updates, in words."""
    said = UPDATE_METHODS[method]
    return said.replace("intercept", "baseline hazard") if kind == "survival" else said


@dataclass(frozen=True)
class Updating:
    """A regression that was fitted elsewhere, updated on the training set.

    Attributes
    ----------
    old : mapping of str to float
        The coefficient of each column of the design, ``Intercept`` included.
    method : str, default "closed_test"
        ``"none"``, ``"intercept"``, ``"slope"`` (with the intercept), ``"refit"``,
        ``"shrink"`` (a ridge on the differences from the old coefficients, of columns
        divided by their standard deviation), or ``"closed_test"``: refitting is tested
        against no update, a new intercept, and a new intercept and slope, in this
        order, and the first that is not rejected is chosen.
    strength : float, optional
        The strength of the ridge; unless given, each training set has the one of the
        least AIC, with effective degrees of freedom.
    level : float, default 0.05
        The significance level of closed testing.
    kind : {"binary", "continuous"}, optional
        The kind of outcome. Intervals take account of the variation of the fits, with
        the chosen method or strength as given, only if it is given.
    baseline : tuple of float, optional
        The old probabilities of no event by each horizon at a linear predictor of 0,
        for a Cox regression. Its baseline hazard is updated where others have a new
        intercept, and refitting is tested by the partial likelihood.

    Examples
    --------
    >>> import statcv as scv
    >>> old = {"Intercept": -10.0, "GPA": 2.5, "PSI": 2.0}
    >>> model = scv.models.Updating(old, "intercept")
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), model=model, k=4)
    >>> res.coefficients["GPA"].tolist()
    [2.5, 2.5, 2.5, 2.5]

    References
    ----------
    Vergouwe, Nieboer, Oostenbrink et al. (2017), Statistics in Medicine 36:4529;
    Steyerberg, Borsboom, van Houwelingen et al. (2004), Statistics in Medicine 23:2567.
    """

    old: Mapping[str, float]
    method: str = "closed_test"
    strength: float | None = None
    level: float = 0.05
    kind: str | None = None
    baseline: tuple[float, ...] = ()

    @property
    def capabilities(self) -> Capabilities:
        """What it can do, and what it needs."""
        tried = {"closed_test": 4, "shrink": len(STRENGTHS)}
        return Capabilities(
            likelihood=LIKELIHOODS.get(self.kind or ""),
            fits_per_training_set=1 if self.strength else tried.get(self.method, 1),
        )

    def __post_init__(self) -> None:
        one_of(self.method, UPDATE_METHODS, "method")
        if self.kind is not None:
            one_of(self.kind, KINDS, "kind", ModelError)
        if self.strength is not None and self.method != "shrink":
            raise ModelError(f"strength= is for method='shrink', not {self.method!r}.")
        if not (
            self.strength is None or (is_number(self.strength) and self.strength > 0)
        ):
            raise ModelError(f"strength must be above 0, not {self.strength!r}.")
        if not (is_number(self.level) and 0 < self.level < 1):
            raise ModelError(f"level must lie between 0 and 1, not {self.level!r}.")

    @property
    def label(self) -> str:
        """How print and summary call it."""
        return f"an older model, {said_update(self.method, self.kind)}"

    def check(self, kind: str) -> None:
        """Raise ModelError for more than two classes."""
        base.refuse_kind("updating", kind, (self.kind,) if self.kind else KINDS)

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        updates = self.updates(training)
        if has_one_class(training):  # nothing can be learnt
            return updates.fit_of("none", updates.old)
        method = self.method
        if method == "closed_test":
            tests = updates.tests()
            kept = (one.against for one in tests if not one.p_value < self.level)
            method = next(kept, "refit")
        return updates.made(method, self.strength)

    def updates(self, training: TrainingSet) -> Updates:
        """Return the updates of a training set.

        Raises
        ------
        ModelError
            If a column has no old coefficient, or there is no intercept.
        """
        self.check(training.kind)
        base.refuse_missing(training, "updating")
        lacking = [name for name in training.names if name not in self.old]
        spare = [name for name in self.old if name not in training.names]
        if lacking or spare or training.intercept is None:
            raise ModelError(
                "updating needs one old coefficient of each column of the design: "
                f"{listed([*training.names])}, an intercept among them; old= has "
                f"{listed([*self.old])}."
            )
        old = np.array([self.old[one] for one in training.names])
        return Updates(training, old, self.baseline)


# ---- the updates of one training set ----


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
    old: Floats
    baseline: tuple[float, ...] = ()

    @cached_property
    def slope(self) -> float:
        """The calibration slope of the old model; NaN if it predicts a constant."""
        return float(self._recalibrated[1]) if self.is_varying else np.nan

    @cached_property
    def linear(self) -> Floats:
        """The linear predictor of the old model."""
        return self.training.X @ self.old

    @property
    def is_varying(self) -> bool:
        """Whether the predictions of the old model differ."""
        size = max(1.0, float(np.abs(self.linear).max()))
        return bool(np.ptp(self.linear) > 1e-10 * size)

    @cached_property
    def varying(self) -> Bools:
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
            # a simpler update is nested in the refit, so that it cannot fit better
            statistic, p = 0.0, 1.0
            if df and self.training.kind != "continuous":
                statistic = 2 * gain
                p = float(chi2.sf(statistic, df))
            elif df:  # otherwise it is the same model
                rest = len(X) - full
                statistic = gain / df / (best / rest) if rest * best > 0 else np.nan
                p = float(f.sf(statistic, df, rest))
            found.append(RefitTest(against, statistic, df, p))
        return found

    def fit_of(
        self, method: str, beta: Floats, separated: bool = False, **more: float
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
        self, method: str, beta: Floats, strength: float = 0.0
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

    def _loss(self, fit: PlainFit) -> float:
        assert fit.coefficients is not None
        beta = np.array([*fit.coefficients.values()])
        return loss_of(self.training, self.training.X @ beta, self.training.each_weight)

    @cached_property
    def _intercept(self) -> float:
        kind, y = self.training.kind, self.training.y
        return intercept_beside(kind, y, self.linear, self.training.each_weight)

    @cached_property
    def _recalibrated(self) -> Floats:
        X = np.column_stack([np.ones(len(self.linear)), self.linear])
        own = replace(self.training, X=X, names=("Intercept", "slope"), centre=None)
        return fitted_values(replace(own, intercept=0))[0]

    @cached_property
    def _refit(self) -> PlainFit:
        """The fit by maximum likelihood, with old coefficients of constant columns."""
        some, made = self.varying, self.old.copy()
        made[some], separated = fitted_to(self.training, some)
        constant = self.training.X[0, ~some] @ self.old[~some]
        made[self.training.intercept] -= constant
        return self.fit_of("refit", made, separated)

    @cached_property
    def _spread(self) -> Floats:
        """The variance of each column; 0 for the intercept, which is not shrunk."""
        made = variances(self.training.X, self.training.weights)
        made[self.training.intercept] = 0.0
        return made

    def _shrunk(self, strength: float | None) -> PlainFit:
        """Return the ridge on differences.

        Effective degrees of freedom are those of le Cessie & van Houwelingen (1992).
        """
        training, w = self.training, self.training.each_weight
        if strength is None:
            each: Any = 1.0
            if training.kind == "survival":
                each = training.y > 0
            elif training.kind == "binary":
                mean = mean_of(training.kind, self.linear + self._intercept)
                each = mean * (1 - mean)
            # strengths are relative to the information, as in a sample of any size
            tried = STRENGTHS * float(np.sum(w * each))
        else:
            tried = np.array([strength])
        best = np.inf
        for one in tried:
            change, df = self._towards(one * self._spread)
            loss = loss_of(training, self.linear + training.X @ change, w)
            if training.kind == "continuous":
                loss = np.sum(w) / 2 * np.log(max(loss, 1e-300))
            if 2 * loss + 2 * df < best:
                best, chosen = 2 * loss + 2 * df, (change, float(one))
        return self.fit_of("shrink", self.old + chosen[0], strength=chosen[1])

    def _towards(self, ridge: Floats) -> tuple[Floats, float]:
        """Return penalised differences from the old coefficients, and their df."""
        some, training, linear = self.varying, self.training, self.linear
        X, ridge, w = training.X[:, some], ridge[some], training.each_weight
        problem: Any
        if training.kind == "survival":
            about, offset = X - X.mean(axis=0), linear - linear.mean()
            ridge = np.maximum(ridge, TINY)
            given = training.y, True, w, ridge
            problem = partial_likelihood(about, *given, offset=offset)
        else:
            own = replace(training, X=X, offset=linear)
            if training.kind == "continuous":
                own = replace(own, y=training.y - linear)
            family, block = family_of(own, ridge), Block.of_counts(w[None])
            problem = Penalised(Problem(X, None, family, block, None, ridge))
        change, made = minimise(problem).beta, np.zeros(len(self.old))
        made[some], hessian = change[0], problem.hessian(problem.linear(change))[0]
        # the trace of the inverse penalised information times that without the ridge
        information = hessian - np.diag(ridge)
        df = np.trace(np.linalg.lstsq(hessian, information, rcond=None)[0])
        return made, float(df)


def fitted_to(training: TrainingSet, some: Bools) -> tuple[Floats, bool]:
    """Return the fit by maximum likelihood to some columns, the intercept included."""
    own = training.of_columns(np.flatnonzero(some))
    return fitted_values(replace(own, centre=None))


class RefitTest(NamedTuple):
    """The test of refitting all coefficients against a simpler update."""

    against: str
    statistic: float
    df: int
    p_value: float


# ---- fits of one linear predictor: of two classes, numbers, or times ----


REGRESSIONS: Mapping[str, Any] = {
    "binary": Logit(),
    "continuous": Linear(),
    "survival": Cox(),
}


def intercept_beside(kind: str, y: Floats, eta: Floats, weights: Floats) -> float:
    """Return the intercept of the maximum likelihood, with the rest as an offset.

    It is 0 for times to an event, whose baseline hazard takes its part.
    """
    if kind == "survival":
        return 0.0
    if kind == "continuous":
        return float(np.average(y - eta, weights=weights))
    return float(intercept_shifts(eta[None], y, weights[None])[0])


def has_one_class(training: TrainingSet) -> bool:
    """Return whether all records that count are of one class, or censored."""
    used = base.positive_weights(training)[0]
    if training.kind == "survival":
        return not (training.y[used] > 0).any()
    return training.kind == "binary" and len(np.unique(training.y[used])) < 2


def fitted_values(training: TrainingSet) -> tuple[Floats, bool]:
    """Return the coefficients by maximum likelihood, and whether they are infinite.

    The intercept of times to an event is 0.
    """
    fit = REGRESSIONS[training.kind].fit(training)
    assert fit.coefficients is not None
    found = [fit.coefficients.get(name, 0.0) for name in training.names]
    return np.array(found), bool(fit.separated)


def fit_with(
    training: TrainingSet,
    beta: Floats,
    separated: bool,
    chosen: dict[str, Any] | None,
    baseline: Sequence[float] | None = None,
) -> PlainFit:
    """Return the fit that has given coefficients.

    Of times to an event, ``baseline`` are the probabilities of no event by each horizon
    at a linear predictor of 0; they are estimated unless given.
    """
    named = dict(zip(training.names, beta.tolist(), strict=True))
    mean: Callable[[Floats], Floats] = partial(mean_of, training.kind)
    if training.kind == "survival":
        centre, given = 0.0, np.array(baseline if baseline is not None else [])
        if baseline is None:
            eta = training.X @ beta
            centre, at = float(eta.mean()), training.horizons
            given = baseline_beside(
                eta - centre, training.y, at, True, training.weights
            )
        with np.errstate(divide="ignore"):
            mean = ProportionalHazards(np.log(-np.log(given)) - centre)
    predict = partial(base.means_at, mean, beta)
    return PlainFit(predict, named, separated=separated, chosen=chosen)


def mean_of(kind: str, eta: Floats) -> Floats:
    """Return the means of linear predictors."""
    return expit(eta) if kind == "binary" else eta


def loss_of(training: TrainingSet, eta: Floats, weights: Floats) -> float:
    """Return minus the log-likelihood; half the sum of squares of numbers.

    It is Cox's partial likelihood of times to an event, with Efron's ties.
    """
    y = training.y
    if training.kind == "survival":
        problem = partial_likelihood(eta[:, None], y, True, weights)
        one = np.ones((1, 1))
        return float(problem.loss(problem.linear(one), one)[0])
    if training.kind == "continuous":
        return float(weights @ (y - eta) ** 2) / 2
    return float(weights @ (np.logaddexp(0.0, eta) - y * eta))


# ---- several models ----


@dataclass(frozen=True)
class Stacking:
    """A regression on linear predictors, with weights that are not negative.

    Each column of the design is the linear predictor of a model that was fitted
    elsewhere.

    Examples
    --------
    >>> import statcv as scv
    >>> df, model = scv.load_data("spector"), scv.models.Stacking()
    >>> res = scv.cv("GRADE ~ GPA + TUCE", df, model=model, k=4, seed=1)
    >>> bool((res.coefficients[["GPA", "TUCE"]] >= 0).all(axis=None))
    True

    References
    ----------
    Debray, Koffijberg, Nieboer et al. (2014), Statistics in Medicine 33:2341.
    """

    label = "stacking of models with weights of at least 0"
    capabilities = Capabilities()

    def check(self, kind: str) -> None:
        """Raise ModelError for more than two classes."""
        base.refuse_kind("stacking", kind, tuple(LIKELIHOODS))

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        from scipy.optimize import minimize

        self.check(training.kind)
        base.refuse_missing(training, "stacking")
        X, y, place = training.X, training.y, training.intercept
        w, count = training.each_weight, X.shape[1]
        least = [0.0 if j != place else -np.inf for j in range(count)]
        start = np.array([0.0 if j == place else 1 / (count - 1) for j in range(count)])
        if has_one_class(training):  # nothing can be learnt
            return fit_with(training, start, True, None)
        solved = minimize(
            lambda beta: loss_of(training, X @ beta, w),
            start,
            jac=lambda beta: X.T @ (w * (mean_of(training.kind, X @ beta) - y)),
            method="L-BFGS-B",
            bounds=[(one, np.inf) for one in least],
        )
        # the weights of 0 are known now, and Newton's method gives the digits of others
        free = solved.x > 1e-6
        free[place] = True
        beta = np.where(free, solved.x, 0.0)
        polished, separated = fitted_to(training, free)
        if (np.delete(polished, int(free[:place].sum())) >= 0).all():
            beta[free] = polished
        return fit_with(training, beta, separated, None)
