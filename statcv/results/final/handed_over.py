"""A model that is handed over: written, drawn, validated and updated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from statcv import errors
from statcv.arguments import check_types
from statcv.formula import (
    Design,
    Outcome,
    as_frame,
    is_number,
    make_design,
    outcome_columns,
    quoted,
    read_horizons,
    shown_label,
)
from statcv.inference.estimates.groups import groups_of
from statcv.metrics.named import OF_MEANS
from statcv.models import partial_likelihood
from statcv.numeric.arrays import Bools
from statcv.results.call import Call, with_warnings
from statcv.results.final.nomogram import nomogram_of
from statcv.results.wording.phrases import caution
from statcv.words import joined

if TYPE_CHECKING:
    from statcv.results.final.equation import Equation
    from statcv.results.final.updated_model import UpdatedModel
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
        except errors.EquationError:
            return ""

    @property
    def _outcome(self) -> Outcome:
        """The outcome that it predicts; without values unless they are known."""
        if self._design is not None:
            return self._design.outcome
        known = self.equation()
        horizons = tuple(at for at, _ in known.baseline)
        counts, none = "counts" * (known.kind == "count"), np.empty(0)
        ordered = known.kind == "ordered"
        kind = "multiclass" if ordered else known.kind
        made = Outcome(known.outcome, kind, none, known.levels, (), horizons, counts)
        return replace(made, ordered=ordered)

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
        from statcv.results.final.updated_model import update_model

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
        return ValidationCall(self, new, outcome or self._outcome.name, *rest).run()


# ---- validation ----


ELSEWHERE = "the model was fitted to other records, and nothing is fitted to these"
FAR = 3.0  # standard deviations by which means in one unit hardly ever differ


@dataclass(frozen=True, eq=False, repr=False)
class ValidationCall(Call):
    """The arguments of a call of ``validate()``, with the model that is validated."""

    validated: HandedOver
    data: Any
    outcome: str
    by: Any = None
    stratify: str | None = None
    threshold: float | None = None
    metrics: Any = None
    seed: int | None = None
    verb: ClassVar[str] = "validate"

    def run(self) -> CVResult:
        """Predict the records, and read the predictions with the warnings of this."""
        with errors.noted_warnings() as noted:
            result = self._result()
        return with_warnings(result, noted)

    def _result(self) -> CVResult:
        # a verb makes the result, as that of predictions from other software
        from statcv.verbs.from_predictions import from_predictions

        model, frame, outcome = self.validated, as_frame(self.data), self.outcome
        observed = outcome_columns(outcome, frame.columns.tolist())
        own = [*observed, *([self.stratify] if self.stratify else [])]
        check_there(frame, [*own, *([self.by] if isinstance(self.by, str) else [])])
        known = model._outcome
        if known.kind != "survival":
            _check_coding(known.levels, frame[outcome])
        numbers = known.kind == "continuous" and not known.distribution
        if numbers and frame[outcome].nunique() == 2 < len(frame):
            raise errors.DataError(
                f"the outcome {outcome!r} has two values in the new data, but is "
                "continuous in the model; validate it on its own numbers, in records "
                "of more than two values."
            )
        if known.ordered and outcome in frame:
            levels = pd.CategoricalDtype([*known.levels], ordered=True)
            frame = frame.assign(**{outcome: frame[outcome].astype(levels)})
        predicted = model.predict(frame)
        _warn_of_units(model, frame)
        made = pd.DataFrame(predicted)
        several = isinstance(predicted, pd.DataFrame)
        ends = [f" {level}" for level in made.columns] if several else [""]
        names = [unused(f"predicted{end}", frame[own]) for end in ends]
        columns: Any = dict(zip(made.columns, names, strict=True))
        made.columns = pd.Index(names)
        complete = complete_rows(frame[[*observed]], made)
        if known.kind == "survival":
            columns = _at_horizons(known.horizons, names, outcome, frame[complete])
        usual = OF_MEANS if known.distribution else None
        result = from_predictions(
            frame[list(dict.fromkeys(own))].join(made)[complete],
            observed=outcome,
            predicted=columns if several else names[0],
            cluster=self.stratify,
            positive=known.positive,
            threshold=self.threshold,
            metrics=usual if self.metrics is None else self.metrics,
            seed=self.seed,
        )
        used = [] if complete.all() else [*observed, *model.predictors]
        absent = frame[used].isna().sum()
        design = replace(
            result.design,
            kept=np.flatnonzero(complete),
            n_given=len(frame),
            missing={str(name): int(n) for name, n in absent[absent > 0].items()},
        )
        learner: Any = result.learner
        result = replace(
            result,
            design=design,
            learner=replace(learner, label=model.described, why=ELSEWHERE),
            call=replace(self, data=frame, seed=result.seed),
        )
        _warn_of_order(result)
        if self.by is not None:
            groups_of(result, self.by)  # checks that each record has a group
        return result


def _at_horizons(
    horizons: Sequence[float], names: Sequence[str], outcome: str, frame: pd.DataFrame
) -> dict[Any, str]:
    """Return the columns of risks by horizon, of those that the data can validate."""
    left = quoted(outcome) if outcome in frame else outcome
    y = make_design(f"{left} ~ 1", frame, scope={}).outcome.y
    made: dict[Any, str] = {"linear": names[0]}
    for horizon, name in zip(horizons, names[1:], strict=True):
        try:
            read_horizons(horizon, y, outcome)
        except errors.ArgumentError as error:
            caution("not validated", horizon=horizon, error=error)
        else:
            made[horizon] = name
    return made


def _warn_of_order(result: CVResult) -> None:
    """Say that the calibration slope is below 0, if it is."""
    y, name = result.scores.outcome, result.design.outcome.name
    # the likelihood is concave: its derivative at a slope of 0 has the slope's sign
    slope = 0.0
    if result.design.outcome.kind == "survival":
        observed = result.design.y[result.held.row]
        linear, none = result.held.predicted[:, :1], np.zeros((1, 1))
        problem = partial_likelihood(linear, observed, efron=False)
        slope = problem.gradient(problem.linear(none), none)[0, 0] / len(y)
    elif result.design.outcome.kind == "binary" and 0 < y.mean() < 1:
        p = np.clip(result.scores.predicted, 1e-15, 1 - 1e-15)
        odds = np.log(p) - np.log1p(-p)
        slope = odds[y == 1].mean() - odds[y == 0].mean()
    if slope < -1e-12:
        caution("slope below 0", outcome=name)


def unused(name: str, taken: Iterable[Any]) -> str:
    """Return a name that is not taken, with underscores if necessary."""
    known = set(taken)
    while name in known:
        name += "_"
    return name


# ---- what may be wrong with the new data ----


def check_there(frame: pd.DataFrame, columns: Iterable[str]) -> None:
    """Check that the new data have columns."""
    for column in columns:
        if column not in frame.columns:
            hint = errors.suggestion(column, frame.columns)
            raise errors.ColumnError(f"the new data lack the column {column!r}.{hint}")


def complete_rows(outcome: pd.DataFrame, made: pd.DataFrame) -> Bools:
    """Return which rows have the outcome and what a model makes of the others.

    Raises
    ------
    DataError
        If no row is complete.
    """
    complete = (made.notna().all(axis=1) & outcome.notna().all(axis=1)).to_numpy()
    if not complete.any():
        raise errors.DataError(
            "no row of the new data has the outcome and all columns of the model."
        )
    if lost := int((~complete).sum()):
        caution("incomplete rows", lost=lost, total=len(outcome))
    return complete


def _check_coding(levels: Sequence[Any], values: pd.Series[Any]) -> None:
    """Check that the outcome has the levels that it had in the fit."""
    odd = [one for one in values.dropna().unique().tolist() if one not in levels]
    if levels and odd:
        named, new = values.name, joined(list(map(shown_label, levels)))
        raise errors.DataError(
            f"the outcome {named!r} has the value {odd[0]!r} in the new data, and "
            f"the model knows {new}; recode it by new[{named!r}].map({{{odd[0]!r}: "
            f"..., ...}}), with one of these for each value."
        )


def _warn_of_units(model: HandedOver, frame: pd.DataFrame) -> None:
    """Name the columns whose mean is far from that where the model was fitted."""
    design = model._design
    for name, old in design.terms.columns.items() if design else ():
        if not is_number(old.dtype):
            continue
        mean, sd, now = old.mean(), old.std(), float(frame[name].mean())
        if abs(now - mean) > FAR * sd and old.nunique() > 2:
            caution("other unit", name=name, now=now, mean=mean, sd=sd)
