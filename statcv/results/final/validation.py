"""The validation of a fitted or published model on other records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from statcv.errors import ColumnError, DataError, MissingDataWarning, suggestion, warn
from statcv.formula import as_frame
from statcv.results.final.equation import Equation
from statcv.results.final.nomogram import nomogram_of
from statcv.words import plural

if TYPE_CHECKING:
    from statcv.results.result import CVResult


class Validated:
    """A model that predicts the rows of a data frame, and can be validated there."""

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

    def _validated(self) -> tuple[str, Any]:
        """Return the outcome, and its positive class if it has two."""
        raise NotImplementedError

    def _seen(self) -> Mapping[str, Sequence[float]]:
        """Return what values its numeric columns have, if that is known."""
        return {}

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
            they are at most ten, or round ones about its range. A model that was loaded
            or published does not know the values of numeric columns.
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
        >>> table.tail(2)["points"].round(1).tolist()
        [53.5, 89.4]
        """
        return nomogram_of(self.equation(), self._seen(), values, at)

    def validate(
        self,
        new: object,
        *,
        outcome: str | None = None,
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
            Column of the outcome; that of the model unless given.
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
            A result as :func:`statcv.from_predictions` returns it, whose intervals
            count the records of ``new`` alone, since nothing is fitted to them.

        Raises
        ------
        ColumnError
            If a column is missing.
        DataError
            If a level is not known, or no row is complete.

        Examples
        --------
        >>> import statcv as scv
        >>> data = scv.load_data("ehr")
        >>> old, new = data[data.site != "D"], data[data.site == "D"]
        >>> res = scv.cv("y ~ x1 + x2 + x3", old, k=5, seed=1)
        >>> val = res.final.validate(new, stratify="patient_id")
        >>> round(float(val.estimate("auroc")), 3)
        0.747
        """
        # a verb makes the result, as that of predictions from other software
        from statcv.verbs.from_predictions import from_predictions

        known, positive = self._validated()
        outcome = known if outcome is None else outcome
        frame = as_frame(new)
        for column in [outcome, *([stratify] if stratify else [])]:
            if column not in frame.columns:
                hint = suggestion(column, frame.columns)
                raise ColumnError(f"the new data lack the column {column!r}.{hint}")
        predicted = self.predict(frame)
        made = pd.DataFrame(predicted)
        several = isinstance(predicted, pd.DataFrame)
        ends = [f" {level}" for level in made.columns] if several else [""]
        names = [_unused(f"predicted{end}", frame) for end in ends]
        made.columns = pd.Index(names)
        complete = made.notna().all(axis=1) & frame[outcome].notna()
        if not complete.any():
            raise DataError(
                "no row of the new data has the outcome and all columns of the model."
            )
        if lost := int((~complete).sum()):
            warn(
                f"{plural(lost, 'row')} of {len(frame)} lack the outcome or a column "
                "that the model uses, and were left out.",
                MissingDataWarning,
            )
        columns: Any = names[0]
        if isinstance(predicted, pd.DataFrame):
            columns = dict(zip(predicted.columns, names, strict=True))
        result = from_predictions(
            frame.join(made)[complete],
            observed=outcome,
            predicted=columns,
            cluster=stratify,
            positive=positive,
            threshold=threshold,
            metrics=metrics,
            seed=seed,
        )
        learner: Any = result.learner
        return replace(result, learner=replace(learner, label=self.described))


def _unused(name: str, frame: pd.DataFrame) -> str:
    while name in frame.columns:
        name += "_"
    return name
