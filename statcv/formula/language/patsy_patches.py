"""Subclasses that change what patsy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import patsy
from numpy.typing import NDArray

from statcv.formula.language.scope import Factor, evaluating


class PatsyFactor(patsy.EvalFactor):  # type: ignore[misc]
    """A factor that is shown as its code and evaluated as its Python expression.

    Any failure in it is raised as a FormulaError that calls it ``what``.
    """

    def __init__(self, factor: Factor, role: str) -> None:
        code = factor.code
        super().__init__("x", origin=patsy.Origin(code, 0, len(code)))
        self.code = code
        self.what = f"the {role} {code!r}"
        self._python = factor.python

    def memorize_passes_needed(self, state: dict[str, Any], environment: Any) -> int:
        """Prepare the state, which holds everything that is evaluated."""
        shown, self.code = self.code, self._python
        try:
            with evaluating(self.what):
                return int(super().memorize_passes_needed(state, environment))
        finally:
            self.code = shown

    def memorize_chunk(self, state: Any, which: int, data: Any) -> None:
        """Add a block of rows from which the factor learns."""
        with evaluating(self.what):
            super().memorize_chunk(state, which, data)

    def memorize_finish(self, state: Any, which: int) -> None:
        """Learn from the rows that were added."""
        with evaluating(self.what):
            super().memorize_finish(state, which)

    def eval(self, state: Any, data: Any) -> Any:
        """Return its values on the rows of ``data``, or those given in the state."""
        if "given" in state:
            return state["given"]
        with evaluating(self.what):
            return super().eval(state, data)


class KeepMissing(patsy.NAAction):  # type: ignore[misc]
    """Keeps rows with missing values: NaN in numbers, recorded for categories.

    Attributes
    ----------
    missing : list of numpy.ndarray of bool
        For each factor, whether a row has no category.
    """

    def __init__(self) -> None:
        super().__init__(on_NA="raise", NA_types=["None", "NaN"])
        self.missing: list[NDArray[np.bool_]] = []

    def is_numerical_NA(self, arr: Any) -> NDArray[np.bool_]:  # noqa: N802
        """Leave NaN in numbers alone."""
        return np.zeros(len(arr), dtype=bool)

    def handle_NA(  # noqa: N802
        self, values: Any, is_NAs: Any, origins: Any
    ) -> list[Any]:
        """Replace a missing category by the first one, and record the row."""
        self.missing = list(is_NAs)
        return [
            np.where(absent, 0, value) if absent.any() else value
            for value, absent in zip(values, is_NAs, strict=True)
        ]
