"""Functions that are not ours, held to what a metric is."""

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

from statcv.errors import MetricError, plural, reason
from statcv.metrics._classes import columns, outcome_and_prediction, predicted_class
from statcv.metrics._inputs import Bools, Floats, real_array, same_length

_HANDED = {
    "order": "scores",
    "classes": "predicted classes",
    "probabilities": "probabilities (or means)",
    "numbers": "predictions",
}


@dataclass(frozen=True)
class OwnFunction:
    """A function of outcomes and predictions.

    Attributes
    ----------
    name : str
        What errors call it.
    function : callable
    reads : {"order", "classes", "probabilities", "numbers"}
        What it is handed; classes are made of the predictions.
    keywords : dict
        Handed on.
    """

    name: str
    function: Callable[..., Any]
    reads: str
    keywords: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __call__(
        self, y: ArrayLike, prediction: ArrayLike, threshold: ArrayLike = 0.5
    ) -> float:
        """Return its value; NaN without records, or where a prediction is NaN.

        NaN as well where it divides by zero, or raises a ValueError on records that
        lack a class.
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
        """Return copies of what it is handed, and whose predictions are known."""
        if self.reads == "classes":
            codes, p = outcome_and_prediction(y, prediction)
            chosen = predicted_class(p, threshold)
            known = ~np.isnan(chosen)
            return codes, np.where(known, chosen, 0).astype(np.intp), known
        outcome, read = np.array(y), np.array(real_array(prediction, "prediction"))
        same_length(len(outcome), len(read), "prediction")
        return outcome, read, ~np.isnan(columns(read)).any(axis=1)

    def called(self, y: NDArray[Any], read: NDArray[Any]) -> Any:
        """Return what it returns; NumPy's 0/0 is NaN without a warning."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.function(y, read, **self.keywords)

    def failure(self, error: Exception, n: int) -> MetricError:
        """Return an error that says whose it is."""
        return MetricError(
            f"{self.name} failed for {plural(n, 'record')}: "
            f"{reason(error).rstrip('.')}. It was handed the outcome and "
            f"{_HANDED[self.reads]}; make_metric(..., reads=...) says which it takes."
        )


@dataclass(frozen=True)
class OwnCasewise(OwnFunction):
    """A function of outcomes and predictions that has a value for each record."""

    def __call__(  # type: ignore[override]
        self, y: ArrayLike, prediction: ArrayLike, threshold: ArrayLike = 0.5
    ) -> Floats:
        """Return the records' values; NaN where a prediction is NaN."""
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
                f"{self.name} must return a number for each of {known.sum()} records, "
                f"but returned shape {numbers.shape}."
            )
        values[known] = numbers
        return values


def _lacks_a_class(y: NDArray[Any], shape: tuple[int, ...]) -> bool:
    """Whether outcomes are all alike, or fewer than the columns of classes."""
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
