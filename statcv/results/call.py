"""The call that made a result, which can be repeated with some arguments changed."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Protocol

from statcv.formula import Formula

if TYPE_CHECKING:
    from statcv.results.result import CVResult


class Call(Protocol):
    """The arguments of the verb that made a result."""

    @property
    def data(self) -> Any:
        """The data frame."""

    @property
    def metrics(self) -> Any:
        """The metrics that were named; None for the defaults of the outcome."""

    @property
    def row(self) -> str | None:
        """The column that identifies the records, if there is one."""

    def again(
        self,
        formula: Formula,
        scope: MutableMapping[str, Any],
        changes: Mapping[str, Any],
    ) -> CVResult:
        """Repeat the call with some arguments changed.

        Parameters
        ----------
        formula : Formula
            The formula of the result. Dots in a new formula stand for its sides, and a
            new formula may use its functions.
        scope : mapping
            Names that a new formula may use.
        changes : mapping
            The changed arguments by name.
        """

    def with_mean_model(self) -> Call:
        """Return the same call for the model without predictors."""
