"""Which models are regressions, whose coefficients make an equation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass
from collections.abc import Iterator

from statcv.models import Cox, Logit, Model, Updating, distribution_of, needs_order
from statcv.models.selection import Selection


def is_regression(model: Model | None) -> bool:
    """Return whether coefficients make the linear predictor of a model."""
    if distribution_of(model):  # the equation would be of a logarithm
        return False
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
