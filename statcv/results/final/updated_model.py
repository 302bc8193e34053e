"""A model that was fitted elsewhere, updated for other records."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv import errors
from statcv.arguments import check_types
from statcv.engine import records_of
from statcv.formula import as_frame, make_design, outcome_columns, quoted
from statcv.models import Fit, Model, Stacking, TrainingSet, Updating, said_update
from statcv.results.final.equation import Equation, Part
from statcv.results.final.handed_over import (
    HandedOver,
    check_there,
    complete_rows,
    unused,
)
from statcv.results.final.nomogram import values_seen
from statcv.results.final.written import (
    WrittenModel,
    check_columns,
    hazards_at_zero,
    with_coefficients,
)
from statcv.results.wording.phrases import caution
from statcv.tables import WIDTH, Table
from statcv.words import plural

if TYPE_CHECKING:
    from statcv.results.result import CVResult

OWN = ("formula", "data", "model", "tune", "positive")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class UpdatedModel(WrittenModel):
    """A model that was updated, or several that were stacked, on other records.

    Attributes
    ----------
    method : str
        The method that was chosen or named; ``"stack"`` for several models.
    tests : pandas.DataFrame or None
        The tests of closed testing: ``against``, ``statistic``, ``df``, ``p``.
    weights : pandas.DataFrame or None
        The intercept, and the weight of each model that was stacked.
    """

    method: str
    tests: pd.DataFrame | None = None
    weights: pd.DataFrame | None = None
    _records: NewRecords = field(repr=False)
    _procedure: Model = field(repr=False)

    def validate(self, new: object = None, **options: Any) -> CVResult:
        """Return the validation on other records, or of the updating itself.

        Parameters
        ----------
        new : data frame, optional
            Other records, for an external validation. Unless given, the whole updating,
            the choice of its method included, is cross-validated on the records that
            served for it.
        **options
            Arguments of ``validate`` of other models with data, else of
            :func:`statcv.cv`: ``scheme``, ``k``, ``stratify``, ``seed``. The scheme is
            ``"kfold"`` unless given: folds with equal shares of a class would hide the
            error of a new intercept.

        Returns
        -------
        CVResult
            Its ``tuned`` has the method that was chosen in each fold.

        Examples
        --------
        >>> import statcv as scv
        >>> ehr = scv.load_data("ehr")
        >>> old, new = ehr[ehr.site != "D"], ehr[ehr.site == "D"]
        >>> final = scv.cv("y ~ x1 + x2 + x3", old, k=5, seed=1).final
        >>> upd = final.update(new)
        >>> both = scv.compare(old=final.validate(new), updated=upd.validate(seed=1))
        >>> list(both.differences["second"])
        ['updated']
        """
        if new is not None:
            return super().validate(new, **options)
        # a verb cross-validates the updating, as it does any model
        from statcv.verbs.cv import cv

        for name in OWN:
            if name in options:
                raise errors.ArgumentError(
                    f"validate() without data cross-validates the updating itself, and "
                    f"has no argument {name}=; cv() has."
                )
        known, given = self._records, {"scheme": "kfold", **options}
        return cv(data=known.frame, model=self._procedure, **known.call, **given)

    def __str__(self) -> str:
        blocks = [textwrap.fill(self.label, WIDTH)]
        blocks += [str(one) for one in (self.tests, self.weights) if one is not None]
        return "\n\n".join([*blocks, str(self.written)])

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class NewRecords:
    """Complete records with columns that a procedure fits, the intercept apart."""

    frame: pd.DataFrame
    training: TrainingSet
    call: Mapping[str, Any]  # the arguments of cv() for them

    @classmethod
    def of(
        cls,
        new: object,
        outcome: str,
        known: Equation,
        columns: Callable[[pd.DataFrame], Mapping[str, Any]],
    ) -> NewRecords:
        """Return the rows of a data frame in which nothing is missing.

        Raises
        ------
        ColumnError
            If the data lack the outcome or a column of an equation.
        DataError
            If the outcome is not of the kind of the model or has one class only, or no
            row is complete.
        """
        frame = as_frame(new)
        observed = [*outcome_columns(outcome, frame.columns.tolist())]
        check_there(frame, observed)
        made = columns(frame)
        complete = complete_rows(frame[observed], pd.DataFrame(made, frame.index))
        frame = frame[complete]
        named: dict[str, Any] = {}
        for name, values in made.items():
            own = values[complete]
            numeric = name in frame and pd.api.types.is_numeric_dtype(frame[name])
            if not (numeric and np.array_equal(frame[name].to_numpy(dtype=float), own)):
                name = unused(name, [*frame.columns, *named])
            named[name] = own
        frame = frame.assign(**named)
        if (values := frame[observed[-1]]).nunique() < 2 and known.kind != "survival":
            raise errors.DataError(
                f"the outcome {outcome!r} is always {values.unique()[0]} in "
                f"the {len(frame)} complete rows of the new data; a model can be "
                "updated only where the outcome varies."
            )
        positive = known.levels[1] if known.kind == "binary" else None
        times = [at for at, _ in known.baseline] if known.kind == "survival" else None
        left = quoted(outcome) if outcome in frame else outcome
        formula = f"{left} ~ " + (" + ".join(map(quoted, named)) or "1")
        asked: dict[str, Any] = {"positive": positive, "horizon": times or None}
        design = make_design(formula, frame, scope={}, **asked)
        if design.outcome.kind != known.kind:
            raise errors.DataError(
                f"the outcome {outcome!r} is {design.outcome.kind} in the new data, "
                f"and {known.kind} in the model."
            )
        return cls(frame, records_of(design), {"formula": formula, **asked})

    @property
    def described(self) -> str:
        """The number of records, and of those of the positive class."""
        y = self.training.y
        if self.training.kind == "survival":
            return f"{plural(len(y), 'record')}, {plural(int((y > 0).sum()), 'event')}"
        if self.call["positive"] is None:
            return plural(len(y), "record")
        return f"{plural(len(y), 'record')}, {int(y.sum())} with the outcome"


def update_model(
    model: HandedOver,
    new: object,
    method: str,
    outcome: str | None,
    strength: float | None,
    level: float,
) -> UpdatedModel:
    """Return a model updated for other records, as :meth:`HandedOver.update` says."""
    known, written = model._terms()
    first, slopes = known.coefficients
    outcome = known.outcome if outcome is None else outcome
    terms = [part for part in known.parts[0] if part.factors]

    def columns(frame: pd.DataFrame) -> dict[str, Any]:
        check_columns(known, frame)
        names: list[str] = []
        for part in terms:
            names.append(unused(part.name, names))
        each = (replace(part, coefficient=1.0).values(frame) for part in terms)
        return dict(zip(names, each, strict=True))

    records = NewRecords.of(new, outcome, known, columns)
    training = records.training
    old = [float(first), *slopes]
    procedure = Updating(
        dict(zip(training.names, old, strict=True)),
        method,
        strength,
        level,
        training.kind,
        tuple(start for _, start in known.baseline),
    )
    updates, fit = procedure.updates(training), procedure.fit(training)
    assert fit.chosen is not None and fit.coefficients is not None
    chosen = str(fit.chosen["method"])
    tests = None
    if method == "closed_test":
        tests = Table(
            pd.DataFrame(updates.tests()).rename(columns={"p_value": "p"}),
            "Refitting, tested against simpler updates; chosen: "
            f"{said_update(chosen, known.kind)}",
        )
    _warn(updates, fit, method, chosen)
    said = said_update(chosen, known.kind)
    if chosen == "shrink":
        said += f" (strength {fit.chosen['strength']:.3g})"
    values = [*fit.coefficients.values()]
    share: float | None = float(training.y.mean())
    if known.kind == "survival":
        mean = training.X.mean(axis=0)[None]
        start = hazards_at_zero(fit.predict(mean)[0].tolist())
        made, share = with_coefficients(known, values, start), None
    else:
        made = written(values)
    return UpdatedModel(
        made,
        f"{model.described}; {said} in {records.described}",
        values_seen(records.frame[known.names]),
        share,
        method=chosen,
        tests=tests,
        _records=records,
        _procedure=procedure,
    )


def _warn(updates: Any, fit: Fit, method: str, chosen: str) -> None:
    """Warn of what makes an update doubtful."""
    training, varying, slope = updates.training, updates.varying, updates.slope
    refits = method in ("refit", "closed_test")
    few, of, count = len(training.y), "", int(varying.sum())
    if training.kind == "binary":
        few, of = int(np.bincount(training.y.astype(int)).min()), " of the rarer class"
    if training.kind == "survival":
        few, of = int((training.y > 0).sum()), " with the event"
    if refits and few < count:
        caution("few for refitting", few=few, of=of, count=count)
    if slope < 0 and method in ("slope", "closed_test"):
        caution("reversed slope", slope=slope)
    constant = [n for n, one in zip(training.names, varying, strict=True) if not one]
    if constant and (refits or method == "shrink"):
        caution("constant columns", names=constant)
    if fit.separated and chosen == "refit":
        caution("separated refit")


# ---- several models ----


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
        raise errors.ArgumentError(
            "stack() needs a mapping of two or more names to models."
        )
    for name, model in models.items():
        if not isinstance(model, HandedOver):
            raise errors.ArgumentError(
                f"{name!r} is a {type(model).__name__}, not a model with an equation, "
                "such as res.final or published_model(...)."
            )
    equations = {str(name): model.equation() for name, model in models.items()}
    first = next(iter(equations.values()))
    for name, one in equations.items():
        if one.kind != first.kind or one.kind not in ("binary", "continuous"):
            raise errors.ArgumentError(
                f"{name!r} predicts a {one.kind} outcome; stack() needs models of two "
                "classes each, or of a continuous outcome each. Linear predictors of "
                "others can be columns of the data for cv()."
            )

    def columns(frame: pd.DataFrame) -> dict[str, Any]:
        for one in equations.values():
            check_columns(one, frame)
        return {name: one.linear(frame)[:, 0] for name, one in equations.items()}

    records = NewRecords.of(new, outcome or first.outcome, first, columns)
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
        caution("no weight")
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
