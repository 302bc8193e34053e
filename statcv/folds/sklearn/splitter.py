"""The interface of a scikit-learn splitter, on a fold plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator

from statcv.errors import ArgumentError, FoldWarning, StatcvError, suggestion, warn
from statcv.folds.plan import FoldPlan
from statcv.folds.response import Response
from statcv.folds.schemes.arguments import whole
from statcv.folds.schemes.build import make_plan
from statcv.folds.sklearn.arrays import classes_of, length, seed_of

Pairs = Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]


class PlanSplitter(BaseCrossValidator):  # type: ignore[misc]
    """A splitter that uses a fold plan."""

    scheme: ClassVar[str]
    takes_groups: ClassVar[bool] = False
    random_state: Any

    def _arguments(self, n: int, groups: Any) -> dict[str, Any]:
        """Return the arguments of the scheme for n records."""
        return {}

    def _outcome(self, y: Any) -> Response:
        """Return the outcome, which must have classes unless a splitter says more."""
        return classes_of(y)

    def _plan(self, n: int, y: Any, groups: Any) -> FoldPlan:
        """Return the plan of n records."""
        given, response = self._arguments(n, groups), self._outcome(y)
        return make_plan(
            self.scheme,
            response.values,
            response.kind,
            seed=seed_of(self.random_state),
            levels=response.levels,
            **given,
        )

    def split(self, X: Any, y: Any, groups: Any = None) -> Pairs:
        """Return an iterator over (training, held-out) positions.

        Parameters
        ----------
        X : array-like, shape (n, …)
            Only its length counts.
        y : array-like, shape (n,)
            The outcome.
        groups : array-like, shape (n,), optional
            Groups that are never split across folds, for splitters that use them.

        Raises
        ------
        DataError
            If lengths differ, or values are missing.
        SchemeError
            If these records cannot be split in that way.
        """
        if groups is not None and not self.takes_groups:
            warn(
                f"{type(self).__name__} does not look at groups: equal values may "
                "be split. FoldStratifiedKFold and RebalancedLeaveOneGroupOut keep "
                "them together.",
                FoldWarning,
            )
        with self._named():
            n = length(X=X, y=y, groups=groups)
            return self._plan(n, y, groups).split()

    def _parameters(self) -> list[str]:
        return list(signature(type(self)).parameters)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the splitter in its errors, since a caller may not see which one ran."""
        try:
            yield
        except StatcvError as error:
            raise type(error)(f"{type(self).__name__}: {error}") from None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep`` has no effect here."""
        return {name: getattr(self, name) for name in sorted(self._parameters())}

    def set_params(self, **params: Any) -> PlanSplitter:
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
    """Return an integer parameter in a range that n records allow."""
    if not least <= whole(name, value) <= most:
        raise ArgumentError(
            f"{name}={value} is out of range: for {n} records it is from {least} to "
            f"{most}."
        )
    return int(value)


class GroupsSplitter(PlanSplitter):
    """A splitter that uses groups, which metadata routing passes to it."""

    takes_groups = True
    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True}
