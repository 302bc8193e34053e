"""The model fitted to all rows, which is not cross-validated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.formula import Design
from statcv.models import Fit, Model


class FullModel:
    """The model fitted to all rows; it is not cross-validated.

    Attributes
    ----------
    coefficients : pandas.Series or None
    chosen : dict or None
        The hyperparameters chosen on all rows, if the model chooses any.
    """

    def __init__(self, design: Design, learner: Model, fit: Fit) -> None:
        self._design = design
        self._learner = learner
        self._fit = fit
        self.chosen = fit.chosen
        self.coefficients = (
            None
            if fit.coefficients is None
            else pd.Series(fit.coefficients, name="coefficient")
        )

    def predict(self, new: object) -> pd.Series[Any] | pd.DataFrame:
        """Return predictions for the rows of a data frame; NaN for incomplete rows."""
        matrix, labels = self._design.new_matrix(new)
        complete = ~np.isnan(matrix).any(axis=1)
        found = self._fit.predict(matrix[complete])
        predicted = np.full((len(matrix), *found.shape[1:]), np.nan)
        predicted[complete] = found
        return self.labelled(predicted, labels, "predicted")

    def labelled(
        self, predicted: NDArray[np.float64], labels: pd.Index[Any], name: str
    ) -> pd.Series[Any] | pd.DataFrame:
        """Label predictions, as a series or as a frame with one column per class."""
        if predicted.ndim == 1:
            return pd.Series(predicted, index=labels, name=name)
        columns = list(self._design.outcome.levels)
        return pd.DataFrame(predicted, index=labels, columns=columns)

    def __repr__(self) -> str:
        lines = [
            f"{self._design.formula.text}: {self._learner.label}, fitted to all "
            f"{self._design.n} rows (not cross-validated)"
        ]
        if self.chosen:
            said = ", ".join(_said(*item) for item in self.chosen.items())
            lines.append(f"hyperparameters chosen on all rows: {said}")
        if self.coefficients is not None:
            lines.append(self.coefficients.to_string())
        return "\n".join(lines)


def _said(name: str, value: Any) -> str:
    return f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}"
