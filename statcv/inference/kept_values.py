"""What was computed of metrics, so that it is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from statcv.metrics import Metric

T = TypeVar("T")


class KeptValues:
    """Values by the name of a metric and further words; a pickle omits them.

    Of different metrics with one name, such as two functions of a caller, only the last
    is kept. The functions of a metric may not pickle.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], tuple[Metric, Any]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptValues, ()

    def once(self, metric: Metric, key: tuple[str, ...], make: Callable[[], T]) -> T:
        """Return what was computed for a metric, or compute it and keep it.

        Parameters
        ----------
        metric : Metric
        key : tuple of str
            What was computed of the metric, and how.
        make : callable
            Function without arguments that computes it.
        """
        key = (metric.name, *key)
        of, found = self._known.get(key, (None, None))
        if of is not metric and of != metric:
            found = make()
            self._known[key] = metric, found
        return cast(T, found)
