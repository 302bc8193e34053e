"""A fit inside another one, which adds what was chosen on its training set."""

from __future__ import annotations

from dataclasses import dataclass

from statcv.models.base import Fit, Matrix


@dataclass(frozen=True, eq=False)
class WrappedFit:
    """A fit that is another one in all but what it says was chosen.

    Attributes
    ----------
    fit : Fit
    """

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
        found: dict[str, Matrix] | None = getattr(self.fit, "curves", None)
        return found

    def predict(self, X: Matrix) -> Matrix:
        """Return probabilities or means."""
        return self.fit.predict(X)
