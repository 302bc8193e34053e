"""The validation of a fitted or published model on other records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from statcv.errors import ColumnError, DataError, MissingDataWarning, suggestion, warn
from statcv.formula import as_frame
from statcv.words import plural

if TYPE_CHECKING:
    from statcv.results.result import CVResult


class Predicts(Protocol):
    """A model that predicts for the rows of a data frame."""

    @property
    def described(self) -> str:
        """How it is called in print."""

    def predict(self, new: object) -> pd.Series[Any] | pd.DataFrame:
        """Return predictions, with one column per class for more than two."""


def validate(
    model: Predicts,
    new: object,
    outcome: str,
    positive: object,
    stratify: str | None,
    **named: Any,
) -> CVResult:
    """Predict other records, and return the result of an external validation.

    Parameters
    ----------
    model : Predicts
    new : data frame
        The other records.
    outcome : str
        Their outcome.
    positive : object
        The positive class, or None if there are no two classes.
    stratify : str, optional
        Column whose equal values identify the records of one cluster.
    **named
        Further arguments of :func:`statcv.from_predictions`.
    """
    # a verb makes the result, as that of predictions from other software
    from statcv.verbs.from_predictions import from_predictions

    frame = as_frame(new)
    for column in [outcome, *([stratify] if stratify else [])]:
        if column not in frame.columns:
            hint = suggestion(column, frame.columns)
            raise ColumnError(f"the new data lack the column {column!r}.{hint}")
    predicted = model.predict(frame)
    made = pd.DataFrame(predicted)
    names = [_unused(f"predicted {name}".strip(), frame) for name in _names(predicted)]
    made.columns = pd.Index(names)
    complete = made.notna().all(axis=1) & frame[outcome].notna()
    if not complete.any():
        raise DataError(
            "no row of the new data has the outcome and all columns of the model."
        )
    if lost := int((~complete).sum()):
        warn(
            f"{plural(lost, 'row')} of {len(frame)} lack the outcome or a column that "
            "the model uses, and were left out.",
            MissingDataWarning,
        )
    several = isinstance(predicted, pd.DataFrame)
    columns = dict(zip(predicted.columns, names, strict=True)) if several else names[0]
    result = from_predictions(
        frame.join(made)[complete],
        observed=outcome,
        predicted=columns,
        cluster=stratify,
        positive=positive,
        **named,
    )
    learner: Any = result.learner
    return replace(result, learner=replace(learner, label=model.described))


def _names(predicted: pd.Series[Any] | pd.DataFrame) -> list[str]:
    return (
        [*map(str, predicted.columns)] if isinstance(predicted, pd.DataFrame) else [""]
    )


def _unused(name: str, frame: pd.DataFrame) -> str:
    while name in frame.columns:
        name += "_"
    return name
