"""A user's function of outcomes and predictions, and the arrays that it is given."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.errors import MetricError, reason
from statcv.metrics.classification.classwise import (
    columns,
    outcome_and_prediction,
    predicted_class,
)
from statcv.metrics.inputs import Bools, Floats, real_array, same_length
from statcv.words import plural

_PASSED = {
    "order": "scores",
    "classes": "predicted classes",
    "probabilities": "probabilities (or means)",
    "numbers": "predictions",
}


@dataclass(frozen=True)
class UserFunction:
    """A user's function of outcomes and predictions.

    Attributes
    ----------
    name : str
        Name of the function in error messages.
    function : callable
        The function itself.
    reads : {"order", "classes", "probabilities", "numbers"}
        Kind of prediction that the function receives; classes are derived from the
        predictions.
    keywords : dict
        Keyword arguments that are passed to the function.
    """

    name: str
    function: Callable[..., Any]
    reads: str
    keywords: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __call__(
        self, y: ArrayLike, prediction: ArrayLike, threshold: ArrayLike = 0.5
    ) -> float:
        """Return the function's value.

        The value is NaN if there are no records, if a prediction is NaN, if the
        function divides by zero, or if it raises a ValueError on records that lack a
        class.
        """
        outcome, read, known = self.arrays(y, prediction, threshold)
        if not known.size or not known.all():
            return float("nan")
        lacking = _lacks_a_class(outcome, np.shape(prediction))
        try:
            with _silence() if lacking else nullcontext():
                value = self.called(outcome, read)
        except ZeroDivisionError:
            return float("nan")
        except Exception as error:
            if lacking and isinstance(error, ValueError):
                return float("nan")
            raise self.failure(error, len(outcome)) from error
        return _number(value, self.name)

    def arrays(
        self, y: ArrayLike, prediction: ArrayLike, threshold: ArrayLike
    ) -> tuple[NDArray[Any], NDArray[Any], Bools]:
        """Return new arrays for the function, and which predictions are not NaN."""
        if self.reads == "classes":
            codes, p = outcome_and_prediction(y, prediction)
            chosen = predicted_class(p, threshold)
            known = ~np.isnan(chosen)
            return codes, np.where(known, chosen, 0).astype(np.intp), known
        outcome, read = np.array(y), np.array(real_array(prediction, "prediction"))
        same_length(len(outcome), len(read), "prediction")
        return outcome, read, ~np.isnan(columns(read)).any(axis=1)

    def called(self, y: NDArray[Any], read: NDArray[Any]) -> Any:
        """Call the function; 0/0 in NumPy gives NaN without a warning."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.function(y, read, **self.keywords)

    def failure(self, error: Exception, n: int) -> MetricError:
        """Return an error that names the function."""
        return MetricError(
            f"{self.name} failed for {plural(n, 'record')}: "
            f"{reason(error).rstrip('.')}. It received the outcome and "
            f"{_PASSED[self.reads]}; make_metric(..., reads=...) sets what it receives."
        )


@dataclass(frozen=True)
class UserCasewise(UserFunction):
    """A user's function of outcomes and predictions, with one value per record."""

    def __call__(  # type: ignore[override]
        self, y: ArrayLike, prediction: ArrayLike, threshold: ArrayLike = 0.5
    ) -> Floats:
        """Return one value per record, NaN where the prediction is NaN."""
        outcome, read, known = self.arrays(y, prediction, threshold)
        values = np.full(len(outcome), np.nan)
        if not known.any():
            return values
        try:
            given = self.called(outcome[known], read[known])
        except Exception as error:
            raise self.failure(error, int(known.sum())) from error
        numbers = real_array(given, f"what {self.name} returns")
        if numbers.shape != (known.sum(),):
            raise MetricError(
                f"{self.name} must return one number for each of {known.sum()} "
                f"records, but returned an array of shape {numbers.shape}."
            )
        values[known] = numbers
        return values


def _lacks_a_class(y: NDArray[Any], shape: tuple[int, ...]) -> bool:
    """Return whether a class has no record."""
    return len(np.unique(y)) < (shape[1] if len(shape) == 2 else 2)


@contextmanager
def _silence() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _number(value: Any, name: str) -> float:
    number = np.asarray(value).item() if getattr(value, "shape", None) == () else value
    if isinstance(number, Real) and not isinstance(number, bool):
        return float(number)
    raise MetricError(f"{name} must return one number, not {reprlib.repr(value)}.")
