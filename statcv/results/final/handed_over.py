"""A model that is handed over: written, drawn, validated and updated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from statcv.arguments import check_types
from statcv.errors import EquationError
from statcv.formula import Design
from statcv.results.final.nomogram import nomogram_of
from statcv.results.final.validation import ValidationCall

if TYPE_CHECKING:
    from statcv.results.final.equation import Equation
    from statcv.results.final.updating import UpdatedModel
    from statcv.results.result import CVResult


class HandedOver:
    """A model that predicts the rows of a data frame."""

    _design: Design | None = None  # the records to which it was fitted, if known

    @property
    def described(self) -> str:
        """How it is called in print."""
        raise NotImplementedError

    def predict(self, new: object) -> pd.Series[Any] | pd.DataFrame:
        """Return predictions, with one column per class for more than two."""
        raise NotImplementedError

    def equation(self) -> Equation:
        """Return the model as an equation."""
        raise NotImplementedError

    @property
    def predictors(self) -> list[str]:
        """The columns that it reads."""
        if self._design is not None:
            return list(self._design.formula.columns)
        return [column.name for column in self.equation().columns]

    @property
    def share(self) -> float | None:
        """The mean outcome, or share of events, where it was fitted, if known."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """The equation as text; empty if it has none."""
        try:
            return str(self.equation())
        except EquationError:
            return ""

    def _validated(self) -> tuple[str, Any]:
        """Return the outcome, and its positive class if it has two."""
        raise NotImplementedError

    def _horizons(self) -> list[float] | None:
        """Return the horizons of its risks; None if it does not predict times."""
        if self._design is not None:
            outcome = self._design.outcome
            return [*outcome.horizons] if outcome.kind == "survival" else None
        known = self.equation()
        return [at for at, _ in known.baseline] if known.kind == "survival" else None

    def _terms(self) -> tuple[Equation, Callable[[Sequence[float]], Equation]]:
        """Return the equation with a part for each coefficient that can be refitted.

        The second is a function from an intercept and the other coefficients to the
        equation that has them.
        """
        raise NotImplementedError

    def update(
        self,
        new: object,
        method: str = "closed_test",
        *,
        outcome: str | None = None,
        strength: float | None = None,
        level: float = 0.05,
    ) -> UpdatedModel:
        """Return the model updated for other records, such as another hospital's.

        Parameters
        ----------
        new : data frame
            Records with the outcome and the columns of the model. Rows in which one of
            these is missing are left out, and counted.
        method : str, default "closed_test"
            One of those of :class:`statcv.models.Updating`. The equation of a file has
            a spline as one term, whose shape is kept.
        outcome : str, optional
            Column of the outcome; that of the model unless given.
        strength : float, optional
            Strength of the ridge, for columns divided by their standard deviation; that
            of the least AIC unless given.
        level : float, default 0.05
            Significance level of closed testing.

        Returns
        -------
        UpdatedModel
            A model with ``tests``, ``equation()``, ``predict(new)`` and ``save(path)``;
            ``validate()`` cross-validates the whole updating, the choice included.

        Raises
        ------
        ColumnError, DataError
            If a column is missing, a level is unknown, or the outcome does not vary.
        ArgumentError, ModelError, EquationError
            If an argument is out of range, or the model has no single linear predictor.

        Warns
        -----
        StatcvWarning
            If there are fewer events than coefficients to be refitted, the slope is
            below 0, a column does not vary, or rows are left out.

        Examples
        --------
        >>> import statcv as scv
        >>> ehr = scv.load_data("ehr")
        >>> model = scv.published_model({"(Intercept)": 1, "x1": 0.3}, outcome="y")
        >>> upd = model.update(ehr[ehr.site == "D"])
        >>> upd.method
        'slope'
        """
        from statcv.results.final.updating import update_model

        return update_model(self, new, method, outcome, strength, level)

    def _seen(self) -> Mapping[str, Sequence[float]]:
        """Return what values its numeric columns have, if that is known."""
        raise NotImplementedError

    def nomogram(
        self,
        *,
        values: Mapping[str, Sequence[Any]] | None = None,
        at: Sequence[float] | None = None,
    ) -> pd.DataFrame:
        """Return the points of the values of each predictor, and what totals mean.

        The predictor that changes the linear predictor most has 0 to 100 points, as in
        ``rms::nomogram``. :func:`statcv.plots.plot_nomogram` draws them. Of columns
        that interact, one has an axis for each value of the others.

        Parameters
        ----------
        values : mapping of str to sequence, optional
            Values of a column that are shown; unless given, its levels, its values if
            they are at most ten, or round ones about its range. A published model does
            not know the values of numeric columns.
        at : sequence of float, optional
            Risks that are shown, of those that can occur.

        Returns
        -------
        pandas.DataFrame
            ``axis``, ``value`` and ``points``: of each predictor, then the total points
            of values of the linear predictor and of the risk.

        Raises
        ------
        EquationError
            If the model has no equation, more than two classes, or a column whose
            values are not known; or several columns with many values interact.
        ArgumentError, ColumnError
            If ``values`` or ``at`` does not suit the model.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> table = res.final.nomogram(values={"GPA": [2, 3, 4]}, at=[0.1, 0.5])
        >>> table[table.axis.isin(["GPA", "PSI"])]["points"].round(1).tolist()
        [0.0, 50.0, 100.0, 0.0, 38.2]
        """
        return nomogram_of(self.equation(), self._seen(), values, at)

    def validate(
        self,
        new: object,
        *,
        outcome: str | None = None,
        by: Any = None,
        stratify: str | None = None,
        threshold: float | None = None,
        metrics: str | Sequence[str] | None = None,
        seed: int | None = None,
    ) -> CVResult:
        """Return the external validation of the model on other records.

        Parameters
        ----------
        new : data frame
            Records with the outcome and the columns of the model. Rows in which one of
            these is missing are left out, and counted.
        outcome : str, optional
            Column of the outcome, coded as where the model was fitted; that of the
            model unless given.
        by : str or array-like, optional
            Column of groups, such as hospitals, or one value per row. The summary and
            the report then state them with random effects, as ``heterogeneity()`` and
            ``metrics(by=True)`` do.
        stratify : str, optional
            Column whose equal values identify the records of one cluster, such as a
            patient.
        threshold : float, optional
            Probability at which and above which the positive class is predicted.
        metrics : str or sequence of str, optional
            Metrics to be estimated, as in :func:`statcv.cv`.
        seed : int, optional
            Seed for intervals and tests that use random draws.

        Returns
        -------
        CVResult
            A result with all that needs no refits. Its intervals count the records of
            ``new`` alone, since nothing is fitted to them.

        Raises
        ------
        ColumnError
            If a column is missing.
        DataError
            If a level is not known, the outcome has another coding, or no row is
            complete.

        Warns
        -----
        MissingDataWarning, StatcvWarning
            If rows are incomplete, with their number; if a column seems to have another
            unit than where the model was fitted; if the calibration slope is below 0.

        Examples
        --------
        >>> import statcv as scv
        >>> ehr = scv.load_data("ehr")
        >>> old, new = ehr[ehr.site != "D"], ehr[ehr.site == "D"]
        >>> final = scv.cv("y ~ x1 + x2 + x3", old, k=5, seed=1).final
        >>> val = final.validate(new, stratify="patient_id")
        >>> round(float(val.estimate("auroc")), 3)
        0.747
        """
        check_types(HandedOver.validate, locals())
        rest = by, stratify, threshold, metrics, seed
        return ValidationCall(self, new, outcome or self._validated()[0], *rest).run()
