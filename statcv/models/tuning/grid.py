"""The models among which tuning chooses."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import ArgumentError, ArgumentTypeError, suggestion
from statcv.models import Model, Sklearn, XGBoost
from statcv.models.resolve import UserModel

SIMPLER = {"C": 1, "max_depth": 1, "alpha": -1, "k": -1, "n_neighbors": -1}
MAX_SHOWN = 12  # names of hyperparameters that an error lists


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model with values of the hyperparameters that are tuned.

    Attributes
    ----------
    values : dict
    model : Model
    """

    values: dict[str, Any]
    model: Model


def read_grid(grid: Any) -> dict[str, tuple[Any, ...]]:
    """Return the values of each hyperparameter, the simplest first where known.

    A smaller ``C`` or ``max_depth`` is simpler, and a larger ``alpha``, ``k`` or
    ``n_neighbors``; in a pipeline the last part of the name counts. Others stay in
    the order given.

    Raises
    ------
    ArgumentTypeError
        If it is not a mapping of names to several values.
    ArgumentError
        If a list of values is empty, or has a value twice.

    Examples
    --------
    >>> read_grid({"C": [10, 0.1], "svc__kernel": ["rbf", "linear"]})
    {'C': (0.1, 10), 'svc__kernel': ('rbf', 'linear')}
    """
    if not isinstance(grid, Mapping) or not all(isinstance(n, str) for n in grid):
        raise ArgumentTypeError(
            "a grid names hyperparameters and the values to choose from, such as "
            f"{{'C': [0.1, 1, 10]}}, not {grid!r}."
        )
    if not grid:
        raise ArgumentError("the grid is empty; name a hyperparameter and its values.")
    return {name: _read_values(name, values) for name, values in grid.items()}


def _read_values(name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, (Set, Iterator)):
        raise ArgumentTypeError(
            f"the values of {name} must be a list, whose order stays, not a "
            f"{type(values).__name__}."
        )
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise ArgumentTypeError(
            f"{name}={values!r} is not a list of values to choose from; give "
            f"{{{name!r}: [{values!r}, …]}}."
        )
    listed = [v.item() if isinstance(v, np.generic) else v for v in values]
    if not listed:
        raise ArgumentError(f"{name} has no values to choose from.")
    told = [repr(value) for value in listed]
    twice = [one for one in told if told.count(one) > 1]
    if twice:
        raise ArgumentError(f"{name} has the value {twice[0]} twice.")
    sign = SIMPLER.get(name.rpartition("__")[2])
    ordered = [_size(value) for value in listed]
    if sign is not None and not any(map(math.isnan, ordered)):
        order = sorted(range(len(listed)), key=lambda i: sign * ordered[i])
        listed = [listed[i] for i in order]
    return tuple(listed)


def _size(value: Any) -> float:
    """Return a number by which to sort; None means no limit, NaN cannot be sorted."""
    if value is None:
        return math.inf
    return float(value) if is_number(value) else math.nan


def candidates(model: Model, grid: Mapping[str, tuple[Any, ...]]) -> list[Candidate]:
    """Return the model with every combination of the values.

    Raises
    ------
    ArgumentError
        If the model has no hyperparameters, or none of that name.

    Examples
    --------
    >>> from statcv.models import Logit
    >>> [c.model.label for c in candidates(Logit(), {"C": (0.1, 1)})]
    ['ridge logistic regression, C = 0.1', 'ridge logistic regression, C = 1']
    """
    _check_names(model, tuple(grid))
    combined = (
        dict(zip(grid, values, strict=True)) for values in product(*grid.values())
    )
    return [Candidate(values, vary(model, values)) for values in combined]


def vary(model: Model, values: Mapping[str, Any]) -> Model:
    """Return the model with other values of hyperparameters."""
    if isinstance(model, UserModel):
        return dataclasses.replace(model, model=vary(model.model, values))
    if isinstance(model, Sklearn):
        from sklearn.base import clone

        estimator = clone(model.estimator).set_params(**values)
        return Sklearn(estimator, label=model.label)
    if isinstance(model, XGBoost):
        return type(model)(**{**model.parameters, **values})
    other: Model = dataclasses.replace(model, **values)  # type: ignore[type-var]
    return other


def _check_names(model: Model, names: tuple[str, ...]) -> None:
    without_predictors = not model.capabilities.uses_predictors
    if isinstance(model, UserModel):
        model = model.model
    if isinstance(model, XGBoost):  # the model itself reports unknown names
        return
    known: list[str] = []
    if isinstance(model, Sklearn):
        known = sorted(model.estimator.get_params(deep=True))
    elif dataclasses.is_dataclass(model) and not without_predictors:
        fields = [field for field in dataclasses.fields(model) if field.init]
        known = [field.name for field in fields if field.name != "label"]
    if not known:
        raise ArgumentError(
            f"tune= means nothing for {model.label}, which has no hyperparameters."
        )
    unknown = [name for name in names if name not in known]
    if unknown:
        listed = ", ".join(known[:MAX_SHOWN]) + (
            ", …" if len(known) > MAX_SHOWN else ""
        )
        raise ArgumentError(
            f"{model.label} has no hyperparameter {unknown[0]!r}; it has {listed}."
            + suggestion(unknown[0], known)
        )


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values, as text unless a table or a file can hold them.

    Examples
    --------
    >>> plain({"C": np.float64(0.1), "kernel": None, "shape": (2, 3)})
    {'C': 0.1, 'kernel': None, 'shape': '(2, 3)'}
    """
    shown = {}
    for name, value in values.items():
        if isinstance(value, np.generic):
            value = value.item()
        known = value is None or isinstance(value, (bool, int, float, str))
        shown[str(name)] = value if known else " ".join(repr(value).split())
    return shown


def family_label(model: Model, candidates: Sequence[Candidate]) -> str:
    """Return the name of the model in print and summary without the tuned values.

    Examples
    --------
    >>> from statcv.models import Logit
    >>> family_label(Logit(), [Candidate({"C": 2.0}, Logit(C=2.0))])
    'ridge logistic regression'
    """
    first = candidates[0]
    if isinstance(model, Sklearn):
        return model.label
    if isinstance(model, XGBoost):
        fixed = {n: v for n, v in model.parameters.items() if n not in first.values}
        return type(model)(**fixed).label
    own, *others = [_parts_of_label(candidate) for candidate in candidates]
    common = [part for part in own if all(part in other for other in others)]
    return ", ".join(common or own[:1])


def _parts_of_label(candidate: Candidate) -> list[str]:
    """Return a model's label without the values that are tuned."""
    label = candidate.model.label
    for name, value in candidate.values.items():
        if is_number(value):
            label = label.replace(f", {name} = {value:g}", "")
            label = label.removeprefix(f"{value:g} ")
            # the level and the screen of a selection of terms
            label = label.replace(f" at {value:g} in every", " in every")
            label = label.replace(f"the {value:g} columns most", "columns most")
    return label.split(", ")


def in_words(grid: Mapping[str, tuple[Any, ...]]) -> str:
    """Describe the values to choose from: ``C of 7 from 0.001 to 1000``.

    Examples
    --------
    >>> in_words({"C": (0.1, 1, 10, 100), "penalty": ("l1", "l2")})
    "C of 4 from 0.1 to 100, penalty of 'l1', 'l2'"
    """
    return ", ".join(f"{name} of {_range(values)}" for name, values in grid.items())


def _range(values: tuple[Any, ...]) -> str:
    numbers = [v for v in values if is_number(v)]
    if len(values) > 3 and len(numbers) == len(values):
        return f"{len(values)} from {min(numbers):g} to {max(numbers):g}"
    return ", ".join(f"{v:g}" if is_number(v) else repr(v) for v in values)


def is_number(value: Any) -> bool:
    """Return whether a value is a number; truth values are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def chosen_table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return hyperparameters as a table, in which None stays None.

    Parameters
    ----------
    rows : sequence of dict
        One dict for each fit, or each combination of values.

    Examples
    --------
    >>> chosen_table([{"C": None}, {"C": 1.0}])["C"].tolist()
    [None, 1.0]
    """
    table = pd.DataFrame(list(rows))
    for name in table.columns:
        values = [row.get(name, np.nan) for row in rows]
        if any(value is None for value in values):
            table[name] = pd.Series(values, dtype=object)
    return table
