"""Cox regression of times to an event, of one training set and of all folds together.

Risk at a horizon depends on the baseline hazard of the training set, which acts as an
intercept; the linear predictor does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from statcv.arguments import check_types
from statcv.errors import ModelError
from statcv.formula import Learnt
from statcv.models import base
from statcv.models.base import Capabilities, PlainFit, TrainingSet
from statcv.models.batched.cox import CoxFits, fit_cox_folds, free_columns
from statcv.models.batched.fits import FittedFolds, only_fit
from statcv.models.batched.folds import Folds
from statcv.models.batched.own_matrices import predicted_by
from statcv.models.batched.partial_likelihood import partial_likelihood
from statcv.models.batched.predictions import by_linear_predictor
from statcv.models.batched.risk_sets import strata_shares
from statcv.models.likelihood import Hazards
from statcv.models.linear_fits import LinearFits
from statcv.models.offsets import WHOLE, apart, fixed, others, with_offsets
from statcv.models.spread import fold_variances
from statcv.numeric.arrays import Floats, Numbers
from statcv.numeric.survival import risk_of
from statcv.tables import Constructed

TIES = ("efron", "breslow")
LARGEST = 700.0  # logarithm up to which a cumulative hazard can be added to others


@dataclass(frozen=True, repr=False)
class Cox(Constructed):
    """Cox regression of right-censored times, as R's ``coxph``.

    Predictions are the linear predictor, relative to the mean of all records, and the
    risk of an event by each horizon from the baseline hazard of the training set, as in
    R's ``survfit``. All folds refer to one mean, so that linear predictors of different
    folds can be compared. A term ``strata(g)`` of the formula gives each level of g a
    baseline hazard of its own; a record of a level that a training set lacks has the
    mean cumulative hazard of its strata, weighted by their records.

    Parameters
    ----------
    C : float, optional
        Inverse strength of a ridge penalty: the objective is ``C × negative log partial
        likelihood + ½ Σ β²``. None, the default, means no penalty. ``1 / C`` is the
        ``theta`` of ``ridge(..., scale = FALSE)`` in R.
    ties : {"efron", "breslow"}, default "efron"
        How tied times of events are treated, in coefficients and in the baseline.
    standardize : bool, default False
        Whether the penalty acts on columns divided by their standard deviation in the
        training set of each fit. Coefficients are those of the columns as they are.
    firth : bool, default False
        Whether to use Firth's penalty, half the log determinant of the information, by
        which coefficients are finite under monotone likelihood, as R's ``coxphf``.

    Examples
    --------
    >>> import statcv as scv
    >>> data, formula = scv.load_data("veteran"), "Surv(time, status) ~ karno"
    >>> res = scv.cv(formula, data, model=Cox(ties="breslow"), k=5, seed=1)
    >>> res.final.coefficients.round(4).to_dict()
    {'karno': -0.0332}

    References
    ----------
    Cox (1972), Journal of the Royal Statistical Society B 34:187; Efron (1977), Journal
    of the American Statistical Association 72:557; Heinze & Schemper (2001), Biometrics
    57:114 (Firth's penalty).
    """

    C: float | None = None
    ties: str = "efron"
    standardize: bool = False
    firth: bool = False

    def __post_init__(self) -> None:
        if self.C is not None:
            base.check_strength(self.C)
        if self.ties not in TIES:
            raise ModelError(f"ties must be 'efron' or 'breslow', not {self.ties!r}.")
        check_types(Cox, vars(self), ModelError)
        if self.firth and self.C is not None:
            raise ModelError(
                f"Cox(C={self.C!r}, firth=True) asks for two penalties: a ridge, and "
                "Firth's, which has no strength to choose; give one of them."
            )

    @property
    def label(self) -> str:
        """How print and summary call it."""
        ties = ", Breslow's ties" if self.ties == "breslow" else ""
        if self.firth:
            return f"Cox regression, Firth's penalty{ties}"
        if not self.penalised:
            return f"Cox regression, unpenalised{ties}"
        columns = ", standardized columns" if self.standardize else ""
        return f"ridge Cox regression, C = {self.C:g}{columns}{ties}"

    @property
    def penalised(self) -> bool:
        """Whether there is a penalty on the size of coefficients."""
        return self.C is not None and bool(np.isfinite(self.C))

    @property
    def capabilities(self) -> Capabilities:
        """A ridge determines the coefficients of dependent columns too."""
        return Capabilities(
            fits_together=True,
            own_matrices=True,
            strata=True,
            offsets=True,
            needs_full_rank=not self.penalised,
            likelihood=None if self.firth else Hazards(efron=self.ties == "efron"),
        )

    def check(self, kind: str) -> None:
        """Raise ModelError for an outcome that is not a time to an event."""
        base.refuse_kind("Cox regression", kind, ("survival",))

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        self.check(training.kind)
        fitted = self.fit_folds(training, WHOLE)
        assert fitted is not None
        return alone(fitted, training)

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds | None:
        """Fit the training sets of all folds together."""
        if folds.matrices is not None and not isinstance(folds.matrices, Learnt):
            return None
        base.refuse_missing(records, "Cox regression")
        ridge, efron = self._ridges(records, folds), self.ties == "efron"
        if not records.offsets:
            made = fit_cox_folds(records, folds, ridge, efron, self.firth)
            return fitted_hazards(made, records, folds, ridge)
        if folds.matrices is not None:
            return None
        (inner, start), free = apart(self, records), others(records)
        made = fit_cox_folds(inner, folds, ridge[:, free], efron, self.firth)
        made.constant[:] += start
        beta = with_offsets(made.fits.coefficients, records, 0.0)
        fits = replace(made.fits, coefficients=beta)
        return fitted_hazards(replace(made, fits=fits), records, folds, ridge)

    def ridge(self, training: TrainingSet) -> Floats:
        """Return the strength of the penalty on each column, shape (p,)."""
        return np.asarray(self._ridges(training, WHOLE)[0])

    def _ridges(self, records: TrainingSet, folds: Folds) -> Floats:
        """Return the strength in each fit, (fits, p); infinite for what has none."""
        made = np.zeros((len(folds), records.X.shape[1]))
        if self.C is not None and self.penalised:
            # C × loss + ½ Σ β² has its optimum where loss + Σ β² / 2C has it
            made += 1 / self.C
            if self.standardize:
                made *= fold_variances(records, folds)
        return fixed(without_coefficients(made, records), records)


def without_coefficients(ridge: Floats, records: TrainingSet) -> Floats:
    """Make the ridge of each fit infinite, in place, for the intercept and strata."""
    ridge[:, np.setdiff1d(np.arange(ridge.shape[1]), free_columns(records))] = np.inf
    return ridge


def with_risks(
    fitted: FittedFolds, linear: LinearFits, records: TrainingSet
) -> FittedFolds:
    """Return fits that predict linear predictors and risks in place of products."""
    assert fitted.at is not None
    at, of_rows = fitted.at, partial(strata_shares, names=records.names)
    known = of_rows(records.X)

    def predict(rows: Numbers, fits: Numbers) -> Floats:
        return _predicted(linear, fitted.predict(rows, fits), known[rows], fits)

    return replace(
        fitted,
        linear=linear,
        predict=predict,
        at=lambda X, fits: _predicted(linear, at(X, fits), of_rows(X), fits),
        everywhere=None,
    )


def _predicted(
    linear: LinearFits, products: Floats, shares: Floats, fits: Numbers
) -> Floats:
    """Return linear predictors and risks, (…, 1 + horizons), by products (…,)."""
    assert linear.constant is not None and linear.baseline is not None
    own = linear.baseline[fits]
    if own.shape[-2] == 1:
        own = own[..., 0, :]
    else:
        with np.errstate(divide="ignore"):
            own = np.log(
                # the mean hazard of the strata, by the shares that a record has
                np.einsum("...s,...sh->...h", shares, np.exp(np.minimum(own, LARGEST)))
            )
    return ProportionalHazards(own)(products + linear.constant[fits])


def _predicted_alone(linear: LinearFits, names: tuple[str, ...], X: Floats) -> Floats:
    alone = np.zeros(len(X), dtype=np.intp)
    shares = strata_shares(X, names)
    return _predicted(linear, X @ linear.coefficients[0], shares, alone)


@dataclass(frozen=True, eq=False)
class ProportionalHazards:
    """The risks that follow from the logarithm of a hazard relative to a baseline.

    Attributes
    ----------
    baseline : numpy.ndarray, shape (…, horizons)
        The logarithm of the cumulative baseline hazard at each horizon.
    """

    baseline: Floats

    @classmethod
    def of(cls, training: TrainingSet, eta: Floats) -> ProportionalHazards:
        """Estimate the baseline of a training set as Breslow does.

        Parameters
        ----------
        training : TrainingSet
        eta : numpy.ndarray, shape (n,)
            The logarithms of its relative hazards, which are taken as given.

        Examples
        --------
        >>> y = np.array([1.0, 2.0, -3.0, 4.0])
        >>> training = TrainingSet(
        ...     np.ones((4, 1)), y, "survival", 0, ("one",), 0, None, 0, horizons=(2.5,)
        ... )
        >>> hazards = ProportionalHazards.of(training, np.zeros(4))
        >>> np.exp(hazards.baseline).round(4)  # 1/4 + 1/3
        array([0.5833])
        """
        none = np.empty((len(eta), 0))
        alone = partial_likelihood(none, training.y, False, training.weights)
        rows = eta[None, None, alone.sets.order]
        return cls(alone.log_baseline(rows, training.horizons)[0, 0])

    def __call__(self, eta: Floats) -> Floats:
        """Return log hazards and risks, (…, 1 + horizons), at log hazards (…,)."""
        eta = eta[..., None]
        return np.concatenate([eta, risk_of(eta + self.baseline)], axis=-1)


def baseline_beside(
    eta: Floats,
    y: Floats,
    horizons: tuple[float, ...],
    efron: bool,
    weights: Floats | None = None,
) -> Floats:
    """Return the probability of no event by each horizon at a linear predictor of 0.

    The linear predictors, (n,), are given, and their mean is about 0.
    """
    problem = partial_likelihood(eta[:, None], y, efron, weights)
    linear = problem.linear(np.ones((1, 1)))
    return np.asarray(np.exp(-np.exp(problem.log_baseline(linear, horizons)[0, 0])))


def fitted_hazards(
    made: CoxFits, records: TrainingSet, folds: Folds, ridge: Floats
) -> FittedFolds:
    """Return what predicts by coefficients and baseline hazards, (fits, p) ridges."""
    free = free_columns(records)
    by = predicted_by if isinstance(folds.matrices, Learnt) else by_linear_predictor
    fitted = by(made.fits, records, folds, np.asarray, ridge)
    assert fitted.linear is not None
    linear = replace(fitted.linear, constant=made.constant, baseline=made.baseline)
    return replace(
        with_risks(fitted, linear, records),
        coefficients=np.asarray(fitted.coefficients)[:, free],
        names=tuple(records.names[j] for j in free),
    )


def alone(fitted: FittedFolds, training: TrainingSet) -> PlainFit:
    """Return the only fit of a plan."""
    assert fitted.linear is not None
    beta = fitted.linear.coefficients[0, free_columns(training)].tolist()
    predict = partial(_predicted_alone, fitted.linear, training.names)
    return only_fit(fitted, predict, beta)
