"""What scikit-learn expects of a splitter, met by a fold plan."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator

from statcv.errors import ArgumentError, FoldWarning, StatcvError, suggestion, warn
from statcv.folds.arrays import length
from statcv.folds.checks import whole
from statcv.folds.plan import FoldPlan

Pairs = Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]


class Splitter(BaseCrossValidator):  # type: ignore[misc]
    """A splitter that asks a fold plan."""

    takes_groups: ClassVar[bool] = False
    random_state: Any = None

    @abstractmethod
    def _plan(self, n: int, y: Any, groups: Any) -> FoldPlan:
        """Return the plan of n records."""

    def split(self, X: Any, y: Any, groups: Any = None) -> Pairs:
        """Return an iterator over (training, held-out) positions.

        Parameters
        ----------
        X : array-like, shape (n, …)
            Only its length counts.
        y : array-like, shape (n,)
            The outcome.
        groups : array-like, shape (n,), optional
            What never parts, for splitters that look at it.

        Raises
        ------
        DataError
            If lengths differ, or values are missing.
        SchemeError
            If there is no such split of these records.
        """
        if groups is not None and not self.takes_groups:
            warn(
                f"{type(self).__name__} does not look at groups: equal values may "
                "part. FoldStratifiedKFold and RebalancedLeaveOneGroupOut keep them "
                "together.",
                FoldWarning,
            )
        with self._named():
            n = length(X=X, y=y, groups=groups)
            return self._plan(n, y, groups).split()

    def _parameters(self) -> list[str]:
        return list(signature(type(self)).parameters)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Say whose error it is, since a caller may not see which splitter ran."""
        try:
            yield
        except StatcvError as error:
            raise type(error)(f"{type(self).__name__}: {error}") from None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep`` means nothing here."""
        return {name: getattr(self, name) for name in sorted(self._parameters())}

    def set_params(self, **params: Any) -> Splitter:
        """Set parameters by name, and return the splitter itself."""
        known = self._parameters()
        for name in params:
            if name not in known:
                raise ArgumentError(
                    f"{type(self).__name__} has no parameter {name!r}; it has "
                    f"{', '.join(known) or 'none'}." + suggestion(name, known)
                )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in self._shown().items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _shown(self) -> dict[str, Any]:
        return self.get_params()


def whole_between(name: str, value: Any, least: int, most: int, n: int) -> int:
    """Return a parameter that is a whole number in a range that n records allow."""
    if not least <= whole(name, value) <= most:
        raise ArgumentError(
            f"{name}={value} is out of range: for {n} records it is from {least} to "
            f"{most}."
        )
    return int(value)
