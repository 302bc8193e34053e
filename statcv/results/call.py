"""The call that made a result, which can be made again with something changed."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from statcv.formula.parse import Formula
from statcv.formula.updating import updated_formula

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Call(Generic[Result]):
    """A function of arguments and a scope, and the arguments that it had."""

    function: Callable[..., Result]
    arguments: Mapping[str, Any]

    def again(
        self,
        formula: Formula,
        scope: MutableMapping[str, Any],
        changes: Mapping[str, Any],
    ) -> Result:
        """Repeat the call with some arguments changed.

        Parameters
        ----------
        formula : Formula
            The old one, for whose sides the dots of a new one stand, and whose
            functions it may call.
        scope : mapping
            Names that a new formula may call.
        changes : mapping
            Arguments by name.
        """
        new = dict(changes)
        if isinstance(new.get("formula"), str):
            new["formula"] = updated_formula(formula.text, new["formula"])
        known = ChainMap(scope, dict(formula.functions))
        return self.function({**self.arguments, **new}, known)
