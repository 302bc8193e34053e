"""Logistic regression: unpenalised, ridge, elastic net, or Firth's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from statcv.arguments import check_types, described, is_number
from statcv.errors import ModelError
from statcv.models import base
from statcv.models.base import Capabilities, PlainFit, TrainingSet
from statcv.models.batched.blocks import Penalties
from statcv.models.batched.centre import Centre, find_centre
from statcv.models.batched.fits import FittedFolds, FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.near import fit_class_folds, sure_fits
from statcv.models.batched.own_matrices import Regression, fit_own_folds
from statcv.models.batched.predictions import by_linear_predictor, names_of
from statcv.models.batched.row_space import fit_own_ridges, in_row_space, row_space
from statcv.models.batched.separate import fit_alone
from statcv.models.elastic_net import Paths, fit_net_folds
from statcv.models.families import free_classes, width_of
from statcv.models.firth import (
    correct_intercepts,
    fit_firth,
    fit_firth_folds,
    sure_firth_fits,
)
from statcv.models.likelihood import Bernoulli
from statcv.models.linear_fits import LinearFits
from statcv.models.offsets import WHOLE, alone, fit_folds_beside, fixed
from statcv.models.spread import fold_variances, variances
from statcv.numeric.arrays import Floats
from statcv.numeric.logistic import expit, softmax
from statcv.numeric.newton import Optimum
from statcv.tables import Constructed


@dataclass(frozen=True, repr=False)
class Logit(Constructed):
    """Logistic regression; multinomial for more than two classes.

    Parameters
    ----------
    C : float or sequence of float, optional
        Inverse strength of a ridge penalty in scikit-learn's convention: the objective
        is ``C × negative log-likelihood + ½ Σ β²``, without the intercept. None, the
        default, means no penalty, as in R's ``glm``. Of several values
        :func:`statcv.cv` chooses one inside every training set, as ``tune=`` does.
    firth : bool, default False
        Whether to use Firth's penalised likelihood, as in R's ``logistf``, for two
        classes: coefficients are finite under separation too, and their bias of order
        1/n is removed. It draws fitted probabilities towards ½. With hardly more
        training records than columns there may be several maxima: folds start from that
        of all records.
    flic : bool, default False
        Whether to correct the intercept as well, as R's ``logistf::flic``, so that the
        mean of the fitted probabilities is the share of the positive class. It is the
        choice for predictions.
    standardize : bool, default False
        Whether the penalty acts on columns divided by their standard deviation in the
        training set of each fit, as in R's ``glmnet`` and after scikit-learn's
        ``StandardScaler``. Coefficients are those of the columns as they are.
    l1_ratio : float, default 0.0
        The part of the penalty on absolute values, for two classes: above 0 it is
        ``Σ (l1_ratio |β| + (1 - l1_ratio) β² / 2)``, an elastic net, which leaves out
        columns; 1 is the lasso. ``1 / (C n)`` is the ``lambda`` of R's ``glmnet`` for n
        training records, and ``l1_ratio`` its ``alpha``.

    Examples
    --------
    >>> Logit().label
    'logistic regression, unpenalised'
    >>> Logit(flic=True).label
    "logistic regression, Firth's penalty, intercept corrected"
    >>> Logit(C=1.0, l1_ratio=0.5).label
    'elastic net logistic regression, C = 1, l1_ratio = 0.5'

    References
    ----------
    Firth (1993), Biometrika 80:27; Puhr, Heinze, Nold, Lusa & Geroldinger (2017),
    Statistics in Medicine 36:2302 (FLIC); Zou & Hastie (2005), Journal of the Royal
    Statistical Society B 67:301.
    """

    C: float | Sequence[float] | None = None
    firth: bool = False
    standardize: bool = False
    flic: bool = False
    l1_ratio: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.C, (list, tuple, np.ndarray)):
            object.__setattr__(self, "C", tuple(self.C))
        if self.C is not None and not self.strengths:
            raise ModelError("C has no values to choose from.")
        for C in self.strengths:
            base.check_strength(C)
        if not (is_number(self.l1_ratio) and 0 <= self.l1_ratio <= 1):
            shown = described(self.l1_ratio)
            raise ModelError(f"l1_ratio must be a number from 0 to 1, not {shown}.")
        if self.l1_ratio and self.C is None:
            raise ModelError(
                f"Logit(l1_ratio={self.l1_ratio:g}) needs the strength of its penalty: "
                "C=1.0, or several values of which every training set chooses one."
            )
        check_types(Logit, vars(self), ModelError)
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
        if not self.penalised:
            return "logistic regression, unpenalised"
        name = "elastic net" if self.l1_ratio else "ridge"
        name = "lasso" if self.l1_ratio == 1 else name
        ratio = f", l1_ratio = {self.l1_ratio:g}" if name == "elastic net" else ""
        columns = ", standardized columns" if self.standardize else ""
        values = ", ".join(f"{C:g}" for C in self.strengths)
        return f"{name} logistic regression, C = {values}{ratio}{columns}"

    @property
    def capabilities(self) -> Capabilities:
        """A ridge determines the coefficients of dependent columns too."""
        if self.selects:
            return Capabilities(fits_together=True)
        return Capabilities(
            fits_together=True,
            own_matrices=not self.flic,
            offsets=not self.flic,
            needs_full_rank=not self.penalised,
            likelihood=Bernoulli(firth=self.has_firth),
        )

    @property
    def strengths(self) -> tuple[float, ...]:
        """The values of ``C`` among which is chosen, one if it is a number."""
        if self.C is None:
            return ()
        return tuple(self.C) if isinstance(self.C, Sequence) else (self.C,)

    @property
    def strength(self) -> float:
        """The value of ``C`` in a fit, infinite without a penalty.

        Raises
        ------
        ModelError
            If there are several.
        """
        if len(self.strengths) > 1:
            raise ModelError(
                "a fit needs one value of C; cv() chooses among several of them."
            )
        return float(self.strengths[0]) if self.strengths else np.inf

    @property
    def has_firth(self) -> bool:
        """Whether the likelihood has Firth's penalty."""
        return bool(self.firth or self.flic)

    @property
    def penalised(self) -> bool:
        """Whether there is a penalty on the size of coefficients."""
        return any(np.isfinite(C) for C in self.strengths)

    @property
    def selects(self) -> bool:
        """Whether the penalty leaves out columns."""
        return self.penalised and self.l1_ratio > 0

    def check(self, kind: str) -> None:
        """Raise ModelError for an outcome that it does not fit."""
        base.refuse_kind("logistic regression", kind, ("binary", "multiclass"))
        if self.has_firth and kind == "multiclass":
            raise ModelError(
                "Firth's penalty is implemented for two classes only; for more, use "
                "a ridge, Logit(C=1.0)."
            )
        if self.selects and kind == "multiclass":
            raise ModelError(
                "an elastic net is implemented for two classes only; for more, use a "
                "ridge, Logit(C=1.0), or scikit-learn's LogisticRegression."
            )

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        self.check(training.kind)
        base.refuse_missing(training, "logistic regression")
        if training.offsets:
            return alone(fit_folds_beside(self, training, WHOLE, expit), expit)
        if self.selects:
            return alone(self.fit_folds(training, WHOLE), expit)
        ridge, solved = self.ridge(training), self._optimum(training)
        beta = solved.beta
        if self.flic:
            beta = correct_intercepts(beta[None], training, WHOLE)[0]
        free = free_classes(ridge, width_of(training))
        values = beta.reshape(len(beta), -1)[:, free].T.ravel().tolist()
        return PlainFit(
            partial(base.means_at, mean_of(training.kind), beta),
            dict(zip(names_of(training, ridge), values, strict=True)),
            solved.converged,
            solved.separated,
            linear=LinearFits.of_one(beta, ridge),
        )

    def fit_folds(
        self, records: TrainingSet, folds: Folds, paths: Paths | None = None
    ) -> FittedFolds | None:
        """Fit the training sets of all folds together."""
        self.check(records.kind)
        base.refuse_missing(records, "logistic regression")
        if self.flic:
            firth, ridge = replace(self, firth=True, flic=False), self.ridge(records)
            found = fit_firth_folds(firth, records, folds)
            beta = correct_intercepts(found.coefficients, records, folds)
            found = replace(found, coefficients=beta)
            return by_linear_predictor(found, records, folds, expit, ridge)
        if self.selects:
            C, ratio, scaled = self.strength, self.l1_ratio, self.standardize
            return fit_net_folds(C, ratio, scaled, records, folds, paths)
        own = self.own_ridges(records, folds)
        if records.offsets:
            return fit_folds_beside(self, records, folds, expit, own)
        if folds.matrices is not None:
            if own is not None and records.X.shape[1] > len(records.X):
                return None  # each training set has a row space of its own
            return fit_own_folds(self, _regression(self, records, own), records, folds)
        ridge = self.ridge(records)
        if own is None:
            fit_rotated = partial(self.fit_folds, folds=folds)
            names = partial(names_of, records, ridge)
            smaller = in_row_space(records, folds, ridge, names, fit_rotated)
            if smaller is not None:
                return smaller
            fits = None
        else:
            fits = fit_own_ridges(self, records, folds, own, sure_fits)
        if fits is None and self.firth:
            fits = fit_firth_folds(self, records, folds)
        elif fits is None:
            fits = fit_class_folds(self, records, folds, own)
        penalty = ridge if own is None else own
        return by_linear_predictor(fits, records, folds, mean_of(records.kind), penalty)

    def ridge(self, training: TrainingSet) -> Floats:
        """Return the strength of the penalty on each column, shape (p,)."""
        # C × loss + ½ Σ β² has its optimum where loss + Σ β² / 2C has it
        ridge = np.full(training.X.shape[1], 1 / self.strength)
        if self.standardize and self.penalised:
            # the square of sd × β, the coefficient of the column over its sd
            ridge *= variances(training.X, training.weights)
        if training.intercept is not None:
            ridge[training.intercept] = 0.0
        return fixed(ridge, training)

    def own_ridges(self, records: TrainingSet, folds: Folds) -> Floats | None:
        """Return the strength in each fit, (fits, p); None if it is the same in all."""
        if not (self.standardize and self.penalised):
            return None
        ridges = fold_variances(records, folds) / self.strength
        if records.intercept is not None:
            ridges[:, records.intercept] = 0.0
        return fixed(ridges, records)

    def _optimum(self, training: TrainingSet) -> Optimum:
        if self.has_firth:
            return fit_firth(training)
        ridge = self.ridge(training)
        space = row_space(training, ridge)
        if space is None:
            return fit_alone(training, ridge)
        return space.original(fit_alone(space.rotated, space.rotated_ridge(ridge)))


def mean_of(kind: str) -> Callable[[Floats], Floats]:
    """Return the function from linear predictors to probabilities."""
    return softmax if kind == "multiclass" else expit


def _regression(model: Logit, records: TrainingSet, own: Floats | None) -> Regression:
    """Return how folds are fitted that have matrices of their own."""
    ridge = model.ridge(records)

    def centre(records: TrainingSet) -> Centre | None:
        return None if model.firth else find_centre(records, ridge)

    def in_basis(
        basis: TrainingSet, folds: Folds, about: Floats, penalties: Penalties | None
    ) -> FoldFits:
        if model.firth:  # whose penalty does not depend on the coordinates
            return sure_firth_fits(basis, folds)
        return sure_fits(basis, folds, about, penalties)

    return Regression(
        centre=centre,
        in_basis=in_basis,
        ridge=ridge if own is None else own,
        mean=mean_of(records.kind),
    )
