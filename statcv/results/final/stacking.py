"""Several models that were fitted elsewhere, stacked for other records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from statcv.arguments import check_types
from statcv.errors import ArgumentError, StatcvWarning, warn
from statcv.models import Stacking
from statcv.results.final.equation import Part
from statcv.results.final.handed_over import HandedOver
from statcv.results.final.nomogram import values_seen
from statcv.results.final.updating import Records, UpdatedModel
from statcv.results.final.written import check_columns
from statcv.tables import Table


def stack(
    models: Mapping[str, HandedOver], new: object, *, outcome: str | None = None
) -> UpdatedModel:
    """Stack several models that were fitted elsewhere, by weights of at least 0.

    The linear predictors of the models are the covariates of a regression in the new
    data, whose weights are not negative (Debray et al. 2014).

    Parameters
    ----------
    models : mapping of str to model
        Two or more models by name: ``res.final``, or models that were loaded or
        published.
    new : data frame
        Records with the outcome and the columns of all models.
    outcome : str, optional
        Column of the outcome; that of the first model unless given.

    Returns
    -------
    UpdatedModel
        The sum as one model; ``validate()`` cross-validates the stacking.

    Raises
    ------
    ArgumentError
        If there are fewer than two models, or their kinds of outcome differ.
    ColumnError, DataError
        If a column is missing, a level is unknown, or the outcome does not vary.

    Examples
    --------
    >>> import statcv as scv
    >>> ehr = scv.load_data("ehr")
    >>> one = scv.published_model({"(Intercept)": -0.4, "x1": 0.5}, outcome="y")
    >>> two = scv.published_model({"(Intercept)": -0.1, "x3": 0.7}, outcome="y")
    >>> weights = scv.stack({"one": one, "two": two}, ehr).weights["weight"]
    >>> bool((weights[1:] >= 0).all())
    True
    """
    check_types(stack, locals())
    if not isinstance(models, Mapping) or len(models) < 2:
        raise ArgumentError("stack() needs a mapping of two or more names to models.")
    for name, model in models.items():
        if not isinstance(model, HandedOver):
            raise ArgumentError(
                f"{name!r} is a {type(model).__name__}, not a model with an equation, "
                "such as res.final or published_model(...)."
            )
    equations = {str(name): model.equation() for name, model in models.items()}
    first = next(iter(equations.values()))
    for name, one in equations.items():
        if one.kind != first.kind or one.kind not in ("binary", "continuous"):
            raise ArgumentError(
                f"{name!r} predicts a {one.kind} outcome; stack() needs models of two "
                "classes each, or of a continuous outcome each. Linear predictors of "
                "others can be columns of the data for cv()."
            )

    def columns(frame: pd.DataFrame) -> dict[str, Any]:
        for one in equations.values():
            check_columns(one, frame)
        return {name: one.linear(frame)[:, 0] for name, one in equations.items()}

    records = Records.of(new, outcome or first.outcome, first, columns)
    fit = Stacking().fit(records.training)
    assert fit.coefficients is not None
    intercept, *weights = fit.coefficients.values()
    made: dict[Any, Part] = {(): Part("Intercept", intercept)}
    for one, weight in zip(equations.values(), weights, strict=True):
        for part in one.parts[0]:
            before = made.get(part.factors, replace(part, coefficient=0.0))
            total = before.coefficient + weight * part.coefficient
            made[part.factors] = replace(before, coefficient=total)
    if not max(weights) > 0:
        warn("no model has a weight above 0: none predicts here.", StatcvWarning)
    table = pd.DataFrame(
        {"model": ["(Intercept)", *equations], "weight": [intercept, *weights]}
    )
    stacked = replace(first, parts=(tuple(made.values()),))
    return UpdatedModel(
        stacked,
        f"{len(equations)} models, stacked in {records.described}",
        values_seen(records.frame[list(stacked.names)]),
        float(records.training.y.mean()),
        method="stack",
        weights=Table(table, "Weights of the models"),
        _records=records,
        _procedure=Stacking(),
    )
