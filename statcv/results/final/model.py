"""The model fitted to all rows, which is to be used; it is not cross-validated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import EquationError
from statcv.formula import Design
from statcv.models import Fit, Model
from statcv.results.final.equation import Equation, equation_of
from statcv.results.final.points import PointScore, points_of
from statcv.results.final.shrinkage import shrunk_equation
from statcv.results.final.validation import Validated
from statcv.results.final.written import WrittenModel, save_equation
from statcv.tables import Table, Values, wrapped

if TYPE_CHECKING:
    from statcv.results.result import CVResult

OF_FULL_FIT = "Predictions of the fit to all rows, which are not cross-validated"


class FullModel(Validated):
    """The model fitted to all rows; it is not cross-validated.

    Attributes
    ----------
    coefficients : pandas.Series or None
    chosen : dict or None
        The hyperparameters chosen on all rows, if the model chooses any.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> res.model.coefficients.round(2).to_dict()
    {'Intercept': -11.6, 'GPA': 3.06, 'PSI': 2.34}
    >>> res.model.predict(scv.load_data("spector").head(2)).round(3)
    0    0.031
    1    0.060
    Name: predicted, dtype: float64
    """

    def __init__(
        self,
        design: Design,
        learner: Model,
        fit: Fit,
        result: CVResult,
    ) -> None:
        self._result = result
        self._design = design
        self._learner = learner
        self._fit = fit
        self.chosen = fit.chosen
        self.coefficients = (
            None
            if fit.coefficients is None
            else Values(
                pd.Series(
                    list(fit.coefficients.values()),
                    design.outcome.named(fit.coefficients),
                    name="coefficient",
                ),
                "Coefficients of the fit to all rows",
            )
        )

    @property
    def described(self) -> str:
        """How it is called in print."""
        what = f"{self._design.formula.text}: {self._learner.label}, fitted to all"
        return f"{what} {self._design.n} rows"

    def predict(self, new: object) -> pd.Series[Any] | pd.DataFrame:
        """Return predictions for the rows of a data frame; NaN for incomplete rows."""
        matrix, labels = self._design.new_matrix(new)
        complete = ~np.isnan(matrix).any(axis=1)
        found = self._fit.predict(matrix[complete])
        predicted = np.full((len(matrix), *found.shape[1:]), np.nan)
        predicted[complete] = found
        return self.labelled(predicted, labels, "predicted")

    def equation(self, digits: int | None = None) -> Equation:
        """Return the model as an equation, to print and to write as code.

        Parameters
        ----------
        digits : int, optional
            Significant digits that are printed, from 1 to 17; unless given, the fewest
            that change no prediction for the rows by 1e-6 (of a number, by 1e-6
            standard deviations). Code has all digits.

        Raises
        ------
        EquationError
            If the model has no coefficients, or a term cannot be written down.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> print(res.final.equation(digits=3))
        logit P(GRADE = 1) =
            -11.6
            + 3.06 GPA
            + 2.34 PSI
        """
        if self.coefficients is None or not self._learner.capabilities.likelihood:
            raise EquationError(
                f"{self._learner.label} has no coefficients that make an equation; "
                "a logistic regression, a multinomial one or a linear one has."
            )
        coefficients = {str(name): b for name, b in self.coefficients.items()}
        return equation_of(self._design, coefficients, digits, self._learner)

    def points(self, unit: Mapping[str, float]) -> PointScore:
        """Return the model as integer points (Sullivan et al. 2004).

        Parameters
        ----------
        unit : mapping of str to float
            A numeric column, and the distance that is one point: ``{"age": 5}``.

        Returns
        -------
        PointScore
            The ``table`` of points, the ``risks`` of totals, ``predict(new)``, and the
            ``cost()`` of rounding, cross-validated with the rounding in every fold.

        Raises
        ------
        ModelError
            If the model is not a logistic regression of two classes, or the unit does
            not suit it.
        EquationError
            If a term is an interaction, a function or a contrast.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> score = res.final.points({"GPA": 0.5})
        >>> score.table["points"].tolist()
        [0, 1, 2, 3, 4, 0, 2]
        """
        named = {str(name): b for name, b in (self._fit.coefficients or {}).items()}
        return points_of(self._design, self._learner, named, unit, self._result)

    def shrunk(
        self, slope: float | None = None, *, n_boot: int = 200, seed: int | None = None
    ) -> WrittenModel:
        """Return the model with its coefficients shrunk, and its intercept refitted.

        A model that was fitted to few records predicts too extreme values for others.
        Its linear predictor is multiplied by the calibration slope, corrected for
        optimism, that is to be expected there (van Houwelingen & le Cessie 1990).

        Parameters
        ----------
        slope : float, optional
            The slope; unless given, that of ``optimism_corrected()`` of the result.
        n_boot : int, default 200
            Number of bootstrap samples.
        seed : int, optional
            Seed for these.

        Returns
        -------
        WrittenModel
            A model with ``equation()``, ``predict(new)``, ``validate(new)`` and
            ``save(path)``.

        Raises
        ------
        ArgumentError
            If the slope is not above 0, or there are more than two classes.
        EquationError
            As :meth:`equation` raises it.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> print(res.final.shrunk(0.8).equation().rounded(3))
        logit P(GRADE = 1) =
            -9.37
            + 2.45 GPA
            + 1.87 PSI
        """
        equation = self.equation()
        if slope is None:
            found = self._result.optimism_corrected(
                "calibration_slope", n_boot=n_boot, seed=seed
            )
            slope = float(found)
        weights = self._result.weights
        made = shrunk_equation(equation, slope, self._design, weights)
        return WrittenModel(made, f"{self.described}, times {slope:.3g}")

    def save(self, path: str | Path) -> None:
        """Write the equation to a file, as :func:`statcv.load_model` reads it.

        Parameters
        ----------
        path : str or path
            The file, of JSON with all digits.

        Raises
        ------
        EquationError
            As :meth:`equation` raises it.
        """
        save_equation(self.equation(), path)

    def _validated(self) -> tuple[str, Any]:
        return self._design.outcome.name, self._design.outcome.positive

    def labelled(
        self, predicted: NDArray[np.float64], labels: pd.Index[Any], name: str
    ) -> pd.Series[Any] | pd.DataFrame:
        """Label predictions, as a series or as a frame with one column per class."""
        if predicted.ndim == 1:
            return Values(pd.Series(predicted, index=labels, name=name), OF_FULL_FIT)
        columns = list(self._design.outcome.levels)
        table = pd.DataFrame(predicted, index=labels, columns=columns)
        return Table(table, OF_FULL_FIT, indexed=True)

    def __repr__(self) -> str:
        lines = wrapped(f"{self.described} (not cross-validated)")
        if self.chosen:
            said = ", ".join(_said(*item) for item in self.chosen.items())
            lines += wrapped(f"hyperparameters chosen on all rows: {said}")
        if self.coefficients is not None:
            lines += ["", str(self.coefficients)]
        return "\n".join(lines)


def _said(name: str, value: Any) -> str:
    return f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}"
