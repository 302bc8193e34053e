"""Which models are regressions, whose coefficients make an equation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from statcv.errors import EquationError, PrecisionWarning, warn
from statcv.formula import Design
from statcv.models import Cox, Logit, Model, Updating, needs_order
from statcv.models.likelihood import Generalized
from statcv.models.selection import Selection
from statcv.numeric.survival import events_of
from statcv.words import plural


def is_regression(model: Model | None) -> bool:
    """Return whether coefficients make the linear predictor of a model."""
    if any(map(needs_order, models_in(model))):  # several probabilities have one
        return False
    known = (Cox, Logit, Selection, Updating)
    return any(
        isinstance(one, known) or one.capabilities.likelihood is not None
        for one in models_in(model)
    )


def models_in(model: Model | None) -> Iterator[Model]:
    """Yield a model and those inside it, such as one that is tuned."""
    while model is not None:
        yield model
        model = getattr(model, "model", None)


def said_chosen(name: str, value: Any) -> str:
    """Return a hyperparameter that was chosen, in words."""
    return f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}"


def kind_of(design: Design, model: Model | None) -> str:
    """Return the kind of an equation, of counts if its link is the logarithm."""
    kind, likelihood = design.outcome.kind, model and model.capabilities.likelihood
    if isinstance(likelihood, Generalized):
        link = type(likelihood.family.link).__name__
        if (kind, link) != ("continuous", "Log"):
            raise EquationError(
                f"the equation of {model and model.label} is not written down, since "
                f"its link is {link}. The model still predicts by predict(new)."
            )
        return "count"
    return "count" if design.outcome.distribution else kind


def warn_of_few_events(design: Design, model: Model | None) -> None:
    """Warn of an equation with more coefficients than events."""
    terms = len(design.names) - (design.intercept is not None)
    events = min(design.outcome.counts.values(), default=terms)
    plain = isinstance(model, Logit) and not (model.penalised or model.has_firth)
    of, others = "records of the rarer class", "Logit(firth=True), Logit(C=1.0)"
    if isinstance(model, Cox):
        events = int(events_of(design.y).sum())
        plain = not (model.penalised or model.capabilities.likelihood is None)
        of, others = "events", "Cox(C=1.0)"
    if plain and events < terms:
        warn(
            f"the equation has {plural(terms, 'coefficient')} from {events} {of}, so "
            "that its predictions are too extreme for other records; "
            f"{others} or shrunk() still work.",
            PrecisionWarning,
        )
