"""The model fitted to all rows, which is to be used; it is not cross-validated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.arguments import check_types
from statcv.errors import ArgumentError, ArgumentTypeError, EquationError
from statcv.formula import Design, is_missing
from statcv.models import Cox, baseline_beside, intercept_beside, predictable
from statcv.models.imputation import Imputed, ImputedFits, imputed_fits
from statcv.numeric.arrays import Floats
from statcv.results.final.columns import column_factors
from statcv.results.final.equation import (
    Equation,
    Part,
    equation_of,
    is_regression,
    models_in,
    said_chosen,
)
from statcv.results.final.handed_over import HandedOver
from statcv.results.final.nomogram import values_seen
from statcv.results.final.points import PointScore, points_of
from statcv.results.final.written import (
    WrittenModel,
    check_one_predictor,
    hazards_at_zero,
    labelled,
    save_model,
    with_coefficients,
)
from statcv.tables import Values, wrapped

if TYPE_CHECKING:
    from statcv.results.result import CVResult

OF_FULL_FIT = "Predictions of the fit to all rows, which are not cross-validated"


class FullModel(HandedOver):
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
    """

    _design: Design

    def __init__(self, result: CVResult) -> None:
        self._result, self._design = result, result.design
        self._learner, self._fit = result.learner, result.refits.all_rows
        self.chosen, found = self._fit.chosen, self._fit.coefficients
        self.coefficients: pd.Series[Any] | None = None
        if found is None:
            return
        likelihood = self._learner.capabilities.likelihood
        if likelihood is None and is_regression(self._learner):
            # a coefficient of exactly 0 is that of a column that was not chosen
            found = {name: value for name, value in found.items() if value != 0}
        said = "Coefficients of the fit to all rows"
        if isinstance(self._learner, Imputed):
            said = "Mean coefficients of the fits to all completed rows"
        names = self._design.outcome.named(found)
        made = pd.Series(list(found.values()), names, name="coefficient")
        self.coefficients = Values(made, said, alike=("coefficient",), units=True)

    @property
    def described(self) -> str:
        """How it is called in print."""
        what = f"{self._learner.label.removesuffix('()')}, {self._design.formula.text},"
        return f"{what} fitted to all {self._design.n} rows"

    def predict(
        self, new: object, *, instability: bool = False
    ) -> pd.Series[Any] | pd.DataFrame:
        """Return predictions for the rows of a data frame; NaN for incomplete rows.

        A model that accepts missing values predicts incomplete rows too. With
        ``impute=`` their values are imputed, as those of held-out records are.

        With ``instability`` they have percentiles over 200 bootstrap models, as
        ``stability().predict(new)`` of the result gives them.
        """
        if instability:
            return self._result.stability().predict(new)
        if imputing := self._imputing:
            frame = self._design.new_columns(new)
            absent = np.column_stack([is_missing(frame[name]) for name in frame])
            if absent.any() or isinstance(self._learner, Imputed):
                predicted = imputing.predict(frame, absent)
                told = imputing.told(absent) * bool(absent.any())
                return self.labelled(predicted, frame.index, "predicted", told)
        matrix, labels = self._design.new_matrix(new)
        complete = predictable(matrix, self._learner)
        # models need not predict a matrix without rows
        predicted = np.array(self._fit.predict(np.where(complete[:, None], matrix, 0)))
        predicted[~complete] = np.nan
        return self.labelled(predicted, labels, "predicted")

    @cached_property
    def _imputing(self) -> ImputedFits | None:
        """The fits with what imputes new records; None without ``impute=``."""
        own = getattr(self._fit, "function", None)
        if isinstance(own, ImputedFits):
            return own
        impute, fit = getattr(self._result.call, "impute", None), self._fit
        return impute and imputed_fits(impute, fit, self._design, self._result.seed)

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
        if self._design.strata:
            raise EquationError(
                f"{self._design.strata} has a baseline hazard for each level, which an "
                "equation does not; C() of the same columns has an effect of each."
            )
        if self.coefficients is None or not is_regression(self._learner):
            raise EquationError(
                f"{self._learner.label} has no coefficients that make an equation; "
                "a logistic regression, a multinomial one or a linear one has."
            )
        coefficients = {str(name): b for name, b in self.coefficients.items()}
        made = self._design, coefficients, digits, self._learner
        return equation_of(*made, self._baseline(coefficients))

    def _baseline(self, coefficients: Mapping[str, float]) -> list[float]:
        """Return the constant of a linear predictor of times, and what is beside it."""
        design = self._design
        if design.outcome.kind != "survival":
            return []
        mean = design.matrix.mean(axis=0)
        slopes = [coefficients.get(name, 0.0) for name in design.names]
        own, fits = getattr(self._fit, "function", None), [self._fit]
        row = mean[None]
        if isinstance(own, ImputedFits):  # an indicator is 0 where nothing is missing
            fits = own.fits
            row = np.pad(row, [(0, 0), (0, len(own.made.names(())))])
        linear, *risks = np.transpose([fit.predict(row)[0] for fit in fits])
        # as coefficients are means over imputations, so are logarithms of hazards
        with np.errstate(divide="ignore"):
            hazards = [np.log(-np.log1p(-risk)).mean() for risk in risks]
        predicted = [float(linear.mean()), *(-np.expm1(-np.exp(hazards))).tolist()]
        constant = predicted[0] - float(mean @ slopes)
        return [constant, *hazards_at_zero(predicted)]

    def points(self, unit: Mapping[str, float] | None = None) -> PointScore:
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
        ArgumentTypeError, ModelError
            If there is no unit; if the model is not a logistic regression of two
            classes or a Cox regression, or the unit does not suit it.
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
        if unit is None:
            raise ArgumentTypeError(
                "points() needs unit=, a numeric column and the distance that is one "
                "point: points({'age': 5})."
            )
        return points_of(self._result, unit)

    def shrunk(
        self, slope: float | None = None, *, n_boot: int = 200, seed: int | None = None
    ) -> WrittenModel:
        """Return the model with its coefficients shrunk, and its intercept refitted.

        A model that was fitted to few records predicts too extreme values for others.
        Its linear predictor is multiplied by the calibration slope to be expected there
        (van Houwelingen & le Cessie 1990). Of a Cox regression, the baseline is
        refitted.

        Parameters
        ----------
        slope : float, optional
            The slope; unless given, that of ``optimism_corrected()`` of the result. A
            Cox regression needs it.
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
        check_types(FullModel.shrunk, locals())
        equation = self.equation()
        times = equation.kind == "survival"
        if slope is None and times:
            raise ArgumentError(
                "shrunk() needs the slope of a Cox regression, such as shrunk(0.9); "
                "optimism_corrected() of the result has that of risks at a horizon."
            )
        if slope is None:
            found = self._result.optimism_corrected(
                "calibration_slope", n_boot=n_boot, seed=seed
            )
            slope = float(found)
        check_one_predictor(equation, "shrunk()")
        if np.isnan(slope):
            raise ArgumentError(
                "the slope cannot be estimated, for example because the classes are "
                "separated or nothing is predicted; give it, as in shrunk(0.9)."
            )
        if not (np.isfinite(slope) and slope > 0):
            raise ArgumentError(
                f"the slope must be a number above 0, not {slope:.3g}: a model with a "
                "slope of 0 or less has no predictive value that could be shrunk."
            )
        design, weights = self._design, self._result.weights
        first, slopes = equation.coefficients
        eta = slope * (equation.linear(design.terms.frame)[:, 0] - first)
        each, start = np.ones(len(eta)) if weights is None else weights, list[float]()
        if times:
            intercept, at = -float(eta.mean()), design.outcome.horizons
            fitted = (one for one in models_in(self._learner) if isinstance(one, Cox))
            efron = all(one.ties == "efron" for one in fitted)
            survived = baseline_beside(eta + intercept, design.y, at, efron, each)
            start = survived.tolist()
        else:
            intercept = intercept_beside(equation.kind, design.y, eta, each)
        values = [intercept, *(slope * one for one in slopes)]
        made = with_coefficients(equation, values, start)
        label = f"{self.described}, times {slope:.3g}"
        return WrittenModel(made, label, self._seen(), self.share)

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
        ArgumentError
            If the file cannot be written.
        """
        save_model(self, path)

    def _terms(self) -> tuple[Equation, Callable[[Sequence[float]], Equation]]:
        equation, design = self.equation(), self._design
        check_one_predictor(equation, "update()")
        if design.intercept is None:
            return WrittenModel(equation)._terms()
        assert self.coefficients is not None
        factors = dict(zip(design.names, column_factors(design.terms), strict=True))
        named = {str(name): float(b) for name, b in self.coefficients.items()}
        if design.outcome.kind == "survival":
            named = {design.names[design.intercept]: equation.coefficients[0], **named}
        if design.names[design.intercept] not in named:
            raise EquationError("a model without an intercept cannot be updated.")
        parts = tuple(Part(name, b, factors[name]) for name, b in named.items())

        def written(values: Sequence[float]) -> Equation:
            return equation_of(design, dict(zip(named, values, strict=True)))

        return replace(equation, parts=(parts,)), written

    def _seen(self) -> Mapping[str, Sequence[float]]:
        return values_seen(self._design.terms.frame)

    @property
    def share(self) -> float | None:
        """The mean outcome, or share of events of two classes; None for others."""
        has_mean = self._design.outcome.kind in ("binary", "continuous")
        return float(self._design.y.mean()) if has_mean else None

    def labelled(
        self, predicted: Floats, labels: pd.Index[Any], name: str, told: str = ""
    ) -> pd.Series[Any] | pd.DataFrame:
        """Label predictions, as a series or as a frame with one column per class."""
        outcome = self._design.outcome
        columns = outcome.levels or outcome.columns
        return labelled(predicted, labels, columns, OF_FULL_FIT + told, name)

    def __repr__(self) -> str:
        lines = wrapped(f"{self.described} (not cross-validated)")
        if self.chosen:
            said = ", ".join(said_chosen(*item) for item in self.chosen.items())
            lines += wrapped(f"hyperparameters chosen on all rows: {said}")
        if self.coefficients is not None:
            lines += ["", str(self.coefficients)]
        return "\n".join(lines)
