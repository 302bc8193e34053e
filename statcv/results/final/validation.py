"""The validation of a fitted or published model on other records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import OF_PREDICTIONS, refuse_unknown
from statcv.errors import (
    ArgumentError,
    ColumnError,
    DataError,
    MissingDataWarning,
    StatcvWarning,
    noted_warnings,
    suggestion,
    warn,
)
from statcv.formula import (
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
from statcv.results.call import with_warnings
from statcv.tables import Printed, number
from statcv.words import joined, plural

if TYPE_CHECKING:
    from statcv.results.final.handed_over import HandedOver
    from statcv.results.result import CVResult

ELSEWHERE = "the model was fitted to other records, and nothing is fitted to these"
FAR = 3.0  # standard deviations by which means in one unit hardly ever differ


@dataclass(frozen=True, eq=False, repr=False)
class ValidationCall(Printed):
    """The arguments of a call of ``validate()``, with the model that is validated."""

    validated: HandedOver
    data: Any
    outcome: str
    by: Any = None
    stratify: str | None = None
    threshold: float | None = None
    metrics: Any = None
    seed: int | None = None
    row: ClassVar[None] = None
    n_jobs: ClassVar[None] = None  # nothing is fitted

    def again(self, formula: Any, scope: Any, changes: Mapping[str, Any]) -> CVResult:
        """Validate the model again with some arguments changed."""
        names = [field.name for field in fields(self)]
        unknown = [name for name in changes if name not in names]
        refuse_unknown("validate", unknown, names, OF_PREDICTIONS)
        return replace(self, **changes).run()

    def with_mean_model(self) -> ValidationCall:
        """Return the call itself, which names no formula."""
        return self

    def run(self) -> CVResult:
        """Predict the records, and read the predictions with the warnings of this."""
        with noted_warnings() as noted:
            result = self._result()
        return with_warnings(result, noted)

    def _result(self) -> CVResult:
        # a verb makes the result, as that of predictions from other software
        from statcv.verbs.from_predictions import from_predictions

        model, frame, outcome = self.validated, as_frame(self.data), self.outcome
        observed = outcome_columns(outcome, frame.columns.tolist())
        own = [*observed, *([self.stratify] if self.stratify else [])]
        check_there(frame, [*own, *([self.by] if isinstance(self.by, str) else [])])
        horizons = model._horizons()
        if horizons is None:
            _check_coding(model, frame[outcome])
        predicted = model.predict(frame)
        _warn_of_units(model, frame)
        made = pd.DataFrame(predicted)
        several = isinstance(predicted, pd.DataFrame)
        ends = [f" {level}" for level in made.columns] if several else [""]
        names = [unused(f"predicted{end}", frame[own]) for end in ends]
        columns: Any = dict(zip(made.columns, names, strict=True))
        made.columns = pd.Index(names)
        complete = complete_rows(frame[[*observed]], made)
        if horizons is not None:
            columns = _at_horizons(horizons, names, outcome, frame[complete])
        known = model._design and model._design.outcome.distribution
        counts = known if model._design else model.equation().kind == "count"
        usual = OF_MEANS if counts else None
        result = from_predictions(
            frame[list(dict.fromkeys(own))].join(made)[complete],
            observed=outcome,
            predicted=columns if several else names[0],
            cluster=self.stratify,
            positive=model._validated()[1],
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
    horizons: list[float], names: Sequence[str], outcome: str, frame: pd.DataFrame
) -> dict[Any, str]:
    """Return the columns of risks by horizon, of those that the data can validate."""
    left = quoted(outcome) if outcome in frame else outcome
    y = make_design(f"{left} ~ 1", frame, scope={}).outcome.y
    made: dict[Any, str] = {"linear": names[0]}
    for horizon, name in zip(horizons, names[1:], strict=True):
        try:
            read_horizons(horizon, y, outcome)
        except ArgumentError as error:
            why = f"the risk by {horizon:g} is not validated: {error}"
            warn(why, StatcvWarning)
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
        warn(
            "the calibration slope is below 0: the model ranks the records the wrong "
            f"way round in these data. Is {name!r} coded as where it was fitted?",
            StatcvWarning,
        )


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
            hint = suggestion(column, frame.columns)
            raise ColumnError(f"the new data lack the column {column!r}.{hint}")


def complete_rows(
    outcome: pd.Series[Any] | pd.DataFrame, made: pd.DataFrame
) -> NDArray[np.bool_]:
    """Return which rows have the outcome and what a model makes of the others.

    Raises
    ------
    DataError
        If no row is complete.
    """
    known = outcome.to_frame() if isinstance(outcome, pd.Series) else outcome
    complete = (made.notna().all(axis=1) & known.notna().all(axis=1)).to_numpy()
    if not complete.any():
        raise DataError(
            "no row of the new data has the outcome and all columns of the model."
        )
    if lost := int((~complete).sum()):
        warn(
            f"{plural(lost, 'row')} of {len(outcome)} lack the outcome or a column "
            "that the model uses, and were left out.",
            MissingDataWarning,
        )
    return complete


def _check_coding(model: HandedOver, values: pd.Series[Any]) -> None:
    """Check that the outcome has the levels that it had in the fit."""
    design = model._design
    levels = design.outcome.levels if design else model.equation().levels
    odd = [one for one in values.dropna().unique().tolist() if one not in levels]
    if levels and odd:
        named, new = values.name, joined(list(map(shown_label, levels)))
        raise DataError(
            f"the outcome {named!r} has the value {odd[0]!r} in the new data, and "
            f"the model knows {new}; recode it, for example by "
            f"new[{named!r}].map({{{odd[0]!r}: {shown_label(levels[-1])}, ...}})."
        )


def _warn_of_units(model: HandedOver, frame: pd.DataFrame) -> None:
    """Name the columns whose mean is far from that where the model was fitted."""
    design = model._design
    for name, old in design.terms.columns.items() if design else ():
        if not is_number(old.dtype):
            continue
        mean, sd, now = old.mean(), old.std(), float(frame[name].mean())
        if abs(now - mean) > FAR * sd and old.nunique() > 2:
            warn(
                f"column {name!r} has mean {number(now)} in the new data, and "
                f"{number(mean)} (SD {number(sd)}) where the model was fitted; has "
                "it the same unit?",
                StatcvWarning,
            )
