"""A fit that wraps another one, and decides about classes as that one does."""

from __future__ import annotations

from dataclasses import dataclass

from statcv.models.base import Fit, Matrix
from statcv.models.linear_fits import LinearFits
from statcv.tables import Printed


def decisions_of(fit: Fit, X: Matrix) -> Matrix | None:
    """Return the classes that a fit predicts by a rule of its own, if it has one.

    Returns
    -------
    numpy.ndarray, shape (m,) or (m, classes), or None
        Whether class 1, or each of several classes, is predicted, as 1 and 0; None for
        a fit without a method ``decide``.
    """
    decide = getattr(fit, "decide", None)
    return None if decide is None else decide(X)


@dataclass(frozen=True, eq=False, repr=False)
class WrappedFit(Printed):
    """A fit that wraps another one and adds the hyperparameters chosen."""

    fit: Fit

    @property
    def coefficients(self) -> dict[str, float] | None:
        """Coefficients by term, or None for a model that has none."""
        return self.fit.coefficients

    @property
    def converged(self) -> bool:
        """Whether the fit reached its optimum."""
        return self.fit.converged

    @property
    def separated(self) -> bool:
        """Whether fitted probabilities ran to 0 or 1."""
        return self.fit.separated

    @property
    def probabilities(self) -> bool:
        """Whether it predicts probabilities or means, not decision scores."""
        return self.fit.probabilities

    @property
    def curves(self) -> dict[str, Matrix] | None:
        """Metrics after every round, of a model that has rounds."""
        return self.fit.curves

    @property
    def linear(self) -> LinearFits | None:
        """The linear predictor of a fit by maximum likelihood."""
        return self.fit.linear

    def predict(self, X: Matrix) -> Matrix:
        """Return probabilities or means."""
        return self.fit.predict(X)

    def decide(self, X: Matrix) -> Matrix | None:
        """Return the classes that the fit itself predicts, or None."""
        return decisions_of(self.fit, X)
