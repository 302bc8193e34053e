"""Stacking of models that were fitted elsewhere, to be cross-validated."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from statcv.models.base import (
    Capabilities,
    PlainFit,
    TrainingSet,
    refuse_kind,
    refuse_missing,
)
from statcv.models.hand_over.updating import LIKELIHOODS
from statcv.models.one_predictor import (
    fit_with,
    fitted_values,
    has_one_class,
    loss_of,
    mean_of,
)


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
        refuse_kind("stacking", kind, tuple(LIKELIHOODS))

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        from scipy.optimize import minimize

        self.check(training.kind)
        refuse_missing(training, "stacking")
        X, y, place = training.X, training.y, training.intercept
        w = np.ones(len(y)) if training.weights is None else training.weights
        count = X.shape[1]
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
        names = tuple(np.array(training.names, dtype=object)[free])
        own = replace(
            training, X=X[:, free], names=names, intercept=int(free[:place].sum())
        )
        polished, separated = fitted_values(own)
        if (np.delete(polished, own.intercept or 0) >= 0).all():
            beta[free] = polished
        return fit_with(training, beta, separated, None)
