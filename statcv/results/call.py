"""The call that made a result, which can be made again with something changed."""

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
        """The metrics that were named; None for those of the outcome."""

    @property
    def row(self) -> str | None:
        """The column that tells which rows are of the same record, if there is one."""

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
            The formula of the result, for whose sides the dots of a new one stand, and
            whose functions it may call.
        scope : mapping
            Names that a new formula may call.
        changes : mapping
            Arguments by name.
        """

    def with_mean_model(self) -> Call:
        """Return the same call for the model without predictors."""
