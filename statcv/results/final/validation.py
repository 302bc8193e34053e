"""The validation of a fitted or published model on other records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from statcv.errors import ColumnError, DataError, MissingDataWarning, suggestion, warn
from statcv.formula import as_frame
from statcv.words import plural

if TYPE_CHECKING:
    from statcv.results.final.equation import Equation
    from statcv.results.final.updating import UpdatedModel
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

    def _validated(self) -> tuple[str, Any]:
        """Return the outcome, and its positive class if it has two."""
        raise NotImplementedError

    def equation(self) -> Equation:
        """Return the model as an equation."""
        raise NotImplementedError

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
            ``"none"``; ``"intercept"``; ``"slope"``, which also updates the intercept;
            ``"refit"``, all coefficients; ``"shrink"``, a ridge on their differences
            from the old ones; or ``"closed_test"``, which refits only if tests reject
            all simpler updates (Vergouwe et al. 2017). The equation of a file has a
            spline as one term, whose shape is kept.
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
        >>> data = scv.load_data("ehr")
        >>> model = scv.published_model({"(Intercept)": 1, "x1": 0.3}, outcome="y")
        >>> upd = model.update(data[data.site == "D"])
        >>> upd.method
        'slope'
        """
        from statcv.results.final.updating import update_model

        return update_model(self, new, method, outcome, strength, level)

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
        names = [unused(f"predicted{end}", frame) for end in ends]
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


def unused(name: str, taken: Iterable[Any]) -> str:
    """Return a name that is not taken, with underscores if necessary."""
    known = set(taken)
    while name in known:
        name += "_"
    return name
