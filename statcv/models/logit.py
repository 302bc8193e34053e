"""Logistic regression: unpenalised, ridge, or Firth's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from statcv.arguments import described, is_number
from statcv.errors import ModelError
from statcv.models.base import (
    Capabilities,
    Matrix,
    PlainFit,
    TrainingSet,
    refuse_kind,
    refuse_missing,
)
from statcv.models.batched.folds import (
    FittedFolds,
    FoldFits,
    Folds,
    by_linear_predictor,
)
from statcv.models.batched.logit import (
    Penalties,
    find_centre,
    fit_logit_folds,
    sure_logit_fits,
)
from statcv.models.batched.multinomial import (
    by_class,
    class_regression,
    fit_class_folds,
)
from statcv.models.batched.multiples import fit_by_multiples
from statcv.models.batched.own_matrices import (
    Classes,
    InBasis,
    Regression,
    Start,
    fit_own_folds,
)
from statcv.models.batched.row_space import in_row_space, row_space, with_smaller
from statcv.models.firth import (
    correct_intercepts,
    fit_firth,
    fit_firth_folds,
    sure_firth_fits,
)
from statcv.models.likelihood import Bernoulli, LinearFits
from statcv.models.multinomial import class_names, fit_classes, free_classes
from statcv.models.newton import (
    EXTREME,
    Optimum,
    column_units,
    inverse_gram,
    minimise,
    positive_weights,
    solve_well,
)
from statcv.models.spread import fold_variances, variances


@dataclass(frozen=True)
class Logit:
    """Logistic regression; multinomial for more than two classes.

    Parameters
    ----------
    C : float, optional
        Inverse strength of a ridge penalty in scikit-learn's convention: the objective
        is ``C × negative log-likelihood + ½ Σ β²``, without the intercept. None, the
        default, means no penalty, as in R's ``glm``.
    firth : bool, default False
        Whether to use Firth's penalised likelihood, as in R's ``logistf``, for two
        classes: coefficients are finite under separation too, and their bias of order
        1/n is removed. It draws fitted probabilities towards ½, so that their mean is
        not the share of the positive class; ``flic=True`` corrects that. With hardly
        more training records than columns, or weights that span many orders of
        magnitude, the penalised likelihood may have several maxima: a fit by itself
        starts from 0, as ``logistf`` does, the fits of folds start from the maximum of
        all records.
    flic : bool, default False
        Whether to use Firth's penalised likelihood and to correct the intercept
        afterwards, as in R's ``logistf::flic``, so that the mean of the fitted
        probabilities is the share of the positive class (Puhr et al. 2017). The other
        coefficients are Firth's. It is the choice for predictions.
    standardize : bool, default False
        Whether the ridge acts on the coefficients of columns divided by their standard
        deviation in the training set of each fit, as in R's ``glmnet`` and after
        scikit-learn's ``StandardScaler``. Coefficients are those of the columns as they
        are. The standard deviation counts records by their weights, with the total
        weight as the divisor. Without a ridge it changes nothing.

    Examples
    --------
    >>> Logit().label
    'logistic regression, unpenalised'
    >>> Logit(C=0.5).label
    'ridge logistic regression, C = 0.5'
    >>> Logit(firth=True).label
    "logistic regression, Firth's penalty"
    >>> Logit(flic=True).label
    "logistic regression, Firth's penalty, intercept corrected"
    >>> Logit(C=1.0, standardize=True).label
    'ridge logistic regression, C = 1, standardized columns'

    References
    ----------
    Firth (1993), Biometrika 80:27; Puhr, Heinze, Nold, Lusa & Geroldinger (2017),
    Statistics in Medicine 36:2302 (FLIC).
    """

    C: float | None = None
    firth: bool = False
    standardize: bool = False
    flic: bool = False

    def __post_init__(self) -> None:
        if self.C is not None and not (is_number(self.C) and self.C > 0):
            shown = described(self.C)
            raise ModelError(f"C must be a positive number or None, not {shown}.")
        for name in ("firth", "standardize", "flic"):
            value = getattr(self, name)
            if not isinstance(value, (bool, np.bool_)):
                raise ModelError(f"{name} must be True or False, not {value!r}.")
        named = "flic" if self.flic else "firth"
        if self.has_firth and self.standardize:
            raise ModelError(
                f"Logit({named}=True, standardize=True): Firth's penalty does not "
                "depend on the scale of the columns; give one of them."
            )
        if self.has_firth and self.C is not None:
            raise ModelError(
                f"Logit(C={self.C!r}, {named}=True) asks for two penalties: a ridge, "
                "and Firth's, which has no strength to choose; give one of them."
            )

    @property
    def label(self) -> str:
        """How print and summary call it."""
        if self.has_firth:
            corrected = ", intercept corrected" if self.flic else ""
            return f"logistic regression, Firth's penalty{corrected}"
        if self.C is None or np.isinf(self.C):
            return "logistic regression, unpenalised"
        columns = ", standardized columns" if self.standardize else ""
        return f"ridge logistic regression, C = {self.C:g}{columns}"

    @property
    def capabilities(self) -> Capabilities:
        """A ridge determines the coefficients of dependent columns too."""
        return _capabilities(self.penalised, self.has_firth, bool(self.flic))

    @property
    def has_firth(self) -> bool:
        """Whether the likelihood has Firth's penalty."""
        return bool(self.firth or self.flic)

    @property
    def penalised(self) -> bool:
        """Whether there is a ridge."""
        return self.C is not None and not np.isinf(self.C)

    def check(self, kind: str) -> None:
        """Raise ModelError for an outcome that it does not fit."""
        refuse_kind("logistic regression", kind, ("binary", "multiclass"))
        if self.has_firth and kind == "multiclass":
            raise ModelError(
                "Firth's penalty is implemented for two classes only; for more, use "
                "a ridge, Logit(C=1.0)."
            )

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        self.check(training.kind)
        refuse_missing(training, "logistic regression")
        if training.kind == "multiclass":
            return fit_classes(training, self.ridge(training))
        solved = self._optimum(training)
        beta, before = solved.beta, None
        if self.flic:
            every, before = Folds.leaving_out([[]]), beta[None]
            beta = correct_intercepts(before, training, every)[0]
        linear = LinearFits.of_one(beta, self.ridge(training))
        coefficients = dict(zip(training.names, beta.tolist(), strict=True))
        return PlainFit(
            partial(_probability, beta),
            coefficients,
            solved.converged,
            solved.separated,
            linear=replace(linear, uncorrected=before),
        )

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds | None:
        """Fit the training sets of all folds together."""
        self.check(records.kind)
        refuse_missing(records, "logistic regression")
        if self.flic:
            return self._fit_flic_folds(records, folds)
        own = self.own_ridges(records, folds)
        wide = own is not None and records.X.shape[1] > len(records.X)
        if folds.matrices is not None:
            if wide:
                return None  # each training set has a row space of its own
            several = records.kind == "multiclass"
            regression = class_regression if several else _regression
            return fit_own_folds(self, regression(self, records, own), records, folds)
        ridge, made = self.ridge(records), None
        if wide or (own is None and not self.has_firth):
            made = fit_by_multiples(records, folds, ridge, own)
        penalty = ridge if own is None else own
        if made is not None:
            fits = made.refit(self, records, folds)
            fitted = _fitted(fits, records, folds, penalty)
            return fitted if wide else with_smaller(fitted, records, penalty)
        if wide:
            return None  # they are fitted one by one
        if own is None:
            fit_rotated = partial(self.fit_folds, folds=folds)
            names = partial(_names, records, ridge)
            smaller = in_row_space(records, folds, ridge, names, fit_rotated)
            if smaller is not None:
                return smaller
        if records.kind == "multiclass":
            fits = fit_class_folds(self, records, folds, own)
        elif own is not None:
            fits = sure_logit_fits(self, records, folds, own=own)
            fits = fits.refit(self, records, folds)
        else:
            fit_all = fit_firth_folds if self.firth else fit_logit_folds
            fits = fit_all(self, records, folds)
        return _fitted(fits, records, folds, penalty)

    def _fit_flic_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds:
        """Fit by Firth's penalty, and correct the intercepts."""
        firth, ridge = replace(self, firth=True, flic=False), self.ridge(records)
        fits = fit_firth_folds(firth, records, folds)
        before = fits.coefficients
        fits = replace(fits, coefficients=correct_intercepts(before, records, folds))
        fitted = by_linear_predictor(fits, records, folds, expit, ridge)
        assert fitted.linear is not None
        return replace(fitted, linear=replace(fitted.linear, uncorrected=before))

    def ridge(self, training: TrainingSet) -> Matrix:
        """Return the strength of the penalty on each column, shape (p,)."""
        ridge = np.full(training.X.shape[1], 0.0 if self.C is None else 1 / self.C)
        if self.standardize and self.penalised:
            ridge *= variances(training.X, training.weights)
        if training.intercept is not None:
            ridge[training.intercept] = 0.0
        return ridge

    def own_ridges(self, records: TrainingSet, folds: Folds) -> Matrix | None:
        """Return the strength in each fit, (fits, p); None if it is the same in all."""
        if not (self.standardize and self.penalised):
            return None
        assert self.C is not None
        ridges = fold_variances(records, folds) / self.C
        if records.intercept is not None:
            ridges[:, records.intercept] = 0.0
        return ridges

    def _optimum(self, training: TrainingSet) -> Optimum:
        if self.has_firth:
            return fit_firth(training)
        ridge = self.ridge(training)
        space = row_space(training, ridge)
        if space is not None:
            alike = replace(self, C=1 / float(ridge.max()), standardize=False)
            return space.original(alike._optimum(space.rotated))
        unit = column_units(training.X)
        ridge = self.ridge(training) / unit**2
        solved = _solve(training.X / unit, training.y, ridge, training)
        return Optimum(solved.beta / unit, solved.converged, solved.separated)


def _fitted(
    fits: FoldFits, records: TrainingSet, folds: Folds, penalty: Matrix
) -> FittedFolds:
    """Predict by the coefficients of two or more classes."""
    if records.kind == "multiclass":
        return by_class(fits, records, folds, penalty)
    return by_linear_predictor(fits, records, folds, expit, penalty)


def _names(records: TrainingSet, ridge: Matrix) -> tuple[str, ...]:
    """Return the names of the coefficients, of each class that has some."""
    if records.kind != "multiclass":
        return records.names
    return class_names(records.names, free_classes(ridge, records.n_classes))


@lru_cache
def _capabilities(penalised: bool, firth: bool, flic: bool) -> Capabilities:
    return Capabilities(
        fits_together=True,
        own_matrices=not flic,
        needs_full_rank=not penalised,
        likelihood=Bernoulli(firth=firth),
    )


def _regression(model: Logit, records: TrainingSet, own: Matrix | None) -> Regression:
    """Return how folds of two classes are fitted that have matrices of their own."""
    p = records.X.shape[1]

    def start(records: TrainingSet) -> Start | None:
        centre = None if model.firth else find_centre(model, records)
        if centre is None:
            return None
        return Start(centre.back[:, None], centre.theta, centre.ridge)

    def in_basis(
        basis: TrainingSet, folds: Folds, penalties: Penalties | None
    ) -> FoldFits:
        if model.firth:  # whose penalty does not depend on the coordinates
            return sure_firth_fits(basis, folds)
        other = InBasis.of(model, p, len(folds), penalties)
        return sure_logit_fits(other, basis, folds, penalties)

    return Regression(
        family=Classes(),
        start=start,
        in_basis=in_basis,
        ridge=model.ridge(records) if own is None else own,
        linear=np.asarray,
        mean=expit,
        names=records.names,
        free=np.zeros(1, dtype=np.intp),
    )


def expit(eta: Matrix) -> Matrix:
    """Return 1 / (1 + exp(−eta)) without overflow."""
    small = np.exp(-np.abs(eta))
    return np.where(eta >= 0, 1.0, small) / (1.0 + small)


def _probability(beta: Matrix, X: Matrix) -> Matrix:
    return expit(X @ beta)


def _solve(X: Matrix, y: Matrix, ridge: Matrix, training: TrainingSet) -> Optimum:
    used, weights = positive_weights(training)
    X, sign = X[used], np.where(y[used] == 1, 1.0, -1.0)
    penalised = _Penalised(X, sign, weights, ridge)
    return minimise(np.zeros(X.shape[1]), X, penalised)


@dataclass(frozen=True, eq=False)
class _Penalised:
    """Minus the log-likelihood, with the penalty.

    Probabilities enter as that of the class that was not observed, which keeps its
    digits near 0. Where the Hessian is ill-conditioned, steps are solved by an
    orthogonal decomposition of the weighted rows, the penalty as further rows.
    """

    X: Matrix
    sign: Matrix
    weights: Matrix
    ridge: Matrix

    def loss(self, eta: Matrix, beta: Matrix) -> float:
        fit = self.weights @ np.logaddexp(0.0, -self.sign * eta)
        return float(fit + 0.5 * (self.ridge * beta**2).sum())

    def gradient(self, eta: Matrix, beta: Matrix) -> Matrix:
        residual = self.weights * self.sign * expit(-self.sign * eta)
        return np.asarray(residual @ self.X - self.ridge * beta)

    def newton(self, eta: Matrix, beta: Matrix) -> Matrix:
        variance = self.weights * expit(eta) * expit(-eta)
        gradient = self.gradient(eta, beta)
        step = self._solve_well(variance, gradient)
        if step is None:
            step = inverse_gram(self._rows(np.sqrt(variance)), gradient)
        return step

    def cautious(self, eta: Matrix, beta: Matrix) -> Matrix:
        """Bound the loss of records on the wrong side as Jaakkola & Jordan (2000)."""
        half = np.maximum(np.abs(eta) / 2, 1e-8)
        bound = np.tanh(half) / (4 * half)
        variance = np.where(self.sign * eta < 0, bound, expit(eta) * expit(-eta))
        variance = self.weights * np.maximum(variance, 1e-300)
        step = self._solve_well(variance, self.gradient(eta, beta))
        if step is None:
            root = np.sqrt(variance)
            residual = self.weights * self.sign * expit(-self.sign * eta) / root
            pull = -np.sqrt(self.ridge) * beta
            working = np.concatenate([residual, pull[self.ridge > 0]])
            step = np.linalg.lstsq(self._rows(root), working, rcond=None)[0]
        return np.asarray(step)

    def extreme(self, eta: Matrix) -> bool:
        return bool(expit(-np.abs(eta)).min(initial=1.0) < EXTREME)

    def _solve_well(self, variance: Matrix, gradient: Matrix) -> Matrix | None:
        hessian = (self.X.T * variance) @ self.X + np.diag(self.ridge)
        return solve_well(hessian, gradient)

    def _rows(self, root: Matrix) -> Matrix:
        penalty = np.diag(np.sqrt(self.ridge))[self.ridge > 0]
        return np.vstack([self.X * root[:, None], penalty])
